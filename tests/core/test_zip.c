/* Tests of core/io/zip: round trips, ZIP64, and archives with wrong fields. An archive is made by the writer and then changed. */
#include "core/io/deflate.h"
#include "core/io/zip.h"

#include "support/setup_files.h"

static cp_bytes archive;

/* ---- making archives ---- */

static void load(void) {
    cp_bytes_free(&archive);
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(scratch("a.zip"), SIZE_MAX, &archive, &status), status.message);
}

static const char text[] = "to be or not to be, that is the question; to be or not to be";

/* Two entries: "first", which deflates, and "second", which does not. */
static void make(bool wide) {
    cp_zip_writer *w = cp_zip_writer_new(scratch("a.zip"), &status);
    if (wide) cp_zip_writer_wide(w);
    cp_zip_writer_add(w, "first", text, sizeof text);
    cp_zip_writer_add(w, "second", "xyz", 3);
    TEST_ASSERT_TRUE_MESSAGE(cp_zip_writer_commit(w, &status), status.message);
    load();
}

static unsigned char *at(size_t offset) { return archive.data + offset; }

/* The offset of the nth record with this signature. */
static size_t find(uint32_t signature, int n) {
    for (size_t i = 0; i + 4 <= archive.size; i++)
        if (cp_get_le32(archive.data + i) == signature && n-- == 0) return i;
    TEST_FAIL_MESSAGE("no such record");
    return 0;
}

static unsigned char *local(int n, size_t field) { return at(find(CP_ZIP_LOCAL, n) + field); }

static unsigned char *central(int n, size_t field) { return at(find(CP_ZIP_CENTRAL, n) + field); }

static unsigned char *end(size_t field) { return at(find(CP_ZIP_END, 0) + field); }

/* ---- reading them ---- */

/* From memory of exactly the archive's size. NULL: the archive was refused. */
static unsigned char *exact;
static cp_zip        *open_archive(size_t size) {
           exact = malloc(size ? size : 1);
           memcpy(exact, archive.data, size);
           return cp_zip_parse(exact, size, "a.zip", &status);
}

static void close_archive(cp_zip *zip) {
    cp_zip_close(zip);
    free(exact);
}

static void holds(const cp_zip *zip, const char *name, const void *contents, size_t size) {
    cp_bytes            bytes;
    const cp_zip_entry *entry = cp_zip_find(zip, name);
    TEST_ASSERT_NOT_NULL(entry);
    TEST_ASSERT_TRUE_MESSAGE(cp_zip_read(zip, entry, &bytes, &status), status.message);
    TEST_ASSERT_EQUAL_UINT64(size, bytes.size);
    TEST_ASSERT_TRUE(size == 0 || memcmp(bytes.data, contents, size) == 0);
    cp_bytes_free(&bytes);
}

static void equals_the_original(void) {
    cp_zip *zip = open_archive(archive.size);
    TEST_ASSERT_NOT_NULL_MESSAGE(zip, status.message);
    TEST_ASSERT_EQUAL_UINT64(2, cp_zip_count(zip));
    holds(zip, "first", text, sizeof text);
    holds(zip, "second", "xyz", 3);
    TEST_ASSERT_EQUAL_STRING("first", cp_zip_entry_at(zip, 0)->name);
    TEST_ASSERT_NULL(cp_zip_find(zip, "third"));
    close_archive(zip);
}

/* Reads the whole archive, and makes it again for the next test. */
static void refuses_archive(const char *message) {
    TEST_ASSERT_NULL_MESSAGE(open_archive(archive.size), message);
    close_archive(NULL);
    TEST_ASSERT_EQUAL_STRING_LEN("a.zip: ", status.message, 7);
    says(&status, message);
    make(false);
}

static void refuses_entry(const char *name, const char *message) {
    cp_bytes bytes;
    cp_zip  *zip = open_archive(archive.size);
    TEST_ASSERT_NOT_NULL_MESSAGE(zip, status.message);
    TEST_ASSERT_FALSE_MESSAGE(cp_zip_read(zip, cp_zip_find(zip, name), &bytes, &status), message);
    TEST_ASSERT_NULL(bytes.data);
    close_archive(zip);
    TEST_ASSERT_EQUAL_STRING_LEN("a.zip: entry \"", status.message, 14);
    says(&status, message);
    make(false);
}

