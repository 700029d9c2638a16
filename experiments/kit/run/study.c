/* Studies: their trials, on threads or as runs of their own, and the results. */
#include "experiments/kit/run/study.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES "files.json"

typedef enum mode {
    ON_THREADS, /* all trials in this process */
    AS_RUNS,    /* each in a folder of its own, by other processes */
    ONE_TRIAL,  /* this process is one of those */
} mode;

typedef struct cp_study_parts {
    const cp_options *options;
    const char       *title;
    cp_trials_config  config;
    mode              mode;
    cp_runs          *runs;
    cp_status         error;    /* with the runs; reported last */
    int               code;     /* exit code if there is no result to make */
    bool              complete; /* there are trials to make the result of */
    cp_words          sentences, notes, files;
    cp_json_writer    result;
    bool              result_started;
    struct {
        const char *key;
        cp_table   *table;
    } tables[8];
    int table_count;
} cp_study_parts;

static mode choose_mode(const cp_options *o, const cp_trials_config *config) {
    bool study = cp_options_command(o)->study;
    if (study && !config->command && cp_option_given(o, "trial")) return ONE_TRIAL;
    bool requested = study && (cp_option_given(o, "jobs") || cp_option_given(o, "list") || cp_option_given(o, "slurm"));
    return config->command || requested ? AS_RUNS : ON_THREADS;
}

/* ---- trials that are runs of their own ---- */

/* --jobs 0: no runs, only tables and figures of the finished ones. */
static bool tables_only(const cp_study_parts *p) {
    return cp_option_given(p->options, "jobs") && cp_option_int(p->options, "jobs") == 0 && !cp_option_flag(p->options, "list") &&
           !cp_option_given(p->options, "slurm");
}

static bool plan(cp_study *study) {
    cp_study_parts *p = study->parts;
    const char     *out = cp_option_text(p->options, "out");
    cp_status      *status = &p->error;
    if (!out) {
        cp_complain(p->options, "--out DIR is needed, a folder for the study that other processes can find");
        p->code = CP_EXIT_USAGE;
        return true;
    }
    bool ok = !tables_only(p) || cp_file_exists(out) || cp_fail(status, "%.300s: there is no such folder", out);
    ok = ok && (p->runs = cp_runs_new(out, status)) && cp_trials_plan(study->trials, p->options, p->runs, status);
    if (!ok) cp_complain(p->options, "%s", status->message);
    return ok;
}

/* The command of the job that makes the tables. */
static void put_merge(const cp_study_parts *p, cp_words *words) {
    cp_words_add(words, "%s", p->runs->program);
    cp_words_add_command(words, p->options, (const char *[]){"jobs", "list", "slurm", "quiet", "json", NULL});
    cp_words_add(words, "--jobs=0");
}

static bool submit(const cp_study_parts *p, cp_status *status) {
    cp_words merge = {0};
    put_merge(p, &merge);
    bool ok = (!merge.failed || cp_fail(status, "not enough memory")) && cp_runs_check_lines(p->runs, status);
    ok = ok && cp_runs_submit(p->runs, cp_option_text(p->options, "slurm"), (int)cp_option_int(p->options, "threads"), &merge,
                              cp_options_called(p->options), status);
    cp_words_free(&merge);
    return ok;
}

/* They are counted and reported, since --list leaves them out and an empty list would look as if all were done. */
static int count_without_data(const cp_runs *r) {
    int count = 0;
    for (int i = 0; i < r->count; i++) {
        cp_run_stage stage = r->at[i].without_data ? cp_runs_stage(r, i) : CP_STAGE_DONE;
        count += !cp_runs_has_result(stage) && stage != CP_STAGE_RUNNING;
    }
    return count;
}

static bool print_list(const cp_study_parts *p, cp_status *status) {
    cp_bytes lines = {0};
    int      lacking = count_without_data(p->runs);
    if (!cp_runs_check_lines(p->runs, status)) return false;
    for (int i = 0; i < p->runs->count; i++)
        if (cp_runs_is_pending(p->runs, i)) {
            cp_words command = cp_runs_command(p->runs, i, (int)cp_option_int(p->options, "threads"));
            cp_words_put_line(&command, &lines);
            cp_words_free(&command);
        }
    if (lines.size) fwrite(lines.data, 1, lines.size, stdout);
    bool ok = !lines.failed || cp_fail(status, "not enough memory");
    if (ok && lacking) ok = cp_fail(status, "%d of %d runs cannot be listed before the data are here", lacking, p->runs->count);
    cp_bytes_free(&lines);
    return ok;
}

