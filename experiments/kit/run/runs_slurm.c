/* Lists of runs as job arrays of Slurm. A submission leaves in STUDY/slurm the files N.list (one command per line), N.names (the run of
 * each), N.sh (what sbatch is given) and N.job (the number that Slurm gave it), and N.merge.sh. */
#include "core/io/file.h"
#include "experiments/kit/run/runs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGEST_ARRAY = 100000 };

static cp_file_path slurm_file(const cp_runs *r, int number, const char *end) {
    cp_file_path path;
    snprintf(path.s, sizeof path.s, "%s/slurm/%d.%s", r->folder, number, end);
    return path;
}

/* What a command prints, without the final newline. */
static bool ask(const char *command, cp_bytes *answer, cp_status *status) {
    char  block[4096];
    FILE *pipe = popen(command, "r");
    if (!pipe) return cp_fail(status, "%.100s cannot be started", command);
    for (size_t got; (got = fread(block, 1, sizeof block, pipe)) > 0;) cp_bytes_append(answer, block, got);
    int end = pclose(pipe);
    while (answer->size && answer->data[answer->size - 1] == '\n') answer->size--;
    cp_bytes_append(answer, "", 1);
    int word = (int)strcspn(command, " ");
    if (WIFEXITED(end) && WEXITSTATUS(end) == 127)
        return cp_fail(status, "%.*s was not found: is Slurm installed here?", word, command);
    return (end == 0 && !answer->failed) || cp_fail(status, "%.*s failed: does Slurm answer? See its message above", word, command);
}

/* ---- what is queued ---- */

static char *read_text(const char *path) {
    cp_bytes text = {0};
    if (!cp_file_read(path, 100 << 20, &text, NULL)) return NULL;
    cp_bytes_append(&text, "", 1);
    return (char *)text.data;
}

/* The run of line `line`, from 1 on. */
static int run_of_line(const cp_runs *r, const char *names, int line) {
    while (names && --line > 0 && (names = strchr(names, '\n'))) names++;
    size_t length = names ? strcspn(names, "\n") : 0;
    for (int i = 0; length && i < r->count; i++)
        if (strncmp(r->at[i].name, names, length) == 0 && !r->at[i].name[length]) return i;
    return -1;
}

bool cp_runs_queued(const cp_runs *r, bool *queued, cp_status *status) {
    cp_bytes answer = {0};
    bool     ok = true;
    for (int n = 1; ok && cp_file_exists(slurm_file(r, n, "list").s); n++) {
        char *job = read_text(slurm_file(r, n, "job").s), *names = read_text(slurm_file(r, n, "names").s), command[100];
        if (job && names && !answer.size) { /* asked once; %F is the array's number, %K the task's */
            snprintf(command, sizeof command, "squeue -h -r -u %ld -o '%%F %%K'", (long)getuid());
            ok = ask(command, &answer, status);
        }
        for (const char *line = ok && job && names ? (const char *)answer.data : NULL; line && *line;) {
            long of, place;
            if (sscanf(line, "%ld %ld", &of, &place) == 2 && of == atol(job)) {
                int i = run_of_line(r, names, (int)place);
                if (i >= 0) queued[i] = true;
            }
            line = strchr(line, '\n');
            if (line) line++;
        }
        free(job);
        free(names);
    }
    cp_bytes_free(&answer);
    return ok;
}

/* ---- submitting ---- */

/* Task numbers go from 0 to MaxArraySize - 1; ours begin with 1. */
static int largest_array(void) {
    cp_bytes answer = {0};
    int      size = 0;
    if (ask("scontrol show config 2>/dev/null", &answer, NULL)) {
        const char *at = strstr((const char *)answer.data, "MaxArraySize");
        if (at) sscanf(at, "MaxArraySize = %d", &size);
    }
    cp_bytes_free(&answer);
    return size < 2 ? 1000 : size - 1 < LARGEST_ARRAY ? size - 1 : LARGEST_ARRAY;
}

/* A preempted task gets SIGTERM, saves what it has, and is put back into the queue by Slurm. A task whose program was killed (out
 * of memory, for example) puts itself back, at most three times. */
