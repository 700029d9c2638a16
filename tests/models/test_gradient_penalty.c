/* The gradient penalty of whole models: cp_gradient_squares, and the gradients of its mean. */
#include "core/kernels/kernels.h"
#include "core/threads.h"
#include "models/model.h"
#include "optim/optim.h"
#include "tests/support/setup_tape.h"

#include <math.h>
#include <string.h>

static cp_tensor *mean(cp_tensor *a) { return cp_mean(tape, a, CP_ALL, false); }

static cp_tensor *noise(cp_shape shape) {
    cp_rng     rng = cp_rng_named(2, "data");
    cp_tensor *t = cp_tensor_new(shape);
    cp_rng_fill_uniform(&rng, t->data, t->size, -1, 1);
    return t;
}

static cp_tensor *variable_of(const cp_tensor *t) { return cp_variable(tape, t->data, t->shape); }

/* A wide ResNet without factors of 1 or shifts of 0, which could be omitted without any effect. */
static cp_model *model_of(const char *head, cp_norm_kind norm, cp_activation activation) {
    cp_rng    rng = cp_rng_named(1, "init");
    cp_model *m = cp_model_new((cp_model_config){.classes = 3,
                                                 .head = head,
                                                 .hybrid = {.mean_sd = 0.6, .learn_prior = true},
                                                 .wrn = {.channels = 2, .norm = norm, .activation = activation}},
                               &rng);
    TEST_ASSERT_NOT_NULL_MESSAGE(m, last_error);
    for (int i = 0; i < m->params->count; i++) {
        cp_tensor *t = m->params->at[i].value;
        for (size_t j = 0; j < t->size && t->rank == 1; j++) t->data[j] += (cp_real)(0.1 + 0.3 * cp_rng_uniform(&rng));
    }
    return m;
}

/* The squares at x, as numbers. */
static void squares_at(const cp_model *m, const cp_tensor *at, cp_mode mode, double *squares) {
    cp_tensor *x = variable_of(at), *s = cp_gradient_squares(tape, cp_model_energy(tape, m, x, mode), x);
    TEST_ASSERT_NOT_NULL_MESSAGE(s, last_error);
    TEST_ASSERT_TRUE(cp_shape_is(s, CP_SHAPE(at->dims[0])));
    for (int n = 0; n < at->dims[0]; n++) squares[n] = (double)s->data[n];
    cp_tape_reset(tape);
}

/* Energies and their penalty in one objective, from one forward pass. */
static cp_tensor *objective(const cp_model *m, const cp_tensor *at, cp_mode mode) {
    cp_tensor *x = variable_of(at), *energies = cp_model_energy(tape, m, x, mode);
    return cp_add(tape, mean(energies), cp_scale(tape, mean(cp_gradient_squares(tape, energies, x)), 3));
}

/* ---- simple functions ---- */

static void each_row_has_the_squared_gradient_of_its_own_value(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2, 3, -1, 0, 5}, CP_SHAPE(2, 3)), *dx;
    cp_tensor *squares = cp_gradient_squares(tape, cp_sum(tape, cp_square(tape, x), CP_AXES(1), false), x); /* |2 x_n|^2 */
    TEST_ASSERT_TRUE(cp_shape_is(squares, CP_SHAPE(2)));
    TEST_ASSERT_EQUAL_DOUBLE(4 * 14, (double)squares->data[0]);
    TEST_ASSERT_EQUAL_DOUBLE(4 * 26, (double)squares->data[1]);
    TEST_ASSERT_TRUE(cp_grad(tape, mean(squares), &x, 1, &dx)); /* 8 x / 2 */
    for (int i = 0; i < 6; i++) TEST_ASSERT_EQUAL_DOUBLE(4 * (double)x->data[i], (double)dx->data[i]);
}

static void rows_of_a_single_value_or_of_none_and_no_rows_at_all_are_ok(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, -2}, CP_SHAPE(2));
    cp_tensor *squares = cp_gradient_squares(tape, cp_pow(tape, x, 3), x); /* 9 x^4 */
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 9, (double)squares->data[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-4, 144, (double)squares->data[1]);
    cp_tensor *none = cp_variable(tape, x->data, CP_SHAPE(2, 0));
    squares = cp_gradient_squares(tape, cp_sum(tape, none, CP_AXES(1), false), none);
    TEST_ASSERT_TRUE(cp_shape_is(squares, CP_SHAPE(2)));
    TEST_ASSERT_EQUAL_DOUBLE(0, (double)squares->data[1]);
    cp_tensor *empty = cp_variable(tape, x->data, CP_SHAPE(0, 5));
    TEST_ASSERT_TRUE(cp_shape_is(cp_gradient_squares(tape, cp_sum(tape, empty, CP_AXES(1), false), empty), CP_SHAPE(0)));
}

