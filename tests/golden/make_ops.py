#!/usr/bin/python3
"""Golden values of the ops, by PyTorch in float64: writes ops.safetensors next to this file.

    apt-get install python3-torch && /usr/bin/python3 tests/golden/make_ops.py

A case is named OP/VARIANT and made of these arrays:
    OP/VARIANT/in0 ...   inputs, in Couplet's layouts: images (N,H,W,C), convolution weights (kh,kw,C/groups,K);
                         a missing input is synthetic(OP/VARIANT/in0), in the shape of its gradient
    OP/VARIANT/ints      integer arguments (axes, strides, ...), in the order in which test_golden_ops.c reads them
    OP/VARIANT/reals     scalar arguments
    OP/VARIANT/labels    integer labels, rows or indices
    OP/VARIANT/out       the result
    OP/VARIANT/grad0 ... the gradient of sum(out weight) with respect to each input;
                         weight is synthetic(OP/VARIANT/weight)
    OP/VARIANT/running_mean, running_var   the running statistics after batch_norm
A case without gradients tests only values: its inputs may be infinite, NaN or denormal, and every value is compared
separately. Variants that begin with "double" contain numbers that a float cannot represent.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F

from golden_file import GoldenFile, representable, synthetic

torch.set_num_threads(1)
golden = GoldenFile()
INF, NAN = math.inf, math.nan


def arguments(name, ints=None, reals=None, labels=None):
    for kind, value in (("ints", ints), ("reals", reals), ("labels", labels)):
        if value is not None:
            golden.add(f"{name}/{kind}", np.array(value, np.float64 if kind == "reals" else np.int64))


def values(name, function, *inputs, rounded=True, **args):
    """A case about values only."""
    inputs = [representable(x) if rounded else np.asarray(x, np.float64) for x in inputs]
    for i, x in enumerate(inputs):
        golden.add(f"{name}/in{i}", x)
    arguments(name, **args)
    golden.add(f"{name}/out", function(*(torch.tensor(x) for x in inputs)).double().numpy())


def case(name, function, *inputs, **args):
    """A case with gradients. An input is an array, or a shape: then it is synthetic."""
    arrays = []
    for i, x in enumerate(inputs):
        if isinstance(x, tuple):
            arrays.append(synthetic(f"{name}/in{i}", *x))
        else:
            arrays.append(representable(x))
            golden.add(f"{name}/in{i}", arrays[-1])
    leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
    out = function(*leaves)
    weight = torch.tensor(synthetic(name + "/weight", *out.shape))
    gradients = torch.autograd.grad((out * weight).sum(), leaves, allow_unused=True)
    arguments(name, **args)
    golden.add(f"{name}/out", out.detach().numpy())
    for i, (leaf, gradient) in enumerate(zip(leaves, gradients)):
        golden.add(f"{name}/grad{i}", (torch.zeros_like(leaf) if gradient is None else gradient).numpy())


# ---- arithmetic ----

TIED = (np.array([[1.0, 2.0, -3.0], [0.5, 0.0, 7.0]]), np.array([[1.0, -2.0, -3.0], [0.25, 0.0, 8.0]]))
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
          "minimum": torch.minimum, "maximum": torch.maximum}
for op, function in BINARY.items():
    case(f"{op}/same", function, (3, 5), (3, 5))
    case(f"{op}/row", function, (2, 3, 4), (4,))
    case(f"{op}/column", function, (3, 1), (2, 3, 5))
    case(f"{op}/both", function, (2, 1, 3, 1), (5, 1, 2))
    case(f"{op}/scalar", function, (), (2, 3))
    case(f"{op}/rank5", function, (2, 1, 2, 1, 3), (1, 2, 1, 2, 3))
case("minimum/ties", torch.minimum, *TIED)
case("maximum/ties", torch.maximum, *TIED)

EDGE = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e4, -1e4]
LEFT, RIGHT = (list(x) for x in zip(*((a, b) for a in EDGE for b in EDGE)))
for op, function in BINARY.items():
    values(f"{op}/special", function, LEFT, RIGHT)
ORDERED = [(a, b) for a, b in zip(LEFT, RIGHT) if a == a and b == b]
for op, function in {"greater": torch.gt, "equal": torch.eq}.items():
    values(f"{op}/special", function, *zip(*ORDERED))
    values(f"{op}/broadcast", function, np.round(synthetic(op, 4, 1)), np.round(synthetic(op + "b", 3, 1, 5)))
values("sign/special", torch.sign, [x for x in EDGE if x == x] + [1e-40, -1e-40])

CHOICE = np.array([[1.0], [0.0], [-2.0]])
case("where/broadcast", lambda c, a, b: torch.where(c != 0, a, b), CHOICE, (4,), (2, 3, 4))
case("where/same", lambda c, a, b: torch.where(c != 0, a, b), np.array([0.0, 1.0, 0.5]), (3,), (3,))
values("where/special", lambda c, a, b: torch.where(c != 0, a, b), [1, 0, 1, 0], [NAN, NAN, INF, 1], [1, 2, NAN, -INF])
case("scale_shift/images", lambda a, scale, shift: a * scale + shift, (2, 3, 2, 4), (4,), (4,))
case("affine/plain", lambda a: 1.5 * a - 0.25, (3, 4), reals=[1.5, -0.25])
case("scale/plain", lambda a: -2.5 * a, (3, 4), reals=[-2.5])

# ---- one value at a time ----

def softplus(a):
    """PyTorch's version is cut off at a threshold or overflows; this one is exact everywhere."""
    return a.clamp(min=0) + (-a.abs()).exp().log1p()


