/* couplet train: a classifier, or a hybrid of classifier and generative model, from few labeled and many unlabeled images. */
#include "experiments/train/train.h"

#include "experiments/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "preset", .kind = CP_OPTION_CHOICE, .choices = "quick|two-stage|paper|jem", .fallback = "quick",
     .help = "the defaults of the other options: settings that train in minutes without a norm, a classifier with batch norm that then "
             "learns energies with frozen statistics, those of the paper, or those of JEM's"},
    {.name = "method", .kind = CP_OPTION_CHOICE, .choices = CP_METHOD_CHOICES, .fallback = "hybrid",
     .help = "method of training: the classifier alone, one head for both models, or the Gaussian-coupled softmax layer"},
    {.name = "labels", .kind = CP_OPTION_INT, .fallback = "10", .min = 1, .max = 1e6, .unit = "images",
     .help = "labeled training images of each class, drawn by the seed"},
    {.name = "steps", .kind = CP_OPTION_TEXT, .value = "N|auto", .fallback = "auto",
     .help = "length of the training; auto: 25 for each labeled image, between 500 and 2000: few labels are learned by heart sooner"},
    {.name = "joint-steps", .kind = CP_OPTION_INT, .word = "auto", .fallback = "0", .min = 0, .max = 1e8, .unit = "steps",
     .help = "length of a second stage, in which energies and pseudo-labels are learned; the first one, of --steps, then trains the classifier "
             "alone. auto: by --steps; 0: one stage learns everything"},
    {.name = "joint-rate", .kind = CP_OPTION_REAL, .fallback = "0.0003", .min = 1e-12, .max = 1e3, .help = "learning rate of the second stage"},
    {.name = "precision", .kind = CP_OPTION_CHOICE, .choices = "diagonal|full|spherical", .fallback = "diagonal",
     .help = "precision matrix of the hybrid's Gaussians"},
    {.name = "scale", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "auto", .min = 1e-9, .max = 1e9,
     .help = "factor of the precision that is fitted when the second stage begins; auto: 1/7"},
    {.name = "pseudo", .kind = CP_OPTION_REAL, .fallback = "0", .min = 0, .max = 1e6,
     .help = "weight of the pseudo-labels: the cross-entropy of augmented unlabeled images whose class the averaged weights are sure of"},
    {.name = "threshold", .kind = CP_OPTION_REAL, .fallback = "0.8", .min = 0, .max = 1, .help = "posterior from which a guess is a pseudo-label"},
    {.name = "epochs", .kind = CP_OPTION_INT, .fallback = "0", .min = 0, .max = 1e5,
     .help = "length in passes over the unlabeled images, where --steps is auto; 0: by --steps"},
    {.name = "depth", .kind = CP_OPTION_INT, .fallback = "10", .min = 10, .max = 1000, .help = "of the wide ResNet: 10, 16, 22, ..."},
    {.name = "width", .kind = CP_OPTION_INT, .fallback = "1", .min = 1, .max = 100, .help = "of the wide ResNet"},
    {.name = "norm", .kind = CP_OPTION_CHOICE, .choices = "none|batch|group|layer", .fallback = "none", .help = "normalization"},
    {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 1e-12, .max = 1e3, .help = "of Adam"},
    {.name = "hold", .kind = CP_OPTION_REAL, .fallback = "0.7", .min = 0, .max = 1,
     .help = "share of the training after which the rate falls along a cosine; 1: never"},
    {.name = "final", .kind = CP_OPTION_REAL, .fallback = "0.1", .min = 0, .max = 1, .help = "to this share of the rate"},
    {.name = "warmup", .kind = CP_OPTION_INT, .fallback = "0", .min = 0, .max = 1e8, .unit = "steps", .help = "in which the rate rises"},
    {.name = "decay", .kind = CP_OPTION_REAL, .fallback = "0", .min = 0, .max = 1, .help = "of the weights (decoupled)"},
    {.name = "clip", .kind = CP_OPTION_REAL, .fallback = "1", .min = 0, .max = 1e9, .help = "norm of the gradients at most; 0: any"},
    {.name = "average", .kind = CP_OPTION_REAL, .fallback = "0.99", .min = 0, .max = 0.99999,
     .help = "decay of the weights' average, which is what is measured and kept"},
    {.name = "batch", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .unit = "images",
     .help = "labeled images of a step, or all when there are fewer"},
    {.name = "unlabeled", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .unit = "images", .help = "unlabeled images of a step"},
    {.name = "shift", .kind = CP_OPTION_INT, .fallback = "2", .min = 0, .max = 1000, .unit = "pixels",
     .help = "labeled images are shifted by up to so much"},
    {.name = "flip", .kind = CP_OPTION_CHOICE, .choices = "auto|none|x|xy", .fallback = "auto",
     .help = "labeled images are flipped: left to right (x), or upside down too (xy); auto: xy for color images, none for gray ones "
             "(X-rays, CT and MR images have an upper side, and a left kidney is no right one)"},
    {.name = "jitter", .kind = CP_OPTION_TEXT, .value = "X|auto", .fallback = "auto",
     .help = "standard deviation by which brightness and contrast of labeled images vary; auto: 0.12 for gray images, 0 for color ones"},
    {.name = "energy", .kind = CP_OPTION_TEXT, .value = "X|auto", .fallback = "auto",
     .help = "weight of the energy terms beside the cross-entropy; auto: 16 / number of labeled images, between 0.1 and 1"},
    {.name = "lambda", .kind = CP_OPTION_TEXT, .value = "X|auto", .fallback = "1",
     .help = "how strongly the two heads are tied; auto: 0.1, 1 or 10, whichever has the least validation NLL (three trainings)"},
    {.name = "square", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 0, .max = 1e6, .help = "weight of the squared energies"},
    {.name = "slope", .kind = CP_OPTION_TEXT, .value = "X|auto", .fallback = "auto",
     .help = "weight of the gradient penalty |dE/dx|^2 at images and samples; auto: --energy / 3"},
    {.name = "slope-every", .kind = CP_OPTION_INT, .fallback = "2", .min = 1, .max = 1000, .unit = "steps",
     .help = "from one gradient penalty to the next, which then weighs as much more"},
    {.name = "slope-max", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "0", .min = 0, .max = 1e9,
     .help = "|dE/dx|^2 up to which there is no gradient penalty; auto: that of the images when the second stage begins, at least 3"},
    {.name = "conditional", .kind = CP_OPTION_FLAG, .help = "samples of a class each, for the labeled images' energy"},
    {.name = "chains", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .help = "samples of a step"},
    {.name = "sgld", .kind = CP_OPTION_INT, .fallback = "10", .min = 1, .max = 100000, .unit = "moves", .help = "of a chain in a step"},
    {.name = "alpha", .kind = CP_OPTION_REAL, .fallback = "2", .min = 0, .max = 1e9, .help = "step size of the sampler: a move is alpha / 2 times the gradient; 0: 2, or less where energies are steep"},
    {.name = "noise", .kind = CP_OPTION_REAL, .fallback = "0.01", .min = 0, .max = 1e3, .help = "standard deviation of a move's noise"},
    {.name = "clamp", .kind = CP_OPTION_REAL, .fallback = "0.1", .min = 0, .max = 1e9,
     .help = "a chain's gradient at each pixel is kept within +- this; 0: as it is"},
    {.name = "range", .kind = CP_OPTION_CHOICE, .choices = "images|any", .fallback = "images",
     .help = "chains stay within the pixels' range, or go anywhere"},
    {.name = "start", .kind = CP_OPTION_CHOICE, .choices = "gaussian|uniform", .fallback = "gaussian",
     .help = "chains start from the Gaussian of the training pixels, or from uniform noise"},
    {.name = "buffer", .kind = CP_OPTION_INT, .fallback = "5000", .min = 1, .max = 1e6, .unit = "chains", .help = "that go on from step to step"},
    {.name = "fresh", .kind = CP_OPTION_REAL, .fallback = "0.05", .min = 0, .max = 1, .help = "share of chains that start anew"},
    {.name = "restart", .kind = CP_OPTION_REAL, .fallback = "5", .min = 0, .max = 1e9,
     .help = "a chain whose energy is so much above the images' starts anew; 0: none does"},
    {.name = "every", .kind = CP_OPTION_INT, .fallback = "50", .min = 1, .max = 1e8, .unit = "steps",
     .help = "from one validation, and checkpoint, to the next"},
    {.name = "rollbacks", .kind = CP_OPTION_INT, .fallback = "8", .min = 0, .max = 100, .help = "that the divergence guard tries before it gives up"},
    {0}};

