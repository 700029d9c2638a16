/* How a tape shows itself: a listing to read, and a graph to look at. */
#include "core/tape_record.h"

#include <math.h>
#include <string.h>

/* ---- names ---- */

typedef struct label {
    char s[64];
} label;

/* A value's name, or %3 for the one with id 3. */
static label value_label(const cp_tape *tape, int id) {
    label text;
    if (tape->values[id]->name) snprintf(text.s, sizeof text.s, "%s", tape->values[id]->name);
    else snprintf(text.s, sizeof text.s, "%%%d", id);
    return text;
}

static label input_label(const cp_tape *tape, const cp_node *node, int i) {
    if (node->ids[i] >= 0) return value_label(tape, node->ids[i]);
    label text;
    snprintf(text.s, sizeof text.s, "%s", node->in[i]->name ? node->in[i]->name : "constant");
    return text;
}

/* Which values came from a node, by id; the others are leaves. NULL when out of memory. */
static bool *made_by_nodes(cp_tape *tape) {
    size_t bytes = (size_t)tape->value_count * sizeof(bool);
    bool  *made = cp_arena_alloc(tape->arena, bytes);
    if (!made) return NULL;
    memset(made, 0, bytes);
    for (int i = 0; i < tape->node_count; i++) made[tape->nodes[i].out->id] = true;
    return made;
}

/* ---- which leaves lie behind which value ---- */

enum { MOST_LEAVES = 64 }; /* told apart in a listing; one bit each */

typedef struct leaves {
    int       ids[MOST_LEAVES], count, all;
    uint64_t *behind; /* by value id */
} leaves;

static bool leaves_find(cp_tape *tape, leaves *found) {
    size_t bytes = (size_t)tape->value_count * sizeof(uint64_t);
    *found = (leaves){.behind = cp_arena_alloc(tape->arena, bytes)};
    if (!found->behind) return false;
    memset(found->behind, 0, bytes);
    bool *made = made_by_nodes(tape);
    if (!made) {
        cp_arena_release(tape->arena, found->behind);
        return false;
    }
    for (int id = 0; id < tape->value_count; id++) {
        if (made[id]) continue;
        if (found->count < MOST_LEAVES) {
            found->behind[id] = (uint64_t)1 << found->count;
            found->ids[found->count++] = id;
        }
        found->all++;
    }
    for (int i = 0; i < tape->node_count; i++)
        for (int j = 0; j < tape->nodes[i].inputs; j++)
            if (tape->nodes[i].ids[j] >= 0) found->behind[tape->nodes[i].out->id] |= found->behind[tape->nodes[i].ids[j]];
    cp_arena_release(tape->arena, made);
    return true;
}

/* ---- the listing ---- */

static void add(char *text, size_t size, const char *more) {
    size_t used = strlen(text);
    if (used + 1 < size) snprintf(text + used, size - used, "%s", more);
}

static void describe_keeps(const cp_tape *tape, const cp_node *node, char *text, size_t size) {
    *text = 0;
    for (int j = 0; j < node->inputs && j < 31; j++)
        if (node->op->keeps & CP_KEEPS_IN(j)) {
            if (*text) add(text, size, " ");
            add(text, size, input_label(tape, node, j).s);
        }
    if (node->op->keeps & CP_KEEPS_OUT) add(text, size, *text ? " out" : "out");
    if (!*text) add(text, size, "-");
}

static void print_node(const cp_tape *tape, FILE *file, const cp_node *node, const leaves *found) {
    char inputs[256] = "", keeps[128];
    for (int j = 0; j < node->inputs; j++) {
        if (j) add(inputs, sizeof inputs, ", ");
        add(inputs, sizeof inputs, input_label(tape, node, j).s);
        add(inputs, sizeof inputs, " ");
        add(inputs, sizeof inputs, cp_shape_text(node->in[j]).s);
    }
    describe_keeps(tape, node, keeps, sizeof keeps);
    size_t bytes = node->out->base ? 0 : node->out->size * sizeof(cp_real);
    fprintf(file, "%-6s %-14s %-16s %10zu  %-14s %-44s ", value_label(tape, node->out->id).s, node->op->name,
            cp_shape_text(node->out).s, bytes, keeps, inputs);
    for (int k = 0, shown = 0; k < found->count; k++)
        if (found->behind[node->out->id] >> k & 1) fprintf(file, "%s%s", shown++ ? " " : "", value_label(tape, found->ids[k]).s);
    fprintf(file, "\n");
}

