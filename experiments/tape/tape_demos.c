/* Small computations whose tapes are worth looking at. The pages quote this file, one line per node. */
#include "experiments/tape/tape_demos.h"

#include "core/op.h"

#include <math.h>

const char *const cp_tape_demos_file = __FILE__;

static cp_tensor *named(cp_tensor *t, const char *name) {
    if (t) t->name = name;
    return t;
}

static cp_tensor *asked(cp_tape_demo_record *r, cp_tensor *t, const char *name) {
    r->leaves[r->leaf_count++] = named(t, name);
    return t;
}

/* A number as a variable. */
static cp_tensor *number(cp_tape_demo_record *r, cp_tape *tape, double value, const char *name) {
    return asked(r, cp_variable(tape, &(cp_real){(cp_real)value}, CP_SCALAR), name);
}

static cp_tensor *normal(cp_tape_demo_record *r, cp_tape *tape, cp_shape shape, double sd, const char *name) {
    cp_rng     rng = cp_rng_named(7, name);
    cp_tensor *t = cp_full(tape, 0, shape);
    if (t) cp_rng_fill_normal(&rng, t->data, t->size, 0, (cp_real)sd);
    return t ? asked(r, cp_variable(tape, t->data, shape), name) : NULL;
}

static void record_chain(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tensor *x = number(r, tape, 1.5, "x"), *w = number(r, tape, 0.5, "w"), *b = number(r, tape, -0.25, "b");
    cp_tensor *a = named(cp_add(tape, cp_mul(tape, w, x), b), "a");
    cp_tensor *h = named(cp_tanh(tape, a), "h");
    r->loss = cp_square(tape, h);
}

static void record_fan_out(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tensor *x = asked(r, cp_variable(tape, (cp_real[]){1, -2, (cp_real)0.5}, CP_SHAPE(3)), "x");
    cp_tensor *e = named(cp_exp(tape, x), "e");
    cp_tensor *twice = named(cp_add(tape, e, e), "twice");
    cp_tensor *product = named(cp_mul(tape, twice, x), "product");
    cp_tensor *quotient = named(cp_div(tape, product, cp_affine(tape, e, 1, 1)), "quotient");
    r->loss = cp_sum(tape, quotient, CP_ALL, false);
}

static void record_broadcast(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tensor *row = asked(r, cp_variable(tape, (cp_real[]){1, 2, 3}, CP_SHAPE(3)), "row");
    cp_tensor *column = asked(r, cp_variable(tape, (cp_real[]){10, 20}, CP_SHAPE(2, 1)), "column");
    cp_tensor *scale = number(r, tape, 0.1, "scale");
    cp_tensor *table = named(cp_add(tape, column, row), "table"); /* (2, 3) */
    cp_tensor *small = named(cp_mul(tape, table, scale), "small");
    r->loss = cp_mean(tape, cp_square(tape, small), CP_ALL, false);
}

static void record_perceptron(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tensor *x = asked(r, cp_variable(tape, (cp_real[]){0, 0, 0, 1, 1, 0, 1, 1}, CP_SHAPE(4, 2)), "x"); /* exclusive or */
    cp_tensor *w1 = normal(r, tape, CP_SHAPE(2, 3), 1, "w1"), *b1 = normal(r, tape, CP_SHAPE(3), 0.5, "b1");
    cp_tensor *w2 = normal(r, tape, CP_SHAPE(3, 2), 1, "w2"), *b2 = normal(r, tape, CP_SHAPE(2), 0.5, "b2");
    cp_scope_begin(tape, "hidden");
    cp_tensor *hidden = named(cp_tanh(tape, cp_add(tape, cp_matmul(tape, x, w1, 0), b1)), "h"); /* (4, 3) */
    cp_scope_end(tape);
    cp_scope_begin(tape, "out");
    cp_tensor *logits = named(cp_add(tape, cp_matmul(tape, hidden, w2, 0), b2), "logits"); /* (4, 2) */
    cp_scope_end(tape);
    r->loss = cp_cross_entropy(tape, logits, (cp_labels){(int[]){0, 1, 1, 0}, 4});
}

static void record_conv_block(cp_tape *tape, cp_tape_demo_record *r) {
    enum { SIDE = 8, CHANNELS = 4 };
    cp_tensor *x = normal(r, tape, CP_SHAPE(2, SIDE, SIDE, CHANNELS), 1, "x");
    cp_tensor *w1 = normal(r, tape, CP_SHAPE(3, 3, CHANNELS, CHANNELS), 0.25, "w1");
    cp_tensor *w2 = normal(r, tape, CP_SHAPE(3, 3, CHANNELS, CHANNELS), 0.25, "w2");
    cp_tensor *gamma = asked(r, cp_variable(tape, (cp_real[]){1, 1, 1, 1}, CP_SHAPE(CHANNELS)), "gamma");
    cp_tensor *beta = asked(r, cp_variable(tape, (cp_real[]){0, 0, 0, 0}, CP_SHAPE(CHANNELS)), "beta");
    cp_tensor *first = named(cp_conv2d(tape, x, w1, NULL, (cp_conv2d_config){CP_PAD(1)}), "first");
    cp_tensor *even = named(cp_group_norm(tape, first, gamma, beta, 2, 0), "even");
    cp_tensor *active = named(cp_leaky_relu(tape, even, (cp_real)0.2), "active");
    cp_tensor *second = named(cp_conv2d(tape, active, w2, NULL, (cp_conv2d_config){CP_PAD(1)}), "second");
    cp_tensor *out = named(cp_add(tape, second, x), "out"); /* around the block */
    cp_tensor *features = named(cp_global_avg_pool(tape, out), "features");
    r->loss = cp_cross_entropy(tape, features, (cp_labels){(int[]){0, 2}, 2});
}

