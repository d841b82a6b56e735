"""A training step of a 3-D U-Net of nnU-Net's shape, with automatic mixed precision. Cases are the edge of the patch."""

import torch
from torch import nn
from torch.nn import functional as F

import measure


class Stage(nn.Sequential):
    def __init__(self, inputs, outputs, stride=1):
        layers = []
        for index in range(2):
            layers += [
                nn.Conv3d(outputs if index else inputs, outputs, 3, 1 if index else stride, 1),
                nn.InstanceNorm3d(outputs, affine=True),
                nn.LeakyReLU(0.01, inplace=True),
            ]
        super().__init__(*layers)


class UNet(nn.Module):
    def __init__(self, features, classes=3):
        super().__init__()
        pairs = list(zip(features[:-1], features[1:]))
        self.first = Stage(1, features[0])
        self.down = nn.ModuleList(Stage(a, b, 2) for a, b in pairs)
        self.grow = nn.ModuleList(nn.ConvTranspose3d(b, a, 2, 2) for a, b in reversed(pairs))
        self.up = nn.ModuleList(Stage(2 * a, a) for a, _ in reversed(pairs))
        self.head = nn.Conv3d(features[0], classes, 1)

    def forward(self, x):
        kept = [self.first(x)]
        for stage in self.down:
            kept.append(stage(kept[-1]))
        x = kept.pop()
        for grow, stage in zip(self.grow, self.up):
            x = stage(torch.cat((grow(x), kept.pop()), dim=1))
        return self.head(x)


def build(case, dtype, device, tiny):
    edge = int(case)
    batch, features = (1, (4, 8, 8)) if tiny else (2, (32, 64, 128, 256, 320, 320))
    model = UNet(features).to(device)
    image = torch.randn(batch, 1, edge, edge, edge).to(device)
    target = torch.randint(0, 3, (batch, edge, edge, edge)).to(device)
    amp = dtype if dtype in (torch.float16, torch.bfloat16) else None
    return measure.Training(model, (image,), target, F.cross_entropy, amp)


if __name__ == "__main__":
    measure.main("unet3d_train", __doc__, ("128",), build)
