/* Feature networks: what all kinds share. */
#include "models/net.h"

#include "core/op.h"
#include "models/internal.h"

#include <stdlib.h>
#include <string.h>

cp_net *(cp_net_new)(cp_at at, const cp_net_kind *kind, cp_params *params, const char *path, const void *given, cp_rng *rng) {
    cp_kind_options options;
    if (!kind) return cp_refuse(at, "net_new", "the kind of network is NULL");
    cp_net *net = cp_kind_alloc(at, &kind->base, params, given, &options, rng);
    if (!net) return NULL;
    net->kind = kind;
    if (kind->make(at, net, params, path, &options, rng)) return net;
    cp_net_free(net);
    return NULL;
}

void cp_net_free(cp_net *net) {
    if (net && net->kind->free) net->kind->free(net);
    free(net);
}

bool cp_net_input_fits(const cp_net_input *input, cp_shape batch) {
    cp_shape row = input->shape;
    bool     fits = batch.rank == row.rank + 1;
    double   values = 1, needed = 1;
    for (int i = 1; i < batch.rank; i++) values *= batch.dims[i];
    for (int i = 0; i < row.rank; i++) {
        needed *= row.dims[i];
        fits = fits && (row.dims[i] ? batch.dims[i + 1] == row.dims[i] : batch.dims[i + 1] >= input->min);
    }
    if (input->rows && batch.rank == 4) fits = (double)batch.dims[2] * batch.dims[3] == row.dims[1] && batch.dims[1] >= input->min;
    return fits || row.rank == 0 || (input->flattened && batch.rank >= 2 && values == needed);
}

cp_text cp_net_input_show(const cp_net_input *input) {
    static const char *const letters[] = {"D", "TD", "HWC", "DHWC"}; /* for axes without a fixed size */
    cp_text                  text = {"(N"};
    size_t                   used = 2, size = sizeof text.s;
    char                     free_axes[16] = "";
    for (int i = 0; i < input->shape.rank; i++) {
        char letter[2] = {letters[input->shape.rank - 1][i]};
        if (input->shape.dims[i])
            used += (size_t)snprintf(text.s + used, size - used, ", %d", input->shape.dims[i]);
        else
            used += (size_t)snprintf(text.s + used, size - used, ", %s", letter);
        if (!input->shape.dims[i]) snprintf(free_axes + strlen(free_axes), 8, "%s%s", *free_axes ? ", " : "", letter);
    }
    snprintf(text.s + used, size - used, *free_axes ? ") with %s >= %d" : ")", free_axes, input->min);
    return text;
}

/* x with zeros beyond each sequence's length, so that no network sees what is there and no gradient goes there. */
static cp_tensor *within_lengths(cp_at at, cp_tensor *x) {
    cp_tensor *mask = cp_lengths_mask(at, "net_forward", x, false), *masked = mask ? cp_mul(at, x, mask) : NULL;
    if (masked) masked->lengths = x->lengths, masked->length = x->length;
    return masked;
}

cp_tensor *(cp_net_forward)(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    if (!net) return cp_refuse(at, "net_forward", "the network is NULL");
    if (!cp_check(at, "net_forward", 1, &x)) return NULL;
    const cp_net_input *input = &net->input;
    if (cp_net_input_fits(input, x->shape)) {
        if (x->lengths || x->length) x = within_lengths(at, x);
        if (!x) return NULL;
        cp_tensor *z = net->kind->forward(at, net, x, mode);
        if (!z || cp_shape_is(z, CP_SHAPE(x->dims[0], net->features))) return z;
        return cp_refuse(at, net->kind->base.name, "the network gives shape %s, not %d features", cp_shape_text(z).s,
                         net->features);
    }
    bool planes =
        input->shape.rank == 3 && x->rank == 4 && x->dims[1] == input->shape.dims[2] && x->dims[3] != input->shape.dims[2];
    return cp_refuse(at, net->kind->base.name, "x has shape %s; %s is needed%s", cp_shape_text(x).s, cp_net_input_show(input).s,
                     planes ? ": the channels of an image come last" : "");
}
