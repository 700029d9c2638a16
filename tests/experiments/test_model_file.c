/* A model's file says how its inputs become numbers, what its classes are called, how sure it is and what it was trained on; the commands
 * go by that, and not by the files that they are given. */
#include "core/io/file.h"
#include "core/io/png.h"
#include "core/io/safetensors.h"
#include "models/predict.h"
#include "tests/experiments/small_runs.h"

#include <sys/stat.h>

enum { ALL = TRAIN + 2 * REST, VALUES = SIDE * SIDE };

/* What a pixel of 0 and of 255 is in a version of set.npz. */
typedef struct version {
    const char *name;
    double      low, high;
} version;
static const version versions[] = {{"unit", 0, 1}, {"sign", -1, 1}, {"score", -2.25, 3.5}};
enum { VERSIONS = 3 };

static cp_npy read_array(const char *set, const char *name) {
    cp_npy  npy = {0};
    cp_npz *npz = cp_npz_open(set, &status);
    TEST_ASSERT_TRUE_MESSAGE(npz && cp_npz_read(npz, name, &npy, &status), status.message);
    cp_npz_close(npz);
    return npy;
}

static float as(const version *v, unsigned char pixel) { return (float)(v->low + (v->high - v->low) * pixel / 255); }

/* Splits by their names' first letters: "rvt" is all. One pixel of the first split is odd, unless `odd` is 0. */
static void write_version(const char *path, const version *v, const char *splits, float odd) {
    static const char *const names[] = {"train", "val", "test"};
    cp_npz_writer           *npz = cp_npz_writer_new(path, &status);
    cp_npy                   pixels[3] = {{0}}, labels[3] = {{0}};
    float                   *own[3] = {NULL};
    for (int s = 0; s < 3; s++) {
        char images[40], classes[40];
        if (!strchr(splits, "rvt"[s])) continue;
        snprintf(images, sizeof images, "%s_images", names[s]);
        snprintf(classes, sizeof classes, "%s_labels", names[s]);
        pixels[s] = read_array("set.npz", images);
        labels[s] = read_array("set.npz", classes);
        own[s] = malloc(pixels[s].size * sizeof *own[s]);
        for (size_t i = 0; i < pixels[s].size; i++) own[s][i] = as(v, ((const unsigned char *)pixels[s].data)[i]);
        if (odd != 0 && s == 0) own[s][5] = odd;
        cp_npz_writer_add(npz, images, CP_F32, pixels[s].rank, pixels[s].dims, own[s]);
        cp_npz_writer_add(npz, classes, CP_U8, labels[s].rank, labels[s].dims, labels[s].data);
    }
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(npz, &status), status.message);
    for (int s = 0; s < 3; s++) cp_npy_free(&pixels[s]), cp_npy_free(&labels[s]), free(own[s]);
}

static void make_versions(void) {
    make_small_runs();
    for (const version *v = versions; v < versions + VERSIONS; v++) {
        char words[300];
        snprintf(words, sizeof words, "%s.npz", v->name);
        write_version(words, v, "rvt", 0);
        snprintf(words, sizeof words, "%s.npz " SMALL "--out %s", v->name, v->name);
        expect_ok(&cp_command_train, words);
    }
}

/* ---- what the file says ---- */

static void a_trained_model_says_how_it_was_trained(void) {
    cp_images *images = cp_images_load("score.npz", &status);
    cp_json   *found = result_of("score");
    for (int end = 0; end < 2; end++) {
        cp_model *model = cp_model_load(end ? "score/end.safetensors" : "score/selected.safetensors", &status);
        TEST_ASSERT_NOT_NULL_MESSAGE(model, status.message);
        const cp_about *about = &model->about;
        TEST_ASSERT_EQUAL_INT(CP_F32, about->input.dtype);
        TEST_ASSERT_TRUE(about->input.low == images->low && about->input.high == images->high && about->input.low < -1);
        TEST_ASSERT_EQUAL_INT(3, about->input.shape.rank);
        TEST_ASSERT_TRUE(about->input.shape.dims[0] == SIDE && about->input.shape.dims[2] == 1);
        TEST_ASSERT_EQUAL_STRING("score", about->data);
        TEST_ASSERT_EQUAL_STRING(images->md5, about->md5);
        TEST_ASSERT_EQUAL_STRING(CP_VERSION, about->version);
        TEST_ASSERT_NULL(about->class_names);
        TEST_ASSERT_TRUE(about->temperature > 0);
        if (!end) TEST_ASSERT_EQUAL_DOUBLE(cp_json_number(cp_json_get(found, "temperature"), 0), about->temperature);
        cp_model_free(model);
    }
    cp_json_free(found);
    cp_images_free(images);
}

