/* The progress of a study, from the folders of its runs. */
#include "core/io/file.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/run/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct state {
    cp_run_stage stage;
    bool         queued;
    double       seconds; /* of its parts that have ended; NaN: unknown */
    double       since;   /* seconds since its latest part began */
    char         host[64], began[32];
    long         process;
    int64_t      step, steps; /* of its training; 0: unknown */
} state;

/* ---- the log ---- */

static double seconds_since(const char *stamp) {
    struct tm t = {0};
    if (sscanf(stamp, "%d-%d-%dT%d:%d:%dZ", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec) != 6) return NAN;
    /* Days since 1970 by the civil calendar: POSIX has no inverse of gmtime. */
    int  y = t.tm_year - (t.tm_mon <= 2), era = y / 400, of_era = y - 400 * era;
    int  day = (153 * (t.tm_mon + (t.tm_mon > 2 ? -3 : 9)) + 2) / 5 + t.tm_mday - 1;
    long days = era * 146097L + of_era * 365L + of_era / 4 - of_era / 100 + day - 719468L;
    return difftime(time(NULL), 0) - (86400.0 * (double)days + 3600 * t.tm_hour + 60 * t.tm_min + t.tm_sec);
}

static void read_line(state *s, const cp_json *line, double *part) {
    const char *event = cp_json_string(cp_json_get(line, "event"), "");
    s->step = cp_json_integer(cp_json_get(line, "step"), s->step);
    s->steps = cp_json_integer(cp_json_get(line, "steps"), s->steps);
    if (!*event || cp_json_get(line, "step")) return; /* the training's events have a step */
    if (strcmp(event, "start") == 0 || strcmp(event, "continue") == 0) {
        s->seconds = (isfinite(s->seconds) ? s->seconds : 0) + *part;
        snprintf(s->began, sizeof s->began, "%s", cp_json_string(cp_json_get(line, "time"), ""));
        snprintf(s->host, sizeof s->host, "%s", cp_json_string(cp_json_get(line, "host"), "?"));
        cp_text_printable(s->host);
        s->process = (long)cp_json_integer(cp_json_get(line, "process"), 0);
    }
    *part = cp_json_number(cp_json_get(line, "seconds"), 0);
}

static void read_log(const cp_runs *r, int i, state *s) {
    cp_file_path path = cp_runs_file(r, i, CP_RUN_LOG);
    cp_bytes     text = {0};
    double       part = 0;
    s->seconds = NAN;
    if (!cp_file_read(path.s, CP_RUN_FILE_LIMIT, &text, NULL)) return;
    size_t at = 0;
    for (cp_line line; cp_bytes_line(&text, &at, &line);) {
        cp_json *json = cp_json_parse(line.text, line.length, path.s, NULL);
        read_line(s, json, &part);
        cp_json_free(json);
    }
    s->seconds += part;
    s->since = *s->began ? seconds_since(s->began) : NAN;
    cp_bytes_free(&text);
}

/* ---- the remaining time ---- */

/* The mean over the finished runs of the same group, or else of all; NaN: unknown. */
static double usual_seconds(const cp_runs *r, const state *s, int i) {
    double sum[2] = {0};
    int    n[2] = {0};
    for (int k = 0; k < r->count; k++) {
        if (s[k].stage != CP_STAGE_DONE || !isfinite(s[k].seconds)) continue;
        bool same = strcmp(r->at[k].group, r->at[i].group) == 0;
        sum[same] += s[k].seconds, n[same]++;
    }
    return n[1] ? sum[1] / n[1] : n[0] ? sum[0] / n[0] : NAN;
}

/* By the share of its steps that a run has done or, if its log has no steps, by the time since it began. */
static double seconds_to_go(const cp_runs *r, const state *s, int running) {
    double sum = 0;
    for (int i = 0; i < r->count; i++) {
        if (cp_runs_has_result(s[i].stage)) continue;
        if (r->at[i].without_data && s[i].stage != CP_STAGE_RUNNING) continue;
        double usual = usual_seconds(r, s, i), spent = s[i].stage == CP_STAGE_RUNNING && s[i].since > 0 ? s[i].since : 0;
        if (s[i].steps > 0 && s[i].stage != CP_STAGE_DAMAGED) spent = usual * (double)s[i].step / (double)s[i].steps;
        sum += fmax(usual - spent, 0.05 * usual);
    }
    return sum / (running ? running : 1);
}

/* ---- output ---- */

static const char *const words[CP_STAGES] = {
    [CP_STAGE_PENDING] = "left",    [CP_STAGE_FAILED] = "failed", [CP_STAGE_RUNNING] = "running",
    [CP_STAGE_DAMAGED] = "damaged", [CP_STAGE_DONE] = "done",     [CP_STAGE_DIVERGED] = "diverged"};
static const cp_run_stage order[CP_STAGES] = {CP_STAGE_DONE,   CP_STAGE_DIVERGED, CP_STAGE_RUNNING,
                                              CP_STAGE_FAILED, CP_STAGE_DAMAGED,  CP_STAGE_PENDING};

typedef struct tally {
    int    of[CP_STAGES], queued, without_data, others;
    double to_go;
} tally;

static void print_failure(const cp_runs *r, int i) {
    cp_bytes text = {0};
    if (!cp_file_read(cp_runs_failure_path(r, i).s, 1 << 20, &text, NULL)) return;
    size_t end = text.size;
    while (end && text.data[end - 1] == '\n') end--;
    size_t begin = end;
    while (begin && text.data[begin - 1] != '\n') begin--;
    printf(": ");
    cp_text_print(stdout, (const char *)text.data + begin, cp_text_cut((const char *)text.data + begin, end - begin, 200));
    cp_bytes_free(&text);
}