static const cp_default defaults[] = {
    {"preset", "jem", "method", "jem"},
    {"preset", "two-stage", "norm", "batch"},
    {"preset", "two-stage", "joint-steps", "auto"},
    {"preset", "two-stage", "precision", "full"},
    {"preset", "two-stage", "pseudo", "1"},
    {"preset", "two-stage", "slope", "0.1"},
    {"preset", "two-stage", "slope-max", "auto"},
    {"preset", "two-stage", "sgld", "5"},
    {"preset", "two-stage", "alpha", "0"},
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

enum { MAX_MEASUREMENTS = 1000000, MAX_STEPS = 100000000, MIN_SIDE = 8 };
const double cp_train_lambdas[CP_TRAIN_LAMBDAS] = {0.1, 1, 10};

/* ---- settings ---- */

/* A number, or `by_rule` for "auto". */
static bool read_number(const cp_options *o, const char *name, double by_rule, double *value) {
    const char *text = cp_option_text(o, name);
    char       *end;
    *value = by_rule;
    if (strcmp(text, "auto") == 0) return true;
    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value) && *value >= 0) return true;
    cp_complain(o, "--%s is \"%.40s\"; a number of at least 0 or \"auto\" is expected", name, text);
    return false;
}

/* The rules behind "auto", by the number of labeled images. */
static double energy_rule(int labeled) {
    return fmin(1, fmax(0.1, 16.0 / labeled));
}

