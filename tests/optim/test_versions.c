/* Values that change between an op and its gradient: reported where a rule reads them, and only there. */
#include "couplet.h"

#include "layers/params_file.h"
#include "tests/support/setup_layers.h"

#include <string.h>

static cp_tensor *named(const char *name, const cp_real *values) {
    cp_tensor *t = cp_params_add(params, "", name, CP_LAYOUT_PLAIN, CP_SHAPE(2));
    memcpy(t->data, values, 2 * sizeof *values);
    return t;
}

/* cp_grad of the loss at x fails with this message, written as PLACE where it has this file and a line; then lets errors be reported again. */
static void expect_stale(cp_tensor *loss, cp_tensor *x, const char *message) {
    cp_tensor *dx = x;
    TEST_ASSERT_FALSE(cp_grad(tape, loss, &x, 1, &dx));
    TEST_ASSERT_NULL(dx);
    expect_error_in("grad", message, __FILE__);
    errors_forgive(tape);
}

static void an_optimizer_step_between_loss_and_gradient_is_reported_with_both_places(void) {
    cp_tensor *w = named("w", (cp_real[]){3, 5}), *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *dx;
    cp_optim  *sgd = cp_sgd_new(params, (cp_sgd_config){.rate = 1});
    cp_tensor *y = cp_mul(tape, x, w), *loss = cp_sum(tape, y, CP_ALL, false);
    int        recorded = __LINE__ - 1;
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &dx));
    TEST_ASSERT_TRUE(dx->data[0] == 3 && dx->data[1] == 5);
    TEST_ASSERT_TRUE(cp_backward(tape, loss, params));
    TEST_ASSERT_TRUE(cp_optim_step(sgd));
    int  changed = __LINE__ - 1;
    char message[600];
    snprintf(message, sizeof message,
             "the rule of mul (%s:%d) reads w, of shape (2), which cp_optim_step (%s:%d) has changed since: take gradients before "
             "changing the values",
             __FILE__, recorded, __FILE__, changed);
    expect_stale(loss, x, message);
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &w, 1, &dx)); /* this rule reads x, which has not changed */
    TEST_ASSERT_TRUE(dx->data[0] == 1 && dx->data[1] == 2);
    cp_optim_free(sgd);
}

static void every_writer_of_the_library_is_named(void) {
    cp_tensor *w = named("w", (cp_real[]){3, 5});
    cp_ema    *ema = cp_ema_new(params, 0.5);
    cp_params *other = cp_params_new();
    cp_params_add(other, "", "w", CP_LAYOUT_PLAIN, CP_SHAPE(2));
    static const char *const names[] = {"cp_ema_swap (",      "cp_params_copy (",   "cp_params_load has",     "cp_tensor_fill has",
                                        "an initializer has", "an initializer has", "cp_tensor_multiply has", "mine ("};
    for (int i = 0; i < 8; i++) {
        cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
        cp_tensor *loss = cp_sum(tape, cp_mul(tape, x, w), CP_ALL, false);
        switch (i) {
        case 0: cp_ema_swap(ema); break;
        case 1: cp_params_copy(params, other); break;
        case 2: cp_params_commit(params, (cp_real[]){7, 8}); break;
        case 3: cp_tensor_fill(w, 1); break;
        case 4: cp_init_weight(w, CP_INIT_KAIMING_NORMAL, 2, 2, 0, &rng); break;
        case 5: cp_init_bias(w, CP_INIT_DEFAULT, 2, &rng); break;
        case 6: cp_tensor_multiply(w, 2); break;
        case 7: cp_tensor_changed(w, "mine"); break;
        }
        expect_stale(loss, x, names[i]);
        cp_tape_reset(tape);
    }
    cp_tensor_changed(NULL, "mine"); /* ignored */
    cp_ema_free(ema);
    cp_params_free(other);
}

static void rules_that_do_not_read_the_value_raise_no_alarm(void) {
    cp_tensor *w = named("w", (cp_real[]){3, 5}), *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *dx;
    cp_tensor *sum = cp_sum(tape, cp_sub(tape, cp_add(tape, x, w), w), CP_ALL, false);
    cp_tensor *square = cp_sum(tape, cp_square(tape, cp_concat(tape, (cp_tensor *[]){x, w}, 2, 0)), CP_ALL, false);
    cp_tensor_fill(w, 9);
    TEST_ASSERT_TRUE(cp_grad(tape, sum, &x, 1, &dx) && cp_grad(tape, square, &x, 1, &dx));
    TEST_ASSERT_TRUE(dx->data[0] == 2 && dx->data[1] == 4); /* square reads the copy that concat made */
}

