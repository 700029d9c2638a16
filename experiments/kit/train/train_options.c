/* The options of a training. */
#include "experiments/kit/data/check.h"
#include "experiments/kit/train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const cp_option cp_train_options[] = {
    {.name = "preset", .kind = CP_OPTION_CHOICE, .choices = "two-stage|quick|paper|jem", .fallback = "two-stage",
     .help = "defaults of the other options: two-stage trains a classifier with batch norm, then energies with its statistics frozen; quick "
             "trains both in one stage without normalization; paper and jem are the settings of the paper and of JEM"},
    {.name = "method", .kind = CP_OPTION_CHOICE, .choices = CP_METHOD_CHOICES, .fallback = "hybrid",
     .help = "method of training: the classifier alone, one head for both models, or the Gaussian-coupled softmax layer"},
    {.name = "labels", .kind = CP_OPTION_INT, .word = "all", .fallback = "10", .min = 1, .max = 1e6, .unit = "images",
     .help = "labeled training images per class, drawn by the seed; a class with fewer gives all of its own"},
    {.name = "labeled-rows", .kind = CP_OPTION_TEXT, .value = "FILE", .path = true,
     .help = "file with the labeled rows of the training split, instead of a draw: numbers from 0, one per line, or the column \"row\" of a CSV file"},
    {.name = "steps", .kind = CP_OPTION_INT, .word = "auto", .fallback = "auto", .min = 1, .max = 1e8,
     .help = "length of the training; auto: 25 for each labeled image, between 500 and 2000, since few labels overfit sooner"},
    {.name = "joint-steps", .kind = CP_OPTION_INT, .word = "auto", .fallback = "0", .min = 0, .max = 1e8, .unit = "steps",
     .help = "length of a second stage that learns energies and pseudo-labels; the first stage, of --steps, then trains only the "
             "classifier. auto: 50 for each class, between 200 and 1000; 0: one stage learns everything"},
    {.name = "joint-rate", .kind = CP_OPTION_REAL, .fallback = "0.0005", .min = 1e-12, .max = 1e3, .help = "learning rate of the second stage"},
    {.name = "precision", .kind = CP_OPTION_CHOICE, .choices = "diagonal|full|spherical", .fallback = "diagonal",
     .help = "precision matrix of the hybrid head's Gaussians"},
    {.name = "scale", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "auto", .min = 1e-9, .max = 1e9,
     .help = "factor applied to the precision that is fitted at the start of the second stage; auto: 1/7"},
    {.name = "pseudo", .kind = CP_OPTION_REAL, .fallback = "0", .min = 0, .max = 1e6,
     .help = "weight of the pseudo-label loss: the cross-entropy of augmented unlabeled images that the averaged weights classify with confidence"},
    {.name = "threshold", .kind = CP_OPTION_REAL, .fallback = "0.8", .min = 0, .max = 1, .help = "minimum posterior of a pseudo-label"},
    {.name = "epochs", .kind = CP_OPTION_INT, .fallback = "0", .min = 0, .max = 1e5,
     .help = "length in passes over the unlabeled images, if --steps is auto; 0: by --steps"},
    {.name = "net", .kind = CP_OPTION_TEXT, .value = "KIND[:KEY=VALUE,...]|auto", .fallback = "auto",
     .help = "network, with keys of its model description: wrn:depth=16,norm=group, mlp:sizes=64/64,activation=relu, lstm:hidden=64; auto: "
             "wrn for images, mlp:sizes=64/64 for tables, lstm:hidden=64 for sequences"},
    {.name = "head", .kind = CP_OPTION_TEXT, .value = "KIND[:KEY=VALUE,...]|auto", .fallback = "auto",
     .help = "head, in the same way; auto: that of the method"},
    {.name = "depth", .kind = CP_OPTION_INT, .fallback = "10", .min = 1, .max = 1000,
     .help = "depth of the network, if it has such a key; of a wide ResNet: 10, 16, 22, ..."},
    {.name = "width", .kind = CP_OPTION_INT, .fallback = "1", .min = 1, .max = 1000, .help = "width of the network, if it has such a key"},
    {.name = "norm", .kind = CP_OPTION_CHOICE, .choices = "none|batch|group|layer", .fallback = "none",
     .help = "normalization of the network, if it has such a key"},
    {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 1e-12, .max = 1e3, .help = "learning rate of Adam"},
    {.name = "hold", .kind = CP_OPTION_REAL, .fallback = "0.7", .min = 0, .max = 1,
     .help = "share of the training with a constant learning rate, before a cosine decay; 1: no decay"},
    {.name = "final", .kind = CP_OPTION_REAL, .fallback = "0.1", .min = 0, .max = 1, .help = "final learning rate, as a share of --rate"},
    {.name = "warmup", .kind = CP_OPTION_INT, .fallback = "0", .min = 0, .max = 1e8, .unit = "steps",
     .help = "steps of warm-up, in which the learning rate rises"},
    {.name = "decay", .kind = CP_OPTION_REAL, .fallback = "0", .min = 0, .max = 1, .help = "weight decay (decoupled)"},
    {.name = "clip", .kind = CP_OPTION_REAL, .fallback = "1", .min = 0, .max = 1e9, .help = "maximum norm of the gradients; 0: no limit"},
    {.name = "average", .kind = CP_OPTION_REAL, .fallback = "0.99", .min = 0, .max = 0.99999,
     .help = "decay of the moving average of the weights, which is measured and saved"},
    {.name = "batch", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .unit = "images",
     .help = "labeled images per step, or all of them if there are fewer"},
    {.name = "unlabeled", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .unit = "images",
     .help = "unlabeled images per step"},
    {.name = "shift", .kind = CP_OPTION_INT, .fallback = "2", .min = 0, .max = 1000, .unit = "pixels",
     .help = "maximum random shift of labeled images"},
    {.name = "flip", .kind = CP_OPTION_CHOICE, .choices = "auto|none|x|xy", .fallback = "auto",
     .help = "random flips of labeled images: left to right (x), or upside down too (xy); auto: xy for color images, none for gray ones "
             "(X-ray, CT and MR images have a fixed orientation)"},
    {.name = "jitter", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "auto", .min = 0, .max = 1e3,
     .help = "standard deviation of random brightness and contrast of labeled images, or of noise on the values of labeled tables and sequences; "
             "auto: 0.12 for gray images, 0 for color ones, 0.1 for tables and sequences"},
    {.name = "energy", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "auto", .min = 0, .max = 1e9,
     .help = "weight of the energy terms relative to the cross-entropy; auto: 32 / (labeled images x "
             "classes), between 0.05 and 1; in one stage 16 / labeled images, between 0.1 and 1"},
    {.name = "lambda", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "1", .min = 0, .max = 1e9,
     .help = "coupling of the two heads; auto: 0.1, 1 or 10, by the minimum validation NLL of three trainings"},
    {.name = "square", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 0, .max = 1e6, .help = "weight of the squared energies"},
    {.name = "slope", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "auto", .min = 0, .max = 1e9,
     .help = "weight of the gradient penalty |dE/dx|^2 at images and samples; auto: --energy / 3"},
    {.name = "slope-every", .kind = CP_OPTION_INT, .fallback = "2", .min = 1, .max = 1000, .unit = "steps",
     .help = "steps between gradient penalties, whose weight grows in proportion"},
    {.name = "slope-max", .kind = CP_OPTION_REAL, .fallback = "0", .min = 0, .max = 1e9, .help = "maximum |dE/dx|^2 without a gradient penalty"},
    {.name = "conditional", .kind = CP_OPTION_FLAG, .help = "draw samples of one class each for the energy of the labeled images"},
    {.name = "chains", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .help = "samples per step"},
    {.name = "sgld", .kind = CP_OPTION_INT, .fallback = "10", .min = 1, .max = 100000, .unit = "moves",
     .help = "moves of each sampler chain per step"},
    {.name = "alpha", .kind = CP_OPTION_REAL, .fallback = "2", .min = 1e-12, .max = 1e9,
     .help = "step size of the sampler: a move is alpha / 2 times the gradient"},
    {.name = "noise", .kind = CP_OPTION_REAL, .fallback = "0.01", .min = 0, .max = 1e3, .help = "standard deviation of the noise of a move"},
    {.name = "clamp", .kind = CP_OPTION_REAL, .fallback = "0.1", .min = 0, .max = 1e9,
     .help = "maximum absolute gradient at each pixel in a move; 0: no limit"},
    {.name = "range", .kind = CP_OPTION_CHOICE, .choices = "images|any", .fallback = "images",
     .help = "range of the chains: that of the pixels, of tables and sequences 4 standard deviations to each side; or any"},
    {.name = "start", .kind = CP_OPTION_CHOICE, .choices = "gaussian|uniform", .fallback = "gaussian",
     .help = "start of the chains: the Gaussian of the training pixels, or uniform noise"},
    {.name = "buffer", .kind = CP_OPTION_INT, .fallback = "5000", .min = 1, .max = 1e6, .unit = "chains", .help = "size of the replay buffer"},
    {.name = "fresh", .kind = CP_OPTION_REAL, .fallback = "0.05", .min = 0, .max = 1, .help = "share of chains restarted at each step"},
    {.name = "restart", .kind = CP_OPTION_REAL, .fallback = "5", .min = 0, .max = 1e9,
     .help = "restart chains whose energy exceeds the images' by this; 0: never"},
    {.name = "every", .kind = CP_OPTION_INT, .fallback = "50", .min = 1, .max = 1e8, .unit = "steps",
     .help = "steps between validations, which also save a checkpoint"},
    {.name = "rollbacks", .kind = CP_OPTION_INT, .fallback = "8", .min = 0, .max = 100,
     .help = "maximum number of rollbacks of the divergence guard"},
    {0}};