void cp_tape_print(cp_tape *tape, FILE *file) {
    leaves found;
    if (!tape || !file) {
        cp_misuse((cp_at){0}, "tape_print", "the %s is NULL", tape ? "file" : "tape");
        return;
    }
    if (!leaves_find(tape, &found)) return;
    fprintf(file, "%-6s %-14s %-16s %10s  %-14s %-44s %s\n", "value", "op", "shape", "bytes", "keeps", "from", "needed for");
    for (int k = 0; k < found.count; k++) {
        const cp_tensor *leaf = tape->values[found.ids[k]];
        fprintf(file, "%-6s %-14s %-16s %10zu\n", value_label(tape, found.ids[k]).s, leaf->tape ? "variable" : "parameter",
                cp_shape_text(leaf).s, leaf->size * sizeof(cp_real));
    }
    if (found.all > found.count) fprintf(file, "... and %d more leaves\n", found.all - found.count);
    for (int i = 0; i < tape->node_count; i++) print_node(tape, file, &tape->nodes[i], &found);
    cp_arena_release(tape->arena, found.behind);
    fprintf(file, "%d nodes, %zu bytes in use, %zu at most\n", tape->node_count, cp_tape_bytes(tape), cp_tape_peak(tape));
}

/* ---- the graph ---- */

enum { FEW = 6 }; /* values shown one by one */

static void dot_values(FILE *file, const char *what, const cp_tensor *t) {
    if (!t) return;
    fprintf(file, "\\l%s ", what);
    if (t->size <= FEW) {
        for (size_t i = 0; i < t->size; i++) fprintf(file, "%s%.4g", i ? " " : "", (double)t->data[i]);
        return;
    }
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (size_t i = 0; i < t->size; i++) {
        double value = (double)t->data[i];
        low = value < low || isnan(value) ? value : low; /* a NaN stays, so that it is seen */
        high = value > high || isnan(value) ? value : high;
        sum += value;
    }
    fprintf(file, "%.4g .. %.4g, mean %.4g", low, high, sum / (double)t->size);
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
    label    id, name = value_label(tape, node->out->id), title;
    snprintf(id.s, sizeof id.s, "v%d", node->out->id);
    snprintf(title.s, sizeof title.s, "%s %.40s", node->op->name, node->out->name ? name.s : "");
    dot_box(file, id.s, title.s, "style=rounded", node->out, grads ? grads[node->out->id] : NULL);
    for (int j = 0; j < node->inputs; j++) {
        if (node->ids[j] >= 0) {
            fprintf(file, "  v%d -> %s;\n", node->ids[j], id.s);
            continue;
        }
        label constant;
        snprintf(constant.s, sizeof constant.s, "c%d_%d", number, j);
        dot_box(file, constant.s, input_label(tape, node, j).s, "color=gray fontcolor=gray", node->in[j], NULL);
        fprintf(file, "  %s -> %s [color=gray];\n", constant.s, id.s);
    }
}

void(cp_tape_dot)(cp_at at, FILE *file, cp_tensor *loss) {
    cp_tape *tape = at.tape;
    if (!tape || !file) {
        cp_misuse(at, "tape_dot", "the %s is NULL", tape ? "file" : "tape");
        return;
    }
    cp_tensor **grads = NULL;
    int         count = tape->value_count;
    if (loss && count) {
        grads = cp_keep(at, (size_t)count * sizeof *grads);
        if (!grads || !cp_grad(at, loss, tape->values, count, grads)) return;
    }
    bool *made = made_by_nodes(tape);
    if (!made) return;
    fprintf(file, "digraph tape {\n  node [shape=box fontname=\"monospace\" fontsize=10];\n");
    for (int id = 0; id < count; id++) {
        if (made[id]) continue;
        label name;
        snprintf(name.s, sizeof name.s, "v%d", id);
        dot_box(file, name.s, value_label(tape, id).s, "style=filled fillcolor=\"#dce9f5\"", tape->values[id],
                grads ? grads[id] : NULL);
    }
    for (int i = 0; i < tape->node_count; i++) dot_node(tape, file, &tape->nodes[i], i, grads);
    fprintf(file, "}\n");
    cp_arena_release(tape->arena, made);
}
