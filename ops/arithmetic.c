/* Arithmetic on two (or three) tensors with broadcasting. */
#include "core/kernels/kernels.h"
#include "ops/ops.h"
#include "ops/walk.h"

/* The common layouts have loops that the compiler can vectorize. */
#define ROW2(NAME, EXPR)                                                                                                           \
    static void NAME##_row(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step) {                             \
        (void)context;                                                                                                             \
        cp_real *restrict out = at[0];                                                                                             \
        const cp_real *pa = at[1], *pb = at[2];                                                                                    \
        ptrdiff_t      sa = step[1], sb = step[2];                                                                                 \
        if (sa == 1 && sb == 1)                                                                                                    \
            for (size_t i = 0; i < n; i++) {                                                                                       \
                cp_real a = pa[i], b = pb[i];                                                                                      \
                out[i] = EXPR;                                                                                                     \
            }                                                                                                                      \
        else if (sa == 1 && sb == 0)                                                                                               \
            for (size_t i = 0; i < n; i++) {                                                                                       \
                cp_real a = pa[i], b = *pb;                                                                                        \
                out[i] = EXPR;                                                                                                     \
            }                                                                                                                      \
        else                                                                                                                       \
            for (size_t i = 0; i < n; i++) {                                                                                       \
                cp_real a = pa[(ptrdiff_t)i * sa], b = pb[(ptrdiff_t)i * sb];                                                      \
                out[i] = EXPR;                                                                                                     \
            }                                                                                                                      \
    }

/* A binary op: EXPR of a and b, the rule as a formula and in words, and the gradients GA, GB before they are summed to the shapes of the inputs. */
#define BINARY(NAME, FORMULA, RULE, WORDS, EXPR, GA, GB, KEEPS_A, KEEPS_B, KINKED, ONNX)                                           \
    ROW2(NAME, EXPR)                                                                                                               \
    BINARY_OP(NAME, FORMULA, RULE, WORDS, GA, GB, KEEPS_A, KEEPS_B, KINKED, ONNX)

