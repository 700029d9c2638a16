/* Parameters: a named, ordered set of persistent tensors, and the initializers that fill them.
 *
 * A layer adds its tensors under a path (`stage2.block0.conv1.weight`) and keeps plain pointers to them; the set owns
 * them. Parameters are trained; buffers (running statistics) are only stored with them. */
#pragma once

#include "core/random.h"
#include "core/tape.h"

/* The order of axes in files, which is PyTorch's. In memory weights are (kh,kw,in,out) and (in,out). */
typedef enum cp_layout {
    CP_LAYOUT_PLAIN,  /* the same in both */
    CP_LAYOUT_CONV,   /* (kh,kw,in,out) in memory, (out,in,kh,kw) in files */
    CP_LAYOUT_LINEAR, /* (in,out) in memory, (out,in) in files */
} cp_layout;

typedef struct cp_param {
    char      *name;
    cp_tensor *value;
    cp_tensor *grad; /* after cp_backward, on the tape until its reset; NULL before, and after the optimizer's step */
    cp_tensor *sum;  /* the memory of cp_backward_add; NULL: not used yet */
    cp_layout  layout;
    bool       buffer; /* not trained */
} cp_param;

typedef struct cp_params {
    cp_param *at;
    int       count, room;

    /* If set, called before memory is allocated for a new entry; false rejects it silently. See cp_params_expect. */
    bool (*accepts)(void *context, const char *name, cp_layout layout, cp_shape shape);
    void *accepts_context;

    /* Of cp_backward: its lists, and the tape and step of the gradients of the first grad_count entries. */
    cp_tensor **wanted, **grads;
    cp_tape    *grad_tape;
    unsigned    grad_step;
    int         grad_count;
} cp_params;

cp_params *cp_params_new(void);
void       cp_params_free(cp_params *params); /* NULL is allowed; frees the tensors too */

/* Adds a tensor of zeros named "path.leaf" (or "leaf" when path is empty or NULL) and returns it; the set keeps it.
 * A name in use is misuse. */
cp_tensor *cp_params_add(cp_at at, cp_params *params, const char *path, const char *leaf, cp_layout layout, cp_shape shape);
cp_tensor *cp_params_add_buffer(cp_at at, cp_params *params, const char *path, const char *leaf, cp_shape shape);
#define cp_params_add(...) cp_params_add(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
#define cp_params_add_buffer(...) cp_params_add_buffer(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

/* What every function that makes a layer, network or head checks first; false, after misuse reported for `op`, for a NULL. */
bool cp_make_ready(cp_at at, const char *op, const cp_params *params, const cp_rng *rng);

/* The entry with this name, or NULL. Iterate over all by params->at[0 .. count-1]. */
cp_param *cp_params_find(const cp_params *params, const char *name);

size_t cp_params_size(const cp_params *params);              /* number of trained values; 0 for NULL */
void   cp_params_print(FILE *file, const cp_params *params); /* one line per entry, and the total */

/* Whether all values, those of buffers too, are finite. */
bool cp_params_finite(const cp_params *params);

/* Copies every value (buffers too) from one set to another with the same names and shapes; false (misuse) otherwise. */
bool cp_params_copy(cp_at at, cp_params *to, const cp_params *from);
#define cp_params_copy(...) cp_params_copy(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

/* "path.leaf", or one of them if the other is empty. Truncated at the buffer's end. */
typedef struct cp_path {
    char s[160];
} cp_path;
cp_path cp_path_join(const char *path, const char *leaf);
cp_path cp_path_index(const char *path, const char *leaf, int index); /* "path.leaf3" */

/* ---- initializers; fan_in is the number of inputs per output, fan_out of outputs per input ---- */

typedef enum cp_init {
    CP_INIT_DEFAULT,         /* PyTorch's for conv and linear: U(-a, a), a = 1/sqrt(fan_in), weights and biases */
    CP_INIT_KAIMING_UNIFORM, /* U(-a, a), a = sqrt(6 / ((1 + slope^2) fan_in)); biases 0 */
    CP_INIT_KAIMING_NORMAL,  /* N(0, 2 / ((1 + slope^2) fan_in)); biases 0 */
    CP_INIT_XAVIER_UNIFORM,  /* U(-a, a), a = sqrt(6 / (fan_in + fan_out)); biases 0 */
    CP_INIT_XAVIER_NORMAL,   /* N(0, 2 / (fan_in + fan_out)); biases 0 */
    CP_INIT_ZERO,
} cp_init;

/* slope: of the leaky ReLU that follows, for the Kaiming initializers. NULL, a tensor that could not be added, is ignored. */
void cp_init_weight(cp_tensor *weight, cp_init init, int fan_in, int fan_out, cp_real slope, cp_rng *rng);
void cp_init_bias(cp_tensor *bias, cp_init init, int fan_in, cp_rng *rng);
void cp_tensor_fill(cp_tensor *t, cp_real value);
void cp_tensor_multiply(cp_tensor *t, cp_real factor);
