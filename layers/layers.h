/* Layers: parameters plus the ops that use them.
 *
 * A layer is a small struct of pointers into a parameter set, made by cp_..._make under a path and used by cp_..._forward. The set owns the
 * parameters. Configurations are structs in which zero means the default.
 *
 * A make function rejects impossible sizes before it adds anything. After any failure (a name in use, no memory) its result has no weight,
 * and the forward function reports an error for such a layer; parameters that were added before the failure stay in the set. */
#pragma once

#include "layers/params.h"
#include "ops/ops.h"

typedef enum cp_mode {
    CP_EVALUATION, /* running statistics, no dropout: for predicting and for sampling */
    CP_TRAINING,   /* batch statistics, dropout */
} cp_mode;

/* ==== activations ==== */

typedef enum cp_activation {
    CP_LEAKY_RELU, /* slope 0.2 */
    CP_RELU,
    CP_SWISH,
    CP_TANH,
    CP_IDENTITY,
} cp_activation;

cp_tensor *cp_activate(cp_at at, cp_tensor *x, cp_activation activation);
cp_real    cp_activation_slope(cp_activation activation); /* of the negative side: 0.2, 0 or 1; 0 for tanh and swish */

/* Opens a scope (cp_scope_begin) with a parameter's path, without the last `parts` parts of its name: 1 for `block0.conv1` from
 * `block0.conv1.weight`. */
void cp_scope_begin_at(cp_at at, const cp_tensor *parameter, int parts);

/* ==== linear: y = x W + b; x (..., in) -> (..., out) ==== */

typedef struct cp_linear_config {
    int           in, out;
    bool          no_bias;
    cp_init       init;       /* CP_INIT_DEFAULT: PyTorch's */
    cp_activation activation; /* that follows the layer: its slope scales the Kaiming initializers */
} cp_linear_config;

typedef struct cp_linear {
    cp_tensor *weight; /* (in, out) */
    cp_tensor *bias;   /* (out) or NULL */
} cp_linear;

cp_linear  cp_linear_make(cp_at at, cp_params *params, const char *path, cp_linear_config config, cp_rng *rng);
cp_tensor *cp_linear_forward(cp_at at, const cp_linear *layer, cp_tensor *x);

/* ==== convolution on (N,H,W,C) ==== */

typedef struct cp_conv_config {
    int           in, out;
    int           kernel;               /* 0: 3 */
    int           kernel_h, kernel_w;   /* 0: kernel */
    int           stride;               /* 0: 1 */
    int           padding;              /* on all sides */
    int           padding_h, padding_w; /* above and below, left and right; 0: padding */
    int           dilation, groups;     /* 0: 1 */
    int           output_pad;           /* of a transposed convolution: rows and columns more at the end, fewer than the stride */
    bool          no_bias;
    cp_init       init;
    cp_activation activation; /* as in cp_linear_config */
} cp_conv_config;

typedef struct cp_conv {
    cp_tensor       *weight; /* (kernel_h, kernel_w, in/groups, out); transposed: (kernel_h, kernel_w, out/groups, in) */
    cp_tensor       *bias;   /* (out) or NULL */
    cp_conv2d_config config;
    int              output_pad;
} cp_conv;

cp_conv    cp_conv_make(cp_at at, cp_params *params, const char *path, cp_conv_config config, cp_rng *rng);
cp_tensor *cp_conv_forward(cp_at at, const cp_conv *layer, cp_tensor *x); /* with kernel_h = 1 also of sequences (N,T,in) */
/* cp_conv_transpose with a weight and a bias: (N,H,W,in) -> (N,OH,OW,out). */
cp_conv    cp_conv_transpose_make(cp_at at, cp_params *params, const char *path, cp_conv_config config, cp_rng *rng);
cp_tensor *cp_conv_transpose_forward(cp_at at, const cp_conv *layer, cp_tensor *x);

/* ==== normalization ==== */

typedef enum cp_norm_kind { CP_NORM_NONE, CP_NORM_BATCH, CP_NORM_GROUP, CP_NORM_LAYER } cp_norm_kind;

typedef struct cp_norm_config {
    cp_norm_kind kind;
    int          channels;
    int          groups;   /* group norm; 0: the largest of 8, 4, 2, 1 that divides channels */
    cp_real      momentum; /* batch norm: the weight of the new value; 0: 0.1 */
    cp_real      eps;      /* 0: 1e-5 */
} cp_norm_config;