static cp_model *tiny_model(void) {
    cp_rng rng = cp_rng_named(3, "model");
    return cp_model_new((cp_model_config){.model = "mlp", .classes = 2, .mlp = {.sizes = {4, 8}}}, &rng);
}

static void a_program_sets_what_is_saved_and_loaded(void) {
    cp_about about = {.input = {CP_U16, 0, 4095, CP_SHAPE(4)}, .temperature = 1.5, .data = "mine", .md5 = "0123"};
    char     first[8] = "round",
         *names[] = {first, "a, \"b\", with a name longer than messages show: a cell of the blood, round, dark, without grains"};
    cp_model *model = tiny_model();
    about.class_names = (const char *const *)names;
    TEST_ASSERT_TRUE_MESSAGE(cp_model_about_set(model, &about, &status), status.message);
    first[0] = '?'; /* it has been copied */
    TEST_ASSERT_TRUE_MESSAGE(cp_model_save(model, "tiny.safetensors", &status), status.message);
    cp_model_free(model);
    model = cp_model_load("tiny.safetensors", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(model, status.message);
    TEST_ASSERT_EQUAL_STRING("round", model->about.class_names[0]);
    TEST_ASSERT_EQUAL_STRING(names[1], model->about.class_names[1]);
    TEST_ASSERT_TRUE(model->about.input.dtype == CP_U16 && model->about.input.high == 4095 && model->about.temperature == 1.5);
    TEST_ASSERT_EQUAL_STRING("0123", model->about.md5);
    about.input.high = -1;
    about.input.low = -2; /* a range that is in order */
    names[1] = "\033[2J";
    TEST_ASSERT_FALSE(cp_model_about_set(model, &about, &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "\"classes\""), status.message);
    cp_model_free(model);
}

/* Writes model.safetensors again with other metadata `about`, or none. */
static void write_about(const char *from, const char *about, const char *to) {
    cp_safetensors *file = cp_st_read(from, &status);
    cp_st_writer   *w = cp_st_writer_new();
    TEST_ASSERT_NOT_NULL_MESSAGE(file, status.message);
    cp_st_writer_metadata(w, "couplet", cp_st_metadata(file, "couplet"));
    if (about) cp_st_writer_metadata(w, "about", about);
    for (size_t i = 0; i < cp_st_count(file); i++) {
        const cp_st_entry *e = cp_st_entry_at(file, i);
        cp_st_writer_add(w, e->name, e->dtype, e->rank, e->dims, e->data);
    }
    TEST_ASSERT_TRUE_MESSAGE(cp_st_writer_save(w, to, &status), status.message);
    cp_st_writer_free(w);
    cp_st_free(file);
}

static void a_file_that_says_nothing_of_itself_is_loaded_and_a_wrong_one_refused(void) {
    static const char *const wrong[][2] = {
        {"[]", "\"{\""},
        {"{\"input\":{\"type\":\"float12\"}}", "\"input\""},
        {"{\"input\":{\"type\":\"uint8\",\"range\":[1,0]}}", "\"input\""},
        {"{\"input\":{\"type\":\"uint8\",\"range\":[0,1,2]}}", "\"input\""},
        {"{\"input\":{\"type\":\"uint8\",\"shape\":[3,0]}}", "\"input\""},
        {"{\"input\":{\"type\":\"uint8\",\"shape\":[1,1,1,1,1]}}", "\"input\""},
        {"{\"classes\":[\"one\"]}", "\"classes\""},
        {"{\"classes\":[1,2]}", "\"classes\""},
        {"{\"temperature\":-1}", "\"temperature\""},
        {"{\"temperature\":\"warm\"}", "\"temperature\""},
        {"{\"data\":{\"name\":\"\\u001b\"}}", "\"data\""},
        {"{", "metadata \"about\""},
    };
    write_about("tiny.safetensors", NULL, "old.safetensors");
    cp_model *model = cp_model_load("old.safetensors", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(model, status.message);
    TEST_ASSERT_TRUE(!model->about.version && !model->about.class_names && model->about.input.low == model->about.input.high);
    cp_model_free(model);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        status = (cp_status){0};
        write_about("tiny.safetensors", wrong[i][0], "wrong.safetensors");
        TEST_ASSERT_NULL_MESSAGE(cp_model_load("wrong.safetensors", &status), wrong[i][0]);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, wrong[i][1]), status.message);
    }
    write_about("tiny.safetensors", "{\"later\":[1,{}],\"temperature\":2}", "later.safetensors");
    model = cp_model_load("later.safetensors", &status);
    TEST_ASSERT_TRUE_MESSAGE(model && model->about.temperature == 2, status.message);
    cp_model_free(model);
}

