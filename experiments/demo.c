/* The demonstration: a small network learns to tell two spirals apart, and the terminal shows what it has learned. */
#include "couplet.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS = 400, HIDDEN = 32, STEPS = 1500, ROWS = 25, COLUMNS = 60 };

static void spirals(cp_rng *rng, cp_real *x, int *label) {
    for (int i = 0; i < POINTS; i++) {
        double t = 0.4 + 3.2 * cp_rng_uniform(rng), turn = i % 2 * 3.14159265;
        x[2 * i] = (cp_real)(t * cos(2 * t + turn) / 3.6 + 0.03 * cp_rng_normal(rng));
        x[2 * i + 1] = (cp_real)(t * sin(2 * t + turn) / 3.6 + 0.03 * cp_rng_normal(rng));
        label[i] = i % 2;
    }
}

typedef struct network {
    cp_tensor *parameter[6]; /* three weights (in, out), each followed by its bias (out) */
    cp_real   *velocity[6];
} network;

static network network_new(cp_rng *rng) {
    const int size[] = {2, HIDDEN, HIDDEN, 2};
    network   net;
    for (int i = 0; i < 6; i++) {
        int in = size[i / 2], out = size[i / 2 + 1];
        net.parameter[i] = i % 2 ? cp_tensor_new(1, &out) : cp_tensor_new(2, (int[]){in, out});
        net.parameter[i]->tracked = true;
        net.velocity[i] = calloc(net.parameter[i]->size, sizeof(cp_real));
        if (i % 2 == 0) cp_rng_fill_normal(rng, net.parameter[i]->data, net.parameter[i]->size, 0, (cp_real)sqrt(2.0 / in));
    }
    return net;
}

static void network_free(network *net) {
    for (int i = 0; i < 6; i++) {
        cp_tensor_free(net->parameter[i]);
        free(net->velocity[i]);
    }
}

static cp_tensor *logits(cp_tape *tape, const network *net, cp_tensor *x) {
    for (int i = 0; i < 6; i += 2) {
        x = cp_add(tape, cp_matmul(tape, x, net->parameter[i], 0), net->parameter[i + 1]);
        if (i < 4) x = cp_tanh(tape, x);
    }
    return x;
}

static double train(cp_tape *tape, network *net, const cp_real *data, const int *label) {
    cp_tensor *gradient[6];
    cp_tensor *x = cp_constant(tape, data, 2, (int[]){POINTS, 2});
    cp_tensor *loss = cp_cross_entropy(tape, logits(tape, net, x), (cp_labels){label, POINTS});
    cp_grad(tape, loss, net->parameter, 6, gradient);
    for (int i = 0; i < 6; i++)
        for (size_t j = 0; j < gradient[i]->size; j++) {
            net->velocity[i][j] = (cp_real)0.9 * net->velocity[i][j] - (cp_real)0.1 * gradient[i]->data[j];
            net->parameter[i]->data[j] += net->velocity[i][j];
        }
    double value = (double)cp_item(loss);
    cp_tape_reset(tape);
    return value;
}

/* Which class wins at each of n points; the share of them that agrees with label. */
static double classify(cp_tape *tape, const network *net, const cp_real *data, int n, const int *label, int *winner) {
    bool       was = cp_tape_record(tape, false);
    cp_tensor *y = logits(tape, net, cp_constant(tape, data, 2, (int[]){n, 2}));
    int        right = 0;
    for (int i = 0; i < n; i++) {
        winner[i] = y->data[2 * i + 1] > y->data[2 * i];
        right += label && winner[i] == label[i];
    }
    cp_tape_record(tape, was);
    cp_tape_reset(tape);
    return (double)right / n;
}

/* The plane with each class's side shaded and its points as o and x. */
static void draw(cp_tape *tape, const network *net, const cp_real *data, const int *label) {
    static cp_real grid[ROWS * COLUMNS * 2];
    static int     side[ROWS * COLUMNS];
    static char    cell[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        grid[2 * i] = (cp_real)(2.2 * (i % COLUMNS + 0.5) / COLUMNS - 1.1);
        grid[2 * i + 1] = (cp_real)(1.1 - 2.2 * (i / COLUMNS + 0.5) / ROWS);
    }
    classify(tape, net, grid, ROWS * COLUMNS, NULL, side);
    for (int i = 0; i < ROWS * COLUMNS; i++) cell[i] = side[i] ? ' ' : '.';
    for (int i = 0; i < POINTS; i++) {
        int column = (int)((data[2 * i] + (cp_real)1.1) / (cp_real)2.2 * COLUMNS);
        int row = (int)(((cp_real)1.1 - data[2 * i + 1]) / (cp_real)2.2 * ROWS);
        if (column >= 0 && column < COLUMNS && row >= 0 && row < ROWS) cell[row * COLUMNS + column] = label[i] ? 'x' : 'o';
    }
    for (int row = 0; row < ROWS; row++) printf("    %.*s\n", COLUMNS, cell + row * COLUMNS);
}

int main(void) {
    static cp_real data[POINTS * 2], fresh[POINTS * 2];
    static int     label[POINTS], fresh_label[POINTS], winner[POINTS];
    cp_rng         rng = cp_rng_named(1, "data"), other = cp_rng_named(1, "test"), init = cp_rng_named(1, "init");
    cp_tape       *tape = cp_tape_new();
    network        net = network_new(&init);
    spirals(&rng, data, label);
    spirals(&other, fresh, fresh_label);

    printf("Two spirals, %d points; a 2-%d-%d-2 network learns which is which.\n", POINTS, HIDDEN, HIDDEN);
    for (int step = 0; step <= STEPS; step++) {
        double loss = train(tape, &net, data, label);
        if (step % 300 == 0) printf("  step %4d  loss %.4f\n", step, loss);
    }
    draw(tape, &net, data, label);
    double seen = classify(tape, &net, data, POINTS, label, winner);
    double unseen = classify(tape, &net, fresh, POINTS, fresh_label, winner);
    printf("o and x are the two classes, dots the side that the network gives to o.\n");
    printf("Right on %.1f %% of these points and on %.1f %% of %d fresh ones.\n", 100 * seen, 100 * unseen, POINTS);
    network_free(&net);
    cp_tape_free(tape);
    return unseen > 0.9 ? 0 : 1;
}
