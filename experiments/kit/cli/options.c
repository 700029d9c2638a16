/* Commands and their options. */
#include "experiments/kit/cli/options.h"

#include "core/io/bytes.h"
#include "experiments/kit/cli/setting.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 40 };

static const cp_option common[] = {
    {.name = "seed",
     .kind = CP_OPTION_INT,
     .fallback = "1",
     .min = 0,
     .max = 9007199254740991.0,
     .help = "what all random numbers come from: same seed, same result"},
    {.name = "threads",
     .kind = CP_OPTION_INT,
     .fallback = "0",
     .min = 0,
     .max = 256,
     .incidental = true,
     .help = "threads to compute with; 0: as many as the machine has. The result is the same"},
    {.name = "out",
     .kind = CP_OPTION_TEXT,
     .value = "DIR",
     .incidental = true,
     .help = "folder for what the run leaves; default: a new one in runs/"},
    {.name = "quiet", .kind = CP_OPTION_FLAG, .incidental = true, .help = "no progress and no tables"},
    {.name = "json", .kind = CP_OPTION_FLAG, .incidental = true, .help = "print the result as JSON instead of tables"},
    {.name = "report",
     .kind = CP_OPTION_FLAG,
     .incidental = true,
     .help = "also write report.html, with the table and the figures"},
};

/* Of commands that make a study. */
static const cp_option of_studies[] = {
    {.name = "jobs",
     .kind = CP_OPTION_INT,
     .max = 1024,
     .incidental = true,
     .help = "processes that make runs side by side, each with --threads threads; 0: none, tables and figures of what is there"},
    {.name = "list",
     .kind = CP_OPTION_FLAG,
     .incidental = true,
     .help = "print the commands of the runs that are left, one a line, for xargs or GNU parallel"},
    {.name = "slurm",
     .kind = CP_OPTION_TEXT,
     .value = "or --slurm=OPTIONS",
     .bare = true,
     .incidental = true,
     .help = "submit the runs that are left as a Slurm job array, with these options of sbatch"},
    {.name = "status",
     .kind = CP_OPTION_TEXT,
     .value = "DIR",
     .incidental = true,
     .help = "tell how far the study in this folder is; nothing else is needed"},
    {.name = "trial", .kind = CP_OPTION_INT, .max = 1e9, .help = "make this trial alone, from 0 on, as --jobs and --list do"},
};

/* Of those whose trials are always runs of their own. */
static const cp_option out_of_study = {
    .name = "out", .kind = CP_OPTION_TEXT, .value = "DIR", .incidental = true, .help = "folder of the study, new or begun; needed"};

struct cp_options {
    const cp_command  *command;
    cp_called_text     called;
    cp_setting         settings[CP_OPTIONS_MAX];
    int                count;
    const char *const *arguments;
    int                argument_count;
};

/* ---- the table: the command's own options, then the common ones that it has not described itself ---- */

/* Whether a command goes without a common option. One that says in its own words what --out is leaves no run. */
static bool lacks(const cp_command *command, bool own_out, const char *name) {
    size_t length = strlen(name);
    for (const char *word = command->without; word; word = strchr(word, '|')) {
        word += *word == '|';
        if (strncmp(word, name, length) == 0 && (!word[length] || word[length] == '|')) return true;
    }
    return own_out && strcmp(name, "report") == 0;
}

typedef struct option_list {
    const cp_option **at;
    int               count;
} option_list;

static void add(option_list *list, const cp_option *option) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->at[i]->name, option->name) == 0) return; /* described already, in other words */
    if (list->count < CP_OPTIONS_MAX) list->at[list->count++] = option;
}

int cp_command_own_options(const cp_command *command, const cp_option **all) {
    option_list list = {all, 0};
    bool        own_out = false;
    for (const cp_option *o = command->options; o && o->name; o++) {
        own_out = own_out || strcmp(o->name, "out") == 0;
        add(&list, o);
    }
    for (size_t i = 0; command->study && i < sizeof of_studies / sizeof *of_studies; i++)
        if (!lacks(command, own_out, of_studies[i].name)) add(&list, &of_studies[i]);
    if (command->study && command->hands_on) add(&list, &out_of_study);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!lacks(command, own_out, common[i].name)) add(&list, &common[i]);
    return list.count;
}

