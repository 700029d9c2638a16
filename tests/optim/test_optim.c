/* Tests of the optimizers, clipping, schedules and the moving average. The golden values were printed by
 * tests/golden/make_optim.py. The program is linked with -Wl,--wrap for the memory calls, to count them. */
#include "optim/optim.h"

#include "core/threads.h"
#include "ops/ops.h"
#include "optim/ema.h"
#include "optim/schedule.h"

#include "support/wrapped_memory.h"
#include "tests/support/errors.h"
#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE (CP_DOUBLE ? 1e-12 : 1e-5)

static const double sgd_golden[3][6] = {
    {0.59999999999999998, -1.1000000000000001, 1, -0.018750000000000003, -0.70625000000000004, 1.95},
    {0.67999999999999994, -0.96500000000000008, 0.39999999999999997, 0.011250000000000003, -0.66468749999999999,
     2.2650000000000001},
    {0.74399999999999999, -0.84350000000000003, 0.03999999999999998, -0.0067500000000000025, -0.62520312499999997, 2.4855},
};
static const double sgd_decay_golden[3][6] = {
    {0.59750000000000003, -1.09375, 0.98999999999999999, -0.018906250000000006, -0.70250000000000001, 1.9425000000000001},
    {0.67501250000000002, -0.95390624999999996, 0.38904999999999995, 0.011438281250000007, -0.65761250000000004,
     2.2500374999999999},
    {0.73663493749999998, -0.82874609374999997, 0.031484749999999985, -0.0069201601562500058, -0.61519381250000005, 2.4637760625},
};
static const double sgd_momentum_golden[3][6] = {
    {0.55000000000000004, -1.175, 1.5, 0.0062499999999999986, -0.72812500000000002, 1.7250000000000001},
    {0.64000000000000001, -1.0362500000000001, 0.64999999999999991, -0.021250000000000005, -0.68710937500000002,
     2.1187499999999999},
    {0.75700000000000001, -0.84706250000000005, -0.34500000000000008, -0.029000000000000005, -0.62989257812499999,
     2.6053125000000001},
};
static const double sgd_nesterov_golden[3][6] = {
    {0.59452499999999997, -1.1063125, 1.0481, -0.016279687500000008, -0.70772500000000005, 1.9260750000000002},
    {0.71129795124999995, -0.915155565625, 0.053016304999999861, -0.011781753046875001, -0.64947572375000007, 2.4119563537500004},
    {0.83434604983381244, -0.69308705129078119, -0.77362593688975023, -0.0015428556017929673, -0.57870156505931258,
     2.8704375115201879},
};
static const double adam_golden[3][6] = {
    {0.5099999999, -1.2400000000666667, 1.99000000001, 0.021250000199999997, -0.74000000022857138, 1.5099999999777778},
    {0.51999422413231911, -1.2300017995768906, 1.9800010648151913, 0.011524200484171273, -0.73000316161494894, 1.5199982005121304},
    {0.5299786705943399, -1.2200066099314131, 1.9700039073265105, 0.0024687997979761633, -0.72001163375626842, 1.5299933902023064},
};
static const double adam_decay_golden[3][6] = {
    {0.51999789495842541, -1.2300012306934958, 1.980000196076509, 0.011253974365343533, -0.73000390167772145, 1.5199995402404542},
    {0.53995198769946362, -1.2100145847271753, 1.9600074551393709, -0.0060646961621918516, -0.7100294990180408, 1.5399862913806555},
    {0.55983073087901447, -1.1900482014989238, 1.9400264654184232, -0.015915781033429471, -0.69009166230700736, 1.5599516498509991},
};
static const double adamw_golden[3][6] = {
    {0.5189999998, -1.2275000001333334, 1.97600000002, 0.011187500399999994, -0.7285000004571428, 1.5169999999555555},
    {0.53793805939719785, -1.2050534498754815, 1.9520532613641082, -0.0064696474181772934, -0.70705751574815512,
     1.5339597333271637},
    {0.55679708147127815, -1.1826660084176657, 1.9281632266076405, -0.017389674826713226, -0.68568254995121103, 1.5508750388055481},
};

static const double adamw_default_golden[3][6] = {
    {0.51989999980000001, -1.2297500001333335, 1.97960000002, 0.011243750399999995, -0.72985000045714288, 1.5196999999555556},
    {0.53977073284802501, -1.2095115975106221, 1.9592085191857314, -0.0064083908328002263, -0.70971753183803055,
     1.5393887312819574},
    {0.559593858249256, -1.1892899427761863, 1.9388285523558313, -0.017380117438720297, -0.68961200611057527, 1.5590611966107577},
};
static const double rmsprop_golden[3][6] = {
    {0.59999999000000093, -1.1500000066666662, 1.900000001, -0.068749980000003957, -0.65000002285713765, 1.5999999977777777},
    {0.66266082204250754, -1.0815851209971206, 1.8305659156307748, 0.022364698273674224, -0.58350994691941604, 1.6684148855606469},
    {0.7095667736789566, -1.0268515051692546, 1.7744680294863759, -0.0061848343049992725, -0.53137689821306777, 1.7231485027565285},
};
static const double rmsprop_momentum_golden[3][6] = {
    {0.53161225378863708, -1.2183833760471541, 1.9683782037600792, -0.00035291330990617608, -0.71839672356125672,
     1.5316204779182143},
    {0.57903518193615722, -1.1703882976262303, 1.9202792335644532, -0.025259078964772572, -0.67059685997421392, 1.579607932681983},
    {0.63429262037218725, -1.1133209340449381, 1.862904998413387, -0.02406599111070544, -0.61410372397838364, 1.6366412932199224},
};