const cp_default cp_train_presets[] = {
    {"preset", "jem", "method", "jem"},
    {"preset", "two-stage", "norm", "batch"},
    {"preset", "two-stage", "joint-steps", "auto"},
    {"preset", "two-stage", "precision", "full"},
    {"preset", "two-stage", "pseudo", "1"},
    {"preset", "two-stage", "slope", "0.1"},
    {"preset", "two-stage", "slope-max", "5"},
    {"preset", "two-stage", "sgld", "5"},
    {"preset", "two-stage", "alpha", "0.5"},
    {"preset", "paper", "epochs", "150"},      {"preset", "jem", "epochs", "150"},
    {"preset", "paper", "rate", "0.0001"},     {"preset", "jem", "rate", "0.0001"},
    {"preset", "paper", "hold", "1"},          {"preset", "jem", "hold", "1"},
    {"preset", "paper", "warmup", "0"},        {"preset", "jem", "warmup", "1000"},
    {"preset", "paper", "clip", "0"},          {"preset", "jem", "clip", "0"},
    {"preset", "paper", "shift", "0"},         {"preset", "jem", "shift", "0"},
    {"preset", "paper", "flip", "none"},       {"preset", "jem", "flip", "none"},
    {"preset", "paper", "jitter", "0"},        {"preset", "jem", "jitter", "0"},
    {"preset", "paper", "energy", "1"},        {"preset", "jem", "energy", "1"},
    {"preset", "paper", "square", "0"},        {"preset", "jem", "square", "0"},
    {"preset", "paper", "slope", "0"},         {"preset", "jem", "slope", "0"},
    {"preset", "paper", "sgld", "100"},        {"preset", "jem", "sgld", "20"},
    {"preset", "paper", "clamp", "0"},         {"preset", "jem", "clamp", "0"},
    {"preset", "paper", "range", "any"},       {"preset", "jem", "range", "any"},
    {"preset", "paper", "start", "uniform"},   {"preset", "jem", "start", "uniform"},
    {"preset", "paper", "restart", "0"},       {"preset", "jem", "restart", "0"},
    {"preset", "paper", "buffer", "10000"},    {"preset", "jem", "buffer", "10000"},
    {0}};
