/* Patients: which patient a scan belongs to, and a split that keeps each patient's scans together. */
#pragma once

#include "core/error.h"
#include "core/random.h"
#include "experiments/kit/data/images.h"

/* The number of characters in a scan's name that name the patient. Scans of one patient that were made at different times have
 *
 *   BraTS-GLI-00000-000     letters, digits, digits behind "BraTS-": all but the last part        BraTS-GLI-00000
 *   TCGA_CS_4941_19960909   eight digits behind "TCGA" and two parts, by '_' or '-': the date     TCGA_CS_4941
 *   brats_2013_pat0001_1    "_pat" and digits, '_', digits at the end: all but the last part      brats_2013_pat0001
 *   Brats18_TCIA01_131_1    "Brats17", 18 or 19, two parts, '_', digits at the end: all but the last part   Brats18_TCIA01_131
 *   sub-01_ses-1            "sub-" and letters or digits: that part                               sub-01
 *   anything else           the whole name is one patient's
 *
 * where the words may be in upper or lower case. 0 when there is no memory to compare. */
size_t cp_patient_length(const char *scan);

/* The patients of scans, from a file of lines SCAN,PATIENT. Blank lines are skipped, and blanks and quotes around the two; a first line
 * that ends in ",patient" is a heading. NULL, with the line, when one does not have two parts or gives a scan another patient. */
typedef struct cp_patient_list cp_patient_list;
cp_patient_list               *cp_patient_list_read(const char *path, cp_status *status);
const char *cp_patient_listed(const cp_patient_list *list, const char *scan); /* NULL when it is not there, or list is NULL */
void        cp_patient_list_free(cp_patient_list *list);                      /* NULL is allowed */

/* Reads three shares, "70/10/20"; they may be 0, but not all. False with a message that begins with the text. */
bool cp_patients_shares(const char *text, int shares[CP_IMAGES_SPLITS], cp_status *status);

/* How many of `patients` go to train, val and test: by the shares, rounded by largest remainder, the earlier first; a split with a share
 * that would be empty takes one from the largest, and when there are too few patients for all, the largest shares get them. Shares of 70, 10
 * and 20 make 154/22/44 of 220, 4/1/1 of 6 and 1/0/1 of 2. */
void cp_patients_counts(int patients, const int shares[CP_IMAGES_SPLITS], int counts[CP_IMAGES_SPLITS]);

/* The split of each of `patients` into `splits`: the first in a random order are train, then come val and test. False when there is no
 * memory. */
bool cp_patients_split(int patients, const int shares[CP_IMAGES_SPLITS], cp_rng *rng, int *splits, cp_status *status);