static void a_run_of_an_older_version_has_the_temperature_of_its_result(void) {
    TEST_ASSERT_EQUAL_INT(0, rename("jem/selected.safetensors", "kept.safetensors"));
    write_about("kept.safetensors", NULL, "jem/selected.safetensors");
    cp_run_model *trained = cp_run_model_open("jem", CP_WEIGHTS_SELECTED, &status);
    cp_json      *found = result_of("jem");
    TEST_ASSERT_NOT_NULL_MESSAGE(trained, status.message);
    TEST_ASSERT_EQUAL_DOUBLE(cp_json_number(cp_json_get(found, "temperature"), 0), trained->temperature);
    TEST_ASSERT_EQUAL_INT(SIDE, trained->shape.dims[1]);
    cp_json_free(found);
    cp_run_model_free(trained);
    expect_ok(&cp_command_evaluate, "jem unit.npz --out jem-unit"); /* then the file's own range counts, as it did */
    TEST_ASSERT_EQUAL_INT(0, rename("kept.safetensors", "jem/selected.safetensors"));
}

/* ---- the range ---- */

static double nll_of(const char *folder) {
    cp_json *found = result_of(folder);
    double   nll = cp_json_number(cp_json_get(cp_json_get(cp_json_get(found, "metrics"), "plain"), "nll"), NAN);
    cp_json_free(found);
    return nll;
}

static void one_odd_pixel_changes_nothing_but_is_told(void) {
    char words[300];
    for (const version *v = versions; v < versions + VERSIONS; v++) {
        write_version("odd.npz", v, "rvt", 1000);
        snprintf(words, sizeof words, "%s %s.npz --out plain-%s", v->name, v->name, v->name);
        expect_ok(&cp_command_evaluate, words);
        snprintf(words, sizeof words, "%s odd.npz --out odd-%s", v->name, v->name);
        expect_ok(&cp_command_evaluate, words);
        snprintf(words, sizeof words, "odd-%s", v->name);
        cp_json *found = result_of(words);
        TEST_ASSERT_TRUE(has_note(found, "Warning: 1 of the 8640 values of train_images lie beyond the range of the training"));
        TEST_ASSERT_TRUE(has_note(found, "; odd is another set"));
        cp_json_free(found);
        double odd = nll_of(words);
        snprintf(words, sizeof words, "plain-%s", v->name);
        TEST_ASSERT_EQUAL_DOUBLE(nll_of(words), odd);
    }
}

static void other_numbers_than_those_of_the_training_are_refused(void) {
    const cp_command *e = &cp_command_evaluate;
    expect_refusal(e, "unit set.npz --out no", CP_EXIT_FAILED, "train_images has uint8 from ");
    expect_refusal(
        e, "unit set.npz --out no", CP_EXIT_FAILED,
        "the model was trained on float32, of which 0 becomes -1 and 1 becomes 1. Give it numbers as those of its training");
    expect_refusal(e, "unit phantom --out no", CP_EXIT_FAILED, "has uint8 from ");
    expect_refusal(e, "hybrid unit.npz --out no", CP_EXIT_FAILED, "the model was trained on uint8, of which 0 becomes -1 and 255");
    expect_refusal(e, "hybrid sign.npz --out no", CP_EXIT_FAILED, "the model was trained on uint8, of which 0 becomes -1 and 255");
    expect_refusal(e, "unit sign.npz --out no", CP_EXIT_FAILED, "train_images has float32 from -0.");
    expect_refusal(e, "hybrid set.npz --ood unit.npz --out no", CP_EXIT_FAILED, "train_images has float32 from 0.");
    expect_ok(e, "sign unit.npz --out narrow");
    cp_json *found = result_of("narrow");
    TEST_ASSERT_TRUE(has_note(found, "Warning: train_images has only float32 from 0.1"));
    cp_json_free(found);
    expect_ok(e, "score unit.npz --out narrower");
    found = result_of("narrower");
    TEST_ASSERT_TRUE(has_note(found, "Are these the same units?"));
    cp_json_free(found);
    TEST_ASSERT_FALSE(there("no"));
}

