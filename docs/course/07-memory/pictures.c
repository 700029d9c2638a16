/* Draws the memory of a tape over the ops of a forward pass and its sweep, for a chain of 64 links: all at once, and with
 * checkpoints as in the exercise. Each op notes the memory when it runs, and its rule does the same. */
#include <core/op.h>
#include <couplet-kit.h>
#include <math.h>
#include <string.h>

enum { SIZE = 1 << 14, LINKS = 64, EVERY = 8, MAX = 400 };

static double moments[MAX], tensors[MAX];
static int    noted, saved; /* saved: the tensors that the checkpoints keep outside of the tape */

static void note(cp_tape *tape) {
    moments[noted] = noted;
    tensors[noted++] = round((double)cp_tape_bytes(tape) / (SIZE * sizeof(cp_real))) + saved;
}

static void link_grad(cp_at at, const cp_node *node, cp_tensor *g, cp_tensor **gin) {
    note(at.tape);
    gin[0] = cp_mul(at, g, cp_affine(at, cp_square(at, node->out), -1, 1)); /* the rule of tanh */
}

static const cp_op link_op = {.name = "link", .formula = "tanh(a)", .grad = link_grad, .keeps = {CP_KEEPS_OUT}};

static cp_tensor *link_forward(cp_tape *tape, cp_tensor *a) {
    cp_at      at = CP_AT(tape);
    cp_tensor *out = cp_out(at, a->shape);
    for (size_t i = 0; i < out->size; i++) out->data[i] = tanh(a->data[i]);
    cp_tensor *recorded = cp_record(at, &link_op, out, NULL, 1, &a);
    note(tape);
    return recorded;
}

static void all_at_once(cp_tape *tape) {
    static cp_real data[SIZE];
    cp_tensor     *x = cp_variable(tape, data, CP_SHAPE(SIZE)), *h = x, *dx;
    for (int i = 0; i < LINKS; i++) h = link_forward(tape, h);
    cp_grad(tape, cp_sum(tape, h, CP_ALL, false), &x, 1, &dx);
    note(tape);
    cp_tape_reset(tape);
}

static void with_checkpoints(cp_tape *tape) {
    static cp_real kept[LINKS / EVERY][SIZE], gradient[SIZE];
    cp_tape_pause(tape, true);
    for (int s = 0; s < LINKS / EVERY; s++) {
        cp_tensor *h = cp_constant(tape, kept[s ? s - 1 : 0], CP_SHAPE(SIZE));
        for (int i = 0; s && i < EVERY; i++) h = link_forward(tape, h);
        memcpy(kept[s], h->data, sizeof kept[s]);
        saved++;
        cp_tape_reset(tape);
    }
    cp_tape_pause(tape, false);
    for (int s = LINKS / EVERY - 1; s >= 0; s--) {
        cp_tensor *start = cp_variable(tape, kept[s], CP_SHAPE(SIZE)), *end = start, *result;
        for (int i = 0; i < EVERY; i++) end = link_forward(tape, end);
        cp_vjp(tape, end, cp_constant(tape, gradient, CP_SHAPE(SIZE)), &start, 1, &result);
        memcpy(gradient, result->data, sizeof gradient);
        note(tape);
        saved--;
        cp_tape_reset(tape);
    }
}

int main(void) {
    cp_status       status = {0};
    cp_tape        *tape = cp_tape_new();
    cp_figure      *figure = cp_figure_new((cp_figure_config){.columns = 1, .width = 460, .height = 240});
    cp_panel_config config = {.x_label = "links and rules so far", .y_label = "tensors in memory", .x_max = 200, .y_max = 80};
    cp_panel       *panel = cp_figure_panel(figure, config);
    all_at_once(tape);
    cp_panel_line(panel, (cp_style){.color = 0, .size = 1.5, .marker = CP_NO_MARK, .label = "one tape"}, noted, moments, tensors,
                  NULL);
    noted = 0;
    with_checkpoints(tape);
    cp_style style = {.color = 1, .size = 1.5, .dash = CP_SOLID, .marker = CP_NO_MARK, .label = "a checkpoint every 8 links"};
    cp_panel_line(panel, style, noted, moments, tensors, NULL);
    bool ok = cp_figure_finish(figure, "memory", &status);
    if (!ok) fprintf(stderr, "%s\n", status.message);
    cp_tape_free(tape);
    return !ok;
}
