/* Tests of core/io/file, core/io/bytes and core/io/crc32. */
#include "core/io/deflate.h"
#include "core/io/file.h"

#include "tests/support/setup_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static void written_data_are_read_back(void) {
    static unsigned char data[200001];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 31 >> 3);
    for (size_t size = 0; size <= sizeof data; size = size * 3 + 1) {
        TEST_ASSERT_TRUE_MESSAGE(cp_file_write(scratch("a"), data, size, &status), status.message);
        scratch_holds("a", data, size);
    }
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
}

static void a_file_above_the_limit_is_refused_and_a_file_at_the_limit_is_read(void) {
    cp_bytes bytes;
    scratch_write("a", "12345", 5);
    TEST_ASSERT_TRUE(cp_file_read(scratch("a"), 5, &bytes, &status));
    cp_bytes_free(&bytes);
    TEST_ASSERT_FALSE(cp_file_read(scratch("a"), 4, &bytes, &status));
    TEST_ASSERT_NULL(bytes.data);
    says(&status, "larger than the 4 bytes");
}

static void a_device_that_never_ends_is_refused(void) {
    cp_bytes bytes;
    TEST_ASSERT_FALSE(cp_file_read("/dev/zero", SIZE_MAX, &bytes, &status));
    says(&status, "/dev/zero: this is a device");
}

/* The path of a pipe into which a process writes `size` bytes, as a shell gives it for <(command). */
static const char *pipe_fill(int *end, size_t size) {
    static char path[32];
    int         ends[2];
    TEST_ASSERT_EQUAL_INT(0, pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        close(ends[0]);
        FILE *pipe = fdopen(ends[1], "wb");
        while (pipe && size-- > 0) fputc('x', pipe);
        _exit(pipe && fclose(pipe) == 0 ? 0 : 1);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", *end = ends[0]);
    return path;
}

static void a_pipe_of_the_shell_is_read_to_its_end_but_not_beyond_the_limit(void) {
    cp_bytes bytes;
    int      end;
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(pipe_fill(&end, 100000), SIZE_MAX, &bytes, &status), status.message);
    TEST_ASSERT_EQUAL_UINT64(100000, bytes.size);
    cp_bytes_free(&bytes);
    close(end);
    TEST_ASSERT_FALSE(cp_file_read(pipe_fill(&end, 200000), 100000, &bytes, &status));
    says(&status, ": the file is larger than the 100000 bytes");
    close(end);
    while (wait(NULL) > 0) continue;
}

static void a_fifo_without_a_writer_does_not_block(void) {
    cp_bytes bytes;
    TEST_ASSERT_EQUAL_INT(0, mkfifo(scratch("fifo"), 0600));
    TEST_ASSERT_FALSE(cp_file_read(scratch("fifo"), SIZE_MAX, &bytes, &status));
    says(&status, "fifo: this is a pipe; a regular file was expected");
    TEST_ASSERT_FALSE(cp_file_read_inside(scratch_folder, "fifo", SIZE_MAX, &bytes, &status));
    says(&status, "fifo: this is a pipe; a regular file was expected");
}

