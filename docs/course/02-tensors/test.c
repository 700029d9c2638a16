/* Checks exercise 2: the places first, then the gradients. */
#include "expect.h"
#include <couplet.h>

size_t place_in(cp_shape small, cp_shape large, size_t i);
void   product_gradients(const cp_tensor *a, const cp_tensor *b, const cp_tensor *g, cp_tensor *da, cp_tensor *db);

static bool places_right = true;

static void expect_places(cp_shape small, cp_shape large, size_t n, const double *expected) {
    char what[500];
    snprintf(what, sizeof what, "place_in(%s, %s, i)", cp_dims_text(small).s, cp_dims_text(large).s);
    expect_begin(what);
    for (size_t i = 0; i < n; i++) {
        char   at[40];
        size_t place = place_in(small, large, i);
        snprintf(at, sizeof at, " at i = %zu", i);
        expect_value(at, expected[i], (double)place, 0);
        places_right &= (double)place == expected[i];
    }
}

static cp_tensor *counting(cp_tape *tape, cp_shape shape, cp_real first, cp_real factor) {
    cp_tensor *t = cp_full(tape, first, shape);
    for (size_t i = 1; i < t->size; i++) t->data[i] = factor ? factor * t->data[i - 1] : t->data[i - 1] + 1;
    return t;
}

static void expect_gradients(const char *of, const cp_tensor *a, const cp_tensor *b, const cp_tensor *g, const double *da,
                             const double *db) {
    cp_tensor *at_a = cp_tensor_new(a->shape), *at_b = cp_tensor_new(b->shape);
    char       what[100];
    product_gradients(a, b, g, at_a, at_b);
    snprintf(what, sizeof what, "%s: da", of);
    expect_tensor(what, a->shape, da, at_a, 1e-9);
    snprintf(what, sizeof what, "%s: db", of);
    expect_tensor(what, b->shape, db, at_b, 1e-9);
    cp_tensor_free(at_a), cp_tensor_free(at_b);
}

int main(void) {
    expect_places(CP_SHAPE(4), CP_SHAPE(3, 4), 12, (double[]){0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
    expect_places(CP_SHAPE(3, 1), CP_SHAPE(3, 4), 12, (double[]){0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2});
    expect_places(CP_SHAPE(3, 4), CP_SHAPE(3, 4), 12, (double[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    expect_places(CP_SCALAR, CP_SHAPE(2, 3), 6, (double[]){0, 0, 0, 0, 0, 0});
    expect_places(CP_SHAPE(2, 1, 2), CP_SHAPE(2, 3, 2), 12, (double[]){0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3});
    expect_places(CP_SHAPE(3, 1), CP_SHAPE(2, 3, 2), 12, (double[]){0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
    if (!places_right) return expect_end(); /* product_gradients would write beyond the end */
    cp_tape   *tape = cp_tape_new();
    cp_tensor *column = counting(tape, CP_SHAPE(3, 1), 1, 0); /* 1 2 3 */
    cp_tensor *powers = counting(tape, CP_SHAPE(4), 1, 10);   /* 1 10 100 1000 */
    cp_tensor *number = counting(tape, CP_SCALAR, 2, 0), *table = counting(tape, CP_SHAPE(2, 3), 1, 0);
    cp_tensor *pages = counting(tape, CP_SHAPE(2, 1, 2), 1, 10); /* 1 10, 100 1000 */
    expect_gradients("(3, 1) times (4)", column, powers, counting(tape, CP_SHAPE(3, 4), 1, 0), (double[]){4321, 8765, 13209},
                     (double[]){38, 44, 50, 56});
    expect_gradients("() times (2, 3)", number, table, counting(tape, CP_SHAPE(2, 3), 1, 0), (double[]){91},
                     (double[]){2, 4, 6, 8, 10, 12});
    expect_gradients("(2, 3) times (2, 3)", table, table, counting(tape, CP_SHAPE(2, 3), 1, 10),
                     (double[]){1, 20, 300, 4000, 5e4, 6e5}, (double[]){1, 20, 300, 4000, 5e4, 6e5});
    expect_gradients("(2, 1, 2) times (3, 1)", pages, column, counting(tape, CP_SHAPE(2, 3, 2), 1, 0), (double[]){22, 28, 58, 64},
                     (double[]){8721, 10943, 13165});
    cp_tape_free(tape);
    return expect_end();
}
