/* Commands and their options: the table, the values, the parser. */
#include "experiments/kit/cli/options.h"

#include "core/io/bytes.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 40, CHOICES_MAX = 16 };

/* clang-format off */
static const cp_option common[] = {
    {.name = "seed", .kind = CP_OPTION_INT, .fallback = "1", .min = 0, .max = 9007199254740991.0,
     .help = "seed of all random numbers; the same seed gives the same result"},
    {.name = "threads", .kind = CP_OPTION_INT, .fallback = "0", .min = 0, .max = 256, .incidental = true,
     .help = "compute threads; 0: one per processor. The result does not depend on it"},
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "DIR", .incidental = true,
     .help = "folder for the results; default: a new one in runs/"},
    {.name = "quiet", .kind = CP_OPTION_FLAG, .incidental = true, .help = "do not print progress or tables"},
    {.name = "json", .kind = CP_OPTION_FLAG, .incidental = true, .help = "print the result as JSON instead of tables"},
    {.name = "report", .kind = CP_OPTION_FLAG, .incidental = true, .help = "also write report.html, with the tables and figures"},
};

/* Of commands that make a study. */
static const cp_option of_studies[] = {
    {.name = "jobs", .kind = CP_OPTION_INT, .max = 1024, .incidental = true,
     .help = "number of runs at the same time, each a process with --threads threads; 0: no runs, only tables and figures of the "
             "finished ones"},
    {.name = "list", .kind = CP_OPTION_FLAG, .incidental = true,
     .help = "print the commands of the remaining runs, one per line, for xargs or GNU parallel"},
    {.name = "slurm", .kind = CP_OPTION_TEXT, .value = "or --slurm=OPTIONS", .bare = true, .incidental = true,
     .help = "submit the remaining runs as a Slurm job array, with these options for sbatch"},
    {.name = "status", .kind = CP_OPTION_TEXT, .value = "DIR", .incidental = true, .alone = true,
     .help = "show the progress of the study in this folder; needs no arguments and no other options"},
    {.name = "pack", .kind = CP_OPTION_TEXT, .value = "DIR", .incidental = true, .alone = true,
     .help = "write the finished runs of the study in this folder to one file, DIR/runs.jsonl, which replaces DIR/runs"},
    {.name = "trial", .kind = CP_OPTION_INT, .max = 1e9, .help = "run only this trial, counted from 0, as --jobs and --list do"},
};

/* Of studies whose runs are made by another command. */
static const cp_option out_of_study = {
    .name = "out", .kind = CP_OPTION_TEXT, .value = "DIR", .incidental = true, .help = "folder of the study, new or existing; required"};
/* clang-format on */

/* An option's value. */
typedef struct setting {
    const cp_option *option;
    const char      *text; /* given or default; NULL: neither */
    bool             given, word;
    int64_t          integer;
    double           real;
    double          *list; /* to be freed */
    int              list_count;
    int              choice;
} setting;

struct cp_options {
    const cp_command  *command;
    cp_text            called;
    setting            settings[CP_OPTIONS_MAX];
    int                count;
    const char *const *arguments;
    int                argument_count;
};

/* ---- the table: the command's own options, then the common ones it does not redefine ---- */

int cp_choice_find(const char *words, const char *word) {
    size_t length = strlen(word);
    for (int i = 0; words; i++, words = strchr(words, '|')) {
        words += *words == '|';
        if (strncmp(words, word, length) == 0 && (!words[length] || words[length] == '|')) return i;
    }
    return -1;
}

/* Whether a command lacks a common option. One that redefines --out makes no run folder, so it has no --report. */
static bool lacks(const cp_command *command, bool own_out, const char *name) {
    return cp_choice_find(command->without, name) >= 0 || (own_out && strcmp(name, "report") == 0);
}

typedef struct option_list {
    const cp_option **at;
    int               count;
} option_list;

static void add(option_list *list, const cp_option *option) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->at[i]->name, option->name) == 0) return; /* redefined by the command */
    if (list->count < CP_OPTIONS_MAX) list->at[list->count++] = option;
}

