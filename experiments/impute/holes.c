/* Images with missing pixels. */
#include "experiments/impute/holes.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cp_holes_free(cp_holes *h) {
    free(h->images);
    free(h->missing);
    free(h->lengths);
    cp_npy_free(&h->given);
    *h = (cp_holes){0};
}

static bool holes_alloc(cp_holes *h, int count, cp_shape shape, cp_status *status) {
    size_t values, all, pixels;
    *h = (cp_holes){.count = count, .shape = shape, .truth = true};
    bool fits = cp_shape_size(shape, &h->values);
    h->unit = shape.rank == 3 ? (size_t)shape.dims[2] : 1;
    h->pixels = h->values / h->unit;
    fits = fits && cp_size_mul((size_t)count, h->values, &values) && cp_size_mul(values, sizeof *h->images, &all) &&
           cp_size_mul((size_t)count, h->pixels, &pixels);
    h->images = fits ? malloc(all) : NULL;
    h->missing = fits ? calloc(pixels, sizeof *h->missing) : NULL;
    if (h->images && h->missing) return true;
    cp_holes_free(h);
    return cp_fail(status, "not enough memory for %d images", count);
}

static bool count_missing(cp_holes *h, const char *what, cp_status *status) {
    for (int i = 0; i < h->count; i++) {
        size_t here = 0;
        for (size_t p = 0; p < h->pixels; p++) here += h->missing[(size_t)i * h->pixels + p];
        h->missing_pixels += here;
        h->untouched += here == 0;
        h->unknown += here == h->pixels;
    }
    return h->missing_pixels > 0 ||
           cp_fail(status, "%.300s: no %s is missing, so there is nothing to fill", what, h->shape.rank == 3 ? "pixel" : "value");
}

/* ---- from files ---- */

static bool images_fit(const cp_npy *npy, const char *path, cp_shape shape, cp_status *status) {
    const int *d = shape.dims;
    bool       gray = d[2] == 1;
    if (npy->dtype != CP_U8 && npy->dtype != CP_F32 && npy->dtype != CP_F64)
        return cp_fail(status, "%.300s has elements of type %s; uint8 or floats are expected", path, cp_dtype_name(npy->dtype));
    bool fits = (npy->rank == 4 && npy->dims[3] == d[2]) || (gray && npy->rank == 3);
    fits = fits && npy->dims[1] == d[0] && npy->dims[2] == d[1];
    if (!fits)
        return cp_fail(status, "%.300s has shape %s; the model's images are (N, %d, %d, %d)%s", path,
                       cp_shown_shape(npy->rank, npy->dims).text, d[0], d[1], d[2], gray ? " or without the last axis" : "");
    if (npy->dims[0] < 1) return cp_fail(status, "%.300s holds no images", path);
    return npy->dims[0] <= INT_MAX / d[0] || cp_fail(status, "%.300s holds too many images", path);
}

static bool rows_fit(const cp_npy *npy, const char *path, cp_shape shape, cp_status *status) {
    char expected[80];
    bool fits = npy->rank == shape.rank + 1;
    for (int i = 0; i < shape.rank; i++) fits = fits && npy->dims[i + 1] == shape.dims[i];
    if (npy->dtype != CP_F32 && npy->dtype != CP_F64)
        return cp_fail(status, "%.300s has elements of type %s; float32 or float64 are expected", path, cp_dtype_name(npy->dtype));
    snprintf(expected, sizeof expected, shape.rank == 1 ? "(N, %d)" : "(N, %d, %d)", shape.dims[0], shape.dims[1]);
    if (!fits)
        return cp_fail(status, "%.300s has shape %s; the model's rows are %s", path, cp_shown_shape(npy->rank, npy->dims).text,
                       expected);
    if (npy->dims[0] < 1) return cp_fail(status, "%.300s holds no rows", path);
    return npy->dims[0] <= INT_MAX / shape.dims[0] || cp_fail(status, "%.300s holds too many rows", path);
}

static bool read_lengths(const char *path, cp_holes *h, cp_status *status) {
    cp_npy npy = {0};
    if (h->shape.rank != 2) return cp_fail(status, "%.300s: only sequences have lengths", path);
    bool ok = cp_npy_read(path, &npy, status);
    if (ok && (npy.rank < 1 || npy.size != (size_t)h->count || npy.dims[0] != h->count))
        ok = cp_fail(status, "%.300s has shape %s; (%d) is expected, a length for each sequence", path,
                     cp_shown_shape(npy.rank, npy.dims).text, h->count);
    if (ok) h->lengths = cp_npy_to_int32(&npy, path, status);
    cp_npy_free(&npy);
    for (int i = 0; h->lengths && i < h->count; i++)
        if (h->lengths[i] < 1 || h->lengths[i] > h->shape.dims[0])
            return cp_fail(status, "%.300s: sequence %d has length %d; 1 to %d are possible", path, i, h->lengths[i],
                           h->shape.dims[0]);
    return h->lengths != NULL;
}

