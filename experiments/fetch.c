/* couplet fetch: MedMNIST's files, by curl or wget, and whether what came is what MedMNIST published. */
#include "core/io/md5.h"
#include "experiments/commands.h"
#include "experiments/kit/medmnist.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PATH_MOST = 1024 };

static const cp_option options[] = {{.name = "run",
                                     .kind = CP_OPTION_FLAG,
                                     .help = "download now, by curl or wget, and verify; without it the commands are printed"},
                                    {.name = "out",
                                     .kind = CP_OPTION_TEXT,
                                     .fallback = ".",
                                     .value = "DIR",
                                     .help = "folder for the files; made if it is not there"},
                                    {0}};

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

/* ---- downloading ---- */

/* Starts a program and waits for its end: its exit code; -1 when there is no such program, -2 when it could not be started or
 * was ended by a signal. */
static int start(const char *const *words) {
    pid_t child;
    int   ended, trouble = posix_spawnp(&child, words[0], NULL, NULL, (char *const *)words, environ);
    if (trouble) return trouble == ENOENT ? -1 : -2;
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
        return cp_fail(status, "%s ended with code %d and has not brought %s; is there a connection?", programs[i][0], code, url);
    }
    return cp_fail(status, "neither curl nor wget was found; get %s in another way", url);
}

/* A file that came with another md5 is kept under another name: it may be a message of the server, or a newer version. */
static bool verify(const cp_medmnist *set, const char *part, const char *file, cp_status *status) {
    char md5[33], kept[PATH_MOST + 32];
    if (!cp_md5_file(part, md5, status)) return false;
    if (strcmp(md5, set->md5) == 0)
        return rename(part, file) == 0 ||
               cp_fail(status, "%.300s cannot be renamed to %s.npz: %s", part, set->name, strerror(errno));
    snprintf(kept, sizeof kept, "%s.unverified", file);
    bool moved = rename(part, kept) == 0;
    return cp_fail(status, "what came for %s has md5 %s, but the official file has %s; it is kept as %.200s", set->name, md5,
                   set->md5, moved ? kept : part);
}

static bool fetch(const cp_medmnist *set, const char *file, cp_status *status) {
    char        md5[33], part[PATH_MOST + 32];
    struct stat there;
    if (stat(file, &there) == 0) {
        if (!cp_md5_file(file, md5, status)) return false;
        if (strcmp(md5, set->md5) != 0)
            return cp_fail(
                status, "%.200s is there, but is not the official file%s (its md5 is %s, not %s); move it away first", file,
                set->md5_before_2024 && strcmp(md5, set->md5_before_2024) == 0 ? " of today but that from before 2024" : "", md5,
                set->md5);
        printf("%s is there already, and is the official file\n", file);
        return true;
    }
    snprintf(part, sizeof part, "%s.part", file);
    if (!download(cp_medmnist_where(set).s, part, status) || !verify(set, part, file, status)) return false;
    printf("%s is the official file\n", file);
    return true;
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
    if (strcmp(source, "medmnist") != 0) {
        cp_complain(o, "files come from medmnist, not from \"%.80s\"", source);
        return false;
    }
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
           cp_fail(status, "the folder %.300s cannot be made: %s", folder, strerror(errno));
}

static int run(const cp_options *o) {
    const char *folder = cp_option_text(o, "out");
    bool        now = cp_option_flag(o, "run"), here = strcmp(folder, ".") == 0;
    cp_status   status = {0};
    int         code = CP_EXIT_FINE;
    if (!names_fit(o)) return CP_EXIT_USAGE;
    if (strlen(folder) > PATH_MOST - 64) cp_fail(&status, "the folder's name is too long");
    if (*status.message || (now && !make_folder(folder, &status))) return cp_complain(o, "%s", status.message), CP_EXIT_FAILED;
    if (cp_argument_count(o) == 1) list_names(stdout);
    for (int i = 1; i < cp_argument_count(o); i++) {
        const cp_medmnist *set = cp_medmnist_find(cp_argument(o, i));
        char               file[PATH_MOST];
        snprintf(file, sizeof file, "%s%s%s.npz", here ? "" : folder, here ? "" : "/", set->name);
        status = (cp_status){0};
        if (!now) {
            print_download(set, file);
        } else if (!fetch(set, file, &status)) {
            cp_complain(o, "%s", status.message);
            code = CP_EXIT_FAILED;
        }
    }
    return code;
}

const cp_command cp_command_fetch = {
    .name = "fetch",
    .purpose = "MedMNIST's files: how to download them, or with --run the download",
    .arguments = "medmnist NAME...",
    .details =
        "NAME is that of a set of 28 x 28 images, such as pneumoniamnist; without one the names are listed. The files come from "
        "MedMNIST's record on Zenodo. With --run each is downloaded under another name and gets its own once its md5 is right; a "
        "file that is there already and right is left as it is.",
    .example = "medmnist pneumoniamnist --run --out data",
    .options = options,
    .without = "seed|quiet|json",
    .first_words = "medmnist",
    .least_arguments = 1,
    .most_arguments = 1 + CP_MEDMNIST_SETS,
    .run = run,
};
