/* A tape as a page that replays it. A watcher writes the replay as JSON while the sweep of cp_grad runs, into the heap: the page
 * shows the tape's own memory use. The page around the replay is core/show/page. */
#include "core/io/file.h"
#include "core/show/value.h"
#include "core/tape_internal.h"

#include <stdlib.h>
#include <string.h>

extern const char cp_page_replay[]; /* made by the build from core/show/page; "@replay@" stands for the replay */

enum {
    MAX_WITH_CELLS = 2000,      /* values of a tape; a longer tape is shown without heat maps */
    TOTAL_CELLS = 1536 << 10,   /* about 2 MB of a page */
    MAX_SOURCE_BYTES = 4 << 20, /* of one file */
};

/* ---- lines of the source files that made the nodes ---- */

typedef struct sources {
    const char *known, *text; /* the name of a file whose text the caller has, and the text; or NULL */
    const char *file;         /* the last file that was read */
    cp_bytes    read;         /* its text; empty: it cannot be read */
} sources;

static const cp_bytes *source_text(sources *s, const char *file) {
    if (s->file && strcmp(s->file, file) == 0) return &s->read;
    s->file = file;
    cp_bytes_free(&s->read);
    cp_file_read(file, MAX_SOURCE_BYTES, &s->read, NULL);
    return &s->read;
}

