/* couplet study: the paper's table and figures, from many trainings. Everything is read and checked before anything runs. */
#include "experiments/study/image_study.h"

#include "core/io/file.h"
#include "experiments/commands.h"
#include "experiments/kit/train/rank.h"
#include "experiments/kit/train/train.h"
#include "experiments/study/paper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "labels", .kind = CP_OPTION_TEXT, .value = "N,N,...", .fallback = "1,10",
     .help = "labeled training images per class: numbers and ranges"},
    {.name = "methods", .kind = CP_OPTION_TEXT, .value = "METHOD,METHOD,...", .fallback = "softmax,jem,hybrid",
     .help = "methods of couplet train to compare"},
    {.name = "seeds", .kind = CP_OPTION_TEXT, .value = "N-N,N,...", .fallback = "0-9",
     .help = "seeds, each of one training, which draw the labels: 0-9, or 3,7,10-12"},
    {.name = "sweep", .kind = CP_OPTION_TEXT, .value = "OPTION=X,X,...",
     .help = "values of an option of train, each a case of its own: lambda=0,0.01,0.1,1,10,100"},
    {.name = "active", .kind = CP_OPTION_TEXT, .value = "RULE,RULE,...",
     .help = "simulate what to label next by these rules of couplet rank: the first of --labels are drawn, and the run before chooses the others"},
    {.name = "split", .kind = CP_OPTION_CHOICE, .choices = "test|validation", .fallback = "test",
     .help = "split shown in tables and figures; choose settings by the validation split"},
    {.name = "samples", .kind = CP_OPTION_INT, .fallback = "10", .min = 0, .max = 100, .unit = "images", .incidental = true,
     .help = "samples per class, drawn from the first run of every generative case; 0: none"},
    {0}};
/* clang-format on */

enum { NUMBERS_MAX = 10000, CASES_MAX = 10000, RUNS_MAX = 100000 };

/* ---- lists ---- */

static bool read_whole(const char **at, int64_t *value) {
    char *end;
    errno = 0;
    if (**at < '0' || **at > '9') return false;
    long long number = strtoll(*at, &end, 10);
    *value = number;
    *at = end;
    return errno == 0 && number <= 9007199254740991LL;
}

static bool is_among(const int64_t *list, int count, int64_t number) {
    for (int i = 0; i < count; i++)
        if (list[i] == number) return true;
    return false;
}

/* "0-9", "3,7,10-12": each once. */
static bool read_numbers(const char *option, const char *text, int64_t min, int64_t **list, int *count, cp_status *status) {
    *list = malloc(NUMBERS_MAX * sizeof **list);
    if (!*list) return cp_fail(status, "not enough memory");
    for (const char *at = text;;) {
        int64_t first, last;
        bool    ok = read_whole(&at, &first);
        last = first;
        if (ok && *at == '-') at++, ok = read_whole(&at, &last);
        if (!ok || (*at && *at != ',') || first < min)
            return cp_fail(status,
                           "--%s: \"%.60s\" is not valid; expected whole numbers from %lld on and ranges: %lld-9 or 3,7,10-12",
                           option, text, (long long)min, (long long)min);
        if (last < first) return cp_fail(status, "--%s: %lld-%lld runs backward", option, (long long)first, (long long)last);
        for (int64_t n = first; n <= last; n++) {
            if (*count == NUMBERS_MAX) return cp_fail(status, "--%s: more than %d numbers", option, NUMBERS_MAX);
            if (is_among(*list, *count, n)) return cp_fail(status, "--%s: %lld appears twice", option, (long long)n);
            (*list)[(*count)++] = n;
        }
        if (!*at++) return true;
    }
}

static bool read_words(const char *option, const char *text, cp_words *words, cp_status *status) {
    for (;; text++) {
        size_t length = strcspn(text, ",");
        if (!length) return cp_fail(status, "--%s: a value is missing before, after or between commas", option);
        for (int i = 0; i < words->count; i++)
            if (strncmp(words->at[i], text, length) == 0 && !words->at[i][length])
                return cp_fail(status, "--%s: %.40s appears twice", option, words->at[i]);
        cp_words_add(words, "%.*s", (int)length, text);
        text += length;
        if (!*text) return !words->failed || cp_fail(status, "not enough memory");
    }
}