/* ---- other sets ---- */

static void a_cohort_with_nothing_but_test_images_is_evaluated(void) {
    write_version("cohort.npz", &versions[2], "t", 0);
    expect_ok(&cp_command_evaluate, "score cohort.npz --out cohort");
    cp_json *found = result_of("cohort"), *all = result_of("plain-score");
    expect_same_metrics(cp_json_get(cp_json_get(all, "metrics"), "scaled"), cp_json_get(cp_json_get(found, "metrics"), "scaled"));
    cp_json_free(found);
    cp_json_free(all);
    expect_refusal(&cp_command_evaluate, "score cohort.npz --split val --out no", CP_EXIT_FAILED, "has no images in its val split");
    expect_refusal(&cp_command_train, "cohort.npz --out no", CP_EXIT_FAILED, "has no array train_images");
}

static void all_splits_are_evaluated_at_once(void) {
    double sum = 0, n[3], one[3];
    expect_ok(&cp_command_evaluate, "hybrid set.npz --split all --out all");
    for (int s = 0; s < 3; s++) {
        char words[100];
        snprintf(words, sizeof words, "hybrid set.npz --split %s --out all-%d", cp_images_splits[s], s);
        expect_ok(&cp_command_evaluate, words);
        snprintf(words, sizeof words, "all-%d", s);
        one[s] = nll_of(words);
        n[s] = s ? REST : TRAIN;
        sum += n[s] * one[s] / ALL;
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, sum, nll_of("all"));
}

static void images_without_labels_cannot_be_evaluated(void) {
    cp_npy         images = read_array("set.npz", "test_images");
    cp_npz_writer *npz = cp_npz_writer_new("bare.npz", &status);
    cp_npz_writer_add(npz, "test_images", CP_U8, images.rank, images.dims, images.data);
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(npz, &status), status.message);
    cp_npy_free(&images);
    expect_refusal(&cp_command_evaluate, "hybrid bare.npz --out no", CP_EXIT_FAILED, "has no label; couplet predict needs none");
}

static void images_of_another_size_are_evaluated_with_a_warning(void) {
    cp_npy         images = read_array("set.npz", "test_images"), labels = read_array("set.npz", "test_labels");
    cp_npz_writer *npz = cp_npz_writer_new("wide.npz", &status);
    images.dims[0] /= 2, images.dims[2] *= 2, labels.dims[0] /= 2;
    cp_npz_writer_add(npz, "test_images", CP_U8, images.rank, images.dims, images.data);
    cp_npz_writer_add(npz, "test_labels", CP_U8, labels.rank, labels.dims, labels.data);
    TEST_ASSERT_TRUE_MESSAGE(cp_npz_writer_commit(npz, &status), status.message);
    cp_npy_free(&images), cp_npy_free(&labels);
    expect_ok(&cp_command_evaluate, "hybrid wide.npz --out wide");
    cp_json *found = result_of("wide");
    TEST_ASSERT_TRUE(
        has_note(found, "Warning: wide: an input has shape (12, 24, 1); the model was trained on inputs of shape (12, 12, 1)"));
    cp_json_free(found);
}

static void other_class_names_are_told(void) {
    expect_ok(&cp_command_train, "phantom " SMALL "--method softmax --out cells");
    cp_model *model = cp_model_load("cells/end.safetensors", &status);
    TEST_ASSERT_EQUAL_STRING("band", model->about.class_names[3]);
    cp_about about = model->about;
    about.class_names = (const char *const[]){"round", "two lobes", "line", "band"};
    TEST_ASSERT_TRUE(cp_model_about_set(model, &about, &status) && cp_model_save(model, "others.safetensors", &status));
    cp_model_free(model);
    cp_images *phantom = cp_images_load("phantom", &status);
    TEST_ASSERT_TRUE_MESSAGE(cp_images_write(phantom, "phantom.npz", &status), status.message);
    cp_images_free(phantom);
    expect_ok(&cp_command_evaluate, "others.safetensors phantom --out others");
    cp_json *found = result_of("others");
    TEST_ASSERT_TRUE(
        has_note(found, "Warning: the model was trained for other classes than those of phantom: class 2 is \"line\", not"));
    cp_json_free(found);
}

