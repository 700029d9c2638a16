/* Products with Jacobians and Hessians, without computing the matrices. Each costs a few sweeps, whatever the number of values.
 *
 * J u goes forward along the record: each op passes on how its result changes. H u takes two sweeps, of which the first is recorded and stays
 * on the tape until cp_tape_reset: it is the gradient of <dloss/dx, u>. */
#pragma once

#include "core/tape.h"

/* J u: how out changes when each wrt[i] moves along directions[i], in out's shape. The Jacobian times a vector; cp_vjp (core/tape.h) is the
 * vector times the Jacobian. NULL (after the error handler) on misuse. */
cp_tensor *cp_jvp(cp_at at, cp_tensor *out, cp_tensor *const *wrt, cp_tensor *const *directions, int n);

/* The same, and how many inputs of ops went which way: as dual numbers, for ops of one value at a time (tanh, mul of the same shape), matmul,
 * conv2d and reshape, or by a double reverse of the op alone, for all others (sum), which leaves a few nodes on the tape until its reset. */
typedef struct cp_jvp_ways {
    int dual, reverse;
} cp_jvp_ways;
cp_tensor *cp_jvp_counted(cp_at at, cp_tensor *out, cp_tensor *const *wrt, cp_tensor *const *directions, int n, cp_jvp_ways *ways);

/* H u: how the gradient of loss changes when each wrt[i] moves along directions[i]; products[i] has the shape of wrt[i]. false (after
 * the error handler) on misuse; then products are all NULL. */
bool cp_hvp(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, cp_tensor *const *directions, int n, cp_tensor **products);

#define cp_jvp(t, ...) cp_jvp(CP_AT(t), __VA_ARGS__)
#define cp_jvp_counted(t, ...) cp_jvp_counted(CP_AT(t), __VA_ARGS__)
#define cp_hvp(t, ...) cp_hvp(CP_AT(t), __VA_ARGS__)