static void a_value_that_does_not_depend_on_x_has_zero_slope(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2, 1)), *other = cp_variable(tape, x->data, CP_SHAPE(2));
    cp_tensor *squares = cp_gradient_squares(tape, cp_square(tape, other), x);
    TEST_ASSERT_EQUAL_DOUBLE(0, (double)squares->data[0]);
    TEST_ASSERT_EQUAL_DOUBLE(0, (double)squares->data[1]);
}

static void a_gradient_that_is_not_finite_is_reported_only_for_its_row(void) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){0, 4}, CP_SHAPE(2));
    cp_tensor *squares = cp_gradient_squares(tape, cp_sqrt(tape, x), x);
    TEST_ASSERT_FALSE(isfinite(squares->data[0]));
    TEST_ASSERT_EQUAL_DOUBLE(0.0625, (double)squares->data[1]);
}

#define REFUSED(part, y, x)                                                                                                        \
    do {                                                                                                                           \
        TEST_ASSERT_NULL(cp_gradient_squares(tape, y, x));                                                                         \
        expect_error(part);                                                                                                        \
        errors_forgive(tape);                                                                                                      \
    } while (0)

static void other_shapes_constants_and_unrecorded_values_are_refused(void) {
    const cp_real data[6] = {1, 2, 3, 4, 5, 6};
    cp_tensor    *x = cp_variable(tape, data, CP_SHAPE(2, 3)), *y = cp_sum(tape, x, CP_AXES(1), false);
    REFUSED("gradient_squares: y has shape (2, 3) and x (2, 3); y must have one value for each row of x", cp_square(tape, x), x);
    REFUSED("y has shape () and x (2, 3)", cp_sum(tape, x, CP_ALL, false), x);
    REFUSED("y has shape (3) and x (2, 3)", cp_sum(tape, x, CP_AXES(0), false), x);
    cp_tensor *scalar = cp_variable(tape, data, CP_SCALAR);
    REFUSED("y has shape (2) and x ()", y, scalar);
    REFUSED("is a constant", y, cp_constant(tape, data, CP_SHAPE(2, 3)));
    REFUSED("loss was not recorded", cp_constant(tape, data, CP_SHAPE(2)), x);
    REFUSED("argument 1 is NULL", NULL, x);
    REFUSED("argument 2 is NULL", y, NULL);
    cp_tape_reset(tape);
    cp_tensor *fresh = cp_variable(tape, data, CP_SHAPE(2, 3));
    REFUSED("is from before cp_tape_reset", y, fresh);
}

/* ---- whole models ---- */

static const char *const heads[] = {"jem", "hybrid"};

/* dE/dx by differences, pixel by pixel. */
static double square_by_differences(const cp_model *m, cp_tensor *at, int row, double h) {
    size_t size = at->size / (size_t)at->dims[0];
    double sum = 0;
    bool   was = cp_tape_pause(tape, true);
    for (size_t i = 0; i < size; i++) {
        cp_real *pixel = &at->data[(size_t)row * size + i], kept = *pixel;
        double   energy[2];
        for (int k = 0; k < 2; k++) {
            *pixel = kept + (cp_real)(k ? h : -h);
            energy[k] = (double)cp_model_energy(tape, m, cp_constant(tape, at->data, at->shape), CP_TRAINING)->data[row];
            cp_tape_reset(tape);
        }
        *pixel = kept;
        sum += pow((energy[1] - energy[0]) / (2 * h), 2);
    }
    cp_tape_pause(tape, was);
    return sum;
}

static void the_squares_agree_with_differences_of_the_energy(void) {
    if (!CP_DOUBLE) TEST_IGNORE_MESSAGE("differences need double precision");
    for (int h = 0; h < 2; h++)
        for (int norm = CP_NORM_NONE; norm <= CP_NORM_GROUP; norm += CP_NORM_GROUP - CP_NORM_NONE) {
            cp_model  *m = model_of(heads[h], (cp_norm_kind)norm, CP_LEAKY_RELU);
            cp_tensor *at = noise(CP_SHAPE(2, 8, 9, 2));
            double     squares[2];
            squares_at(m, at, CP_TRAINING, squares);
            for (int n = 0; n < 2; n++) {
                double expected = square_by_differences(m, at, n, 1e-7);
                TEST_ASSERT_TRUE(expected > 0);
                TEST_ASSERT_DOUBLE_WITHIN(1e-5 * expected, expected, squares[n]);
            }
            cp_tensor_free(at);
            cp_model_free(m);
        }
}