static bool read_methods(cp_image_study *s, const char *text, cp_status *status) {
    cp_words words = {0};
    bool     ok = read_words("methods", text, &words, status);
    for (int i = 0; ok && i < words.count; i++) { /* as many as there are: none appears twice */
        s->methods[s->method_count++] = cp_method_find(words.at[i]);
        if (!s->methods[i])
            ok = cp_fail(status, "--methods: \"%s\" is not one of %s", cp_shown(words.at[i], strlen(words.at[i])).text,
                         CP_METHOD_CHOICES);
    }
    cp_words_free(&words);
    return ok;
}

/* An option of train that the study does not have itself, and that one of the methods reads. */
static bool can_be_swept(const cp_image_study *s, cp_status *status) {
    const char *names[CP_OPTIONS_MAX];
    size_t      length = strlen(s->swept);
    int         count = 0, reading = 0, at = 0;
    bool        known = false;
    for (const cp_option *own = cp_options_command(s->options)->options; own->name; own++)
        if (strncmp(own->name, s->swept, length) == 0 && (!own->name[length] || strcmp(own->name + length, "s") == 0))
            return cp_fail(status, "--sweep: for %s there is --%s %s", s->swept, own->name, cp_option_value(own).s);
    for (const cp_option *o = cp_command_train.options; o->name && count < CP_OPTIONS_MAX; o++) {
        known = known || strcmp(o->name, s->swept) == 0;
        names[count++] = o->name;
    }
    for (const cp_option *o; !known && (o = cp_options_at(s->options, at)); at++)
        if (strcmp(o->name, s->swept) == 0) return cp_fail(status, "--sweep: --%s does not change what is trained", s->swept);
    const char *near = known ? NULL : cp_nearest_word(s->swept, names, count);
    if (!known)
        return cp_fail(status, "--sweep: couplet train has no option --%s%s%s%s", s->swept, near ? "; did you mean " : "",
                       near ? near : "", near ? "?" : "");
    for (int m = 0; m < s->method_count; m++) reading += cp_method_reads(s->methods[m], s->swept);
    return reading ||
           cp_fail(status, "--sweep: no method of --methods %s reads --%s", cp_option_text(s->options, "methods"), s->swept);
}

/* "random,entropy" */
static bool read_rules(cp_image_study *s, const char *text, cp_status *status) {
    if (!read_words("active", text, &s->values, status)) return false;
    s->active = true;
    snprintf(s->swept, sizeof s->swept, "rule");
    for (int i = 0; i < s->values.count; i++) {
        int by = cp_choice_find(CP_RANK_CHOICES, s->values.at[i]);
        if (by < 0)
            return cp_fail(status, "--active: \"%s\" is not one of %s", cp_shown(s->values.at[i], strlen(s->values.at[i])).text,
                           CP_RANK_CHOICES);
        for (int m = 0; m < s->method_count; m++)
            if ((by == CP_RANK_DENSITY || by == CP_RANK_MIXED) && !s->methods[m]->samples)
                return cp_fail(status, "--active: %s needs a density, and %s has none; leave one of them out", s->values.at[i],
                               s->methods[m]->name);
    }
    for (int l = 1; l < s->label_count; l++)
        if (s->labels[l] < s->labels[l - 1]) return cp_fail(status, "--labels: with --active, numbers must ascend");
    if (cp_option_given(s->options, "list") || cp_option_given(s->options, "slurm"))
        return cp_fail(status, "--active cannot be combined with --list or --slurm: its runs follow one another");
    return s->label_count > 1 || cp_fail(status, "--labels: --active needs several numbers, such as 1,3,7");
}