/* Whether value i of all is beyond the length of its sequence. */
static bool is_beyond(const cp_holes *h, size_t i) {
    return h->lengths && i % h->values >= (size_t)h->lengths[i / h->values] * (size_t)h->shape.dims[1];
}

static bool mask_fits(const cp_npy *npy, const char *path, const cp_holes *h, cp_status *status) {
    const int *d = h->shape.dims;
    int        axes = h->shape.rank == 3 ? 2 : h->shape.rank, extra = npy->rank - axes;
    bool       fits = extra == 0 || (extra == 1 && npy->dims[0] == h->count);
    for (int i = 0; fits && i < axes; i++) fits = npy->dims[extra + i] == d[i];
    if (!fits && h->shape.rank < 3)
        return cp_fail(status, "%.300s has shape %s; a mask has the shape of the rows, or of one row", path,
                       cp_shown_shape(npy->rank, npy->dims).text);
    return fits ||
           cp_fail(status, "%.300s has shape %s; (%d, %d, %d), a mask for each image, or (%d, %d), one for all, is expected", path,
                   cp_shown_shape(npy->rank, npy->dims).text, h->count, d[0], d[1], d[0], d[1]);
}

static bool take_mask(const cp_npy *npy, const char *path, cp_holes *h, cp_status *status) {
    if (!mask_fits(npy, path, h, status)) return false;
    cp_real *values = cp_npy_to_real(npy, path, status);
    if (!values) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < (size_t)h->count * h->pixels; i++) {
        double value = (double)values[npy->size == h->pixels ? i % h->pixels : i];
        h->missing[i] = value == 1 && !is_beyond(h, i * h->unit);
        if (value != 0 && value != 1)
            ok = cp_fail(status, "%.300s has the value %g; a mask has 1 where a pixel is missing and 0 elsewhere", path, value);
    }
    free(values);
    return ok;
}

/* A NaN marks an unknown pixel, which must be missing in the mask, if there is one. */
static bool take_value(const char *path, bool masked, cp_holes *h, size_t i, cp_status *status) {
    bool     image = h->shape.rank == 3;
    size_t   pixel = i / h->unit, width = h->shape.rank > 1 ? (size_t)h->shape.dims[1] : h->values, within = pixel % h->pixels;
    cp_real *value = &h->images[i];
    if (is_beyond(h, i)) *value = 0;
    if (isnan(*value)) {
        *value = 0;
        h->truth = false;
        if (!masked) h->missing[pixel] = true;
        return h->missing[pixel] ||
               cp_fail(status,
                       image ? "%.300s: image %zu has a NaN at row %zu, column %zu, which the mask has as known"
                             : "%.300s: row %zu has a NaN at step %zu, feature %zu, which the mask has as known",
                       path, pixel / h->pixels, within / width, within % width);
    }
    if (!image)
        return isfinite(*value) || cp_fail(status, "%.300s: row %zu has a value that is not finite at step %zu, feature %zu", path,
                                           pixel / h->pixels, within / width, within % width);
    return fabs((double)*value) <= 1.0001 || cp_fail(status,
                                                     "%.300s: image %zu has the value %g at row %zu, column %zu; for this model, "
                                                     "which does not say in which units it was trained, floats must be in [-1, 1]",
                                                     path, pixel / h->pixels, (double)*value, within / width, within % width);
}

/* Takes the array too. */
static bool take_images(cp_npy *npy, const char *path, const char *mask_path, const char *lengths, const cp_preprocessing *input,
                        cp_shape shape, cp_holes *h, cp_status *status) {
    cp_npy mask = {0};
    if (!holes_alloc(h, (int)npy->dims[0], shape, status)) return false;
    h->dtype = npy->dtype;
    h->rank = npy->rank;
    h->given = *npy;
    h->input = *input;
    *npy = (cp_npy){0};
    bool ok = cp_preprocessing_check(input, h->dtype, h->given.data, h->given.size, path, &h->warning, status) &&
              cp_preprocess(input, h->dtype, h->given.data, h->given.size, h->images, path, status) &&
              (!lengths || read_lengths(lengths, h, status)) &&
              (!mask_path || (cp_npy_read(mask_path, &mask, status) && take_mask(&mask, mask_path, h, status)));
    for (size_t i = 0; ok && i < (size_t)h->count * h->values; i++) ok = take_value(path, mask_path != NULL, h, i, status);
    cp_npy_free(&mask);
    ok = ok && count_missing(h, mask_path ? mask_path : path, status);
    if (!ok) cp_holes_free(h);
    return ok;
}

