/* Two moons and a network that separates them: one for your engine, and the same one for the library. */
#ifndef COURSE_MOONS_H
#define COURSE_MOONS_H

#include "04-engine/engine.h"
#include <couplet.h>

enum { POINTS = 80, HIDDEN = 8, WEIGHTS = 4 };
static const int weight_shapes[WEIGHTS][2] = {{2, HIDDEN}, {1, HIDDEN}, {HIDDEN, 1}, {1, 1}}; /* W1, b1, W2, b2 */

/* The points, two numbers in each row, and the classes: -1 for the upper moon, 1 for the lower. */
typedef struct moons {
    double x[POINTS * 2], y[POINTS];
} moons;

static inline moons moons_make(void) {
    moons  m;
    cp_rng rng = cp_rng_named(1, "moons");
    for (int i = 0; i < POINTS; i++) {
        int    lower = i % 2;
        double angle = acos(-1) * (i / 2 + 0.5) / (POINTS / 2);
        m.x[2 * i] = (lower ? 1 - cos(angle) : cos(angle)) + 0.1 * cp_rng_normal(&rng);
        m.x[2 * i + 1] = (lower ? 0.5 - sin(angle) : sin(angle)) + 0.1 * cp_rng_normal(&rng);
        m.y[i] = lower ? 1 : -1;
    }
    return m;
}

/* Random numbers for the weights W1 and W2, and zeros for the biases. */
static inline void weights_make(tensor **weights) {
    cp_rng rng = cp_rng_named(1, "weights");
    for (int k = 0; k < WEIGHTS; k++) {
        weights[k] = tensor_new(weight_shapes[k][0], weight_shapes[k][1]);
        for (int i = 0; k % 2 == 0 && i < weights[k]->rows * weights[k]->columns; i++) weights[k]->data[i] = cp_rng_normal(&rng);
    }
}

/* A leaf with these numbers. */
static inline tensor *leaf(tape *tape, int rows, int columns, const double *data) {
    tensor *t = record(tape, rows, columns, NULL, NULL, NULL);
    for (int i = 0; i < rows * columns; i++) t->data[i] = data[i];
    return t;
}

/* tanh(tanh(x W1 + b1) W2 + b2): a number between -1 and 1 for each point. */
static inline tensor *network(tape *tape, tensor *x, tensor *const *w) {
    tensor *hidden = tanh_of(tape, add(tape, matmul(tape, x, w[0]), w[1])); /* (points, HIDDEN) */
    return tanh_of(tape, add(tape, matmul(tape, hidden, w[2]), w[3]));      /* (points, 1) */
}

/* The mean of (network - class)^2. */
static inline tensor *loss_of(tape *tape, const moons *m, tensor *const *w) {
    double minus[POINTS];
    for (int i = 0; i < POINTS; i++) minus[i] = -m->y[i];
    tensor *error = add(tape, network(tape, leaf(tape, POINTS, 2, m->x), w), leaf(tape, POINTS, 1, minus));
    return mean(tape, mul(tape, error, error));
}

/* ---- the same with the library ---- */

static inline cp_tensor *library_loss(cp_tape *tape, const moons *m, cp_tensor *const *w) {
    cp_tensor *x = cp_constant(tape, m->x, CP_SHAPE(POINTS, 2)), *y = cp_constant(tape, m->y, CP_SHAPE(POINTS, 1));
    cp_tensor *hidden = cp_tanh(tape, cp_add(tape, cp_matmul(tape, x, w[0], 0), w[1]));
    cp_tensor *out = cp_tanh(tape, cp_add(tape, cp_matmul(tape, hidden, w[2], 0), w[3]));
    return cp_mean(tape, cp_square(tape, cp_sub(tape, out, y)), CP_ALL, false);
}

/* The parameters of the library with the numbers of the weights. */
static inline void parameters_make(tensor *const *weights, cp_tensor **parameters) {
    for (int k = 0; k < WEIGHTS; k++)
        parameters[k] = cp_parameter_new(weights[k]->data, CP_SHAPE(weights[k]->rows, weights[k]->columns));
}

/* The loss, and then a step downhill. */
static inline double library_step(cp_tape *tape, const moons *m, cp_tensor *const *parameters, double rate) {
    cp_tensor *grads[WEIGHTS], *loss = library_loss(tape, m, parameters);
    double     value = cp_item(loss);
    cp_grad(tape, loss, parameters, WEIGHTS, grads);
    for (int k = 0; k < WEIGHTS; k++)
        for (size_t i = 0; i < parameters[k]->size; i++) parameters[k]->data[i] -= rate * grads[k]->data[i];
    cp_tape_reset(tape);
    return value;
}

#endif