int cp_command_options(const cp_command *command, const cp_option **all) {
    option_list list = {all, cp_command_own_options(command, all)};
    for (const cp_option *o = command->hands_on ? command->hands_on->options : NULL; o && o->name; o++)
        if (!lacks(command, false, o->name)) add(&list, o);
    return list.count;
}

cp_called_text cp_command_called(const char *program, const cp_command *command) {
    cp_called_text text;
    snprintf(text.s, sizeof text.s, "%s%s%s", program ? program : "", program ? " " : "", command->name);
    return text;
}

static cp_setting *find(cp_options *options, const char *name, size_t length) {
    for (int i = 0; i < options->count; i++) {
        const char *own = options->settings[i].option->name;
        if (strncmp(own, name, length) == 0 && own[length] == '\0') return &options->settings[i];
    }
    return NULL;
}

static bool fail_unknown(const cp_options *options, const char *name, size_t length, cp_status *status) {
    const char *names[CP_OPTIONS_MAX + 1];
    char        word[WORD_MAX + 1];
    for (int i = 0; i < options->count; i++) names[i] = options->settings[i].option->name;
    names[options->count] = "help";
    snprintf(word, sizeof word, "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX), name);
    const char *near = cp_nearest_word(word, names, options->count + 1);
    return cp_fail(status, "there is no option --%s%s%s%s", cp_shown(name, length).text, near ? "; did you mean --" : "",
                   near ? near : "", near ? "?" : "");
}

/* ---- parsing ---- */

/* Takes the option at words[*at], and its value, which may be the next word. */
static bool take_option(cp_options *options, int count, char *const *words, int *at, cp_status *status) {
    const char *name = words[*at] + 2, *equals = strchr(name, '='), *value = equals ? equals + 1 : NULL;
    size_t      length = equals ? (size_t)(equals - name) : strlen(name);
    cp_setting *s = find(options, name, length);
    if (!s) return fail_unknown(options, name, length, status);
    if (s->given) return cp_fail(status, "--%s was given twice", s->option->name);
    s->given = true;
    if (s->option->kind == CP_OPTION_FLAG)
        return !value ||
               cp_fail(status, "--%s takes no value, but \"%s\" was given", s->option->name, cp_shown(value, strlen(value)).text);
    if (!value && s->option->bare) {
        s->text = "";
        return true;
    }
    if (!value && *at + 1 < count && strncmp(words[*at + 1], "--", 2) != 0) value = words[++*at];
    if (!value)
        return cp_fail(status, "--%s needs a value%s%s", s->option->name, s->option->choices ? ": one of " : "",
                       s->option->choices ? s->option->choices : "");
    return cp_setting_set(s, value, status);
}

static bool check_arguments(const cp_options *options, cp_status *status) {
    const cp_command *c = options->command;
    int               n = options->argument_count;
    const char       *surplus = n > c->max_arguments ? options->arguments[c->max_arguments] : NULL;
    if (n < c->min_arguments)
        return cp_fail(status, "%d argument%s given, %s%d needed: %s", n, n == 1 ? "" : "s",
                       c->max_arguments > c->min_arguments ? "at least " : "", c->min_arguments, c->arguments);
    if (surplus)
        return cp_fail(status, "\"%s\" is one argument too many%s%s", cp_shown(surplus, strlen(surplus)).text,
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
            return cp_fail(status, "there is no option %s; options have two dashes", cp_shown(word, strlen(word)).text);
        } else {
            arguments[options->argument_count++] = word;
        }
    }
    options->arguments = arguments;
    return check_arguments(options, status);
}

static const char *default_of(cp_options *options, const cp_option *option) {
    const char *value = option->fallback;
    for (const cp_default *d = options->command->defaults; d && d->when; d++) {
        const cp_setting *when = strcmp(d->option, option->name) == 0 ? find(options, d->when, strlen(d->when)) : NULL;
        if (when && when->text && strcmp(when->text, d->is) == 0) value = d->value;
    }
    return value;
}

