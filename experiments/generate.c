/* couplet generate: images of each class, drawn from a trained model by Langevin chains. */
#include "core/io/npz.h"
#include "experiments/commands.h"
#include "experiments/judge.h"
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/train/predictions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FROM_NOISE, FROM_GAUSSIAN, FROM_BUFFER };
enum { FRAMES = 10, AT_ONCE = 64 };

/* clang-format off */
static const cp_option options[] = {
    {.name = "per-class", .kind = CP_OPTION_INT, .fallback = "10", .min = 1, .max = 10000, .unit = "images", .help = "images per class"},
    {.name = "from", .kind = CP_OPTION_CHOICE, .choices = "noise|gaussian|buffer", .fallback = "gaussian",
     .help = "start of the chains: uniform noise, the Gaussian of the training pixels, or the training's own chains, each taken by the "
             "class with the highest posterior"},
    {.name = "steps", .kind = CP_OPTION_INT, .word = "run", .fallback = "run", .min = 1, .max = CP_SAMPLER_STEPS_MAX,
     .help = "moves of each chain; run: the average number of moves of the training's chains"},
    CP_OPTIONS_SAMPLER,
    CP_OPTION_WEIGHTS("end"),
    {.name = "judge", .kind = CP_OPTION_TEXT, .value = "RUN",
     .help = "classifier trained with many labels, a run or model file: measures the share of samples that it gives their class, and the "
             "distance of its features of them to those of test images"},
    {.name = "judge-set", .kind = CP_OPTION_TEXT, .value = "DATA", .help = "image set for --judge; default: the one on which the model that draws was trained"},
    {0}};
/* clang-format on */

typedef struct generation {
    const cp_options *options;
    cp_run           *run;
    cp_run_model     *trained;
    cp_sgld_config    sgld;
    int               classes, per_class, count, from;
    cp_real          *samples; /* (count, H, W, C), class by class */
    int              *labels;  /* (count) */
    cp_real          *film;    /* (classes, FRAMES, H, W, C), of which `frames` are filled: the first chain of each class */
    int               frames;  /* at most FRAMES */
    int               frame_moves[FRAMES];  /* after how many moves a frame is taken */
    double            energy_first, energy; /* means, at the start and at the end */
    int               agree, stuck;         /* samples that the softmax gives their class; chains that ended stuck */
    cp_progress       progress;
    int               first;    /* chain of the batch that is being moved */
    int               borrowed; /* chains that the buffer had for their class; the others start from the Gaussian or noise */
    cp_judge          judge;
} generation;

/* ---- starts ---- */

static void start_fresh(const generation *g, cp_rng *rng, cp_real *out) {
    bool     gaussian = g->trained->gaussian && g->from != FROM_NOISE;
    cp_start start = {.kind = gaussian ? CP_START_CLASS_GAUSSIAN : CP_START_UNIFORM,
                      .low = -1,
                      .high = 1,
                      .gaussian = gaussian ? g->trained->gaussian : NULL};
    cp_start_draw(&start, rng, gaussian ? 0 : -1, out, g->trained->values);
}

/* Gives each class its chains of the buffer, in the buffer's order, until it has enough; `taken` counts those of each class. */
static bool take_chains(generation *g, int *taken, cp_tape *tape, cp_status *status) {
    int      n, max = cp_replay_capacity(g->trained->replay);
    cp_real *chains = cp_run_model_samples(g->trained, max, &n, status);
    size_t   values = g->trained->values;
    for (int first = 0; chains && first < n; first += AT_ONCE) {
        int        rows = n - first < AT_ONCE ? n - first : AT_ONCE;
        cp_shape   shape = cp_shape_rows(rows, g->trained->shape);
        cp_tensor *logits =
            cp_model_logits(tape, g->trained->model, cp_constant(tape, chains + (size_t)first * values, shape), CP_EVALUATION);
        for (int i = 0; i < rows; i++) {
            int best = cp_best_class(logits, i);
            if (taken[best] == g->per_class) continue;
            size_t place = (size_t)best * (size_t)g->per_class + (size_t)taken[best]++;
            memcpy(g->samples + place * values, chains + (size_t)(first + i) * values, values * sizeof *chains);
            g->borrowed++;
        }
        cp_tape_reset(tape);
    }
    free(chains);
    return chains != NULL;
}

