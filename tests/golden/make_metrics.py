"""Writes metrics.safetensors: classifiers' metrics by scikit-learn and numpy, in float64, on random and adversarial predictions.

    python3 make_metrics.py

A case NAME has NAME.p (n, classes), probabilities, or NAME.logits; NAME.labels; NAME.values in the order of cp_metric;
NAME.bins (15, 3): count, mean confidence, accuracy; NAME.confusion; and with logits NAME.temperature, the fitted one, and
NAME.scaled, the values at it. NAME.groups are patients, drawn at random, and NAME.by_group the values, except the adaptive ECE, with the
sample_weight 1 / (predictions of the patient).
"""
import warnings

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn import metrics

from golden_file import GoldenFile

BINS = 15
file = GoldenFile()
random = np.random.default_rng(2024)
random_groups = np.random.default_rng(2025)


def calibration_bins(confidence, right):
    index = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    table = np.full((BINS, 3), np.nan)
    for b in range(BINS):
        inside = index == b
        table[b, 0] = inside.sum()
        if inside.any():
            table[b, 1:] = confidence[inside].mean(), right[inside].mean()
    return table


def adaptive_error(confidence, right):
    """Equal confidences share their mean accuracy; then any order among them gives the same."""
    shared = np.array([right[confidence == q].mean() for q in confidence])
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, BINS) if len(part)]
    return sum(abs(shared[part].mean() - confidence[part].mean()) * len(part) for part in parts) / len(order)


def auc(p, labels):
    classes = p.shape[1]
    wanted = [1] if classes == 2 else range(classes)
    each = [metrics.roc_auc_score(labels == c, p[:, c]) for c in wanted if 0 < (labels == c).sum() < len(labels)]
    if classes > 2 and len(np.unique(labels)) == classes: # where scikit-learn has an answer of its own, it is this
        assert abs(np.mean(each) - metrics.roc_auc_score(labels, p, multi_class="ovr")) < 1e-12
    return np.mean(each) if each else np.nan


def nll(p, labels):
    eps = np.finfo(np.float64).eps
    own = -np.log(np.clip(p[np.arange(len(p)), labels], eps, 1)).mean()
    if p.shape[1] > 1:
        assert abs(own - metrics.log_loss(labels, p, labels=np.arange(p.shape[1]))) < 1e-12
    return own


def brier(p, labels):
    own = ((p - np.eye(p.shape[1])[labels]) ** 2).sum(axis=1).mean()
    if p.shape[1] == 2:
        assert abs(own - 2 * metrics.brier_score_loss(labels == 1, np.minimum(p[:, 1], 1))) < 1e-12
    return own


def values(p, labels, exact_nll=None):
    predicted, confidence = p.argmax(axis=1), p.max(axis=1)
    right = (predicted == labels).astype(float)
    table = calibration_bins(confidence, right)
    filled = table[table[:, 0] > 0]
    gaps = abs(filled[:, 1] - filled[:, 2])
    return np.array([metrics.accuracy_score(labels, predicted), metrics.balanced_accuracy_score(labels, predicted),
                     auc(p, labels), nll(p, labels) if exact_nll is None else exact_nll, brier(p, labels),
                     (filled[:, 0] * gaps).sum() / len(p), gaps.max(), adaptive_error(confidence, right)]), table


def weighted(p, labels, rows, w):
    """Values with weights: rows are the NLL of each prediction."""
    predicted, confidence, classes = p.argmax(axis=1), p.max(axis=1), p.shape[1]
    wanted = [1] if classes == 2 else range(classes)
    aucs = [metrics.roc_auc_score(labels == c, p[:, c], sample_weight=w) for c in wanted if 0 < (labels == c).sum() < len(labels)]
    gaps = []
    for b in range(BINS):
        inside = (confidence * BINS > b) & (confidence * BINS <= b + 1)
        if inside.any():
            gap = np.average((predicted == labels)[inside], weights=w[inside]) - np.average(confidence[inside], weights=w[inside])
            gaps.append((w[inside].sum() / w.sum(), abs(gap)))
    squares = ((p - np.eye(classes)[labels]) ** 2).sum(axis=1)
    return np.array([metrics.accuracy_score(labels, predicted, sample_weight=w),
                     metrics.balanced_accuracy_score(labels, predicted, sample_weight=w), np.mean(aucs) if aucs else np.nan,
                     np.average(rows, weights=w), np.average(squares, weights=w), sum(share * gap for share, gap in gaps),
                     max(gap for _, gap in gaps)])