static double objective_number(const cp_model *m, const cp_tensor *at, cp_mode mode) {
    double value = (double)cp_item(objective(m, at, mode));
    cp_tape_reset(tape);
    return value;
}

/* The derivative of the objective with respect to one number, by fourth-order differences. */
static double slope(const cp_model *m, const cp_tensor *at, cp_mode mode, cp_real *number, double h) {
    const double weight[] = {1, -8, 8, -1}, offset[] = {-2, -1, 1, 2};
    double       sum = 0;
    cp_real      kept = *number;
    for (int k = 0; k < 4; k++) {
        *number = kept + (cp_real)(offset[k] * h);
        sum += weight[k] * objective_number(m, at, mode);
    }
    *number = kept;
    return sum / (12 * h);
}

enum { MAX_PARAMETERS = 64 };

/* For one number of every parameter. The kinks of a leaky ReLU make the penalty jump, so the steps are too short to reach one. */
static void check_parameters(const char *head, cp_norm_kind norm, cp_activation activation, cp_mode mode, int rows) {
    cp_model  *m = model_of(head, norm, activation);
    cp_tensor *at = noise(CP_SHAPE(rows, 8, 9, 2));
    cp_rng     rng = cp_rng_named(4, "pick");
    cp_real   *number[MAX_PARAMETERS] = {0};
    double     found[MAX_PARAMETERS], h = activation == CP_SWISH ? 1e-4 : 1e-6, largest = 0;
    TEST_ASSERT_TRUE(m->params->count <= MAX_PARAMETERS);
    TEST_ASSERT_TRUE(cp_backward(tape, objective(m, at, mode), m->params));
    for (int i = 0; i < m->params->count; i++) {
        const cp_param *entry = &m->params->at[i];
        size_t          place = (size_t)cp_rng_below(&rng, entry->value->size);
        if (entry->buffer) continue;
        number[i] = &entry->value->data[place];
        found[i] = (double)entry->grad->data[place];
        largest = fmax(largest, fabs(found[i]));
    }
    cp_tape_reset(tape);
    for (int i = 0; i < m->params->count; i++) {
        if (!number[i]) continue;
        double expected = slope(m, at, mode, number[i], h);
        TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(1e-5 * (fabs(expected) + 1e-2), expected, found[i], m->params->at[i].name);
    }
    TEST_ASSERT_TRUE(largest > 1e-2);
    cp_tensor_free(at);
    cp_model_free(m);
}

static void the_penaltys_gradient_is_right_for_every_parameter_of_both_heads(void) {
    if (!CP_DOUBLE) TEST_IGNORE_MESSAGE("differences need double precision");
    for (int h = 0; h < 2; h++) {
        check_parameters(heads[h], CP_NORM_NONE, CP_LEAKY_RELU, CP_TRAINING, 3);
        check_parameters(heads[h], CP_NORM_NONE, CP_SWISH, CP_TRAINING, 2);
        check_parameters(heads[h], CP_NORM_GROUP, CP_LEAKY_RELU, CP_TRAINING, 2);
        check_parameters(heads[h], CP_NORM_GROUP, CP_SWISH, CP_TRAINING, 2);
        check_parameters(heads[h], CP_NORM_BATCH, CP_LEAKY_RELU, CP_EVALUATION, 2);
    }
}

static void a_batch_of_one_is_right_too(void) {
    if (!CP_DOUBLE) TEST_IGNORE_MESSAGE("differences need double precision");
    check_parameters("hybrid", CP_NORM_NONE, CP_LEAKY_RELU, CP_TRAINING, 1);
}

static void the_square_of_a_row_does_not_depend_on_the_batch(void) {
    cp_model  *m = model_of("hybrid", CP_NORM_NONE, CP_LEAKY_RELU);
    cp_tensor *all = noise(CP_SHAPE(3, 9, 8, 2)), *one = cp_tensor_new(CP_SHAPE(1, 9, 8, 2));
    double     squares[3], alone;
    squares_at(m, all, CP_TRAINING, squares);
    for (size_t n = 0; n < 3; n++) {
        memcpy(one->data, all->data + n * one->size, one->size * sizeof(cp_real));
        squares_at(m, one, CP_TRAINING, &alone);
        TEST_ASSERT_DOUBLE_WITHIN(1e-5 * squares[n], squares[n], alone);
    }
    cp_tensor_free(all);
    cp_tensor_free(one);
    cp_model_free(m);
}

