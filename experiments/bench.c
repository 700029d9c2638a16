/* couplet bench: speed on this machine. Whole steps of networks, in a form that can be compared with PyTorch's. */
#include "core/kernels/kernels.h"
#include "couplet.h"
#include "experiments/commands.h"
#include "experiments/kit/metrics/stats.h"
#include "experiments/kit/run/progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Sorts them; the upper median if the count is even. */
static double median_of(double *values, int count) {
    cp_values_sort(values, count);
    return values[count / 2];
}

/* ---- kernels: the measured multiply-add peak, and the convolutions of wide ResNets with their gradients and some matrix products, in
 * GFLOP/s (operations of the direct algorithm) and percent of the peak ---- */

/* With one thread, processor time: other programs disturb it less. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(cp_threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { RESULTS = 3 }; /* of a convolution and its gradients: y, gx and gw */

typedef struct job {
    cp_arena     *scratch;
    cp_conv_shape s;
    size_t        sizes[RESULTS]; /* of y, x and w */
    size_t        m, n, k;
    cp_real      *x, *w, *y;
} job;

static const cp_conv_fusion nothing_fused = {0};

typedef bool work(const job *j, int result, cp_real *out);

/* y, gx or gw into `out`. */
static bool conv(const job *j, int result, cp_real *out) {
    const cp_kernel_family *k = cp_kernels();
    if (result == 0) return k->conv2d(j->scratch, &j->s, j->x, j->w, &nothing_fused, out);
    if (result == 1) return k->conv2d_input_grad(j->scratch, &j->s, j->y, j->w, &nothing_fused, out);
    return k->conv2d_weight_grad(j->scratch, &j->s, j->x, j->y, &nothing_fused, out, NULL);
}

/* a b, with b transposed, or with a transposed. */
static bool gemm(const job *j, int result, cp_real *out) {
    return cp_kernels()->gemm(j->scratch, result == 2, result == 1, j->m, j->n, j->k, j->x, j->w, out, false);
}

/* The shortest time within a third of a second. */
static double best_time(work *run, const job *j, int result, cp_real *out) {
    double best = 1e9;
    run(j, result, out);
    for (double start = seconds(), now = start; now - start < 0.3;) {
        int repeats = 1;
        while ((double)repeats * best < 1e-4 && best < 1e8) repeats *= 2;
        const double before = seconds();
        for (int i = 0; i < repeats; i++) run(j, result, out);
        now = seconds();
        best = fmin(best, (now - before) / repeats);
    }
    return best;
}

static void *allocate(size_t bytes) {
    void *p = calloc(bytes + 1, 1);
    if (!p) {
        fprintf(stderr, "couplet bench: out of memory\n");
        exit(1);
    }
    return p;
}

static cp_real *numbers(size_t count) {
    static cp_rng rng;
    cp_real      *p = allocate(count * sizeof *p);
    if (!rng.position) rng = cp_rng_named(1, "bench");
    cp_rng_fill_uniform(&rng, p, count, -1, 1);
    return p;
}

static double conv_flops(const cp_conv_shape *s) { return 2.0 * s->n * s->oh * s->ow * s->k * s->kh * s->kw * s->c; }

/* Prints the name of a convolution of a wide ResNet, and makes it. */
static job conv_job(cp_arena *scratch, int n, const int shape[5]) {
    const int side = shape[0], kernel = shape[3], stride = shape[4], out = (side - 1) / stride + 1;
    job       j = {.scratch = scratch,
                   .s = {.n = n,
                         .h = side,
                         .w = side,
                         .c = shape[1],
                         .kh = kernel,
                         .kw = kernel,
                         .k = shape[2],
                         .oh = out,
                         .ow = out,
                         .stride_h = stride,
                         .stride_w = stride,
                         .pad_top = kernel / 2,
                         .pad_left = kernel / 2,
                         .dilation_h = 1,
                         .dilation_w = 1,
                         .groups = 1}};
    j.sizes[0] = (size_t)(n * out * out * shape[2]);
    j.sizes[1] = (size_t)(n * side * side * shape[1]);
    j.sizes[2] = (size_t)(kernel * kernel * shape[1] * shape[2]);
    j.x = numbers(j.sizes[1]), j.w = numbers(j.sizes[2]), j.y = numbers(j.sizes[0]);
    printf("%2dx%-2d %3d->%-3d %dx%d/%d", side, side, shape[1], shape[2], kernel, kernel, stride);
    return j;
}

