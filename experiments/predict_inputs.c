/* The inputs of couplet predict. */
#include "experiments/predict_inputs.h"

#include "core/io/file.h"
#include "core/io/npz.h"
#include "core/io/picture.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

typedef struct reading {
    cp_input_blocks *blocks;
    const cp_model  *model;
    int              layout, split;
    bool             joining; /* the last block is of pictures, and takes more */
    cp_status       *status;
} reading;

void cp_input_blocks_free(cp_input_blocks *blocks) {
    for (int b = 0; b < blocks->count; b++) {
        cp_input_block *block = &blocks->at[b];
        for (int i = 0; block->files && i < block->inputs.count; i++) free(block->files[i]);
        free(block->files);
        free(block->lengths);
        cp_npy_free(&block->npy);
    }
    free(blocks->at);
    *blocks = (cp_input_blocks){0};
}

static cp_input_block *add_block(reading *r, const char *name) {
    cp_input_block *more = realloc(r->blocks->at, ((size_t)r->blocks->count + 1) * sizeof *more);
    if (!more) return cp_null(cp_fail(r->status, "not enough memory for %.200s", name));
    r->blocks->at = more;
    r->joining = false;
    more += r->blocks->count++;
    *more = (cp_input_block){.name = name};
    return more;
}

/* ---- arrays ---- */

static bool fail_shape(const cp_npy *npy, const char *name, const char *expected, cp_status *status) {
    return cp_fail(status, "%.200s has shape %s; %s", name, cp_shown_shape(npy->rank, npy->dims).text, expected);
}

/* (N, C, H, W) becomes (N, H, W, C). */
static bool planes_to_last(cp_npy *npy, cp_status *status) {
    size_t channels = (size_t)npy->dims[1], pixels = (size_t)(npy->dims[2] * npy->dims[3]), bytes = cp_dtype_size(npy->dtype);
    char  *to = malloc(npy->size * bytes + 1);
    if (!to) return cp_fail(status, "not enough memory for images");
    for (size_t i = 0; i < npy->size; i++) {
        size_t pixel = i / channels % pixels, image = i / channels / pixels, channel = i % channels;
        memcpy(to + i * bytes, (const char *)npy->data + ((image * channels + channel) * pixels + pixel) * bytes, bytes);
    }
    free(npy->data);
    npy->data = to;
    npy->dims[1] = npy->dims[2], npy->dims[2] = npy->dims[3], npy->dims[3] = (int64_t)channels;
    return true;
}

/* Of the images that the model takes; 0: it takes other inputs than images. */
static int channels_of(const cp_model *model) {
    const cp_net_input *net = &model->net->input;
    if (model->about.input.shape.rank == 3) return model->about.input.shape.dims[2];
    return net->shape.rank == 3 && !net->flattened ? net->shape.dims[2] : 0;
}

/* Whether images of four axes have their channels first, by --layout and by what is known of the training. */
static bool has_planes(const reading *r, const cp_npy *npy) {
    int channels = channels_of(r->model);
    if (r->layout != CP_LAYOUT_AUTO) return r->layout == CP_LAYOUT_NCHW;
    return r->model->about.input.shape.rank != 3 || (npy->dims[3] != channels && npy->dims[1] == channels);
}

static bool fit_images(const reading *r, cp_npy *npy, const char *name) {
    const cp_net_input *net = &r->model->net->input;
    bool                gray = npy->rank == 3 && channels_of(r->model) == 1, planes = npy->rank == 4 && has_planes(r, npy);
    int  h = (int)npy->dims[planes ? 2 : 1], w = (int)npy->dims[planes ? 3 : 2], c = gray ? 1 : (int)npy->dims[planes ? 1 : 3];
    char expected[320];
    if ((gray || npy->rank == 4) && cp_net_input_fits(net, CP_SHAPE(1, h, w, c))) {
        if (gray) npy->dims[npy->rank++] = 1;
        return !planes || planes_to_last(npy, r->status);
    }
    snprintf(expected, sizeof expected, "this model takes %s%s",
             net->flattened ? cp_dims_text(r->model->about.input.shape).s : cp_net_input_show(net).s,
             planes ? ", with the channels first unless you give --layout nhwc" : "; give --layout nchw if the channels are first");
    return fail_shape(npy, name, expected, r->status);
}

