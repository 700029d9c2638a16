/* Checkpoints: a run continues exactly where it stopped; a damaged file changes nothing. */
#include "core/io/safetensors.h"
#include "layers/params_file.h"
#include "models/checkpoint.h"
#include "optim/sgld.h"
#include "tests/core/scratch.h"

#include <math.h>

static cp_tape *tape;

void setUp(void) {
    tape = cp_tape_new();
    scratch_make();
}

void tearDown(void) {
    cp_tape_free(tape);
    scratch_remove();
}

static const cp_model_config tiny = {.classes = 3,
                                     .head = "hybrid",
                                     .hybrid = {.precision = CP_DIAGONAL, .learn_prior = true},
                                     .wrn = {.channels = 2, .norm = CP_NORM_BATCH}};

static cp_model *model_of(cp_model_config config, uint64_t seed) {
    cp_rng rng = cp_rng_named(seed, "init");
    return cp_model_new(config, &rng);
}

/* ---- a whole run ---- */

enum { BATCH = 4, SIDE = 8, CHANNELS = 2 };

typedef struct run {
    cp_model   *model;
    cp_optim   *adam;
    cp_ema     *ema;
    cp_replay  *replay;
    cp_schedule schedule;
    cp_rng      data, sgld;
    int64_t     step;
} run;

static run run_new(uint64_t seed) {
    run r = {.model = model_of(tiny, seed), .data = cp_rng_named(seed, "data"), .sgld = cp_rng_named(seed, "sgld")};
    r.adam = cp_adam_new(r.model->params, (cp_adam_config){.rate = 1e-3});
    r.ema = cp_ema_new(r.model->params, 0.9);
    r.replay = cp_replay_new((cp_replay_config){
        .capacity = 8, .shape = CP_SHAPE(SIDE, SIDE, CHANNELS), .start = {.kind = CP_START_UNIFORM, .low = -1, .high = 1}});
    r.schedule = (cp_schedule){.kind = CP_SCHEDULE_COSINE, .rate = 1e-3, .warmup = 2, .total = 20};
    return r;
}

static void run_free(run *r) {
    cp_replay_free(r->replay);
    cp_ema_free(r->ema);
    cp_optim_free(r->adam);
    cp_model_free(r->model);
}

static void run_steps(run *r, int steps) {
    cp_tensor *x = cp_tensor_new(CP_SHAPE(BATCH, SIDE, SIDE, CHANNELS)), *chains = cp_tensor_new(x->shape);
    int        index[BATCH], label[BATCH];
    for (int i = 0; i < steps; i++) {
        cp_rng_fill_uniform(&r->data, x->data, x->size, -1, 1);
        for (int n = 0; n < BATCH; n++) label[n] = (int)cp_rng_below(&r->data, 3);
        TEST_ASSERT_TRUE(cp_replay_draw(r->replay, &r->sgld, NULL, chains, index, NULL));
        cp_sgld_config sgld = {.step_size = 0.1, .noise = 0.01, .steps = 2};
        TEST_ASSERT_TRUE(
            cp_sgld_run(tape, cp_model_energy_of, &(cp_model_target){.model = r->model}, chains, &sgld, &r->sgld, NULL));
        cp_replay_return(r->replay, index, chains, NULL);
        cp_tensor *batch = cp_constant(tape, x->data, x->shape), *fake = cp_constant(tape, chains->data, x->shape);
        cp_tensor *loss = cp_cross_entropy(tape, cp_model_logits(tape, r->model, batch, CP_TRAINING), (cp_labels){label, BATCH});
        loss = cp_sub(
            tape, loss,
            cp_scale(tape, cp_mean(tape, cp_model_energy(tape, r->model, fake, CP_EVALUATION), CP_ALL, false), (cp_real)0.01));
        TEST_ASSERT_TRUE(cp_backward(tape, loss, r->model->params));
        cp_optim_rate_set(r->adam, cp_schedule_rate(&r->schedule, r->step++));
        cp_optim_step(r->adam);
        cp_ema_update(r->ema);
        cp_tape_reset(tape);
    }
    cp_tensor_free(x);
    cp_tensor_free(chains);
}

