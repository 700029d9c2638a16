/* Cases of reductions over sets of axes, the softmax family, and the losses. */
#include "tests/support/cases.h"

#define BUILD_REDUCTION(name)                                                                                                      \
    static cp_tensor *build_##name(cp_tape *tape, cp_tensor **in, const op_case *c) {                                              \
        return cp_##name(tape, in[0], c->axes, c->keepdim);                                                                        \
    }
BUILD_REDUCTION(sum)
BUILD_REDUCTION(mean)
BUILD_REDUCTION(max)
BUILD_REDUCTION(logsumexp)
BUILD_REDUCTION(min)

static cp_tensor *build_variance(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_variance(tape, in[0], c->axes, c->number, c->keepdim);
}

static cp_tensor *build_cumsum(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_cumsum(tape, in[0], c->number); }

static cp_tensor *build_topk(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_topk(tape, in[0], c->number, NULL); }

static cp_tensor *build_softmax(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_softmax(tape, in[0], c->number); }

static cp_tensor *build_log_softmax(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_log_softmax(tape, in[0], c->number);
}

/* Values where e^a overflows or vanishes: the input plus real[0]. */
static cp_tensor *build_logsumexp_shifted(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_affine(tape, cp_logsumexp(tape, cp_affine(tape, in[0], 1, (cp_real)c->real[0]), c->axes, c->keepdim), 1,
                     (cp_real)-c->real[0]);
}

static cp_tensor *build_softmax_shifted(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_softmax(tape, cp_affine(tape, in[0], 1, (cp_real)c->real[0]), c->number);
}

static cp_tensor *build_log_softmax_shifted(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_log_softmax(tape, cp_affine(tape, in[0], 1, (cp_real)c->real[0]), c->number);
}

static cp_tensor *build_pick(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_pick(tape, in[0], (cp_labels){c->places, c->place_count});
}

static cp_tensor *build_cross_entropy(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_cross_entropy(tape, in[0], (cp_labels){c->places, c->place_count});
}

static cp_tensor *build_mse(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_mse(tape, in[0], in[1]);
}

static cp_tensor *build_huber(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_huber(tape, in[0], in[1], (cp_real)c->real[0]);
}

/* flags: 1 smooths, 2 weighs the classes, 4 skips unlabeled rows. */
static cp_tensor *build_cross_entropy_with(cp_tape *tape, cp_tensor **in, const op_case *c) {
    static const cp_real    weights[] = {(cp_real)0.5, 2, (cp_real)1.25};
    cp_cross_entropy_config config = {.smoothing = c->flags & 1 ? (cp_real)0.3 : 0, .skip_unlabeled = c->flags & 4};
    if (c->flags & 2) config.weights = weights;
    return cp_cross_entropy_with(tape, in[0], (cp_labels){c->places, c->place_count}, config);
}

static cp_tensor *build_soft_cross_entropy(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_soft_cross_entropy(tape, in[0], in[1]);
}

static cp_tensor *build_binary_cross_entropy(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_binary_cross_entropy(tape, in[0], in[1]);
}

static cp_tensor *build_kl_divergence(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_kl_divergence(tape, in[0], in[1]);
}

#define HUGE_SHIFT(by) .real = {by}, .double_only = true

