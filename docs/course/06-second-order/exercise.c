/* Exercise 6: where a function bends most. The largest eigenvalue (by magnitude) of a Hessian, and its direction, by power iteration:
 * multiply a vector by the Hessian and make its length 1, again and again. */
#include <couplet.h>
#include <math.h>

typedef cp_tensor *function(cp_tape *tape, cp_tensor *x); /* of x (n): one number */

/* direction holds some direction at first (not of length 1), and at the end the one of the largest curvature, of length 1, forward or
 * backward. Returns the curvature along it, <u, H u>, which may be negative. */
double largest_curvature(cp_tape *tape, function *f, const cp_real *x, int n, int rounds, cp_real *direction) {
    /* In each round: make u = direction / |direction| on the tape, ask cp_hvp for H u at x, and copy it into direction.
     * Then: make its length 1 once more, and return <u, H u>. */
    return 0;
}