enum { PARTS = 7 };

static cp_checkpoint everything(run *r, cp_checkpoint_part parts[PARTS]) {
    parts[0] = cp_part_optim(r->adam);
    parts[1] = cp_part_ema(r->ema);
    parts[2] = cp_part_schedule(&r->schedule);
    parts[3] = cp_part_replay(r->replay);
    parts[4] = cp_part_rng("data", &r->data);
    parts[5] = cp_part_rng("sgld", &r->sgld);
    parts[6] = cp_part_integer("step", &r->step);
    return (cp_checkpoint){.model = r->model, .parts = parts, .part_count = PARTS};
}

static bool run_save(run *r, const char *name, cp_status *status) {
    cp_checkpoint_part parts[PARTS];
    cp_checkpoint      all = everything(r, parts);
    cp_checkpoint_pair note = {"note", "as good as \"new\""};
    all.metadata = &note;
    all.metadata_count = 1;
    return cp_checkpoint_save(&all, scratch(name), status);
}

static bool run_load(run *r, const char *name, cp_status *status) {
    cp_checkpoint_part parts[PARTS];
    cp_checkpoint      all = everything(r, parts);
    return cp_checkpoint_load(&all, scratch(name), status);
}

/* The bytes of everything in a run. */
static cp_bytes bytes_of(const char *name) {
    cp_bytes  bytes = {0};
    cp_status status = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(scratch(name), 1 << 28, &bytes, &status), status.message);
    return bytes;
}

static void same_file(const char *a, const char *b) {
    cp_bytes x = bytes_of(a), y = bytes_of(b);
    TEST_ASSERT_EQUAL_UINT64(x.size, y.size);
    TEST_ASSERT_EQUAL_INT(0, memcmp(x.data, y.data, x.size));
    cp_bytes_free(&x);
    cp_bytes_free(&y);
}

static void a_resumed_run_ends_with_the_same_bytes_as_an_uninterrupted_run(void) {
    cp_status status = {0};
    run       whole = run_new(1), first = run_new(1), second = run_new(2);
    run_steps(&whole, 6);
    run_steps(&first, 3);
    TEST_ASSERT_TRUE_MESSAGE(run_save(&first, "half", &status), status.message);
    second.schedule = (cp_schedule){0};
    TEST_ASSERT_TRUE_MESSAGE(run_load(&second, "half", &status), status.message);
    TEST_ASSERT_EQUAL_INT(3, second.step);
    run_steps(&second, 3);
    TEST_ASSERT_TRUE(run_save(&whole, "whole", &status) && run_save(&second, "second", &status));
    same_file("whole", "second");
    run_free(&whole);
    run_free(&first);
    run_free(&second);
}

static void saving_a_loaded_checkpoint_gives_the_same_file(void) {
    cp_status status = {0};
    run       a = run_new(1), b = run_new(2);
    run_steps(&a, 2);
    TEST_ASSERT_TRUE(run_save(&a, "a", &status) && run_load(&b, "a", &status) && run_save(&b, "b", &status));
    same_file("a", "b");
    run_free(&a);
    run_free(&b);
}

static void metadata_contains_the_description_and_what_the_user_adds(void) {
    cp_status status = {0};
    run       a = run_new(1);
    TEST_ASSERT_TRUE(run_save(&a, "a", &status));
    cp_safetensors *file = cp_st_read(scratch("a"), &status);
    TEST_ASSERT_EQUAL_STRING("as good as \"new\"", cp_st_metadata(file, "note"));
    TEST_ASSERT_NOT_NULL(strstr(cp_st_metadata(file, "couplet"), "\"model\":\"wrn\",\"depth\":10"));
    cp_st_free(file);
    run_free(&a);
}

/* ---- layout ---- */

