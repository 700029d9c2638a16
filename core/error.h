/* Errors.
 *
 * Two kinds, kept apart:
 *
 * - Misuse by the programmer (shapes that do not fit, a NULL, axis 7) goes to one process-wide handler with the op, the
 *   shapes and the caller's file and line. The default handler prints one line to stderr and exits with status 2. A
 *   program may install its own; when that handler returns, the function that failed returns NULL (or false) and has
 *   done nothing. It returns or ends the process: leaving it by longjmp would leave a tape in the middle of a sweep.
 *
 * - Bad data from outside (files, options, a full disk) never aborts: the function returns false or NULL and fills a
 *   cp_status that names the file, the byte offset or field, what was expected and what to do. */
#ifndef CP_ERROR_H
#define CP_ERROR_H

#include <stdbool.h>
#include <stddef.h>

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
/* Where a pointer is returned: `return cp_refuse(...)`, and `return cp_null(cp_fail(...))`. */
#define cp_null(told) ((void)(told), NULL)
#define cp_refuse(...) cp_null(cp_misuse(__VA_ARGS__))

/* What a program may want to tell apart: a run without a checkpoint begins, one with a damaged checkpoint must not. */
typedef enum cp_status_kind {
    CP_STATUS_OK,
    CP_STATUS_FAILED,  /* all other reasons: permissions, memory, a full disk, a file that is for something else */
    CP_STATUS_MISSING, /* there is no such file */
    CP_STATUS_DAMAGED, /* the file is there, but its contents are cut off, changed or of another format */
} cp_status_kind;

/* The outcome of an operation on data from outside. Start it as {0}; `message` is empty while all is well. */
typedef struct cp_status {
    char           message[512];
    cp_status_kind kind;
} cp_status;

/* Writes a message (the first one stays; status may be NULL) and returns false. Control characters become '?': whatever a
 * message quotes may come from outside, and it may go to a terminal. */
bool cp_fail_as(cp_status *status, cp_status_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define cp_fail(status, ...) cp_fail_as(status, CP_STATUS_FAILED, __VA_ARGS__)
#define cp_damaged(status, ...) cp_fail_as(status, CP_STATUS_DAMAGED, __VA_ARGS__)

#endif