static void print_run(const cp_runs *r, const state *s, int i) {
    printf("  ");
    cp_text_print(stdout, r->at[i].name, strlen(r->at[i].name));
    if (s[i].stage == CP_STAGE_RUNNING)
        printf(" on %s, process %ld, for %s", s[i].host, s[i].process, cp_duration_text(s[i].since).s);
    if (s[i].stage == CP_STAGE_RUNNING && s[i].steps) printf(", step %lld of %lld", (long long)s[i].step, (long long)s[i].steps);
    if (s[i].stage == CP_STAGE_FAILED) print_failure(r, i);
    printf("\n");
}

static void print_status(const cp_runs *r, const state *s, const tally *t) {
    printf("%s: %d of %d runs done\n", r->folder, t->of[CP_STAGE_DONE] + t->of[CP_STAGE_DIVERGED], r->count);
    for (int k = 0; k < CP_STAGES; k++) {
        cp_run_stage stage = order[k];
        if (!t->of[stage]) continue;
        printf("%-9s %d", words[stage], t->of[stage]);
        if (stage == CP_STAGE_PENDING && t->queued) printf(", %d of them queued", t->queued);
        if (stage == CP_STAGE_PENDING && t->without_data) printf(", for %d of them the last command had no data", t->without_data);
        printf("\n");
        if (stage == CP_STAGE_DONE || stage == CP_STAGE_PENDING) continue;
        for (int i = 0; i < r->count; i++)
            if (s[i].stage == stage) print_run(r, s, i);
    }
    if (t->others) printf("%-9s %d, which the last command did not ask for\n", "others", t->others);
    int running = t->of[CP_STAGE_RUNNING], done = t->of[CP_STAGE_DONE];
    if (done + t->of[CP_STAGE_DIVERGED] + t->without_data == r->count) return;
    if (isfinite(t->to_go))
        printf("time to go: about %s with %d at a time\n", cp_duration_text(t->to_go).s, running ? running : 1);
    else
        printf("time to go: not known%s\n", done ? "; the finished runs have no logs" : " before a run is done");
}

static void put_status(const cp_runs *r, const state *s, const tally *t, cp_json_writer *w) {
    cp_json_put_object(w, NULL);
    cp_json_put_string(w, "folder", r->folder);
    for (int k = 0; k < CP_STAGES; k++) cp_json_put_integer(w, words[order[k]], t->of[order[k]]);
    cp_json_put_integer(w, "queued", t->queued);
    cp_json_put_integer(w, "without_data", t->without_data);
    cp_json_put_integer(w, "others", t->others);
    cp_json_put_number(w, "seconds_to_go", t->to_go);
    cp_json_put_array(w, "runs");
    for (int i = 0; i < r->count; i++) {
        cp_json_put_object(w, NULL);
        cp_json_put_string(w, "name", r->at[i].name);
        cp_json_put_string(w, "state", words[s[i].stage]);
        cp_json_put_bool(w, "queued", s[i].queued);
        cp_json_put_number(w, "seconds", s[i].seconds);
        cp_json_put_string(w, "host", s[i].host);
        cp_json_put_integer(w, "step", s[i].step);
        cp_json_put_integer(w, "steps", s[i].steps);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
    cp_json_put_end(w);
}

static void look(const cp_runs *r, state *s, tally *t, cp_status *status) {
    bool *queued = calloc((size_t)r->count + 1, sizeof *queued);
    if (queued) cp_runs_queued(r, queued, status);
    for (int i = 0; i < r->count; i++) {
        s[i].stage = cp_runs_stage(r, i);
        s[i].queued = queued && queued[i] && (s[i].stage == CP_STAGE_PENDING || s[i].stage == CP_STAGE_FAILED);
        if (s[i].queued) s[i].stage = CP_STAGE_PENDING; /* it is tried again */
        read_log(r, i, &s[i]);
        t->of[s[i].stage]++;
        t->queued += s[i].queued;
        t->without_data += r->at[i].without_data && s[i].stage == CP_STAGE_PENDING;
    }
    t->others = cp_runs_count_others(r);
    t->to_go = seconds_to_go(r, s, t->of[CP_STAGE_RUNNING]);
    free(queued);
}

int cp_runs_status(const cp_options *o) {
    cp_status      status = {0}, silent = {0};
    cp_runs       *r = cp_runs_load(cp_option_text(o, "status"), &status);
    state         *s = r ? calloc((size_t)r->count + 1, sizeof *s) : NULL;
    tally          t = {0};
    cp_json_writer w = {.pretty = true};
    if (!s) {
        cp_complain(o, "%s", r ? "not enough memory" : status.message);
        cp_runs_free(r);
        return CP_EXIT_FAILED;
    }
    look(r, s, &t, &silent);
    if (cp_option_flag(o, "json")) {
        put_status(r, s, &t, &w);
        if (cp_json_writer_finish(&w, NULL)) printf("%s\n", (const char *)w.out.data);
        cp_json_writer_free(&w);
    } else {
        print_status(r, s, &t);
        if (silent.message[0]) cp_complain(o, "%s", silent.message);
    }
    free(s);
    cp_runs_free(r);
    return CP_EXIT_OK;
}
