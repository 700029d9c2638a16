/* The JSON reader. Nodes and decoded strings live in a list of blocks that hang on the root, so freeing is one loop. */
#include "core/io/file.h"
#include "core/io/json.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20, READ_LIMIT = 100 * 1000 * 1000 };

typedef struct block {
    struct block *older;
    size_t        used, size;
} block;

/* The root comes first in memory that cp_json_free gets back as its pointer. */
typedef struct tree {
    cp_json root;
    block  *newest;
} tree;

typedef struct parser {
    const unsigned char *text;
    size_t               at, size;
    const char          *name;
    cp_status           *status;
    tree                *tree;
    size_t               values;
} parser;

/* ---- memory and messages ----------------------------------------------------------------------------------------- */

static void *tree_alloc(parser *p, size_t size) {
    block *b = p->tree->newest;
    size = (size + 7) & ~(size_t)7;
    if (!b || b->size - b->used < size) {
        size_t room = !b ? BLOCK_MIN : b->size < BLOCK_MAX ? b->size * 2 : BLOCK_MAX;
        room = size > room ? size : room;
        block *more = room <= SIZE_MAX - sizeof *more ? malloc(sizeof *more + room) : NULL;
        if (!more) return cp_null(cp_fail(p->status, "%.200s: not enough memory for the JSON values", p->name));
        *more = (block){b, 0, room};
        p->tree->newest = b = more;
    }
    void *out = (unsigned char *)(b + 1) + b->used;
    b->used += size;
    return out;
}

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

/* ---- the grammar ------------------------------------------------------------------------------------------------- */

static int peek(const parser *p) {
    return p->at < p->size ? p->text[p->at] : -1;
}

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

static bool surrogate_low(int32_t code) {
    return code >= 0xDC00 && code <= 0xDFFF;
}

/* After "\u": the character, put together from two halves where it needs them, or -1. */
static int32_t unicode_escape(parser *p) {
    size_t  start = p->at - 2;
    int32_t code = hex4(p);
    if (code >= 0xD800 && code <= 0xDBFF && accept_word(p, "\\u")) {
        int32_t low = hex4(p);
        if (low < 0) return -1;
        code = surrogate_low(low) ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : code;
    }
    if (code == 0) {
        fail_at(p, start, "\\u0000 is not accepted in a string");
        return -1;
    }
    if (code >= 0xD800 && code <= 0xDFFF) {
        fail_at(p, start, "half a surrogate pair; \\ud800 to \\udbff must be followed by \\udc00 to \\udfff");
        return -1;
    }
    return code;
}

static char *utf8_put(char *out, int32_t code) {
    static const int lead[] = {0, 0xC0, 0xE0, 0xF0};
    int              more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *out++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0) *out++ = (char)(0x80 | (code >> 6 * more & 63));
    return out;
}