static void report_missing(cp_study_parts *p, int missing, bool some) {
    if (missing)
        cp_fail(&p->error, "%d of %d runs %s missing%s; the same command%s makes what is missing%s", missing, p->runs->count,
                missing == 1 ? "is" : "are", some ? " in the tables" : "", tables_only(p) ? " without --jobs 0" : "",
                count_without_data(p->runs) ? ", once the data are here" : "");
}

static bool prepare(void *context, int run, cp_status *status) {
    const cp_study         *study = context;
    const cp_study_parts   *p = study->parts;
    const cp_trials_config *c = &p->config;
    int                     cases = cp_trials_count(study->trials) / c->repeats;
    const cp_trial          trial = {.options = p->options, .study_case = &c->cases[run % cases], .repeat = run / cases};
    return !c->prepare || c->prepare(&trial, cp_runs_folder(p->runs, p->runs->at[run].after - 1).s, status);
}

/* Makes what is left. True when there is something to make tables of. */
static bool make(cp_study *study) {
    cp_study_parts *p = study->parts;
    int             missing;
    cp_runs_config  config = {.jobs = (int)cp_option_int(p->options, "jobs"),
                              .threads = (int)cp_option_int(p->options, "threads"),
                              .quiet = cp_option_flag(p->options, "quiet"),
                              .called = cp_options_called(p->options),
                              .prepare = prepare,
                              .context = study};
    if (!cp_trials_collect(study->trials, p->options, p->runs, &missing, &p->error)) return false; /* before hours of work */
    if (missing && !tables_only(p)) {
        cp_runs_execute(p->runs, config, &p->error);
        if (!cp_trials_collect(study->trials, p->options, p->runs, &missing, &p->error)) return false;
    }
    if (missing && cp_interrupted()) {
        cp_complain(p->options, "interrupted; %d of %d runs are done, and the same command continues", p->runs->count - missing,
                    p->runs->count);
        p->code = CP_EXIT_INTERRUPTED;
        return false;
    }
    bool some = p->config.command && missing < p->runs->count; /* tables can be made of some of the runs */
    if (!some) report_missing(p, missing, false);
    return !missing || some;
}

/* One process at a time writes the study's own folder. While this one waited, others may have finished more runs. */
static bool open_folder(cp_study *study) {
    cp_study_parts *p = study->parts;
    int             missing;
    study->run = cp_run_replace(p->options);
    if (!study->run) p->code = CP_EXIT_FAILED;
    if (!study->run || !cp_trials_collect(study->trials, p->options, p->runs, &missing, &p->error)) return false;
    report_missing(p, missing, p->config.command);
    return !missing || p->config.command;
}

static void print_damaged(const cp_runs *r) {
    for (int i = 0; i < r->count; i++)
        if (cp_runs_stage(r, i) == CP_STAGE_DAMAGED)
            fprintf(stderr, "%s is damaged; the same command without --jobs 0 makes it again\n", cp_runs_folder(r, i).s);
}

static bool make_runs(cp_study *study) {
    cp_study_parts *p = study->parts;
    cp_status      *status = &p->error;
    if (!p->runs) return false;
    if (tables_only(p))
        print_damaged(p->runs);
    else if (!cp_runs_quarantine(p->runs, status))
        return false;
    if (!cp_runs_save(p->runs, status)) return false;
    if (cp_option_flag(p->options, "list")) {
        print_list(p, status);
        return false;
    }
    if (cp_option_given(p->options, "slurm")) {
        submit(p, status);
        return false;
    }
    return make(study) && open_folder(study);
}

static bool make_one(cp_study *study) {
    cp_run               *run = study->run;
    int                   trial = (int)cp_option_int(run->options, "trial");
    const cp_study_parts *p = study->parts;
    if (trial >= cp_trials_count(study->trials)) {
        cp_fail(&run->status, "--trial %d is beyond the %d trials, which are counted from 0", trial,
                cp_trials_count(study->trials));
        return false;
    }
    if (!cp_trials_run_one(study->trials, run, trial) || !cp_run_should_continue(run)) return false;
    cp_json_writer w = {.pretty = true};
    cp_run_begin_result(run, &w, "%s", p->title);
    cp_trials_put_one(study->trials, &w, trial);
    cp_json_put_end(&w);
    cp_run_finish(run, &w);
    return false;
}

/* ---- making the trials ---- */

