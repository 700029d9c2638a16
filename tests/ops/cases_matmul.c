/* Cases of matrix products and of the triangular helpers. */
#include "tests/support/cases.h"

static cp_tensor *build_matmul(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_matmul(tape, in[0], in[1], c->flags); }

/* A^T A and A A^T: both arguments are the same tensor. */
static cp_tensor *build_matmul_twice(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_matmul(tape, in[0], in[0], c->flags);
}

static cp_tensor *build_tril_exp(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_tril_exp(tape, in[0], c->number); }

static cp_tensor *build_tril_logdet(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_tril_logdet(tape, in[0], c->number);
}

/* clang-format off */
enum { TT = CP_TRANSPOSE_A | CP_TRANSPOSE_B };

/* A (M,K) by B (K,N) in the four ways to store them; LEAD_A and LEAD_B are the leading axes with a comma after them. */
#define FOUR_WAYS(text, M, K, N, LEAD_A, LEAD_B)                                                                       \
    {"matmul", text,                     build_matmul, {ANY(LEAD_A M, K), ANY(LEAD_B K, N)}},                          \
    {"matmul", text ", a transposed",    build_matmul, {ANY(LEAD_A K, M), ANY(LEAD_B K, N)}, .flags = CP_TRANSPOSE_A}, \
    {"matmul", text ", b transposed",    build_matmul, {ANY(LEAD_A M, K), ANY(LEAD_B N, K)}, .flags = CP_TRANSPOSE_B}, \
    {"matmul", text ", both transposed", build_matmul, {ANY(LEAD_A K, M), ANY(LEAD_B N, K)}, .flags = TT}
#define LEAD(...) __VA_ARGS__,

static const op_case cases[] = {
    FOUR_WAYS("odd sizes",                 3, 5, 4, , ),
    FOUR_WAYS("all sizes 1",               1, 1, 1, , ),
    FOUR_WAYS("a row by a matrix",         1, 7, 3, , ),
    FOUR_WAYS("a matrix by a column",      5, 3, 1, , ),
    FOUR_WAYS("an outer product",          4, 1, 3, , ),
    FOUR_WAYS("larger than a tile",        19, 23, 17, , ),
    FOUR_WAYS("batched",                   3, 2, 4, LEAD(3), LEAD(3)),
    FOUR_WAYS("one b for the batch",       3, 2, 4, LEAD(3), ),
    FOUR_WAYS("one a for the batch",       3, 2, 4, , LEAD(3)),
    FOUR_WAYS("a broadcasts by size 1",    2, 3, 2, LEAD(1), LEAD(4)),
    FOUR_WAYS("b broadcasts by size 1",    2, 3, 2, LEAD(4), LEAD(1)),
    FOUR_WAYS("both broadcast",            2, 3, 2, LEAD(2, 1), LEAD(1, 3)),
    FOUR_WAYS("ranks 5 and 3",             2, 1, 3, LEAD(2, 1, 2), LEAD(2)),
    FOUR_WAYS("rank 4 by rank 2",          2, 3, 2, LEAD(2, 2), ),
    {"matmul", "an empty inner axis",      build_matmul, {ANY(2, 0), ANY(0, 3)}},
    {"matmul", "a by its own transpose",   build_matmul_twice, {ANY(3, 5)}, .flags = CP_TRANSPOSE_B},
    {"matmul", "transpose by itself",      build_matmul_twice, {ANY(3, 5)}, .flags = CP_TRANSPOSE_A},
    {"matmul", "a square by itself",       build_matmul_twice, {ANY(3, 3)}},

    {"tril_exp", "D = 1",                  build_tril_exp, {ANY(1)}, .number = 1},
    {"tril_exp", "D = 2",                  build_tril_exp, {ANY(3)}, .number = 2},
    {"tril_exp", "D = 5",                  build_tril_exp, {ANY(15)}, .number = 5},
    {"tril_logdet", "D = 1",               build_tril_logdet, {ANY(1)}, .number = 1},
    {"tril_logdet", "D = 2",               build_tril_logdet, {ANY(3)}, .number = 2},
    {"tril_logdet", "D = 5",               build_tril_logdet, {ANY(15)}, .number = 5},
};
/* clang-format on */

CASE_TABLE(cases_matmul);
