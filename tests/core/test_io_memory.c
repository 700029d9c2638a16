/* Tests of core/io when memory runs out: the program is linked with -Wl,--wrap for malloc, calloc and realloc, and each
 * allocation is made to fail in turn. The address sanitizer finds leaks. */
#include "core/io/csv.h"
#include "core/io/json.h"
#include "core/io/nifti.h"
#include "core/io/npy.h"
#include "core/io/npz.h"
#include "core/io/png.h"
#include "core/io/safetensors.h"

#include "support/gzipped.h"
#include "support/wrapped_memory.h"
#include "tests/core/scratch.h"
#include "unity.h"

static cp_status status;
static int       files_expected; /* the maximum in the folder: no writer leaves its temporary file behind */

void setUp(void) {
    scratch_make();
    files_expected = 2;
    memory_stays_out = true;
}

void tearDown(void) { scratch_remove(); }

/* Runs the action with 0, 1, 2 ... allowed calls until it succeeds; every failure before that must say that memory is short. */
static void fails_politely(bool (*action)(void)) {
    for (long granted = 0; granted < 1000; granted++) {
        status = (cp_status){0};
        calls_allowed = granted;
        bool done = action();
        calls_allowed = -1;
        if (done) {
            TEST_ASSERT_GREATER_THAN_INT(0, granted);
            TEST_ASSERT_EQUAL_STRING("", status.message);
            return;
        }
        says(&status, "not enough memory");
        scratch_holds("old", "old", 3);
        TEST_ASSERT_LESS_OR_EQUAL_INT(files_expected, scratch_files(false));
    }
    TEST_FAIL_MESSAGE("did not succeed with 1000 calls");
}

static bool read_json(void) {
    char   text[20000] = "[";
    size_t used = 1;
    for (int i = 0; i < 100; i++)
        used += (size_t)sprintf(text + used, "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":\"nine\"},");
    strcpy(text + used, "0]");
    cp_json *root = cp_json_parse(text, strlen(text), "text", &status);
    cp_json_free(root);
    return root != NULL;
}

static bool write_json(void) {
    cp_json_writer w = {0};
    cp_json_put_array(&w, NULL);
    for (int i = 0; i < 1000; i++) cp_json_put_integer(&w, NULL, i);
    cp_json_put_end(&w);
    return cp_json_writer_save(&w, scratch("new"), &status);
}

static bool read_npy(void) {
    cp_npy   npy;
    cp_real *values = NULL;
    if (cp_npy_read(scratch("in"), &npy, &status)) values = cp_npy_to_real(&npy, "in", &status);
    cp_npy_free(&npy);
    free(values);
    return values != NULL;
}

static bool write_npy(void) { return cp_npy_write(scratch("new"), CP_U8, 1, (int64_t[]){3}, "abc", &status); }

static bool read_npz(void) {
    cp_npy  npy = {0};
    cp_npz *npz = cp_npz_open(scratch("in"), &status);
    bool    done = npz && cp_npz_read(npz, "letters", &npy, &status);
    cp_npy_free(&npy);
    done = done && cp_npz_read(npz, "words", &npy, &status);
    cp_npy_free(&npy);
    cp_npz_close(npz);
    return done;
}

static bool save_arrays(const char *name) {
    static const char letters[300];
    cp_npz_writer    *w = cp_npz_writer_new(scratch(name), &status);
    cp_npz_writer_add(w, "letters", CP_U8, 2, (int64_t[]){3, 100}, letters);
    cp_npz_writer_add(w, "words", CP_U8, 2, (int64_t[]){3, 1}, "abc");
    return cp_npz_writer_commit(w, &status);
}

static bool write_npz(void) { return save_arrays("new"); }

static bool read_fortran(void) {
    static const char file[] = "\x93NUMPY\1\0\x34\0{'descr':'|u1','fortran_order':True,'shape':(2,2)} \nabcd";
    cp_npy            npy;
    bool              done = cp_npy_parse(file, sizeof file - 1, "fortran", &npy, &status);
    cp_npy_free(&npy);
    return done;
}

static bool read_safetensors(void) {
    cp_safetensors *file = cp_st_read(scratch("in"), &status);
    cp_st_free(file);
    return file != NULL;
}

static bool save_tensors(const char *name) {
    cp_st_writer *w = cp_st_writer_new();
    for (char tensor[] = "a"; tensor[0] <= 'z'; tensor[0]++) {
        cp_st_writer_add(w, tensor, CP_F32, 1, (int64_t[]){1}, "1234");
        cp_st_writer_metadata(w, tensor, "value");
    }
    cp_st_writer_room(w, "own", CP_F64, 1, (int64_t[]){3});
    bool saved = cp_st_writer_save(w, scratch(name), &status);
    cp_st_writer_free(w);
    return saved;
}

static bool write_safetensors(void) { return save_tensors("new"); }

