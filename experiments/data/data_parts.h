/* What the parts of `couplet data` share. */
#ifndef CP_EXPERIMENTS_DATA_PARTS_H
#define CP_EXPERIMENTS_DATA_PARTS_H

#include "core/io/json.h"
#include "experiments/kit/data/images.h"
#include "experiments/kit/report/table.h"

typedef struct cp_data_summary {
    double min, max, mean, sd; /* of what is finite; NaN when nothing is */
    size_t not_finite;
} cp_data_summary;

cp_data_summary cp_data_summarize(cp_dtype dtype, const void *data, size_t count);
void            cp_data_put_summary(cp_json_writer *writer, const cp_data_summary *summary); /* four members */
void            cp_data_show_summary(cp_table *table, const cp_data_summary *summary);       /* four cells */

bool cp_data_print_json(cp_json_writer *writer, cp_status *status);

/* All about an image set, as text or JSON. `path` is what it was loaded from. */
bool cp_data_show_images(const cp_images *images, const char *path, bool json, cp_status *status);

/* All about a NIfTI volume, whose values go to the file `npy` unless that is NULL. */
bool cp_data_show_nifti(const char *path, const char *npy, bool json, cp_status *status);

void cp_data_print_made(const cp_json *made); /* what a set tells about its making: settings, patients, who was left out */

#endif
