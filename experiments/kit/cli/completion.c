/* Shell completions of a program's command lines, from its commands and their options. */
#include "experiments/kit/cli/program.h"

#include <string.h>

/* For single quotes: a quote becomes '\''; characters in `special` get a backslash. */
static void put_quoted(FILE *file, const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", file);
        else
            fprintf(file, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* "a|b" as "a b". */
static void put_words(FILE *file, const char *before, const char *words, const char *after) {
    fputs(before, file);
    for (; *words; words++) fputc(*words == '|' ? ' ' : *words, file);
    fputs(after, file);
}

/* The words that an option's value may be, or NULL. */
static const char *words_of(const cp_option *o) { return o->kind == CP_OPTION_CHOICE ? o->choices : o->word; }

static bool is_number(const cp_option *o) {
    return o->kind == CP_OPTION_INT || o->kind == CP_OPTION_REAL || o->kind == CP_OPTION_REALS;
}

/* Writes something about an option; `where` says to which command it belongs. */
typedef void put_option(FILE *file, const char *where, const cp_option *option);

/* For each option of a command, --help last. */
static void each_option(FILE *file, const char *where, const cp_command *command, put_option *put) {
    const cp_option *all[CP_OPTIONS_MAX];
    int              count = cp_command_options(command, all);
    for (int i = 0; i < count; i++) put(file, where, all[i]);
    put(file, where, &cp_option_help);
}

/* ---- bash ---- */

static void bash_name(FILE *file, const char *command, const cp_option *o) {
    (void)command;
    fprintf(file, " --%s", o->name);
}

static void bash_value(FILE *file, const char *command, const cp_option *o) {
    if (words_of(o)) {
        fprintf(file, "    '%s --%s')", command, o->name);
        put_words(file, " words='", words_of(o), "' ;;\n");
    } else if (is_number(o)) {
        fprintf(file, "    '%s --%s') return ;;\n", command, o->name);
    } else if (o->kind == CP_OPTION_TEXT) {
        fprintf(file, "    '%s --%s') files=1 ;;\n", command, o->name);
    }
}

/* `first` is the place of its first argument on the line. */
static void bash_command(FILE *file, const cp_command *command, const char *more, int first) {
    const char *files = command->arguments ? " files=1" : "";
    fprintf(file, "        %s) words='", command->name);
    each_option(file, command->name, command, bash_name);
    fprintf(file, "%s'", more);
    if (command->first_words) {
        fprintf(file, "\n            if ((COMP_CWORD == %d)); then", first);
        put_words(file, " words+=' ", command->first_words, "'; else");
        fprintf(file, "%s; fi", *files ? files : " :");
    } else {
        fputs(files, file);
    }
    fputs(" ;;\n", file);
}

static void bash(FILE *file, const cp_program *p) {
    char   names[1024] = " --help --version --man --completion";
    size_t used = strlen(names);
    for (int i = 0; p->commands[i] && used + strlen(p->commands[i]->name) + 2 < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", p->commands[i]->name);
    fprintf(file,
            "# bash completion of %s, made by `%s --completion bash`\n\n"
            "_%s() {\n"
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=%s words='' files=''\n"
            "    local IFS=$' \\t\\n'\n"
            "    if [[ $word == '=' ]]; then # --name=value is three words\n"
            "        word=''\n"
            "    elif [[ $before == '=' ]]; then\n"
            "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
            "    fi\n"
            "    if ((COMP_CWORD > 1)); then\n"
            "        case ${COMP_WORDS[1]} in\n"
            "        ",
            p->name, p->name, p->name, p->experiment ? p->experiment->name : "''");
    for (int i = 0; p->commands[i]; i++) fprintf(file, "%s%s", i ? " | " : "", p->commands[i]->name);
    fputs(") command=${COMP_WORDS[1]} ;;\n"
          "        esac\n"
          "    fi\n"
          "    case \"$command $before\" in\n",
          file);
    if (p->experiment) each_option(file, p->experiment->name, p->experiment, bash_value);
    for (int i = 0; p->commands[i]; i++) each_option(file, p->commands[i]->name, p->commands[i], bash_value);
    fputs("    *)\n"
          "        case $command in\n",
          file);
    if (p->experiment) bash_command(file, p->experiment, names + strlen(" --help"), 1);
    for (int i = 0; p->commands[i]; i++) bash_command(file, p->commands[i], "", 2);
    fprintf(file,
            "        *) words='%s' ;;\n"
            "        esac\n"
            "        ;;\n"
            "    esac\n"
            "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
            "    if [[ $files && $word != -* ]]; then\n"
            "        IFS=$'\\n'\n"
            "        COMPREPLY+=($(compgen -f -- \"$word\"))\n"
            "    fi\n"
            "}\n"
            "complete -o filenames -F _%s %s\n",
            names, p->name, p->name);
}

/* ---- zsh ---- */

static void zsh_option(FILE *file, const char *command, const cp_option *o) {
    static const char special[] = "[]:\\";
    (void)command;
    fprintf(file, "        '--%s%s[", o->name, o->kind == CP_OPTION_FLAG ? "" : "=");
    put_quoted(file, cp_option_about(NULL, o).s, special);
    fputs("]", file);
    if (words_of(o)) {
        fprintf(file, ":%s", o->name);
        put_words(file, ":(", words_of(o), ")");
    } else if (o->kind != CP_OPTION_FLAG) {
        fputs(":", file);
        put_quoted(file, cp_option_value(o).s, special);
        fputs(o->kind == CP_OPTION_TEXT ? ":_files" : ": ", file);
    }
    fputs("' \\\n", file);
}

static void zsh_arguments(FILE *file, const cp_command *command) {
    fputs("    _arguments \\\n", file);
    each_option(file, command->name, command, zsh_option);
    if (command->first_words) put_words(file, "        '1:what:(", command->first_words, ")' \\\n");
}

static void zsh(FILE *file, const cp_program *p) {
    fprintf(file, "#compdef %s\n# zsh completion of %s, made by `%s --completion zsh`\n\n", p->name, p->name, p->name);
    for (int i = 0; p->commands[i]; i++) {
        fprintf(file, "_%s_%s() {\n", p->name, p->commands[i]->name);
        zsh_arguments(file, p->commands[i]);
        fprintf(file, "        %s\n}\n\n", p->commands[i]->arguments ? "'*:file:_files'" : "'*: : '");
    }
    fprintf(file, "_%s() {\n    local curcontext=$curcontext state line\n    local -a commands=(\n", p->name);
    for (int i = 0; p->commands[i]; i++) {
        fprintf(file, "        '%s:", p->commands[i]->name);
        put_quoted(file, p->commands[i]->purpose, ":\\");
        fputs("'\n", file);
    }
    fputs("    )\n", file);
    fputs("    if ((CURRENT > 2)) && [[ -n ${commands[(r)$words[2]:*]} ]]; then\n"
          "        local command=$words[2]\n"
          "        shift words\n"
          "        ((CURRENT--))\n",
          file);
    fprintf(file,
            "        _%s_$command\n"
            "        return\n"
            "    fi\n"
            "    ((CURRENT == 2)) && _describe -t commands command commands\n",
            p->name);
    if (p->experiment) {
        zsh_arguments(file, p->experiment);
        fprintf(file, "        '(- *)--version[the version]'%s\n", p->experiment->arguments ? " '*:file:_files'" : "");
    } else {
        fputs("    ((CURRENT == 2)) && _arguments '(- *)--help[this text]' '(- *)--version[the version]'\n", file);
    }
    fprintf(file, "}\n\n_%s \"$@\"\n", p->name);
}

/* ---- fish ---- */

/* `where` is the start of the line, with the condition under which it holds. */
static void fish_option(FILE *file, const char *where, const cp_option *o) {
    fprintf(file, "%s -l %s", where, o->name);
    if (words_of(o))
        put_words(file, " -x -a '", words_of(o), "'");
    else if (o->kind == CP_OPTION_TEXT)
        fputs(" -r -F", file);
    else if (is_number(o))
        fputs(" -x", file);
    fputs(" -d '", file);
    put_quoted(file, cp_option_about(NULL, o).s, "\\");
    fputs("'\n", file);
}

static void fish_options(FILE *file, const char *program, const cp_command *command, const char *condition, const char *words) {
    char where[1300];
    snprintf(where, sizeof where, "complete -c %.60s -n '%s %.1100s'", program, condition, words);
    if (command->first_words) {
        fputs(where, file);
        put_words(file, " -a '", command->first_words, "'\n");
    }
    if (command->arguments) fprintf(file, "%s -F\n", where);
    each_option(file, where, command, fish_option);
}

static void fish(FILE *file, const cp_program *p) {
    char names[1024] = "";
    fprintf(file, "# fish completion of %s, made by `%s --completion fish`\n\ncomplete -c %s -f\n", p->name, p->name, p->name);
    fprintf(file, "complete -c %s -n __fish_use_subcommand -l version -d 'the version'\n", p->name);
    fprintf(file, "complete -c %s -n __fish_use_subcommand -l man -d 'the manual page'\n", p->name);
    fprintf(file, "complete -c %s -n __fish_use_subcommand -l completion -x -a 'bash zsh fish' -d 'for a shell'\n", p->name);
    if (!p->experiment) fprintf(file, "complete -c %s -n __fish_use_subcommand -l help -d 'this text'\n", p->name);
    for (int i = 0; p->commands[i]; i++) {
        snprintf(names + strlen(names), sizeof names - strlen(names), " %.60s", p->commands[i]->name);
        fprintf(file, "complete -c %s -n __fish_use_subcommand -a %s -d '", p->name, p->commands[i]->name);
        put_quoted(file, p->commands[i]->purpose, "\\");
        fputs("'\n", file);
        fish_options(file, p->name, p->commands[i], "__fish_seen_subcommand_from", p->commands[i]->name);
    }
    if (p->experiment) fish_options(file, p->name, p->experiment, "not __fish_seen_subcommand_from", names + 1);
}

bool cp_program_completion(FILE *file, const cp_program *program, const char *shell) {
    static const struct {
        const char *name;
        void (*put)(FILE *file, const cp_program *program);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].put(file, program);
            return true;
        }
    return false;
}
