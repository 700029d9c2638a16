/* For tests of files: a temporary folder for the test, and checks of messages. */
#ifndef CP_TESTS_SCRATCH_H
#define CP_TESTS_SCRATCH_H

#include "core/error.h"
#include "core/io/file.h"

#include "unity.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_folder[256];

static inline void scratch_make(void) {
    const char *base = getenv("TMPDIR");
    snprintf(scratch_folder, sizeof scratch_folder, "%.200s/couplet-test-XXXXXX", base && *base ? base : "/tmp");
    TEST_ASSERT_NOT_NULL(mkdtemp(scratch_folder));
}

/* The path of a file in the folder; valid until the fourth call after this one. */
static inline const char *scratch(const char *name) {
    static char paths[4][544];
    static int  turn;
    char       *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%.255s", scratch_folder, name);
    return path;
}

/* Counts the files in the folder, including hidden ones; can remove them. */
static inline int scratch_files(bool removed) {
    int  count = 0;
    DIR *folder = opendir(scratch_folder);
    TEST_ASSERT_NOT_NULL(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        count++;
        if (removed && remove(scratch(entry->d_name)) != 0) perror(entry->d_name);
    }
    closedir(folder);
    return count;
}

static inline void scratch_remove(void) {
    chmod(scratch_folder, 0700);
    scratch_files(true);
    rmdir(scratch_folder);
}

static inline void scratch_write(const char *name, const void *data, size_t size) {
    FILE *file = fopen(scratch(name), "wb");
    TEST_ASSERT_NOT_NULL(file);
    TEST_ASSERT_TRUE(size == 0 || fwrite(data, size, 1, file) == 1);
    TEST_ASSERT_EQUAL_INT(0, fclose(file));
}

static inline void scratch_holds(const char *name, const void *data, size_t size) {
    cp_status status = {0};
    cp_bytes  bytes;
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(scratch(name), SIZE_MAX, &bytes, &status), status.message);
    TEST_ASSERT_EQUAL_UINT64(size, bytes.size);
    TEST_ASSERT_TRUE(size == 0 || memcmp(bytes.data, data, size) == 0);
    cp_bytes_free(&bytes);
}

/* Checks that a message contains a text, and clears the status. */
static inline void says(cp_status *status, const char *part) {
    if (!strstr(status->message, part)) {
        char text[700];
        snprintf(text, sizeof text, "expected \"%s\" in: %s", part, status->message);
        TEST_FAIL_MESSAGE(text);
    }
    *status = (cp_status){0};
}

#endif