/* "lambda=0,0.1,1" */
static bool read_sweep(cp_image_study *s, cp_status *status) {
    const char *text = cp_option_text(s->options, "sweep"), *equals = text ? strchr(text, '=') : NULL;
    const char *rules = cp_option_text(s->options, "active");
    if (rules && text) return cp_fail(status, "--active and --sweep cannot be combined");
    if (rules) return read_rules(s, rules, status);
    if (!text) {
        cp_words_add(&s->values, "%s", "");
        return !s->values.failed || cp_fail(status, "not enough memory");
    }
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof s->swept)
        return cp_fail(status, "--sweep: \"%.60s\" is not valid; expected an option of train and its values: lambda=0,0.1,1", text);
    snprintf(s->swept, sizeof s->swept, "%.*s", (int)(equals - text), text);
    if (!can_be_swept(s, status)) return false;
    if (cp_option_given(s->options, s->swept)) return cp_fail(status, "--%s is swept, and given as well", s->swept);
    return read_words("sweep", equals + 1, &s->values, status);
}

/* ---- sets ---- */

/* Its name in runs and tables. */
static void name_set(cp_study_set *set, const char *name, bool official) {
    const char *paper = cp_paper_set(name);
    if (name != set->name) snprintf(set->name, sizeof set->name, "%s", name);
    if (!paper)
        snprintf(set->title, sizeof set->title, "%s", name);
    else
        snprintf(set->title, sizeof set->title, "%s%s", paper,
                 official                  ? ""
                 : strstr(name, "rebuilt") ? " (rebuilt)"
                                           : " (not official)");
}

static void name_by_path(cp_study_set *set) {
    char        name[sizeof set->name];
    const char *slash = strrchr(set->path, '/'), *base = slash ? slash + 1 : set->path;
    size_t      length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".npz") == 0) length -= 4;
    snprintf(name, sizeof name, "%.*s", (int)length, base);
    name_set(set, name, false);
}

/* Whether the study has results of a set whose file is missing; these also say whether it was an official file. */
static bool find_results(const cp_image_study *s, cp_study_set *set) {
    cp_words names = s->stored ? cp_runs_stored(s->stored) : (cp_words){0};
    bool     found = false;
    for (int i = 0; !found && i < names.count; i++) {
        cp_json       *result = cp_runs_read(s->stored, names.at[i], CP_RUN_RESULT);
        const cp_json *data = cp_json_get(result, "data");
        found = strcmp(cp_json_string(cp_json_get(data, "name"), ""), set->name) == 0;
        if (found) name_set(set, set->name, cp_json_bool(cp_json_get(data, "official"), false));
        cp_json_free(result);
    }
    cp_words_free(&names);
    return found;
}

static cp_images *load(const char *path, cp_status *status) {
    if (strcmp(path, "phantom") != 0 && access(path, F_OK) != 0) return cp_null(cp_fail(status, "%.300s is missing", path));
    return cp_images_load(path, status);
}

/* ---- cases ---- */

int cp_image_study_case(const cp_image_study *s, const cp_study_set *set, int64_t labels, const char *value,
                        const cp_method *method) {
    for (int i = 0; i < s->case_count; i++) {
        const cp_study_case *c = &s->of[i];
        if (c->set == set && c->labels == labels && c->method == method && (!*c->value || strcmp(c->value, value) == 0)) return i;
    }
    return -1;
}

static void add_case(cp_image_study *s, const cp_study_set *set, int l, const char *value, const cp_method *method) {
    cp_study_case *c = &s->of[s->case_count];
    int            after = s->active && l ? cp_image_study_case(s, set, s->labels[l - 1], value, method) + 1 : 0, used;
    *c = (cp_study_case){.study = s, .set = set, .labels = s->labels[l], .method = method, .value = value};
    used = snprintf(c->name, sizeof c->name, "%s-%lld-%s%s%s%s%s", set->name, (long long)c->labels, method->name, *value ? "-" : "",
                    *value ? s->swept : "", *value ? "=" : "", value);
    for (int i = 0; after && i < l && used < (int)sizeof c->name; i++) /* what it follows is part of what it is */
        used += snprintf(c->name + used, sizeof c->name - (size_t)used, "%s%lld", i ? "-" : "-after-", (long long)s->labels[i]);
    s->cases[s->case_count++] = (cp_case){.name = c->name, .data = c, .without_data = set->missing, .after = after};
}

bool cp_image_study_has_values(const cp_image_study *s, int l, const cp_method *method) {
    return s->active ? l > 0 : cp_method_reads(method, s->swept);
}

