"""Writes judging.safetensors: operating points, curves, agreement, and tests of two classifiers, by scikit-learn, statsmodels and the
formulas of the literature in numpy, on random and adversarial inputs.

    python3 make_judging.py

RANK.NAME: scores of marked rows and of others. TWO.NAME: scores of two classifiers for the same rows. CLASSES.NAME: labels and
predictions. The other arrays are named after what they hold.
"""
import warnings

import numpy as np
from scipy import stats
from scipy.spatial.distance import mahalanobis
from sklearn import metrics
from sklearn.covariance import EmpiricalCovariance
from sklearn.neighbors import NearestNeighbors
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from golden_file import GoldenFile

file = GoldenFile()
random = np.random.default_rng(23)
warnings.simplefilter("ignore")
GRID = np.arange(101) / 100


# ---- curves ----

def roc_at(fpr, tpr, x):
    """Linear between the thresholds; of several points at the same false-positive rate the highest counts."""
    last = np.searchsorted(fpr, x, side="right") - 1
    if last + 1 == len(fpr):
        return 1.0
    return tpr[last] + (tpr[last + 1] - tpr[last]) * (x - fpr[last]) / (fpr[last + 1] - fpr[last])


def detection(scores, marked):
    if marked.all() or not marked.any():
        return np.full(4, np.nan), np.full(101, np.nan), np.full(101, np.nan)
    fpr, tpr, _ = metrics.roc_curve(marked, scores, drop_intermediate=False)
    steps = np.unique(scores)[::-1]
    recall = np.array([(scores[marked] >= t).mean() for t in steps])
    precision = np.array([marked[scores >= t].mean() for t in steps])
    numbers = [metrics.roc_auc_score(marked, scores), metrics.average_precision_score(marked, scores),
               metrics.average_precision_score(~marked, -scores), fpr[np.argmax(tpr >= 0.95)]]
    return numbers, [roc_at(fpr, tpr, x) for x in GRID], [precision[np.argmax(recall >= x)] for x in GRID]


def abstention(scores, right):
    """Among equal scores the mistakes are spread evenly."""
    spread = np.array([1 - right[scores == s].mean() for s in scores])
    mistakes = np.cumsum(spread[np.argsort(-scores, kind="stable")])
    n = len(scores)
    share = mistakes / np.arange(1, n + 1)
    first = lambda c: max(1, int(np.ceil(c * n - 1e-9)))
    return [share.mean(), 1 - share[first(0.8) - 1]], [share[first(c) - 1] for c in GRID]


def choose(kind, value, scores, marked):
    """The threshold of an operating point, by scikit-learn's curve; it begins at infinity."""
    fpr, tpr, thresholds = metrics.roc_curve(marked, scores, drop_intermediate=False)
    thresholds[0] = np.inf
    if kind == "sensitivity":
        return thresholds[np.argmax(tpr >= value)]
    if kind == "specificity":
        others = (~marked).sum()
        return thresholds[np.flatnonzero(np.round((1 - fpr) * others) / others >= value)[-1]]
    return thresholds[np.argmax(tpr - fpr)]


def wilson(hits, n):
    return [hits / n, *proportion_confint(hits, n, method="wilson")] if n else [np.nan] * 3


def rates(scores, marked, threshold, q):
    called = scores >= threshold
    (quiet, alarms), (missed, hits) = metrics.confusion_matrix(marked, called, labels=[False, True])
    sens, spec = hits / (hits + missed) if hits + missed else np.nan, quiet / (quiet + alarms) if quiet + alarms else np.nan
    f1 = metrics.f1_score(marked, called) if hits + alarms + missed else np.nan
    ppv = q * sens / (q * sens + (1 - q) * (1 - spec)) if sens + 1 - spec else np.nan
    npv = (1 - q) * spec / ((1 - q) * spec + q * (1 - sens)) if spec + 1 - sens else np.nan
    return [*wilson(hits, hits + missed), *wilson(quiet, quiet + alarms), *wilson(hits, hits + alarms),
            *wilson(quiet, quiet + missed), f1, ppv, npv]


RULES = [("sensitivity", 0.95), ("sensitivity", 1.0), ("sensitivity", 0.0), ("specificity", 0.9), ("specificity", 1.0),
         ("specificity", 0.0), ("youden", np.nan)]