#define BINARY_OP(NAME, FORMULA, RULE, WORDS, GA, GB, KEEPS_A, KEEPS_B, KINKED, ONNX)                                              \
    static void NAME##_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {                                        \
        cp_tensor *a = node->in[0], *b = node->in[1], *out = node->out;                                                            \
        (void)out;                                                                                                                 \
        if (cp_needs(node, 0)) gin[0] = cp_sum_to(at, GA, a->shape);                                                               \
        if (cp_needs(node, 1)) gin[1] = cp_sum_to(at, GB, b->shape);                                                               \
    }                                                                                                                              \
    CP_OP(NAME, .formula = FORMULA, .keeps = {KEEPS_A, KEEPS_B}, .kinked = KINKED, .rule = RULE, .onnx = ONNX,                     \
          .words = WORDS " Where an input was repeated to fit the other, its gradient is summed over the repetitions.");           \
    cp_tensor *(cp_##NAME)(cp_at at, cp_tensor * a, cp_tensor * b) {                                                               \
        cp_tensor *in[] = {a, b}, *out = cp_walk_combine(at, #NAME, NAME##_row, NULL, 2, in);                                      \
        return cp_record(at, &cp_op_##NAME, out, NULL, 2, in);                                                                     \
    }

enum { A = CP_KEEPS_IN(0), B = CP_KEEPS_IN(1) };

/* 0 where b is chosen, 1/2 where a and b are equal, and 1 for both where one is NaN. */
ROW2(larger, a < b ? 0 : a == b ? (cp_real)0.5 : 1)
ROW2(smaller, a > b ? 0 : a == b ? (cp_real)0.5 : 1)
static cp_tensor *share(cp_at at, cp_row_fn row, cp_tensor *a, cp_tensor *b) {
    return cp_walk_combine(at, "share", row, NULL, 2, (cp_tensor *[]){a, b});
}

ROW2(add_broadcast, a + b)
static void add_row(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step) {
    if (step[1] == 1 && step[2] == 1)
        cp_kernels()->add(n, at[1], at[2], at[0]);
    else
        add_broadcast_row(context, n, at, step);
}

/* clang-format off */
BINARY_OP(add, "a + b", "a: g; b: g", "Each summand gets the incoming gradient unchanged.", g, g, 0, 0, false, "Add")
BINARY(sub, "a - b", "a: g; b: -g", "The first input gets the incoming gradient unchanged, the second its negative.",
       a - b, g, cp_neg(at, g), 0, 0, false, "Sub")
BINARY(mul, "a b", "a: g b; b: g a", "Each factor gets the incoming gradient times the other factor.",
       a * b, cp_mul(at, g, b), cp_mul(at, g, a), B, A, false, "Mul")
BINARY(div, "a / b", "a: g / b; b: -g out / b",
       "The numerator gets the incoming gradient divided by the denominator; the denominator gets minus that times the result.",
       a / b, cp_div(at, g, b), cp_neg(at, cp_div(at, cp_mul(at, g, out), b)), B, B | CP_KEEPS_OUT, false, "Div")
BINARY(minimum, "min(a, b)", "a: a < b ? g : a == b ? g / 2 : 0; b: b < a ? g : a == b ? g / 2 : 0",
       "The smaller of the two gets the incoming gradient; where they are equal, each gets half.", a < b || a != a ? a : b,
       cp_mul(at, g, share(at, smaller_row, a, b)), cp_mul(at, g, share(at, smaller_row, b, a)), A | B, A | B, true, "Min")
BINARY(maximum, "max(a, b)", "a: a > b ? g : a == b ? g / 2 : 0; b: b > a ? g : a == b ? g / 2 : 0",
       "The larger of the two gets the incoming gradient; where they are equal, each gets half.", a > b || a != a ? a : b,
       cp_mul(at, g, share(at, larger_row, a, b)), cp_mul(at, g, share(at, larger_row, b, a)), A | B, A | B, true, "Max")
/* clang-format on */

/* ---- comparisons: constants ---- */

ROW2(greater, a > b)
ROW2(equal, a == b)
const cp_op cp_op_greater = {.name = "greater", .formula = "a > b ? 1 : 0, a constant"};
const cp_op cp_op_equal = {.name = "equal", .formula = "a == b ? 1 : 0, a constant"};

cp_tensor *(cp_greater)(cp_at at, cp_tensor *a, cp_tensor *b) {
    return cp_walk_combine(at, "greater", greater_row, NULL, 2, (cp_tensor *[]){a, b});
}

cp_tensor *(cp_equal)(cp_at at, cp_tensor *a, cp_tensor *b) {
    return cp_walk_combine(at, "equal", equal_row, NULL, 2, (cp_tensor *[]){a, b});
}

/* ---- where ---- */

static void where_row(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step) {
    (void)context;
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t j = (ptrdiff_t)i;
        at[0][j] = at[1][j * step[1]] != 0 ? at[2][j * step[2]] : at[3][j * step[3]];
    }
}

static void where_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    cp_tensor *condition = node->in[0], *a = node->in[1], *b = node->in[2], *zero = cp_scalar(at, 0);
    if (cp_needs(node, 1)) gin[1] = cp_sum_to(at, cp_where(at, condition, g, zero), a->shape);
    if (cp_needs(node, 2)) gin[2] = cp_sum_to(at, cp_where(at, condition, zero, g), b->shape);
}

CP_OP(where, .formula = "a != 0 ? b : c", .keeps = {0, A, A}, .constants = A, .rule = "b: a != 0 ? g : 0; c: a != 0 ? 0 : g",
      .words = "The gradient of each value goes to the input that was chosen; the other gets 0.");

cp_tensor *(cp_where)(cp_at at, cp_tensor *condition, cp_tensor *a, cp_tensor *b) {
    cp_tensor *in[] = {condition, a, b}, *out = cp_walk_combine(at, "where", where_row, NULL, 3, in);
    return cp_record(at, &cp_op_where, out, NULL, 3, in);
}

const cp_op cp_op_masked_fill = {.name = "masked_fill", .formula = "mask != 0 ? value : a"};

cp_tensor *(cp_masked_fill)(cp_at at, cp_tensor *a, cp_tensor *mask, cp_real value) {
    cp_shape   common;
    cp_tensor *in[] = {a, mask};
    if (!cp_check(at, "masked_fill", 2, in)) return NULL;
    if (!cp_shape_broadcast(&a->shape, &mask->shape, &common) || !cp_shape_is(a, common))
        return cp_refuse(at, "masked_fill", "the mask %s does not broadcast to %s", cp_shape_text(mask).s, cp_shape_text(a).s);
    return cp_where(at, mask, cp_scalar(at, value), a);
}