/* clang-format on */

enum { MAX_MEASUREMENTS = 1000000 };

/* The rules behind "auto", by the number of labeled images. */
static double energy_rule(int labeled, int classes, bool joint) {
    return joint ? fmin(1, fmax(0.05, 32.0 / labeled / classes)) : fmin(1, fmax(0.1, 16.0 / labeled));
}

static double steps_rule(int labeled) { return fmin(2000, fmax(500, 25.0 * labeled)); }

static int64_t joint_rule(int classes) { return classes < 4 ? 200 : classes > 20 ? 1000 : 50 * classes; }

static cp_augment read_augment(const cp_options *o, int channels) {
    enum { AUTO, NONE, X, XY };
    if (!channels) return (cp_augment){.contrast = cp_option_real_or(o, "jitter", 0.1)};
    int flip = cp_option_choice(o, "flip");
    if (flip == AUTO) flip = channels >= 3 ? XY : NONE;
    return (cp_augment){.shift = (int)cp_option_int(o, "shift"),
                        .flip_x = flip != NONE,
                        .flip_y = flip == XY,
                        .contrast = cp_option_real_or(o, "jitter", channels >= 3 ? 0 : 0.12)};
}

static cp_sgld_config read_sgld(const cp_options *o, double range) {
    cp_sgld_config sgld = {.step_size = cp_option_real(o, "alpha"),
                           .noise = cp_option_real(o, "noise"),
                           .steps = (int)cp_option_int(o, "sgld"),
                           .gradient_clamp = cp_option_real(o, "clamp")};
    if (cp_option_choice(o, "range") == 0) sgld.clamp_low = -range, sgld.clamp_high = range;
    return sgld;
}

