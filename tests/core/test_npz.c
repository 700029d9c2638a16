/* Tests of core/io/npz: files by numpy (tests/golden/make_npz.py), round trips, and arrays that cannot be read. */
#include "core/io/npz.h"
#include "core/io/zip.h"

#include "support/setup_files.h"

static cp_npy npy;

/* ---- files by numpy ---- */

static const char *golden(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", CP_TEST_DATA, name);
    return path;
}

static void has(const cp_npz *npz, const char *name, cp_dtype dtype, int rank, const int64_t *dims, const void *elements) {
    size_t count = 1;
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_read(npz, name, &npy, &status), status.message);
    TEST_ASSERT_EQUAL_STRING(cp_dtype_name(dtype), cp_dtype_name(npy.dtype));
    TEST_ASSERT_EQUAL_INT(rank, npy.rank);
    for (int i = 0; i < rank; i++) {
        TEST_ASSERT_EQUAL_INT64(dims[i], npy.dims[i]);
        count *= (size_t)dims[i];
    }
    TEST_ASSERT_EQUAL_UINT64(count, npy.size);
    TEST_ASSERT_NOT_NULL(npy.data);
    TEST_ASSERT_TRUE_MESSAGE(count == 0 || memcmp(npy.data, elements, count * cp_dtype_size(dtype)) == 0, name);
    cp_npy_free(&npy);
}

static void is_as_numpy_made_it(const char *file) {
    static const char *const names[] = {"train_images", "train_labels", "c_order", "fortran", "big_endian", "big_fortran",
                                        "scalar",       "empty",        "flags",   "half",    "zeros"};
    enum { NAMES = sizeof names / sizeof *names };
    cp_npz *npz = cp_npz_open(golden(file), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(npz, status.message);
    TEST_ASSERT_EQUAL_UINT64(NAMES, cp_npz_count(npz));
    for (size_t i = 0; i < NAMES; i++) {
        TEST_ASSERT_EQUAL_STRING(names[i], cp_npz_name(npz, i));
        TEST_ASSERT_TRUE(cp_npz_has(npz, names[i]));
    }
    uint8_t images[40];
    float   quarters[24];
    int16_t zeros[5000] = {0};
    for (int i = 0; i < 40; i++) images[i] = (uint8_t)(i % 7 * 30);
    for (int i = 0; i < 24; i++) quarters[i] = (float)i / 4;
    has(npz, "train_images", CP_U8, 3, (int64_t[]){2, 5, 4}, images);
    has(npz, "train_labels", CP_U8, 2, (int64_t[]){2, 1}, (uint8_t[]){3, 1});
    has(npz, "c_order", CP_F32, 3, (int64_t[]){2, 3, 4}, quarters);
    has(npz, "fortran", CP_F32, 3, (int64_t[]){2, 3, 4}, quarters);
    has(npz, "big_endian", CP_F64, 2, (int64_t[]){2, 2}, (double[]){1.5, -2.25, 3e300, 0});
    has(npz, "big_fortran", CP_I64, 2, (int64_t[]){2, 3}, (int64_t[]){1, -2, 3, 4, 5, INT64_C(1) << 40});
    has(npz, "scalar", CP_I32, 0, NULL, (int32_t[]){-7});
    has(npz, "empty", CP_F64, 2, (int64_t[]){0, 3}, NULL);
    has(npz, "flags", CP_BOOL, 1, (int64_t[]){3}, (uint8_t[]){1, 0, 1});
    has(npz, "half", CP_F16, 1, (int64_t[]){2}, (uint16_t[]){0x3800, 0xbc00});
    has(npz, "zeros", CP_I16, 1, (int64_t[]){5000}, zeros);
    cp_npz_close(npz);
}

static void files_of_savez_are_read(void) { is_as_numpy_made_it("npz_savez.npz"); }

static void files_of_savez_compressed_are_read(void) { is_as_numpy_made_it("npz_compressed.npz"); }

static void files_written_to_a_pipe_with_a_comment_are_read(void) { is_as_numpy_made_it("npz_descriptor.npz"); }

static void a_pipe_of_the_shell_is_read(void) {
    char command[700], path[32];
    snprintf(command, sizeof command, "cat '%s'", golden("npz_savez.npz"));
    FILE *pipe = popen(command, "r");
    TEST_ASSERT_NOT_NULL(pipe);
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(pipe));
    cp_npz *npz = cp_npz_open(path, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(npz, status.message);
    has(npz, "train_labels", CP_U8, 2, (int64_t[]){2, 1}, (uint8_t[]){3, 1});
    cp_npz_close(npz);
    pclose(pipe);
}

static void a_fifo_without_a_writer_is_refused_at_once(void) {
    TEST_ASSERT_EQUAL_INT(0, mkfifo(scratch("x.npz"), 0600));
    TEST_ASSERT_NULL(cp_npz_open(scratch("x.npz"), &status));
    says(&status, "x.npz: this is a pipe; a regular file was expected");
}

/* ---- hostile files ---- */

static void a_file_cut_at_any_byte_is_refused(void) {
    cp_bytes file;
    TEST_ASSERT_TRUE(cp_file_read(golden("npz_compressed.npz"), SIZE_MAX, &file, &status));
    for (size_t size = 0; size < file.size; size++) {
        unsigned char *exact = malloc(size ? size : 1);
        memcpy(exact, file.data, size);
        TEST_ASSERT_NULL(cp_npz_parse(exact, size, "cut.npz", &status));
        says(&status, "cut.npz: ");
        free(exact);
    }
    cp_bytes_free(&file);
}

static void a_byte_changed_anywhere_is_an_error_or_changes_nothing(void) {
    static const char *const files[] = {"npz_compressed.npz", "npz_descriptor.npz"};
    for (int k = 0; k < 2; k++) {
        cp_bytes file;
        TEST_ASSERT_TRUE(cp_file_read(golden(files[k]), SIZE_MAX, &file, &status));
        cp_npz *good = cp_npz_open(golden(files[k]), &status);
        for (size_t at = 0; at < file.size; at++) {
            file.data[at] ^= 0xFF;
            cp_npz *npz = cp_npz_parse(file.data, file.size, "changed.npz", &status);
            TEST_ASSERT_TRUE(!npz == (status.message[0] != '\0'));
            for (size_t i = 0; npz && i < cp_npz_count(npz); i++) {
                cp_npy expected;
                status = (cp_status){0};
                if (!cp_npz_read(npz, cp_npz_name(npz, i), &npy, &status)) {
                    TEST_ASSERT_TRUE(status.message[0] != '\0' && npy.data == NULL);
                    continue;
                }
                TEST_ASSERT_TRUE_MESSAGE(cp_npz_read(good, cp_npz_name(npz, i), &expected, &status), status.message);
                TEST_ASSERT_TRUE(expected.size == npy.size && expected.dtype == npy.dtype);
                TEST_ASSERT_TRUE(memcmp(expected.data, npy.data, npy.size * cp_dtype_size(npy.dtype)) == 0);
                cp_npy_free(&expected);
                cp_npy_free(&npy);
            }
            cp_npz_close(npz);
            status = (cp_status){0};
            file.data[at] ^= 0xFF;
        }
        cp_npz_close(good);
        cp_bytes_free(&file);
    }
}

static void put_npy(cp_zip_writer *w, const char *name, const char *header, const void *data, size_t size) {
    unsigned char bytes[512] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)strlen(header), 0};
    strcpy((char *)bytes + 10, header);
    memcpy(bytes + 10 + strlen(header), data, size);
    cp_zip_writer_add(w, name, bytes, 10 + strlen(header) + size);
}

