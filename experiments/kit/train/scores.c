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

static bool copy_out(const cp_tensor *from, double *to) {
    bool finite = true;
    for (size_t i = 0; i < from->size; i++) finite &= (bool)isfinite(to[i] = (double)from->data[i]);
    return finite;
}

/* One forward pass gives all three. */
static bool score_batch(cp_tape *tape, const cp_model *model, cp_tensor *x, cp_scores *s, size_t first) {
    size_t     place = first * (size_t)s->classes;
    cp_tensor *z = cp_net_forward(tape, model->net, x, CP_EVALUATION);
    bool       finite = copy_out(cp_head_logits(tape, model->head, z), s->logits + place);
    if (!s->bayes) return finite;
    cp_tensor *negative = cp_neg(tape, cp_head_class_energy(tape, model->head, z));
    finite &= copy_out(negative, s->bayes + place);
    return copy_out(cp_neg(tape, cp_logsumexp(tape, negative, CP_AXES(1), false)), s->energies + first) && finite;
}

bool cp_scores_make(cp_tape *tape, const cp_model *model, const cp_split *split, cp_scores *scores, cp_status *status) {
    *scores = (cp_scores){.n = split->count, .classes = model->config.classes, .labels = split->labels};
    cp_batches *all = cp_batches_new((cp_batches_config){.split = split, .size = 64, .in_order = true});
    bool        ok = all && scores_alloc(scores, model->head->kind->generative);
    scores->finite = ok;
    cp_tape_pause(tape, true);
    for (size_t done = 0; ok && done < (size_t)split->count;) {
        cp_batch batch = cp_batches_next(tape, all);
        scores->finite &= score_batch(tape, model, batch.x, scores, done);
        done += (size_t)batch.count;
        cp_tape_reset(tape);
    }
    cp_tape_pause(tape, false);
    cp_batches_free(all);
    if (ok) return true;
    cp_scores_free(scores);
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
