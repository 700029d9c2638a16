/* Slices of brain volumes as small images. */
#include "experiments/kit/volumes/slices.h"

#include "experiments/kit/data/resize.h"
#include "experiments/kit/metrics/stats.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DARK = 2, BRIGHT = 98, ABOVE = 0.15;

/* Sums over slices, from which `upright` is lean / area. */
typedef struct outline {
    double area, lean;
} outline;

/* A subject that is being read. */
typedef struct cutting {
    const cp_subject       *subject;
    const cp_slices_config *config;
    cp_slices              *slices;
    cp_nifti                seg;   /* without its values */
    bool                   *tumor; /* (dims[2]) */
    float                  *slice; /* (dims[1], dims[0]), normalized */
    float                  *small; /* (size, size) */
    outline                 outline;
    cp_status              *status;
} cutting;

void cp_slices_free(cp_slices *slices) {
    free(slices->pixels), free(slices->labels), free(slices->levels);
    *slices = (cp_slices){0};
}

/* A value that more than half of the voxels have is their median. */
static bool blank_background(float *values, size_t count, float dark) {
    float  median;
    size_t same = 0, finite = 0;
    cp_percentile_above(values, count, -INFINITY, 50, &median);
    for (size_t i = 0; i < count; i++) same += values[i] == median, finite += isfinite(values[i]) != 0;
    if (median <= dark || 2 * same <= finite) return false;
    for (size_t i = 0; i < count; i++)
        if (values[i] == median) values[i] = NAN;
    return true;
}

bool cp_brain_find(float *values, size_t count, double low, double high, cp_brain *brain) {
    float dark, bright;
    if (!cp_percentile_above(values, count, -INFINITY, DARK, &dark)) return false;
    cp_percentile_above(values, count, -INFINITY, BRIGHT, &bright);
    brain->threshold =
        blank_background(values, count, dark) ? -INFINITY : (float)((double)dark + ABOVE * ((double)bright - (double)dark));
    return cp_percentile_above(values, count, brain->threshold, low, &brain->low) &&
           cp_percentile_above(values, count, brain->threshold, high, &brain->high);
}

/* ---- reading ---- */

/* The position of a corner according to the header; bit i of `corner` is set for the far end of axis i. */
static void place(const cp_nifti *v, int corner, double at[3]) {
    for (int row = 0; row < 3; row++) {
        at[row] = v->affine[row][3];
        for (int i = 0; i < 3; i++) at[row] += corner >> i & 1 ? v->affine[row][i] * (double)(v->dims[i] - 1) : 0;
    }
}

static double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* Files whose axes have the same order are assumed to have their voxels in the same places. For others the headers must confirm it, or
 * slices would get the labels of other slices. */
static bool lies_where_seg_does(const cutting *c, cp_scan scan, const cp_nifti *volume) {
    double voxel = 0;
    for (int i = 0; i < 3; i++)
        if (!(fabs(volume->spacing[i] - c->seg.spacing[i]) <= 0.01 * fabs(c->seg.spacing[i])))
            return cp_fail(c->status, "%s has voxels of %.4g x %.4g x %.4g millimeters, but seg of %.4g x %.4g x %.4g",
                           cp_scan_names[scan], volume->spacing[0], volume->spacing[1], volume->spacing[2], c->seg.spacing[0],
                           c->seg.spacing[1], c->seg.spacing[2]);
    if (strcmp(volume->orientation, c->seg.orientation) == 0) return true;
    for (int i = 0; i < 3; i++)
        voxel = fmax(voxel, length_of((double[]){c->seg.affine[0][i], c->seg.affine[1][i], c->seg.affine[2][i]}));
    for (int corner = 0; corner < 8; corner++) {
        double here[3], there[3];
        place(volume, corner, here), place(&c->seg, corner, there);
        if (!(length_of((double[]){here[0] - there[0], here[1] - there[1], here[2] - there[2]}) <= voxel))
            return cp_fail(c->status,
                           "%s and seg lie in different places by their headers (a corner at %.4g, %.4g, %.4g and at %.4g, %.4g, "
                           "%.4g millimeters); give them one header",
                           cp_scan_names[scan], here[0], here[1], here[2], there[0], there[1], there[2]);
    }
    return true;
}

