/* The LSTM: for each layer and direction one product for all inputs at once, then a step at a time. */
#include "layers/layers.h"

#include "core/op.h"

typedef struct cp_lstm_cell cell;

static cp_tensor *add(cp_params *params, const char *path, const char *kind, int layer, int direction, cp_layout layout, int rank,
                      const int *dims, int hidden, cp_rng *rng) {
    char leaf[64];
    snprintf(leaf, sizeof leaf, "%s_l%d%s", kind, layer, direction ? "_reverse" : "");
    cp_tensor *t = cp_params_add(params, path, leaf, layout, rank, dims);
    if (t) cp_init_weight(t, CP_INIT_DEFAULT, hidden, hidden, 0, rng); /* U(-1/sqrt(H), 1/sqrt(H)), biases too */
    return t;
}

cp_lstm cp_lstm_make(cp_params *params, const char *path, cp_lstm_config c, cp_rng *rng) {
    if (c.layers < 1) c.layers = 1;
    if (c.layers > CP_LSTM_MOST_LAYERS) {
        cp_misuse((cp_at){0}, "lstm_make", "%d layers were asked for, at most %d exist", c.layers, CP_LSTM_MOST_LAYERS);
        c.layers = CP_LSTM_MOST_LAYERS;
    }
    cp_lstm lstm = {.config = c};
    int     directions = c.bidirectional ? 2 : 1, h = c.hidden, gates = 4 * c.hidden;
    for (int l = 0; l < c.layers; l++)
        for (int d = 0; d < directions; d++) {
            int   in = l ? h * directions : c.in;
            cell *k = &lstm.cell[l][d];
            k->weight_ih = add(params, path, "weight_ih", l, d, CP_LAYOUT_LINEAR, 2, (int[]){in, gates}, h, rng);
            k->weight_hh = add(params, path, "weight_hh", l, d, CP_LAYOUT_LINEAR, 2, (int[]){h, gates}, h, rng);
            k->bias_ih = add(params, path, "bias_ih", l, d, CP_LAYOUT_PLAIN, 1, &gates, h, rng);
            k->bias_hh = add(params, path, "bias_hh", l, d, CP_LAYOUT_PLAIN, 1, &gates, h, rng);
        }
    return lstm;
}

/* Gate number k of (N, 4H). */
static cp_tensor *gate(cp_at at, cp_tensor *gates, int k, int hidden) {
    return cp_slice(at, gates, (int[]){0, k * hidden}, (int[]){CP_END, (k + 1) * hidden}, NULL);
}

/* One direction over time: fills steps[t] with (N, 1, H) and returns the last hidden state (N, H). */
static cp_tensor *run(cp_at at, const cell *k, cp_tensor *x, int hidden, bool backward, cp_tensor **steps) {
    int        n = x->dims[0], time = x->dims[1];
    cp_tensor *inputs = cp_add(at, cp_matmul(at, x, k->weight_ih, 0), cp_add(at, k->bias_ih, k->bias_hh)); /* (N,T,4H) */
    cp_tensor *h = cp_full(at, 0, 2, (int[]){n, hidden}), *c = h;
    for (int i = 0; i < time && inputs && h; i++) {
        int        t = backward ? time - 1 - i : i;
        cp_tensor *now = cp_slice(at, inputs, (int[]){0, t, 0}, (int[]){CP_END, t + 1, CP_END}, NULL);
        cp_tensor *gates = cp_add(at, cp_reshape(at, now, 2, (int[]){n, 4 * hidden}), cp_matmul(at, h, k->weight_hh, 0));
        cp_tensor *in = cp_sigmoid(at, gate(at, gates, 0, hidden)), *forget = cp_sigmoid(at, gate(at, gates, 1, hidden));
        cp_tensor *candidate = cp_tanh(at, gate(at, gates, 2, hidden)), *out = cp_sigmoid(at, gate(at, gates, 3, hidden));
        c = cp_add(at, cp_mul(at, forget, c), cp_mul(at, in, candidate));
        h = cp_mul(at, out, cp_tanh(at, c));
        steps[t] = cp_reshape(at, h, 3, (int[]){n, 1, hidden});
    }
    return h;
}

cp_tensor *(cp_lstm_forward)(cp_at at, const cp_lstm *lstm, cp_tensor *x, cp_tensor **last) {
    const cp_lstm_config *c = &lstm->config;
    if (!x || x->rank != 3 || x->dims[2] != c->in || x->dims[1] < 1) {
        cp_misuse(at, "lstm", "x has shape %s; (N, T, %d) with T >= 1 is needed", cp_shape_text(x).s, c->in);
        return NULL;
    }
    int         directions = c->bidirectional ? 2 : 1, time = x->dims[1];
    cp_tensor **steps = cp_keep(at, (size_t)time * sizeof *steps), *ends[2] = {0}, *sides[2];
    if (!steps) return NULL;
    for (int l = 0; l < c->layers && x; l++) {
        for (int d = 0; d < directions; d++) {
            ends[d] = run(at, &lstm->cell[l][d], x, c->hidden, d == 1, steps);
            sides[d] = ends[d] ? cp_concat(at, steps, time, 1) : NULL;
            if (!sides[d]) return NULL;
        }
        x = directions == 2 ? cp_concat(at, sides, 2, 2) : sides[0];
    }
    if (last) *last = directions == 2 ? cp_concat(at, ends, 2, 1) : ends[0];
    return x;
}
