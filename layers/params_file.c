/* Parameter sets in safetensors files. */
#include "layers/params_file.h"

#include <stdlib.h>
#include <string.h>

/* ---- layout: order[i] is the memory axis that comes i-th in a file ---- */

static const int orders[][4] = {
    [CP_LAYOUT_PLAIN] = {0, 1, 2, 3},
    [CP_LAYOUT_CONV] = {3, 2, 0, 1},
    [CP_LAYOUT_LINEAR] = {1, 0, 2, 3},
};

typedef struct disk_shape {
    int     rank;
    int64_t dims[CP_MAX_RANK];
    size_t  stride[CP_MAX_RANK]; /* in memory, of each axis in the order of the file */
} disk_shape;

static disk_shape shape_on_disk(cp_layout layout, int rank, const int *dims) {
    disk_shape shape = {.rank = rank};
    size_t     stride[CP_MAX_RANK], step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= (size_t)dims[i];
    }
    for (int i = 0; i < rank; i++) {
        int axis = layout == CP_LAYOUT_PLAIN ? i : orders[layout][i];
        shape.dims[i] = dims[axis];
        shape.stride[i] = stride[axis];
    }
    return shape;
}

static disk_shape entry_on_disk(const cp_param *entry) {
    return shape_on_disk(entry->layout, entry->value->rank, entry->value->dims);
}

/* The offset in memory of the i-th element of the file. */
static size_t memory_offset(const disk_shape *shape, size_t i) {
    size_t offset = 0;
    for (int axis = shape->rank - 1; axis >= 0; axis--) {
        offset += i % (size_t)shape->dims[axis] * shape->stride[axis];
        i /= (size_t)shape->dims[axis];
    }
    return offset;
}

/* ---- writing ---- */

static bool fits_float(const cp_real *data, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (data[i] == data[i] && (cp_real)(float)data[i] != data[i]) return false;
    return true;
}

static void store(cp_st_writer *writer, const char *name, const disk_shape *shape, const cp_real *data, size_t count) {
    bool  small = fits_float(data, count);
    void *room = cp_st_writer_room(writer, name, small ? CP_F32 : CP_F64, shape->rank, shape->dims);
    for (size_t i = 0; room && i < count; i++) {
        cp_real value = data[memory_offset(shape, i)];
        if (small)
            ((float *)room)[i] = (float)value;
        else
            ((double *)room)[i] = (double)value;
    }
}

void cp_params_store(const cp_params *params, cp_st_writer *writer) {
    for (int k = 0; k < params->count; k++) {
        disk_shape shape = entry_on_disk(&params->at[k]);
        store(writer, params->at[k].name, &shape, params->at[k].value->data, params->at[k].value->size);
    }
}

void cp_reals_store(cp_st_writer *writer, const char *name, int rank, const int64_t *dims, const cp_real *data) {
    disk_shape shape = {.rank = rank};
    size_t     count = 1;
    for (int i = rank - 1; i >= 0; i--) {
        shape.dims[i] = dims[i];
        shape.stride[i] = count;
        count *= (size_t)dims[i];
    }
    store(writer, name, &shape, data, count);
}

/* ---- reading ---- */

static bool is_ignored(const char *name) {
    static const char counter[] = "num_batches_tracked"; /* of PyTorch's batch norm; not used here */
    size_t            length = strlen(name), tail = sizeof counter - 1;
    return strncmp(name, CP_PARAMS_RESERVED, strlen(CP_PARAMS_RESERVED)) == 0 ||
           (length >= tail && strcmp(name + length - tail, counter) == 0);
}

static bool reject_unknown(const cp_params *params, const cp_safetensors *file, const char *path, cp_status *status) {
    for (size_t i = 0; i < cp_st_count(file); i++) {
        const char *name = cp_st_entry_at(file, i)->name;
        if (!is_ignored(name) && !cp_params_find(params, name))
            return cp_fail(status, "%s: tensor \"%s\" is not part of this model; is the description of the model right?", path,
                           name);
    }
    return true;
}

static bool stage_entry(const cp_param *entry, const cp_safetensors *file, cp_real *to, cp_real *room, cp_status *status) {
    disk_shape         shape = entry_on_disk(entry);
    const cp_st_entry *found = cp_st_require(file, entry->name, shape.rank, shape.dims, status);
    if (!found || !cp_st_to_real(file, found, room, status)) return false;
    for (size_t i = 0; i < entry->value->size; i++) to[memory_offset(&shape, i)] = room[i];
    return true;
}

static bool expected(void *context, const char *name, cp_layout layout, cp_shape shape) {
    const cp_params_source *source = context;
    if (shape.rank < 0 || shape.rank > CP_MAX_RANK) return true; /* cp_tensor_new reports it */
    disk_shape disk = shape_on_disk(layout, shape.rank, shape.dims);
    return cp_st_require(source->file, name, disk.rank, disk.dims, source->status);
}

void cp_params_expect(cp_params *params, cp_params_source *source) {
    params->accepts = source ? expected : NULL;
    params->accepts_context = source;
}

cp_real *cp_params_stage(const cp_params *params, const cp_safetensors *file, const char *path, cp_status *status) {
    size_t total = 0, max = 1;
    for (int k = 0; k < params->count; k++) {
        size_t size = params->at[k].value->size;
        total += size;
        max = size > max ? size : max;
    }
    cp_real *values = malloc((total + max) * sizeof *values), *to = values, *room = values + total;
    if (!values) return cp_null(cp_fail(status, "%s: out of memory for %zu values", path, total + max));
    bool ok = true;
    for (int k = 0; ok && k < params->count; to += params->at[k++].value->size)
        ok = stage_entry(&params->at[k], file, to, room, status);
    if (ok && reject_unknown(params, file, path, status)) return values;
    free(values);
    return NULL;
}