static void record_gaussian_head(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tensor   *z = asked(r, cp_variable(tape, (cp_real[]){0, 1, 2, -1, (cp_real)0.5, 3}, CP_SHAPE(3, 2)), "z");
    cp_tensor   *mean = asked(r, cp_variable(tape, (cp_real[]){0, 0, 2, 1}, CP_SHAPE(2, 2)), "mean");
    cp_tensor   *precision = asked(r, cp_variable(tape, (cp_real[]){0, (cp_real)0.5}, CP_SHAPE(2)), "precision");
    cp_gaussians classes = {.mean = mean, .precision = precision, .kind = CP_DIAGONAL};
    cp_tensor   *joint = named(cp_gaussian_log_joint(tape, z, classes), "ln p(z, c)"); /* (3, 2) */
    cp_tensor   *density = named(cp_logsumexp(tape, joint, CP_AXES(1), false), "ln p(z)");
    cp_tensor   *fit = named(cp_cross_entropy(tape, joint, (cp_labels){(int[]){0, 1, 1}, 3}), "fit");
    r->loss = cp_sub(tape, fit, cp_mean(tape, density, CP_ALL, false));
}

static void record_second_order(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tensor *x = asked(r, cp_variable(tape, (cp_real[]){(cp_real)0.5, -1}, CP_SHAPE(2)), "x"), *slope;
    cp_tensor *y = named(cp_sum(tape, cp_tanh(tape, cp_square(tape, x)), CP_ALL, false), "y");
    if (!cp_grad_recorded(tape, y, &x, 1, &slope)) return; /* the sweep is on the record, too */
    r->loss = cp_sum(tape, cp_square(tape, named(slope, "dy/dx")), CP_ALL, false);
}

/* ---- a wide ResNet ---- */

enum { SIDE = 28 };

/* A ring with a bright spot beside it. */
static cp_tensor *image(cp_tape *tape) {
    cp_real pixels[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        double y = i / SIDE - 13.5, x = i % SIDE - 13.5, ring = hypot(x, y) - 8, spot = hypot(x - 5, y + 5);
        pixels[i] = (cp_real)(2 * fmin(1, exp(-ring * ring / 4) + exp(-spot * spot / 3)) - 1);
    }
    return cp_variable(tape, pixels, CP_SHAPE(1, SIDE, SIDE, 1));
}

static cp_tensor *energy(cp_tape *tape, cp_tape_demo_record *r) {
    cp_rng rng = cp_rng_named(7, "wrn");
    r->model =
        cp_model_new((cp_model_config){.classes = 4, .head = "hybrid", .wrn = {.depth = 10, .width = 1, .channels = 1}}, &rng);
    cp_tensor *x = asked(r, image(tape), "x");
    return r->model ? named(cp_model_energy(tape, r->model, x, CP_EVALUATION), "energy") : NULL;
}

/* The parameters that the energy depends on, which are not all: the softmax has its own. */
static void ask_parameters(cp_tape *tape, cp_tape_demo_record *r) {
    const cp_params *params = r->model ? r->model->params : NULL;
    for (int i = 0; params && i < params->count && r->leaf_count < CP_TAPE_DEMO_LEAVES; i++)
        if (cp_use_of(CP_AT(tape), params->at[i].value) == CP_USED) r->leaves[r->leaf_count++] = params->at[i].value;
}

static void record_wrn(cp_tape *tape, cp_tape_demo_record *r) {
    r->loss = energy(tape, r);
    ask_parameters(tape, r);
}

static void record_wrn_sampler(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tape_freeze(tape, true); /* the gradient is for the image alone */
    r->loss = energy(tape, r);
}

static void record_wrn_penalty(cp_tape *tape, cp_tape_demo_record *r) {
    cp_tensor *e = energy(tape, r);
    cp_tensor *steepness = named(cp_gradient_squares(tape, e, r->leaves[0]), "steepness");
    r->loss = cp_add(tape, cp_sum(tape, e, CP_ALL, false), cp_sum(tape, steepness, CP_ALL, false));
    ask_parameters(tape, r);
}

const cp_tape_demo cp_tape_demos[] = {
    {"chain", "tanh(w x + b)^2 of numbers: the chain rule, step by step", record_chain},
    {"fan-out", "values that are used more than once: gradients add up", record_fan_out},
    {"broadcast", "a row plus a column times a number: what was repeated is summed", record_broadcast},
    {"perceptron", "two layers on exclusive or: matrix products, labels, numbers to edit", record_perceptron},
    {"conv-block", "a residual block of two convolutions, with its weights", record_conv_block},
    {"gaussian-head", "class-conditional Gaussians: joint density, fit and density together", record_gaussian_head},
    {"second-order", "the square of a gradient, through a recorded sweep", record_second_order},
    {"wrn", "the hybrid energy of a WRN-10-1, and its gradients at an image and all parameters", record_wrn},
    {"wrn-sampler", "the same on a frozen tape, as a sampler descends it: the image alone, and values given back early",
     record_wrn_sampler},
    {"wrn-penalty", "that energy and the square of its input gradient, through a recorded sweep", record_wrn_penalty},
    {0},
};
