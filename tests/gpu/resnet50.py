"""ResNet-50 in plain torch.nn, batch 64 at 224 pixels. Cases: infer, train (mixed precision)."""

import torch
from torch import nn
from torch.nn import functional as F

import measure


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


def resnet50(width=64, classes=1000):
    layers = [
        nn.Conv2d(3, width, 7, 2, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    inputs = width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width << stage, 2 if stage and not block else 1))
            inputs = 4 * (width << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def build(case, dtype, device, tiny):
    model = resnet50(8 if tiny else 64).to(device)
    batch, edge = (2, 64) if tiny else (64, 224)
    images = torch.randn(batch, 3, edge, edge).to(device)
    labels = torch.randint(0, 1000, (batch,)).to(device)
    if case == "infer":
        return measure.Inference(model.to(dtype), images.to(dtype))
    if case != "train":
        raise ValueError(f"no case '{case}'")
    amp = dtype if dtype in (torch.float16, torch.bfloat16) else None
    return measure.Training(model, (images,), labels, F.cross_entropy, amp)


if __name__ == "__main__":
    measure.main("resnet50", __doc__, ("infer", "train"), build)