typedef struct cp_norm {
    cp_norm_config config;
    cp_tensor     *weight, *bias, *running_mean, *running_var;
} cp_norm;

/* A kind must be given, so that a forgotten one is misuse. A layer without a norm is (cp_norm){0}, not made. */
cp_norm    cp_norm_make(cp_at at, cp_params *params, const char *path, cp_norm_config config);
cp_tensor *cp_norm_forward(cp_at at, const cp_norm *layer, cp_tensor *x, cp_mode mode); /* CP_NORM_NONE: x itself */
/* activation(norm(x)), in one pass for group or layer norm with a (leaky) ReLU. */
cp_tensor *cp_norm_activate(cp_at at, const cp_norm *layer, cp_tensor *x, cp_activation activation, cp_mode mode);
/* Whether cp_norm_activate does it in one pass. */
bool cp_norm_fuses(const cp_norm *layer, cp_activation activation);
/* Whether the layer is scale x + shift with fixed numbers per channel: batch norm in evaluation mode. Then cp_norm_factors returns them as
 * tensors (C) on the tape, through which the weight and the bias get gradients; false after cp_misuse. */
bool cp_norm_fixed(const cp_norm *layer, cp_mode mode);
bool cp_norm_factors(cp_at at, const cp_norm *layer, cp_tensor **scale, cp_tensor **shift);

/* ==== residual block, pre-activation ==== */

typedef enum cp_block_layout {
    CP_BLOCK_JEM, /* the stride is on the second convolution; the shortcut starts at x */
    CP_BLOCK_CLASSIC, /* the stride is on the first; a convolution in the shortcut starts at the activated x, as in the original wide ResNet */
} cp_block_layout;

typedef struct cp_block_config {
    int             in, out, stride; /* stride 0: 1 */
    cp_norm_kind    norm;
    cp_activation   activation;
    cp_block_layout layout;
    cp_init         init;
} cp_block_config;

typedef struct cp_block {
    cp_block_config config;
    cp_norm         norm1, norm2;
    cp_conv         conv1, conv2, shortcut; /* shortcut.weight is NULL if the shapes agree */
} cp_block;

/* conv2(act(norm2(conv1(act(norm1(x)))))) + shortcut; (N,H,W,in) -> (N,H/stride,W/stride,out). The convolutions are 3x3 with
 * padding 1, the shortcut 1x1; all have biases. */
cp_block   cp_block_make(cp_at at, cp_params *params, const char *path, cp_block_config config, cp_rng *rng);
cp_tensor *cp_block_forward(cp_at at, const cp_block *block, cp_tensor *x, cp_mode mode);
/* ==== LSTM, PyTorch's equations and gate order (i, f, g, o) ==== */

enum { CP_LSTM_MAX_LAYERS = 8 };

typedef struct cp_lstm_config {
    int  in, hidden;
    int  layers; /* 0: 1 */
    bool bidirectional;
    bool gru; /* set by cp_gru_make */
} cp_lstm_config;

typedef struct cp_lstm {
    cp_lstm_config config;
    struct cp_lstm_cell {
        cp_tensor *weight_ih, *weight_hh, *bias_ih, *bias_hh; /* (in, 4H), (H, 4H), (4H), (4H) */
    } cell[CP_LSTM_MAX_LAYERS][2];                            /* [layer][direction] */
} cp_lstm;

cp_lstm cp_lstm_make(cp_at at, cp_params *params, const char *path, cp_lstm_config config, cp_rng *rng);

/* x (N,T,in), starting from zero state -> the outputs (N,T,H') of the last layer, H' = hidden times directions. *last, unless last
 * is NULL, gets the final hidden state (N,H') of the last layer, forward then backward. */
cp_tensor *cp_lstm_forward(cp_at at, const cp_lstm *lstm, cp_tensor *x, cp_tensor **last);

/* By the lengths of x (N, T, ...): 1 for the steps that count, or for the last of these alone, and 0 for others, in shape (N, T, 1, ...). Messages
 * begin with op. NULL after misuse: a length that is not within 1..T. */
cp_tensor *cp_lengths_mask(cp_at at, const char *op, const cp_tensor *x, bool last);

/* ==== GRU: the same with 3H for 4H, PyTorch's equations and gate order (r, z, n) ==== */

typedef cp_lstm_config cp_gru_config;
typedef cp_lstm        cp_gru;

cp_gru     cp_gru_make(cp_at at, cp_params *params, const char *path, cp_gru_config config, cp_rng *rng);
cp_tensor *cp_gru_forward(cp_at at, const cp_gru *gru, cp_tensor *x, cp_tensor **last);

