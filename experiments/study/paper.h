/* The paper's figures for MedMNIST: mean and standard deviation over ten draws with 1 and 10 labels per class, at the end of
 * training. */
#pragma once

#include "experiments/kit/metrics/stats.h"
#include "experiments/kit/train/method.h"

typedef struct cp_paper_cell {
    cp_mean_sd accuracy, ece; /* in percent */
} cp_paper_cell;

/* "Blood" of "bloodmnist" or "bloodmnist_rebuilt"; NULL: none of the paper's six. */
const char *cp_paper_set(const char *data_name);

/* NULL when the paper has no such figure. */
const cp_paper_cell *cp_paper_find(const char *data_name, int64_t labels, const cp_method *method);
