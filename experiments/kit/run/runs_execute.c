/* Lists of runs: running them as processes of this machine. */
#include "core/io/file.h"
#include "core/threads.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/run/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

typedef enum progress_of { TO_DO, STARTED, ELSEWHERE, ENDED, GIVEN_UP } progress_of;

typedef struct child {
    pid_t process; /* 0: a free slot */
    int   run;
    FILE *output; /* its stderr */
} child;

typedef struct work {
    const cp_runs *runs;
    cp_runs_config config;
    progress_of   *of; /* by run */
    child         *children;
    int            working, failures;
    bool           stopping;
    cp_progress    progress;
} work;

/* ---- one child ---- */

/* Runs in the child and does not return. The child has a process group of its own: Ctrl-C reaches only the parent, which passes it on. */
static void exec_run(const cp_runs *r, char *const *words, FILE *output, pid_t parent) {
    int nothing = open("/dev/null", O_RDWR);
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL); /* a signal that our handlers noted would be lost in execv */
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* if the parent is killed, save and end */
#endif
    if (cp_interrupted() || getppid() != parent) _exit(CP_EXIT_INTERRUPTED);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(fileno(output), STDERR_FILENO);
    execv(r->executable, words);
    fprintf(stderr, "%s cannot be started: %s\n", r->program, strerror(errno));
    fflush(stderr);
    _exit(CP_EXIT_FAILED);
}

static bool start(work *w, child *slot, int i, cp_status *status) {
    cp_words words = cp_runs_command(w->runs, i, w->config.threads);
    pid_t    parent = getpid();
    *slot = (child){.run = i, .output = tmpfile()};
    bool ok = (slot->output && !words.failed) || cp_fail(status, "not enough memory or disk to start a process");
    if (ok) {
        cp_runs_forget_failure(w->runs, i);
        fflush(NULL);
        slot->process = fork();
        if (slot->process == 0) exec_run(w->runs, words.at, slot->output, parent);
        if (slot->process < 0) ok = cp_fail(status, "a process cannot be started: %s; use fewer --jobs", strerror(errno));
    }
    cp_words_free(&words);
    if (!ok && slot->output) fclose(slot->output);
    if (!ok) *slot = (child){0};
    if (ok) w->of[i] = STARTED, w->working++;
    return ok;
}

/* Its output goes to failed/ and to the user. */
static void report_failure(work *w, int run, cp_bytes *output, int end) {
    cp_file_path path = cp_runs_failure_path(w->runs, run);
    char         reason[64] = "";
    w->of[run] = GIVEN_UP;
    if (WIFSIGNALED(end)) snprintf(reason, sizeof reason, "it was killed by signal %d\n", WTERMSIG(end));
    cp_bytes_text(output, reason);
    if (output->size == 0) cp_bytes_text(output, "it exited without output\n");
    if (!output->failed && cp_folder_make(cp_folder_path(w->runs->folder, "failed").s, NULL))
        cp_file_write(path.s, output->data, output->size, NULL);
    cp_progress_end(&w->progress);
    fprintf(stderr, "%s failed: ", w->runs->at[run].name);
    cp_text_print(stderr, output->failed ? "\n" : (const char *)output->data, output->failed ? 1 : output->size);
    w->failures++;
}

/* A process that could not have the folder has not failed: another one is running it. */
static bool was_held(cp_bytes *output) {
    bool held = cp_bytes_append(output, "", 1) && strstr((const char *)output->data, CP_RUN_HELD);
    if (output->size) output->size--;
    return held;
}

/* Reads the state of a run from its folder, unless this process has started the run or given it up. */
static void update(work *w, int i) {
    if (w->of[i] != TO_DO && w->of[i] != ELSEWHERE) return;
    cp_run_stage stage = cp_runs_stage(w->runs, i);
    w->of[i] = cp_runs_has_result(stage)     ? ENDED
               : stage == CP_STAGE_RUNNING   ? ELSEWHERE
               : w->runs->at[i].without_data ? GIVEN_UP
                                             : TO_DO;
}