static void refuses(const cp_npz *npz, const char *name, const char *message) {
    TEST_ASSERT_FALSE_MESSAGE(cp_npz_read(npz, name, &npy, &status), message);
    TEST_ASSERT_NULL(npy.data);
    says(&status, message);
}

static void arrays_that_cannot_be_read_are_named_and_the_others_are_read(void) {
    cp_zip_writer *w = cp_zip_writer_new(scratch("a.npz"), &status);
    put_npy(w, "objects.npy", "{'descr':'|O','fortran_order':False,'shape':(1,)}", "\x80\x04N.", 4);
    put_npy(w, "huge.npy", "{'descr':'<f8','fortran_order':True,'shape':(4294967296,4294967296,2)}", "", 0);
    put_npy(w, "short.npy", "{'descr':'<f8','fortran_order':False,'shape':(100000000,)}", "12345678", 8);
    put_npy(w, "good.npy", "{'descr':'|u1','fortran_order':False,'shape':(2,)}", "ab", 2);
    cp_zip_writer_add(w, "empty.npy", "", 0);
    cp_zip_writer_add(w, "read.me", "text", 4);
    TEST_ASSERT_TRUE_MESSAGE(cp_zip_writer_commit(w, &status), status.message);
    cp_npz *npz = cp_npz_open(scratch("a.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(npz, status.message);
    TEST_ASSERT_EQUAL_UINT64(5, cp_npz_count(npz));
    refuses(npz, "objects",
            "a.npz: array \"objects\": header, byte 20: elements of type '|O' cannot be read: they are Python objects");
    refuses(npz, "huge", "array \"huge\": header: the shape (4294967296, 4294967296, 2) is larger than memory can be");
    refuses(npz, "short", "8 bytes of elements follow the header, shape (100000000,) of F64 needs 800000000");
    refuses(npz, "empty", "array \"empty\": byte 0: this is not a .npy file");
    refuses(npz, "read.me", "there is no array \"read.me\"; the file has: objects, huge, short, good, empty");
    refuses(npz, "good.npy", "there is no array \"good.npy\"");
    has(npz, "good", CP_U8, 1, (int64_t[]){2}, "ab");
    cp_npz_close(npz);
}

static void texts_are(const cp_npz *npz, const char *name, size_t count, const char *const *expected) {
    cp_texts texts;
    cp_npy   npy;
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_read_any(npz, name, &npy, &status), status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_to_texts(&npy, name, &texts, &status), status.message);
    cp_npy_free(&npy);
    TEST_ASSERT_EQUAL_UINT64(count, texts.count);
    for (size_t i = 0; i < count; i++) TEST_ASSERT_EQUAL_STRING(expected[i], texts.at[i]);
    cp_texts_free(&texts);
}

static void refuses_texts(const cp_npz *npz, const char *name, const char *message) {
    cp_texts texts = {0};
    cp_npy   npy;
    bool     read = cp_npz_read_any(npz, name, &npy, &status);
    TEST_ASSERT_FALSE_MESSAGE(read && cp_npy_to_texts(&npy, name, &texts, &status), message);
    TEST_ASSERT_NULL(texts.at);
    says(&status, message);
    cp_npy_free(&npy);
}

/* Text of the types U and S, in either byte order, and what is no text. */
static void text_is_read_and_written(void) {
    static const char *const names[] = {"", "a", "\u00fcber \u4e2d\U0001f600"};
    cp_zip_writer           *w = cp_zip_writer_new(scratch("a.npz"), &status);
    put_npy(w, "s.npy", "{'descr':'|S3','fortran_order':False,'shape':(3,)}", "a\0\0\xc3\xbc\0xyz", 9);
    put_npy(w, "u.npy", "{'descr':'<U2','fortran_order':True,'shape':(2,1)}", "a\0\0\0\0\0\0\0\0\xd8\0\0\xff\xff\xff\xff", 16);
    put_npy(w, "big.npy", "{'descr':'>U1','fortran_order':False,'shape':(1,)}", "\0\1\xf6\0", 4);
    put_npy(w, "table.npy", "{'descr':'|S1','fortran_order':False,'shape':(1,2)}", "ab", 2);
    put_npy(w, "cut.npy", "{'descr':'|S9','fortran_order':False,'shape':(1,)}", "ab", 2);
    put_npy(w, "none.npy", "{'descr':'<U0','fortran_order':False,'shape':(9999999999,)}", "", 0);
    put_npy(w, "odd.npy", "{'descr':'<U2x','fortran_order':False,'shape':(1,)}", "abcdefgh", 8);
    put_npy(w, "numbers.npy", "{'descr':'|u1','fortran_order':False,'shape':(2,)}", "ab", 2);
    cp_npz_writer_add_texts(w, "names", 3, names);
    cp_npz_writer_add_texts(w, "nothing", 0, NULL);
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(w, &status), status.message);
    cp_npz *npz = cp_npz_open(scratch("a.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(npz, status.message);
    texts_are(npz, "s", 3, (const char *[]){"a", "\u00fc", "xyz"});
    texts_are(npz, "u", 2, (const char *[]){"a", "??"});
    texts_are(npz, "big", 1, (const char *[]){"\U0001f600"});
    texts_are(npz, "names", 3, names);
    texts_are(npz, "nothing", 0, NULL);
    refuses(npz, "names", "elements of type '<U13' cannot be read: they are text");
    refuses_texts(npz, "table", "text of shape (1, 2) was found, (N) or (N, 1) was expected");
    refuses_texts(npz, "cut", "shape (1, 9) of U8 needs 9; the file is truncated");
    refuses_texts(npz, "none", "elements of type '<U0' cannot be read: they are text");
    refuses_texts(npz, "odd", "elements of type '<U2x' cannot be read: they are text");
    refuses_texts(npz, "numbers", "elements of type U8 were found, text was expected");
    refuses_texts(npz, "absent", "there is no array \"absent\"");
    cp_npz_close(npz);
}

static void a_file_without_arrays_is_reported(void) {
    TEST_ASSERT_TRUE(cp_npz_writer_commit(cp_npz_writer_new(scratch("a.npz"), &status), &status));
    cp_npz *npz = cp_npz_open(scratch("a.npz"), &status);
    TEST_ASSERT_EQUAL_UINT64(0, cp_npz_count(npz));
    refuses(npz, "a", "there is no array \"a\"; the file has: none");
    cp_npz_close(npz);
    TEST_ASSERT_NULL(cp_npz_open(scratch("missing.npz"), &status));
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, status.kind);
}

static void names_contain_no_control_characters_for_the_terminal(void) {
    cp_npz_writer *w = cp_npz_writer_new(scratch("a.npz"), &status);
    cp_npz_writer_add(w, "a\x1b[2J", CP_U8, 0, NULL, "x");
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(w, &status), status.message);
    cp_npz *npz = cp_npz_open(scratch("a.npz"), &status);
    refuses(npz, "a", "the file has: a?[2J");
    cp_npz_close(npz);
}

