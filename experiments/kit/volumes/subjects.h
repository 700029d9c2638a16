/* Subjects of brain-tumor studies in a folder tree, by the file names of all years of BraTS.
 *
 *     cp_subjects *found = cp_subjects_find("MICCAI_BraTS2020", 1 << CP_SCAN_FLAIR | 1 << CP_SCAN_SEG, &status);
 *     cp_nifti_read(found->at[0].paths[CP_SCAN_FLAIR], ...);
 *     cp_subjects_free(found);
 *
 * A file is NAME_flair.nii.gz: the subject's name, '_' or '-', what the scan is, and one of the endings .nii.gz, .nii and
 * .hdr (of a pair; its .img is found by the reader). Scans are called
 *
 *   flair  flair, t2f        t1  t1, t1n        t1ce  t1ce, t1gd, t1c        t2  t2, t2w        seg  seg
 *
 * in upper or lower case. A file called just flair.nii.gz takes its subject's name from its folder. Files lie at any
 * depth. Links are followed, no folder is searched twice, and names that begin with a dot are skipped. */
#pragma once

#include "core/error.h"

typedef enum cp_scan { CP_SCAN_FLAIR, CP_SCAN_T1, CP_SCAN_T1CE, CP_SCAN_T2, CP_SCAN_SEG, CP_SCANS } cp_scan;
extern const char *const cp_scan_names[CP_SCANS]; /* "flair", "t1", "t1ce", "t2", "seg" */

typedef struct cp_subject {
    char *name;
    char *paths[CP_SCANS]; /* of the needed scans; NULL for others */
} cp_subject;

/* A remark on a subject, or on a folder that cannot be read. */
typedef struct cp_subject_note {
    char *name, *text;
} cp_subject_note;

typedef struct cp_subject_notes {
    cp_subject_note *at;
    int              count;
} cp_subject_notes;

typedef struct cp_subjects {
    cp_subject      *at; /* those that have all needed scans, by name */
    int              count;
    cp_subject_notes left_out; /* those that lack some, and folders that cannot be read, with the reason */
    cp_subject_notes unused;   /* the second file of a scan: the text is its path */
    int              volumes;  /* files with one of the endings, whatever their names */
} cp_subjects;

/* `needed` has bit 1 << s for each scan s that a subject must have. The order does not depend on the file system. When a subject
 * is in several folders, the first (by name) that has all of it counts; when none has, each scan comes from the first that has
 * it. Of .nii.gz, .nii and .hdr in one folder the earlier in this list counts. NULL when the folder cannot be read. A tree
 * without subjects gives none. */
cp_subjects *cp_subjects_find(const char *folder, unsigned needed, cp_status *status);
void         cp_subjects_free(cp_subjects *subjects); /* NULL is allowed */

/* Adds a note with copies of both texts; false when there is no memory. */
bool cp_subject_note_add(cp_subject_notes *notes, const char *name, const char *text);

/* The scan of that name, or CP_SCANS; "t2f" is "flair". `length` characters are read. */
cp_scan cp_scan_named(const char *name, size_t length);
