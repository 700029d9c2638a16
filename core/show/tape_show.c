/* How a tape shows itself: a listing to read, and a graph to look at. */
#include "core/show/tape_picture.h"
#include "core/tape_inside.h"

#include <string.h>

/* ---- which leaves lie behind which value ---- */

enum { MAX_LEAVES = 63, FEW_LEAVES = 3 }; /* told apart in a listing, one bit each; named on a line */
#define OTHER_LEAVES ((uint64_t)1 << 63)

typedef struct leaves {
    int       ids[MAX_LEAVES], count, all;
    uint64_t *behind; /* by value id */
} leaves;

static bool leaves_find(cp_tape *tape, leaves *found) {
    *found = (leaves){.behind = cp_arena_alloc(tape->arena, (size_t)tape->value_count * sizeof(uint64_t))};
    if (!found->behind) return false;
    for (int id = 0, node = 0; id < tape->value_count; id++) {
        bool leaf = cp_is_leaf(tape, id, &node);
        found->behind[id] = leaf ? OTHER_LEAVES : 0;
        if (!leaf) continue;
        if (found->count < MAX_LEAVES) {
            found->behind[id] = (uint64_t)1 << found->count;
            found->ids[found->count++] = id;
        }
        found->all++;
    }
    for (int i = 0; i < tape->node_count; i++)
        for (int j = 0; j < tape->nodes[i]->inputs; j++)
            if (tape->nodes[i]->ids[j] >= 0) found->behind[tape->nodes[i]->out->id] |= found->behind[tape->nodes[i]->ids[j]];
    return true;
}

/* ---- the listing ---- */

enum { VALUE, OP, SHAPE, BYTES, KEEPS, FROM, NEEDED_FOR, NUMBERS, COLUMNS };

typedef struct cell {
    char s[256];
} cell;

/* A line of the listing, and the widths that its lines need. */
typedef struct row {
    cell of[COLUMNS];
} row;

typedef struct widths {
    int of[COLUMNS];
} widths;

static void add(cell *c, const char *separator, const char *more) {
    size_t used = strlen(c->s), room = sizeof c->s - used;
    snprintf(c->s + used, room, "%s%.*s", used ? separator : "", (int)room, more);
}

static void describe_keeps(const cp_tape *tape, const cp_node *node, cell *c) {
    for (int j = 0; j < node->inputs && j < 30; j++)
        if (node->keeps & CP_KEEPS_IN(j) && node->in[j]) add(c, " ", cp_input_label(tape, node, j).s);
    if (node->keeps & CP_KEEPS_OUT) add(c, " ", "out");
    if (node->keeps & CP_KEEPS_SAVED) add(c, " ", "+saved");
    if (!*c->s) add(c, "", "-");
}

static void describe_leaves(const cp_tape *tape, const leaves *found, uint64_t behind, cell *c) {
    int count = __builtin_popcountll(behind & ~OTHER_LEAVES);
    if (behind & OTHER_LEAVES || count > FEW_LEAVES) {
        snprintf(c->s, sizeof c->s, "%s%d leaves", behind & OTHER_LEAVES ? "more than " : "", count);
        return;
    }
    for (int k = 0; k < found->count; k++)
        if (behind >> k & 1) add(c, " ", cp_value_label(tape, found->ids[k]).s);
}

static void row_measure(const row *r, widths *w) {
    for (int k = 0; k < COLUMNS; k++) {
        int length = (int)strlen(r->of[k].s);
        if (length > w->of[k]) w->of[k] = length;
    }
}

static void row_print(FILE *file, const row *r, const widths *w) {
    int last = COLUMNS - 1;
    while (last > 0 && !*r->of[last].s) last--;
    for (int k = 0; k < last; k++) fprintf(file, k == BYTES ? "%*s  " : "%-*s  ", w->of[k], r->of[k].s);
    fprintf(file, last == BYTES ? "%*s\n" : "%-*s\n", last == BYTES ? w->of[last] : 0, r->of[last].s);
}

static void row_start(row *r, const char *value, const char *op, const cp_tensor *t, size_t bytes) {
    for (int k = 0; k < COLUMNS; k++) *r->of[k].s = 0;
    add(&r->of[VALUE], "", value);
    add(&r->of[OP], "", op);
    add(&r->of[SHAPE], "", cp_shape_text(t).s);
    snprintf(r->of[BYTES].s, sizeof r->of[BYTES].s, "%zu", bytes);
}

static void row_of_leaf(const cp_tape *tape, int id, row *r) {
    const cp_tensor *leaf = tape->values[id];
    row_start(r, cp_value_label(tape, id).s, leaf->tape ? "variable" : "parameter", leaf, leaf->size * sizeof(cp_real));
}

static void row_of_node(const cp_tape *tape, const cp_node *node, const leaves *found, row *r) {
    const cp_tensor *out = node->out;
    row_start(r, cp_value_label(tape, out->id).s, node->op->name, out, out->base || !out->data ? 0 : out->size * sizeof(cp_real));
    for (int j = 0; j < node->inputs; j++) {
        if (!node->in[j]) continue;
        add(&r->of[FROM], ", ", cp_input_label(tape, node, j).s);
        add(&r->of[FROM], " ", cp_shape_text(node->in[j]).s);
    }
    describe_keeps(tape, node, &r->of[KEEPS]);
    describe_leaves(tape, found, found->behind[out->id], &r->of[NEEDED_FOR]);
}

