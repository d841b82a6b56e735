"""A diffusion U-Net in plain torch.nn, batch 128 at 64x64. Cases: infer, train (mixed precision)."""

import torch
from torch import nn
from torch.nn import functional as F

import measure


class Block(nn.Module):
    """Two convolutions around the time embedding, then attention if requested."""

    def __init__(self, inputs, outputs, embedding, attention=False):
        super().__init__()
        self.norm1 = nn.GroupNorm(8, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(embedding, outputs)
        self.norm2 = nn.GroupNorm(8, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()
        self.qkv = nn.Conv2d(outputs, 3 * outputs, 1) if attention else None

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        x = self.shortcut(x) + self.conv2(F.silu(self.norm2(h)))
        if self.qkv is None:
            return x
        q, k, v = (part.flatten(2).transpose(1, 2).unsqueeze(1) for part in self.qkv(x).chunk(3, dim=1))
        return x + F.scaled_dot_product_attention(q, k, v).squeeze(1).transpose(1, 2).reshape(x.shape)


class UNet(nn.Module):
    def __init__(self, base, factors=(1, 2, 2, 4)):
        super().__init__()
        embedding = 4 * base
        widths = [base * factor for factor in factors]
        self.base = base
        self.time = nn.Sequential(nn.Linear(base, embedding), nn.SiLU(), nn.Linear(embedding, embedding))
        self.conv_in = nn.Conv2d(3, base, 3, padding=1)
        self.down = nn.ModuleList(
            Block(a, b, embedding, level >= 2)
            for level, (a, b) in enumerate(zip([base] + widths[:-1], widths))
        )
        self.shrink = nn.ModuleList(nn.Conv2d(width, width, 3, 2, 1) for width in widths[:-1])
        self.middle = Block(widths[-1], widths[-1], embedding, True)
        self.up = nn.ModuleList(
            Block(2 * b, a, embedding, level >= 2)
            for level, (a, b) in reversed(list(enumerate(zip([base] + widths[:-1], widths))))
        )
        self.grow = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for width in reversed(widths[:-1]))
        self.norm_out = nn.GroupNorm(8, base)
        self.conv_out = nn.Conv2d(base, 3, 3, padding=1)

    def forward(self, x, steps):
        rates = torch.exp(torch.arange(self.base // 2, device=x.device) * (-9.2 / (self.base // 2)))
        angles = steps[:, None].float() * rates[None]
        time = self.time(torch.cat((angles.sin(), angles.cos()), dim=1).to(x.dtype))
        x, kept = self.conv_in(x), []
        for level, block in enumerate(self.down):
            x = block(x, time)
            kept.append(x)
            if level < len(self.shrink):
                x = self.shrink[level](x)
        x = self.middle(x, time)
        for level, block in enumerate(self.up):
            x = block(torch.cat((x, kept.pop()), dim=1), time)
            if level < len(self.grow):
                x = self.grow[level](F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.conv_out(F.silu(self.norm_out(x)))


def build(case, dtype, device, tiny):
    model = UNet(16 if tiny else 128).to(device)
    batch, edge = (2, 16) if tiny else (128, 64)
    images = torch.randn(batch, 3, edge, edge).to(device)
    steps = torch.randint(0, 1000, (batch,)).to(device)
    if case == "infer":
        return measure.Inference(model.to(dtype), images.to(dtype), steps)
    if case != "train":
        raise ValueError(f"no case '{case}'")
    amp = dtype if dtype in (torch.float16, torch.bfloat16) else None
    return measure.Training(model, (images, steps), torch.randn_like(images), F.mse_loss, amp)


if __name__ == "__main__":
    measure.main("unet_b128", __doc__, ("infer", "train"), build)