static double steps_rule(int labeled) {
    return fmin(2000, fmax(500, 25.0 * labeled));
}

static int64_t joint_rule(int classes) {
    return 100 * classes;
}

static bool read_augment(const cp_options *o, int channels, cp_augment *augment) {
    enum { AUTO, NONE, X, XY };
    double jitter;
    int    flip = cp_option_choice(o, "flip");
    if (flip == AUTO) flip = channels >= 3 ? XY : NONE;
    if (!read_number(o, "jitter", channels >= 3 ? 0 : 0.12, &jitter)) return false;
    *augment =
        (cp_augment){.shift = (int)cp_option_int(o, "shift"), .flip_x = flip != NONE, .flip_y = flip == XY, .contrast = jitter};
    return true;
}

static cp_sgld_config read_sgld(const cp_options *o) {
    cp_sgld_config sgld = {.step_size = cp_option_real(o, "alpha"),
                           .noise = cp_option_real(o, "noise"),
                           .steps = (int)cp_option_int(o, "sgld"),
                           .gradient_clamp = cp_option_real(o, "clamp")};
    if (cp_option_choice(o, "range") == 0) sgld.clamp_low = -1, sgld.clamp_high = 1;
    return sgld;
}

static cp_model_config read_model(const cp_options *o, const cp_images *images) {
    static const cp_norm_kind norms[] = {CP_NORM_NONE, CP_NORM_BATCH, CP_NORM_GROUP, CP_NORM_LAYER};
    return (cp_model_config){.model = "wrn",
                             .head = cp_method_find(cp_option_text(o, "method"))->head,
                             .classes = images->classes,
                             .wrn = {.depth = (int)cp_option_int(o, "depth"),
                                     .width = (int)cp_option_int(o, "width"),
                                     .channels = images->channels,
                                     .norm = norms[cp_option_choice(o, "norm")]}};
}