static void views_and_constants_are_watched_too(void) {
    cp_tensor *w = named("w", (cp_real[]){3, 5}), *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
    cp_tensor *fixed = cp_tensor_new(CP_SHAPE(2));
    cp_tensor *viewed =
        cp_sum(tape, cp_mul(tape, cp_reshape(tape, x, CP_SHAPE(2, 1)), cp_reshape(tape, w, CP_SHAPE(2, 1))), CP_ALL, false);
    cp_tensor *detached = cp_sum(tape, cp_mul(tape, x, cp_detach(tape, w)), CP_ALL, false);
    cp_tensor *constant = cp_sum(tape, cp_mul(tape, x, fixed), CP_ALL, false);
    cp_tensor_fill(w, 9);
    cp_tensor_fill(fixed, 9);
    expect_stale(viewed, x, "reads w, of shape (2), which");
    expect_stale(detached, x, "reads w, of shape (2), which");
    expect_stale(constant, x, "reads a persistent tensor, of shape (2), which cp_tensor_fill has");
    cp_tensor_free(fixed);
}

static void running_statistics_matter_in_evaluation_only(void) {
    cp_norm    norm = cp_norm_make(params, "norm", (cp_norm_config){.kind = CP_NORM_BATCH, .channels = 1});
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2, 4}, CP_SHAPE(3, 1)), *dx;
    cp_tensor *training = cp_sum(tape, cp_square(tape, cp_norm_forward(tape, &norm, x, CP_TRAINING)), CP_ALL, false);
    cp_tensor *evaluation = cp_sum(tape, cp_norm_forward(tape, &norm, x, CP_EVALUATION), CP_ALL, false);
    cp_norm_forward(tape, &norm, x, CP_TRAINING);
    TEST_ASSERT_TRUE(cp_grad(tape, training, &x, 1, &dx));
    TEST_ASSERT_TRUE(cp_grad(tape, evaluation, &x, 1, &dx)); /* reads the scale, which is on the tape */
    expect_stale(evaluation, norm.weight, "reads norm.running_mean, of shape (1), which cp_batch_norm (");
}

static void a_second_order_sweep_and_a_frozen_tape_are_checked(void) {
    cp_tensor *w = named("w", (cp_real[]){3, 5}), *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), *dx;
    bool       was = cp_tape_freeze(tape, true);
    cp_tensor *loss = cp_sum(tape, cp_square(tape, cp_mul(tape, x, w)), CP_ALL, false);
    cp_tape_freeze(tape, was);
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, loss, &x, 1, &dx));
    cp_tensor *length = cp_sum(tape, cp_square(tape, dx), CP_ALL, false);
    cp_tensor_fill(w, 1);
    expect_stale(loss, x, "the rule of mul");
    expect_stale(length, x, "the rule of mul");
}

static cp_tensor *product(cp_at at, void *context, cp_tensor *const *in) {
    (void)context;
    return cp_mul(at, in[0], in[1]);
}

/* Threads with tapes of their own share parameters, so that recording and sweeping may only read these. */
static void recording_and_sweeping_write_nothing_into_a_parameter(void) {
    cp_tensor *w = named("w", (cp_real[]){3, 5}), *dw, before = *w;
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2));
    cp_tensor *y = cp_mul(tape, cp_mul(tape, x, w), cp_mul(tape, cp_reshape(tape, w, CP_SHAPE(1, 2)), cp_detach(tape, w)));
    y = cp_add(tape, y, cp_recompute(tape, product, NULL, (cp_tensor *[]){x, w}, 2, NULL));
    TEST_ASSERT_TRUE(cp_grad_recorded(tape, cp_sum(tape, y, CP_ALL, false), &w, 1, &dw));
    TEST_ASSERT_EQUAL_MEMORY(&before, w, sizeof before);
}

static cp_tensor *halved_square(cp_at at, void *context, cp_tensor *x) {
    (void)context;
    return cp_scale(at, cp_sum(at, cp_square(at, x), CP_AXES(1), false), (cp_real)0.5);
}