POSITIVE = {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt}
UNARY = {"neg": torch.neg, "exp": torch.exp, "log1p": torch.log1p, "square": torch.square, "abs": torch.abs,
         "tanh": torch.tanh, "sigmoid": torch.sigmoid, "softplus": softplus, "relu": F.relu, "swish": F.silu,
         "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "gelu": F.gelu,
         "gelu_tanh": lambda a: F.gelu(a, approximate="tanh"), **POSITIVE}
SPECIAL = EDGE + [1e-40, -1e-40, 1e-20, -1e-20, 1e-7, -1e-7, 20.0, -20.0, 80.0, -80.0, 0.5, 3.0]
TINY = [5e-324, 1e-310, 2.3e-308, 1e-300, 1e300, 700.0, 709.0, -745.0, 1e-16, 1.0 + 2.0**-52]
for op, function in UNARY.items():
    spread = np.concatenate([np.linspace(0.1, 6, 7), [0.01, 30.0]])
    points = np.concatenate([spread, -0.9 / spread if op == "log1p" else -spread])
    points = points[points > (0 if op in POSITIVE else -1 if op == "log1p" else -INF)]
    case(f"{op}/spread", function, points)
    case(f"{op}/shaped", function, np.abs(synthetic(op, 2, 1, 3)) + 0.5)
    values(f"{op}/special", function, SPECIAL)
    values(f"{op}/double", function, TINY, rounded=False)
AT_KINK = np.array([0.0, -0.0, 1.0, -1.0, 2.0])
for op, function in {"abs": torch.abs, "relu": F.relu}.items():
    case(f"{op}/kink", function, AT_KINK)

for power in (2.5, -1.5, 2, 3, 0.5, -1, 1, 0):
    bases = np.array([0.1, 0.5, 1.0, 2.0, 5.0])
    whole = float(power).is_integer()
    case(f"pow/{power}", lambda a: a.pow(power), np.concatenate([bases, -bases]) if whole else bases, reals=[power])
    with np.errstate(all="ignore"):  # C's pow, which knows (-infinity)^0.5
        values(f"pow/special{power}", lambda a: torch.tensor(np.power(a.numpy(), power)), EDGE + [20.0, 0.5],
               reals=[power])
case("pow/square_at_zero", lambda a: a.pow(2), [0.0, 1.0], reals=[2])
for slope in (0.2, 0.01, 0.0, -0.5):
    case(f"leaky_relu/{slope}", lambda a: F.leaky_relu(a, slope), AT_KINK, reals=[slope])
values("leaky_relu/special", lambda a: F.leaky_relu(a, 0.25), SPECIAL, reals=[0.25])
case("clamp/ends", lambda a: a.clamp(-1, 2), [-5.0, -1.0, -0.5, 0.0, 1.5, 2.0, 2.5], reals=[-1, 2])
values("clamp/special", lambda a: a.clamp(-1, 2), SPECIAL, reals=[-1, 2])
case("gate/kink", lambda g, a: torch.where(a > 0, g, 0.2 * g), (5,), AT_KINK, reals=[0.2])

# ---- reductions ----

AXES = {"all": [], "first": [0], "last": [-1], "outer": [0, 2], "middle": [1], "inner": [-2, -1]}
MANY = (3, 4, 3)
REDUCTIONS = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin, "logsumexp": torch.logsumexp}
for op, function in REDUCTIONS.items():
    for keep in (0, 1):
        for variant, axes in AXES.items():
            if keep and variant not in ("all", "outer"):
                continue
            dim = axes or [0, 1, 2]
            case(f"{op}/{variant}{'_kept' if keep else ''}", lambda a: function(a, dim, keepdim=bool(keep)), MANY,
                 ints=[keep] + axes)
    case(f"{op}/rank5", lambda a: function(a, [1, 3]), (2, 3, 1, 2, 3), ints=[0, 1, 3])
    case(f"{op}/one", lambda a: function(a, [0]), (1,), ints=[0, 0])
LARGE = [[1e4, 1e4, 1e4 - 1], [-1e4, -1e4, -1e4 - 2], [1e4, -1e4, 0], [INF, 1, 2], [-INF, -INF, -INF], [-INF, 3, 4],
         [NAN, 1, 2], [INF, -INF, 0], [88, 89, 90]]
