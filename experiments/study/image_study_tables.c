/* couplet study: the tables, also as text, CSV and LaTeX. */
#include "experiments/study/image_study.h"
#include "experiments/study/paper.h"

#include "core/io/file.h"
#include "experiments/kit/metrics/paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- measures: those of both splits, of three kinds of weights ---- */

#define RATES(prefix, by, secondary)                                                                                               \
    {prefix "accuracy", "accuracy" by ", %", 2, secondary},                                                                        \
        {prefix "balanced_accuracy", "balanced accuracy" by ", %", 2, secondary}, {                                                \
        prefix "auc", "AUC" by, 3, secondary                                                                                       \
    }
#define OF_VIEW(prefix)                                                                                                            \
    RATES(prefix, "", false), {prefix "ece", "ECE, %", 2, false}, { prefix "nll", "NLL", 3, false }
#define BY_PATIENT(prefix) RATES(prefix "patient_", " by patient", true) /* NaN: none are known */
#define OF_SPLIT(split) OF_VIEW(split "_end_"), OF_VIEW(split "_selected_"), OF_VIEW(split "_scaled_")

static const cp_measure all_measures[] = {
    OF_SPLIT("test"),
    OF_SPLIT("validation"),
    {"selected_step", "selected step", 0, false},
    {"temperature", "temperature", 2, false},
    {"guard_events", "guard events", 1, false},
    {"rollbacks", "rollbacks", 1, false},
    BY_PATIENT("test_end_"),
    BY_PATIENT("test_selected_"),
    BY_PATIENT("validation_end_"),
    BY_PATIENT("validation_selected_"),
    {0},
};

cp_measure *cp_image_study_measures(const char *split) {
    cp_measure *measures = malloc(sizeof all_measures);
    if (measures) memcpy(measures, all_measures, sizeof all_measures);
    for (cp_measure *m = measures; m && m->name; m++) m->secondary = m->secondary || strncmp(m->name, split, strlen(split)) != 0;
    return measures;
}

cp_text cp_image_study_measure(const cp_image_study *s, const char *view, const char *metric) {
    cp_text name;
    snprintf(name.s, sizeof name.s, "%s_%s_%s", s->split, view, metric);
    return name;
}

void cp_image_study_read(cp_trial *trial, const cp_json *result) {
    const cp_study_case *c = trial->study_case->data;
    const cp_json       *guard = cp_json_get(result, "guard");
    const char          *md5 = cp_json_string(cp_json_get(cp_json_get(result, "data"), "md5"), "");
    char                 split[16], view[16], metric[32];
    if (!c->set->missing && strcmp(md5, c->set->md5) != 0) {
        cp_fail(&trial->status, "its data were another file than this %s; give another --out, or remove the folder", c->set->name);
        return;
    }
    for (const cp_measure *m = all_measures; m->name; m++)
        if (sscanf(m->name, "%15[a-z]_%15[a-z]_%31[a-z_]", split, view, metric) == 3) {
            const cp_json *found = cp_json_get(cp_json_get(result, split), view);
            bool           by_patient = strncmp(metric, "patient_", 8) == 0;
            if (by_patient) found = cp_json_get(found, "by_patient");
            cp_trial_put(trial, m->name, cp_json_number(cp_json_get(found, metric + 8 * by_patient), NAN));
        }
    cp_trial_put(trial, "selected_step", cp_json_number(cp_json_get(result, "selected_step"), NAN));
    cp_trial_put(trial, "temperature", cp_json_number(cp_json_get(result, "temperature"), NAN));
    cp_trial_put(trial, "guard_events", cp_json_number(cp_json_get(guard, "events"), NAN));
    cp_trial_put(trial, "rollbacks", cp_json_number(cp_json_get(guard, "rollbacks"), NAN));
}

/* ---- the tables ---- */

static const cp_paper_cell *paper_of(const cp_image_study *s, int i) {
    const cp_study_case *c = &s->of[i];
    return *s->swept || strcmp(s->split, "test") != 0 ? NULL : cp_paper_find(c->set->name, c->labels, c->method);
}

