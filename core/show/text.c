/* A tape as text: the listing, the trace of a sweep, and the graph in Graphviz's language. */
#include "core/show/value.h"
#include "core/tape_internal.h"

#include <string.h>

/* ---- which leaves each value depends on ---- */

enum { MAX_LEAVES = 63, FEW_LEAVES = 3 }; /* leaves with a bit of their own; leaves named on one line */
#define OTHER_LEAVES ((uint64_t)1 << 63)

typedef struct leaves {
    int       ids[MAX_LEAVES], count, all;
    uint64_t *of; /* by value id: one bit per leaf */
} leaves;

static bool leaves_find(cp_tape *tape, leaves *found) {
    *found = (leaves){.of = cp_arena_alloc(tape->arena, (size_t)tape->value_count * sizeof(uint64_t))};
    if (!found->of) return false;
    for (int id = 0, node = 0; id < tape->value_count; id++) {
        bool leaf = cp_is_leaf(tape, id, &node);
        found->of[id] = leaf ? OTHER_LEAVES : 0;
        if (!leaf) continue;
        if (found->count < MAX_LEAVES) {
            found->of[id] = (uint64_t)1 << found->count;
            found->ids[found->count++] = id;
        }
        found->all++;
    }
    for (int i = 0; i < tape->node_count; i++)
        for (int j = 0; j < tape->nodes[i]->inputs; j++)
            if (tape->nodes[i]->ids[j] >= 0) found->of[tape->nodes[i]->out->id] |= found->of[tape->nodes[i]->ids[j]];
    return true;
}

/* ---- the listing ---- */

enum { VALUE, OP, SHAPE, BYTES, KEEPS, FROM, NEEDED_FOR, SCOPE, NUMBERS, COLUMNS };

typedef char cell[256];

typedef struct row {
    cell of[COLUMNS];
} row;

static void add(cell c, const char *separator, const char *more) {
    size_t used = strlen(c), room = sizeof(cell) - used;
    snprintf(c + used, room, "%s%.*s", used ? separator : "", (int)room, more);
}

static void add_leaves(const cp_tape *tape, const leaves *found, uint64_t of, cell c) {
    int count = __builtin_popcountll(of & ~OTHER_LEAVES);
    if (of & OTHER_LEAVES || count > FEW_LEAVES) {
        snprintf(c, sizeof(cell), "%s%d leaves", of & OTHER_LEAVES ? "more than " : "", count);
        return;
    }
    for (int k = 0; k < found->count; k++)
        if (of >> k & 1) add(c, " ", cp_value_label(tape, found->ids[k]).s);
}

/* The row of a leaf or, if there is a node, of its result. */
static row row_of(const cp_tape *tape, const leaves *found, int id, const cp_node *node, bool numbers) {
    const cp_tensor *t = tape->values[id];
    row              r = {{""}};
    add(r.of[VALUE], "", cp_value_label(tape, id).s);
    add(r.of[OP], "", node ? node->op->name : t->tape ? "variable" : "parameter");
    add(r.of[SHAPE], "", cp_shape_text(t).s);
    snprintf(r.of[BYTES], sizeof(cell), "%zu", node && (t->base || !t->data) ? 0 : t->size * sizeof(cp_real));
    if (numbers) add(r.of[NUMBERS], "", cp_values_text(t, CP_VALUES_FEW).s);
    if (!node) return r;
    for (int j = 0; j < node->inputs; j++) {
        if (!node->in[j]) continue;
        add(r.of[FROM], ", ", cp_input_label(tape, node, j).s);
        add(r.of[FROM], " ", cp_shape_text(node->in[j]).s);
        if (j < CP_OP_MAX && node->keeps & CP_KEEPS_IN(j)) add(r.of[KEEPS], " ", cp_input_label(tape, node, j).s);
    }
    if (node->keeps & CP_KEEPS_OUT) add(r.of[KEEPS], " ", "out");
    if (node->keeps & CP_KEEPS_SAVED) add(r.of[KEEPS], " ", "+saved");
    if (!*r.of[KEEPS]) add(r.of[KEEPS], "", "-");
    add_leaves(tape, found, found->of[id], r.of[NEEDED_FOR]);
    if (node->scope) add(r.of[SCOPE], "", tape->scopes[node->scope - 1].name);
    return r;
}

/* Without a file: widens the columns for the row. */
static void row_print(FILE *file, row r, int widths[COLUMNS]) {
    int last = COLUMNS - 1;
    for (int k = 0; k < COLUMNS && !file; k++)
        if (widths[k] < (int)strlen(r.of[k])) widths[k] = (int)strlen(r.of[k]);
    if (!file) return;
    while (last > 0 && !*r.of[last]) last--;
    for (int k = 0; k < last; k++)
        if (widths[k]) fprintf(file, k == BYTES ? "%*s  " : "%-*s  ", widths[k], r.of[k]);
    fprintf(file, last == BYTES ? "%*s\n" : "%-*s\n", last == BYTES ? widths[last] : 0, r.of[last]);
}