/* ---- generate and impute ---- */

static void samples_and_filled_images_are_in_the_units_of_the_training(void) {
    const version *v = &versions[2];
    unsigned char  mask[VALUES] = {1, 1};
    double         low = INFINITY;
    expect_ok(&cp_command_generate, "score --per-class 2 --steps 2 --out samples");
    cp_npy samples = read_array("samples/samples.npz", "images"), given = read_array("score.npz", "test_images");
    TEST_ASSERT_EQUAL_INT(CP_F32, samples.dtype);
    for (size_t i = 0; i < samples.size; i++) low = fmin(low, (double)((const float *)samples.data)[i]);
    TEST_ASSERT_TRUE(low < -1.2 && low >= v->low);
    TEST_ASSERT_TRUE(cp_npy_write("given.npy", CP_F32, 3, given.dims, given.data, &status));
    TEST_ASSERT_TRUE(cp_npy_write("mask.npy", CP_U8, 2, (int64_t[]){SIDE, SIDE}, mask, &status));
    expect_ok(&cp_command_impute, "score given.npy --mask mask.npy --steps 1 --alpha 1e-9 --noise 0 --chains 1 --out filled");
    cp_npy filled = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_npy_read("filled/filled.npy", &filled, &status), status.message);
    TEST_ASSERT_EQUAL_INT(CP_F32, filled.dtype);
    for (size_t i = 0; i < filled.size; i++)
        if (i % VALUES > 1) TEST_ASSERT_EQUAL_MEMORY((const float *)given.data + i, (const float *)filled.data + i, sizeof(float));
    TEST_ASSERT_TRUE(((const float *)filled.data)[0] < -0.5f); /* background, as its neighbors */
    expect_refusal(&cp_command_impute, "unit given.npy --mask mask.npy --out no", CP_EXIT_FAILED, "given.npy has float32 from -1");
    cp_npy_free(&samples), cp_npy_free(&given), cp_npy_free(&filled);
}

/* ---- predict ---- */

static char *text_of(const char *path) {
    cp_bytes bytes = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(path, SIZE_MAX, &bytes, &status) && cp_bytes_append(&bytes, "", 1), status.message);
    return (char *)bytes.data;
}

/* Line `number`, from 0, of the text, without its end, behind its `skip` first cells. */
static const char *line_of(const char *text, int number, int skip) {
    static char line[2][400];
    static int  turn;
    turn = !turn;
    while (number--) text = strchr(text, '\n') + 1;
    while (skip--) text = strchr(text, ',') + 1;
    snprintf(line[turn], sizeof line[turn], "%.*s", (int)strcspn(text, "\n"), text);
    return line[turn];
}

static void predict_writes_what_evaluate_writes(void) {
    char words[300];
    for (int v = -1; v < VERSIONS; v++) {
        const char *run = v < 0 ? "hybrid" : versions[v].name, *set = v < 0 ? "set" : versions[v].name;
        snprintf(words, sizeof words, "%s %s.npz --out csv-%d", run, set, v);
        expect_ok(&cp_command_evaluate, words);
        snprintf(words, sizeof words, "%s %s.npz --out p.csv", run, set);
        expect_ok(&cp_command_predict, words);
        snprintf(words, sizeof words, "csv-%d/predictions.csv", v);
        char *evaluated = text_of(words), *predicted = text_of("p.csv");
        TEST_ASSERT_EQUAL_STRING(evaluated, predicted);
        TEST_ASSERT_EQUAL_STRING("row,class,p_0,p_1,p_2,energy,density", line_of(predicted, 0, 0));
        free(evaluated), free(predicted);
    }
    expect_ok(&cp_command_evaluate, "softmax set.npz --weights end --split all --out csv-end");
    expect_ok(&cp_command_predict, "softmax set.npz --weights end --split all --out p.csv");
    char *predicted = text_of("p.csv"), *evaluated = text_of("csv-end/predictions.csv");
    TEST_ASSERT_EQUAL_STRING("file,row,class,p_0,p_1,p_2", line_of(predicted, 0, 0)); /* three arrays */
    for (int i = 0; i < ALL; i++) TEST_ASSERT_EQUAL_STRING(line_of(evaluated, i + 1, 1), line_of(predicted, i + 1, 2));
    TEST_ASSERT_EQUAL_STRING_LEN("set.npz,0,", line_of(predicted, TRAIN + 1, 0), 10); /* the first of val */
    free(predicted), free(evaluated);
}

