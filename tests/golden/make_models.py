#!/usr/bin/python3
"""Golden values of layers, models, optimizers and the sampler, by PyTorch in float64: writes models.safetensors.

    apt-get install python3-torch && /usr/bin/python3 tests/golden/make_models.py

Numbers that both programs can compute are not stored: synthetic(name, shape) is golden_file.py's. Every
parameter is synthetic(its name), in PyTorch's layout (convolutions (out,in,kh,kw), linear (out,in)), row by row, times
    2^-round(log2(fan_in) / 2)    a tensor of rank > 1, fan_in being the product of its sizes after the first
    1/8                           one of rank 1; 1 + that for a norm's weight, 1 + |that| for running_var
Images are made, and given here, as (N,H,W,C). Labels of a batch of N are (2 i + 1) % classes.

SUMMARY of an array a (a parameter's in PyTorch's layout, an activation's as (N,H,W,C)): sum(a), the 2-norm,
sum(a synthetic("p0")), sum(a synthetic("p1")), and a[(7919 k) % size] for k = 0..15. The tolerance is relative to the
2-norm, times the root of the size for the sums; for gradients of parameters the same fraction of grad_norm is added: biases
before a batch norm have no gradient except rounding errors.

wrn/DEPTH-WIDTH-NORM/MODE/...     NORM none or batch, MODE train or eval; 3 channels, 5 classes, JEM's blocks
    x is 0.5 synthetic("x", 3, 10, 8, 3); the loss is the cross-entropy of the logits
    stem, stage0, stage1, stage2  SUMMARY of the activations
    features, logits, loss, grad_x, grad_norm       in full (grad_norm: of all parameters together)
    grad/PARAMETER                SUMMARY
    after/PARAMETER               running statistics after this one forward pass (train), in full
optim/adam, optim/sgd, ...        three steps on wrn/10-1-none from its parameters and its x, in training mode
    loss                          (3): before each step
    param/PARAMETER               SUMMARY after the third
    adam: rate 1e-3; sgd: rate 0.05, momentum 0.9, weight decay 5e-4; nesterov: the same with Nesterov's momentum;
    adamw: rate 1e-3, weight decay 0.1
sgld/plain, sgld/clamped          five steps on the energy -logsumexp(logits) of wrn/10-1-none in evaluation mode
    x starts at 0.5 synthetic("chains", 2, 8, 8, 3); the noise is 0.01 synthetic("sgld/noise", 5, 2, 8, 8, 3); alpha 2
    clamped: the gradient to +-0.01, x to [-0.75, 0.75]
    energies (5, 2)               before each step
    x                             after the last
lstm/single, lstm/bidirectional   two layers, 3 inputs, 4 hidden, x = synthetic("lstm/x", 2, 5, 3) as (N,T,in)
    out, last                     the last layer's outputs and its final hidden state(s), forward then backward
    grad_x, grad/PARAMETER        of sum(out synthetic("lstm/weight")) + sum(last synthetic("lstm/last_weight"))
gru/single, gru/bidirectional     the same of a GRU, with gru for lstm in the names
LAYER/VARIANT                     other layers, on NAME = synthetic("LAYER/NAME", ...): x, and context for attention/cross
    out, grad_NAME, grad/PARAMETER          of sum(out synthetic("LAYER/weight"))
    attention, transformer: size 4, 2 heads, x (2,5,4), context (2,3,4), lengths 5 and 3; conv: x (2,5,4,4) or (2,6,4)
gaussian/KIND, gaussian/KIND_prior   the layer on z = synthetic("gaussian/z", 4, 3), 3 classes, PARAMETER head.weight,
    head.bias, head.mean, head.precision, head.prior (logits of pi; only with _prior); KIND spherical, diagonal or full
    posterior, bayes_posterior, class_energy, energy, log_density, penalty
    grad/QUANTITY/z|PARAMETER     of sum(QUANTITY synthetic("gaussian/weight")) for each of the six
    tied_weight (C,D), tied_bias  the discriminative head with the posterior of the generative head
"""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from golden_file import GoldenFile, synthetic
from wide_resnet import WideResNet

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
golden = GoldenFile()
CLASSES = 5


def parameter(name, shape):
    values = synthetic(name, *shape)
    if len(shape) > 1:
        return values * 2.0 ** -round(math.log2(math.prod(shape[1:])) / 2)
    values = values / 8
    if name.endswith("running_var"):
        return 1 + np.abs(values)
    return 1 + values if name.endswith("weight") else values


def fill(module, prefix=""):
    """Sets parameters and running statistics by their names."""
    for name, tensor in list(module.named_parameters()) + list(module.named_buffers()):
        if not name.endswith("num_batches_tracked"):
            tensor.data.copy_(torch.tensor(parameter(prefix + name, tuple(tensor.shape))))


