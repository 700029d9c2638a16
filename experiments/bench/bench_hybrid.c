/* couplet bench hybrid: what the gradient penalty adds to a training step of the hybrid. */
#include "experiments/bench/bench_hybrid.h"

#include "couplet.h"
#include "experiments/bench/bench_time.h"
#include "experiments/kit/cli/options.h"

enum { BATCH = 32, SIDE = 28, CHANNELS = 3, CLASSES = 8, CHAIN_STEPS = 10, ROUNDS = 15 };

static const double penalty_weight = 0.05, energy_weight = 0.001;

typedef struct bench {
    cp_model  *model;
    cp_optim  *adam;
    cp_tape   *tape;
    cp_tensor *labeled, *unlabeled, *chains; /* (BATCH, SIDE, SIDE, CHANNELS) */
    int        label[BATCH];
    cp_rng     rng;
} bench;

static void bench_free(bench *b) {
    cp_tensor_free(b->labeled);
    cp_tensor_free(b->unlabeled);
    cp_tensor_free(b->chains);
    cp_tape_free(b->tape);
    cp_optim_free(b->adam);
    cp_model_free(b->model);
}

static bool bench_make(bench *b) {
    cp_model_config config = {.classes = CLASSES, .head = "hybrid", .wrn = {.depth = 10, .width = 1, .channels = CHANNELS}};
    *b = (bench){.rng = cp_rng_named(1, "bench"), .tape = cp_tape_new()};
    b->model = cp_model_new(config, &b->rng);
    b->adam = b->model ? cp_adam_new(b->model->params, (cp_adam_config){.rate = 1e-4}) : NULL;
    cp_tensor **const images[] = {&b->labeled, &b->unlabeled, &b->chains};
    for (int i = 0; i < 3; i++) {
        if (!(*images[i] = cp_tensor_new(CP_SHAPE(BATCH, SIDE, SIDE, CHANNELS)))) return false;
        cp_rng_fill_uniform(&b->rng, (*images[i])->data, (*images[i])->size, -1, 1);
    }
    for (int i = 0; i < BATCH; i++) b->label[i] = (int)cp_rng_below(&b->rng, CLASSES);
    return b->tape && b->adam;
}

static cp_tensor *mean(cp_tape *tape, cp_tensor *a) {
    return cp_mean(tape, a, CP_ALL, false);
}

/* sign mean E + energy_weight mean E^2, and penalty mean |dE/dx|^2 unless that is 0. */
static cp_tensor *energy_terms(bench *b, const cp_tensor *images, cp_real sign, cp_real penalty) {
    cp_tape   *t = b->tape;
    cp_tensor *x = (penalty > 0 ? (cp_variable) : (cp_constant))(CP_AT(t), images->data, images->shape);
    cp_tensor *energies = cp_model_energy(t, b->model, x, CP_TRAINING);
    cp_tensor *terms =
        cp_add(t, cp_scale(t, mean(t, energies), sign), cp_scale(t, mean(t, cp_square(t, energies)), (cp_real)energy_weight));
    if (penalty > 0) terms = cp_add(t, terms, cp_scale(t, mean(t, cp_gradient_squares(t, energies, x)), penalty));
    return terms;
}

/* CE + E(x_l; c) and the coupling of the heads. */
static cp_tensor *labeled_terms(bench *b) {
    cp_tape   *t = b->tape;
    cp_labels  labels = {b->label, BATCH};
    cp_tensor *z = cp_net_forward(t, b->model->net, cp_constant(t, b->labeled->data, b->labeled->shape), CP_TRAINING);
    cp_tensor *fit = cp_cross_entropy(t, cp_head_logits(t, b->model->head, z), labels);
    cp_tensor *energy = mean(t, cp_pick(t, cp_head_class_energy(t, b->model->head, z), labels));
    return cp_add(t, cp_add(t, fit, energy), cp_head_penalty(t, b->model->head));
}

static void train_step(bench *b, cp_real penalty) {
    cp_sgld_config sgld = {
        .step_size = 2, .noise = 0.01, .steps = CHAIN_STEPS, .gradient_clamp = 1, .clamp_low = -1, .clamp_high = 1};
    cp_sgld_run(b->tape, cp_model_energy_of, &(cp_model_target){.model = b->model}, b->chains, &sgld, &b->rng, NULL);
    cp_tensor *loss = cp_add(b->tape, energy_terms(b, b->unlabeled, 1, penalty), energy_terms(b, b->chains, -2, penalty));
    cp_backward(b->tape, cp_add(b->tape, loss, labeled_terms(b)), b->model->params);
    cp_grads_clip(b->model->params, 1);
    cp_optim_step(b->adam);
    cp_tape_reset(b->tape);
}

static double step_ms(bench *b, double penalty) {
    double before = cp_bench_seconds();
    train_step(b, (cp_real)penalty);
    return 1e3 * (cp_bench_seconds() - before);
}

/* The two in turn, so that whatever else the machine does meets both. */
int cp_bench_hybrid(void) {
    bench  b;
    double plain[ROUNDS], penalized[ROUNDS], ratio[ROUNDS];
    bool   ok = bench_make(&b);
    for (int i = -1; ok && i < ROUNDS; i++) { /* the first does not count */
        int at = i < 0 ? 0 : i;
        plain[at] = step_ms(&b, 0);
        penalized[at] = step_ms(&b, penalty_weight);
        ratio[at] = penalized[at] / plain[at];
    }
    if (ok)
        printf(
            "hybrid wrn 10 1 side %d channels %d batch %d steps %d threads %d  without penalty %.1f ms  with %.1f ms  ratio %.2f\n",
            SIDE, CHANNELS, BATCH, CHAIN_STEPS, cp_threads(), cp_bench_median(plain, ROUNDS), cp_bench_median(penalized, ROUNDS),
            cp_bench_median(ratio, ROUNDS));
    bench_free(&b);
    return ok ? CP_EXIT_OK : CP_EXIT_FAILED;
}
