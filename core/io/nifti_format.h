/* The parts of the NIfTI reader: what a header says, and how its axes lie. */
#ifndef CP_IO_NIFTI_FORMAT_H
#define CP_IO_NIFTI_FORMAT_H

#include "core/io/nifti.h"

enum { CP_NIFTI_HEADER_MAX = 540, CP_NIFTI_FILE_RANK = 7 };

typedef struct cp_nifti_header {
    int      version;
    bool     big_endian;
    bool     alone; /* the values are in the same file, not in the other one of a pair */
    cp_dtype dtype;
    int      rank;                     /* dim[0] */
    int64_t  dims[CP_NIFTI_FILE_RANK]; /* 1 beyond the rank */
    size_t   count;                    /* of values */
    size_t   offset;                   /* where they begin */
    double   slope, intercept;
    double   handedness;                  /* pixdim[0] */
    double   spacing[CP_NIFTI_FILE_RANK]; /* the rest of pixdim */
    int      qform_code, sform_code;
    double   quatern[3], qoffset[3];
    double   sform[3][4];
} cp_nifti_header;

/* From the first bytes of a file: all of it, or at least CP_NIFTI_HEADER_MAX. The product of the dims, as values of the file's type
 * and as floats, can be addressed, and so can the place where it ends. */
bool cp_nifti_header_parse(const unsigned char *bytes, size_t size, const char *name, cp_nifti_header *header, cp_status *status);

/* Canonical axis k is the file's axis `from[k]`, counted backward where `flip[k]`. */
typedef struct cp_nifti_axes {
    cp_nifti_frame frame;
    int            from[3];
    bool           flip[3];
    double         affine[3][4]; /* of the file's own indices */
} cp_nifti_axes;

bool cp_nifti_orient(const cp_nifti_header *header, const char *name, cp_nifti_axes *axes, cp_status *status);

#endif