/* One case per value, except for a method that does not read the option: all its values would be the same training. */
static bool make_cases(cp_image_study *s, cp_status *status) {
    double count = (double)s->set_count * s->label_count * s->values.count * s->method_count;
    if (count * s->seed_count > RUNS_MAX || count > CASES_MAX)
        return cp_fail(status, "this would be %.0f runs of %.0f cases; a study has at most %d of %d", count * s->seed_count, count,
                       RUNS_MAX, CASES_MAX);
    s->of = calloc((size_t)count + 1, sizeof *s->of);
    s->cases = calloc((size_t)count + 1, sizeof *s->cases);
    if (!s->of || !s->cases) return cp_fail(status, "not enough memory for %.0f cases", count);
    for (int i = 0; i < s->set_count; i++)
        for (int l = 0; l < s->label_count; l++)
            for (int v = 0; v < s->values.count; v++)
                for (int m = 0; m < s->method_count; m++) {
                    const cp_method *method = s->methods[m];
                    bool             reads = cp_image_study_has_values(s, l, method);
                    if (reads || v == 0) add_case(s, &s->sets[i], l, reads ? s->values.at[v] : "", method);
                }
    return true;
}

void cp_image_study_settings(const cp_image_study *s, cp_words *words) {
    for (const cp_option *o = cp_command_train.options; o->name; o++) {
        bool own = strcmp(o->name, "method") == 0 || strcmp(o->name, "labels") == 0; /* the study has lists of these */
        if (!own && cp_option_given(s->options, o->name)) cp_words_add_option(words, s->options, o);
    }
}

static cp_file_path rows_path(const cp_trial *trial) {
    const cp_study_case  *c = trial->study_case->data;
    const cp_image_study *s = c->study;
    char                  name[240];
    snprintf(name, sizeof name, "rows/%s-%lld.csv", c->name, (long long)s->seeds[trial->repeat]);
    return cp_folder_path(s->stored->folder, name);
}

static void put_words(const cp_trial *trial, cp_words *words) {
    const cp_study_case  *c = trial->study_case->data;
    const cp_image_study *s = c->study;
    cp_words_add(words, "%s", c->set->path);
    cp_words_add(words, "--method=%s", c->method->name);
    if (s->active && *c->value)
        cp_words_add(words, "--labeled-rows=%s", rows_path(trial).s);
    else
        cp_words_add(words, "--labels=%lld", (long long)c->labels);
    cp_words_add(words, "--seed=%lld", (long long)s->seeds[trial->repeat]);
    if (*c->value && !s->active) cp_words_add(words, "--%s=%s", s->swept, c->value);
    cp_image_study_settings(s, words);
}

/* ---- what to label next ---- */

/* The rows of the run before, and those that it ranks first; only rows whose label is known can be labeled here. */
static bool choose(const cp_study_case *c, const cp_run_model *trained, const cp_images *images, uint64_t seed, FILE *file,
                   cp_status *status) {
    const cp_json *labeled = cp_json_get(trained->found, "labeled");
    const int     *labels = images->set->splits[CP_IMAGES_TRAIN].labels;
    int64_t        wanted = c->labels * images->classes - (int64_t)(labeled ? labeled->count : 0);
    int            count;
    cp_rank_row *rows = cp_rank_split(trained, images, CP_IMAGES_TRAIN, (cp_rank_by)cp_choice_find(CP_RANK_CHOICES, c->value), seed,
                                      &count, status);
    if (!rows) return false;
    fputs("row\n", file);
    for (const cp_json *n = labeled ? labeled->first : NULL; n; n = n->next) fprintf(file, "%d\n", (int)cp_json_integer(n, 0));
    for (int i = 0; wanted > 0 && i < count; i++)
        if (labels[rows[i].row] >= 0) wanted--, fprintf(file, "%d\n", rows[i].row);
    free(rows);
    return wanted <= 0 || cp_fail(status, "%s has %lld labeled rows too few", c->set->name, (long long)wanted);
}

