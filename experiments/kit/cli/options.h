/* Commands and their options: a table describes them, the parser and the help both read it.
 *
 *     static const cp_option options[] = {
 *         {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 0, .max = 10, .help = "of SGD"},
 *         {.name = "steps", .kind = CP_OPTION_INT, .fallback = "3000", .help = "length", .unit = "steps"},
 *         {.name = "geometry", .kind = CP_OPTION_CHOICE, .choices = "reported|printed", .fallback = "reported"},
 *         {0}};
 *     static int run(const cp_options *o) {
 *         double rate = cp_option_real(o, "rate"); ...
 *     }
 *     const cp_command cp_command_synthetic = {.name = "synthetic", .purpose = "...", .options = options, .run = run};
 *
 * On the command line an option is `--name value` or `--name=value`; a flag is `--name`; `--` ends the options. A
 * value that begins with two dashes needs the second form. Every command also has --seed, --threads, --out, --quiet,
 * --json, --report and --help, and may describe one of these itself in other words, or do without it; one that describes
 * --out leaves no run (see run.h) and has no --report.
 *
 * A default may depend on a choice that was made, so that one word stands for many settings:
 *
 *     static const cp_default defaults[] = {
 *         {.when = "preset", .is = "paper", .option = "rate", .value = "0.0001"},      // --preset paper: --rate 0.0001
 *         {0}}; */
#ifndef CP_KIT_OPTIONS_H
#define CP_KIT_OPTIONS_H

#include "core/error.h"

#include <stdint.h>
#include <stdio.h>

/* What a program ends with. */
enum { CP_EXIT_OK = 0, CP_EXIT_FAILED = 1, CP_EXIT_USAGE = 2, CP_EXIT_INTERRUPTED = 130 };

typedef enum cp_option_kind {
    CP_OPTION_FLAG,  /* --quiet */
    CP_OPTION_INT,   /* a whole number */
    CP_OPTION_REAL,  /* a finite number */
    CP_OPTION_REALS, /* numbers with commas between them: 0,0.1,1 */
    CP_OPTION_TEXT,
    CP_OPTION_CHOICE, /* one of a few words */
} cp_option_kind;

typedef struct cp_option {
    const char    *name; /* without dashes; NULL ends a table */
    cp_option_kind kind;
    const char    *fallback; /* the default, as it would be typed; NULL: none */
    const char    *help;
    const char    *unit;       /* "steps", "images", or NULL */
    const char    *value;      /* what help calls the value; NULL: by the kind */
    const char    *choices;    /* "reported|printed" */
    double         min, max;   /* limits of numbers, both included; 0 and 0: none */
    bool           required;   /* there is no default: it must be given */
    bool           incidental; /* has no say in the result: a run may be continued with another value */
    bool           bare;       /* of a text: --name alone is possible too, and is ""; a value needs --name=value */
} cp_option;

/* While option `when`, which comes earlier in the table, has the value `is`, the default of `option` is `value`. Of several that
 * hold, the last counts. */
typedef struct cp_default {
    const char *when, *is; /* when: NULL ends a table */
    const char *option, *value;
} cp_default;

typedef struct cp_options cp_options;

typedef struct cp_command {
    const char       *name;
    const char       *purpose;   /* one line */
    const char       *arguments; /* "MODEL.safetensors INPUT.npy", or NULL */
    const char       *details;   /* more lines for its help, or NULL */
    const char       *example;   /* the words of a command line behind the command's name, or NULL */
    const cp_option  *options;
    const cp_default *defaults;    /* those that depend on a choice, or NULL */
    const char       *without;     /* common options that it does not have: "seed|quiet", or NULL */
    const char       *first_words; /* what its first argument may be, for shells to complete: "kernels|plot", or NULL */
    int               min_arguments, max_arguments;
    bool              arguments_by_md5; /* its result knows its arguments by their md5: they may lie in any folder */
    bool              study; /* makes a cp_study, and so has --jobs, --list, --slurm, --status and --trial: see study.h */

    /* Options of that command can be given too, which it hands on; not those of `without`. NULL: none. */
    const struct cp_command *hands_on;
    int (*run)(const cp_options *options); /* returns an exit code */
} cp_command;

/* Reads the words after the command's name. NULL, with a message, when they cannot be understood; `*help` tells that --help
 * was among them (then the rest is not looked at). The words must outlive the result. `program` is what the command is
 * a part of, or NULL for one that is the whole program. */
cp_options *cp_options_parse(const char *program, const cp_command *command, int count, char *const *words, bool *help,
                             cp_status *status);
void        cp_options_free(cp_options *options); /* NULL is allowed */

/* Prints a line on stderr, with what was called before it: "couplet predict: no such file". */
void cp_complain(const cp_options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The values; a name or kind that the command does not have is misuse. */
bool        cp_option_flag(const cp_options *options, const char *name);
int64_t     cp_option_int(const cp_options *options, const char *name);
double      cp_option_real(const cp_options *options, const char *name);
const char *cp_option_text(const cp_options *options, const char *name);   /* NULL when it has neither value nor default */
int         cp_option_choice(const cp_options *options, const char *name); /* the place among the choices, from 0 */
bool        cp_option_given(const cp_options *options, const char *name);  /* on the command line */

typedef struct cp_reals {
    const double *at;
    int           count;
} cp_reals;
cp_reals cp_option_reals(const cp_options *options, const char *name);

int               cp_argument_count(const cp_options *options);
const char       *cp_argument(const cp_options *options, int index);
const cp_command *cp_options_command(const cp_options *options);
const char       *cp_options_called(const cp_options *options); /* "couplet synthetic" */

/* All options of the command, then the common ones, last those that it hands on: i = 0, 1, ... until NULL. */
const cp_option *cp_options_at(const cp_options *options, int i);

/* ---- what help, the manual page and completions are made of ---- */

enum { CP_OPTIONS_MAX = 96 };

/* `also` are commands of the same program whose usage is told too, up to a NULL; NULL: none. */
void cp_command_help(FILE *file, const char *program, const cp_command *command, const cp_command *const *also);

/* All options of a command, then the common ones, last those that it hands on, into `all`, which has room for CP_OPTIONS_MAX.
 * Returns how many. */
int cp_command_options(const cp_command *command, const cp_option **all);

int cp_command_own_options(const cp_command *command, const cp_option **all); /* without those that it hands on */

extern const cp_option cp_option_help; /* --help, which is in no table */

typedef struct cp_called_text {
    char s[96];
} cp_called_text;
cp_called_text cp_command_called(const char *program, const cp_command *command); /* "couplet synthetic" */

typedef struct cp_usage_text {
    char s[512];
} cp_usage_text;
cp_usage_text cp_command_usage(const cp_command *command); /* what comes behind its name: "DIR... --out FILE [options]" */

const char *cp_option_value_word(const cp_option *option); /* "N", "X,X,...", "reported|printed"; "" of a flag */

typedef struct cp_about_text {
    char s[900];
} cp_about_text;
/* Its help, with unit and default; with the command, also the defaults that depend on a choice. */
cp_about_text cp_option_about(const cp_command *command, const cp_option *option);

/* The word nearest to `word` by edit distance, or NULL when none is near. */
const char *cp_nearest_word(const char *word, const char *const *words, int count);

#endif
