/* couplet bench: how fast this is here. Kernels against the machine's peak, and whole steps of wide ResNets in a form that can be
 * laid beside PyTorch's. */
#include "couplet.h"
#include "experiments/bench/bench_hybrid.h"
#include "experiments/bench/bench_kernels.h"
#include "experiments/bench/bench_plot.h"
#include "experiments/bench/bench_time.h"
#include "experiments/commands.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The median of at least 7 runs, more within four seconds, after one that is not counted. */
static double median_ms(void (*work)(void *), void *context) {
    enum { MIN = 7, MAX = 50 };
    const double budget = 4;
    double       times[MAX];
    int          count = 0;
    work(context);
    for (double start = cp_bench_seconds(); count < MIN || (count < MAX && cp_bench_seconds() - start < budget);) {
        double before = cp_bench_seconds();
        work(context);
        times[count++] = cp_bench_seconds() - before;
        if (count >= 3 && cp_bench_seconds() - start > 3 * budget) break;
    }
    return 1e3 * cp_bench_median(times, count);
}

/* ---- a wide ResNet's steps ---- */

typedef struct wrn {
    int depth, width, norm, side, channels, batch;
} wrn;

static const wrn usual[] = {
    {10, 1, 0, 28, 1, 64}, {10, 2, 0, 28, 3, 64}, {16, 2, 0, 28, 3, 64}, {16, 2, 1, 28, 3, 64}, {16, 4, 0, 32, 1, 64}};

enum { WRN_16_2 = 2 }; /* its place in the list */

typedef struct bench {
    cp_model  *model;
    cp_optim  *adam;
    cp_tape   *tape;
    cp_tensor *x, *chains;
    int       *label;
    cp_rng     rng;
} bench;

static void train_step(void *context) {
    bench     *b = context;
    cp_tensor *x = cp_constant(b->tape, b->x->data, cp_shape_of(4, b->x->dims));
    cp_tensor *logits = cp_model_logits(b->tape, b->model, x, CP_TRAINING);
    cp_backward(b->tape, cp_cross_entropy(b->tape, logits, (cp_labels){b->label, b->x->dims[0]}), b->model->params);
    cp_optim_step(b->adam);
    cp_tape_reset(b->tape);
}

static void sgld_step(void *context) {
    bench         *b = context;
    cp_sgld_config config = {.step_size = 2, .noise = 0.01, .steps = 1};
    cp_sgld_run(b->tape, cp_model_energy_of, &(cp_model_target){.model = b->model}, b->chains, &config, &b->rng, NULL);
}

static void infer_step(void *context) {
    bench *b = context;
    bool   was = cp_tape_pause(b->tape, true);
    cp_model_logits(b->tape, b->model, cp_constant(b->tape, b->x->data, cp_shape_of(4, b->x->dims)), CP_EVALUATION);
    cp_tape_pause(b->tape, was);
    cp_tape_reset(b->tape);
}

static void bench_free(bench *b) {
    free(b->label);
    cp_tensor_free(b->x);
    cp_tensor_free(b->chains);
    cp_tape_free(b->tape);
    cp_optim_free(b->adam);
    cp_model_free(b->model);
}

static bool bench_make(bench *b, const wrn *w) {
    cp_model_config config = {
        .classes = 8,
        .head = "jem",
        .wrn = {.depth = w->depth, .width = w->width, .channels = w->channels, .norm = (cp_norm_kind)w->norm}};
    *b = (bench){.rng = cp_rng_named(1, "bench"), .tape = cp_tape_new(), .label = malloc((size_t)w->batch * sizeof *b->label)};
    b->model = cp_model_new(config, &b->rng);
    b->adam = b->model ? cp_adam_new(b->model->params, (cp_adam_config){.rate = 1e-4}) : NULL;
    b->x = cp_tensor_new(CP_SHAPE(w->batch, w->side, w->side, w->channels));
    b->chains = b->x ? cp_tensor_new(cp_shape_of(4, b->x->dims)) : NULL;
    if (!b->tape || !b->label || !b->adam || !b->chains) return false;
    cp_rng_fill_uniform(&b->rng, b->x->data, b->x->size, 0, 1);
    memcpy(b->chains->data, b->x->data, b->x->size * sizeof(cp_real));
    for (int i = 0; i < w->batch; i++) b->label[i] = (int)cp_rng_below(&b->rng, 8);
    return true;
}

static int bench_wrn(const wrn *w) {
    bench b;
    bool  ok = bench_make(&b, w);
    if (ok) {
        double train = median_ms(train_step, &b), sgld = median_ms(sgld_step, &b), infer = median_ms(infer_step, &b);
        printf("wrn %d %d norm %d side %d channels %d batch %d threads %d  train %.1f ms  sgld %.1f ms  infer %.1f ms\n", w->depth,
               w->width, w->norm, w->side, w->channels, w->batch, cp_threads(), train, sgld, infer);
        fflush(stdout);
    }
    bench_free(&b);
    return ok ? CP_EXIT_OK : CP_EXIT_FAILED;
}