case("max/ties", lambda a: a.amax(1), [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [-1.0, 0.0, -0.5]], ints=[0, 1])
case("max/ties_all", lambda a: a.amax(), [[1.0, 3.0, 3.0], [2.0, 2.0, 3.0]], ints=[0])
for op, function in REDUCTIONS.items():
    values(f"{op}/special", lambda a: function(a, [1]), LARGE, ints=[0, 1])
case("logsumexp/large", lambda a: a.logsumexp(1), LARGE[:3], ints=[0, 1])
for variant, dim, correction, keep in (("all", [0, 1, 2], 0, 0), ("rows", [2], 1, 0), ("outer_kept", [0, 2], 0, 1), ("unbiased", [0, 1, 2], 1, 0)):
    case(f"variance/{variant}", lambda a: a.var(dim, correction=correction, keepdim=bool(keep)), MANY, ints=[keep, correction] + dim)
for axis in (0, 1, -1):
    case(f"cumsum/axis{axis}", lambda a: a.cumsum(axis), MANY, ints=[axis])
values("cumsum/special", lambda a: a.cumsum(1), LARGE, ints=[1])
for k in (1, 2, 4):
    case(f"topk/{k}", lambda a: a.topk(k)[0], (3, 4), ints=[k, 0])
    values(f"topk/indices{k}", lambda a: a.topk(k)[1], synthetic(f"topk{k}", 2, 3, 4), ints=[k, 1])
values("topk/special", lambda a: a.topk(2)[0], LARGE, ints=[2, 0])
for op, function in {"softmax": torch.softmax, "log_softmax": torch.log_softmax}.items():
    for axis in (0, 1, -1):
        case(f"{op}/axis{axis}", lambda a: function(a, axis), MANY, ints=[axis])
    case(f"{op}/single", lambda a: function(a, 1), (3, 1), ints=[1])
    case(f"{op}/large", lambda a: function(a, 1), LARGE[:3], ints=[1])
    values(f"{op}/special", lambda a: function(a, 1), LARGE, ints=[1])

# ---- matrices ----


def matmul(transpose):
    return lambda a, b: (a.mT if transpose & 1 else a) @ (b.mT if transpose & 2 else b)


for transpose, form in enumerate(("nn", "tn", "nt", "tt")):
    def flip(bit, *shape):
        return shape[:-2] + (shape[-1], shape[-2]) if transpose & bit else shape
    for variant, a, b in (("plain", (3, 5), (5, 4)), ("vector", (1, 7), (7, 1)), ("outer", (4, 1), (1, 3)),
                          ("batched", (2, 3, 4), (2, 4, 5)), ("broadcast", (2, 1, 3, 2), (3, 2, 2)),
                          ("shared", (3, 4, 2), (2, 3)), ("shared_left", (3, 4), (2, 4, 2)), ("odd", (5, 17), (17, 3))):
        case(f"matmul/{form}_{variant}", matmul(transpose), flip(1, *a), flip(2, *b), ints=[transpose])


def lower(v, d):
    rows, columns = torch.tril_indices(d, d)
    return torch.zeros(d, d, dtype=v.dtype).index_put((rows, columns), torch.where(rows == columns, v.exp(), v))


