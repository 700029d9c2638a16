/* couplet generate and couplet impute, on small runs of couplet train. */
#include "experiments/impute/conditional.h"
#include "experiments/judge.h"
#include "tests/experiments/small_runs.h"

/* ---- generate ---- */

static cp_npy samples_of(const char *path, const char *name) {
    cp_npy  npy = {0};
    cp_npz *npz = cp_npz_open(path, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(npz, status.message);
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_read(npz, name, &npy, &status), status.message);
    cp_npz_close(npz);
    return npy;
}

static void samples_have_the_shape_of_the_images_and_their_class(void) {
    expect_ok(&cp_command_generate, "hybrid --per-class 2 --steps 5 --out g1");
    expect_ok(&cp_command_generate, "hybrid --per-class 2 --steps 5 --out g2");
    cp_npy a = samples_of("g1/samples.npz", "images"), b = samples_of("g2/samples.npz", "images"),
           l = samples_of("g1/samples.npz", "labels");
    TEST_ASSERT_EQUAL_INT(4, a.rank);
    TEST_ASSERT_EQUAL_INT64(2 * CLASSES, a.dims[0]);
    TEST_ASSERT_EQUAL_INT64(SIDE, a.dims[1]);
    TEST_ASSERT_EQUAL_INT64(1, a.dims[3]);
    TEST_ASSERT_EQUAL_MEMORY(a.data, b.data, a.size);
    for (int i = 0; i < 2 * CLASSES; i++) TEST_ASSERT_EQUAL_INT(i / 2, ((const int32_t *)l.data)[i]);
    cp_npy_free(&a);
    cp_npy_free(&b);
    cp_npy_free(&l);
    cp_json *found = result_of("g1");
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(found, "energy"), NAN) < cp_json_number(cp_json_get(found, "energy_first"), NAN));
    TEST_ASSERT_EQUAL_INT64(5, cp_json_integer(cp_json_get(cp_json_get(found, "sampler"), "steps"), 0));
    TEST_ASSERT_DOUBLE_WITHIN(0, 2, cp_json_number(cp_json_get(cp_json_get(found, "sampler"), "alpha"), 0));
    cp_json_free(found);
    TEST_ASSERT_TRUE(there("g1/samples.png") && there("g1/samples.figure.json") && there("g1/film.png"));
}

static void chains_start_from_noise_or_the_buffer_too(void) {
    expect_ok(&cp_command_generate, "hybrid --per-class 1 --from noise --steps 1 --out g3");
    expect_ok(&cp_command_generate, "jem --per-class 3 --from buffer --out g4");
    expect_ok(&cp_command_generate, "hybrid --per-class 70 --from buffer --steps 1 --out g5"); /* more than the buffer contains */
    cp_json *found = result_of("g5");
    TEST_ASSERT_TRUE(has_note(found, "the missing ones are new"));
    TEST_ASSERT_NULL(cp_json_get(found, "agreement")); /* of starts that the softmax has chosen */
    cp_json_free(found);
    found = result_of("g3");
    TEST_ASSERT_TRUE(isfinite(cp_json_number(cp_json_get(found, "agreement"), NAN)));
    cp_json_free(found);
}

static void generating_without_energies_or_chains_is_refused(void) {
    const cp_command *g = &cp_command_generate;
    expect_refusal(g, "softmax --out no", CP_EXIT_FAILED, "has no energies to sample from");
    expect_refusal(g, "hybrid/selected.safetensors --out no", CP_EXIT_FAILED, "give the folder of its run");
    TEST_ASSERT_EQUAL_INT(0, rename("hybrid/chains.safetensors", "kept"));
    expect_refusal(g, "hybrid --out no", CP_EXIT_FAILED, "chains.safetensors");
    expect_ok(&cp_command_evaluate, "hybrid set.npz --out chainless");
    rename("jem/chains.safetensors", "kept-too");
    FILE *damaged = fopen("hybrid/chains.safetensors", "w");
    fputs("no tensors", damaged);
    fclose(damaged);
    expect_refusal(g, "hybrid --out no", CP_EXIT_FAILED, "chains.safetensors");
    rename("kept", "hybrid/chains.safetensors");
    rename("kept-too", "jem/chains.safetensors");
    TEST_ASSERT_FALSE(there("no"));
}

