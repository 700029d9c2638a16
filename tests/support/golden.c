/* Reads golden files and compares with them. */
#include "tests/support/golden.h"

#include "unity.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden {
    cp_safetensors *file;
    bool           *seen;
};

golden *golden_open(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", CP_TEST_DATA, name);
    cp_status status = {0};
    golden   *file = malloc(sizeof *file);
    TEST_ASSERT_NOT_NULL(file);
    file->file = cp_st_read(path, &status);
    if (!file->file) free(file);
    TEST_ASSERT_TRUE_MESSAGE(status.message[0] == '\0', status.message);
    file->seen = calloc(golden_count(file) + 1, sizeof *file->seen);
    TEST_ASSERT_NOT_NULL(file->seen);
    return file;
}

void golden_close(golden *file) {
    if (!file) return;
    cp_st_free(file->file);
    free(file->seen);
    free(file);
}

size_t golden_count(const golden *file) { return cp_st_count(file->file); }

const char *golden_name(const golden *file, size_t index) { return cp_st_entry_at(file->file, index)->name; }

const char *golden_not_looked_at(const golden *file) {
    for (size_t i = 0; i < golden_count(file); i++)
        if (!file->seen[i]) return golden_name(file, i);
    return NULL;
}

static const cp_st_entry *look(golden *file, const char *format, va_list args, bool needed) {
    char name[256];
    vsnprintf(name, sizeof name, format, args);
    const cp_st_entry *entry = cp_st_find(file->file, name);
    for (size_t i = 0; entry && i < golden_count(file); i++)
        if (cp_st_entry_at(file->file, i) == entry) file->seen[i] = true;
    TEST_ASSERT_TRUE_MESSAGE(entry || !needed, name);
    return entry;
}

#define LOOK(needed)                                                                                                               \
    va_list args;                                                                                                                  \
    va_start(args, format);                                                                                                        \
    const cp_st_entry *entry = look(file, format, args, needed);                                                                   \
    va_end(args);                                                                                                                  \
    return entry

const cp_st_entry *golden_find(golden *file, const char *format, ...) { LOOK(false); }

const cp_st_entry *golden_need(golden *file, const char *format, ...) { LOOK(true); }

double golden_value(const cp_st_entry *entry, size_t index) {
    double value;
    TEST_ASSERT_TRUE_MESSAGE(entry->dtype == CP_F64 && index < entry->count, entry->name);
    memcpy(&value, (const char *)entry->data + index * sizeof value, sizeof value);
    return value;
}

int golden_ints(const cp_st_entry *entry, int *out, int limit) {
    TEST_ASSERT_TRUE_MESSAGE(entry->dtype == CP_I64 && entry->count <= (size_t)limit, entry->name);
    for (size_t i = 0; i < entry->count; i++) {
        int64_t value;
        memcpy(&value, (const char *)entry->data + i * sizeof value, sizeof value);
        out[i] = (int)value;
    }
    return (int)entry->count;
}

int golden_dims(const cp_st_entry *entry, int *dims) {
    TEST_ASSERT_TRUE_MESSAGE(entry->rank <= CP_MAX_RANK, entry->name);
    for (int i = 0; i < entry->rank; i++) dims[i] = (int)entry->dims[i];
    return entry->rank;
}

void golden_reals(const cp_st_entry *entry, cp_real *out) {
    for (size_t i = 0; i < entry->count; i++) out[i] = (cp_real)golden_value(entry, i);
}

/* ---- synthetic numbers ---- */

static uint32_t mixed(uint32_t x) {
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

static double synthetic(uint32_t hash, size_t place) {
    uint32_t x = mixed((uint32_t)place * 0x9E3779B9u + hash);
    double   size = 0.125 + (double)(x >> 16) / 32768;
    return x & 1 ? -size : size;
}

static uint32_t name_hash(const char *name) {
    uint32_t hash = 0x811C9DC5u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x01000193u;
    return hash;
}

void golden_synthetic(const char *name, double *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = synthetic(name_hash(name), i);
}

void golden_synthetic_reals(const char *name, cp_real *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = (cp_real)synthetic(name_hash(name), i);
}

/* ---- comparing ---- */

static void same_shape(const cp_st_entry *entry, const cp_tensor *got) {
    TEST_ASSERT_NOT_NULL_MESSAGE(got, entry->name);
    int  dims[CP_MAX_RANK], rank = golden_dims(entry, dims);
    bool same = got->rank == rank;
    for (int i = 0; same && i < rank; i++) same = got->dims[i] == dims[i];
    TEST_ASSERT_TRUE_MESSAGE(same, entry->name);
}

static bool close_to(double expected, double got, double room) {
    if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got);
    return expected == got || fabs(expected - got) <= room;
}

static void is_close(const cp_st_entry *entry, size_t i, double expected, double got, double room) {
    if (close_to(expected, got, room)) return;
    char text[400];
    snprintf(text, sizeof text, "%s[%zu]: expected %.17g, got %.17g; the difference %.3g is more than %.3g", entry->name, i,
             expected, got, fabs(expected - got), room);
    TEST_FAIL_MESSAGE(text);
}

void golden_equals(const cp_st_entry *entry, const cp_tensor *got, double tolerance) {
    same_shape(entry, got);
    double largest = 0;
    for (size_t i = 0; i < entry->count; i++)
        if (isfinite(golden_value(entry, i))) largest = fmax(largest, fabs(golden_value(entry, i)));
    for (size_t i = 0; i < entry->count; i++) is_close(entry, i, golden_value(entry, i), (double)got->data[i], tolerance * largest);
}

void golden_equals_each(const cp_st_entry *entry, const cp_tensor *got, double tolerance) {
    same_shape(entry, got);
    double smallest = CP_DOUBLE ? DBL_MIN : (double)FLT_MIN;
    for (size_t i = 0; i < entry->count; i++) {
        double expected = (double)(cp_real)golden_value(entry, i);
        is_close(entry, i, expected, (double)got->data[i], fmax(smallest, tolerance * fabs(expected)));
    }
}