static void files_have_pytorchs_layout(void) {
    cp_status status = {0};
    cp_model *m = model_of(tiny, 1);
    TEST_ASSERT_TRUE(cp_model_save(m, scratch("m"), &status));
    cp_safetensors    *file = cp_st_read(scratch("m"), &status);
    const cp_st_entry *conv = cp_st_find(file, "stem.weight"), *linear = cp_st_find(file, "head.weight");
    const int64_t      conv_dims[] = {16, 2, 3, 3}, linear_dims[] = {3, 64};
    TEST_ASSERT_EQUAL_INT64_ARRAY(conv_dims, conv->dims, 4);
    TEST_ASSERT_EQUAL_INT64_ARRAY(linear_dims, linear->dims, 2);
    static cp_real values[16 * 2 * 9], head[3 * 64];
    TEST_ASSERT_TRUE(cp_st_to_real(file, conv, values, &status) && cp_st_to_real(file, linear, head, &status));
    const cp_real *memory = cp_params_find(m->params, "stem.weight")->value->data; /* (3,3,2,16) */
    for (int o = 0; o < 16; o++)
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < 9; i++)
                TEST_ASSERT_EQUAL_DOUBLE((double)memory[(i * 2 + c) * 16 + o], (double)values[(o * 2 + c) * 9 + i]);
    memory = cp_params_find(m->params, "head.weight")->value->data; /* (64,3) */
    for (int o = 0; o < 3; o++)
        for (int i = 0; i < 64; i++) TEST_ASSERT_EQUAL_DOUBLE((double)memory[i * 3 + o], (double)head[o * 64 + i]);
    cp_st_free(file);
    cp_model_free(m);
}

static void a_model_that_float_can_hold_is_saved_as_f32_in_every_build(void) {
    cp_status status = {0};
    cp_model *m = model_of(tiny, 1);
    for (int k = 0; k < m->params->count; k++)
        for (size_t i = 0; i < m->params->at[k].value->size; i++)
            m->params->at[k].value->data[i] = (cp_real)(float)m->params->at[k].value->data[i];
    TEST_ASSERT_TRUE(cp_model_save(m, scratch("m"), &status));
    cp_safetensors *file = cp_st_read(scratch("m"), &status);
    for (size_t i = 0; i < cp_st_count(file); i++) TEST_ASSERT_EQUAL_INT(CP_F32, cp_st_entry_at(file, i)->dtype);
    cp_st_free(file);
    cp_model *back = cp_model_load(scratch("m"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(back, status.message);
    TEST_ASSERT_TRUE(cp_model_save(back, scratch("again"), &status));
    same_file("m", "again");
    cp_model_free(m);
    cp_model_free(back);
}

/* ---- files that are refused ---- */

static cp_status_kind refusal; /* kind of the last refusal */

/* Loading must fail with this message and leave the run unchanged. */
static void refused(run *r, const char *name, const char *words) {
    cp_status status = {0}, other = {0};
    TEST_ASSERT_TRUE(run_save(r, "before", &other));
    TEST_ASSERT_FALSE_MESSAGE(run_load(r, name, &status), words);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, words), status.message);
    refusal = status.kind;
    TEST_ASSERT_TRUE(run_save(r, "after", &other));
    same_file("before", "after");
}

static void damaged_files_are_refused_and_nothing_changes(void) {
    cp_status status = {0};
    run       a = run_new(1), b = run_new(2);
    TEST_ASSERT_TRUE(run_save(&a, "good", &status));
    cp_bytes good = bytes_of("good");

    scratch_write("short", good.data, good.size / 2);
    refused(&b, "short", "short");
    TEST_ASSERT_EQUAL_INT(CP_STATUS_DAMAGED, refusal);
    good.data[good.size - 1000] ^= 4; /* one bit */
    scratch_write("flipped", good.data, good.size);
    refused(&b, "flipped", "flipped");
    TEST_ASSERT_EQUAL_INT(CP_STATUS_DAMAGED, refusal);
    good.data[good.size - 1000] ^= 4;
    for (int i = 0; i < 4; i++) { /* the header's length with its bytes reversed */
        unsigned char kept = good.data[i];
        good.data[i] = good.data[7 - i];
        good.data[7 - i] = kept;
    }
    scratch_write("endian", good.data, good.size);
    refused(&b, "endian", "endian");
    memset(good.data, 0xff, 7); /* a header of many terabytes */
    good.data[7] = 0;
    scratch_write("oversized", good.data, good.size);
    refused(&b, "oversized", "oversized");
    refused(&b, "absent", "absent");
    TEST_ASSERT_EQUAL_INT(CP_STATUS_MISSING, refusal);
    cp_bytes_free(&good);
    run_free(&a);
    run_free(&b);
}

