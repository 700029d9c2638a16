/* Commands and their options: one table for the parser, the help, the manual page and shell completions.
 *
 *     static const cp_option options[] = {
 *         {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 0, .max = 10, .help = "learning rate"},
 *         {.name = "steps", .kind = CP_OPTION_INT, .fallback = "3000", .help = "length of the training", .unit = "steps"},
 *         {.name = "energy", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "auto", .min = 0, .max = 1e6, .help = "weight"},
 *         {.name = "geometry", .kind = CP_OPTION_CHOICE, .choices = "reported|printed", .fallback = "reported"},
 *         {0}};
 *     static int run(const cp_options *o) {
 *         double rate = cp_option_real(o, "rate"), energy = cp_option_real_or(o, "energy", 1); ...
 *     }
 *     const cp_command cp_command_synthetic = {.name = "synthetic", .purpose = "...", .options = options, .run = run};
 *
 * On the command line an option is `--name value` or `--name=value`; a flag is `--name`; `--` ends the options. A
 * value that begins with two dashes needs the second form. Every command also has --seed, --threads, --out, --quiet,
 * --json, --report and --help, unless its own table redefines one or `without` names it. A command that redefines
 * --out makes no run folder (see run.h) and has no --report.
 *
 * A default may depend on another option, so that one preset sets many options:
 *
 *     static const cp_default defaults[] = {
 *         {.when = "preset", .is = "paper", .option = "rate", .value = "0.0001"},      // --preset paper: --rate 0.0001
 *         {0}}; */
#pragma once

#include "core/error.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes. */
enum { CP_EXIT_OK = 0, CP_EXIT_FAILED = 1, CP_EXIT_USAGE = 2, CP_EXIT_INTERRUPTED = 130 };

typedef enum cp_option_kind {
    CP_OPTION_FLAG,  /* --quiet */
    CP_OPTION_INT,   /* a whole number */
    CP_OPTION_REAL,  /* a finite number */
    CP_OPTION_REALS, /* numbers with commas between them: 0,0.1,1 */
    CP_OPTION_TEXT,
    CP_OPTION_CHOICE, /* one of several words */
} cp_option_kind;

typedef struct cp_option {
    const char    *name; /* without dashes; NULL ends a table */
    cp_option_kind kind;
    const char    *fallback; /* the default, as it would be typed; NULL: none */
    const char    *help;
    const char    *unit;       /* "steps", "images", or NULL */
    const char    *value;      /* what help calls the value; NULL: by the kind */
    const char    *choices;    /* "reported|printed" */
    const char    *word;       /* of a number: this word is accepted too, such as "auto"; NULL: none */
    double         min, max;   /* limits of numbers, both included; 0 and 0: none */
    bool           required;   /* there is no default: it must be given */
    bool           incidental; /* does not affect the result: a run may be continued with another value */
    bool           bare;       /* of a text: --name without a value is possible and gives ""; a value needs --name=value */
    bool           path;       /* of a text: a file, of which a continued run must have the same name and folder's name */
    bool           alone;      /* needs no arguments and no required options, and is refused beside any option but --json */
} cp_option;

/* While option `when`, which comes earlier in the table, has the value `is`, the default of `option` is `value`. The last row
 * that applies wins. */
typedef struct cp_default {
    const char *when, *is; /* when: NULL ends a table */
    const char *option, *value;
} cp_default;

typedef struct cp_options cp_options;

typedef struct cp_command {
    const char      *name;
    const char      *purpose;   /* one line */
    const char      *arguments; /* "MODEL.safetensors INPUT.npy", "DIR...", "RUN [IMAGES.npy]"; brackets are optional; NULL: none */
    const char      *details;   /* more lines for its help, or NULL */
    const char      *example;   /* a command line without the command's name, or NULL */
    const cp_option *options;
    const cp_option *(*more)(int);      /* options that are known when the program runs: 0, 1, ... until NULL; NULL: none */
    const cp_default *defaults;         /* those that depend on another option, or NULL */
    const char       *without;          /* common options that it does not have: "seed|quiet", or NULL */
    const char       *first_words;      /* completions of its first argument: "kernels|plot", or NULL */
    bool              arguments_by_md5; /* its result identifies its arguments by md5: they may lie in any folder */
    bool              study; /* makes a cp_study, and so has --jobs, --list, --slurm, --status and --trial: see study.h */

    /* It also accepts the options of that command, except those in `without`, and passes them on. NULL: none. */
    const struct cp_command *forwards_to;
    int (*run)(const cp_options *options); /* returns an exit code */
} cp_command;

/* Parses the words after the command's name. NULL with a message when they are invalid; `*help` says that --help was among
 * them (then the others are ignored). The words must outlive the result. `program` is the program that the command belongs
 * to, or NULL when the command is the whole program. */
