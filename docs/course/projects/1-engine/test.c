/* Checks project 1: the new ops and steps alone, and a training whose losses must be the library's. */
#include "04-engine/moons.h"
#include "expect.h"
#include <couplet.h>

tensor *relu(tape *tape, tensor *a);
tensor *cross_entropy(tape *tape, tensor *logits, const int *labels);
void    sgd_momentum(tensor *const *weights, tensor *const *velocities, int count, double rate, double momentum);

static tape tape_of_test;

static void part_1(void) {
    const double numbers[] = {1.5, -2, 0, 3, -0.5, 4}, value[] = {1.5, 0, 0, 3, 0, 4}, grad[] = {11, 10, 10, 14, 10, 16};
    expect_part("part 1: relu");
    tensor *a = leaf(&tape_of_test, 2, 3, numbers), *out = relu(&tape_of_test, a);
    expect_numbers("relu: value", 6, value, out->data, 1e-12);
    for (int i = 0; i < 6; i++) out->grad[i] = i + 1, a->grad[i] = 10;
    if (out->rule) out->rule(out);
    expect_numbers("relu: gradient, which was 10 before", 6, grad, a->grad, 1e-12);
    tape_clear(&tape_of_test);
}

static void part_2_at(const char *what, int rows, int columns, const double *numbers, const int *labels) {
    char       text[100];
    cp_tape   *library = cp_tape_new();
    cp_tensor *z = cp_variable(library, numbers, CP_SHAPE(rows, columns)), *dz;
    cp_tensor *loss = cp_cross_entropy(library, z, (cp_labels){labels, rows});
    cp_grad(library, loss, &z, 1, &dz);
    tensor *logits = leaf(&tape_of_test, rows, columns, numbers), *out = cross_entropy(&tape_of_test, logits, labels);
    snprintf(text, sizeof text, "cross-entropy of %s: value", what);
    expect_number(text, cp_item(loss), out->data[0], 1e-9);
    backward(&tape_of_test, out);
    snprintf(text, sizeof text, "cross-entropy of %s: gradient", what);
    expect_numbers(text, (size_t)(rows * columns), dz->data, logits->grad, 1e-9);
    tape_clear(&tape_of_test), cp_tape_free(library);
}

static void part_2(void) {
    expect_part("part 2: cross-entropy");
    part_2_at("one row", 1, 3, (double[]){2, 1, 0}, (int[]){1});
    part_2_at("three rows", 3, 2, (double[]){0.5, -1, 2, 0, -3, 1}, (int[]){0, 1, 1});
    part_2_at("large logits", 2, 3, (double[]){1000, 999, 0, -1000, -1000, -999}, (int[]){1, 2});
}

static void part_3(void) {
    expect_part("part 3: momentum");
    tensor *w = tensor_new(1, 2), *v = tensor_new(1, 2);
    w->data[0] = 1, w->grad[0] = 2, w->grad[1] = -4;
    sgd_momentum(&w, &v, 1, 0.1, 0.5);
    expect_numbers("first step: weight", 2, (double[]){0.8, 0.4}, w->data, 1e-12);
    sgd_momentum(&w, &v, 1, 0.1, 0.5);
    expect_numbers("second step: velocity", 2, (double[]){3, -6}, v->data, 1e-12);
    expect_numbers("second step: weight", 2, (double[]){0.5, 1}, w->data, 1e-12);
    tensor_free(w), tensor_free(v);
}

/* Three clouds of points, a network 2 - 8 - 3 with a relu, 30 steps. */
static void part_4(void) {
    enum { N = 60, STEPS = 30, COUNT = 4 };
    static const int shapes[COUNT][2] = {{2, 8}, {1, 8}, {8, 3}, {1, 3}};
    double           x[N * 2], losses[STEPS], expected[STEPS];
    int              labels[N];
    tensor          *w[COUNT], *v[COUNT];
    cp_tensor       *theirs[COUNT], *grads[COUNT];
    cp_tape         *library = cp_tape_new();
    cp_rng           rng = cp_rng_named(1, "project");
    expect_part("part 4: training");
    for (int i = 0; i < N; i++) {
        labels[i] = i % 3;
        x[2 * i] = 2 * (labels[i] - 1) + 0.6 * cp_rng_normal(&rng), x[2 * i + 1] = (labels[i] == 1) + 0.6 * cp_rng_normal(&rng);
    }
    for (int k = 0; k < COUNT; k++) {
        w[k] = tensor_new(shapes[k][0], shapes[k][1]), v[k] = tensor_new(shapes[k][0], shapes[k][1]);
        for (int i = 0; i < w[k]->rows * w[k]->columns; i++) w[k]->data[i] = k % 2 ? 0 : cp_rng_normal(&rng);
        theirs[k] = cp_parameter_new(w[k]->data, CP_SHAPE(w[k]->rows, w[k]->columns));
    }
    double velocity[COUNT][24] = {{0}};
    for (int step = 0; step < STEPS; step++) {
        tensor *in = leaf(&tape_of_test, N, 2, x);
        tensor *h = relu(&tape_of_test, add(&tape_of_test, matmul(&tape_of_test, in, w[0]), w[1]));
        tensor *loss = cross_entropy(&tape_of_test, add(&tape_of_test, matmul(&tape_of_test, h, w[2]), w[3]), labels);
        losses[step] = loss->data[0];
        backward(&tape_of_test, loss);
        sgd_momentum(w, v, COUNT, 0.1, 0.9);
        tape_clear(&tape_of_test);

        cp_tensor *a = cp_add(library, cp_matmul(library, cp_constant(library, x, CP_SHAPE(N, 2)), theirs[0], 0), theirs[1]);
        cp_tensor *z = cp_add(library, cp_matmul(library, cp_relu(library, a), theirs[2], 0), theirs[3]);
        cp_tensor *l = cp_cross_entropy(library, z, (cp_labels){labels, N});
        expected[step] = cp_item(l);
        cp_grad(library, l, theirs, COUNT, grads);
        for (int k = 0; k < COUNT; k++)
            for (size_t i = 0; i < theirs[k]->size; i++) {
                velocity[k][i] = 0.9 * velocity[k][i] + grads[k]->data[i];
                theirs[k]->data[i] -= 0.1 * velocity[k][i];
            }
        cp_tape_reset(library);
    }
    expect_numbers("three classes: loss at step", STEPS, expected, losses, 1e-9);
    for (int k = 0; k < COUNT; k++) tensor_free(w[k]), tensor_free(v[k]), cp_tensor_free(theirs[k]);
    cp_tape_free(library);
}

int main(void) {
    part_1();
    part_2();
    part_3();
    part_4();
    return expect_end();
}
