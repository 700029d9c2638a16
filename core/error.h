/* Errors, of two separate kinds:
 *
 * - Misuse by the programmer (shapes that do not fit, a NULL, axis 7) goes to one process-wide handler with the op, the
 *   shapes and the caller's file and line. The default handler prints one line to stderr and exits with status 2. A
 *   program may install its own; when that handler returns, the function that failed returns NULL (or false) and has
 *   done nothing. A handler must not call longjmp, which would leave a tape in the middle of a sweep.
 *
 * - Bad data from outside (files, options, a full disk) never aborts: the function returns false or NULL and fills a
 *   cp_status that names the file, the byte offset or field, what was expected and what to do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cp_tape;

/* A short text that is returned by value. */
typedef struct cp_text {
    char s[200];
} cp_text;

/* A tape together with the caller's file and line: the first argument of every op. Ops are called through macros that
 * build it from a cp_tape pointer; a function that gets a cp_at passes it on, so that messages name the user's line. */
typedef struct cp_at {
    struct cp_tape *tape;
    const char     *file;
    int             line;
} cp_at;

static inline cp_at cp_at_call(struct cp_tape *tape, const char *file, int line) { return (cp_at){tape, file, line}; }
static inline cp_at cp_at_same(cp_at at, const char *file, int line) {
    (void)file, (void)line;
    return at;
}
/* From a cp_tape pointer, with the current file and line, or from a cp_at, unchanged; other types, such as a tensor, do not compile. */
#define CP_AT(t) _Generic((t), cp_at : cp_at_same, struct cp_tape * : cp_at_call)((t), __FILE__, __LINE__)

typedef struct cp_error {
    const char *op;      /* the function that failed, without its cp_ prefix: "matmul" */
    const char *message; /* what is wrong, with the shapes */
    const char *file;    /* the caller's file and line */
    int         line;
} cp_error;

typedef void (*cp_error_fn)(const cp_error *error, void *user);

/* Installs a handler for misuse; NULL restores the default. */
void cp_error_handler(cp_error_fn handler, void *user);

/* The same for warnings: what works but is probably a mistake. The default handler prints one line to stderr. */
void cp_warning_handler(cp_error_fn handler, void *user);
void cp_warn(cp_at at, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Reports misuse. Returns false, so that a check can say `return cp_misuse(...)`. */
bool cp_misuse(cp_at at, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* For functions that return a pointer: `return cp_refuse(...)`, and `return cp_null(cp_fail(...))`. */
#define cp_null(reported) ((void)(reported), NULL)
#define cp_refuse(...) cp_null(cp_misuse(__VA_ARGS__))

/* Reasons that programs treat differently: a run without a checkpoint starts, one with a damaged checkpoint must not. */
typedef enum cp_status_kind {
    CP_STATUS_OK,
    CP_STATUS_FAILED,  /* any other reason: permissions, memory, a full disk, the wrong file */
    CP_STATUS_MISSING, /* the file does not exist */
    CP_STATUS_DAMAGED, /* the file exists, but its contents are truncated, corrupt or in another format */
} cp_status_kind;

/* The outcome of an operation on data from outside. Initialize it with {0}; `message` is empty unless there was an error. */
typedef struct cp_status {
    char           message[512];
    cp_status_kind kind;
    bool           old; /* internal: the message is of an earlier call */
} cp_status;

/* The beginning of an operation, which functions with a status note themselves: the first error from now on replaces a message. */
static inline void cp_status_begin(cp_status *status) {
    if (status) status->old = true;
}

/* Sets the message, unless the operation has set one already (status may be NULL), and returns false. Control characters become '?', since a message may
 * quote data from outside and may go to a terminal. */
bool cp_fail_as(cp_status *status, cp_status_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define cp_fail(status, ...) cp_fail_as(status, CP_STATUS_FAILED, __VA_ARGS__)
#define cp_damaged(status, ...) cp_fail_as(status, CP_STATUS_DAMAGED, __VA_ARGS__)
