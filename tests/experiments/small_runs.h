/* For tests of the commands that use trained models: small sets, small runs of couplet train, and their results. Include it
 * once in a program; its first test calls make_small_runs, and main calls remove_small_runs at the end. */
#ifndef CP_TESTS_SMALL_RUNS_H
#define CP_TESTS_SMALL_RUNS_H

#include "core/io/npz.h"
#include "core/random.h"
#include "experiments/commands.h"
#include "experiments/kit/train/run_model.h"
#include "experiments/kit/train/scores.h"

#include "tests/core/scratch.h"

#include <math.h>
#include <unistd.h>

enum { SIDE = 12, CLASSES = 3, TRAIN = 60, REST = 30 };

static cp_status status;

void setUp(void) { status = (cp_status){0}; }

void tearDown(void) {}

/* ---- commands ---- */

/* Arguments separated by spaces; paths are in the scratch folder, which is the current folder. */
static inline int run(const cp_command *command, const char *text) {
    char  copy[600], *words[40];
    int   count = 0;
    bool  help;
    char *save = NULL;
    snprintf(copy, sizeof copy, "%s --quiet", text);
    for (char *word = strtok_r(copy, " ", &save); word && count < 40; word = strtok_r(NULL, " ", &save)) words[count++] = word;
    cp_options *options = cp_options_parse("couplet", command, count, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(options, status.message);
    int code = command->run(options);
    cp_options_free(options);
    return code;
}

static inline void expect_ok(const cp_command *command, const char *text) {
    TEST_ASSERT_EQUAL_INT_MESSAGE(CP_EXIT_OK, run(command, text), text);
}

/* The command exits with the code, and its stderr contains the part. */
static inline void expect_refusal(const cp_command *command, const char *text, int code, const char *part) {
    char said[4000] = "";
    fflush(stderr);
    int   kept = dup(2);
    FILE *file = freopen("said", "w", stderr);
    int   found = run(command, text);
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    clearerr(stderr);
    (void)file;
    FILE  *read = fopen("said", "r");
    size_t size = read ? fread(said, 1, sizeof said - 1, read) : 0;
    said[size] = 0;
    if (read) fclose(read);
    TEST_ASSERT_EQUAL_INT_MESSAGE(code, found, said);
    if (!strstr(said, part)) TEST_FAIL_MESSAGE(said);
}

/* ---- data ---- */

/* Blobs at the height of their class, with noise. */
static inline void draw(unsigned char *pixels, unsigned char *labels, int count, int side, int channels, int classes, cp_rng *rng) {
    for (int i = 0; i < count; i++) {
        labels[i] = (unsigned char)(i % classes);
        double y = (labels[i] + 0.5) * side / classes, x = side * (0.3 + 0.4 * cp_rng_uniform(rng));
        for (int p = 0; p < side * side; p++)
            for (int c = 0; c < channels; c++) {
                double d = pow(p / side - y, 2) + pow(p % side - x, 2), v = 40 + 180 * exp(-d / 6) + 30 * cp_rng_uniform(rng);
                pixels[(i * side * side + p) * channels + c] = (unsigned char)v;
            }
    }
}

static inline void write_set(const char *path, int side, int channels, int classes) {
    static const char *const splits[] = {"train", "val", "test"};
    unsigned char           *pixels[3], *labels[3];
    cp_rng                   rng = cp_rng_named(5, path);
    cp_npz_writer           *npz = cp_npz_writer_new(path, &status);
    for (int s = 0; s < 3; s++) {
        int  count = s ? REST : TRAIN;
        char name[40];
        pixels[s] = malloc((size_t)(count * side * side * channels));
        labels[s] = malloc((size_t)count);
        draw(pixels[s], labels[s], count, side, channels, classes, &rng);
        snprintf(name, sizeof name, "%s_images", splits[s]);
        cp_npz_writer_add(npz, name, CP_U8, channels == 1 ? 3 : 4, (int64_t[]){count, side, side, channels}, pixels[s]);
        snprintf(name, sizeof name, "%s_labels", splits[s]);
        cp_npz_writer_add(npz, name, CP_U8, 2, (int64_t[]){count, 1}, labels[s]);
    }
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(npz, &status), status.message);
    for (int s = 0; s < 3; s++) free(pixels[s]), free(labels[s]);
}

