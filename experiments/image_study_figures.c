/* couplet study: box plots, reliability diagrams over all seeds, the sweep. */
#include "experiments/image_study.h"

#include "experiments/kit/metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- boxes: by method and number of labels ---- */

typedef struct names {
    char        text[32][24];
    const char *at[32];
    int         count;
} names;

static names label_names(const cp_image_study *s) {
    names n = {.count = s->label_count < 32 ? s->label_count : 32};
    for (int i = 0; i < n.count; i++) snprintf(n.text[i], sizeof n.text[i], "%lld", (long long)s->labels[i]);
    return n;
}

static void draw_boxes_of(const cp_image_study *s, cp_figure *figure, int set, const char *metric, const char *title) {
    names names = label_names(s);
    for (int i = 0; i < names.count; i++) names.at[i] = names.text[i];
    cp_panel *panel = cp_figure_panel(figure, (cp_panel_config){.title = s->sets[set].title,
                                                                .x_label = "labels a class",
                                                                .y_label = title,
                                                                .x_names = names.at,
                                                                .x_name_count = names.count});
    for (int l = 0; l < names.count; l++)
        for (int m = 0; m < s->methods.count; m++) {
            const double *each =
                cp_trials_each(s->study->trials, cp_image_study_case(s, set, l, 0, m), cp_image_study_measure(s, "end", metric).s);
            cp_panel_box(panel, (cp_style){.color = m, .label = s->methods.at[m]}, l, s->seed_count, each, m, s->methods.count);
        }
}

static bool draw_boxes(cp_image_study *s) {
    cp_figure *figure =
        cp_figure_new((cp_figure_config){.title = "Accuracy and calibration by method and number of labels", .columns = 2});
    cp_figure_caption(
        figure,
        "Weights at the end of training on the %s split, %d seed%s: median, quartiles, whiskers to the last value within "
        "1.5 boxes, points beyond. Runs that diverged are left out.",
        s->split, s->seed_count, s->seed_count == 1 ? "" : "s");
    for (int i = 0; i < s->set_count; i++) {
        draw_boxes_of(s, figure, i, "accuracy", "accuracy, %");
        draw_boxes_of(s, figure, i, "ece", "ECE, %");
    }
    return cp_study_draw(s->study, figure, "boxes");
}

/* ---- the sweep ---- */

static void draw_sweep_of(const cp_image_study *s, cp_figure *figure, int set, const char *metric, const char *title) {
    enum { MOST = 100 };
    double    x[MOST], mean[MOST], sd[MOST];
    int       n = s->values.count < MOST ? s->values.count : MOST;
    cp_panel *panel = cp_figure_panel(figure, (cp_panel_config){.title = s->sets[set].title,
                                                                .x_label = s->swept,
                                                                .y_label = title,
                                                                .x_names = (const char *const *)s->values.at,
                                                                .x_name_count = n});
    for (int l = 0; l < s->label_count; l++)
        for (int m = 0; m < s->methods.count; m++) {
            char label[80];
            snprintf(label, sizeof label, "%s, %lld label%s", s->methods.at[m], (long long)s->labels[l],
                     s->labels[l] == 1 ? "" : "s");
            for (int v = 0; v < n; v++) {
                cp_mean_sd found = cp_trials_mean_sd(s->study->trials, cp_image_study_case(s, set, l, v, m),
                                                     cp_image_study_measure(s, "end", metric).s);
                x[v] = v, mean[v] = found.mean, sd[v] = found.sd;
            }
            cp_panel_line(panel, (cp_style){.color = l * s->methods.count + m, .label = label}, n, x, mean, sd);
        }
}

static bool draw_sweep(cp_image_study *s) {
    char title[100];
    snprintf(title, sizeof title, "Accuracy and calibration against %s", s->swept);
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = title, .columns = 2});
    cp_figure_caption(
        figure,
        "Weights at the end of training on the %s split: the mean over %d seed%s, the bars are one standard deviation where there "
        "are several runs.",
        s->split, s->seed_count, s->seed_count == 1 ? "" : "s");
    for (int i = 0; i < s->set_count; i++) {
        draw_sweep_of(s, figure, i, "accuracy", "accuracy, %");
        draw_sweep_of(s, figure, i, "ece", "ECE, %");
    }
    return cp_study_draw(s->study, figure, "sweep");
}

/* ---- reliability over all seeds ---- */

typedef struct pool {
    double count[CP_CALIBRATION_BINS], confidence[CP_CALIBRATION_BINS], accuracy[CP_CALIBRATION_BINS]; /* sums */
    int    runs;
} pool;

