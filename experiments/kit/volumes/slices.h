/* Slices of brain volumes as small images.
 *
 * BRAIN (in a volume that was not skull-stripped: the head) is what lies clearly above the background: voxels above
 *
 *     p2 + 0.15 (p98 - p2)
 *
 * with the 2nd and 98th percentile of all voxels that are finite, whether the background is 0, a negative number or noise. Where
 * more than half of them have one value above p2, such as 0 among z-scores, that value is the background and all others are brain.
 * Percentiles are those of kit/metrics/stats.h.
 *
 * INTENSITIES become (v - low) / (high - low), clamped to [0, 1], with percentiles of the volume's brain as low
 * and high; voxels that are not finite become 0. (If low = high, voxels of at least that value become 1 and others 0.)
 *
 * SLICES are axial, numbered from the lowest (z = 0), and shown as radiologists do: the front at the top, the patient's right at
 * the left. They are padded with 0 to a square in millimeters and averaged to size x size pixels (resize.h), which are stored as the
 * nearest bytes to 255 times their value.
 *
 * WHICH SIDE IS UP: some files are wrong about where the front is. A head is narrower in front, so that in an upright slice the
 * mean row, each weighing as much as its head is wide (from the first to the last voxel above 0.1), lies below the middle of its rows.
 * `upright` is by how much, as a share of the volume's rows and averaged with the slices weighted by their number of such voxels:
 * usually above 0 for upright heads and below 0 for heads that are upside down. Single heads can be wrong. */
#pragma once

#include "core/io/nifti.h"
#include "experiments/kit/data/images.h"
#include "experiments/kit/volumes/subjects.h"

typedef struct cp_slices_config {
    int     channels;                  /* 1 to 4 */
    cp_scan scans[CP_IMAGES_CHANNELS]; /* of each channel */
    int     size;                      /* of the images: pixels of a side */
    int64_t tumor;                     /* minimum number of annotated voxels in a slice with tumor */
    double  brain;                     /* percent of the slice's voxels that are brain; slices with less are left out */
    double  low, high;                 /* percentiles of the brain's intensities, such as 1 and 99.5 */
} cp_slices_config;

typedef struct cp_slices {
    int      count;          /* slices that were kept */
    uint8_t *pixels;         /* (count, size, size, channels) */
    uint8_t *labels;         /* (count): 1 with tumor, else 0 */
    int32_t *levels;         /* (count): z */
    int      all, all_tumor; /* slices of the volume, and those with tumor */
    double   upright;        /* see the top; NaN when it cannot be determined */
} cp_slices;

/* Reads a subject's files one after the other, so that one volume is in memory at a time. Slices are left out by the brain in the
 * first channel. False, with `slices` {0}, when a file cannot be read, is not a volume, or has
 * another shape or spacing than seg or, when its axes are in another order, lies more than a voxel away by its header. */
bool cp_slices_read(const cp_subject *subject, const cp_slices_config *config, cp_slices *slices, cp_status *status);
void cp_slices_free(cp_slices *slices); /* back to {0} */

void cp_slices_turn(cp_slices *slices, const cp_slices_config *config); /* by 180 degrees */

typedef struct cp_brain {
    float threshold; /* brain is above it */
    float low, high; /* what becomes 0 and 1 */
} cp_brain;

/* Voxels of a background above p2 become NaN. False when nothing is brain: all voxels are equal, or not finite. */
bool cp_brain_find(float *values, size_t count, double low, double high, cp_brain *brain);
