/* What --help tells of a command. */
#include "experiments/kit/cli/options.h"

#include <string.h>

const cp_option cp_option_help = {.name = "help", .help = "this text"};

const char *cp_option_value_word(const cp_option *o) {
    static const char *const words[] = {[CP_OPTION_FLAG] = "",         [CP_OPTION_INT] = "N",     [CP_OPTION_REAL] = "X",
                                        [CP_OPTION_REALS] = "X,X,...", [CP_OPTION_TEXT] = "TEXT", [CP_OPTION_CHOICE] = ""};
    if (o->value) return o->value;
    return o->kind == CP_OPTION_CHOICE ? o->choices : words[o->kind];
}

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

cp_about_text cp_option_about(const cp_command *command, const cp_option *o) {
    cp_about_text text;
    const char   *help = o->help ? o->help : "", *unit = o->unit ? o->unit : "";
    if (!o->fallback) {
        snprintf(text.s, sizeof text.s, "%s%s%s", help, *unit ? ", in " : "", unit);
        return text;
    }
    size_t used =
        (size_t)snprintf(text.s, sizeof text.s, "%.500s (default %.80s%s%.40s", help, o->fallback, *unit ? " " : "", unit);
    const char *value = NULL; /* of the one before: equal values are told together */
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
    int column = fprintf(file, "  --%s %s", o->name, cp_option_value_word(o));
    if (column >= 27) {
        fputc('\n', file);
        column = 0;
    }
    wrap(file, cp_option_about(command, o).s, column, 28);
}

cp_usage_text cp_command_usage(const cp_command *command) {
    cp_usage_text    text;
    const cp_option *all[CP_OPTIONS_MAX];
    int              count = cp_command_options(command, all);
    size_t           used = (size_t)snprintf(text.s, sizeof text.s, "%.300s%s", command->arguments ? command->arguments : "",
                                   command->arguments ? " " : "");
    for (int i = 0; i < count && used < sizeof text.s - 100; i++)
        if (all[i]->required)
            used +=
                (size_t)snprintf(text.s + used, sizeof text.s - used, "--%.40s %.40s ", all[i]->name, cp_option_value_word(all[i]));
    snprintf(text.s + used, sizeof text.s - used, "[options]");
    return text;
}

void cp_command_help(FILE *file, const char *program, const cp_command *command, const cp_command *const *also) {
    const cp_option *all[CP_OPTIONS_MAX];
    int              count = cp_command_own_options(command, all);
    cp_called_text   called = cp_command_called(program, command);
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
    if (command->hands_on)
        fprintf(file, "and any option of %s, which is handed on.\n", cp_command_called(program, command->hands_on).s);
    if (command->example) fprintf(file, "\nExample:\n  %s %s\n", called.s, command->example);
}
