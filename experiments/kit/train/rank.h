/* What to label next: unlabeled rows in the order in which labels for them should help a model most.
 *
 *     cp_rank_row *ranked = cp_rank(&scores, temperature, skip, CP_RANK_MIXED, seed, &count, &status);
 *     for (int i = 0; i < 20 && i < count; i++) printf("%d\n", ranked[i].row);
 *     free(ranked);
 *
 * With p the scaled posterior of a row and E its energy, the rows with the largest score come first:
 *
 *     entropy   - sum_c p_c ln p_c
 *     margin    1 - (the largest p_c - the second largest)
 *     density   -E, which is ln p(x) plus a constant: the most usual rows
 *     mixed     (share of the rows with a lower entropy + share with a lower density) / 2: doubtful and usual
 *     random    a random number, to compare with */
#pragma once

#include "experiments/kit/train/run_model.h"
#include "experiments/kit/train/scores.h"

typedef enum cp_rank_by { CP_RANK_ENTROPY, CP_RANK_MARGIN, CP_RANK_DENSITY, CP_RANK_MIXED, CP_RANK_RANDOM } cp_rank_by;
#define CP_RANK_CHOICES "entropy|margin|density|mixed|random" /* for a table of options */

typedef struct cp_rank_row {
    int    row, best;       /* best: the class with the largest p_c */
    double score, p;        /* p: of that class */
    double entropy, margin; /* in the direction above */
    double density;         /* NaN: the model has no energies */
} cp_rank_row;

/* The rows of the scores whose skip[row] is false (NULL: all), best first, equal ones by their number: an array of *count to be freed. NULL
 * with a message: scores that are not finite, a density of a model without energies, or not enough memory. */
cp_rank_row *cp_rank(const cp_scores *scores, double temperature, const bool *skip, cp_rank_by by, uint64_t seed, int *count,
                     cp_status *status);

/* The same for the rows of a split, by the number of it in cp_images_splits, without those whose labels the run has used. */
cp_rank_row *cp_rank_split(const cp_run_model *trained, const cp_images *images, int split, cp_rank_by by, uint64_t seed,
                           int *count, cp_status *status);