/* "good" again, with one value of one tensor replaced. */
static void write_changed(const char *name, const char *tensor, size_t place, const void *value) {
    cp_status       status = {0};
    cp_safetensors *good = cp_st_read(scratch("good"), &status);
    cp_st_writer   *writer = cp_st_writer_new();
    bool            found = false;
    cp_st_writer_metadata(writer, "couplet", cp_st_metadata(good, "couplet"));
    for (size_t i = 0; i < cp_st_count(good); i++) {
        const cp_st_entry *e = cp_st_entry_at(good, i);
        unsigned char     *room = cp_st_writer_room(writer, e->name, e->dtype, e->rank, e->dims);
        size_t             width = cp_dtype_size(e->dtype);
        memcpy(room, e->data, e->bytes);
        if (strcmp(e->name, tensor) != 0) continue;
        found = true;
        TEST_ASSERT_TRUE(place < e->count);
        if (e->dtype == CP_F32) /* the same number in either build */
            memcpy(room + place * width, &(float){(float)*(const double *)value}, width);
        else
            memcpy(room + place * width, value, width);
    }
    TEST_ASSERT_TRUE_MESSAGE(found, tensor);
    TEST_ASSERT_TRUE_MESSAGE(cp_st_writer_save(writer, scratch(name), &status), status.message);
    cp_st_writer_free(writer);
    cp_st_free(good);
}

static void state_that_no_run_can_have_is_refused_and_nothing_changes(void) {
    static const struct {
        const char *tensor;
        size_t      place;
        int64_t     whole;
        double      number; /* used unless it is 0 */
        const char *words;
    } cases[] = {
        {"optim.steps", 0, -1, 0, "\"couplet.optim.steps\": value 0 is -1; 0 to 9.0072e+15 is possible"},
        {"optim.steps", 0, INT64_MAX, 0, "couplet.optim.steps"},
        {"optim.skipped", 0, -1, 0, "couplet.optim.skipped"},
        {"optim.rate", 0, 0, NAN, "\"couplet.optim.rate\": value 0 is nan"},
        {"optim.rate", 0, 0, INFINITY, "couplet.optim.rate"},
        {"optim.rate", 0, 0, -1e-3, "couplet.optim.rate"},
        {"optim.head.bias.v", 2, 0, -1, "\"couplet.optim.head.bias.v\": value 2 is -1"},
        {"ema.updates", 0, -7, 0, "couplet.ema.updates"},
        {"schedule.kind", 0, 3, 0, "part schedule: there is no schedule of kind 3"},
        {"schedule.kind", 0, -1, 0, "part schedule: there is no schedule of kind -1"},
        {"schedule.rate", 0, 0, NAN, "part schedule: rate is nan"},
        {"schedule.final_rate", 0, 0, -1, "part schedule: rate is 0.001, final_rate -1"},
        {"schedule.factor", 0, 0, INFINITY, "and factor inf"},
        {"schedule.total", 0, 0, 0, "part schedule: total is 0; a cosine needs a total above its warmup and hold of 2"},
        {"schedule.warmup", 0, -5, 0, "part schedule: warmup is -5 and hold 0 steps"},
        {"schedule.warmup", 0, 20, 0, "total is 20; a cosine needs a total above its warmup and hold of 20"},
        {"replay.drawn", 0, INT64_MAX, 0, "couplet.replay.drawn"},
        {"replay.fresh", 0, -1, 0, "couplet.replay.fresh"},
        {"replay.dropped", 0, INT64_MIN, 0, "couplet.replay.dropped"},
        {"replay.visits", 5, -2, 0, "\"couplet.replay.visits\": value 5 is -2"},
        {"step.value", 0, -1, 0, "couplet.step.value"},
    };
    cp_status status = {0};
    run       a = run_new(1), b = run_new(2);
    run_steps(&a, 2);
    TEST_ASSERT_TRUE(run_save(&a, "good", &status));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char tensor[80];
        snprintf(tensor, sizeof tensor, "couplet.%s", cases[i].tensor);
        write_changed("bad", tensor, cases[i].place, cases[i].number != 0 ? (const void *)&cases[i].number : &cases[i].whole);
        refused(&b, "bad", cases[i].words);
        TEST_ASSERT_EQUAL_INT(CP_STATUS_DAMAGED, refusal);
    }
    write_changed("same", "couplet.step.value", 0, &a.step);
    TEST_ASSERT_TRUE_MESSAGE(run_load(&b, "same", &status), status.message);
    run_free(&a);
    run_free(&b);
}

