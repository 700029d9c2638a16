/* The LSTM and the GRU: for each layer and direction one product for all inputs at once, then one step after the other. */
#include "layers/layers.h"

#include "core/op.h"

#include <limits.h>

typedef struct cp_lstm_cell cell;

typedef struct maker {
    cp_at       at;
    cp_params  *params;
    const char *path;
    int         hidden, gates; /* units, and gates of each: 4, or 3 of a GRU */
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
    int h = m->hidden, gates = m->gates * h;
    return (k->weight_ih = add(m, "weight_ih", l, d, CP_LAYOUT_LINEAR, CP_SHAPE(in, gates))) &&
           (k->weight_hh = add(m, "weight_hh", l, d, CP_LAYOUT_LINEAR, CP_SHAPE(h, gates))) &&
           (k->bias_ih = add(m, "bias_ih", l, d, CP_LAYOUT_PLAIN, CP_SHAPE(gates))) &&
           (k->bias_hh = add(m, "bias_hh", l, d, CP_LAYOUT_PLAIN, CP_SHAPE(gates)));
}

static bool possible(cp_at at, const char *op, const cp_lstm_config *c) {
    if (c->in < 1 || c->hidden < 1 || c->hidden > INT_MAX / 8)
        return cp_misuse(at, op, "in is %d and hidden is %d; both must be positive%s", c->in, c->hidden,
                         c->hidden > INT_MAX / 8 ? ", and hidden smaller" : "");
    return (c->layers >= 1 && c->layers <= CP_LSTM_MAX_LAYERS) ||
           cp_misuse(at, op, "layers is %d; 1 to %d are possible", c->layers, CP_LSTM_MAX_LAYERS);
}

static cp_lstm make(cp_at at, const char *op, cp_params *params, const char *path, cp_lstm_config c, cp_rng *rng) {
    if (!c.layers) c.layers = 1;
    if (!cp_make_ready(at, op, params, rng) || !possible(at, op, &c)) return (cp_lstm){0};
    cp_lstm lstm = {.config = c};
    maker   m = {at, params, path, c.hidden, c.gru ? 3 : 4, rng};
    int     directions = c.bidirectional ? 2 : 1;
    for (int l = 0; l < c.layers; l++)
        for (int d = 0; d < directions; d++)
            if (!cell_make(&m, &lstm.cell[l][d], l, d, l ? c.hidden * directions : c.in)) return (cp_lstm){0};
    return lstm;
}

cp_lstm(cp_lstm_make)(cp_at at, cp_params *params, const char *path, cp_lstm_config c, cp_rng *rng) {
    c.gru = false;
    return make(at, "lstm_make", params, path, c, rng);
}

cp_gru(cp_gru_make)(cp_at at, cp_params *params, const char *path, cp_gru_config c, cp_rng *rng) {
    c.gru = true;
    return make(at, "gru_make", params, path, c, rng);
}

/* Gate number k of (N, 4H). */
static cp_tensor *gate(cp_at at, cp_tensor *gates, int k, int hidden) {
    return cp_slice(at, gates, (int[]){0, k * hidden}, (int[]){CP_END, (k + 1) * hidden}, NULL);
}

typedef struct state {
    cp_tensor *h, *c;
} state;

/* One step of a GRU, given the part of its gates (N, 3H) from the input. */
static state advance_gru(cp_at at, const cell *k, cp_tensor *inputs, state s, int hidden) {
    cp_tensor *from_h = cp_add(at, cp_matmul(at, s.h, k->weight_hh, 0), k->bias_hh), *r[2];
    for (int i = 0; i < 2; i++) r[i] = cp_sigmoid(at, cp_add(at, gate(at, inputs, i, hidden), gate(at, from_h, i, hidden)));
    cp_tensor *reset = cp_mul(at, r[0], gate(at, from_h, 2, hidden));
    cp_tensor *candidate = cp_tanh(at, cp_add(at, gate(at, inputs, 2, hidden), reset));
    s.h = cp_add(at, candidate, cp_mul(at, r[1], cp_sub(at, s.h, candidate)));
    return s;
}

/* One step of an LSTM, given the part of its gates (N, 4H) from the input. */
static state advance(cp_at at, const cell *k, cp_tensor *inputs, state s, int hidden) {
    cp_tensor *gates = cp_add(at, inputs, cp_matmul(at, s.h, k->weight_hh, 0));
    cp_tensor *in = cp_sigmoid(at, gate(at, gates, 0, hidden)), *forget = cp_sigmoid(at, gate(at, gates, 1, hidden));
    cp_tensor *candidate = cp_tanh(at, gate(at, gates, 2, hidden)), *out = cp_sigmoid(at, gate(at, gates, 3, hidden));
    s.c = cp_add(at, cp_mul(at, forget, s.c), cp_mul(at, in, candidate));
    s.h = cp_mul(at, out, cp_tanh(at, s.c));
    return s;
}

/* With L the length and t the step, min(1, max(0, L - t)), and for the last step also min(1, max(0, 2 - (L - t))). */
static cp_tensor *mask_by_ops(cp_at at, const cp_tensor *x, bool last) {
    cp_tensor *steps = cp_full(at, 0, CP_SHAPE(1, x->dims[1]));
    for (int t = 0; steps && t < x->dims[1]; t++) steps->data[t] = (cp_real)-t;
    cp_tensor *left = steps ? cp_add(at, x->length, steps) : NULL, *mask = cp_clamp(at, left, 0, 1); /* (N, T) */
    return last ? cp_mul(at, mask, cp_clamp(at, cp_affine(at, left, -1, 2), 0, 1)) : mask;
}

