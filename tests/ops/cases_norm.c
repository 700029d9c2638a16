/* Cases of normalization and dropout. */
#include "tests/support/cases.h"

enum { MAX_CHANNELS = 8 };

/* gamma and beta follow x in the inputs; bit 0 of flags: with gamma, bit 1: with beta. */
enum { GAMMA = 1, BETA = 2 };

static cp_tensor *gamma_of(cp_tensor **in, const op_case *c) { return c->flags & GAMMA ? in[1] : NULL; }

static cp_tensor *beta_of(cp_tensor **in, const op_case *c) { return c->flags & BETA ? in[case_inputs(c) - 1] : NULL; }

static cp_tensor *build_normalize(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_normalize(tape, in[0], c->axes, (cp_real)c->real[0]);
}

/* New running statistics for each call, so that the updates of one call do not affect the next. */
static cp_tensor *build_scale_shift(cp_tape *tape, cp_tensor **in, const op_case *c) {
    (void)c;
    return cp_scale_shift(tape, in[0], in[1], in[2]);
}

static cp_tensor *build_batch_norm(cp_tape *tape, cp_tensor **in, const op_case *c) {
    cp_real mean[MAX_CHANNELS], var[MAX_CHANNELS];
    int     channels = in[0]->dims[in[0]->rank - 1];
    for (int i = 0; i < channels; i++) {
        mean[i] = (cp_real)(0.25 * i - 0.5);
        var[i] = (cp_real)(0.5 + 0.25 * i);
    }
    cp_batch_norm_config config = {.training = c->training,
                                   .running_mean = c->number ? NULL : cp_constant(tape, mean, CP_SHAPE(channels)),
                                   .running_var = c->number ? NULL : cp_constant(tape, var, CP_SHAPE(channels)),
                                   .eps = (cp_real)c->real[0]};
    return cp_batch_norm(tape, in[0], gamma_of(in, c), beta_of(in, c), config);
}

static cp_tensor *build_layer_norm(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_layer_norm(tape, in[0], gamma_of(in, c), beta_of(in, c), (cp_real)1e-3);
}

static cp_tensor *build_group_norm(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_group_norm(tape, in[0], gamma_of(in, c), beta_of(in, c), c->number, (cp_real)1e-3);
}

/* .number: groups, 0 for layer norm; .real: the slope. */
static cp_tensor *build_leaky_norm(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_leaky_norm(tape, in[0], gamma_of(in, c), beta_of(in, c), c->number, (cp_real)c->real[0], (cp_real)1e-3);
}

/* A norm with fixed gamma and beta reads only x, so its result can be released. */
static cp_tensor *build_leaky_norm_fixed(cp_tape *tape, cp_tensor **in, const op_case *c) {
    cp_tensor *gamma = cp_detach(tape, in[1]), *beta = cp_detach(tape, in[2]);
    cp_tensor *y = cp_leaky_norm(tape, in[0], gamma, beta, c->number, (cp_real)c->real[0], (cp_real)1e-3);
    cp_tensor *z = cp_scale(tape, y, 2);
    cp_release(CP_AT(tape), y);
    return z;
}

/* The stream starts again on each call: the same mask every time. */
static cp_tensor *build_dropout(cp_tape *tape, cp_tensor **in, const op_case *c) {
    cp_rng rng = cp_rng_named(23, "dropout");
    return cp_dropout(tape, in[0], (cp_real)c->real[0], &rng, c->training);
}

/* clang-format off */
#define OF(...) __VA_ARGS__

