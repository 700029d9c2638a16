/* JSON. The values of a text are counted before it is parsed, so one block of memory has room for all of them, with the root first, and for
 * the decoded strings. */
#include "core/io/json.h"
#include "core/io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_LIMIT = 100 * 1000 * 1000 };

typedef struct parser {
    const unsigned char *text;
    size_t               at, size;
    const char          *name;
    cp_status           *status;
    cp_json             *nodes; /* `count` used of `room` */
    size_t               count, room;
    char                *strings; /* where the next one begins */
} parser;

/* ---- messages ---- */

static bool fail_memory(const parser *p) { return cp_fail(p->status, "%.200s: not enough memory for the JSON values", p->name); }

static bool fail_at(parser *p, size_t at, const char *what) {
    size_t line = 1, line_start = 0;
    for (size_t i = 0; i < at; i++)
        if (p->text[i] == '\n') line++, line_start = i + 1;
    return cp_damaged(p->status, "%.200s: JSON, line %zu, column %zu (byte %zu): %s", p->name, line, at - line_start + 1, at, what);
}

static bool fail_expected(parser *p, const char *expected) {
    char what[120];
    if (p->at >= p->size)
        snprintf(what, sizeof what, "expected %s, found the end; is the text truncated?", expected);
    else if (p->text[p->at] >= 32 && p->text[p->at] < 127)
        snprintf(what, sizeof what, "expected %s, found '%c'", expected, p->text[p->at]);
    else
        snprintf(what, sizeof what, "expected %s, found byte 0x%02x", expected, p->text[p->at]);
    return fail_at(p, p->at, what);
}

/* ---- the grammar ---- */

static int peek(const parser *p) { return p->at < p->size ? p->text[p->at] : -1; }

static void skip_space(parser *p) {
    for (int c = peek(p); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(p)) p->at++;
}