#define SMALL "--preset quick --steps 6 --every 3 --buffer 64 --chains 8 --unlabeled 8 --batch 8 --sgld 2 --labels 3 "

static inline void train(const char *method) {
    char text[300];
    snprintf(text, sizeof text, "set.npz " SMALL "--method %s --out %s", method, method);
    expect_ok(&cp_command_train, text);
}

/* ---- looking ---- */

static inline cp_json *result_of(const char *folder) {
    char path[320];
    snprintf(path, sizeof path, "%s/result.json", folder);
    cp_json *result = cp_json_read(path, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(result, status.message);
    return result;
}

static inline bool there(const char *path) { return access(path, F_OK) == 0; }

static inline void expect_same_metrics(const cp_json *a, const cp_json *b) {
    TEST_ASSERT_NOT_NULL(a);
    TEST_ASSERT_NOT_NULL(b);
    for (int m = 0; m < CP_METRICS; m++) {
        double x = cp_json_number(cp_json_get(a, cp_metric_name((cp_metric)m)), NAN);
        TEST_ASSERT_TRUE_MESSAGE(isfinite(x), cp_metric_name((cp_metric)m));
        TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(1e-9, x, cp_json_number(cp_json_get(b, cp_metric_name((cp_metric)m)), NAN),
                                          cp_metric_name((cp_metric)m));
    }
}

/* The arrays of a set and one more, or another in the place of one, so that the file has another md5. */
static inline void copy_set(const char *from, const char *to, const char *more, const int32_t *values) {
    cp_npz        *npz = cp_npz_open(from, &status);
    cp_npz_writer *w = cp_npz_writer_new(to, &status);
    cp_npy         arrays[8];
    size_t         count = cp_npz_count(npz);
    TEST_ASSERT_TRUE(count <= 8);
    for (size_t i = 0; i < count; i++) {
        TEST_ASSERT_TRUE(cp_npz_read(npz, cp_npz_name(npz, i), &arrays[i], &status));
        if (strcmp(cp_npz_name(npz, i), more) != 0) cp_npz_writer_add_npy(w, cp_npz_name(npz, i), &arrays[i]);
    }
    cp_npz_writer_add(w, more, CP_I32, 1, (int64_t[]){REST}, values);
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(w, &status), status.message);
    for (size_t i = 0; i < count; i++) cp_npy_free(&arrays[i]);
    cp_npz_close(npz);
}

static inline bool has_note(const cp_json *result, const char *part) {
    const cp_json *notes = cp_json_get(result, "notes");
    for (const cp_json *note = notes ? notes->first : NULL; note; note = note->next)
        if (strstr(cp_json_string(note, ""), part)) return true;
    return false;
}

/* Makes set.npz and other sets; the runs are named after their methods. */
static inline void make_small_runs(void) {
    scratch_make();
    TEST_ASSERT_EQUAL_INT(0, chdir(scratch_folder));
    write_set("set.npz", SIDE, 1, CLASSES);
    write_set("other.npz", SIDE, 1, CLASSES + 2);
    write_set("color.npz", SIDE, 3, CLASSES);
    write_set("many.npz", SIDE, 1, CLASSES + 2);
    write_set("wide.npz", SIDE + 4, 1, CLASSES);
    train("hybrid");
    train("jem");
    train("softmax");
}

static inline void remove_small_runs(void) {
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_folder);
    if (chdir("/") != 0 || (*scratch_folder && system(command) != 0)) perror(scratch_folder);
}

#endif
