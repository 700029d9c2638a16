/* One step of a training. */
#include "experiments/kit/train/trainer_parts.h"

#include <math.h>
#include <string.h>

bool cp_trainer_injects(cp_trainer *t, cp_fault fault) {
    if (t->step != t->fault_at[fault] || (t->injected >> fault & 1)) return false;
    if (fault != CP_FAULT_STOP) t->injected |= 1 << fault;
    return true;
}

static cp_batch read_labeled(cp_trainer *t) {
    cp_batch batch = cp_batches_next((cp_tape *)NULL, t->labeled);
    cp_split_read(t->labeled->split, batch.rows, batch.count, t->labeled_x->data);
    t->labeled_x->lengths = cp_split_lengths(t->labeled->split, batch.rows, batch.count, t->labeled_lengths);
    cp_augment_images(&t->config.augment, t->labeled_x, t->config.seed, batch.step);
    return batch;
}

/* The class of each chain, and its length, that of a training sequence, follow from its entry in the buffer. */
static void name_chains(cp_trainer *t) {
    const cp_split *train = &t->images->set->splits[CP_IMAGES_TRAIN];
    for (int i = 0; i < t->config.chains; i++) {
        t->sample_labels[i] = t->entries[i] % t->images->classes;
        t->sample_lengths[i] = train->lengths ? train->lengths[t->entries[i] % train->count] : 0;
    }
    t->samples->lengths = train->lengths ? t->sample_lengths : NULL;
}

static void draw_samples(cp_trainer *t, cp_sgld_report *report) {
    cp_model_target target = {.model = t->model};
    cp_sgld_config  sgld = t->config.sgld;
    cp_replay_draw(t->replay, &t->chain_noise, NULL, t->samples, t->entries, NULL);
    name_chains(t);
    if (t->config.objective.conditional) target.labels = (cp_labels){t->sample_labels, t->config.chains};
    if (cp_trainer_injects(t, CP_FAULT_CHAINS)) memset(t->samples->data, 0xff, t->samples->size * sizeof *t->samples->data);
    sgld.stuck = t->stuck;
    cp_sgld_run(t->tape, cp_model_energy_of, &target, t->samples, &sgld, &t->chain_noise, report);
}

/* Marks the chains that cannot move or end far above the data; returns their share. */
static double find_lost(cp_trainer *t, const cp_objective_terms *terms) {
    const cp_real *energies = terms->sample_energies ? terms->sample_energies->data : NULL;
    double         limit = t->config.restart_above / t->rate_scale; /* twice as far after every rollback: fresh chains begin high */
    int            lost = 0;
    for (int i = 0; i < t->config.chains; i++) {
        bool above = limit > 0 && energies && !((double)energies[i] <= terms->data + limit);
        lost += t->drop[i] = t->stuck[i] || above;
    }
    return (double)lost / t->config.chains;
}

/* Lost chains are restarted the next time they are drawn; after a step that is left out all chains are. */
static void return_samples(cp_trainer *t, bool ok) {
    for (int i = 0; i < t->config.chains && !ok; i++) t->drop[i] = true;
    cp_replay_return(t->replay, t->entries, t->samples, t->drop);
}

/* Which class an output is for; -1 when its posterior is below the threshold. */
static int confident_class(const cp_real *posterior, int classes, double threshold) {
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (posterior[c] > posterior[best]) best = c;
    return (double)posterior[best] >= threshold ? best : -1;
}

/* Pseudo-labels for the unlabeled images of the step: the averaged weights look at the images as they are, the loss at augmented copies.
 * A posterior that is not that of energies is overconfident, so the temperature of the last validation goes in first. Where a head has
 * Gaussians too, both posteriors must agree. */
static void guess(cp_trainer *t, cp_objective_batch *batch) {
    int      n = t->config.unlabeled, classes = t->images->classes;
    double   temperature = t->replay || !t->trace_count ? 1 : t->traces[(t->trace_count - 1) * CP_TRACES + CP_TRACE_TEMPERATURE];
    cp_tape *tape = t->tape;
    cp_head *head = t->model->head;
    bool     was = cp_tape_pause(tape, true);
    cp_ema_swap(t->ema);
    cp_tensor *z = cp_net_forward(tape, t->model->net, cp_constant_of(tape, t->unlabeled_x), CP_EVALUATION);
    cp_tensor *p =
        cp_softmax(tape, cp_scale(tape, cp_head_logits(tape, head, z), (cp_real)(1 / temperature)), 1); /* (n, classes) */
    cp_tensor *q = head->kind->class_energy ? cp_softmax(tape, cp_neg(tape, cp_head_class_energy(tape, head, z)), 1) : p;
    cp_ema_swap(t->ema);
    cp_tape_pause(tape, was);
    for (int i = 0; i < n; i++) {
        int guess = p && q ? confident_class(p->data + i * classes, classes, t->config.threshold) : -1;
        t->guesses[i] = guess >= 0 && confident_class(q->data + i * classes, classes, 0) == guess ? guess : -1;
    }
    memcpy(t->augmented_x->data, t->unlabeled_x->data, t->augmented_x->size * sizeof *t->augmented_x->data);
    t->augmented_x->lengths = t->unlabeled_x->lengths;
    cp_augment_images(&t->config.augment, t->augmented_x, t->config.seed, -1 - t->step); /* steps of labeled images are from 0 */
    batch->augmented = t->augmented_x;
    batch->guesses = (cp_labels){t->guesses, n};
}