static void a_run_of_the_sampler_changes_the_chains(void) {
    cp_tensor     *chains = cp_tensor_new(CP_SHAPE(1, 2)), *x = cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(1, 2));
    cp_tensor     *loss = cp_sum(tape, cp_mul(tape, x, chains), CP_ALL, false), *dx;
    cp_tape       *other = cp_tape_new();
    cp_sgld_config config = {.steps = 1, .step_size = 1, .noise = 1};
    config.steps = 0;
    TEST_ASSERT_TRUE(cp_sgld_run(other, halved_square, NULL, chains, &config, &rng, NULL));
    TEST_ASSERT_TRUE(cp_grad(tape, loss, &x, 1, &dx)); /* no step, no change */
    config.steps = 1;
    TEST_ASSERT_TRUE(cp_sgld_run(other, halved_square, NULL, chains, &config, &rng, NULL));
    expect_stale(loss, x, "reads a persistent tensor, of shape (1, 2), which cp_sgld_run (");
    cp_tape_free(other);
    cp_tensor_free(chains);
}

/* ---- random programs ---- */

enum { PROGRAMS = 300, STEPS = 14, SLOTS = 7, SIDE = 3, CLONES = SLOTS * (STEPS + 1) };

/* Slots 0 to 2 are matrices, 3 and 4 weights and biases of channels, 5 and 6 running statistics. */
static cp_shape slot_shape(int slot) { return slot < 3 ? CP_SHAPE(SIDE, SIDE) : CP_SHAPE(SIDE); }

typedef struct instruction {
    enum {
        ADD,
        SUB,
        MUL,
        DIV,
        MATMUL,
        TANH,
        SQUARE,
        VIEW,
        DETACH,
        SCALE_SHIFT,
        NORM_EVALUATION,
        NORM_TRAINING,
        OPS,
        STEP = OPS,
        SWAP,
        COPY,
        COMMIT,
        FILL,
        INIT,
        MULTIPLY,
        KINDS
    } kind;
    int value, slot;
} instruction;

typedef struct program {
    instruction at[STEPS];
    bool        wanted[SLOTS]; /* gradients are asked for */
    cp_real     after[STEPS][SLOTS][SIDE * SIDE];
} program;

static int draw(int count) { return (int)cp_rng_below(&rng, (uint64_t)count); }

static program random_program(void) {
    program p;
    for (int i = 0; i < STEPS; i++) {
        int kind = draw(5) == 0 ? OPS + draw(KINDS - OPS) : draw(OPS);
        p.at[i] = (instruction){kind, draw(i + 1), kind < OPS ? draw(3) : draw(SLOTS)};
    }
    for (int s = 0; s < SLOTS; s++) p.wanted[s] = s < 5 && draw(2);
    return p;
}

/* The op of an instruction; s are the tensors of the slots. Values stay near 1, so that no gradient vanishes. */
static cp_tensor *op_of(instruction in, cp_tensor *a, cp_tensor *const *s, bool updates) {
    cp_tensor           *w = s[in.slot];
    cp_batch_norm_config norm = {.running_mean = s[5], .running_var = s[6], .training = in.kind == NORM_TRAINING};
    if (norm.training && !updates) norm.running_mean = norm.running_var = NULL;
    switch (in.kind) {
    case ADD: return cp_scale(tape, cp_add(tape, a, w), (cp_real)0.5);
    case SUB: return cp_sub(tape, cp_scale(tape, a, 2), w);
    case MUL: return cp_mul(tape, a, w);
    case DIV: return cp_div(tape, a, w);
    case MATMUL: return cp_scale(tape, cp_matmul(tape, a, w, 0), (cp_real)0.3);
    case TANH: return cp_tanh(tape, cp_scale(tape, a, (cp_real)0.4));
    case SQUARE: return cp_scale(tape, cp_square(tape, cp_add(tape, a, w)), (cp_real)0.2);
    case VIEW: return cp_reshape(tape, cp_mul(tape, cp_reshape(tape, a, CP_SHAPE(9)), cp_reshape(tape, w, CP_SHAPE(9))), a->shape);
    case DETACH: return cp_mul(tape, a, cp_detach(tape, w));
    case SCALE_SHIFT: return cp_scale_shift(tape, a, s[3], s[4]);
    case NORM_EVALUATION:
    case NORM_TRAINING: /* the square passes on the gradient of a shift, which the norm loses */
        return cp_add(tape, cp_batch_norm(tape, a, s[3], s[4], norm), cp_scale(tape, cp_square(tape, a), (cp_real)0.2));
    default: return cp_affine(tape, a, (cp_real)1.1, 0);
    }
}

