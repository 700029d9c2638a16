/* Cases of the Gaussian-coupled softmax layer's ops, for each kind of precision, with and without a prior. */
#include "ops/gaussian.h"
#include "tests/support/cases.h"

/* The inputs from in[0] on are mean, precision and, with .training, log_prior. c->number is the kind of precision. */
static cp_gaussians gaussians(cp_tensor **in, const op_case *c) {
    return (cp_gaussians){in[0], in[1], (cp_precision)c->number, c->training ? in[2] : NULL};
}

static cp_tensor *build_energy(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gaussian_energy(tape, in[0], gaussians(in + 1, c));
}

static cp_tensor *build_log_joint(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gaussian_log_joint(tape, in[0], gaussians(in + 1, c));
}

static cp_tensor *build_log_density(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gaussian_log_density(tape, in[0], gaussians(in + 1, c));
}

static cp_tensor *build_weight(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gaussian_weight(tape, gaussians(in, c));
}

static cp_tensor *build_bias(cp_tape *tape, cp_tensor **in, const op_case *c) { return cp_gaussian_bias(tape, gaussians(in, c)); }

static cp_tensor *build_penalty(cp_tape *tape, cp_tensor **in, const op_case *c) {
    return cp_gaussian_penalty(tape, in[0], in[1], gaussians(in + 2, c));
}

/* clang-format off */
#define POINTS(op, text, build, N, C, D, P, KIND)                                                              \
    {op, text,               build, {ANY(N, D), ANY(C, D), ANY(P)}, .number = KIND},                           \
    {op, text ", with prior", build, {ANY(N, D), ANY(C, D), ANY(P), ANY(C)}, .number = KIND, .training = true}
#define GENERATIVE(op, text, build, C, D, P, KIND)                                                             \
    {op, text,               build, {ANY(C, D), ANY(P)}, .number = KIND},                                      \
    {op, text ", with prior", build, {ANY(C, D), ANY(P), ANY(C)}, .number = KIND, .training = true}
#define PENALTY(text, C, D, P, KIND)                                                                           \
    {"gaussian_penalty", text,               build_penalty, {ANY(D, C), ANY(C), ANY(C, D), ANY(P)}, .number = KIND},          \
    {"gaussian_penalty", text ", with prior", build_penalty, {ANY(D, C), ANY(C), ANY(C, D), ANY(P), ANY(C)}, .number = KIND,  \
     .training = true}

static const op_case cases[] = {
    POINTS("gaussian_energy", "spherical",      build_energy, 5, 3, 2, 1, CP_SPHERICAL),
    POINTS("gaussian_energy", "diagonal",       build_energy, 5, 3, 4, 4, CP_DIAGONAL),
    POINTS("gaussian_energy", "full",           build_energy, 4, 2, 3, 6, CP_FULL),
    POINTS("gaussian_energy", "full, D = 1",    build_energy, 3, 2, 1, 1, CP_FULL),
    POINTS("gaussian_log_joint", "spherical",   build_log_joint, 5, 3, 2, 1, CP_SPHERICAL),
    POINTS("gaussian_log_joint", "diagonal",    build_log_joint, 5, 3, 4, 4, CP_DIAGONAL),
    POINTS("gaussian_log_joint", "full",        build_log_joint, 4, 2, 3, 6, CP_FULL),
    POINTS("gaussian_log_density", "spherical", build_log_density, 5, 3, 2, 1, CP_SPHERICAL),
    POINTS("gaussian_log_density", "diagonal",  build_log_density, 5, 3, 4, 4, CP_DIAGONAL),
    POINTS("gaussian_log_density", "full",      build_log_density, 4, 2, 3, 6, CP_FULL),
    POINTS("gaussian_log_density", "one class, one point", build_log_density, 1, 1, 2, 3, CP_FULL),
    GENERATIVE("gaussian_weight", "spherical",  build_weight, 3, 2, 1, CP_SPHERICAL),
    GENERATIVE("gaussian_weight", "diagonal",   build_weight, 3, 4, 4, CP_DIAGONAL),
    GENERATIVE("gaussian_weight", "full",       build_weight, 2, 3, 6, CP_FULL),
    GENERATIVE("gaussian_bias", "spherical",    build_bias, 3, 2, 1, CP_SPHERICAL),
    GENERATIVE("gaussian_bias", "diagonal",     build_bias, 3, 4, 4, CP_DIAGONAL),
    GENERATIVE("gaussian_bias", "full",         build_bias, 2, 3, 6, CP_FULL),
    PENALTY("spherical", 3, 2, 1, CP_SPHERICAL),
    PENALTY("diagonal",  3, 4, 4, CP_DIAGONAL),
    PENALTY("full",      2, 3, 6, CP_FULL),
    PENALTY("full, D = 1, one class", 1, 1, 1, CP_FULL),
};
/* clang-format on */

CASE_TABLE(cases_gaussian);
