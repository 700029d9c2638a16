/* Losses. */
#include "core/io/json.h"
#include "core/op.h"
#include "ops/ops.h"

#include <tgmath.h>

/* ---- cross entropy, fused: the forward pass computes no probabilities ---- */

/* (softmax(logits) - one-hot) g / N */
static void cross_entropy_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *logits = node->in[0];
    cp_labels  labels = *(const cp_labels *)node->attr;
    cp_tensor *hot = cp_full(at, 0, logits->shape);
    if (!hot) return;
    for (int i = 0; i < labels.count; i++) hot->data[(size_t)i * (size_t)logits->dims[1] + (size_t)labels.at[i]] = 1;
    cp_tensor *difference = cp_sub(at, cp_softmax(at, logits, 1), hot);
    gin[0] = cp_mul(at, difference, cp_scale(at, g, 1 / (cp_real)labels.count));
}

static void labels_put(cp_json_writer *w, const cp_node *node) {
    const cp_labels *labels = node->attr;
    cp_json_put_integers(w, "labels", labels->at, (size_t)labels->count);
}

CP_OP(cross_entropy, .formula = "mean of logsumexp(logits) - logits[label]", .rule = "logits: g (softmax(logits) - one-hot) / rows",
      .attributes = labels_put,
      .words = "Each row gets its predicted probabilities minus a 1 at its label, times the "
               "incoming gradient and divided by the number of rows.",
      .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_SAVED});

/* One label for each row of a (rows, classes), from `low` on. */
static bool labels_fit(cp_at at, const char *op, const cp_tensor *a, cp_labels labels, int low) {
    if (a->rank != 2) return cp_misuse(at, op, "shape %s is not (rows, classes)", cp_shape_text(a).s);
    if (labels.count != a->dims[0] || (labels.count && !labels.at))
        return cp_misuse(at, op, labels.at ? "%d labels for the rows of %s" : "the labels (%d) for the rows of %s are NULL",
                         labels.count, cp_shape_text(a).s);
    for (int i = 0; i < labels.count; i++)
        if (labels.at[i] < low || labels.at[i] >= a->dims[1])
            return cp_misuse(at, op, "label %d at row %d is outside 0..%d, the classes of %s", labels.at[i], i, a->dims[1] - 1,
                             cp_shape_text(a).s);
    return true;
}

cp_tensor *(cp_cross_entropy)(cp_at at, cp_tensor *logits, cp_labels labels) {
    if (!cp_check(at, "cross_entropy", 1, &logits) || !labels_fit(at, "cross_entropy", logits, labels, 0)) return NULL;
    if (!logits->size) return cp_refuse(at, "cross_entropy", "logits of shape %s have no mean", cp_shape_text(logits).s);
    cp_tensor *out = cp_out(at, CP_SCALAR);
    int       *copy = cp_tape_copy(at, labels.at, (size_t)labels.count * sizeof *copy);
    cp_labels *attr = cp_tape_alloc(at, sizeof *attr);
    if (!out || !copy || !attr) return NULL;
    *attr = (cp_labels){copy, labels.count};
    size_t classes = (size_t)logits->dims[1];
    double total = 0;
    for (int i = 0; i < labels.count; i++) {
        const cp_real *row = logits->data + (size_t)i * classes;
        cp_real        top = row[0];
        double         sum = 0;
        for (size_t c = 1; c < classes; c++) top = row[c] > top || row[c] != row[c] ? row[c] : top;
        for (size_t c = 0; c < classes; c++) sum += exp((double)(row[c] - top));
        total += log(sum) + (double)(top - row[labels.at[i]]);
    }
    out->data[0] = (cp_real)(total / labels.count);
    return cp_record(at, &cp_op_cross_entropy, out, attr, 1, &logits);
}

/* ---- the value of each row's label ---- */

const cp_op cp_op_pick = {.name = "pick", .formula = "out[i] = a[i, labels[i]]"};

