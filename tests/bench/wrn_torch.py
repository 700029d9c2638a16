#!/usr/bin/python3
"""PyTorch's times for the measurements of `couplet bench wrn`, in the same format: the same networks, loss, update and timing method.

    wrn_torch.py THREADS [DEPTH WIDTH NORM SIDE CHANNELS BATCH]...
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def norm_layer(channels, norm):
    return nn.BatchNorm2d(channels) if norm else nn.Identity()


class Block(nn.Module):
    """Pre-activation, the stride on the second convolution."""

    def __init__(self, before, after, stride, norm):
        super().__init__()
        self.norm1, self.conv1 = norm_layer(before, norm), nn.Conv2d(before, after, 3, padding=1)
        self.norm2, self.conv2 = norm_layer(after, norm), nn.Conv2d(after, after, 3, stride, padding=1)
        same = before == after and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(before, after, 1, stride)

    def forward(self, x):
        h = self.conv1(F.leaky_relu(self.norm1(x), 0.2))
        return self.shortcut(x) + self.conv2(F.leaky_relu(self.norm2(h), 0.2))


def wide_resnet(depth, width, channels, classes, norm):
    layers, before = [nn.Conv2d(channels, 16, 3, padding=1)], 16
    for stage in range(3):
        for block in range((depth - 4) // 6):
            after = 16 * 2**stage * width
            layers.append(Block(before, after, 2 if stage > 0 and block == 0 else 1, norm))
            before = after
    layers += [norm_layer(before, norm), nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return nn.Sequential(*layers)


def median_ms(work, least=7, most=50, budget=4.0):
    work()
    times, start = [], time.perf_counter()
    while len(times) < least or (len(times) < most and time.perf_counter() - start < budget):
        before = time.perf_counter()
        work()
        times.append(time.perf_counter() - before)
        if len(times) >= 3 and time.perf_counter() - start > 3 * budget:
            break
    return 1e3 * sorted(times)[len(times) // 2]


def measure(threads, depth, width, norm, side, channels, batch):
    net = wide_resnet(depth, width, channels, 8, norm)
    adam = torch.optim.Adam(net.parameters(), 1e-4)
    x, labels = torch.rand(batch, channels, side, side), torch.randint(0, 8, (batch,))
    chains = x.clone().requires_grad_(True)

    def train():
        net.train()
        adam.zero_grad()
        F.cross_entropy(net(x), labels).backward()
        adam.step()

    def sgld():
        net.eval()
        (gradient,) = torch.autograd.grad(net(chains).logsumexp(1).sum(), [chains])
        chains.data += gradient + 0.01 * torch.randn_like(chains)

    def infer():
        net.eval()
        with torch.no_grad():
            net(x)

    print(f"wrn {depth} {width} norm {norm} side {side} channels {channels} batch {batch} threads {threads}  "
          f"train {median_ms(train):.1f} ms  sgld {median_ms(sgld):.1f} ms  infer {median_ms(infer):.1f} ms", flush=True)


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:]]
    torch.set_num_threads(numbers[0])
    for first in range(1, len(numbers), 6):
        measure(numbers[0], *numbers[first:first + 6])
