/* Scores of a split. */
#include "experiments/kit/train/scores.h"

#include "experiments/kit/data/batches.h"
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>

static bool scores_alloc(cp_scores *s, bool generative) {
    size_t n = (size_t)s->n, all = n * (size_t)s->classes;
    s->logits = malloc(all * sizeof *s->logits);
    s->bayes = generative ? malloc(all * sizeof *s->bayes) : NULL;
    s->energies = generative ? malloc(n * sizeof *s->energies) : NULL;
    return s->logits && (!generative || (s->bayes && s->energies));
}

/* False after misuse, which left no tensor. */
static bool copy_out(const cp_tensor *from, double *to, bool *finite) {
    if (!from) return false;
    for (size_t i = 0; i < from->size; i++) *finite &= (bool)isfinite(to[i] = (double)from->data[i]);
    return true;
}

/* One forward pass gives all three. */
static bool score_batch(cp_tape *tape, const cp_model *model, cp_tensor *x, cp_scores *s, size_t first) {
    size_t     offset = first * (size_t)s->classes;
    cp_tensor *z = cp_net_forward(tape, model->net, x, CP_EVALUATION);
    if (!copy_out(cp_head_logits(tape, model->head, z), s->logits + offset, &s->finite)) return false;
    if (!s->bayes) return true;
    cp_tensor *negative = cp_neg(tape, cp_head_class_energy(tape, model->head, z));
    return copy_out(negative, s->bayes + offset, &s->finite) &&
           copy_out(cp_neg(tape, cp_logsumexp(tape, negative, CP_AXES(1), false)), s->energies + first, &s->finite);
}

bool cp_scores_make(cp_tape *tape, const cp_model *model, const cp_split *split, cp_scores *scores, cp_status *status) {
    *scores = (cp_scores){.n = split->count, .classes = model->config.classes, .labels = split->labels};
    cp_batches *all = cp_batches_new((cp_batches_config){.split = split, .size = 64, .in_order = true});
    bool        ok = all && scores_alloc(scores, model->head->kind->generative), computed = true, was = cp_tape_pause(tape, true);
    scores->finite = ok;
    for (size_t done = 0; ok && computed && done < (size_t)split->count;) {
        cp_batch batch = cp_batches_next(tape, all);
        computed = score_batch(tape, model, batch.x, scores, done);
        done += (size_t)batch.count;
        cp_tape_reset(tape);
    }
    cp_tape_pause(tape, was);
    cp_batches_free(all);
    if (ok && computed) return true;
    cp_scores_free(scores);
    if (ok) return cp_fail(status, "the scores of the images could not be computed: the model does not fit them");
    return cp_fail(status, "not enough memory for the scores of %d images", split->count);
}

void cp_scores_free(cp_scores *scores) {
    free(scores->logits);
    free(scores->bayes);
    free(scores->energies);
    *scores = (cp_scores){0};
}

cp_predictions cp_scores_predictions(const cp_scores *s, bool bayes, double temperature) {
    return (cp_predictions){.n = s->n,
                            .classes = s->classes,
                            .values = bayes ? s->bayes : s->logits,
                            .logits = true,
                            .temperature = temperature,
                            .labels = s->labels,
                            .groups = s->groups};
}