cp_tensor *(cp_pick)(cp_at at, cp_tensor *a, cp_labels labels) {
    if (!cp_check(at, "pick", 1, &a) || !labels_fit(at, "pick", a, labels, 0)) return NULL;
    if (a->size > INT32_MAX) return cp_refuse(at, "pick", "%s has too many values for an index", cp_shape_text(a).s);
    int *places = cp_tape_alloc(at, (size_t)labels.count * sizeof *places);
    if (!places) return NULL;
    for (int i = 0; i < labels.count; i++) places[i] = i * a->dims[1] + labels.at[i];
    return cp_take(at, a, (cp_indices){places, labels.count}, CP_SHAPE(labels.count));
}

/* ---- mean squared error ---- */

const cp_op cp_op_mse = {.name = "mse", .formula = "mean (a - b)^2"};

cp_tensor *(cp_mse)(cp_at at, cp_tensor *a, cp_tensor *b) {
    if (!cp_check(at, "mse", 2, (cp_tensor *[]){a, b})) return NULL;
    if (!cp_shape_same(a, b)) return cp_refuse(at, "mse", "shapes %s and %s differ", cp_shape_text(a).s, cp_shape_text(b).s);
    return cp_mean(at, cp_square(at, cp_sub(at, a, b)), CP_ALL, false);
}

/* ---- losses made of other ops ---- */

const cp_op cp_op_huber = {.name = "huber", .formula = "mean q (d - q / 2) with d = |a - b|, q = min(d, delta)"};
const cp_op cp_op_cross_entropy_with = {.name = "cross_entropy_with", .formula = "sum of -w q log_softmax(logits) / sum of w"};
const cp_op cp_op_soft_cross_entropy = {.name = "soft_cross_entropy",
                                        .formula = "mean over rows of -sum targets log_softmax(logits)"};
const cp_op cp_op_binary_cross_entropy = {.name = "binary_cross_entropy", .formula = "mean of softplus(logits) - targets logits"};
const cp_op cp_op_kl_divergence = {.name = "kl_divergence", .formula = "mean over rows of sum p (ln p - ln q)"};

/* Two tensors of one shape of at least `rank` axes, which is not empty. */
static bool is_match(cp_at at, const char *op, cp_tensor *a, cp_tensor *b, int rank) {
    if (!cp_check(at, op, 2, (cp_tensor *[]){a, b})) return false;
    if (!cp_shape_same(a, b)) return cp_misuse(at, op, "shapes %s and %s differ", cp_shape_text(a).s, cp_shape_text(b).s);
    return (a->size && a->rank >= rank) || cp_misuse(at, op, "values of shape %s have no mean over rows", cp_shape_text(a).s);
}

cp_tensor *(cp_huber)(cp_at at, cp_tensor *a, cp_tensor *b, cp_real delta) {
    if (!(delta > 0)) return cp_refuse(at, "huber", "delta is %g; it must be positive", (double)delta);
    if (!is_match(at, "huber", a, b, 0)) return NULL;
    cp_tensor *d = cp_abs(at, cp_sub(at, a, b)), *q = cp_clamp(at, d, 0, delta);
    return cp_mean(at, cp_mul(at, q, cp_sub(at, d, cp_scale(at, q, (cp_real)0.5))), CP_ALL, false);
}

/* q w / sum of w, as a constant (N, C). */
static cp_tensor *label_weights(cp_at at, cp_tensor *logits, cp_labels labels, cp_cross_entropy_config c) {
    cp_tensor *q = cp_full(at, 0, logits->shape);
    int        classes = logits->dims[1];
    double     total = 0;
    for (int i = 0; i < labels.count; i++)
        if (labels.at[i] >= 0) total += c.weights ? (double)c.weights[labels.at[i]] : 1;
    if (!(total > 0)) return cp_refuse(at, "cross_entropy_with", "no row of %s counts: there is no mean", cp_shape_text(logits).s);
    for (int i = 0; q && i < labels.count; i++)
        for (int k = 0; k < classes && labels.at[i] >= 0; k++) {
            double share = (double)c.smoothing / classes + (k == labels.at[i] ? 1 - (double)c.smoothing : 0);
            q->data[(size_t)i * (size_t)classes + (size_t)k] = (cp_real)(share * (c.weights ? (double)c.weights[k] : 1) / total);
        }
    return q;
}

