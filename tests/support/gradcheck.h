/* The library's gradient check (ops/gradcheck.h) of a case, and what only the tests of ops ask: that the op itself is on the record, and
 * that parameters get the gradients that variables get. */
#ifndef CP_TESTS_GRADCHECK_H
#define CP_TESTS_GRADCHECK_H

#include "ops/gradcheck.h"
#include "tests/support/cases.h"

typedef struct gradcheck {
    cp_gradcheck_result of;         /* its message is that of the error handler where something refused */
    double              parameters; /* the largest difference between gradients of parameters and of variables; 0 is expected */
    bool                reached;    /* an op of the case's name was on the record */
} gradcheck;

/* While it runs the error handler is its own; afterwards it is the default. */
gradcheck gradcheck_case(const op_case *c);

bool gradcheck_passed(const gradcheck *result); /* at the default tolerances, with no place left out */

#endif
