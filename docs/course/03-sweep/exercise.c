/* Exercise 3: the two loops of a sweep. */
#include "03-sweep/record.h"

/* The forward loop: marked[i] becomes true for the wanted values and for all values computed from a marked one. At
 * first, marked is all false. Both arrays have r->values elements. */
void mark(const record *r, const bool *wanted, bool *marked) {
    /* not yet */
}

/* The backward loop: grad[i] becomes the gradient of the result at value i, if i is marked; the others stay 0, and the
 * result has 1. At first, grad is all 0. A node passes gradients back only to marked inputs, and nothing at all while
 * the gradient at its own result is 0 (here 0 stands for "nothing was passed back to it"; the library has an empty slot
 * for that). Returns how many parts were passed back: each addition to an element of grad counts as one. */
int sweep(const record *r, int result, const bool *marked, double *grad) {
    return 0; /* not yet */
}