static void write_picture(const char *path, const unsigned char *pixels, int side, int channels) {
    cp_bytes out = {0};
    cp_image image = {side, side, channels, pixels};
    TEST_ASSERT_TRUE_MESSAGE(cp_png_encode(&image, &out, &status) && cp_file_write(path, out.data, out.size, &status),
                             status.message);
    cp_bytes_free(&out);
}

static void pictures_are_predicted_one_by_one_or_by_the_folder(void) {
    enum { FEW = 5 };
    cp_npy images = read_array("set.npz", "test_images");
    char   path[40];
    TEST_ASSERT_EQUAL_INT(0, mkdir("pictures", 0700));
    for (int i = 0; i < FEW; i++) {
        unsigned char        colors[VALUES * 3];
        const unsigned char *pixels = (const unsigned char *)images.data + i * VALUES;
        for (int p = 0; p < VALUES * 3; p++) colors[p] = pixels[p / 3];
        snprintf(path, sizeof path, "pictures/%d.png", i);
        write_picture(path, pixels, SIDE, 1);
        snprintf(path, sizeof path, "color-%d.png", i);
        write_picture(path, colors, SIDE, 3);
    }
    cp_npy_free(&images);
    TEST_ASSERT_TRUE(cp_file_write("pictures/notes.txt", "x", 1, &status));
    expect_ok(&cp_command_predict, "hybrid set.npz --out p.csv");
    expect_ok(&cp_command_predict, "hybrid pictures --out folder.csv");
    expect_ok(&cp_command_predict, "hybrid pictures/0.png pictures/1.png --out two.csv");
    char *expected = text_of("p.csv"), *folder = text_of("folder.csv"), *two = text_of("two.csv");
    TEST_ASSERT_EQUAL_STRING("file,class,p_0,p_1,p_2,energy,density", line_of(folder, 0, 0));
    for (int i = 0; i < FEW; i++) TEST_ASSERT_EQUAL_STRING(line_of(expected, i + 1, 1), line_of(folder, i + 1, 1));
    TEST_ASSERT_EQUAL_STRING_LEN("pictures/4.png,", line_of(folder, FEW, 0), 15);
    for (int i = 0; i < 3; i++) TEST_ASSERT_EQUAL_STRING(line_of(folder, i, 0), line_of(two, i, 0));
    free(expected), free(folder), free(two);
    const cp_command *p = &cp_command_predict;
    expect_refusal(p, "hybrid color-0.png --out no", CP_EXIT_FAILED,
                   "an input has shape (12, 12, 3); this model takes (N, H, W, 1)");
    expect_refusal(p, "hybrid pictures/notes.txt --out no", CP_EXIT_FAILED, "pictures/notes.txt");
    expect_refusal(p, "unit pictures --out no", CP_EXIT_FAILED, "has uint8 from ");
    TEST_ASSERT_EQUAL_INT(0, mkdir("empty", 0700));
    expect_refusal(p, "hybrid empty --out no", CP_EXIT_FAILED, "empty: there is no PNG, PGM or PPM file");
    unsigned char large[(SIDE + 1) * (SIDE + 1)] = {0};
    write_picture("large.png", large, SIDE + 1, 1);
    expect_refusal(p, "hybrid pictures/0.png large.png --out no", CP_EXIT_FAILED,
                   "large.png is a picture (13, 13, 1) of uint8; pictures/0.png is (12, 12, 1) of uint8. Pictures of one size");
    TEST_ASSERT_FALSE(there("no"));
}

static void gray_pictures_fit_a_model_of_colors(void) {
    expect_ok(&cp_command_train, "color.npz " SMALL "--method softmax --out color");
    expect_ok(&cp_command_predict, "color pictures/0.png --out gray.csv");
    expect_ok(&cp_command_predict, "color color-0.png --out color.csv");
    char *gray = text_of("gray.csv"), *color = text_of("color.csv");
    TEST_ASSERT_EQUAL_STRING(line_of(color, 1, 1), line_of(gray, 1, 1));
    free(gray), free(color);
}