static void job_free(job *j) { free(j->x), free(j->w), free(j->y); }

/* Prints the times of the three results, and frees the job. */
static void bench_job(job *j, work *run, cp_real *const out[RESULTS], double flops, double peak) {
    for (int r = 0; r < RESULTS; r++) {
        double time = best_time(run, j, r, out[r]);
        printf("  %8.3f ms %6.1f %4.0f%%", time * 1e3, flops / time * 1e-9, 100 * flops / time / peak);
        fflush(stdout);
    }
    printf("\n");
    job_free(j);
}

static void bench_conv(cp_arena *scratch, double peak, const int shape[5]) {
    job j = conv_job(scratch, 64, shape);
    bench_job(&j, conv, (cp_real *[]){j.y, j.x, j.w}, conv_flops(&j.s), peak);
}

static void bench_gemm(cp_arena *scratch, double peak, size_t m, size_t n, size_t k) {
    job j = {.scratch = scratch, .m = m, .n = n, .k = k, .x = numbers(m * k), .w = numbers(k * n), .y = numbers(m * n)};
    printf("gemm %4zux%4zux%4zu ", m, n, k);
    bench_job(&j, gemm, (cp_real *[]){j.y, j.y, j.y}, 2.0 * (double)m * (double)n * (double)k, peak);
}

