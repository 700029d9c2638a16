#!/usr/bin/python3
"""The memory of a PyTorch step of WRN-16-2 (batch size 64), to compare with `couplet bench memory`: the growth of the process's
largest resident size from a step on one image to steps on the batch.

    memory_torch.py train|sgld
"""
import resource
import sys

import torch
from torch.nn import functional as F

from wrn_torch import wide_resnet


def largest_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-6


def main(kind):
    torch.set_num_threads(2)
    net = wide_resnet(16, 2, 3, 8, 0)
    adam = torch.optim.Adam(net.parameters(), 1e-4)
    x, labels = torch.rand(64, 3, 28, 28), torch.randint(0, 8, (64,))

    def step(n):
        if kind == "train":
            adam.zero_grad()
            F.cross_entropy(net(x[:n]), labels[:n]).backward()
            adam.step()
        else:
            chains = x[:n].clone().requires_grad_(True)
            torch.autograd.grad(net(chains).logsumexp(1).sum(), [chains])

    step(1)
    before = largest_mb()
    for _ in range(3):
        step(64)
    print(f"memory wrn 16 2 norm 0 side 28 channels 3 batch 64  {kind} {largest_mb() - before:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1])
