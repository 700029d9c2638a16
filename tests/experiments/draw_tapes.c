/* Writes pages of tapes other than the demos, for tests in a browser: draw_tapes FOLDER. Prints one line per gradient, as
 * couplet tape does, with the page's name in front. */
#include "couplet.h"

#include "core/show/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void write_page(cp_tape *tape, const char *folder, const char *name, cp_tensor *loss, cp_tensor *x) {
    char       path[512];
    cp_tensor *dx;
    snprintf(path, sizeof path, "%s/%s.html", folder, name);
    FILE *file = fopen(path, "w");
    bool  ok = file && cp_tape_html(tape, file, loss) && cp_grad(tape, loss, &x, 1, &dx);
    if (file) fclose(file);
    printf("%s d loss / d %s = %s\n", name, x->name, ok ? cp_values_text(dx, CP_VALUES_MAX).s : "");
    cp_tape_reset(tape);
}

static cp_tensor *variable(cp_tape *tape, const cp_real *values, cp_shape shape, const char *name) {
    cp_tensor *x = cp_variable(tape, values, shape);
    if (x) x->name = name;
    return x;
}

enum { TANGLED = 900 };

/* The largest number of values that are shown in full, each computed from its predecessor and a much earlier value. */
static cp_tensor *tangle(cp_tape *tape, cp_tensor *x) {
    cp_tensor *y[TANGLED] = {x};
    for (int i = 1; i < TANGLED; i++) y[i] = cp_tanh(tape, cp_add(tape, y[i - 1], y[i * i % 101 % i]));
    return cp_sum(tape, y[TANGLED - 1], CP_ALL, false);
}

/* Values with the names that formulas have for inputs, results and gradients. */
static cp_tensor *names(cp_tape *tape, cp_tensor *g) {
    cp_tensor *b = variable(tape, (cp_real[]){3}, CP_SCALAR, "b"), *out = cp_mul(tape, g, b), *a = cp_exp(tape, out),
              *e = cp_div(tape, a, b);
    out->name = "out", a->name = "a", e->name = "e";
    return e;
}

/* Every op that the page computes with, on four numbers. */
static cp_tensor *ops(cp_tape *tape, cp_tensor *x) {
    cp_tensor *w = variable(tape, (cp_real[]){(cp_real)0.3, (cp_real)-0.7, (cp_real)1.1, (cp_real)0.2}, CP_SHAPE(2, 2), "w");
    cp_tensor *row = variable(tape, (cp_real[]){(cp_real)0.4, (cp_real)-1.3}, CP_SHAPE(2), "row"),
              *p = cp_affine(tape, cp_square(tape, x), 2, (cp_real)0.5);
    cp_tensor *one[] = {cp_neg(tape, x),
                        cp_log1p(tape, p),
                        cp_sqrt(tape, p),
                        cp_rsqrt(tape, p),
                        cp_abs(tape, x),
                        cp_relu(tape, x),
                        cp_softplus(tape, x),
                        cp_sin(tape, x),
                        cp_cos(tape, x),
                        cp_erf(tape, x),
                        cp_exp(tape, x),
                        cp_log(tape, p),
                        cp_tanh(tape, x),
                        cp_sigmoid(tape, x),
                        cp_swish(tape, x),
                        cp_pow(tape, p, (cp_real)1.5),
                        cp_leaky_relu(tape, x, (cp_real)0.1),
                        cp_clamp(tape, x, (cp_real)-0.6, 1),
                        cp_sub(tape, x, row),
                        cp_div(tape, row, p),
                        cp_minimum(tape, x, row),
                        cp_maximum(tape, x, w),
                        cp_where(tape, cp_greater(tape, x, row), w, x),
                        cp_gate(tape, w, x, (cp_real)0.3),
                        cp_scale(tape, x, 3),
                        cp_affine(tape, x, 1, 2),
                        cp_softmax(tape, x, 0),
                        cp_log_softmax(tape, x, 1),
                        cp_matmul(tape, x, w, CP_TRANSPOSE_A),
                        cp_matmul(tape, w, x, CP_TRANSPOSE_B),
                        cp_matmul(tape, x, w, CP_TRANSPOSE_A | CP_TRANSPOSE_B),
                        cp_matmul(tape, cp_reshape(tape, x, CP_SHAPE(2, 1, 2)), cp_reshape(tape, w, CP_SHAPE(1, 2, 2)), 0),
                        cp_broadcast_to(tape, cp_max(tape, x, CP_AXES(0), true), CP_SHAPE(2, 2)),
                        cp_broadcast_to(tape, cp_logsumexp(tape, x, CP_AXES(1), true), CP_SHAPE(2, 2))};
    cp_tensor *total = cp_cross_entropy(tape, cp_mul(tape, x, w), (cp_labels){(int[]){1, 0}, 2});
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        total = cp_add(tape, total, cp_mean(tape, cp_mul(tape, one[i], w), CP_ALL, false));
    return total;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2), "x"), *y = x;
    for (int i = 0; i < 5000; i++) y = cp_affine(tape, y, (cp_real)0.999, 0);
    write_page(tape, words[1], "long", cp_sum(tape, y, CP_ALL, false), x);

    x = variable(tape, (cp_real[]){1, 2, -1}, CP_SHAPE(3), "x");
    write_page(tape, words[1], "tangled", tangle(tape, x), x);

    x = variable(tape, (cp_real[]){(cp_real)NAN, (cp_real)INFINITY, -1, 0}, CP_SHAPE(2, 2), "</script><b>\"&' \xC3\xA9");
    cp_tensor *none = variable(tape, (cp_real[]){0}, CP_SHAPE(0, 2), "none");
    cp_real    many[90] = {(cp_real)NAN, (cp_real)-INFINITY, 3};
    cp_tensor *noise = variable(tape, many, CP_SHAPE(90), "noise");
    cp_exp(tape, variable(tape, many, CP_SHAPE(3), "aside"));
    y = cp_add(tape, cp_sum(tape, cp_square(tape, x), CP_ALL, false), cp_sum(tape, none, CP_ALL, false));
    write_page(tape, words[1], "strange", cp_add(tape, y, cp_sum(tape, noise, CP_ALL, false)), x);

    x = variable(tape, (cp_real[]){(cp_real)0.5}, CP_SCALAR, "g");
    write_page(tape, words[1], "names", names(tape, x), x);

    x = variable(tape, (cp_real[]){(cp_real)0.5, (cp_real)-1.25, (cp_real)0.8, (cp_real)-0.3}, CP_SHAPE(2, 2), "x");
    write_page(tape, words[1], "ops", ops(tape, x), x);

    x = variable(tape, (cp_real[]){7}, CP_SCALAR, "alone");
    write_page(tape, words[1], "alone", x, x);
    cp_tape_free(tape);
    return 0;
}
