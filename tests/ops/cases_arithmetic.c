/* Cases of arithmetic with broadcasting, comparisons and choices. */
#include "tests/support/cases.h"

cp_tensor *cp_accumulate(cp_at at, cp_tensor *a, cp_tensor *b); /* used only by the sweep */

static cp_tensor *build_accumulate(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_accumulate(CP_AT(tape), in[0], in[1]);
}

/* A segment with a parameter-like input used twice, a product and a smooth function. */
static cp_tensor *segment(cp_at at, void *context, cp_tensor *const *in) {
    (void)context;
    return cp_tanh(at, cp_mul(at, cp_add(at, in[0], in[1]), in[1]));
}

static cp_tensor *build_recompute(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_recompute(tape, segment, NULL, in, 2, NULL);
}

#define BUILD_BINARY(name)                                                                                                         \
    static cp_tensor *build_##name(cp_tape *tape, cp_tensor **in, const op_case *c) {                                              \
        (void)c;                                                                                                                   \
        return cp_##name(tape, in[0], in[1]);                                                                                      \
    }
BUILD_BINARY(add)
BUILD_BINARY(sub)
BUILD_BINARY(mul)
BUILD_BINARY(div)
BUILD_BINARY(minimum)
BUILD_BINARY(maximum)
BUILD_BINARY(greater)
BUILD_BINARY(equal)

/* The same tensor as both arguments. */
#define BUILD_TWICE(name)                                                                                                          \
    static cp_tensor *build_##name##_twice(cp_tape *tape, cp_tensor **in, const op_case *c) {                                      \
        (void)c;                                                                                                                   \
        return cp_##name(tape, in[0], in[0]);                                                                                      \
    }
BUILD_TWICE(add)
BUILD_TWICE(mul)
BUILD_TWICE(div)

static cp_tensor *build_where(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_where(tape, in[0], in[1], in[2]);
}

static cp_tensor *build_affine(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_affine(tape, in[0], (cp_real)c->real[0], (cp_real)c->real[1]);
}

static cp_tensor *build_scale(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_scale(tape, in[0], (cp_real)c->real[0]);
}

/* clang-format off */
#define BROADCASTS(name, A, B)                                                                                         \
    {#name, "same shape, rank 1",             build_##name, {A(7), B(7)}},                                             \
    {#name, "same shape, rank 2, odd sizes",  build_##name, {A(3, 5), B(3, 5)}},                                       \
    {#name, "same shape, rank 5",             build_##name, {A(2, 1, 3, 1, 2), B(2, 1, 3, 1, 2)}},                     \
    {#name, "scalars",                        build_##name, {SCALAR(FROM_##A), SCALAR(FROM_##B)}},                     \
    {#name, "size 1 against a scalar",        build_##name, {A(1), SCALAR(FROM_##B)}},                                 \
    {#name, "a is a scalar",                  build_##name, {SCALAR(FROM_##A), B(3, 4)}},                              \
    {#name, "b is a scalar",                  build_##name, {A(3, 4), SCALAR(FROM_##B)}},                              \
    {#name, "a broadcasts, last axis alone",  build_##name, {A(5), B(3, 5)}},                                          \
    {#name, "b broadcasts, last axis alone",  build_##name, {A(3, 5), B(5)}},                                          \
    {#name, "a broadcasts, a size 1 inside",  build_##name, {A(2, 1, 3), B(2, 4, 3)}},                                 \
    {#name, "b broadcasts, a size 1 inside",  build_##name, {A(2, 4, 3), B(2, 1, 3)}},                                 \
    {#name, "b broadcasts, a column",         build_##name, {A(4, 3), B(4, 1)}},                                       \
    {#name, "both broadcast, outer product",  build_##name, {A(3, 1), B(1, 4)}},                                       \
    {#name, "both broadcast, ranks differ",   build_##name, {A(3, 1, 2), B(4, 1)}},                                    \
    {#name, "both broadcast, rank 5",         build_##name, {A(2, 1, 3, 1, 2), B(1, 2, 1, 3, 1)}},                     \
    {#name, "b broadcasts over an image",     build_##name, {A(2, 3, 3, 4), B(4)}}

static const op_case cases[] = {
    BROADCASTS(add, ANY, ANY),
    BROADCASTS(sub, ANY, ANY),
    BROADCASTS(mul, ANY, ANY),
    BROADCASTS(div, ANY, POSITIVE),
    BROADCASTS(minimum, APART, APART),
    BROADCASTS(maximum, APART, APART),
    {"add", "a value added to itself",      build_add_twice, {ANY(3, 2)}},
    {"mul", "a value times itself",         build_mul_twice, {ANY(3, 2)}},
    {"div", "a value divided by itself",    build_div_twice, {POSITIVE(3, 2)}},
    {"div", "by values of both signs",      build_div, {ANY(3, 5), OFF_WHOLE(3, 5)}},
    {"add", "an empty tensor",              build_add, {ANY(0, 3), ANY(3)}},

    {"where", "same shapes",                build_where, {WHOLE(3, 5), ANY(3, 5), ANY(3, 5)}},
    {"where", "condition broadcasts",       build_where, {WHOLE(5), ANY(3, 5), ANY(3, 5)}},
    {"where", "a broadcasts",               build_where, {WHOLE(3, 5), ANY(3, 1), ANY(3, 5)}},
    {"where", "b is a scalar",              build_where, {WHOLE(3, 5), ANY(3, 5), SCALAR(FROM_ANY)}},
    {"where", "all three broadcast",        build_where, {WHOLE(3, 1, 1), ANY(4, 1), ANY(1, 1, 2)}},
    {"where", "scalars",                    build_where, {SCALAR(FROM_WHOLE), SCALAR(FROM_ANY), SCALAR(FROM_ANY)}},
    {"where", "rank 5",                     build_where, {WHOLE(1, 2, 3, 1, 2), ANY(2, 2, 1, 2, 1), ANY(2)}},

    {"affine", "scale and shift",           build_affine, {ANY(3, 5)}, .real = {-1.5, 0.75}},
    {"affine", "shift only, a scalar",      build_affine, {SCALAR(FROM_ANY)}, .real = {1, 2}},
    {"affine", "rank 5",                    build_affine, {ANY(2, 1, 3, 1, 2)}, .real = {0.5, -1}},
    {"affine", "scale by 0",                build_scale, {ANY(4)}, .real = {0}},
    {"affine", "scale",                     build_scale, {ANY(3, 5)}, .real = {2.5}},

    {"recompute", "rank 0",                 build_recompute, {SCALAR(FROM_ANY), SCALAR(FROM_ANY)}},
    {"recompute", "rank 2",                 build_recompute, {ANY(3, 4), ANY(4)}},
    {"accumulate", "rank 0",                build_accumulate, {SCALAR(FROM_ANY), SCALAR(FROM_ANY)}},
    {"accumulate", "rank 2",                build_accumulate, {ANY(3, 5), ANY(3, 5)}},
    {"accumulate", "rank 5",                build_accumulate, {ANY(2, 1, 3, 1, 2), ANY(2, 1, 3, 1, 2)}},

    {"greater", "same shape",               build_greater, {APART(3, 5), APART(3, 5)}, .constant = true},
    {"greater", "broadcast, with ties",     build_greater, {WHOLE(3, 1), WHOLE(4)}, .constant = true},
    {"equal",   "same shape, with ties",    build_equal, {WHOLE(4, 5), WHOLE(4, 5)}, .constant = true},
    {"equal",   "broadcast, no ties",       build_equal, {APART(3, 1), APART(4)}, .constant = true},
};
/* clang-format on */

CASE_TABLE(cases_arithmetic);
