/* The gradients of a parameter set. */
#include "optim/grads.h"

#include "core/kernels/kernels.h"
#include "core/op.h"
#include "core/threads.h"

#include <math.h>
#include <string.h>

/* A parameter that was a constant on a frozen tape has no gradient instead of zeros. */
static bool wanted(cp_at at, const cp_param *entry) {
    return !entry->buffer && entry->value->tracked && cp_use_of(at, entry->value) != CP_USED_FROZEN;
}

/* Computes the gradients of the set; params->grads[i] is that of entry i, or NULL. */
static bool grads_compute(cp_at at, const char *op, cp_tensor *loss, cp_params *params) {
    int n = 0, trained = 0;
    if (!cp_check(at, op, 1, &loss)) return false;
    for (int i = 0; i < params->count; i++) {
        trained += !params->at[i].buffer;
        if (wanted(at, &params->at[i])) params->wanted[n++] = params->at[i].value;
    }
    if (loss->tracked && trained && !cp_depends(at, loss, params->wanted, n))
        return cp_misuse(
            at, op, "the loss depends on none of the %d parameters of this set%s", trained,
            n < trained
                ? ", which were constants while the tape was frozen: call cp_tape_freeze(tape, false) before the loss is computed"
                : "");
    if (!cp_grad_for(at, op, loss, params->wanted, n, params->grads)) return false;
    for (int i = params->count - 1; i >= 0; i--) /* spreads the gradients over all entries, in the same order */
        params->grads[i] = wanted(at, &params->at[i]) ? params->grads[--n] : NULL;
    return true;
}

bool(cp_backward)(cp_at at, cp_tensor *loss, cp_params *params) {
    if (!params) return cp_misuse(at, "backward", "the parameter set is NULL");
    cp_grads_clear(params);
    params->grad_tape = at.tape;
    if (!grads_compute(at, "backward", loss, params)) return false;
    for (int i = 0; i < params->count; i++) params->at[i].grad = params->grads[i];
    params->grad_step = cp_tape_step(at.tape);
    params->grad_count = params->count;
    return true;
}

bool(cp_backward_add)(cp_at at, cp_tensor *loss, cp_params *params) {
    const char *op = "backward_add";
    if (!cp_grads_check(at, op, params)) return false;
    for (int i = 0; i < params->count; i++) {
        cp_param *entry = &params->at[i];
        if (entry->grad && entry->grad->size != entry->value->size)
            return cp_misuse(at, op, "%s %s has a gradient of shape %s", entry->name, cp_shape_text(entry->value).s,
                             cp_shape_text(entry->grad).s);
        if (!entry->buffer && !entry->sum && !(entry->sum = (cp_tensor_new)(at, entry->value->shape))) return false;
    }
    if (!grads_compute(at, op, loss, params)) return false;
    for (int i = 0; i < params->count; i++) {
        cp_param        *entry = &params->at[i];
        const cp_tensor *g = params->grads[i], *one = g ? g : entry->grad;
        if (!one || one == entry->sum) continue;
        if (g && entry->grad)
            cp_kernels()->add(g->size, entry->grad->data, g->data, entry->sum->data);
        else
            memcpy(entry->sum->data, one->data, one->size * sizeof *one->data);
        entry->grad = entry->sum;
    }
    params->grad_tape = NULL;
    params->grad_count = 0;
    return true;
}

void cp_grads_clear(cp_params *params) {
    for (int i = 0; i < params->count; i++) params->at[i].grad = NULL;
    params->grad_tape = NULL;
    params->grad_count = 0;
}

/* Stale gradients of cp_backward are detected by their step at any age, other tensors as cp_tensor_usable does. The tape is used only while
 * it has gradients of the set: it may have been freed otherwise. */
bool cp_grads_check(cp_at at, const char *op, const cp_params *params) {
    if (!params) return cp_misuse(at, op, "the parameter set is NULL");
    for (int i = 0; i < params->count; i++) {
        const cp_param *entry = &params->at[i];
        bool            own = entry->grad && i < params->grad_count && entry->grad == params->grads[i];
        if (own && cp_tape_step(params->grad_tape) != params->grad_step)
            return cp_misuse(at, op, "the gradient of %s is from before cp_tape_reset; call cp_backward again", entry->name);
        if (entry->grad && !cp_tensor_usable(at, op, "a gradient", entry->grad)) return false;
    }
    return true;
}

/* ---- all gradients as one vector ---- */

/* A tensor is divided into at most PARTS chunks of at least GRAIN values, depending on its size alone: the sums are the
 * same for any number of threads, and their partial sums fit on the stack. */
enum { PARTS = 64, GRAIN = 16384 };

typedef struct fold {
    cp_real *grad;
    size_t   grain;
    double   scale;
    double   parts[PARTS];
} fold;

static void square_loop(void *context, size_t begin, size_t end) {
    fold *f = context;
    f->parts[begin / f->grain] = cp_reals_squares(f->grad + begin, end - begin, f->scale);
}

static void finite_loop(void *context, size_t begin, size_t end) {
    fold *f = context;
    f->parts[begin / f->grain] = cp_reals_finite(f->grad + begin, end - begin) ? 0 : 1;
}

static void scale_loop(void *context, size_t begin, size_t end) {
    fold         *f = context;
    const cp_real scale = (cp_real)f->scale;
    for (size_t i = begin; i < end; i++) f->grad[i] *= scale;
}

/* Runs the loop over every gradient; returns the sum of the parts. */
static double fold_all(const cp_params *params, cp_loop_fn loop, double scale) {
    double all = 0;
    for (int i = 0; i < params->count; i++) {
        cp_tensor *grad = params->at[i].grad;
        if (!grad) continue;
        fold f = {.grad = grad->data, .grain = grad->size / PARTS + 1, .scale = scale};
        if (f.grain < GRAIN) f.grain = GRAIN;
        cp_parallel(grad->size, f.grain, loop, &f);
        for (size_t part = 0; part * f.grain < grad->size; part++) all += f.parts[part];
    }
    return all;
}

/* The largest magnitude; a NaN is larger than any number. */
static double largest_of(const cp_params *params) {
    double largest = 0;
    for (int i = 0; i < params->count; i++) {
        const cp_tensor *grad = params->at[i].grad;
        for (size_t j = 0; grad && j < grad->size && !isnan(largest); j++)
            if (!(fabs((double)grad->data[j]) <= largest)) largest = fabs((double)grad->data[j]);
    }
    return largest;
}

bool(cp_grads_finite)(cp_at at, const cp_params *params) {
    return cp_grads_check(at, "grads_finite", params) && fold_all(params, finite_loop, 1) == 0;
}

/* If the squares are out of the range of double, computes them again in units of the largest value. */
static double norm_of(const cp_params *params) {
    double squares = fold_all(params, square_loop, 1);
    if (squares >= DBL_MIN && isfinite(squares)) return sqrt(squares);
    double largest = largest_of(params);
    if (!isfinite(largest) || largest == 0) return largest;
    if (1 / largest > DBL_MAX) largest = DBL_MIN;
    return largest * sqrt(fold_all(params, square_loop, 1 / largest));
}

double(cp_grads_clip)(cp_at at, cp_params *params, double max_norm) {
    if (!cp_grads_check(at, "grads_clip", params)) return NAN;
    if (!(max_norm >= 0)) {
        cp_misuse(at, "grads_clip", "max_norm is %g; it must not be negative", max_norm);
        return NAN;
    }
    double norm = norm_of(params);
    double scale = max_norm / (norm + 1e-6);
    if (isfinite(norm) && scale < 1) fold_all(params, scale_loop, scale);
    return norm;
}
