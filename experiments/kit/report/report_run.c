/* Reports: reading a run's folder. */
#include "core/io/file.h"
#include "experiments/kit/report/report_parts.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_LIMIT = 64 << 20, PICTURES_MAX = 256 };

cp_report_path cp_report_file(const cp_report_run *run, const char *name, const char *end) {
    cp_report_path path;
    snprintf(path.s, sizeof path.s, "%.1000s/%.255s%s", run->folder, name, end);
    return path;
}

/* ---- pictures ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const cp_report_picture *)a)->name, ((const cp_report_picture *)b)->name);
}

/* The length of the name without the ending of a picture or its description; 0: it is none. */
static size_t picture_name(const char *file) {
    static const char *const ends[] = {".figure.json", ".svg", ".png"};
    size_t                   n = strlen(file);
    for (int i = 0; i < 3; i++) {
        size_t m = strlen(ends[i]);
        if (file[0] != '.' && n > m && strcmp(file + n - m, ends[i]) == 0) return n - m;
    }
    return 0;
}

static void add_picture(cp_report_run *run, const char *file) {
    size_t length = picture_name(file);
    for (int i = 0; i < run->picture_count; i++)
        if (strlen(run->pictures[i].name) == length && strncmp(run->pictures[i].name, file, length) == 0) return;
    if (length == 0 || run->picture_count == PICTURES_MAX) return;
    if (!run->pictures) run->pictures = calloc(PICTURES_MAX, sizeof *run->pictures);
    if (!run->pictures) {
        cp_fail(&run->trouble, "%.300s: not enough memory for its figures", run->folder);
        return;
    }
    snprintf(run->pictures[run->picture_count++].name, sizeof run->pictures->name, "%.*s", (int)length, file);
}

static void read_description(const cp_report_run *run, cp_report_picture *picture) {
    cp_report_path path = cp_report_file(run, picture->name, ".figure.json");
    if (access(path.s, F_OK) != 0) return;
    cp_json *description = cp_json_read(path.s, &picture->trouble);
    if (description) picture->figure = cp_figure_read(description, path.s, &picture->trouble);
    cp_json_free(description);
}

static void read_pictures(cp_report_run *run) {
    DIR *handle = opendir(run->folder);
    if (!handle) {
        cp_fail(&run->trouble, "%.300s cannot be looked into: %s", run->folder, strerror(errno));
        return;
    }
    for (struct dirent *entry; (entry = readdir(handle));) add_picture(run, entry->d_name);
    closedir(handle);
    if (run->pictures) qsort(run->pictures, (size_t)run->picture_count, sizeof *run->pictures, by_name);
    for (int i = 0; i < run->picture_count; i++) read_description(run, &run->pictures[i]);
}

/* ---- the run ---- */

/* What was called, when it began, how long all its parts took and how many trials ended; a log that cannot be read has
 * nothing to tell. */
static void read_events(cp_report_run *run) {
    cp_bytes text = {0};
    double   before = 0, latest = NAN;
    if (!cp_file_read(cp_report_file(run, "log.jsonl", "").s, LOG_LIMIT, &text, NULL)) return;
    size_t at = 0;
    for (cp_line found; cp_bytes_line(&text, &at, &found);) {
        cp_json    *line = cp_json_parse(found.text, found.length, "log.jsonl", NULL);
        const char *event = cp_json_string(cp_json_get(line, "event"), NULL);
        if (event && strcmp(event, "start") == 0)
            snprintf(run->started, sizeof run->started, "%s", cp_json_string(cp_json_get(line, "time"), ""));
        if (cp_json_get(line, "command"))
            snprintf(run->command, sizeof run->command, "%s", cp_json_string(cp_json_get(line, "command"), ""));
        run->trials += cp_json_get(line, "trial") != NULL;
        if (event && strcmp(event, "continue") == 0) before += isfinite(latest) ? latest : 0;
        if (event) {
            latest = cp_json_number(cp_json_get(line, "seconds"), NAN);
            run->threads = (int)cp_json_integer(cp_json_get(line, "threads"), run->threads);
        }
        cp_json_free(line);
    }
    cp_bytes_free(&text);
    run->seconds = before + latest;
}

void cp_report_read(cp_report_run *run) {
    run->seconds = NAN;
    if (access(cp_report_file(run, "config.json", "").s, F_OK) != 0) {
        cp_fail(&run->trouble, "%.300s holds no run: it has no config.json", run->folder);
        return;
    }
    run->config = cp_json_read(cp_report_file(run, "config.json", "").s, &run->trouble);
    if (!run->config) return;
    cp_report_path result = cp_report_file(run, "result.json", "");
    if (access(result.s, F_OK) == 0) run->result = cp_json_read(result.s, &run->trouble);
    snprintf(run->command, sizeof run->command, "couplet %.90s", cp_report_experiment(run)); /* for logs that do not name it */
    read_events(run);
    read_pictures(run);
}

void cp_report_free(cp_report_run *run) {
    cp_json_free(run->config);
    cp_json_free(run->result);
    for (int i = 0; i < run->picture_count; i++) cp_figure_free(run->pictures[i].figure);
    free(run->pictures);
}

const char *cp_report_experiment(const cp_report_run *run) {
    return run->config ? cp_json_string(cp_json_get(run->config, "experiment"), "run") : "";
}

const char *cp_report_title(const cp_report_run *run) {
    return cp_json_string(cp_json_get(run->result, "title"), run->config ? cp_report_experiment(run) : "A run that cannot be read");
}