cp_tensor *(cp_cross_entropy_with)(cp_at at, cp_tensor *logits, cp_labels labels, cp_cross_entropy_config c) {
    const char *op = "cross_entropy_with";
    if (!cp_check(at, op, 1, &logits) || !labels_fit(at, op, logits, labels, c.skip_unlabeled ? INT32_MIN : 0)) return NULL;
    if (!(c.smoothing >= 0 && c.smoothing < 1))
        return cp_refuse(at, op, "smoothing is %g; it must be in [0, 1)", (double)c.smoothing);
    for (int k = 0; k < logits->dims[1] && c.weights; k++)
        if (!(c.weights[k] >= 0 && isfinite(c.weights[k])))
            return cp_refuse(at, op, "the weight of class %d is %g", k, (double)c.weights[k]);
    cp_tensor *q = label_weights(at, logits, labels, c);
    if (!q) return NULL;
    cp_tensor *counted = cp_where(at, q, cp_log_softmax(at, logits, 1), cp_scalar(at, 0)); /* ln 0 times 0 counts 0 */
    return cp_neg(at, cp_sum(at, cp_mul(at, q, counted), CP_ALL, false));
}

cp_tensor *(cp_soft_cross_entropy)(cp_at at, cp_tensor *logits, cp_tensor *targets) {
    if (!is_match(at, "soft_cross_entropy", logits, targets, 1)) return NULL;
    cp_tensor *each = cp_sum(at, cp_mul(at, targets, cp_log_softmax(at, logits, -1)), CP_AXES(-1), false);
    return cp_neg(at, cp_mean(at, each, CP_ALL, false));
}

cp_tensor *(cp_binary_cross_entropy)(cp_at at, cp_tensor *logits, cp_tensor *targets) {
    if (!is_match(at, "binary_cross_entropy", logits, targets, 0)) return NULL;
    return cp_mean(at, cp_sub(at, cp_softplus(at, logits), cp_mul(at, targets, logits)), CP_ALL, false);
}

cp_tensor *(cp_kl_divergence)(cp_at at, cp_tensor *p_logits, cp_tensor *q_logits) {
    if (!is_match(at, "kl_divergence", p_logits, q_logits, 1)) return NULL;
    cp_tensor *apart = cp_sub(at, cp_log_softmax(at, p_logits, -1), cp_log_softmax(at, q_logits, -1));
    return cp_mean(at, cp_sum(at, cp_mul(at, cp_softmax(at, p_logits, -1), apart), CP_AXES(-1), false), CP_ALL, false);
}

/* ---- gradient penalty ---- */

cp_tensor *(cp_gradient_squares)(cp_at at, cp_tensor *y, cp_tensor *x) {
    cp_tensor *in[] = {y, x}, *slope;
    if (!cp_check(at, "gradient_squares", 2, in)) return NULL;
    if (y->rank != 1 || x->rank < 1 || y->dims[0] != x->dims[0])
        return cp_refuse(at, "gradient_squares", "y has shape %s and x %s; y must have one value for each row of x",
                         cp_shape_text(y).s, cp_shape_text(x).s);
    if (!cp_grad_recorded(at, cp_sum(at, y, CP_ALL, false), &x, 1, &slope)) return NULL;
    cp_tensor *rows = cp_reshape(at, slope, CP_SHAPE(x->dims[0], x->dims[0] ? (int)(x->size / (size_t)x->dims[0]) : 0));
    return cp_sum(at, cp_square(at, rows), CP_AXES(1), false);
}