static const cp_real start[6] = {0.5, -1.25, 2.0, 0.03125, -0.75, 1.5};
static const cp_real target[6] = {1.0, 0.25, -0.5, 0.0, 0.125, 3.0};
static const cp_real curve[6] = {1.0, 0.5, 2.0, 8.0, 0.25, 1.5};

static cp_params *params;
static cp_tensor *first, *second, *running;
static cp_tape   *tape;

/* The six values are in two parameters, with a buffer between them. */
void setUp(void) {
    calls_allowed = -1;
    errors_catch();
    tape = cp_tape_new();
    params = cp_params_new();
    first = cp_params_add(params, "net", "weight", CP_LAYOUT_PLAIN, CP_SHAPE(2, 2));
    running = cp_params_add_buffer(params, "net", "running_mean", CP_SHAPE(2));
    second = cp_params_add(params, "net", "bias", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    memcpy(first->data, start, 4 * sizeof *start);
    memcpy(second->data, start + 4, 2 * sizeof *start);
}

void tearDown(void) {
    errors_release();
    cp_params_free(params);
    cp_tape_free(tape);
    cp_threads_set(0);
}

static cp_tensor *quadratic(cp_tensor *p, int offset) {
    cp_tensor *away = cp_sub(tape, p, cp_constant(tape, target + offset, p->shape));
    return cp_sum(tape, cp_mul(tape, cp_constant(tape, curve + offset, p->shape), cp_square(tape, away)), CP_ALL, false);
}

static void backward(void) {
    cp_tape_reset(tape);
    TEST_ASSERT_TRUE(cp_backward(tape, cp_add(tape, quadratic(first, 0), quadratic(second, 4)), params));
}

static void expect_values(const double expected[6]) {
    for (int i = 0; i < 6; i++) {
        double value = (double)(i < 4 ? first->data[i] : second->data[i - 4]);
        TEST_ASSERT_DOUBLE_WITHIN(TOLERANCE * fmax(fabs(expected[i]), 0.1), expected[i], value);
    }
}

static void expect_golden(cp_optim *optim, const double golden[3][6]) {
    TEST_ASSERT_NOT_NULL(optim);
    running->data[0] = 7;
    for (int step = 0; step < 3; step++) {
        backward();
        TEST_ASSERT_TRUE(cp_optim_step(optim));
        expect_values(golden[step]);
        TEST_ASSERT_NULL(params->at[0].grad);
        TEST_ASSERT_NULL(params->at[2].grad);
    }
    TEST_ASSERT_EQUAL_INT64(3, cp_optim_steps(optim));
    TEST_ASSERT_EQUAL_DOUBLE(7, (double)running->data[0]);
    cp_optim_free(optim);
}

/* ---- against PyTorch ---- */

static void three_steps_of_plain_sgd_equal_pytorchs(void) {
    expect_golden(cp_sgd_new(params, (cp_sgd_config){.rate = 0.1}), sgd_golden);
}

static void three_steps_of_sgd_with_weight_decay_equal_pytorchs(void) {
    expect_golden(cp_sgd_new(params, (cp_sgd_config){.rate = 0.1, .weight_decay = 0.05}), sgd_decay_golden);
}

static void three_steps_of_sgd_with_momentum_equal_pytorchs(void) {
    expect_golden(cp_sgd_new(params, (cp_sgd_config){.rate = 0.05, .momentum = 0.9}), sgd_momentum_golden);
}

static void three_steps_of_nesterov_with_weight_decay_equal_pytorchs(void) {
    cp_sgd_config config = {.rate = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
    expect_golden(cp_sgd_new(params, config), sgd_nesterov_golden);
}

static void three_steps_of_adam_with_defaults_equal_pytorchs(void) {
    expect_golden(cp_adam_new(params, (cp_adam_config){.rate = 0.01}), adam_golden);
}

static void three_steps_of_adam_with_everything_set_equal_pytorchs(void) {
    cp_adam_config config = {.rate = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4, .weight_decay = 0.1};
    expect_golden(cp_adam_new(params, config), adam_decay_golden);
}

static void three_steps_of_adamw_equal_pytorchs(void) {
    cp_adam_config config = {.rate = 0.02, .weight_decay = 0.1, .decoupled = true};
    expect_golden(cp_adam_new(params, config), adamw_golden);
}

static void three_steps_of_adamw_by_name_equal_pytorchs(void) {
    expect_golden(cp_adamw_new(params, (cp_adam_config){.rate = 0.02}), adamw_default_golden);
}

static void three_steps_of_adamw_by_name_with_a_weight_decay_equal_pytorchs(void) {
    expect_golden(cp_adamw_new(params, (cp_adam_config){.rate = 0.02, .weight_decay = 0.1}), adamw_golden);
}

static void three_steps_of_rmsprop_equal_pytorchs(void) {
    expect_golden(cp_rmsprop_new(params, (cp_rmsprop_config){.rate = 0.01}), rmsprop_golden);
}

static void three_steps_of_rmsprop_with_everything_set_equal_pytorchs(void) {
    cp_rmsprop_config config = {.rate = 0.01, .alpha = 0.9, .eps = 1e-4, .momentum = 0.8, .weight_decay = 0.1};
    expect_golden(cp_rmsprop_new(params, config), rmsprop_momentum_golden);
}

static bool is_bias(const cp_param *param, void *context) {
    (void)context;
    return strstr(param->name, "bias");
}

/* One step of SGD at rate 0.1 and weight decay 0.5 with gradient g, from p: p - 0.1 factor (g + decay p). */
static void groups_have_their_own_rate_and_decay_and_may_be_frozen(void) {
    cp_optim      *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 0.1, .weight_decay = 0.5});
    const cp_real  slope = 2 * curve[0] * (start[0] - target[0]), bias_slope = 2 * curve[4] * (start[4] - target[4]);
    cp_optim_group bias = {.selects = is_bias, .rate = 0.5, .weight_decay = -1}, all = {0};
    TEST_ASSERT_EQUAL_INT(1, cp_optim_group_set(optim, bias));
    backward();
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, (double)(start[0] - (cp_real)0.1 * (slope + (cp_real)0.5 * start[0])), (double)first->data[0]);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, (double)(start[4] - (cp_real)0.05 * bias_slope), (double)second->data[0]);

    TEST_ASSERT_EQUAL_INT(2, cp_optim_group_set(optim, (cp_optim_group){.prefix = "net.", .frozen = true}));
    TEST_ASSERT_FALSE(first->tracked || second->tracked);
    TEST_ASSERT_EQUAL_INT(1, cp_optim_group_set(optim, bias)); /* trained again */
    cp_real before = first->data[0];
    backward();
    TEST_ASSERT_NULL(params->at[0].grad);
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    TEST_ASSERT_TRUE(first->data[0] == before);
    TEST_ASSERT_EQUAL_INT(2, cp_optim_group_set(optim, all));
    memcpy(first->data, start, 4 * sizeof *start);
    memcpy(second->data, start + 4, 2 * sizeof *start);
    backward();
    TEST_ASSERT_TRUE(cp_optim_step(optim)); /* like no group */
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, (double)(start[4] - (cp_real)0.1 * (bias_slope + (cp_real)0.5 * start[4])),
                              (double)second->data[0]);
    cp_optim_free(optim);
}

