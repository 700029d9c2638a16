/* Exercise 8: the direction in which a function bends most. Find the largest eigenvalue (by magnitude) of a Hessian,
 * and its direction, by power iteration: repeatedly multiply a vector by the Hessian and scale it to length 1. */
#include <couplet.h>
#include <math.h>

typedef cp_tensor *function(cp_tape *tape, cp_tensor *x); /* of x (n): one number */

/* On entry, direction is any direction (not of length 1). On return, it is the direction of the largest curvature, of
 * length 1, with either sign. Returns the curvature along it, <u, H u>, which may be negative. */
double largest_curvature(cp_tape *tape, function *f, const cp_real *x, int n, int rounds, cp_real *direction) {
    /* In each round: make u = direction / |direction| on the tape, compute H u at x with cp_hvp, and copy it into
     * direction. At the end: scale direction to length 1 once more, and return <u, H u>. */
    return 0;
}