static void a_frozen_tape_gives_the_same_numbers(void) {
    cp_model  *m = model_of("hybrid", CP_NORM_NONE, CP_LEAKY_RELU);
    cp_tensor *at = noise(CP_SHAPE(2, 9, 8, 2));
    double     squares[2], frozen[2];
    squares_at(m, at, CP_TRAINING, squares);
    cp_tape_freeze(tape, true);
    squares_at(m, at, CP_TRAINING, frozen);
    cp_tape_freeze(tape, false);
    TEST_ASSERT_EQUAL_MEMORY(squares, frozen, sizeof squares);
    cp_tensor_free(at);
    cp_model_free(m);
}

enum { PARAMETERS = 1 << 18 };

/* The gradients of all parameters, one after the other. Returns their number. */
static size_t gradients(const cp_model *m, const cp_tensor *at, cp_real *all) {
    size_t count = 0;
    TEST_ASSERT_TRUE(cp_backward(tape, objective(m, at, CP_TRAINING), m->params));
    for (int i = 0; i < m->params->count; i++) {
        const cp_tensor *grad = m->params->at[i].grad;
        TEST_ASSERT_TRUE(count + grad->size <= PARAMETERS);
        memcpy(all + count, grad->data, grad->size * sizeof *all);
        count += grad->size;
    }
    cp_tape_reset(tape);
    return count;
}

static void the_gradients_are_the_same_bits_for_any_number_of_threads(void) {
    static cp_real one[PARAMETERS], several[PARAMETERS];
    cp_model      *m = model_of("hybrid", CP_NORM_NONE, CP_LEAKY_RELU);
    cp_tensor     *at = noise(CP_SHAPE(5, 13, 12, 2));
    int            was = cp_threads();
    cp_threads_set(1);
    size_t count = gradients(m, at, one);
    for (int threads = 2; threads <= 4; threads++) {
        cp_threads_set(threads);
        gradients(m, at, several);
        TEST_ASSERT_EQUAL_MEMORY(one, several, count * sizeof *one);
    }
    cp_threads_set(was);
    cp_tensor_free(at);
    cp_model_free(m);
}

static void all_kernels_agree_on_the_gradients(void) {
    static cp_real    reference[PARAMETERS], found[PARAMETERS];
    const char *const names[] = {"portable", "avx2", "avx512"};
    cp_model         *m = model_of("hybrid", CP_NORM_NONE, CP_LEAKY_RELU);
    cp_tensor        *at = noise(CP_SHAPE(3, 13, 12, 2));
    cp_kernels_use(cp_kernels_named("reference"), CP_CONV_AUTO);
    size_t count = gradients(m, at, reference);
    double largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)reference[i]));
    for (int k = 0; k < 3; k++) {
        const cp_kernel_family *family = cp_kernels_named(names[k]);
        if (!family) continue; /* a double build, or another processor */
        cp_kernels_use(family, CP_CONV_AUTO);
        gradients(m, at, found);
        for (size_t i = 0; i < count; i++)
            TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(1e-4 * largest, (double)reference[i], (double)found[i], names[k]);
    }
    cp_kernels_use(NULL, CP_CONV_AUTO);
    cp_tensor_free(at);
    cp_model_free(m);
}

static void a_penalized_energy_becomes_flatter(void) {
    cp_model  *m = model_of("hybrid", CP_NORM_NONE, CP_LEAKY_RELU);
    cp_tensor *at = noise(CP_SHAPE(4, 8, 8, 2));
    cp_optim  *adam = cp_adam_new(m->params, (cp_adam_config){.rate = 3e-3});
    double     before[4], after[4];
    squares_at(m, at, CP_TRAINING, before);
    for (int i = 0; i < 20; i++) {
        cp_tensor *x = variable_of(at), *squares = cp_gradient_squares(tape, cp_model_energy(tape, m, x, CP_TRAINING), x);
        TEST_ASSERT_TRUE(cp_backward(tape, mean(squares), m->params));
        cp_optim_step(adam);
        cp_tape_reset(tape);
    }
    squares_at(m, at, CP_TRAINING, after);
    for (int n = 0; n < 4; n++) TEST_ASSERT_TRUE(after[n] < before[n] / 4);
    cp_optim_free(adam);
    cp_tensor_free(at);
    cp_model_free(m);
}

/* ---- sequences of several lengths ---- */

