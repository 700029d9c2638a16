/* The JSON writer. */
#include "core/io/file.h"
#include "core/io/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void new_line(cp_json_writer *w) {
    if (!w->pretty) return;
    cp_bytes_text(&w->out, "\n");
    for (int i = 0; i < w->depth; i++) cp_bytes_text(&w->out, "  ");
}

static void put_quoted(cp_bytes *out, const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    size_t               left = strlen(text);
    cp_bytes_text(out, "\"");
    while (left > 0) {
        int length = cp_utf8_length(p, left);
        if (length == 0) {
            cp_bytes_text(out, "\xEF\xBF\xBD");
        } else if (*p == '"' || *p == '\\') {
            cp_bytes_append(out, (char[]){'\\', (char)*p}, 2);
        } else if (*p == '\n') {
            cp_bytes_text(out, "\\n");
        } else if (*p < 32 || *p == 127 || (*p == 0xC2 && p[1] < 0xA0)) { /* C1 controls drive terminals too */
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", length == 2 ? p[1] : p[0]);
            cp_bytes_text(out, escape);
        } else {
            cp_bytes_append(out, p, (size_t)length);
        }
        p += length ? length : 1;
        left -= length ? (size_t)length : 1;
    }
    cp_bytes_text(out, "\"");
}

/* Comma, line and key before a value; false when a value has no place here. */
static bool begin(cp_json_writer *w, const char *key) {
    bool in_object = w->depth > 0 && w->open[w->depth - 1] == '{';
    if (w->trouble) return false;
    if (w->depth == 0 && w->count > 0)
        w->trouble = "a second value outside any object or array";
    else if (in_object && !key)
        w->trouble = "a value without a key in an object";
    else if (!in_object && key)
        w->trouble = "a key outside an object";
    if (w->trouble) return false;
    if (w->count++ > 0) cp_bytes_text(&w->out, ",");
    if (w->depth > 0) new_line(w);
    if (key) {
        put_quoted(&w->out, key);
        cp_bytes_text(&w->out, w->pretty ? ": " : ":");
    }
    return true;
}

static void put_text(cp_json_writer *w, const char *key, const char *text) {
    if (begin(w, key)) cp_bytes_text(&w->out, text);
}

static void open_level(cp_json_writer *w, const char *key, char kind) {
    if (w->depth == CP_JSON_DEPTH) {
        if (!w->trouble) w->trouble = "too many objects and arrays within each other";
        return;
    }
    put_text(w, key, kind == '{' ? "{" : "[");
    w->open[w->depth++] = kind;
    w->count = 0;
}

void cp_json_put_object(cp_json_writer *w, const char *key) {
    open_level(w, key, '{');
}

void cp_json_put_array(cp_json_writer *w, const char *key) {
    open_level(w, key, '[');
}

void cp_json_put_end(cp_json_writer *w) {
    if (w->depth == 0) {
        if (!w->trouble) w->trouble = "an end without an object or array";
        return;
    }
    bool empty = w->count == 0;
    w->depth--;
    w->count = 1; /* the object or array itself */
    if (!empty) new_line(w);
    cp_bytes_text(&w->out, w->open[w->depth] == '{' ? "}" : "]");
}

void cp_json_put_null(cp_json_writer *w, const char *key) {
    put_text(w, key, "null");
}

void cp_json_put_bool(cp_json_writer *w, const char *key, bool value) {
    put_text(w, key, value ? "true" : "false");
}

void cp_json_put_integer(cp_json_writer *w, const char *key, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_text(w, key, text);
}

/* printf writes the locale's decimal point, which may be several bytes long. */
static void point_fix(char *text) {
    size_t at = strspn(text, "+-0123456789eE"), end = at;
    while (text[end] && !strchr("+-0123456789eE", text[end])) end++;
    if (end == at) return;
    text[at] = '.';
    memmove(text + at + 1, text + end, strlen(text + end) + 1);
}

void cp_json_put_number(cp_json_writer *w, const char *key, double value) {
    char text[48] = "null";
    for (int precision = 15; isfinite(value) && precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value) break;
    }
    if (isfinite(value)) point_fix(text);
    put_text(w, key, text);
}

void cp_json_put_string(cp_json_writer *w, const char *key, const char *value) {
    if (!value)
        cp_json_put_null(w, key);
    else if (begin(w, key))
        put_quoted(&w->out, value);
}

static void put_number_of(cp_json_writer *w, const char *key, const cp_json *value) {
    int64_t whole = cp_json_integer(value, INT64_MIN);
    whole == INT64_MIN ? cp_json_put_number(w, key, value->number) : cp_json_put_integer(w, key, whole);
}

void cp_json_put_copy(cp_json_writer *w, const char *key, const cp_json *value) {
    switch (value->kind) {
    case CP_JSON_NULL: cp_json_put_null(w, key); return;
    case CP_JSON_BOOL: cp_json_put_bool(w, key, value->boolean); return;
    case CP_JSON_NUMBER: put_number_of(w, key, value); return;
    case CP_JSON_STRING: cp_json_put_string(w, key, value->text); return;
    case CP_JSON_ARRAY: cp_json_put_array(w, key); break;
    case CP_JSON_OBJECT: cp_json_put_object(w, key); break;
    }
    for (const cp_json *member = value->first; member; member = member->next) cp_json_put_copy(w, member->key, member);
    cp_json_put_end(w);
}

bool cp_json_writer_finish(cp_json_writer *w, cp_status *status) {
    if (!w->trouble && w->depth > 0) w->trouble = "an object or array was not ended";
    if (!w->trouble && w->count == 0) w->trouble = "no value was put";
    if (w->trouble) return cp_fail(status, "JSON writer: %s", w->trouble);
    if (!cp_bytes_append(&w->out, "", 1)) return cp_fail(status, "JSON writer: not enough memory for %zu bytes", w->out.size);
    w->out.size--;
    return true;
}

bool cp_json_writer_save(cp_json_writer *w, const char *path, cp_status *status) {
    bool done = cp_json_writer_finish(w, status);
    if (done) {
        w->out.data[w->out.size] = '\n';
        done = cp_file_write(path, w->out.data, w->out.size + 1, status);
    }
    cp_json_writer_free(w);
    return done;
}

void cp_json_writer_free(cp_json_writer *w) {
    cp_bytes_free(&w->out);
    *w = (cp_json_writer){.pretty = w->pretty};
}
