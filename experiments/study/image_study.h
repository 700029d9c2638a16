/* What the files of `couplet study` share: image_study.c is the command and its plan, the others show the results. */
#pragma once

#include "experiments/kit/data/images.h"
#include "experiments/kit/run/study.h"
#include "experiments/kit/train/method.h"

/* ---- the plan ---- */

typedef struct cp_study_set {
    const char *path;
    char        name[64], title[96]; /* "bloodmnist_rebuilt", "Blood (rebuilt)" */
    char        md5[33];
    cp_images  *images;  /* while the plan is checked */
    bool        missing; /* the file is missing or damaged, but the study has results of it */
    bool        shares_title;
    bool        rows; /* of tables or sequences: there are no pictures of samples */
} cp_study_set;

typedef struct cp_study_case {
    const struct cp_image_study *study;
    const cp_study_set          *set;
    int64_t                      labels;
    const cp_method             *method;
    const char                  *value; /* value: of the sweep; "": there is none, or the method does not read it */
    char                         name[160];
} cp_study_case;

typedef struct cp_image_study {
    const cp_options *options;
    cp_runs          *stored; /* what the study's folder has; NULL: no folder was given */
    cp_study_set     *sets;   /* in the order of the command line, without those that are left out */
    int               set_count, left_out;
    int64_t          *labels, *seeds;
    int               label_count, seed_count;
    const cp_method  *methods[CP_METHODS_MAX];
    int               method_count;
    cp_words          values;    /* one that is "" when nothing is swept */
    char              swept[40]; /* the option, or ""; "rule" with --active, whose rules are the values */
    bool              active;    /* the first of labels are drawn, the others chosen by the run before */
    const char       *split;     /* of the tables: "test" or "validation" */
    cp_study_case    *of;
    cp_case          *cases; /* by set, labels, value and method, the last fastest */
    int               case_count;
    cp_measure       *measures; /* all; those that are not of the split are secondary */
    cp_study         *study;
} cp_image_study;

/* Another option's value than "" for cases of that method and number of labels, by their place in the lists. */
bool cp_image_study_has_values(const cp_image_study *s, int labels, const cp_method *method);

int cp_image_study_case(const cp_image_study *s, const cp_study_set *set, int64_t labels, const char *value,
                        const cp_method *method);

/* The options of train that were given, which all trials share. */
void cp_image_study_settings(const cp_image_study *s, cp_words *words);

void cp_image_study_read(cp_trial *trial, const cp_json *result); /* the numbers of a run's result */

/* ---- the results ---- */

cp_measure *cp_image_study_measures(const char *split); /* to be freed; NULL: not enough memory */

/* The measure of the study's split: "test_end_accuracy". */
cp_text cp_image_study_measure(const cp_image_study *s, const char *view, const char *metric);

bool cp_image_study_write(cp_image_study *s, cp_status *status); /* tables, as files too */
bool cp_image_study_draw(cp_image_study *s);                     /* figures */
void cp_image_study_sample(cp_image_study *s);                   /* pictures of samples, a run of `couplet generate` each */