static void a_group_that_selects_nothing_is_misuse(void) {
    cp_optim *optim = cp_adam_new(params, (cp_adam_config){.rate = 1});
    TEST_ASSERT_EQUAL_INT(0, cp_optim_group_set(optim, (cp_optim_group){.prefix = "stage9.", .frozen = true}));
    expect_error("optim_group_set: no parameter is selected by the prefix \"stage9.\"");
    TEST_ASSERT_EQUAL_INT(0, cp_optim_group_set(optim, (cp_optim_group){.rate = -1}));
    expect_error("the rate's factor is -1");
    TEST_ASSERT_EQUAL_INT(0, cp_optim_group_set(optim, (cp_optim_group){.weight_decay = NAN}));
    expect_error("weight_decay");
    TEST_ASSERT_EQUAL_INT(0, cp_optim_group_set(NULL, (cp_optim_group){0}));
    expect_error("the optimizer is NULL");
    TEST_ASSERT_NULL(cp_rmsprop_new(params, (cp_rmsprop_config){.rate = 1, .momentum = 1}));
    expect_error("rmsprop_new: momentum 1, alpha 0.99, eps 1e-08; the first two must be in [0, 1), eps above 0");
    TEST_ASSERT_NULL(cp_adamw_new(params, (cp_adam_config){.rate = 0}));
    expect_error("adamw_new: the rate is 0");
    cp_optim_free(optim);
}

/* ---- stepping ---- */

static void a_step_without_a_gradient_is_misuse_and_changes_nothing(void) {
    cp_optim *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    TEST_ASSERT_FALSE(cp_optim_step(optim));
    TEST_ASSERT_EQUAL_INT(1, errors);
    TEST_ASSERT_NOT_NULL(strstr(last_error, "call cp_backward first"));
    backward();
    params->at[2].grad = NULL; /* the first parameter has a gradient, which must not be used */
    TEST_ASSERT_FALSE(cp_optim_step(optim));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "net.bias"));
    for (int i = 0; i < 4; i++) TEST_ASSERT_TRUE(first->data[i] == start[i]);
    TEST_ASSERT_EQUAL_INT64(0, cp_optim_steps(optim));
    cp_optim_free(optim);
}

static void a_gradient_is_used_only_once(void) {
    cp_optim *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 0.1});
    backward();
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    TEST_ASSERT_FALSE(cp_optim_step(optim));
    expect_values(sgd_golden[0]);
    cp_optim_free(optim);
}

