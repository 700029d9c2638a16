/* How the axes of a NIfTI file lie in the patient. */
#include "core/io/nifti_format.h"

#include <math.h>
#include <string.h>

typedef double matrix[3][3];

static double determinant(matrix m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The directions of the axes without their lengths and shear: the orthogonal matrix closest to the affine's columns of unit length, by
 * Newton's iteration R <- (R + R^-T) / 2. False when the columns do not span space or are not finite. */
static bool rotation_of(double affine[3][4], matrix r) {
    enum { STEPS = 100 };
    const double min_volume = 1e-9;
    for (int j = 0; j < 3; j++) {
        double largest = 0, squares = 0; /* the largest first, so that no square overflows */
        for (int i = 0; i < 3; i++) {
            if (!isfinite(affine[i][j])) return false;
            largest = fmax(largest, fabs(affine[i][j]));
        }
        if (!(largest > 0)) return false;
        for (int i = 0; i < 3; i++) r[i][j] = affine[i][j] / largest, squares += r[i][j] * r[i][j];
        for (int i = 0; i < 3; i++) r[i][j] /= sqrt(squares);
    }
    double volume = determinant(r), change = 1;
    for (int step = 0; step < STEPS && change > 1e-15 && fabs(volume) > min_volume; step++, volume = determinant(r)) {
        matrix next;
        change = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                int    a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
                double cofactor = r[a][c] * r[b][d] - r[a][d] * r[b][c];
                next[i][j] = (r[i][j] + cofactor / volume) / 2;
                change = fmax(change, fabs(next[i][j] - r[i][j]));
            }
        memcpy(r, next, sizeof next);
    }
    return fabs(volume) > min_volume;
}

/* Lengths as nibabel mends them: their sign means nothing, and 0 is 1. */
static double mended(double length) {
    return length == 0 ? 1 : fabs(length);
}

/* Of the quaternion a + b i + c j + d k, where a follows from the others. False for others than of length 1, to rounding. */
static bool qform_affine(const cp_nifti_header *h, double affine[3][4]) {
    double b = h->quatern[0], c = h->quatern[1], d = h->quatern[2], rest = 1 - (b * b + c * c + d * d);
    if (!(rest > -1e-3)) return false;
    double       a = sqrt(fmax(rest, 0)), s = 2 / (a * a + b * b + c * c + d * d);
    const matrix turn = {{1 - s * (c * c + d * d), s * (b * c - a * d), s * (b * d + a * c)},
                         {s * (b * c + a * d), 1 - s * (b * b + d * d), s * (c * d - a * b)},
                         {s * (b * d - a * c), s * (c * d + a * b), 1 - s * (b * b + c * c)}};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) affine[i][j] = turn[i][j] * mended(h->spacing[j]) * (j == 2 && h->handedness == -1 ? -1 : 1);
        affine[i][3] = h->qoffset[i];
    }
    return true;
}

/* As nibabel has it, and ANALYZE's files mostly are: the first axis grows to the left. The middle is the origin. */
static void assumed_affine(const cp_nifti_header *h, double affine[3][4]) {
    memset(affine, 0, 3 * sizeof *affine);
    for (int i = 0; i < 3; i++) {
        affine[i][i] = (i == 0 ? -1 : 1) * (i < h->rank ? mended(h->spacing[i]) : 1);
        affine[i][3] = -affine[i][i] * (double)(h->dims[i] - 1) / 2;
    }
}

static bool is_usable(double affine[3][4], matrix rotation) {
    return isfinite(affine[0][3]) && isfinite(affine[1][3]) && isfinite(affine[2][3]) && rotation_of(affine, rotation);
}

/* The first form that can be used, and its rotation. */
static bool find_frame(const cp_nifti_header *h, cp_nifti_axes *axes, matrix rotation) {
    axes->frame = CP_NIFTI_SFORM;
    memcpy(axes->affine, h->sform, sizeof axes->affine);
    if (h->sform_code > 0 && is_usable(axes->affine, rotation)) return true;
    axes->frame = CP_NIFTI_QFORM;
    if (h->qform_code > 0 && qform_affine(h, axes->affine) && is_usable(axes->affine, rotation)) return true;
    axes->frame = CP_NIFTI_ASSUMED;
    assumed_affine(h, axes->affine);
    return h->sform_code <= 0 && h->qform_code <= 0 && is_usable(axes->affine, rotation);
}

/* Each of the file's axes in turn takes the direction, of those left, that it is closest to: as nibabel does. */
bool cp_nifti_orient(const cp_nifti_header *h, const char *name, cp_nifti_axes *axes, cp_status *status) {
    matrix rotation;
    bool   taken[3] = {false};
    if (!find_frame(h, axes, rotation))
        return cp_damaged(
            status,
            "%.300s: where the axes lie is not known: %s; expected are finite numbers and axes that span space. Mend the "
            "header, or set both codes to 0",
            name,
            h->sform_code > 0   ? "the sform cannot be used, and no usable qform is there"
            : h->qform_code > 0 ? "the qform cannot be used"
                                : "the distances in pixdim cannot be used");
    for (int j = 0; j < 3; j++) {
        int best = -1;
        for (int i = 0; i < 3; i++)
            if (!taken[i] && (best < 0 || fabs(rotation[i][j]) > fabs(rotation[best][j]))) best = i;
        taken[best] = true;
        axes->from[best] = j;
        axes->flip[best] = rotation[best][j] < 0;
    }
    return true;
}
