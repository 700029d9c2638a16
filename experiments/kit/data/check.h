/* What is suspicious about a data set: patients and images that are in two splits, which makes test results too good. */
#pragma once

#include "experiments/kit/data/images.h"

enum { CP_CHECK_LINES = 12 };

typedef struct cp_set_check {
    char lines[CP_CHECK_LINES][300]; /* "4 patients are in train and in test, such as 17": text for a user, cleaned */
    int  count;
} cp_set_check;

/* False when there is not enough memory. Takes some milliseconds for a set of MedMNIST's size. */
bool cp_images_check(const cp_images *images, cp_set_check *check, cp_status *status);

/* Adds what a user of any set should know: splits and classes without labeled rows, and classes that are much rarer than others. */
void cp_images_check_classes(const cp_images *images, cp_set_check *check);

/* For each of `count` rows of `width` bytes the number of the first row that is the same, its own if there is none; to be freed, NULL: not
 * enough memory. */
int *cp_copies_find(const void *const *rows, size_t width, int count);