def rank(name, scores, marked):
    scores, marked = np.asarray(scores, np.float64), np.asarray(marked, bool)
    numbers, roc, pr = detection(scores, marked)
    answers, risk = abstention(scores, marked)
    file.add(f"rank.{name}", np.stack([scores, marked.astype(float)], axis=1))
    file.add(f"rank.{name}.numbers", [*numbers, *answers])
    file.add(f"rank.{name}.curves", [roc, pr, risk])
    if 0 < marked.sum() < len(marked):
        thresholds = [choose(kind, value, scores, marked) for kind, value in RULES]
        file.add(f"rank.{name}.thresholds", thresholds)
    else:
        thresholds = []
    points = [*thresholds, 0.5, np.inf, -np.inf]
    file.add(f"rank.{name}.points", [[t, *rates(scores, marked, t, 0.03)] for t in points])


for n, share, step in [(80, 0.5, 0), (60, 0.1, 0), (101, 0.7, 0.5), (40, 0.5, 1), (7, 0.4, 0)]:
    marked = random.random(n) < share
    marked[:2] = True, False
    scores = random.normal(size=n) + 1.3 * marked
    rank(f"random_{n}", np.floor(scores / step) * step if step else scores, marked)
rank("all_equal", np.full(12, 0.25), np.arange(12) % 3 == 0)
rank("separated", np.arange(20.0), np.arange(20) >= 12)
rank("reversed", np.arange(20.0), np.arange(20) < 12)
rank("two_rows", [0.5, 0.5], [True, False])
rank("two_rows_in_order", [0.7, 0.5], [True, False])
rank("one_marked", random.normal(size=30), np.arange(30) == 11)
rank("one_other", random.normal(size=30), np.arange(30) != 4)
rank("all_marked", random.normal(size=9), np.ones(9))
rank("none_marked", random.normal(size=9), np.zeros(9))
rank("single", [0.5], [True])
rank("twenty_and_twenty", np.repeat(np.arange(20.0), 2), np.tile([True, False], 20))  # 0.95 and 0.9 are met exactly
rank("large_and_close", 1e15 + np.arange(25), random.random(25) < 0.5)

# ---- two classifiers on the same rows ----


def naive_delong(first, second, marked):
    """The definition: structural components over all pairs."""
    def components(scores):
        x, y = scores[marked][:, None], scores[~marked][None, :]
        won = (x > y) + 0.5 * (x == y)
        return won.mean(), won.mean(axis=1), won.mean(axis=0)
    (auc1, v1, w1), (auc2, v2, w2) = components(first), components(second)
    m, n = len(v1), len(w1)
    if m < 2 or n < 2:
        return auc1, auc2, np.nan
    covariance = np.cov(np.stack([v1, v2])) / m + np.cov(np.stack([w1, w2])) / n
    contrast = np.array([1, -1])
    return auc1, auc2, contrast @ covariance @ contrast


def midrank_delong(first, second, marked):
    """Sun and Xu 2014, as their published programs compute it."""
    m, n = marked.sum(), (~marked).sum()
    aucs, v, w = [], [], []
    for scores in (first, second):
        x, y = scores[marked], scores[~marked]
        tz, tx, ty = stats.rankdata(np.concatenate([x, y])), stats.rankdata(x), stats.rankdata(y)
        aucs.append(tz[:m].sum() / m / n - (m + 1) / 2 / n)
        v.append((tz[:m] - tx) / n)
        w.append(1 - (tz[m:] - ty) / m)
    if m < 2 or n < 2:
        return *aucs, np.nan
    covariance = np.cov(v) / m + np.cov(w) / n
    return *aucs, covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]


def two(name, first, second, marked):
    first, second, marked = np.asarray(first, np.float64), np.asarray(second, np.float64), np.asarray(marked, bool)
    found, quick = naive_delong(first, second, marked), midrank_delong(first, second, marked)
    np.testing.assert_allclose(found, quick, rtol=0, atol=1e-12)
    for scores, auc in ((first, found[0]), (second, found[1])):
        assert abs(metrics.roc_auc_score(marked, scores) - auc) < 1e-12
    difference, variance = found[0] - found[1], found[2]
    if not variance > 1e-15:
        p = np.nan if np.isnan(variance) or abs(difference) > 1e-12 else 1.0
    else:
        p = 2 * stats.norm.sf(abs(difference) / np.sqrt(variance))
    file.add(f"two.{name}", np.stack([first, second, marked.astype(float)], axis=1))
    file.add(f"two.{name}.delong", [*found, p])


