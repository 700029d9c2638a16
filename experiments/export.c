/* couplet export: a trained model as an ONNX file, which other programs run. */
#include "models/export.h"
#include "experiments/commands.h"
#include "experiments/kit/train/run_model.h"

#include <limits.h>
#include <string.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "onnx", .kind = CP_OPTION_TEXT, .value = "OUT.onnx", .required = true,
     .help = "file for the model in ONNX's format; an older one is replaced"},
    CP_OPTION_WEIGHTS("selected"),
    {.name = "shape", .kind = CP_OPTION_REALS, .min = 1, .max = INT_MAX,
     .help = "shape of one input, H,W,C of images and T,D of sequences; default: as in the training, if the model knows it"},
    {.name = "lengths", .kind = CP_OPTION_FLAG,
     .help = "the file has a second input, length, with the steps of each sequence that count; without it, all count"},
    {.name = "bytes", .kind = CP_OPTION_FLAG,
     .help = "inputs of a model that does not know them are pixels from 0 to 255; else they are float32 as the network takes "
             "them"},
    {0}};
/* clang-format on */

/* What the options and the run say of the inputs. */
static bool read_input(const cp_options *o, const cp_run_model *t, cp_preprocessing *input, cp_status *status) {
    const cp_preprocessing *own = &t->model->about.input;
    cp_reals                sizes = cp_option_reals(o, "shape");
    *input = (cp_preprocessing){.shape = sizes.count ? (cp_shape){.rank = sizes.count} : t->shape};
    if (cp_option_flag(o, "bytes")) input->dtype = CP_U8, input->high = 255;
    if (cp_option_flag(o, "bytes") && cp_preprocessing_known(own))
        return cp_fail(status, "--bytes: the model knows its inputs, which are %s", cp_dtype_numpy(own->dtype));
    if (sizes.count >= CP_MAX_RANK)
        return cp_fail(status, "--shape has %d sizes; at most %d are possible", sizes.count, CP_MAX_RANK - 1);
    for (int i = 0; i < sizes.count; i++)
        if ((input->shape.dims[i] = (int)sizes.at[i]) != sizes.at[i])
            return cp_fail(status, "--shape: %g is not a whole number", sizes.at[i]);
    return true;
}

static bool print_result(const cp_options *o, const cp_run_model *t, const cp_preprocessing *input, cp_status *status) {
    const cp_model *m = t->model;
    const char     *path = cp_option_text(o, "onnx"), *type = cp_dtype_numpy(input->dtype);
    char            shape[64] = "N";
    if (cp_option_flag(o, "json")) {
        cp_json_writer w = {.pretty = true};
        cp_json_put_object(&w, NULL);
        cp_json_put_string(&w, "command", "export");
        cp_run_model_put(t, &w);
        cp_json_put_string(&w, "onnx", path);
        cp_json_put_string(&w, "type", type);
        cp_json_put_integers(&w, "shape", input->shape.dims, (size_t)input->shape.rank);
        cp_json_put_end(&w);
        return cp_json_writer_print(&w, stdout, status);
    }
    for (int i = 0; i < input->shape.rank; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), ", %d", input->shape.dims[i]);
    if (cp_option_flag(o, "quiet")) return true;
    printf("%s: %s with %s head; x is %s (%s)", path, m->config.model, m->config.head, type, shape);
    if (cp_option_flag(o, "lengths")) printf(", length is int64 (N)");
    if (input->high > input->low) printf(" from %g to %g", input->low, input->high);
    printf("; outputs: posterior (N, %d) at temperature %g%s\n", m->config.classes, t->temperature,
           cp_run_model_generative(t) ? ", energy (N), density (N)" : "");
    return true;
}

static int run(const cp_options *o) {
    cp_status        status = {0};
    const char      *path = cp_option_text(o, "onnx"), *end = strrchr(path, '.');
    cp_preprocessing input = {0};
    cp_run_model    *t = NULL;
    if (!end || strcmp(end, ".onnx") != 0)
        cp_fail(&status, "--onnx %.200s: the name must end in .onnx", path); /* so that it is not the model's own file */
    else
        t = cp_run_model_open(cp_argument(o, 0), cp_option_choice(o, "weights"), &status);
    if (t && read_input(o, t, &input, &status) &&
        cp_model_export_onnx(t->model, &input, cp_option_flag(o, "lengths"), path, &status))
        print_result(o, t, &input, &status);
    cp_run_model_free(t);
    return cp_exit_code(o, &status);
}

const cp_command cp_command_export = {
    .name = "export",
    .purpose = "write a trained model as an ONNX file, with its preprocessing and temperature inside",
    .arguments = "RUN|MODEL.safetensors",
    .details = "RUN is the folder of a run of couplet train. The file's input x has the type, range and order of the training's "
               "files, images as (N, H, W, C). N is any number. The outputs are posterior and, of "
               "models with energies, energy and density.",
    .example = "runs/blood --onnx blood.onnx",
    .options = options,
    .without = "seed|out|report",
    .run = run,
};
