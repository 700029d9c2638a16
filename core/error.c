/* Errors: the handler for misuse, and messages about bad data from outside. */
#include "core/io/bytes.h"
#include "core/tape_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void default_handler(const cp_error *error, void *user) {
    (void)user;
    if (error->file) {
        fprintf(stderr, "couplet: %s: %s (%s:%d)\n", error->op, error->message, error->file, error->line);
    } else {
        fprintf(stderr, "couplet: %s: %s\n", error->op, error->message);
    }
    exit(2);
}

static cp_error_fn handler = default_handler;
static void       *handler_user = NULL;

void cp_error_handler(cp_error_fn new_handler, void *user) {
    handler = new_handler ? new_handler : default_handler;
    handler_user = new_handler ? user : NULL;
}

bool cp_misuse(cp_at at, const char *op, const char *format, ...) {
    char    message[512];
    va_list args;
    va_start(args, format);
    if (vsnprintf(message, sizeof message, format, args) < 0) message[0] = '\0';
    va_end(args);
    if (at.tape) at.tape->failed = true;
    handler(&(cp_error){op, message, at.file, at.line}, handler_user);
    return false;
}

bool cp_fail_as(cp_status *status, cp_status_kind kind, const char *format, ...) {
    if (!status || status->message[0]) return false;
    va_list args;
    va_start(args, format);
    if (vsnprintf(status->message, sizeof status->message, format, args) < 0 || !status->message[0]) {
        snprintf(status->message, sizeof status->message, "failed");
    }
    va_end(args);
    cp_text_printable(status->message);
    status->kind = kind;
    return false;
}
