/* Errors: the handler for misuse, and messages about bad data from outside. */
#include "core/io/bytes.h"
#include "core/tape_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The default handlers: kind is "", and the program ends, or "warning: ". */
static void print(const cp_error *error, void *kind) {
    if (error->file) {
        fprintf(stderr, "couplet: %s%s: %s (%s:%d)\n", (char *)kind, error->op, error->message, error->file, error->line);
    } else {
        fprintf(stderr, "couplet: %s%s: %s\n", (char *)kind, error->op, error->message);
    }
    if (!*(char *)kind) exit(2);
}

typedef struct installed {
    cp_error_fn call;
    void       *user;
} installed;

static installed on_error = {print, ""}, on_warning = {print, "warning: "};

void cp_error_handler(cp_error_fn handler, void *user) { on_error = handler ? (installed){handler, user} : (installed){print, ""}; }

void cp_warning_handler(cp_error_fn handler, void *user) {
    on_warning = handler ? (installed){handler, user} : (installed){print, "warning: "};
}

static void report(const installed *handler, cp_at at, const char *op, const char *format, va_list args) {
    char message[512];
    if (vsnprintf(message, sizeof message, format, args) < 0) message[0] = '\0';
    handler->call(&(cp_error){op, message, at.file, at.line}, handler->user);
}

bool cp_misuse(cp_at at, const char *op, const char *format, ...) {
    va_list args;
    if (at.tape) at.tape->failed = true;
    va_start(args, format);
    report(&on_error, at, op, format, args);
    va_end(args);
    return false;
}

void cp_warn(cp_at at, const char *op, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(&on_warning, at, op, format, args);
    va_end(args);
}

bool cp_fail_as(cp_status *status, cp_status_kind kind, const char *format, ...) {
    if (!status || (status->message[0] && !status->old)) return false;
    status->old = false;
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