static void conclude(work *w, child *c, int end) {
    cp_bytes output = {0};
    char     block[4096];
    rewind(c->output);
    for (size_t got; (got = fread(block, 1, sizeof block, c->output)) > 0;) cp_bytes_append(&output, block, got);
    w->of[c->run] = TO_DO;
    update(w, c->run);
    if (w->of[c->run] == ENDED) {
        cp_runs_forget_failure(w->runs, c->run); /* another process may have reported one while this one ran */
    } else if (w->of[c->run] == TO_DO && was_held(&output)) {
        w->of[c->run] = ELSEWHERE;
    } else if (w->of[c->run] == TO_DO && !w->stopping && !cp_interrupted()) {
        report_failure(w, c->run, &output, end);
    }
    cp_bytes_free(&output);
    fclose(c->output);
    *c = (child){0};
    w->working--;
}

/* ---- all of them ---- */

static int count(const work *w, progress_of what) {
    int n = 0;
    for (int i = 0; i < w->runs->count; i++) n += w->of[i] == what;
    return n;
}

static void stop_children(work *w) {
    if (w->stopping || !cp_interrupted()) return;
    w->stopping = true;
    cp_progress_end(&w->progress);
    if (w->working && !w->config.quiet)
        fprintf(stderr, "%s: interrupted; waiting for %d run%s to save\n", w->config.called, w->working,
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

/* Whether the run before it is done; if that is given up, so is this one. */
static bool may_start(work *w, int i) {
    progress_of before = w->runs->at[i].after ? w->of[w->runs->at[i].after - 1] : ENDED;
    if (before == GIVEN_UP) w->of[i] = GIVEN_UP;
    return before == ENDED;
}

static bool prepare(work *w, int i) {
    cp_status status = {0};
    cp_bytes  message = {0};
    if (!w->config.prepare || !w->runs->at[i].after || w->config.prepare(w->config.context, i, &status)) return true;
    cp_bytes_text(&message, status.message);
    cp_bytes_text(&message, "\n");
    report_failure(w, i, &message, 0);
    cp_bytes_free(&message);
    return false;
}

static bool fill(work *w, cp_status *status) {
    for (int i = 0; w->working < w->config.jobs && i < w->runs->count; i++) {
        if (w->of[i] != TO_DO || !may_start(w, i)) continue;
        update(w, i);
        if (w->of[i] != TO_DO || !prepare(w, i)) continue;
        int k = 0;
        while (w->children[k].process) k++;
        if (!start(w, &w->children[k], i, status)) return false;
    }
    return true;
}

/* Every process on the folder begins with the same runs; the lock decides who makes them. */
static bool make_all(work *w, cp_status *status) {
    double looked = cp_clock();
    bool   ok = true, announced = false;
    for (;;) {
        stop_children(w); /* first: a child that ends by the same signal has not failed */
        reap(w);
        if (!w->stopping && ok) ok = fill(w, status);
        int elsewhere = count(w, ELSEWHERE), over = count(w, ENDED) + count(w, GIVEN_UP);
        if (!w->working && (w->stopping || !ok || over == w->runs->count)) break;
        char state[64];
        snprintf(state, sizeof state, "%d running here%s", w->working, elsewhere ? ", some elsewhere" : "");
        cp_progress_update(&w->progress, over, state);
        if (!w->working && elsewhere && !announced && !w->config.quiet) {
            cp_progress_end(&w->progress);
            fprintf(stderr, "%s: waiting for %d run%s that other processes make (Ctrl-C ends this one only)\n", w->config.called,
                    elsewhere, elsewhere == 1 ? "" : "s");
            announced = true;
        }
        if (elsewhere && cp_clock() - looked > 1) {
            for (int i = 0; i < w->runs->count; i++) update(w, i);
            looked = cp_clock();
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
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
    work w = {.runs = r, .config = config, .of = calloc((size_t)r->count + 1, sizeof *w.of)};
    if (!w.of) return cp_fail(status, "not enough memory for %d runs", r->count);
    for (int i = 0; i < r->count; i++) update(&w, i);
    int done = count(&w, ENDED);
    share_processors(&w.config, r->count - done);
    w.children = calloc((size_t)w.config.jobs, sizeof *w.children);
    w.progress = (cp_progress){.label = "runs", .unit = "runs", .total = r->count, .skipped = done, .quiet = config.quiet};
    cp_interrupts_watch();
    cp_progress_start(&w.progress);
    bool ok = w.children ? make_all(&w, status) : cp_fail(status, "not enough memory for %d processes", w.config.jobs);
    cp_progress_end(&w.progress);
    if (ok && w.stopping)
        ok = false;
    else if (ok && w.failures)
        ok = cp_fail(status, "%d of %d runs failed; see %s/failed", w.failures, r->count, r->folder);
    free(w.children);
    free(w.of);
    return ok;
}