/* ---- the judge ---- */

static void the_distance_between_gaussians_is_that_of_the_formula(void) {
    double m[3] = {1, -2, 0.5}, n[3] = {0, 0, 0.5}, c = 0.6, s = 0.8; /* squared distance 5 */
    /* The same axes: 4 and 9 against 1 and 25, that is (2 - 1)^2 + (3 - 5)^2. */
    double a[4] = {4 * c * c + 9 * s * s, (4 - 9) * c * s, (4 - 9) * c * s, 4 * s * s + 9 * c * c},
           b[4] = {1 * c * c + 25 * s * s, (1 - 25) * c * s, (1 - 25) * c * s, 1 * s * s + 25 * c * c};
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 5 + 5, cp_frechet_distance(2, m, a, n, b));
    TEST_ASSERT_DOUBLE_WITHIN(1e-7, 0, cp_frechet_distance(2, m, a, m, a));
    /* Other axes: tr M^(1/2) of a 2 x 2 matrix is (tr M + 2 det(M)^(1/2))^(1/2). */
    double d[4] = {2, 0, 0, 0.5}, trace = a[0] * d[0] + a[3] * d[3], det = 4 * 9 * 2 * 0.5;
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 5 + 13 + 2.5 - 2 * sqrt(trace + 2 * sqrt(det)), cp_frechet_distance(2, m, a, n, d));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, cp_frechet_distance(2, n, d, m, a), cp_frechet_distance(2, m, a, n, d));
    /* Of rank one, u u' and v v': the trace is |u v|. */
    double u[3] = {0, 1, 2}, v[3] = {3, -1, 1}, uu[9], vv[9], nothing[9] = {0};
    for (int i = 0; i < 9; i++) uu[i] = u[i / 3] * u[i % 3], vv[i] = v[i / 3] * v[i % 3];
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 5 + 5 + 11 - 2 * 1, cp_frechet_distance(3, m, uu, n, vv));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 5 + 11, cp_frechet_distance(3, m, nothing, n, vv));
}

/* h diag h, where h = 1 - 2 v v' mirrors along a unit vector: one number in four of the diagonal is 0 for S. */
static void many_features_on_the_same_axes_are_compared_one_by_one(void) {
    enum { D = 40 };
    static double mean[D], s[D * D], t[D * D];
    double        v[D], h[D], squares = 0, want = 0;
    for (int i = 0; i < D; i++) squares += pow(v[i] = sin(i + 1), 2);
    for (int k = 0; k < D; k++) {
        double of_s = k % 4 ? k : 0, of_t = 1 + 100.0 / (k + 1);
        for (int i = 0; i < D; i++) h[i] = (i == k) - 2 * v[i] * v[k] / squares;
        for (int i = 0; i < D * D; i++) s[i] += of_s * h[i / D] * h[i % D], t[i] += of_t * h[i / D] * h[i % D];
        want += pow(sqrt(of_s) - sqrt(of_t), 2);
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, want, cp_frechet_distance(D, mean, s, mean, t));
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, want, cp_frechet_distance(D, mean, t, mean, s));
}

static void make_judges(void) {
    expect_ok(&cp_command_train,
              "set.npz --method softmax --net mlp:sizes=16/8 --labels 20 --steps 200 --every 100 --rate 0.01 --out judge");
    expect_ok(&cp_command_train,
              "many.npz --method softmax --preset quick --net mlp:sizes=16/8 --labels 3 --steps 6 --every 3 --out of-five");
    expect_ok(&cp_command_train, "wide.npz --method softmax --preset quick --labels 3 --steps 6 --every 3 --batch 8 --out of-wide");
}

static double number_at(const cp_json *found, const char *who, const char *key) {
    return cp_json_number(cp_json_get(cp_json_get(cp_json_get(found, "judge"), who), key), NAN);
}