/* side, channels in and out, kernel, stride */
static const int shapes[][5] = {{28, 1, 16, 3, 1},    {28, 3, 16, 3, 1},    {28, 16, 16, 3, 1},  {28, 16, 32, 3, 1},
                                {28, 32, 32, 3, 1},   {28, 32, 64, 3, 1},   {28, 64, 64, 3, 2},  {14, 64, 64, 3, 1},
                                {14, 64, 128, 3, 1},  {14, 128, 128, 3, 2}, {7, 128, 128, 3, 1}, {28, 16, 32, 1, 1},
                                {28, 32, 64, 1, 2},   {14, 64, 128, 1, 2},  {32, 64, 64, 3, 1},  {32, 128, 128, 3, 2},
                                {16, 128, 128, 3, 1}, {16, 256, 256, 3, 2}, {8, 256, 256, 3, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Takes about half a minute. */
static int bench_kernels(const cp_options *o) {
    const size_t products[][3] = {{2, 2, 2}, {64, 8, 128}, {64, 128, 128}, {64, 512, 128}, {512, 512, 512}, {1024, 1024, 1024}};
    cp_arena    *scratch = cp_arena_new();
    (void)o;
    if (!scratch) return CP_EXIT_FAILED;
    const double peak = 1e9 * cp_kernels()->fma_peak() * cp_threads();
    printf("kernels %s, %d thread%s, measured multiply-add peak %.0f GFLOP/s\n", cp_kernels()->name, cp_threads(),
           cp_threads() == 1 ? "" : "s", peak * 1e-9);
    printf("time, GFLOP/s, percent of the peak (above 100 where Winograd convolutions save multiplications)\n");
    printf("convolution, batch 64   forward                     input gradient              weight gradient\n");
    for (size_t i = 0; i < SHAPES; i++) bench_conv(scratch, peak, shapes[i]);
    printf("c = a b                 plain                       b transposed                a transposed\n");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        bench_gemm(scratch, peak, products[i][0], products[i][1], products[i][2]);
    cp_arena_free(scratch);
    return CP_EXIT_OK;
}

/* ---- networks and their steps ---- */

typedef struct network {
    int depth, width, norm, side, channels, batch;
} network;

static const network usual[] = {
    {10, 1, 0, 28, 1, 64}, {10, 2, 0, 28, 3, 64}, {16, 2, 0, 28, 3, 64}, {16, 2, 1, 28, 3, 64}, {16, 4, 0, 32, 1, 64}};
static const network wrn_16_2 = {16, 2, 0, 28, 3, 64}, hybrid_network = {10, 1, 0, 28, 3, 32};

enum { CLASSES = 8, CHAIN_STEPS = 10 };

typedef struct bench {
    cp_model  *model;
    cp_optim  *adam;
    cp_tape   *tape;
    cp_tensor *labeled, *unlabeled, *chains; /* (batch, side, side, channels) */
    int       *label, threads;
    double     penalty; /* weight of the gradient penalty */
    cp_rng     rng;
} bench;

typedef void step(bench *b);

static bool bench_make(bench *b, const network *n, const char *head) {
    cp_model_config config = {
        .classes = CLASSES,
        .head = head,
        .wrn = {.depth = n->depth, .width = n->width, .channels = n->channels, .norm = (cp_norm_kind)n->norm}};
    *b = (bench){.rng = cp_rng_named(1, "bench"),
                 .tape = cp_tape_new(),
                 .label = malloc((size_t)n->batch * sizeof *b->label),
                 .threads = cp_threads()};
    b->model = cp_model_new(config, &b->rng);
    b->adam = b->model ? cp_adam_new(b->model->params, (cp_adam_config){.rate = 1e-4}) : NULL;
    cp_tensor **const images[] = {&b->labeled, &b->unlabeled, &b->chains};
    for (int i = 0; i < 3; i++) {
        if (!(*images[i] = cp_tensor_new(CP_SHAPE(n->batch, n->side, n->side, n->channels)))) return false;
        cp_rng_fill_uniform(&b->rng, (*images[i])->data, (*images[i])->size, -1, 1);
    }
    for (int i = 0; b->label && i < n->batch; i++) b->label[i] = (int)cp_rng_below(&b->rng, CLASSES);
    return b->tape && b->adam && b->label;
}

static cp_tensor *labeled_images(bench *b) { return cp_constant(b->tape, b->labeled->data, b->labeled->shape); }

static cp_labels labels_of(const bench *b) { return (cp_labels){b->label, b->labeled->dims[0]}; }

static void train_step(bench *b) {
    cp_tensor *logits = cp_model_logits(b->tape, b->model, labeled_images(b), CP_TRAINING);
    cp_backward(b->tape, cp_cross_entropy(b->tape, logits, labels_of(b)), b->model->params);
    cp_optim_step(b->adam);
    cp_tape_reset(b->tape);
}

static void sample(bench *b, cp_sgld_config config) {
    cp_sgld_run(b->tape, cp_model_energy_of, &(cp_model_target){.model = b->model}, b->chains, &config, &b->rng, NULL);
}

static void sgld_step(bench *b) { sample(b, (cp_sgld_config){.step_size = 2, .noise = 0.01, .steps = 1}); }

static void infer_step(bench *b) {
    bool was = cp_tape_pause(b->tape, true);
    cp_model_logits(b->tape, b->model, labeled_images(b), CP_EVALUATION);
    cp_tape_pause(b->tape, was);
    cp_tape_reset(b->tape);
}

static cp_tensor *mean(cp_tape *tape, cp_tensor *a) { return cp_mean(tape, a, CP_ALL, false); }

/* sign mean E + 0.001 mean E^2, and penalty mean |dE/dx|^2 unless that is 0. */
static cp_tensor *energy_terms(bench *b, const cp_tensor *images, cp_real sign) {
    cp_tape   *t = b->tape;
    cp_tensor *x = (b->penalty > 0 ? (cp_variable) : (cp_constant))(CP_AT(t), images->data, images->shape);
    cp_tensor *energies = cp_model_energy(t, b->model, x, CP_TRAINING);
    cp_tensor *squares = cp_scale(t, mean(t, cp_square(t, energies)), (cp_real)0.001);
    cp_tensor *terms = cp_add(t, cp_scale(t, mean(t, energies), sign), squares);
    if (!(b->penalty > 0)) return terms;
    return cp_add(t, terms, cp_scale(t, mean(t, cp_gradient_squares(t, energies, x)), (cp_real)b->penalty));
}

/* The cross entropy, E(x; c) and the coupling of the heads. */
static cp_tensor *labeled_terms(bench *b) {
    cp_tape   *t = b->tape;
    cp_tensor *z = cp_net_forward(t, b->model->net, labeled_images(b), CP_TRAINING);
    cp_tensor *fit = cp_cross_entropy(t, cp_head_logits(t, b->model->head, z), labels_of(b));
    cp_tensor *energy = mean(t, cp_pick(t, cp_head_class_energy(t, b->model->head, z), labels_of(b)));
    return cp_add(t, cp_add(t, fit, energy), cp_head_penalty(t, b->model->head));
}

static void hybrid_step(bench *b) {
    sample(b, (cp_sgld_config){
                  .step_size = 2, .noise = 0.01, .steps = CHAIN_STEPS, .gradient_clamp = 1, .clamp_low = -1, .clamp_high = 1});
    cp_tensor *loss = cp_add(b->tape, energy_terms(b, b->unlabeled, 1), energy_terms(b, b->chains, -2));
    cp_backward(b->tape, cp_add(b->tape, loss, labeled_terms(b)), b->model->params);
    cp_grads_clip(b->model->params, 1);
    cp_optim_step(b->adam);
    cp_tape_reset(b->tape);
}

/* ---- measurements ---- */

/* The median of 7 to 50 runs within four seconds, after a warm-up run; of 3 if they take more than twelve. */
static double median_ms(step *run, bench *b) {
    enum { MIN = 7, MAX = 50 };
    const double budget = 4;
    double       times[MAX];
    int          count = 0;
    run(b);
    for (double start = cp_clock(); count < MIN || (count < MAX && cp_clock() - start < budget);) {
        double before = cp_clock();
        run(b);
        times[count++] = cp_clock() - before;
        if (count >= 3 && cp_clock() - start > 3 * budget) break;
    }
    return 1e3 * median_of(times, count);
}

typedef struct comparison {
    double ms[2];           /* medians */
    double median, fastest; /* of the pairs' ratios, first to second; ratio of the shortest times */
} comparison;

/* Runs a step in two ways alternately, so that other programs disturb both equally. */
static comparison compare(step *run, bench *b, void (*choose)(bench *b, bool second)) {
    enum { PAIRS = 15 };
    double times[2][PAIRS], ratios[PAIRS], shortest[2] = {INFINITY, INFINITY};
    for (int i = -1; i < PAIRS; i++) { /* the first pair is the warm-up */
        double pair[2];
        for (int k = 0; k < 2; k++) {
            choose(b, k == 1);
            double before = cp_clock();
            run(b);
            pair[k] = cp_clock() - before;
        }
        if (i < 0) continue;
        for (int k = 0; k < 2; k++) shortest[k] = fmin(shortest[k], times[k][i] = pair[k]);
        ratios[i] = pair[0] / pair[1];
    }
    return (comparison){.ms = {1e3 * median_of(times[0], PAIRS), 1e3 * median_of(times[1], PAIRS)},
                        .median = median_of(ratios, PAIRS),
                        .fastest = shortest[0] / shortest[1]};
}

static void choose_threads(bench *b, bool several) { cp_threads_set(several ? b->threads : 1); }

static void choose_penalty(bench *b, bool penalized) { b->penalty = penalized ? 0.05 : 0; }

static void print_network(const char *before, const network *n) {
    printf("%swrn %d %d norm %d side %d channels %d batch %d", before, n->depth, n->width, n->norm, n->side, n->channels, n->batch);
}

typedef bool measurement(bench *b, const network *n);

static int run_measurement(measurement *measure, const network *n, const char *head) {
    bench b;
    bool  ok = bench_make(&b, n, head) && measure(&b, n);
    fflush(stdout);
    free(b.label);
    cp_tensor_free(b.labeled);
    cp_tensor_free(b.unlabeled);
    cp_tensor_free(b.chains);
    cp_tape_free(b.tape);
    cp_optim_free(b.adam);
    cp_model_free(b.model);
    return ok ? CP_EXIT_OK : CP_EXIT_FAILED;
}

static bool measure_steps(bench *b, const network *n) {
    double train = median_ms(train_step, b), sgld = median_ms(sgld_step, b), infer = median_ms(infer_step, b);
    print_network("", n);
    printf(" threads %d  train %.1f ms  sgld %.1f ms  infer %.1f ms\n", b->threads, train, sgld, infer);
    return true;
}

static bool measure_scaling(bench *b, const network *n) {
    comparison train = compare(train_step, b, choose_threads), sgld = compare(sgld_step, b, choose_threads),
               infer = compare(infer_step, b, choose_threads);
    print_network("scaling ", n);
    printf(" threads %d against 1  train %.2f (%.2f)  sgld %.2f (%.2f)  infer %.2f (%.2f)\n", b->threads, train.median,
           train.fastest, sgld.median, sgld.fastest, infer.median, infer.fastest);
    return true;
}

/* The peak of a step's values, on a new tape for each step. */
static bool measure_memory(bench *b, const network *n) {
    double      peak[2];
    step *const steps[] = {train_step, sgld_step};
    for (int i = 0; i < 2; i++) {
        steps[i](b);
        peak[i] = 1e-6 * (double)cp_tape_peak(b->tape);
        cp_tape_free(b->tape);
        if (!(b->tape = cp_tape_new())) return false;
    }
    print_network("memory ", n);
    printf("  train %.1f MB  sgld %.1f MB\n", peak[0], peak[1]);
    return true;
}

static bool measure_hybrid(bench *b, const network *n) {
    comparison c = compare(hybrid_step, b, choose_penalty);
    printf("hybrid wrn %d %d side %d channels %d batch %d steps %d threads %d  without penalty %.1f ms  with %.1f ms  ratio %.2f\n",
           n->depth, n->width, n->side, n->channels, n->batch, CHAIN_STEPS, b->threads, c.ms[0], c.ms[1], 1 / c.median);
    return true;
}

/* ---- arguments ---- */

/* A whole number within limits from an argument; false with a message. */
static bool whole(const cp_options *o, int index, const char *what, int min, int max, int *value) {
    const char *text = cp_argument(o, index);
    char       *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (*text && !*end && !errno && number >= min && number <= max) {
        *value = (int)number;
        return true;
    }
    return cp_complain(o, "%s is \"%.80s\"; a whole number from %d to %d is expected", what, text, min, max);
}

static bool read_network(const cp_options *o, int first, network *n) {
    const char *const names[] = {"DEPTH", "WIDTH", "NORM", "SIDE", "CHANNELS", "BATCH"};
    const int         min[] = {10, 1, 0, 8, 1, 2}, max[] = {1000, 100, CP_NORM_LAYER, 4096, 4096, 65536};
    int              *to[] = {&n->depth, &n->width, &n->norm, &n->side, &n->channels, &n->batch};
    for (int i = 0; i < 6; i++)
        if (!whole(o, first + i, names[i], min[i], max[i], to[i])) return false;
    if ((n->depth - 4) % 6 == 0) return true;
    return cp_complain(o, "DEPTH is %d; a wide ResNet has depth 10, 16, 22, ... (6n + 4)", n->depth);
}

/* Sets THREADS if it is among the arguments; false with a message. */
static bool set_threads(const cp_options *o) {
    int threads = 0;
    if (cp_argument_count(o) < 2) return true;
    if (!whole(o, 1, "THREADS", 1, 256, &threads)) return false;
    if (cp_option_given(o, "threads")) return cp_complain(o, "THREADS and --threads mean the same; give one of them");
    cp_threads_set(threads);
    return true;
}

/* What can be measured: a function, networks, or both in this order. */
typedef struct part {
    const char *name, *arguments;
    int         max_arguments;       /* after the name */
    int (*run)(const cp_options *o); /* or NULL */
    measurement   *measure;          /* or NULL */
    const char    *head;
    const network *usual; /* without networks in the command line */
    size_t         usual_count;
} part;

static int run_networks(const cp_options *o, const part *p) {
    int count = cp_argument_count(o), code = CP_EXIT_OK;
    if (!set_threads(o)) return CP_EXIT_USAGE;
    if (p->measure == measure_scaling && cp_threads() < 2)
        return cp_complain(o, "THREADS is %d; scaling compares two or more threads with one", cp_threads()), CP_EXIT_USAGE;
    if (count > 2 && (count - 2) % 6)
        return cp_complain(o, "%d numbers after THREADS; a network is six: DEPTH WIDTH NORM SIDE CHANNELS BATCH", count - 2),
               CP_EXIT_USAGE;
    for (int i = 2; i < count && code == CP_EXIT_OK; i += 6) {
        network n;
        code = read_network(o, i, &n) ? run_measurement(p->measure, &n, p->head) : CP_EXIT_USAGE;
    }
    for (size_t i = 0; count <= 2 && i < p->usual_count && code == CP_EXIT_OK; i++)
        code = run_measurement(p->measure, &p->usual[i], p->head);
    return code;
}

/* ---- the command ---- */

enum { USUAL = sizeof usual / sizeof *usual };

static const part parts[] = {
    {"", "", 0, bench_kernels, measure_steps, "jem", usual, USUAL},
    {"kernels", "no arguments", .run = bench_kernels},
    {"memory", "no arguments", 0, NULL, measure_memory, "jem", usual, USUAL},
    {"hybrid", "THREADS only", 1, NULL, measure_hybrid, "hybrid", &hybrid_network, 1},
    {"wrn", "at most 32 networks", 1 + 6 * 32, NULL, measure_steps, "jem", usual, USUAL},
    {"scaling", "at most 32 networks", 1 + 6 * 32, NULL, measure_scaling, "jem", &wrn_16_2, 1},
};

static int run_bench(const cp_options *o) {
    const char *what = cp_argument_count(o) ? cp_argument(o, 0) : "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const part *p = &parts[i];
        if (strcmp(what, p->name) != 0) continue;
        int max = 1 + p->max_arguments, code = CP_EXIT_OK;
        if (cp_argument_count(o) > max)
            return cp_complain(o, "%s takes %s; \"%.80s\" is one too many", what, p->arguments, cp_argument(o, max)), CP_EXIT_USAGE;
        if (p->run) code = p->run(o);
        return code == CP_EXIT_OK && p->measure ? run_networks(o, p) : code;
    }
    return cp_complain(o, "there is no benchmark \"%.80s\"; expected kernels, wrn, scaling, hybrid or memory", what), CP_EXIT_USAGE;
}

static const cp_option options[] = {
    {.name = "threads", .kind = CP_OPTION_INT, .fallback = "0", .max = 256, .help = "number of threads; 0: one per processor"},
    {0}};

const cp_command cp_command_bench = {
    .name = "bench",
    .purpose = "measure the speed of this machine: kernels, and whole steps of wide ResNets",
    .arguments = "[kernels | wrn [THREADS [NETWORK...]] | scaling [THREADS [NETWORK...]] | hybrid [THREADS] | memory]",
    .details =
        "kernels: the machine's multiply-add peak, and each kernel at the shapes of wide ResNets in GFLOP/s and percent of it.\n"
        "wrn: whole steps of networks, as medians in milliseconds: train (forward, backward, Adam), sgld (gradient of the energy "
        "with respect to the inputs, Langevin update) and infer.\n"
        "scaling: how much faster THREADS threads are than one, measured alternately: the median of 15 ratios and, in brackets, "
        "the ratio of the shortest times.\n"
        "hybrid: a training step of the hybrid (10 SGLD steps, loss on 96 images, backward, Adam) without and with the gradient "
        "penalty, measured alternately: medians in milliseconds, and the median of the ratios.\n"
        "memory: peak memory of the values of a step.\n"
        "Without arguments: kernels, then wrn. A NETWORK is six numbers, DEPTH WIDTH NORM SIDE CHANNELS BATCH, with NORM 0 for "
        "none, 1 for batch, 2 for group and 3 for layer norm; the default is five usual networks. COUPLET_KERNELS (avx512, avx2, "
        "portable, reference) and COUPLET_CONV (auto, direct, winograd2, winograd4) in the environment select the kernels. "
        "Winograd convolutions turn the whole tile of 2x2 or 4x4 outputs that reads an infinite pixel infinite or NaN, and "
        "winograd4, which auto may choose, overflows for inputs above about 1e37; direct does neither.",
    .example = "wrn 2 16 2 0 28 3 64",
    .options = options,
    .without = "seed|out|quiet|json|report",
    .first_words = "kernels|wrn|scaling|hybrid|memory",
    .run = run_bench,
};
