/* couplet fetch: downloads MedMNIST's files by curl or wget, and verifies them. */
#include "experiments/commands.h"
#include "experiments/kit/data/medmnist.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "run", .kind = CP_OPTION_FLAG,
     .help = "download now, by curl or wget, and verify; without it the commands are printed"},
    {.name = "out", .kind = CP_OPTION_TEXT, .fallback = ".", .value = "DIR",
     .help = "folder for the files; created if it does not exist"},
    {0}};
/* clang-format on */

/* ---- printing the commands ---- */

/* As one word of a shell. */
static void print_quoted(const char *text) {
    putchar('\'');
    for (; *text; text++)
        if (*text == '\'')
            printf("'\\''");
        else
            putchar(*text);
    putchar('\'');
}

static void print_download(const cp_medmnist *set, const char *file) {
    printf("curl --fail --location --output ");
    print_quoted(file);
    printf(" '%s'\nprintf '%s  %%s\\n' ", cp_medmnist_where(set).s, set->md5);
    print_quoted(file);
    printf(" | md5sum --check\n");
}

/* ---- the command ---- */

static void list_names(FILE *out) {
    fprintf(out, "The sets are");
    for (int i = 0; i < CP_MEDMNIST_SETS; i++) fprintf(out, "%s %s", i ? "," : "", cp_medmnist_sets[i].name);
    fprintf(out, ".\n");
}

static bool names_fit(const cp_options *o) {
    const char *names[CP_MEDMNIST_SETS], *source = cp_argument(o, 0);
    for (int i = 0; i < CP_MEDMNIST_SETS; i++) names[i] = cp_medmnist_sets[i].name;
    if (strcmp(source, "medmnist") != 0) return cp_complain(o, "files come from medmnist, not from \"%.80s\"", source);
    for (int i = 1; i < cp_argument_count(o); i++) {
        const char *name = cp_argument(o, i);
        if (cp_medmnist_find(name)) continue;
        const char *near = cp_nearest_word(name, names, CP_MEDMNIST_SETS);
        cp_complain(o, "MedMNIST has no set \"%.80s\" of single images with one label%s%s%s", name, near ? "; did you mean " : "",
                    near ? near : "", near ? "?" : "");
        list_names(stderr);
        return false;
    }
    return true;
}

static bool make_folder(const char *folder, cp_status *status) {
    return mkdir(folder, 0777) == 0 || errno == EEXIST ||
           cp_fail(status, "cannot create the folder %.300s: %s", folder, strerror(errno));
}

static int run(const cp_options *o) {
    const char *folder = cp_option_text(o, "out");
    bool        now = cp_option_flag(o, "run"), here = strcmp(folder, ".") == 0;
    cp_status   status = {0};
    int         code = CP_EXIT_OK;
    if (!names_fit(o)) return CP_EXIT_USAGE;
    if (strlen(folder) > CP_MEDMNIST_PATH - 64) cp_fail(&status, "the folder's name is too long");
    if (*status.message || (now && !make_folder(folder, &status))) return cp_complain(o, "%s", status.message), CP_EXIT_FAILED;
    if (cp_argument_count(o) == 1) list_names(stdout);
    for (int i = 1; i < cp_argument_count(o); i++) {
        const cp_medmnist *set = cp_medmnist_find(cp_argument(o, i));
        bool               there;
        char               file[CP_MEDMNIST_PATH];
        snprintf(file, sizeof file, "%s%s%s.npz", here ? "" : folder, here ? "" : "/", set->name);
        status = (cp_status){0};
        if (!now) {
            print_download(set, file);
        } else if (!cp_medmnist_fetch(set, file, &there, &status)) {
            cp_complain(o, "%s", status.message);
            code = CP_EXIT_FAILED;
        } else {
            printf("%s %s\n", file, there ? "exists already and is the official file" : "is the official file");
        }
    }
    return code;
}

const cp_command cp_command_fetch = {
    .name = "fetch",
    .purpose = "print how to download MedMNIST's files, or with --run download them",
    .arguments = "medmnist [NAME...]",
    .details = "NAME is a set of 28 x 28 images, such as pneumoniamnist; without a name, all names are listed. The files come from "
               "MedMNIST's record on Zenodo. With --run each is downloaded under another name and renamed once its md5 is "
               "verified; a correct file that exists already is kept.",
    .example = "medmnist pneumoniamnist --run --out data",
    .options = options,
    .without = "seed|quiet|json",
    .first_words = "medmnist",
    .run = run,
};