/* The end of the string whose first character is at p->at: an upper bound of its decoded length. */
static size_t raw_length(const parser *p) {
    size_t i = p->at;
    while (i < p->size && p->text[i] != '"') i += p->text[i] == '\\' && p->size - i > 1 ? 2 : 1;
    return i - p->at;
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

/* After the opening quote. NULL after an error. */
static const char *parse_string(parser *p) {
    char *text = tree_alloc(p, raw_length(p) + 1), *out = text;
    while (out && peek(p) != '"') {
        int c = peek(p);
        if (c == '\\') {
            out = escape_put(p, out);
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
    if (!out) return NULL;
    *out = '\0';
    p->at++;
    return text;
}

static bool digits(parser *p) {
    if (!(peek(p) >= '0' && peek(p) <= '9')) return fail_expected(p, "a digit");
    while (peek(p) >= '0' && peek(p) <= '9') p->at++;
    return true;
}

/* strtod obeys the program's locale; JSON does not: where the two disagree about the point, the text is put in the
 * locale's. */
static bool to_double(parser *p, const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (*end == '\0') return true;
    const char *point = localeconv()->decimal_point;
    char       *local = tree_alloc(p, strlen(text) + strlen(point) + 1);
    if (!local) return false;
    size_t whole = strcspn(text, ".");
    memcpy(local, text, whole);
    strcpy(local + whole, point);
    strcat(local + whole, text + whole + (text[whole] == '.'));
    *out = strtod(local, NULL);
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
    char  *text = tree_alloc(p, length + 1);
    if (!text) return false;
    memcpy(text, p->text + start, length);
    text[length] = '\0';
    node->kind = CP_JSON_NUMBER;
    node->text = text;
    if (!to_double(p, text, &node->number)) return false;
    return isfinite(node->number) || fail_at(p, start, "a number beyond the range of double");
}

static int compare_keys(const void *a, const void *b) {
    const cp_json *x = *(cp_json *const *)a, *y = *(cp_json *const *)b;
    int            order = strcmp(x->key, y->key);
    return order ? order : x->offset < y->offset ? -1 : 1;
}

static bool fail_twice(parser *p, const cp_json *member) {
    char what[140];
    snprintf(what, sizeof what, "the key \"%s\" comes twice in one object", cp_shown(member->key, strlen(member->key)).text);
    return fail_at(p, member->offset, what);
}

/* By sorting: an object of a million keys must not take a day. */
static bool check_keys(parser *p, const cp_json *object) {
    cp_json **sorted = malloc(object->count * sizeof *sorted);
    if (!sorted) return cp_fail(p->status, "%.200s: not enough memory for the JSON values", p->name);
    size_t n = 0;
    for (cp_json *member = object->first; member; member = member->next) sorted[n++] = member;
    qsort(sorted, n, sizeof *sorted, compare_keys);
    bool unique = true;
    for (size_t i = 1; i < n && unique; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0) unique = fail_twice(p, sorted[i]);
    free(sorted);
    return unique;
}

static bool parse_value(parser *p, cp_json *node, int depth);

static bool parse_key(parser *p, const char **key) {
    if (!accept(p, '"')) return fail_expected(p, "a key in double quotes");
    *key = parse_string(p);
    return *key && (accept(p, ':') || fail_expected(p, "':'"));
}

/* After '{' or '['. */
static bool parse_members(parser *p, cp_json *parent, int depth) {
    bool      object = parent->kind == CP_JSON_OBJECT;
    char      close = object ? '}' : ']';
    cp_json **link = &parent->first;
    if (depth == CP_JSON_DEPTH) return fail_at(p, parent->offset, "more than 64 objects and arrays within each other");
    if (accept(p, close)) return true;
    do {
        const char *key = NULL;
        if (object && !parse_key(p, &key)) return false;
        cp_json *member = tree_alloc(p, sizeof *member);
        if (!member) return false;
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
    if (++p->values > CP_JSON_VALUES) return fail_at(p, p->at, "too many values; this is not a file that this program reads");
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

cp_json *cp_json_parse(const void *text, size_t size, const char *name, cp_status *status) {
    tree *t = calloc(1, sizeof *t);
    if (!t) return cp_null(cp_fail(status, "%.200s: not enough memory for the JSON values", name));
    parser p = {.text = text, .size = size, .name = name, .status = status, .tree = t};
    bool   done = parse_value(&p, &t->root, 0);
    skip_space(&p);
    if (done && p.at < size) done = fail_expected(&p, "nothing more after the value");
    if (done) return &t->root;
    cp_json_free(&t->root);
    return NULL;
}

cp_json *cp_json_read(const char *path, cp_status *status) {
    cp_bytes file;
    if (!cp_file_read(path, READ_LIMIT, &file, status)) return NULL;
    cp_json *root = cp_json_parse(file.data, file.size, path, status);
    cp_bytes_free(&file);
    return root;
}

void cp_json_free(cp_json *root) {
    tree *t = (tree *)root;
    if (!t) return;
    for (block *b = t->newest, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    free(t);
}