/* clang-format off */
#define AXIS_SETS(name, FROM)                                                                                          \
    {#name, "a scalar",                          build_##name, {SCALAR(FROM_##FROM)}},                                 \
    {#name, "size 1",                            build_##name, {FROM(1)}, .axes = AXES(0)},                            \
    {#name, "all of rank 1",                     build_##name, {FROM(7)}, .axes = AXES(0)},                            \
    {#name, "all axes",                          build_##name, {FROM(3, 4, 5)}},                                       \
    {#name, "all axes, kept",                    build_##name, {FROM(3, 4, 5)}, .keepdim = true},                      \
    {#name, "all axes, named",                   build_##name, {FROM(3, 5)}, .axes = AXES(1, 0)},                      \
    {#name, "first axis",                        build_##name, {FROM(3, 4, 5)}, .axes = AXES(0)},                      \
    {#name, "first axis, kept",                  build_##name, {FROM(3, 4, 5)}, .axes = AXES(0), .keepdim = true},     \
    {#name, "last axis",                         build_##name, {FROM(3, 4, 5)}, .axes = AXES(2)},                      \
    {#name, "last axis, negative",               build_##name, {FROM(3, 4, 5)}, .axes = AXES(-1)},                     \
    {#name, "last axis, kept",                   build_##name, {FROM(3, 4, 5)}, .axes = AXES(2), .keepdim = true},     \
    {#name, "middle axis",                       build_##name, {FROM(3, 4, 5)}, .axes = AXES(1)},                      \
    {#name, "middle axis, negative, kept",       build_##name, {FROM(3, 4, 5)}, .axes = AXES(-2), .keepdim = true},    \
    {#name, "first and last",                    build_##name, {FROM(3, 4, 5)}, .axes = AXES(0, 2)},                   \
    {#name, "last and first, kept",              build_##name, {FROM(3, 4, 5)}, .axes = AXES(-1, 0), .keepdim = true}, \
    {#name, "two neighbors of rank 4",           build_##name, {FROM(2, 3, 4, 3)}, .axes = AXES(1, 2)},                \
    {#name, "three, not adjacent, of rank 5",    build_##name, {FROM(2, 3, 2, 3, 2)}, .axes = AXES(0, 2, 4)},          \
    {#name, "two, not adjacent, of rank 5",      build_##name, {FROM(2, 3, 2, 3, 2)}, .axes = AXES(3, 1)},             \
    {#name, "an axis of size 1",                 build_##name, {FROM(3, 1, 5)}, .axes = AXES(1)}

#define SOFTMAXES(name)                                                                                                \
    {#name, "one value",                         build_##name, {ANY(1)}},                                              \
    {#name, "rank 1",                            build_##name, {ANY(7)}},                                              \
    {#name, "rows",                              build_##name, {ANY(3, 5)}, .number = 1},                              \
    {#name, "columns",                           build_##name, {ANY(3, 5)}, .number = 0},                              \
    {#name, "middle axis",                       build_##name, {ANY(3, 4, 5)}, .number = 1},                           \
    {#name, "last axis, negative",               build_##name, {ANY(3, 4, 5)}, .number = -1},                          \
    {#name, "an axis of size 1",                 build_##name, {ANY(3, 1, 5)}, .number = 1},                           \
    {#name, "rank 5, second axis",               build_##name, {ANY(2, 3, 2, 1, 3)}, .number = -4},                    \
    {#name, "logits near 1000",                  build_##name##_shifted, {ANY(3, 5)}, .number = 1, HUGE_SHIFT(1000)}

static const op_case cases[] = {
    AXIS_SETS(sum, ANY),
    AXIS_SETS(mean, ANY),
    AXIS_SETS(max, APART),
    AXIS_SETS(logsumexp, ANY),
    AXIS_SETS(min, APART),
    AXIS_SETS(variance, ANY),
    {"variance", "unbiased",                 build_variance, {ANY(3, 5)}, .axes = AXES(1), .number = 1},
    {"variance", "unbiased, all, kept",      build_variance, {ANY(3, 4, 2)}, .number = 1, .keepdim = true},
    {"cumsum", "size 1",                     build_cumsum, {ANY(1)}},
    {"cumsum", "rank 1",                     build_cumsum, {ANY(7)}},
    {"cumsum", "first axis",                 build_cumsum, {ANY(3, 4, 5)}},
    {"cumsum", "middle axis",                build_cumsum, {ANY(3, 4, 5)}, .number = 1},
    {"cumsum", "last axis, negative",        build_cumsum, {ANY(3, 5)}, .number = -1},
    {"cumsum", "an empty axis",              build_cumsum, {ANY(0, 3)}},
    {"cumsum", "rank 5",                     build_cumsum, {ANY(2, 1, 3, 2, 2)}, .number = 2},
    {"topk", "the largest",                  build_topk, {APART(3, 5)}, .number = 1},
    {"topk", "three of seven",               build_topk, {APART(7)}, .number = 3},
    {"topk", "all, sorted",                  build_topk, {APART(2, 2, 4)}, .number = 4},
    {"topk", "one of one",                   build_topk, {APART(2, 1)}, .number = 1},
    {"topk", "no rows",                      build_topk, {APART(0, 3)}, .number = 2},
    {"sum", "an empty axis",                 build_sum, {ANY(0, 3)}, .axes = AXES(0)},
    {"sum", "more values than one block",    build_sum, {ANY(1500, 2)}, .axes = AXES(0)},
    {"logsumexp", "values near 1000",        build_logsumexp_shifted, {ANY(3, 5)}, .axes = AXES(1), HUGE_SHIFT(1000)},
    {"logsumexp", "values near -1000",       build_logsumexp_shifted, {ANY(3, 5)}, .axes = AXES(0), HUGE_SHIFT(-1000)},

    SOFTMAXES(softmax),
    SOFTMAXES(log_softmax),

    {"pick", "several rows",                 build_pick, {ANY(5, 3)}, PLACES(2, 0, 1, 1, 0)},
    {"pick", "one value",                    build_pick, {ANY(1, 1)}, PLACES(0)},
    {"cross_entropy", "several rows",        build_cross_entropy, {ANY(5, 3)}, PLACES(2, 0, 1, 1, 0)},
    {"cross_entropy", "one row",             build_cross_entropy, {ANY(1, 7)}, PLACES(6)},
    {"cross_entropy", "one class",           build_cross_entropy, {ANY(4, 1)}, PLACES(0, 0, 0, 0)},
    {"cross_entropy", "one row, one class",  build_cross_entropy, {ANY(1, 1)}, PLACES(0)},
    {"cross_entropy", "two classes",         build_cross_entropy, {ANY(3, 2)}, PLACES(1, 1, 0)},

    {"mse", "rank 0",                        build_mse, {SCALAR(FROM_ANY), SCALAR(FROM_ANY)}},
    {"mse", "size 1",                        build_mse, {ANY(1, 1), ANY(1, 1)}},
    {"mse", "rank 2",                        build_mse, {ANY(3, 5), ANY(3, 5)}},
    {"cross_entropy_with", "nothing set",    build_cross_entropy_with, {ANY(4, 3)}, PLACES(2, 0, 1, 1)},
    {"cross_entropy_with", "smoothed",       build_cross_entropy_with, {ANY(4, 3)}, PLACES(2, 0, 1, 1), .flags = 1},
    {"cross_entropy_with", "weighed",        build_cross_entropy_with, {ANY(4, 3)}, PLACES(2, 0, 1, 1), .flags = 2},
    {"cross_entropy_with", "some unlabeled", build_cross_entropy_with, {ANY(4, 3)}, PLACES(-1, 0, -100, 1), .flags = 4},
    {"cross_entropy_with", "all of it",      build_cross_entropy_with, {ANY(4, 3)}, PLACES(2, -1, 1, 0), .flags = 7},
    {"cross_entropy_with", "one class",      build_cross_entropy_with, {ANY(2, 1)}, PLACES(0, 0), .flags = 1},
    {"soft_cross_entropy", "rows",           build_soft_cross_entropy, {ANY(3, 4), ANY(3, 4)}},
    {"soft_cross_entropy", "one value",      build_soft_cross_entropy, {ANY(1), ANY(1)}},
    {"soft_cross_entropy", "rank 3",         build_soft_cross_entropy, {ANY(2, 3, 2), ANY(2, 3, 2)}},
    {"binary_cross_entropy", "rows",         build_binary_cross_entropy, {ANY(3, 5), ANY(3, 5)}},
    {"binary_cross_entropy", "one value",    build_binary_cross_entropy, {SCALAR(FROM_ANY), SCALAR(FROM_ANY)}},
    {"binary_cross_entropy", "rank 4",       build_binary_cross_entropy, {ANY(2, 3, 2, 1), ANY(2, 3, 2, 1)}},
    {"kl_divergence", "rows",                build_kl_divergence, {ANY(3, 4), ANY(3, 4)}},
    {"kl_divergence", "one row, two classes", build_kl_divergence, {ANY(2), ANY(2)}},
    {"kl_divergence", "rank 3",              build_kl_divergence, {ANY(2, 2, 3), ANY(2, 2, 3)}},
    {"huber", "both sides of delta",         build_huber, {APART(3, 5), APART(3, 5)}, .real = {0.7}},
    {"huber", "all within",                  build_huber, {APART(4), APART(4)}, .real = {9}},
    {"huber", "one value, beyond",           build_huber, {SCALAR(FROM_APART), SCALAR(FROM_APART)}, .real = {0.001}},

    {"mse", "rank 5",                        build_mse, {ANY(2, 1, 3, 1, 2), ANY(2, 1, 3, 1, 2)}},
};
/* clang-format on */

CASE_TABLE(cases_reduce);