cp_options *cp_options_parse(const char *program, const cp_command *command, int count, char *const *words, bool *help,
                             cp_status *status);
void        cp_options_free(cp_options *options); /* NULL is allowed */

/* The place of a word among words such as "reported|printed"; -1: it is not there, or words is NULL. */
int cp_choice_find(const char *words, const char *word);

/* Prints a line on stderr that starts with the command: "couplet predict: no such file". Control characters become
 * '?'. Returns false. */
bool cp_complain(const cp_options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit code of a command that ended with this status: complains unless its message is empty. */
int cp_exit_code(const cp_options *options, const cp_status *status);

typedef struct cp_reals {
    const double *at;
    int           count;
} cp_reals;

/* The values. An unknown name, or one of another kind, is misuse. */
bool        cp_option_flag(cp_at at, const cp_options *options, const char *name);
int64_t     cp_option_int_or(cp_at at, const cp_options *options, const char *name, int64_t for_word); /* 0 when there is none */
double      cp_option_real_or(cp_at at, const cp_options *options, const char *name, double for_word); /* NaN when there is none */
cp_reals    cp_option_reals(cp_at at, const cp_options *options, const char *name);
int         cp_option_choice(cp_at at, const cp_options *options, const char *name); /* the index of the choice, from 0 */
const char *cp_option_text(cp_at at, const cp_options *options, const char *name);   /* any kind, as typed; NULL: no value */
bool        cp_option_given(cp_at at, const cp_options *options, const char *name);  /* on the command line */

#define CP_OPTION_HERE CP_AT((struct cp_tape *)NULL)
#define cp_option_flag(...) cp_option_flag(CP_OPTION_HERE, __VA_ARGS__)
#define cp_option_int(options, name) cp_option_int_or(options, name, 0)     /* 0 for its word, too */
#define cp_option_real(options, name) cp_option_real_or(options, name, NAN) /* NaN for its word, too */
#define cp_option_int_or(...) cp_option_int_or(CP_OPTION_HERE, __VA_ARGS__)
#define cp_option_real_or(...) cp_option_real_or(CP_OPTION_HERE, __VA_ARGS__)
#define cp_option_reals(...) cp_option_reals(CP_OPTION_HERE, __VA_ARGS__)
#define cp_option_choice(...) cp_option_choice(CP_OPTION_HERE, __VA_ARGS__)
#define cp_option_text(...) cp_option_text(CP_OPTION_HERE, __VA_ARGS__)
#define cp_option_given(...) cp_option_given(CP_OPTION_HERE, __VA_ARGS__)

int                cp_argument_count(const cp_options *options);
const char        *cp_argument(const cp_options *options, int index);
const char *const *cp_arguments(const cp_options *options); /* all of them */
const cp_command  *cp_options_command(const cp_options *options);
const char        *cp_options_called(const cp_options *options); /* "couplet synthetic" */

/* The command's own options, then the common ones, then those it passes on: i = 0, 1, ... until NULL. */
const cp_option *cp_options_at(const cp_options *options, int i);

/* ---- for help, the manual page and completions ---- */

enum { CP_OPTIONS_MAX = 96 };

/* `also` are commands of the same program whose usage is shown too, up to a NULL; NULL: none. */
void cp_command_help(FILE *file, const char *program, const cp_command *command, const cp_command *const *also);

/* How many arguments it takes, as `arguments` says: INT_MAX if there are dots. */
typedef struct cp_argument_range {
    int min, max;
} cp_argument_range;
cp_argument_range cp_command_arguments(const cp_command *command);

/* The options in the order of cp_options_at, into `all`, which has room for CP_OPTIONS_MAX. Returns how many. */
int cp_command_options(const cp_command *command, const cp_option **all);
int cp_command_own_options(const cp_command *command, const cp_option **all); /* without those it passes on */

extern const cp_option cp_option_help; /* --help, which is in no table */

/* A text about a command or an option, returned by value. */
typedef struct cp_help_text {
    char s[1024];
} cp_help_text;

cp_text      cp_command_called(const char *program, const cp_command *command); /* "couplet synthetic" */
cp_help_text cp_command_usage(const cp_command *command); /* what follows its name: "DIR... --out FILE [options]" */
cp_help_text cp_option_value(const cp_option *option);    /* "N", "X|auto", "X,X,...", "reported|printed"; "" of a flag */

/* Its help, with unit and default; with the command, also the defaults that depend on another option. */
cp_help_text cp_option_about(const cp_command *command, const cp_option *option);

/* The word nearest to `word` by edit distance, or NULL when none is near. */
const char *cp_nearest_word(const char *word, const char *const *words, int count);