static void state_that_could_not_be_loaded_is_not_saved(void) {
    cp_status status = {0};
    run       a = run_new(1);
    a.step = -1;
    TEST_ASSERT_FALSE(run_save(&a, "a", &status));
    says(&status, "\"couplet.step.value\": value 0 is -1");
    a.step = 0;
    a.schedule.total = 1;
    TEST_ASSERT_FALSE(run_save(&a, "a", &status));
    says(&status, "part schedule: total is 1");
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
    run_free(&a);
}

/* A file with the tensors of `config` under the description of `tiny`. */
static void write_misfit(const char *name, cp_model_config config, const char *extra) {
    cp_status     status = {0};
    cp_model     *m = model_of(config, 1);
    cp_st_writer *writer = cp_st_writer_new();
    char         *text = cp_model_config_text(&tiny);
    const float   one = 1;
    cp_st_writer_metadata(writer, "couplet", text);
    cp_params_store(m->params, writer);
    if (extra) cp_st_writer_add(writer, extra, CP_F32, 1, (int64_t[]){1}, &one);
    TEST_ASSERT_TRUE(cp_st_writer_save(writer, scratch(name), &status));
    free(text);
    cp_st_writer_free(writer);
    cp_model_free(m);
}

static void missing_extra_and_misshapen_tensors_are_named(void) {
    cp_model_config wider = tiny, bare = tiny;
    run             r = run_new(1);
    wider.wrn.width = 2;
    bare.hybrid.learn_prior = false;
    write_misfit("misshapen", wider, NULL);
    refused(&r, "misshapen", "stage0.block0.conv1.weight");
    write_misfit("missing", bare, NULL);
    refused(&r, "missing", "head.prior");
    write_misfit("extra", tiny, "stage9.weight");
    refused(&r, "extra", "stage9.weight");
    TEST_ASSERT_EQUAL_INT(CP_STATUS_FAILED, refusal);
    write_misfit("colored", tiny, "\x1B[31mred\x07");
    refused(&r, "colored", "tensor \"?[31mred?\" is not part of this model");
    write_misfit("partless", tiny, NULL);
    refused(&r, "partless", "couplet.optim.");
    run_free(&r);
}

