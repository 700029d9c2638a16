/* Studies: their trials, on threads or as runs of their own, and the results. */
#include "experiments/kit/run/study.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES "files.json"

enum mode {
    ON_THREADS, /* all trials in this process */
    AS_RUNS,    /* each in a folder of its own, by other processes */
    ONE_TRIAL,  /* this process is one of those */
};

static int choose_mode(const cp_options *o, const cp_trials_config *config) {
    bool runs = cp_options_command(o)->study;
    if (runs && !config->command && cp_option_given(o, "trial")) return ONE_TRIAL;
    bool requested = runs && (cp_option_given(o, "jobs") || cp_option_given(o, "list") || cp_option_given(o, "slurm"));
    return config->command || requested ? AS_RUNS : ON_THREADS;
}

/* ---- trials that are runs of their own ---- */

/* --jobs 0: no runs, only tables and figures of the finished ones. */
static bool tables_only(const cp_study *s) {
    return cp_option_given(s->options, "jobs") && cp_option_int(s->options, "jobs") == 0 && !cp_option_flag(s->options, "list") &&
           !cp_option_given(s->options, "slurm");
}

static bool plan(cp_study *s) {
    const char *out = cp_option_text(s->options, "out");
    cp_status  *status = &s->error;
    if (!out) {
        cp_complain(s->options, "--out DIR is needed, a folder for the study that other processes can find");
        s->code = CP_EXIT_USAGE;
        return true;
    }
    bool ok = !tables_only(s) || cp_file_exists(out) || cp_fail(status, "%.300s: there is no such folder", out);
    ok = ok && (s->runs = cp_runs_new(out, status)) && cp_trials_plan(s->trials, s->options, s->runs, status);
    if (!ok) cp_complain(s->options, "%s", status->message);
    return ok;
}

/* The command of the job that makes the tables. */
static void put_merge(const cp_study *s, cp_words *words) {
    cp_words_add(words, "%s", s->runs->program);
    cp_words_add_command(words, s->options, (const char *[]){"jobs", "list", "slurm", "quiet", "json", NULL});
    cp_words_add(words, "--jobs=0");
}

