/* couplet train: a classifier, or a hybrid of classifier and generative model, from few labeled and many unlabeled images. */
#include "experiments/kit/train/train.h"
#include "experiments/commands.h"

static int run_train(const cp_options *o) {
    cp_status         status = {0};
    cp_trainer_config config;
    cp_images        *images = cp_images_load(cp_argument(o, 0), &status);
    int               code = images ? cp_train_read(o, images, &config) : CP_EXIT_FAILED;
    if (code == CP_EXIT_OK) code = cp_train(o, images, &config);
    if (!images) cp_complain(o, "%s", status.message);
    cp_images_free(images);
    return code;
}

const cp_command cp_command_train = {
    .name = "train",
    .purpose = "train a classifier, or a hybrid with a generative model, from few labeled images",
    .arguments = "DATA",
    .details = "DATA is an npz file in MedMNIST's layout ({train,val,test}_{images,labels}), or phantom, a built-in set. --labels "
               "images of each class are used with their labels, and all training images without. The averaged weights are "
               "measured on the validation split during training, and those with the lowest NLL after temperature scaling are "
               "selected, whatever the method. If the training is stopped at any moment, the same command with the same --out "
               "resumes it and ends with the same bytes.",
    .example = "pneumoniamnist.npz --method hybrid --labels 10 --seed 0 --out runs/pneumonia --report",
    .options = cp_train_options,
    .more = cp_method_option,
    .defaults = cp_train_presets,
    .first_words = "phantom",
    .arguments_by_md5 = true,
    .run = run_train,
};
