/* Running a case and keeping its results. */
#include "tests/support/case_results.h"

#include "tests/support/golden.h"

#include <stdlib.h>

bool case_compares(const op_case *c) { return !c->draws; }

static bool keep(case_results *results, const cp_tensor *t) {
    double *values = t ? malloc((t->size + 1) * sizeof *values) : NULL;
    if (!values) return false;
    for (size_t i = 0; i < t->size; i++) values[i] = (double)t->data[i];
    results->sizes[results->arrays] = t->size;
    results->values[results->arrays++] = values;
    return true;
}

static bool keep_gradients(case_results *results, cp_tape *tape, cp_tensor *out, cp_tensor **in, int inputs) {
    cp_tensor *weight = cp_full(tape, 0, out->shape), *gradients[CASE_INPUTS];
    if (!weight) return false;
    golden_synthetic_reals("weight", weight->data, weight->size);
    cp_tensor *loss = cp_sum(tape, cp_mul(tape, out, weight), CP_ALL, false);
    bool       ok = loss && cp_grad(tape, loss, in, inputs, gradients);
    for (int i = 0; ok && i < inputs; i++) ok = keep(results, gradients[i]);
    return ok;
}

bool case_results_make(const op_case *c, case_results *results) {
    static double values[CASE_VALUES];
    cp_tensor    *in[CASE_INPUTS];
    cp_tape      *tape = cp_tape_new();
    *results = (case_results){0};
    case_fill(c, values);
    case_leaves(tape, c, values, ~0u, in);
    cp_tensor *out = c->build(tape, in, c);
    bool       ok = keep(results, out);
    if (ok && !c->constant) ok = keep_gradients(results, tape, out, in, case_inputs(c));
    cp_tape_free(tape);
    return ok;
}

void case_results_free(case_results *results) {
    for (int i = 0; i < results->arrays; i++) free(results->values[i]);
    *results = (case_results){0};
}
