/* Lists of runs, made by processes of this machine. */
#include "core/io/file.h"
#include "core/threads.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/run/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

typedef enum fate { TO_DO, STARTED, ELSEWHERE, ENDED, GIVEN_UP } fate;

typedef struct child {
    pid_t process; /* 0: a free place */
    int   run;
    FILE *said; /* on stderr */
} child;

typedef struct work {
    const cp_runs *runs;
    cp_runs_config config;
    fate          *fates; /* by run */
    child         *children;
    int            working, failures;
    bool           told_to_stop;
    cp_progress    progress;
} work;

/* ---- one child ---- */

/* In the child, to the end. Its own process group: Ctrl-C reaches the parent, which passes it on once. */
static void become(const cp_runs *r, char *const *words, FILE *said, pid_t parent) {
    int nothing = open("/dev/null", O_RDWR);
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL); /* execv would forget what our own handlers have noted */
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* should the parent be killed: save what there is, and end */
#endif
    if (cp_interrupted() || getppid() != parent) _exit(CP_EXIT_INTERRUPTED);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(fileno(said), STDERR_FILENO);
    execv(r->executable, words);
    fprintf(stderr, "%s cannot be started: %s\n", r->program, strerror(errno));
    fflush(stderr);
    _exit(CP_EXIT_FAILED);
}

static bool start(work *w, child *place, int i, cp_status *status) {
    const cp_runs *r = w->runs;
    cp_words       words = {0};
    pid_t          parent = getpid();
    cp_words_add(&words, "%s", r->program);
    for (int k = 0; k < r->at[i].words.count; k++) cp_words_add(&words, "%s", r->at[i].words.at[k]);
    cp_words_add(&words, "--out=%s", cp_runs_folder(r, i).s);
    cp_words_add(&words, "--threads=%d", w->config.threads);
    cp_words_add(&words, "--quiet");
    *place = (child){.run = i, .said = tmpfile()};
    bool ok = (place->said && !words.failed) || cp_fail(status, "not enough memory or disk to start a process");
    if (ok) {
        cp_runs_forget_failure(r, i);
        fflush(NULL);
        place->process = fork();
        if (place->process == 0) become(r, words.at, place->said, parent);
        if (place->process < 0) ok = cp_fail(status, "a process cannot be started: %s; take fewer --jobs", strerror(errno));
    }
    cp_words_free(&words);
    if (!ok && place->said) fclose(place->said);
    if (!ok) *place = (child){0};
    if (ok) w->fates[i] = STARTED, w->working++;
    return ok;
}

/* What it said goes to failed/ and to the user. */
static void tell_failure(work *w, const child *c, int end) {
    const cp_runs *r = w->runs;
    cp_file_path   path = cp_runs_failure_path(r, c->run);
    cp_bytes       text = {0};
    char           block[4096], reason[64] = "";
    if (WIFSIGNALED(end)) snprintf(reason, sizeof reason, "it was killed by signal %d\n", WTERMSIG(end));
    rewind(c->said);
    for (size_t got; (got = fread(block, 1, sizeof block, c->said)) > 0;) cp_bytes_append(&text, block, got);
    cp_bytes_text(&text, reason);
    if (text.size == 0) cp_bytes_text(&text, "it ended without a word\n");
    cp_bytes_append(&text, "", 1);
    if (!text.failed && cp_folder_make(cp_folder_path(r->folder, "failed").s, NULL))
        cp_file_write(path.s, text.data, text.size - 1, NULL);
    cp_progress_end(&w->progress);
    fprintf(stderr, "%s failed: ", r->at[c->run].name);
    cp_text_print(stderr, text.failed ? "\n" : (const char *)text.data, text.failed ? 1 : text.size - 1);
    cp_bytes_free(&text);
    w->failures++;
}

/* That it could not have the folder is no failure: somebody else is at it. */
static bool was_held(const child *c) {
    char said[2048];
    rewind(c->said);
    said[fread(said, 1, sizeof said - 1, c->said)] = '\0';
    return strstr(said, CP_RUN_HELD) != NULL;
}

static void conclude(work *w, child *c, int end) {
    cp_run_stage stage = cp_runs_stage(w->runs, c->run);
    fate        *fate = &w->fates[c->run];
    if (cp_runs_has_result(stage)) {
        *fate = ENDED;
        cp_runs_forget_failure(w->runs, c->run); /* another process may have reported one while this one ran */
    } else if (stage == CP_STAGE_RUNNING || was_held(c))
        *fate = ELSEWHERE;
    else if (w->told_to_stop || cp_interrupted())
        *fate = TO_DO;
    else {
        *fate = GIVEN_UP;
        tell_failure(w, c, end);
    }
    fclose(c->said);
    *c = (child){0};
    w->working--;
}

/* ---- all of them ---- */

static int count(const work *w, fate f) {
    int n = 0;
    for (int i = 0; i < w->runs->count; i++) n += w->fates[i] == f;
    return n;
}