static bool read_nifti(void) {
    cp_nifti volume;
    bool     done = cp_nifti_read(scratch("in.img.gz"), &volume, &status);
    TEST_ASSERT_TRUE(done == (volume.values != NULL));
    cp_nifti_free(&volume);
    return done;
}

static bool read_picture(void) {
    cp_picture picture;
    bool       done = cp_picture_read(scratch("in"), &picture, &status);
    TEST_ASSERT_TRUE(done == (picture.pixels != NULL));
    cp_picture_free(&picture);
    return done;
}

static bool write_texts(void) {
    cp_npz_writer *w = cp_npz_writer_new(scratch("new"), &status);
    cp_npz_writer_add_texts(w, "texts", 2, (const char *const[]){"a", "bc"});
    return cp_npz_writer_commit(w, &status);
}

static bool read_texts(void) {
    cp_texts texts = {0};
    cp_npy   npy = {0};
    cp_npz  *npz = cp_npz_open(scratch("in"), &status);
    bool     done = npz && cp_npz_read_any(npz, "texts", &npy, &status) && cp_npy_to_texts(&npy, "texts", &texts, &status);
    TEST_ASSERT_TRUE(done == (texts.at != NULL));
    cp_texts_free(&texts);
    cp_npy_free(&npy);
    cp_npz_close(npz);
    return done;
}

static bool read_csv(void) {
    cp_csv csv;
    bool   done = cp_csv_read(scratch("in"), &csv, &status);
    cp_csv_free(&csv);
    return done;
}

static void json_is_read_and_written_or_refused(void) {
    scratch_write("old", "old", 3);
    fails_politely(read_json);
    fails_politely(write_json);
}

static void npy_is_read_and_written_or_refused(void) {
    scratch_write("old", "old", 3);
    TEST_ASSERT_TRUE(cp_npy_write(scratch("in"), CP_F64, 1, (int64_t[]){3}, (double[]){1, 2, 3}, &status));
    fails_politely(read_npy);
    remove(scratch("in"));
    fails_politely(write_npy);
}

static void npz_is_read_and_written_or_refused(void) {
    scratch_write("old", "old", 3);
    TEST_ASSERT_TRUE_MESSAGE(save_arrays("in"), status.message);
    fails_politely(read_npz);
    remove(scratch("in"));
    fails_politely(write_npz);
    fails_politely(read_fortran);
}

static void safetensors_are_read_and_written_or_refused(void) {
    scratch_write("old", "old", 3);
    TEST_ASSERT_TRUE_MESSAGE(save_tensors("in"), status.message);
    fails_politely(read_safetensors);
    remove(scratch("in"));
    fails_politely(write_safetensors);
}

/* A pair whose values are compressed: their unpacked bytes and two names take memory too. */
static void nifti_is_read_or_refused(void) {
    char     path[1000];
    cp_bytes file = {0}, packed = {0};
    snprintf(path, sizeof path, "%s/nifti_pair.hdr", CP_TEST_DATA);
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(path, SIZE_MAX, &file, &status), status.message);
    TEST_ASSERT_TRUE(gzip_append(&packed, file.data, file.size));
    scratch_write("old", "old", 3);
    scratch_write("in.hdr.gz", packed.data, packed.size);
    packed.size = 0;
    TEST_ASSERT_TRUE(gzip_append(&packed, "values of 4x3", 12));
    scratch_write("in.img.gz", packed.data, packed.size);
    cp_bytes_free(&packed);
    cp_bytes_free(&file);
    files_expected = 3;
    fails_politely(read_nifti);
}

static void texts_are_read_and_written_or_refused(void) {
    scratch_write("old", "old", 3);
    fails_politely(write_texts);
    TEST_ASSERT_EQUAL_INT(0, rename(scratch("new"), scratch("in")));
    fails_politely(read_texts);
}

static void csv_is_read_or_refused(void) {
    char rows[1000];
    for (size_t i = 0; i < sizeof rows; i += 4) memcpy(rows + i, "a,b\n", 4);
    scratch_write("old", "old", 3);
    scratch_write("in", rows, sizeof rows);
    fails_politely(read_csv);
}

static void pictures_are_read_or_refused(void) {
    cp_bytes png = {0};
    TEST_ASSERT_TRUE(cp_png_encode(&(cp_image){3, 1, 1, (const unsigned char *)"abc"}, &png, &status));
    scratch_write("old", "old", 3);
    scratch_write("in", png.data, png.size);
    fails_politely(read_picture);
    scratch_write("in", "P5 3 1 255 abc", 14);
    fails_politely(read_picture);
    cp_bytes_free(&png);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(json_is_read_and_written_or_refused);
    RUN_TEST(npy_is_read_and_written_or_refused);
    RUN_TEST(nifti_is_read_or_refused);
    RUN_TEST(npz_is_read_and_written_or_refused);
    RUN_TEST(texts_are_read_and_written_or_refused);
    RUN_TEST(csv_is_read_or_refused);
    RUN_TEST(pictures_are_read_or_refused);
    RUN_TEST(safetensors_are_read_and_written_or_refused);
    return UNITY_END();
}
