/* The `couplet` command: finds the command that was asked for, reads its options and runs it. */
#include "core/real.h"
#include "core/threads.h"
#include "experiments/commands.h"

#include <string.h>

static const cp_command *const commands[] = {
    &cp_command_synthetic,
    &cp_command_predict,
    &cp_command_report,
    &cp_command_bench,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void show_help(FILE *file) {
    fprintf(file,
            "Couplet %s: hybrid generative and discriminative classifiers\n\nUsage: couplet COMMAND "
            "[options]\n\nCommands:\n",
            CP_VERSION);
    for (int i = 0; i < COMMANDS; i++) fprintf(file, "  %-12s %s\n", commands[i]->name, commands[i]->purpose);
    fprintf(file, "\ncouplet COMMAND --help tells a command's options; couplet --version the version.\n"
                  "\nExit codes: 0 fine; 1 failed (data, disk, divergence; the message tells); 2 wrong usage;\n"
                  "130 interrupted by Ctrl-C, with what was finished saved.\n");
}

static const cp_command *find(const char *name) {
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int fail_unknown(const char *name) {
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
    const char *near = cp_nearest_word(name, names, COMMANDS);
    fprintf(stderr, "couplet: there is no %s \"%.80s\"", name[0] == '-' ? "option" : "command", name);
    if (near) fprintf(stderr, "; did you mean %s?", near);
    fprintf(stderr, "\nRun `couplet --help` for a list.\n");
    return CP_EXIT_USAGE;
}

static int run(const cp_command *command, int count, char *const *words) {
    cp_status   status = {0};
    bool        help;
    cp_options *options = cp_options_parse(command, count, words, &help, &status);
    if (help) {
        cp_command_help(stdout, command);
        return CP_EXIT_FINE;
    }
    if (!options) {
        fprintf(stderr, "couplet %s: %s\nRun `couplet %s --help` for its options.\n", command->name, status.message, command->name);
        return CP_EXIT_USAGE;
    }
    cp_threads_set((int)cp_option_int(options, "threads"));
    int code = command->run(options);
    cp_options_free(options);
    return code;
}

int main(int count, char **words) {
    if (count < 2) {
        show_help(stderr);
        return CP_EXIT_USAGE;
    }
    int  code;
    bool help = strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0 || strcmp(words[1], "help") == 0;
    if (help && count > 2 && find(words[2])) {
        cp_command_help(stdout, find(words[2]));
        code = CP_EXIT_FINE;
    } else if (help) {
        show_help(stdout);
        code = CP_EXIT_FINE;
    } else if (strcmp(words[1], "--version") == 0) {
        printf("couplet %s (%s)\n", CP_VERSION, CP_REAL_NAME);
        code = CP_EXIT_FINE;
    } else {
        const cp_command *command = find(words[1]);
        code = command ? run(command, count - 2, words + 2) : fail_unknown(words[1]);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "couplet: what was printed could not all be written\n");
        code = code ? code : CP_EXIT_FAILED;
    }
    return code;
}