static void a_set_that_grew_is_refused(void) {
    cp_optim *optim = cp_adam_new(params, (cp_adam_config){.rate = 0.1});
    cp_params_add(params, "late", "weight", CP_LAYOUT_PLAIN, CP_SHAPE(1));
    TEST_ASSERT_FALSE(cp_optim_step(optim));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "4 entries"));
    cp_optim_free(optim);
}

static void values_out_of_range_are_misuse(void) {
    TEST_ASSERT_NULL(cp_sgd_new(params, (cp_sgd_config){.rate = 0}));
    TEST_ASSERT_NULL(cp_sgd_new(params, (cp_sgd_config){.rate = NAN}));
    TEST_ASSERT_NULL(cp_sgd_new(params, (cp_sgd_config){.rate = 1, .momentum = 1}));
    TEST_ASSERT_NULL(cp_sgd_new(params, (cp_sgd_config){.rate = 1, .nesterov = true}));
    TEST_ASSERT_NULL(cp_sgd_new(params, (cp_sgd_config){.rate = 1, .weight_decay = -1}));
    TEST_ASSERT_NULL(cp_adam_new(params, (cp_adam_config){.rate = 1, .beta1 = 1}));
    TEST_ASSERT_NULL(cp_adam_new(params, (cp_adam_config){.rate = 1, .eps = -1}));
    TEST_ASSERT_NULL(cp_adam_new(NULL, (cp_adam_config){.rate = 1}));
    TEST_ASSERT_EQUAL_INT(8, errors);
    cp_optim *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    TEST_ASSERT_FALSE(cp_optim_rate_set(optim, -1));
    TEST_ASSERT_FALSE(cp_optim_rate_set(optim, (double)INFINITY));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_optim_rate(optim));
    cp_optim_free(optim);
}

static void a_rate_of_zero_moves_nothing(void) {
    cp_optim *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 0.1});
    TEST_ASSERT_TRUE(cp_optim_rate_set(optim, 0));
    backward();
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    for (int i = 0; i < 4; i++) TEST_ASSERT_TRUE(first->data[i] == start[i]);
    TEST_ASSERT_TRUE(cp_optim_rate_set(optim, 0.1));
    backward();
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    expect_values(sgd_golden[0]);
    cp_optim_free(optim);
}

static void a_nonfinite_gradient_is_skipped_on_request(void) {
    cp_optim *optim = cp_adam_new(params, (cp_adam_config){.rate = 0.01, .skip_nonfinite = true});
    for (int bad = 0; bad < 2; bad++) {
        backward();
        params->at[2].grad->data[1] = bad ? (cp_real)NAN : (cp_real)-INFINITY;
        TEST_ASSERT_FALSE(cp_grads_finite(params));
        TEST_ASSERT_FALSE(cp_optim_step(optim));
        TEST_ASSERT_NULL(params->at[0].grad);
    }
    TEST_ASSERT_EQUAL_INT64(2, cp_optim_skipped(optim));
    TEST_ASSERT_EQUAL_INT64(0, cp_optim_steps(optim));
    backward();
    TEST_ASSERT_TRUE(cp_grads_finite(params));
    TEST_ASSERT_TRUE(cp_optim_step(optim));
    expect_values(adam_golden[0]); /* as if the skipped steps had not happened */
    TEST_ASSERT_EQUAL_INT(0, errors);
    cp_optim_free(optim);
}

static void a_step_calls_malloc_zero_times(void) {
    cp_optim *optim = cp_adam_new(params, (cp_adam_config){.rate = 0.01, .skip_nonfinite = true});
    cp_ema   *ema = cp_ema_new(params, 0.9);
    backward();
    long before = memory_calls;
    cp_grads_clip(params, 0.5);
    cp_optim_step(optim);
    cp_ema_update(ema);
    TEST_ASSERT_EQUAL_INT(0, memory_calls - before);
    cp_ema_free(ema);
    cp_optim_free(optim);
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void) {
    int refusals = 0;
    for (int allowed = 0; allowed < 30; allowed++) {
        errors_forget();
        calls_allowed = allowed;
        cp_optim *optim = cp_adam_new(params, (cp_adam_config){.rate = 0.01});
        calls_allowed = allowed;
        cp_ema *ema = cp_ema_new(params, 0.5);
        calls_allowed = -1;
        TEST_ASSERT_EQUAL_INT(!optim + !ema, errors);
        refusals += errors;
        cp_optim_free(optim);
        cp_ema_free(ema);
    }
    TEST_ASSERT_GREATER_THAN(10, refusals);
}

/* ---- large tensors ---- */

enum { LARGE = 100003 };

