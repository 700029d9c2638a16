/* Errors.
 *
 * Two kinds, kept apart:
 *
 * - Misuse by the programmer (shapes that do not fit, a NULL, axis 7) goes to one process-wide handler with the op, the
 *   shapes and the caller's file and line. The default handler prints one line to stderr and exits with status 2. A
 *   program may install its own; when that handler returns, the function that failed returns NULL (or false) and has
 *   done nothing.
 *
 * - Bad data from outside (files, options, a full disk) never aborts: the function returns false or NULL and fills a
 *   cp_status that names the file, the byte offset or field, what was expected and what to do. */
#ifndef CP_ERROR_H
#define CP_ERROR_H

#include <stdbool.h>

struct cp_tape;

/* A tape together with the place in the source that called: what every op takes first. Ops are called through macros
 * that build it from a cp_tape pointer; a function that was given a cp_at hands it on, so that messages name the user's
 * line. */
typedef struct cp_at {
    struct cp_tape *tape;
    const char     *file;
    int             line;
} cp_at;

static inline cp_at cp_at_call(struct cp_tape *tape, const char *file, int line) {
    return (cp_at){tape, file, line};
}
static inline cp_at cp_at_same(cp_at at, const char *file, int line) {
    (void)file, (void)line;
    return at;
}
/* t is a cp_tape pointer (then the place is here) or a cp_at (then it is kept); anything else, a tensor say, does not compile. */
#define CP_AT(t) _Generic((t), cp_at : cp_at_same, struct cp_tape * : cp_at_call)((t), __FILE__, __LINE__)

typedef struct cp_error {
    const char *op;      /* the function that refused, without its cp_ prefix: "matmul" */
    const char *message; /* what is wrong, with the shapes */
    const char *file;    /* the caller's place */
    int         line;
} cp_error;

typedef void (*cp_error_fn)(const cp_error *error, void *user);

/* Installs a handler for misuse; NULL brings the default back. */
void cp_error_handler(cp_error_fn handler, void *user);

/* Reports misuse. Returns false, so that a check can say `return cp_misuse(...)`. */
bool cp_misuse(cp_at at, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The outcome of an operation on data from outside. Start it as {0}; `message` is empty while all is well. */
typedef struct cp_status {
    char message[512];
} cp_status;

/* Writes a message (the first one stays; status may be NULL) and returns false. */
bool cp_fail(cp_status *status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
