/* What the norms share. */
#ifndef CP_NORM_PARTS_H
#define CP_NORM_PARTS_H

#include "core/op.h"
#include "ops/ops.h"

#define CP_NORM_EPS ((cp_real)1e-5) /* what an eps of 0 means */

/* The gradient rule for those who look on; xhat is x normalized, and h the gradient at xhat. */
#define CP_NORM_RULE "x: (h - mean(h) - xhat mean(h xhat)) / sqrt(var + eps) with h = gamma g; gamma: sum g xhat; beta: sum g"
#define CP_NORM_RSTD "1/sqrt(var+eps)" /* the name of the input that has it */
#define CP_NORM_WORDS                                                                                                              \
    "From the gradient go its mean and what points along the normalized values, because normalizing undoes both a shift and a "    \
    "stretch; gamma and beta get sums over all that they were applied to."

/* x has at least two axes, and gamma and beta, unless NULL, a value for each of its channels; else false after a message. */
bool cp_norm_fits(cp_at at, const char *op, cp_tensor *x, cp_tensor *gamma, cp_tensor *beta);
bool cp_norm_is_per_channel(cp_at at, const char *op, const char *what, cp_tensor *t, const cp_tensor *x); /* t may be NULL */

static inline int cp_norm_channels(const cp_tensor *x) {
    return x->dims[x->rank - 1];
}

static inline cp_axes cp_norm_all_but_last(const cp_tensor *x) {
    return (cp_axes){.count = x->rank - 1, .at = {0, 1, 2, 3}};
}

/* Made of ops, for what a recorded sweep differentiates again; reduced axes are kept. */
typedef struct cp_statistics {
    cp_tensor *centered, *rstd;
} cp_statistics;

cp_statistics cp_norm_measure(cp_at at, cp_tensor *a, cp_axes axes, cp_real eps);
/* rstd (g - mean(g) - hat mean(g hat)): the part of g that changes neither mean nor variance. */
cp_tensor *cp_norm_project(cp_at at, cp_tensor *g, cp_tensor *hat, cp_tensor *rstd, cp_axes axes);

#endif