/* ---- good archives ---- */

static void entries_are_read_back_and_deflated_where_that_is_smaller(void) {
    make(false);
    equals_the_original();
    TEST_ASSERT_EQUAL_UINT16(CP_ZIP_DEFLATED, cp_get_le16(local(0, 8)));
    TEST_ASSERT_EQUAL_UINT16(CP_ZIP_STORED, cp_get_le16(local(1, 8)));
}

static void zip64_archives_are_read_back(void) {
    make(true);
    find(CP_ZIP_END64, 0);
    TEST_ASSERT_EQUAL_HEX32(CP_ZIP_WIDE, cp_get_le32(local(0, 18)));
    TEST_ASSERT_EQUAL_HEX32(CP_ZIP_WIDE, cp_get_le32(central(1, 42)));
    equals_the_original();
}

static void the_same_contents_give_the_same_bytes(void) {
    make(false);
    cp_bytes first = archive;
    archive = (cp_bytes){0};
    make(false);
    TEST_ASSERT_EQUAL_UINT64(first.size, archive.size);
    TEST_ASSERT_EQUAL_MEMORY(first.data, archive.data, first.size);
    cp_bytes_free(&first);
}

static void an_archive_without_entries_is_valid(void) {
    cp_zip_writer *w = cp_zip_writer_new(scratch("a.zip"), &status);
    TEST_ASSERT_TRUE(cp_zip_writer_commit(w, &status));
    load();
    TEST_ASSERT_EQUAL_UINT64(22, archive.size);
    cp_zip *zip = open_archive(archive.size);
    TEST_ASSERT_NOT_NULL_MESSAGE(zip, status.message);
    TEST_ASSERT_EQUAL_UINT64(0, cp_zip_count(zip));
    TEST_ASSERT_NULL(cp_zip_find(zip, ""));
    close_archive(zip);
}