/* The judge's features of bytes, and how many it gives their class. */
static int features_of(const cp_model *model, const unsigned char *pixels, const int *labels, int n, double *features) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *x = cp_full(tape, 0, CP_SHAPE(n, SIDE, SIDE, 1));
    for (size_t i = 0; i < x->size; i++) x->data[i] = (cp_real)(pixels[i] / 127.5 - 1);
    cp_tensor *z = cp_net_forward(tape, model->net, x, CP_EVALUATION), *logits = cp_head_logits(tape, model->head, z);
    int        right = 0;
    for (size_t i = 0; i < z->size; i++) features[i] = (double)z->data[i];
    for (int i = 0; i < n; i++) right += cp_best_class(logits, i) == labels[i];
    cp_tape_free(tape);
    return right;
}

enum { FEATURES = 8 };

static void the_judge_sees_the_samples_as_they_are_written(void) {
    expect_ok(&cp_command_generate, "hybrid --per-class 2 --steps 5 --judge judge --out j1");
    cp_json   *found = result_of("j1");
    cp_npy     x = samples_of("j1/samples.npz", "images"), y = samples_of("j1/samples.npz", "labels");
    cp_images *images = cp_images_load("set.npz", &status);
    cp_model  *model = cp_model_load("judge/selected.safetensors", &status);
    double     a[2 * CLASSES * FEATURES], b[REST * FEATURES], frechet = 0, nearest = 0;
    int        right = features_of(model, x.data, (const int *)y.data, 2 * CLASSES, a);
    features_of(model, images->set->splits[CP_IMAGES_TEST].inputs, images->set->splits[CP_IMAGES_TEST].labels, REST, b);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 100.0 * right / (2 * CLASSES), number_at(found, "samples", "share"));
    /* Fewer samples than features: diagonal covariances. */
    for (int k = 0; k < FEATURES; k++) {
        double mean[2] = {0}, v[2] = {0};
        for (int i = 0; i < 2 * CLASSES; i++) mean[0] += a[i * FEATURES + k] / (2 * CLASSES);
        for (int i = 0; i < REST; i++) mean[1] += b[i * FEATURES + k] / REST;
        for (int i = 0; i < 2 * CLASSES; i++) v[0] += pow(a[i * FEATURES + k] - mean[0], 2) / (2 * CLASSES - 1);
        for (int i = 0; i < REST; i++) v[1] += pow(b[i * FEATURES + k] - mean[1], 2) / (REST - 1);
        frechet += pow(mean[0] - mean[1], 2) + pow(sqrt(v[0]) - sqrt(v[1]), 2);
    }
    for (int i = 0; i < 2 * CLASSES; i++) {
        double min = INFINITY;
        for (int t = 0; t < REST; t++) {
            double sum = 0;
            for (int k = 0; k < FEATURES; k++) sum += pow(a[i * FEATURES + k] - b[t * FEATURES + k], 2);
            min = fmin(min, sqrt(sum));
        }
        nearest += min / (2 * CLASSES);
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-3 * frechet, frechet, number_at(found, "samples", "frechet"));
    TEST_ASSERT_DOUBLE_WITHIN(1e-3 * nearest, nearest, number_at(found, "samples", "nearest"));
    TEST_ASSERT_TRUE(has_note(found, "Gaussians with diagonal covariances"));
    TEST_ASSERT_EQUAL_INT64(2 * CLASSES, (int64_t)number_at(found, "training", "n"));
    TEST_ASSERT_TRUE(number_at(found, "training", "frechet") < number_at(found, "samples", "frechet"));
    TEST_ASSERT_NOT_NULL(cp_json_get(found, "judge_table"));
    cp_json_free(found);
    cp_model_free(model);
    cp_images_free(images);
    cp_npy_free(&x);
    cp_npy_free(&y);
}

static void a_model_file_or_the_named_set_judges_the_same(void) {
    expect_ok(&cp_command_generate, "hybrid --per-class 4 --steps 5 --judge judge --out j2");
    expect_ok(&cp_command_generate,
              "hybrid --per-class 4 --steps 5 --judge judge/selected.safetensors --judge-set set.npz --out j3");
    cp_json *a = result_of("j2"), *b = result_of("j3");
    TEST_ASSERT_TRUE(has_note(a, "Gaussians with full covariances"));
    TEST_ASSERT_TRUE(number_at(a, "samples", "frechet") > 0 &&
                     number_at(a, "samples", "frechet") == number_at(b, "samples", "frechet"));
    TEST_ASSERT_TRUE(number_at(a, "test", "share") > 50 && number_at(a, "test", "share") == number_at(b, "test", "share"));
    cp_json_free(a);
    cp_json_free(b);
    expect_ok(&cp_command_generate, "hybrid --per-class 30 --steps 1 --judge judge --out j4"); /* a class has 20 training images */
    a = result_of("j4");
    TEST_ASSERT_EQUAL_INT64(20 * CLASSES, (int64_t)number_at(a, "training", "n"));
    cp_json_free(a);
}

