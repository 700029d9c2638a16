/* Volumes of medical images: NIfTI-1 and NIfTI-2, as .nii, .nii.gz and pairs of .hdr and .img (each with .gz or without).
 *
 *     cp_nifti volume = {0};
 *     if (cp_nifti_read("subject_flair.nii.gz", &volume, &status)) {
 *         float value = volume.values[x + volume.dims[0] * (y + volume.dims[1] * z)];
 *         ...
 *     }
 *     cp_nifti_free(&volume);
 *
 * Read: either byte order, all types of whole and real numbers that C has (uint8 to uint64, float32, float64), one to five axes, and more
 * where those beyond are of length 1. Values are scl_slope * stored + scl_inter, computed in double and rounded to float, to which what is
 * beyond float's range is infinite. A slope of 0, or NaN for both, which is what nibabel writes, means that nothing is scaled; any other
 * slope or intercept that is not finite is an error. Refused by name: colors, complex numbers, float128, and ANALYZE 7.5 files, which do not
 * tell left from right.
 *
 * Whatever the file's order, values come out in the canonical one (RAS+): the first axis grows to the patient's right, the second
 * to the front (anterior), the third to the top (superior). Where the axes lie follows from the file's sform, else its qform; oblique axes
 * count as the ones that they are closest to. A form whose code is 0, or whose numbers are not finite or do not span space, is passed over.
 * When both codes are 0 the first axis is taken to grow to the left, the others as in canonical order; when a code is not 0 but no form can
 * be used, that is an error. In all this values come out as nibabel.as_closest_canonical has them.
 *
 * A file is not believed: its shape is compared with what it holds, or can hold when it is compressed, before memory is taken. Up to 64 KiB
 * may follow the values, as padding; more is an error, and so are a header whose bitpix contradicts its datatype and values that begin
 * inside the header. Memory in use is that of the file, of its contents when it is compressed, and of the values. */
#ifndef CP_IO_NIFTI_H
#define CP_IO_NIFTI_H

#include "core/io/dtype.h"

enum { CP_NIFTI_RANK = 5 };

typedef enum cp_nifti_frame { CP_NIFTI_SFORM, CP_NIFTI_QFORM, CP_NIFTI_ASSUMED } cp_nifti_frame;

typedef struct cp_nifti {
    int            version;                /* of the format: 1 or 2 */
    cp_dtype       stored;                 /* type of the values in the file */
    double         slope, intercept;       /* 1 and 0 when nothing is scaled */
    int            rank;                   /* 2 to 5: axes of length 1 at the end are not counted */
    int            stored_rank;            /* 1 to 5: as the file counts them */
    int64_t        dims[CP_NIFTI_RANK];    /* in canonical order: right, front, top, time, channel; 1 beyond the rank */
    double         spacing[CP_NIFTI_RANK]; /* of neighbors along these axes, in the file's units (millimeters, seconds) */
    char           orientation[4];         /* where the file's own axes grow to: "LPS", "RAS" */
    cp_nifti_frame frame;                  /* what that was taken from */
    double         affine[3][4];           /* from canonical indices to the scanner's or template's millimeters */
    size_t         size;                   /* number of values */
    float         *values;                 /* owned; the first axis is the fastest */
} cp_nifti;

/* Either name of a pair will do. Fills `volume` or leaves it {0} and tells why. */
bool cp_nifti_read(const char *path, cp_nifti *volume, cp_status *status);
bool cp_nifti_parse(const void *bytes, size_t size, const char *name, cp_nifti *volume, cp_status *status); /* .nii or .nii.gz */
void cp_nifti_free(cp_nifti *volume);                                                                       /* back to {0} */

/* Whether a file of this name would be read: it ends in .nii, .hdr or .img, with or without .gz, in upper or lower case. */
bool cp_nifti_named(const char *path);

#endif
