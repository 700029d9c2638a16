/* The table of op cases: every op of the registry in every mode and for several shapes, as data. The gradient check uses
 * it, and so does the comparison of the two precisions; therefore inputs are the same numbers in both. A case is one line:
 * op, mode, the function that calls the op, the inputs with their domains, and arguments for the mode:
 *     {"sum", "last axis", build_sum, {ANY(3, 5)}, .axes = AXES(-1)}, */
#ifndef CP_TESTS_CASES_H
#define CP_TESTS_CASES_H

#include "core/op.h"
#include "ops/ops.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* a case names only the fields that it uses */

enum { CASE_INPUTS = 10, CASE_VALUES = 4096 };

/* The domain of an input's values. They are binary fractions that float holds exactly. */
typedef enum case_domain {
    NO_INPUT,
    FROM_ANY,       /* [-2, 2) */
    FROM_POSITIVE,  /* [0.4, 2.4) */
    FROM_OFF_WHOLE, /* [-3, 3), at least 0.1 away from every whole number: no kink at 0 or at a whole bound */
    FROM_APART,     /* [-2, 2), no two values close to each other in all such inputs of the case: no ties */
    FROM_WHOLE,     /* -2, -1, 0, 1, 2: never moved by the check, must have no gradient */
} case_domain;

typedef struct case_input {
    case_domain domain;
    cp_shape    shape;
} case_input;

typedef struct op_case op_case;
typedef cp_tensor *(*case_build)(cp_tape *tape, cp_tensor **in, const op_case *c);

struct op_case {
    const char *op, *mode;
    case_build  build;
    case_input  in[CASE_INPUTS]; /* up to the first NO_INPUT */

    /* Arguments for build. */
    cp_axes          axes;
    bool             keepdim, training;
    int              number; /* an axis, a size, a count of groups */
    unsigned         flags;
    double           real[2];
    cp_shape         shape; /* of the result, or of an argument that is only a shape */
    int              start[CP_MAX_RANK], stop[CP_MAX_RANK], step[CP_MAX_RANK];
    int              places[24], place_count;
    cp_conv2d_config conv;
    cp_pool2d_config pool;

    bool constant;    /* the op has no gradient */
    bool draws;       /* the op draws random numbers, which differ between the precisions */
    bool double_only; /* float has too few digits left, or its steps reach a kink */
};

#define COUNT_OF(...) ((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)))
#define SHAPE(...)                                                                                                                 \
    {                                                                                                                              \
        COUNT_OF(__VA_ARGS__), { __VA_ARGS__ }                                                                                     \
    }
#define ANY(...)                                                                                                                   \
    { FROM_ANY, SHAPE(__VA_ARGS__) }
#define POSITIVE(...)                                                                                                              \
    { FROM_POSITIVE, SHAPE(__VA_ARGS__) }
#define OFF_WHOLE(...)                                                                                                             \
    { FROM_OFF_WHOLE, SHAPE(__VA_ARGS__) }
#define APART(...)                                                                                                                 \
    { FROM_APART, SHAPE(__VA_ARGS__) }
#define WHOLE(...)                                                                                                                 \
    { FROM_WHOLE, SHAPE(__VA_ARGS__) }
#define SCALAR(from)                                                                                                               \
    {                                                                                                                              \
        from, {                                                                                                                    \
            0, { 0 }                                                                                                               \
        }                                                                                                                          \
    }
#define AXES(...)                                                                                                                  \
    {                                                                                                                              \
        COUNT_OF(__VA_ARGS__), { __VA_ARGS__ }                                                                                     \
    }
#define PLACES(...) .places = {__VA_ARGS__}, .place_count = COUNT_OF(__VA_ARGS__)

typedef struct case_table {
    const op_case *cases;
    int            count;
} case_table;
#define CASE_TABLE(name) const case_table name = {cases, (int)(sizeof cases / sizeof *cases)}

int            case_count(void);
const op_case *case_at(int i); /* 0 <= i < case_count() */

int    case_inputs(const op_case *c);
size_t case_size(const cp_shape *shape);
size_t case_values(const op_case *c); /* the number of values of all inputs; at most CASE_VALUES */

/* The values of all inputs, one after the other; the same on every call and in both precisions. */
void case_fill(const op_case *c, double *values);

/* The inputs as tensors: bit i of `tracked` makes input i a variable, the others are constants. */
void case_leaves(cp_tape *tape, const op_case *c, const double *values, unsigned tracked, cp_tensor **in);

/* The op's result on these inputs as constants. */
cp_tensor *case_value(cp_tape *tape, const op_case *c);

#endif
