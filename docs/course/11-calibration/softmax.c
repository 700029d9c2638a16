/* Softmax and cross-entropy: what a shift of the logits changes, where the plain formula overflows, and the gradient. */
#include <couplet.h>
#include <math.h>

enum { CLASSES = 3 };

/* e^z / sum e^z as written. */
static void plain_softmax(const float *z, float *p) {
    float sum = 0;
    for (int c = 0; c < CLASSES; c++) sum += expf(z[c]);
    for (int c = 0; c < CLASSES; c++) p[c] = expf(z[c]) / sum;
}

/* The same after subtracting the largest logit: the largest power is e^0 = 1. */
static void safe_softmax(const float *z, float *p) {
    float largest = z[0], sum = 0;
    for (int c = 1; c < CLASSES; c++) largest = fmaxf(largest, z[c]);
    for (int c = 0; c < CLASSES; c++) sum += expf(z[c] - largest);
    for (int c = 0; c < CLASSES; c++) p[c] = expf(z[c] - largest) / sum;
}

static void print_three(const char *what, const float *v) {
    printf("%-28s", what);
    for (int c = 0; c < CLASSES; c++) {
        if (isfinite(v[c]))
            printf(" %10.4f", v[c]);
        else
            printf("       %s", isnan(v[c]) ? " NaN" : v[c] > 0 ? " inf" : "-inf");
    }
    printf("\n");
}

static void print_tensor(const char *what, const cp_tensor *t) {
    float v[CLASSES];
    for (int c = 0; c < CLASSES; c++) v[c] = (float)t->data[c];
    print_three(what, v);
}

int main(void) {
    const float near_zero[] = {2, 1, 0}, large[] = {102, 101, 100};
    float       p[CLASSES];
    plain_softmax(near_zero, p), print_three("plain, logits 2 1 0", p);
    plain_softmax(large, p), print_three("plain, 102 101 100", p);
    safe_softmax(large, p), print_three("shifted, 102 101 100", p);

    const cp_real logits[] = {2, 1, 0};
    const int     label = 1;
    cp_tape      *tape = cp_tape_new();
    cp_tensor    *z = cp_variable(tape, logits, CP_SHAPE(1, CLASSES)), *dz;
    cp_tensor    *loss = cp_cross_entropy(tape, z, (cp_labels){&label, 1});
    cp_grad(tape, loss, &z, 1, &dz);
    printf("%-28s %10.4f\n", "cross-entropy for class 1", cp_item(loss));
    print_tensor("its gradient, p - y", dz);

    const cp_real far[] = {1000, 0, 0}; /* e^-1000 is 0 in double precision, too; its logarithm is -1000 */
    z = cp_variable(tape, far, CP_SHAPE(1, CLASSES));
    print_tensor("cp_log(cp_softmax), 1000 0 0", cp_log(tape, cp_softmax(tape, z, 1)));
    print_tensor("cp_log_softmax, 1000 0 0", cp_log_softmax(tape, z, 1));
    cp_tape_free(tape);
    return 0;
}
