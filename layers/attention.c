/* Embedding, multi-head attention, and the transformer block made of it. */
#include "layers/layers.h"

#include "core/op.h"

#include <limits.h>
#include <math.h>

/* ---- embedding ---- */

cp_embedding(cp_embedding_make)(cp_at at, cp_params *params, const char *path, cp_embedding_config c, cp_rng *rng) {
    cp_embedding layer = {0};
    if (!cp_make_ready(at, "embedding_make", params, rng)) return layer;
    if (c.count < 1 || c.size < 1) {
        cp_misuse(at, "embedding_make", "count is %d and size is %d; both must be positive", c.count, c.size);
        return layer;
    }
    layer.weight = (cp_params_add)(at, params, path, "weight", CP_LAYOUT_PLAIN, CP_SHAPE(c.count, c.size));
    if (layer.weight) cp_rng_fill_normal(rng, layer.weight->data, layer.weight->size, 0, 1);
    return layer;
}

cp_tensor *(cp_embedding_forward)(cp_at at, const cp_embedding *layer, cp_indices ids, cp_shape shape) {
    size_t count;
    if (!layer || !layer->weight)
        return cp_refuse(at, "embedding", layer ? "the layer has no weight (did cp_embedding_make fail?)" : "the layer is NULL");
    if (!cp_shape_check(at, "embedding", shape) || !cp_shape_size(shape, &count)) return NULL;
    if ((size_t)ids.count != count || shape.rank == CP_MAX_RANK)
        return cp_refuse(at, "embedding", "%d indices do not fill shape %s of at most %d axes", ids.count, cp_dims_text(shape).s,
                         CP_MAX_RANK - 1);
    shape.dims[shape.rank++] = layer->weight->dims[1];
    return cp_reshape(at, cp_gather_rows(at, layer->weight, ids), shape);
}

/* ---- attention ---- */

cp_attention(cp_attention_make)(cp_at at, cp_params *params, const char *path, cp_attention_config c, cp_rng *rng) {
    if (!c.heads) c.heads = 1;
    cp_attention layer = {.config = c}, none = {0};
    if (!cp_make_ready(at, "attention_make", params, rng)) return none;
    if (c.size < 1 || c.size > INT_MAX / 3 || c.heads < 1 || c.size % c.heads) {
        cp_misuse(at, "attention_make", "size is %d and heads is %d; both must be positive, and heads divide size", c.size,
                  c.heads);
        return none;
    }
    layer.weight = (cp_params_add)(at, params, path, "in_proj_weight", CP_LAYOUT_LINEAR, CP_SHAPE(c.size, 3 * c.size));
    layer.bias = layer.weight ? (cp_params_add)(at, params, path, "in_proj_bias", CP_LAYOUT_PLAIN, CP_SHAPE(3 * c.size)) : NULL;
    if (!layer.bias) return none;
    cp_init_weight(layer.weight, CP_INIT_XAVIER_UNIFORM, c.size, 3 * c.size, 0, rng);
    layer.out =
        (cp_linear_make)(at, params, cp_path_join(path, "out_proj").s, (cp_linear_config){.in = c.size, .out = c.size}, rng);
    if (!layer.out.weight) return none;
    cp_tensor_fill(layer.out.bias, 0);
    return layer;
}

/* x times `count` of the three pieces of the weight, from piece `first` on: each (N, T, size), cut into heads (N, heads, T, size / heads). */
static bool project(cp_at at, const cp_attention *layer, cp_tensor *x, int first, int count, cp_tensor **out) {
    int        size = layer->config.size, heads = layer->config.heads, from = first * size, to = (first + count) * size;
    cp_tensor *w = layer->weight, *b = layer->bias;
    if (count < 3) {
        w = cp_slice(at, w, (int[]){0, from}, (int[]){CP_END, to}, NULL);
        b = cp_slice(at, b, &from, &to, NULL);
    }
    if (!cp_chunk(at, cp_add(at, cp_matmul(at, x, w, 0), b), count, 2, out)) return false;
    for (int i = 0; i < count; i++) {
        cp_tensor *apart = cp_reshape(at, out[i], CP_SHAPE(x->dims[0], x->dims[1], heads, size / heads));
        out[i] = cp_permute(at, apart, (int[]){0, 2, 1, 3});
    }
    return out[count - 1];
}

/* -infinity for each key that a query must not see; scores are (N, heads, T, S). */
static cp_tensor *mask_keys(cp_at at, const cp_attention *layer, cp_tensor *scores, const cp_tensor *keys) {
    int time = scores->dims[2], steps = scores->dims[3];
    if (keys->lengths || keys->length) {
        cp_tensor *counts = cp_lengths_mask(at, "attention", keys, false);
        cp_tensor *hidden = cp_affine(at, cp_reshape(at, counts, CP_SHAPE(keys->dims[0], 1, 1, steps)), -1, 1);
        scores = cp_masked_fill(at, scores, hidden, (cp_real)-INFINITY);
    }
    if (!layer->config.causal) return scores;
    cp_tensor *later = cp_full(at, 0, CP_SHAPE(time, steps));
    for (int t = 0; later && t < time; t++)
        for (int s = t + 1; s < steps; s++) later->data[(size_t)t * (size_t)steps + (size_t)s] = 1;
    return cp_masked_fill(at, scores, later, (cp_real)-INFINITY);
}

