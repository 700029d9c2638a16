/* Runs the gradient check of a case. */
#include "tests/support/gradcheck.h"

#include "core/tape_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static cp_tensor *build(cp_tape *tape, cp_tensor *const *in, const void *user) {
    const op_case *c = user;
    return c->build(tape, (cp_tensor **)in, c);
}

static void on_error(const cp_error *error, void *user) {
    char *message = user;
    if (!*message) snprintf(message, 200, "%s: %s", error->op, error->message);
}

static bool on_record(const cp_tape *tape, const char *op) {
    for (int i = 0; i < tape->node_count; i++)
        if (strcmp(tape->nodes[i]->op->name, op) == 0) return true;
    return false;
}

/* The gradients of the sum of squares of the result, with variables or with parameters as inputs. */
static bool gradients(cp_tape *tape, const op_case *c, cp_tensor **in, cp_tensor **grads) {
    cp_tensor *out = c->build(tape, in, c);
    return out && out->tracked && cp_grad(tape, cp_sum(tape, cp_square(tape, out), CP_ALL, false), in, case_inputs(c), grads);
}

/* The same gradients with parameters in place of variables. */
static void check_parameters(const op_case *c, const cp_gradcheck_input *inputs, gradcheck *result) {
    cp_tape   *tape = cp_tape_new(), *other = cp_tape_new();
    cp_tensor *variables[CASE_INPUTS], *parameters[CASE_INPUTS], *expected[CASE_INPUTS], *found[CASE_INPUTS];
    int        n = case_inputs(c);
    for (int i = 0; i < n; i++) {
        variables[i] = cp_variable(tape, inputs[i].data, inputs[i].shape);
        parameters[i] = cp_parameter_new(inputs[i].data, inputs[i].shape);
    }
    if (gradients(tape, c, variables, expected)) {
        result->reached = on_record(tape, c->op);
        if (!gradients(other, c, parameters, found)) result->parameters = INFINITY;
        for (int i = 0; i < n && isfinite(result->parameters); i++)
            for (size_t j = 0; j < expected[i]->size; j++)
                result->parameters = fmax(result->parameters, fabs((double)expected[i]->data[j] - (double)found[i]->data[j]));
    }
    for (int i = 0; i < n; i++) cp_tensor_free(parameters[i]);
    cp_tape_free(tape);
    cp_tape_free(other);
}

gradcheck gradcheck_case(const op_case *c) {
    static double      values[CASE_VALUES];
    static cp_real     data[CASE_VALUES];
    cp_gradcheck_input in[CASE_INPUTS] = {{0}};
    char               message[200] = "";
    gradcheck          result = {0};
    size_t             at = 0;
    case_fill(c, values);
    for (size_t i = 0; i < case_values(c); i++) data[i] = (cp_real)values[i];
    for (int i = 0; i < case_inputs(c); i++) {
        in[i] = (cp_gradcheck_input){.data = data + at, .shape = c->in[i].shape, .whole = c->in[i].domain == FROM_WHOLE};
        at += case_size(&c->in[i].shape);
    }
    cp_error_handler(on_error, message);
    result.of = cp_gradcheck(build, c, in, case_inputs(c), (cp_gradcheck_config){0});
    if (result.of.made) check_parameters(c, in, &result);
    cp_error_handler(NULL, NULL);
    if (*message) snprintf(result.of.message, sizeof result.of.message, "%s", message);
    return result;
}

bool gradcheck_passed(const gradcheck *result) { return result->of.passed && result->of.kinks == 0 && result->parameters == 0; }