static void pour(pool *p, const cp_json *bins) {
    if (!bins) return; /* a run from before results had them */
    p->runs++;
    for (size_t b = 0; b < CP_CALIBRATION_BINS; b++) {
        double count = cp_json_number(cp_json_at(cp_json_get(bins, "count"), b), 0);
        if (!(count > 0)) continue;
        p->count[b] += count;
        p->confidence[b] += count * cp_json_number(cp_json_at(cp_json_get(bins, "confidence"), b), 0);
        p->accuracy[b] += count * cp_json_number(cp_json_at(cp_json_get(bins, "accuracy"), b), 0);
    }
}

static pool pool_case(const cp_image_study *s, int of_case) {
    pool p = {0};
    for (int r = 0; r < s->seed_count; r++) {
        cp_json *result = cp_image_study_result(s, of_case, r);
        pour(&p, cp_json_get(cp_json_get(cp_json_get(result, s->split), "end"), "bins"));
        cp_json_free(result);
    }
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        p.confidence[b] /= p.count[b]; /* NaN of an empty bin */
        p.accuracy[b] /= p.count[b];
    }
    return p;
}

static cp_figure_name reliability_name(const cp_image_study *s, int set) {
    cp_figure_name name;
    snprintf(name.s, sizeof name.s, "reliability-%s", s->sets[set].name);
    return name;
}

static bool draw_reliability(cp_image_study *s, int set) {
    char title[160];
    int  runs = 0;
    snprintf(title, sizeof title, "Reliability on the %s split: %s", s->split, s->sets[set].title);
    cp_figure *figure = cp_figure_new((cp_figure_config){
        .title = title,
        .caption =
            "Predictions of all seeds together, with the weights at the end of training: their accuracy in each of 15 bins of "
            "confidence, and what lies between it and their mean confidence. Labels are counted by class. Where runs are missing "
            "or diverged, the title says how many there are.",
        .columns = s->methods.count,
        .width = 240,
        .height = 200});
    for (int l = 0; l < s->label_count; l++)
        for (int m = 0; m < s->methods.count; m++) {
            pool p = pool_case(s, cp_image_study_case(s, set, l, 0, m));
            char panel[100];
            int  used = snprintf(panel, sizeof panel, "%s, %lld label%s", s->methods.at[m], (long long)s->labels[l],
                                s->labels[l] == 1 ? "" : "s");
            if (p.runs < s->seed_count)
                snprintf(panel + used, sizeof panel - (size_t)used, ", %d of %d runs", p.runs, s->seed_count);
            cp_panel_reliability(
                cp_figure_panel(figure, (cp_panel_config){.title = panel, .x_label = "confidence", .y_label = "accuracy"}),
                CP_CALIBRATION_BINS, p.confidence, p.accuracy);
            runs += p.runs;
        }
    if (runs) return cp_study_draw(s->study, figure, reliability_name(s, set).s);
    cp_figure_free(figure);
    return true;
}

/* ---- figures of an earlier command in the same folder ---- */

static bool is_of_samples(const cp_image_study *s, const char *name) {
    for (int i = 0; i < s->case_count; i++)
        for (int r = 0; r < s->seed_count; r++)
            if (strcmp(cp_image_study_samples_name(s, i, r).s, name) == 0) return true;
    return false;
}

/* Whether such a figure is one that this study does not have: of other sets, cases or seeds. Others than a study's are let be. */
static bool is_stale(const cp_image_study *s, const char *name) {
    bool swept = *s->swept, of_set = false;
    if (strcmp(name, "boxes") == 0) return swept;
    if (strcmp(name, "sweep") == 0) return !swept;
    for (int i = 0; i < s->set_count; i++) of_set = of_set || strcmp(reliability_name(s, i).s, name) == 0;
    if (strncmp(name, "reliability-", 12) == 0) return swept || !of_set;
    if (strncmp(name, "samples-", 8) == 0) return swept || !cp_option_int(s->options, "samples") || !is_of_samples(s, name);
    return false;
}

static void remove_stale(const cp_image_study *s) {
    static const char *const ends[] = {".svg", ".csv", ".png", ".figure.json"};
    DIR                     *handle = opendir(s->study->run->folder);
    for (struct dirent *entry; handle && (entry = readdir(handle));)
        for (int k = 0; k < 4; k++) {
            char   name[256];
            size_t length = strlen(entry->d_name), end = strlen(ends[k]);
            if (length <= end || strcmp(entry->d_name + length - end, ends[k]) != 0) continue;
            snprintf(name, sizeof name, "%.*s", (int)(length - end), entry->d_name);
            if (is_stale(s, name)) unlink(cp_run_path(s->study->run, entry->d_name).s);
        }
    if (handle) closedir(handle);
}

bool cp_image_study_draw(cp_image_study *s) {
    remove_stale(s);
    bool fine = *s->swept ? draw_sweep(s) : draw_boxes(s);
    for (int i = 0; fine && !*s->swept && i < s->set_count; i++) fine = draw_reliability(s, i);
    return fine;
}
