/* A run's log.jsonl: lines that are whole or not there, of one process at a time. */
#include "core/threads.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/run/run_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool fail_log(cp_run *run, const char *what, int error) {
    return cp_fail(&run->status, "%s: %s: %s%s", cp_run_path(run, CP_RUN_LOG).s, what, strerror(error),
                   error == ENOSPC ? "; make room on the disk and run the same command again: it continues" : "");
}

/* Two processes in one folder would mix their lines. */
bool cp_run_open_log(cp_run *run) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    run->log = open(cp_run_path(run, CP_RUN_LOG).s, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (run->log < 0) return fail_log(run, "cannot open it for writing", errno);
    if (run->replaced)
        return (fcntl(run->log, F_SETLKW, &lock) == 0 && ftruncate(run->log, 0) == 0) || fail_log(run, "cannot lock it", errno);
    if (fcntl(run->log, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN))
        return cp_fail(&run->status, "%.300s: " CP_RUN_HELD "; wait for it or give another --out", run->folder);
    return true;
}

static bool append(cp_run *run, const unsigned char *data, size_t size) {
    off_t before = lseek(run->log, 0, SEEK_END);
    while (size > 0) {
        ssize_t put = write(run->log, data, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            int error = put < 0 ? errno : ENOSPC;
            /* No half a line stays; should that fail as well, the next run drops it. */
            if (before >= 0 && ftruncate(run->log, before) != 0) error = errno;
            return fail_log(run, "writing failed", error);
        }
        data += put;
        size -= (size_t)put;
    }
    return true;
}

bool cp_run_log(cp_run *run, cp_json_writer *line) {
    bool ok = !run->status.message[0] && cp_json_writer_finish(line, &run->status);
    if (ok) {
        line->out.data[line->out.size] = '\n'; /* in the place of the NUL */
        ok = append(run, line->out.data, line->out.size + 1);
    }
    cp_json_writer_free(line);
    return ok;
}

/* What is no part of the result but good to know: when, with what, how long. */
bool cp_run_log_event(cp_run *run, const char *event) {
    cp_json_writer w = {0};
    char           stamp[32], host[256] = "";
    time_t         clock = time(NULL);
    struct tm      utc;
    gmtime_r(&clock, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    cp_json_put_object(&w, NULL);
    gethostname(host, sizeof host - 1);
    cp_json_put_string(&w, "event", event);
    cp_json_put_string(&w, "time", stamp);
    cp_json_put_string(&w, "command", cp_options_called(run->options));
    cp_json_put_string(&w, "host", host);
    cp_json_put_integer(&w, "process", getpid());
    cp_json_put_integer(&w, "threads", cp_threads());
    cp_json_put_number(&w, "seconds", floor(1e3 * (cp_clock() - run->started)) / 1e3);
    cp_json_put_end(&w);
    return cp_run_log(run, &w);
}

static bool keep_line(cp_run *run, const char *text, size_t size) {
    char name[1100];
    snprintf(name, sizeof name, "%s, line %d", cp_run_path(run, CP_RUN_LOG).s, run->past_count + 1);
    cp_json **more = realloc(run->past, ((size_t)run->past_count + 1) * sizeof *more);
    if (!more) return cp_fail(&run->status, "%.200s: not enough memory", run->folder);
    run->past = more;
    run->past[run->past_count] = cp_json_parse(text, size, name, &run->status);
    return run->past[run->past_count] && ++run->past_count;
}

/* Through the descriptor that holds the lock: opening and closing the file once more would let go of it. */
static bool read_log(cp_run *run, cp_bytes *text) {
    char    block[1 << 16];
    ssize_t got;
    for (off_t at = 0; (got = pread(run->log, block, sizeof block, at)) != 0; at += got) {
        if (got < 0) return fail_log(run, "reading failed", errno);
        if (text->size > CP_RUN_FILE_LIMIT || !cp_bytes_append(text, block, (size_t)got))
            return cp_fail(&run->status, "%s is too long", cp_run_path(run, CP_RUN_LOG).s);
    }
    return true;
}

/* Reads what is there; half a line at the end, from a process that was killed, is dropped. */
bool cp_run_read_past(cp_run *run) {
    cp_bytes text = {0};
    size_t   at = 0;
    bool     ok = read_log(run, &text);
    for (cp_line line; ok && cp_bytes_line(&text, &at, &line);) {
        if (line.whole)
            ok = keep_line(run, line.text, line.length);
        else if (ftruncate(run->log, (off_t)(at - line.length)) != 0)
            ok = fail_log(run, "cannot drop a broken last line", errno);
    }
    cp_bytes_free(&text);
    return ok;
}

const cp_json *cp_run_find_past(const cp_run *run, const char *key, double value) {
    for (int i = run->past_count - 1; i >= 0; i--) {
        const cp_json *node = cp_json_get(run->past[i], key);
        if (node && node->kind == CP_JSON_NUMBER && node->number == value) return run->past[i];
    }
    return NULL;
}
