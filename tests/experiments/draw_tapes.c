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

    x = variable(tape, (cp_real[]){7}, CP_SCALAR, "alone");
    write_page(tape, words[1], "alone", x, x);
    cp_tape_free(tape);
    return 0;
}
