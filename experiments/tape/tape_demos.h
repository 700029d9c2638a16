/* Small computations whose tapes are worth looking at. */
#pragma once

#include "models/model.h"

enum { CP_TAPE_DEMO_LEAVES = 64 };

typedef struct cp_tape_demo_record {
    cp_tensor *loss;
    cp_tensor *leaves[CP_TAPE_DEMO_LEAVES]; /* what the gradient is asked for */
    int        leaf_count;
    cp_model  *model; /* or NULL; to be freed after the tape */
} cp_tape_demo_record;

typedef struct cp_tape_demo {
    const char *name, *about;
    void (*record)(cp_tape *tape, cp_tape_demo_record *r);
} cp_tape_demo;

extern const cp_tape_demo cp_tape_demos[]; /* up to one without a name */

extern const char *const cp_tape_demos_file;     /* the source file, as nodes name it */
extern const char        cp_tape_demos_source[]; /* its text, which the build puts here */