cp_tensor *cp_lengths_mask(cp_at at, const char *op, const cp_tensor *x, bool last) {
    int        time = x->rank > 1 ? x->dims[1] : 0;
    cp_shape   shape = {x->rank, {x->dims[0], time, 1, 1, 1}};
    cp_tensor *mask = x->length ? cp_reshape(at, mask_by_ops(at, x, last), shape) : cp_out(at, shape);
    for (int n = 0; mask && !x->length && n < x->dims[0]; n++) {
        int length = x->lengths[n];
        if (length < 1 || length > time)
            return cp_refuse(at, op, "sequence %d has length %d; 1 to %d are possible for x %s", n, length, time,
                             cp_shape_text(x).s);
        for (int t = 0; t < time; t++) mask->data[(size_t)n * (size_t)time + (size_t)t] = last ? t == length - 1 : t < length;
    }
    return mask;
}

/* One direction over time: fills steps[t] with (N, 1, H) and returns the last hidden state (N, H). */
static cp_tensor *run(cp_at at, const cp_lstm_config *c, const cell *k, cp_tensor *x, cp_tensor *mask, bool backward,
                      cp_tensor **steps) {
    int        n = x->dims[0], time = x->dims[1], hidden = c->hidden, gates = (c->gru ? 3 : 4) * hidden;
    cp_tensor *product = cp_matmul(at, x, k->weight_ih, 0), *bias = c->gru ? k->bias_ih : cp_add(at, k->bias_ih, k->bias_hh);
    cp_tensor *inputs = cp_add(at, product, bias), *zero = cp_full(at, 0, CP_SHAPE(n, hidden)); /* (N,T,gates), (N,H) */
    if (!inputs || !cp_chunk(at, inputs, time, 1, steps)) return NULL;
    if (time > 1) cp_release(at, inputs);
    state s = {zero, zero};
    for (int i = 0; i < time; i++) {
        int        t = backward ? time - 1 - i : i;
        cp_tensor *step = cp_reshape(at, steps[t], CP_SHAPE(n, gates));
        s = c->gru ? advance_gru(at, k, step, s, hidden) : advance(at, k, step, s, hidden);
        if (backward && mask) { /* a sequence begins at its own last step: until then its state stays 0 */
            cp_tensor *begun = cp_slice(at, mask, (int[]){0, t, 0}, (int[]){CP_END, t + 1, CP_END}, NULL);
            begun = cp_reshape(at, begun, CP_SHAPE(n, 1));
            s = (state){cp_mul(at, s.h, begun), cp_mul(at, s.c, begun)};
        }
        if (!s.h) return NULL;
        steps[t] = cp_reshape(at, s.h, CP_SHAPE(n, 1, hidden));
    }
    return s.h;
}

static cp_tensor *forward(cp_at at, const char *op, const cp_lstm *lstm, cp_tensor *x, cp_tensor **last) {
    if (!lstm || !lstm->cell[0][0].weight_ih)
        return cp_refuse(at, op, lstm ? "the layer has no weights (did cp_%s_make fail?)" : "the layer is NULL", op);
    if (!cp_check(at, op, 1, &x)) return NULL;
    const cp_lstm_config *c = &lstm->config;
    if (x->rank != 3 || x->dims[2] != c->in || x->dims[1] < 1)
        return cp_refuse(at, op, "x has shape %s; (N, T, %d) with T >= 1 is needed", cp_shape_text(x).s, c->in);
    int         directions = c->bidirectional ? 2 : 1, time = x->dims[1];
    cp_tensor **steps = cp_tape_alloc(at, (size_t)time * sizeof *steps), *ends[2] = {0}, *sides[2];
    bool        some = x->lengths || x->length;
    cp_tensor  *mask = some ? cp_lengths_mask(at, op, x, false) : NULL, *end = mask ? cp_lengths_mask(at, op, x, true) : NULL;
    if (!steps || (some && !end)) return NULL;
    for (int l = 0; l < c->layers && x; l++) {
        for (int d = 0; d < directions; d++) {
            ends[d] = run(at, c, &lstm->cell[l][d], x, mask, d == 1, steps);
            if (!ends[d]) return NULL;
            sides[d] = cp_concat(at, steps, time, 1);
            if (d == 0 && end && l == c->layers - 1)
                ends[d] = cp_sum(at, cp_mul(at, sides[d], end), CP_AXES(1), false); /* the last step that counts */
        }
        x = directions == 2 ? cp_concat(at, sides, 2, 2) : sides[0];
    }
    if (last) *last = directions == 2 ? cp_concat(at, ends, 2, 1) : ends[0];
    return x;
}

static cp_tensor *scoped(cp_at at, const char *op, const cp_lstm *lstm, cp_tensor *x, cp_tensor **last) {
    bool open = at.tape && lstm && lstm->cell[0][0].weight_ih;
    if (open) cp_scope_begin_at(at, lstm->cell[0][0].weight_ih, 1);
    cp_tensor *y = forward(at, op, lstm, x, last);
    if (open) (cp_scope_end)(at);
    return y;
}

cp_tensor *(cp_lstm_forward)(cp_at at, const cp_lstm *lstm, cp_tensor *x, cp_tensor **last) {
    return scoped(at, "lstm", lstm, x, last);
}

cp_tensor *(cp_gru_forward)(cp_at at, const cp_gru *gru, cp_tensor *x, cp_tensor **last) { return scoped(at, "gru", gru, x, last); }
