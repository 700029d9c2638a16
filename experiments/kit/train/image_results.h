/* What the results of commands on images share: metrics as a table and as reliability diagrams, the data's description. */
#pragma once

#include "experiments/kit/data/images.h"
#include "experiments/kit/metrics/metrics.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/run.h"

/* One way to predict, measured on a split: a row of the table, a column of the diagram. */
typedef struct cp_measured {
    const char *name;    /* of its object in result.json: "scaled" */
    const char *title;   /* for people: "selected, scaled" */
    cp_metrics *metrics; /* NULL: it is left out everywhere */
} cp_measured;

void cp_measured_put(int count, const cp_measured *all, cp_json_writer *writer, const char *key); /* an object each */

/* Point estimates, a row each; where there are patients, one more below it by patient. */
cp_table *cp_measured_table(int count, const cp_measured *all, const char *split);

/* Of metrics by patient, for a sentence: "44 patients", "1 patient"; and what "by patient" means, as a sentence. */
typedef struct cp_patients_text {
    char s[32];
} cp_patients_text;
cp_patients_text cp_patients_of(const cp_metrics *metrics);
const char      *cp_patients_few(const cp_metrics *metrics); /* behind a sentence about intervals; "" from ten patients on */
#define CP_BY_PATIENT                                                                                                              \
    "By image every image counts the same, by patient every patient, whatever the number of its images; intervals are over "       \
    "patients."

/* The reliability diagrams next to each other, and below each the histogram of the confidence with lines at its mean and at the
 * accuracy, as figure "reliability" of the run. */
bool cp_measured_draw(int count, const cp_measured *all, const char *split, const cp_run *run, cp_status *status);

/* "data": {"name":, "md5":, "official":, "origin":, "classes":, "shape": [H, W, C] (or [D], [T, D]), "train":, "val":, "test":}. */
void cp_images_put(const cp_images *images, cp_json_writer *writer, const char *key);

/* Writes a table into the result, prints it (file may be NULL) and frees it. */
void cp_table_conclude(cp_table *table, cp_json_writer *writer, const char *key, FILE *file);

/* cp_run_finish, which also prints where the results are. */
bool cp_run_conclude(cp_run *run, cp_json_writer *result);

/* Adds a sentence to an array of the result and prints it; file may be NULL. */
void cp_note_put(cp_json_writer *writer, FILE *file, const char *format, ...) __attribute__((format(printf, 3, 4)));