static void sum_up(cp_trainer *t, const cp_objective_terms *terms, double gradient) {
    t->sums[CP_TRACE_LOSS] += terms->loss;
    t->sums[CP_TRACE_CROSS_ENTROPY] += terms->cross_entropy;
    t->sums[CP_TRACE_GAP] += terms->gap;
    if (!isnan(terms->slope_data)) {
        t->sums[CP_TRACE_SLOPE_DATA] += terms->slope_data;
        t->sums[CP_TRACE_SLOPE_SAMPLES] += terms->slope_samples;
        t->summed_slopes++;
    }
    t->sums[CP_TRACE_PENALTY] += terms->penalty;
    t->sums[CP_TRACE_GUESSED] += terms->guessed;
    t->sums[CP_TRACE_GRADIENT] += gradient;
    t->summed++;
}

/* The gradient's norm, clipped; NaN when the loss has none. */
static double differentiate(cp_trainer *t, cp_tensor *loss) {
    if (!loss || !cp_backward(t->tape, loss, t->model->params)) return NAN;
    if (cp_trainer_injects(t, CP_FAULT_GRADIENTS)) t->model->params->at[0].grad->data[0] = (cp_real)NAN;
    return cp_grads_clip(t->model->params, t->config.clip > 0 ? t->config.clip : INFINITY);
}

static void update(cp_trainer *t) {
    const cp_trainer_config *c = &t->config;
    double                   rate =
        t->pretraining ? cp_schedule_rate(&c->first_schedule, t->step) : cp_schedule_rate(&c->schedule, t->step - c->pretrain);
    cp_optim_rate_set(t->adam, t->rate_scale * rate);
    cp_optim_step(t->adam);
    cp_ema_update(t->ema);
}

static cp_guard_verdict judge(cp_trainer *t, const double *seen) { return cp_guard_judge(&t->guard, t->step, seen); }

cp_guard_verdict cp_trainer_step(cp_trainer *t) {
    double             seen[CP_GUARD_SIGNS] = {[CP_GUARD_GAP] = NAN, [CP_GUARD_SLOPE] = NAN, [CP_GUARD_CHAINS] = NAN};
    cp_objective_terms terms;
    cp_sgld_report     report = {0};
    if (cp_trainer_injects(t, CP_FAULT_WEIGHTS)) t->model->params->at[0].value->data[0] = (cp_real)NAN;
    seen[CP_GUARD_WEIGHTS] = !cp_params_finite(t->model->params);
    if (seen[CP_GUARD_WEIGHTS] > 0) return judge(t, seen);

    const cp_method   *method = t->pretraining ? &cp_method_softmax : t->config.method;
    cp_batch           labeled = read_labeled(t);
    cp_objective_batch batch = {.labeled = t->labeled_x, .labels = labeled.labels};
    if (method->unlabeled) {
        cp_batch unlabeled = cp_batches_next((cp_tape *)NULL, t->unlabeled);
        cp_split_read(t->unlabeled->split, unlabeled.rows, unlabeled.count, t->unlabeled_x->data);
        t->unlabeled_x->lengths = cp_split_lengths(t->unlabeled->split, unlabeled.rows, unlabeled.count, t->unlabeled_lengths);
        batch.unlabeled = t->unlabeled_x;
        if (t->config.objective.pseudo > 0) guess(t, &batch);
    }
    if (method->samples) {
        draw_samples(t, &report);
        batch.samples = t->samples;
        batch.sample_labels = (cp_labels){t->sample_labels, t->config.chains};
    }
    cp_objective objective = t->config.objective;
    objective.slope *= t->step % t->config.slope_every == 0 ? t->config.slope_every : 0;
    cp_tensor *loss = cp_method_loss(t->tape, method, &objective, t->model, &batch, &terms);
    double     gradient = differentiate(t, loss);
    seen[CP_GUARD_LOSS] = terms.loss;
    seen[CP_GUARD_GRADIENT] = gradient;
    if (method->samples) {
        seen[CP_GUARD_CHAINS] = find_lost(t, &terms);
        seen[CP_GUARD_GAP] = terms.gap;
        seen[CP_GUARD_SLOPE] = report.gradient_norm * report.gradient_norm; /* known at every step, penalized or not */
    }
    cp_guard_verdict verdict = judge(t, seen);
    if (verdict == CP_GUARD_OK) {
        update(t);
        sum_up(t, &terms, gradient);
        if (method->samples) t->sums[CP_TRACE_RESTARTED] += seen[CP_GUARD_CHAINS];
    }
    if (method->samples) return_samples(t, verdict == CP_GUARD_OK);
    cp_grads_clear(t->model->params);
    cp_tape_reset(t->tape);
    t->step++;
    return verdict;
}