/* Test images in place of samples: all, or only those of the first classes. */
static cp_judge judge_test_images(int n, int repeated) {
    cp_judge      judge = {0};
    cp_run_model *trained = cp_run_model_open("hybrid", CP_WEIGHTS_END, &status);
    TEST_ASSERT_TRUE_MESSAGE(cp_judge_open(&judge, "judge", NULL, trained, &status), status.message);
    const cp_split      *test = &judge.images->set->splits[CP_IMAGES_TEST];
    const unsigned char *from = test->inputs;
    unsigned char        pixels[2 * REST * SIDE * SIDE];
    int                  labels[2 * REST], count = 0;
    for (int i = 0; i < REST; i++)
        for (int k = 0; test->labels[i] < n && k < (test->labels[i] == 0 ? repeated : 1); k++, count++) {
            memcpy(pixels + count * SIDE * SIDE, from + i * SIDE * SIDE, SIDE * SIDE);
            labels[count] = test->labels[i];
        }
    TEST_ASSERT_TRUE_MESSAGE(cp_judge_measure(&judge, pixels, labels, count, 1, &status), status.message);
    cp_run_model_free(trained);
    return judge;
}

static void test_images_are_at_distance_0_from_themselves(void) {
    cp_judge judge = judge_test_images(CLASSES, 1), more = judge_test_images(CLASSES, 2);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 0, judge.of[CP_JUDGED_SAMPLES].frechet);
    TEST_ASSERT_TRUE(judge.of[CP_JUDGED_SAMPLES].nearest == 0);
    TEST_ASSERT_TRUE(judge.of[CP_JUDGED_SAMPLES].share == judge.of[CP_JUDGED_TEST].share);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, judge.of[CP_JUDGED_TEST].share, more.of[CP_JUDGED_SAMPLES].share);
    for (int k = 0; k < FEATURES; k++) /* a class counts the same with twice as many images */
        TEST_ASSERT_DOUBLE_WITHIN(1e-6, more.of[CP_JUDGED_TEST].mean[k], more.of[CP_JUDGED_SAMPLES].mean[k]);
    cp_judge_free(&judge);
    cp_judge_free(&more);
}

static void a_class_without_samples_has_no_share(void) {
    cp_judge         judge = judge_test_images(CLASSES - 1, 1);
    const cp_judged *samples = &judge.of[CP_JUDGED_SAMPLES];
    TEST_ASSERT_TRUE(isnan(samples->right[CLASSES - 1]) && samples->classes == CLASSES - 1);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, (samples->right[0] + samples->right[1]) / 2, samples->share);
    TEST_ASSERT_TRUE(samples->frechet > 0.01 && samples->nearest == 0);
    cp_judge_free(&judge);
}

static void judges_that_do_not_fit_are_refused(void) {
    const cp_command *g = &cp_command_generate;
    expect_refusal(g, "hybrid --judge of-five --out no", CP_EXIT_FAILED,
                   "of-five has 5 classes and images of 12 x 12 x 1; the samples have 3");
    expect_refusal(g, "hybrid --judge of-wide --out no", CP_EXIT_FAILED,
                   "of-wide has 3 classes and images of 16 x 16 x 1; the samples");
    expect_refusal(g, "hybrid --judge of-five/end.safetensors --out no", CP_EXIT_FAILED, "end has 5 classes");
    expect_refusal(g, "hybrid --judge judge --judge-set other.npz --out no", CP_EXIT_FAILED, "other has 5 classes");
    expect_refusal(g, "hybrid --judge judge --judge-set wide.npz --out no", CP_EXIT_FAILED,
                   "wide has 3 classes and images of 16 x 16");
    expect_refusal(g, "hybrid --judge nobody --out no", CP_EXIT_FAILED, "nobody");
    expect_refusal(g, "hybrid --judge-set set.npz --out no", CP_EXIT_FAILED, "--judge-set is given without --judge");
    TEST_ASSERT_EQUAL_INT(0, rename("set.npz", "moved.npz"));
    expect_refusal(g, "hybrid --judge judge --out no", CP_EXIT_FAILED, "give --judge-set DATA");
    expect_ok(g, "hybrid --per-class 2 --steps 5 --judge judge --judge-set moved.npz --out j5");
    rename("moved.npz", "set.npz");
    TEST_ASSERT_FALSE(there("no"));
    TEST_ASSERT_EQUAL_INT(0, rename("judge/selected.safetensors", "kept"));
    TEST_ASSERT_EQUAL_INT(0, rename("of-five/selected.safetensors", "judge/selected.safetensors"));
    expect_refusal(g, "hybrid --per-class 2 --steps 5 --judge judge --out j1", CP_EXIT_FAILED, "has 5 classes");
    rename("judge/end.safetensors", "judge/selected.safetensors");
    rename("kept", "judge/kept");
}