typedef struct column {
    const char *title, *view, *metric; /* view: NULL where it has none; title: of differences, the metric's */
    int         decimals;
    enum { OURS, PAPERS, DIFFERENCE } kind;
} column;

enum { TABLES = 5 };
static const struct {
    const char *key; /* in result.json */
    column      columns[8];
} layouts[TABLES] = {{"table",
                      {{"accuracy, % (end)", "end", "accuracy", 2, OURS},
                       {"paper's", "end", "accuracy", 2, PAPERS},
                       {"balanced, % (end)", "end", "balanced_accuracy", 2, OURS},
                       {"AUC (end)", "end", "auc", 3, OURS},
                       {"ECE, % (end)", "end", "ece", 2, OURS},
                       {"paper's", "end", "ece", 2, PAPERS}}},
                     {"selected",
                      {{"accuracy, % (selected)", "selected", "accuracy", 2, OURS},
                       {"balanced, % (selected)", "selected", "balanced_accuracy", 2, OURS},
                       {"AUC (selected)", "selected", "auc", 3, OURS},
                       {"ECE, % (selected)", "selected", "ece", 2, OURS},
                       {"ECE, % (scaled)", "scaled", "ece", 2, OURS}}},
                     {"differences",
                      {{"accuracy", "end", "accuracy", 2, DIFFERENCE},
                       {"balanced", "end", "balanced_accuracy", 2, DIFFERENCE},
                       {"AUC", "end", "auc", 3, DIFFERENCE},
                       {"ECE", "end", "ece", 2, DIFFERENCE}}},
                     {"differences_selected",
                      {{"accuracy", "selected", "accuracy", 2, DIFFERENCE},
                       {"balanced", "selected", "balanced_accuracy", 2, DIFFERENCE},
                       {"AUC", "selected", "auc", 3, DIFFERENCE},
                       {"ECE", "scaled", "ece", 2, DIFFERENCE}}},
                     {"more",
                      {{"NLL (end)", "end", "nll", 3, OURS},
                       {"NLL (selected)", "selected", "nll", 3, OURS},
                       {"NLL (scaled)", "scaled", "nll", 3, OURS},
                       {"temperature", NULL, "temperature", 2, OURS},
                       {"selected step", NULL, "selected_step", 0, OURS},
                       {"guard events", NULL, "guard_events", 1, OURS},
                       {"rollbacks", NULL, "rollbacks", 1, OURS}}}};

/* "+3.50 (9 of 10, p 0.021)": the mean over seeds, in how many it is better, and the sign test. */
static void put_difference(const cp_image_study *s, cp_table *table, const column *c, int i, int base) {
    const cp_trials *trials = s->study->trials;
    cp_text          measure = cp_image_study_measure(s, c->view, c->metric);
    const double    *a = cp_trials_values(trials, i, measure.s), *b = cp_trials_values(trials, base, measure.s);
    bool             more_is_better = strcmp(c->metric, "ece") != 0;
    double           sum = 0;
    int              n = 0, wins = 0, losses = 0;
    for (int r = 0; r < s->seed_count; r++) {
        if (!isfinite(a[r]) || !isfinite(b[r])) continue;
        double gain = more_is_better ? a[r] - b[r] : b[r] - a[r];
        sum += a[r] - b[r], n++;
        wins += gain > 0, losses += gain < 0;
    }
    if (cp_trials_diverged(trials, i) || cp_trials_diverged(trials, base))
        cp_table_text(table, "diverged");
    else if (!n)
        cp_table_text(table, "-");
    else
        cp_table_text(table, "%+.*f (%d of %d, p %.2g)", c->decimals, sum / n, wins, n, cp_sign_test(wins, losses));
}

