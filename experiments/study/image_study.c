/* couplet study: the paper's table and figures, from many trainings. */
#include "experiments/study/image_study.h"

#include "experiments/commands.h"

/* clang-format off */
static const cp_option options[] = {
    {.name = "labels", .kind = CP_OPTION_TEXT, .value = "N,N,...", .fallback = "1,10",
     .help = "labeled training images of each class: numbers and ranges"},
    {.name = "methods", .kind = CP_OPTION_TEXT, .value = "softmax,jem,hybrid", .fallback = "softmax,jem,hybrid", .help = "those to compare"},
    {.name = "seeds", .kind = CP_OPTION_TEXT, .value = "N-N,N,...", .fallback = "0-9",
     .help = "one training for each, by which labels are drawn: 0-9, or 3,7,10-12"},
    {.name = "sweep", .kind = CP_OPTION_TEXT, .value = "OPTION=X,X,...",
     .help = "a case for each of these values of an option of train, in the place of its default: lambda=0,0.01,0.1,1,10,100"},
    {.name = "split", .kind = CP_OPTION_CHOICE, .choices = "test|validation", .fallback = "test",
     .help = "what tables and figures are of; settings are chosen by the validation split"},
    {.name = "samples", .kind = CP_OPTION_INT, .fallback = "10", .min = 0, .max = 100, .unit = "images", .incidental = true,
     .help = "of each class, drawn from the first run of every generative case; 0: none"},
    {0}};
/* clang-format on */

static int run_planned(cp_image_study *s) {
    cp_trials_config config = {.cases = s->cases,
                               .measures = s->measures,
                               .repeats = s->seed_count,
                               .command = &cp_command_train,
                               .words = cp_image_study_words,
                               .read = cp_image_study_read,
                               .numbers = s->seeds};
    s->study = cp_study_new(s->options, "Few labels: accuracy and calibration by method", config);
    if (cp_study_run(s->study) && cp_image_study_draw(s)) {
        cp_image_study_sample(s);
        cp_image_study_tell(s, &s->study->run->status);
    }
    return cp_study_close(s->study);
}

static int run_study(const cp_options *o) {
    cp_image_study s;
    int            code = cp_image_study_plan(&s, o);
    if (code == CP_EXIT_OK) code = run_planned(&s);
    if (code == CP_EXIT_OK && s.left_out) code = CP_EXIT_FAILED;
    cp_image_study_free(&s);
    return code;
}

const cp_command cp_command_study = {
    .name = "study",
    .purpose = "the paper's table and figures: many trainings, made here or on a cluster",
    .arguments = "DATA...",
    .details =
        "DATA are npz files in MedMNIST's layout, or phantom, a built-in set to try it with. Trains with every method, number of "
        "labels and seed on every set, each run in a folder of its own in DIR/runs, and tells "
        "mean and standard deviation of accuracy and ECE, beside the paper's where it has the set, differences to softmax with a "
        "sign test, box plots, reliability diagrams and samples. Runs that are done are not made again, whoever made them; several "
        "processes and machines may work on one DIR. If it is stopped at any moment, the same command continues.",
    .example = "bloodmnist.npz pneumoniamnist.npz --labels 1,10 --seeds 0-9 --out studies/table --report",
    .options = options,
    .without = "seed|method|trial",
    .first_words = "phantom",
    .max_arguments = 1000,
    .study = true,
    .forwards_to = &cp_command_train,
    .run = run_study,
};
