/* Downloads of MedMNIST's files by curl or wget, which are started without a shell. */
#include "core/io/md5.h"
#include "experiments/kit/data/medmnist.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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
    char md5[33], kept[CP_MEDMNIST_PATH + 32];
    if (!cp_md5_file(part, md5, status)) return false;
    if (strcmp(md5, set->md5) == 0)
        return rename(part, file) == 0 ||
               cp_fail(status, "%.300s cannot be renamed to %s.npz: %s", part, set->name, strerror(errno));
    snprintf(kept, sizeof kept, "%s.unverified", file);
    bool moved = rename(part, kept) == 0;
    return cp_fail(status, "what came for %s has md5 %s, but the official file has %s; it is kept as %.200s", set->name, md5,
                   set->md5, moved ? kept : part);
}

bool cp_medmnist_fetch(const cp_medmnist *set, const char *file, bool *already, cp_status *status) {
    char        md5[33], part[CP_MEDMNIST_PATH + 32];
    struct stat about;
    *already = stat(file, &about) == 0;
    if (*already) {
        if (!cp_md5_file(file, md5, status)) return false;
        if (strcmp(md5, set->md5) != 0)
            return cp_fail(
                status, "%.200s is there, but is not the official file%s (its md5 is %s, not %s); move it away first", file,
                set->md5_before_2024 && strcmp(md5, set->md5_before_2024) == 0 ? " of today but that from before 2024" : "", md5,
                set->md5);
        return true;
    }
    snprintf(part, sizeof part, "%s.part", file);
    return download(cp_medmnist_where(set).s, part, status) && verify(set, part, file, status);
}
