/* Products with Jacobians and Hessians, without computing the matrices. Each costs a few sweeps, whatever the number of values.
 *
 * Both sweep twice. A sweep's result J^T v is linear in its seed v, so its own gradient with respect to v, along u, is J u; and the
 * gradient of <dloss/dx, u> is H u. The first sweep is recorded: it stays on the tape until cp_tape_reset. */
#pragma once

#include "core/tape.h"

/* J u: how out changes when each wrt[i] moves along directions[i], in out's shape. The Jacobian times a vector; cp_vjp (core/tape.h) is the
 * vector times the Jacobian. NULL (after the error handler) on misuse. */
cp_tensor *cp_jvp(cp_at at, cp_tensor *out, cp_tensor *const *wrt, cp_tensor *const *directions, int n);

/* H u: how the gradient of loss changes when each wrt[i] moves along directions[i]; products[i] has the shape of wrt[i]. false (after
 * the error handler) on misuse; then products are all NULL. */
bool cp_hvp(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, cp_tensor *const *directions, int n, cp_tensor **products);

#define cp_jvp(t, ...) cp_jvp(CP_AT(t), __VA_ARGS__)
#define cp_hvp(t, ...) cp_hvp(CP_AT(t), __VA_ARGS__)