/* Three steps with made-up gradients on a tensor of many chunks; the result and the last norm. */
static double large_run(int threads, cp_real *result) {
    cp_params *set = cp_params_new();
    cp_tensor *weight = cp_params_add(set, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(LARGE));
    cp_tensor *grad = cp_tensor_new(CP_SHAPE(LARGE));
    cp_rng     rng = cp_rng_named(1, "large");
    double     norm = 0;
    cp_threads_set(threads);
    cp_rng_fill_normal(&rng, weight->data, LARGE, 0, 1);
    cp_optim *optim = cp_adam_new(set, (cp_adam_config){.rate = 0.01, .weight_decay = 0.1, .decoupled = true});
    cp_ema   *ema = cp_ema_new(set, 0.9);
    for (int step = 0; step < 3; step++) {
        cp_rng_fill_normal(&rng, grad->data, LARGE, 0, 1);
        set->at[0].grad = grad;
        norm = cp_grads_clip(set, 2);
        TEST_ASSERT_TRUE(cp_grads_finite(set));
        TEST_ASSERT_TRUE(cp_optim_step(optim));
        TEST_ASSERT_TRUE(cp_ema_update(ema));
    }
    cp_ema_swap(ema);
    memcpy(result, weight->data, LARGE * sizeof *result);
    cp_ema_free(ema);
    cp_optim_free(optim);
    cp_tensor_free(grad);
    cp_params_free(set);
    return norm;
}

static void the_number_of_threads_does_not_change_any_bit(void) {
    static cp_real one[LARGE], two[LARGE];
    double         norm_one = large_run(1, one), norm_two = large_run(2, two);
    TEST_ASSERT_TRUE(norm_one == norm_two);
    TEST_ASSERT_EQUAL_MEMORY(one, two, sizeof one);
    TEST_ASSERT_DOUBLE_WITHIN(3, sqrt(LARGE), norm_one); /* sd of a chi with many degrees: 0.71 */
}

static void a_nonfinite_value_is_found_anywhere_in_a_large_gradient(void) {
    cp_params *set = cp_params_new();
    cp_params_add(set, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(LARGE));
    cp_tensor *grad = cp_tensor_new(CP_SHAPE(LARGE));
    set->at[0].grad = grad;
    const int places[] = {0, 7, 8, 16383, 16384, LARGE - 4, LARGE - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        grad->data[places[i]] = i % 2 ? (cp_real)NAN : (cp_real)INFINITY;
        TEST_ASSERT_FALSE(cp_grads_finite(set));
        TEST_ASSERT_FALSE(isfinite(cp_grads_clip(set, 1)));
        grad->data[places[i]] = CP_REAL_MAX;
        TEST_ASSERT_TRUE(cp_grads_finite(set));
        grad->data[places[i]] = 0;
    }
    cp_tensor_free(grad);
    cp_params_free(set);
}

/* ---- clipping ---- */

static double grads_norm(void) {
    double squares = 0;
    for (int e = 0; e < params->count; e++)
        for (size_t i = 0; params->at[e].grad && i < params->at[e].grad->size; i++)
            squares += (double)params->at[e].grad->data[i] * (double)params->at[e].grad->data[i];
    return sqrt(squares);
}

static void clipping_scales_all_gradients_together_to_the_norm(void) {
    backward();
    double  before = grads_norm();
    cp_real ratio = params->at[0].grad->data[0] / params->at[2].grad->data[1];
    TEST_ASSERT_DOUBLE_WITHIN(TOLERANCE * before, before, cp_grads_clip(params, 0.5));
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 0.5, grads_norm());
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, (double)ratio, (double)(params->at[0].grad->data[0] / params->at[2].grad->data[1]));
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 0.5, cp_grads_clip(params, 0));
    TEST_ASSERT_EQUAL_DOUBLE(0, grads_norm());
    TEST_ASSERT_EQUAL_DOUBLE(0, cp_grads_clip(params, 1));
}

static void gradients_within_the_norm_are_unchanged_bit_for_bit(void) {
    backward();
    cp_real before[4];
    memcpy(before, params->at[0].grad->data, sizeof before);
    double norm = cp_grads_clip(params, (double)INFINITY);
    TEST_ASSERT_TRUE(norm == cp_grads_clip(params, 1.001 * norm));
    TEST_ASSERT_EQUAL_MEMORY(before, params->at[0].grad->data, sizeof before);
}

static void a_nonfinite_norm_is_returned_and_nothing_clipped(void) {
    backward();
    cp_real other = params->at[0].grad->data[1];
    params->at[0].grad->data[0] = (cp_real)INFINITY;
    TEST_ASSERT_TRUE(isinf(cp_grads_clip(params, 1)));
    params->at[0].grad->data[0] = (cp_real)NAN;
    TEST_ASSERT_TRUE(isnan(cp_grads_clip(params, 1)));
    TEST_ASSERT_TRUE(params->at[0].grad->data[1] == other);
    TEST_ASSERT_TRUE(isnan(cp_grads_clip(params, -1)));
    TEST_ASSERT_EQUAL_INT(1, errors);
}

