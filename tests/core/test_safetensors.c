/* Tests of core/io/safetensors: round trips, files of other programs, and malformed files. */
#include "core/io/deflate.h"
#include "core/io/safetensors.h"

#include "tests/core/scratch.h"
#include "unity.h"

#include <math.h>

static cp_status       status;
static cp_safetensors *file;

void setUp(void) {
    status = (cp_status){0};
    file = NULL;
    scratch_make();
}

void tearDown(void) {
    cp_st_free(file);
    scratch_remove();
}

/* ---- building files ---------------------------------------------------------------------------------------------- */

typedef struct sample {
    unsigned char bytes[1024];
    size_t        size;
} sample;

/* A file with exactly this header text, and these elements. */
static sample make(const char *header, const void *data, size_t size) {
    sample s = {.size = 0};
    size_t length = strlen(header);
    cp_put_le64(s.bytes, length);
    memcpy(s.bytes + 8, header, length);
    if (size > 0) memcpy(s.bytes + 8 + length, data, size);
    s.size = 8 + length + size;
    return s;
}

/* A small file made by the writer. */
static sample written(void) {
    sample        s = {.size = 0};
    cp_bytes      bytes;
    cp_st_writer *w = cp_st_writer_new();
    cp_st_writer_add(w, "w", CP_F32, 2, (int64_t[]){2, 2}, (float[]){1, -2, 0.5f, 3});
    cp_st_writer_add(w, "n", CP_I64, 0, NULL, (int64_t[]){-5});
    cp_st_writer_metadata(w, "k", "v");
    TEST_ASSERT_TRUE_MESSAGE(cp_st_writer_save(w, scratch("s"), &status), status.message);
    cp_st_writer_free(w);
    TEST_ASSERT_TRUE(cp_file_read(scratch("s"), sizeof s.bytes, &bytes, &status));
    memcpy(s.bytes, bytes.data, bytes.size);
    s.size = bytes.size;
    cp_bytes_free(&bytes);
    return s;
}

/* From memory of exactly the file's size, so that the address sanitizer sees a read beyond it. */
static bool parse(const sample *s) {
    unsigned char *exact = malloc(s->size ? s->size : 1);
    memcpy(exact, s->bytes, s->size);
    cp_st_free(file);
    file = cp_st_parse(exact, s->size, "test.st", &status);
    free(exact);
    return file != NULL;
}

static void reads(sample s) { TEST_ASSERT_TRUE_MESSAGE(parse(&s), status.message); }

static void refuses(sample s, const char *message) {
    TEST_ASSERT_FALSE_MESSAGE(parse(&s), message);
    TEST_ASSERT_EQUAL_STRING_LEN("test.st: ", status.message, 9);
    says(&status, message);
}

static void refuses_header(const char *header, const char *message) { refuses(make(header, "12345678", 8), message); }

/* ---- round trips ------------------------------------------------------------------------------------------------- */

