/* The library's gradient check (ops/gradcheck.h) of a case, and two more checks for ops: that the op itself was recorded,
 * and that parameters get the same gradients as variables. */
#ifndef CP_TESTS_GRADCHECK_H
#define CP_TESTS_GRADCHECK_H

#include "ops/gradcheck.h"
#include "tests/support/cases.h"

typedef struct gradcheck {
    cp_gradcheck_result of;         /* its message is that of the error handler if a call failed */
    double              parameters; /* the largest difference between gradients of parameters and of variables; 0 is expected */
    bool                reached;    /* an op with the case's name was recorded */
} gradcheck;

/* Installs its own error handler while it runs, and the default handler afterwards. */
gradcheck gradcheck_case(const op_case *c);

bool gradcheck_passed(const gradcheck *result); /* at the default tolerances, with no element left out */

#endif
