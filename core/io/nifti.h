/* Volumes of medical images: NIfTI-1 and NIfTI-2, as .nii, .nii.gz and pairs of .hdr and .img (each with .gz or without).
 *
 *     cp_nifti volume = {0};
 *     if (cp_nifti_read("subject_flair.nii.gz", &volume, &status)) {
 *         float value = volume.values[x + volume.dims[0] * (y + volume.dims[1] * z)];
 *         ...
 *     }
 *     cp_nifti_free(&volume);
 *
 * Supported: both byte orders, all integer and real types of C (uint8 to uint64, float32, float64), and one to five axes, or more if the
 * others have length 1. Values are scl_slope * stored + scl_inter, computed in double and rounded to float; values out of range become
 * infinite. A slope of 0, or NaN for both (as nibabel writes), means no scaling; any other slope or intercept that is not finite is an
 * error. Not supported: colors, complex numbers, float128, and ANALYZE 7.5 files, which do not define left and right.
 *
 * Values are returned in canonical order (RAS+) whatever the file's order: the first axis runs to the patient's right, the second to the
 * front (anterior), the third to the top (superior). The orientation comes from the file's sform, or else its qform; oblique axes count as
 * the closest canonical axis. A form is ignored if its code is 0 or its numbers are not finite or do not span space. If both codes are 0,
 * the first axis is assumed to run to the left and the others as in canonical order; if a code is not 0 but no form is usable, that is an
 * error. The values are those of nibabel.as_closest_canonical.
 *
 * The shape in the header is compared with the size of the file, or with what a compressed file can hold, before memory is allocated. Up to
 * 64 KiB of padding may follow the values; more is an error, as are a bitpix that contradicts the datatype and values that start inside the
 * header. Memory use is that of the file, of its contents if compressed, and of the values. */
#pragma once

#include "core/io/dtype.h"

enum { CP_NIFTI_RANK = 5 };

typedef enum cp_nifti_frame { CP_NIFTI_SFORM, CP_NIFTI_QFORM, CP_NIFTI_ASSUMED } cp_nifti_frame;

typedef struct cp_nifti {
    int            version;                /* of the format: 1 or 2 */
    cp_dtype       stored;                 /* type of the values in the file */
    double         slope, intercept;       /* 1 and 0 without scaling */
    int            rank;                   /* 2 to 5, without axes of length 1 at the end */
    int            stored_rank;            /* 1 to 5, in the file */
    int64_t        dims[CP_NIFTI_RANK];    /* in canonical order: right, front, top, time, channel; 1 beyond the rank */
    double         spacing[CP_NIFTI_RANK]; /* between neighbors along these axes, in the file's units (millimeters, seconds) */
    char           orientation[4];         /* directions of the file's own axes: "LPS", "RAS" */
    cp_nifti_frame frame;                  /* source of the orientation */
    double         affine[3][4];           /* from canonical indices to the scanner's or template's millimeters */
    size_t         size;                   /* number of values */
    float         *values;                 /* owned; the first axis varies fastest */
} cp_nifti;

/* Accepts either name of a pair. Fills `volume`, or leaves it {0} with a message. */
bool cp_nifti_read(const char *path, cp_nifti *volume, cp_status *status);
bool cp_nifti_parse(const void *bytes, size_t size, const char *name, cp_nifti *volume, cp_status *status); /* .nii or .nii.gz */
void cp_nifti_free(cp_nifti *volume);                                                                       /* resets it to {0} */

/* Whether the name is that of a NIfTI file: it ends in .nii, .hdr or .img, with or without .gz, in upper or lower case. */
bool cp_nifti_named(const char *path);