/* The row's first cell says how many runs are missing or diverged. */
static void put_cell(const cp_image_study *s, cp_table *table, const column *c, int i, int base, bool first) {
    const cp_paper_cell *theirs = paper_of(s, i);
    cp_text              measure = cp_image_study_measure(s, c->view ? c->view : "", c->metric);
    const char          *name = c->view ? measure.s : c->metric;
    cp_mean_sd           found = {NAN, NAN};
    if (c->kind == DIFFERENCE) {
        put_difference(s, table, c, i, base);
    } else if (c->kind == OURS && first) {
        cp_trials_put_cell(s->study->trials, table, i, name);
    } else {
        if (c->kind == OURS) found = cp_trials_mean_sd(s->study->trials, i, name);
        if (c->kind == PAPERS && theirs) found = strcmp(c->metric, "ece") == 0 ? theirs->ece : theirs->accuracy;
        cp_table_mean_sd(table, found.mean, found.sd, c->decimals);
    }
}

/* What others are compared with: with --active rows drawn at random, otherwise the first of all methods. */
#define RANDOM "random"
static const char *base_of(const cp_image_study *s) { return s->active ? RANDOM : cp_method_title(cp_method_at(0)); }

static int base_case(const cp_image_study *s, int i) {
    const cp_study_case *of = &s->of[i];
    return s->active ? cp_image_study_case(s, of->set, of->labels, RANDOM, of->method)
                     : cp_image_study_case(s, of->set, of->labels, of->value, cp_method_at(0));
}

/* Tests in the tables of differences. */
static int count_tests(const cp_image_study *s) {
    int tests = 0;
    for (int k = 0; k < TABLES; k++)
        for (const column *c = layouts[k].columns; c->title && c->kind == DIFFERENCE; c++)
            for (int i = 0; i < s->case_count; i++) tests += base_case(s, i) >= 0 && base_case(s, i) != i;
    return tests;
}

/* A row per case; of differences only for cases that the base has too. */
static cp_table *make_table(const cp_image_study *s, const column *columns, bool paper) {
    cp_table *table = cp_table_new(3, "set", "labels", "method");
    if (*s->swept) cp_table_column(table, s->swept);
    for (const column *c = columns; c->title; c++) {
        char title[80];
        snprintf(title, sizeof title, c->kind == DIFFERENCE ? "%s - %s (%s)" : "%s", c->title, base_of(s), c->view);
        if (c->kind != PAPERS || paper) cp_table_column(table, title);
    }
    for (int i = 0; i < s->case_count; i++) {
        const cp_study_case *of = &s->of[i];
        int                  of_base = base_case(s, i);
        if (columns->kind == DIFFERENCE && (of_base < 0 || of_base == i)) continue;
        cp_table_text(table, "%s", of->set->title);
        cp_table_text(table, "%lld", (long long)of->labels);
        cp_table_text(table, "%s", cp_method_title(of->method));
        if (*s->swept) cp_table_text(table, "%s", *of->value ? of->value : "-");
        for (const column *c = columns; c->title; c++)
            if (c->kind != PAPERS || paper) put_cell(s, table, c, i, of_base, c == columns);
    }
    return table;
}

/* Differences need the base among several. */
static bool has_differences(const cp_image_study *s) {
    bool found = false;
    if (s->active) return s->values.count > 1 && cp_words_have(&s->values, RANDOM);
    for (int m = 0; m < s->method_count; m++) found = found || s->methods[m] == cp_method_at(0);
    return found && s->method_count > 1;
}

/* ---- files ---- */

typedef struct result_tables {
    const cp_image_study *study;
    cp_table             *tables[TABLES]; /* differences may be NULL */
    bool                  paper;          /* they have the paper's figures */
    int                   shown;          /* the one to be written as LaTeX */
} result_tables;

static void put_number(FILE *file, double value) {
    if (isfinite(value))
        fprintf(file, ",%.9g", value);
    else
        fputc(',', file);
}

static void put_mean_sd(FILE *file, cp_mean_sd found) {
    put_number(file, found.mean);
    put_number(file, found.sd);
}

static void put_value(const cp_image_study *s, const cp_study_case *c, FILE *file) {
    if (!*s->swept) return;
    cp_csv_text(file, c->value);
    fputc(',', file);
}

