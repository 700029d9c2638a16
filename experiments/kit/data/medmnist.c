/* MedMNIST's files, as its own package for Python lists them, and their download by curl or wget, which are started without a shell. */
#include "experiments/kit/data/medmnist.h"

#include "core/io/md5.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const blood[] = {"basophil",   "eosinophil", "erythroblast", "immature granulocytes",
                                    "lymphocyte", "monocyte",   "neutrophil",   "platelet"};
static const char *const breast[] = {"malignant", "normal, benign"};
static const char *const derma[] = {"actinic keratoses and intraepithelial carcinoma",
                                    "basal cell carcinoma",
                                    "benign keratosis-like lesions",
                                    "dermatofibroma",
                                    "melanoma",
                                    "melanocytic nevi",
                                    "vascular lesions"};
static const char *const oct[] = {"choroidal neovascularization", "diabetic macular edema", "drusen", "normal"};
static const char *const organs[] = {"bladder", "femur-left", "femur-right", "heart",    "kidney-left", "kidney-right",
                                     "liver",   "lung-left",  "lung-right",  "pancreas", "spleen"};
static const char *const path[] = {"adipose",
                                   "background",
                                   "debris",
                                   "lymphocytes",
                                   "mucus",
                                   "smooth muscle",
                                   "normal colon mucosa",
                                   "cancer-associated stroma",
                                   "colorectal adenocarcinoma epithelium"};
static const char *const pneumonia[] = {"normal", "pneumonia"};
static const char *const retina[] = {"grade 0", "grade 1", "grade 2", "grade 3", "grade 4"};
static const char *const tissue[] = {"collecting duct, connecting tubule",
                                     "distal convoluted tubule",
                                     "glomerular endothelial cells",
                                     "interstitial endothelial cells",
                                     "leukocytes",
                                     "podocytes",
                                     "proximal tubule segments",
                                     "thick ascending limb"};

const cp_medmnist cp_medmnist_sets[] = {
    {"bloodmnist", "7053d0359d879ad8a5505303e11de1dc", NULL, 8, blood},
    {"breastmnist", "750601b1f35ba3300ea97c75c52ff8f6", NULL, 2, breast},
    {"dermamnist", "0744692d530f8e62ec473284d019b0c7", NULL, 7, derma},
    {"octmnist", "c68d92d5b585d8d81f7112f81e2d0842", NULL, 4, oct},
    {"organamnist", "68e3f8846a6bd62f0c9bf841c0d9eacc", "866b832ed4eeba67bfb9edee1d5544e6", 11, organs},
    {"organcmnist", "b9ceb9546e10131b32923c5bbeaea2b1", "0afa5834fb105f7705a7d93372119a21", 11, organs},
    {"organsmnist", "9ab87b696fb54e2a387ebe992d6ed5f1", "e5c39f1af030238290b9557d9503af9d", 11, organs},
    {"pathmnist", "a8b06965200029087d5bd730944a56c1", NULL, 9, path},
    {"pneumoniamnist", "28209eda62fecd6e6a2d98b1501bb15f", NULL, 2, pneumonia},
    {"retinamnist", "bd4c0672f1bba3e3a89f0e4e876791e4", NULL, 5, retina},
    {"tissuemnist", "ebe78ee8b05294063de985d821c1c34b", NULL, 8, tissue},
};

const cp_medmnist *cp_medmnist_find(const char *name) {
    for (int i = 0; i < CP_MEDMNIST_SETS; i++)
        if (strcmp(cp_medmnist_sets[i].name, name) == 0) return &cp_medmnist_sets[i];
    return NULL;
}

const cp_medmnist *cp_medmnist_of_md5(const char *md5, bool *before_2024) {
    for (int i = 0; i < CP_MEDMNIST_SETS; i++) {
        const cp_medmnist *set = &cp_medmnist_sets[i];
        *before_2024 = set->md5_before_2024 && strcmp(set->md5_before_2024, md5) == 0;
        if (*before_2024 || strcmp(set->md5, md5) == 0) return set;
    }
    return NULL;
}

cp_text cp_medmnist_where(const cp_medmnist *set) {
    cp_text url;
    snprintf(url.s, sizeof url.s, "https://zenodo.org/records/10519652/files/%s.npz?download=1", set->name);
    return url;
}

/* ---- downloads ---- */

extern char **environ;

/* Starts a program and waits until it exits: its exit code; -1 when there is no such program, -2 when it could not be started or
 * was ended by a signal. */
static int start(const char *const *words) {
    pid_t child;
    int   ended, error = posix_spawnp(&child, words[0], NULL, NULL, (char *const *)words, environ);
    if (error) return error == ENOENT ? -1 : -2;
    while (waitpid(child, &ended, 0) < 0)
        if (errno != EINTR) return -2;
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -2;
}

static bool download(const char *url, const char *file, cp_status *status) {
    const char *const programs[][7] = {{"curl", "--fail", "--location", "--output", file, url, NULL},
                                       {"wget", "-O", file, url, NULL}};
    for (int i = 0; i < 2; i++) {
        int code = start(programs[i]);
        if (code == 0) return true;
        if (code == -1) continue;
        unlink(file);
        if (code == -2) return cp_fail(status, "%s was interrupted or could not be started", programs[i][0]);
        return cp_fail(status, "%s ended with code %d and did not download %s; check the network connection", programs[i][0], code,
                       url);
    }
    return cp_fail(status, "neither curl nor wget was found; download %s in another way", url);
}

/* A download with another md5 is kept under another name: it may be a message of the server, or a newer version. */
static bool verify(const cp_medmnist *set, const char *part, const char *file, cp_status *status) {
    char md5[33], kept[CP_MEDMNIST_PATH + 32];
    if (!cp_md5_file(part, md5, status)) return false;
    if (strcmp(md5, set->md5) == 0)
        return rename(part, file) == 0 ||
               cp_fail(status, "%.300s cannot be renamed to %s.npz: %s", part, set->name, strerror(errno));
    snprintf(kept, sizeof kept, "%s.unverified", file);
    bool moved = rename(part, kept) == 0;
    return cp_fail(status, "the file downloaded for %s has md5 %s, but the official file has %s; it is kept as %.200s", set->name,
                   md5, set->md5, moved ? kept : part);
}

bool cp_medmnist_fetch(const cp_medmnist *set, const char *file, bool *already, cp_status *status) {
    char        md5[33], part[CP_MEDMNIST_PATH + 32];
    struct stat about;
    *already = stat(file, &about) == 0;
    if (*already) {
        if (!cp_md5_file(file, md5, status)) return false;
        if (strcmp(md5, set->md5) != 0)
            return cp_fail(
                status, "%.200s exists, but is not the official file%s (its md5 is %s, not %s); move it away first", file,
                set->md5_before_2024 && strcmp(md5, set->md5_before_2024) == 0 ? " of today but that from before 2024" : "", md5,
                set->md5);
        return true;
    }
    snprintf(part, sizeof part, "%s.part", file);
    return download(cp_medmnist_where(set).s, part, status) && verify(set, part, file, status);
}