static bool shape_fits(const cutting *c, cp_scan scan, const cp_nifti *volume) {
    const char *path = c->subject->paths[scan];
    if (volume->rank > 3)
        return cp_fail(c->status, "%.200s has shape %s; a volume has three axes", path,
                       cp_shown_shape(volume->rank, volume->dims).text);
    if (!c->tumor) return true; /* the first file, seg, sets the shape */
    if (memcmp(c->seg.dims, volume->dims, 3 * sizeof *volume->dims) != 0)
        return cp_fail(c->status, "%s has shape %s, but seg %s", cp_scan_names[scan], cp_shown_shape(3, volume->dims).text,
                       cp_shown_shape(3, c->seg.dims).text);
    return lies_where_seg_does(c, scan, volume);
}

static bool read_volume(const cutting *c, cp_scan scan, cp_nifti *volume) {
    return cp_nifti_read(c->subject->paths[scan], volume, c->status) && shape_fits(c, scan, volume);
}

/* ---- which slices ---- */

static bool no_memory(const cutting *c) {
    return cp_fail(c->status, "not enough memory for the slices of %.200s", c->subject->name);
}

/* Slices with tumor, and room for all that depends on the shape. */
static bool take_seg(cutting *c, const cp_nifti *seg) {
    size_t area = (size_t)seg->dims[0] * (size_t)seg->dims[1], levels = (size_t)seg->dims[2], side = (size_t)c->config->size;
    if (seg->dims[0] > INT_MAX || seg->dims[1] > INT_MAX || seg->dims[2] > INT_MAX)
        return cp_fail(c->status, "seg has shape %s, which is too large", cp_shown_shape(3, seg->dims).text);
    c->seg = *seg;
    c->seg.values = NULL;
    c->tumor = calloc(levels, sizeof *c->tumor);
    c->slice = malloc(area * sizeof *c->slice);
    c->small = malloc(side * side * sizeof *c->small);
    if (!c->tumor || !c->slice || !c->small) return no_memory(c);
    for (size_t z = 0; z < levels; z++) {
        int64_t annotated = 0;
        for (size_t i = z * area; i < (z + 1) * area; i++) annotated += seg->values[i] != 0 && !isnan(seg->values[i]);
        c->tumor[z] = annotated >= c->config->tumor;
        c->slices->all_tumor += c->tumor[z];
    }
    c->slices->all = (int)levels;
    return true;
}

static bool is_brain(float value, const cp_brain *brain) { return value > brain->threshold && isfinite(value); }

/* Keeps slices with enough brain. */
static bool keep_slices(cutting *c, const cp_nifti *volume, const cp_brain *brain) {
    cp_slices *s = c->slices;
    size_t     area = (size_t)c->seg.dims[0] * (size_t)c->seg.dims[1], levels = (size_t)c->seg.dims[2],
           bytes = (size_t)c->config->channels;
    s->labels = malloc(levels);
    s->levels = malloc(levels * sizeof *s->levels);
    if (!s->labels || !s->levels) return no_memory(c);
    for (size_t z = 0; z < levels; z++) {
        size_t inside = 0;
        for (size_t i = z * area; i < (z + 1) * area; i++) inside += is_brain(volume->values[i], brain);
        if (100.0 * (double)inside < c->config->brain * (double)area) continue;
        s->labels[s->count] = c->tumor[z];
        s->levels[s->count++] = (int32_t)z;
    }
    if (s->count == 0) return cp_fail(c->status, "no slice consists of %g %% brain or more", c->config->brain);
    if (!cp_size_mul(bytes, (size_t)c->config->size * (size_t)c->config->size, &bytes) ||
        !cp_size_mul(bytes, (size_t)s->count, &bytes) || !(s->pixels = malloc(bytes)))
        return no_memory(c);
    return true;
}

/* ---- a slice ---- */

static float normalized(float v, const cp_brain *brain) {
    if (!isfinite(v) || v < brain->low) return 0;
    if (v >= brain->high) return 1;
    return (float)(((double)v - (double)brain->low) / ((double)brain->high - (double)brain->low));
}

/* As it is shown: both axes grow the other way than in canonical order, which is the order of memory backwards. */
static void take_slice(const cutting *c, const float *values, const cp_brain *brain) {
    size_t area = (size_t)c->seg.dims[0] * (size_t)c->seg.dims[1];
    for (size_t i = 0; i < area; i++) c->slice[i] = normalized(values[area - 1 - i], brain);
}

/* In millimeters; 1 when the file does not say. */
static double spacing_of(const cp_nifti *volume, int axis) {
    double spacing = volume->spacing[axis];
    return isfinite(spacing) && spacing > 0 ? spacing : 1;
}