for d in (1, 2, 4):
    case(f"tril_exp/{d}", lambda v: lower(v, d), (d * (d + 1) // 2,), ints=[d])
    case(f"tril_logdet/{d}", lambda v: torch.linalg.slogdet(lower(v, d) @ lower(v, d).T)[1], (d * (d + 1) // 2,),
         ints=[d])

# ---- shape ----

case("reshape/plain", lambda a: a.reshape(4, 6), (2, 3, 4), ints=[4, 6])
case("reshape/rest", lambda a: a.reshape(-1, 2), (2, 3, 4), ints=[-1, 2])
case("reshape/scalar", lambda a: a.reshape(()), (1, 1), ints=[])
for order in ((1, 0), (2, 0, 1), (0, 2, 1), (3, 1, 0, 2), (4, 2, 0, 3, 1)):
    case("permute/" + "".join(map(str, order)), lambda a: a.permute(order), (2, 3, 4, 2, 3)[:len(order)], ints=order)
case("broadcast_to/row", lambda a: a.expand(3, 2, 4), (4,), ints=[3, 2, 4])
case("broadcast_to/ones", lambda a: a.expand(2, 3, 4), (3, 1), ints=[2, 3, 4])
case("broadcast_to/scalar", lambda a: a.expand(2, 3), (), ints=[2, 3])
case("sum_to/row", lambda a: a.sum_to_size(4), (3, 2, 4), ints=[4])
case("sum_to/ones", lambda a: a.sum_to_size(3, 1), (2, 3, 4), ints=[3, 1])
case("sum_to/scalar", lambda a: a.sum(), (2, 3), ints=[])
END = 2**31 - 1
case("slice/middle", lambda a: a[1:3, :, 2:], (4, 3, 5), ints=[1, 0, 2, 3, END, END, 1, 1, 1])
case("slice/steps", lambda a: a[::2, 1:6:3], (5, 7), ints=[0, 1, END, 6, 2, 3])
case("slice/one", lambda a: a[2:3], (4,), ints=[2, 3, 1])


def embed(shape, start, step, fill):
    def function(a):
        places = tuple(slice(b, b + s * (n - 1) + 1, s) for b, s, n in zip(start, step, a.shape))
        index = torch.arange(math.prod(shape)).reshape(shape)[places].reshape(-1)
        return torch.full((math.prod(shape),), fill, dtype=a.dtype).index_put((index,), a.reshape(-1)).reshape(shape)
    return function


case("embed/corner", embed((4, 5), (1, 2), (1, 1), 0.0), (2, 3), ints=[4, 5, 1, 2, 1, 1], reals=[0])
case("embed/steps", embed((6, 7), (0, 1), (2, 3), -1.5), (3, 2), ints=[6, 7, 0, 1, 2, 3], reals=[-1.5])
case("pad/uneven", lambda a: F.pad(a, (2, 0, 1, 3), value=0.5), (2, 3, 4), ints=[0, 1, 2, 0, 3, 0], reals=[0.5])
case("pad/images", lambda a: F.pad(a, (0, 0, 1, 2, 2, 0)), (2, 3, 2, 2), ints=[0, 2, 1, 0, 0, 0, 2, 0], reals=[0])
values("pad/special", lambda a: F.pad(a, (1, 1), value=-INF), [NAN, 1], ints=[1, 1], reals=[-INF])
case("concat/rows", lambda *a: torch.cat(a, 0), (2, 3), (1, 3), (4, 3), ints=[0])
case("concat/middle", lambda *a: torch.cat(a, 1), (2, 1, 3), (2, 4, 3), ints=[1])
case("concat/last", lambda *a: torch.cat(a, -1), (2, 2, 1), (2, 2, 3), (2, 2, 2), ints=[-1])
case("concat/one", lambda *a: torch.cat(a, 0), (2, 2), ints=[0])

case("slice/backward", lambda a: a.flip(0, 1)[::2, 1::3], (5, 7), ints=[4, 5, END, END, -2, -3])
case("flip/all", lambda a: a.flip(0, 1), (3, 4), ints=[])
case("flip/two", lambda a: a.flip(0, 2), (3, 4, 2), ints=[0, -1])
case("pad_reflect/uneven", lambda a: F.pad(a[None, None], (2, 1, 1, 2), mode="reflect")[0, 0], (3, 4), ints=[1, 2, 2, 1])
case("pad_reflect/images", lambda a: F.pad(a.permute(0, 3, 1, 2), (1, 1, 2, 0), mode="reflect").permute(0, 2, 3, 1), (2, 3, 4, 2),
     ints=[0, 2, 1, 0, 0, 0, 1, 0])
case("stack/first", lambda *a: torch.stack(a), (2, 3), (2, 3), ints=[0])
case("stack/last", lambda *a: torch.stack(a, -1), (2, 3), (2, 3), (2, 3), ints=[-1])
case("chunk/rows", lambda a: a.chunk(3, 0)[1], (6, 2), ints=[3, 0, 1])
case("chunk/last", lambda a: a.chunk(4, -1)[3], (2, 4), ints=[4, -1, 3])
MASK = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
case("masked_fill/matrix", lambda a, m: a.masked_fill(m != 0, 0.25), (2, 3), MASK, reals=[0.25])
case("masked_fill/broadcast", lambda a, m: a.masked_fill(m != 0, -2.0), (4, 2, 3), MASK, reals=[-2])

ROWS = [3, 0, 3, 1, 3]
case("gather_rows/repeated", lambda a: a[ROWS], (4, 3), labels=ROWS)
case("gather_rows/images", lambda a: a[[1, 0]], (3, 2, 2, 2), labels=[1, 0])
case("scatter_rows/repeated", lambda a: torch.zeros(6, 3, dtype=a.dtype).index_add(0, torch.tensor(ROWS), a), (5, 3),
     labels=ROWS, ints=[6])
PLACES = [11, 0, 5, 5, 2, 7]


def put(a):
    return torch.zeros(12, dtype=a.dtype).index_add(0, torch.tensor(PLACES), a.reshape(-1)).reshape(3, 4)


case("take/repeated", lambda a: a.reshape(-1)[PLACES].reshape(2, 3), (3, 4), labels=PLACES, ints=[2, 3])
case("put/repeated", put, (2, 3), labels=PLACES, ints=[3, 4])

# ---- images ----


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def oihw(w):
    return w.permute(3, 2, 0, 1)


def hwio(w):
    return w.permute(2, 3, 1, 0)


def around(x, pad, value=0.0):
    top, bottom, left, right = pad
    return F.pad(x, (left, right, top, bottom), value=value)


def conv2d(stride, pad, dilation, groups):
    def function(x, w, bias=None):
        return nhwc(F.conv2d(around(nchw(x), pad), oihw(w), bias, stride, 0, dilation, groups))
    return function


# name: x, w, stride, (top, bottom, left, right), dilation, groups
CONVOLUTIONS = {
    "one_pixel": ((2, 3, 3, 3), (1, 1, 3, 4), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "valid": ((2, 5, 4, 2), (3, 3, 2, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "same": ((2, 5, 4, 3), (3, 3, 3, 2), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "channels8": ((1, 4, 4, 8), (3, 3, 8, 8), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "strided": ((1, 7, 6, 2), (3, 3, 2, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1),
    "strided_shortcut": ((2, 5, 6, 3), (1, 1, 3, 4), (2, 2), (0, 0, 0, 0), (1, 1), 1),
    "strides_differ": ((1, 8, 7, 2), (2, 3, 2, 2), (3, 2), (0, 0, 1, 1), (1, 1), 1),
    "uneven_padding": ((1, 4, 5, 2), (3, 2, 2, 3), (1, 1), (2, 0, 0, 1), (1, 1), 1),
    "uneven_strided": ((1, 5, 6, 1), (3, 3, 1, 2), (2, 1), (0, 1, 2, 1), (1, 1), 1),
    "dilated": ((1, 7, 8, 2), (3, 3, 2, 2), (1, 1), (2, 2, 2, 2), (2, 2), 1),
    "dilations_differ": ((1, 8, 6, 2), (3, 2, 2, 2), (2, 1), (1, 0, 1, 1), (2, 3), 1),
    "grouped": ((1, 4, 4, 4), (3, 3, 2, 6), (1, 1), (1, 1, 1, 1), (1, 1), 2),
    "depthwise": ((2, 5, 4, 3), (3, 3, 1, 3), (2, 1), (1, 1, 1, 1), (1, 1), 3),
    "grouped_all": ((1, 7, 6, 4), (2, 3, 2, 4), (2, 1), (1, 0, 0, 2), (1, 2), 2),
    "whole_image": ((2, 3, 4, 2), (3, 4, 2, 5), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "single": ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "larger_than_image": ((1, 2, 2, 2), (3, 3, 2, 2), (1, 1), (1, 1, 1, 1), (1, 1), 1),
}
for variant, (x, w, stride, pad, dilation, groups) in CONVOLUTIONS.items():
    plan = conv2d(stride, pad, dilation, groups)
    ints = [*stride, *pad, *dilation, groups]
    case(f"conv2d/{variant}", plan, x, w, ints=ints)
    if variant in ("same", "strided", "grouped", "single"):
        case(f"conv2d/{variant}_bias", plan, x, w, (w[3],), ints=ints)
    y = tuple(plan(torch.zeros(x), torch.zeros(w)).shape)

    def padded_input(g, weight):
        n, h, width, c = x
        size = (n, c, h + pad[0] + pad[1], width + pad[2] + pad[3])
        full = nhwc(torch.nn.grad.conv2d_input(size, oihw(weight), nchw(g), stride, 0, dilation, groups))
        return full[:, pad[0]:pad[0] + h, pad[2]:pad[2] + width]

    def weights(image, g):
        size = (w[3], w[2], w[0], w[1])
        return hwio(torch.nn.grad.conv2d_weight(around(nchw(image), pad), size, nchw(g), stride, 0, dilation, groups))
    if variant in ("channels8", "whole_image"):
        continue
    case(f"conv2d_input_grad/{variant}", padded_input, y, w, ints=ints + list(x))
    case(f"conv2d_weight_grad/{variant}", weights, x, y, ints=ints + list(w))

for variant, slope in (("same", 0.2), ("strided", 0.2), ("strided_shortcut", 0.0), ("channels8", 0.1)):
    x, w, stride, pad, dilation, groups = CONVOLUTIONS[variant]
    plan = conv2d(stride, pad, dilation, groups)
    y = tuple(plan(torch.zeros(x), torch.zeros(w)).shape)
    case(f"leaky_conv2d/{variant}", lambda a, b, bias, residual: plan(F.leaky_relu(a, slope), b, bias) + residual, x, w, (w[3],), y,
         ints=[*stride, *pad, *dilation, groups], reals=[slope])
    case(f"leaky_conv2d/{variant}_scaled",
         lambda a, b, bias, residual, scale, shift: plan(F.leaky_relu(a * scale + shift, slope), b, bias) + residual, x, w, (w[3],), y,
         (x[3],), (x[3],), ints=[*stride, *pad, *dilation, groups], reals=[slope])

# name: x, w, stride, padding on both sides, dilation, groups, output padding
TRANSPOSED = {
    "halves": ((2, 3, 2, 3), (2, 2, 2, 3), 2, 0, 1, 1, 0),
    "output_padding": ((1, 3, 4, 2), (3, 3, 3, 2), 2, 1, 1, 1, 1),
    "plain": ((1, 3, 4, 2), (3, 2, 3, 2), 1, 0, 1, 1, 0),
    "grouped": ((2, 2, 3, 4), (3, 3, 1, 4), 2, 1, 1, 2, 0),
    "dilated": ((1, 3, 4, 2), (2, 3, 2, 2), 3, 1, 2, 1, 2),
}
for variant, (x, w, stride, pad, dilation, groups, extra) in TRANSPOSED.items():
    ints = [stride, stride, pad, pad, pad, pad, dilation, dilation, groups, extra]

    def transposed(a, k, bias=None):
        return nhwc(F.conv_transpose2d(nchw(a), oihw(k), bias, stride, pad, extra, groups, dilation))
    case(f"conv_transpose/{variant}", transposed, x, w, ints=ints)
    case(f"conv_transpose/{variant}_bias", transposed, x, w, (w[2] * groups,), ints=ints)
for variant, x, w, stride, pad, dilation, groups in (
        ("plain", (2, 5, 2), (3, 2, 3), 1, (0, 0), 1, 1), ("causal", (1, 6, 2), (2, 2, 2), 1, (2, 0), 2, 1),
        ("strided", (2, 7, 4), (3, 2, 6), 2, (1, 1), 1, 2)):
    def sequences(a, k, bias):
        return F.conv1d(F.pad(a.mT, pad), k.permute(2, 1, 0), bias, stride, 0, dilation, groups).mT
    case(f"conv1d/{variant}", sequences, x, w, (w[2],), ints=[1, stride, 0, 0, *pad, 1, dilation, groups])
for variant, x, factors in (("two", (2, 3, 2, 2), (2, 2)), ("uneven", (1, 2, 4, 3), (3, 1)), ("one_pixel", (1, 1, 1, 2), (2, 3))):
    case(f"upsample_nearest/{variant}", lambda a: nhwc(F.interpolate(nchw(a), scale_factor=factors)), x, ints=factors)
    case(f"upsample_bilinear/{variant}", lambda a: nhwc(F.interpolate(nchw(a), scale_factor=factors, mode="bilinear")), x, ints=factors)

# name: x, window, stride, (top, bottom, left, right)
POOLINGS = {
    "halves": ((2, 4, 6, 3), (2, 2), (2, 2), (0, 0, 0, 0)),
    "overlapping": ((1, 5, 6, 2), (3, 3), (2, 2), (1, 1, 1, 1)),
    "uneven": ((1, 5, 4, 2), (3, 2), (1, 3), (2, 0, 0, 1)),
    "rest_left_over": ((1, 5, 7, 1), (2, 3), (2, 3), (0, 0, 0, 0)),
    "one_pixel": ((2, 3, 3, 2), (1, 1), (1, 1), (0, 0, 0, 0)),
    "gaps": ((1, 6, 5, 2), (1, 2), (3, 3), (0, 0, 0, 0)),
}
for variant, (x, window, stride, pad) in POOLINGS.items():
    ints = [*window, *stride, *pad]

    def average(a):
        return nhwc(F.avg_pool2d(around(nchw(a), pad), window, stride))

    def unpooled(g):
        image = torch.zeros(x, dtype=g.dtype, requires_grad=True)
        return torch.autograd.grad(average(image), image, g, create_graph=True)[0]
    case(f"max_pool/{variant}", lambda a: nhwc(F.max_pool2d(around(nchw(a), pad, -INF), window, stride)), x, ints=ints)
    case(f"avg_pool/{variant}", average, x, ints=ints)
    case(f"avg_unpool/{variant}", unpooled, tuple(average(torch.zeros(x)).shape), ints=ints + list(x))
FLAT = np.array([1.0, 1, 0, 1, 1, 1, 2, 2, 0, 0, 2, 2, 1, 3, 3, 3]).reshape((1, 4, 4, 1))
case("max_pool/ties", lambda a: nhwc(F.max_pool2d(nchw(a), 2)), FLAT, ints=[2, 2, 2, 2, 0, 0, 0, 0])
HOLES = np.where(FLAT == 2, NAN, np.where(FLAT == 1, -INF, FLAT))
values("max_pool/special", lambda a: nhwc(F.max_pool2d(nchw(a), 2)), HOLES, ints=[2, 2, 2, 2, 0, 0, 0, 0])
case("global_avg_pool/odd", lambda a: a.mean((1, 2)), (2, 3, 5, 4))
case("global_avg_pool/one_pixel", lambda a: a.mean((1, 2)), (2, 1, 1, 3))

# ---- normalization ----


def standard(a, axes, eps):
    mean, variance = a.mean(axes, keepdim=True), a.var(axes, unbiased=False, keepdim=True)
    return (a - mean) / (variance + eps).sqrt()


case("normalize/rows", lambda a: standard(a, (1,), 1e-3), (3, 5), ints=[1], reals=[1e-3])
case("normalize/outer", lambda a: standard(a, (0, 2), 0.5), (3, 2, 4), ints=[0, 2], reals=[0.5])
case("normalize/all", lambda a: standard(a, (0, 1), 1e-5), (3, 4), ints=[], reals=[1e-5])


def channels_first(x):
    return x.movedim(-1, 1)


def batch_norm(mean, var, training, momentum=0.1, eps=1e-5):
    return lambda x, gamma=None, beta=None: F.batch_norm(
        channels_first(x), mean, var, gamma, beta, training, momentum, eps).movedim(1, -1)


MEAN, VARIANCE = synthetic("running_mean", 3), np.abs(synthetic("running_var", 3)) + 0.5
for variant, x, training, momentum, eps in (
        ("training", (4, 3, 2, 3), 1, 0.1, 1e-5), ("training_rows", (5, 3), 1, 0.1, 1e-5),
        ("training_settings", (4, 2, 2, 3), 1, 0.75, 0.25), ("evaluation", (2, 3, 2, 3), 0, 0.1, 1e-5),
        ("evaluation_rows", (1, 3), 0, 0.1, 0.25)):
    for affine in (True, False):
        name = f"batch_norm/{variant}" + ("" if affine else "_plain")
        mean, var = torch.tensor(MEAN), torch.tensor(VARIANCE)
        inputs = [x, (3,), (3,)] if affine else [x]
        case(name, batch_norm(mean, var, bool(training), momentum, eps), *inputs, ints=[training, 1],
             reals=[momentum, eps])
        golden.add(name + "/running_mean", mean.numpy())
        golden.add(name + "/running_var", var.numpy())
mean, var = torch.tensor(MEAN), torch.tensor(VARIANCE)
batch_norm(mean, var, True)(torch.tensor(synthetic("batch_norm/two_updates/in0", 4, 2, 3, 3)))
case("batch_norm/two_updates", batch_norm(mean, var, True), (4, 2, 3, 3), (3,), (3,), ints=[1, 2], reals=[0.1, 1e-5])
golden.add("batch_norm/two_updates/running_mean", mean.numpy())
golden.add("batch_norm/two_updates/running_var", var.numpy())

for variant, x in (("rows", (3, 5)), ("sequence", (2, 3, 4))):
    case(f"layer_norm/{variant}", lambda a, g, b: F.layer_norm(a, x[-1:], g, b, 1e-5), x, x[-1:], x[-1:], reals=[1e-5])
    case(f"layer_norm/{variant}_plain", lambda a: F.layer_norm(a, x[-1:], eps=0.125), x, reals=[0.125])
for variant, x, groups in (("pairs", (2, 3, 2, 4), 2), ("one", (2, 2, 2, 3), 1), ("each", (2, 3, 3, 2), 2),
                           ("rows", (3, 6), 3)):
    case(f"group_norm/{variant}", lambda a, g, b: F.group_norm(channels_first(a), groups, g, b, 1e-5).movedim(1, -1),
         x, x[-1:], x[-1:], ints=[groups], reals=[1e-5])
case("group_norm/plain", lambda a: F.group_norm(channels_first(a), 2, eps=0.25).movedim(1, -1), (2, 2, 3, 4), ints=[2],
     reals=[0.25])
for variant, x, groups in (("pairs", (2, 3, 2, 4), 2), ("rows", (3, 6), 2)):
    case(f"leaky_norm/{variant}",
         lambda a, g, b: F.leaky_relu(F.group_norm(channels_first(a), groups, g, b, 1e-5).movedim(1, -1), 0.2),
         x, x[-1:], x[-1:], ints=[groups], reals=[0.2, 1e-5])
case("leaky_norm/layers", lambda a, g, b: F.relu(F.layer_norm(a, (5,), g, b, 1e-5)), (2, 3, 5), (5,), (5,), ints=[0], reals=[0, 1e-5])

# ---- losses ----

LABELS = [2, 0, 3, 3, 1]
case("pick/plain", lambda a: a[torch.arange(5), LABELS], (5, 4), labels=LABELS)
case("pick/one", lambda a: a[:, 0], (1, 1), labels=[0])
case("cross_entropy/plain", lambda a: F.cross_entropy(a, torch.tensor(LABELS)), (5, 4), labels=LABELS)
case("cross_entropy/large", lambda a: F.cross_entropy(a, torch.tensor([0, 1, 2])), LARGE[:3], labels=[0, 1, 2])
case("cross_entropy/one_row", lambda a: F.cross_entropy(a, torch.tensor([1])), (1, 3), labels=[1])
case("cross_entropy/one_class", lambda a: F.cross_entropy(a, torch.tensor([0, 0])), (2, 1), labels=[0, 0])
case("mse/plain", F.mse_loss, (3, 4), (3, 4))
case("mse/scalar", F.mse_loss, (), ())
for delta in (0.5, 1.0, 3.0):
    case(f"huber/{delta}", lambda a, b: F.huber_loss(a, b, delta=delta), (3, 4), (3, 4), reals=[delta])
FEW = [2, 0, -100, 1, 1]
for variant, labels, smoothing, weights in (("plain", [2, 0, 1, 1, 0], 0.0, None), ("smooth", [2, 0, 1, 1, 0], 0.25, None), ("skipped", FEW, 0.0, None),
                                            ("weighed", FEW, 0.0, [0.5, 2.0, 1.25]), ("all", FEW, 0.125, [0.5, 2.0, 1.25])):
    case(f"cross_entropy_with/{variant}", lambda a: F.cross_entropy(
        a, torch.tensor(labels), weight=None if weights is None else torch.tensor(weights, dtype=a.dtype), label_smoothing=smoothing),
        (5, 3), labels=labels, reals=[smoothing, *(weights or [0, 0, 0])])
case("cross_entropy_with/large", lambda a: F.cross_entropy(a, torch.tensor([0, 1, 2])), LARGE[:3], labels=[0, 1, 2], reals=[0, 0])
case("soft_cross_entropy/rows", F.cross_entropy, (4, 3), np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0, 0.125, 0.875], [0, 1, 0]]))
case("soft_cross_entropy/synthetic", F.cross_entropy, (2, 5), (2, 5))
case("binary_cross_entropy/rows", F.binary_cross_entropy_with_logits, (3, 4), np.array([[0, 1, 1, 0], [1, 1, 0.25, 0], [0, 0, 0, 0.5]]))
case("binary_cross_entropy/large", F.binary_cross_entropy_with_logits, LARGE[0] + [-1e4, 30, -30], [1, 0, 1, 0, 1, 0])
case("kl_divergence/rows", lambda p, q: F.kl_div(q.log_softmax(1), p.log_softmax(1), reduction="batchmean", log_target=True), (3, 4), (3, 4))
case("kl_divergence/sequences", lambda p, q: F.kl_div(q.log_softmax(2), p.log_softmax(2), reduction="sum", log_target=True) / 6, (2, 3, 4), (2, 3, 4))

# ---- the Gaussian-coupled softmax layer ----

KINDS = ("spherical", "diagonal", "full")


def precision(kind, v, d):
    if kind == "full":
        return lower(v, d) @ lower(v, d).T
    return torch.diag(v.exp().expand(d))


def log_prior(prior, classes):
    return prior[0] if prior else torch.full((classes,), -math.log(classes), dtype=torch.float64)


def energies(kind):
    def function(z, mean, v, *_):
        apart = z[:, None] - mean
        return 0.5 * torch.einsum("nci,ij,ncj->nc", apart, precision(kind, v, z.shape[1]), apart)
    return function


def log_joint(kind):
    def function(z, mean, v, *prior):
        p = precision(kind, v, z.shape[1])
        density = torch.distributions.MultivariateNormal(mean, precision_matrix=p)
        return density.log_prob(z[:, None]) + log_prior(prior, len(mean))
    return function


def tied(kind):
    """The softmax head with the Gaussians' posterior: weight (D, C) and bias (C)."""
    def function(mean, v, *prior):
        weight = precision(kind, v, mean.shape[1]) @ mean.T
        return weight, log_prior(prior, len(mean)) - 0.5 * (weight * mean.T).sum(0)
    return function


def penalty(kind):
    def function(w, b, *gaussians):
        weight, bias = tied(kind)(*gaussians)
        return 0.5 * ((w - weight).square().sum() + (b - bias).square().sum())
    return function


for number, kind in enumerate(KINDS):
    d = (2, 4, 3)[number]
    for prior in ([], [(3,)]):
        gaussians = [(3, d), ((1, d, d * (d + 1) // 2)[number],)] + prior
        variant = kind + ("_prior" if prior else "")
        ints = [number]
        case(f"gaussian_energy/{variant}", energies(kind), (4, d), *gaussians, ints=ints)
        case(f"gaussian_log_joint/{variant}", log_joint(kind), (4, d), *gaussians, ints=ints)
        case(f"gaussian_log_density/{variant}", lambda *a: log_joint(kind)(*a).logsumexp(1), (4, d), *gaussians,
             ints=ints)
        case(f"gaussian_weight/{variant}", lambda *a: tied(kind)(*a)[0], *gaussians, ints=ints)
        case(f"gaussian_bias/{variant}", lambda *a: tied(kind)(*a)[1], *gaussians, ints=ints)
        case(f"gaussian_penalty/{variant}", penalty(kind), (d, 3), (3,), *gaussians, ints=ints)

golden.write("ops.safetensors", "PyTorch's values; see make_ops.py")