static void norms_at_the_limits_of_the_range_are_exact(void) {
    backward();
    for (int i = 0; i < 4; i++) params->at[0].grad->data[i] = CP_REAL_MAX / 4;
    cp_tensor_fill(params->at[2].grad, 0);
    TEST_ASSERT_DOUBLE_WITHIN((double)CP_REAL_MAX * 1e-6, (double)CP_REAL_MAX / 2, cp_grads_clip(params, (double)INFINITY));
    const double tiny[] = {CP_DOUBLE ? 1e-300 : 1e-40, CP_DOUBLE ? 1e-310 : 1e-44}; /* their squares are 0 in double */
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 4; i++) params->at[0].grad->data[i] = (cp_real)tiny[k];
        double each = (double)params->at[0].grad->data[0];
        TEST_ASSERT_TRUE(fabs(cp_grads_clip(params, (double)INFINITY) / each - 2) < 1e-6);
    }
}

/* ---- state ---- */

static void every_part_of_the_state_has_a_name(void) {
    cp_optim   *adam = cp_adam_new(params, (cp_adam_config){.rate = 0.25});
    cp_optim   *sgd = cp_sgd_new(params, (cp_sgd_config){.rate = 1, .momentum = 0.5});
    cp_optim   *plain = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    cp_state    state;
    const char *expected[] = {"net.weight.m", "net.weight.v", "net.bias.m", "net.bias.v", "steps", "skipped", "rate"};
    for (int i = 0; i < 7; i++) {
        TEST_ASSERT_TRUE(cp_optim_state(adam, i, &state));
        TEST_ASSERT_EQUAL_STRING(expected[i], state.name);
        TEST_ASSERT_EQUAL_INT(i == 6 ? CP_F64 : i < 4 ? CP_REAL_DTYPE : CP_I64, state.dtype);
    }
    for (int i = 7; i < 16; i++) {
        TEST_ASSERT_TRUE(cp_optim_state(adam, i, &state));
        TEST_ASSERT_TRUE(state.fixed);
    }
    TEST_ASSERT_EQUAL_STRING("skip_nonfinite", state.name);
    TEST_ASSERT_FALSE(cp_optim_state(adam, 16, &state));
    TEST_ASSERT_TRUE(cp_optim_state(adam, 1, &state));
    TEST_ASSERT_EQUAL_INT(2, state.rank);
    TEST_ASSERT_EQUAL_INT64(2, state.dims[1]);
    TEST_ASSERT_TRUE(state.bytes == 4 * sizeof(cp_real));
    TEST_ASSERT_TRUE(cp_optim_state(sgd, 1, &state));
    TEST_ASSERT_EQUAL_STRING("net.bias.momentum", state.name);
    TEST_ASSERT_TRUE(cp_optim_state(plain, 0, &state));
    TEST_ASSERT_EQUAL_STRING("steps", state.name);
    cp_optim_free(plain);
    cp_optim_free(sgd);
    cp_optim_free(adam);
}

static void restored_state_continues_bit_for_bit(void) {
    cp_adam_config config = {.rate = 0.01};
    cp_optim      *adam = cp_adam_new(params, config);
    for (int step = 0; step < 2; step++) {
        backward();
        cp_optim_step(adam);
    }
    cp_optim_rate_set(adam, 0.02);
    cp_real  weight[4], bias[2], expected[4];
    cp_state from, to;
    memcpy(weight, first->data, sizeof weight);
    memcpy(bias, second->data, sizeof bias);
    config.rate = 0.5; /* the saved rate must override it */
    cp_optim *again = cp_adam_new(params, config);
    for (int i = 0; cp_optim_state(adam, i, &from); i++) {
        TEST_ASSERT_TRUE(cp_optim_state(again, i, &to));
        TEST_ASSERT_EQUAL_STRING(from.name, to.name);
        memcpy(to.data, from.data, from.bytes);
    }
    backward();
    cp_optim_step(adam);
    memcpy(expected, first->data, sizeof expected);
    memcpy(first->data, weight, sizeof weight);
    memcpy(second->data, bias, sizeof bias);
    backward();
    cp_optim_step(again);
    TEST_ASSERT_EQUAL_MEMORY(expected, first->data, sizeof expected);
    cp_optim_free(again);
    cp_optim_free(adam);
}

/* ---- schedules ---- */

static void a_constant_schedule_is_constant(void) {
    cp_schedule s = {.rate = 0.3};
    TEST_ASSERT_EQUAL_DOUBLE(0.3, cp_schedule_rate(&s, 0));
    TEST_ASSERT_EQUAL_DOUBLE(0.3, cp_schedule_rate(&s, INT64_MAX));
}

static void warm_up_rises_linearly_to_the_rate_and_stays(void) {
    cp_schedule s = {.rate = 0.4, .warmup = 4};
    TEST_ASSERT_EQUAL_DOUBLE(0.1, cp_schedule_rate(&s, -5));
    TEST_ASSERT_EQUAL_DOUBLE(0.1, cp_schedule_rate(&s, 0));
    TEST_ASSERT_EQUAL_DOUBLE(0.2, cp_schedule_rate(&s, 1));
    TEST_ASSERT_EQUAL_DOUBLE(0.4, cp_schedule_rate(&s, 3));
    TEST_ASSERT_EQUAL_DOUBLE(0.4, cp_schedule_rate(&s, 4));
    TEST_ASSERT_EQUAL_DOUBLE(0.4, cp_schedule_rate(&s, 1000));
    s.warmup = 1;
    TEST_ASSERT_EQUAL_DOUBLE(0.4, cp_schedule_rate(&s, 0));
}

