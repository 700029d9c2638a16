/* Exercise 3: the two loops of a sweep. */
#include "03-sweep/record.h"

/* The loop forward: marked[i] becomes true for the wanted values and for all that is computed from a marked one. marked comes all false.
 * Both arrays have r->values places. */
void mark(const record *r, const bool *wanted, bool *marked) {
    /* not yet */
}

/* The loop backward: grad[i] becomes the gradient of the result at value i, if i is marked; the others stay 0, and the result has 1.
 * grad comes all 0. A node hands something back only to inputs that are marked, and nothing at all while the gradient at its own result is
 * 0 (here that stands for "nobody handed it anything"; the library has an empty slot for it). Returns how many parts were handed back,
 * each time that something was added to a grad counting as one. */
int sweep(const record *r, int result, const bool *marked, double *grad) {
    return 0; /* not yet */
}