static bool set_defaults(cp_options *options, cp_status *status) {
    for (int i = 0; i < options->count; i++) {
        cp_setting *s = &options->settings[i];
        const char *value = s->given ? NULL : default_of(options, s->option);
        if (!s->given && s->option->required)
            return cp_fail(status, "--%s %s is needed", s->option->name, cp_option_value_word(s->option));
        if (value && !cp_setting_set(s, value, status)) return false;
    }
    return true;
}

static bool given(cp_options *options, const char *name) {
    const cp_setting *s = find(options, name, strlen(name));
    return s && s->given;
}

/* Of a study's options, those that would be passed over beside another are refused. */
static bool check_study(cp_options *options, cp_status *status) {
    bool study = options->command->study, only_status = study && given(options, "status");
    if (study && given(options, "list") && given(options, "slurm")) return cp_fail(status, "--list does not go with --slurm");
    if (only_status && options->argument_count)
        return cp_fail(status, "--status DIR does not go with \"%.60s\"", options->arguments[0]);
    for (int i = 0; only_status && i < options->count; i++) {
        const char *name = options->settings[i].option->name;
        if (options->settings[i].given && strcmp(name, "status") != 0 && strcmp(name, "json") != 0)
            return cp_fail(status, "--status DIR does not go with --%s", name);
    }
    return true;
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
        cp_fail(status, "not enough memory");
        return NULL;
    }
    options->command = command;
    options->called = cp_command_called(program, command);
    options->arguments = arguments;
    options->count = cp_command_options(command, all);
    for (int i = 0; i < options->count; i++) options->settings[i].option = all[i];
    if (take_words(options, count, words, arguments, status) && set_defaults(options, status) && check_study(options, status))
        return options;
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

static const cp_setting *require(const cp_options *options, const char *name, cp_option_kind kind) {
    static const cp_setting none;
    const cp_setting       *s = find((cp_options *)options, name, strlen(name));
    bool                    spelled = kind == CP_OPTION_TEXT; /* any option can be had as it was written */
    if (s && (spelled || s->option->kind == kind)) return s;
    cp_misuse((cp_at){0}, "option", "the command \"%s\" has no option \"%s\" of that kind", options->called.s, name);
    return &none;
}

bool cp_option_flag(const cp_options *options, const char *name) {
    return require(options, name, CP_OPTION_FLAG)->given;
}

int64_t cp_option_int(const cp_options *options, const char *name) {
    return require(options, name, CP_OPTION_INT)->integer;
}

double cp_option_real(const cp_options *options, const char *name) {
    return require(options, name, CP_OPTION_REAL)->real;
}

const char *cp_option_text(const cp_options *options, const char *name) {
    return require(options, name, CP_OPTION_TEXT)->text;
}

int cp_option_choice(const cp_options *options, const char *name) {
    return require(options, name, CP_OPTION_CHOICE)->choice;
}

cp_reals cp_option_reals(const cp_options *options, const char *name) {
    const cp_setting *s = require(options, name, CP_OPTION_REALS);
    return (cp_reals){s->list, s->list_count};
}

bool cp_option_given(const cp_options *options, const char *name) {
    return require(options, name, CP_OPTION_TEXT)->given;
}

int cp_argument_count(const cp_options *options) {
    return options->argument_count;
}

const char *cp_argument(const cp_options *options, int index) {
    return index >= 0 && index < options->argument_count ? options->arguments[index] : NULL;
}

const cp_command *cp_options_command(const cp_options *options) {
    return options->command;
}

const char *cp_options_called(const cp_options *options) {
    return options->called.s;
}

void cp_complain(const cp_options *options, const char *format, ...) {
    va_list values;
    fprintf(stderr, "%s: ", options->called.s);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
}

const cp_option *cp_options_at(const cp_options *options, int i) {
    return i >= 0 && i < options->count ? options->settings[i].option : NULL;
}