/* Measures all lines, or (file not NULL) writes them. */
static void listing(const cp_tape *tape, const leaves *found, bool numbers, widths *w, FILE *file) {
    row r = {{{"value"}, {"op"}, {"shape"}, {"bytes"}, {"keeps"}, {"from"}, {"needed for"}, {""}}};
    if (numbers) add(&r.of[NUMBERS], "", "numbers");
    for (int i = -1; i < found->count + tape->node_count; i++) {
        const cp_node   *node = i >= found->count ? tape->nodes[i - found->count] : NULL;
        const cp_tensor *told = node ? node->out : i >= 0 ? tape->values[found->ids[i]] : NULL;
        if (node)
            row_of_node(tape, node, found, &r);
        else if (told)
            row_of_leaf(tape, found->ids[i], &r);
        if (numbers && told) add(&r.of[NUMBERS], "", cp_values_text(told, CP_VALUES_FEW).s);
        if (file && i == found->count && found->all > found->count)
            fprintf(file, "... and %d more leaves\n", found->all - found->count);
        if (file)
            row_print(file, &r, w);
        else
            row_measure(&r, w);
    }
}

static void print(cp_tape *tape, FILE *file, bool numbers) {
    leaves found;
    widths w = {{0}};
    if (!tape || !file) {
        cp_misuse((cp_at){0}, numbers ? "tape_print_values" : "tape_print", "the %s is NULL", tape ? "file" : "tape");
        return;
    }
    if (!leaves_find(tape, &found)) return;
    listing(tape, &found, numbers, &w, NULL);
    listing(tape, &found, numbers, &w, file);
    cp_arena_release(tape->arena, found.behind);
    fprintf(file, "%d nodes, %zu bytes in use, %zu at most\n", tape->node_count, cp_tape_bytes(tape), cp_tape_peak(tape));
}

void cp_tape_print(cp_tape *tape, FILE *file) {
    print(tape, file, false);
}

void cp_tape_print_values(cp_tape *tape, FILE *file) {
    print(tape, file, true);
}

/* ---- the graph ---- */

static void dot_values(FILE *file, const char *what, const cp_tensor *t) {
    if (t) fprintf(file, "\\l%s %s", what, cp_values_text(t, CP_VALUES_FEW).s);
}

/* Text inside a quoted label. */
static void dot_text(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        fputc(*text, file);
    }
}

static void dot_box(FILE *file, const char *id, const char *title, const char *style, const cp_tensor *t, const cp_tensor *grad) {
    fprintf(file, "  %s [%s label=\"", id, style);
    dot_text(file, title);
    fprintf(file, " %s", cp_shape_text(t).s);
    dot_values(file, "value", t);
    dot_values(file, "grad", grad);
    fprintf(file, "\\l\"];\n");
}

static void dot_node(const cp_tape *tape, FILE *file, const cp_node *node, int number, cp_tensor *const *grads) {
    cp_label id;
    cp_text  title;
    snprintf(id.s, sizeof id.s, "v%d", node->out->id);
    snprintf(title.s, sizeof title.s, "%s %s", cp_value_label(tape, node->out->id).s, node->op->name);
    dot_box(file, id.s, title.s, "style=rounded", node->out, grads ? grads[node->out->id] : NULL);
    for (int j = 0; j < node->inputs; j++) {
        if (!node->in[j]) continue;
        if (node->ids[j] >= 0) {
            fprintf(file, "  v%d -> %s;\n", node->ids[j], id.s);
            continue;
        }
        cp_label constant;
        snprintf(constant.s, sizeof constant.s, "c%d_%d", number, j);
        dot_box(file, constant.s, cp_input_label(tape, node, j).s, "color=gray fontcolor=gray", node->in[j], NULL);
        fprintf(file, "  %s -> %s [color=gray];\n", constant.s, id.s);
    }
}

/* d loss / d value for every value, by id; on a frozen tape NULL for parameters. NULL when there are none. */
static cp_tensor **gradients(cp_at at, cp_tensor *loss) {
    cp_tape    *tape = at.tape;
    int         count = tape->value_count, asked = 0;
    size_t      bytes = (size_t)count * sizeof(cp_tensor *);
    cp_tensor **grads = cp_arena_alloc(tape->arena, 2 * bytes), **wrt = grads + count;
    if (!grads) return NULL;
    for (int id = 0; id < count; id++)
        if (tape->values[id]->tape || !tape->frozen) wrt[asked++] = tape->values[id];
    if (!cp_grad(at, loss, wrt, asked, grads)) {
        cp_arena_release(tape->arena, grads);
        return NULL;
    }
    for (int id = count - 1; id >= 0; id--) /* from the ones asked for to all: their order is the same */
        grads[id] = tape->values[id]->tape || !tape->frozen ? grads[--asked] : NULL;
    return grads;
}

void(cp_tape_dot)(cp_at at, FILE *file, cp_tensor *loss) {
    cp_tape *tape = at.tape;
    if (!tape || !file) {
        cp_misuse(at, "tape_dot", "the %s is NULL", tape ? "file" : "tape");
        return;
    }
    int         count = tape->value_count;
    cp_tensor **grads = loss && count ? gradients(at, loss) : NULL; /* without them, after the error handler, when loss has none */
    fprintf(file, "digraph tape {\n  node [shape=box fontname=\"monospace\" fontsize=10];\n");
    for (int id = 0, node = 0; id < count; id++) {
        if (!cp_is_leaf(tape, id, &node)) continue;
        cp_label name;
        snprintf(name.s, sizeof name.s, "v%d", id);
        dot_box(file, name.s, cp_value_label(tape, id).s, "style=filled fillcolor=\"#dce9f5\"", tape->values[id],
                grads ? grads[id] : NULL);
    }
    for (int i = 0; i < tape->node_count; i++) dot_node(tape, file, tape->nodes[i], i, grads);
    fprintf(file, "}\n");
    cp_arena_release(tape->arena, grads);
}