static void pytorchs_batch_counters_are_ignored(void) {
    cp_status status = {0};
    write_misfit("counted", tiny, "norm.num_batches_tracked");
    cp_model *m = cp_model_load(scratch("counted"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(m, status.message);
    cp_model_free(m);
}

static void a_file_without_or_with_an_inflated_description_is_refused(void) {
    cp_status status = {0};
    cp_model *m = model_of(tiny, 1);
    TEST_ASSERT_TRUE(cp_checkpoint_save(&(cp_checkpoint){.params = m->params}, scratch("bare"), &status));
    TEST_ASSERT_NULL(cp_model_load(scratch("bare"), &status));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "no key \"couplet\""));
    cp_checkpoint_pair huge = {"couplet", "{\"classes\":3,\"channels\":2,\"width\":900}"};
    cp_checkpoint      c = {.params = m->params, .metadata = &huge, .metadata_count = 1};
    status = (cp_status){0};
    TEST_ASSERT_TRUE(cp_checkpoint_save(&c, scratch("huge"), &status));
    TEST_ASSERT_NULL(cp_model_load(scratch("huge"), &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(
        strstr(status.message, "tensor \"stage0.block0.conv1.weight\" has shape (16, 16, 3, 3), (14400, 16, 3, 3) was expected"),
        status.message);
    cp_model_free(m);
}

/* ---- settings and descriptions ---- */

static void the_optimizers_settings_must_match_the_file(void) {
    cp_status status = {0};
    run       a = run_new(1), b = run_new(2);
    TEST_ASSERT_TRUE(run_save(&a, "a", &status));
    cp_optim *usual = b.adam;
    b.adam = cp_adam_new(b.model->params, (cp_adam_config){.rate = 1e-3, .beta1 = 0.5});
    refused(&b, "a", "\"couplet.optim.beta1\" is 0.9 in the file and 0.5 here");
    cp_optim_free(b.adam);
    b.adam = cp_sgd_new(b.model->params, (cp_sgd_config){.rate = 1e-3});
    refused(&b, "a", "\"couplet.optim.adam\" is 1 in the file and 0 here");
    cp_optim_free(b.adam);
    b.adam = cp_adam_new(b.model->params, (cp_adam_config){.rate = 1e-3, .weight_decay = 0.1, .decoupled = true});
    refused(&b, "a", "\"couplet.optim.weight_decay\"");
    cp_optim_free(b.adam);
    b.adam = usual;
    TEST_ASSERT_TRUE_MESSAGE(run_load(&b, "a", &status), status.message);
    run_free(&a);
    run_free(&b);
}

static void a_different_description_is_refused_even_if_all_tensors_match(void) {
    cp_status       status = {0};
    cp_model_config swish = tiny;
    swish.wrn.activation = CP_SWISH;
    cp_model *a = model_of(swish, 1), *b = model_of(tiny, 2);
    cp_real   before = b->params->at[0].value->data[0];
    TEST_ASSERT_TRUE(cp_model_save(a, scratch("swish"), &status));
    TEST_ASSERT_FALSE(cp_checkpoint_load(&(cp_checkpoint){.model = b}, scratch("swish"), &status));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "is for another model"));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "\"activation\":\"swish\""));
    says(&status, "\"activation\":\"leaky\"");
    TEST_ASSERT_TRUE(before == b->params->at[0].value->data[0]);
    TEST_ASSERT_TRUE(cp_checkpoint_load(&(cp_checkpoint){.params = b->params}, scratch("swish"), &status));
    TEST_ASSERT_TRUE(b->params->at[0].value->data[0] == a->params->at[0].value->data[0]);
    cp_model_free(a);
    cp_model_free(b);
}

static void a_description_without_the_defaults_is_equivalent(void) {
    cp_status          status = {0};
    cp_model          *m = model_of(tiny, 1);
    cp_checkpoint_pair brief = {"couplet",
                                "{\"classes\":3, \"channels\":2, \"norm\":\"batch\", \"head\":\"hybrid\", \"learn_prior\":true}"};
    cp_checkpoint      bare = {.params = m->params, .metadata = &brief, .metadata_count = 1};
    TEST_ASSERT_TRUE(cp_checkpoint_save(&bare, scratch("brief"), &status));
    TEST_ASSERT_TRUE_MESSAGE(cp_checkpoint_load(&(cp_checkpoint){.model = m}, scratch("brief"), &status), status.message);
    bare.metadata_count = 0;
    TEST_ASSERT_TRUE(cp_checkpoint_save(&bare, scratch("bare"), &status));
    TEST_ASSERT_FALSE(cp_checkpoint_load(&(cp_checkpoint){.model = m}, scratch("bare"), &status));
    says(&status, "no key \"couplet\"");
    TEST_ASSERT_TRUE(cp_checkpoint_load(&bare, scratch("bare"), &status));
    cp_model_free(m);
}