void cp_params_commit(cp_params *params, const cp_real *values) {
    for (int k = 0; k < params->count; k++) {
        cp_tensor *t = params->at[k].value;
        memcpy(t->data, values, t->size * sizeof *values);
        values += t->size;
        (cp_tensor_changed)((cp_at){0}, t, "cp_params_load");
    }
}

bool cp_params_load(cp_params *params, const cp_safetensors *file, const char *path, cp_status *status) {
    cp_status_begin(status);
    if (!params || !file)
        return cp_fail(status, "%s: the %s is NULL", path ? path : "params_load", file ? "parameter set" : "file");
    cp_real *values = cp_params_stage(params, file, path, status);
    if (!values) return false;
    cp_params_commit(params, values);
    free(values);
    return true;
}

bool cp_params_read(cp_params *params, const char *path, cp_status *status) {
    cp_status_begin(status);
    if (!path) return cp_fail(status, "params_read: the path is NULL");
    cp_safetensors *file = cp_st_read(path, status);
    bool            ok = file && cp_params_load(params, file, path, status);
    cp_st_free(file);
    return ok;
}

bool cp_params_save(const cp_params *params, const char *path, cp_status *status) {
    cp_status_begin(status);
    if (!params || !path) return cp_fail(status, "params_save: the %s is NULL", path ? "parameter set" : "path");
    cp_st_writer *writer = cp_st_writer_new();
    if (writer) cp_params_store(params, writer);
    bool ok = cp_st_writer_save(writer, path, status);
    cp_st_writer_free(writer);
    return ok;
}

/* ---- partial loading ---- */

static cp_match match_of(const cp_param *entry, const cp_st_entry *found) {
    disk_shape shape = entry_on_disk(entry);
    bool       same = found && found->rank == shape.rank;
    for (int i = 0; same && i < shape.rank; i++) same = found->dims[i] == shape.dims[i];
    return !found ? CP_MATCH_MISSING : same ? CP_MATCH_LOADED : CP_MATCH_SHAPE;
}

static void line_add(cp_load_report *report, const char *name, cp_match match) {
    report->counts[match]++;
    report->lines[report->count].match = match;
    snprintf(report->lines[report->count++].name, sizeof report->lines->name, "%s", name);
}

static bool load_some(cp_params *params, const cp_safetensors *file, const char *path, cp_load_report *r, cp_status *status) {
    size_t total = 0, max = 1;
    for (int k = 0; k < params->count; k++) {
        const cp_param *entry = &params->at[k];
        line_add(r, entry->name, match_of(entry, cp_st_find(file, entry->name)));
        total += r->lines[k].match == CP_MATCH_LOADED ? entry->value->size : 0;
        max = entry->value->size > max ? entry->value->size : max;
    }
    for (size_t i = 0; i < cp_st_count(file); i++) {
        const char *name = cp_st_entry_at(file, i)->name;
        if (!is_ignored(name) && !cp_params_find(params, name)) line_add(r, name, CP_MATCH_UNUSED);
    }
    if (!r->counts[CP_MATCH_LOADED]) return cp_fail(status, "%s: no tensor has the name and the shape of a parameter", path);
    cp_real *values = malloc((total + max) * sizeof *values), *at = values;
    bool     ok = values || cp_fail(status, "%s: out of memory for %zu values", path, total + max);
    for (int pass = 0; pass < 2 && ok; pass++, at = values) /* reads all, then copies them */
        for (int k = 0; ok && k < params->count; k++) {
            cp_tensor *t = params->at[k].value;
            if (r->lines[k].match != CP_MATCH_LOADED) continue;
            if (pass == 0) ok = stage_entry(&params->at[k], file, at, values + total, status);
            if (pass == 1) memcpy(t->data, at, t->size * sizeof *at), cp_tensor_changed(t, "cp_params_load_some");
            at += t->size;
        }
    free(values);
    return ok;
}

bool cp_params_load_some(cp_params *params, const char *path, cp_load_report *report, cp_status *status) {
    cp_load_report made = {0};
    cp_status_begin(status);
    if (report) *report = made;
    if (!params || !path) return cp_fail(status, "params_load_some: the %s is NULL", path ? "parameter set" : "path");
    cp_safetensors *file = cp_st_read(path, status);
    if (!file) return false;
    made.lines = calloc((size_t)params->count + cp_st_count(file) + 1, sizeof *made.lines);
    bool ok = made.lines ? load_some(params, file, path, &made, status) : cp_fail(status, "%s: out of memory", path);
    cp_st_free(file);
    if (ok && report)
        *report = made;
    else
        cp_load_report_free(&made);
    return ok;
}

void cp_load_report_print(FILE *file, const cp_load_report *r) {
    static const char *const words[] = {"loaded", "not in the file", "another shape", "not in the set"};
    for (int i = 0; i < CP_MATCHES; i++) fprintf(file, "%d %s%s", r->counts[i], words[i], i + 1 < CP_MATCHES ? ", " : "\n");
    for (int i = 0; i < r->count; i++)
        if (r->lines[i].match != CP_MATCH_LOADED) fprintf(file, "  %s: %s\n", r->lines[i].name, words[r->lines[i].match]);
}

void cp_load_report_free(cp_load_report *report) {
    if (report) free(report->lines);
    if (report) *report = (cp_load_report){0};
}