static bool accept(parser *p, char c) {
    skip_space(p);
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static bool accept_word(parser *p, const char *word) {
    size_t length = strlen(word);
    if (p->size - p->at < length || memcmp(p->text + p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

/* The four digits of \uXXXX, or -1. */
static int32_t hex4(parser *p) {
    int32_t code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        int c = peek(p);
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) {
            fail_expected(p, "four hexadecimal digits after \\u");
            return -1;
        }
        code = code * 16 + digit;
    }
    return code;
}

/* After "\u": the character, from a surrogate pair if needed, or -1. */
static int32_t unicode_escape(parser *p) {
    size_t  start = p->at - 2;
    int32_t code = hex4(p);
    if (code >= 0xD800 && code <= 0xDBFF && accept_word(p, "\\u")) {
        int32_t low = hex4(p);
        if (low < 0) return -1;
        if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    const char *problem = code == 0 ? "\\u0000 is not accepted in a string"
                          : code >= 0xD800 && code <= 0xDFFF
                              ? "half a surrogate pair; \\ud800 to \\udbff must be followed by \\udc00 to \\udfff"
                              : NULL;
    return !problem || fail_at(p, start, problem) ? code : -1;
}

static char *utf8_put(char *out, int32_t code) {
    static const int lead[] = {0, 0xC0, 0xE0, 0xF0};
    int              more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *out++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0) *out++ = (char)(0x80 | (code >> 6 * more & 63));
    return out;
}

static char *escape_put(parser *p, char *out) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    p->at++;
    int c = peek(p);
    if (c == 'u') {
        p->at++;
        int32_t code = unicode_escape(p);
        return code < 0 ? NULL : utf8_put(out, code);
    }
    const char *letter = c > 0 ? strchr(letters, c) : NULL;
    if (!letter) return cp_null(fail_expected(p, "one of \" \\ / b f n r t u after a backslash"));
    p->at++;
    *out = meanings[letter - letters];
    return out + 1;
}

/* After the opening quote. NULL after an error. The string with its NUL is shorter than it is in quotes. */
static const char *parse_string(parser *p) {
    char *text = p->strings, *out = text;
    for (int c = peek(p); c != '"'; c = peek(p)) {
        if (c == '\\') {
            out = escape_put(p, out);
            if (!out) return NULL;
            continue;
        }
        int length = c < 32 ? 0 : cp_utf8_length(p->text + p->at, p->size - p->at);
        if (length == 0)
            return cp_null(
                fail_expected(p, "a character in UTF-8 (control characters as \\u00XX) or the closing quote of a string"));
        memcpy(out, p->text + p->at, (size_t)length);
        out += length;
        p->at += (size_t)length;
    }
    *out = '\0';
    p->strings = out + 1;
    p->at++;
    return text;
}

static bool digits(parser *p) {
    if (!(peek(p) >= '0' && peek(p) <= '9')) return fail_expected(p, "a digit");
    while (peek(p) >= '0' && peek(p) <= '9') p->at++;
    return true;
}

/* strtod uses the locale's decimal point; where it is not ".", the text is converted to it first. */
static bool to_double(parser *p, const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (*end == '\0') return true;
    const char *point = localeconv()->decimal_point;
    char       *local = malloc(strlen(text) + strlen(point) + 1);
    if (!local) return fail_memory(p);
    size_t whole = strcspn(text, ".");
    memcpy(local, text, whole);
    strcpy(local + whole, point);
    strcat(local + whole, text + whole + (text[whole] == '.'));
    *out = strtod(local, NULL);
    free(local);
    return true;
}

static bool parse_number(parser *p, cp_json *node) {
    size_t start = p->at;
    accept_word(p, "-");
    if (!accept_word(p, "0") && !digits(p)) return false;
    if (accept_word(p, ".") && !digits(p)) return false;
    if (accept_word(p, "e") || accept_word(p, "E")) {
        if (!accept_word(p, "+")) accept_word(p, "-");
        if (!digits(p)) return false;
    }
    size_t length = p->at - start;
    node->kind = CP_JSON_NUMBER;
    node->text = memcpy(p->strings, p->text + start, length);
    p->strings[length] = '\0';
    p->strings += length + 1;
    if (!to_double(p, node->text, &node->number)) return false;
    return isfinite(node->number) || fail_at(p, start, "a number beyond the range of double");
}

static int compare_keys(const void *a, const void *b) {
    const cp_json *x = *(cp_json *const *)a, *y = *(cp_json *const *)b;
    int            order = strcmp(x->key, y->key);
    return order ? order : x->offset < y->offset ? -1 : 1;
}

/* Sorts the keys: comparing all pairs would take too long for an object with a million of them. */
static bool check_keys(parser *p, const cp_json *object) {
    cp_json **sorted = malloc(object->count * sizeof *sorted);
    if (!sorted) return fail_memory(p);
    size_t n = 0;
    for (cp_json *member = object->first; member; member = member->next) sorted[n++] = member;
    qsort(sorted, n, sizeof *sorted, compare_keys);
    const cp_json *repeated = NULL;
    for (size_t i = 1; i < n && !repeated; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0) repeated = sorted[i];
    free(sorted);
    if (!repeated) return true;
    char what[140];
    snprintf(what, sizeof what, "the key \"%s\" appears twice in one object", cp_shown(repeated->key, strlen(repeated->key)).text);
    return fail_at(p, repeated->offset, what);
}

static bool parse_value(parser *p, cp_json *node, int depth);

/* After '{' or '['. */
static bool parse_members(parser *p, cp_json *parent, int depth) {
    bool      object = parent->kind == CP_JSON_OBJECT;
    char      close = object ? '}' : ']';
    cp_json **link = &parent->first;
    if (depth == CP_JSON_DEPTH) return fail_at(p, parent->offset, "more than 64 levels of objects and arrays");
    if (accept(p, close)) return true;
    do {
        const char *key = NULL;
        if (object) {
            if (!accept(p, '"')) return fail_expected(p, "a key in double quotes");
            if (!(key = parse_string(p))) return false;
            if (!accept(p, ':')) return fail_expected(p, "':'");
        }
        if (p->count == p->room) return fail_at(p, p->at, "too many values; is this the right file?");
        cp_json *member = &p->nodes[p->count++];
        *member = (cp_json){.key = key};
        *link = member;
        link = &member->next;
        parent->count++;
        if (!parse_value(p, member, depth + 1)) return false;
    } while (accept(p, ','));
    if (!accept(p, close)) return fail_expected(p, object ? "',' or '}'" : "',' or ']'");
    return !object || check_keys(p, parent);
}

static bool parse_value(parser *p, cp_json *node, int depth) {
    skip_space(p);
    node->offset = p->at;
    int c = peek(p);
    if (c == '{' || c == '[') {
        p->at++;
        node->kind = c == '{' ? CP_JSON_OBJECT : CP_JSON_ARRAY;
        return parse_members(p, node, depth);
    }
    if (c == '"') {
        p->at++;
        node->kind = CP_JSON_STRING;
        node->text = parse_string(p);
        return node->text != NULL;
    }
    if (c == '-' || (c >= '0' && c <= '9')) return parse_number(p, node);
    if (accept_word(p, "null")) return true;
    node->kind = CP_JSON_BOOL;
    node->boolean = accept_word(p, "true");
    return node->boolean || accept_word(p, "false") || fail_expected(p, "a value");
}

/* At least the number of values in the text, of which one follows each comma and each opening bracket outside strings. */
static size_t count_values(const unsigned char *text, size_t size) {
    size_t count = 1;
    bool   quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"') quoted = !quoted;
        if (text[i] == '\\') i++; /* in a string, skips what is escaped */
        if (!quoted && i < size && (text[i] == ',' || text[i] == '[' || text[i] == '{')) count++;
    }
    return count;
}