/* A number of steps counts more than epochs, such as those of a preset. */
static bool read_steps(const cp_train *train, int64_t *steps) {
    const cp_options *o = train->options;
    bool              by_steps = strcmp(cp_option_text(o, "steps"), "auto") != 0;
    int64_t           epochs = cp_option_int(o, "epochs"), batch = cp_option_int(o, "unlabeled");
    double            number;
    if (!read_number(o, "steps", steps_rule(train->drawn_count), &number)) return false;
    if (!(number >= 1 && number <= MAX_STEPS && number == floor(number))) {
        cp_complain(o, "--steps is \"%.40s\"; a whole number from 1 to %d or \"auto\" is expected", cp_option_text(o, "steps"),
                    MAX_STEPS);
        return false;
    }
    *steps =
        epochs && !by_steps ? (epochs * train->images->set->splits[CP_IMAGES_TRAIN].count + batch - 1) / batch : (int64_t)number;
    return true;
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

static bool read_config(const cp_train *train, cp_trainer_config *c) {
    const cp_options *o = train->options;
    double            energy, slope, batch = (double)cp_option_int(o, "batch"), fresh = cp_option_real(o, "fresh");
    int64_t           steps;
    cp_augment        augment;
    if (!read_number(o, "energy", energy_rule(train->drawn_count), &energy) || !read_number(o, "slope", energy / 3, &slope) ||
        !read_steps(train, &steps) || !read_augment(o, train->images->channels, &augment))
        return false;
    *c = (cp_trainer_config){
        .method = train->method,
        .model = read_model(o, train->images),
        .seed = (uint64_t)cp_option_int(o, "seed"),
        .steps = steps,
        .every = cp_option_int(o, "every"),
        .scale = cp_option_real_or(o, "scale", 0),
        .threshold = cp_option_real(o, "threshold"),
        .weight_decay = cp_option_real(o, "decay"),
        .clip = cp_option_real(o, "clip"),
        .average = cp_option_real(o, "average"),
        .batch = (int)fmin(batch, train->drawn_count),
        .unlabeled = (int)cp_option_int(o, "unlabeled"),
        .chains = (int)cp_option_int(o, "chains"),
        .augment = augment,
        .objective = {.energy = energy,
                      .square = cp_option_real(o, "square"),
                      .slope = slope,
                      .slope_max = cp_option_real_or(o, "slope-max", -1),
                      .pseudo = cp_option_real(o, "pseudo"),
                      .conditional = cp_option_flag(o, "conditional")},
        .slope_every = (int)cp_option_int(o, "slope-every"),
        .sgld = read_sgld(o),
        .buffer = (int)cp_option_int(o, "buffer"),
        .fresh = fresh > 0 ? fresh : -1,
        .gaussian_start = cp_option_choice(o, "start") == 0,
        .restart_above = cp_option_real(o, "restart"),
        .guard = {.rollbacks = cp_option_int(o, "rollbacks") ? (int)cp_option_int(o, "rollbacks") : -1},
    };
    for (int i = 0; c->method->options && c->method->options[i].name; i++)
        c->objective.own[i] = read_own(o, &c->method->options[i]);
    c->schedule = read_schedule(o, "rate", c->steps);
    int64_t joint =
        cp_method_reads(train->method, "joint-steps") ? cp_option_int_or(o, "joint-steps", joint_rule(train->images->classes)) : 0;
    if (joint) {
        c->pretrain = c->steps;
        c->steps += joint;
        c->first_schedule = c->schedule;
        c->schedule = read_schedule(o, "joint-rate", joint);
        c->model.hybrid.apart = true; /* it starts as a classifier */
    }
    c->model.hybrid.precision = (cp_precision[]){CP_DIAGONAL, CP_FULL, CP_SPHERICAL}[cp_option_choice(o, "precision")];
    if (c->buffer < c->chains) {
        cp_complain(o, "--chains %d are more than the --buffer of %d holds", c->chains, c->buffer);
        return false;
    }
    if (c->steps / c->every > MAX_MEASUREMENTS) {
        cp_complain(o, "--every %lld is too often in %lld steps; take at least %lld", (long long)c->every, (long long)c->steps,
                    (long long)(c->steps / MAX_MEASUREMENTS + 1));
        return false;
    }
    if (train->images->height < MIN_SIDE || train->images->width < MIN_SIDE) {
        cp_complain(o, "%s has images of %d x %d pixels; a wide ResNet needs at least %d x %d", train->images->name,
                    train->images->height, train->images->width, MIN_SIDE, MIN_SIDE);
        return false;
    }
    if ((c->model.wrn.depth - 4) % 6 != 0) {
        cp_complain(o, "--depth %d is not possible; a wide ResNet has 10, 16, 22, ... layers", c->model.wrn.depth);
        return false;
    }
    return true;
}

/* ---- the command ---- */

/* Draws the labeled images and reads the settings. Returns an exit code; what is wrong has been told. */
static int prepare(cp_train *train, cp_trainer_config *config) {
    const cp_options *o = train->options;
    const cp_split   *split = &train->images->set->splits[CP_IMAGES_TRAIN];
    int64_t           labels = cp_option_int(o, "labels");
    cp_status         status = {0};
    train->method = cp_method_find(cp_option_text(o, "method"));
    if (labels * train->images->classes <= split->count)
        train->drawn = cp_split_draw(split, (int)labels, (uint64_t)cp_option_int(o, "seed"), &status);
    else
        cp_fail(&status, "--labels %d of each of %d classes are more than the %d training images", (int)labels,
                train->images->classes, split->count);
    if (!train->drawn) {
        cp_complain(o, "%s", status.message);
        return CP_EXIT_FAILED;
    }
    train->drawn_count = (int)labels * train->images->classes;
    return read_number(o, "lambda", 1, &train->lambda) && read_config(train, config) ? CP_EXIT_OK : CP_EXIT_USAGE;
}

int cp_train_check(const cp_options *o, cp_images *images) {
    cp_train          train = {.options = o, .images = images};
    cp_trainer_config config;
    int               code = prepare(&train, &config);
    free(train.drawn);
    return code;
}

static int run_loaded(cp_train *train) {
    const cp_options *o = train->options;
    cp_trainer_config config;
    int               code = prepare(train, &config);
    if (code != CP_EXIT_OK) return code;
    bool each_lambda = strcmp(cp_option_text(o, "lambda"), "auto") == 0 && cp_method_reads(train->method, "lambda");
    train->run = cp_run_open(o);
    if (!train->run) return CP_EXIT_FAILED;
    if (train->run->state == CP_RUN_FINISHED) {
        cp_train_clean_up(train);
        return cp_run_show_unchanged(train->run, (cp_run_source[]){{"the data", "data/md5", train->images->md5}, {0}});
    }
    return cp_train_run(train, &config, each_lambda);
}

static int run_train(const cp_options *o) {
    cp_status status = {0};
    cp_train  train = {.options = o, .images = cp_images_load(cp_argument(o, 0), &status)};
    int       code = CP_EXIT_FAILED;
    if (train.images)
        code = run_loaded(&train);
    else
        cp_complain(o, "%s", status.message);
    free(train.drawn);
    cp_images_free(train.images);
    return code;
}

const cp_command cp_command_train = {
    .name = "train",
    .purpose = "a classifier, or a hybrid with a generative model, from few labeled images",
    .arguments = "DATA",
    .details =
        "DATA is an npz file in MedMNIST's layout ({train,val,test}_{images,labels}), or phantom, a built-in set. Of the training "
        "images --labels of each class are taken as labeled, all as unlabeled. The averaged weights are measured on the "
        "validation split as the training goes; those with the least NLL after temperature scaling are the selected ones, for "
        "every method. Ended at any moment, the same command with the same --out goes on and ends in the same bytes.",
    .example = "pneumoniamnist.npz --method hybrid --labels 10 --seed 0 --out runs/pneumonia --report",
    .options = options,
    .more = cp_method_option,
    .defaults = defaults,
    .first_words = "phantom",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments_by_md5 = true,
    .run = run_train,
};