static void update_of(instruction in, cp_optim *optim, cp_ema *ema, cp_params *other) {
    cp_real    values[SLOTS * SIDE * SIDE];
    cp_tensor *t = params->at[in.slot].value;
    switch (in.kind) {
    case STEP:
        for (int s = 0; s < 5; s++) params->at[s].grad = other->at[s].value;
        cp_optim_rate_set(optim, 0.05 + 0.05 * cp_rng_uniform(&rng)); /* so that no step gives former values */
        TEST_ASSERT_TRUE(cp_optim_step(optim));
        break;
    case SWAP: TEST_ASSERT_TRUE(cp_ema_swap(ema)); break;
    case COPY:
        for (int s = 0; s < SLOTS; s++) cp_tensor_multiply(other->at[s].value, (cp_real)0.99);
        TEST_ASSERT_TRUE(cp_params_copy(params, other));
        break;
    case COMMIT:
        cp_rng_fill_uniform(&rng, values, SLOTS * SIDE * SIDE, (cp_real)0.6, (cp_real)1.4);
        cp_params_commit(params, values);
        break;
    case FILL: cp_tensor_fill(t, (cp_real)(1 + 0.01 * draw(40))); break;
    case INIT:
        cp_init_weight(t, CP_INIT_XAVIER_UNIFORM, 3, 3, 0, &rng);
        for (size_t i = 0; i < t->size; i++) t->data[i] = 1 + t->data[i] / 4;
        break;
    case MULTIPLY: cp_tensor_multiply(t, (cp_real)(0.9 + 0.2 * cp_rng_uniform(&rng))); break;
    default: break;
    }
}

/* Fills a set of the seven slots with values between 0.6 and 1.4. */
static void fill_slots(cp_params *set) {
    for (int s = 0; s < SLOTS; s++) {
        char       name[2] = {(char)('a' + s), 0};
        cp_tensor *t = s < 5 ? cp_params_add(set, "", name, CP_LAYOUT_PLAIN, slot_shape(s))
                             : cp_params_add_buffer(set, "", name, slot_shape(s));
        cp_rng_fill_uniform(&rng, t->data, t->size, (cp_real)0.6, (cp_real)1.4);
    }
}

static cp_tensor *loss_of(cp_tensor *a) {
    cp_real weights[SIDE * SIDE] = {1, 2, -1, 3, (cp_real)0.5, -2, 1, (cp_real)1.5, -3};
    return cp_sum(tape, cp_mul(tape, a, cp_constant(tape, weights, CP_SHAPE(SIDE, SIDE))), CP_ALL, false);
}

static const cp_real input[SIDE * SIDE] = {
    (cp_real)0.9, (cp_real)1.1, (cp_real)0.7, (cp_real)1.3, (cp_real)0.8, (cp_real)1.2, (cp_real)0.6, 1, (cp_real)1.05};

/* Runs the program on the set, notes the values after each step, and returns whether its gradient was refused for a changed value. */
static bool is_reported(program *p, cp_optim *optim, cp_ema *ema, cp_params *other) {
    cp_tensor *values[STEPS + 1] = {cp_variable(tape, input, CP_SHAPE(SIDE, SIDE))}, *slots[SLOTS], *wrt[SLOTS + 1],
                              *out[SLOTS + 1];
    int n = 0;
    for (int s = 0; s < SLOTS; s++) slots[s] = params->at[s].value;
    for (int i = 0; i < STEPS; i++) {
        values[i + 1] = op_of(p->at[i], values[p->at[i].value], slots, true);
        update_of(p->at[i], optim, ema, other);
        for (int s = 0; s < SLOTS; s++) memcpy(p->after[i][s], slots[s]->data, slots[s]->size * sizeof(cp_real));
    }
    wrt[n++] = values[0];
    for (int s = 0; s < SLOTS; s++)
        if (p->wanted[s]) wrt[n++] = slots[s];
    cp_tensor *loss = cp_add(tape, loss_of(values[STEPS]), cp_sum(tape, values[0], CP_ALL, false));
    bool       ok = cp_grad(tape, loss, wrt, n, out);
    if (!ok) expect_error("has changed since");
    cp_tape_reset(tape);
    return !ok;
}