static void only_the_most_probable_classes_are_written_with_top(void) {
    expect_ok(&cp_command_predict, "hybrid set.npz --top 2 --out top.csv");
    expect_ok(&cp_command_predict, "hybrid set.npz --out p.csv");
    char *top = text_of("top.csv"), *all = text_of("p.csv");
    TEST_ASSERT_EQUAL_STRING("row,class_1,p_1,class_2,p_2,energy,density", line_of(top, 0, 0));
    for (int i = 1; i <= REST; i++) {
        double p[3], first, second;
        int    best, next, label;
        TEST_ASSERT_EQUAL_INT(4, sscanf(line_of(top, i, 1), "%d,%lf,%d,%lf", &best, &first, &next, &second));
        TEST_ASSERT_EQUAL_INT(4, sscanf(line_of(all, i, 1), "%d,%lf,%lf,%lf", &label, &p[0], &p[1], &p[2]));
        TEST_ASSERT_TRUE(label == best && p[best] == first && p[next] == second && first >= second);
        TEST_ASSERT_TRUE(second >= p[3 - best - next]);
        TEST_ASSERT_EQUAL_STRING(line_of(all, i, 5), line_of(top, i, 5));
    }
    free(top), free(all);
}

static void json_has_the_same_numbers(void) {
    expect_ok(&cp_command_predict, "others.safetensors phantom.npz --out p.json");
    expect_ok(&cp_command_predict, "others.safetensors phantom.npz --top 1 --out top.json");
    expect_ok(&cp_command_predict, "others.safetensors phantom.npz --out p.csv");
    cp_json       *found = cp_json_read("p.json", &status), *top = cp_json_read("top.json", &status);
    char          *csv = text_of("p.csv"), cell[100];
    const cp_json *first = cp_json_at(cp_json_get(found, "predictions"), 0), *best = cp_json_at(cp_json_get(top, "predictions"), 0);
    TEST_ASSERT_EQUAL_STRING("row,class,p_round,p_two lobes,p_line,p_band", line_of(csv, 0, 0));
    snprintf(cell, sizeof cell, "0,%s,%.9g,", cp_json_string(cp_json_get(first, "class"), ""),
             cp_json_number(cp_json_at(cp_json_get(first, "p"), 0), NAN));
    TEST_ASSERT_EQUAL_STRING_LEN(cell, line_of(csv, 1, 0), strlen(cell));
    TEST_ASSERT_EQUAL_STRING(cp_json_string(cp_json_get(first, "class"), ""),
                             cp_json_string(cp_json_at(cp_json_get(best, "classes"), 0), "?"));
    TEST_ASSERT_EQUAL_INT(1, (int)cp_json_get(best, "p")->count);
    cp_json_free(found), cp_json_free(top), free(csv);
}

static void an_npz_without_a_split_needs_one_array_of_inputs(void) {
    cp_npy         images = read_array("set.npz", "test_images");
    cp_npz_writer *npz = cp_npz_writer_new("any.npz", &status);
    cp_npz_writer_add(npz, "ids", CP_U8, 1, images.dims, images.data);
    cp_npz_writer_add(npz, "images", CP_U8, images.rank, images.dims, images.data);
    TEST_ASSERT_TRUE(cp_npz_writer_commit(npz, &status));
    expect_ok(&cp_command_predict, "hybrid any.npz --out any.csv");
    expect_ok(&cp_command_predict, "hybrid set.npz --out p.csv");
    char *any = text_of("any.csv"), *expected = text_of("p.csv");
    TEST_ASSERT_EQUAL_STRING(expected, any);
    free(any), free(expected);
    npz = cp_npz_writer_new("two.npz", &status);
    cp_npz_writer_add(npz, "train_images", CP_U8, images.rank, images.dims, images.data);
    cp_npz_writer_add(npz, "val_images", CP_U8, images.rank, images.dims, images.data);
    TEST_ASSERT_TRUE(cp_npz_writer_commit(npz, &status));
    expect_refusal(&cp_command_predict, "hybrid two.npz --out no", CP_EXIT_FAILED, "give --split train, val or all");
    expect_refusal(&cp_command_predict, "hybrid two.npz --split test --out no", CP_EXIT_FAILED, "has no array test_images");
    expect_ok(&cp_command_predict, "hybrid two.npz --split val --out val.csv");
    cp_npy_free(&images);
}