static bool start(generation *g, cp_tape *tape, cp_status *status) {
    cp_rng rng = cp_rng_named((uint64_t)cp_option_int(g->options, "seed"), "start");
    int   *taken = calloc((size_t)g->classes, sizeof *taken);
    bool   ok = taken || cp_fail(status, "not enough memory for the chains' classes");
    if (ok && g->from == FROM_BUFFER) ok = take_chains(g, taken, tape, status);
    for (int i = 0; ok && i < g->count; i++) {
        g->labels[i] = i / g->per_class;
        if (i % g->per_class >= taken[g->labels[i]]) start_fresh(g, &rng, g->samples + (size_t)i * g->trained->values);
    }
    free(taken);
    return ok;
}

/* ---- walking ---- */

static void film_batch(generation *g, const cp_tensor *x, int moves) {
    size_t values = g->trained->values;
    int    first = g->first;
    for (int f = 0; f < g->frames; f++) {
        if (g->frame_moves[f] != moves) continue;
        for (int i = 0; i < x->dims[0]; i++)
            if ((first + i) % g->per_class == 0)
                memcpy(g->film + ((size_t)g->labels[first + i] * FRAMES + (size_t)f) * values, x->data + (size_t)i * values,
                       values * sizeof *g->film);
    }
}

static bool look(void *user, const cp_sgld_view *view) {
    generation *g = user;
    film_batch(g, view->x, view->step);
    char text[40];
    snprintf(text, sizeof text, "energy %.4g", view->mean_energy);
    cp_progress_update(&g->progress, (int64_t)g->first * g->sgld.steps + (int64_t)view->step * view->x->dims[0], text);
    return cp_run_should_continue(g->run);
}

static bool walk_batch(generation *g, cp_tape *tape, int rows, cp_rng *rng, cp_status *status) {
    size_t          values = g->trained->values;
    cp_real        *from = g->samples + (size_t)g->first * values;
    cp_tensor      *x = cp_tensor_new(cp_shape_rows(rows, g->trained->shape));
    cp_model_target target = {.model = g->trained->model, .labels = {g->labels + g->first, rows}};
    cp_sgld_report  report = {0};
    if (!x) return cp_fail(status, "not enough memory for %d chains", rows);
    memcpy(x->data, from, (size_t)rows * values * sizeof *from);
    g->sgld.observer = look;
    g->sgld.observer_user = g;
    bool ok = cp_sgld_run(tape, cp_model_energy_of, &target, x, &g->sgld, rng, &report) || cp_fail(status, "the sampler failed");
    film_batch(g, x, report.steps);
    memcpy(from, x->data, (size_t)rows * values * sizeof *from);
    g->energy_first += report.energy_first * rows / g->count;
    g->stuck += report.nonfinite;
    cp_tensor_free(x);
    return ok;
}

/* The class and the energy that the model gives the samples. */
static void measure_batch(generation *g, cp_tape *tape, int rows) {
    const cp_model *model = g->trained->model;
    int             first = g->first;
    cp_tensor      *x = cp_constant(tape, g->samples + (size_t)first * g->trained->values, cp_shape_rows(rows, g->trained->shape));
    cp_tensor      *z = cp_net_forward(tape, model->net, x, CP_EVALUATION), *logits = cp_head_logits(tape, model->head, z);
    cp_tensor      *energies = cp_pick(tape, cp_head_class_energy(tape, model->head, z), (cp_labels){g->labels + first, rows});
    for (int i = 0; i < rows; i++) {
        g->agree += cp_best_class(logits, i) == g->labels[first + i];
        g->energy += (double)energies->data[i] / g->count;
    }
    cp_tape_reset(tape);
}