/* ---- writing ---- */

static void every_type_and_shape_is_read_back(void) {
    static const struct {
        int     rank;
        int64_t dims[CP_NPY_RANK];
        size_t  count;
    } shapes[] = {{0, {0}, 1}, {1, {0}, 0}, {1, {1}, 1}, {3, {2, 1, 3}, 6}, {5, {1, 2, 3, 2, 1}, 12}, {2, {9001, 1}, 9001}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    static unsigned char data[9001 * 8];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)((i * 37 + i / 256) & 1);
    cp_npz_writer *w = cp_npz_writer_new(scratch("a.npz"), &status);
    char           name[32];
    for (int type = 0; type < CP_DTYPES; type++)
        for (int i = 0; i < SHAPES && type != CP_BF16; i++) {
            snprintf(name, sizeof name, "%s/%d", cp_dtype_name((cp_dtype)type), i);
            cp_npz_writer_add(w, name, (cp_dtype)type, shapes[i].rank, shapes[i].dims, data);
        }
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(w, &status), status.message);
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
    cp_npz *npz = cp_npz_open(scratch("a.npz"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(npz, status.message);
    TEST_ASSERT_EQUAL_UINT64((CP_DTYPES - 1) * SHAPES, cp_npz_count(npz));
    for (int type = 0; type < CP_DTYPES; type++)
        for (int i = 0; i < SHAPES && type != CP_BF16; i++) {
            snprintf(name, sizeof name, "%s/%d", cp_dtype_name((cp_dtype)type), i);
            has(npz, name, (cp_dtype)type, shapes[i].rank, shapes[i].dims, data);
        }
    cp_npz_close(npz);
}

static bool writes(cp_dtype dtype, int rank, const int64_t *dims, const char *name) {
    cp_npz_writer *w = cp_npz_writer_new(scratch("a.npz"), &status);
    cp_npz_writer_add(w, "a", CP_U8, 1, (int64_t[]){1}, "1");
    cp_npz_writer_add(w, name, dtype, rank, dims, "12345678");
    return cp_npz_writer_commit(w, &status);
}

static void values_that_cannot_be_written_are_refused_by_the_commit(void) {
    TEST_ASSERT_FALSE(writes(CP_U8, 1, (int64_t[]){1}, "a"));
    says(&status, "a.npz: entry \"a.npy\": the name appears twice");
    TEST_ASSERT_FALSE(writes(CP_BF16, 1, (int64_t[]){1}, "b"));
    says(&status, "a.npz: b: numpy has no type for these elements; convert them to F32 first");
    TEST_ASSERT_FALSE(writes(CP_U8, 1, (int64_t[]){-1}, "b"));
    says(&status, "no dimension negative");
    TEST_ASSERT_FALSE(writes(CP_U8, 6, (int64_t[]){1, 1, 1, 1, 1, 1}, "b"));
    says(&status, "a shape of rank 0 to 5");
    cp_npz_writer *none = cp_npz_writer_new(scratch("no/a.npz"), &status);
    TEST_ASSERT_NULL(none);
    cp_npz_writer_add(none, "a", CP_U8, 1, (int64_t[]){1}, "1");
    TEST_ASSERT_FALSE(cp_npz_writer_commit(none, &status));
    says(&status, "check the path");
    cp_npz_writer_cancel(cp_npz_writer_new(scratch("a.npz"), &status));
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(files_of_savez_are_read);
    RUN_TEST(files_of_savez_compressed_are_read);
    RUN_TEST(files_written_to_a_pipe_with_a_comment_are_read);
    RUN_TEST(a_pipe_of_the_shell_is_read);
    RUN_TEST(a_fifo_without_a_writer_is_refused_at_once);
    RUN_TEST(a_file_cut_at_any_byte_is_refused);
    RUN_TEST(a_byte_changed_anywhere_is_an_error_or_changes_nothing);
    RUN_TEST(arrays_that_cannot_be_read_are_named_and_the_others_are_read);
    RUN_TEST(text_is_read_and_written);
    RUN_TEST(a_file_without_arrays_is_reported);
    RUN_TEST(names_contain_no_control_characters_for_the_terminal);
    RUN_TEST(every_type_and_shape_is_read_back);
    RUN_TEST(values_that_cannot_be_written_are_refused_by_the_commit);
    return UNITY_END();
}
