/* Saves a model of every network, norm and head into the folder given as the argument, with inputs and what the library computes
 * for them, for tests/models/test_export_onnx.js and test_torch.py. A line for each: the name; the type, the rank and the shape of
 * an input; the classes; whether there are energies. NAME.onnx and NAME.safetensors are the model; NAME.x has 64 inputs of that
 * type, NAME.length their lengths as int32 if the second argument is "lengths" (then there are only networks of sequences), NAME.posterior and NAME.energy what cp_model_predict gives, as float32. */
#include "couplet.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 64 };

static void write_bytes(const char *folder, const char *name, const char *what, const void *bytes, size_t size) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, what);
    FILE *file = fopen(path, "wb");
    fwrite(bytes, 1, size, file);
    fclose(file);
}

static void write_values(const char *folder, const char *name, const char *what, size_t count, const double *values) {
    float *numbers = malloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)values[i];
    write_bytes(folder, name, what, numbers, count * sizeof *numbers);
    free(numbers);
}

/* Random statistics, gains and biases, so that none is 0 or 1, and a head that is not undecided. */
static void shake(cp_model *model, cp_rng *rng) {
    for (int i = 0; i < model->params->count; i++) {
        cp_param  *p = &model->params->at[i];
        cp_tensor *t = p->value;
        cp_real   *noise = malloc((t->size + 1) * sizeof *noise);
        bool       variance = strstr(p->name, "running_var"), vector = t->rank == 1;
        cp_rng_fill_uniform(rng, noise, t->size, (cp_real)(variance ? 0.5 : -0.3), (cp_real)(variance ? 2 : 0.3));
        for (size_t k = 0; k < t->size && vector; k++) t->data[k] = (variance ? 0 : t->data[k]) + noise[k];
        for (size_t k = 0; k < t->size && !cp_params_find(model->params, "head.mean") && strcmp(p->name, "head.weight") == 0; k++)
            t->data[k] *= 4;
        free(noise);
    }
}

/* The inputs of softmax models are bytes, those of jem models as the network takes them, and those of hybrid models have a range of
 * their own, which some of them leave, or for tables and sequences means and standard deviations. */
static cp_about about_of(const char *head, cp_shape row) {
    static const double mean[] = {1, 0, 0.5, 2, 1, 3}, sd[] = {1, 2, 0.5, 3, 1, 0.25};
    if (strcmp(head, "softmax") == 0) return (cp_about){.input = {.dtype = CP_U8, .high = 255, .shape = row}};
    if (strcmp(head, "jem") == 0) return (cp_about){0};
    if (row.rank < 3) return (cp_about){.input = {.dtype = CP_F32, .shape = row, .mean = mean, .sd = sd}};
    return (cp_about){.input = {.dtype = CP_F32, .low = -1, .high = 3, .shape = row}, .temperature = 1.7};
}

static void dump(const char *folder, const char *name, cp_model_config config, cp_shape row, bool lengths) {
    cp_rng           rng = cp_rng_named(5, name);
    cp_model        *model = cp_model_new(config, &rng);
    cp_status        status = {0};
    cp_predicted     p = {0};
    cp_about         about = about_of(config.head, row);
    cp_preprocessing input = {.shape = row};
    char             path[2][1024];
    size_t           size;
    int              length[ROWS];
    bool             bytes = about.input.dtype == CP_U8;
    shake(model, &rng);
    snprintf(path[0], sizeof *path, "%s/%s.onnx", folder, name);
    snprintf(path[1], sizeof *path, "%s/%s.safetensors", folder, name);
    cp_shape_size(cp_shape_rows(ROWS, row), &size);
    cp_real       *x = malloc(size * sizeof *x);
    float         *numbers = malloc(size * sizeof *numbers);
    unsigned char *pixels = malloc(size);
    cp_rng_fill_normal(&rng, x, size, 1, 1);
    for (size_t i = 0; i < size; i++) {
        numbers[i] = (float)x[i];
        pixels[i] = (unsigned char)(127 + 40 * x[i]);
    }
    cp_inputs inputs = {bytes ? CP_U8 : CP_F32, bytes ? (void *)pixels : numbers, ROWS, row, .name = name};
    for (int i = 0; i < ROWS; i++) length[i] = 1 + 3 * i % row.dims[0];
    if (lengths) inputs.lengths = length;
    if (!cp_model_about_set(model, &about, &status) || !cp_model_export_onnx(model, &input, lengths, path[0], &status) ||
        !cp_model_save(model, path[1], &status) || !cp_model_predict(model, &inputs, &p, &status)) {
        fprintf(stderr, "%s: %s\n", name, status.message);
        exit(1);
    }
    write_bytes(folder, name, "x", inputs.elements, size * (bytes ? 1 : sizeof *numbers));
    write_bytes(folder, name, "length", length, sizeof length);
    write_values(folder, name, "posterior", ROWS * (size_t)config.classes, p.posterior);
    if (p.energy) write_values(folder, name, "energy", ROWS, p.energy);
    printf("%s %s %d", name, cp_dtype_numpy(inputs.dtype), row.rank);
    for (int i = 0; i < row.rank; i++) printf(" %d", row.dims[i]);
    printf(" %d %d\n", config.classes, p.energy != NULL);
    cp_predicted_free(&p);
    cp_model_free(model);
    free(x);
    free(numbers);
    free(pixels);
}

