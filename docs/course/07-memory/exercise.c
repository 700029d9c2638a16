/* Exercise 7: the gradient of a long chain with little memory.
 *
 * A chain makes h[0] = x, h[i + 1] = link(h[i]). For d sum(h[steps]) / dx, a tape would hold all the values. Instead, the
 * chain is cut into segments of `every` links (the last one may be shorter). The forward pass is given. It runs with the
 * tape paused and saves only the input of each segment. Write the backward pass: from the last segment to the first, run
 * the segment again on a tape that was reset and now records, and propagate the gradient from its end to its start. */
#include <couplet.h>
#include <stdlib.h>
#include <string.h>

cp_tensor *link_forward(cp_tape *tape, cp_tensor *h); /* one link; test.c has it */

void chain_gradient(cp_tape *tape, const cp_real *x, int n, int steps, int every, cp_real *gradient) {
    int      segments = (steps + every - 1) / every;
    size_t   bytes = (size_t)n * sizeof(cp_real);
    cp_real *saved = malloc((size_t)segments * bytes); /* what goes into each segment */

    cp_tape_pause(tape, true);
    for (int s = 0; s < segments; s++) {
        cp_tensor *h = cp_constant(tape, s ? saved + (s - 1) * n : x, CP_SHAPE(n));
        for (int i = 0; s && i < every; i++) h = link_forward(tape, h);
        memcpy(saved + s * n, h->data, bytes);
        cp_tape_reset(tape);
    }
    cp_tape_pause(tape, false);

    for (int i = 0; i < n; i++) gradient[i] = 1; /* d sum(h[steps]) / dh[steps] */

    /* Write the backward pass here. gradient is d sum(h[steps]) / dh at the end of a segment, and must become the
     * gradient at its start: cp_vjp(tape, end, seed, &start, 1, &result) with the seed cp_constant(tape, gradient,
     * CP_SHAPE(n)). */

    free(saved);
}