static void every_type_and_shape_survives_writing_and_reading(void) {
    static const struct {
        int     rank;
        int64_t dims[CP_ST_RANK];
        size_t  count;
    } shapes[] = {{0, {0}, 1},      {1, {0}, 0}, {1, {1}, 1}, {2, {3, 0}, 0}, {3, {2, 1, 3}, 6}, {8, {1, 2, 1, 1, 3, 1, 1, 1}, 6},
                  {1, {5001}, 5001}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    static unsigned char data[5001 * 8], ones[5001];
    char                 name[32];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + i / 256);
    for (size_t i = 0; i < sizeof ones; i++) ones[i] = i % 3 == 0;
    cp_st_writer *w = cp_st_writer_new();
    for (int type = 0; type < CP_DTYPES; type++)
        for (int i = 0; i < SHAPES; i++) {
            snprintf(name, sizeof name, "t%d.s%d", type, i);
            cp_st_writer_add(w, name, (cp_dtype)type, shapes[i].rank, shapes[i].dims, type == CP_BOOL ? ones : data);
        }
    TEST_ASSERT_TRUE_MESSAGE(cp_st_writer_save(w, scratch("a"), &status), status.message);
    cp_st_writer_free(w);
    file = cp_st_read(scratch("a"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(file, status.message);
    TEST_ASSERT_EQUAL_UINT64(CP_DTYPES * SHAPES, cp_st_count(file));
    for (int type = 0; type < CP_DTYPES; type++)
        for (int i = 0; i < SHAPES; i++) {
            snprintf(name, sizeof name, "t%d.s%d", type, i);
            const cp_st_entry *entry = cp_st_require(file, name, shapes[i].rank, shapes[i].dims, &status);
            TEST_ASSERT_NOT_NULL_MESSAGE(entry, status.message);
            TEST_ASSERT_EQUAL_INT(type, entry->dtype);
            TEST_ASSERT_EQUAL_UINT64(shapes[i].count, entry->count);
            TEST_ASSERT_EQUAL_UINT64(shapes[i].count * cp_dtype_size((cp_dtype)type), entry->bytes);
            TEST_ASSERT_EQUAL_INT(0, memcmp(type == CP_BOOL ? ones : data, entry->data, entry->bytes));
        }
}

static void metadata_keep_any_text(void) {
    cp_st_writer *w = cp_st_writer_new();
    cp_st_writer_metadata(w, "couplet", "{\"model\":\"wrn\",\"depth\":10}");
    cp_st_writer_metadata(w, "", "empty key");
    cp_st_writer_metadata(w, "\"quoted\"\n", "\xC3\xA9 \x01");
    TEST_ASSERT_TRUE_MESSAGE(cp_st_writer_save(w, scratch("a"), &status), status.message);
    cp_st_writer_free(w);
    file = cp_st_read(scratch("a"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(file, status.message);
    TEST_ASSERT_EQUAL_UINT64(0, cp_st_count(file));
    TEST_ASSERT_EQUAL_STRING("{\"model\":\"wrn\",\"depth\":10}", cp_st_metadata(file, "couplet"));
    TEST_ASSERT_EQUAL_STRING("empty key", cp_st_metadata(file, ""));
    TEST_ASSERT_EQUAL_STRING("\xC3\xA9 \x01", cp_st_metadata(file, "\"quoted\"\n"));
    TEST_ASSERT_NULL(cp_st_metadata(file, "none"));
    TEST_ASSERT_EQUAL_STRING("1", cp_st_metadata(file, "couplet.format"));
}

static void values_written_in_place_are_saved(void) {
    cp_st_writer *w = cp_st_writer_new();
    float        *room = cp_st_writer_room(w, "r", CP_F32, 1, (int64_t[]){3});
    TEST_ASSERT_NOT_NULL(cp_st_writer_room(w, "zero", CP_F32, 1, (int64_t[]){0}));
    for (int i = 0; i < 3; i++) room[i] = (float)i;
    TEST_ASSERT_TRUE(cp_st_writer_save(w, scratch("a"), &status));
    cp_st_writer_free(w);
    file = cp_st_read(scratch("a"), &status);
    cp_real out[3];
    TEST_ASSERT_TRUE(cp_st_to_real(file, cp_st_find(file, "r"), out, &status));
    TEST_ASSERT_TRUE(out[0] == 0 && out[1] == 1 && out[2] == 2);
}

static void the_file_has_the_layout_of_the_format(void) {
    sample s = written();
    size_t length = (size_t)cp_get_le64(s.bytes);
    TEST_ASSERT_EQUAL_UINT64(0, length % 8);
    TEST_ASSERT_EQUAL_UINT64(8 + length + 24, s.size);
    char header[1024], expected[1024];
    snprintf(header, sizeof header, "%.*s", (int)length, (char *)s.bytes + 8);
    const char *digits = strstr(header, "\"couplet.crc32\":\"") + 17;
    snprintf(expected, sizeof expected,
             "{\"__metadata__\":{\"couplet.format\":\"1\",\"couplet.crc32\":\"%.8s\",\"k\":\"v\"},"
             "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
             "\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]}}",
             digits);
    TEST_ASSERT_EQUAL_STRING_LEN(expected, header, strlen(expected));
    for (const char *pad = header + strlen(expected); *pad; pad++) TEST_ASSERT_EQUAL_INT(' ', *pad);
    TEST_ASSERT_EQUAL_MEMORY("\xfb\xff\xff\xff\xff\xff\xff\xff\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f\0\0\x40\x40", s.bytes + 8 + length,
                             24);
    char     sum[9];
    uint32_t stated = (uint32_t)strtoul(memcpy(memset(sum, 0, 9), digits, 8), NULL, 16);
    memcpy(s.bytes + 8 + (digits - header), "00000000", 8);
    TEST_ASSERT_EQUAL_HEX32(stated, cp_crc32(0, s.bytes, s.size));
}

static void the_order_of_calls_does_not_change_the_file(void) {
    cp_bytes bytes[2];
    for (int turn = 0; turn < 2; turn++) {
        cp_st_writer *w = cp_st_writer_new();
        for (int i = 0; i < 20; i++) {
            char name[8];
            int  which = turn ? 19 - i : i;
            snprintf(name, sizeof name, "t%d", which);
            cp_st_writer_add(w, name, which % 2 ? CP_U8 : CP_F64, 1, (int64_t[]){1}, "abcdefgh");
            cp_st_writer_metadata(w, name, "x");
        }
        TEST_ASSERT_TRUE(cp_st_writer_save(w, scratch("a"), &status));
        TEST_ASSERT_TRUE(cp_st_writer_save(w, scratch("a"), &status));
        cp_st_writer_free(w);
        TEST_ASSERT_TRUE(cp_file_read(scratch("a"), SIZE_MAX, &bytes[turn], &status));
    }
    TEST_ASSERT_EQUAL_UINT64(bytes[0].size, bytes[1].size);
    TEST_ASSERT_EQUAL_MEMORY(bytes[0].data, bytes[1].data, bytes[0].size);
    cp_bytes_free(&bytes[0]);
    cp_bytes_free(&bytes[1]);
}

static void values_that_cannot_be_saved_are_refused_and_the_old_file_is_kept(void) {
    cp_st_writer *w = cp_st_writer_new();
    scratch_write("a", "old", 3);
    cp_st_writer_add(w, "x", CP_U8, 1, (int64_t[]){1}, "1");
    cp_st_writer_add(w, "x", CP_F32, 1, (int64_t[]){1}, "1234");
    TEST_ASSERT_FALSE(cp_st_writer_save(w, scratch("a"), &status));
    says(&status, "a: the tensor \"x\" appears twice");
    cp_st_writer_free(w);

    w = cp_st_writer_new();
    cp_st_writer_metadata(w, "k", "1");
    cp_st_writer_metadata(w, "k", "2");
    TEST_ASSERT_FALSE(cp_st_writer_save(w, scratch("a"), &status));
    says(&status, "the metadata \"k\" appears twice");
    cp_st_writer_metadata(w, "couplet.crc32", "1");
    TEST_ASSERT_FALSE(cp_st_writer_save(w, scratch("a"), &status));
    says(&status, "couplet.crc32 is reserved");
    cp_st_writer_free(w);

    const struct {
        const char *name;
        int         rank;
        int64_t     dim;
        const void *data;
    } wrong[] = {{"x", 9, 1, ""}, {"x", 1, -1, ""}, {"x", 1, INT64_MAX, ""}, {"__metadata__", 1, 1, ""}, {"x", 1, 1, NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        w = cp_st_writer_new();
        cp_st_writer_add(w, wrong[i].name, CP_F32, wrong[i].rank, (int64_t[]){wrong[i].dim, 1, 1, 1, 1, 1, 1, 1, 1}, wrong[i].data);
        TEST_ASSERT_NULL(cp_st_writer_room(w, "later", CP_F32, 0, NULL));
        TEST_ASSERT_FALSE(cp_st_writer_save(w, scratch("a"), &status));
        says(&status, wrong[i].name);
        cp_st_writer_free(w);
    }
    TEST_ASSERT_FALSE(cp_st_writer_save(NULL, scratch("a"), &status));
    says(&status, "not enough memory");
    scratch_holds("a", "old", 3);
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
}

static void a_full_disk_a_folder_and_a_missing_folder_are_reported(void) {
    cp_st_writer *w = cp_st_writer_new();
    cp_st_writer_add(w, "x", CP_U8, 1, (int64_t[]){1}, "1");
    if (access("/dev/full", W_OK) == 0) {
        TEST_ASSERT_FALSE(cp_st_writer_save(w, "/dev/full", &status));
        says(&status, "No space left on device");
    }
    TEST_ASSERT_FALSE(cp_st_writer_save(w, scratch_folder, &status));
    says(&status, "Is a directory");
    TEST_ASSERT_FALSE(cp_st_writer_save(w, scratch("no/such"), &status));
    says(&status, "check the path");
    TEST_ASSERT_NULL(cp_st_read(scratch_folder, &status));
    says(&status, "Is a directory");
    TEST_ASSERT_NULL(cp_st_read(scratch("missing"), &status));
    says(&status, "No such file");
    cp_st_writer_free(w);
}

/* ---- files from elsewhere ---------------------------------------------------------------------------------------- */

static void a_file_without_a_checksum_and_out_of_order_is_read(void) {
    reads(make("{\"b\":{\"shape\":[2],\"data_offsets\":[3,7],\"dtype\":\"BF16\",\"more\":[]},"
               "\"a\":{\"dtype\":\"U8\",\"shape\":[3,1],\"data_offsets\":[0,3]},"
               "\"z\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[3,3]}}  ",
               "\1\2\3\x80\x3f\x00\xc0", 7));
    TEST_ASSERT_EQUAL_UINT64(3, cp_st_count(file));
    TEST_ASSERT_EQUAL_STRING("a", cp_st_entry_at(file, 0)->name);
    TEST_ASSERT_EQUAL_STRING("b", cp_st_entry_at(file, 2)->name);
    TEST_ASSERT_NULL(cp_st_entry_at(file, 3));
    cp_real out[3];
    TEST_ASSERT_TRUE(cp_st_to_real(file, cp_st_find(file, "b"), out, &status) && out[0] == 1 && out[1] == -2);
    TEST_ASSERT_TRUE(cp_st_to_real(file, cp_st_find(file, "a"), out, &status) && out[2] == 3);
    TEST_ASSERT_NULL(cp_st_metadata(file, "k"));
}

static void an_empty_file_with_a_header_of_two_characters_is_read(void) {
    reads(make("{}", NULL, 0));
    TEST_ASSERT_EQUAL_UINT64(0, cp_st_count(file));
    TEST_ASSERT_NULL(cp_st_find(file, "x"));
}

static void a_missing_tensor_or_a_wrong_shape_is_named(void) {
    reads(make("{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "\0\0\xc0\x7f\0\0\0\x3f", 8));
    TEST_ASSERT_NULL(cp_st_require(file, "v", 1, (int64_t[]){2}, &status));
    says(&status, "test.st: the tensor \"v\" is missing");
    TEST_ASSERT_NULL(cp_st_require(file, "w", 2, (int64_t[]){2, 1}, &status));
    says(&status, "test.st: tensor \"w\" has shape (2,), (2, 1) was expected");
    TEST_ASSERT_NULL(cp_st_require(file, "w", 1, (int64_t[]){3}, &status));
    says(&status, "(3,) was expected");
    TEST_ASSERT_NOT_NULL(cp_st_require(file, "w", 1, (int64_t[]){2}, &status));
}

/* ---- malformed files ------------------------------------------------------------------------------------ */

static void impossible_header_lengths_are_refused(void) {
    sample s = make("{}", NULL, 0);
    refuses((sample){{0}, 0}, "a safetensors file at least 8");
    refuses((sample){{2}, 7}, "the file has 7 bytes");
    refuses((sample){{0}, 8}, "byte 8: a header that begins with '{' was expected");
    cp_put_le64(s.bytes, 3);
    refuses(s, "byte 0: a header of 3 bytes, but only 2 follow; the file is truncated or damaged");
    cp_put_le64(s.bytes, UINT64_MAX);
    refuses(s, "byte 0: a header of 18446744073709551615 bytes; at most 100000000 are allowed");
    cp_put_le64(s.bytes, UINT64_MAX - 7);
    refuses(s, "at most 100000000 are allowed");
    cp_put_le64(s.bytes, UINT64_C(2) << 56);
    refuses(s, "byte 0: the header length is big-endian; safetensors is little-endian");
    refuses(make(" {}", NULL, 0), "begins with '{'");
    refuses(make("[]", NULL, 0), "begins with '{'");
}

static void a_header_above_the_limit_is_refused_even_if_the_file_has_it(void) {
    size_t         length = 100000001;
    unsigned char *bytes = malloc(8 + length);
    TEST_ASSERT_NOT_NULL(bytes);
    cp_put_le64(bytes, length);
    memset(bytes + 8, ' ', length);
    memcpy(bytes + 8, "{}", 2);
    TEST_ASSERT_NULL(cp_st_parse(bytes, 8 + length, "large", &status));
    free(bytes);
    says(&status, "large: byte 0: a header of 100000001 bytes; at most 100000000");
}

static void malformed_headers_are_refused_with_the_position(void) {
    refuses_header("{\"a\":}", "header (from byte 8): JSON, line 1, column 6 (byte 5): expected a value");
    refuses_header("{}x", "expected nothing more");
    refuses_header("{\"a\":{},\"a\":{}}", "the key \"a\" appears twice");
    refuses_header("{\"__metadata__\":[]}", "__metadata__ must be an object of strings");
    refuses_header("{\"__metadata__\":{\"k\":1}}", "byte 29: metadata \"k\" must be a string");
    refuses_header("{\"a\":1}", "byte 13: tensor \"a\": an object with the fields dtype, shape and data_offsets");
    refuses_header("{\"a\":{\"dtype\":\"F31\"}}", "elements of type F31 cannot be read; convert");
    refuses_header("{\"\\u001b[2J\":{\"dtype\":\"F31\"}}", "tensor \"?[2J\": elements of type F31");
    refuses_header("{\"a\":{\"dtype\":\"F32\"}}", "the field shape, an array of numbers, is missing");
    refuses_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "the field data_offsets");
#define F32(shape, offsets) "{\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
    refuses_header(F32("[1,1,1,1,1,1,1,1,2]", "[0,8]"), "more than 8 axes");
    refuses_header(F32("[-2]", "[0,8]"), "whole numbers, none negative");
    refuses_header(F32("[2.0]", "[0,8]"), "whole numbers, none negative");
    refuses_header(F32("[\"2\"]", "[0,8]"), "whole numbers, none negative");
    refuses_header(F32("[9223372036854775807]", "[0,8]"), "its shape is larger than memory can be");
    refuses_header(F32("[4294967296,4294967296]", "[0,8]"), "its shape is larger than memory can be");
    refuses_header(F32("[2]", "[0]"), "the field data_offsets");
    refuses_header(F32("[2]", "[8,0]"), "two rising numbers");
    refuses_header(F32("[2]", "[-1,7]"), "two rising numbers");
    refuses_header(F32("[2]", "[0,16]"), "its data end at byte 16 of the elements, there are 8");
    refuses_header(F32("[2]", "[9223372036854775800,9223372036854775807]"), "its data end at byte 9223372036854775807");
    refuses_header(F32("[3]", "[0,8]"), "shape (3,) of F32 needs 12 bytes, data_offsets give 8");
}

static void gaps_and_overlaps_between_tensors_are_refused(void) {
#define U8(name, n, offsets) "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" n "],\"data_offsets\":" offsets "}"
    refuses_header("{" U8("a", "9", "[0,9]") "}", "its data end at byte 9 of the elements, there are 8");
    refuses_header("{" U8("a", "4", "[0,4]") "}", "4 bytes follow the last tensor");
    refuses_header("{" U8("a", "4", "[4,8]") "}", "tensor \"a\" begins at byte 4 of the elements, 0 was expected: there is a gap");
    refuses_header("{" U8("a", "4", "[0,4]") "," U8("b", "3", "[5,8]") "}", "there is a gap");
    refuses_header("{" U8("a", "4", "[0,4]") "," U8("b", "5", "[3,8]") "}",
                   "begins at byte 3 of the elements, 4 was expected: there is an overlap");
    refuses_header("{" U8("a", "8", "[0,8]") "," U8("b", "8", "[0,8]") "}", "there is an overlap");
    refuses_header("{" U8("a", "8", "[0,8]") "," U8("b", "0", "[4,4]") "}", "there is an overlap");
    refuses_header("{}", "8 bytes follow the last tensor");
}

static void a_file_cut_anywhere_is_refused(void) {
    sample s = written(), plain = make("{" U8("a", "8", "[0,8]") "}", "12345678", 8);
    reads(s);
    reads(plain);
    while (s.size-- > 0) refuses(s, "");
    while (plain.size-- > 0) refuses(plain, "");
}

static void any_changed_byte_in_a_written_file_is_detected(void) {
    sample s = written();
    for (size_t i = 0; i < s.size; i++)
        for (int change = 1; change < 256; change++) {
            sample changed = s;
            changed.bytes[i] ^= (unsigned char)change;
            refuses(changed, "");
        }
    reads(s);
}

static void a_damaged_file_is_called_damaged(void) {
    sample s = written();
    s.bytes[s.size - 1] ^= 1;
    refuses(s, ": the file is damaged. Take another copy; if it was changed on purpose, remove the metadata");
    s = written();
    char *at = strstr((char *)s.bytes + 8, "\"couplet.crc32\"");
    memcpy(at, "\"couplet.crc33\"", 15);
    refuses(s, "metadata has \"couplet.format\" without \"couplet.crc32\"; the file is damaged");
    refuses_header("{\"__metadata__\":{\"couplet.crc32\":\"1\",\"couplet.format\":\"1\"}}",
                   "must be 8 plain digits; the file is damaged");
    refuses_header("{\"__metadata__\":{\"couplet.crc32\":\"\\u0030\\u0030\\u0030\\u0030\\u0030\\u0030\\u0030\\u0030\","
                   "\"couplet.format\":\"1\"}}",
                   "must be 8 plain digits");
}

static void a_later_format_version_is_refused_as_such(void) {
    sample s = written();
    char  *at = strstr((char *)s.bytes + 8, "\"couplet.format\":\"1\"") + 18;
    *at = '2';
    char *sum = strstr((char *)s.bytes + 8, "\"couplet.crc32\":\"") + 17, digits[9];
    memcpy(sum, "00000000", 8);
    snprintf(digits, sizeof digits, "%08x", (unsigned)cp_crc32(0, s.bytes, s.size));
    memcpy(sum, digits, 8);
    refuses(s, "written in format 2, this program knows format 1; use a newer one");
}

static void a_byte_changed_anywhere_in_a_foreign_file_never_breaks_the_reader(void) {
    sample s = make("{\"__metadata__\":{\"k\":\"v\"},\"b\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[3,7]}," U8(
                        "a", "3", "[0,3]") "}",
                    "\1\2\3\x80\x3f\x00\xc0", 7);
    reads(s);
    for (size_t i = 0; i < s.size; i++)
        for (int change = 1; change < 256; change++) {
            sample changed = s;
            changed.bytes[i] ^= (unsigned char)change;
            bool read = parse(&changed);
            TEST_ASSERT_TRUE(read == (status.message[0] == '\0'));
            for (size_t k = 0; read && k < cp_st_count(file); k++) {
                cp_real out[7];
                TEST_ASSERT_TRUE(cp_st_entry_at(file, k)->count <= 7);
                TEST_ASSERT_TRUE(cp_st_to_real(file, cp_st_entry_at(file, k), out, &status));
            }
            status = (cp_status){0};
        }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(every_type_and_shape_survives_writing_and_reading);
    RUN_TEST(metadata_keep_any_text);
    RUN_TEST(values_written_in_place_are_saved);
    RUN_TEST(the_file_has_the_layout_of_the_format);
    RUN_TEST(the_order_of_calls_does_not_change_the_file);
    RUN_TEST(values_that_cannot_be_saved_are_refused_and_the_old_file_is_kept);
    RUN_TEST(a_full_disk_a_folder_and_a_missing_folder_are_reported);
    RUN_TEST(a_file_without_a_checksum_and_out_of_order_is_read);
    RUN_TEST(an_empty_file_with_a_header_of_two_characters_is_read);
    RUN_TEST(a_missing_tensor_or_a_wrong_shape_is_named);
    RUN_TEST(impossible_header_lengths_are_refused);
    RUN_TEST(a_header_above_the_limit_is_refused_even_if_the_file_has_it);
    RUN_TEST(malformed_headers_are_refused_with_the_position);
    RUN_TEST(gaps_and_overlaps_between_tensors_are_refused);
    RUN_TEST(a_file_cut_anywhere_is_refused);
    RUN_TEST(any_changed_byte_in_a_written_file_is_detected);
    RUN_TEST(a_damaged_file_is_called_damaged);
    RUN_TEST(a_later_format_version_is_refused_as_such);
    RUN_TEST(a_byte_changed_anywhere_in_a_foreign_file_never_breaks_the_reader);
    return UNITY_END();
}