/* One line per run. */
static void write_runs(const result_tables *t, FILE *file) {
    const cp_image_study *s = t->study;
    const cp_trials      *trials = s->study->trials;
    fprintf(file, "set,md5,labels,method,%s%sseed,state", s->swept, *s->swept ? "," : "");
    for (const cp_measure *m = all_measures; m->name; m++) fprintf(file, ",%s", m->name);
    fputc('\n', file);
    for (int i = 0; i < s->case_count; i++)
        for (int r = 0; r < s->seed_count; r++) {
            const cp_study_case *c = &s->of[i];
            cp_trial_end         end = cp_trials_end(trials, i, r);
            const char          *state = end == CP_TRIAL_DONE ? "done" : end == CP_TRIAL_DIVERGED ? "diverged" : "missing";
            cp_json *result = c->set->missing ? cp_study_run_result(s->study, i, r) : NULL; /* else its md5 is the set's */
            cp_csv_text(file, c->set->name);
            fprintf(file, ",%s,%lld,%s,", cp_json_string(cp_json_get(cp_json_get(result, "data"), "md5"), c->set->md5),
                    (long long)c->labels, c->method->name);
            cp_json_free(result);
            put_value(s, c, file);
            fprintf(file, "%lld,%s", (long long)s->seeds[r], state);
            for (const cp_measure *m = all_measures; m->name; m++) put_number(file, cp_trials_values(trials, i, m->name)[r]);
            fputc('\n', file);
        }
}

/* One line per case: means and standard deviations. */
static void write_summary(const result_tables *t, FILE *file) {
    const cp_image_study *s = t->study;
    cp_mean_sd            none = {NAN, NAN};
    fprintf(file, "set,labels,method,%s%sruns,diverged", s->swept, *s->swept ? "," : "");
    for (const cp_measure *m = all_measures; m->name; m++) fprintf(file, ",%s,%s_sd", m->name, m->name);
    fputs(",paper_accuracy,paper_accuracy_sd,paper_ece,paper_ece_sd\n", file);
    for (int i = 0; i < s->case_count; i++) {
        const cp_study_case *c = &s->of[i];
        const cp_paper_cell *theirs = paper_of(s, i);
        int                  made = 0;
        for (int r = 0; r < s->seed_count; r++) made += cp_trials_has(s->study->trials, i, r);
        cp_csv_text(file, c->set->name);
        fprintf(file, ",%lld,%s,", (long long)c->labels, c->method->name);
        put_value(s, c, file);
        fprintf(file, "%d,%d", made, cp_trials_diverged(s->study->trials, i));
        for (const cp_measure *m = all_measures; m->name; m++) put_mean_sd(file, cp_trials_mean_sd(s->study->trials, i, m->name));
        put_mean_sd(file, theirs ? theirs->accuracy : none);
        put_mean_sd(file, theirs ? theirs->ece : none);
        fputc('\n', file);
    }
}

static void write_text(const result_tables *t, FILE *file) {
    for (int k = 0; k < TABLES; k++) {
        if (!t->tables[k]) continue;
        if (k) fputc('\n', file);
        cp_table_print(t->tables[k], file);
    }
    fputc('\n', file);
    cp_study_print_notes(t->study->study, file, "");
}

/* Whether more (1) or less (-1) is better in a column. */
static int better_of(const column *c) {
    bool less = strcmp(c->metric, "ece") == 0 || strcmp(c->metric, "nll") == 0;
    bool more = strcmp(c->metric, "accuracy") == 0 || strcmp(c->metric, "balanced_accuracy") == 0 || strcmp(c->metric, "auc") == 0;
    return c->kind != OURS ? 0 : more ? 1 : less ? -1 : 0;
}

/* A row per method; the best mean of each set and number of labels is bold. */
static void write_latex(const result_tables *t, FILE *file) {
    int better[16] = {0}, n = *t->study->swept ? 4 : 3;
    for (const column *c = layouts[t->shown].columns; c->title; c++)
        if (c->kind != PAPERS || t->paper) better[n++] = better_of(c);
    cp_study_print_notes(t->study->study, file, "% ");
    cp_table_latex(t->tables[t->shown], (cp_table_groups){2, better}, file);
}

