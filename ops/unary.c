/* Functions of one value at a time. Each op is a line: its formula, its rule as a formula, its value, its gradient, what the
 * gradient reads. */
#include "core/export.h"
#include "core/kernels/kernels.h"
#include "ops/ops.h"
#include "ops/walk.h"

#include <tgmath.h>

static cp_tensor *map(cp_at at, const char *op, cp_row_fn row, cp_tensor *a, const void *parameters) {
    return cp_walk_combine(at, op, row, parameters, 1, &a);
}

/* CALLS compute the n values out from the n values in and the parameters p. */
#define ROW1_BY_CALLS(NAME, ...)                                                                                                   \
    static void NAME##_row(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step) {                             \
        const cp_real *p = context, *in = at[1];                                                                                   \
        cp_real *restrict out = at[0];                                                                                             \
        (void)p, (void)step;                                                                                                       \
        __VA_ARGS__;                                                                                                               \
    }

/* VALUE is in terms of x and, with parameters, p[0], p[1]. */
#define ROW1(NAME, VALUE)                                                                                                          \
    ROW1_BY_CALLS(                                                                                                                 \
        NAME, for (size_t i = 0; i < n; i++) {                                                                                     \
            cp_real x = in[i];                                                                                                     \
            out[i] = VALUE;                                                                                                        \
        })