/* ---- impute ---- */

static cp_npy read_npy(const char *path) {
    cp_npy npy = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_read(path, &npy, &status), status.message);
    return npy;
}

static void write_npy(const char *path, cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_write(path, dtype, rank, dims, data, &status), status.message);
}

enum { FEW = 4 };

/* The first test images as bytes, and a mask of their left half. */
static void write_holes(unsigned char *pixels, unsigned char *mask) {
    unsigned char labels[FEW];
    cp_rng        rng = cp_rng_named(9, "holes");
    draw(pixels, labels, FEW, SIDE, 1, CLASSES, &rng);
    for (int p = 0; p < SIDE * SIDE; p++) mask[p] = p % SIDE < SIDE / 2;
    write_npy("x.npy", CP_U8, 3, (int64_t[]){FEW, SIDE, SIDE}, pixels);
    write_npy("mask.npy", CP_U8, 2, (int64_t[]){SIDE, SIDE}, mask);
}

/* Two values that are always equal, of variance v: given one value x, the other is mean + v / (v + grain^2) (x - mean). */
static void a_conditional_gaussian_shrinks_by_its_grain(void) {
    enum { POINTS = 50 };
    cp_real            points[POINTS][2], image[2] = {(cp_real)0.7, (cp_real)-0.9}, out[2];
    int                labels[POINTS] = {0};
    double             mean = 0, v = 0;
    cp_class_gaussian *gaussian = cp_class_gaussian_new((cp_class_gaussian_config){.classes = 1, .size = 2, .directions = POINTS});
    for (int i = 0; i < POINTS; i++) mean += (double)(points[i][0] = points[i][1] = (cp_real)(0.4 * sin(i))) / POINTS;
    for (int i = 0; i < POINTS; i++) v += pow((double)points[i][0] - mean, 2) / (POINTS - 1);
    TEST_ASSERT_TRUE(cp_class_gaussian_fit(gaussian, points[0], labels, POINTS));
    cp_conditional *conditional = cp_conditional_new(gaussian, 1);
    cp_conditional_set(conditional, (bool[]){false, true}, 1);
    cp_conditional_draw(conditional, image, NULL, out);
    double grain = CP_CONDITIONAL_GRAIN * CP_CONDITIONAL_GRAIN, want = mean + v / (v + grain) * (0.7 - mean), sum = 0, squares = 0;
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, want, (double)out[1]);
    cp_rng rng = cp_rng_named(1, "draws");
    enum { DRAWS = 4000 };
    for (int i = 0; i < DRAWS; i++) {
        cp_conditional_draw(conditional, image, &rng, out);
        sum += (double)out[1] / DRAWS;
        squares += pow((double)out[1] - want, 2) / DRAWS;
    }
    TEST_ASSERT_DOUBLE_WITHIN(0.02, want, sum);
    TEST_ASSERT_DOUBLE_WITHIN(0.1 * v * grain / (v + grain), v * grain / (v + grain), squares);
    cp_conditional_free(conditional);
    cp_class_gaussian_free(gaussian);
}

