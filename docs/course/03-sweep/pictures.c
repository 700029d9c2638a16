/* Draws the record of sweep.c as a graph: values, and the gradients of a sweep for x, w and b. */
#include "draw.h"
#include <couplet.h>

int main(void) {
    enum { X, W, B, U, V, P, LOSS, COUNT };
    static char texts[COUNT][2][40];
    cp_tape    *tape = cp_tape_new();
    cp_tensor  *t[COUNT], *grads[COUNT];
    t[X] = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
    t[W] = cp_variable(tape, (cp_real[]){3, -1}, CP_SHAPE(2));
    t[B] = cp_variable(tape, (cp_real[]){1}, CP_SCALAR);
    t[U] = cp_mul(tape, t[W], t[X]);
    t[V] = cp_add(tape, t[U], t[B]);
    t[P] = cp_mul(tape, t[U], t[V]);
    t[LOSS] = cp_sum(tape, t[P], CP_ALL, false);
    cp_grad(tape, t[LOSS], t, COUNT, grads);

    draw_node nodes[COUNT] = {
        [X] = {0, 0.9, "x", NULL, NULL, {-1, -1}},         [W] = {0, 0, "w", NULL, NULL, {-1, -1}},
        [B] = {1.3, 1.1, "b", NULL, NULL, {-1, -1}},       [U] = {1.3, 0, "u = w x", NULL, NULL, {W, X}},
        [V] = {2.6, 0.9, "v = u + b", NULL, NULL, {U, B}}, [P] = {3.9, 0, "p = u v", NULL, NULL, {U, V}},
        [LOSS] = {5.2, 0, "loss", NULL, NULL, {P, -1}},
    };
    for (int i = 0; i < COUNT; i++) {
        const char *forms[] = {"%g", "%g %g"};
        int         two = t[i]->size == 2;
        snprintf(texts[i][0], sizeof texts[i][0], forms[two], t[i]->data[0], two ? t[i]->data[1] : 0);
        snprintf(texts[i][1], sizeof texts[i][1], two ? "gets %g %g" : "gets %g", grads[i]->data[0], two ? grads[i]->data[1] : 0);
        nodes[i].value = texts[i][0], nodes[i].grad = texts[i][1];
    }
    FILE *file = draw_begin("record.svg", 610, 170);
    draw_graph(file, nodes, COUNT);
    draw_end(file);
    cp_tape_free(tape);
    return 0;
}