cp_json *cp_json_parse(const void *text, size_t size, const char *name, cp_status *status) {
    cp_status_begin(status);
    parser p = {.text = text, .size = size, .name = name, .status = status, .count = 1, .room = count_values(text, size)};
    if (p.room > CP_JSON_VALUES) p.room = CP_JSON_VALUES;
    p.nodes = size < PTRDIFF_MAX / 2 ? malloc(p.room * sizeof *p.nodes + size + 1) : NULL;
    if (!p.nodes) return cp_null(fail_memory(&p));
    p.nodes[0] = (cp_json){0};
    p.strings = (char *)(p.nodes + p.room);
    bool done = parse_value(&p, p.nodes, 0);
    skip_space(&p);
    if (done && p.at < size) done = fail_expected(&p, "nothing more after the value");
    if (done) return p.nodes;
    free(p.nodes);
    return NULL;
}

cp_json *cp_json_read(const char *path, cp_status *status) {
    cp_bytes file;
    if (!cp_file_read(path, READ_LIMIT, &file, status)) return NULL;
    cp_json *root = cp_json_parse(file.data, file.size, path, status);
    cp_bytes_free(&file);
    return root;
}

void cp_json_free(cp_json *root) { free(root); }

/* ---- looking values up ---- */

static bool is(const cp_json *node, cp_json_kind kind) { return node && node->kind == kind; }

const cp_json *cp_json_get(const cp_json *object, const char *key) {
    const cp_json *member = is(object, CP_JSON_OBJECT) ? object->first : NULL;
    while (member && strcmp(member->key, key) != 0) member = member->next;
    return member;
}

const cp_json *cp_json_at(const cp_json *array, size_t index) {
    const cp_json *member = is(array, CP_JSON_ARRAY) ? array->first : NULL;
    while (member && index-- > 0) member = member->next;
    return member;
}

double      cp_json_number(const cp_json *node, double fallback) { return is(node, CP_JSON_NUMBER) ? node->number : fallback; }
bool        cp_json_bool(const cp_json *node, bool fallback) { return is(node, CP_JSON_BOOL) ? node->boolean : fallback; }
const char *cp_json_string(const cp_json *node, const char *fallback) { return is(node, CP_JSON_STRING) ? node->text : fallback; }

int64_t cp_json_integer(const cp_json *node, int64_t fallback) {
    if (!is(node, CP_JSON_NUMBER)) return fallback;
    if (!strpbrk(node->text, ".eE")) { /* then its text is exact where the double is not */
        errno = 0;
        long long value = strtoll(node->text, NULL, 10);
        return errno ? fallback : value;
    }
    bool whole = node->number >= -0x1p63 && node->number < 0x1p63 && node->number == floor(node->number);
    return whole ? (int64_t)node->number : fallback;
}