/* ==== embedding: a row of numbers for each index ==== */

typedef struct cp_embedding_config {
    int count, size; /* of the rows, of each row */
} cp_embedding_config;

typedef struct cp_embedding {
    cp_tensor *weight; /* (count, size), N(0, 1) at the start */
} cp_embedding;

cp_embedding cp_embedding_make(cp_at at, cp_params *params, const char *path, cp_embedding_config config, cp_rng *rng);
cp_tensor   *cp_embedding_forward(cp_at at, const cp_embedding *layer, cp_indices ids, cp_shape shape); /* (shape..., size) */

/* ==== multi-head attention, PyTorch's names of parameters ==== */

typedef struct cp_attention_config {
    int  size;   /* of each step's row */
    int  heads;  /* 0: 1; divides size */
    bool causal; /* step t sees the steps up to t only */
} cp_attention_config;

typedef struct cp_attention {
    cp_attention_config config;
    cp_tensor          *weight, *bias; /* of queries, keys and values: (size, 3 size), (3 size) */
    cp_linear           out;
} cp_attention;

/* softmax(q k^T / sqrt(size / heads)) v in each head, with q from x (N,T,size), and k and v from context (N,S,size), NULL for x itself
 * -> (N,T,size). Where context has lengths, only the steps that count are seen. */
cp_attention cp_attention_make(cp_at at, cp_params *params, const char *path, cp_attention_config config, cp_rng *rng);
cp_tensor   *cp_attention_forward(cp_at at, const cp_attention *layer, cp_tensor *x, cp_tensor *context);

/* ==== transformer block, with layer norm before each part: PyTorch's TransformerEncoderLayer with norm_first and gelu ==== */

typedef struct cp_transformer_config {
    int  size, heads; /* as in cp_attention_config */
    int  hidden;      /* of the perceptron; 0: 4 size */
    bool causal;
} cp_transformer_config;

typedef struct cp_transformer {
    cp_attention attention;
    cp_linear    linear1, linear2;
    cp_norm      norm1, norm2;
} cp_transformer;

/* y = x + attention(norm1(x)), then y + linear2(gelu(linear1(norm2(y)))); (N,T,size) -> (N,T,size), which keeps x's lengths. */
cp_transformer cp_transformer_make(cp_at at, cp_params *params, const char *path, cp_transformer_config config, cp_rng *rng);
cp_tensor     *cp_transformer_forward(cp_at at, const cp_transformer *block, cp_tensor *x);

#define cp_linear_make(...) cp_linear_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_conv_make(...) cp_conv_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_norm_make(...) cp_norm_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_block_make(...) cp_block_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_lstm_make(...) cp_lstm_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_conv_transpose_make(...) cp_conv_transpose_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_gru_make(...) cp_gru_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_embedding_make(...) cp_embedding_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_attention_make(...) cp_attention_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_transformer_make(...) cp_transformer_make(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

#define cp_activate(t, ...) cp_activate(CP_AT(t), __VA_ARGS__)
#define cp_linear_forward(t, ...) cp_linear_forward(CP_AT(t), __VA_ARGS__)
#define cp_conv_forward(t, ...) cp_conv_forward(CP_AT(t), __VA_ARGS__)
#define cp_norm_forward(t, ...) cp_norm_forward(CP_AT(t), __VA_ARGS__)
#define cp_norm_activate(t, ...) cp_norm_activate(CP_AT(t), __VA_ARGS__)
#define cp_norm_factors(t, ...) cp_norm_factors(CP_AT(t), __VA_ARGS__)
#define cp_block_forward(t, ...) cp_block_forward(CP_AT(t), __VA_ARGS__)
#define cp_lstm_forward(t, ...) cp_lstm_forward(CP_AT(t), __VA_ARGS__)
#define cp_conv_transpose_forward(t, ...) cp_conv_transpose_forward(CP_AT(t), __VA_ARGS__)
#define cp_gru_forward(t, ...) cp_gru_forward(CP_AT(t), __VA_ARGS__)
#define cp_embedding_forward(t, ...) cp_embedding_forward(CP_AT(t), __VA_ARGS__)
#define cp_attention_forward(t, ...) cp_attention_forward(CP_AT(t), __VA_ARGS__)
#define cp_transformer_forward(t, ...) cp_transformer_forward(CP_AT(t), __VA_ARGS__)
