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

static cp_tensor *build_pad_reflect(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_pad_reflect(tape, in[0], c->start, c->stop);
}

static cp_tensor *build_flip(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_flip(tape, in[0], c->axes); }

static cp_tensor *build_stack(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_stack(tape, in, case_inputs(c), c->number);
}

/* The parts one after the other, each times its number. */
static cp_tensor *build_chunk(cp_tape *tape, cp_tensor **in, const op_case *c) {
    cp_tensor *parts[8];
    if (!cp_chunk(tape, in[0], c->place_count, c->number, parts)) return NULL;
    for (int i = 0; i < c->place_count; i++) parts[i] = cp_scale(tape, parts[i], (cp_real)(i + 1));
    return cp_concat(tape, parts, c->place_count, c->number);
}

static cp_tensor *build_masked_fill(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_masked_fill(tape, in[0], in[1], (cp_real)c->real[0]);
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
    {"slice", "backward",                 build_slice, {ANY(5, 4)}, .start = {4, 3}, .stop = {CP_END, 0}, .step = {-1, -1}},
    {"slice", "backward by two and three", build_slice, {ANY(5, 7)}, .start = {4, 5}, .stop = {CP_END, CP_END}, .step = {-2, -3}},
    {"slice", "backward by too much",     build_slice, {ANY(5)}, .start = {3}, .stop = {0}, .step = {-9}},
    {"slice", "one axis backward",        build_slice, {ANY(3, 4)}, .start = {0, 2}, .stop = {CP_END, CP_END}, .step = {2, -1}},
    {"slice", "backward, nothing",        build_slice, {ANY(3, 4)}, .start = {2, 1}, .stop = {CP_END, 1}, .step = {-1, -1}},
    {"slice", "backward, an empty axis",  build_slice, {ANY(0)}, .start = {-1}, .stop = {CP_END}, .step = {-1}},
    {"slice", "nothing",                  build_slice, {ANY(3, 5)}, .start = {1, 2}, .stop = {1, 5}},

    {"embed", "in the middle",            build_embed, {ANY(2, 3)}, .shape = SHAPE(5, 7), .start = {2, 1}},
    {"embed", "with steps",               build_embed, {ANY(2, 3)}, .shape = SHAPE(5, 7), .start = {1, 0},
                                          .step = {3, 2}},
    {"embed", "a fill other than 0",      build_embed, {ANY(3)}, .shape = SHAPE(8), .start = {1},
                                          .step = {2}, .real = {-1.5}},
    {"embed", "backward",                 build_embed, {ANY(2, 3)}, .shape = SHAPE(5, 7), .start = {4, 6}, .step = {-3, -2}},
    {"embed", "the whole",                build_embed, {ANY(3, 5)}, .shape = SHAPE(3, 5)},
    {"embed", "rank 5",                   build_embed, {ANY(1, 2, 2, 1, 2)}, .shape = SHAPE(2, 3, 4, 1, 3),
                                          .start = {1, 0, 1, 0, 0}, .step = {1, 2, 2, 1, 2}},

    {"pad", "asymmetric",                 build_pad, {ANY(3, 5)}, .start = {1, 0}, .stop = {2, 3}},
    {"pad", "a fill other than 0",        build_pad, {ANY(3, 2)}, .start = {0, 2}, .stop = {1, 1}, .real = {0.5}},
    {"pad", "nothing",                    build_pad, {ANY(3, 2)}},
    {"pad", "an image",                   build_pad, {ANY(2, 3, 3, 2)}, .start = {0, 1, 2, 0}, .stop = {0, 2, 1, 0}},
    {"pad", "rank 1 of size 1",           build_pad, {ANY(1)}, .start = {2}, .stop = {0}},

    {"pad_reflect", "one axis",           build_pad_reflect, {ANY(5)}, .start = {2}, .stop = {4}},
    {"pad_reflect", "only after",         build_pad_reflect, {ANY(2, 3)}, .stop = {1, 0}},
    {"pad_reflect", "an image",           build_pad_reflect, {ANY(2, 3, 4, 2)}, .start = {0, 1, 2, 0}, .stop = {0, 2, 1, 0}},
    {"pad_reflect", "nothing, size 1",    build_pad_reflect, {ANY(1, 3)}},

    {"flip", "all axes",                  build_flip, {ANY(3, 5)}},
    {"flip", "first axis",                build_flip, {ANY(3, 5)}, .axes = AXES(0)},
    {"flip", "two of rank 5",             build_flip, {ANY(2, 3, 1, 4, 2)}, .axes = AXES(1, -1)},
    {"flip", "rank 0",                    build_flip, {SCALAR(FROM_ANY)}},
    {"flip", "empty",                     build_flip, {ANY(0, 3)}},

    {"stack", "one scalar",               build_stack, {SCALAR(FROM_ANY)}},
    {"stack", "first axis",               build_stack, {ANY(3, 2), ANY(3, 2)}},
    {"stack", "middle axis",              build_stack, {ANY(3, 2), ANY(3, 2), ANY(3, 2)}, .number = 1},
    {"stack", "last axis, negative",      build_stack, {ANY(3, 2), ANY(3, 2)}, .number = -1},
    {"stack", "to rank 5",                build_stack, {ANY(2, 1, 2, 3), ANY(2, 1, 2, 3)}, .number = 3},

    {"chunk", "one part",                 build_chunk, {ANY(3, 2)}, PLACES(0)},
    {"chunk", "two parts",                build_chunk, {ANY(3, 4)}, PLACES(0, 1), .number = 1},
    {"chunk", "three, first axis",        build_chunk, {ANY(3, 2)}, PLACES(0, 1, 2)},
    {"chunk", "seven, middle, negative",  build_chunk, {ANY(2, 7, 3)}, PLACES(0, 1, 2, 3, 4, 5, 6), .number = -2},
    {"chunk", "parts of two",             build_chunk, {ANY(1, 6, 1)}, PLACES(0, 1, 2), .number = 1},
    {"chunk", "an empty axis",            build_chunk, {ANY(2, 0)}, PLACES(0, 1), .number = 1},

    {"masked_fill", "the same shape",     build_masked_fill, {ANY(3, 5), WHOLE(3, 5)}, .real = {7}},
    {"masked_fill", "a row",              build_masked_fill, {ANY(3, 5), WHOLE(5)}, .real = {-0.5}},
    {"masked_fill", "one value",          build_masked_fill, {ANY(2, 1, 2), WHOLE(1)}, .real = {1}},

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