static bool submit(const cp_study *s, cp_status *status) {
    cp_words merge = {0};
    put_merge(s, &merge);
    bool ok = (!merge.failed || cp_fail(status, "not enough memory")) && cp_runs_check_lines(s->runs, status);
    ok = ok && cp_runs_submit(s->runs, cp_option_text(s->options, "slurm"), (int)cp_option_int(s->options, "threads"), &merge,
                              cp_options_called(s->options), status);
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

static bool print_list(const cp_study *s, cp_status *status) {
    cp_bytes lines = {0};
    int      lacking = count_without_data(s->runs);
    if (!cp_runs_check_lines(s->runs, status)) return false;
    for (int i = 0; i < s->runs->count; i++)
        if (cp_runs_is_pending(s->runs, i)) {
            cp_words command = cp_runs_command(s->runs, i, (int)cp_option_int(s->options, "threads"));
            cp_words_put_line(&command, &lines);
            cp_words_free(&command);
        }
    if (lines.size) fwrite(lines.data, 1, lines.size, stdout);
    bool ok = !lines.failed || cp_fail(status, "not enough memory");
    if (ok && lacking) ok = cp_fail(status, "%d of %d runs cannot be listed before the data are here", lacking, s->runs->count);
    cp_bytes_free(&lines);
    return ok;
}

static void report_missing(cp_study *s, int missing, bool some) {
    if (missing)
        cp_fail(&s->error, "%d of %d runs %s missing%s; the same command%s makes what is missing%s", missing, s->runs->count,
                missing == 1 ? "is" : "are", some ? " in the tables" : "", tables_only(s) ? " without --jobs 0" : "",
                count_without_data(s->runs) ? ", once the data are here" : "");
}

static bool prepare(void *context, int run, cp_status *status) {
    const cp_study         *s = context;
    const cp_trials_config *c = &s->config;
    int                     cases = cp_trials_count(s->trials) / c->repeats;
    const cp_trial          trial = {.options = s->options, .study_case = &c->cases[run % cases], .repeat = run / cases};
    return !c->prepare || c->prepare(&trial, cp_runs_folder(s->runs, s->runs->at[run].after - 1).s, status);
}

/* Makes what is left. True when there is something to make tables of. */
static bool make(cp_study *s) {
    int            missing;
    cp_runs_config config = {.jobs = (int)cp_option_int(s->options, "jobs"),
                             .threads = (int)cp_option_int(s->options, "threads"),
                             .quiet = cp_option_flag(s->options, "quiet"),
                             .called = cp_options_called(s->options),
                             .prepare = prepare,
                             .context = s};
    if (!cp_trials_collect(s->trials, s->options, s->runs, &missing, &s->error)) return false; /* before hours of work */
    if (missing && !tables_only(s)) {
        cp_runs_execute(s->runs, config, &s->error);
        if (!cp_trials_collect(s->trials, s->options, s->runs, &missing, &s->error)) return false;
    }
    if (missing && cp_interrupted()) {
        cp_complain(s->options, "interrupted; %d of %d runs are done, and the same command continues", s->runs->count - missing,
                    s->runs->count);
        s->code = CP_EXIT_INTERRUPTED;
        return false;
    }
    bool some = s->config.command && missing < s->runs->count; /* tables can be made of some of the runs */
    if (!some) report_missing(s, missing, false);
    return !missing || some;
}

/* One process at a time writes the study's own folder. While this one waited, others may have finished more runs. */
static bool open_folder(cp_study *s) {
    int missing;
    s->run = cp_run_replace(s->options);
    if (!s->run) s->code = CP_EXIT_FAILED;
    if (!s->run || !cp_trials_collect(s->trials, s->options, s->runs, &missing, &s->error)) return false;
    report_missing(s, missing, s->config.command);
    return !missing || s->config.command;
}

static void print_damaged(const cp_runs *r) {
    for (int i = 0; i < r->count; i++)
        if (cp_runs_stage(r, i) == CP_STAGE_DAMAGED)
            fprintf(stderr, "%s is damaged; the same command without --jobs 0 makes it again\n", cp_runs_folder(r, i).s);
}

static bool make_runs(cp_study *s) {
    cp_status *status = &s->error;
    if (!s->runs) return false;
    if (tables_only(s))
        print_damaged(s->runs);
    else if (!cp_runs_quarantine(s->runs, status))
        return false;
    if (!cp_runs_save(s->runs, status)) return false;
    if (cp_option_flag(s->options, "list")) {
        print_list(s, status);
        return false;
    }
    if (cp_option_given(s->options, "slurm")) {
        submit(s, status);
        return false;
    }
    return make(s) && open_folder(s);
}

static bool make_one(cp_study *s) {
    cp_run *run = s->run;
    int     trial = (int)cp_option_int(run->options, "trial");
    if (trial >= cp_trials_count(s->trials)) {
        cp_fail(&run->status, "--trial %d is beyond the %d trials, which are counted from 0", trial, cp_trials_count(s->trials));
        return false;
    }
    if (!cp_trials_run_one(s->trials, run, trial) || !cp_run_should_continue(run)) return false;
    cp_json_writer w = {.pretty = true};
    cp_run_begin_result(run, &w, "%s", s->title);
    cp_trials_put_one(s->trials, &w, trial);
    cp_json_put_end(&w);
    cp_run_finish(run, &w);
    return false;
}

/* ---- making the trials ---- */

cp_study *(cp_study_new)(cp_at at, const cp_options *options, const char *title, cp_trials_config config) {
    cp_study *s = calloc(1, sizeof *s);
    if (!s) return cp_complain(options, "not enough memory"), NULL;
    *s = (cp_study){.options = options, .title = title, .config = config, .result = {.pretty = true}};
    s->trials = (cp_trials_new)(at, config);
    s->mode = choose_mode(options, &config);
    if (!s->trials) cp_complain(options, "not enough memory for %d repetitions", config.repeats);
    if (s->trials && s->mode == AS_RUNS && plan(s)) return s;
    if (s->trials && s->mode != AS_RUNS) s->run = cp_run_open(options);
    if (s->run) return s;
    cp_trials_free(s->trials);
    cp_runs_free(s->runs);
    free(s);
    return NULL;
}

bool cp_study_run(cp_study *s) {
    if (!s) return false;
    if (s->mode == AS_RUNS) return s->complete = make_runs(s);
    if (s->run->state == CP_RUN_FINISHED) return false;
    if (s->mode == ONE_TRIAL) return make_one(s);
    s->complete = cp_trials_run(s->trials, s->run) && cp_run_should_continue(s->run);
    return s->complete;
}

static int run_of(const cp_study *s, int of_case, int repeat) {
    return repeat * (cp_trials_count(s->trials) / cp_trials_repeats(s->trials)) + of_case;
}

cp_json *cp_study_run_result(const cp_study *s, int of_case, int repeat) {
    const cp_runs *r = s->runs;
    bool           there = r && cp_trials_has(s->trials, of_case, repeat);
    return there ? cp_runs_read(r, r->at[run_of(s, of_case, repeat)].name, CP_RUN_RESULT) : NULL;
}

cp_file_path cp_study_trial_folder(const cp_study *s, int of_case, int repeat) {
    if (s->runs) return cp_runs_folder(s->runs, run_of(s, of_case, repeat));
    return cp_trials_folder(s->trials, s->run, of_case, repeat);
}

/* ---- texts ---- */

static void add_text(cp_words *texts, const char *format, va_list values) {
    cp_words_add_list(texts, format, values);
    if (!texts->failed) cp_text_printable(texts->at[texts->count - 1]); /* names of data may be in it */
}

void cp_study_say(cp_study *s, const char *format, ...) {
    va_list values;
    va_start(values, format);
    add_text(&s->sentences, format, values);
    va_end(values);
}

void(cp_study_add_note)(cp_at at, cp_study *s, const char *format, ...) {
    va_list values;
    if (s->result_started) cp_misuse(at, "study_add_note", "the notes are in the result already; they come before cp_study_result");
    va_start(values, format);
    add_text(&s->notes, format, values);
    va_end(values);
}

void cp_study_print_notes(const cp_study *s, FILE *file, const char *before) {
    const cp_words *notes = &s->notes;
    for (int i = 0; i < notes->count; i++) fprintf(file, "%s%s\n", before, notes->at[i]);
}

/* ---- files ---- */

void cp_study_add_file(cp_study *s, const char *file) { cp_words_add(&s->files, "%s", file); }

bool cp_study_add_figure(cp_study *s, cp_figure *figure, const char *name) {
    static const char *const ends[] = {"svg", "csv", "figure.json"};
    bool                     ok = cp_figure_finish(figure, cp_run_path(s->run, name).s, &s->run->status);
    for (int i = 0; ok && i < 3; i++) {
        char file[300];
        snprintf(file, sizeof file, "%s.%s", name, ends[i]);
        cp_study_add_file(s, file);
    }
    return ok;
}

/* Removes what the previous command wrote and this one did not, and nothing else: a user's files may be there too. */
static bool replace_files(cp_study *s) {
    cp_file_path    path = cp_run_path(s->run, FILES);
    cp_json        *before = cp_json_read(path.s, NULL);
    const cp_words *files = &s->files;
    cp_json_writer  w = {.pretty = true};
    for (const cp_json *file = before ? before->first : NULL; file; file = file->next) {
        const char *name = cp_json_string(file, "");
        if (!strchr(name, '/') && !cp_words_have(files, name)) unlink(cp_run_path(s->run, name).s);
    }
    cp_json_free(before);
    cp_words_put(files, &w, NULL);
    return cp_json_writer_save(&w, path.s, &s->run->status);
}

void(cp_study_add_table)(cp_at at, cp_study *s, const char *key, cp_table *table) {
    if (s->table_count < (int)(sizeof s->tables / sizeof *s->tables)) {
        s->tables[s->table_count].key = key;
        s->tables[s->table_count++].table = table;
    } else {
        cp_misuse(at, "study_add_table", "%s is one table too many", key);
        cp_table_free(table);
    }
}

/* ---- divergence ---- */

/* Whether case j diverged, with the advice of case i. */
static bool diverged_alike(const cp_study *s, int i, int j) {
    const cp_case *a = &s->config.cases[i], *b = &s->config.cases[j];
    return cp_trials_diverged(s->trials, j) && strcmp(a->advice ? a->advice : "", b->advice ? b->advice : "") == 0;
}

/* One note for all cases that diverged with the same advice: "lambda 30, lambda 100 diverged with rate 1: ...". */
static void note_diverged(cp_study *s) {
    const cp_case *cases = s->config.cases;
    for (int i = 0; cases[i].name; i++) {
        char   names[300] = "", more[40] = "";
        size_t used = 0;
        int    others = 0;
        bool   skip = !diverged_alike(s, i, i);
        for (int j = 0; j < i; j++) skip = skip || diverged_alike(s, i, j);
        for (int j = i; !skip && cases[j].name; j++) {
            if (!diverged_alike(s, i, j)) continue;
            if (used + strlen(cases[j].name) + 3 < sizeof names)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", cases[j].name);
            else
                others++;
        }
        if (others) snprintf(more, sizeof more, " and %d more", others);
        if (!skip) (cp_study_add_note)((cp_at){0}, s, "%s%s diverged%s.", names, more, cases[i].advice ? cases[i].advice : "");
    }
}

/* A study with a gap in its main table fails, though its results are saved. */
static void fail_diverged(cp_study *s) {
    const cp_case *cases = s->config.cases;
    for (int i = 0; cases[i].name; i++) {
        int lost = cp_trials_diverged(s->trials, i);
        if (!lost || cases[i].secondary) continue;
        cp_fail(&s->run->status, "%s diverged in %d of %d repetitions%s; the results are in %s", cases[i].name, lost,
                cp_trials_repeats(s->trials), cases[i].advice ? cases[i].advice : "", s->run->folder);
        return;
    }
}

/* ---- the result ---- */

cp_json_writer *cp_study_result(cp_study *s) {
    cp_json_writer *w = &s->result;
    if (s->result_started) return w;
    note_diverged(s);
    s->result_started = true;
    cp_run_begin_result(s->run, w, "%s", s->title);
    cp_words_put(&s->notes, w, "notes");
    return w;
}

static void put_methods(cp_study *s) {
    cp_json_writer *w = cp_study_result(s);
    const cp_case  *cases = s->config.cases;
    cp_json_put_object(w, "methods");
    for (int i = 0; cases[i].name; i++)
        if (!cases[i].secondary) cp_trials_put_case(s->trials, w, cases[i].name, i);
    cp_json_put_end(w);
}

static cp_table *default_table(const cp_study *s) {
    const cp_case    *cases = s->config.cases;
    const cp_measure *measures = s->config.measures;
    cp_table         *table = cp_table_new(1, "method");
    for (int m = 0; measures[m].name; m++)
        if (!measures[m].secondary) cp_table_column(table, measures[m].title ? measures[m].title : measures[m].name);
    for (int i = 0; cases[i].name; i++) {
        if (cases[i].secondary) continue;
        cp_table_text(table, "%s", cases[i].name);
        for (int m = 0; measures[m].name; m++)
            if (!measures[m].secondary) cp_trials_put_cell(s->trials, table, i, measures[m].name);
    }
    return table;
}

static void print_result(const cp_study *s) {
    for (int i = 0; i < s->sentences.count; i++) printf("%s\n", s->sentences.at[i]);
    for (int i = 0; i < s->table_count; i++) {
        if (i || s->sentences.count) printf("\n");
        cp_table_print(s->tables[i].table, stdout);
    }
    if (s->notes.count) printf("\n");
    cp_study_print_notes(s, stdout, "");
}

static void print_folder(const cp_run *run, const cp_study *s) {
    FILE *file = run->json ? stderr : stdout;
    int   others = s->runs ? cp_runs_count_others(s->runs) : 0;
    fprintf(file, "%sResults: %s/ (result.json", run->json ? "" : "\n", run->folder);
    for (int i = 0; i < s->files.count; i++) {
        if (strstr(s->files.at[i], ".figure.json")) continue; /* those are for reports */
        fprintf(file, ", ");
        cp_text_print(file, s->files.at[i], strlen(s->files.at[i]));
    }
    fprintf(file, ")\n");
    if (others)
        fprintf(file, "%d more run%s of other commands there %s not in the tables, which are of what this command asks for.\n",
                others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
}

static void finish(cp_study *s) {
    cp_run         *run = s->run;
    cp_json_writer *w = &s->result;
    if (!s->result_started) put_methods(s);
    if (!s->table_count) cp_study_add_table(s, "table", default_table(s));
    for (int i = 0; i < s->table_count; i++) cp_table_put(s->tables[i].table, w, s->tables[i].key);
    cp_json_put_end(w);
    if (s->sentences.failed || s->notes.failed || s->files.failed) cp_fail(&run->status, "not enough memory for the result");
    if (!run->quiet && !run->json) print_result(s);
    if (!cp_run_finish(run, w) || (run->replaced && !replace_files(s))) return;
    if (!run->quiet) print_folder(run, s);
    fail_diverged(s);
}

/* Missing and failed runs are reported last. */
static int close_runs(cp_study *s) {
    int code = s->run ? cp_run_close(s->run) : s->code;
    if (s->error.message[0]) cp_complain(s->options, "%s", s->error.message);
    return s->error.message[0] && code == CP_EXIT_OK ? CP_EXIT_FAILED : code;
}

int cp_study_close(cp_study *s) {
    if (!s) return CP_EXIT_FAILED;
    cp_run *run = s->run;
    if (s->complete && cp_run_should_continue(run)) finish(s);
    int code = s->mode == AS_RUNS ? close_runs(s) : run->state == CP_RUN_FINISHED ? cp_run_show(run) : cp_run_close(run);
    for (int i = 0; i < s->table_count; i++) cp_table_free(s->tables[i].table);
    cp_words_free(&s->sentences);
    cp_words_free(&s->notes);
    cp_words_free(&s->files);
    cp_json_writer_free(&s->result);
    cp_trials_free(s->trials);
    cp_runs_free(s->runs);
    free(s);
    return code;
}
