/* Catches misuse: a test that provokes errors calls errors_catch in setUp and errors_release in tearDown, and checks what
 * was reported in between. Failures are reported through Unity. */
#ifndef CP_TESTS_ERRORS_H
#define CP_TESTS_ERRORS_H

#include "core/error.h"

extern int  errors;                                  /* the number of errors since the last errors_forget */
extern char first_error[600], last_error[600];       /* of these, as "op: message"; empty if there is none */
extern char last_error_op[48], last_error_file[256]; /* the parts of the last error; without a file it is empty */
extern int  last_error_line;

void errors_catch(void); /* from now on errors are recorded and calls return; forgets earlier errors */
void errors_forget(void);
void errors_forgive(struct cp_tape *tape); /* as if the tape had reported nothing: NULL arguments are reported again */
void errors_release(void);                 /* restores the default handler; the recorded errors stay readable */

/* Checks that there was exactly one error since the last errors_forget, in one line that contains `part`; then forgets it. */
void expect_error(const char *part);

/* The same, reported by `op` for a caller in this file, at this line. */
void expect_error_in(const char *op, const char *part, const char *file);
void expect_error_at(const char *op, const char *part, const char *file, int line);

#endif