static void only_regular_files_inside_the_folder_are_read(void) {
    cp_bytes bytes;
    scratch_write("a", "12345", 5);
    TEST_ASSERT_EQUAL_INT(0, symlink("a", scratch("link")));
    TEST_ASSERT_EQUAL_INT(0, symlink("/etc/passwd", scratch("far")));
    TEST_ASSERT_EQUAL_INT(0, symlink("nowhere", scratch("broken")));
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read_inside(scratch_folder, "a", 5, &bytes, &status), status.message);
    TEST_ASSERT_EQUAL_MEMORY("12345", bytes.data, 5);
    cp_bytes_free(&bytes);
    const char *const links[] = {"link", "far", "broken"};
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_FALSE(cp_file_read_inside(scratch_folder, links[i], 1 << 20, &bytes, &status));
        TEST_ASSERT_NULL(bytes.data);
        says(&status, "this is a symbolic link; only files in the folder itself are read");
    }
    const char *const paths[] = {"../a", "/etc/passwd", "./a", "a/"};
    for (int i = 0; i < 4; i++) {
        TEST_ASSERT_FALSE(cp_file_read_inside(scratch_folder, paths[i], 1 << 20, &bytes, &status));
        says(&status, "the name of a file without its folder was expected");
    }
    TEST_ASSERT_FALSE(cp_file_read_inside(scratch_folder, "..", 1 << 20, &bytes, &status));
    says(&status, "Is a directory");
    TEST_ASSERT_FALSE(cp_file_read_inside(scratch_folder, "a", 4, &bytes, &status));
    says(&status, "larger than the 4 bytes");
    TEST_ASSERT_FALSE(cp_file_read_inside(scratch_folder, "none", 4, &bytes, &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    says(&status, "none: cannot open it for reading: No such file");
    TEST_ASSERT_FALSE(cp_file_read_inside(scratch("none"), "a", 4, &bytes, &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    says(&status, "none: cannot open the folder");
}

static void a_copy_has_the_same_bytes_and_a_missing_file_makes_no_copy(void) {
    scratch_write("a", "12345", 5);
    TEST_ASSERT_TRUE_MESSAGE(cp_file_copy(scratch("a"), scratch("b"), &status), status.message);
    scratch_holds("b", "12345", 5);
    TEST_ASSERT_FALSE(cp_file_copy(scratch("none"), scratch("c"), &status));
    says(&status, "none: cannot open it for reading");
    TEST_ASSERT_FALSE(cp_file_copy(scratch("a"), scratch("no/b"), &status));
    says(&status, "check the path and that its folder exists");
    TEST_ASSERT_EQUAL_INT(2, scratch_files(false));
}

static void reading_a_missing_file_or_a_folder_names_it(void) {
    cp_bytes bytes;
    TEST_ASSERT_FALSE(cp_file_read(scratch("missing"), 10, &bytes, &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    says(&status, "missing: cannot open it for reading: No such file");
    TEST_ASSERT_FALSE(cp_file_read(scratch_folder, 10, &bytes, &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_FAILED, status.kind);
    says(&status, "Is a directory; give the path of a file");
}

static void writing_to_a_folder_or_into_a_missing_folder_is_refused(void) {
    TEST_ASSERT_FALSE(cp_file_write(scratch_folder, "x", 1, &status));
    says(&status, "cannot write it: Is a directory");
    TEST_ASSERT_FALSE(cp_file_write(scratch("no/such"), "x", 1, &status));
    says(&status, "check the path and that its folder exists");
    TEST_ASSERT_FALSE(cp_file_write(scratch("new/"), "x", 1, &status));
    says(&status, "a path that ends in the name of a file was expected");
    TEST_ASSERT_FALSE(cp_file_write("", "x", 1, &status));
    says(&status, "a path that ends in the name of a file was expected");
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
}

static void a_full_disk_is_reported(void) {
    if (access("/dev/full", W_OK) != 0) TEST_IGNORE_MESSAGE("no /dev/full here");
    TEST_ASSERT_FALSE(cp_file_write("/dev/full", "x", 1, &status));
    says(&status, "/dev/full: writing failed: No space left on device; free some space");
    struct stat info;
    TEST_ASSERT_TRUE(stat("/dev/full", &info) == 0 && S_ISCHR(info.st_mode));
}

static void a_write_that_fails_midway_leaves_only_the_old_file(void) {
    static const unsigned char large[100000];
    struct rlimit              before, small;
    scratch_write("a", "old", 3);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 50000;
    signal(SIGXFSZ, SIG_IGN);
    TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_FSIZE, &small));
    bool written = cp_file_write(scratch("a"), large, sizeof large, &status);
    setrlimit(RLIMIT_FSIZE, &before);
    TEST_ASSERT_FALSE(written);
    says(&status, "a: writing failed: File too large");
    scratch_holds("a", "old", 3);
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
}

static void a_cancelled_write_leaves_no_trace(void) {
    scratch_write("a", "old", 3);
    cp_file_writer *writer = cp_file_writer_new(scratch("a"), &status);
    cp_file_writer_append(writer, "new", 3);
    TEST_ASSERT_EQUAL_INT(2, scratch_files(false));
    cp_file_writer_cancel(writer);
    scratch_holds("a", "old", 3);
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
}

static void the_old_file_stays_until_the_commit(void) {
    scratch_write("a", "old", 3);
    cp_file_writer *writer = cp_file_writer_new(scratch("a"), &status);
    cp_file_writer_append(writer, "ne", 2);
    cp_file_writer_append(writer, "wer", 3);
    scratch_holds("a", "old", 3);
    TEST_ASSERT_TRUE(cp_file_writer_commit(writer, &status));
    scratch_holds("a", "newer", 5);
}

static void two_writers_of_one_file_do_not_interfere(void) {
    cp_file_writer *first = cp_file_writer_new(scratch("a"), &status);
    cp_file_writer *second = cp_file_writer_new(scratch("a"), &status);
    cp_file_writer_append(first, "first", 5);
    cp_file_writer_append(second, "second", 6);
    TEST_ASSERT_TRUE(cp_file_writer_commit(second, &status));
    scratch_holds("a", "second", 6);
    TEST_ASSERT_TRUE(cp_file_writer_commit(first, &status));
    scratch_holds("a", "first", 5);
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
}

/* A process that has started to write a file and waits to be killed. */
static pid_t writer_start(const char *path) {
    int  ends[2];
    char ready;
    TEST_ASSERT_EQUAL_INT(0, pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        cp_file_writer *writer = cp_file_writer_new(path, NULL);
        cp_file_writer_append(writer, "half", 4);
        if (writer && write(ends[1], "r", 1) == 1) pause();
        _exit(0);
    }
    TEST_ASSERT_EQUAL_INT(1, read(ends[0], &ready, 1));
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void the_next_writer_of_a_file_removes_what_a_killed_writer_left(void) {
    pid_t child = writer_start(scratch("a"));
    TEST_ASSERT_TRUE(cp_file_write(scratch("a"), "new", 3, &status));
    TEST_ASSERT_EQUAL_INT(2, scratch_files(false)); /* it is alive and may still finish its file */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    TEST_ASSERT_TRUE(cp_file_write(scratch("b"), "other", 5, &status));
    TEST_ASSERT_EQUAL_INT(3, scratch_files(false)); /* b must not remove them */
    TEST_ASSERT_TRUE(cp_file_write(scratch("a"), "newer", 5, &status));
    scratch_holds("a", "newer", 5);
    TEST_ASSERT_EQUAL_INT(2, scratch_files(false));
}

/* The name of the one temporary file, up to the number at its end. */
static void temporary_stem(char stem[300]) {
    DIR *folder = opendir(scratch_folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, ".couplet-", 9) == 0) snprintf(stem, 300, "%s", entry->d_name);
    closedir(folder);
    *strrchr(stem, '-') = '\0';
}

static void files_left_under_our_own_process_number_do_not_block_a_writer(void) {
    enum { MANY = 1100 };
    const struct timespec hour_ago[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    char                  stem[300], name[320];
    cp_file_writer       *writer = cp_file_writer_new(scratch("a"), &status);
    temporary_stem(stem);
    for (int i = 1; i < MANY; i++) {
        snprintf(name, sizeof name, "%s-%d.tmp", stem, i);
        scratch_write(name, "left", 4);
    }
    TEST_ASSERT_TRUE_MESSAGE(cp_file_write(scratch("a"), "new", 3, &status), status.message);
    TEST_ASSERT_EQUAL_INT(MANY + 1, scratch_files(false)); /* they may belong to this process */
    for (int i = 1; i < MANY; i++) {
        snprintf(name, sizeof name, "%s-%d.tmp", stem, i);
        TEST_ASSERT_EQUAL_INT(0, utimensat(AT_FDCWD, scratch(name), hour_ago, 0));
    }
    scratch_write(".couplet-mine.tmp", "a user's", 8);
    TEST_ASSERT_TRUE_MESSAGE(cp_file_write(scratch("a"), "newer", 5, &status), status.message);
    TEST_ASSERT_EQUAL_INT(3, scratch_files(false)); /* a, the writer's and the user's */
    TEST_ASSERT_TRUE(cp_file_writer_commit(writer, &status));
}

static void a_folder_without_write_permission_is_reported(void) {
    uid_t user = geteuid();
    scratch_write("a", "old", 3);
    chmod(scratch_folder, 0555);
    if (user == 0) TEST_ASSERT_EQUAL_INT(0, seteuid(65534)); /* the superuser may write anywhere */
    bool written = cp_file_write(scratch("a"), "new", 3, &status);
    TEST_ASSERT_EQUAL_INT(0, seteuid(user));
    TEST_ASSERT_FALSE(written);
    says(&status, "check the permissions of the file and its folder");
    scratch_holds("a", "old", 3);
}

static void a_new_file_gets_the_permissions_of_the_old_one(void) {
    struct stat info;
    scratch_write("a", "old", 3);
    chmod(scratch("a"), 0640);
    TEST_ASSERT_TRUE(cp_file_write(scratch("a"), "new", 3, &status));
    TEST_ASSERT_EQUAL_INT(0, stat(scratch("a"), &info));
    TEST_ASSERT_EQUAL_INT(0640, info.st_mode & 0777);
}

static void a_file_with_the_longest_allowed_name_is_written(void) {
    char name[256];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    TEST_ASSERT_TRUE_MESSAGE(cp_file_write(scratch(name), "x", 1, &status), status.message);
    scratch_holds(name, "x", 1);
}

static void a_path_without_a_folder_is_written_to_the_current_folder(void) {
    char before[4096];
    TEST_ASSERT_NOT_NULL(getcwd(before, sizeof before));
    TEST_ASSERT_EQUAL_INT(0, chdir(scratch_folder));
    bool written = cp_file_write("plain", "x", 1, &status);
    TEST_ASSERT_EQUAL_INT(0, chdir(before));
    TEST_ASSERT_TRUE_MESSAGE(written, status.message);
    scratch_holds("plain", "x", 1);
}

static void a_link_is_replaced_and_its_target_is_unchanged(void) {
    struct stat info;
    scratch_write("target", "old", 3);
    TEST_ASSERT_EQUAL_INT(0, symlink("target", scratch("link")));
    TEST_ASSERT_TRUE(cp_file_write(scratch("link"), "new", 3, &status));
    scratch_holds("target", "old", 3);
    scratch_holds("link", "new", 3);
    TEST_ASSERT_TRUE(lstat(scratch("link"), &info) == 0 && S_ISREG(info.st_mode));
}

static void integers_keep_their_byte_order(void) {
    unsigned char p[8];
    cp_put_le64(p, 0x0102030405060708u);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(((unsigned char[]){8, 7, 6, 5, 4, 3, 2, 1}), p, 8);
    TEST_ASSERT_TRUE(cp_get_le64(p) == 0x0102030405060708u && cp_get_be64(p) == 0x0807060504030201u);
    TEST_ASSERT_TRUE(cp_get_le32(p) == 0x05060708u && cp_get_be32(p) == 0x08070605u);
    TEST_ASSERT_TRUE(cp_get_le16(p) == 0x0708u);
    cp_put_be32(p, 0xFFFEFDFCu);
    TEST_ASSERT_TRUE(cp_get_be32(p) == 0xFFFEFDFCu);
    cp_put_le32(p, 0xFFFEFDFCu), cp_put_le16(p + 4, 0xFFFEu);
    TEST_ASSERT_TRUE(cp_get_le32(p) == 0xFFFEFDFCu && cp_get_le16(p + 4) == 0xFFFEu);
}

static void shapes_that_overflow_are_rejected(void) {
    size_t count;
    TEST_ASSERT_TRUE(cp_shape_count(0, NULL, 4, &count) && count == 1);
    TEST_ASSERT_TRUE(cp_shape_count(3, (int64_t[]){2, 0, 5}, 4, &count) && count == 0);
    TEST_ASSERT_TRUE(cp_shape_count(2, (int64_t[]){3, 5}, 8, &count) && count == 15);
    TEST_ASSERT_FALSE(cp_shape_count(1, (int64_t[]){-1}, 1, &count));
    TEST_ASSERT_FALSE(cp_shape_count(1, (int64_t[]){INT64_MAX}, 2, &count));
    TEST_ASSERT_FALSE(cp_shape_count(2, (int64_t[]){INT64_C(1) << 32, INT64_C(1) << 32}, 1, &count));
    TEST_ASSERT_FALSE(cp_shape_count(3, (int64_t[]){0, INT64_C(1) << 40, INT64_C(1) << 40}, 1, &count));
}

static void the_checksum_is_that_of_zlib(void) {
    const char *text = "The quick brown fox jumps over the lazy dog";
    TEST_ASSERT_EQUAL_HEX32(0x00000000, cp_crc32(0, "", 0));
    TEST_ASSERT_EQUAL_HEX32(0xCBF43926, cp_crc32(0, "123456789", 9));
    TEST_ASSERT_EQUAL_HEX32(0x414FA339, cp_crc32(0, text, strlen(text)));
}

static void the_checksum_does_not_depend_on_where_the_data_are_cut(void) {
    unsigned char data[67];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * i + 3);
    uint32_t whole = cp_crc32(0, data, sizeof data);
    for (size_t cut = 0; cut <= sizeof data; cut++)
        TEST_ASSERT_EQUAL_HEX32(whole, cp_crc32(cp_crc32(0, data, cut), data + cut, sizeof data - cut));
}

static void messages_contain_no_control_characters_whatever_they_quote(void) {
    cp_fail(&status, "%s: key \"%s\"", "na\nme",
            "\x1B]0;title\x07 \xC2\x9B"
            "31m\x7F\xFF \xC3\xA9 \xC2");
    TEST_ASSERT_EQUAL_STRING("na?me: key \"?]0;title? ?31m?? \xC3\xA9 ?\"", status.message);
}

static void text_from_files_is_shown_without_control_characters(void) {
    TEST_ASSERT_EQUAL_STRING("a?b", cp_shown("a\0b", 3).text);
    TEST_ASSERT_EQUAL_STRING("a?[31mb\xC3\xA9?", cp_shown("a\x1B[31mb\xC3\xA9\xFF", 10).text);
    char          longer[300];
    cp_shown_text shown;
    memset(longer, 'x', sizeof longer);
    shown = cp_shown(longer, sizeof longer);
    TEST_ASSERT_EQUAL_UINT64(sizeof shown.text - 1, strlen(shown.text));
    TEST_ASSERT_EQUAL_STRING("xx...", shown.text + strlen(shown.text) - 5);
    TEST_ASSERT_EQUAL_STRING("(5,)", cp_shown_shape(1, (int64_t[]){5}).text);
    TEST_ASSERT_EQUAL_STRING("()", cp_shown_shape(0, NULL).text);
}

/* ---- lines ---- */

static void lines_are_read_one_by_one_and_the_last_needs_no_newline(void) {
    static const struct {
        const char *text, *lines; /* each in brackets, with "!" after one without a newline */
    } cases[] = {{"", ""}, {"\n", "[]"}, {"a", "[a]!"}, {"a\n\nbc\n", "[a][][bc]"}, {"a\nbc", "[a][bc]!"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cp_bytes bytes = {0};
        char     found[40] = "";
        size_t   at = 0;
        cp_bytes_text(&bytes, cases[i].text);
        for (cp_line line; cp_bytes_line(&bytes, &at, &line);)
            snprintf(found + strlen(found), sizeof found - strlen(found), "[%.*s]%s", (int)line.length, line.text,
                     line.whole ? "" : "!");
        TEST_ASSERT_EQUAL_STRING(cases[i].lines, found);
        TEST_ASSERT_TRUE(at == bytes.size);
        cp_bytes_free(&bytes);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(lines_are_read_one_by_one_and_the_last_needs_no_newline);
    RUN_TEST(written_data_are_read_back);
    RUN_TEST(a_file_above_the_limit_is_refused_and_a_file_at_the_limit_is_read);
    RUN_TEST(a_device_that_never_ends_is_refused);
    RUN_TEST(a_pipe_of_the_shell_is_read_to_its_end_but_not_beyond_the_limit);
    RUN_TEST(a_fifo_without_a_writer_does_not_block);
    RUN_TEST(only_regular_files_inside_the_folder_are_read);
    RUN_TEST(a_copy_has_the_same_bytes_and_a_missing_file_makes_no_copy);
    RUN_TEST(reading_a_missing_file_or_a_folder_names_it);
    RUN_TEST(writing_to_a_folder_or_into_a_missing_folder_is_refused);
    RUN_TEST(a_full_disk_is_reported);
    RUN_TEST(a_write_that_fails_midway_leaves_only_the_old_file);
    RUN_TEST(a_cancelled_write_leaves_no_trace);
    RUN_TEST(the_old_file_stays_until_the_commit);
    RUN_TEST(two_writers_of_one_file_do_not_interfere);
    RUN_TEST(the_next_writer_of_a_file_removes_what_a_killed_writer_left);
    RUN_TEST(files_left_under_our_own_process_number_do_not_block_a_writer);
    RUN_TEST(a_folder_without_write_permission_is_reported);
    RUN_TEST(a_new_file_gets_the_permissions_of_the_old_one);
    RUN_TEST(a_file_with_the_longest_allowed_name_is_written);
    RUN_TEST(a_path_without_a_folder_is_written_to_the_current_folder);
    RUN_TEST(a_link_is_replaced_and_its_target_is_unchanged);
    RUN_TEST(integers_keep_their_byte_order);
    RUN_TEST(shapes_that_overflow_are_rejected);
    RUN_TEST(the_checksum_is_that_of_zlib);
    RUN_TEST(the_checksum_does_not_depend_on_where_the_data_are_cut);
    RUN_TEST(messages_contain_no_control_characters_whatever_they_quote);
    RUN_TEST(text_from_files_is_shown_without_control_characters);
    return UNITY_END();
}
