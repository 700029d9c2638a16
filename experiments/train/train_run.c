/* The training of a run, or one for each lambda, and the files it leaves. */
#include "core/io/file.h"
#include "experiments/train/train.h"

#include <math.h>
#include <unistd.h>

static bool copy_file(const char *folder, const char *to, const char *name, cp_status *status) {
    char from_path[1200], to_path[1200];
    snprintf(from_path, sizeof from_path, "%s/%s", folder, name);
    snprintf(to_path, sizeof to_path, "%s/%s", to, name);
    return cp_file_copy(from_path, to_path, status);
}

static void remove_file(const char *folder, const char *name) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* Those of a training that diverged are worth nothing. */
static void remove_weights(const char *folder) {
    static const char *const weights[] = {CP_TRAINER_SELECTED, CP_TRAINER_END, CP_TRAINER_CHAINS, CP_TRAINER_PRETRAINED};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) remove_file(folder, weights[i]);
}

static cp_trainer *train_with(cp_train *train, cp_trainer_config *config, double lambda, const char *folder, cp_trainer_end *end) {
    config->objective.lambda = lambda;
    *end = CP_TRAINER_STOPPED;
    if (!cp_folder_make(folder, &train->run->status)) return NULL;
    cp_trainer *trainer =
        cp_trainer_new(config, train->images, train->drawn, train->drawn_count, train->run, folder, &train->run->status);
    if (trainer) *end = cp_trainer_run(trainer, &train->run->status);
    return trainer;
}

static cp_file_path lambda_folder(const cp_run *run, double lambda) {
    char name[40];
    snprintf(name, sizeof name, "lambda-%g", lambda);
    return cp_run_path(run, name);
}

/* The trainer whose selected weights have the least scaled validation NLL; its files go to the run's folder. */
static cp_trainer *train_each_lambda(cp_train *train, cp_trainer_config *config, cp_trainer_end *end) {
    cp_trainer *best = NULL;
    double      min = INFINITY;
    for (int i = 0; i < CP_TRAIN_LAMBDAS; i++) {
        double         nll = INFINITY, lambda = cp_train_lambdas[i];
        cp_file_path   folder = lambda_folder(train->run, lambda);
        cp_trainer_end this_end;
        cp_trainer    *trainer = train_with(train, config, lambda, folder.s, &this_end);
        if (this_end == CP_TRAINER_STOPPED) {
            cp_trainer_free(trainer);
            cp_trainer_free(best);
            *end = CP_TRAINER_STOPPED;
            return NULL;
        }
        if (this_end == CP_TRAINER_DONE)
            cp_trainer_selected(trainer, &nll);
        else
            remove_weights(folder.s);
        train->lambda_nll[i] = nll;
        if (!best || nll < min) {
            cp_trainer_free(best);
            best = trainer;
            min = nll;
            train->lambda = lambda;
            *end = this_end;
        } else {
            cp_trainer_free(trainer);
        }
    }
    train->lambda_chosen = true;
    return best;
}

static bool fetch_lambda_files(cp_train *train, const cp_trainer *trainer) {
    cp_file_path folder = lambda_folder(train->run, train->lambda);
    cp_status   *status = &train->run->status;
    return copy_file(folder.s, train->run->folder, CP_TRAINER_SELECTED, status) &&
           copy_file(folder.s, train->run->folder, CP_TRAINER_END, status) &&
           (!cp_trainer_replay(trainer) || copy_file(folder.s, train->run->folder, CP_TRAINER_CHAINS, status)) &&
           (!cp_trainer_settings(trainer)->pretrain || copy_file(folder.s, train->run->folder, CP_TRAINER_PRETRAINED, status));
}

void cp_train_clean_up(const cp_train *train) {
    for (int i = -1; i < CP_TRAIN_LAMBDAS; i++) {
        cp_file_path folder = i < 0 ? cp_run_path(train->run, ".") : lambda_folder(train->run, cp_train_lambdas[i]);
        remove_file(folder.s, CP_TRAINER_CHECKPOINT);
        remove_file(folder.s, CP_TRAINER_GOOD);
        if (train->diverged) remove_weights(folder.s);
    }
}

int cp_train_run(cp_train *train, cp_trainer_config *config, bool each_lambda) {
    cp_trainer_end end = CP_TRAINER_STOPPED;
    cp_trainer    *trainer =
        each_lambda ? train_each_lambda(train, config, &end) : train_with(train, config, train->lambda, train->run->folder, &end);
    if (end == CP_TRAINER_DONE && (!train->lambda_chosen || fetch_lambda_files(train, trainer)))
        cp_train_conclude(train, trainer);
    else if (end == CP_TRAINER_DIVERGED)
        cp_train_report_divergence(train, trainer);
    cp_trainer_free(trainer);
    if (train->run->finished) cp_train_clean_up(train);
    return cp_run_close(train->run);
}
