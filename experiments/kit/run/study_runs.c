/* Studies whose trials are runs of their own: planned, listed, submitted or made, and collected. */
#include "experiments/kit/run/study_parts.h"

/* --jobs 0: no run is made, only tables and figures of those that are there. */
static bool is_for_tables(const cp_study_parts *p) {
    return cp_option_given(p->options, "jobs") && cp_option_int(p->options, "jobs") == 0 && !cp_option_flag(p->options, "list") &&
           !cp_option_given(p->options, "slurm");
}

bool cp_study_plan(cp_study *study) {
    cp_study_parts *p = study->parts;
    const char     *out = cp_option_text(p->options, "out");
    cp_status      *status = &p->trouble;
    if (!out) {
        cp_complain(p->options, "--out DIR is needed, a folder for the study that other processes can find");
        p->code = CP_EXIT_USAGE;
        return true;
    }
    bool ok = !is_for_tables(p) || cp_file_exists(out) || cp_fail(status, "%.300s: there is no such folder", out);
    ok = ok && (p->runs = cp_runs_new(out, status)) && cp_trials_plan(study->trials, p->options, p->runs, status);
    if (!ok) cp_complain(p->options, "%s", status->message);
    return ok;
}

/* The command of the job that makes the tables. */
static void put_merge(const cp_study_parts *p, cp_words *words) {
    cp_words_add(words, "%s", p->runs->program);
    cp_words_add_command(words, p->options, (const char *[]){"jobs", "list", "slurm", "status", "quiet", "json", NULL});
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

/* Those that want their data are in no list, which is told: a list that is empty looks as if all were done. */
static int count_without_data(const cp_runs *r) {
    int count = 0;
    for (int i = 0; i < r->count; i++) {
        cp_run_stage stage = r->at[i].without_data ? cp_runs_stage(r, i) : CP_STAGE_DONE;
        count += stage != CP_STAGE_DONE && stage != CP_STAGE_DIVERGED && stage != CP_STAGE_RUNNING;
    }
    return count;
}

static bool print_list(const cp_study_parts *p, cp_status *status) {
    cp_bytes lines = {0};
    int      lacking = count_without_data(p->runs);
    if (!cp_runs_check_lines(p->runs, status)) return false;
    for (int i = 0; i < p->runs->count; i++)
        if (cp_runs_is_pending(p->runs, i)) cp_runs_put_command(p->runs, i, (int)cp_option_int(p->options, "threads"), &lines);
    if (lines.size) fwrite(lines.data, 1, lines.size, stdout);
    bool ok = !lines.failed || cp_fail(status, "not enough memory");
    if (ok && lacking) ok = cp_fail(status, "%d of %d runs cannot be listed before the data are here", lacking, p->runs->count);
    cp_bytes_free(&lines);
    return ok;
}

static void tell_missing(cp_study_parts *p, int missing, bool some) {
    if (missing)
        cp_fail(&p->trouble, "%d of %d runs %s missing%s; the same command%s makes what is missing%s", missing, p->runs->count,
                missing == 1 ? "is" : "are", some ? " in the tables" : "", is_for_tables(p) ? " without --jobs 0" : "",
                count_without_data(p->runs) ? ", once the data are here" : "");
}

/* Makes what is left, and tells whether there is something to make tables of. */
static bool make(cp_study *study) {
    cp_study_parts *p = study->parts;
    int             missing;
    cp_runs_config  config = {.jobs = (int)cp_option_int(p->options, "jobs"),
                              .threads = (int)cp_option_int(p->options, "threads"),
                              .quiet = cp_option_flag(p->options, "quiet"),
                              .called = cp_options_called(p->options)};
    if (!cp_trials_collect(study->trials, p->options, p->runs, &missing, &p->trouble)) return false; /* before hours of work */
    if (missing && !is_for_tables(p)) {
        cp_runs_execute(p->runs, config, &p->trouble);
        if (!cp_trials_collect(study->trials, p->options, p->runs, &missing, &p->trouble)) return false;
    }
    if (missing && cp_interrupted()) {
        cp_complain(p->options, "interrupted; %d of %d runs are done, and the same command continues", p->runs->count - missing,
                    p->runs->count);
        p->code = CP_EXIT_INTERRUPTED;
        return false;
    }
    bool some = p->config.command && missing < p->runs->count; /* tables can be made of some of the runs */
    if (!some) tell_missing(p, missing, false);
    return !missing || some;
}

/* The study's own folder, which one process at a time writes. While this one waited for it, others may have made more runs. */
static bool open_folder(cp_study *study) {
    cp_study_parts *p = study->parts;
    int             missing;
    study->run = cp_run_replace(p->options);
    if (!study->run) p->code = CP_EXIT_FAILED;
    if (!study->run || !cp_trials_collect(study->trials, p->options, p->runs, &missing, &p->trouble)) return false;
    tell_missing(p, missing, p->config.command);
    return !missing || p->config.command;
}

static void tell_damaged(const cp_runs *r) {
    for (int i = 0; i < r->count; i++)
        if (cp_runs_stage(r, i) == CP_STAGE_DAMAGED)
            fprintf(stderr, "%s is damaged; the same command without --jobs 0 makes it again\n", cp_runs_folder(r, i).s);
}

bool cp_study_make_runs(cp_study *study) {
    cp_study_parts *p = study->parts;
    cp_status      *status = &p->trouble;
    if (!p->runs) return false;
    if (is_for_tables(p))
        tell_damaged(p->runs);
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

bool cp_study_make_one(cp_study *study) {
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
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "experiment", cp_options_command(run->options)->name);
    cp_json_put_string(&w, "title", p->title);
    cp_trials_put_one(study->trials, &w, trial);
    cp_json_put_end(&w);
    cp_run_finish(run, &w);
    return false;
}

static int run_of(const cp_study *study, int of_case, int repeat) {
    return repeat * (cp_trials_count(study->trials) / cp_trials_repeats(study->trials)) + of_case;
}

cp_json *cp_study_run_result(const cp_study *study, int of_case, int repeat) {
    const cp_runs *r = study->parts->runs;
    bool           there = r && cp_trials_has(study->trials, of_case, repeat);
    return there ? cp_runs_read(r, r->at[run_of(study, of_case, repeat)].name, CP_RUN_RESULT) : NULL;
}

cp_file_path cp_study_run_folder(const cp_study *study, int of_case, int repeat) {
    if (study->parts->runs) return cp_runs_folder(study->parts->runs, run_of(study, of_case, repeat));
    cp_misuse((cp_at){0}, "study_run_folder", "the trials of this study are not runs of their own");
    return (cp_file_path){{0}};
}
