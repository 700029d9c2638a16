/* What the parts of `couplet brats` share: the set that is being made. */
#pragma once

#include "core/io/json.h"
#include "core/io/npz.h"
#include "experiments/kit/data/names.h"
#include "experiments/kit/volumes/patients.h"
#include "experiments/kit/volumes/slices.h"

typedef enum cp_brats_turn { CP_BRATS_TURN_AUTO, CP_BRATS_TURN_NONE, CP_BRATS_TURN_HALF } cp_brats_turn;

typedef struct cp_brats_config {
    const char      *folder;
    cp_slices_config slices;
    cp_brats_turn    turn;
    const char      *patients; /* a file with the patient of each scan, or NULL */
    int              shares[CP_IMAGES_SPLITS];
    uint64_t         seed;
    bool             quiet;
} cp_brats_config;

#define CP_BRATS_LEAN 0.005 /* heads that are less upright, or upside down, than this are not counted */

typedef struct cp_brats_counts {
    int64_t patients, slices, tumor;
} cp_brats_counts;

typedef struct cp_brats_set {
    cp_brats_config  config;
    cp_subjects     *subjects;          /* scans; several may be of one patient. left_out has all that cannot be used */
    int              scans;             /* those that are used */
    cp_slices       *slices;            /* (subjects): count 0 for those that were left out */
    cp_patient_list *listed;            /* NULL: none */
    int              listed_scans;      /* of those that are used */
    int             *patients;          /* (subjects): number of the patient; -1 for those that were left out */
    cp_names         names;             /* of the patients, by their numbers, sorted */
    int             *splits;            /* (patients): train, val or test */
    int64_t          all, all_tumor;    /* slices of the volumes that were used, and those with tumor */
    int              seen, upside_down; /* scans whose orientation can be judged, as they were read, and those upside down */
    bool             turned;            /* all slices, by 180 degrees */
} cp_brats_set;

/* Finds and reads all subjects, and splits the patients. After false (an error, or Ctrl-C without a message) the set holds what
 * was found so far, such as the subjects left out; it must still be freed. */
bool cp_brats_gather(const cp_brats_config *config, cp_brats_set *set, cp_status *status);
void cp_brats_free(cp_brats_set *set);

cp_brats_counts cp_brats_count(const cp_brats_set *set, int split); /* CP_IMAGES_SPLITS: all of them */

/* All arrays of the file, after which the set has no pixels any more; errors are reported by the writer's commit, except for a lack
 * of memory. */
bool cp_brats_add_arrays(cp_brats_set *set, cp_npz_writer *writer, cp_status *status);

void cp_brats_put_left_out(const cp_brats_set *set, cp_json_writer *writer); /* "left_out": [{"name": ..., "reason": ...}] */