static void a_step_schedule_drops_at_its_steps(void) {
    cp_schedule s = {.kind = CP_SCHEDULE_STEP, .rate = 1, .every = 10, .factor = 0.5};
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 9));
    TEST_ASSERT_EQUAL_DOUBLE(0.5, cp_schedule_rate(&s, 10));
    TEST_ASSERT_EQUAL_DOUBLE(0.5, cp_schedule_rate(&s, 19));
    TEST_ASSERT_EQUAL_DOUBLE(0.25, cp_schedule_rate(&s, 20));
    s = (cp_schedule){.kind = CP_SCHEDULE_STEP, .rate = 1, .warmup = 2, .drops = {160, 180}};
    TEST_ASSERT_EQUAL_DOUBLE(0.5, cp_schedule_rate(&s, 0));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 2));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 159));
    TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0.1, cp_schedule_rate(&s, 160));
    TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0.1, cp_schedule_rate(&s, 179));
    TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0.01, cp_schedule_rate(&s, 180));
}

static void a_cosine_schedule_falls_from_the_rate_to_the_final_rate(void) {
    cp_schedule s = {.kind = CP_SCHEDULE_COSINE, .rate = 1, .warmup = 10, .total = 110, .final_rate = 0.2};
    TEST_ASSERT_EQUAL_DOUBLE(0.1, cp_schedule_rate(&s, 0));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 9));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 10));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.6 + 0.4 * sqrt(0.5), cp_schedule_rate(&s, 35));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.6, cp_schedule_rate(&s, 60));
    double last = cp_schedule_rate(&s, 109);
    TEST_ASSERT_TRUE(last > 0.2 && last < 0.201);
    TEST_ASSERT_EQUAL_DOUBLE(0.2, cp_schedule_rate(&s, 110));
    TEST_ASSERT_EQUAL_DOUBLE(0.2, cp_schedule_rate(&s, INT64_MAX));
}

static void a_cosine_schedule_may_hold_the_rate_before_it_falls(void) {
    cp_schedule s = {.kind = CP_SCHEDULE_COSINE, .rate = 1, .warmup = 4, .hold = 60, .total = 100, .final_rate = 0.2};
    TEST_ASSERT_EQUAL_DOUBLE(0.25, cp_schedule_rate(&s, 0));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 4));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 59));
    TEST_ASSERT_EQUAL_DOUBLE(1, cp_schedule_rate(&s, 60));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.6, cp_schedule_rate(&s, 80));
    TEST_ASSERT_EQUAL_DOUBLE(0.2, cp_schedule_rate(&s, 100));
}

/* ---- the moving average ---- */

static void the_average_follows_the_formula_and_copies_buffers(void) {
    cp_ema *ema = cp_ema_new(params, 0.75);
    first->data[0] = 4.5;
    running->data[1] = 9;
    TEST_ASSERT_TRUE(cp_ema_update(ema)); /* 0.75 * 0.5 + 0.25 * 4.5 = 1.5 */
    first->data[0] = -2.5;
    TEST_ASSERT_TRUE(cp_ema_update(ema)); /* 0.75 * 1.5 - 0.25 * 2.5 = 0.5 */
    running->data[1] = 11;
    TEST_ASSERT_TRUE(cp_ema_swap(ema));
    TEST_ASSERT_TRUE(cp_ema_swapped(ema));
    TEST_ASSERT_EQUAL_DOUBLE(0.5, (double)first->data[0]);
    TEST_ASSERT_EQUAL_DOUBLE(9, (double)running->data[1]);
    TEST_ASSERT_EQUAL_DOUBLE(1.5, (double)second->data[1]);
    TEST_ASSERT_TRUE(cp_ema_swap(ema));
    TEST_ASSERT_EQUAL_DOUBLE(-2.5, (double)first->data[0]);
    TEST_ASSERT_EQUAL_DOUBLE(11, (double)running->data[1]);
    cp_ema_free(ema);
}

static void a_restarted_average_equals_the_weights_of_the_model(void) {
    cp_ema *ema = cp_ema_new(params, 0.75);
    first->data[0] = 4.5;
    cp_ema_update(ema); /* 1.5 */
    cp_ema_swap(ema);
    TEST_ASSERT_TRUE(cp_ema_restart(ema));
    TEST_ASSERT_FALSE(cp_ema_swapped(ema));
    TEST_ASSERT_EQUAL_DOUBLE(1.5, (double)first->data[0]);
    cp_ema_swap(ema);
    TEST_ASSERT_EQUAL_DOUBLE(1.5, (double)first->data[0]);
    cp_ema_free(ema);
}