/* The line, counted from 1, without the blanks around it; "" when there is none. */
static cp_text source_line_at(sources *s, const char *file, int line) {
    cp_text found = {""};
    if (!file || line < 1) return found;
    bool            known = s->known && s->text && strcmp(s->known, file) == 0;
    const cp_bytes *text = known ? &(cp_bytes){.data = (unsigned char *)s->text, .size = strlen(s->text)} : source_text(s, file);
    cp_line         at = {0};
    for (size_t next = 0; line > 0; line--)
        if (!cp_bytes_line(text, &next, &at)) return found;
    const char *from = at.text, *stop = from + at.length;
    while (from < stop && (*from == ' ' || *from == '\t')) from++;
    while (from < stop && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r')) stop--;
    memcpy(found.s, from, cp_text_cut(from, (size_t)(stop - from), sizeof found.s - 1));
    return found;
}

/* ---- the record ---- */

typedef struct replay {
    cp_at            at;
    cp_json_writer   w;
    sources          sources;
    size_t           cells; /* of a picture */
    bool             exact; /* all tensors are small enough for the page to compute with them */
    const cp_tensor *g;     /* the gradient that the current rule got */
    bool             added; /* its current part is added to an earlier one */
    size_t           high;  /* bytes in use after the rule's last part */
    cp_tensor      **leaves, **grads;
    int              leaf_count;
} replay;

static void put_picture(replay *r, const char *key, const cp_tensor *t) { cp_picture_put(&r->w, key, t, r->cells); }

/* All digits, for a page that computes with the values itself. */
static void put_exact(replay *r, const cp_tensor *t) {
    if (!r->exact || !t->data || t->size > CP_VALUES_MAX) return;
    cp_json_put_array(&r->w, "exact");
    for (size_t i = 0; i < t->size; i++) cp_json_put_string(&r->w, NULL, cp_number_text(t->data[i]).s);
    cp_json_put_end(&r->w);
}

static void put_input(replay *r, const cp_node *node, int i) {
    if (!node->in[i]) {
        cp_json_put_null(&r->w, NULL);
    } else if (node->ids[i] >= 0) {
        cp_json_put_integer(&r->w, NULL, node->ids[i]);
    } else {
        cp_json_put_object(&r->w, NULL);
        const cp_tensor *t = node->in[i];
        cp_json_put_string(&r->w, "name", cp_input_label(r->at.tape, node, i).s);
        if (t->tape == r->at.tape && t->id >= 0) cp_json_put_integer(&r->w, "value", t->id);
        put_picture(r, "picture", t);
        put_exact(r, t);
        cp_json_put_end(&r->w);
    }
}

/* What the rule reads: the numbers of inputs, "out", "saved". */
static void put_keeps(replay *r, const cp_node *node) {
    cp_json_put_array(&r->w, "keeps");
    for (int i = 0; i < node->inputs && i < CP_OP_MAX; i++)
        if (node->in[i] && node->keeps & CP_KEEPS_IN(i)) cp_json_put_integer(&r->w, NULL, i);
    if (node->keeps & CP_KEEPS_OUT) cp_json_put_string(&r->w, NULL, "out");
    if (node->keeps & CP_KEEPS_SAVED) cp_json_put_string(&r->w, NULL, "saved");
    cp_json_put_end(&r->w);
}

static void put_attributes(replay *r, const cp_node *node) {
    const cp_op *op = node->op;
    cp_json_put_object(&r->w, "attributes");
    for (size_t i = 0; i < sizeof op->numbers / sizeof *op->numbers && op->numbers[i]; i++)
        cp_json_put_string(&r->w, op->numbers[i], cp_number_text(((const cp_real *)node->attr)[i]).s);
    if (op->attributes) op->attributes(&r->w, node);
    cp_json_put_end(&r->w);
}

static void put_scopes(replay *r) {
    cp_json_put_array(&r->w, "scopes");
    for (int i = 0; i < r->at.tape->scope_count; i++) {
        cp_json_put_object(&r->w, NULL);
        cp_json_put_string(&r->w, "name", cp_label_of(r->at.tape->scopes[i].name).s);
        cp_json_put_integer(&r->w, "parent", r->at.tape->scopes[i].parent);
        cp_json_put_end(&r->w);
    }
    cp_json_put_end(&r->w);
}

static void put_node(replay *r, const cp_node *node) {
    cp_json_put_string(&r->w, "op", node->op->name);
    cp_json_put_string(&r->w, "formula", node->op->formula);
    cp_json_put_string(&r->w, "rule", node->op->rule);
    cp_json_put_string(&r->w, "words", node->op->words);
    cp_json_put_array(&r->w, "inputs");
    for (int i = 0; i < node->inputs; i++) put_input(r, node, i);
    cp_json_put_end(&r->w);
    put_keeps(r, node);
    put_attributes(r, node);
    if (node->scope) cp_json_put_integer(&r->w, "scope", node->scope);
    cp_json_put_integer(&r->w, "bytes", (int64_t)node->bytes);
    cp_json_put_string(&r->w, "file", node->file);
    cp_json_put_integer(&r->w, "line", node->line);
    cp_json_put_string(&r->w, "source", source_line_at(&r->sources, node->file, node->line).s);
}

static void put_values(replay *r) {
    const cp_tape *tape = r->at.tape;
    cp_json_put_array(&r->w, "values");
    for (int id = 0, next = 0; id < tape->value_count; id++) {
        cp_json_put_object(&r->w, NULL);
        cp_json_put_string(&r->w, "name", cp_value_label(tape, id).s);
        if (cp_is_leaf(tape, id, &next)) {
            cp_json_put_string(&r->w, "kind", tape->values[id]->tape ? "variable" : "parameter");
            cp_json_put_bool(&r->w, "requested", cp_has_gradient(tape, tape->values[id]));
            put_exact(r, tape->values[id]);
        } else {
            put_node(r, tape->nodes[next - 1]);
        }
        put_picture(r, "picture", tape->values[id]);
        cp_json_put_end(&r->w);
    }
    cp_json_put_end(&r->w);
}

/* ---- the sweep ---- */

static void write_rule(void *user, const cp_node *node, const cp_tensor *g) {
    replay *r = user;
    r->g = g;
    r->high = cp_tape_bytes(r->at.tape);
    cp_json_put_object(&r->w, NULL);
    cp_json_put_integer(&r->w, "id", node->out->id);
    cp_json_put_integer(&r->w, "before", (int64_t)r->high);
    cp_json_put_array(&r->w, "parts");
}

static void write_part(void *user, const cp_node *node, int i, const cp_tensor *part) {
    replay *r = user;
    r->added = r->at.tape->slots[node->ids[i]].grad;
    cp_json_put_object(&r->w, NULL);
    cp_json_put_integer(&r->w, "input", i);
    put_picture(r, "picture", part);
}

static void write_sum(void *user, const cp_node *node, int i, const cp_tensor *sum) {
    replay *r = user;
    (void)node, (void)i;
    if (r->added) put_picture(r, "sum", sum);
    cp_json_put_end(&r->w);
    r->high = cp_tape_bytes(r->at.tape);
}

static const cp_tensor *owner(const cp_tensor *t) { return t->base ? t->base : t; }

/* A gradient that was passed on unchanged stays in memory as the gradient of inputs. */
static void write_done(void *user, const cp_node *node) {
    replay *r = user;
    cp_json_put_end(&r->w); /* of the parts */
    cp_json_put_integer(&r->w, "high", (int64_t)r->high);
    cp_json_put_integer(&r->w, "after", (int64_t)cp_tape_bytes(r->at.tape));
    cp_json_put_bool(&r->w, "released", !owner(r->g)->data);
    cp_json_put_array(&r->w, "shared_with");
    for (int i = 0; i < node->inputs; i++) {
        const cp_tensor *grad = node->ids[i] >= 0 ? r->at.tape->slots[node->ids[i]].grad : NULL;
        if (grad && owner(grad) == owner(r->g)) cp_json_put_integer(&r->w, NULL, node->ids[i]);
    }
    cp_json_put_end(&r->w);
    cp_json_put_end(&r->w);
}

/* The leaves that the sweep did not reach, whose gradients are zeros. */
static void put_untouched(replay *r) {
    cp_tape *tape = r->at.tape;
    cp_json_put_array(&r->w, "untouched");
    for (int i = 0; i < r->leaf_count; i++) {
        int id = cp_tape_find(tape, r->leaves[i]);
        if (tape->slots[id].grad) continue;
        cp_json_put_object(&r->w, NULL);
        cp_json_put_integer(&r->w, "id", id);
        put_picture(r, "picture", r->grads[i]);
        cp_json_put_end(&r->w);
    }
    cp_json_put_end(&r->w);
}

static bool find_leaves(replay *r) {
    cp_tape *tape = r->at.tape;
    size_t   room = (size_t)tape->value_count + 1;
    r->leaves = malloc(room * sizeof *r->leaves);
    r->grads = malloc(room * sizeof *r->grads);
    if (!r->leaves || !r->grads) return cp_misuse(r->at, "tape_html", "out of memory for %d values", tape->value_count);
    for (int id = 0, next = 0; id < tape->value_count; id++)
        if (cp_is_leaf(tape, id, &next) && cp_has_gradient(tape, tape->values[id])) r->leaves[r->leaf_count++] = tape->values[id];
    return true;
}

/* Leaves the tape with the memory that it had in use before. */
static bool put_sweep(replay *r, cp_tensor *loss) {
    cp_tape       *tape = r->at.tape;
    cp_watcher     watch = {r, write_rule, write_part, write_sum, write_done};
    cp_memory_mark before = cp_tape_memory_mark(tape);
    cp_json_put_array(&r->w, "sweep");
    tape->watch = &watch;
    bool ok = cp_grad(r->at, loss, r->leaves, r->leaf_count, r->grads);
    tape->watch = NULL;
    cp_json_put_end(&r->w);
    if (ok) {
        cp_json_put_integer(&r->w, "loss", loss->id);
        put_untouched(r);
        for (int i = 0; i < r->leaf_count; i++) cp_values_release(tape, r->grads[i]);
    }
    cp_tape_memory_rewind(tape, before);
    return ok;
}

/* ---- the page ---- */

/* Escapes <, which could end the script element; JSON has it only in strings. */
static void write_json(FILE *file, const cp_bytes *json) {
    const unsigned char *from = json->data, *end = from + json->size;
    while (from < end) {
        const unsigned char *stop = memchr(from, '<', (size_t)(end - from));
        fwrite(from, 1, (size_t)((stop ? stop : end) - from), file);
        if (stop) fputs("\\u003c", file);
        from = stop ? stop + 1 : end;
    }
}

static bool write_page(replay *r, FILE *file) {
    static const char mark[] = "@replay@";
    const char       *place = strstr(cp_page_replay, mark);
    cp_status         status = {0};
    if (!cp_json_writer_finish(&r->w, &status)) return cp_misuse(r->at, "tape_html", "%s", status.message);
    fwrite(cp_page_replay, 1, (size_t)(place - cp_page_replay), file);
    write_json(file, &r->w.out);
    fputs(place + strlen(mark), file);
    return fflush(file) == 0 && !ferror(file);
}

/* One picture for each value, and for each input either one of a constant or two, of a part and its sum. */
static size_t cells_per_picture(const cp_tape *tape) {
    size_t pictures = (size_t)tape->value_count + 1;
    if (tape->value_count > MAX_WITH_CELLS) return 0;
    for (int i = 0; i < tape->node_count; i++) pictures += 2 * (size_t)tape->nodes[i]->inputs;
    size_t share = TOTAL_CELLS / pictures;
    return share < CP_PICTURE_CELLS ? share : CP_PICTURE_CELLS;
}

static bool put_replay(replay *r, cp_tensor *loss, const cp_tape_page *page) {
    cp_tape    *tape = r->at.tape;
    const char *file = r->at.file ? r->at.file : "a program";
    cp_text     title;
    while (strncmp(file, "../", 3) == 0) file += 3;
    snprintf(title.s, sizeof title.s, "The tape of %s:%d", cp_label_of(file).s, r->at.line);
    cp_json_put_object(&r->w, NULL);
    cp_json_put_string(&r->w, "title", page->title ? page->title : title.s);
    cp_json_put_string(&r->w, "number", sizeof(cp_real) == sizeof(float) ? "float" : "double");
    cp_json_put_bool(&r->w, "frozen", tape->frozen);
    cp_json_put_bool(&r->w, "brief", !r->cells);
    put_scopes(r);
    put_values(r);
    bool ok = put_sweep(r, loss);
    cp_json_put_end(&r->w);
    return ok;
}

static bool all_small(const cp_tape *tape) {
    for (int id = 0; id < tape->value_count; id++)
        if (tape->values[id]->size > CP_VALUES_MAX) return false;
    return true;
}

bool(cp_tape_html_with)(cp_at at, FILE *file, cp_tensor *loss, cp_tape_page page) {
    if (!cp_show_check(at, "tape_html", file) || !cp_check(at, "tape_html", 1, &loss)) return false;
    replay r = {.at = at,
                .sources = {.known = page.file, .text = page.source},
                .cells = cells_per_picture(at.tape),
                .exact = all_small(at.tape)};
    bool   ok = find_leaves(&r) && put_replay(&r, loss, &page) && write_page(&r, file);
    free(r.leaves);
    free(r.grads);
    cp_json_writer_free(&r.w);
    cp_bytes_free(&r.sources.read);
    return ok;
}

bool(cp_tape_html)(cp_at at, FILE *file, cp_tensor *loss) { return cp_tape_html_with(at, file, loss, (cp_tape_page){0}); }