cp_study *(cp_study_new)(cp_at at, const cp_options *options, const char *title, cp_trials_config config) {
    cp_study       *study = calloc(1, sizeof *study);
    cp_study_parts *p = calloc(1, sizeof *p);
    if (study && p) {
        *p = (cp_study_parts){.options = options, .title = title, .config = config, .result = {.pretty = true}};
        *study = (cp_study){.trials = (cp_trials_new)(at, config), .parts = p};
        p->mode = choose_mode(options, &config);
        if (!study->trials) cp_complain(options, "not enough memory for %d repetitions", config.repeats);
        if (study->trials && p->mode == AS_RUNS && plan(study)) return study;
        if (study->trials && p->mode != AS_RUNS) study->run = cp_run_open(options);
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
    if (p->mode == AS_RUNS) return p->complete = make_runs(study);
    if (study->run->state == CP_RUN_FINISHED) return false;
    if (p->mode == ONE_TRIAL) return make_one(study);
    p->complete = cp_trials_run(study->trials, study->run) && cp_run_should_continue(study->run);
    return p->complete;
}

static int run_of(const cp_study *study, int of_case, int repeat) {
    return repeat * (cp_trials_count(study->trials) / cp_trials_repeats(study->trials)) + of_case;
}

cp_json *cp_study_run_result(const cp_study *study, int of_case, int repeat) {
    const cp_runs *r = study->parts->runs;
    bool           there = r && cp_trials_has(study->trials, of_case, repeat);
    return there ? cp_runs_read(r, r->at[run_of(study, of_case, repeat)].name, CP_RUN_RESULT) : NULL;
}

cp_file_path cp_study_trial_folder(const cp_study *study, int of_case, int repeat) {
    if (study->parts->runs) return cp_runs_folder(study->parts->runs, run_of(study, of_case, repeat));
    return cp_trials_folder(study->trials, study->run, of_case, repeat);
}

/* ---- texts ---- */

static void add_text(cp_words *texts, const char *format, va_list values) {
    cp_words_add_list(texts, format, values);
    if (!texts->failed) cp_text_printable(texts->at[texts->count - 1]); /* names of data may be in it */
}

void cp_study_say(cp_study *study, const char *format, ...) {
    va_list values;
    va_start(values, format);
    add_text(&study->parts->sentences, format, values);
    va_end(values);
}

void(cp_study_add_note)(cp_at at, cp_study *study, const char *format, ...) {
    va_list values;
    if (study->parts->result_started)
        cp_misuse(at, "study_add_note", "the notes are in the result already; they come before cp_study_result");
    va_start(values, format);
    add_text(&study->parts->notes, format, values);
    va_end(values);
}

void cp_study_print_notes(const cp_study *study, FILE *file, const char *before) {
    const cp_words *notes = &study->parts->notes;
    for (int i = 0; i < notes->count; i++) fprintf(file, "%s%s\n", before, notes->at[i]);
}

/* ---- files ---- */

void cp_study_add_file(cp_study *study, const char *file) { cp_words_add(&study->parts->files, "%s", file); }

bool cp_study_add_figure(cp_study *study, cp_figure *figure, const char *name) {
    static const char *const ends[] = {"svg", "csv", "figure.json"};
    bool                     ok = cp_figure_finish(figure, cp_run_path(study->run, name).s, &study->run->status);
    for (int i = 0; ok && i < 3; i++) {
        char file[300];
        snprintf(file, sizeof file, "%s.%s", name, ends[i]);
        cp_study_add_file(study, file);
    }
    return ok;
}

/* Removes what the previous command wrote and this one did not, and nothing else: a user's files may be there too. */
static bool replace_files(cp_study *study) {
    cp_file_path    path = cp_run_path(study->run, FILES);
    cp_json        *before = cp_json_read(path.s, NULL);
    const cp_words *files = &study->parts->files;
    cp_json_writer  w = {.pretty = true};
    for (const cp_json *file = before ? before->first : NULL; file; file = file->next) {
        const char *name = cp_json_string(file, "");
        if (!strchr(name, '/') && !cp_words_have(files, name)) unlink(cp_run_path(study->run, name).s);
    }
    cp_json_free(before);
    cp_words_put(files, &w, NULL);
    return cp_json_writer_save(&w, path.s, &study->run->status);
}

void(cp_study_add_table)(cp_at at, cp_study *study, const char *key, cp_table *table) {
    cp_study_parts *p = study->parts;
    if (p->table_count < (int)(sizeof p->tables / sizeof *p->tables)) {
        p->tables[p->table_count].key = key;
        p->tables[p->table_count++].table = table;
    } else {
        cp_misuse(at, "study_add_table", "%s is one table too many", key);
        cp_table_free(table);
    }
}

/* ---- divergence ---- */

/* Whether case j diverged, with the advice of case i. */
static bool diverged_alike(const cp_study *study, int i, int j) {
    const cp_case *a = &study->parts->config.cases[i], *b = &study->parts->config.cases[j];
    return cp_trials_diverged(study->trials, j) && strcmp(a->advice ? a->advice : "", b->advice ? b->advice : "") == 0;
}

/* One note for all cases that diverged with the same advice: "lambda 30, lambda 100 diverged with rate 1: ...". */
static void note_diverged(cp_study *study) {
    const cp_case *cases = study->parts->config.cases;
    for (int i = 0; cases[i].name; i++) {
        char   names[300] = "", more[40] = "";
        size_t used = 0;
        int    others = 0;
        bool   skip = !diverged_alike(study, i, i);
        for (int j = 0; j < i; j++) skip = skip || diverged_alike(study, i, j);
        for (int j = i; !skip && cases[j].name; j++) {
            if (!diverged_alike(study, i, j)) continue;
            if (used + strlen(cases[j].name) + 3 < sizeof names)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", cases[j].name);
            else
                others++;
        }
        if (others) snprintf(more, sizeof more, " and %d more", others);
        if (!skip) (cp_study_add_note)((cp_at){0}, study, "%s%s diverged%s.", names, more, cases[i].advice ? cases[i].advice : "");
    }
}

/* A study with a gap in its main table fails, though its results are saved. */
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

cp_json_writer *cp_study_result(cp_study *study) {
    cp_study_parts *p = study->parts;
    cp_json_writer *w = &p->result;
    if (p->result_started) return w;
    note_diverged(study);
    p->result_started = true;
    cp_run_begin_result(study->run, w, "%s", p->title);
    cp_words_put(&p->notes, w, "notes");
    return w;
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

static void print_result(const cp_study *study) {
    const cp_study_parts *p = study->parts;
    for (int i = 0; i < p->sentences.count; i++) printf("%s\n", p->sentences.at[i]);
    for (int i = 0; i < p->table_count; i++) {
        if (i || p->sentences.count) printf("\n");
        cp_table_print(p->tables[i].table, stdout);
    }
    if (p->notes.count) printf("\n");
    cp_study_print_notes(study, stdout, "");
}

static void print_folder(const cp_run *run, const cp_study_parts *p) {
    FILE *file = run->json ? stderr : stdout;
    int   others = p->runs ? cp_runs_count_others(p->runs) : 0;
    fprintf(file, "%sResults: %s/ (result.json", run->json ? "" : "\n", run->folder);
    for (int i = 0; i < p->files.count; i++) {
        if (strstr(p->files.at[i], ".figure.json")) continue; /* those are for reports */
        fprintf(file, ", ");
        cp_text_print(file, p->files.at[i], strlen(p->files.at[i]));
    }
    fprintf(file, ")\n");
    if (others)
        fprintf(file, "%d more run%s of other commands there %s not in the tables, which are of what this command asks for.\n",
                others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
}

static void finish(cp_study *study) {
    cp_study_parts *p = study->parts;
    cp_run         *run = study->run;
    cp_json_writer *w = &p->result;
    if (!p->result_started) put_methods(study);
    if (!p->table_count) cp_study_add_table(study, "table", default_table(study));
    for (int i = 0; i < p->table_count; i++) cp_table_put(p->tables[i].table, w, p->tables[i].key);
    cp_json_put_end(w);
    if (p->sentences.failed || p->notes.failed || p->files.failed) cp_fail(&run->status, "not enough memory for the result");
    if (!run->quiet && !run->json) print_result(study);
    if (!cp_run_finish(run, w) || (run->replaced && !replace_files(study))) return;
    if (!run->quiet) print_folder(run, p);
    fail_diverged(study);
}

/* Missing and failed runs are reported last. */
static int close_runs(cp_study *study) {
    cp_study_parts *p = study->parts;
    int             code = study->run ? cp_run_close(study->run) : p->code;
    if (p->error.message[0]) cp_complain(p->options, "%s", p->error.message);
    return p->error.message[0] && code == CP_EXIT_OK ? CP_EXIT_FAILED : code;
}

int cp_study_close(cp_study *study) {
    if (!study) return CP_EXIT_FAILED;
    cp_study_parts *p = study->parts;
    cp_run         *run = study->run;
    if (p->complete && cp_run_should_continue(run)) finish(study);
    int code = p->mode == AS_RUNS ? close_runs(study) : run->state == CP_RUN_FINISHED ? cp_run_show(run) : cp_run_close(run);
    for (int i = 0; i < p->table_count; i++) cp_table_free(p->tables[i].table);
    cp_words_free(&p->sentences);
    cp_words_free(&p->notes);
    cp_words_free(&p->files);
    cp_json_writer_free(&p->result);
    cp_trials_free(study->trials);
    cp_runs_free(p->runs);
    free(p);
    free(study);
    return code;
}