static bool save(const result_tables *t, const char *name, void (*write)(const result_tables *t, FILE *file), cp_status *status) {
    char  *text = NULL;
    size_t size = 0;
    FILE  *file = open_memstream(&text, &size);
    if (file) write(t, file);
    bool ok = file && fclose(file) == 0;
    ok = ok ? cp_file_write(cp_run_path(t->study->study->run, name).s, text, size, status) : cp_fail(status, "not enough memory");
    if (ok) cp_study_add_file(t->study->study, name);
    free(text);
    return ok;
}

/* ---- all of it ---- */

/* " --norm=batch --steps=60", or ""; what does not fit is "...". */
static void given_settings(const cp_image_study *s, char *text, size_t size) {
    cp_words words = {0};
    size_t   used = 0;
    *text = '\0';
    cp_image_study_settings(s, &words);
    for (int i = 0; i < words.count && used < size; i++) used += (size_t)snprintf(text + used, size - used, " %s", words.at[i]);
    if (used >= size) memcpy(text + size - 5, " ...", 5);
    cp_words_free(&words);
}

static void put_notes(cp_image_study *s, bool paper, bool differences) {
    char settings[400];
    given_settings(s, settings, sizeof settings);
    if (*settings) cp_study_add_note(s->study, "Options of couplet train that were given:%s.", settings);
    cp_study_add_note(s->study,
                      "Mean (standard deviation) over %d seed%s on the %s split. End: the weights at the end of training; "
                      "selected: those with the least validation NLL after temperature scaling; scaled: the same "
                      "weights with that temperature.",
                      s->seed_count, s->seed_count == 1 ? "" : "s", s->split);
    if (paper) cp_study_add_note(s->study, "The paper's figures are of its own runs, at the end of training, over ten draws.");
    for (int i = 0; i < s->set_count; i++)
        if (cp_paper_set(s->sets[i].name) && strchr(s->sets[i].title, '('))
            cp_study_add_note(s->study,
                              "%s is %s, not the official file: its splits, and perhaps its images, are others than the paper's.",
                              s->sets[i].title, s->sets[i].name);
    if (s->active)
        cp_study_add_note(
            s->study,
            "Labels are images per class: those of the first row are drawn by the seed, the same for all rules; every rule then "
            "adds images, chosen by its own last run, whatever their class, up to that many on average.");
    for (int m = 0; m < s->method_count && !s->active; m++)
        if (!cp_method_reads(s->methods[m], s->swept))
            cp_study_add_note(s->study, "%s does not read --%s: it was trained without, and its row has - there.",
                              cp_method_title(s->methods[m]), s->swept);
    if (differences)
        cp_study_add_note(s->study,
                          "Differences are over the same seeds; in brackets: in how many the %s is better than %s, and "
                          "the p of a two-sided sign test, which leaves out ties. The %d tests are not corrected: of so many, "
                          "about %.1f are below 0.05 by chance.",
                          s->active ? "rule" : "method", base_of(s), count_tests(s), 0.05 * count_tests(s));
}

bool cp_image_study_write(cp_image_study *s, cp_status *status) {
    bool paper = false;
    for (int i = 0; i < s->case_count; i++) paper = paper || paper_of(s, i);
    result_tables t = {.study = s, .paper = paper};
    for (int k = 0; k < TABLES; k++)
        if (layouts[k].columns->kind != DIFFERENCE || has_differences(s)) t.tables[k] = make_table(s, layouts[k].columns, paper);
    put_notes(s, paper, has_differences(s));
    bool ok = save(&t, "table.txt", write_text, status) && save(&t, "table.csv", write_summary, status) &&
              save(&t, "runs.csv", write_runs, status);
    for (; ok && t.shown < TABLES; t.shown++) {
        char name[80];
        snprintf(name, sizeof name, "%s.tex", layouts[t.shown].key);
        if (t.tables[t.shown]) ok = save(&t, name, write_latex, status);
    }
    for (int k = 0; k < TABLES; k++)
        if (t.tables[k]) cp_study_add_table(s->study, layouts[k].key, t.tables[k]);
    return ok;
}