static void a_swapped_average_is_neither_saved_nor_loaded(void) {
    cp_status status = {0};
    run       r = run_new(1);
    TEST_ASSERT_TRUE(run_save(&r, "good", &status));
    TEST_ASSERT_TRUE(cp_ema_swap(r.ema));
    TEST_ASSERT_FALSE(run_save(&r, "swapped", &status));
    says(&status, "part ema: the average is swapped in");
    TEST_ASSERT_FALSE(run_load(&r, "good", &status));
    says(&status, "part ema: the average is swapped in");
    TEST_ASSERT_EQUAL_INT(1, scratch_files(false));
    run_free(&r);
}

/* ---- parts ---- */

static void two_parts_of_a_kind_are_distinguished_by_name(void) {
    cp_status          status = {0};
    int64_t            one = 1, two = 2;
    cp_checkpoint_part parts[] = {cp_part_integer("x", &one), cp_part_integer("x", &two)};
    parts[1].name = "y";
    cp_checkpoint both = {.parts = parts, .part_count = 2}, last = {.parts = parts + 1, .part_count = 1};
    TEST_ASSERT_TRUE_MESSAGE(cp_checkpoint_save(&both, scratch("two"), &status), status.message);
    one = two = 0;
    TEST_ASSERT_TRUE(cp_checkpoint_load(&last, scratch("two"), &status)); /* a part that is not requested is ignored */
    TEST_ASSERT_TRUE(one == 0 && two == 2);
    TEST_ASSERT_TRUE(cp_checkpoint_load(&both, scratch("two"), &status));
    TEST_ASSERT_TRUE(one == 1 && two == 2);
    parts[1].name = "x";
    TEST_ASSERT_FALSE(cp_checkpoint_save(&both, scratch("same"), &status));
    says(&status, "couplet.x.value");
}

static void a_class_gaussian_is_saved_as_a_part(void) {
    cp_status                status = {0};
    cp_class_gaussian_config config = {.classes = 2, .size = 2, .jitter = -1};
    cp_class_gaussian       *a = cp_class_gaussian_new(config), *b = cp_class_gaussian_new(config);
    cp_real                  data[] = {1, 2, 3, 4}, drawn[2];
    cp_rng                   rng = cp_rng_named(1, "draw");
    TEST_ASSERT_TRUE(cp_class_gaussian_fit(a, data, (int[]){0, 1}, 2));
    cp_checkpoint_part from = cp_part_class_gaussian(a), to = cp_part_class_gaussian(b);
    TEST_ASSERT_TRUE(cp_checkpoint_save(&(cp_checkpoint){.parts = &from, .part_count = 1}, scratch("g"), &status));
    TEST_ASSERT_TRUE(cp_checkpoint_load(&(cp_checkpoint){.parts = &to, .part_count = 1}, scratch("g"), &status));
    cp_class_gaussian_draw(b, &rng, 1, drawn);
    TEST_ASSERT_TRUE(drawn[0] == 3 && drawn[1] == 4);
    cp_class_gaussian_free(a);
    cp_class_gaussian_free(b);
}

typedef struct span {
    int64_t low, high;
} span;

static bool span_walk(void *object, int i, cp_state *state) {
    if (i == 0) *state = cp_state_integer("high", &((span *)object)->high);
    return i == 0;
}

static bool span_check(const void *candidate, cp_status *why) {
    const span *s = candidate;
    return s->low <= s->high || cp_fail(why, "low %lld is above high %lld", (long long)s->low, (long long)s->high);
}

static void a_part_is_checked_against_values_that_another_part_loads(void) {
    span s = {1, 2};
    for (int first = 0; first < 2; first++) {
        cp_status          status = {0};
        cp_checkpoint_part parts[2], high = {"span", &s, span_walk, .size = sizeof s, .check = span_check};
        parts[first] = high;
        parts[1 - first] = cp_part_integer("low", &s.low);
        cp_checkpoint all = {.parts = parts, .part_count = 2};
        s = (span){1, 2};
        TEST_ASSERT_TRUE_MESSAGE(cp_checkpoint_save(&all, scratch("span"), &status), status.message);
        s = (span){7, 8};
        TEST_ASSERT_TRUE_MESSAGE(cp_checkpoint_load(&all, scratch("span"), &status), status.message);
        TEST_ASSERT_TRUE(s.low == 1 && s.high == 2);
    }
}