/* Frames are denser at the start, where the images change most, and no two have the same number of moves. */
static void plan_film(generation *g) {
    int last = g->sgld.steps < FRAMES - 1 ? g->sgld.steps : FRAMES - 1;
    for (int f = 0; f <= last; f++) {
        int moves = (int)lround(g->sgld.steps * pow((double)f / last, 2)), min = f ? g->frame_moves[f - 1] + 1 : 0;
        int max = g->sgld.steps - (last - f);
        g->frame_moves[f] = moves < min ? min : moves > max ? max : moves;
    }
    g->frames = last + 1;
}

static bool walk(generation *g, cp_tape *tape, cp_status *status) {
    cp_rng noise = cp_rng_named((uint64_t)cp_option_int(g->options, "seed"), "chains");
    bool   ok = true;
    g->progress =
        (cp_progress){.label = "sampling", .unit = "moves", .total = (int64_t)g->count * g->sgld.steps, .quiet = g->run->quiet};
    plan_film(g);
    cp_progress_start(&g->progress);
    for (; ok && g->first < g->count && cp_run_should_continue(g->run); g->first += AT_ONCE) {
        int rows = g->count - g->first < AT_ONCE ? g->count - g->first : AT_ONCE;
        ok = walk_batch(g, tape, rows, &noise, status);
        if (ok) measure_batch(g, tape, rows);
    }
    cp_progress_end(&g->progress);
    return ok && cp_run_should_continue(g->run);
}

/* ---- the result ---- */

/* Of the buffer, the softmax itself has chosen the chains of each class, so that its agreement says nothing. */
static double agreement(const generation *g) { return 100.0 * g->agree / g->count; }

static bool save_sheets(const generation *g, cp_status *status) {
    enum { MAX_COLUMNS = 20 };
    static const char *const starts[] = {"uniform noise", "the Gaussian of the training pixels", "the training's own chains"};
    size_t                   values = g->trained->values;
    int                      columns = g->per_class < MAX_COLUMNS ? g->per_class : MAX_COLUMNS;
    cp_sheet                *sheet = cp_sheet_new(g->classes, columns, g->trained->shape);
    cp_sheet                *film = cp_sheet_new(g->classes, g->frames, g->trained->shape);
    char                     caption[600];
    bool                     ok = (sheet && film) || cp_fail(status, "not enough memory for the pictures");
    for (int c = 0; ok && c < g->classes; c++) {
        for (int i = 0; i < columns; i++)
            cp_sheet_put(sheet, c, i, g->samples + ((size_t)c * (size_t)g->per_class + (size_t)i) * values);
        cp_text name = cp_class_text(g->trained->model->about.class_names, g->trained->model->about.class_names ? "" : "class ", c);
        cp_sheet_name_row(sheet, c, "%s", name.s), cp_sheet_name_row(film, c, "%s", name.s);
        for (int f = 0; f < g->frames; f++) cp_sheet_put(film, c, f, g->film + ((size_t)c * FRAMES + (size_t)f) * values);
    }
    for (int i = 0; ok && i < columns; i++) cp_sheet_name_column(sheet, i, "%d", i);
    for (int f = 0; ok && f < g->frames; f++) cp_sheet_name_column(film, f, "%d", g->frame_moves[f]);
    int used =
        snprintf(caption, sizeof caption,
                 "%s: samples of p(x|c), one row per class, %d moves down the class's energy, from %s. None is chosen by hand",
                 g->trained->name, g->sgld.steps, starts[g->from]);
    snprintf(caption + used, sizeof caption - (size_t)used,
             g->from == FROM_BUFFER ? "." : "; the softmax gives %.0f %% of them the class of their row.", agreement(g));
    ok = ok && cp_sheet_save(sheet, cp_run_path(g->run, "samples").s, caption, status);
    used = snprintf(caption, sizeof caption, "The first chain of each class, from its start (left) to its end (right), after");
    for (int f = 0; f < g->frames; f++)
        used += snprintf(caption + used, sizeof caption - (size_t)used, "%s %d",
                         f == g->frames - 1 ? " and"
                         : f                ? ","
                                            : "",
                         g->frame_moves[f]);
    snprintf(caption + used, sizeof caption - (size_t)used, " moves.");
    ok = ok && cp_sheet_save(film, cp_run_path(g->run, "film").s, caption, status);
    cp_sheet_free(sheet);
    cp_sheet_free(film);
    return ok;
}