/* One axis of a slice within the square of `side` millimeters. */
static cp_resize_axis axis_of(int64_t count, double spacing, double side, int size) {
    double length = (double)count * spacing;
    return (cp_resize_axis){.from = (int)count, .to = size, .field = length < side ? side / spacing : 0};
}

/* slice: (rows, columns), normalized */
static void outline_add(outline *outline, const float *slice, int rows, int columns) {
    static const float HEAD = 0.1f;
    int                first = -1, last = -1;
    double             area = 0, widths = 0, moment = 0;
    for (int y = 0; y < rows; y++) {
        int left = -1, right = -1;
        for (int x = 0; x < columns; x++) {
            if (slice[(size_t)y * (size_t)columns + (size_t)x] <= HEAD) continue;
            if (left < 0) left = x;
            right = x;
            area++;
        }
        if (left < 0) continue;
        if (first < 0) first = y;
        last = y;
        widths += right - left + 1;
        moment += (double)y * (right - left + 1);
    }
    if (area == 0) return;
    outline->area += area;
    outline->lean += area * (moment / widths - 0.5 * (first + last));
}

static bool cut_channel(cutting *c, int channel, const cp_nifti *volume, const cp_brain *brain) {
    size_t         area = (size_t)c->seg.dims[0] * (size_t)c->seg.dims[1], channels = (size_t)c->config->channels;
    size_t         pixels = (size_t)c->config->size * (size_t)c->config->size;
    double         wide = spacing_of(volume, 0), high = spacing_of(volume, 1);
    double         side = fmax((double)c->seg.dims[0] * wide, (double)c->seg.dims[1] * high);
    cp_resize_axis down = axis_of(c->seg.dims[1], high, side, c->config->size),
                   across = axis_of(c->seg.dims[0], wide, side, c->config->size);
    for (int k = 0; k < c->slices->count; k++) {
        uint8_t *to = c->slices->pixels + (size_t)k * pixels * channels + (size_t)channel;
        take_slice(c, volume->values + (size_t)c->slices->levels[k] * area, brain);
        if (channel == 0) outline_add(&c->outline, c->slice, (int)c->seg.dims[1], (int)c->seg.dims[0]);
        if (!cp_resize_area(c->slice, down, across, c->small, c->status)) return false;
        for (size_t i = 0; i < pixels; i++) to[i * channels] = (uint8_t)lrintf(255 * fminf(fmaxf(c->small[i], 0), 1));
    }
    return true;
}

/* ---- a subject ---- */

static bool take_seg_file(cutting *c) {
    cp_nifti seg = {0};
    bool     ok = read_volume(c, CP_SCAN_SEG, &seg) && take_seg(c, &seg);
    cp_nifti_free(&seg);
    return ok;
}

static bool take_channel_file(cutting *c, int channel) {
    cp_scan  scan = c->config->scans[channel];
    cp_nifti volume = {0};
    cp_brain brain;
    bool     ok = read_volume(c, scan, &volume);
    if (ok && !cp_brain_find(volume.values, volume.size, c->config->low, c->config->high, &brain))
        ok = cp_fail(c->status, "%s has nothing above its background", cp_scan_names[scan]);
    ok = ok && (channel > 0 || keep_slices(c, &volume, &brain)) && cut_channel(c, channel, &volume, &brain);
    cp_nifti_free(&volume);
    return ok;
}

bool cp_slices_read(const cp_subject *subject, const cp_slices_config *config, cp_slices *slices, cp_status *status) {
    cutting c = {.subject = subject, .config = config, .slices = slices, .status = status};
    *slices = (cp_slices){0};
    bool ok = take_seg_file(&c);
    for (int i = 0; ok && i < config->channels; i++) ok = take_channel_file(&c, i);
    slices->upright = c.outline.area > 0 ? c.outline.lean / c.outline.area / (double)c.seg.dims[1] : NAN;
    free(c.tumor), free(c.slice), free(c.small);
    if (!ok) cp_slices_free(slices);
    return ok;
}

void cp_slices_turn(cp_slices *slices, const cp_slices_config *config) {
    size_t pixels = (size_t)config->size * (size_t)config->size, channels = (size_t)config->channels;
    for (int k = 0; k < slices->count; k++) {
        uint8_t *first = slices->pixels + (size_t)k * pixels * channels, *last = first + (pixels - 1) * channels;
        for (; first < last; first += channels, last -= channels)
            for (size_t c = 0; c < channels; c++) {
                uint8_t kept = first[c];
                first[c] = last[c];
                last[c] = kept;
            }
    }
    slices->upright = -slices->upright;
}