static void a_program_predicts_raw_images(void) {
    cp_npy    images = read_array("score.npz", "test_images");
    cp_model *model = cp_model_load("score/selected.safetensors", &status);
    cp_inputs inputs = {.dtype = CP_F32, .elements = images.data, .count = REST, .shape = CP_SHAPE(SIDE, SIDE, 1), .name = "mine"};
    cp_predicted found, again;
    char        *csv, cell[40];
    expect_ok(&cp_command_predict, "score score.npz --out p.csv");
    csv = text_of("p.csv");
    TEST_ASSERT_TRUE_MESSAGE(cp_model_predict(model, &inputs, &found, &status), status.message);
    TEST_ASSERT_EQUAL_STRING("", found.warning.message);
    for (int i = 0; i < REST; i++) {
        snprintf(cell, sizeof cell, "%.9g,", found.posterior[i * CLASSES]);
        TEST_ASSERT_EQUAL_STRING_LEN(cell, line_of(csv, i + 1, 2), strlen(cell));
        TEST_ASSERT_TRUE(found.density[i] == -found.energy[i] && isfinite(found.energy[i]));
    }
    inputs.batch = 7;
    TEST_ASSERT_TRUE_MESSAGE(cp_model_predict(model, &inputs, &again, &status), status.message);
    for (int i = 0; i < REST * CLASSES; i++) TEST_ASSERT_DOUBLE_WITHIN(1e-6, found.posterior[i], again.posterior[i]);
    cp_predicted_free(&found), cp_predicted_free(&again);
    ((float *)images.data)[5] = 1000, ((float *)images.data)[VALUES] = NAN;
    TEST_ASSERT_TRUE_MESSAGE(cp_model_predict(model, &inputs, &found, &status), status.message);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(found.warning.message, "1 of the 4320 values of mine lie beyond"), found.warning.message);
    TEST_ASSERT_TRUE(found.bad == 1 && found.first_bad == 1);
    cp_predicted_free(&found);
    inputs.shape = CP_SHAPE(SIDE / 2, SIDE * 2, 1);
    TEST_ASSERT_FALSE(cp_model_predict(model, &inputs, &found, &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "mine: an input has shape (6, 24, 1); this model takes"), status.message);
    status = (cp_status){0};
    inputs = (cp_inputs){.dtype = CP_F32, .elements = images.data, .count = REST / 2, .shape = CP_SHAPE(SIDE, 2 * SIDE, 1)};
    TEST_ASSERT_TRUE_MESSAGE(cp_model_predict(model, &inputs, &found, &status), status.message);
    TEST_ASSERT_NOT_NULL(
        strstr(found.warning.message, "has shape (12, 24, 1); the model was trained on inputs of shape (12, 12, 1)"));
    cp_predicted_free(&found);
    cp_model_free(model);
    cp_npy_free(&images), free(csv);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(make_versions);
    RUN_TEST(a_trained_model_says_how_it_was_trained);
    RUN_TEST(a_program_sets_what_is_saved_and_loaded);
    RUN_TEST(a_file_that_says_nothing_of_itself_is_loaded_and_a_wrong_one_refused);
    RUN_TEST(a_run_of_an_older_version_has_the_temperature_of_its_result);
    RUN_TEST(one_odd_pixel_changes_nothing_but_is_told);
    RUN_TEST(other_numbers_than_those_of_the_training_are_refused);
    RUN_TEST(a_cohort_with_nothing_but_test_images_is_evaluated);
    RUN_TEST(all_splits_are_evaluated_at_once);
    RUN_TEST(images_without_labels_cannot_be_evaluated);
    RUN_TEST(images_of_another_size_are_evaluated_with_a_warning);
    RUN_TEST(other_class_names_are_told);
    RUN_TEST(samples_and_filled_images_are_in_the_units_of_the_training);
    RUN_TEST(predict_writes_what_evaluate_writes);
    RUN_TEST(pictures_are_predicted_one_by_one_or_by_the_folder);
    RUN_TEST(gray_pictures_fit_a_model_of_colors);
    RUN_TEST(only_the_most_probable_classes_are_written_with_top);
    RUN_TEST(json_has_the_same_numbers);
    RUN_TEST(an_npz_without_a_split_needs_one_array_of_inputs);
    RUN_TEST(a_program_predicts_raw_images);
    remove_small_runs();
    return UNITY_END();
}