static void metadata_is_read_back(void) {
    cp_status status = {0};
    run       a = run_new(1);
    TEST_ASSERT_TRUE(run_save(&a, "a", &status));
    char *note = cp_checkpoint_metadata(scratch("a"), "note", &status);
    TEST_ASSERT_EQUAL_STRING("as good as \"new\"", note);
    free(note);
    TEST_ASSERT_NULL(cp_checkpoint_metadata(scratch("a"), "notes", &status));
    says(&status, "no key \"notes\"");
    TEST_ASSERT_NULL(cp_checkpoint_metadata(scratch("b"), "note", &status));
    says(&status, "/b");
    TEST_ASSERT_NULL(cp_checkpoint_metadata(NULL, "note", &status));
    says(&status, "NULL");
    run_free(&a);
}

/* Neither saving nor loading works; both fail with this message. */
static void unusable(const cp_checkpoint *c, const char *path, const char *words) {
    cp_status status = {0};
    TEST_ASSERT_FALSE(cp_checkpoint_save(c, path, &status));
    says(&status, words);
    TEST_ASSERT_FALSE(cp_checkpoint_load(c, path, &status));
    says(&status, words);
}

static void nulls_are_reported(void) {
    cp_status          status = {0};
    int64_t            one = 1;
    cp_checkpoint_part good = cp_part_integer("one", &one), empty = cp_part_optim(NULL), unnamed = cp_part_integer(NULL, &one);
    cp_checkpoint_pair half = {"key", NULL};
    unusable(NULL, scratch("x"), "checkpoint is NULL");
    unusable(&(cp_checkpoint){.parts = &good, .part_count = 1}, NULL, "path is NULL");
    unusable(&(cp_checkpoint){.parts = &empty, .part_count = 1}, scratch("x"), "part 0 (optim) has no object");
    unusable(&(cp_checkpoint){.parts = &unnamed, .part_count = 1}, scratch("x"), "has no name");
    unusable(&(cp_checkpoint){.part_count = 1}, scratch("x"), "without a list");
    unusable(&(cp_checkpoint){.parts = &good, .part_count = 1, .metadata = &half, .metadata_count = 1}, scratch("x"), "NULL");
    unusable(&(cp_checkpoint){0}, scratch("x"), "no model");
    TEST_ASSERT_FALSE(cp_model_save(NULL, scratch("x"), &status));
    says(&status, "model is NULL");
    TEST_ASSERT_NULL(cp_model_load(NULL, &status));
    says(&status, "path is NULL");
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_resumed_run_ends_with_the_same_bytes_as_an_uninterrupted_run);
    RUN_TEST(saving_a_loaded_checkpoint_gives_the_same_file);
    RUN_TEST(metadata_contains_the_description_and_what_the_user_adds);
    RUN_TEST(files_have_pytorchs_layout);
    RUN_TEST(a_model_that_float_can_hold_is_saved_as_f32_in_every_build);
    RUN_TEST(damaged_files_are_refused_and_nothing_changes);
    RUN_TEST(state_that_no_run_can_have_is_refused_and_nothing_changes);
    RUN_TEST(state_that_could_not_be_loaded_is_not_saved);
    RUN_TEST(missing_extra_and_misshapen_tensors_are_named);
    RUN_TEST(pytorchs_batch_counters_are_ignored);
    RUN_TEST(a_file_without_or_with_an_inflated_description_is_refused);
    RUN_TEST(the_optimizers_settings_must_match_the_file);
    RUN_TEST(a_different_description_is_refused_even_if_all_tensors_match);
    RUN_TEST(a_description_without_the_defaults_is_equivalent);
    RUN_TEST(a_swapped_average_is_neither_saved_nor_loaded);
    RUN_TEST(two_parts_of_a_kind_are_distinguished_by_name);
    RUN_TEST(a_class_gaussian_is_saved_as_a_part);
    RUN_TEST(a_part_is_checked_against_values_that_another_part_loads);
    RUN_TEST(metadata_is_read_back);
    RUN_TEST(nulls_are_reported);
    return UNITY_END();
}
