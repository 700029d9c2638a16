/* Unlabeled rows in the order of how much a label should help. */
#include "experiments/kit/train/rank.h"

#include "models/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_score(const void *a, const void *b) {
    const cp_rank_row *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score) : (x->row > y->row) - (x->row < y->row);
}

/* p is room for a posterior. */
static cp_rank_row look_at(const cp_scores *s, int row, double temperature, double *p) {
    cp_rank_row r = {.row = row, .density = s->energies ? -s->energies[row] : NAN};
    double      second = 0;
    memcpy(p, s->logits + (size_t)row * (size_t)s->classes, (size_t)s->classes * sizeof *p);
    cp_softmax_row(p, s->classes, temperature);
    for (int c = 0; c < s->classes; c++) {
        if (p[c] > 0) r.entropy -= p[c] * log(p[c]);
        if (p[c] > r.p)
            second = r.p, r.p = p[c], r.best = c;
        else if (p[c] > second)
            second = p[c];
    }
    r.margin = 1 - (r.p - second);
    return r;
}

/* Adds half the share of rows with a lower score to each row's sum, which is by its number. */
static void add_shares(cp_rank_row *rows, int count, double *sums) {
    qsort(rows, (size_t)count, sizeof *rows, by_score);
    for (int i = count - 1, equal = count; i >= 0; i--) {
        if (i == count - 1 || rows[i].score != rows[i + 1].score) equal = i + 1;
        sums[rows[i].row] += 0.5 * (count - equal) / count;
    }
}

static void mix(cp_rank_row *rows, int count, double *sums) {
    for (int i = 0; i < count; i++) rows[i].score = rows[i].entropy;
    add_shares(rows, count, sums);
    for (int i = 0; i < count; i++) rows[i].score = rows[i].density;
    add_shares(rows, count, sums);
    for (int i = 0; i < count; i++) rows[i].score = sums[rows[i].row];
}

cp_rank_row *cp_rank(const cp_scores *s, double temperature, const bool *skip, cp_rank_by by, uint64_t seed, int *count,
                     cp_status *status) {
    *count = 0;
    if (!s->finite) return cp_null(cp_fail(status, "the model's outputs are not finite, so rows cannot be ranked"));
    if (!s->energies && (by == CP_RANK_DENSITY || by == CP_RANK_MIXED))
        return cp_null(
            cp_fail(status, "a softmax model has no density; take entropy or margin, or a model trained as jem or hybrid"));
    cp_rank_row *rows = malloc(((size_t)s->n + 1) * sizeof *rows);
    double      *work = calloc((size_t)s->n + (size_t)s->classes + 1, sizeof *work); /* sums (n), then a posterior (classes) */
    cp_rng       rng = cp_rng_named(seed, "rank");
    for (int i = 0; rows && work && i < s->n; i++) {
        double drawn = cp_rng_uniform(&rng);
        if (skip && skip[i]) continue;
        cp_rank_row *r = &rows[(*count)++];
        *r = look_at(s, i, temperature, work + s->n);
        r->score = by == CP_RANK_ENTROPY   ? r->entropy
                   : by == CP_RANK_MARGIN  ? r->margin
                   : by == CP_RANK_DENSITY ? r->density
                                           : drawn;
    }
    if (rows && work && by == CP_RANK_MIXED) mix(rows, *count, work);
    if (rows && work) qsort(rows, (size_t)*count, sizeof *rows, by_score);
    bool ok = rows && work;
    free(work);
    if (ok) return rows;
    free(rows);
    return cp_null(cp_fail(status, "not enough memory to rank %d rows", s->n));
}

/* The rows of the training split that the run was trained on with their labels. */
static void skip_labeled(const cp_run_model *trained, const cp_images *images, const cp_split *split, bool *skip) {
    const cp_json *labeled = cp_json_get(trained->found, "labeled");
    const char    *md5 = cp_json_string(cp_json_get(cp_json_get(trained->found, "data"), "md5"), "");
    if (!labeled || split != &images->set->splits[CP_IMAGES_TRAIN] || strcmp(md5, images->md5) != 0) return;
    for (const cp_json *n = labeled->first; n; n = n->next) {
        int64_t row = cp_json_integer(n, -1);
        if (row >= 0 && row < split->count) skip[row] = true;
    }
}

cp_rank_row *cp_rank_split(const cp_run_model *trained, const cp_images *images, int split, cp_rank_by by, uint64_t seed,
                           int *count, cp_status *status) {
    const cp_split *of = &images->set->splits[split];
    cp_scores       scores = {0};
    cp_rank_row    *rows = NULL;
    cp_tape        *tape = cp_tape_new();
    bool           *skip = calloc((size_t)of->count + 1, sizeof *skip);
    bool            ok = (tape && skip) || cp_fail(status, "not enough memory for %d rows", of->count);
    if (ok) skip_labeled(trained, images, of, skip);
    if (ok && cp_scores_make(tape, trained->model, of, &scores, status))
        rows = cp_rank(&scores, trained->temperature, skip, by, seed, count, status);
    cp_scores_free(&scores);
    cp_tape_free(tape);
    free(skip);
    return rows;
}