/* Adds an option to the words that describe a network or head, if that has such a key; one that was given must be a key. */
static void add_key(const cp_options *o, const char *name, char *words, size_t size) {
    size_t           used = strlen(words);
    const cp_option *option = cp_train_options;
    while (strcmp(option->name, name) != 0) option++;
    bool by_preset = strcmp(cp_option_text(o, name), option->fallback) != 0 && cp_model_part_has_key(words, name);
    if (cp_option_given(o, name) || by_preset)
        snprintf(words + used, size - used, "%c%s=%s", strchr(words, ':') ? ',' : ':', name, cp_option_text(o, name));
}

static bool read_model(const cp_options *o, const cp_method *method, const cp_images *images, cp_model_config *model,
                       cp_status *status) {
    static const char *const nets[] = {NULL, "mlp:sizes=64/64", "lstm:hidden=64", "wrn"}; /* by the rank of an input */
    char                     net[400], head[400], name[420];
    cp_shape                 shape = images->set->shape;
    bool                     own_head = strcmp(cp_option_text(o, "head"), "auto") != 0;
    bool                     by_shape = strcmp(cp_option_text(o, "net"), "auto") == 0;
    snprintf(net, sizeof net, "%.300s", by_shape ? nets[shape.rank] : cp_option_text(o, "net"));
    snprintf(head, sizeof head, "%.300s", own_head ? cp_option_text(o, "head") : method->head);
    add_key(o, "depth", net, sizeof net);
    add_key(o, "width", net, sizeof net);
    add_key(o, "norm", net, sizeof net);
    if (cp_method_reads(method, "precision")) add_key(o, "precision", head, sizeof head);
    *model = (cp_model_config){.classes = images->classes};
    snprintf(name, sizeof name, "--net %s", net);
    if (!cp_model_config_net(model, net, shape, name, status)) return false;
    snprintf(name, sizeof name, "--head %s", head);
    return cp_model_config_head(model, head, name, status) && cp_model_config_check(model, shape, status);
}

/* A number of steps counts more than epochs, such as those of a preset. */
static int64_t read_steps(const cp_options *o, const cp_images *images, int64_t by_rule) {
    int64_t epochs = cp_option_int(o, "epochs"), batch = cp_option_int(o, "unlabeled");
    if (epochs) by_rule = (epochs * images->set->splits[CP_IMAGES_TRAIN].count + batch - 1) / batch;
    return cp_option_int_or(o, "steps", by_rule);
}

static cp_schedule read_schedule(const cp_options *o, const char *rate_option, int64_t steps) {
    double  rate = cp_option_real(o, rate_option), hold = cp_option_real(o, "hold");
    int64_t warmup = cp_option_int(o, "warmup"), last = steps - 1;
    return (cp_schedule){.kind = hold < 1 ? CP_SCHEDULE_COSINE : CP_SCHEDULE_CONSTANT,
                         .rate = rate,
                         .warmup = warmup < last ? warmup : last,
                         .hold = (int64_t)(hold * (double)last),
                         .total = steps,
                         .final_rate = rate * cp_option_real(o, "final")};
}

static double read_own(const cp_options *o, const cp_option *option) {
    return option->kind == CP_OPTION_FLAG  ? cp_option_flag(o, option->name)
           : option->kind == CP_OPTION_INT ? (double)cp_option_int(o, option->name)
                                           : cp_option_real(o, option->name);
}

/* The options that choose the labeled images. */
static void read_labels(const cp_options *o, cp_trainer_config *c) {
    *c = (cp_trainer_config){.seed = (uint64_t)cp_option_int(o, "seed"),
                             .labels = (int)cp_option_int(o, "labels"),
                             .labeled_rows = cp_option_text(o, "labeled-rows")};
}

