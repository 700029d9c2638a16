/* A new op, sqrt(a^2 + 1), with a right rule and five broken ones, and the result of the gradient check for each. */
#include <core/op.h>
#include <couplet.h>
#include <math.h>

/* The slope of y = sqrt(a^2 + 1) is a / y. */
static void right(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_mul(at, g, cp_div(at, node->in[0], node->out));
}

static void without_g(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    (void)g;
    gin[0] = cp_div(at, node->in[0], node->out);
}

/* Forgets the root: a / y^2. */
static void wrong_slope(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_mul(at, g, cp_div(at, node->in[0], cp_square(at, node->out)));
}

/* 1 percent too large. */
static void one_percent(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_mul(at, g, cp_scale(at, cp_div(at, node->in[0], node->out), 1.01));
}

/* Right for a > 0. */
static void wrong_sign(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_mul(at, g, cp_div(at, cp_abs(at, node->in[0]), node->out));
}

/* The slope as plain numbers, which no longer depends on a. */
static void plain_numbers(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    const cp_tensor *a = node->in[0], *y = node->out;
    cp_tensor       *slope = cp_full(at, 0, a->shape);
    for (size_t i = 0; i < a->size; i++) slope->data[i] = a->data[i] / y->data[i];
    gin[0] = cp_mul(at, g, slope);
}

static const cp_op ops[] = {
    {.name = "right", .formula = "sqrt(a^2 + 1)", .grad = right, .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}},
    {.name = "without g", .formula = "sqrt(a^2 + 1)", .grad = without_g, .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}},
    {.name = "wrong slope", .formula = "sqrt(a^2 + 1)", .grad = wrong_slope, .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}},
    {.name = "one percent", .formula = "sqrt(a^2 + 1)", .grad = one_percent, .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}},
    {.name = "wrong sign", .formula = "sqrt(a^2 + 1)", .grad = wrong_sign, .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}},
    {.name = "plain numbers", .formula = "sqrt(a^2 + 1)", .grad = plain_numbers, .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT}},
};

static cp_tensor *soft_abs(cp_at at, const cp_op *op, cp_tensor *a) {
    if (!cp_check(at, op->name, 1, &a)) return NULL;
    cp_tensor *out = cp_out(at, a->shape); /* the shape rule: as the input */
    if (!out) return NULL;
    for (size_t i = 0; i < out->size; i++) out->data[i] = sqrt(a->data[i] * a->data[i] + 1);
    return cp_record(at, op, out, NULL, 1, &a);
}

/* Builds the value to check; the check calls this many times, on its own tapes. */
static cp_tensor *build(cp_tape *tape, cp_tensor *const *in, const void *op) {
    return soft_abs(CP_AT(tape), op, in[0]);
}

static cp_tensor *build_abs(cp_tape *tape, cp_tensor *const *in, const void *user) {
    (void)user;
    return cp_abs(tape, in[0]);
}

static void print_result(const char *what, cp_gradcheck_result r) {
    printf("%-13s  %s", what, r.passed ? "passes" : "fails");
    if (!r.passed) printf(" at order %d, a[%zu]: expected %.2f, received %.2f", r.order, r.index, r.expected, r.received);
    if (r.kinks) printf(", %d kink left out", r.kinks);
    printf("\n");
}

int main(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *a = cp_variable(tape, (cp_real[]){0.75}, CP_SHAPE(1)), *first, *second;
    cp_tensor *y = soft_abs(CP_AT(tape), &ops[0], a);
    cp_grad_recorded(tape, y, &a, 1, &first);
    cp_grad(tape, first, &a, 1, &second);
    printf("at 0.75: %.4f, slope %.4f, slope of the slope %.4f\n\n", cp_item(y), cp_item(first), cp_item(second));
    cp_tape_free(tape);

    cp_real            mixed[] = {0.75, 2, -1.25, 0.5}, positive[] = {1, 2, 0.5}, zero[] = {1, 0, -2};
    cp_gradcheck_input in = {.name = "a", .data = mixed, .shape = CP_SHAPE(4)};
    for (int i = 0; i < 6; i++) print_result(ops[i].name, cp_gradcheck(build, &ops[i], &in, 1, (cp_gradcheck_config){0}));

    printf("\nwith positive inputs only\n");
    in.data = positive, in.shape = CP_SHAPE(3);
    print_result(ops[4].name, cp_gradcheck(build, &ops[4], &in, 1, (cp_gradcheck_config){0}));
    printf("\nwith the first order only\n");
    print_result(ops[5].name, cp_gradcheck(build, &ops[5], &in, 1, (cp_gradcheck_config){.first_only = true}));
    printf("\n|a| at 1, 0, -2\n");
    in.data = zero;
    print_result("|a|", cp_gradcheck(build_abs, NULL, &in, 1, (cp_gradcheck_config){0}));
    return 0;
}