/* The most that a step's values take at once: on a tape of its own each, so that they do not hide each other. */
static int bench_memory(const wrn *w) {
    bench  b;
    bool   ok = bench_make(&b, w);
    size_t peak[2] = {0};
    void (*const steps[])(void *) = {train_step, sgld_step};
    for (int i = 0; ok && i < 2; i++) {
        steps[i](&b);
        peak[i] = cp_tape_peak(b.tape);
        cp_tape_free(b.tape);
        ok = (b.tape = cp_tape_new()) != NULL;
    }
    if (ok)
        printf("memory wrn %d %d norm %d side %d channels %d batch %d  train %.1f MB  sgld %.1f MB\n", w->depth, w->width, w->norm,
               w->side, w->channels, w->batch, (double)peak[0] * 1e-6, (double)peak[1] * 1e-6);
    bench_free(&b);
    return ok ? CP_EXIT_OK : CP_EXIT_FAILED;
}

/* ---- one thread against several ---- */

typedef struct scaling {
    double median, fastest; /* of the ratios of neighbors; of the shortest times */
} scaling;

/* The two in turn, so that whatever else the machine does meets both. */
static scaling scaling_of(void (*work)(void *), void *context, int threads) {
    enum { PAIRS = 15 };
    double ratios[PAIRS], min[2] = {INFINITY, INFINITY};
    work(context);
    for (int i = 0; i < PAIRS; i++) {
        double times[2];
        for (int several = 0; several < 2; several++) {
            cp_threads_set(several ? threads : 1);
            double before = cp_bench_seconds();
            work(context);
            times[several] = cp_bench_seconds() - before;
            min[several] = fmin(min[several], times[several]);
        }
        ratios[i] = times[0] / times[1];
    }
    return (scaling){cp_bench_median(ratios, PAIRS), min[0] / min[1]};
}

static int bench_scaling(const wrn *w) {
    bench b;
    int   threads = cp_threads();
    if (threads < 2) {
        fprintf(stderr, "couplet bench: THREADS is %d; scaling compares two or more with one\n", threads);
        return CP_EXIT_USAGE;
    }
    bool ok = bench_make(&b, w);
    if (ok) {
        scaling train = scaling_of(train_step, &b, threads), sgld = scaling_of(sgld_step, &b, threads),
                infer = scaling_of(infer_step, &b, threads);
        printf("scaling wrn %d %d norm %d side %d channels %d batch %d threads %d against 1  train %.2f (%.2f)  sgld %.2f (%.2f)  "
               "infer %.2f (%.2f)\n",
               w->depth, w->width, w->norm, w->side, w->channels, w->batch, threads, train.median, train.fastest, sgld.median,
               sgld.fastest, infer.median, infer.fastest);
    }
    bench_free(&b);
    return ok ? CP_EXIT_OK : CP_EXIT_FAILED;
}

static int run_memory(void) {
    int code = CP_EXIT_OK;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && code == CP_EXIT_OK; i++) code = bench_memory(&usual[i]);
    return code;
}

/* A whole number within limits from an argument; false with a message. */
static bool whole(const char *text, const char *what, int min, int max, int *value) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (*text && !*end && !errno && number >= min && number <= max) {
        *value = (int)number;
        return true;
    }
    fprintf(stderr, "couplet bench: %s is \"%.80s\"; a whole number from %d to %d is expected\n", what, text, min, max);
    return false;
}

static bool read_wrn(const cp_options *o, int first, wrn *w) {
    const char *const names[] = {"DEPTH", "WIDTH", "NORM", "SIDE", "CHANNELS", "BATCH"};
    const int         min[] = {10, 1, 0, 8, 1, 2}, max[] = {1000, 100, CP_NORM_LAYER, 4096, 4096, 65536};
    int              *to[] = {&w->depth, &w->width, &w->norm, &w->side, &w->channels, &w->batch};
    for (int i = 0; i < 6; i++)
        if (!whole(cp_argument(o, first + i), names[i], min[i], max[i], to[i])) return false;
    if ((w->depth - 4) % 6 == 0) return true;
    fprintf(stderr, "couplet bench: DEPTH is %d; a wide ResNet has depth 10, 16, 22, ... (6n + 4)\n", w->depth);
    return false;
}

/* Sets THREADS from the command line if it is there; false with a message. */
static bool set_threads(const cp_options *o) {
    int threads;
    if (cp_argument_count(o) < 2) return true;
    if (!whole(cp_argument(o, 1), "THREADS", 1, 256, &threads)) return false;
    if (cp_option_given(o, "threads")) {
        fprintf(stderr, "couplet bench: THREADS and --threads say the same; one of them is enough\n");
        return false;
    }
    cp_threads_set(threads);
    return true;
}

