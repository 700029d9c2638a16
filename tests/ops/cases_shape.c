/* Cases of changes of shape: views, permutations, slices, joins, and selecting by index. */
#include "tests/support/cases.h"

static cp_tensor *build_reshape(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_reshape(tape, in[0], c->shape); }

static cp_tensor *build_broadcast_to(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_broadcast_to(tape, in[0], c->shape);
}

static cp_tensor *build_sum_to(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_sum_to(tape, in[0], c->shape); }

static cp_tensor *build_permute(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_permute(tape, in[0], c->start); }

static cp_tensor *build_slice(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_slice(tape, in[0], c->start, c->stop, c->step[0] ? c->step : NULL);
}

static cp_tensor *build_embed(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_embed(tape, in[0], c->shape.dims, c->start, c->step[0] ? c->step : NULL, (cp_real)c->real[0]);
}

static cp_tensor *build_pad(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_pad(tape, in[0], c->start, c->stop, (cp_real)c->real[0]);
}

static cp_tensor *build_concat(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_concat(tape, in, case_inputs(c), c->number);
}

static cp_tensor *build_concat_twice(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_concat(tape, (cp_tensor *[]){in[0], in[1], in[0]}, 3, c->number);
}

static cp_indices places(const op_case *c) { return (cp_indices){c->places, c->place_count}; }

static cp_tensor *build_gather_rows(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gather_rows(tape, in[0], places(c));
}

static cp_tensor *build_scatter_rows(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_scatter_rows(tape, in[0], places(c), c->number);
}

static cp_tensor *build_take(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_take(tape, in[0], places(c), c->shape); }

static cp_tensor *build_put(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_put(tape, in[0], places(c), c->shape); }

