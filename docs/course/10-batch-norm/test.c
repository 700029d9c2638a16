/* The check of exercise 10: compares with the library's batch norm, and checks what must always hold. */
#include <couplet.h>

#include "expect.h"

enum { MAX = 5 };

void batch_norm_backward(int n, const double *x, double gamma, double eps, const double *g, double *dx, double *dgamma,
                         double *dbeta);

static cp_tensor *column(cp_tape *tape, int n, const double *from) {
    cp_real values[MAX];
    for (int i = 0; i < n; i++) values[i] = from[i];
    return cp_variable(tape, values, CP_SHAPE(n, 1));
}

static void expect_at(const char *name, const char *what, int n, const cp_tensor *right, const double *received) {
    double expected[MAX];
    char   text[120];
    for (int i = 0; i < n; i++) expected[i] = right->data[i];
    snprintf(text, sizeof text, "%s: %s", name, what);
    expect_numbers(text, (size_t)n, expected, received, 1e-9);
}

static void check(const char *name, int n, const double *x, double gamma, double eps, const double *g) {
    double dx[MAX] = {0}, dgamma = 0, dbeta = 0, sum = 0;
    batch_norm_backward(n, x, gamma, eps, g, dx, &dgamma, &dbeta);

    cp_tape   *tape = cp_tape_new();
    cp_tensor *leaves[] = {column(tape, n, x), cp_variable(tape, (cp_real[]){gamma}, CP_SHAPE(1)),
                           cp_variable(tape, (cp_real[]){0}, CP_SHAPE(1))};
    cp_tensor *y = cp_batch_norm(tape, leaves[0], leaves[1], leaves[2], (cp_batch_norm_config){.training = true, .eps = eps});
    cp_tensor *right[3];
    cp_vjp(tape, y, column(tape, n, g), leaves, 3, right);
    expect_at(name, "dx", n, right[0], dx);
    expect_at(name, "dgamma", 1, right[1], &dgamma);
    expect_at(name, "dbeta", 1, right[2], &dbeta);
    for (int i = 0; i < n; i++) sum += dx[i];
    char text[120];
    snprintf(text, sizeof text, "%s: the sum of dx (to move all x changes nothing)", name);
    expect_number(text, 0, sum, 1e-9);
    cp_tape_free(tape);
}

int main(void) {
    const double page[] = {1, 3, 4, 5, 7}, first[] = {1, 0, 0, 0, 0}, uneven[] = {2, -1, 0.5, 6}, any[] = {1, -2, 0.5, 3};
    const double ones[] = {1, 1, 1, 1}, close[] = {1.5, 1, 0.75};
    check("the page's batch", 5, page, 1, 1e-5, first);
    check("four numbers, gamma -2", 4, uneven, -2, 1e-5, any);
    check("g all ones", 4, uneven, 3, 1e-5, ones);
    check("three numbers, eps 0.5", 3, close, 1.5, 0.5, any);
    return expect_end();
}