static void listing(const cp_tape *tape, const leaves *found, bool numbers, int widths[COLUMNS], FILE *file) {
    row head = {{"value", "op", "shape", "bytes", "keeps", "from", "needed for"}};
    if (tape->scope_count) add(head.of[SCOPE], "", "scope");
    if (numbers) add(head.of[NUMBERS], "", "numbers");
    row_print(file, head, widths);
    for (int i = 0; i < found->count; i++) row_print(file, row_of(tape, found, found->ids[i], NULL, numbers), widths);
    if (file && found->all > found->count) fprintf(file, "... and %d more leaves\n", found->all - found->count);
    for (int i = 0; i < tape->node_count; i++)
        row_print(file, row_of(tape, found, tape->nodes[i]->out->id, tape->nodes[i], numbers), widths);
}

static void print(cp_tape *tape, FILE *file, bool numbers) {
    leaves found;
    int    widths[COLUMNS] = {0};
    if (!cp_show_check((cp_at){.tape = tape}, numbers ? "tape_print_values" : "tape_print", file)) return;
    if (!leaves_find(tape, &found)) return;
    listing(tape, &found, numbers, widths, NULL);
    listing(tape, &found, numbers, widths, file);
    cp_arena_release(tape->arena, found.of);
    fprintf(file, "%d nodes, %zu bytes in use, %zu at most\n", tape->node_count, cp_tape_bytes(tape), cp_tape_peak(tape));
}

void cp_tape_print(cp_tape *tape, FILE *file) { print(tape, file, false); }
void cp_tape_print_values(cp_tape *tape, FILE *file) { print(tape, file, true); }

/* ---- the trace: a watcher that prints one line per rule ---- */

typedef struct trace {
    const cp_tape *tape;
    FILE          *file;
    int            parts; /* of this line's rule so far */
    bool           added; /* the current part is added to an earlier one */
    bool           open;  /* a line is begun */
} trace;

static void print_rule(void *user, const cp_node *node, const cp_tensor *g) {
    trace *t = user;
    t->parts = 0;
    t->open = true;
    fprintf(t->file, "%-6s %-10s in: %s", cp_value_label(t->tape, node->out->id).s, node->op->name,
            cp_values_text(g, CP_VALUES_FEW).s);
}

static void print_part(void *user, const cp_node *node, int i, const cp_tensor *part) {
    trace *t = user;
    t->added = t->tape->slots[node->ids[i]].grad;
    fprintf(t->file, "%s %s %s%s", t->parts++ ? ";" : "  out:", cp_input_label(t->tape, node, i).s, t->added ? "+ " : "",
            cp_values_text(part, CP_VALUES_FEW).s);
}

static void print_sum(void *user, const cp_node *node, int i, const cp_tensor *sum) {
    trace *t = user;
    (void)node, (void)i;
    if (t->added) fprintf(t->file, " = %s", cp_values_text(sum, CP_VALUES_FEW).s);
}

static void print_done(void *user, const cp_node *node) {
    trace *t = user;
    (void)node;
    t->open = false;
    fprintf(t->file, "\n");
}

bool(cp_tape_trace)(cp_at at, FILE *file, cp_tensor *loss, cp_tensor *const *wrt, int n) {
    if (!cp_show_check(at, "tape_trace", file)) return false;
    if (n < 1) return cp_misuse(at, "tape_trace", "n = %d: at least one gradient is needed", n);
    cp_tensor **grads = cp_tape_alloc(at, (size_t)n * sizeof *grads);
    if (!grads) return false;
    trace      t = {.tape = at.tape, .file = file};
    cp_watcher watch = {&t, print_rule, print_part, print_sum, print_done};
    at.tape->watch = &watch;
    bool ok = cp_grad(at, loss, wrt, n, grads);
    at.tape->watch = NULL;
    if (t.open) fprintf(file, "\n"); /* its rule failed */
    return ok;
}

/* ---- the graph ---- */

/* Writes text inside a quoted label. */
static void dot_text(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        fputc(*text, file);
    }
}

static void dot_box(FILE *file, const char *id, const char *title, const char *style, const cp_tensor *t, const cp_tensor *grad) {
    fprintf(file, "  %s [%s label=\"", id, style);
    dot_text(file, title);
    fprintf(file, " %s\\lvalue %s", cp_shape_text(t).s, cp_values_text(t, CP_VALUES_FEW).s);
    if (grad) fprintf(file, "\\lgrad %s", cp_values_text(grad, CP_VALUES_FEW).s);
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

/* d loss / d value by id, NULL for parameters of a frozen tape. Returns NULL when there are no gradients. */
static cp_tensor **gradients(cp_at at, cp_tensor *loss) {
    cp_tape    *tape = at.tape;
    int         count = tape->value_count, n = 0;
    cp_tensor **grads = cp_arena_alloc(tape->arena, 2 * (size_t)count * sizeof *grads), **wrt = grads + count;
    if (!grads) return NULL;
    for (int id = 0; id < count; id++)
        if (cp_has_gradient(tape, tape->values[id])) wrt[n++] = tape->values[id];
    if (!cp_grad(at, loss, wrt, n, grads)) {
        cp_arena_release(tape->arena, grads);
        return NULL;
    }
    for (int id = count - 1; id >= 0; id--) /* spreads the n gradients over all ids, from the end */
        grads[id] = cp_has_gradient(tape, tape->values[id]) ? grads[--n] : NULL;
    return grads;
}

void(cp_tape_dot)(cp_at at, FILE *file, cp_tensor *loss) {
    cp_tape *tape = at.tape;
    if (!cp_show_check(at, "tape_dot", file)) return;
    int         count = tape->value_count;
    cp_tensor **grads = loss && count ? gradients(at, loss) : NULL;
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
