/* The replay page of a chapter: records the chapter's computation and writes the page that replays it in a browser.
 *
 *     pages 03-sweep page.html */
#include <core/op.h>
#include <couplet.h>
#include <math.h>
#include <string.h>

#include "04-engine/moons.h"
#include "experiments/tape/tape_demos.h"

/* Quoted by the demos' own pages, which are made by `couplet tape`; the pages here read the source file instead. */
const char cp_tape_demos_source[] = "";

static cp_tensor *named(cp_tensor *t, const char *name) {
    t->name = name;
    return t;
}

/* sum(u (u + b)) with u = w x, of chapter 3. */
static cp_tensor *record_sweep(cp_tape *tape) {
    cp_tensor *x = named(cp_variable(tape, (cp_real[]){1, 2}, CP_SHAPE(2)), "x");
    cp_tensor *w = named(cp_variable(tape, (cp_real[]){3, -1}, CP_SHAPE(2)), "w");
    cp_tensor *b = named(cp_variable(tape, (cp_real[]){1}, CP_SCALAR), "b");
    cp_tensor *u = named(cp_mul(tape, w, x), "u");
    cp_tensor *v = named(cp_add(tape, u, b), "v");
    return cp_sum(tape, named(cp_mul(tape, u, v), "p"), CP_ALL, false);
}

/* One step of the network of chapter 4, on six of the points. */
static cp_tensor *record_moons(cp_tape *tape) {
    enum { FEW = 6 };
    static const char *const names[WEIGHTS] = {"W1", "b1", "W2", "b2"};
    moons                    m = moons_make();
    tensor                  *weights[WEIGHTS];
    cp_tensor               *w[WEIGHTS];
    weights_make(weights);
    for (int k = 0; k < WEIGHTS; k++) {
        w[k] = named(cp_variable(tape, weights[k]->data, CP_SHAPE(weights[k]->rows, weights[k]->columns)), names[k]);
        tensor_free(weights[k]);
    }
    cp_tensor *x = cp_constant(tape, m.x, CP_SHAPE(FEW, 2)), *y = cp_constant(tape, m.y, CP_SHAPE(FEW, 1));
    cp_tensor *hidden = named(cp_tanh(tape, cp_add(tape, cp_matmul(tape, x, w[0], 0), w[1])), "hidden");
    cp_tensor *out = named(cp_tanh(tape, cp_add(tape, cp_matmul(tape, hidden, w[2], 0), w[3])), "out");
    return cp_mean(tape, cp_square(tape, named(cp_sub(tape, out, y), "error")), CP_ALL, false);
}

/* The op of chapter 5. */
static void soft_abs_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    gin[0] = cp_mul(at, g, cp_div(at, node->in[0], node->out));
}

CP_OP(soft_abs, .formula = "sqrt(a^2 + 1)", .rule = "a: g a / out",
      .words = "The gradient is multiplied by the slope, the input divided by the result.",
      .keeps = {CP_KEEPS_IN(0) | CP_KEEPS_OUT});

static cp_tensor *record_rule(cp_tape *tape) {
    cp_tensor *a = named(cp_variable(tape, (cp_real[]){0.75, 2, -1.25, 0.5}, CP_SHAPE(4)), "a");
    cp_tensor *out = cp_out(CP_AT(tape), a->shape);
    for (size_t i = 0; i < out->size; i++) out->data[i] = sqrt(a->data[i] * a->data[i] + 1);
    cp_tensor *y = named(cp_record(CP_AT(tape), &cp_op_soft_abs, out, NULL, 1, &a), "y");
    return cp_sum(tape, cp_mul(tape, y, a), CP_ALL, false);
}

/* The neuron of chapters 1 and 6. */
static cp_tensor *record_neuron(cp_tape *tape) {
    cp_tensor *w = named(cp_variable(tape, (cp_real[]){0.8}, CP_SCALAR), "w"), *x = cp_constant(tape, (cp_real[]){0.5}, CP_SCALAR);
    cp_tensor *b = named(cp_variable(tape, (cp_real[]){-0.2}, CP_SCALAR), "b");
    return cp_tanh(tape, named(cp_add(tape, named(cp_mul(tape, w, named(x, "x")), "w x"), b), "w x + b"));
}

