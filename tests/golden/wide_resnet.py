"""The wide ResNet in PyTorch, with the tensor names of Couplet's files."""
import torch.nn as nn
import torch.nn.functional as F


def norm_of(kind, channels):
    """kind: "none", "batch" or "group" (eight groups)."""
    return {"batch": nn.BatchNorm2d, "group": lambda c: nn.GroupNorm(8, c), "none": nn.Identity}[kind](channels)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        self.norm1 = norm_of(norm, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, 1, 1)
        self.norm2 = norm_of(norm, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, stride, 1)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x):
        h = self.conv1(F.leaky_relu(self.norm1(x), 0.2))
        return self.conv2(F.leaky_relu(self.norm2(h), 0.2)) + self.shortcut(x)


class WideResNet(nn.Module):
    def __init__(self, depth, width, channels, classes, norm):
        super().__init__()
        self.stem, inputs = nn.Conv2d(channels, 16, 3, 1, 1), 16
        for stage, outputs in enumerate((16 * width, 32 * width, 64 * width)):
            blocks = nn.Sequential()
            for b in range((depth - 4) // 6):
                blocks.add_module(f"block{b}", Block(inputs, outputs, 2 if stage and not b else 1, norm))
                inputs = outputs
            self.add_module(f"stage{stage}", blocks)
        self.norm = norm_of(norm, inputs)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x):
        self.activations = {"stem": self.stem(x)}
        h = self.activations["stem"]
        for stage in ("stage0", "stage1", "stage2"):
            h = self.activations[stage] = getattr(self, stage)(h)
        self.features = F.leaky_relu(self.norm(h), 0.2).mean((2, 3))
        return self.head(self.features)