static void a_restarted_optimizer_repeats_its_first_step(void) {
    cp_optim *adam = cp_adam_new(params, (cp_adam_config){.rate = 0.1});
    cp_tape  *tape = cp_tape_new();
    cp_real   moved[2];
    for (int again = 0; again < 2; again++) {
        for (int step = 0; step < 2; step++) {
            first->data[0] = 0.5;
            cp_backward(tape, cp_sum(tape, cp_square(tape, first), CP_ALL, false), params);
            cp_optim_step(adam);
            cp_tape_reset(tape);
            if (step == 0) moved[again] = first->data[0];
        }
        TEST_ASSERT_TRUE(cp_optim_restart(adam));
        TEST_ASSERT_EQUAL_INT(0, (int)cp_optim_steps(adam));
    }
    TEST_ASSERT_EQUAL_DOUBLE((double)moved[0], (double)moved[1]);
    cp_tape_free(tape);
    cp_optim_free(adam);
}

static void an_update_while_swapped_is_misuse(void) {
    cp_ema *ema = cp_ema_new(params, 0.75);
    cp_ema_swap(ema);
    TEST_ASSERT_FALSE(cp_ema_update(ema));
    TEST_ASSERT_NOT_NULL(strstr(last_error, "swap it back"));
    TEST_ASSERT_NULL(cp_ema_new(params, 1));
    TEST_ASSERT_EQUAL_INT(2, errors);
    cp_ema_free(ema);
}

static void the_averages_state_is_one_tensor_per_entry_and_a_count(void) {
    cp_ema  *ema = cp_ema_new(params, 0.75);
    cp_state state;
    cp_ema_update(ema);
    TEST_ASSERT_TRUE(cp_ema_state(ema, 1, &state));
    TEST_ASSERT_EQUAL_STRING("net.running_mean.ema", state.name);
    TEST_ASSERT_TRUE(cp_ema_state(ema, 3, &state));
    TEST_ASSERT_EQUAL_STRING("updates", state.name);
    TEST_ASSERT_EQUAL_INT64(1, *(int64_t *)state.data);
    TEST_ASSERT_TRUE(cp_ema_state(ema, 4, &state));
    TEST_ASSERT_TRUE(state.fixed && *(double *)state.data == 0.75);
    TEST_ASSERT_FALSE(cp_ema_state(ema, 5, &state));
    cp_ema_free(ema);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(three_steps_of_plain_sgd_equal_pytorchs);
    RUN_TEST(three_steps_of_sgd_with_weight_decay_equal_pytorchs);
    RUN_TEST(three_steps_of_sgd_with_momentum_equal_pytorchs);
    RUN_TEST(three_steps_of_nesterov_with_weight_decay_equal_pytorchs);
    RUN_TEST(three_steps_of_adam_with_defaults_equal_pytorchs);
    RUN_TEST(three_steps_of_adam_with_everything_set_equal_pytorchs);
    RUN_TEST(three_steps_of_adamw_equal_pytorchs);
    RUN_TEST(three_steps_of_adamw_by_name_equal_pytorchs);
    RUN_TEST(three_steps_of_adamw_by_name_with_a_weight_decay_equal_pytorchs);
    RUN_TEST(three_steps_of_rmsprop_equal_pytorchs);
    RUN_TEST(three_steps_of_rmsprop_with_everything_set_equal_pytorchs);
    RUN_TEST(groups_have_their_own_rate_and_decay_and_may_be_frozen);
    RUN_TEST(a_group_that_selects_nothing_is_misuse);
    RUN_TEST(a_step_without_a_gradient_is_misuse_and_changes_nothing);
    RUN_TEST(a_gradient_is_used_only_once);
    RUN_TEST(a_set_that_grew_is_refused);
    RUN_TEST(values_out_of_range_are_misuse);
    RUN_TEST(a_rate_of_zero_moves_nothing);
    RUN_TEST(a_nonfinite_gradient_is_skipped_on_request);
    RUN_TEST(a_step_calls_malloc_zero_times);
    RUN_TEST(running_out_of_memory_is_reported_and_leaks_nothing);
    RUN_TEST(the_number_of_threads_does_not_change_any_bit);
    RUN_TEST(a_nonfinite_value_is_found_anywhere_in_a_large_gradient);
    RUN_TEST(clipping_scales_all_gradients_together_to_the_norm);
    RUN_TEST(gradients_within_the_norm_are_unchanged_bit_for_bit);
    RUN_TEST(a_nonfinite_norm_is_returned_and_nothing_clipped);
    RUN_TEST(norms_at_the_limits_of_the_range_are_exact);
    RUN_TEST(every_part_of_the_state_has_a_name);
    RUN_TEST(restored_state_continues_bit_for_bit);
    RUN_TEST(a_constant_schedule_is_constant);
    RUN_TEST(warm_up_rises_linearly_to_the_rate_and_stays);
    RUN_TEST(a_step_schedule_drops_at_its_steps);
    RUN_TEST(a_cosine_schedule_falls_from_the_rate_to_the_final_rate);
    RUN_TEST(a_cosine_schedule_may_hold_the_rate_before_it_falls);
    RUN_TEST(the_average_follows_the_formula_and_copies_buffers);
    RUN_TEST(a_restarted_average_equals_the_weights_of_the_model);
    RUN_TEST(a_restarted_optimizer_repeats_its_first_step);
    RUN_TEST(an_update_while_swapped_is_misuse);
    RUN_TEST(the_averages_state_is_one_tensor_per_entry_and_a_count);
    return UNITY_END();
}
