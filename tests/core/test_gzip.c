/* Tests of core/io/gzip: files of several members, headers with all fields, and damaged files. */
#include "core/io/deflate.h"

#include "support/gzipped.h"
#include "support/setup_files.h"

static const char text[] = "to be or not to be, that is the question; to be or not to be";
static cp_bytes   file, out;

static void make(void) {
    cp_bytes_free(&file);
    TEST_ASSERT_TRUE(gzip_append(&file, text, sizeof text));
}

/* Reads the first `size` bytes of the file, from memory of exactly that size. */
static bool unzip(size_t size, size_t limit) {
    unsigned char *exact = malloc(size ? size : 1);
    if (size > 0) memcpy(exact, file.data, size);
    cp_bytes_free(&out);
    bool done = cp_gunzip(exact, size, limit, &out, "a.gz", &status);
    free(exact);
    TEST_ASSERT_TRUE(done == !status.message[0]);
    return done;
}

static void gives(const void *contents, size_t size) {
    TEST_ASSERT_TRUE_MESSAGE(unzip(file.size, size), status.message);
    TEST_ASSERT_EQUAL_UINT64(size, out.size);
    TEST_ASSERT_TRUE(size == 0 || memcmp(out.data, contents, size) == 0);
}

/* Then the file is made again. */
static void refuses(const char *message) {
    TEST_ASSERT_FALSE_MESSAGE(unzip(file.size, 1000), message);
    TEST_ASSERT_EQUAL_INT(CP_STATUS_DAMAGED, status.kind);
    TEST_ASSERT_EQUAL_STRING_LEN("a.gz: gzip member ", status.message, 18);
    says(&status, message);
    make();
}

static void append(const void *data, size_t size) { TEST_ASSERT_TRUE(cp_bytes_append(&file, data, size)); }

/* ---- good files ---- */

static void one_member_gives_its_contents(void) {
    make();
    gives(text, sizeof text);
    TEST_ASSERT_TRUE(cp_gzip_begins(file.data, file.size));
    TEST_ASSERT_FALSE(cp_gzip_begins(file.data, 1));
    TEST_ASSERT_FALSE(cp_gzip_begins(text, sizeof text));
    TEST_ASSERT_FALSE(cp_gzip_begins(NULL, 0));
}

static void members_are_concatenated_and_may_be_empty(void) {
    make();
    TEST_ASSERT_TRUE(gzip_append(&file, "", 0));
    TEST_ASSERT_TRUE(gzip_append(&file, "end", 3));
    char both[sizeof text + 3];
    memcpy(both, text, sizeof text), memcpy(both + sizeof text, "end", 3);
    gives(both, sizeof both);
}

static void an_empty_gzip_file_has_no_contents(void) {
    cp_bytes_free(&file);
    TEST_ASSERT_TRUE(gzip_append(&file, "", 0));
    gives("", 0);
}

static void existing_contents_of_the_buffer_stay_and_do_not_count(void) {
    make();
    cp_bytes_free(&out);
    TEST_ASSERT_TRUE(cp_bytes_append(&out, "before", 6));
    TEST_ASSERT_TRUE_MESSAGE(cp_gunzip(file.data, file.size, sizeof text, &out, "a.gz", &status), status.message);
    TEST_ASSERT_EQUAL_UINT64(6 + sizeof text, out.size);
    TEST_ASSERT_EQUAL_MEMORY("before", out.data, 6);
    TEST_ASSERT_EQUAL_MEMORY(text, out.data + 6, sizeof text);
}

static void zeros_may_follow(void) {
    for (size_t count = 1; count < 600; count += 13) {
        make();
        append((char[600]){0}, count);
        gives(text, sizeof text);
    }
}

/* A header with the fields of these flags, before the stream and trailer of the text. */
static void make_with_flags(int flags) {
    cp_bytes plain = {0};
    TEST_ASSERT_TRUE(gzip_append(&plain, text, sizeof text));
    cp_bytes_free(&file);
    append(((unsigned char[]){0x1f, 0x8b, 8, (unsigned char)flags, 1, 2, 3, 4, 0, 3}), 10);
    if (flags & 4) append("\5\0extra", 7);
    if (flags & 8) append("name.nii", 9);
    if (flags & 16) append("", 1);
    if (flags & 2) {
        unsigned char crc[2];
        cp_put_le16(crc, (uint16_t)cp_crc32(0, file.data, file.size));
        append(crc, 2);
    }
    append(plain.data + 10, plain.size - 10);
    cp_bytes_free(&plain);
}

static void all_fields_of_a_header_are_skipped(void) {
    for (int flags = 0; flags < 32; flags++) {
        make_with_flags(flags); /* 1 means: probably text */
        gives(text, sizeof text);
    }
}

static void the_beginning_can_be_read_alone(void) {
    enum { SIZE = 1 << 20 };
    char *long_text = malloc(SIZE);
    for (int i = 0; i < SIZE; i++) long_text[i] = (char)((unsigned)i * 7919 >> 9);
    cp_bytes_free(&file), cp_bytes_free(&out);
    TEST_ASSERT_TRUE(gzip_append(&file, "", 0) && gzip_append(&file, "abc", 3) && gzip_append(&file, long_text, SIZE));
    TEST_ASSERT_TRUE_MESSAGE(cp_gunzip_start(file.data, file.size - 9, 1000, &out, "a.gz", &status), status.message);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(1000, out.size);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(1000 + 65536, out.size);
    TEST_ASSERT_EQUAL_MEMORY("abc", out.data, 3);
    TEST_ASSERT_EQUAL_MEMORY(long_text, out.data + 3, out.size - 3);
    free(long_text);
    make();
    cp_bytes_free(&out);
    TEST_ASSERT_TRUE(cp_gunzip_start(file.data, file.size, 1000, &out, "a.gz", &status));
    TEST_ASSERT_EQUAL_UINT64(sizeof text, out.size);
    cp_bytes_free(&out);
    TEST_ASSERT_FALSE(cp_gunzip_start(file.data, file.size - 1, 1000, &out, "a.gz", &status));
    says(&status, "it is truncated");
    TEST_ASSERT_FALSE(cp_gunzip_start(file.data, file.size, SIZE_MAX, &out, "a.gz", &status));
}

