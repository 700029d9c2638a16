/* Cases of functions of one value at a time. */
#include "tests/support/cases.h"

#define BUILD_UNARY(name)                                                                                                          \
    static cp_tensor *build_##name(cp_tape *tape, cp_tensor **in, const op_case *c) {                                              \
        (void)c;                                                                                                                   \
        return cp_##name(tape, in[0]);                                                                                             \
    }
BUILD_UNARY(neg)
BUILD_UNARY(exp)
BUILD_UNARY(log)
BUILD_UNARY(log1p)
BUILD_UNARY(sqrt)
BUILD_UNARY(rsqrt)
BUILD_UNARY(square)
BUILD_UNARY(abs)
BUILD_UNARY(tanh)
BUILD_UNARY(sigmoid)
BUILD_UNARY(softplus)
BUILD_UNARY(relu)
BUILD_UNARY(swish)
BUILD_UNARY(sign)
BUILD_UNARY(sin)
BUILD_UNARY(cos)
BUILD_UNARY(erf)
BUILD_UNARY(gelu)
BUILD_UNARY(gelu_tanh)

static cp_tensor *build_pow(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_pow(tape, in[0], (cp_real)c->real[0]); }

static cp_tensor *build_leaky_relu(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_leaky_relu(tape, in[0], (cp_real)c->real[0]);
}

static cp_tensor *build_clamp(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_clamp(tape, in[0], (cp_real)c->real[0], (cp_real)c->real[1]);
}

static cp_tensor *build_gate(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gate(tape, in[0], in[1], (cp_real)c->real[0]);
}

/* g and a from the same tensor, as in the second order of relu(x)^2. */
static cp_tensor *build_gate_twice(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gate(tape, in[0], in[0], (cp_real)c->real[0]);
}

/* clang-format off */
#define SHAPES(name, FROM)                                                                                             \
    {#name, "rank 0",           build_##name, {SCALAR(FROM_##FROM)}},                                                  \
    {#name, "size 1",           build_##name, {FROM(1)}},                                                              \
    {#name, "odd sizes",        build_##name, {FROM(5, 7)}},                                                           \
    {#name, "rank 5",           build_##name, {FROM(2, 3, 1, 2, 3)}}

#define POWERS(value, text, FROM)                                                                                      \
    {"pow", text ", rank 0",    build_pow, {SCALAR(FROM_##FROM)}, .real = {value}},                                    \
    {"pow", text ", odd sizes", build_pow, {FROM(3, 5)}, .real = {value}}

static const op_case cases[] = {
    SHAPES(neg, ANY),
    SHAPES(exp, ANY),
    SHAPES(log, POSITIVE),
    SHAPES(log1p, POSITIVE),
    SHAPES(sqrt, POSITIVE),
    SHAPES(rsqrt, POSITIVE),
    SHAPES(square, ANY),
    SHAPES(abs, OFF_WHOLE),
    SHAPES(tanh, ANY),
    SHAPES(sigmoid, ANY),
    SHAPES(softplus, ANY),
    SHAPES(relu, OFF_WHOLE),
    SHAPES(swish, ANY),
    SHAPES(sin, ANY),
    SHAPES(cos, ANY),
    SHAPES(erf, ANY),
    SHAPES(gelu, ANY),
    SHAPES(gelu_tanh, ANY),

    POWERS(2, "power 2", ANY),
    POWERS(3, "power 3", ANY),
    POWERS(-1, "power -1", OFF_WHOLE),
    POWERS(-2.5, "power -2.5", POSITIVE),
    POWERS(0.5, "power 1/2", POSITIVE),
    POWERS(0, "power 0", ANY),
    POWERS(1, "power 1", ANY),

    {"leaky_relu", "slope 0.2",                build_leaky_relu, {OFF_WHOLE(3, 7)}, .real = {0.2}},
    {"leaky_relu", "slope 0",                  build_leaky_relu, {OFF_WHOLE(3, 7)}, .real = {0}},
    {"leaky_relu", "slope 1",                  build_leaky_relu, {OFF_WHOLE(3, 7)}, .real = {1}},
    {"leaky_relu", "slope -0.5, rank 5",       build_leaky_relu, {OFF_WHOLE(2, 1, 3, 2, 1)}, .real = {-0.5}},
    {"leaky_relu", "rank 0",                   build_leaky_relu, {SCALAR(FROM_OFF_WHOLE)}, .real = {0.01}},

    {"clamp", "both bounds inside the values", build_clamp, {OFF_WHOLE(5, 7)}, .real = {-1, 1}},
    {"clamp", "one-sided",                     build_clamp, {OFF_WHOLE(5, 7)}, .real = {-100, 1}},
    {"clamp", "nothing clamped",               build_clamp, {OFF_WHOLE(5)}, .real = {-9, 9}},
    {"clamp", "everything clamped",            build_clamp, {OFF_WHOLE(5)}, .real = {9, 10}},
    {"clamp", "equal bounds",                  build_clamp, {OFF_WHOLE(5)}, .real = {1, 1}},
    {"clamp", "rank 0",                        build_clamp, {SCALAR(FROM_OFF_WHOLE)}, .real = {-3, 3}},

    {"gate", "slope 0",                        build_gate, {ANY(3, 7), OFF_WHOLE(3, 7)}, .real = {0}},
    {"gate", "slope 0.2",                      build_gate, {ANY(3, 7), OFF_WHOLE(3, 7)}, .real = {0.2}},
    {"gate", "rank 0",                         build_gate, {SCALAR(FROM_ANY), SCALAR(FROM_OFF_WHOLE)}, .real = {0.2}},
    {"gate", "rank 4",                         build_gate, {ANY(2, 1, 3, 1), OFF_WHOLE(2, 1, 3, 1)}, .real = {0.3}},
    {"gate", "one tensor twice",               build_gate_twice, {OFF_WHOLE(3, 5)}, .real = {0.2}},

    {"sign", "away from 0",                    build_sign, {OFF_WHOLE(3, 5)}, .constant = true},
    {"sign", "with zeros",                     build_sign, {WHOLE(3, 5)}, .constant = true},
};
/* clang-format on */

CASE_TABLE(cases_unary);
