/* Studies: from trials to what is printed and kept. */
#include "experiments/kit/run/study_parts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES "files.json"

static cp_study_way way_of(const cp_options *o, const cp_trials_config *config) {
    bool study = cp_options_command(o)->study;
    if (study && !config->command && cp_option_given(o, "trial")) return CP_STUDY_ONE;
    bool asked = study && (cp_option_given(o, "jobs") || cp_option_given(o, "list") || cp_option_given(o, "slurm"));
    return config->command || asked ? CP_STUDY_RUNS : CP_STUDY_THREADS;
}

cp_study *cp_study_new(const cp_options *options, const char *title, cp_trials_config config) {
    cp_study       *study = calloc(1, sizeof *study);
    cp_study_parts *p = calloc(1, sizeof *p);
    if (study && p) {
        *p = (cp_study_parts){.options = options, .title = title, .config = config, .result = {.pretty = true}};
        *study = (cp_study){.trials = cp_trials_new(config), .parts = p};
        p->way = way_of(options, &config);
        if (!study->trials) cp_complain(options, "not enough memory for %d repetitions", config.repeats);
        if (study->trials && p->way == CP_STUDY_RUNS && cp_study_plan(study)) return study;
        if (study->trials && p->way != CP_STUDY_RUNS) study->run = cp_run_open(options);
        if (study->run) return study;
    } else {
        cp_complain(options, "not enough memory");
    }
    if (study) cp_trials_free(study->trials);
    if (p) cp_runs_free(p->runs);
    free(study);
    free(p);
    return NULL;
}

bool cp_study_run(cp_study *study) {
    if (!study) return false;
    cp_study_parts *p = study->parts;
    if (p->way == CP_STUDY_RUNS) return p->complete = cp_study_make_runs(study);
    if (study->run->state == CP_RUN_FINISHED) return false;
    if (p->way == CP_STUDY_ONE) return cp_study_make_one(study);
    p->complete = cp_trials_run(study->trials, study->run) && cp_run_should_continue(study->run);
    return p->complete;
}

/* ---- texts ---- */

static void append_text(cp_bytes *bytes, const char *format, va_list values) {
    char text[512];
    vsnprintf(text, sizeof text, format, values);
    cp_bytes_append(bytes, text, strlen(text) + 1);
}

static const char *next_text(const cp_bytes *bytes, size_t *at) {
    if (*at >= bytes->size) return NULL;
    const char *text = (const char *)bytes->data + *at;
    *at += strlen(text) + 1;
    return text;
}

void cp_study_say(cp_study *study, const char *format, ...) {
    va_list values;
    va_start(values, format);
    append_text(&study->parts->said, format, values);
    va_end(values);
}

void cp_study_add_note(cp_study *study, const char *format, ...) {
    va_list values;
    if (study->parts->result_begun)
        cp_misuse((cp_at){0}, "study_note", "the notes are in the result already; they come before cp_study_result");
    va_start(values, format);
    append_text(&study->parts->notes, format, values);
    va_end(values);
}

static void print_texts(const cp_bytes *texts, FILE *file, const char *before) {
    size_t at = 0;
    for (const char *text; (text = next_text(texts, &at));) fprintf(file, "%s%s\n", before, text);
}

void cp_study_print_notes(const cp_study *study, FILE *file, const char *before) {
    print_texts(&study->parts->notes, file, before);
}

/* ---- files ---- */

void cp_study_add_file(cp_study *study, const char *file) {
    cp_bytes_append(&study->parts->files, file, strlen(file) + 1);
}

static bool has_left(const cp_study *study, const char *file) {
    size_t at = 0;
    for (const char *left; (left = next_text(&study->parts->files, &at));)
        if (strcmp(left, file) == 0) return true;
    return false;
}

bool cp_study_add_figure(cp_study *study, cp_figure *figure, const char *name) {
    static const char *const ends[] = {"svg", "csv", "figure.json"};
    bool                     ok = cp_figure_save(figure, cp_run_path(study->run, name).s, &study->run->status);
    for (int i = 0; ok && i < 3; i++) {
        char file[300];
        snprintf(file, sizeof file, "%s.%s", name, ends[i]);
        cp_study_add_file(study, file);
    }
    cp_figure_free(figure);
    return ok;
}

