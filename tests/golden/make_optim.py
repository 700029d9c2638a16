"""Prints the golden values in tests/optim/test_optim.c: PyTorch's optimizers on a small quadratic, in double.

    python3 make_optim.py
"""
import torch

torch.set_default_dtype(torch.float64)
START = [0.5, -1.25, 2.0, 0.03125, -0.75, 1.5]
TARGET = [1.0, 0.25, -0.5, 0.0, 0.125, 3.0]
CURVE = [1.0, 0.5, 2.0, 8.0, 0.25, 1.5]

RUNS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "rmsprop_momentum": lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.9, eps=1e-4, momentum=0.8, weight_decay=0.1),
    "adamw_default": lambda p: torch.optim.AdamW(p, lr=0.02),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02, weight_decay=0.1),
}

for name, make in RUNS.items():
    p = torch.tensor(START, requires_grad=True)
    optim = make([p])
    print(f"static const double {name}_golden[3][6] = {{")
    for _ in range(3):
        optim.zero_grad()
        (torch.tensor(CURVE) * (p - torch.tensor(TARGET)) ** 2).sum().backward()
        optim.step()
        print("    {" + ", ".join(f"{v:.17g}" for v in p.tolist()) + "},")
    print("};")

# SGLD on the energy -logsumexp(tanh(x W) V) with noise that any language can compute.
WEIGHT = torch.tensor([[0.5, -1.0], [0.25, 0.75], [-1.5, 0.5]])
OUT = torch.tensor([[2.0, -1.0], [0.5, 1.5]])
x = torch.tensor([[0.1, -0.2, 0.3], [1.0, 0.5, -0.25]])
print("static const double sgld_golden[5][6] = {")
for step in range(5):
    x.requires_grad_(True)
    energy = -torch.logsumexp(torch.tanh(x @ WEIGHT) @ OUT, dim=1)
    (dx,) = torch.autograd.grad(energy.sum(), x)
    noise = torch.sin(1.7 * (6 * step + torch.arange(6.0)) + 0.3).reshape(2, 3)
    x = (x - 0.8 / 2 * dx.clamp(-1, 1) + 0.1 * noise).clamp(-1, 1).detach()
    print("    {" + ", ".join(f"{v:.17g}" for v in x.flatten().tolist()) + "},")
print("};")