/* ---- writing ---- */

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

/* Writes the comma, new line and key before a value; false when no value is allowed here. */
static bool begin(cp_json_writer *w, const char *key) {
    bool in_object = w->depth > 0 && w->open[w->depth - 1] == '{';
    if (w->error) return false;
    if (w->depth == 0 && w->count > 0)
        w->error = "a second value at the top level";
    else if (in_object && !key)
        w->error = "a value without a key in an object";
    else if (!in_object && key)
        w->error = "a key outside an object";
    if (w->error) return false;
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
        if (!w->error) w->error = "too many levels of objects and arrays";
        return;
    }
    put_text(w, key, kind == '{' ? "{" : "[");
    w->open[w->depth++] = kind;
    w->count = 0;
}

void cp_json_put_object(cp_json_writer *w, const char *key) { open_level(w, key, '{'); }
void cp_json_put_array(cp_json_writer *w, const char *key) { open_level(w, key, '['); }

void cp_json_put_end(cp_json_writer *w) {
    if (w->depth == 0) {
        if (!w->error) w->error = "an end without an open object or array";
        return;
    }
    bool empty = w->count == 0;
    w->depth--;
    w->count = 1; /* the object or array itself */
    if (!empty) new_line(w);
    cp_bytes_text(&w->out, w->open[w->depth] == '{' ? "}" : "]");
}

void cp_json_put_null(cp_json_writer *w, const char *key) { put_text(w, key, "null"); }
void cp_json_put_bool(cp_json_writer *w, const char *key, bool value) { put_text(w, key, value ? "true" : "false"); }

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

#define PUT_VALUES(NAME, TYPE, PUT)                                                                                                \
    void NAME(cp_json_writer *w, const char *key, TYPE const *values, size_t count) {                                              \
        cp_json_put_array(w, key);                                                                                                 \
        for (size_t i = 0; i < count; i++) PUT(w, NULL, values[i]);                                                                \
        cp_json_put_end(w);                                                                                                        \
    }
PUT_VALUES(cp_json_put_integers, int, cp_json_put_integer)
PUT_VALUES(cp_json_put_numbers, double, cp_json_put_number)
PUT_VALUES(cp_json_put_strings, char const *, cp_json_put_string)

void cp_json_put_copy(cp_json_writer *w, const char *key, const cp_json *value) {
    int64_t whole = cp_json_integer(value, INT64_MIN);
    switch (value->kind) {
    case CP_JSON_NULL: cp_json_put_null(w, key); return;
    case CP_JSON_BOOL: cp_json_put_bool(w, key, value->boolean); return;
    case CP_JSON_NUMBER:
        whole == INT64_MIN ? cp_json_put_number(w, key, value->number) : cp_json_put_integer(w, key, whole);
        return;
    case CP_JSON_STRING: cp_json_put_string(w, key, value->text); return;
    case CP_JSON_ARRAY: cp_json_put_array(w, key); break;
    case CP_JSON_OBJECT: cp_json_put_object(w, key); break;
    }
    for (const cp_json *member = value->first; member; member = member->next) cp_json_put_copy(w, member->key, member);
    cp_json_put_end(w);
}

bool cp_json_writer_finish(cp_json_writer *w, cp_status *status) {
    if (!w->error && w->depth > 0) w->error = "an object or array was not closed";
    if (!w->error && w->count == 0) w->error = "no value was written";
    if (w->error) return cp_fail(status, "JSON writer: %s", w->error);
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

bool cp_json_writer_print(cp_json_writer *w, FILE *file, cp_status *status) {
    bool done = cp_json_writer_finish(w, status);
    if (done) fprintf(file, "%s\n", (const char *)w->out.data);
    cp_json_writer_free(w);
    return done;
}

void cp_json_writer_free(cp_json_writer *w) {
    cp_bytes_free(&w->out);
    *w = (cp_json_writer){.pretty = w->pretty};
}
