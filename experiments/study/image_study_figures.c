/* couplet study: box plots, reliability diagrams over all seeds, the sweep, and samples of the generative models. */
#include "experiments/study/image_study.h"

#include "core/io/file.h"
#include "core/io/md5.h"
#include "experiments/commands.h"
#include "experiments/kit/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- titles ---- */

typedef struct heading {
    char s[240];
} heading;

/* "Accuracy ...: end of training, test split, 3 runs a box", or "2 to 3 runs a box (1 diverged)". */
static heading heading_of(const cp_image_study *s, const char *what, const char *mark) {
    int     min = s->seed_count, max = 0, lost = 0;
    heading text;
    char    range[24] = "", diverged[40] = "";
    for (int i = 0; i < s->case_count; i++) {
        int runs = -cp_trials_diverged(s->study->trials, i);
        lost -= runs;
        for (int r = 0; r < s->seed_count; r++) runs += cp_trials_has(s->study->trials, i, r);
        min = runs < min ? runs : min, max = runs > max ? runs : max;
    }
    if (min < max) snprintf(range, sizeof range, "%d to ", min);
    if (lost) snprintf(diverged, sizeof diverged, " (%d diverged)", lost);
    snprintf(text.s, sizeof text.s, "%s: end of training, %s split, %s%d run%s a %s%s", what, s->split, range, max,
             max == 1 ? "" : "s", mark, diverged);
    return text;
}

/* ---- accuracy and ECE: boxes by method and number of labels, or lines against the swept option ---- */

enum { MARKERS = CP_NO_MARK - CP_CIRCLE };

static void draw_boxes(const cp_image_study *s, cp_panel *panel, const cp_study_set *set, const char *metric) {
    for (int l = 0; l < s->label_count; l++)
        for (int m = 0; m < s->method_count; m++) {
            const double *each =
                cp_trials_values(s->study->trials, cp_image_study_case(s, set, s->labels[l], "", s->methods[m]), metric);
            cp_panel_box(panel, (cp_style){.color = s->methods[m]->color, .label = cp_method_title(s->methods[m])}, l,
                         s->seed_count, each, m, s->method_count);
        }
}

/* Points are the values of the sweep and lines the numbers of labels, or with --active the other way round. */
static void draw_lines(const cp_image_study *s, cp_panel *panel, const cp_study_set *set, const char *metric) {
    int     n = s->active ? s->label_count : s->values.count;
    int     all = (s->active ? s->values.count : s->label_count) * s->method_count;
    double *x = malloc(3 * (size_t)n * sizeof *x); /* then means, then standard deviations */
    if (!x) cp_fail(&s->study->run->status, "not enough memory for a figure");
    for (int line = 0; x && line < all; line++) {
        int              m = line % s->method_count, of = line / s->method_count;
        const cp_method *method = s->methods[m];
        char             label[80];
        if (s->active)
            snprintf(label, sizeof label, "%s, %s", cp_method_title(method), s->values.at[of]);
        else
            snprintf(label, sizeof label, "%s, %lld label%s", cp_method_title(method), (long long)s->labels[of],
                     s->labels[of] == 1 ? "" : "s");
        for (int v = 0; v < n; v++) {
            int        l = s->active ? v : of;
            int        of_case = cp_image_study_case(s, set, s->labels[l], s->values.at[s->active ? of : v], method);
            cp_mean_sd found = cp_trials_mean_sd(s->study->trials, of_case, metric);
            x[v] = s->active ? v : v + fmin(0.06, 0.6 / all) * (line - 0.5 * (all - 1)); /* so that error bars do not overlap */
            x[n + v] = found.mean, x[2 * n + v] = found.sd;
        }
        int      turn = s->active ? m : of;
        cp_style style = {.color = s->active ? of : method->color,
                          .marker = (cp_marker)(CP_CIRCLE + turn % MARKERS),
                          .dash = (cp_dash)(CP_SOLID + (turn + turn / MARKERS) % 4),
                          .band = s->active,
                          .label = label};
        if (cp_method_reads(method, s->swept)) {
            cp_panel_line(panel, style, n, x, x + n, x + 2 * n);
            continue;
        }
        double ends[] = {-0.5, n - 0.5}, low[2], high[2]; /* one case: level, as far as the axis goes */
        for (int i = 0; i < 2; i++) low[i] = x[n] - x[2 * n], high[i] = x[n] + x[2 * n];
        style.marker = CP_NO_MARK;
        cp_panel_line(panel, style, 2, ends, (double[]){x[n], x[n]}, NULL);
        cp_panel_band(panel, style, 2, ends, low, high);
    }
    free(x);
}