int cp_command_own_options(const cp_command *command, const cp_option **all) {
    option_list list = {all, 0};
    bool        own_out = false;
    for (const cp_option *o = command->options; o && o->name; o++) {
        own_out = own_out || strcmp(o->name, "out") == 0;
        add(&list, o);
    }
    for (int i = 0; command->more && command->more(i); i++) add(&list, command->more(i));
    for (size_t i = 0; command->study && i < sizeof of_studies / sizeof *of_studies; i++)
        if (!lacks(command, own_out, of_studies[i].name)) add(&list, &of_studies[i]);
    if (command->study && command->forwards_to) add(&list, &out_of_study);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!lacks(command, own_out, common[i].name)) add(&list, &common[i]);
    return list.count;
}

int cp_command_options(const cp_command *command, const cp_option **all) {
    option_list list = {all, cp_command_own_options(command, all)};
    for (const cp_option *o = command->forwards_to ? command->forwards_to->options : NULL; o && o->name; o++)
        if (!lacks(command, false, o->name)) add(&list, o);
    for (int i = 0; command->forwards_to && command->forwards_to->more && command->forwards_to->more(i); i++)
        add(&list, command->forwards_to->more(i));
    return list.count;
}

cp_text cp_command_called(const char *program, const cp_command *command) {
    cp_text text;
    snprintf(text.s, sizeof text.s, "%s%s%s", program ? program : "", program ? " " : "", command->name);
    return text;
}

/* ---- names ---- */

static int smaller(int a, int b) { return a < b ? a : b; }

