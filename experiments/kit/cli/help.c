/* Texts made from the tables of options: --help and the manual page. */
#include "core/real.h"
#include "experiments/kit/cli/program.h"

#include <ctype.h>
#include <string.h>

const cp_option cp_option_help = {.name = "help", .help = "this text"};

cp_help_text cp_option_value(const cp_option *o) {
    static const char *const kinds[] = {[CP_OPTION_FLAG] = "",         [CP_OPTION_INT] = "N",     [CP_OPTION_REAL] = "X",
                                        [CP_OPTION_REALS] = "X,X,...", [CP_OPTION_TEXT] = "TEXT", [CP_OPTION_CHOICE] = ""};
    cp_help_text             text;
    const char              *value = o->value ? o->value : o->kind == CP_OPTION_CHOICE ? o->choices : kinds[o->kind];
    snprintf(text.s, sizeof text.s, "%s%s%s", value, o->word && !o->value ? "|" : "", o->word && !o->value ? o->word : "");
    return text;
}

/* ---- --help ---- */

/* The words of `text` in lines of at most 100 columns; the first line starts at column `at`, the others at `indent`. */
static void wrap(FILE *file, const char *text, int at, int indent) {
    int column = at;
    for (; at < indent; at++, column++) fputc(' ', file);
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + length > 100) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", length, text);
        column += length;
        text += length;
        if (*text == '\n') {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        }
        if (*text) text++;
    }
    fputc('\n', file);
}

cp_help_text cp_option_about(const cp_command *command, const cp_option *o) {
    cp_help_text text;
    const char  *help = o->help ? o->help : "", *unit = o->unit ? o->unit : "";
    if (!o->fallback) {
        snprintf(text.s, sizeof text.s, "%s%s%s", help, *unit ? ", in " : "", unit);
        return text;
    }
    size_t used =
        (size_t)snprintf(text.s, sizeof text.s, "%.500s (default %.80s%s%.40s", help, o->fallback, *unit ? " " : "", unit);
    const char *value = NULL; /* of the row before: equal values are listed together */
    for (const cp_default *d = command ? command->defaults : NULL; d && d->when; d++) {
        if (strcmp(d->option, o->name) != 0 || strcmp(d->value, o->fallback) == 0 || used + 140 > sizeof text.s) continue;
        bool again = value && strcmp(value, d->value) == 0;
        if (value && !again) used += (size_t)snprintf(text.s + used, sizeof text.s - used, " %.40s", value);
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, "%s --%.20s %.20s", again ? " or" : "; with", d->when, d->is);
        value = d->value;
    }
    if (value) used += (size_t)snprintf(text.s + used, sizeof text.s - used, " %.40s", value);
    snprintf(text.s + used, sizeof text.s - used, ")");
    return text;
}

static void help_option(FILE *file, const cp_command *command, const cp_option *o) {
    int column = fprintf(file, "  --%s %s", o->name, cp_option_value(o).s);
    if (column >= 27) {
        fputc('\n', file);
        column = 0;
    }
    wrap(file, cp_option_about(command, o).s, column, 28);
}

cp_help_text cp_command_usage(const cp_command *command) {
    cp_help_text     text;
    const cp_option *all[CP_OPTIONS_MAX];
    int              count = cp_command_options(command, all);
    size_t           used = (size_t)snprintf(text.s, sizeof text.s, "%.300s%s", command->arguments ? command->arguments : "",
                                   command->arguments ? " " : "");
    for (int i = 0; i < count && used < sizeof text.s - 100; i++)
        if (all[i]->required)
            used +=
                (size_t)snprintf(text.s + used, sizeof text.s - used, "--%.40s %.40s ", all[i]->name, cp_option_value(all[i]).s);
    snprintf(text.s + used, sizeof text.s - used, "[options]");
    return text;
}

void cp_command_help(FILE *file, const char *program, const cp_command *command, const cp_command *const *also) {
    const cp_option *all[CP_OPTIONS_MAX];
    int              count = cp_command_own_options(command, all);
    cp_text          called = cp_command_called(program, command);
    fprintf(file, "%s: %s\n\nUsage: %s %s\n", called.s, command->purpose ? command->purpose : "", called.s,
            cp_command_usage(command).s);
    for (; also && *also; also++) fprintf(file, "       %s %s\n", cp_command_called(called.s, *also).s, cp_command_usage(*also).s);
    if (command->details) {
        fputc('\n', file);
        wrap(file, command->details, 0, 0);
    }
    fprintf(file, "\nOptions:\n");
    for (int i = 0; i < count; i++) help_option(file, command, all[i]);
    help_option(file, command, &cp_option_help);
    if (command->forwards_to)
        fprintf(file, "and any option of %s, passed on to it.\n", cp_command_called(program, command->forwards_to).s);
    if (command->example) fprintf(file, "\nExample:\n  %s %s\n", called.s, command->example);
}

/* ---- the manual page, in the macros of man(7) ---- */

/* Escapes what roff would interpret; a dash at the start of a word becomes one that can be copied. */
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
    cp_help_text value = cp_option_value(o);
    fprintf(file, ".TP\n.B \\-\\-%s", o->name);
    put_line(file, *value.s ? " " : "", value.s);
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
    if (command->forwards_to)
        fprintf(file, ".PP\nAny option of\n.B %s\ncan be given too and is passed on to it.\n",
                cp_command_called(program, command->forwards_to).s);
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
    {"COUPLET_THREADS", "Number of compute threads, from 1 to 256, unless --threads is given; by default one for each "
                        "processor that the process may use. Results do not depend on it."},
    {"COUPLET_KERNELS", "Kernels to use: avx512, avx2, portable or reference; by default the fastest that the machine runs. "
                        "Results may differ in the last digits."},
    {"COUPLET_CONV", "Convolution algorithm: direct, winograd2 or winograd4; auto, the default, chooses by shape."},
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