def add_groups(name, p, labels, rows, numbers):
    n = len(labels)
    groups = random_groups.integers(-2**31, 2**31, size=max(1, n // 4))[random_groups.integers(max(1, n // 4), size=n)]
    w = np.array([1 / (groups == g).sum() for g in groups])
    by_group = weighted(p, labels, rows, w)
    each = np.array([[(p.argmax(axis=1) == labels)[groups == g].mean(), rows[groups == g].mean()] for g in np.unique(groups)])
    np.testing.assert_allclose(each.mean(axis=0), by_group[[0, 3]], rtol=0, atol=1e-12) # means over patients of their means
    np.testing.assert_allclose(weighted(p, labels, rows, np.ones(n)), numbers[:7], rtol=0, atol=1e-12)
    file.add(f"{name}.groups", groups)
    file.add(f"{name}.by_group", by_group)


def floored(p, labels):
    """The NLL of each of these probabilities."""
    rows = -np.log(np.clip(p[np.arange(len(p)), labels], np.finfo(np.float64).eps, 1))
    if p.shape[1] > 1:
        w = np.arange(1, len(p) + 1)
        own = metrics.log_loss(labels, p, labels=np.arange(p.shape[1]), sample_weight=w)
        assert abs(np.average(rows, weights=w) - own) < 1e-12
    return rows


def add(name, given, labels, p, rows=None):
    labels = np.asarray(labels)
    numbers, table = values(p, labels, None if rows is None else rows.mean())
    add_groups(name, p, labels, floored(p, labels) if rows is None else rows, numbers)
    file.add(f"{name}.{given[0]}", given[1])
    file.add(f"{name}.labels", labels)
    file.add(f"{name}.values", numbers)
    file.add(f"{name}.bins", table)
    file.add(f"{name}.confusion", metrics.confusion_matrix(labels, p.argmax(axis=1), labels=np.arange(p.shape[1])))


def probabilities(name, p, labels):
    p = np.asarray(p, np.float64)
    add(name, ("p", p), labels, p)


def nlls(z, labels, t):
    return -log_softmax(z / t, axis=1)[np.arange(len(z)), labels]


def mean_nll(z, labels, t):
    return nlls(z, labels, t).mean()


def nll_slope(z, labels, s):
    """d mean_nll / d s at temperature 1 / s."""
    return ((softmax(s * z, axis=1) * z).sum(axis=1) - z[np.arange(len(z)), labels]).mean()


def logits(name, z, labels):
    z, labels = np.asarray(z, np.float64), np.asarray(labels)
    add(name, ("logits", z), labels, softmax(z, axis=1), nlls(z, labels, 1))
    t = 1 / brentq(lambda s: nll_slope(z, labels, s), 1 / 100, 100, xtol=1e-15, rtol=1e-14)
    rough = minimize_scalar(lambda u: mean_nll(z, labels, np.exp(u)), bounds=(-np.log(100), np.log(100)), method="bounded")
    assert abs(np.exp(rough.x) / t - 1) < 1e-4, (name, t, np.exp(rough.x))
    file.add(f"{name}.temperature", [t])
    file.add(f"{name}.scaled", values(softmax(z / t, axis=1), labels, mean_nll(z, labels, t))[0])


def noisy(n, classes, sharp):
    """Labels, and logits that depend on them."""
    labels = random.integers(classes, size=n)
    return sharp * (random.normal(size=(n, classes)) + 1.2 * np.eye(classes)[labels]), labels


warnings.simplefilter("ignore", UserWarning) # balanced accuracy: a class without labels
for n, classes in [(150, 2), (130, 3), (100, 8), (61, 11), (14, 4), (15, 4), (16, 4), (29, 3), (31, 2)]:
    z, labels = noisy(n, classes, 1.5)
    probabilities(f"random_{n}_{classes}", softmax(z, axis=1), labels)

tied = random.integers(0, 5, size=(90, 3)) + 1.0
probabilities("ties_3", tied / tied.sum(axis=1, keepdims=True), random.integers(3, size=90))
first = random.integers(0, 11, size=120) / 10
probabilities("ties_2", np.stack([1 - first, first], axis=1), random.integers(2, size=120))
probabilities("all_equal", np.full((40, 5), 0.2), random.integers(5, size=40))
probabilities("all_equal_2", np.full((33, 2), 0.5), random.integers(2, size=33))
edges = np.arange(8, 16) / 15
probabilities("bin_edges", np.stack([edges, 1 - edges], axis=1), [0, 1, 0, 0, 1, 1, 0, 0])
probabilities("next_to_edges", np.stack([np.nextafter(edges, 2).clip(max=1), 1 - edges], axis=1), [0, 1, 0, 0, 1, 1, 0, 0])
probabilities("one_label_only", softmax(random.normal(size=(20, 3)), axis=1), np.full(20, 2))
probabilities("one_label_only_2", softmax(random.normal(size=(20, 2)), axis=1), np.zeros(20, int))
probabilities("one_class", np.ones((7, 1)), np.zeros(7, int))
probabilities("absent_classes", softmax(random.normal(size=(50, 6)), axis=1), random.choice([1, 4], size=50))
probabilities("certain_and_right", np.eye(4)[np.arange(24) % 4], np.arange(24) % 4)
probabilities("certain_and_wrong", np.eye(4)[(np.arange(24) + 1) % 4], np.arange(24) % 4)
probabilities("certain_mixed", np.eye(3)[random.integers(3, size=40)], random.integers(3, size=40))
probabilities("single_right", [[0.1, 0.7, 0.2]], [1])
probabilities("single_wrong", [[0.1, 0.7, 0.2]], [0])
probabilities("single_fifths", [[0.2, 0.2, 0.2, 0.2, 0.2]], [4])
probabilities("single_sure", [[1.0, 0.0]], [0])
probabilities("single_impossible", [[1.0, 0.0]], [1])
probabilities("tiny_probabilities", [[1e-300, 1.0], [1.0, 5e-324], [1e-16, 1.0]], [0, 1, 0])

logits("overconfident", *noisy(150, 4, 4.0))
logits("underconfident", *noisy(150, 3, 0.2))
logits("two", *noisy(120, 2, 2.5))
z, labels = noisy(40, 3, 1.0)
logits("far_from_zero", z + 1e4, labels)
logits("large", *noisy(60, 5, 50.0))

file.write("metrics.safetensors", "classifiers' metrics by scikit-learn and numpy; make_metrics.py")
