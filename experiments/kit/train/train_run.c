/* A whole training, or one for each lambda, and the files that it leaves. */
#include "core/io/file.h"
#include "experiments/kit/train/train.h"
#include "experiments/kit/train/trainer_parts.h"

#include <math.h>
#include <unistd.h>

const double cp_train_lambdas[CP_TRAIN_LAMBDAS] = {0.1, 1, 10};

static void remove_file(const char *folder, const char *name) { unlink(cp_folder_path(folder, name).s); }

void cp_trainer_clean_up(const char *folder, bool diverged) {
    remove_file(folder, CP_TRAINER_CHECKPOINT);
    remove_file(folder, CP_TRAINER_GOOD);
    if (!diverged) return;
    static const char *const weights[] = {CP_TRAINER_SELECTED, CP_TRAINER_END, CP_TRAINER_CHAINS, CP_TRAINER_PRETRAINED};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) remove_file(folder, weights[i]);
}

static cp_file_path lambda_folder(const cp_run *run, double lambda) {
    char name[40];
    snprintf(name, sizeof name, "lambda-%g", lambda);
    return cp_run_path(run, name);
}

static void clean_up_all(const cp_run *run, bool diverged) {
    cp_trainer_clean_up(run->folder, diverged);
    for (int i = 0; i < CP_TRAIN_LAMBDAS; i++) cp_trainer_clean_up(lambda_folder(run, cp_train_lambdas[i]).s, diverged);
}

/* NULL when it was stopped. */
static cp_trainer *train_once(cp_run *run, const cp_images *images, const cp_trainer_config *config) {
    cp_trainer *trainer = cp_trainer_new(config, images, run);
    if (trainer && cp_trainer_run(trainer) != CP_TRAINER_STOPPED) return trainer;
    cp_trainer_free(trainer);
    return NULL;
}

static bool fetch_file(const cp_trainer *t, const char *name) {
    return cp_file_copy(cp_trainer_file(t, name).s, cp_run_path(t->run, name).s, &t->run->status);
}

/* The trainer whose selected weights have the minimum scaled validation NLL; its files are copied to the run's folder. */
static cp_trainer *train_each_lambda(cp_run *run, const cp_images *images, cp_trainer_config config, double *nll) {
    cp_trainer *best = NULL;
    double      min = INFINITY;
    for (int i = 0; i < CP_TRAIN_LAMBDAS; i++) {
        cp_file_path folder = lambda_folder(run, cp_train_lambdas[i]);
        config.folder = folder.s;
        config.objective.lambda = cp_train_lambdas[i];
        cp_trainer *trainer = cp_folder_make(folder.s, &run->status) ? train_once(run, images, &config) : NULL;
        if (!trainer) {
            cp_trainer_free(best);
            return NULL;
        }
        nll[i] = INFINITY;
        if (trainer->end == CP_TRAINER_DONE)
            nll[i] = trainer->selected_nll;
        else
            cp_trainer_clean_up(folder.s, true);
        bool better = !best || nll[i] < min;
        cp_trainer_free(better ? best : trainer);
        if (better) best = trainer, min = nll[i];
    }
    best->tried = nll;
    bool ok = best->end != CP_TRAINER_DONE || (fetch_file(best, CP_TRAINER_SELECTED) && fetch_file(best, CP_TRAINER_END) &&
                                               (!best->replay || fetch_file(best, CP_TRAINER_CHAINS)) &&
                                               (!best->config.pretrain || fetch_file(best, CP_TRAINER_PRETRAINED)));
    if (ok) return best;
    cp_trainer_free(best);
    return NULL;
}

int cp_train(const cp_options *options, const cp_images *images, const cp_trainer_config *config) {
    double  nll[CP_TRAIN_LAMBDAS];
    cp_run *run = cp_run_open(options);
    if (!run) return CP_EXIT_FAILED;
    if (run->state == CP_RUN_FINISHED) {
        clean_up_all(run, false);
        return cp_run_show_unchanged(run, (cp_run_source[]){{"the data", "data/md5", images->md5}, {0}});
    }
    cp_trainer *trainer = config->each_lambda ? train_each_lambda(run, images, *config, nll) : train_once(run, images, config);
    if (trainer) cp_trainer_conclude(trainer);
    if (run->finished) clean_up_all(run, trainer->end == CP_TRAINER_DIVERGED);
    cp_trainer_free(trainer);
    return cp_run_close(run);
}