/* samples.npz: images (count, H, W, C), labels (count). The images are bytes, or float32 in the units of a training on other numbers; the
 * judge sees bytes. */
static bool write_samples(generation *g, cp_status *status) {
    _Static_assert(sizeof *g->labels == sizeof(int32_t), "labels are written as they are");
    const cp_preprocessing *input = &g->trained->model->about.input;
    const int              *d = g->trained->shape.dims;
    size_t                  all = (size_t)g->count * g->trained->values;
    uint8_t                *pixels = malloc(all);
    bool                    numbers = input->high > input->low && input->dtype != CP_U8;
    float                  *own = numbers ? malloc(all * sizeof *own) : NULL;
    if (!pixels || (numbers && !own)) {
        free(pixels), free(own);
        return cp_fail(status, "not enough memory for the samples of a file");
    }
    cp_pixels_of(g->samples, all, pixels);
    for (size_t i = 0; own && i < all; i++) own[i] = (float)cp_preprocess_undo(input, i, (double)g->samples[i]);
    cp_npz_writer *npz = cp_npz_writer_new(cp_run_path(g->run, "samples.npz").s, status);
    cp_npz_writer_add(npz, "images", own ? CP_F32 : CP_U8, 4, (int64_t[]){g->count, d[0], d[1], d[2]},
                      own ? (const void *)own : pixels);
    cp_npz_writer_add(npz, "labels", CP_I32, 1, (int64_t[]){g->count}, g->labels);
    bool ok = cp_npz_writer_commit(npz, status);
    if (g->judge.model)
        ok = ok && cp_judge_measure(&g->judge, pixels, g->labels, g->count, (uint64_t)cp_option_int(g->options, "seed"), status);
    free(pixels);
    free(own);
    return ok;
}

static bool write_result(generation *g) {
    cp_json_writer w = {.pretty = true};
    FILE          *file = cp_run_begin_result(g->run, &w, "Samples of %s", g->trained->name);
    cp_table      *table = cp_table_new(2, "samples", "");
    cp_table_text(table, "images");
    cp_table_text(table, "%d of each of %d classes", g->per_class, g->classes);
    if (g->from != FROM_BUFFER) {
        cp_table_text(table, "given their class by the softmax");
        cp_table_text(table, "%.1f %%", agreement(g));
    }
    cp_table_text(table, "mean energy E(x; c) at the start");
    cp_table_number(table, g->energy_first, 2);
    cp_table_text(table, "and at the end");
    cp_table_number(table, g->energy, 2);
    cp_run_model_put(g->trained, &w);
    cp_json_put_integer(&w, "classes", g->classes);
    cp_json_put_integer(&w, "per_class", g->per_class);
    cp_sampler_put(&g->sgld, &w, "sampler");
    if (g->from != FROM_BUFFER) cp_json_put_number(&w, "agreement", agreement(g));
    cp_json_put_number(&w, "energy_first", g->energy_first);
    cp_json_put_number(&w, "energy", g->energy);
    cp_json_put_integer(&w, "stuck", g->stuck);
    cp_table_conclude(table, &w, "table", file);
    if (g->judge.model) cp_judge_put(&g->judge, &w, file);
    cp_json_put_array(&w, "notes");
    cp_run_model_note(g->trained, &w, file);
    if (g->judge.model) cp_judge_put_notes(&g->judge, &w, file);
    if (g->from == FROM_BUFFER && g->borrowed < g->count)
        cp_note_put(&w, file, "The training's chains gave %d of the %d starts; the missing ones are new.", g->borrowed, g->count);
    if (g->stuck) cp_note_put(&w, file, "%d chains ended where their energy is not finite.", g->stuck);
    cp_note_put(&w, file, "The images are in samples.png, one row per class, and for numpy, with their labels, in samples.npz.");
    cp_json_put_end(&w);
    cp_json_put_end(&w);
    return cp_run_conclude(g->run, &w);
}

