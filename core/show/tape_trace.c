/* A sweep told while it runs, a line a rule. */
#include "core/show/tape_picture.h"
#include "core/tape_inside.h"

typedef struct trace {
    const cp_tape *tape;
    FILE          *file;
    int            parts; /* told of the rule under way */
    bool           added; /* the part under way meets an earlier one */
    bool           open;  /* a line is begun */
} trace;

static void tell_rule(void *user, const cp_node *node, const cp_tensor *g) {
    trace *t = user;
    t->parts = 0;
    t->open = true;
    fprintf(t->file, "%-6s %-10s in: %s", cp_value_label(t->tape, node->out->id).s, node->op->name,
            cp_values_text(g, CP_VALUES_FEW).s);
}

static void tell_part(void *user, const cp_node *node, int i, const cp_tensor *part) {
    trace *t = user;
    t->added = t->tape->slots[node->ids[i]].grad;
    fprintf(t->file, "%s %s %s%s", t->parts++ ? ";" : "  out:", cp_input_label(t->tape, node, i).s, t->added ? "+ " : "",
            cp_values_text(part, CP_VALUES_FEW).s);
}

static void tell_sum(void *user, const cp_node *node, int i, const cp_tensor *sum) {
    trace *t = user;
    (void)node, (void)i;
    if (t->added) fprintf(t->file, " = %s", cp_values_text(sum, CP_VALUES_FEW).s);
}

static void tell_done(void *user, const cp_node *node) {
    trace *t = user;
    (void)node;
    t->open = false;
    fprintf(t->file, "\n");
}

bool(cp_tape_trace)(cp_at at, FILE *file, cp_tensor *loss, cp_tensor *const *wrt, int n) {
    if (!at.tape || !file) return cp_misuse(at, "tape_trace", "the %s is NULL", at.tape ? "file" : "tape");
    if (n < 1) return cp_misuse(at, "tape_trace", "n = %d: a sweep is for the gradient of at least one value", n);
    cp_tensor **grads = cp_keep(at, (size_t)n * sizeof *grads);
    if (!grads) return false;
    trace    t = {.tape = at.tape, .file = file};
    cp_watch watch = {&t, tell_rule, tell_part, tell_sum, tell_done};
    at.tape->watch = &watch;
    bool ok = cp_grad(at, loss, wrt, n, grads);
    at.tape->watch = NULL;
    if (t.open) fprintf(file, "\n"); /* its rule failed */
    return ok;
}