for n, share, step in [(120, 0.4, 0), (90, 0.1, 0.5), (31, 0.5, 1), (400, 0.02, 0)]:
    marked = random.random(n) < share
    marked[:4] = True, True, False, False
    common = random.normal(size=n) + marked
    a, b = common + random.normal(size=n), common + 0.5 * marked + random.normal(size=n)
    two(f"random_{n}", *(np.floor(s / step) * step if step else s for s in (a, b)), marked)
half = np.arange(20) % 2 == 0
two("equal", np.arange(20.0), np.arange(20.0), half)
two("same_order", np.arange(20.0), np.exp(np.arange(20.0)), half)
two("all_tied", np.zeros(20), np.zeros(20), half)
two("one_tied", np.arange(20.0), np.zeros(20), half)
two("perfect_and_reversed", half * 1.0, half * -1.0, half)
two("one_marked", random.normal(size=15), random.normal(size=15), np.arange(15) == 3)
two("one_other", random.normal(size=15), random.normal(size=15), np.arange(15) != 3)
two("two_and_two", [0.1, 0.4, 0.35, 0.8], [0.2, 0.1, 0.4, 0.3], [False, False, True, True])

pairs = [(0, 0), (1, 0), (0, 1), (5, 5), (5, 6), (3, 20), (20, 3), (0, 40), (1000, 1100), (30000, 30400), (49000, 51000), (0, 3000)]
file.add("mcnemar", [[b, c, mcnemar([[9, b], [c, 9]], exact=True).pvalue] for b, c in pairs])

for name, p in [("several", [0.01, 0.04, 0.03, 0.005]), ("equal", [0.2, 0.2, 0.2]), ("one", [0.07]), ("zero", [0.0, 1.0, 0.5]),
                ("random", random.random(20) ** 3)]:
    file.add(f"holm.{name}", p)
    file.add(f"holm.{name}.adjusted", multipletests(p, method="holm")[1])

file.add("wilson", [[k, n, *proportion_confint(k, n, method="wilson")] for k, n in
                    [(0, 1), (1, 1), (0, 10), (10, 10), (5, 10), (1, 1000000), (37, 61), (0, 500)]])

# ---- several classes ----


def classes(name, labels, p):
    labels, p = np.asarray(labels), np.asarray(p, np.float64)
    predicted, c = p.argmax(axis=1), p.shape[1]
    precision = metrics.precision_score(labels, predicted, labels=range(c), average=None, zero_division=0)
    precision[[not (predicted == k).any() for k in range(c)]] = np.nan
    recall = metrics.recall_score(labels, predicted, labels=range(c), average=None, zero_division=0)
    recall[[not (labels == k).any() for k in range(c)]] = np.nan
    f1 = metrics.f1_score(labels, predicted, labels=range(c), average=None, zero_division=0)
    f1[[not ((labels == k) | (predicted == k)).any() for k in range(c)]] = np.nan
    auc = [metrics.roc_auc_score(labels == k, p[:, k]) if 0 < (labels == k).sum() < len(labels) else np.nan for k in range(c)]
    table = np.stack([recall, precision, f1, auc], axis=1)
    kappa = [metrics.cohen_kappa_score(labels, predicted, labels=range(c), weights=w) for w in (None, "quadratic")]
    # the noise expected in the ECE: Kumar et al. 2019, whose program draws these normals instead of taking the mean
    confidence, right, noisy, plain = p.max(axis=1), predicted == labels, 0, 0
    index = np.clip(np.ceil(confidence * 15).astype(int) - 1, 0, 14)
    for b in np.unique(index):
        inside = index == b
        gap, sd = right[inside].mean() - confidence[inside].mean(), np.sqrt(right[inside].var() / inside.sum())
        expected = stats.foldnorm.mean(abs(gap) / sd, scale=sd) if sd > 0 else abs(gap)
        if sd > 0:
            drawn = abs(np.random.default_rng(1).normal(gap, sd, 200000))
            assert abs(drawn.mean() - expected) < 5 * sd / np.sqrt(200000), (drawn.mean(), expected)
        noisy += inside.mean() * expected
        plain += inside.mean() * abs(gap)
    file.add(f"classes.{name}", p)
    file.add(f"classes.{name}.labels", labels)
    file.add(f"classes.{name}.table", np.vstack([table, np.nanmean(table, axis=0)]))
    file.add(f"classes.{name}.kappa", kappa + [metrics.mean_absolute_error(labels, predicted)])
    file.add(f"classes.{name}.debiased", [max(0.0, float(2 * plain - noisy))])


