/* The check of exercise 7. A link rolls the rows by one and takes ln(1 + e^h) of each number. Then e^h[steps] = steps +
 * e^x at the final position of a number, so the gradient at its start is known: e^x / (steps + e^x). */
#include <couplet.h>

#include "expect.h"

enum { SIZE = 7 << 12, ROWS = 7 };

void chain_gradient(cp_tape *tape, const cp_real *x, int n, int steps, int every, cp_real *gradient);

cp_tensor *link_forward(cp_tape *tape, cp_tensor *h);

static int links; /* the number of computed links */

cp_tensor *link_forward(cp_tape *tape, cp_tensor *h) {
    static const int next[ROWS] = {1, 2, 3, 4, 5, 6, 0};
    links++;
    cp_tensor *rows = cp_reshape(tape, h, CP_SHAPE(ROWS, -1));
    cp_tensor *rolled = cp_gather_rows(tape, rows, (cp_indices){next, ROWS});
    return cp_reshape(tape, cp_softplus(tape, rolled), CP_SHAPE(-1));
}

static void at_max(const char *name, const char *what, double max, double received) {
    char text[120];
    snprintf(text, sizeof text, "%s, %s, at most", name, what);
    expect_number(text, max, fmax(max, received), 0.01);
}

/* Runs a chain; checks the first gradient of each row, the tape's high-water mark in tensors and the links that were computed. */
static void check(const char *name, int steps, int every, double max_tensors, int max_links) {
    static cp_real x[SIZE], gradient[SIZE];
    double         expected[ROWS], received[ROWS];
    char           what[120];
    cp_tape       *tape = cp_tape_new();
    for (int i = 0; i < SIZE; i++) x[i] = i / (SIZE / ROWS) - 2;
    links = 0;
    chain_gradient(tape, x, SIZE, steps, every, gradient);
    for (int r = 0; r < ROWS; r++) {
        expected[r] = exp(r - 2) / (steps + exp(r - 2));
        received[r] = gradient[r * (SIZE / ROWS)];
    }
    snprintf(what, sizeof what, "%s, gradient of row", name);
    expect_numbers(what, ROWS, expected, received, 1e-9);
    at_max(name, "tensors on the tape at once", max_tensors, round((double)cp_tape_peak(tape) / (SIZE * sizeof(cp_real))));
    at_max(name, "links computed", max_links, links);
    cp_tape_free(tape);
}

int main(void) {
    check("one segment of 5", 5, 5, 18, 10);
    check("8 segments of 8", 64, 8, 24, 128);
    check("2 segments of 4 and one of 2", 10, 4, 16, 20);
    return expect_end();
}
