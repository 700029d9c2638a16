/* Small NIfTI files for tests: a head, narrower in front, with a tumor, drawn in canonical coordinates and written in any orientation. */
#ifndef CP_TEST_BRAIN_VOLUME_H
#define CP_TEST_BRAIN_VOLUME_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct brain_volume {
    int         dims[3];           /* in canonical order: right, front, top */
    double      spacing[3];        /* the same */
    const char *orientation;       /* the directions of the file's axes: "LPS" */
    int         seed;              /* position and size of the tumor; below 0: no tumor */
    double      background, scale; /* of the intensities */
    bool        turned;            /* by 180 degrees, contrary to the header */
    bool        seg;               /* the annotation instead of the intensities: 0, 1 and 4 */
} brain_volume;

static inline bool inside(const double p[3], double x, double y, double z, double rx, double ry, double rz) {
    double a = (p[0] - x) / rx, b = (p[1] - y) / ry, c = (p[2] - z) / rz;
    return a * a + b * b + c * c < 1;
}

/* At a point in [-1, 1]^3. */
static inline double brain_value(const brain_volume *v, const double p[3]) {
    int    k = v->seed < 0 ? 0 : v->seed;
    double x = 0.25 + 0.02 * (k % 5), y = 0.2 - 0.1 * (k % 3), z = 0.1 * (k % 4) - 0.1, r = 0.14 + 0.02 * (k % 4);
    bool   tumor = v->seed >= 0 && inside(p, x, y, z, r, r, 1.6 * r), core = tumor && inside(p, x, y, z, r / 2, r / 2, r);
    if (v->seg) return core ? 4 : tumor;
    if (!inside(p, 0, 0, 0, 0.7 - 0.12 * p[1], 0.85, 0.8)) return v->background;
    double tissue = inside(p, 0, 0.1, 0, 0.12, 0.3, 0.3) ? 0.3 : 0.5 + 0.1 * p[1] + 0.05 * p[0] + 0.02 * sin(9 * p[2] + k);
    return v->background + v->scale * (core ? 1.2 : tumor ? 1 : tissue);
}

/* Float32 intensities, or uint8 annotations, as the file NAME.nii. False if it cannot be written. */
static inline bool brain_write(const char *path, const brain_volume *v) {
    unsigned char header[352] = {0};
    int           axis[3], file_dims[3];
    bool          reversed[3];
    float         sform[3][4] = {{0}}, one = 1, offset = 352;
    for (int i = 0; i < 3; i++) {
        axis[i] = strchr("RL", v->orientation[i]) ? 0 : strchr("AP", v->orientation[i]) ? 1 : 2;
        reversed[i] = strchr("LPI", v->orientation[i]) != NULL;
        file_dims[i] = v->dims[axis[i]];
        sform[axis[i]][i] = (float)(reversed[i] ? -v->spacing[axis[i]] : v->spacing[axis[i]]);
        if (reversed[i]) sform[axis[i]][3] = (float)((file_dims[i] - 1) * v->spacing[axis[i]]);
    }
    int32_t size = 348;
    int16_t shape[8] = {3, (int16_t)file_dims[0], (int16_t)file_dims[1], (int16_t)file_dims[2], 1, 1, 1, 1};
    int16_t type = v->seg ? 2 : 16, bits = v->seg ? 8 : 32, code = 1;
    float   pixdim[8] = {1, (float)v->spacing[axis[0]], (float)v->spacing[axis[1]], (float)v->spacing[axis[2]], 1, 1, 1, 1};
    memcpy(header, &size, 4);
    memcpy(header + 40, shape, sizeof shape);
    memcpy(header + 70, &type, 2);
    memcpy(header + 72, &bits, 2);
    memcpy(header + 76, pixdim, sizeof pixdim);
    memcpy(header + 108, &offset, 4);
    memcpy(header + 112, &one, 4);
    memcpy(header + 254, &code, 2);
    memcpy(header + 280, sform, sizeof sform);
    memcpy(header + 344, "n+1", 4);
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool ok = fwrite(header, sizeof header, 1, file) == 1;
    for (int c = 0; c < file_dims[2]; c++)
        for (int b = 0; b < file_dims[1]; b++)
            for (int a = 0; a < file_dims[0]; a++) {
                int    at[3] = {a, b, c};
                double p[3];
                for (int i = 0; i < 3; i++) {
                    int n = file_dims[i], k = reversed[i] ? n - 1 - at[i] : at[i];
                    p[axis[i]] = n > 1 ? 2.0 * k / (n - 1) - 1 : 0;
                }
                if (v->turned) p[0] = -p[0], p[1] = -p[1];
                double  value = brain_value(v, p);
                float   real = (float)value;
                uint8_t byte = (uint8_t)value;
                ok = (v->seg ? fwrite(&byte, 1, 1, file) : fwrite(&real, 4, 1, file)) == 1 && ok;
            }
    return fclose(file) == 0 && ok;
}

#endif