static bool write_rows(const cp_trial *trial, const char *before, cp_status *status) {
    const cp_study_case *c = trial->study_case->data;
    char                *text = NULL;
    size_t               size = 0;
    FILE                *file = open_memstream(&text, &size);
    cp_run_model        *trained = cp_run_model_open(before, CP_WEIGHTS_SELECTED, status);
    cp_images           *images = trained ? cp_run_model_load(trained, c->set->path, status) : NULL;
    bool                 ok = images && file && choose(c, trained, images, (uint64_t)c->study->seeds[trial->repeat], file, status);
    ok = file && fclose(file) == 0 && ok && cp_folder_make(cp_folder_path(c->study->stored->folder, "rows").s, status) &&
         cp_file_write(rows_path(trial).s, text, size, status);
    free(text);
    cp_images_free(images);
    cp_run_model_free(trained);
    return ok || cp_fail(status, "not enough memory");
}

/* ---- all of it ---- */

/* Checks the case for the first seed as couplet train does. */
static int check_case(const cp_image_study *s, const cp_case *of, cp_images *images) {
    cp_status status = {0};
    cp_words  words = {0};
    bool      help;
    put_words(&(cp_trial){.study_case = of}, &words);
    if (words.failed) cp_fail(&status, "not enough memory");
    cp_options *o = words.failed ? NULL : cp_options_parse("couplet", &cp_command_train, words.count, words.at, &help, &status);
    int         code = o ? cp_train_read(o, images, &(cp_trainer_config){0}) : CP_EXIT_USAGE;
    if (!o) cp_complain(s->options, "%s", status.message);
    if (code != CP_EXIT_OK && *s->swept && !s->active) cp_complain(s->options, "this was for %s of --sweep", of->name);
    cp_options_free(o);
    cp_words_free(&words);
    return code;
}

static bool read_lists(cp_image_study *s, cp_status *status) {
    const cp_options *o = s->options;
    return read_numbers("labels", cp_option_text(o, "labels"), 1, &s->labels, &s->label_count, status) &&
           read_numbers("seeds", cp_option_text(o, "seeds"), 0, &s->seeds, &s->seed_count, status) &&
           read_methods(s, cp_option_text(o, "methods"), status) && read_sweep(s, status);
}

static bool has_rows(const cp_image_study *s, const cp_images *images, cp_status *status) {
    const cp_split *train = &images->set->splits[CP_IMAGES_TRAIN];
    int64_t         wanted = s->labels[s->label_count - 1] * images->classes;
    int             labeled = 0;
    for (int i = 0; i < train->count; i++) labeled += train->labels[i] >= 0;
    return wanted <= labeled ||
           cp_fail(status, "--labels: %lld in %d classes are %lld images; %s has %d training images with a label",
                   (long long)s->labels[s->label_count - 1], images->classes, (long long)wanted, images->name, labeled);
}

/* Reads the file for its name and md5, and for the checks of train. */
static bool add_set(cp_image_study *s, const char *path, cp_status *status) {
    cp_status     missing = {0};
    cp_study_set *set = &s->sets[s->set_count];
    cp_images    *images = load(path, &missing);
    *set = (cp_study_set){.path = path, .images = images, .missing = !images};
    name_by_path(set);
    if (set->missing) {
        bool found = find_results(s, set);
        s->left_out += !found;
        fprintf(stderr, "%s; %s\n", missing.message, found ? "its finished runs are used" : "it is left out");
        if (!found) return true;
    } else {
        name_set(set, images->name, images->official);
        set->rows = images->mean != NULL;
        snprintf(set->md5, sizeof set->md5, "%s", images->md5);
        if (s->active && !has_rows(s, images, status)) return cp_images_free(images), false;
    }
    for (int i = 0; i < s->set_count; i++)
        if (strcmp(s->sets[i].name, set->name) == 0) {
            cp_images_free(images);
            return cp_fail(status, "%.200s and %.200s are both called %s; rename one of them", s->sets[i].path, path, set->name);
        }
    s->set_count++;
    return true;
}

/* Copies of a set with different splits, say, would all be "Blood (rebuilt)". */
static void make_titles_differ(cp_image_study *s) {
    for (int i = 0; i < s->set_count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(s->sets[i].title, s->sets[k].title) == 0) s->sets[i].shares_title = s->sets[k].shares_title = true;
    for (cp_study_set *set = s->sets; set < s->sets + s->set_count; set++) {
        const char *paper = cp_paper_set(set->name);
        if (paper && set->shares_title) snprintf(set->title, sizeof set->title, "%s (%s)", paper, set->name);
        cp_text_printable(set->title);
    }
}