static const char script_start[] = "#!/bin/sh\n#SBATCH --requeue\n#SBATCH --open-mode=append\nnumber=%d\nstudy=";
static const char script[] =
    "\n"
    "command=$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" \"$study/slurm/$number.list\")\n"
    "[ -n \"$command\" ] || command=\"sh -c 'echo slurm/$number.list has no command here; exit 1'\"\n"
    "name=$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" \"$study/slurm/$number.names\")\n"
    "failure=$study/failed/$name.txt\n"
    "trap '' TERM # the program has it too, and is waited for\n"
    "said=$(eval \"(trap - TERM; exec $command)\" 2>&1)\n"
    "code=$?\n"
    "[ -z \"$said\" ] || echo \"$name: $said\"\n"
    "[ $code -eq 0 ] && { rm -f \"$failure\"; exit 0; }\n"
    "if [ $code -eq 137 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 3 ]; then\n"
    "    echo \"$name was killed; it is put back into the queue\"\n"
    "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\" && exit 0\n"
    "fi\n"
    "[ $code -eq 130 ] || { mkdir -p \"$study/failed\" && echo \"$said (exit code $code)\" >\"$failure\"; }\n"
    "exit $code\n";

static bool write_text(const char *path, cp_bytes *text, cp_status *status) {
    bool ok = !text->failed ? cp_file_write(path, text->data, text->size, status) : cp_fail(status, "not enough memory");
    cp_bytes_free(text);
    return ok;
}

static bool write_script(const cp_runs *r, int number, cp_status *status) {
    cp_bytes text = {0};
    char     start[sizeof script_start + 16];
    snprintf(start, sizeof start, script_start, number);
    cp_bytes_text(&text, start);
    cp_shell_quote(&text, r->folder);
    cp_bytes_text(&text, script);
    return write_text(slurm_file(r, number, "sh").s, &text, status);
}

/* Submits a script with the study's own options, then the user's. `answer` receives Slurm's answer, the job's number. */
static bool call_sbatch(const cp_runs *r, const char *own, const char *output, const char *options, const char *path,
                        cp_bytes *answer, long *job, cp_status *status) {
    cp_bytes command = {0}, to = {0};
    cp_bytes_text(&to, "--output=");
    for (const char *c = r->folder; *c; c++) cp_bytes_text(&to, *c == '%' ? "%%" : (char[]){*c, '\0'}); /* % has a meaning there */
    cp_bytes_text(&to, "/slurm/");
    cp_bytes_text(&to, output);
    cp_bytes_append(&to, "", 1);
    cp_bytes_text(&command, "sbatch --parsable ");
    cp_bytes_text(&command, own);
    cp_bytes_text(&command, " ");
    cp_shell_quote(&command, to.failed ? "" : (const char *)to.data);
    cp_bytes_text(&command, " ");
    cp_bytes_text(&command, options);
    cp_bytes_text(&command, " ");
    cp_shell_quote(&command, path);
    cp_bytes_append(&command, "", 1);
    bool ok = (!command.failed && !to.failed) || cp_fail(status, "not enough memory");
    ok = ok && ask((const char *)command.data, answer, status);
    if (ok) *job = atol((const char *)answer->data);
    cp_bytes_free(&command);
    cp_bytes_free(&to);
    return ok;
}

/* One array: its files, then sbatch. */
static bool submit_array(const cp_runs *r, int number, const int *of, int count, int threads, const char *options, long *job,
                         cp_status *status) {
    cp_bytes list = {0}, names = {0}, answer = {0};
    char     own[100], output[40];
    for (int k = 0; k < count; k++) {
        cp_words words = cp_runs_command(r, of[k], threads);
        cp_words_put_line(&words, &list);
        cp_words_free(&words);
        cp_bytes_text(&names, r->at[of[k]].name);
        cp_bytes_text(&names, "\n");
    }
    snprintf(own, sizeof own, "--job-name=couplet --array=1-%d --cpus-per-task=%d", count, threads);
    snprintf(output, sizeof output, "%d.%%a.txt", number);
    bool ok = write_text(slurm_file(r, number, "names").s, &names, status) &&
              write_text(slurm_file(r, number, "list").s, &list, status) && write_script(r, number, status) &&
              call_sbatch(r, own, output, options, slurm_file(r, number, "sh").s, &answer, job, status);
    ok = ok && cp_file_write(slurm_file(r, number, "job").s, answer.data, strlen((const char *)answer.data), status);
    cp_bytes_free(&answer);
    return ok;
}

static bool submit_merge(const cp_runs *r, int number, const char *jobs, const cp_words *merge, const char *options, long *job,
                         cp_status *status) {
    cp_bytes     text = {0}, own = {0}, answer = {0};
    cp_file_path path = slurm_file(r, number, "merge.sh");
    char         file[40];
    cp_bytes_text(&text, "#!/bin/sh\nexec ");
    cp_words_put_line(merge, &text);
    cp_bytes_text(&own, "--job-name=couplet-merge --dependency=afterany");
    cp_bytes_append(&own, jobs, strlen(jobs) + 1);
    snprintf(file, sizeof file, "%d.merge.txt", number);
    bool ok = write_text(path.s, &text, status) && (!own.failed || cp_fail(status, "not enough memory")) &&
              call_sbatch(r, (const char *)own.data, file, options, path.s, &answer, job, status);
    cp_bytes_free(&own);
    cp_bytes_free(&answer);
    return ok;
}

