/* The manual page of a program, from its commands and their options, in the macros of man(7). */
#include "experiments/kit/cli/program.h"

#include "core/real.h"

#include <ctype.h>
#include <string.h>

/* What roff would take for its own is written as roff wants it; a dash that begins a word is one that can be copied. */
static void put_text(FILE *file, const char *text) {
    bool word = true, line = true;
    for (; *text; text++) {
        bool dash = *text == '-' && (word || text[1] == '-' || text[-1] == '-');
        if (line && (*text == '.' || *text == '\'')) fputs("\\&", file);
        if (*text == '\\')
            fputs("\\e", file);
        else if (*text == '`')
            fputs("\\(ga", file);
        else if (*text == '^')
            fputs("\\(ha", file);
        else if (*text == '~')
            fputs("\\(ti", file);
        else if (*text == '\n')
            fputs("\n.br\n", file);
        else
            fputs(dash ? "\\-" : (char[]){*text, '\0'}, file);
        line = *text == '\n';
        word = *text == ' ' || line || *text == '(' || *text == '[' || *text == '|';
    }
}

static void put_line(FILE *file, const char *before, const char *text) {
    fputs(before, file);
    put_text(file, text);
    fputc('\n', file);
}

static void put_option(FILE *file, const cp_command *command, const cp_option *o) {
    const char *value = cp_option_value_word(o);
    fprintf(file, ".TP\n.B \\-\\-%s", o->name);
    if (*value) put_line(file, " ", value);
    if (!*value) fputc('\n', file);
    put_line(file, "", cp_option_about(command, o).s);
}

static void put_command(FILE *file, const char *program, const cp_command *command) {
    const cp_option *all[CP_OPTIONS_MAX];
    int              count = cp_command_own_options(command, all);
    if (command->details) {
        fputs(".PP\n", file);
        put_line(file, "", command->details);
    }
    for (int i = 0; i < count; i++) put_option(file, command, all[i]);
    put_option(file, command, &cp_option_help);
    if (command->hands_on)
        fprintf(file, ".PP\nAny option of\n.B %s\ncan be given too, and is handed on.\n",
                cp_command_called(program, command->hands_on).s);
    if (!command->example) return;
    fprintf(file, ".PP\nExample:\n.PP\n.RS 4\n.nf\n%s ", cp_command_called(program, command).s);
    put_line(file, "", command->example);
    fputs(".fi\n.RE\n", file);
}

static void put_synopsis(FILE *file, const char *program, const cp_command *command) {
    fprintf(file, ".B %s\n", cp_command_called(program, command).s);
    put_line(file, "", cp_command_usage(command).s);
}

static void put_title(FILE *file, const char *name) {
    fputs(".TH ", file);
    for (; *name; name++) fputc(toupper((unsigned char)*name), file);
    fprintf(file, " 1 \"\" \"couplet %s\" \"User Commands\"\n", CP_VERSION);
}

static const struct {
    const char *name, *about;
} environment[] = {
    {"COUPLET_THREADS", "How many threads compute, from 1 to 256, where --threads does not say; without it, one for each "
                        "processor that the process may use. Results do not depend on it."},
    {"COUPLET_KERNELS", "avx512, avx2, portable or reference: forces these kernels; without it, the best that the machine runs. "
                        "Results may differ in the last digits."},
    {"COUPLET_CONV", "auto, direct, winograd2 or winograd4: forces a way to convolve; auto, the default, chooses by shape."},
};

void cp_program_manual(FILE *file, const cp_program *program) {
    put_title(file, program->name);
    fprintf(file, ".SH NAME\n%s \\- ", program->name);
    put_line(file, "", program->purpose);
    fputs(".SH SYNOPSIS\n", file);
    if (program->experiment) put_synopsis(file, NULL, program->experiment);
    for (int i = 0; program->commands[i]; i++) {
        if (i || program->experiment) fputs(".br\n", file);
        put_synopsis(file, program->name, program->commands[i]);
    }
    fprintf(file, ".br\n.B %s\n\\-\\-help | \\-\\-version | \\-\\-man | \\-\\-completion bash|zsh|fish\n", program->name);
    if (program->experiment) {
        fputs(".SH OPTIONS\n", file);
        put_command(file, NULL, program->experiment);
    }
    fputs(".SH COMMANDS\n", file);
    for (int i = 0; program->commands[i]; i++) {
        put_line(file, ".SS ", program->commands[i]->name);
        put_line(file, "", program->commands[i]->purpose);
        put_command(file, program->name, program->commands[i]);
    }
    fputs(".SH ENVIRONMENT\n", file);
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
        fprintf(file, ".TP\n.B %s\n", environment[i].name);
        put_line(file, "", environment[i].about);
    }
    put_line(file, ".SH EXIT STATUS\n", cp_program_exits);
}