def noisy(n, c, sharp):
    labels = random.integers(c, size=n)
    z = sharp * (random.normal(size=(n, c)) + 1.2 * np.eye(c)[labels])
    return labels, np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


for n, c, sharp in [(150, 2, 1.0), (100, 4, 1.5), (60, 7, 0.5), (12, 3, 3.0), (1, 3, 1.0), (300, 3, 4.0)]:
    classes(f"random_{n}_{c}", *noisy(n, c, sharp))
classes("all_right", np.arange(9) % 3, np.eye(3)[np.arange(9) % 3])
classes("all_wrong", np.arange(9) % 3, np.eye(3)[(np.arange(9) + 1) % 3])
classes("one_label", np.full(10, 1), noisy(10, 3, 1.0)[1])
classes("one_prediction", np.arange(12) % 3, np.tile([0.2, 0.5, 0.3], (12, 1)))
classes("label_and_prediction", np.zeros(5, int), np.tile([0.9, 0.1], (5, 1)))
classes("equal_rows", np.arange(8) % 4, np.full((8, 4), 0.25))

# ---- scores of features ----


def features(name, train, labels, classes, test):
    train, test, labels = np.asarray(train, np.float64), np.asarray(test, np.float64), np.asarray(labels)
    means = [train[labels == c].mean(axis=0) for c in range(classes) if (labels == c).any()]
    inner = train - np.stack([train[labels == l].mean(axis=0) for l in labels])
    covariance = EmpiricalCovariance(assume_centered=True).fit(inner).covariance_
    trace = np.trace(covariance)
    covariance = covariance + np.eye(len(covariance)) * (1e-6 * trace / len(covariance) if trace > 0 else 1)
    inverse = np.linalg.inv(covariance)
    distance = np.min([np.einsum("nd,de,ne->n", test - m, inverse, test - m) for m in means], axis=0)
    if len(means) == 1:
        np.testing.assert_allclose(distance, [mahalanobis(t, means[0], inverse) ** 2 for t in test], rtol=1e-9)
    unit = lambda z: z / np.where(np.linalg.norm(z, axis=1, keepdims=True) > 0, np.linalg.norm(z, axis=1, keepdims=True), 1)
    nearest = NearestNeighbors(n_neighbors=min(50, len(train)), algorithm="brute").fit(unit(train)).kneighbors(unit(test))[0][:, -1]
    direct = np.sort(np.linalg.norm(unit(test)[:, None] - unit(train)[None], axis=2), axis=1)[:, min(50, len(train)) - 1]
    assert abs(nearest - direct).max() < 1e-6  # scikit-learn's brute force subtracts squares
    file.add(f"features.{name}", train)
    file.add(f"features.{name}.labels", labels)
    file.add(f"features.{name}.classes", [classes])
    file.add(f"features.{name}.test", test)
    file.add(f"features.{name}.scores", [-distance, -direct])


mixed = random.normal(size=(4, 4))
features("several", random.normal(size=(90, 4)) @ mixed, random.integers(3, size=90), 3, random.normal(size=(12, 4)) * 2)
features("few", random.normal(size=(7, 2)), [0, 0, 0, 2, 2, 2, 2], 3, random.normal(size=(5, 2)))  # class 1 has none
features("one_class", random.normal(size=(60, 3)), np.zeros(60, int), 1, random.normal(size=(4, 3)))
features("single", [[1.0, 2.0]], [0], 2, [[1.0, 2.0], [0.0, 0.0], [-3.0, 1.0]])
features("ties", np.repeat([[1.0, 0.0], [0.0, 1.0]], 40, axis=0), np.tile([0, 1], 40), 2, [[1.0, 0.0], [1.0, 1.0]])

file.write("judging.safetensors", "operating points, curves, agreement and paired tests; make_judging.py")