/* An array whose rows are inputs; the block takes it. */
static bool add_array(reading *r, cp_npy *npy, const char *name) {
    const cp_preprocessing *known = &r->model->about.input;
    cp_input_block         *block = add_block(r, name);
    if (!block) return false;
    block->npy = *npy;
    *npy = (cp_npy){0};
    cp_npy *own = &block->npy;
    if (!cp_preprocessing_known(known) && own->dtype != CP_F32 && own->dtype != CP_F64 && own->dtype != CP_U8)
        return cp_fail(r->status, "%.200s has elements of type %s; float32, float64 or uint8 (pixels) are expected", name,
                       cp_dtype_name(own->dtype));
    if (own->rank < 2) return fail_shape(own, name, "this model takes one input per row: at least two axes", r->status);
    for (int i = 0; i < own->rank; i++)
        if (own->dims[i] > INT_MAX) return fail_shape(own, name, "at most 2147483647 along each axis", r->status);
    if (channels_of(r->model) && !fit_images(r, own, name)) return false;
    cp_shape shape = {.rank = own->rank - 1};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = (int)own->dims[i + 1];
    block->inputs = (cp_inputs){own->dtype, own->data, (int)own->dims[0], shape, .name = name};
    return true;
}

static bool is_inputs(const char *array) {
    const char *end = strrchr(array, '_');
    return strcmp(end ? end + 1 : array, "images") == 0 || strcmp(end ? end + 1 : array, "x") == 0;
}

/* The lengths of the sequences in array SPLIT_x, if there is an array SPLIT_length. */
static bool add_lengths(reading *r, const cp_npz *npz, const char *array, const char *name) {
    cp_input_block *block = &r->blocks->at[r->blocks->count - 1];
    cp_npy          npy;
    char            lengths[80], what[300];
    const char     *end = strrchr(array, '_');
    snprintf(lengths, sizeof lengths, "%.*slength", end ? (int)(end - array) + 1 : 0, array);
    if (block->inputs.shape.rank != 2 || !cp_npz_has(npz, lengths)) return true;
    snprintf(what, sizeof what, "%.200s: %s", name, lengths);
    if (!cp_npz_read(npz, lengths, &npy, r->status)) return false;
    bool ok = npy.size == (size_t)block->inputs.count ||
              cp_fail(r->status, "%s has %zu numbers for %d sequences", what, npy.size, block->inputs.count);
    block->lengths = ok ? cp_npy_to_int32(&npy, what, r->status) : NULL;
    block->inputs.lengths = block->lengths;
    cp_npy_free(&npy);
    return block->lengths;
}

static bool add_entry(reading *r, const cp_npz *npz, const char *array, const char *name) {
    cp_npy npy;
    if (!cp_npz_read(npz, array, &npy, r->status)) return false;
    bool ok = add_array(r, &npy, name) && add_lengths(r, npz, array, name);
    cp_npy_free(&npy);
    return ok;
}

/* The only array of inputs, or else the only array; NULL: there are several. */
static const char *only_array(const cp_npz *npz) {
    const char *found = cp_npz_count(npz) == 1 ? cp_npz_name(npz, 0) : NULL;
    int         count = 0;
    for (size_t i = 0; i < cp_npz_count(npz); i++)
        if (is_inputs(cp_npz_name(npz, i))) found = cp_npz_name(npz, i), count++;
    return count > 1 ? NULL : found;
}

static bool add_npz(reading *r, const cp_bytes *file, const char *name) {
    static const char *const splits[] = {"test", "train", "val", "test"};
    cp_npz                  *npz = cp_npz_parse(file->data, file->size, name, r->status);
    int                      added = 0;
    bool                     ok = npz;
    for (int s = CP_SPLIT_TRAIN; ok && s < CP_SPLIT_ALL; s++) {
        char array[16];
        if (r->split != CP_SPLIT_ALL && strcmp(splits[s], splits[r->split]) != 0) continue;
        snprintf(array, sizeof array, "%s_images", splits[s]);
        if (!cp_npz_has(npz, array)) snprintf(array, sizeof array, "%s_x", splits[s]);
        if (!cp_npz_has(npz, array)) continue;
        ok = add_entry(r, npz, array, name);
        added++;
    }
    const char *only = ok && !added && r->split == CP_SPLIT_AUTO ? only_array(npz) : NULL;
    if (only) ok = add_entry(r, npz, only, name);
    if (ok && !added && !only)
        ok = cp_fail(r->status, "%.200s has no array %s_images or %s_x; give --split train, val or all", name,
                     r->split == CP_SPLIT_ALL ? "SPLIT" : splits[r->split], r->split == CP_SPLIT_ALL ? "SPLIT" : splits[r->split]);
    cp_npz_close(npz);
    return ok;
}

/* ---- pictures ---- */