static void look_elsewhere(work *w) {
    for (int i = 0; i < w->runs->count; i++) {
        if (w->fates[i] != TO_DO && w->fates[i] != ELSEWHERE) continue;
        cp_run_stage stage = cp_runs_stage(w->runs, i);
        w->fates[i] = cp_runs_has_result(stage)     ? ENDED
                      : stage == CP_STAGE_RUNNING   ? ELSEWHERE
                      : w->runs->at[i].without_data ? GIVEN_UP
                                                    : TO_DO;
    }
}

static void pass_stop_on(work *w) {
    if (w->told_to_stop || !cp_interrupted()) return;
    w->told_to_stop = true;
    cp_progress_end(&w->progress);
    if (w->working && !w->config.quiet)
        fprintf(stderr, "%s: interrupted; waiting for %d run%s to save what there is\n", w->config.called, w->working,
                w->working == 1 ? "" : "s");
    for (int k = 0; k < w->config.jobs; k++)
        if (w->children[k].process) kill(w->children[k].process, SIGTERM);
}

static void reap(work *w) {
    int end;
    for (int k = 0; k < w->config.jobs; k++)
        if (w->children[k].process && waitpid(w->children[k].process, &end, WNOHANG) == w->children[k].process)
            conclude(w, &w->children[k], end);
}

static bool fill(work *w, cp_status *status) {
    for (int i = 0; w->working < w->config.jobs && i < w->runs->count; i++) {
        if (w->fates[i] != TO_DO) continue;
        cp_run_stage stage = cp_runs_stage(w->runs, i);
        if (stage == CP_STAGE_RUNNING) w->fates[i] = ELSEWHERE;
        if (cp_runs_has_result(stage)) w->fates[i] = ENDED;
        if (w->fates[i] != TO_DO) continue;
        int k = 0;
        while (w->children[k].process) k++;
        if (!start(w, &w->children[k], i, status)) return false;
    }
    return true;
}

static void wait_a_moment(void) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

/* The first runs are the same for every process on the folder; the lock sorts out who makes them. */
static bool go_through(work *w, cp_status *status) {
    double looked = cp_clock();
    bool   ok = true, told = false;
    for (;;) {
        pass_stop_on(w); /* first: a child that ends by the same signal has not failed */
        reap(w);
        if (!w->told_to_stop && ok) ok = fill(w, status);
        int elsewhere = count(w, ELSEWHERE), over = count(w, ENDED) + count(w, GIVEN_UP);
        if (!w->working && (w->told_to_stop || !ok || over == w->runs->count)) break;
        char state[64];
        snprintf(state, sizeof state, "%d running here%s", w->working, elsewhere ? ", some elsewhere" : "");
        cp_progress_update(&w->progress, over, state);
        if (!w->working && elsewhere && !told && !w->config.quiet) {
            cp_progress_end(&w->progress);
            fprintf(stderr, "%s: waiting for %d run%s that other processes make (Ctrl-C ends this one only)\n", w->config.called,
                    elsewhere, elsewhere == 1 ? "" : "s");
            told = true;
        }
        if (elsewhere && cp_clock() - looked > 1) {
            look_elsewhere(w);
            looked = cp_clock();
        }
        wait_a_moment();
    }
    return ok;
}

/* Processes times threads are the machine's processors. */
static void share_processors(cp_runs_config *c, int left) {
    int threads = c->threads;
    cp_threads_set(0);
    int processors = cp_threads();
    if (!c->jobs) c->jobs = threads ? processors / threads : processors;
    if (c->jobs > left) c->jobs = left;
    if (c->jobs < 1) c->jobs = 1;
    if (!c->threads) c->threads = processors / c->jobs > 1 ? processors / c->jobs : 1;
    cp_threads_set(threads);
}

bool cp_runs_execute(const cp_runs *r, cp_runs_config config, cp_status *status) {
    work w = {.runs = r, .config = config, .fates = calloc((size_t)r->count + 1, sizeof *w.fates)};
    if (!w.fates) return cp_fail(status, "not enough memory for %d runs", r->count);
    look_elsewhere(&w);
    int done = count(&w, ENDED);
    share_processors(&w.config, r->count - done);
    w.children = calloc((size_t)w.config.jobs, sizeof *w.children);
    w.progress = (cp_progress){.label = "runs", .unit = "runs", .total = r->count, .skipped = done, .quiet = config.quiet};
    cp_interrupts_watch();
    cp_progress_start(&w.progress);
    bool ok = w.children ? go_through(&w, status) : cp_fail(status, "not enough memory for %d processes", w.config.jobs);
    cp_progress_end(&w.progress);
    if (ok && w.told_to_stop)
        ok = false;
    else if (ok && w.failures)
        ok = cp_fail(status, "%d of %d runs failed; what they said is in %s/failed", w.failures, r->count, r->folder);
    free(w.children);
    free(w.fates);
    return ok;
}
