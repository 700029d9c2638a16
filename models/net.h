/* Feature networks turn a batch of inputs into feature vectors (N, features); any head can sit on any of them. Each kind is a
 * cp_net_kind in a file of its own. */
#pragma once

#include "layers/layers.h"
#include "models/kind.h"

typedef struct cp_net cp_net;

typedef struct cp_net_kind {
    cp_kind base;
    /* Adds the parameters under the path and fills in the members after net->kind. Params and rng are not NULL; the options are complete
     * and in range. false on failure, after cp_misuse; cp_params_add and the layers report their own errors. */
    bool (*make)(cp_at at, cp_net *net, cp_params *params, const char *path, const void *options, cp_rng *rng);
    cp_tensor *(*forward)(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode); /* x fits net->input */
    void (*adapt)(void *options, cp_shape input); /* sets what follows from inputs of that shape, of rank 1 to 3; NULL: nothing */
    void (*free)(cp_net *net);                    /* what make allocated besides the struct; NULL: nothing */
} cp_net_kind;

/* The input that a network accepts: x (N, dims...), of rank 1 + shape.rank; a size of 0 stands for any size from `min` on. Rank 3 is for
 * images, channels last. All zeros: anything. */
typedef struct cp_net_input {
    cp_shape shape;
    int      min;
    bool     rows;      /* images (N, H, W, C) of W * C = shape.dims[1] are accepted too, a row being a step of the sequence */
    bool     flattened; /* any x (N, ...) with the same number of values per row is accepted */
} cp_net_input;

/* A network's struct begins with this. */
struct cp_net {
    const cp_net_kind *kind;
    int                features;
    cp_net_input       input;
};

/* Options NULL: the defaults. NULL, after the error handler, when it cannot be made. */
cp_net *cp_net_new(cp_at at, const cp_net_kind *kind, cp_params *params, const char *path, const void *options, cp_rng *rng);
/* Where x has lengths, what is beyond them counts as 0. */
cp_tensor *cp_net_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode);
void       cp_net_free(cp_net *net); /* NULL is allowed; the parameters stay with their set */

/* Whether a batch of that shape is accepted, and the accepted shape for messages: "(N, H, W, 3) with H, W >= 8". */
bool    cp_net_input_fits(const cp_net_input *input, cp_shape batch);
cp_text cp_net_input_show(const cp_net_input *input);

/* Registers a kind by its name, for cp_model_new, cp_model_load and everything else that reads descriptions. Call it first, from one
 * thread; adding a kind twice is allowed. false (misuse) when another kind has the name or a key is invalid. */
bool cp_net_kind_add(cp_at at, const cp_net_kind *kind);

#define cp_net_new(...) cp_net_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_net_forward(t, ...) cp_net_forward(CP_AT(t), __VA_ARGS__)
#define cp_net_kind_add(...) cp_net_kind_add(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

extern const cp_net_kind cp_net_wrn, cp_net_mlp, cp_net_lstm;

/* The built-in kinds and their options, as in cp_net_new(&cp_net_mlp, params, path, &(cp_mlp_config){.sizes = {2, 16}}, rng). */

/* ==== wide ResNet: images (N,H,W,channels), from 8x8 ====
 *
 * A 3x3 stem of 16 channels, three stages of (depth - 4) / 6 pre-activation blocks with widths 16, 32, 64 times width, the stages
 * after the first with stride 2, then norm, activation and global average pool. All convolutions have biases; they are 3x3 with
 * padding 1, except the shortcuts, which are 1x1 with padding 0. Tensors under the path: stem.weight, stem.bias,
 * stage0.block0.norm1.weight, .bias (and .running_mean, .running_var with batch norm), stage0.block0.conv1.weight, .bias, norm2,
 * conv2, where in and out differ or stride is not 1 also shortcut, ...; norm.weight, norm.bias. */
typedef struct cp_wrn_config {
    int             depth;    /* 6n + 4; 0: 10 */
    int             width;    /* 0: 1 */
    int             channels; /* of the images; 0: 1 */
    cp_norm_kind    norm;
    cp_activation   activation; /* leaky ReLU 0.2 by default */
    cp_block_layout layout;
    cp_init         init;
} cp_wrn_config;

/* ==== multilayer perceptron: x (N, ...) flattened to (N, sizes[0]) ====
 * sizes end at the first 0; every layer is followed by the activation. Tensors: layer0.weight, layer0.bias, ... With one size
 * only, the features are the inputs themselves: the model is a head alone. */
enum { CP_MLP_MAX_SIZES = 16 };
typedef struct cp_mlp_config {
    int           sizes[CP_MLP_MAX_SIZES];
    cp_activation activation;
    cp_init       init;
} cp_mlp_config;

/* ==== LSTM over sequences (N,T,in): the features are the last layer's final hidden state ====
 * Tensors: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, with the suffix _reverse for the other direction; then _l1, ... */
