/* Reading and atomic writing of whole files with POSIX calls, for their exact errors and fsync. */
#include "core/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRANSFER_MAX = 1 << 30 }; /* bytes in one system call: some systems refuse more than 2^31 */

static const char *advice(int error) {
    switch (error) {
    case ENOENT: return "; check the path and that its folder exists";
    case EACCES:
    case EPERM: return "; check the permissions of the file and its folder";
    case EROFS: return "; choose a folder on a writable file system";
    case ENOSPC:
    case EDQUOT: return "; free some space or choose another place";
    case EFBIG: return "; the system's limit on file sizes (ulimit -f) is in the way";
    case EISDIR: return "; give the path of a file";
    default: return "";
    }
}

static bool fail_errno(cp_status *status, const char *path, const char *what, int error) {
    return cp_fail(status, "%.300s: %s: %s%s", path, what, strerror(error), advice(error));
}

static int open_again(const char *path, int flags, mode_t mode) {
    int fd;
    do fd = open(path, flags | O_CLOEXEC, mode);
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

static bool read_open_file(int fd, const char *path, size_t limit, cp_bytes *out, cp_status *status) {
    struct stat info;
    if (fstat(fd, &info) != 0) return fail_errno(status, path, "cannot inspect the file", errno);
    if (S_ISDIR(info.st_mode)) return fail_errno(status, path, "cannot read it", EISDIR);
    size_t expected = 0;
    if (S_ISREG(info.st_mode)) {
        if ((uintmax_t)info.st_size > limit) return fail_too_large(status, path, limit);
        expected = (size_t)info.st_size;
    }
    size_t chunk = expected < SIZE_MAX ? expected + 1 : expected; /* one more, so that the last read finds the end */
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

bool cp_file_read(const char *path, size_t limit, cp_bytes *out, cp_status *status) {
    *out = (cp_bytes){0};
    int fd = open_again(path, O_RDONLY, 0);
    if (fd < 0) return fail_errno(status, path, "cannot open it for reading", errno);
    bool done = read_open_file(fd, path, limit, out, status);
    close(fd);
    if (!done) cp_bytes_free(out);
    return done;
}

struct cp_file_writer {
    char     *path;
    char     *temporary; /* NULL when writing to a device directly */
    int       fd;
    cp_status error;
};

/* The folder part of a path with its final slash, which may be empty: "runs/" of "runs/a.npy". */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* O_EXCL finds a free name without a race; a name of fixed length fits wherever the final one does. */
static bool open_temporary(cp_file_writer *writer, cp_status *status) {
    size_t folder = folder_length(writer->path);
    size_t size = folder + 64;
    writer->temporary = malloc(size);
    if (!writer->temporary) return cp_fail(status, "%.300s: not enough memory to write it", writer->path);
    for (int i = 0; i < 1000; i++) {
        snprintf(writer->temporary, size, "%.*s.couplet-%ld-%d.tmp", (int)folder, writer->path, (long)getpid(), i);
        writer->fd = open_again(writer->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (writer->fd >= 0) return true;
        if (errno != EEXIST) break;
    }
    int error = errno;
    free(writer->temporary);
    writer->temporary = NULL;
    return fail_errno(status, writer->path, "cannot make a file in its folder", error);
}

static bool open_target(cp_file_writer *writer, cp_status *status) {
    struct stat info;
    const char *path = writer->path;
    bool        exists = stat(path, &info) == 0;
    if (path[0] == '\0' || (!exists && path[strlen(path) - 1] == '/'))
        return cp_fail(status, "\"%.300s\": a path that ends in the name of a file was expected", path);
    if (exists && S_ISDIR(info.st_mode)) return fail_errno(status, path, "cannot write it", EISDIR);
    if (exists && !S_ISREG(info.st_mode)) {
        writer->fd = open_again(path, O_WRONLY, 0);
        return writer->fd >= 0 || fail_errno(status, path, "cannot open it for writing", errno);
    }
    if (!open_temporary(writer, status)) return false;
    if (exists && fchmod(writer->fd, info.st_mode & 0777) != 0)
        return fail_errno(status, path, "cannot set the permissions of the new file", errno);
    return true;
}

cp_file_writer *cp_file_writer_new(const char *path, cp_status *status) {
    cp_file_writer *writer = calloc(1, sizeof *writer);
    size_t          length = strlen(path);
    if (writer) writer->path = malloc(length + 1);
    if (!writer || !writer->path || length > 1 << 20) {
        cp_fail(status, "%.300s: not enough memory to write it", path);
        if (writer) free(writer->path);
        free(writer);
        return NULL;
    }
    memcpy(writer->path, path, length + 1);
    writer->fd = -1;
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
    free(writer->temporary);
    free(writer->path);
    free(writer);
}

/* Makes the new name itself durable. A file system that cannot flush folders says EINVAL; a folder may be writable
 * and yet not readable: neither is the caller's trouble. */
static bool flush_folder(char *path, cp_status *status) {
    size_t folder = folder_length(path);
    char   kept = path[folder];
    path[folder] = '\0';
    int fd = open_again(folder ? path : ".", O_RDONLY | O_DIRECTORY, 0);
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
        done = fail_errno(status, path, "cannot give the new file its name", errno);
    if (done && writer->temporary) {
        free(writer->temporary);
        writer->temporary = NULL;
        done = flush_folder(writer->path, status);
    }
    cp_file_writer_cancel(writer);
    return done;
}

bool cp_file_write(const char *path, const void *data, size_t size, cp_status *status) {
    cp_file_writer *writer = cp_file_writer_new(path, status);
    if (!writer) return false;
    cp_file_writer_append(writer, data, size);
    return cp_file_writer_commit(writer, status);
}