def summary(array):
    a = array.detach().numpy().reshape(-1)
    samples = a[(7919 * np.arange(16)) % a.size]
    return np.concatenate([[a.sum(), np.sqrt((a * a).sum()), (a * synthetic("p0", a.size)).sum(),
                            (a * synthetic("p1", a.size)).sum()], samples])


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def put(name, tensor):
    golden.add(name, tensor.detach().numpy())


# ---- wide ResNet ----


def network(width, norm):
    net = WideResNet(10, width, 3, CLASSES, norm)
    fill(net)
    return net


def image_batch(name, *shape):
    return torch.tensor(0.5 * synthetic(name, *shape)).permute(0, 3, 1, 2)


def labels(count):
    return torch.tensor([(2 * i + 1) % CLASSES for i in range(count)])


for width in (1, 2):
    for norm in ("none", "batch", "group"):
        for mode in ("train", "eval"):
            prefix = f"wrn/10-{width}-{norm}/{mode}/"
            net = network(width, norm).train(mode == "train")
            x = image_batch("x", 3, 10, 8, 3).requires_grad_(True)
            logits = net(x)
            loss = F.cross_entropy(logits, labels(3))
            loss.backward()
            for name, activation in net.activations.items():
                golden.add(prefix + name, summary(nhwc(activation)))
            put(prefix + "features", net.features)
            put(prefix + "logits", logits)
            put(prefix + "loss", loss)
            put(prefix + "grad_x", nhwc(x.grad))
            gradients = {name: p.grad for name, p in net.named_parameters()}
            put(prefix + "grad_norm", torch.stack([g.square().sum() for g in gradients.values()]).sum().sqrt())
            for name, gradient in gradients.items():
                golden.add(f"{prefix}grad/{name}", summary(gradient))
            for name, buffer in net.named_buffers() if mode == "train" else ():
                if not name.endswith("num_batches_tracked"):
                    put(f"{prefix}after/{name}", buffer)

# ---- optimizers ----

OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, 1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=0.1),
    "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=5e-4),
    "nesterov": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=5e-4, nesterov=True),
}
for kind, make in OPTIMIZERS.items():
    net = network(1, "none")
    optimizer, losses = make(net.parameters()), []
    for step in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(image_batch("x", 3, 10, 8, 3)), labels(3))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    golden.add(f"optim/{kind}/loss", np.array(losses))
    for name, p in net.named_parameters():
        golden.add(f"optim/{kind}/param/{name}", summary(p))

# ---- sampler ----

for variant, gradient_clamp, clamp in (("plain", math.inf, math.inf), ("clamped", 0.01, 0.75)):
    net, x, energies = network(1, "none").eval(), image_batch("chains", 2, 8, 8, 3), []
    noise = torch.tensor(0.01 * synthetic("sgld/noise", 5, 2, 8, 8, 3)).permute(0, 1, 4, 2, 3)
    for move in range(5):
        x = x.detach().requires_grad_(True)
        energy = -net(x).logsumexp(1)
        gradient, = torch.autograd.grad(energy.sum(), x)
        x = (x - gradient.clamp(-gradient_clamp, gradient_clamp) + noise[move]).clamp(-clamp, clamp)
        energies.append(energy.detach().numpy())
    golden.add(f"sgld/{variant}/energies", np.array(energies))
    put(f"sgld/{variant}/x", nhwc(x))

# ---- LSTM ----

for kind, module in (("lstm", nn.LSTM), ("gru", nn.GRU)):
    for variant, bidirectional in (("single", False), ("bidirectional", True)):
        lstm = module(3, 4, 2, batch_first=True, bidirectional=bidirectional)
        fill(lstm)
        x = torch.tensor(synthetic(f"{kind}/x", 2, 5, 3), requires_grad=True)
        out, hidden = lstm(x)
        hidden = hidden[0] if kind == "lstm" else hidden
        last = torch.cat([hidden[-2], hidden[-1]], 1) if bidirectional else hidden[-1]
        weighted = (out * torch.tensor(synthetic(f"{kind}/weight", *out.shape))).sum()
        (weighted + (last * torch.tensor(synthetic(f"{kind}/last_weight", *last.shape))).sum()).backward()
        prefix = f"{kind}/{variant}/"
        put(prefix + "out", out)
        put(prefix + "last", last)
        put(prefix + "grad_x", x.grad)
        for name, p in lstm.named_parameters():
            put(f"{prefix}grad/{name}", p.grad)

# ---- other layers ----


def layer(name, variant, module, forward, **shapes):
    fill(module)
    inputs = {k: torch.tensor(synthetic(f"{name}/{k}", *shape), requires_grad=True) for k, shape in shapes.items()}
    out = forward(module, **inputs)
    (out * torch.tensor(synthetic(f"{name}/weight", *out.shape))).sum().backward()
    put(f"{name}/{variant}/out", out)
    for k, x in inputs.items():
        put(f"{name}/{variant}/grad_{k}", x.grad)
    for k, p in module.named_parameters():
        put(f"{name}/{variant}/grad/{k}", p.grad)


CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)
PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
SEQUENCES = (2, 5, 4)
for variant, options in (("self", {}), ("causal", {"attn_mask": CAUSAL}), ("lengths", {"key_padding_mask": PADDING})):
    layer("attention", variant, nn.MultiheadAttention(4, 2, batch_first=True), lambda m, x: m(x, x, x, **options)[0], x=SEQUENCES)
layer("attention", "cross", nn.MultiheadAttention(4, 2, batch_first=True), lambda m, x, context: m(x, context, context)[0],
      x=SEQUENCES, context=(2, 3, 4))
for variant, options in (("plain", {}), ("causal", {"src_mask": CAUSAL}), ("lengths", {"src_key_padding_mask": PADDING})):
    layer("transformer", variant, nn.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu", batch_first=True, norm_first=True),
          lambda m, x: m(x, **options), x=SEQUENCES)
layer("conv", "transposed", nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), lambda m, x: nhwc(m(x.permute(0, 3, 1, 2))), x=(2, 5, 4, 4))
layer("conv", "rectangular", nn.Conv2d(4, 3, (3, 5), padding=(0, 2)), lambda m, x: nhwc(m(x.permute(0, 3, 1, 2))), x=(2, 5, 4, 4))
layer("conv", "sequences", nn.Conv2d(4, 3, (1, 3), padding=(0, 1)), lambda m, x: m(x.mT[:, :, None])[:, :, 0].mT, x=(2, 6, 4))
embedding = nn.Embedding(5, 3)
fill(embedding)
embedded = embedding(torch.tensor([[4, 0, 4], [1, 2, 4]]))
(embedded * torch.tensor(synthetic("embedding/weight", 2, 3, 3))).sum().backward()
put("embedding/out", embedded)
put("embedding/grad", embedding.weight.grad)

# ---- Gaussian-coupled softmax ----

D, C = 3, 3


def precision_matrix(kind, v):
    if kind != "full":
        return torch.diag(v.exp().expand(D))
    rows, columns = torch.tril_indices(D, D)
    lower = torch.zeros(D, D).index_put((rows, columns), torch.where(rows == columns, v.exp(), v))
    return lower @ lower.T


def quantities(kind, z, p):
    """The layer by its definition: every quantity from weight, bias, mean, precision and, if learned, prior."""
    log_pi = p["prior"].log_softmax(0) if "prior" in p else torch.full((C,), -math.log(C))
    matrix = precision_matrix(kind, p["precision"])
    apart = z[:, None] - p["mean"]
    energy = 0.5 * torch.einsum("nci,ij,ncj->nc", apart, matrix, apart)
    class_energy = energy - log_pi if "prior" in p else energy
    normal = torch.distributions.MultivariateNormal(p["mean"], precision_matrix=matrix)
    tied_weight = p["mean"] @ matrix
    tied_bias = log_pi - 0.5 * (tied_weight * p["mean"]).sum(1)
    distance = (p["weight"] - tied_weight).square().sum() + (p["bias"] - tied_bias).square().sum()
    return {"posterior": (z @ p["weight"].T + p["bias"]).softmax(1), "bayes_posterior": (-class_energy).softmax(1),
            "class_energy": class_energy, "energy": -(-class_energy).logsumexp(1),
            "log_density": (normal.log_prob(z[:, None]) + log_pi).logsumexp(1), "penalty": 0.5 * distance,
            "tied_weight": tied_weight, "tied_bias": tied_bias}


for kind, size in (("spherical", 1), ("diagonal", D), ("full", D * (D + 1) // 2)):
    for learned in (False, True):
        shapes = {"weight": (C, D), "bias": (C,), "mean": (C, D), "precision": (size,)}
        if learned:
            shapes["prior"] = (C,)
        p = {name: torch.tensor(parameter("head." + name, shape), requires_grad=True) for name, shape in shapes.items()}
        z = torch.tensor(synthetic("gaussian/z", 4, D), requires_grad=True)
        prefix = f"gaussian/{kind}{'_prior' if learned else ''}/"
        for quantity, value in quantities(kind, z, p).items():
            put(prefix + quantity, value)
            if quantity.startswith("tied"):
                continue
            weighted = (value * torch.tensor(synthetic("gaussian/weight", *value.shape))).sum()
            leaves = {"z": z, **{"head." + name: tensor for name, tensor in p.items()}}
            gradients = torch.autograd.grad(weighted, list(leaves.values()), allow_unused=True, retain_graph=True)
            for name, gradient in zip(leaves, gradients):
                if gradient is not None:
                    put(f"{prefix}grad/{quantity}/{name}", gradient)

golden.write("models.safetensors", "PyTorch's values; see make_models.py")
