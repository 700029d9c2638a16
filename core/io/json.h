/* JSON: a strict reader (RFC 8259) that returns a tree, and a writer that appends to a buffer. */
#pragma once

#include "core/error.h"
#include "core/io/bytes.h"

#include <stdio.h>

/* ---- reading ----
 *
 *     cp_json *config = cp_json_read("config.json", &status);
 *     int      depth  = (int)cp_json_integer(cp_json_get(config, "depth"), 10);
 *     cp_json_free(config);
 *
 * Strict: UTF-8, no comments, no trailing commas, one value. Errors, with line, column and byte, are also: a key that
 * appears twice in an object, \u0000 (so every string is a C string), a number beyond the range of double, more than
 * CP_JSON_DEPTH levels, more than CP_JSON_VALUES values. */
enum { CP_JSON_DEPTH = 64, CP_JSON_VALUES = 1 << 23 };

typedef enum cp_json_kind {
    CP_JSON_NULL,
    CP_JSON_BOOL,
    CP_JSON_NUMBER,
    CP_JSON_STRING,
    CP_JSON_ARRAY,
    CP_JSON_OBJECT
} cp_json_kind;

typedef struct cp_json {
    cp_json_kind    kind;
    bool            boolean;
    size_t          offset; /* of its first byte in the text that was read, for messages */
    size_t          count;  /* members of an object or array */
    const char     *key;    /* of a member of an object, else NULL */
    const char     *text;   /* the decoded string; the number as written */
    double          number;
    struct cp_json *first; /* of an object or array, else NULL:                             */
    struct cp_json *next;  /* for (const cp_json *m = node->first; m; m = m->next)          */
} cp_json;

/* NULL after an error. `name` is what messages call the text: a path. The tree keeps nothing of `text`. */
cp_json *cp_json_parse(const void *text, size_t size, const char *name, cp_status *status);
cp_json *cp_json_read(const char *path, cp_status *status); /* a file of at most 100 MB */
void     cp_json_free(cp_json *root);                       /* what parse or read gave; NULL is allowed */

/* All accept NULL for a missing value, so calls nest: cp_json_number(cp_json_get(cp_json_get(n, "sgld"), "step"), 1). A value of another
 * kind gives the fallback too. */
const cp_json *cp_json_get(const cp_json *object, const char *key);
const cp_json *cp_json_at(const cp_json *array, size_t index);
double         cp_json_number(const cp_json *node, double fallback);
bool           cp_json_bool(const cp_json *node, bool fallback);
const char    *cp_json_string(const cp_json *node, const char *fallback);

/* Whole numbers, exact to 64 bits; 3.0 and 3e0 count as whole, 3.5 and numbers out of range give the fallback. */
int64_t cp_json_integer(const cp_json *node, int64_t fallback);

/* ---- writing ----
 *
 *     cp_json_writer w = {.pretty = true};
 *     cp_json_put_object(&w, NULL);
 *     cp_json_put_integer(&w, "depth", 10);
 *     cp_json_put_array(&w, "rates");
 *     cp_json_put_number(&w, NULL, 0.1);
 *     cp_json_put_end(&w);
 *     cp_json_put_end(&w);
 *     bool saved = cp_json_writer_save(&w, "config.json", &status);    // with a final newline; frees
 *
 * Start it as {0} for one line, {.pretty = true} for lines and indentation. The key is given within an object and NULL
 * elsewhere. finish and save report invalid calls and a lack of memory. */
typedef struct cp_json_writer {
    cp_bytes    out;
    bool        pretty;
    const char *error; /* the first one, or NULL */
    int         depth;
    size_t      count;               /* members so far at this level */
    char        open[CP_JSON_DEPTH]; /* '{' or '[' at each level */
} cp_json_writer;

void cp_json_put_object(cp_json_writer *writer, const char *key);
void cp_json_put_array(cp_json_writer *writer, const char *key);
void cp_json_put_end(cp_json_writer *writer); /* of the innermost object or array */
void cp_json_put_null(cp_json_writer *writer, const char *key);
void cp_json_put_bool(cp_json_writer *writer, const char *key, bool value);
void cp_json_put_integer(cp_json_writer *writer, const char *key, int64_t value);

/* With the fewest digits that give the same number when read. NaN and infinity become null. */
void cp_json_put_number(cp_json_writer *writer, const char *key, double value);

/* UTF-8; invalid bytes become U+FFFD. NULL becomes null. */
void cp_json_put_string(cp_json_writer *writer, const char *key, const char *value);

/* Arrays of `count` values. */
void cp_json_put_integers(cp_json_writer *writer, const char *key, const int *values, size_t count);
void cp_json_put_numbers(cp_json_writer *writer, const char *key, const double *values, size_t count);
void cp_json_put_strings(cp_json_writer *writer, const char *key, const char *const *values, size_t count);

/* A value that was read, with all its members. */
void cp_json_put_copy(cp_json_writer *writer, const char *key, const cp_json *value);

/* Whether the text in writer->out (out.size bytes, and a NUL that is not counted) is complete. */
bool cp_json_writer_finish(cp_json_writer *writer, cp_status *status);
bool cp_json_writer_save(cp_json_writer *writer, const char *path, cp_status *status);
bool cp_json_writer_print(cp_json_writer *writer, FILE *file, cp_status *status); /* with a final newline; frees */
void cp_json_writer_free(cp_json_writer *writer);
