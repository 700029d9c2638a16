/* The gradient check's inside: the function under the check, and its gradients at a point. */
#ifndef CP_GRADCHECK_INSIDE_H
#define CP_GRADCHECK_INSIDE_H

#include "core/op.h"
#include "core/random.h"
#include "ops/gradcheck.h"

enum { CP_ALL_INPUTS = -1 };

/* What is done with a value of an input. */
typedef enum cp_gradcheck_place { CP_PLACE_MOVED, CP_PLACE_FIXED, CP_PLACE_LEFT_OUT } cp_gradcheck_place;

/* Vectors hold the values of all inputs, one after the other. */
typedef struct cp_gradcheck_run {
    cp_gradcheck_fn           build;
    const void               *user;
    const cp_gradcheck_input *in;
    int                       n;
    cp_gradcheck_config       config;
    cp_gradcheck_result       result;

    cp_at       at;                                    /* the check's tape, for the caller's place */
    bool        recorded;                              /* the gradients under the check are of a recorded sweep */
    cp_tensor **leaves, **wrt, **grads, **directions;  /* n of each */
    int         alone;                                 /* the input that is asked for, or CP_ALL_INPUTS */
    size_t      size;                                  /* of the vectors */
    double     *x, *reach, *moved, *g, *other, *u, *v; /* the point; how far 1 is there; a point near it; gradients; directions */
    cp_real    *row;                                   /* values on their way into a tensor */
    cp_gradcheck_place *places;
    cp_real            *w, *c; /* of f */
    size_t              outputs;
} cp_gradcheck_run;

/* Notes why the check cannot be made, unless something was noted before. Returns false. */
bool cp_gradcheck_unmade(cp_gradcheck_run *k, const char *why);

double cp_gradcheck_weight(cp_rng *rng); /* 0.5 to 1.5, of either sign */

bool   cp_gradcheck_asked(const cp_gradcheck_run *k, int input); /* is its gradient wanted now? */
size_t cp_gradcheck_size(const cp_gradcheck_input *in);

/* f at x + t v; v may be NULL. `terms`, unless NULL, gets the sum of its absolute terms. NaN after a failure. */
double cp_gradcheck_value(cp_gradcheck_run *k, const double *v, double t, double *terms);

/* The gradient of f at x + t v, by a sweep that is recorded or not; that of <grad f, u> at x. Zeros for inputs that are not asked for. */
bool cp_gradcheck_gradient(cp_gradcheck_run *k, const double *v, double t, bool recorded, double *g);
bool cp_gradcheck_gradient_along(cp_gradcheck_run *k, double *g);

#endif
