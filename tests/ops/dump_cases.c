/* Writes the results of all cases to standard output, as native doubles, in the order of the table. */
#include "tests/support/case_results.h"

#include <stdio.h>

static bool put(const case_results *results) {
    for (int a = 0; a < results->arrays; a++)
        if (fwrite(results->values[a], sizeof(double), results->sizes[a], stdout) != results->sizes[a]) return false;
    return true;
}

int main(void) {
    for (int i = 0; i < case_count(); i++) {
        const op_case *c = case_at(i);
        case_results   results;
        if (!case_compares(c)) continue;
        bool ok = case_results_make(c, &results) && put(&results);
        case_results_free(&results);
        if (!ok) {
            fprintf(stderr, "%s, %s: no result, or it could not be written\n", c->op, c->mode);
            return 1;
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