/* Removes what the command before has left and this one has not, and nothing else: a user's files may lie beside them. */
static bool replace_files(cp_study *study) {
    cp_file_path   path = cp_run_path(study->run, FILES);
    cp_json       *before = cp_json_read(path.s, NULL);
    cp_json_writer w = {.pretty = true};
    size_t         at = 0;
    for (const cp_json *file = before ? before->first : NULL; file; file = file->next) {
        const char *name = cp_json_string(file, "");
        if (!strchr(name, '/') && !has_left(study, name)) unlink(cp_run_path(study->run, name).s);
    }
    cp_json_free(before);
    cp_json_put_array(&w, NULL);
    for (const char *name; (name = next_text(&study->parts->files, &at));) cp_json_put_string(&w, NULL, name);
    cp_json_put_end(&w);
    return cp_json_writer_save(&w, path.s, &study->run->status);
}

void cp_study_add_table(cp_study *study, const char *key, cp_table *table) {
    cp_study_parts *p = study->parts;
    if (p->table_count < (int)(sizeof p->tables / sizeof *p->tables)) {
        p->tables[p->table_count].key = key;
        p->tables[p->table_count++].table = table;
    } else {
        cp_misuse((cp_at){0}, "study_table", "%s is one table too many", key);
        cp_table_free(table);
    }
}

/* ---- divergence ---- */

/* Whether a case diverged for which the advice is that of case i. */
static bool diverged_alike(const cp_study *study, int i, int j) {
    const cp_case *a = &study->parts->config.cases[i], *b = &study->parts->config.cases[j];
    return cp_trials_diverged(study->trials, j) && strcmp(a->advice ? a->advice : "", b->advice ? b->advice : "") == 0;
}

/* One note for all cases that diverged and want the same: "lambda 30, lambda 100 diverged with rate 1: ...". */
static void note_diverged(cp_study *study) {
    const cp_case *cases = study->parts->config.cases;
    for (int i = 0; cases[i].name; i++) {
        char   names[300] = "", more[40] = "";
        size_t used = 0;
        int    others = 0;
        bool   told = !diverged_alike(study, i, i);
        for (int j = 0; j < i; j++) told = told || diverged_alike(study, i, j);
        for (int j = i; !told && cases[j].name; j++) {
            if (!diverged_alike(study, i, j)) continue;
            if (used + strlen(cases[j].name) + 3 < sizeof names)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", cases[j].name);
            else
                others++;
        }
        if (others) snprintf(more, sizeof more, " and %d more", others);
        if (!told) cp_study_add_note(study, "%s%s diverged%s.", names, more, cases[i].advice ? cases[i].advice : "");
    }
}

/* A run whose main table has a gap has failed, though what it found is saved. */
static void fail_diverged(cp_study *study) {
    const cp_case *cases = study->parts->config.cases;
    for (int i = 0; cases[i].name; i++) {
        int lost = cp_trials_diverged(study->trials, i);
        if (!lost || cases[i].secondary) continue;
        cp_fail(&study->run->status, "%s diverged in %d of %d repetitions%s; the results are in %s", cases[i].name, lost,
                cp_trials_repeats(study->trials), cases[i].advice ? cases[i].advice : "", study->run->folder);
        return;
    }
}

/* ---- the result ---- */

static void begin_result(cp_study *study) {
    cp_study_parts *p = study->parts;
    cp_json_writer *w = &p->result;
    if (p->result_begun) return;
    note_diverged(study);
    p->result_begun = true;
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "experiment", cp_options_command(study->run->options)->name);
    cp_json_put_string(w, "title", p->title);
    cp_json_put_array(w, "notes");
    size_t at = 0;
    for (const char *note; (note = next_text(&p->notes, &at));) cp_json_put_string(w, NULL, note);
    cp_json_put_end(w);
}

cp_json_writer *cp_study_result(cp_study *study) {
    begin_result(study);
    return &study->parts->result;
}