static bool draw_metrics(cp_image_study *s) {
    static const char *const metrics[][2] = {{"accuracy", "accuracy, %"}, {"ece", "ECE, %"}};
    bool                     sweep = *s->swept;
    char                     what[100];
    cp_words                 labels = {0}, *names = sweep && !s->active ? &s->values : &labels;
    const char              *across = s->active ? "labels a class, on average" : sweep ? s->swept : "labels a class";
    for (int l = 0; l < s->label_count; l++) cp_words_add(&labels, "%lld", (long long)s->labels[l]);
    snprintf(what, sizeof what, "Accuracy and %s%s", sweep ? "ECE against " : "calibration", sweep ? across : "");
    heading    title = heading_of(s, what, sweep ? "point" : "box");
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = title.s, .columns = 2});
    if (s->active)
        cp_figure_caption(figure,
                          "Weights at the end of training on the %s split: the mean over %d seed%s, the bands are one standard "
                          "deviation. All rules start from the same labels.",
                          s->split, s->seed_count, s->seed_count == 1 ? "" : "s");
    else if (sweep)
        cp_figure_caption(figure,
                          "Weights at the end of training on the %s split: the mean over %d seed%s, the bars are one standard "
                          "deviation where there are several runs. A method that does not read %s is a level line in a band of one "
                          "standard deviation.",
                          s->split, s->seed_count, s->seed_count == 1 ? "" : "s", s->swept);
    else
        cp_figure_caption(
            figure,
            "Weights at the end of training on the %s split, %d seed%s: median, quartiles, whiskers to the last "
            "value within 1.5 boxes, points beyond; of fewer than eight runs every one is a point. Runs that diverged "
            "are left out.",
            s->split, s->seed_count, s->seed_count == 1 ? "" : "s");
    for (int i = 0; i < 2 * s->set_count; i++) {
        const cp_study_set *set = &s->sets[i / 2];
        cp_panel_config     axes = {.title = set->title,
                                    .x_label = across,
                                    .y_label = metrics[i % 2][1],
                                    .x_names = (const char *const *)names->at,
                                    .x_name_count = names->count};
        (sweep ? draw_lines : draw_boxes)(s, cp_figure_panel(figure, axes), set,
                                          cp_image_study_measure(s, "end", metrics[i % 2][0]).s);
    }
    if (labels.failed) cp_fail(&s->study->run->status, "not enough memory for a figure");
    cp_words_free(&labels);
    return cp_study_add_figure(s->study, figure, s->active ? "active" : sweep ? "sweep" : "boxes");
}

/* ---- reliability over all seeds ---- */

typedef struct pool {
    double count[CP_CALIBRATION_BINS], confidence[CP_CALIBRATION_BINS], accuracy[CP_CALIBRATION_BINS]; /* sums */
    int    runs;
} pool;

static void add_bins(pool *p, const cp_json *bins) {
    if (!bins) return; /* of an older run */
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
        cp_json *result = cp_study_run_result(s->study, of_case, r);
        add_bins(&p, cp_json_get(cp_json_get(cp_json_get(result, s->split), "end"), "bins"));
        cp_json_free(result);
    }
    for (int b = 0; b < CP_CALIBRATION_BINS; b++) {
        p.confidence[b] /= p.count[b]; /* NaN of an empty bin */
        p.accuracy[b] /= p.count[b];
    }
    return p;
}

