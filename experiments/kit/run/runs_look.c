/* Lists of runs: how far each is by what lies in its folder, and what is damaged there. */
#include "core/io/file.h"
#include "core/io/safetensors.h"
#include "experiments/kit/run/run_parts.h"
#include "experiments/kit/run/runs_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cp_json *cp_runs_result(const cp_runs *r, int i) {
    return cp_json_read(cp_runs_file(r, i, CP_RUN_RESULT).s, NULL);
}

/* Asks without taking it: F_GETLK tells who would be in the way. */
static bool is_held(const cp_runs *r, int i) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int          log = open(cp_runs_file(r, i, CP_RUN_LOG).s, O_RDONLY | O_CLOEXEC);
    bool         held = log >= 0 && fcntl(log, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (log >= 0) close(log);
    return held;
}

/* Damage is text that is no JSON object. A file that cannot be read may be whole: whoever needs it tells why. */
static cp_json *read_object(const char *path, bool *damaged) {
    cp_status status = {0};
    cp_json  *json = cp_json_read(path, &status);
    *damaged = json ? json->kind != CP_JSON_OBJECT : status.kind == CP_STATUS_DAMAGED;
    return json;
}

static bool is_damaged(const char *path) {
    bool damaged;
    cp_json_free(read_object(path, &damaged));
    return damaged;
}

/* Lines that are whole, but for the last, which a process that was killed may have left. */
static bool is_damaged_log(const char *path) {
    cp_bytes text = {0};
    bool     whole = true;
    if (!cp_file_read(path, CP_RUN_FILE_LIMIT, &text, NULL)) return false;
    size_t at = 0;
    for (cp_line line; whole && cp_bytes_line(&text, &at, &line) && line.whole;) {
        cp_json *json = cp_json_parse(line.text, line.length, path, NULL);
        whole = json != NULL;
        cp_json_free(json);
    }
    cp_bytes_free(&text);
    return !whole;
}

cp_run_stage cp_runs_stage(const cp_runs *r, int i) {
    cp_file_path config = cp_runs_file(r, i, CP_RUN_CONFIG), result = cp_runs_file(r, i, CP_RUN_RESULT),
                 log = cp_runs_file(r, i, CP_RUN_LOG);
    bool ended = cp_runs_is_there(config.s) && cp_runs_is_there(result.s);
    if (ended) {
        bool     damaged, there, diverged;
        cp_json *found = read_object(result.s, &damaged);
        there = found, diverged = cp_json_bool(cp_json_get(found, "diverged"), false);
        damaged = damaged || (there && !found->first); /* {} tells nothing */
        cp_json_free(found);
        if (damaged || is_damaged(config.s)) return CP_STAGE_DAMAGED;
        if (there) return diverged ? CP_STAGE_DIVERGED : CP_STAGE_DONE;
    }
    if (is_held(r, i)) return CP_STAGE_RUNNING;
    if (!ended && cp_runs_is_there(result.s))
        return cp_runs_is_there(config.s) ? cp_runs_stage(r, i) : CP_STAGE_DAMAGED; /* ended since, or torn */
    if (is_damaged(config.s) || is_damaged_log(log.s)) return CP_STAGE_DAMAGED;
    return cp_runs_is_there(cp_runs_failure_path(r, i).s) ? CP_STAGE_FAILED : CP_STAGE_PENDING;
}

bool cp_runs_is_pending(const cp_runs *r, int i) {
    cp_run_stage stage = r->at[i].without_data ? CP_STAGE_DONE : cp_runs_stage(r, i);
    return stage == CP_STAGE_PENDING || stage == CP_STAGE_FAILED;
}

/* ---- mending ---- */

/* Weights or a checkpoint that are cut off or changed, here or in a folder of this one: nothing could go on from them. */
static bool has_damaged_weights(const char *folder, int depth) {
    DIR *handle = opendir(folder);
    bool damaged = false;
    for (struct dirent *entry; handle && !damaged && (entry = readdir(handle));) {
        cp_status   status = {0};
        struct stat info;
        char        path[1300];
        size_t      length = strlen(entry->d_name);
        snprintf(path, sizeof path, "%.1000s/%.255s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || stat(path, &info) != 0) continue;
        if (S_ISDIR(info.st_mode)) {
            damaged = depth > 0 && has_damaged_weights(path, depth - 1);
        } else if (length > 12 && strcmp(entry->d_name + length - 12, ".safetensors") == 0) {
            cp_st_free(cp_st_read(path, &status));
            damaged = status.kind == CP_STATUS_DAMAGED;
        }
    }
    if (handle) closedir(handle);
    return damaged;
}

static bool needs_mending(const cp_runs *r, int i) {
    return cp_runs_stage(r, i) == CP_STAGE_DAMAGED || (cp_runs_is_pending(r, i) && has_damaged_weights(cp_runs_folder(r, i).s, 1));
}

static bool move_aside(const cp_runs *r, int i, cp_status *status) {
    cp_file_path from = cp_runs_folder(r, i), to;
    int          number = 1;
    do snprintf(to.s, sizeof to.s, "%.900s.damaged-%d", from.s, number);
    while (cp_runs_is_there(to.s) && ++number < 1000);
    if (rename(from.s, to.s) != 0)
        return cp_fail(status, "%.300s is damaged and cannot be moved aside: %s", from.s, strerror(errno));
    fprintf(stderr, "%s is damaged; it is made again, and what was there is now %s\n", from.s, to.s);
    return true;
}

/* One process at a time, lest the new run of one is taken for the damaged one by another. Where files cannot be locked, two
 * processes might make the same run. */
bool cp_runs_quarantine(const cp_runs *r, cp_status *status) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    cp_file_path path = cp_runs_path_in(r, "", ".lock", "");
    int          file = open(path.s, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return cp_fail(status, "%.300s cannot be opened: %s; choose an --out that can be written", path.s, strerror(errno));
    bool ok = fcntl(file, F_SETLKW, &lock) == 0 ||
              cp_fail(status,
                      "%.300s cannot be locked (%s), so two processes might make the same run; choose an --out on a file "
                      "system with locks",
                      path.s, strerror(errno));
    for (int i = 0; ok && i < r->count; i++)
        if (!r->at[i].without_data && needs_mending(r, i)) ok = move_aside(r, i, status);
    close(file);
    return ok;
}
