/* couplet study: what the generative models take for images, a picture a case. */
#include "experiments/commands.h"
#include "experiments/study/image_study.h"

#include "core/io/file.h"
#include "core/io/md5.h"

#include <string.h>
#include <unistd.h>

static bool has_file(const char *folder, const char *name) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* The first run of a case whose weights and chains are there; those that were brought here by their results have none. The weights
 * are part of the samples' name: a training that was made again, with other settings perhaps, has samples of its own. */
static bool plan_sample(const cp_image_study *s, int i, cp_runs *runs, cp_status *status) {
    char picture[250], name[300], weights[1200], md5[CP_MD5_TEXT];
    int  each = (int)cp_option_int(s->options, "samples");
    for (int r = 0; r < s->seed_count; r++) {
        cp_file_path folder = cp_study_run_folder(s->study, i, r);
        cp_words     words = {0};
        snprintf(weights, sizeof weights, "%s/selected.safetensors", folder.s);
        if (!cp_trials_has(s->study->trials, i, r) || !has_file(folder.s, "chains.safetensors") || !cp_md5_file(weights, md5, NULL))
            continue;
        cp_words_add(&words, "%s", cp_command_generate.name);
        cp_words_add(&words, "%s", folder.s);
        cp_words_add(&words, "--per-class=%d", each);
        snprintf(picture, sizeof picture, "samples-%s-%lld", s->of[i].name, (long long)s->seeds[r]);
        snprintf(name, sizeof name, "%s-x%d-%.8s", picture, each, md5);
        return cp_runs_add(runs, name, picture, &words, status);
    }
    return true;
}

static bool copy(const cp_image_study *s, const cp_runs *runs, int i, const char *end, cp_status *status) {
    char from[1100], to[300];
    snprintf(from, sizeof from, "%s/samples.%s", cp_runs_folder(runs, i).s, end);
    snprintf(to, sizeof to, "%s.%s", runs->at[i].group, end);
    if (!cp_file_copy(from, cp_run_path(s->study->run, to).s, status)) return false;
    cp_study_add_file(s->study, to);
    return true;
}

void cp_image_study_sample(cp_image_study *s) {
    char      folder[1100];
    cp_status status = {0};
    snprintf(folder, sizeof folder, "%s", cp_run_path(s->study->run, "samples").s);
    if (!cp_option_int(s->options, "samples") || *s->swept) return;
    cp_runs       *runs = cp_runs_new(folder, &status);
    bool           ok = runs != NULL;
    cp_runs_config config = {.jobs = (int)cp_option_int(s->options, "jobs"),
                             .threads = (int)cp_option_int(s->options, "threads"),
                             .quiet = true,
                             .called = cp_options_called(s->options)};
    for (int i = 0; ok && i < s->case_count; i++)
        if (strcmp(s->of[i].method, "softmax") != 0) ok = plan_sample(s, i, runs, &status);
    if (ok && runs->count) {
        ok = cp_runs_check(runs, &status) && cp_runs_quarantine(runs, &status) && cp_runs_save(runs, &status) &&
             cp_runs_execute(runs, config, &status);
        for (int i = 0; i < runs->count; i++)
            if (cp_runs_stage(runs, i) == CP_STAGE_DONE)
                ok = copy(s, runs, i, "png", &status) && copy(s, runs, i, "figure.json", &status) && ok;
    }
    if (!ok && status.message[0]) cp_complain(s->options, "samples: %s", status.message); /* the tables do not need them */
    if (runs && !runs->count) rmdir(folder);
    cp_runs_free(runs);
}