static void contents_may_be_empty_and_names_any_utf8(void) {
    cp_zip_writer *w = cp_zip_writer_new(scratch("a.zip"), &status);
    cp_zip_writer_add(w, "empty", "", 0);
    cp_zip_writer_add(w, "folder/\xc3\xa9", "e", 1);
    TEST_ASSERT_TRUE_MESSAGE(cp_zip_writer_commit(w, &status), status.message);
    cp_zip *zip = cp_zip_open(scratch("a.zip"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(zip, status.message);
    holds(zip, "empty", "", 0);
    holds(zip, "folder/\xc3\xa9", "e", 1);
    TEST_ASSERT_EQUAL_HEX16(CP_ZIP_UTF8, cp_zip_find(zip, "folder/\xc3\xa9")->flags);
    cp_zip_close(zip);
}

static void a_comment_may_follow_even_one_that_looks_like_an_end(void) {
    static const size_t sizes[] = {1, 22, 30, 65535};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make(false);
        cp_put_le16(end(20), (uint16_t)sizes[i]);
        TEST_ASSERT_TRUE(cp_bytes_reserve(&archive, sizes[i]));
        memset(archive.data + archive.size, 'c', sizes[i]);
        if (sizes[i] > 22) memcpy(archive.data + archive.size, "PK\5\6", 4);
        archive.size += sizes[i];
        equals_the_original();
    }
}

static void many_entries_are_found(void) {
    cp_zip_writer *w = cp_zip_writer_new(scratch("a.zip"), &status);
    char           name[16];
    for (int i = 0; i < 500; i++) snprintf(name, sizeof name, "%d", i), cp_zip_writer_add(w, name, name, strlen(name));
    TEST_ASSERT_TRUE_MESSAGE(cp_zip_writer_commit(w, &status), status.message);
    cp_zip *zip = cp_zip_open(scratch("a.zip"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(zip, status.message);
    for (int i = 0; i < 500; i += 7) snprintf(name, sizeof name, "%d", i), holds(zip, name, name, strlen(name));
    cp_zip_close(zip);
}

/* A descriptor after the data has the sizes that are missing in the local header. */
static void sizes_may_follow_the_data(void) {
    make(false);
    *local(0, 6) |= CP_ZIP_DESCRIPTOR;
    *central(0, 8) |= CP_ZIP_DESCRIPTOR;
    memset(local(0, 14), 0, 12);
    equals_the_original();
}

/* ---- bad archives ---- */

static void an_archive_cut_anywhere_is_refused(void) {
    for (int wide = 0; wide < 2; wide++) {
        make(wide);
        for (size_t size = 0; size < archive.size; size++) {
            TEST_ASSERT_NULL(open_archive(size));
            close_archive(NULL);
            says(&status, "a.zip: ");
        }
    }
}

/* Every changed byte is detected, except in unused fields (dates, versions, attributes), and none breaks the reader. */
static void a_byte_changed_anywhere_never_gives_different_contents(void) {
    for (int wide = 0; wide < 2; wide++) {
        make(wide);
        for (size_t i = 0; i < archive.size; i++)
            for (int flip = 0; flip < 9; flip++) {
                unsigned char changed = flip < 8 ? (unsigned char)(1 << flip) : 0xFF;
                archive.data[i] ^= changed;
                cp_zip *zip = open_archive(archive.size);
                TEST_ASSERT_TRUE(!zip == (status.message[0] != '\0'));
                for (size_t k = 0; zip && k < cp_zip_count(zip); k++) {
                    const cp_zip_entry *entry = cp_zip_entry_at(zip, k);
                    cp_bytes            bytes;
                    status = (cp_status){0};
                    bool done = cp_zip_read(zip, entry, &bytes, &status);
                    TEST_ASSERT_TRUE(done == (status.message[0] == '\0'));
                    if (done) {
                        bool first = bytes.size == sizeof text && memcmp(bytes.data, text, sizeof text) == 0;
                        TEST_ASSERT_TRUE(first || (bytes.size == 3 && memcmp(bytes.data, "xyz", 3) == 0));
                    }
                    cp_bytes_free(&bytes);
                }
                close_archive(zip);
                status = (cp_status){0};
                archive.data[i] ^= changed;
            }
    }
}

static void files_other_than_archives_are_refused(void) {
    make(false);
    archive.size = 21;
    refuses_archive("the file has 21 bytes, a zip archive (.npz) at least 22; it is truncated");
    memset(archive.data, ' ', archive.size);
    refuses_archive("this is not a zip archive (.npz), or a truncated one");
    TEST_ASSERT_NULL(cp_zip_open(scratch("missing.zip"), &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
    says(&status, "missing.zip: cannot open it");
    TEST_ASSERT_NULL(cp_zip_open(scratch_folder, &status));
    says(&status, "Is a directory");
}

static void encryption_other_methods_and_parts_are_refused(void) {
    make(false);
    *central(0, 8) |= CP_ZIP_ENCRYPTED;
    refuses_entry("first", "entry \"first\" is encrypted; decrypt the archive first");
    *local(1, 6) |= CP_ZIP_ENCRYPTED;
    refuses_entry("second", "another method or other flags than the directory");
    cp_put_le16(central(1, 10), 14);
    refuses_entry("second", "compressed by method 14; stored (0) and deflated (8) can be read: save it again with numpy.savez");
    cp_put_le16(local(1, 8), 8);
    refuses_entry("second", "another method or other flags than the directory");
    *end(4) = 1;
    refuses_archive("this is one part of an archive in several");
    *end(8) = 1;
    refuses_archive("this is one part of an archive in several");
    *central(1, 34) = 1;
    refuses_archive("this is one part of an archive in several");
}

static void wrong_sizes_are_refused_before_memory_is_allocated(void) {
    make(false);
    cp_put_le32(central(0, 24), 0x7fffffff);
    cp_put_le32(local(0, 22), 0x7fffffff);
    refuses_entry("first", "bytes cannot hold the 2147483647 declared");
    cp_put_le32(central(0, 24), sizeof text + 1);
    refuses_entry("first", "its local header has other sizes or another checksum than the directory");
    cp_put_le32(central(0, 24), sizeof text + 1), cp_put_le32(local(0, 22), sizeof text + 1);
    refuses_entry("first", "its compressed data end before they have the declared sizes");
    cp_put_le32(central(0, 24), sizeof text - 1), cp_put_le32(local(0, 22), sizeof text - 1);
    refuses_entry("first", "it holds more than was declared");
    cp_put_le32(central(1, 24), 4), cp_put_le32(local(1, 22), 4);
    refuses_entry("second", "3 bytes cannot hold the 4 declared");
    cp_put_le32(central(1, 20), 0x10000000);
    refuses_archive("it does not fit in front of the directory");
    cp_put_le32(central(1, 16), 0), cp_put_le32(local(1, 14), 0);
    refuses_entry("second", "its contents do not have the declared checksum");
    cp_put_le32(central(1, 24), CP_ZIP_WIDE);
    refuses_archive("sizes beyond 32 bits were declared and are missing");
    cp_put_le16(end(8), 9), cp_put_le16(end(10), 9);
    refuses_archive("9 entries were declared, the directory of");
    cp_put_le16(end(8), 1), cp_put_le16(end(10), 1);
    refuses_archive("bytes follow the last entry of the directory");
    cp_put_le32(end(12), 50);
    refuses_archive("a directory of 50 bytes at byte");
}

static void wrong_offsets_are_refused(void) {
    make(false);
    cp_put_le32(central(1, 42), 0);
    refuses_archive("overlaps it");
    cp_put_le32(central(1, 42), cp_get_le32(central(1, 42)) - 1);
    refuses_archive("entry \"first\" at byte 0: the next entry overlaps it");
    cp_put_le32(central(1, 42), 0x7fffffff);
    refuses_archive("it does not fit in front of the directory");
    cp_put_le32(central(0, 42), 1);
    refuses_archive("overlaps it");
    cp_put_le32(end(16), 0);
    refuses_archive("the file is damaged or has other bytes before the archive");
}

static void local_headers_that_disagree_are_refused(void) {
    make(false);
    *local(0, 30) = 'F';
    refuses_entry("first", "its local header has another name than the directory");
    cp_put_le16(local(0, 28), 10);
    refuses_entry("first", "its data reach into what follows");
    cp_put_le16(local(0, 26), 65535);
    refuses_entry("first", "its data reach into what follows");
    size_t place = find(CP_ZIP_LOCAL, 1);
    archive.data[place] = 0;
    refuses_entry("second", "there is no local header");
}

static void duplicate_names_and_names_with_a_nul_are_refused(void) {
    cp_zip_writer *w = cp_zip_writer_new(scratch("a.zip"), &status);
    cp_zip_writer_add(w, "one", "1", 1);
    cp_zip_writer_add(w, "two", "2", 1);
    TEST_ASSERT_TRUE(cp_zip_writer_commit(w, &status));
    load();
    memcpy(central(1, CP_ZIP_CENTRAL_SIZE), "one", 3);
    refuses_archive("another entry has the same name");
    *central(0, CP_ZIP_CENTRAL_SIZE + 2) = '\0';
    refuses_archive("its name contains a NUL");
}

static void zip64_records_that_disagree_are_refused(void) {
    make(true);
    cp_put_le32(end(16), 5);
    refuses_archive("the end record and that of ZIP64 disagree");
    make(true);
    cp_put_le64(at(find(CP_ZIP_LOCATOR64, 0) + 8), UINT64_MAX);
    refuses_archive("the ZIP64 end record should be at byte 18446744073709551615, behind its locator");
    make(true);
    cp_put_le64(at(find(CP_ZIP_LOCATOR64, 0) + 8), 0);
    refuses_archive("there is no ZIP64 end record of the right size");
    make(true);
    cp_put_le32(at(find(CP_ZIP_LOCATOR64, 0) + 16), 2);
    refuses_archive("this is one part of an archive in several");
    make(true);
    cp_put_le64(at(find(CP_ZIP_END64, 0) + 32), UINT64_MAX), cp_put_le64(at(find(CP_ZIP_END64, 0) + 24), UINT64_MAX);
    refuses_archive("18446744073709551615 entries were declared");
    make(true);
    cp_put_le64(at(find(CP_ZIP_END64, 0) + 40), UINT64_MAX);
    refuses_archive("a directory of 18446744073709551615 bytes");
    make(true);
    cp_put_le64(central(0, CP_ZIP_CENTRAL_SIZE + 5 + 4 + 8), UINT64_MAX); /* the packed size */
    refuses_archive("it does not fit in front of the directory");
    make(true);
    cp_put_le64(central(0, CP_ZIP_CENTRAL_SIZE + 5 + 4 + 16), UINT64_MAX); /* the offset */
    refuses_archive("it does not fit in front of the directory");
    make(true);
    cp_put_le64(central(0, CP_ZIP_CENTRAL_SIZE + 5 + 4), UINT64_MAX); /* the size */
    refuses_entry("first", "bytes cannot hold the 18446744073709551615 declared");
}

/* Megabytes of zeros: as much as deflate can compress, which is valid, and one byte more. */
static void a_zip_bomb_yields_no_more_than_it_declares(void) {
    enum { SIZE = 1 << 22 };
    unsigned char *zeros = calloc(SIZE, 1);
    cp_zip_writer *w = cp_zip_writer_new(scratch("a.zip"), &status);
    cp_zip_writer_add(w, "zeros", zeros, SIZE);
    TEST_ASSERT_TRUE(cp_zip_writer_commit(w, &status));
    load();
    cp_zip *zip = open_archive(archive.size);
    holds(zip, "zeros", zeros, SIZE);
    close_archive(zip);
    cp_put_le32(central(0, 24), 100), cp_put_le32(local(0, 22), 100);
    refuses_entry("zeros", "it holds more than was declared");
    free(zeros);
}

/* ---- the writer ---- */

static bool writes(const char *first, const char *second, const char *path) {
    cp_zip_writer *w = cp_zip_writer_new(path, &status);
    cp_zip_writer_add(w, first, "1", 1);
    cp_zip_writer_add(w, second, "2", 1);
    return cp_zip_writer_commit(w, &status);
}

static void values_that_cannot_be_written_are_refused_by_the_commit(void) {
    static char long_name[60002];
    memset(long_name, 'n', sizeof long_name - 1);
    TEST_ASSERT_FALSE(writes("a", "a", scratch("a.zip")));
    says(&status, "a.zip: entry \"a\": the name appears twice");
    TEST_ASSERT_FALSE(writes("", "a", scratch("a.zip")));
    says(&status, "entry \"\": a name of 1 to 60000 bytes of UTF-8 was expected");
    TEST_ASSERT_FALSE(writes("a", long_name, scratch("a.zip")));
    says(&status, "a name of 1 to 60000 bytes");
    TEST_ASSERT_FALSE(writes("a", "\xff", scratch("a.zip")));
    says(&status, "a name of 1 to 60000 bytes of UTF-8");
    TEST_ASSERT_FALSE(writes("a", "b", scratch("no/a.zip")));
    says(&status, "check the path");
    if (access("/dev/full", W_OK) == 0) {
        TEST_ASSERT_FALSE(writes("a", "b", "/dev/full"));
        says(&status, "No space left");
    }
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
    cp_zip_writer_cancel(cp_zip_writer_new(scratch("a.zip"), &status));
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(entries_are_read_back_and_deflated_where_that_is_smaller);
    RUN_TEST(zip64_archives_are_read_back);
    RUN_TEST(the_same_contents_give_the_same_bytes);
    RUN_TEST(an_archive_without_entries_is_valid);
    RUN_TEST(contents_may_be_empty_and_names_any_utf8);
    RUN_TEST(a_comment_may_follow_even_one_that_looks_like_an_end);
    RUN_TEST(many_entries_are_found);
    RUN_TEST(sizes_may_follow_the_data);
    RUN_TEST(an_archive_cut_anywhere_is_refused);
    RUN_TEST(a_byte_changed_anywhere_never_gives_different_contents);
    RUN_TEST(files_other_than_archives_are_refused);
    RUN_TEST(encryption_other_methods_and_parts_are_refused);
    RUN_TEST(wrong_sizes_are_refused_before_memory_is_allocated);
    RUN_TEST(wrong_offsets_are_refused);
    RUN_TEST(local_headers_that_disagree_are_refused);
    RUN_TEST(duplicate_names_and_names_with_a_nul_are_refused);
    RUN_TEST(zip64_records_that_disagree_are_refused);
    RUN_TEST(a_zip_bomb_yields_no_more_than_it_declares);
    RUN_TEST(values_that_cannot_be_written_are_refused_by_the_commit);
    cp_bytes_free(&archive);
    return UNITY_END();
}
