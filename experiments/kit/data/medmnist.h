/* MedMNIST's files: how to recognize and download them. */
#pragma once

#include "core/error.h"

/* The sets of 28 x 28 images with one label each. */
typedef struct cp_medmnist {
    const char        *name;            /* "pneumoniamnist": its file is NAME.npz */
    const char        *md5;             /* of the file, in hexadecimal */
    const char        *md5_before_2024; /* NULL: it has not changed */
    int                classes;
    const char *const *class_names; /* (classes) */
} cp_medmnist;

enum { CP_MEDMNIST_SETS = 11 };
extern const cp_medmnist cp_medmnist_sets[CP_MEDMNIST_SETS];

const cp_medmnist *cp_medmnist_find(const char *name); /* NULL: there is none */

/* The set of a file with that md5, or NULL; also whether it is the file from before 2024. */
const cp_medmnist *cp_medmnist_of_md5(const char *md5, bool *before_2024);

cp_text cp_medmnist_where(const cp_medmnist *set);

/* Brings the set's file to `file`, a path shorter than CP_MEDMNIST_PATH, by curl or wget: under another name first, and under its
 * own once the md5 is right. An existing file is left as it is; it is accepted when its md5 is right. */
enum { CP_MEDMNIST_PATH = 1024 };
bool cp_medmnist_fetch(const cp_medmnist *set, const char *file, bool *already, cp_status *status);
