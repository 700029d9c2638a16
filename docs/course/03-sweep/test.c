/* Checks exercise 3: marks, gradients and the number of parts, on a record with a fan-out, a branch that leads nowhere and a node after
 * the result. */
#include "03-sweep/record.h"
#include "expect.h"

enum { MAX = 10 };

void mark(const record *r, const bool *wanted, bool *marked);
int  sweep(const record *r, int result, const bool *marked, double *grad);

static void ask(const record *r, const char *what, int result, const bool *wanted, const double *marks, const double *grads,
                int parts) {
    bool   mark_room[MAX + 1] = {true}, *marked = mark_room + 1; /* code that reads the mark of input -1 finds a mark */
    double received[MAX], grad_room[MAX + 1] = {0}, *grad = grad_room + 1;
    char   text[100];
    mark(r, wanted, marked);
    for (int i = 0; i < r->values; i++) received[i] = marked[i];
    snprintf(text, sizeof text, "%s: marked", what);
    expect_numbers(text, (size_t)r->values, marks, received, 0);

    for (int i = 0; i < r->values; i++) marked[i] = marks[i] != 0; /* the sweep is checked on its own */
    int count = sweep(r, result, marked, grad);
    snprintf(text, sizeof text, "%s: grad", what);
    expect_numbers(text, (size_t)r->values, grads, grad, 1e-9);
    snprintf(text, sizeof text, "%s: number of parts", what);
    expect_number(text, parts, count, 0);
}

int main(void) {
    /*                     x  w  b  u  c  v  side p   loss later */
    const double value[] = {2, 3, 1, 6, 1, 7, 14, 42, 48, 2304};
    const node   nodes[] = {
          {MUL, {1, 0}, 3},     /* u = w x */
          {SQUARE, {2, -1}, 4}, /* c = b^2 */
          {ADD, {3, 4}, 5},     /* v = u + c */
          {MUL, {5, 0}, 6},     /* side = v x, which nothing uses */
          {MUL, {3, 5}, 7},     /* p = u v */
          {ADD, {7, 3}, 8},     /* loss = p + u */
          {SQUARE, {8, -1}, 9}, /* later = loss^2 */
    };
    record r = {value, 10, nodes, 7};
    ask(&r, "x, w and b wanted", 8, (bool[MAX]){1, 1, 1}, (double[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        (double[]){42, 28, 12, 14, 6, 6, 0, 1, 1, 0}, 9);
    ask(&r, "x wanted", 8, (bool[MAX]){1}, (double[]){1, 0, 0, 1, 0, 1, 1, 1, 1, 1}, (double[]){42, 0, 0, 14, 0, 6, 0, 1, 1, 0}, 6);
    ask(&r, "b wanted", 8, (bool[MAX]){0, 0, 1}, (double[]){0, 0, 1, 0, 1, 1, 1, 1, 1, 1},
        (double[]){0, 0, 12, 0, 6, 6, 0, 1, 1, 0}, 4);
    ask(&r, "v wanted", 8, (bool[MAX]){[5] = 1}, (double[]){0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, (double[]){0, 0, 0, 0, 0, 6, 0, 1, 1, 0},
        2);
    ask(&r, "w wanted, of side", 6, (bool[MAX]){0, 1}, (double[]){0, 1, 0, 1, 0, 1, 1, 1, 1, 1},
        (double[]){0, 4, 0, 2, 0, 2, 1, 0, 0, 0}, 3);

    const node twice[] = {{MUL, {0, 0}, 1}, {ADD, {1, 0}, 2}}; /* x x + x */
    record     small = {(double[]){3, 9, 12}, 3, twice, 2};
    ask(&small, "x x + x", 2, (bool[MAX]){1}, (double[]){1, 1, 1}, (double[]){7, 1, 1}, 4);
    return expect_end();
}
