/* Errors: the handler for misuse, and messages about bad data from outside. */
#include "core/io/bytes.h"
#include "core/tape_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* `kind` is "" or "warning: ". */
static void print(const cp_error *error, const char *kind) {
    if (error->file) {
        fprintf(stderr, "couplet: %s%s: %s (%s:%d)\n", kind, error->op, error->message, error->file, error->line);
    } else {
        fprintf(stderr, "couplet: %s%s: %s\n", kind, error->op, error->message);
    }
}

static void print_error(const cp_error *error, void *user) {
    (void)user;
    print(error, "");
    exit(2);
}

static void print_warning(const cp_error *error, void *user) {
    (void)user;
    print(error, "warning: ");
}

typedef struct installed {
    cp_error_fn call;
    void       *user;
} installed;

static installed on_error = {print_error, NULL}, on_warning = {print_warning, NULL};

void cp_error_handler(cp_error_fn handler, void *user) {
    on_error = handler ? (installed){handler, user} : (installed){print_error, NULL};
}

void cp_warning_handler(cp_error_fn handler, void *user) {
    on_warning = handler ? (installed){handler, user} : (installed){print_warning, NULL};
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
