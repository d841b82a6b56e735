"""The decoder of Stable Diffusion 1.5's AutoencoderKL in plain torch.nn, with random weights. Cases are pixels."""

import torch
from torch import nn
from torch.nn import functional as F

import measure


class Residual(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, inputs, eps=1e-6)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2 = nn.GroupNorm(32, outputs, eps=1e-6)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        h = self.conv2(F.silu(self.norm2(h)))
        return self.shortcut(x) + h


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(32, channels, eps=1e-6)
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(channels, channels) for _ in range(4))

    def forward(self, x):
        n, c, h, w = x.shape
        tokens = self.norm(x).view(n, c, h * w).transpose(1, 2).unsqueeze(1)
        mixed = F.scaled_dot_product_attention(self.to_q(tokens), self.to_k(tokens), self.to_v(tokens))
        return x + self.to_out(mixed).squeeze(1).transpose(1, 2).reshape(n, c, h, w)


class Up(nn.Module):
    def __init__(self, inputs, outputs, grow):
        super().__init__()
        self.blocks = nn.Sequential(
            Residual(inputs, outputs), Residual(outputs, outputs), Residual(outputs, outputs)
        )
        self.conv = nn.Conv2d(outputs, outputs, 3, padding=1) if grow else None

    def forward(self, x):
        x = self.blocks(x)
        return x if self.conv is None else self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class Decoder(nn.Module):
    def __init__(self, base=128):
        super().__init__()
        top = 4 * base
        self.post_quant = nn.Conv2d(4, 4, 1)
        self.conv_in = nn.Conv2d(4, top, 3, padding=1)
        self.mid = nn.Sequential(Residual(top, top), Attention(top), Residual(top, top))
        self.up = nn.Sequential(
            Up(top, top, True), Up(top, top, True), Up(top, 2 * base, True), Up(2 * base, base, False)
        )
        self.norm_out = nn.GroupNorm(32, base, eps=1e-6)
        self.conv_out = nn.Conv2d(base, 3, 3, padding=1)

    def forward(self, latents):
        x = self.up(self.mid(self.conv_in(self.post_quant(latents))))
        return self.conv_out(F.silu(self.norm_out(x)))


def build(case, dtype, device, tiny):
    model = Decoder(32 if tiny else 128).to(device, dtype)
    edge = int(case) // 8
    # One of four stages: Inductor takes a minute for all of them.
    return measure.Inference(model, torch.randn(1, 4, edge, edge).to(device, dtype), compiled=model.up[-1])


if __name__ == "__main__":
    measure.main("vae_decoder", __doc__, ("512", "1024", "2048"), build)