static bool is_sequences(cp_at at, const cp_attention *layer, const char *what, const cp_tensor *x) {
    return (x->rank == 3 && x->dims[2] == layer->config.size && x->dims[1] >= 1) ||
           cp_misuse(at, "attention", "%s has shape %s; (N, T, %d) with T >= 1 is needed", what, cp_shape_text(x).s,
                     layer->config.size);
}

/* The arguments fit. */
static cp_tensor *attend(cp_at at, const cp_attention *layer, cp_tensor *x, cp_tensor *context) {
    cp_tensor *in[3], *keys = context ? context : x; /* queries, keys, values */
    bool       ok =
        context ? project(at, layer, x, 0, 1, in) && project(at, layer, context, 1, 2, in + 1) : project(at, layer, x, 0, 3, in);
    if (!ok) return NULL;
    cp_real    scale = (cp_real)(1 / sqrt((double)layer->config.size / layer->config.heads));
    cp_tensor *scores = cp_scale(at, cp_matmul(at, in[0], in[1], CP_TRANSPOSE_B), scale); /* (N, heads, T, S) */
    if (!scores || !(scores = mask_keys(at, layer, scores, keys))) return NULL;
    cp_tensor *each = cp_matmul(at, cp_softmax(at, scores, 3), in[2], 0); /* (N, heads, T, size / heads) */
    return cp_linear_forward(at, &layer->out, cp_reshape(at, cp_permute(at, each, (int[]){0, 2, 1, 3}), x->shape));
}

cp_tensor *(cp_attention_forward)(cp_at at, const cp_attention *layer, cp_tensor *x, cp_tensor *context) {
    cp_tensor *keys = context ? context : x;
    if (!layer || !layer->weight)
        return cp_refuse(at, "attention", layer ? "the layer has no weight (did cp_attention_make fail?)" : "the layer is NULL");
    if (!cp_check(at, "attention", 2, (cp_tensor *[]){x, keys}) || !is_sequences(at, layer, "x", x) ||
        !is_sequences(at, layer, "context", keys))
        return NULL;
    if (keys->dims[0] != x->dims[0])
        return cp_refuse(at, "attention", "x %s and context %s have different numbers of sequences", cp_shape_text(x).s,
                         cp_shape_text(keys).s);
    cp_scope_begin_at(at, layer->weight, 1);
    cp_tensor *y = attend(at, layer, x, context);
    (cp_scope_end)(at);
    return y;
}

/* ---- transformer block ---- */

cp_transformer(cp_transformer_make)(cp_at at, cp_params *params, const char *path, cp_transformer_config c, cp_rng *rng) {
    cp_transformer block = {0}, none = {0};
    if (c.hidden < 0 || (!c.hidden && (c.size < 1 || c.size > INT_MAX / 4))) {
        cp_misuse(at, "transformer_make", "hidden is %d and size is %d", c.hidden, c.size);
        return none;
    }
    if (!c.hidden) c.hidden = 4 * c.size;
    cp_norm_config norm = {.kind = CP_NORM_LAYER, .channels = c.size};
    block.attention = (cp_attention_make)(at, params, cp_path_join(path, "self_attn").s,
                                          (cp_attention_config){.size = c.size, .heads = c.heads, .causal = c.causal}, rng);
    if (!block.attention.weight) return none;
    block.linear1 =
        (cp_linear_make)(at, params, cp_path_join(path, "linear1").s, (cp_linear_config){.in = c.size, .out = c.hidden}, rng);
    if (block.linear1.weight)
        block.linear2 =
            (cp_linear_make)(at, params, cp_path_join(path, "linear2").s, (cp_linear_config){.in = c.hidden, .out = c.size}, rng);
    if (block.linear2.weight) block.norm1 = (cp_norm_make)(at, params, cp_path_join(path, "norm1").s, norm);
    if (block.norm1.weight) block.norm2 = (cp_norm_make)(at, params, cp_path_join(path, "norm2").s, norm);
    return block.norm2.weight ? block : none;
}

cp_tensor *(cp_transformer_forward)(cp_at at, const cp_transformer *block, cp_tensor *x) {
    if (!block || !block->norm2.weight)
        return cp_refuse(at, "transformer",
                         block ? "the block has no weights (did cp_transformer_make fail?)" : "the block is NULL");
    if (!cp_check(at, "transformer", 1, &x)) return NULL;
    cp_scope_begin_at(at, block->norm1.weight, 2);
    cp_tensor *normed = cp_norm_forward(at, &block->norm1, x, CP_EVALUATION);
    if (normed) normed->lengths = x->lengths, normed->length = x->length;
    cp_tensor *y = cp_add(at, x, cp_attention_forward(at, &block->attention, normed, NULL));
    cp_tensor *wide = cp_linear_forward(at, &block->linear1, cp_norm_forward(at, &block->norm2, y, CP_EVALUATION));
    y = cp_add(at, y, cp_linear_forward(at, &block->linear2, cp_gelu(at, wide)));
    if (y) y->lengths = x->lengths, y->length = x->length;
    (cp_scope_end)(at);
    return y;
}