static void known_pixels_stay_and_the_error_is_that_of_the_file(void) {
    unsigned char pixels[FEW * SIDE * SIDE], mask[SIDE * SIDE];
    double        sum = 0;
    int           count = 0;
    write_holes(pixels, mask);
    expect_ok(&cp_command_impute, "hybrid x.npy --mask mask.npy --chains 3 --steps 4 --out i1");
    cp_npy filled = read_npy("i1/filled.npy");
    TEST_ASSERT_EQUAL_INT(CP_U8, filled.dtype);
    TEST_ASSERT_EQUAL_INT(3, filled.rank);
    TEST_ASSERT_TRUE(filled.size == sizeof pixels);
    for (size_t i = 0; i < filled.size; i++) {
        int got = ((const unsigned char *)filled.data)[i];
        if (!mask[i % (SIDE * SIDE)]) {
            TEST_ASSERT_EQUAL_INT(pixels[i], got);
        } else {
            sum += pow((got - pixels[i]) / 127.5, 2);
            count++;
        }
    }
    cp_npy_free(&filled);
    cp_json       *found = result_of("i1");
    const cp_json *rmse = cp_json_get(found, "rmse");
    TEST_ASSERT_DOUBLE_WITHIN(5e-3, sqrt(sum / count), cp_json_number(cp_json_get(rmse, "filled"), NAN)); /* rounded to bytes */
    TEST_ASSERT_TRUE(isfinite(cp_json_number(cp_json_get(rmse, "mean_filling"), NAN)));
    cp_json_free(found);
    TEST_ASSERT_TRUE(there("i1/filled.png"));
}

static void nan_pixels_are_missing_without_a_mask_and_have_no_true_value(void) {
    float  x[FEW * SIDE * SIDE];
    size_t all = sizeof x / sizeof *x;
    for (size_t i = 0; i < all; i++)
        x[i] = i % 7 == 0 ? NAN : (float)(127.3 + 127.3 * sin((double)i)); /* pixels, as in the training */
    write_npy("nan.npy", CP_F32, 4, (int64_t[]){FEW, SIDE, SIDE, 1}, x);
    expect_ok(&cp_command_impute, "hybrid nan.npy --steps 2 --chains 1 --start gaussian --out i2");
    cp_npy filled = read_npy("i2/filled.npy");
    TEST_ASSERT_EQUAL_INT(CP_F32, filled.dtype);
    for (size_t i = 0; i < all; i++) {
        float got = ((const float *)filled.data)[i];
        TEST_ASSERT_TRUE(isfinite(got) && got >= 0 && got <= 255);
        if (!isnan(x[i])) TEST_ASSERT_EQUAL_FLOAT(x[i], got);
    }
    cp_npy_free(&filled);
    cp_json *found = result_of("i2");
    TEST_ASSERT_NULL(cp_json_get(found, "rmse"));
    TEST_ASSERT_TRUE(has_note(found, "no error can be measured"));
    cp_json_free(found);
}

static void images_without_known_pixels_are_filled_with_a_note(void) {
    unsigned char pixels[FEW * SIDE * SIDE], mask[FEW * SIDE * SIDE] = {0};
    write_holes(pixels, mask);
    memset(mask, 0, sizeof mask);
    memset(mask, 1, SIDE * SIDE);
    write_npy("each.npy", CP_U8, 3, (int64_t[]){FEW, SIDE, SIDE}, mask);
    expect_ok(&cp_command_impute, "hybrid x.npy --mask each.npy --steps 2 --chains 2 --out i3");
    cp_json *found = result_of("i3");
    TEST_ASSERT_TRUE(has_note(found, "1 images have no known pixel"));
    TEST_ASSERT_TRUE(has_note(found, "3 images have no missing pixel"));
    cp_json_free(found);
    expect_ok(&cp_command_impute, "hybrid --from-set set.npz --count 5 --hole random --steps 2 --chains 1 --out i4");
    expect_ok(&cp_command_impute, "jem --from-set set.npz --count 1 --hole half --steps 1 --chains 1 --out i5");
}