/* ---- bad files ---- */

static void a_file_cut_anywhere_is_refused(void) {
    for (int flags = 0; flags < 32; flags += 15) {
        make_with_flags(flags);
        size_t first = file.size;
        TEST_ASSERT_TRUE(gzip_append(&file, "end", 3));
        for (size_t size = 0; size < file.size; size++) {
            TEST_ASSERT_TRUE(unzip(size, 1000) == (size == first));
            if (size != first) says(&status, "a.gz: gzip member ");
        }
    }
}

/* Times and similar fields may have any value; contents are never different. */
static void a_byte_changed_anywhere_never_gives_different_contents(void) {
    make_with_flags(2 | 4 | 8);
    for (size_t i = 0; i < file.size; i++)
        for (int flip = 0; flip < 9; flip++) {
            unsigned char changed = flip < 8 ? (unsigned char)(1 << flip) : 0xFF;
            file.data[i] ^= changed;
            if (unzip(file.size, 1000)) {
                TEST_ASSERT_EQUAL_UINT64(sizeof text, out.size);
                TEST_ASSERT_EQUAL_MEMORY(text, out.data, sizeof text);
            }
            status = (cp_status){0};
            file.data[i] ^= changed;
        }
}

static void a_wrong_checksum_or_length_is_refused(void) {
    make();
    file.data[file.size - 8] ^= 1;
    refuses("the checksum of the contents is wrong");
    file.data[file.size - 1] ^= 1;
    refuses("the length of the contents is wrong");
    TEST_ASSERT_TRUE(gzip_append(&file, "end", 3));
    file.data[file.size - 6] ^= 1;
    refuses("gzip member 2, byte ");
    make_with_flags(2);
    file.data[5] ^= 1;
    refuses("byte 10: the checksum of the header is wrong");
}

static void headers_with_wrong_sizes_are_refused(void) {
    make();
    file.data[0] = 'P';
    refuses("member 1, byte 0: this is not a gzip file");
    file.data[2] = 7;
    refuses("byte 2: an unknown compression method");
    file.data[3] = 32;
    refuses("byte 3: undefined flags");
    make_with_flags(4);
    file.data[11] = 0xFF;
    refuses("it is truncated");
    file.size = 0;
    refuses("it is truncated");
}

static void other_bytes_after_the_last_member_are_refused(void) {
    make();
    append("garbage", 7);
    refuses("gzip member 2, byte ");
    append("\0\0\0\1", 4);
    refuses("neither a member nor zeros follow");
    append("\x1f", 1);
    refuses("it is truncated");
}

static void contents_above_the_limit_are_refused_in_every_member(void) {
    make();
    TEST_ASSERT_FALSE(unzip(file.size, sizeof text - 1));
    says(&status, "a.gz: gzip member 1, data from byte 10 on: compressed data, about byte ");
    TEST_ASSERT_TRUE(gzip_append(&file, text, sizeof text));
    TEST_ASSERT_FALSE(unzip(file.size, sizeof text));
    says(&status, "it holds more than was declared");
    TEST_ASSERT_TRUE(unzip(file.size, 2 * sizeof text));
}

/* A megabyte of zeros in a few kilobytes. */
static void a_zip_bomb_takes_no_more_memory_than_the_limit(void) {
    enum { SIZE = 1 << 20, LIMIT = 5000 };
    unsigned char *zeros = calloc(SIZE, 1);
    cp_bytes_free(&file);
    TEST_ASSERT_TRUE(gzip_append(&file, zeros, SIZE));
    TEST_ASSERT_LESS_THAN_UINT64(SIZE / 100, file.size);
    TEST_ASSERT_FALSE(unzip(file.size, LIMIT));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(LIMIT, out.capacity);
    says(&status, "it holds more than was declared");
    free(zeros);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(one_member_gives_its_contents);
    RUN_TEST(members_are_concatenated_and_may_be_empty);
    RUN_TEST(an_empty_gzip_file_has_no_contents);
    RUN_TEST(existing_contents_of_the_buffer_stay_and_do_not_count);
    RUN_TEST(zeros_may_follow);
    RUN_TEST(all_fields_of_a_header_are_skipped);
    RUN_TEST(the_beginning_can_be_read_alone);
    RUN_TEST(a_file_cut_anywhere_is_refused);
    RUN_TEST(a_byte_changed_anywhere_never_gives_different_contents);
    RUN_TEST(a_wrong_checksum_or_length_is_refused);
    RUN_TEST(headers_with_wrong_sizes_are_refused);
    RUN_TEST(other_bytes_after_the_last_member_are_refused);
    RUN_TEST(contents_above_the_limit_are_refused_in_every_member);
    RUN_TEST(a_zip_bomb_takes_no_more_memory_than_the_limit);
    cp_bytes_free(&file);
    cp_bytes_free(&out);
    return UNITY_END();
}