/* All networks, or the first of each kind. */
static void dump_nets(const char *folder, const char *head, cp_hybrid_config hybrid, bool all, bool lengths) {
    static const struct {
        const char *name;
        const char *words;
        cp_shape    row;
    } nets[] = {
        {"wrn", "wrn", {3, {28, 28, 3}}},
        {"wrn-batch", "wrn:norm=batch", {3, {12, 9, 3}}},
        {"wrn-group", "wrn:norm=group", {3, {12, 12, 1}}},
        {"wrn-layer", "wrn:norm=layer", {3, {12, 12, 1}}},
        {"wrn-swish", "wrn:norm=batch,activation=swish,layout=classic", {3, {8, 8, 2}}},
        {"wrn-tanh", "wrn:norm=group,activation=tanh", {3, {8, 8, 2}}},
        {"wrn-16-2", "wrn:depth=16,width=2,norm=batch,activation=relu,layout=classic", {3, {16, 8, 1}}},
        {"mlp", "mlp:sizes=16/8", {1, {6}}},
        {"mlp-tanh", "mlp:sizes=12,activation=tanh", {3, {2, 3, 2}}},
        {"lstm", "lstm:hidden=8", {2, {7, 3}}},
        {"lstm-2", "lstm:hidden=6,layers=2,bidirectional=true", {2, {5, 2}}},
        {"mlp-steps", "mlp:sizes=12", {2, {4, 3}}},
        {"lstm-rows", "lstm:hidden=6", {3, {6, 4, 2}}},
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        cp_model_config config = {.head = head, .classes = 5, .hybrid = hybrid};
        cp_status       status = {0};
        char            name[64];
        if ((!all && strchr(nets[i].name, '-')) || (lengths && nets[i].row.rank != 2)) continue;
        snprintf(name, sizeof name, "%s-%s%d", nets[i].name, head, (int)hybrid.precision);
        if (!cp_model_config_net(&config, nets[i].words, nets[i].row, "net", &status)) {
            fprintf(stderr, "%s: %s\n", name, status.message);
            exit(1);
        }
        dump(folder, name, config, nets[i].row, lengths);
    }
}

int main(int count, char **words) {
    bool lengths = count == 3 && strcmp(words[2], "lengths") == 0;
    if (count != 2 && !lengths) return 2;
    dump_nets(words[1], "softmax", (cp_hybrid_config){0}, true, lengths);
    dump_nets(words[1], "jem", (cp_hybrid_config){0}, true, lengths);
    dump_nets(words[1], "hybrid", (cp_hybrid_config){.precision = CP_SPHERICAL}, false, lengths);
    dump_nets(words[1], "hybrid", (cp_hybrid_config){.precision = CP_DIAGONAL, .learn_prior = true}, true, lengths);
    dump_nets(words[1], "hybrid", (cp_hybrid_config){.precision = CP_FULL, .apart = true}, false, lengths);
    return 0;
}
