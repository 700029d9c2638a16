/* Reading and atomic writing of whole files with POSIX calls, for exact errors and fsync. */
#include "core/io/file.h"
#include "core/io/deflate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TRANSFER_MAX = 1 << 30, /* bytes in one system call: some systems refuse more than 2^31 */
    PIPE_MAX = 1 << 30,     /* bytes of a pipe, whose size is unknown */
};

static const char *advice(int error) {
    switch (error) {
    case ENOENT: return "; check the path and that its folder exists";
    case EACCES:
    case EPERM: return "; check the permissions of the file and its folder";
    case EROFS: return "; choose a folder on a writable file system";
    case ENOSPC:
    case EDQUOT: return "; free some space or choose another place";
    case EFBIG: return "; it exceeds the limit on file sizes (ulimit -f)";
    case EISDIR: return "; give the path of a file";
    default: return "";
    }
}

static bool fail_errno(cp_status *status, const char *path, const char *what, int error) {
    return cp_fail_as(status, error == ENOENT ? CP_STATUS_MISSING : CP_STATUS_FAILED, "%.300s: %s: %s%s", path, what,
                      strerror(error), advice(error));
}

static int open_again(int folder, const char *path, int flags, mode_t mode) {
    int fd;
    do fd = openat(folder, path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static ssize_t read_again(int fd, void *data, size_t size) {
    ssize_t got;
    do got = read(fd, data, size < TRANSFER_MAX ? size : TRANSFER_MAX);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool fail_too_large(cp_status *status, const char *path, size_t limit) {
    return cp_fail(status, "%.300s: the file is larger than the %zu bytes allowed here; is it the right file?", path, limit);
}

/* The paths that shells use for pipes. */
static bool names_pipe(const char *path) {
    return strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
}

/* Opens without blocking, since a FIFO would wait for a writer. */
static int open_to_read(int folder, const char *name, int flags, const char *path, struct stat *info, cp_status *status) {
    int fd = open_again(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
    if (fd < 0) {
        if (errno == ELOOP && flags & O_NOFOLLOW)
            cp_fail(status, "%.300s: this is a symbolic link; only files in the folder itself are read", path);
        else
            fail_errno(status, path, "cannot open it for reading", errno);
        return -1;
    }
    bool ok = fstat(fd, info) == 0 || fail_errno(status, path, "cannot inspect the file", errno);
    if (ok && S_ISDIR(info->st_mode)) ok = fail_errno(status, path, "cannot read it", EISDIR);
    if (ok && S_ISFIFO(info->st_mode) && names_pipe(path))
        ok = fcntl(fd, F_SETFL, 0) == 0 || fail_errno(status, path, "cannot read the pipe", errno);
    else if (ok && !S_ISREG(info->st_mode))
        ok =
            cp_fail(status, "%.300s: this is a %s; a regular file was expected", path, S_ISFIFO(info->st_mode) ? "pipe" : "device");
    if (ok) return fd;
    close(fd);
    return -1;
}

static bool read_open_file(int fd, const struct stat *info, const char *path, size_t limit, cp_bytes *out, cp_status *status) {
    size_t expected = 0;
    if (S_ISREG(info->st_mode)) {
        if ((uintmax_t)info->st_size > limit) return fail_too_large(status, path, limit);
        expected = (size_t)info->st_size;
    } else if (limit > PIPE_MAX) {
        limit = PIPE_MAX;
    }
    size_t chunk = expected < SIZE_MAX ? expected + 1 : expected; /* one more, to detect the end */
    for (;;) {
        if (!cp_bytes_reserve(out, chunk))
            return cp_fail(status, "%.300s: not enough memory to read %zu bytes", path, out->size + chunk);
        ssize_t got = read_again(fd, out->data + out->size, out->capacity - out->size);
        if (got < 0) return fail_errno(status, path, "reading failed", errno);
        if (got == 0) return true;
        out->size += (size_t)got;
        if (out->size > limit) return fail_too_large(status, path, limit);
        chunk = out->size < out->capacity ? 1 : 1 << 16;
    }
}

static bool read_file(int folder, const char *name, int flags, const char *path, size_t limit, cp_bytes *out, cp_status *status) {
    struct stat info;
    int         fd = open_to_read(folder, name, flags, path, &info, status);
    if (fd < 0) return false;
    bool done = read_open_file(fd, &info, path, limit, out, status);
    close(fd);
    if (!done) cp_bytes_free(out);
    return done;
}

bool cp_file_read(const char *path, size_t limit, cp_bytes *out, cp_status *status) {
    cp_status_begin(status);
    *out = (cp_bytes){0};
    return read_file(AT_FDCWD, path, 0, path, limit, out, status);
}

bool cp_file_read_inside(const char *folder, const char *name, size_t limit, cp_bytes *out, cp_status *status) {
    cp_status_begin(status);
    char path[640];
    snprintf(path, sizeof path, "%.300s/%.300s", folder, name);
    *out = (cp_bytes){0};
    if (strchr(name, '/')) return cp_fail(status, "%.300s: the name of a file without its folder was expected", path);
    int at = open_again(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
    if (at < 0) return fail_errno(status, folder, "cannot open the folder", errno);
    bool done = read_file(at, name, O_NOFOLLOW, path, limit, out, status);
    close(at);
    return done;
}

struct cp_file_writer {
    char     *temporary; /* NULL when writing to a device directly */
    int       fd;
    cp_status error;
    char      path[]; /* followed by room for that of the temporary file */
};

/* The folder part of a path with its final slash, which may be empty: "runs/" of "runs/a.npy". */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Names of temporary files have a fixed length, so that they fit wherever the final name does. The mark is a hash of the final
 * name and the host: process numbers are only valid on one host. */
enum { NAME_SIZE = 64 };

static void temporary_name(char name[NAME_SIZE], uint32_t mark, long process, int number) {
    snprintf(name, NAME_SIZE, ".couplet-%08x-%ld-%d.tmp", (unsigned)mark, process, number);
}

static uint32_t mark_of(const char *final_name) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return cp_crc32(cp_crc32(0, host, sizeof host), final_name, strlen(final_name));
}

/* Whether the process that made a temporary file has ended. A file with our own process number that is a minute older than our
 * first one comes from an earlier process: containers reuse a few numbers. */
static bool is_abandoned(int folder, const char *name, long process) {
    static _Atomic long long first;
    long long                unset = 0;
    struct stat              info;
    atomic_compare_exchange_strong(&first, &unset, (long long)time(NULL));
    if (process != (long)getpid()) return kill((pid_t)process, 0) != 0 && errno == ESRCH;
    return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && (long long)info.st_mtime + 60 < first;
}

/* Removes temporary files of killed processes for the same path. */
static void remove_abandoned(const char *folder, uint32_t mark) {
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        unsigned found;
        long     process;
        int      number;
        char     name[NAME_SIZE];
        if (sscanf(entry->d_name, ".couplet-%8x-%ld-%d.tmp", &found, &process, &number) != 3 || found != mark) continue;
        temporary_name(name, mark, process, number);
        if (strcmp(name, entry->d_name) == 0 && process > 0 && process <= INT_MAX && is_abandoned(dirfd(list), name, process))
            unlinkat(dirfd(list), name, 0);
    }
    if (list) closedir(list);
}

/* O_EXCL finds a free name without a race. */
static bool open_temporary(cp_file_writer *writer, cp_status *status) {
    size_t   folder = folder_length(writer->path);
    uint32_t mark = mark_of(writer->path + folder);
    writer->temporary = writer->path + strlen(writer->path) + 1;
    char *name = writer->temporary + folder;
    memcpy(writer->temporary, writer->path, folder);
    *name = '\0';
    remove_abandoned(folder ? writer->temporary : ".", mark);
    for (int i = 0; i < INT_MAX; i++) {
        temporary_name(name, mark, (long)getpid(), i);
        writer->fd = open_again(AT_FDCWD, writer->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (writer->fd >= 0) return true;
        if (errno != EEXIST) break;
    }
    writer->temporary = NULL;
    return fail_errno(status, writer->path, "cannot create a file in its folder", errno);
}

static bool open_target(cp_file_writer *writer, cp_status *status) {
    struct stat info;
    const char *path = writer->path;
    bool        exists = stat(path, &info) == 0;
    if (path[0] == '\0' || (!exists && path[strlen(path) - 1] == '/'))
        return cp_fail(status, "\"%.300s\": a path that ends in the name of a file was expected", path);
    if (exists && S_ISDIR(info.st_mode)) return fail_errno(status, path, "cannot write it", EISDIR);
    if (exists && !S_ISREG(info.st_mode)) {
        writer->fd = open_again(AT_FDCWD, path, O_WRONLY, 0);
        return writer->fd >= 0 || fail_errno(status, path, "cannot open it for writing", errno);
    }
    if (!open_temporary(writer, status)) return false;
    if (exists && fchmod(writer->fd, info.st_mode & 0777) != 0)
        return fail_errno(status, path, "cannot set the permissions of the new file", errno);
    return true;
}

cp_file_writer *cp_file_writer_new(const char *path, cp_status *status) {
    cp_status_begin(status);
    size_t          size = strlen(path) + 1;
    cp_file_writer *writer = size <= 1 << 20 ? malloc(sizeof *writer + 2 * size + NAME_SIZE) : NULL;
    if (!writer) return cp_null(cp_fail(status, "%.300s: not enough memory to write it", path));
    *writer = (cp_file_writer){.fd = -1};
    memcpy(writer->path, path, size);
    if (open_target(writer, status)) return writer;
    cp_file_writer_cancel(writer);
    return NULL;
}

void cp_file_writer_append(cp_file_writer *writer, const void *data, size_t size) {
    const unsigned char *p = data;
    while (size > 0 && !writer->error.message[0]) {
        ssize_t put = write(writer->fd, p, size < TRANSFER_MAX ? size : TRANSFER_MAX);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            fail_errno(&writer->error, writer->path, "writing failed", put < 0 ? errno : ENOSPC);
            return;
        }
        p += put;
        size -= (size_t)put;
    }
}

void cp_file_writer_cancel(cp_file_writer *writer) {
    if (!writer) return;
    if (writer->fd >= 0) close(writer->fd);
    if (writer->temporary) unlink(writer->temporary);
    free(writer);
}

/* Flushes the folder, so that the rename is durable. Some file systems cannot flush folders (EINVAL), and a writable folder may
 * be unreadable: both errors are ignored. */
static bool flush_folder(char *path, cp_status *status) {
    size_t folder = folder_length(path);
    char   kept = path[folder];
    path[folder] = '\0';
    int fd = open_again(AT_FDCWD, folder ? path : ".", O_RDONLY | O_DIRECTORY, 0);
    path[folder] = kept;
    int error = fd >= 0 && fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    return error == 0 || error == EINVAL || error == ENOTSUP ||
           fail_errno(status, path, "written, but the folder could not be flushed to the disk", error);
}

bool cp_file_writer_commit(cp_file_writer *writer, cp_status *status) {
    const char *path = writer->path;
    bool        done = !writer->error.message[0] || cp_fail(status, "%s", writer->error.message);
    if (done && writer->temporary && fsync(writer->fd) != 0) done = fail_errno(status, path, "flushing to the disk failed", errno);
    int closed = close(writer->fd);
    writer->fd = -1;
    if (done && closed != 0 && errno != EINTR) done = fail_errno(status, path, "writing failed on close", errno);
    if (done && writer->temporary && rename(writer->temporary, path) != 0)
        done = fail_errno(status, path, "cannot rename the new file", errno);
    if (done && writer->temporary) {
        writer->temporary = NULL;
        done = flush_folder(writer->path, status);
    }
    cp_file_writer_cancel(writer);
    return done;
}

bool cp_file_writable(const char *path, cp_status *status) {
    cp_status_begin(status);
    cp_file_writer *writer = cp_file_writer_new(path, status);
    cp_file_writer_cancel(writer);
    return writer;
}

bool cp_file_write(const char *path, const void *data, size_t size, cp_status *status) {
    cp_file_writer *writer = cp_file_writer_new(path, status);
    if (!writer) return false;
    cp_file_writer_append(writer, data, size);
    return cp_file_writer_commit(writer, status);
}

bool cp_file_copy(const char *from, const char *to, cp_status *status) {
    cp_bytes bytes;
    if (!cp_file_read(from, SIZE_MAX, &bytes, status)) return false;
    bool done = cp_file_write(to, bytes.data, bytes.size, status);
    cp_bytes_free(&bytes);
    return done;
}

bool cp_path_ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), last = strlen(ending);
    return length > last && strcmp(path + length - last, ending) == 0;
}
