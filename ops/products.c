/* Products with Jacobians and Hessians by two sweeps. */
#include "ops/products.h"

#include "core/op.h"
#include "ops/ops.h"

static bool directions_fit(cp_at at, const char *op, cp_tensor *const *wrt, cp_tensor *const *directions, int n) {
    if (n < 1 || !wrt || !directions) return cp_misuse(at, op, "wrt or directions is NULL, or n = %d is below 1", n);
    if (!cp_check(at, op, n, directions)) return false;
    for (int i = 0; i < n; i++)
        if (wrt[i] && !cp_shape_same(wrt[i], directions[i]))
            return cp_misuse(at, op, "directions[%d] has shape %s, and wrt[%d] %s: they must be the same", i,
                             cp_shape_text(directions[i]).s, i, cp_shape_text(wrt[i]).s);
    return true;
}

/* sum_i <recorded[i], directions[i]>, recorded even when the tape is paused. The directions are constants here. */
static cp_tensor *inner(cp_at at, cp_tensor *const *recorded, cp_tensor *const *directions, int n) {
    cp_tensor *sum = cp_scalar(at, 0);
    bool       was = cp_tape_pause(at.tape, false);
    for (int i = 0; i < n; i++)
        sum = cp_add(at, sum, cp_sum(at, cp_mul(at, recorded[i], cp_detach(at, directions[i])), CP_ALL, false));
    cp_tape_pause(at.tape, was);
    return sum;
}

/* The gradient of a value that was not recorded is zero. */
static bool zeros(cp_at at, cp_tensor *const *like, int n, cp_tensor **out) {
    for (int i = 0; i < n; i++)
        if (!(out[i] = cp_full(at, 0, like[i]->shape))) return false;
    return true;
}

cp_tensor *(cp_jvp)(cp_at at, cp_tensor *out, cp_tensor *const *wrt, cp_tensor *const *directions, int n) {
    if (!cp_check(at, "jvp", 1, &out) || !directions_fit(at, "jvp", wrt, directions, n)) return NULL;
    cp_tensor  *still = cp_full(at, 0, out->shape), *product = NULL;
    cp_tensor  *seed = still ? cp_variable(at, still->data, out->shape) : NULL; /* any seed works: J^T v is linear in it */
    cp_tensor **backward = cp_tape_alloc(at, (size_t)n * sizeof *backward);
    if (!seed || !backward || !cp_vjp_recorded(at, out, seed, wrt, n, backward)) return NULL;
    cp_tensor *along = inner(at, backward, directions, n);
    if (!along || (!along->tracked && !zeros(at, &seed, 1, &product))) return NULL;
    return product || cp_grad(at, along, &seed, 1, &product) ? product : NULL;
}

bool(cp_hvp)(cp_at at, cp_tensor *loss, cp_tensor *const *wrt, cp_tensor *const *directions, int n, cp_tensor **products) {
    if (!products) return cp_misuse(at, "hvp", "products is NULL");
    bool fits = cp_check(at, "hvp", 1, &loss) && directions_fit(at, "hvp", wrt, directions, n);
    for (int i = 0; i < n && !fits; i++) products[i] = NULL;
    if (!fits) return false;
    cp_tensor **gradient = cp_tape_alloc(at, (size_t)n * sizeof *gradient);
    if (!gradient || !cp_grad_recorded(at, loss, wrt, n, gradient)) return false;
    cp_tensor *along = inner(at, gradient, directions, n);
    if (!along) return false;
    return along->tracked ? cp_grad(at, along, wrt, n, products) : zeros(at, wrt, n, products);
}