/* x of shape X with C channels; with and without gamma and beta. */
#define SCALED(name, text, X, C, ...)                                                                                  \
    {#name, text,                 build_##name, {ANY(X)}, __VA_ARGS__},                                                \
    {#name, text ", gamma",       build_##name, {ANY(X), ANY(C)}, .flags = GAMMA, __VA_ARGS__},                        \
    {#name, text ", beta",        build_##name, {ANY(X), ANY(C)}, .flags = BETA, __VA_ARGS__},                         \
    {#name, text ", gamma, beta", build_##name, {ANY(X), ANY(C), ANY(C)}, .flags = GAMMA | BETA, __VA_ARGS__}

static const op_case cases[] = {
    {"scale_shift", "images",      build_scale_shift, {ANY(2, 3, 2, 5), ANY(5), ANY(5)}},
    {"scale_shift", "one channel", build_scale_shift, {ANY(4, 1), ANY(1), ANY(1)}},
    {"scale_shift", "rank 1",      build_scale_shift, {ANY(7), ANY(7), ANY(7)}},
    {"normalize", "all axes",           build_normalize, {ANY(3, 5)}, .real = {1e-3}},
    {"normalize", "first axis",         build_normalize, {ANY(4, 3)}, .axes = AXES(0), .real = {1e-3}},
    {"normalize", "last axis",          build_normalize, {ANY(3, 5)}, .axes = AXES(-1), .real = {1e-3}},
    {"normalize", "middle axis",        build_normalize, {ANY(2, 4, 3)}, .axes = AXES(1), .real = {1e-3}},
    {"normalize", "first and last",     build_normalize, {ANY(3, 2, 4)}, .axes = AXES(0, 2), .real = {1e-3}},
    {"normalize", "rank 5, three axes", build_normalize, {ANY(2, 2, 3, 1, 2)}, .axes = AXES(0, 2, 4), .real = {1e-3}},
    {"normalize", "no eps",             build_normalize, {ANY(3, 7)}, .axes = AXES(1), .real = {0}},
    {"normalize", "a large eps",        build_normalize, {ANY(3, 7)}, .axes = AXES(1), .real = {0.5}},
    {"normalize", "one value",          build_normalize, {ANY(3, 1)}, .axes = AXES(1), .real = {0.5}},

    SCALED(batch_norm, "training, rank 2",         OF(5, 3), 3, .training = true),
    SCALED(batch_norm, "training, images",         OF(2, 3, 3, 2), 2, .training = true, .real = {1e-3}),
    SCALED(batch_norm, "training, rank 5",         OF(2, 1, 3, 2, 2), 2, .training = true),
    SCALED(batch_norm, "training, one channel",    OF(5, 1), 1, .training = true),
    SCALED(batch_norm, "training, no statistics kept", OF(4, 3), 3, .training = true, .number = 1),
    SCALED(batch_norm, "evaluation, rank 2",       OF(5, 3), 3, .training = false),
    SCALED(batch_norm, "evaluation, images",       OF(2, 3, 3, 2), 2, .training = false, .real = {1e-3}),
    SCALED(batch_norm, "evaluation, one row",      OF(1, 3), 3, .training = false),

    SCALED(layer_norm, "rank 2",                   OF(3, 5), 5, .number = 0),
    SCALED(layer_norm, "rank 4",                   OF(2, 2, 3, 4), 4, .number = 0),
    SCALED(layer_norm, "one row",                  OF(1, 7), 7, .number = 0),

    SCALED(group_norm, "one group",                OF(2, 3, 2, 4), 4, .number = 1),
    SCALED(group_norm, "two groups",               OF(2, 3, 3, 4), 4, .number = 2),
    SCALED(group_norm, "a group a channel",        OF(2, 3, 3, 3), 3, .number = 3),
    SCALED(group_norm, "rank 2",                   OF(3, 6), 6, .number = 2),
    SCALED(group_norm, "one image of one pixel",   OF(1, 1, 1, 6), 6, .number = 2),
    SCALED(group_norm, "rank 5",                   OF(2, 2, 1, 3, 4), 4, .number = 2),

    /* Values are nearer to the kink than the steps that float needs. */
    SCALED(leaky_norm, "two groups",               OF(2, 3, 3, 4), 4, .number = 2, .double_only = true, .real = {0.2}),
    SCALED(leaky_norm, "a group a channel",        OF(2, 2, 4, 3), 3, .number = 3, .double_only = true, .real = {0.2}),
    SCALED(leaky_norm, "groups, rank 2",           OF(3, 6), 6, .number = 2, .double_only = true, .real = {0.2}),
    SCALED(leaky_norm, "groups, ReLU",             OF(1, 5, 3, 4), 4, .number = 1, .double_only = true, .real = {0}),
    SCALED(leaky_norm, "groups, no activation",    OF(2, 3, 1, 4), 4, .number = 2, .real = {1}),
    SCALED(leaky_norm, "layers, rank 2",           OF(3, 5), 5, .double_only = true, .real = {0.2}),
    SCALED(leaky_norm, "layers, rank 4",           OF(2, 2, 3, 4), 4, .double_only = true, .real = {0.2}),
    SCALED(leaky_norm, "layers, ReLU",             OF(2, 3, 7), 7, .double_only = true, .real = {0}),
    {"leaky_norm", "groups, fixed parameters", build_leaky_norm_fixed, {ANY(2, 3, 3, 4), WHOLE(4), WHOLE(4)}, .number = 2, .real = {0.2}},
    {"leaky_norm", "layers, fixed parameters", build_leaky_norm_fixed, {ANY(2, 2, 3, 4), WHOLE(4), WHOLE(4)}, .real = {0.2}},

    {"dropout", "rate 0.4",        build_dropout, {ANY(5, 7)}, .real = {0.4}, .training = true, .draws = true},
    {"dropout", "rate 0.9",        build_dropout, {ANY(5, 7)}, .real = {0.9}, .training = true, .draws = true},
    {"dropout", "rate 0",          build_dropout, {ANY(3, 5)}, .real = {0}, .training = true},
    {"dropout", "rank 4",          build_dropout, {ANY(2, 3, 3, 2)}, .real = {0.5}, .training = true, .draws = true},
    {"dropout", "in evaluation",   build_dropout, {ANY(3, 5)}, .real = {0.4}},
};
/* clang-format on */

CASE_TABLE(cases_norm);