/* Networks from the command line, or the usual ones from `first` up to `last`. */
static int run_networks(const cp_options *o, int (*run)(const wrn *), size_t first, size_t last) {
    int count = cp_argument_count(o), code = CP_EXIT_OK;
    if (!set_threads(o)) return CP_EXIT_USAGE;
    if (count > 2 && (count - 2) % 6) {
        fprintf(stderr, "couplet bench: %d numbers after THREADS; a network is six: DEPTH WIDTH NORM SIDE CHANNELS BATCH\n",
                count - 2);
        return CP_EXIT_USAGE;
    }
    for (int i = 2; i < count && code == CP_EXIT_OK; i += 6) {
        wrn w;
        code = read_wrn(o, i, &w) ? run(&w) : CP_EXIT_USAGE;
    }
    for (size_t i = first; count <= 2 && i < last && code == CP_EXIT_OK; i++) code = run(&usual[i]);
    return code;
}

static int run_wrn(const cp_options *o) {
    return run_networks(o, bench_wrn, 0, sizeof usual / sizeof *usual);
}

static int run_scaling(const cp_options *o) {
    return run_networks(o, bench_scaling, WRN_16_2, WRN_16_2 + 1);
}

static int run_hybrid(const cp_options *o) {
    if (cp_argument_count(o) <= 2) return set_threads(o) ? cp_bench_hybrid() : CP_EXIT_USAGE;
    fprintf(stderr, "couplet bench: hybrid takes THREADS only; \"%.80s\" is one more\n", cp_argument(o, 2));
    return CP_EXIT_USAGE;
}

/* ---- the command ---- */

static int run_bench(const cp_options *o) {
    const char *what = cp_argument_count(o) ? cp_argument(o, 0) : "";
    bool        alone = strcmp(what, "kernels") == 0 || strcmp(what, "memory") == 0 || strcmp(what, "accuracy") == 0;
    if (alone && cp_argument_count(o) > 1) {
        fprintf(stderr, "couplet bench: %s takes no arguments; \"%.80s\" is one\n", what, cp_argument(o, 1));
        return CP_EXIT_USAGE;
    }
    if (strcmp(what, "wrn") == 0) return run_wrn(o);
    if (strcmp(what, "scaling") == 0) return run_scaling(o);
    if (strcmp(what, "hybrid") == 0) return run_hybrid(o);
    if (strcmp(what, "memory") == 0) return run_memory();
    if (strcmp(what, "plot") == 0) return cp_bench_plot(o);
    if (strcmp(what, "accuracy") == 0) {
        cp_bench_accuracy();
        return CP_EXIT_OK;
    }
    if (*what && strcmp(what, "kernels") != 0) {
        fprintf(
            stderr,
            "couplet bench: \"%.80s\" cannot be measured; kernels, accuracy, wrn, scaling, hybrid, memory or plot is expected\n",
            what);
        return CP_EXIT_USAGE;
    }
    cp_bench_kernels();
    return *what ? CP_EXIT_OK : run_wrn(o);
}

static const cp_option options[] = {
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "FIGURE", .help = "plot: where the figure goes, without its ending"},
    {.name = "threads", .kind = CP_OPTION_INT, .fallback = "0", .max = 256, .help = "threads to measure; 0: one per processor"},
    {0}};

const cp_command cp_command_bench = {
    .name = "bench",
    .purpose = "how fast this machine is: kernels, and whole steps of wide ResNets",
    .arguments = "[kernels | wrn [THREADS [NETWORK...]] | scaling [THREADS [NETWORK...]] | hybrid [THREADS] | memory | accuracy | "
                 "plot RATIOS.csv]",
    .details =
        "kernels: the machine's multiply-add peak, and each kernel at the shapes of wide ResNets in GFLOP/s and percent of it.\n"
        "wrn: whole steps of networks, as medians in milliseconds: train (forward, backward, Adam), sgld (gradient of the energy "
        "at "
        "the inputs, Langevin update) and infer.\n"
        "scaling: how much faster THREADS are than one, step by step in turn: the median of 15 ratios and, in brackets, "
        "shortest time against shortest.\n"
        "hybrid: a training step of the hybrid (10 SGLD steps, loss on 96 images, backward, Adam) without and with the gradient "
        "penalty, in turn: medians in milliseconds, and the median of the ratios.\n"
        "memory: the most that the values of a step take at once.\n"
        "accuracy: the errors of direct convolutions and of Winograd's, median and largest.\n"
        "plot: draws the ratios that tests/bench/compare.py measures, as FIGURE.svg and FIGURE.csv (needs --out).\n"
        "Without arguments: kernels, then wrn. A NETWORK is six numbers, DEPTH WIDTH NORM SIDE CHANNELS BATCH, with NORM 0 for "
        "none, 1 for batch, 2 for group and 3 for layer norm; without one, five usual ones. COUPLET_KERNELS (avx512, avx2, "
        "portable, reference) and COUPLET_CONV "
        "(auto, direct, winograd2, winograd4) in the environment force kernels. Winograd's methods make the whole tile of 2x2 or "
        "4x4 outputs that reads an infinite pixel infinite or NaN, and winograd4, which auto takes too, overflows from inputs of "
        "about 1e37 on; direct does neither.",
    .example = "wrn 2 16 2 0 28 3 64",
    .options = options,
    .without = "seed|quiet|json|report",
    .first_words = "kernels|wrn|scaling|hybrid|memory|accuracy|plot",
    .max_arguments = 2 + 6 * 32,
    .run = run_bench,
};
