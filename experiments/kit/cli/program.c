/* Programs: finds the command that was asked for, reads its options and runs it. */
#include "experiments/kit/cli/program.h"

#include "core/real.h"
#include "core/threads.h"
#include "experiments/kit/report/report.h"
#include "experiments/kit/run/runs.h"

#include <string.h>

const char cp_program_exits[] = "0 ok; 1 failed (data, disk, divergence; see the message); 2 wrong usage;\n"
                                "130 interrupted by Ctrl-C, with what was finished saved.";

static const cp_command *find(const cp_program *program, const char *name) {
    for (int i = 0; program->commands[i]; i++)
        if (strcmp(program->commands[i]->name, name) == 0) return program->commands[i];
    return NULL;
}

/* ---- help ---- */

static void list_commands(FILE *file, const cp_program *program) {
    fprintf(file, "\nCommands:\n");
    for (int i = 0; program->commands[i]; i++)
        fprintf(file, "  %-12s %s\n", program->commands[i]->name, program->commands[i]->purpose);
    fprintf(file,
            "\n%s COMMAND --help lists a command's options; %s --version prints the version.\n"
            "Manual page: %s%s --man | man -l -\n"
            "Completions: %s --completion bash (or zsh, fish)\n"
            "\nExit codes: %s\n",
            program->name, program->name, program->experiment ? "" : "man couplet, or ", program->name, program->name,
            cp_program_exits);
}

static void show_help(FILE *file, const cp_program *program) {
    if (program->experiment)
        cp_command_help(file, NULL, program->experiment, program->commands);
    else
        fprintf(file, "Couplet %s: %s\n\nUsage: %s COMMAND [options]\n", CP_VERSION, program->purpose, program->name);
    list_commands(file, program);
}

static void show_version(const cp_program *program) {
    if (strcmp(program->name, "couplet") != 0) printf("%s, made with ", program->name);
    printf("couplet %s (%s)\n", CP_VERSION, CP_REAL_NAME);
}

/* ---- running ---- */

static int fail_unknown(const cp_program *program, const char *name) {
    const char *names[64];
    int         count = 0;
    for (; program->commands[count] && count < 64; count++) names[count] = program->commands[count]->name;
    const char *near = cp_nearest_word(name, names, count);
    fprintf(stderr, "%s: there is no %s \"%s\"", program->name, name[0] == '-' ? "option" : "command",
            cp_shown(name, strlen(name)).text);
    if (near) fprintf(stderr, "; did you mean %s?", near);
    fprintf(stderr, "\nRun `%s --help` for a list.\n", program->name);
    return CP_EXIT_USAGE;
}

static int run(const cp_program *program, const cp_command *command, int count, char *const *words) {
    cp_status   status = {0};
    bool        help, whole = command == program->experiment;
    const char *part_of = whole ? NULL : program->name;
    cp_options *options = cp_options_parse(part_of, command, count, words, &help, &status);
    if (help && whole) {
        show_help(stdout, program);
        return CP_EXIT_OK;
    }
    if (help) {
        cp_command_help(stdout, part_of, command, NULL);
        return CP_EXIT_OK;
    }
    if (!options) {
        cp_text called = cp_command_called(part_of, command);
        fprintf(stderr, "%s: %s\nRun `%s --help` for its options.\n", called.s, status.message, called.s);
        return CP_EXIT_USAGE;
    }
    cp_threads_set((int)cp_option_int(options, "threads"));
    int code = command->study && cp_option_given(options, "status") ? cp_runs_status(options)
               : command->study && cp_option_given(options, "pack") ? cp_runs_pack(options)
                                                                    : command->run(options);
    cp_options_free(options);
    return code;
}

static int show_completion(const cp_program *program, const char *shell) {
    if (cp_program_completion(stdout, program, shell)) return CP_EXIT_OK;
    fprintf(stderr, "%s: --completion is for bash, zsh or fish%s%s%s\n", program->name, *shell ? ", not for \"" : "",
            cp_shown(shell, strlen(shell)).text, *shell ? "\"" : "");
    return CP_EXIT_USAGE;
}

/* --version, --man and --completion SHELL, which take no other words. */
static int show_text(const cp_program *program, int count, char *const *words) {
    bool completion = strcmp(words[1], "--completion") == 0;
    int  max = completion ? 3 : 2;
    if (count > max) {
        fprintf(stderr, "%s: \"%s\" is one word too many after %s\n", program->name, cp_shown(words[max], strlen(words[max])).text,
                words[1]);
        return CP_EXIT_USAGE;
    }
    if (completion) return show_completion(program, count > 2 ? words[2] : "");
    if (strcmp(words[1], "--man") == 0)
        cp_program_manual(stdout, program);
    else
        show_version(program);
    return CP_EXIT_OK;
}

static bool is_one_of(const char *word, const char *a, const char *b) { return strcmp(word, a) == 0 || strcmp(word, b) == 0; }

static int dispatch(const cp_program *program, int count, char *const *words) {
    const char       *first = count > 1 ? words[1] : "";
    const cp_command *command = find(program, first);
    if (command) return run(program, command, count - 2, words + 2);
    if (is_one_of(first, "--version", "--man") || strcmp(first, "--completion") == 0) return show_text(program, count, words);
    if (program->experiment && (*first == '-' || !*first || program->experiment->arguments))
        return run(program, program->experiment, count > 1 ? count - 1 : 0, words + 1);
    if (count < 2) { /* and no experiment */
        show_help(stderr, program);
        return CP_EXIT_USAGE;
    }
    if (!is_one_of(first, "--help", "-h") && strcmp(first, "help") != 0) return fail_unknown(program, first);
    command = count > 2 ? find(program, words[2]) : NULL;
    if (command)
        cp_command_help(stdout, program->name, command, NULL);
    else
        show_help(stdout, program);
    return CP_EXIT_OK;
}

int cp_program_main(const cp_program *program, int count, char *const *words) {
    int code = dispatch(program, count, words);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: what was printed could not all be written\n", program->name);
        code = code ? code : CP_EXIT_FAILED;
    }
    return code;
}

int cp_experiment_main(const cp_command *experiment, int count, char *const *words) {
    static const cp_command *const commands[] = {&cp_command_report, NULL};
    const cp_program               program = {experiment->name, experiment->purpose, experiment, commands};
    return cp_program_main(&program, count, words);
}