static void put_methods(cp_study *study) {
    cp_json_writer *w = cp_study_result(study);
    const cp_case  *cases = study->parts->config.cases;
    cp_json_put_object(w, "methods");
    for (int i = 0; cases[i].name; i++)
        if (!cases[i].secondary) cp_trials_put_case(study->trials, w, cases[i].name, i);
    cp_json_put_end(w);
}

static cp_table *default_table(const cp_study *study) {
    const cp_case    *cases = study->parts->config.cases;
    const cp_measure *measures = study->parts->config.measures;
    cp_table         *table = cp_table_new(1, "method");
    for (int m = 0; measures[m].name; m++)
        if (!measures[m].secondary) cp_table_column(table, measures[m].title ? measures[m].title : measures[m].name);
    for (int i = 0; cases[i].name; i++) {
        if (cases[i].secondary) continue;
        cp_table_text(table, "%s", cases[i].name);
        for (int m = 0; measures[m].name; m++)
            if (!measures[m].secondary) cp_trials_put_cell(study->trials, table, i, measures[m].name);
    }
    return table;
}

static void print_result(const cp_study_parts *p) {
    print_texts(&p->said, stdout, "");
    for (int i = 0; i < p->table_count; i++) {
        if (i || p->said.size) printf("\n");
        cp_table_print(p->tables[i].table, stdout);
    }
    if (p->notes.size) printf("\n");
    print_texts(&p->notes, stdout, "");
}

static void tell_folder(const cp_run *run, const cp_study_parts *p) {
    FILE  *file = run->json ? stderr : stdout;
    int    others = p->runs ? cp_runs_count_others(p->runs) : 0;
    size_t at = 0;
    fprintf(file, "%sResults: %s/ (result.json", run->json ? "" : "\n", run->folder);
    for (const char *name; (name = next_text(&p->files, &at));)
        if (!strstr(name, ".figure.json")) fprintf(file, ", %s", name); /* those are for reports */
    fprintf(file, ")\n");
    if (others)
        fprintf(file, "%d more run%s of other commands there %s not in the tables, which are of what this command asks for.\n",
                others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
}

static void finish(cp_study *study) {
    cp_study_parts *p = study->parts;
    cp_run         *run = study->run;
    cp_json_writer *w = &p->result;
    if (!p->result_begun) put_methods(study);
    if (!p->table_count) cp_study_add_table(study, "table", default_table(study));
    for (int i = 0; i < p->table_count; i++) cp_table_put(p->tables[i].table, w, p->tables[i].key);
    cp_json_put_end(w);
    if (p->said.failed || p->notes.failed || p->files.failed) cp_fail(&run->status, "not enough memory for the result");
    if (!run->quiet && !run->json) print_result(p);
    if (!cp_run_finish(run, w) || (run->replaced && !replace_files(study))) return;
    if (!run->quiet) tell_folder(run, p);
    fail_diverged(study);
}

/* How runs ended that are not all there is told last. */
static int close_runs(cp_study *study) {
    cp_study_parts *p = study->parts;
    int             code = study->run ? cp_run_close(study->run) : p->code;
    if (p->trouble.message[0]) cp_complain(p->options, "%s", p->trouble.message);
    return p->trouble.message[0] && code == CP_EXIT_OK ? CP_EXIT_FAILED : code;
}

int cp_study_close(cp_study *study) {
    if (!study) return CP_EXIT_FAILED;
    cp_study_parts *p = study->parts;
    cp_run         *run = study->run;
    if (p->complete && cp_run_should_continue(run)) finish(study);
    int code = p->way == CP_STUDY_RUNS ? close_runs(study) : run->state == CP_RUN_FINISHED ? cp_run_show(run) : cp_run_close(run);
    for (int i = 0; i < p->table_count; i++) cp_table_free(p->tables[i].table);
    cp_bytes_free(&p->said);
    cp_bytes_free(&p->notes);
    cp_bytes_free(&p->files);
    cp_json_writer_free(&p->result);
    cp_trials_free(study->trials);
    cp_runs_free(p->runs);
    free(p);
    free(study);
    return code;
}