/* Runs that are pending and not queued. */
static int choose(const cp_runs *r, const bool *queued, int *of, int *waiting) {
    int count = 0;
    for (int i = 0; i < r->count; i++) {
        cp_run_stage stage = cp_runs_stage(r, i);
        bool         left = cp_runs_is_pending(r, i);
        if (left && !queued[i]) of[count++] = i;
        *waiting += (left && queued[i]) || stage == CP_STAGE_RUNNING;
    }
    return count;
}

static void print_submitted(const cp_runs *r, const char *jobs, long merge_job, const char *called) {
    cp_bytes folder = {0};
    cp_shell_quote(&folder, r->folder);
    printf("Watch them: squeue --me; %s --status %.*s\nEnd them: scancel", called, (int)folder.size, (const char *)folder.data);
    cp_bytes_free(&folder);
    for (; *jobs; jobs++) putchar(*jobs == ':' ? ' ' : *jobs);
    if (merge_job) printf(" %ld", merge_job);
    printf("\nRun the same command again to submit what is still missing then.\n");
}

static bool submit_all(const cp_runs *r, const int *of, int count, const char *options, int threads, const cp_words *merge,
                       const char *called, cp_status *status) {
    int      number = 1, largest = largest_array();
    cp_bytes jobs = {0};
    long     job = 0, merge_job = 0;
    bool     ok = true;
    char     text[32];
    while (cp_file_exists(slurm_file(r, number, "list").s)) number++;
    int first = number;
    for (int k = 0; ok && k < count; k += largest, number++) {
        int size = count - k < largest ? count - k : largest;
        ok = submit_array(r, number, of + k, size, threads, options, &job, status);
        if (!ok) continue;
        printf("Submitted job %ld: %d run%s\n", job, size, size == 1 ? "" : "s");
        snprintf(text, sizeof text, ":%ld", job);
        cp_bytes_text(&jobs, text);
    }
    bool some = jobs.size > 0; /* if Slurm refuses a later array, the accepted ones get their tables */
    cp_bytes_append(&jobs, "", 1);
    some = some && (!jobs.failed || cp_fail(status, "not enough memory"));
    bool merged = some && submit_merge(r, first, (const char *)jobs.data, merge, options, &merge_job, status);
    if (merged) printf("Submitted job %ld: the tables, when these have ended\n", merge_job);
    if (some) print_submitted(r, (const char *)jobs.data, merge_job, called);
    cp_bytes_free(&jobs);
    return ok && merged;
}

/* sbatch takes the last of two options, and accepts long options by their beginnings. */
static bool are_allowed(const char *options, cp_status *status) {
    static const char *const own[] = {"--ar", "--dep", "-a", "-d"};
    for (const char *word = options; *word;) {
        word += strspn(word, " \t\n'\"");
        size_t length = strcspn(word, " \t\n");
        for (int k = 0; k < 4; k++)
            if (strncmp(word, own[k], strlen(own[k])) == 0)
                return cp_fail(status,
                               "--slurm: %.*s would undo the study's own array and its dependencies; for at most N tasks at a "
                               "time, say scontrol update JobId=JOB ArrayTaskThrottle=N once they are submitted",
                               length < 60 ? (int)length : 60, word);
        word += length;
    }
    return true;
}

bool cp_runs_submit(const cp_runs *r, const char *options, int threads, const cp_words *merge, const char *called,
                    cp_status *status) {
    bool *queued = calloc((size_t)r->count + 1, sizeof *queued);
    int  *of = malloc(((size_t)r->count + 1) * sizeof *of), waiting = 0;
    bool  ok = are_allowed(options, status) && ((queued && of) || cp_fail(status, "not enough memory")) &&
              cp_folder_make(cp_folder_path(r->folder, "slurm").s, status) && cp_runs_queued(r, queued, status);
    int count = ok ? choose(r, queued, of, &waiting) : 0;
    if (ok && waiting) printf("%d run%s queued or running already\n", waiting, waiting == 1 ? " is" : "s are");
    if (ok && !count)
        printf("There is nothing to submit%s\n",
               waiting ? "" : "; the same command with --jobs 0 instead of --slurm makes tables of the finished runs");
    if (count) ok = submit_all(r, of, count, options, threads > 0 ? threads : 1, merge, called, status);
    free(queued);
    free(of);
    return ok;
}