/* clang-format off */
static const op_case cases[] = {
    {"reshape", "rank 2 to 3",            build_reshape, {ANY(3, 4)}, .shape = SHAPE(2, 2, 3)},
    {"reshape", "flattened by -1",        build_reshape, {ANY(3, 1, 5)}, .shape = SHAPE(-1)},
    {"reshape", "-1 in the middle",       build_reshape, {ANY(2, 3, 4)}, .shape = SHAPE(4, -1, 2)},
    {"reshape", "to the same shape",      build_reshape, {ANY(3, 5)}, .shape = SHAPE(3, 5)},
    {"reshape", "size 1 to a scalar",     build_reshape, {ANY(1, 1)}},
    {"reshape", "a scalar to rank 5",     build_reshape, {SCALAR(FROM_ANY)}, .shape = SHAPE(1, 1, 1, 1, 1)},
    {"reshape", "empty",                  build_reshape, {ANY(0, 3)}, .shape = SHAPE(3, 0, 2)},

    {"permute", "transpose",              build_permute, {ANY(3, 5)}, .start = {1, 0}},
    {"permute", "identity",               build_permute, {ANY(3, 5)}, .start = {0, 1}},
    {"permute", "rank 0",                 build_permute, {SCALAR(FROM_ANY)}},
    {"permute", "rank 1",                 build_permute, {ANY(5)}},
    {"permute", "a cycle of three",       build_permute, {ANY(2, 3, 4)}, .start = {1, 2, 0}},
    {"permute", "the other cycle",        build_permute, {ANY(2, 3, 4)}, .start = {2, 0, 1}},
    {"permute", "image order, to planes", build_permute, {ANY(2, 3, 5, 4)}, .start = {0, 3, 1, 2}},
    {"permute", "rank 5, scrambled",      build_permute, {ANY(2, 3, 1, 4, 2)}, .start = {3, 0, 4, 2, 1}},

    {"broadcast_to", "a scalar",          build_broadcast_to, {SCALAR(FROM_ANY)}, .shape = SHAPE(3, 4)},
    {"broadcast_to", "new first axis",    build_broadcast_to, {ANY(5)}, .shape = SHAPE(3, 5)},
    {"broadcast_to", "last axis",         build_broadcast_to, {ANY(3, 1)}, .shape = SHAPE(3, 5)},
    {"broadcast_to", "middle axis",       build_broadcast_to, {ANY(2, 1, 3)}, .shape = SHAPE(2, 4, 3)},
    {"broadcast_to", "not adjacent",      build_broadcast_to, {ANY(1, 3, 1)}, .shape = SHAPE(2, 2, 3, 4)},
    {"broadcast_to", "rank 5",            build_broadcast_to, {ANY(2, 1, 1)}, .shape = SHAPE(3, 1, 2, 2, 3)},
    {"broadcast_to", "to the same shape", build_broadcast_to, {ANY(3, 5)}, .shape = SHAPE(3, 5)},

    {"sum_to", "a scalar",                build_sum_to, {ANY(3, 4)}},
    {"sum_to", "without the first axis",  build_sum_to, {ANY(3, 5)}, .shape = SHAPE(5)},
    {"sum_to", "last axis",               build_sum_to, {ANY(3, 5)}, .shape = SHAPE(3, 1)},
    {"sum_to", "not adjacent",            build_sum_to, {ANY(2, 2, 3, 4)}, .shape = SHAPE(1, 3, 1)},
    {"sum_to", "rank 5",                  build_sum_to, {ANY(3, 1, 2, 2, 3)}, .shape = SHAPE(2, 1, 1)},
    {"sum_to", "the same shape",          build_sum_to, {ANY(3, 5)}, .shape = SHAPE(3, 5)},

    {"slice", "a part of each axis",      build_slice, {ANY(5, 7)}, .start = {1, 2}, .stop = {4, 7}},
    {"slice", "to the end",               build_slice, {ANY(5, 7)}, .start = {2, 3}, .stop = {CP_END, CP_END}},
    {"slice", "everything",               build_slice, {ANY(3, 5)}, .stop = {CP_END, 5}},
    {"slice", "one value",                build_slice, {ANY(3, 5)}, .start = {2, 4}, .stop = {3, 5}},
    {"slice", "steps, even and uneven",   build_slice, {ANY(7, 8)}, .start = {0, 1}, .stop = {7, 8}, .step = {2, 3}},
    {"slice", "a step beyond the axis",   build_slice, {ANY(5, 3)}, .start = {1, 0}, .stop = {5, 3}, .step = {9, 1}},
    {"slice", "rank 5 with steps",        build_slice, {ANY(3, 2, 4, 1, 3)}, .start = {1, 0, 1, 0, 0},
                                          .stop = {3, 2, 4, 1, CP_END}, .step = {1, 1, 2, 1, 2}},
    {"slice", "rank 1",                   build_slice, {ANY(9)}, .start = {2}, .stop = {8}, .step = {2}},
    {"slice", "rank 0",                   build_slice, {SCALAR(FROM_ANY)}},
    {"slice", "nothing",                  build_slice, {ANY(3, 5)}, .start = {1, 2}, .stop = {1, 5}},

    {"embed", "in the middle",            build_embed, {ANY(2, 3)}, .shape = SHAPE(5, 7), .start = {2, 1}},
    {"embed", "with steps",               build_embed, {ANY(2, 3)}, .shape = SHAPE(5, 7), .start = {1, 0},
                                          .step = {3, 2}},
    {"embed", "a fill other than 0",      build_embed, {ANY(3)}, .shape = SHAPE(8), .start = {1},
                                          .step = {2}, .real = {-1.5}},
    {"embed", "the whole",                build_embed, {ANY(3, 5)}, .shape = SHAPE(3, 5)},
    {"embed", "rank 5",                   build_embed, {ANY(1, 2, 2, 1, 2)}, .shape = SHAPE(2, 3, 4, 1, 3),
                                          .start = {1, 0, 1, 0, 0}, .step = {1, 2, 2, 1, 2}},

    {"pad", "asymmetric",                 build_pad, {ANY(3, 5)}, .start = {1, 0}, .stop = {2, 3}},
    {"pad", "a fill other than 0",        build_pad, {ANY(3, 2)}, .start = {0, 2}, .stop = {1, 1}, .real = {0.5}},
    {"pad", "nothing",                    build_pad, {ANY(3, 2)}},
    {"pad", "an image",                   build_pad, {ANY(2, 3, 3, 2)}, .start = {0, 1, 2, 0}, .stop = {0, 2, 1, 0}},
    {"pad", "rank 1 of size 1",           build_pad, {ANY(1)}, .start = {2}, .stop = {0}},

    {"concat", "one part",                build_concat, {ANY(3, 2)}, .number = 1},
    {"concat", "two parts, first axis",   build_concat, {ANY(3, 2), ANY(1, 2)}, .number = 0},
    {"concat", "two parts, last axis",    build_concat, {ANY(3, 2), ANY(3, 5)}, .number = -1},
    {"concat", "three, first of three",   build_concat, {ANY(1, 3, 2), ANY(2, 3, 2), ANY(3, 3, 2)}, .number = 0},
    {"concat", "three, middle of three",  build_concat, {ANY(2, 1, 2), ANY(2, 3, 2), ANY(2, 2, 2)}, .number = 1},
    {"concat", "three, last of three",    build_concat, {ANY(2, 3, 1), ANY(2, 3, 2), ANY(2, 3, 4)}, .number = 2},
    {"concat", "ten parts",               build_concat, {ANY(2, 1), ANY(2, 2), ANY(2, 1), ANY(2, 3), ANY(2, 1),
                                                         ANY(2, 2), ANY(2, 1), ANY(2, 1), ANY(2, 2), ANY(2, 1)},
                                          .number = 1},
    {"concat", "an empty part",           build_concat, {ANY(2, 3), ANY(2, 0), ANY(2, 1)}, .number = 1},
    {"concat", "rank 1",                  build_concat, {ANY(3), ANY(1)}, .number = 0},
    {"concat", "rank 5, fourth axis",     build_concat, {ANY(2, 1, 2, 1, 2), ANY(2, 1, 2, 3, 2)}, .number = 3},
    {"concat", "one tensor twice",        build_concat_twice, {ANY(2, 3), ANY(1, 3)}, .number = 0},

    {"gather_rows", "repeated rows",      build_gather_rows, {ANY(4, 3)}, PLACES(2, 0, 2, 3, 2, 0)},
    {"gather_rows", "one row of one",     build_gather_rows, {ANY(1, 5)}, PLACES(0)},
    {"gather_rows", "fewer rows, rank 3", build_gather_rows, {ANY(5, 2, 3)}, PLACES(4, 1)},
    {"gather_rows", "rank 1",             build_gather_rows, {ANY(5)}, PLACES(3, 3, 0)},
    {"gather_rows", "rank 5",             build_gather_rows, {ANY(3, 1, 2, 1, 2)}, PLACES(2, 2, 0, 1)},

    {"scatter_rows", "repeated rows",     build_scatter_rows, {ANY(6, 3)}, PLACES(2, 0, 2, 3, 2, 0), .number = 5},
    {"scatter_rows", "into one row",      build_scatter_rows, {ANY(3, 2)}, PLACES(0, 0, 0), .number = 1},
    {"scatter_rows", "rank 1",            build_scatter_rows, {ANY(3)}, PLACES(4, 1, 4), .number = 6},
    {"scatter_rows", "rank 5",            build_scatter_rows, {ANY(3, 1, 2, 1, 2)}, PLACES(1, 2, 1), .number = 3},

    {"take", "repeated places",           build_take, {ANY(3, 4)}, PLACES(11, 0, 5, 5, 5, 2), .shape = SHAPE(2, 3)},
    {"take", "one value to a scalar",     build_take, {ANY(3, 4)}, PLACES(7)},
    {"take", "from a scalar",             build_take, {SCALAR(FROM_ANY)}, PLACES(0, 0, 0), .shape = SHAPE(3)},
    {"take", "rank 5",                    build_take, {ANY(5)}, PLACES(4, 3, 2, 1), .shape = SHAPE(1, 2, 1, 2, 1)},

    {"put", "repeated places",            build_put, {ANY(2, 3)}, PLACES(11, 0, 5, 5, 5, 2), .shape = SHAPE(3, 4)},
    {"put", "all into a scalar",          build_put, {ANY(3)}, PLACES(0, 0, 0)},
    {"put", "a scalar",                   build_put, {SCALAR(FROM_ANY)}, PLACES(7), .shape = SHAPE(3, 4)},
    {"put", "rank 5",                     build_put, {ANY(4)}, PLACES(4, 3, 2, 4), .shape = SHAPE(1, 3, 1, 2, 1)},
};
/* clang-format on */

CASE_TABLE(cases_shape);
