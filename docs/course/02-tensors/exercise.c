/* Exercise 2: the gradient of a product with broadcasting, by hand. */
#include <couplet.h>

/* The place in a tensor of shape `small` that place i of a tensor of shape `large` reads if the small tensor is
 * broadcast to the large one. Places count values in row-major order: place 6 of shape (3, 4) is [1, 2], since 6 = 1 *
 * 4 + 2. Shapes are aligned at their last axes; an axis that `small` lacks, or has with size 1, is repeated. `small`
 * has small.rank axes, of sizes small.dims[0] to small.dims[small.rank - 1]; `large` likewise. */
size_t place_in(cp_shape small, cp_shape large, size_t i) {
    return 0; /* not yet */
}

/* The gradients at a and at b of out = a b with broadcasting, from the gradient g at out. g has out's shape, da has a's
 * and db has b's; da and db are filled with zeros at first. A tensor t has t->shape, t->size (how many values) and
 * t->data (the values). */
void product_gradients(const cp_tensor *a, const cp_tensor *b, const cp_tensor *g, cp_tensor *da, cp_tensor *db) {
    /* to do: for each place i of g, what do a and b get? */
}