static bool draw_reliability(cp_image_study *s, int set) {
    char title[160], name[80];
    int  runs = 0;
    snprintf(name, sizeof name, "reliability-%s", s->sets[set].name);
    snprintf(title, sizeof title, "Reliability on the %s split: %s", s->split, s->sets[set].title);
    cp_figure *figure = cp_figure_new((cp_figure_config){
        .title = title,
        .caption = "Predictions of all seeds together, with the weights at the end of training: their accuracy in each of 15 bins "
                   "of confidence, and what lies between it and their mean confidence. Labels are counted by class. Where runs are "
                   "missing or diverged, the title says how many there are.",
        .columns = s->method_count,
        .width = 240,
        .height = 200});
    for (int l = 0; l < s->label_count; l++)
        for (int m = 0; m < s->method_count; m++) {
            pool p = pool_case(s, cp_image_study_case(s, &s->sets[set], s->labels[l], "", s->methods[m]));
            char panel[100];
            int  used = snprintf(panel, sizeof panel, "%s, %lld label%s", cp_method_title(s->methods[m]), (long long)s->labels[l],
                                s->labels[l] == 1 ? "" : "s");
            if (p.runs < s->seed_count)
                snprintf(panel + used, sizeof panel - (size_t)used, ", %d of %d runs", p.runs, s->seed_count);
            cp_panel_reliability(
                cp_figure_panel(figure, (cp_panel_config){.title = panel, .x_label = "confidence", .y_label = "accuracy"}),
                CP_CALIBRATION_BINS, p.confidence, p.accuracy);
            runs += p.runs;
        }
    if (runs) return cp_study_add_figure(s->study, figure, name);
    cp_figure_free(figure);
    return true;
}

bool cp_image_study_draw(cp_image_study *s) {
    bool ok = draw_metrics(s);
    for (int i = 0; ok && !*s->swept && i < s->set_count; i++) ok = draw_reliability(s, i);
    return ok;
}

/* ---- samples, by couplet generate ---- */

/* The first run of a case that has weights and chains; runs of which only the results were copied have none. The md5 of the
 * weights is part of the name, so a training that was made again has new samples. */
static bool plan_sample(const cp_image_study *s, int i, cp_runs *runs, cp_status *status) {
    char picture[250], name[300], md5[CP_MD5_TEXT];
    int  each = (int)cp_option_int(s->options, "samples");
    for (int r = 0; r < s->seed_count; r++) {
        cp_file_path folder = cp_study_trial_folder(s->study, i, r);
        cp_words     words = {0};
        if (!cp_trials_has(s->study->trials, i, r) || !cp_file_exists(cp_folder_path(folder.s, "chains.safetensors").s) ||
            !cp_md5_file(cp_folder_path(folder.s, "selected.safetensors").s, md5, NULL))
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
    char from[40], to[300];
    snprintf(from, sizeof from, "samples.%s", end);
    snprintf(to, sizeof to, "%s.%s", runs->at[i].group, end);
    if (!cp_file_copy(cp_runs_file(runs, i, from).s, cp_run_path(s->study->run, to).s, status)) return false;
    cp_study_add_file(s->study, to);
    return true;
}

void cp_image_study_sample(cp_image_study *s) {
    cp_file_path folder = cp_run_path(s->study->run, "samples");
    cp_status    status = {0};
    if (!cp_option_int(s->options, "samples") || *s->swept) return;
    cp_runs       *runs = cp_runs_new(folder.s, &status);
    bool           ok = runs != NULL;
    int            jobs = (int)cp_option_int(s->options, "jobs"), threads = (int)cp_option_int(s->options, "threads");
    bool           one = cp_option_given(s->options, "jobs") && jobs == 0; /* no processors were asked for */
    cp_runs_config config = {
        .jobs = one ? 1 : jobs, .threads = one && !threads ? 1 : threads, .quiet = true, .called = cp_options_called(s->options)};
    for (int i = 0; ok && i < s->case_count; i++)
        if (s->of[i].method->samples && !s->of[i].set->rows) ok = plan_sample(s, i, runs, &status);
    if (ok && runs->count) {
        ok = cp_runs_check(runs, &status) && cp_runs_quarantine(runs, &status) && cp_runs_save(runs, &status) &&
             cp_runs_execute(runs, config, &status);
        for (int i = 0; i < runs->count; i++)
            if (cp_runs_stage(runs, i) == CP_STAGE_DONE)
                ok = copy(s, runs, i, "png", &status) && copy(s, runs, i, "figure.json", &status) && ok;
    }
    if (!ok && status.message[0]) cp_complain(s->options, "samples: %s", status.message); /* the tables do not need them */
    if (runs && !runs->count) rmdir(folder.s);
    cp_runs_free(runs);
}