/* What lies beyond a sequence's length must change neither energies nor slopes nor any gradient, and gets none. */
static void nothing_beyond_a_sequences_length_has_an_effect(void) {
    enum { N = 3, T = 4, D = 2 };
    static const int lengths[N] = {4, 1, 2};
    cp_tensor       *x = noise(CP_SHAPE(N, T, D)), *other = noise(CP_SHAPE(N, T, D));
    for (int i = 0; i < N * T * D; i++)
        if (i % (T * D) >= lengths[i / (T * D)] * D) other->data[i] = (cp_real)(3 + i);
    x->lengths = other->lengths = lengths;
    for (int k = 0; k < 2; k++) {
        cp_rng          rng = cp_rng_named(1, "init");
        cp_model_config config = {.model = k ? "mlp" : "lstm",
                                  .head = "hybrid",
                                  .classes = 3,
                                  .lstm = {.in = D, .hidden = 5, .layers = 2, .bidirectional = true},
                                  .mlp = {.sizes = {T * D, 7}, .activation = CP_TANH}};
        cp_model       *m = cp_model_new(config, &rng);
        cp_real         grads[2][400];
        double          losses[2];
        for (int v = 0; v < 2; v++) {
            cp_tensor *in = cp_variable_of(tape, v ? other : x), *energies = cp_model_energy(tape, m, in, CP_EVALUATION), *dx;
            cp_tensor *loss = cp_add(tape, mean(energies), mean(cp_gradient_squares(tape, energies, in)));
            size_t     used = 0;
            TEST_ASSERT_TRUE(cp_grad(tape, loss, &in, 1, &dx) && cp_backward(tape, loss, m->params));
            for (int i = 0; i < N * T * D; i++) TEST_ASSERT_TRUE((dx->data[i] != 0) == (i % (T * D) < lengths[i / (T * D)] * D));
            losses[v] = (double)cp_item(loss);
            for (int p = 0; p < m->params->count; p++)
                for (size_t i = 0; i < m->params->at[p].grad->size; i++, used++)
                    if (used < 400) grads[v][used] = m->params->at[p].grad->data[i];
            cp_grads_clear(m->params);
            cp_tape_reset(tape);
        }
        TEST_ASSERT_TRUE(losses[0] == losses[1]);
        TEST_ASSERT_EQUAL_MEMORY(grads[0], grads[1], k ? 70 * sizeof(cp_real) : sizeof grads[0]);
        cp_model_free(m);
    }
    cp_tensor_free(x);
    cp_tensor_free(other);
}

static void a_length_of_zero_or_beyond_the_steps_is_refused(void) {
    cp_rng     rng = cp_rng_named(1, "init");
    cp_model  *m = cp_model_new((cp_model_config){.model = "mlp", .classes = 2, .mlp.sizes = {6, 4}}, &rng);
    cp_tensor *x = noise(CP_SHAPE(2, 3, 2));
    for (int k = 0; k < 2; k++) {
        x->lengths = k ? (int[]){3, 4} : (int[]){0, 3};
        TEST_ASSERT_NULL(cp_model_logits(tape, m, cp_constant_of(tape, x), CP_EVALUATION));
        expect_error(k ? "sequence 1 has length 4; 1 to 3 are possible for x (2, 3, 2)" : "sequence 0 has length 0");
        cp_tape_reset(tape);
    }
    cp_tensor_free(x);
    cp_model_free(m);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(each_row_has_the_squared_gradient_of_its_own_value);
    RUN_TEST(rows_of_a_single_value_or_of_none_and_no_rows_at_all_are_ok);
    RUN_TEST(a_value_that_does_not_depend_on_x_has_zero_slope);
    RUN_TEST(a_gradient_that_is_not_finite_is_reported_only_for_its_row);
    RUN_TEST(other_shapes_constants_and_unrecorded_values_are_refused);
    RUN_TEST(the_squares_agree_with_differences_of_the_energy);
    RUN_TEST(the_penaltys_gradient_is_right_for_every_parameter_of_both_heads);
    RUN_TEST(a_batch_of_one_is_right_too);
    RUN_TEST(the_square_of_a_row_does_not_depend_on_the_batch);
    RUN_TEST(a_frozen_tape_gives_the_same_numbers);
    RUN_TEST(the_gradients_are_the_same_bits_for_any_number_of_threads);
    RUN_TEST(all_kernels_agree_on_the_gradients);
    RUN_TEST(a_penalized_energy_becomes_flatter);
    RUN_TEST(nothing_beyond_a_sequences_length_has_an_effect);
    RUN_TEST(a_length_of_zero_or_beyond_the_steps_is_refused);
    return UNITY_END();
}