/* Returns an exit code; what is wrong is in the status, or has been printed. */
static int read_plan(cp_image_study *s, cp_status *status) {
    const char *out = cp_option_text(s->options, "out");
    int         count = cp_argument_count(s->options), code = CP_EXIT_OK;
    if (!read_lists(s, status)) return CP_EXIT_USAGE;
    if (out && !(s->stored = cp_runs_open(out, status))) return CP_EXIT_FAILED;
    s->measures = cp_image_study_measures(s->split);
    s->sets = calloc((size_t)count + 1, sizeof *s->sets);
    if (!s->sets || !s->measures) return cp_fail(status, "not enough memory"), CP_EXIT_FAILED;
    for (int i = 0; i < count; i++)
        if (!add_set(s, cp_argument(s->options, i), status)) return CP_EXIT_USAGE;
    make_titles_differ(s);
    if (!s->set_count) return cp_fail(status, "none of the files can be read, so nothing is left to do"), CP_EXIT_FAILED;
    if (!make_cases(s, status)) return CP_EXIT_FAILED;
    for (int i = 0; code == CP_EXIT_OK && i < s->case_count; i++)
        if (!s->of[i].set->missing && !s->cases[i].after) code = check_case(s, &s->cases[i], s->of[i].set->images);
    return code;
}

static int plan(cp_image_study *s, const cp_options *o) {
    cp_status status = {0};
    *s = (cp_image_study){.options = o, .split = cp_option_choice(o, "split") ? "validation" : "test"};
    int code = read_plan(s, &status);
    if (status.message[0]) cp_complain(o, "%s", status.message);
    for (cp_study_set *set = s->sets; set && set < s->sets + s->set_count; set++) {
        cp_images_free(set->images);
        set->images = NULL; /* they were for the checks */
    }
    return code;
}

static void free_study(cp_image_study *s) {
    cp_runs_free(s->stored);
    cp_words_free(&s->values);
    free(s->sets);
    free(s->measures);
    free(s->labels);
    free(s->seeds);
    free(s->of);
    free(s->cases);
}

/* ---- the command ---- */

static int run_planned(cp_image_study *s) {
    cp_trials_config config = {.cases = s->cases,
                               .measures = s->measures,
                               .repeats = s->seed_count,
                               .command = &cp_command_train,
                               .words = put_words,
                               .read = cp_image_study_read,
                               .prepare = write_rows,
                               .numbers = s->seeds};
    s->study = cp_study_new(s->options, "Few labels: accuracy and calibration by method", config);
    if (cp_study_run(s->study) && cp_image_study_draw(s)) {
        cp_image_study_sample(s);
        cp_image_study_write(s, &s->study->run->status);
    }
    return cp_study_close(s->study);
}

static int run_study(const cp_options *o) {
    cp_image_study s;
    int            code = plan(&s, o);
    if (code == CP_EXIT_OK) code = run_planned(&s);
    if (code == CP_EXIT_OK && s.left_out) code = CP_EXIT_FAILED;
    free_study(&s);
    return code;
}

const cp_command cp_command_study = {
    .name = "study",
    .purpose = "make the paper's table and figures from many trainings, run here or on a cluster",
    .arguments = "DATA...",
    .details = "DATA are npz files in MedMNIST's layout, or phantom, a built-in set to try it with. Trains with every method, "
               "number of labels and seed on every set, each run in a folder of its own in DIR/runs, and reports mean and standard "
               "deviation of accuracy, balanced accuracy, AUC and ECE, next to the paper's if it has the set, differences to "
               "softmax with a sign test, box plots, reliability diagrams and samples. Finished runs are not repeated; several "
               "processes and machines may work on one DIR. If the study is stopped at any moment, the same command continues it.",
    .example = "bloodmnist.npz pneumoniamnist.npz --labels 1,10 --seeds 0-9 --out studies/table --report",
    .options = options,
    .without = "seed|method|trial",
    .first_words = "phantom",
    .study = true,
    .forwards_to = &cp_command_train,
    .run = run_study,
};
