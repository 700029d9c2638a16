/* Misuse, caught: a test that provokes errors calls errors_catch in setUp and errors_release in tearDown, and looks at
 * what was reported in between. Failures are Unity's. */
#ifndef CP_TESTS_ERRORS_H
#define CP_TESTS_ERRORS_H

#include "core/error.h"

extern int  errors;                                  /* reported since the last errors_forget */
extern char first_error[600], last_error[600];       /* of those, as "op: message"; empty when there is none */
extern char last_error_op[48], last_error_file[256]; /* the parts of the last one; no file is an empty one */
extern int  last_error_line;

void errors_catch(void); /* from here on errors are kept and calls return; forgets those of before */
void errors_forget(void);
void errors_forgive(struct cp_tape *tape); /* as if the tape had reported nothing: NULL arguments are told again */
void errors_release(void);                 /* the default handler again; what was caught can still be looked at */

/* Since the last errors_forget there was exactly one error, of one line, with `part` in it; it is then forgotten. */
void expect_error(const char *part);

/* The same, reported by `op` for a caller in this file, at this line. */
void expect_error_in(const char *op, const char *part, const char *file);
void expect_error_at(const char *op, const char *part, const char *file, int line);

#endif