/* ---- the command ---- */

static bool work(generation *g, cp_status *status) {
    size_t   bytes;
    cp_tape *tape = cp_tape_new();
    bool     fits = cp_size_mul((size_t)g->count, g->trained->values * sizeof *g->samples, &bytes);
    g->samples = fits ? malloc(bytes) : NULL;
    g->labels = malloc((size_t)g->count * sizeof *g->labels);
    g->film = malloc((size_t)g->classes * FRAMES * g->trained->values * sizeof *g->film);
    bool ok = (tape && g->samples && g->labels && g->film) ||
              cp_fail(status, "not enough memory for %d images; take a smaller --per-class", g->count);
    if (ok) cp_tape_pause(tape, true);
    ok = ok && start(g, tape, status);
    if (ok) cp_tape_pause(tape, false);
    ok = ok && walk(g, tape, status);
    cp_tape_free(tape);
    return ok && save_sheets(g, status) && write_samples(g, status) && write_result(g);
}

static bool load(generation *g, cp_status *status) {
    const cp_options *o = g->options;
    g->trained = cp_run_model_open(cp_argument(o, 0), (cp_weights)cp_option_choice(o, "weights"), status);
    if (!g->trained || !cp_run_model_chains(g->trained, status) ||
        !cp_run_model_sampler(g->trained, o, cp_run_model_moves(g->trained), &g->sgld, status))
        return false;
    g->classes = g->trained->model->config.classes;
    g->per_class = (int)cp_option_int(o, "per-class");
    g->from = cp_option_choice(o, "from");
    if (g->trained->shape.rank != 3)
        return cp_fail(status, "%.200s was trained on rows of shape %s; generate draws images", g->trained->name,
                       cp_dims_text(g->trained->shape).s);
    if ((int64_t)g->classes * g->per_class > 1000000)
        return cp_fail(status, "--per-class %d of %d classes are more than a million images", g->per_class, g->classes);
    g->count = g->classes * g->per_class;
    if (g->from == FROM_GAUSSIAN && !g->trained->gaussian)
        return cp_fail(status, "the chains of this training started from uniform noise, and it has no Gaussian of the pixels; give "
                               "--from noise or buffer");
    const char *judge = cp_option_text(o, "judge"), *set = cp_option_text(o, "judge-set");
    if (set && !judge) return cp_fail(status, "--judge-set is given without --judge");
    return !judge || cp_judge_open(&g->judge, judge, set, g->trained, status);
}

static int run_generate(const cp_options *o) {
    generation g = {.options = o};
    cp_status  status = {0};
    int        code = CP_EXIT_FAILED;
    if (!load(&g, &status))
        code = cp_exit_code(o, &status);
    else if ((g.run = cp_run_open(o)) && g.run->state == CP_RUN_FINISHED)
        code = cp_run_show_unchanged(
            g.run, (cp_run_source[]){CP_RUN_MODEL_SOURCES(g.trained),
                                     {"the judge", "judge/md5", g.judge.model ? g.judge.model->md5 : ""},
                                     {"the judge's data", "judge/data/md5", g.judge.model ? g.judge.images->md5 : ""},
                                     {0}});
    else if (g.run) {
        work(&g, &g.run->status);
        code = cp_run_close(g.run);
    }
    free(g.samples);
    free(g.labels);
    free(g.film);
    cp_judge_free(&g.judge);
    cp_run_model_free(g.trained);
    return code;
}

const cp_command cp_command_generate = {
    .name = "generate",
    .purpose = "draw images of each class from a trained model",
    .arguments = "RUN",
    .details = "RUN is the folder of a hybrid or jem model trained by couplet train. Chains walk down the energy of their class, "
               "by Langevin's x <- x - alpha / 2 dE(x; c)/dx + noise, with the training's sampler by default. The new run has the "
               "samples as a picture with one row per class, as a film of one chain per class, and for numpy, as bytes or in the "
               "units of the training.",
    .example = "runs/blood --per-class 10 --out runs/blood-samples --report",
    .options = options,
    .arguments_by_md5 = true,
    .run = run_generate,
};
