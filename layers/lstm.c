/* The LSTM: for each layer and direction one product for all inputs at once, then one step after the other. */
#include "layers/layers.h"

#include "core/op.h"

#include <limits.h>

typedef struct cp_lstm_cell cell;

typedef struct maker {
    cp_at       at;
    cp_params  *params;
    const char *path;
    int         hidden;
    cp_rng     *rng;
} maker;

static cp_tensor *add(const maker *m, const char *kind, int layer, int direction, cp_layout layout, cp_shape shape) {
    char leaf[64];
    snprintf(leaf, sizeof leaf, "%s_l%d%s", kind, layer, direction ? "_reverse" : "");
    cp_tensor *t = (cp_params_add)(m->at, m->params, m->path, leaf, layout, shape);
    if (t) cp_init_weight(t, CP_INIT_DEFAULT, m->hidden, m->hidden, 0, m->rng); /* U(-1/sqrt(H), 1/sqrt(H)), biases too */
    return t;
}

static bool cell_make(const maker *m, cell *k, int l, int d, int in) {
    int h = m->hidden, gates = 4 * h;
    return (k->weight_ih = add(m, "weight_ih", l, d, CP_LAYOUT_LINEAR, CP_SHAPE(in, gates))) &&
           (k->weight_hh = add(m, "weight_hh", l, d, CP_LAYOUT_LINEAR, CP_SHAPE(h, gates))) &&
           (k->bias_ih = add(m, "bias_ih", l, d, CP_LAYOUT_PLAIN, CP_SHAPE(gates))) &&
           (k->bias_hh = add(m, "bias_hh", l, d, CP_LAYOUT_PLAIN, CP_SHAPE(gates)));
}

static bool possible(cp_at at, const cp_lstm_config *c) {
    if (c->in < 1 || c->hidden < 1 || c->hidden > INT_MAX / 8)
        return cp_misuse(at, "lstm_make", "in is %d and hidden is %d; both must be positive%s", c->in, c->hidden,
                         c->hidden > INT_MAX / 8 ? ", and hidden smaller" : "");
    return (c->layers >= 1 && c->layers <= CP_LSTM_MAX_LAYERS) ||
           cp_misuse(at, "lstm_make", "layers is %d; 1 to %d are possible", c->layers, CP_LSTM_MAX_LAYERS);
}

cp_lstm(cp_lstm_make)(cp_at at, cp_params *params, const char *path, cp_lstm_config c, cp_rng *rng) {
    if (!c.layers) c.layers = 1;
    if (!cp_make_ready(at, "lstm_make", params, rng) || !possible(at, &c)) return (cp_lstm){0};
    cp_lstm lstm = {.config = c};
    maker   m = {at, params, path, c.hidden, rng};
    int     directions = c.bidirectional ? 2 : 1;
    for (int l = 0; l < c.layers; l++)
        for (int d = 0; d < directions; d++)
            if (!cell_make(&m, &lstm.cell[l][d], l, d, l ? c.hidden * directions : c.in)) return (cp_lstm){0};
    return lstm;
}

/* Gate number k of (N, 4H). */
static cp_tensor *gate(cp_at at, cp_tensor *gates, int k, int hidden) {
    return cp_slice(at, gates, (int[]){0, k * hidden}, (int[]){CP_END, (k + 1) * hidden}, NULL);
}

/* Splits x (N,T,F) into its steps (N,F) recursively: the gradient of a slice is as large as its input, so T slices of the whole would make
 * the cost of the backward pass grow with T squared. */
static bool cut(cp_at at, cp_tensor *x, cp_tensor **steps) {
    int n = x->dims[0], time = x->dims[1], half = time / 2;
    if (time == 1) return (steps[0] = cp_reshape(at, x, CP_SHAPE(n, x->dims[2])));
    cp_tensor *early = cp_slice(at, x, (int[]){0, 0, 0}, (int[]){CP_END, half, CP_END}, NULL);
    cp_tensor *late = cp_slice(at, x, (int[]){0, half, 0}, (int[]){CP_END, CP_END, CP_END}, NULL);
    if (!early || !late) return false;
    cp_release(at, x);
    return cut(at, early, steps) && cut(at, late, steps + half);
}

typedef struct state {
    cp_tensor *h, *c;
} state;

/* One step of a cell, given the part of the gates (N, 4H) from the input. */
static state advance(cp_at at, const cell *k, cp_tensor *inputs, state s, int hidden) {
    cp_tensor *gates = cp_add(at, inputs, cp_matmul(at, s.h, k->weight_hh, 0));
    cp_tensor *in = cp_sigmoid(at, gate(at, gates, 0, hidden)), *forget = cp_sigmoid(at, gate(at, gates, 1, hidden));
    cp_tensor *candidate = cp_tanh(at, gate(at, gates, 2, hidden)), *out = cp_sigmoid(at, gate(at, gates, 3, hidden));
    s.c = cp_add(at, cp_mul(at, forget, s.c), cp_mul(at, in, candidate));
    s.h = cp_mul(at, out, cp_tanh(at, s.c));
    return s;
}

