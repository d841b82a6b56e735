"""A causal 3-D VAE decoder as video models have, in plain torch.nn, with random weights. Cases are pixels; 17 frames."""

import torch
from torch import nn
from torch.nn import functional as F

import measure


class CausalConv(nn.Module):
    """Sees the present and the past: the first frame is repeated before the start."""

    def __init__(self, inputs, outputs, size=3):
        super().__init__()
        self.past = size - 1
        self.conv = nn.Conv3d(inputs, outputs, size, padding=(0, size // 2, size // 2))

    def forward(self, x):
        return self.conv(F.pad(x, (0, 0, 0, 0, self.past, 0), mode="replicate"))


class Residual(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, inputs)
        self.conv1 = CausalConv(inputs, outputs)
        self.norm2 = nn.GroupNorm(32, outputs)
        self.conv2 = CausalConv(outputs, outputs)
        self.shortcut = nn.Conv3d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(h)))


class Grow(nn.Module):
    """Twice the size; if requested, twice the frames except the first."""

    def __init__(self, channels, time):
        super().__init__()
        self.time = time
        self.conv = CausalConv(channels, channels)

    def forward(self, x):
        if self.time:
            first, rest = x[:, :, :1], x[:, :, 1:]
            first = F.interpolate(first, scale_factor=(1, 2, 2), mode="nearest")
            x = torch.cat((first, F.interpolate(rest, scale_factor=(2, 2, 2), mode="nearest")), dim=2)
        else:
            x = F.interpolate(x, scale_factor=(1, 2, 2), mode="nearest")
        return self.conv(x)


class Decoder(nn.Module):
    def __init__(self, base=128):
        super().__init__()
        top = 4 * base
        self.conv_in = CausalConv(16, top)
        self.body = nn.Sequential(
            Residual(top, top),
            Residual(top, top),
            Residual(top, top),
            Residual(top, top),
            Grow(top, True),
            Residual(top, top),
            Residual(top, top),
            Grow(top, True),
            Residual(top, 2 * base),
            Residual(2 * base, 2 * base),
            Grow(2 * base, False),
            Residual(2 * base, base),
            Residual(base, base),
        )
        self.norm_out = nn.GroupNorm(32, base)
        self.conv_out = CausalConv(base, 3)

    def forward(self, latents):
        return self.conv_out(F.silu(self.norm_out(self.body(self.conv_in(latents)))))


def build(case, dtype, device, tiny):
    model = Decoder(32 if tiny else 128).to(device, dtype)
    edge = int(case) // 8
    return measure.Inference(model, torch.randn(1, 16, 2 if tiny else 5, edge, edge).to(device, dtype))


if __name__ == "__main__":
    measure.main("vae3d_decoder", __doc__, ("256", "512"), build)