static void images_and_masks_that_do_not_match_are_refused(void) {
    const cp_command *i = &cp_command_impute;
    unsigned char     pixels[FEW * SIDE * SIDE], mask[SIDE * SIDE];
    float             far[SIDE * SIDE] = {0};
    write_holes(pixels, mask);
    expect_refusal(i, "hybrid x.npy --mask x.npy --out no", CP_EXIT_FAILED, "a mask has 1 where a pixel is missing");
    write_npy("short.npy", CP_U8, 2, (int64_t[]){SIDE, SIDE - 1}, mask);
    expect_refusal(i, "hybrid x.npy --mask short.npy --out no", CP_EXIT_FAILED, "one for all, is expected");
    memset(mask, 0, sizeof mask);
    write_npy("none.npy", CP_U8, 2, (int64_t[]){SIDE, SIDE}, mask);
    expect_refusal(i, "hybrid x.npy --mask none.npy --out no", CP_EXIT_FAILED, "no pixel is missing");
    expect_refusal(i, "hybrid x.npy --out no", CP_EXIT_FAILED, "no pixel is missing");
    expect_refusal(i, "hybrid mask.npy --mask mask.npy --out no", CP_EXIT_FAILED, "the model's images are (N, 12, 12, 1)");
    write_npy("empty.npy", CP_U8, 3, (int64_t[]){0, SIDE, SIDE}, pixels);
    expect_refusal(i, "hybrid empty.npy --mask mask.npy --out no", CP_EXIT_FAILED, "holds no images");
    for (int p = 0; p < SIDE * SIDE; p++) far[p] = (float)p / (SIDE * SIDE);
    write_npy("far.npy", CP_F32, 3, (int64_t[]){1, SIDE, SIDE}, far); /* was taken as [-1, 1] */
    expect_refusal(
        i, "hybrid far.npy --mask mask.npy --out no", CP_EXIT_FAILED,
        "far.npy has float32 from 0 to 0.993056; the model was trained on uint8, of which 0 becomes -1 and 255 becomes 1");
    for (int p = 0; p < SIDE * SIDE; p++) far[p] = (float)p;
    far[SIDE + 2] = NAN;
    write_npy("far.npy", CP_F32, 3, (int64_t[]){1, SIDE, SIDE}, far);
    expect_refusal(i, "hybrid far.npy --mask none.npy --out no", CP_EXIT_FAILED, "a NaN at row 1, column 2");
    expect_refusal(i, "hybrid --from-set color.npz --out no", CP_EXIT_FAILED, "the model's have (12, 12, 1)");
    expect_refusal(i, "hybrid --from-set set.npz --count 31 --out no", CP_EXIT_FAILED, "the test split has 30");
    expect_refusal(i, "hybrid --out no", CP_EXIT_USAGE, "give IMAGES.npy");
    expect_refusal(i, "hybrid x.npy --from-set set.npz --out no", CP_EXIT_USAGE, "not both");
    expect_refusal(i, "hybrid --from-set set.npz --mask mask.npy --out no", CP_EXIT_USAGE, "takes no --mask");
    expect_refusal(i, "softmax x.npy --mask mask.npy --out no", CP_EXIT_FAILED, "has no energies");
    TEST_ASSERT_FALSE(there("no"));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(make_small_runs);
    RUN_TEST(samples_have_the_shape_of_the_images_and_their_class);
    RUN_TEST(chains_start_from_noise_or_the_buffer_too);
    RUN_TEST(generating_without_energies_or_chains_is_refused);
    RUN_TEST(the_distance_between_gaussians_is_that_of_the_formula);
    RUN_TEST(many_features_on_the_same_axes_are_compared_one_by_one);
    RUN_TEST(make_judges);
    RUN_TEST(the_judge_sees_the_samples_as_they_are_written);
    RUN_TEST(a_model_file_or_the_named_set_judges_the_same);
    RUN_TEST(test_images_are_at_distance_0_from_themselves);
    RUN_TEST(a_class_without_samples_has_no_share);
    RUN_TEST(judges_that_do_not_fit_are_refused);
    RUN_TEST(a_conditional_gaussian_shrinks_by_its_grain);
    RUN_TEST(known_pixels_stay_and_the_error_is_that_of_the_file);
    RUN_TEST(nan_pixels_are_missing_without_a_mask_and_have_no_true_value);
    RUN_TEST(images_without_known_pixels_are_filled_with_a_note);
    RUN_TEST(images_and_masks_that_do_not_match_are_refused);
    remove_small_runs();
    return UNITY_END();
}
