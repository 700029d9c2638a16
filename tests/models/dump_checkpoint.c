/* Saves a run as FOLDER/run.safetensors, and every parameter as FOLDER/I.npy in the layout of memory; prints "NAME LAYOUT"
 * for each in turn. test_python.py compares the two. */
#include "core/io/npy.h"
#include "models/checkpoint.h"

#include <stdio.h>

static bool dump(const char *folder, int i, const cp_param *entry, cp_status *status) {
    char    path[512];
    int64_t dims[CP_MAX_RANK] = {0};
    for (int axis = 0; axis < entry->value->rank; axis++) dims[axis] = entry->value->dims[axis];
    snprintf(path, sizeof path, "%s/%d.npy", folder, i);
    printf("%s %d\n", entry->name, (int)entry->layout);
    return cp_npy_write(path, CP_REAL_DTYPE, entry->value->rank, dims, entry->value->data, status);
}

int main(int count, char **words) {
    if (count != 2) return 2;
    char      path[512];
    cp_status status = {0};
    cp_rng    rng = cp_rng_named(1, "init");
    cp_model *model = cp_model_new(
        (cp_model_config){
            .classes = 3, .head = "hybrid", .hybrid = {.precision = CP_FULL}, .wrn = {.channels = 2, .norm = CP_NORM_BATCH}},
        &rng);
    cp_optim          *adam = model ? cp_adam_new(model->params, (cp_adam_config){.rate = 1e-3, .weight_decay = 0.25}) : NULL;
    cp_checkpoint_part parts[] = {cp_part_optim(adam), cp_part_rng("noise", &rng)};
    cp_checkpoint_pair note = {"note", "\"quoted\" and \xc3\xa9"};
    cp_checkpoint      run = {.model = model, .parts = parts, .part_count = 2, .metadata = &note, .metadata_count = 1};
    snprintf(path, sizeof path, "%s/run.safetensors", words[1]);
    bool ok = adam && cp_checkpoint_save(&run, path, &status);
    for (int i = 0; ok && i < model->params->count; i++) ok = dump(words[1], i, &model->params->at[i], &status);
    if (!ok) fprintf(stderr, "%s\n", status.message);
    cp_optim_free(adam);
    cp_model_free(model);
    return ok ? 0 : 1;
}
