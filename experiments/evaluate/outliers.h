/* Outlier detection, a part of `couplet evaluate`: three scores, and how well each tells the images of one set from another's.
 *
 *   posterior   max_c p(c|x) of the softmax, with the run's temperature
 *   energy      logsumexp_c of the logits, the classifier's negative free energy (Liu et al. 2020); a softmax model has it too
 *   density     -E(x) = log p(x) + a constant, of the generative model. A jem model's is the energy itself, and is left out */
#ifndef CP_EXPERIMENTS_OUTLIERS_H
#define CP_EXPERIMENTS_OUTLIERS_H

#include "experiments/evaluate/evaluate.h"

bool cp_outliers_measure(cp_evaluation *e, cp_status *status); /* from both sets' scores */

void cp_outliers_put(const cp_evaluation *e, cp_json_writer *writer, FILE *file);       /* "ood" and its table */
void cp_outliers_put_notes(const cp_evaluation *e, cp_json_writer *writer, FILE *file); /* the directions */

#endif
