/* couplet study: what the generative models take for images, a picture a case. */
#include "experiments/commands.h"
#include "experiments/image_study.h"

#include "core/io/file.h"

#include <string.h>
#include <unistd.h>

static bool has_file(const char *folder, const char *name) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* The first run of a case whose weights and chains are there; those that were brought here by their results have none. */
static bool plan_sample(const cp_image_study *s, int i, cp_runs *runs, cp_status *status) {
    char picture[250], name[300];
    int  each = (int)cp_option_int(s->options, "samples");
    for (int r = 0; r < s->seed_count; r++) {
        cp_runs_path folder = cp_study_run_folder(s->study, i, r);
        cp_words     words = {0};
        if (!cp_trials_made(s->study->trials, i, r) || !has_file(folder.s, "selected.safetensors") ||
            !has_file(folder.s, "chains.safetensors"))
            continue;
        cp_words_add(&words, "%s", cp_command_generate.name);
        cp_words_add(&words, "%s", folder.s);
        cp_words_add(&words, "--per-class=%d", each);
        snprintf(picture, sizeof picture, "samples-%s-%lld", s->of[i].name, (long long)s->seeds[r]);
        snprintf(name, sizeof name, "%s-x%d", picture, each);
        return cp_runs_add(runs, name, picture, &words, status);
    }
    return true;
}

static void copy(const cp_image_study *s, const cp_runs *runs, int i, const char *end) {
    cp_bytes bytes = {0};
    char     from[1100], to[300];
    snprintf(from, sizeof from, "%s/samples.%s", cp_runs_at(runs, i).s, end);
    snprintf(to, sizeof to, "%s.%s", runs->at[i].group, end);
    if (cp_file_read(from, SIZE_MAX, &bytes, NULL) && cp_file_write(cp_run_path(s->study->run, to).s, bytes.data, bytes.size, NULL))
        cp_study_leave(s->study, to);
    cp_bytes_free(&bytes);
}

void cp_image_study_sample(cp_image_study *s) {
    char      folder[1100];
    cp_status status = {0};
    snprintf(folder, sizeof folder, "%s", cp_run_path(s->study->run, "samples").s);
    if (!cp_option_int(s->options, "samples") || *s->swept) return;
    cp_runs       *runs = cp_runs_new(folder, &status);
    bool           fine = runs != NULL;
    cp_runs_config config = {.jobs = (int)cp_option_int(s->options, "jobs"),
                             .threads = (int)cp_option_int(s->options, "threads"),
                             .quiet = true,
                             .called = cp_options_called(s->options)};
    for (int i = 0; fine && i < s->case_count; i++)
        if (strcmp(s->of[i].method, "softmax") != 0) fine = plan_sample(s, i, runs, &status);
    if (fine && runs->count) {
        fine = cp_runs_check(runs, &status) && cp_runs_mend(runs, &status) && cp_runs_save(runs, &status) &&
               cp_runs_do(runs, config, &status);
        for (int i = 0; i < runs->count; i++) copy(s, runs, i, "png"), copy(s, runs, i, "figure.json");
    }
    if (!fine && status.message[0]) cp_complain(s->options, "samples: %s", status.message); /* the tables do not need them */
    if (runs && !runs->count) rmdir(folder);
    cp_runs_free(runs);
}