/* Whether the gradient depends on values that the program changed: each version of a slot is a tensor of its own here; then all get the
 * last version's values, unnoticed. */
static bool is_wrong(const program *p, const cp_params *start) {
    cp_tensor *values[STEPS + 1] = {cp_variable(tape, input, CP_SHAPE(SIDE, SIDE))};
    cp_tensor *clones[CLONES], *slots[SLOTS], *wrt[CLONES + 1] = {values[0]}, *before[CLONES + 1], *after[CLONES + 1];
    int        count = 0, of[CLONES], n = 1;
    for (int s = 0; s < SLOTS; s++) {
        slots[s] = clones[count] = cp_parameter_new(start->at[s].value->data, slot_shape(s));
        of[count++] = s;
    }
    for (int i = 0; i < STEPS; i++) {
        values[i + 1] = op_of(p->at[i], values[p->at[i].value], slots, false);
        for (int s = 0; s < SLOTS; s++) {
            if (memcmp(slots[s]->data, p->after[i][s], slots[s]->size * sizeof(cp_real)) == 0) continue;
            slots[s] = clones[count] = cp_parameter_new(p->after[i][s], slot_shape(s));
            of[count++] = s;
        }
    }
    for (int k = 0; k < count; k++)
        if (p->wanted[of[k]]) wrt[n++] = clones[k];
    cp_tensor *loss = cp_add(tape, loss_of(values[STEPS]), cp_sum(tape, values[0], CP_ALL, false));
    TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, n, before));
    for (int k = 0; k < count; k++) memcpy(clones[k]->data, p->after[STEPS - 1][of[k]], clones[k]->size * sizeof(cp_real));
    TEST_ASSERT_TRUE(cp_grad(tape, loss, wrt, n, after));
    bool differs = false;
    for (int k = 0; k < n; k++) differs |= memcmp(before[k]->data, after[k]->data, before[k]->size * sizeof(cp_real)) != 0;
    cp_tape_reset(tape);
    for (int k = 0; k < count; k++) cp_tensor_free(clones[k]);
    return differs;
}

static void in_random_programs_every_changed_value_that_a_rule_reads_is_reported_and_no_other(void) {
    int wrong = 0, right = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        cp_params *other = cp_params_new(), *start = cp_params_new();
        cp_params_free(params);
        params = cp_params_new();
        fill_slots(params);
        cp_ema *ema = cp_ema_new(params, 0.5);
        fill_slots(other);
        for (int s = 0; s < SLOTS; s++) {
            cp_tensor *t = params->at[s].value;
            cp_rng_fill_uniform(&rng, t->data, t->size, (cp_real)0.6, (cp_real)1.4);
        }
        fill_slots(start);
        cp_params_copy(start, params);
        cp_optim *optim = cp_sgd_new(params, (cp_sgd_config){.rate = 0.05});
        program   p = random_program();
        bool      reported = is_reported(&p, optim, ema, other), expected = is_wrong(&p, start);
        char      which[32];
        snprintf(which, sizeof which, "program %d", i);
        TEST_ASSERT_EQUAL_MESSAGE(expected, reported, which);
        wrong += expected;
        right += !expected;
        cp_optim_free(optim);
        cp_ema_free(ema);
        cp_params_free(other);
        cp_params_free(start);
    }
    TEST_ASSERT_GREATER_THAN(PROGRAMS / 5, wrong); /* both kinds were tried */
    TEST_ASSERT_GREATER_THAN(PROGRAMS / 5, right);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(an_optimizer_step_between_loss_and_gradient_is_reported_with_both_places);
    RUN_TEST(every_writer_of_the_library_is_named);
    RUN_TEST(rules_that_do_not_read_the_value_raise_no_alarm);
    RUN_TEST(views_and_constants_are_watched_too);
    RUN_TEST(running_statistics_matter_in_evaluation_only);
    RUN_TEST(a_second_order_sweep_and_a_frozen_tape_are_checked);
    RUN_TEST(recording_and_sweeping_write_nothing_into_a_parameter);
    RUN_TEST(a_run_of_the_sampler_changes_the_chains);
    RUN_TEST(in_random_programs_every_changed_value_that_a_rule_reads_is_reported_and_no_other);
    return UNITY_END();
}