bool cp_holes_read(const char *images, const char *mask, const char *lengths, const cp_preprocessing *input, cp_shape shape,
                   cp_holes *holes, cp_status *status) {
    cp_npy npy = {0};
    *holes = (cp_holes){0};
    bool ok = cp_npy_read(images, &npy, status) && (shape.rank == 3 ? images_fit : rows_fit)(&npy, images, shape, status) &&
              take_images(&npy, images, mask, lengths, input, shape, holes, status);
    cp_npy_free(&npy);
    return ok;
}

/* ---- from a set ---- */

static bool in_hole(cp_hole kind, int y, int x, int height, int width, cp_rng *rng) {
    switch (kind) {
    case CP_HOLE_CENTER: return y >= height / 4 && y < height - height / 4 && x >= width / 4 && x < width - width / 4;
    case CP_HOLE_HALF: return y >= height / 2;
    default: return cp_rng_uniform(rng) < 0.5;
    }
}

bool cp_holes_make(const cp_split *split, const cp_preprocessing *input, int count, cp_hole kind, uint64_t seed, cp_holes *holes,
                   cp_status *status) {
    cp_rng rng = cp_rng_named(seed, "holes");
    *holes = (cp_holes){0};
    if (split->count < count)
        return cp_fail(status, "%d images are wanted, and the %s split has %d", count, split->name, split->count);
    if (!holes_alloc(holes, count, split->set->shape, status)) return false;
    bool image = holes->shape.rank == 3;
    int  height = holes->shape.dims[0], width = image ? holes->shape.dims[1] : 1;
    int  across = holes->shape.rank == 1 ? 1 : holes->shape.dims[1]; /* pixels of a row, features of a step */
    holes->input = *input;
    holes->dtype = !image || (input->high > input->low && input->dtype != CP_U8) ? CP_F32 : CP_U8;
    holes->rank = image && holes->shape.dims[2] == 1 ? 3 : 1 + holes->shape.rank;
    if (split->lengths) holes->lengths = calloc((size_t)count, sizeof *holes->lengths);
    if (split->lengths && !holes->lengths) {
        cp_holes_free(holes);
        return cp_fail(status, "not enough memory for %d lengths", count);
    }
    for (int i = 0; i < count; i++) {
        int row = (int)((int64_t)i * split->count / count);
        cp_split_read(split, &row, 1, holes->images + (size_t)i * holes->values);
        int steps = split->lengths ? (holes->lengths[i] = split->lengths[row]) : height;
        for (int y = 0; y < steps; y++)
            for (int x = 0; x < across; x++)
                holes->missing[(size_t)i * holes->pixels + (size_t)y * (size_t)across + (size_t)x] =
                    in_hole(kind, y, image ? x : 0, steps, width, &rng);
    }
    if (count_missing(holes, split->set->name, status)) return true;
    cp_holes_free(holes);
    return false;
}

/* ---- to a file ---- */

bool cp_holes_write(const cp_holes *h, const cp_real *values, const char *path, cp_status *status) {
    size_t  all = (size_t)h->count * h->values, bytes = cp_dtype_size(h->dtype);
    int64_t dims[4] = {h->count, h->shape.dims[0], h->shape.dims[1], h->shape.dims[2]};
    bool    units = h->input.high > h->input.low || h->input.mean;
    char   *out = malloc(all * bytes);
    if (!out) return cp_fail(status, "not enough memory to write %.300s", path);
    if (h->dtype == CP_U8) cp_pixels_of(values, all, (uint8_t *)out);
    for (size_t i = 0; h->dtype != CP_U8 && i < all; i++) {
        double value = units ? cp_preprocess_undo(&h->input, i, (double)values[i]) : (double)values[i];
        if (h->dtype == CP_F32) ((float *)out)[i] = (float)value;
        if (h->dtype == CP_F64) ((double *)out)[i] = value;
    }
    for (size_t i = 0; h->given.data && i < all; i++)
        if (!h->missing[i / h->unit]) memcpy(out + i * bytes, (const char *)h->given.data + i * bytes, bytes);
    bool ok = cp_npy_write(path, h->dtype, h->rank, dims, out, status);
    free(out);
    return ok;
}