/* Opaque pictures lose their opacity, and gray ones have three equal colors where the model takes colors. */
static bool fit_channels(const reading *r, cp_picture *p, const char *name) {
    int      wanted = channels_of(r->model), colors = p->channels - (p->channels % 2 == 0);
    size_t   pixels = (size_t)p->height * (size_t)p->width, bytes = (size_t)p->depth / 8;
    bool     opaque = true, keep = p->channels == wanted || (colors != wanted && !(colors == 1 && wanted == 3));
    uint8_t *from = p->pixels, *to = keep ? NULL : malloc(pixels * (size_t)wanted * bytes);
    if (keep) return true; /* it fits, or the message about its shape says that it does not */
    if (!to) return cp_fail(r->status, "not enough memory for %.200s", name);
    for (size_t i = 0; i < pixels; i++) {
        const uint8_t *pixel = from + i * (size_t)p->channels * bytes;
        for (size_t b = 0; p->channels > colors && b < bytes; b++) opaque &= pixel[(size_t)colors * bytes + b] == 255;
        for (size_t c = 0; c < (size_t)wanted; c++)
            memcpy(to + (i * (size_t)wanted + c) * bytes, pixel + (colors == 1 ? 0 : c) * bytes, bytes);
    }
    free(p->pixels);
    p->pixels = to;
    p->channels = wanted;
    return opaque || cp_fail(r->status, "%.200s is partly transparent; put it on a background first", name);
}

static bool append_picture(reading *r, const cp_picture *p, const char *name) {
    cp_dtype        dtype = p->depth == 16 ? CP_U16 : CP_U8;
    cp_shape        shape = CP_SHAPE(p->height, p->width, p->channels);
    size_t          bytes = (size_t)p->height * (size_t)p->width * (size_t)p->channels * cp_dtype_size(dtype);
    cp_input_block *block = r->joining ? &r->blocks->at[r->blocks->count - 1] : add_block(r, name);
    if (!block) return false;
    cp_inputs *in = &block->inputs;
    size_t     count = (size_t)in->count;
    if (!count) *in = (cp_inputs){.dtype = dtype, .shape = shape, .name = name};
    if (in->dtype != dtype || !cp_shapes_equal(in->shape, shape))
        return cp_fail(r->status, "%.150s is a picture %s of %s; %.150s is %s of %s. Pictures of one size are expected", name,
                       cp_dims_text(shape).s, cp_dtype_numpy(dtype), block->files[0], cp_dims_text(in->shape).s,
                       cp_dtype_numpy(in->dtype));
    char **files = realloc(block->files, (count + 1) * sizeof *files);
    if (files) block->files = files;
    char *data = realloc(block->npy.data, (count + 1) * bytes);
    if (data) in->elements = block->npy.data = data;
    if (!files || !data || !(files[count] = strdup(name))) return cp_fail(r->status, "not enough memory for %.200s", name);
    memcpy(data + count * bytes, p->pixels, bytes);
    in->count++;
    return r->joining = true;
}

static bool add_picture(reading *r, const cp_bytes *file, const char *name) {
    cp_picture p;
    if (!cp_picture_parse(file->data, file->size, name, &p, r->status)) return false;
    bool ok = fit_channels(r, &p, name) && append_picture(r, &p, name);
    cp_picture_free(&p);
    return ok;
}

/* ---- arguments ---- */

static bool add_path(reading *r, const char *path) {
    cp_bytes file;
    bool     ok = false;
    if (!cp_file_read(path, PTRDIFF_MAX, &file, r->status)) return false;
    if (file.size >= 4 && memcmp(file.data, "PK", 2) == 0) {
        ok = add_npz(r, &file, path);
    } else if (file.size >= 6 && memcmp(file.data, "\x93NUMPY", 6) != 0 && channels_of(r->model)) {
        ok = add_picture(r, &file, path);
    } else {
        cp_npy npy = {0};
        ok = cp_npy_parse(file.data, file.size, path, &npy, r->status) && add_array(r, &npy, path);
        cp_npy_free(&npy);
    }
    cp_bytes_free(&file);
    return ok;
}

static int is_picture(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return end && end > entry->d_name &&
           (strcasecmp(end, ".png") == 0 || strcasecmp(end, ".pgm") == 0 || strcasecmp(end, ".ppm") == 0);
}

/* The pictures of a folder, by name. */
static bool add_folder(reading *r, const char *path) {
    struct dirent **entries;
    int             count = scandir(path, &entries, is_picture, alphasort);
    bool            ok =
        count > 0 || cp_fail(r->status, "%.300s: %s", path, count ? "cannot read the folder" : "there is no PNG, PGM or PPM file");
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        ok = ok && add_path(r, file);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return ok;
}

bool cp_input_blocks_read(const cp_options *o, int first, const cp_model *model, cp_input_blocks *blocks, cp_status *status) {
    reading r = {.blocks = blocks,
                 .model = model,
                 .layout = cp_option_choice(o, "layout"),
                 .split = cp_option_choice(o, "split"),
                 .status = status};
    *blocks = (cp_input_blocks){0};
    for (int i = first; i < cp_argument_count(o); i++) {
        struct stat about;
        const char *path = cp_argument(o, i);
        bool        folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
        if (!(folder ? add_folder(&r, path) : add_path(&r, path))) return false;
    }
    int64_t all = 0;
    for (int b = 0; b < blocks->count; b++) all += blocks->at[b].inputs.count;
    blocks->inputs = (int)all;
    return all <= INT_MAX || cp_fail(status, "%lld inputs are too many at once", (long long)all);
}