/* Backward in time a sequence begins at its own last step: until then its state stays 0. */
static state begin_late(cp_at at, state s, const int *lengths, int rows, int t) {
    cp_real *begun = cp_tape_alloc(at, (size_t)rows * sizeof *begun);
    bool     all = begun != NULL;
    for (int n = 0; begun && n < rows; n++) all &= (begun[n] = t < lengths[n]) != 0;
    if (all || !begun) return begun ? s : (state){0};
    cp_tensor *mask = cp_constant(at, begun, CP_SHAPE(rows, 1));
    return (state){cp_mul(at, s.h, mask), cp_mul(at, s.c, mask)};
}

/* Forward in time, the state of each sequence after its last step; out (N, T, H) -> (N, H). */
static cp_tensor *ends_of(cp_at at, cp_tensor *out, const int *lengths) {
    int  rows = out ? out->dims[0] : 0, time = out ? out->dims[1] : 0;
    int *last = cp_tape_alloc(at, (size_t)(rows + 1) * sizeof *last);
    if (!out || !last) return NULL;
    for (int n = 0; n < rows; n++) last[n] = n * time + lengths[n] - 1;
    return cp_gather_rows(at, cp_reshape(at, out, CP_SHAPE(rows * time, out->dims[2])), (cp_indices){last, rows});
}

/* One direction over time: fills steps[t] with (N, 1, H) and returns the last hidden state (N, H). */
static cp_tensor *run(cp_at at, const cell *k, cp_tensor *x, const int *lengths, int hidden, bool backward, cp_tensor **steps) {
    int        n = x->dims[0], time = x->dims[1];
    cp_tensor *product = cp_matmul(at, x, k->weight_ih, 0), *bias = cp_add(at, k->bias_ih, k->bias_hh);
    cp_tensor *inputs = cp_add(at, product, bias), *zero = cp_full(at, 0, CP_SHAPE(n, hidden)); /* (N,T,4H), (N,H) */
    if (!inputs || !cut(at, inputs, steps)) return NULL;
    state s = {zero, zero};
    for (int i = 0; i < time; i++) {
        int t = backward ? time - 1 - i : i;
        s = advance(at, k, steps[t], s, hidden);
        if (backward && lengths) s = begin_late(at, s, lengths, n, t);
        if (!s.h) return NULL;
        steps[t] = cp_reshape(at, s.h, CP_SHAPE(n, 1, hidden));
    }
    return s.h;
}

cp_tensor *(cp_lstm_forward)(cp_at at, const cp_lstm *lstm, cp_tensor *x, cp_tensor **last) {
    if (!lstm || !lstm->cell[0][0].weight_ih)
        return cp_refuse(at, "lstm", lstm ? "the layer has no weights (did cp_lstm_make fail?)" : "the layer is NULL");
    if (!cp_check(at, "lstm", 1, &x)) return NULL;
    const cp_lstm_config *c = &lstm->config;
    if (x->rank != 3 || x->dims[2] != c->in || x->dims[1] < 1)
        return cp_refuse(at, "lstm", "x has shape %s; (N, T, %d) with T >= 1 is needed", cp_shape_text(x).s, c->in);
    int         directions = c->bidirectional ? 2 : 1, time = x->dims[1];
    cp_tensor **steps = cp_tape_alloc(at, (size_t)time * sizeof *steps), *ends[2] = {0}, *sides[2];
    const int  *lengths = x->lengths;
    if (!steps) return NULL;
    for (int n = 0; lengths && n < x->dims[0]; n++)
        if (lengths[n] < 1 || lengths[n] > time)
            return cp_refuse(at, "lstm", "sequence %d has length %d; 1 to %d are possible", n, lengths[n], time);
    for (int l = 0; l < c->layers && x; l++) {
        for (int d = 0; d < directions; d++) {
            ends[d] = run(at, &lstm->cell[l][d], x, lengths, c->hidden, d == 1, steps);
            if (!ends[d]) return NULL;
            sides[d] = cp_concat(at, steps, time, 1);
            if (d == 0 && lengths && l == c->layers - 1) ends[d] = ends_of(at, sides[d], lengths);
        }
        x = directions == 2 ? cp_concat(at, sides, 2, 2) : sides[0];
    }
    if (last) *last = directions == 2 ? cp_concat(at, ends, 2, 1) : ends[0];
    return x;
}