static void read_config(const cp_options *o, const cp_images *images, int labeled, cp_trainer_config *c) {
    const cp_method *method = cp_method_find(cp_option_text(o, "method"));
    int64_t          rollbacks = cp_option_int(o, "rollbacks");
    int64_t          rule = (int64_t)steps_rule(labeled);
    int64_t joint = cp_method_reads(method, "joint-steps") ? cp_option_int_or(o, "joint-steps", joint_rule(images->classes)) : 0;
    double  energy = cp_option_real_or(o, "energy", energy_rule(labeled, images->classes, joint > 0));
    double  fresh = cp_option_real(o, "fresh");
    *c = (cp_trainer_config){
        .method = method,
        .seed = c->seed,
        .labels = c->labels,
        .labeled_rows = c->labeled_rows,
        .steps = read_steps(o, images, rule),
        .every = cp_option_int(o, "every"),
        .scale = cp_option_real_or(o, "scale", 0),
        .threshold = cp_option_real(o, "threshold"),
        .weight_decay = cp_option_real(o, "decay"),
        .clip = cp_option_real(o, "clip"),
        .average = cp_option_real(o, "average"),
        .batch = (int)fmin((double)cp_option_int(o, "batch"), labeled),
        .unlabeled = (int)cp_option_int(o, "unlabeled"),
        .chains = (int)cp_option_int(o, "chains"),
        .augment = read_augment(o, images->channels),
        .objective = {.energy = energy,
                      .lambda = cp_option_real_or(o, "lambda", 1),
                      .square = cp_option_real(o, "square"),
                      .slope = cp_option_real_or(o, "slope", energy / 3),
                      .slope_max = cp_option_real(o, "slope-max"),
                      .pseudo = cp_option_real(o, "pseudo"),
                      .conditional = cp_option_flag(o, "conditional")},
        .each_lambda = cp_method_reads(method, "lambda") && isnan(cp_option_real(o, "lambda")),
        .slope_every = (int)cp_option_int(o, "slope-every"),
        .sgld = read_sgld(o, cp_images_range(images)),
        .buffer = (int)cp_option_int(o, "buffer"),
        .fresh = fresh > 0 ? fresh : -1,
        .gaussian_start = cp_option_choice(o, "start") == 0,
        .restart_above = cp_option_real(o, "restart"),
        .guard = {.rollbacks = rollbacks ? (int)rollbacks : -1, .slope = 2 * cp_option_real(o, "slope-max")},
    };
    for (int i = 0; method->options && method->options[i].name; i++) c->objective.own[i] = read_own(o, &method->options[i]);
    c->schedule = read_schedule(o, "rate", c->steps);
    if (!joint) return;
    c->pretrain = c->steps;
    c->steps += joint;
    c->first_schedule = c->schedule;
    c->schedule = read_schedule(o, "joint-rate", joint);
}

static bool check_config(const cp_trainer_config *c, cp_status *status) {
    if (c->method->samples && c->buffer < c->chains)
        return cp_fail(status, "--chains %d are more than the --buffer of %d holds", c->chains, c->buffer);
    return c->steps / c->every <= MAX_MEASUREMENTS ||
           cp_fail(status, "--every %lld is too often in %lld steps; take at least %lld", (long long)c->every, (long long)c->steps,
                   (long long)(c->steps / MAX_MEASUREMENTS + 1));
}

/* Options that would have no effect on tables and sequences. */
static bool check_given(const cp_options *o, const cp_images *images, cp_status *status) {
    static const char *const of_images[] = {"shift", "flip"};
    for (int i = 0; i < 2 && !images->height; i++)
        if (cp_option_given(o, of_images[i]))
            return cp_fail(status, "--%s is for images; %.200s has rows of shape %s", of_images[i], images->name,
                           cp_dims_text(images->set->shape).s);
    return true;
}

/* What a user should know about the data before the training. */
static void warn(const cp_options *o, const cp_images *images, const cp_trainer_config *c) {
    cp_set_check check;
    int         *counts = calloc((size_t)images->classes, sizeof *counts);
    if (counts) cp_split_class_counts(&images->set->splits[CP_IMAGES_TRAIN], counts);
    for (int i = 0; counts && !c->labeled_rows && i < images->classes; i++)
        if (counts[i] < c->labels)
            cp_complain(o, "class %d has %d labeled images, fewer than --labels %d; all of them are used", i, counts[i], c->labels);
    free(counts);
    if (!cp_images_check(images, &check, NULL)) return;
    for (int i = 0; i < check.count; i++) cp_complain(o, "warning: %s", check.lines[i]);
}

int cp_train_read(const cp_options *o, const cp_images *images, cp_trainer_config *c) {
    cp_status status = {0};
    int       code = CP_EXIT_FAILED, count = 0;
    read_labels(o, c);
    int *drawn = cp_trainer_draw(c, images, &count, &status);
    if (drawn) {
        read_config(o, images, count, c);
        code = check_given(o, images, &status) && check_config(c, &status) && read_model(o, c->method, images, &c->model, &status)
                   ? CP_EXIT_OK
                   : CP_EXIT_USAGE;
    }
    if (c->pretrain) c->model.hybrid.apart = true; /* it starts as a classifier */
    if (code == CP_EXIT_OK)
        warn(o, images, c);
    else
        cp_complain(o, "%s", status.message);
    free(drawn);
    return code;
}