/* GRADIENT is in terms of g, a, out and p, written with ops. */
#define RULE1(NAME, FORMULA, RULE, GRADIENT, KEEPS, KINKED, ...)                                                                   \
    static void NAME##_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {                                        \
        cp_tensor     *a = node->in[0], *out = node->out;                                                                          \
        const cp_real *p = node->attr;                                                                                             \
        (void)a, (void)out, (void)p;                                                                                               \
        gin[0] = GRADIENT;                                                                                                         \
    }                                                                                                                              \
    CP_OP(NAME, .formula = FORMULA, .keeps = {KEEPS}, .kinked = KINKED, .rule = RULE,                                              \
          .words = "The incoming gradient times the slope of " #NAME ", value by value.", __VA_ARGS__);

#define UNARY(NAME, FORMULA, RULE, VALUE, GRADIENT, KEEPS, KINKED, ONNX)                                                           \
    ROW1(NAME, VALUE)                                                                                                              \
    UNARY_OP(NAME, FORMULA, RULE, GRADIENT, KEEPS, KINKED, ONNX)

#define UNARY_BY_CALLS(NAME, FORMULA, RULE, CALLS, GRADIENT, KEEPS, KINKED, ONNX)                                                  \
    ROW1_BY_CALLS(NAME, CALLS)                                                                                                     \
    UNARY_OP(NAME, FORMULA, RULE, GRADIENT, KEEPS, KINKED, ONNX)

#define UNARY_OP(NAME, FORMULA, RULE, GRADIENT, KEEPS, KINKED, ONNX)                                                               \
    RULE1(NAME, FORMULA, RULE, GRADIENT, KEEPS, KINKED, .onnx = ONNX)                                                              \
    cp_tensor *(cp_##NAME)(cp_at at, cp_tensor * a) {                                                                              \
        return cp_record(at, &cp_op_##NAME, map(at, #NAME, NAME##_row, a, NULL), NULL, 1, &a);                                     \
    }

/* The same with two numbers besides the tensor. */
static cp_tensor *map_with(cp_at at, const cp_op *op, cp_row_fn row, cp_tensor *a, cp_real p0, cp_real p1) {
    const cp_real p[] = {p0, p1};
    return cp_record_with(at, op, map(at, op->name, row, a, p), p, sizeof p, 1, &a);
}

static void swish_values(size_t n, const cp_real *x, cp_real *y) {
    cp_kernels()->sigmoids(n, x, y);
    for (size_t i = 0; i < n; i++) y[i] *= x[i];
}

ROW1(sign, x != x ? x : (cp_real)((x > 0) - (x < 0)))
ROW1(inside, (cp_real)(x >= p[0] && x <= p[1]))

const cp_op cp_op_sign = {.name = "sign", .formula = "-1, 0 or 1, a constant"};
cp_tensor *(cp_sign)(cp_at at, cp_tensor *a) { return map(at, "sign", sign_row, a, NULL); }

static cp_tensor *one_minus(cp_at at, cp_tensor *a) { return cp_affine(at, a, -1, 1); }

static cp_tensor *power_grad(cp_at at, cp_tensor *g, cp_tensor *a, cp_real power) {
    if (power == 0) return cp_scale(at, g, 0);
    return cp_mul(at, g, cp_scale(at, cp_pow(at, a, power - 1), power));
}

static cp_tensor *swish_slope(cp_at at, cp_tensor *a, cp_tensor *out) {
    cp_tensor *s = cp_sigmoid(at, a);
    return cp_add(at, s, cp_mul(at, out, one_minus(at, s)));
}

static int affine_to_onnx(cp_export *e, const cp_node *node) {
    const cp_real *p = node->attr;
    int            value = cp_export_in(e, 0);
    if (p[0] != 1) value = cp_export_pair(e, "Mul", value, cp_export_number(e, p[0]));
    if (p[1] != 0) value = cp_export_pair(e, "Add", value, cp_export_number(e, p[1]));
    return value;
}

static int leaky_relu_to_onnx(cp_export *e, const cp_node *node) {
    return cp_export_leaky(e, cp_export_in(e, 0), *(const cp_real *)node->attr);
}

static int pow_to_onnx(cp_export *e, const cp_node *node) {
    return cp_export_pair(e, "Pow", cp_export_in(e, 0), cp_export_number(e, *(const cp_real *)node->attr));
}

static int clamp_to_onnx(cp_export *e, const cp_node *node) {
    const cp_real *p = node->attr;
    int            in[] = {cp_export_in(e, 0), cp_export_number(e, p[0]), cp_export_number(e, p[1])};
    return cp_onnx_node(e->graph, "Clip", 3, in, NULL);
}

/* clang-format off */
#define NOTHING 0
#define IN CP_KEEPS_IN(0)
#define OUT CP_KEEPS_OUT
UNARY(neg,   "-a",        "-g",            -x,          cp_neg(at, g),                                                  NOTHING, false, "Neg")
UNARY(log1p, "ln(1 + a)", "g / (1 + a)",   log1p(x),    cp_div(at, g, cp_affine(at, a, 1, 1)),                          IN,      false, NULL)
UNARY(sqrt,  "a^(1/2)",   "g / (2 out)",   sqrt(x),     cp_scale(at, cp_div(at, g, out), (cp_real)0.5),                 OUT,     false, "Sqrt")
UNARY(rsqrt, "a^(-1/2)",  "-g out^3 / 2",  1 / sqrt(x), cp_scale(at, cp_mul(at, g, cp_pow(at, out, 3)), (cp_real)-0.5), OUT,     false, "Sqrt Reciprocal")
UNARY(square, "a^2",      "2 g a",         x * x,       cp_mul(at, g, cp_scale(at, a, 2)),                              IN,      false, "*Mul")
UNARY(abs,   "|a|",       "g sign(a)",     fabs(x),     cp_mul(at, g, cp_sign(at, a)),                                  IN,      true, "Abs")
UNARY(relu,  "max(a, 0)", "a > 0 ? g : 0", x < 0 ? 0 : x, cp_gate(at, g, a, 0),                                         IN,      true, "Relu")
UNARY(softplus, "ln(1 + e^a)", "g sigmoid(a)", (x > 0 ? x : x != x ? x : 0) + log1p(exp(-fabs(x))), cp_mul(at, g, cp_sigmoid(at, a)), IN, false, "Softplus")
UNARY(sin,   "sin a",     "g cos(a)",      sin(x),      cp_mul(at, g, cp_cos(at, a)),                                   IN,      false, "Sin")
UNARY(cos,   "cos a",     "-g sin(a)",     cos(x),      cp_neg(at, cp_mul(at, g, cp_sin(at, a))),                       IN,      false, "Cos")
UNARY(erf,   "erf a",     "g e^(-a^2) 2 / sqrt(pi)", erf(x), cp_mul(at, g, cp_scale(at, cp_exp(at, cp_neg(at, cp_square(at, a))), (cp_real)1.1283791670955126)), IN, false, "Erf")
UNARY_BY_CALLS(exp, "e^a",  "g out",         cp_kernels()->exps(n, in, out),  cp_mul(at, g, out),                                OUT, false, "Exp")
UNARY_BY_CALLS(log, "ln a", "g / a",         cp_kernels()->logs(n, in, out),  cp_div(at, g, a),                                  IN,  false, "Log")
UNARY_BY_CALLS(tanh, "tanh a", "g (1 - out^2)", cp_kernels()->tanhs(n, in, out), cp_mul(at, g, one_minus(at, cp_square(at, out))), OUT, false, "Tanh")
UNARY_BY_CALLS(sigmoid, "1/(1 + e^-a)", "g out (1 - out)", cp_kernels()->sigmoids(n, in, out), cp_mul(at, g, cp_mul(at, out, one_minus(at, out))), OUT, false, "Sigmoid")
UNARY_BY_CALLS(swish, "a sigmoid(a)", "g (s + out (1 - s)) with s = sigmoid(a)", swish_values(n, in, out), cp_mul(at, g, swish_slope(at, a, out)), IN | OUT, false, "Sigmoid *Mul")

ROW1(affine,     p[0] * x + p[1])
ROW1(pow,        pow(x, p[0]))
ROW1_BY_CALLS(leaky_relu, cp_kernels()->leaky(n, in, p[0], out))
ROW1(clamp,      x < p[0] ? p[0] : x > p[1] ? p[1] : x)
RULE1(affine,     "scale a + shift",        "scale g",                 cp_scale(at, g, p[0]),                              NOTHING, false, .to_onnx = affine_to_onnx, .numbers = {"scale", "shift"})
RULE1(pow,        "a^power",                "g power a^(power - 1)",   power_grad(at, g, a, p[0]),                         IN,      false, .to_onnx = pow_to_onnx, .numbers = {"power"})
RULE1(leaky_relu, "a > 0 ? a : slope a",    "a > 0 ? g : slope g",     cp_gate(at, g, a, p[0]),                            IN,      true, .to_onnx = leaky_relu_to_onnx, .numbers = {"slope"})
RULE1(clamp,      "min(max(a, low), high)", "low <= a <= high ? g : 0", cp_mul(at, g, map(at, "clamp", inside_row, a, p)), IN,      true, .to_onnx = clamp_to_onnx, .numbers = {"low", "high"})
/* clang-format on */

/* ---- gelu, from other ops ---- */

const cp_op cp_op_gelu = {.name = "gelu", .formula = "a (1 + erf(a / sqrt 2)) / 2"};
const cp_op cp_op_gelu_tanh = {.name = "gelu_tanh", .formula = "a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))) / 2"};

cp_tensor *(cp_gelu)(cp_at at, cp_tensor *a) {
    if (!cp_check(at, "gelu", 1, &a)) return NULL;
    cp_tensor *below = cp_erf(at, cp_scale(at, a, (cp_real)0.70710678118654752));
    return cp_mul(at, a, cp_affine(at, below, (cp_real)0.5, (cp_real)0.5));
}

cp_tensor *(cp_gelu_tanh)(cp_at at, cp_tensor *a) {
    const cp_real root = (cp_real)0.79788456080286536;
    if (!cp_check(at, "gelu_tanh", 1, &a)) return NULL;
    cp_tensor *below = cp_tanh(at, cp_mul(at, a, cp_affine(at, cp_square(at, a), (cp_real)0.044715 * root, root)));
    return cp_mul(at, a, cp_affine(at, below, (cp_real)0.5, (cp_real)0.5));
}

/* ---- with numbers besides the tensor ---- */

cp_tensor *(cp_affine)(cp_at at, cp_tensor *a, cp_real scale, cp_real shift) {
    return map_with(at, &cp_op_affine, affine_row, a, scale, shift);
}

cp_tensor *(cp_scale)(cp_at at, cp_tensor *a, cp_real scale) { return cp_affine(at, a, scale, 0); }

cp_tensor *(cp_pow)(cp_at at, cp_tensor *a, cp_real power) { return map_with(at, &cp_op_pow, pow_row, a, power, 0); }

cp_tensor *(cp_leaky_relu)(cp_at at, cp_tensor *a, cp_real slope) {
    return map_with(at, &cp_op_leaky_relu, leaky_relu_row, a, slope, 0);
}

cp_tensor *(cp_clamp)(cp_at at, cp_tensor *a, cp_real low, cp_real high) {
    if (!(low <= high)) return cp_refuse(at, "clamp", "low %g is not below high %g", (double)low, (double)high);
    return map_with(at, &cp_op_clamp, clamp_row, a, low, high);
}

/* ---- gate: the gradient of relu and leaky_relu, in one pass ---- */

static void gate_row(const void *context, size_t n, cp_real *const *at, const ptrdiff_t *step) {
    (void)step;
    cp_kernels()->gate(n, at[1], at[2], *(const cp_real *)context, at[0]);
}

static void gate_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_gate(at, g, node->in[1], *(const cp_real *)node->attr);
}

CP_OP(gate, .formula = "b > 0 ? a : slope a", .keeps = {CP_KEEPS_IN(1)}, .constants = CP_KEEPS_IN(1), .numbers = {"slope"},
      .rule = "a: b > 0 ? g : slope g",
      .words = "The gradient passes where the gate is open; elsewhere it is multiplied by the slope.");

cp_tensor *(cp_gate)(cp_at at, cp_tensor *g, cp_tensor *a, cp_real slope) {
    cp_tensor *in[] = {g, a};
    if (!cp_check(at, "gate", 2, in)) return NULL;
    if (!cp_shape_same(g, a)) return cp_refuse(at, "gate", "shapes %s and %s differ", cp_shape_text(g).s, cp_shape_text(a).s);
    return cp_record_with(at, &cp_op_gate, cp_walk_combine(at, "gate", gate_row, &slope, 2, in), &slope, sizeof slope, 2, in);
}