/* Insertions, deletions, exchanges and swaps of neighbors (optimal string alignment). */
static int edit_distance(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b), rows[3][WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX) return WORD_MAX;
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            now[j] = smaller(smaller(now[j - 1], before[j]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = smaller(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *cp_nearest_word(const char *word, const char *const *words, int count) {
    const char *best = NULL;
    int         length = (int)strlen(word);
    int         distance = length < 3 ? 2 : length / 2 + 1; /* must be less */
    for (int i = 0; i < count; i++) {
        int  d = edit_distance(word, words[i]);
        bool prefix = length >= 2 && strncmp(word, words[i], (size_t)length) == 0;
        if (prefix) d = smaller(d, 1);
        if (d < distance) best = words[i], distance = d;
    }
    return best;
}

static setting *find(cp_options *options, const char *name, size_t length) {
    for (int i = 0; i < options->count; i++) {
        const char *own = options->settings[i].option->name;
        if (strncmp(own, name, length) == 0 && own[length] == '\0') return &options->settings[i];
    }
    return NULL;
}

static const char *nearest(const cp_options *options, const char *name) {
    const char *names[CP_OPTIONS_MAX + 1];
    for (int i = 0; i < options->count; i++) names[i] = options->settings[i].option->name;
    names[options->count] = "help";
    return cp_nearest_word(name, names, options->count + 1);
}

static bool fail_unknown(const cp_options *options, const char *name, size_t length, cp_status *status) {
    char word[WORD_MAX + 1];
    snprintf(word, sizeof word, "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX), name);
    const char *near = nearest(options, word);
    return cp_fail(status, "there is no option --%s%s%s%s", cp_shown(name, length).text, near ? "; did you mean --" : "",
                   near ? near : "", near ? "?" : "");
}

/* ---- values ---- */

static cp_shown_text shown(const char *text) { return cp_shown(text, strlen(text)); }

static bool within(const cp_option *o, double value) {
    return isfinite(value) && ((o->min == 0 && o->max == 0) || (value >= o->min && value <= o->max));
}

static bool refuse(const cp_option *o, const char *text, cp_status *status) {
    char limits[64] = "";
    if (o->min != 0 || o->max != 0) snprintf(limits, sizeof limits, " from %.16g to %.16g", o->min, o->max);
    return cp_fail(status, "--%s: \"%s\" is not valid; expected %s%s%s%s%s", o->name, shown(text).text,
                   o->kind == CP_OPTION_INT     ? "a whole number"
                   : o->kind == CP_OPTION_REALS ? "numbers with commas between them, each"
                                                : "a number",
                   limits, o->word ? " or \"" : "", o->word ? o->word : "", o->word ? "\"" : "");
}

/* strtod would also take leading blanks, hexadecimals and "nan". */
static bool read_number(const char *text, size_t length, double *value) {
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (strspn(copy, "+-.0123456789eE") != length) return false;
    *value = strtod(copy, &end);
    return *end == '\0';
}

/* 1e4 and 10000.0 are whole numbers too. */
static bool set_integer(setting *s, const char *text, cp_status *status) {
    double value;
    if (!read_number(text, strlen(text), &value) || fabs(value) > 9007199254740991.0 || value != floor(value) ||
        !within(s->option, value))
        return refuse(s->option, text, status);
    s->integer = (int64_t)value;
    return true;
}

static bool set_list(setting *s, const char *text, cp_status *status) {
    int commas = 0;
    for (const char *p = text; *p; p++) commas += *p == ',';
    double *list = malloc((size_t)(commas + 1) * sizeof *list);
    if (!list) return cp_fail(status, "--%s: not enough memory for %d numbers", s->option->name, commas + 1);
    free(s->list);
    s->list = list;
    s->list_count = 0;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ",");
        double value;
        if (!read_number(p, length, &value) || !within(s->option, value)) return refuse(s->option, text, status);
        list[s->list_count++] = value;
        p += length;
        if (!*p) return true;
    }
}

static bool set_choice(setting *s, const char *text, cp_status *status) {
    char        copy[256], *rest;
    const char *words[CHOICES_MAX];
    int         count = 0;
    snprintf(copy, sizeof copy, "%s", s->option->choices);
    for (char *word = strtok_r(copy, "|", &rest); word && count < CHOICES_MAX; word = strtok_r(NULL, "|", &rest))
        words[count++] = word;
    for (s->choice = 0; s->choice < count; s->choice++)
        if (strcmp(words[s->choice], text) == 0) return true;
    const char *near = cp_nearest_word(text, words, count);
    return cp_fail(status, "--%s: \"%s\" is not one of %s%s%s%s", s->option->name, shown(text).text, s->option->choices,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool set_value(setting *s, const char *text, cp_status *status) {
    s->text = text;
    s->word = s->option->word && strcmp(text, s->option->word) == 0;
    if (s->word) return true;
    switch (s->option->kind) {
    case CP_OPTION_FLAG: return true;
    case CP_OPTION_INT: return set_integer(s, text, status);
    case CP_OPTION_REAL:
        return (read_number(text, strlen(text), &s->real) && within(s->option, s->real)) || refuse(s->option, text, status);
    case CP_OPTION_REALS: return set_list(s, text, status);
    case CP_OPTION_CHOICE: return set_choice(s, text, status);
    case CP_OPTION_TEXT: return *text || cp_fail(status, "--%s: the value is empty", s->option->name);
    }
    return false;
}

/* ---- parsing ---- */

/* Takes the option at words[*at], and its value, which may be the next word. */
static bool take_option(cp_options *options, int count, char *const *words, int *at, cp_status *status) {
    const char *name = words[*at] + 2, *equals = strchr(name, '='), *value = equals ? equals + 1 : NULL;
    size_t      length = equals ? (size_t)(equals - name) : strlen(name);
    setting    *s = find(options, name, length);
    if (!s) return fail_unknown(options, name, length, status);
    if (s->given) return cp_fail(status, "--%s was given twice", s->option->name);
    s->given = true;
    if (s->option->kind == CP_OPTION_FLAG)
        return !value || cp_fail(status, "--%s takes no value, but \"%s\" was given", s->option->name, shown(value).text);
    if (!value && s->option->bare) {
        s->text = "";
        return true;
    }
    if (!value && *at + 1 < count && strncmp(words[*at + 1], "--", 2) != 0) value = words[++*at];
    if (!value)
        return cp_fail(status, "--%s needs a value%s%s", s->option->name, s->option->choices ? ": one of " : "",
                       s->option->choices ? s->option->choices : "");
    return set_value(s, value, status);
}

cp_argument_range cp_command_arguments(const cp_command *command) {
    cp_argument_range range = {0};
    const char       *text = command->arguments ? command->arguments : "";
    int               brackets = 0;
    for (const char *c = text; *c; c++) {
        bool first = *c != ' ' && (c == text || c[-1] == ' ');
        brackets += (*c == '[') - (*c == ']');
        range.min += first && !brackets;
        range.max += first;
    }
    if (strstr(text, "...")) range.max = INT_MAX;
    return range;
}

static bool check_arguments(const cp_options *options, cp_status *status) {
    const cp_command       *c = options->command;
    const cp_argument_range range = cp_command_arguments(c);
    int                     n = options->argument_count;
    const char             *surplus = n > range.max ? options->arguments[range.max] : NULL;
    if (n < range.min)
        return cp_fail(status, "%d argument%s given, %s%d needed: %s", n, n == 1 ? "" : "s",
                       range.max > range.min ? "at least " : "", range.min, c->arguments);
    if (surplus)
        return cp_fail(status, "\"%s\" is one argument too many%s%s", shown(surplus).text,
                       c->arguments ? "; expected " : "; this command takes options only", c->arguments ? c->arguments : "");
    return true;
}

static bool take_words(cp_options *options, int count, char *const *words, const char **arguments, cp_status *status) {
    bool ended = false;
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (!ended && strncmp(word, "--", 2) == 0) {
            if (!take_option(options, count, words, &i, status)) return false;
        } else if (!ended && word[0] == '-' && word[1]) {
            return cp_fail(status, "there is no option %s; options have two dashes", shown(word).text);
        } else {
            arguments[options->argument_count++] = word;
        }
    }
    return true;
}

/* The command's own defaults win over those of the command whose options it passes on. */
static const char *default_of(cp_options *options, const cp_command *command, const cp_option *option) {
    const char *value = command->forwards_to ? default_of(options, command->forwards_to, option) : option->fallback;
    for (const cp_default *d = command->defaults; d && d->when; d++) {
        const setting *when = strcmp(d->option, option->name) == 0 ? find(options, d->when, strlen(d->when)) : NULL;
        if (when && when->text && strcmp(when->text, d->is) == 0) value = d->value;
    }
    return value;
}

static bool set_defaults(cp_options *options, bool check, cp_status *status) {
    for (int i = 0; i < options->count; i++) {
        setting    *s = &options->settings[i];
        const char *value = s->given ? NULL : default_of(options, options->command, s->option);
        if (!s->given && s->option->required && check)
            return cp_fail(status, "--%s %s is required", s->option->name, cp_option_value(s->option).s);
        if (value && !set_value(s, value, status)) return false;
    }
    return true;
}

static bool given(cp_options *options, const char *name) {
    const setting *s = find(options, name, strlen(name));
    return s && s->given;
}

/* Refuses what would be ignored. */
static bool check_alone(const cp_options *options, const cp_option *alone, cp_status *status) {
    if (options->argument_count)
        return cp_fail(status, "--%s cannot be combined with \"%s\"", alone->name, shown(options->arguments[0]).text);
    for (int i = 0; i < options->count; i++) {
        const char *name = options->settings[i].option->name;
        if (options->settings[i].given && strcmp(name, alone->name) != 0 && strcmp(name, "json") != 0)
            return cp_fail(status, "--%s cannot be combined with --%s", alone->name, name);
    }
    return true;
}

static bool check(cp_options *options, cp_status *status) {
    const cp_option *alone = NULL;
    for (int i = 0; i < options->count && !alone; i++)
        if (options->settings[i].given && options->settings[i].option->alone) alone = options->settings[i].option;
    if (options->command->study && given(options, "list") && given(options, "slurm"))
        return cp_fail(status, "--list cannot be combined with --slurm");
    return (alone ? check_alone(options, alone, status) : check_arguments(options, status)) &&
           set_defaults(options, !alone, status);
}

static bool asks_for_help(int count, char *const *words) {
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) return true;
    return false;
}

cp_options *cp_options_parse(const char *program, const cp_command *command, int count, char *const *words, bool *help,
                             cp_status *status) {
    const cp_option *all[CP_OPTIONS_MAX];
    *help = asks_for_help(count, words);
    if (*help) return NULL;
    cp_options  *options = calloc(1, sizeof *options);
    const char **arguments = calloc((size_t)count + 1, sizeof *arguments);
    if (!options || !arguments) {
        free(options);
        free(arguments);
        return cp_null(cp_fail(status, "not enough memory"));
    }
    options->command = command;
    options->called = cp_command_called(program, command);
    options->arguments = arguments;
    options->count = cp_command_options(command, all);
    for (int i = 0; i < options->count; i++) options->settings[i].option = all[i];
    if (take_words(options, count, words, arguments, status) && check(options, status)) return options;
    cp_options_free(options);
    return NULL;
}

void cp_options_free(cp_options *options) {
    if (!options) return;
    for (int i = 0; i < options->count; i++) free(options->settings[i].list);
    free((void *)options->arguments);
    free(options);
}

/* ---- reading ---- */

static const setting *require(cp_at at, const cp_options *options, const char *name, cp_option_kind kind) {
    static const char *const readers[] = {"option_flag",  "option_int",  "option_real",
                                          "option_reals", "option_text", "option_choice"};
    static const setting     none;
    const setting           *s = find((cp_options *)options, name, strlen(name));
    const char              *near = s ? NULL : nearest(options, name);
    if (s && (kind == CP_OPTION_TEXT || s->option->kind == kind)) return s;
    if (s)
        cp_misuse(at, readers[kind], "option \"%s\" of %s is of another kind; read it with cp_%s", name, options->called.s,
                  readers[s->option->kind]);
    else
        cp_misuse(at, readers[kind], "%s has no option \"%s\"%s%s%s", options->called.s, name, near ? "; did you mean \"" : "",
                  near ? near : "", near ? "\"?" : "");
    return &none;
}

bool(cp_option_flag)(cp_at at, const cp_options *options, const char *name) {
    return require(at, options, name, CP_OPTION_FLAG)->given;
}

int64_t(cp_option_int_or)(cp_at at, const cp_options *options, const char *name, int64_t for_word) {
    const setting *s = require(at, options, name, CP_OPTION_INT);
    return s->word ? for_word : s->integer;
}

double(cp_option_real_or)(cp_at at, const cp_options *options, const char *name, double for_word) {
    const setting *s = require(at, options, name, CP_OPTION_REAL);
    return s->word ? for_word : s->text ? s->real : NAN;
}

const char *(cp_option_text)(cp_at at, const cp_options *options, const char *name) {
    return require(at, options, name, CP_OPTION_TEXT)->text;
}

int(cp_option_choice)(cp_at at, const cp_options *options, const char *name) {
    return require(at, options, name, CP_OPTION_CHOICE)->choice;
}

cp_reals(cp_option_reals)(cp_at at, const cp_options *options, const char *name) {
    const setting *s = require(at, options, name, CP_OPTION_REALS);
    return (cp_reals){s->list, s->list_count};
}

bool(cp_option_given)(cp_at at, const cp_options *options, const char *name) {
    return require(at, options, name, CP_OPTION_TEXT)->given;
}

int cp_argument_count(const cp_options *options) { return options->argument_count; }

const char *cp_argument(const cp_options *options, int index) {
    return index >= 0 && index < options->argument_count ? options->arguments[index] : NULL;
}

const char *const *cp_arguments(const cp_options *options) { return options->arguments; }

const cp_command *cp_options_command(const cp_options *options) { return options->command; }

const char *cp_options_called(const cp_options *options) { return options->called.s; }

bool cp_complain(const cp_options *options, const char *format, ...) {
    char    text[2048];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    cp_text_printable(text);
    fprintf(stderr, "%s: %s\n", options->called.s, text);
    return false;
}

int cp_exit_code(const cp_options *options, const cp_status *status) {
    if (!*status->message) return CP_EXIT_OK;
    cp_complain(options, "%s", status->message);
    return CP_EXIT_FAILED;
}

const cp_option *cp_options_at(const cp_options *options, int i) {
    return i >= 0 && i < options->count ? options->settings[i].option : NULL;
}