/* Layers w softplus(x), as in chapter 7, which release what no rule will read. */
static cp_tensor *record_memory(cp_tape *tape) {
    static cp_real numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = i / 32.0 - 1;
    cp_tensor *x = named(cp_variable(tape, numbers, CP_SHAPE(64)), "x");
    cp_tensor *w = named(cp_variable(tape, numbers, CP_SHAPE(64)), "w");
    for (int i = 0; i < 8; i++) {
        cp_tensor *active = cp_softplus(tape, x), *out = cp_mul(tape, active, w);
        cp_release(CP_AT(tape), active);
        cp_release(CP_AT(tape), x);
        x = out;
    }
    return cp_sum(tape, x, CP_ALL, false);
}

/* A batch norm in training mode, and one of its results, as in chapter 10. */
static cp_tensor *record_norm(cp_tape *tape) {
    cp_tensor *x = named(cp_variable(tape, (cp_real[]){1, 3, 4, 5, 7}, CP_SHAPE(5, 1)), "x");
    cp_tensor *y = named(cp_batch_norm(tape, x, NULL, NULL, (cp_batch_norm_config){.training = true}), "y");
    return cp_sum(tape, named(cp_slice(tape, y, (int[]){0, 0}, (int[]){1, 1}, NULL), "y[0]"), CP_ALL, false);
}

/* The logits of chapter 11, with the class 1, and a linear layer in front. */
static cp_tensor *record_softmax(cp_tape *tape) {
    cp_tensor *w = named(cp_variable(tape, (cp_real[]){1, 0.5, 0, 1, 0.5, 0}, CP_SHAPE(2, 3)), "W");
    cp_tensor *x = named(cp_variable(tape, (cp_real[]){1, 1}, CP_SHAPE(1, 2)), "x");
    cp_tensor *z = named(cp_matmul(tape, x, w, 0), "logits");
    return cp_cross_entropy(tape, z, (cp_labels){(int[]){1}, 1});
}

static const struct {
    const char *chapter;
    cp_tensor *(*record)(cp_tape *tape);
    const char *demo; /* one of `couplet tape`, in place of a function */
} pages[] = {
    {"01", NULL, "chain"},      {"02", NULL, "broadcast"},   {"03", record_sweep, NULL},   {"04", record_moons, NULL},
    {"05", record_rule, NULL},  {"06", record_neuron, NULL}, {"07", record_memory, NULL},  {"08", NULL, "second-order"},
    {"09", NULL, "conv-block"}, {"10", record_norm, NULL},   {"11", record_softmax, NULL}, {"12", NULL, "gaussian-head"},
    {"13", NULL, "conv-block"},
};

static cp_tensor *record_page(cp_tape *tape, const char *chapter, cp_tape_demo_record *r) {
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strncmp(pages[i].chapter, chapter, 2) != 0) continue;
        if (pages[i].record) return named(pages[i].record(tape), "loss");
        for (const cp_tape_demo *d = cp_tape_demos; d->name; d++)
            if (strcmp(d->name, pages[i].demo) == 0) d->record(tape, r);
        return r->loss ? named(r->loss, "loss") : NULL;
    }
    return NULL;
}

int main(int count, char **words) {
    cp_tape            *tape = cp_tape_new();
    cp_tape_demo_record r = {0};
    cp_tensor          *loss = count == 3 ? record_page(tape, words[1], &r) : NULL;
    FILE               *file = loss ? fopen(words[2], "w") : NULL;
    char                title[100];
    snprintf(title, sizeof title, "Chapter %s", count == 3 ? words[1] : "");
    bool ok = file && cp_tape_html_with(tape, file, loss, (cp_tape_page){.title = title});
    ok = file && fclose(file) == 0 && ok;
    if (!ok) fprintf(stderr, "pages: the page could not be written\n");
    cp_tape_free(tape);
    return !ok;
}
