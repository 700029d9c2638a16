/* Kinds of networks and heads: a program's own kinds are made, saved, loaded and used like the built-in ones. A file's
 * description is compared with its contents before memory is allocated. */
#include "core/io/file.h"
#include "layers/params_file.h"
#include "models/checkpoint.h"
#include "support/wrapped_memory.h"
#include "tests/core/scratch.h"

#include <math.h>

static cp_tape  *tape;
static char      message[512];
static cp_status status;

static void note(const cp_error *error, void *user) {
    (void)user;
    snprintf(message, sizeof message, "%s: %s", error->op, error->message);
}

/* ---- a custom network: powers of the inputs, one linear layer ---- */

typedef struct power_options {
    int    in, features, powers[3];
    double scale;
    bool   bounded;
} power_options;

typedef struct power_net {
    cp_net        net;
    power_options options;
    cp_linear     layer;
    int          *freed_by_the_kind;
} power_net;

static int frees;

static bool power_make(cp_at at, cp_net *net, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    power_net *p = (power_net *)net;
    p->options = *(const power_options *)options;
    p->freed_by_the_kind = malloc(sizeof(int));
    p->layer = (cp_linear_make)(at, params, cp_path_join(path, "power").s,
                                (cp_linear_config){.in = p->options.in, .out = p->options.features}, rng);
    net->features = p->options.features;
    net->input = (cp_net_input){.shape = CP_SHAPE(p->options.in)};
    return p->layer.weight;
}

static cp_tensor *power_forward(cp_at at, const cp_net *net, cp_tensor *x, cp_mode mode) {
    const power_net *p = (const power_net *)net;
    (void)mode;
    for (int i = 0; i < 3 && p->options.powers[i]; i++)
        for (int k = 1; k < p->options.powers[i]; k++) x = cp_mul(at, x, x);
    x = cp_scale(at, cp_linear_forward(at, &p->layer, x), (cp_real)p->options.scale);
    return p->options.bounded ? cp_tanh(at, x) : x;
}

static void power_free(cp_net *net) {
    free(((power_net *)net)->freed_by_the_kind);
    frees++;
}

static const cp_key power_keys[] = {
    {"in", CP_KEY_INT, .offset = offsetof(power_options, in), .min = 1, .max = 100},
    {"features", CP_KEY_INT, .offset = offsetof(power_options, features), .min = 2, .max = 64, .step = 2, .fallback = 4},
    {"powers", CP_KEY_SIZES, .offset = offsetof(power_options, powers), .min = 1, .max = 9, .count = 3},
    {"scale", CP_KEY_NUMBER, .offset = offsetof(power_options, scale), .min = 0.25, .max = 4, .fallback = 1},
    {"bounded", CP_KEY_BOOL, .offset = offsetof(power_options, bounded)},
    {0},
};
static const cp_net_kind power = {.base = {"power", sizeof(power_net), sizeof(power_options), power_keys},
                                  .make = power_make,
                                  .forward = power_forward,
                                  .free = power_free};

/* ---- a custom head: that of docs/models.md with an option; its maker does not check the results of cp_params_add ---- */

typedef enum metric { METRIC_NONE, METRIC_COSINE, METRIC_DOT } metric;
typedef struct cosine_options {
    metric metric;
} cosine_options;

typedef struct cosine_head {
    cp_head        head;
    cosine_options options;
    cp_tensor     *weight, *scale;
} cosine_head;

static bool cosine_make(cp_at at, cp_head *head, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    cosine_head *h = (cosine_head *)head;
    (void)at;
    h->options = *(const cosine_options *)options;
    h->weight = cp_params_add(params, path, "weight", CP_LAYOUT_LINEAR, CP_SHAPE(head->features, head->classes));
    h->scale = cp_params_add(params, path, "scale", CP_LAYOUT_PLAIN, CP_SHAPE(1));
    cp_init_weight(h->weight, CP_INIT_XAVIER_NORMAL, head->features, head->classes, 0, rng);
    cp_tensor_fill(h->scale, 10);
    return h->weight && h->scale;
}

static cp_tensor *directions(cp_at at, cp_tensor *a, int axis) {
    cp_tensor *square = cp_sum(at, cp_square(at, a), CP_AXES(axis), true);
    return cp_mul(at, a, cp_rsqrt(at, cp_affine(at, square, 1, (cp_real)1e-6)));
}

static cp_tensor *cosine_logits(cp_at at, const cp_head *head, cp_tensor *z) {
    const cosine_head *h = (const cosine_head *)head;
    if (h->options.metric == METRIC_DOT) return cp_matmul(at, z, h->weight, 0);
    return cp_mul(at, cp_matmul(at, directions(at, z, 1), directions(at, h->weight, 0), 0), h->scale);
}

static const cp_choice metrics[] = {{"cosine", METRIC_COSINE}, {"dot", METRIC_DOT}, {0}};
static const cp_key    cosine_keys[] = {
       {"metric", CP_KEY_CHOICE, .offset = offsetof(cosine_options, metric), .choices = metrics, .fallback = METRIC_COSINE},
       {0},
};
static const cp_head_kind cosine = {.base = {"cosine", sizeof(cosine_head), sizeof(cosine_options), cosine_keys},
                                    .generative = true,
                                    .make = cosine_make,
                                    .logits = cosine_logits};

void setUp(void) {
    tape = cp_tape_new();
    status = (cp_status){0};
    message[0] = 0;
    cp_error_handler(note, NULL);
    scratch_make();
    TEST_ASSERT_TRUE(cp_net_kind_add(&power));
    TEST_ASSERT_TRUE(cp_head_kind_add(&cosine)); /* the same kind may be added again */
}

void tearDown(void) {
    cp_tape_free(tape);
    cp_error_handler(NULL, NULL);
    scratch_remove();
}

/* ---- making, describing, saving, loading ---- */

static cp_model_config own_config(metric m) {
    cp_model_config config = {.model = "power", .head = "cosine", .classes = 3};
    power_options   net = {.in = 2, .powers = {2, 1}, .scale = 0.5, .bounded = true};
    memcpy(&config.own_net, &net, sizeof net);
    memcpy(&config.own_head, &(cosine_options){m}, sizeof(cosine_options));
    return config;
}

static cp_model *model_of(cp_model_config config) {
    cp_rng    rng = cp_rng_named(1, "init");
    cp_model *model = cp_model_new(config, &rng);
    TEST_ASSERT_NOT_NULL_MESSAGE(model, message);
    return model;
}

static void own_kinds_are_saved_loaded_and_used_like_the_built_in_ones(void) {
    const cp_real data[] = {1, 0, (cp_real)0.5, -2};
    for (int m = METRIC_NONE; m <= METRIC_DOT; m++) {
        cp_model *a = model_of(own_config((metric)m));
        TEST_ASSERT_TRUE_MESSAGE(cp_model_save(a, scratch("own"), &status), status.message);
        frees = 0;
        cp_model *b = cp_model_load(scratch("own"), &status);
        TEST_ASSERT_NOT_NULL_MESSAGE(b, status.message);
        TEST_ASSERT_EQUAL_STRING("power", b->config.model);
        TEST_ASSERT_EQUAL_PTR(&cosine, b->head->kind);
        TEST_ASSERT_EQUAL_INT(m == METRIC_DOT ? METRIC_DOT : METRIC_COSINE, ((cosine_head *)b->head)->options.metric);
        cp_tensor *x = cp_constant(tape, data, CP_SHAPE(2, 2));
        cp_tensor *p = cp_model_posterior(tape, a, x, CP_EVALUATION), *q = cp_model_posterior(tape, b, x, CP_EVALUATION);
        TEST_ASSERT_EQUAL_MEMORY(p->data, q->data, 6 * sizeof(cp_real));
        TEST_ASSERT_TRUE(cp_shape_is(cp_model_energy(tape, b, x, CP_EVALUATION), CP_SHAPE(2)));
        TEST_ASSERT_NULL(cp_model_logits(tape, b, cp_constant(tape, data, CP_SHAPE(1, 4)), CP_EVALUATION));
        TEST_ASSERT_EQUAL_STRING("power: x has shape (1, 4); (N, 2) is needed", message);
        cp_tape_reset(tape);
        TEST_ASSERT_TRUE_MESSAGE(cp_checkpoint_load(&(cp_checkpoint){.model = a}, scratch("own"), &status), status.message);
        cp_model_free(a);
        cp_model_free(b);
        TEST_ASSERT_EQUAL_INT(2, frees);
    }
}

static void own_keys_are_described_with_their_defaults(void) {
    cp_model_config config = own_config(METRIC_NONE), back;
    char           *text = cp_model_config_text(&config);
    TEST_ASSERT_EQUAL_STRING("{\"model\":\"power\",\"in\":2,\"features\":4,\"powers\":[2,1],\"scale\":0.5,\"bounded\":true,"
                             "\"classes\":3,\"head\":\"cosine\",\"metric\":\"cosine\"}",
                             text);
    TEST_ASSERT_TRUE_MESSAGE(cp_model_config_parse(text, "text", &back, &status), status.message);
    char *again = cp_model_config_text(&back);
    TEST_ASSERT_EQUAL_STRING(text, again);
    free(text);
    free(again);
    cp_model *mixed = model_of((cp_model_config){.model = "mlp", .head = "cosine", .classes = 2, .mlp = {.sizes = {3, 4}}});
    TEST_ASSERT_NOT_NULL(cp_params_find(mixed->params, "head.scale"));
    cp_model_free(mixed);
}

static void own_keys_are_checked_like_the_built_in_ones(void) {
    const char *bad[][2] = {
        {"{\"model\":\"power\",\"classes\":2,\"powers\":[1]}", "text: \"in\" is missing; it must be a whole number from 1 to 100"},
        {"{\"model\":\"power\",\"classes\":2,\"in\":2}", "\"powers\" is missing; it must be 1 to 3 whole numbers from 1 to 9"},
        {"{\"model\":\"power\",\"classes\":2,\"in\":2,\"powers\":[1,0]}", "\"powers\" must be 1 to 3 whole numbers"},
        {"{\"model\":\"power\",\"classes\":2,\"in\":2,\"powers\":[1,1,1,1]}", "\"powers\" must be"},
        {"{\"model\":\"power\",\"classes\":2,\"in\":2,\"powers\":[1],\"features\":3}",
         "\"features\" is 3; it must be one of 2, 4, 6, ... up to 64"},
        {"{\"model\":\"power\",\"classes\":2,\"in\":2,\"powers\":[1],\"scale\":5}",
         "\"scale\" is 5; it must be a number from 0.25 to 4"},
        {"{\"model\":\"power\",\"classes\":2,\"in\":2,\"powers\":[1],\"metric\":\"dot\"}",
         "a power with a softmax head has no key \"metric\""},
        {"{\"model\":\"power\",\"classes\":2,\"in\":2,\"powers\":[1],\"head\":\"cosine\",\"metric\":\"manhattan\"}",
         "\"metric\" is \"manhattan\"; it must be one of cosine, dot"},
        {"{\"model\":\"powers\",\"classes\":2}", "\"model\" is \"powers\"; it must be one of wrn, mlp, lstm, power"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cp_model_config c;
        TEST_ASSERT_FALSE_MESSAGE(cp_model_config_parse(bad[i][0], "text", &c, &status), bad[i][0]);
        says(&status, bad[i][1]);
    }
    cp_model_config config = own_config(METRIC_NONE);
    cp_rng          rng = cp_rng_named(1, "init");
    memcpy(&config.own_head, &(cosine_options){(metric)9}, sizeof(cosine_options));
    TEST_ASSERT_NULL(cp_model_new(config, &rng));
    TEST_ASSERT_EQUAL_STRING("model_new: metric is 9; it must be one of cosine, dot", message);
    TEST_ASSERT_NULL(cp_model_config_text(&config));
}

static bool added(cp_head_kind kind) {
    static cp_head_kind kept[8]; /* an added kind must stay in memory */
    static int          count;
    message[0] = 0;
    kept[count] = kind;
    return cp_head_kind_add(&kept[count++]);
}

static void kinds_with_a_taken_name_or_invalid_keys_are_refused(void) {
    const cp_key reserved[] = {{"classes", CP_KEY_BOOL, .offset = 0}, {0}}, outside[] = {{"wide", CP_KEY_NUMBER, .offset = 4}, {0}},
                 nothing[] = {{"one", CP_KEY_CHOICE, .offset = 0}, {0}};
    cp_head_kind kind = cosine;
    TEST_ASSERT_FALSE(added(kind));
    TEST_ASSERT_EQUAL_STRING("head_kind_add: another head is already named cosine", message);
    kind.base = (cp_kind){"other", sizeof(cp_head) - 1, 8, NULL};
    TEST_ASSERT_FALSE(added(kind));
    TEST_ASSERT_NOT_NULL(strstr(message, "size is"));
    kind.base = (cp_kind){"other", sizeof(cosine_head), CP_KIND_OPTIONS + 1, NULL};
    TEST_ASSERT_FALSE(added(kind));
    kind.base = (cp_kind){"other", sizeof(cosine_head), 8, reserved};
    TEST_ASSERT_FALSE(added(kind));
    TEST_ASSERT_NOT_NULL(strstr(message, "every model has a key \"classes\" already"));
    kind.base.keys = outside;
    TEST_ASSERT_FALSE(added(kind));
    TEST_ASSERT_NOT_NULL(strstr(message, "the key \"wide\" is outside the options"));
    kind.base.keys = nothing;
    TEST_ASSERT_FALSE(added(kind));
    TEST_ASSERT_NOT_NULL(strstr(message, "a choice without choices"));
    TEST_ASSERT_FALSE(cp_head_kind_add(NULL));
    TEST_ASSERT_FALSE(cp_net_kind_add(&(cp_net_kind){0}));
    TEST_ASSERT_EQUAL_STRING("net_kind_add: the kind is NULL or has no name", message);
    cp_model_config c;
    TEST_ASSERT_FALSE(cp_model_config_parse("{\"head\":\"other\",\"classes\":2}", "text", &c, &status));
    says(&status, "\"head\" is \"other\"; it must be one of softmax, jem, hybrid, cosine");
}

static void a_network_and_a_head_with_the_same_key_make_no_model(void) {
    static const cp_key       keys[] = {{"width", CP_KEY_INT, .offset = 0, .min = 1, .max = 9, .fallback = 1}, {0}};
    static const cp_head_kind twin = {
        .base = {"twin", sizeof(cosine_head), sizeof(int), keys}, .make = cosine_make, .logits = cosine_logits};
    cp_model_config c;
    TEST_ASSERT_TRUE(cp_head_kind_add(&twin));
    TEST_ASSERT_FALSE(cp_model_config_parse("{\"head\":\"twin\",\"classes\":2,\"width\":2}", "text", &c, &status));
    says(&status, "wrn and twin cannot be combined: both have a key \"width\"");
}

/* ---- the hybrid head's start ---- */

static void the_hybrid_head_starts_as_its_options_say(void) {
    double distance[2], sd[2];
    for (int i = 0; i < 2; i++) {
        cp_hybrid_config start = {.mean_sd = i ? 0 : 0.1, .apart = !i};
        cp_model        *m = model_of(
                   (cp_model_config){.model = "mlp", .head = "hybrid", .classes = 10, .mlp = {.sizes = {3, 40}}, .hybrid = start});
        cp_gaussian_softmax *layer = cp_head_gaussian_softmax(m->head);
        double               sum = 0;
        for (size_t k = 0; k < layer->mean->size; k++) sum += (double)layer->mean->data[k] * (double)layer->mean->data[k];
        sd[i] = sqrt(sum / (double)layer->mean->size);
        distance[i] = cp_gaussian_softmax_distance(tape, layer);
        TEST_ASSERT_EQUAL_DOUBLE(i ? 0.6 : 0.1, m->config.hybrid.mean_sd);
        cp_model_free(m);
    }
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 0.1, sd[0]);
    TEST_ASSERT_DOUBLE_WITHIN(0.06, 0.6, sd[1]);
    TEST_ASSERT_TRUE(distance[0] > 0.01);
    TEST_ASSERT_EQUAL_DOUBLE(0, distance[1]);
}

/* ---- hostile files ---- */

/* A file with this description and the tensors of a set. */
static void write_described(const char *name, const char *description, const cp_params *params) {
    cp_st_writer *writer = cp_st_writer_new();
    cp_st_writer_metadata(writer, "couplet", description);
    cp_params_store(params, writer);
    TEST_ASSERT_TRUE_MESSAGE(cp_st_writer_save(writer, scratch(name), &status), status.message);
    cp_st_writer_free(writer);
}

/* The file has only the largest tensor of the model, under a wrong name. */
static void a_small_file_cannot_ask_for_a_large_model(void) {
    const char *descriptions[] = {"{\"depth\":1000,\"width\":2,\"classes\":2}",
                                  "{\"model\":\"lstm\",\"in\":384,\"hidden\":96,\"layers\":8,\"classes\":2}",
                                  "{\"model\":\"mlp\",\"sizes\":[384,384,384,384,384,384,384,384,384,384],\"classes\":2}",
                                  "{\"model\":\"mlp\",\"sizes\":[384],\"classes\":384,\"head\":\"hybrid\",\"precision\":\"full\"}"};
    for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++) {
        cp_params *params = cp_params_new();
        cp_params_add(params, "", "decoy", CP_LAYOUT_PLAIN, CP_SHAPE(384, 384));
        write_described("hostile", descriptions[i], params);
        cp_params_free(params);
        memory_bytes = 0;
        TEST_ASSERT_NULL(cp_model_load(scratch("hostile"), &status));
        TEST_ASSERT_LESS_THAN_UINT64(384 * 384 * sizeof(float) + (1 << 20), memory_bytes);
        says(&status, "is missing");
        TEST_ASSERT_EQUAL_STRING("", message); /* bad data, not misuse */
    }
}

static void impossible_models_in_files_are_bad_data_and_not_misuse(void) {
    cp_params *params = cp_params_new();
    write_described("wide", "{\"model\":\"mlp\",\"sizes\":[50000],\"classes\":1,\"head\":\"hybrid\",\"precision\":\"full\"}",
                    params);
    TEST_ASSERT_NULL(cp_model_load(scratch("wide"), &status));
    says(&status, "the network has 50000 features; with these options a hybrid head can have 46340");
    write_described("own", "{\"model\":\"power\",\"in\":2,\"powers\":[1],\"classes\":2,\"head\":\"cosine\"}", params);
    TEST_ASSERT_NULL(cp_model_load(scratch("own"), &status));
    says(&status, "the tensor \"power.weight\" is missing");
    cp_rng rng = cp_rng_named(1, "init");
    cp_linear_make(params, "power", (cp_linear_config){.in = 2, .out = 4}, &rng);
    cp_params_add(params, "head", "weight", CP_LAYOUT_LINEAR, CP_SHAPE(2, 4)); /* transposed */
    write_described("own", "{\"model\":\"power\",\"in\":2,\"powers\":[1],\"classes\":2,\"head\":\"cosine\"}", params);
    TEST_ASSERT_NULL(cp_model_load(scratch("own"), &status));
    says(&status, "tensor \"head.weight\" has shape (4, 2), (2, 4) was expected");
    TEST_ASSERT_EQUAL_STRING("", message);
    cp_params_free(params);
}

static cp_tensor *wide_logits(cp_at at, const cp_head *head, cp_tensor *z) {
    return cp_full(at, 0, CP_SHAPE(z->dims[0], head->classes + 1));
}

static bool nothing_to_make(cp_at at, cp_head *head, cp_params *params, const char *path, const void *options, cp_rng *rng) {
    (void)at, (void)head, (void)params, (void)path, (void)options, (void)rng;
    return true;
}

static void a_kind_that_lacks_a_function_or_gives_a_wrong_shape_is_an_error(void) {
    static const cp_head_kind bare = {.base = {.name = "bare", .size = sizeof(cp_head)}};
    static const cp_net_kind  empty = {.base = {.name = "empty", .size = sizeof(cp_net)}};
    static const cp_head_kind wide = {
        .base = {.name = "wide", .size = sizeof(cp_head)}, .make = nothing_to_make, .logits = wide_logits};
    TEST_ASSERT_FALSE(cp_head_kind_add(&bare));
    TEST_ASSERT_EQUAL_STRING("head_kind_add: bare: the members make and logits must be set", message);
    TEST_ASSERT_FALSE(cp_net_kind_add(&empty));
    TEST_ASSERT_EQUAL_STRING("net_kind_add: empty: the members make and forward must be set", message);
    cp_rng     rng = cp_rng_named(1, "init");
    cp_params *params = cp_params_new();
    cp_head   *head = cp_head_new(&wide, params, "head", 2, 3, NULL, &rng);
    TEST_ASSERT_NULL(cp_head_posterior(tape, head, cp_full(tape, 1, CP_SHAPE(2, 2))));
    TEST_ASSERT_EQUAL_STRING("wide: the head gives logits of shape (2, 4) for 3 classes", message);
    cp_head_free(head);
    cp_params_free(params);
}

/* ---- the tables of docs/formats.md ---- */

/* The default as written in the table, or "needed". */
static void default_text(const cp_key *key, char *text, size_t size) {
    bool bounded = key->kind == CP_KEY_INT || key->kind == CP_KEY_NUMBER || key->kind == CP_KEY_SIZES;
    snprintf(text, size, "%g", key->fallback);
    if (bounded && !(key->fallback >= key->min && key->fallback <= key->max)) snprintf(text, size, "needed");
    if (key->kind == CP_KEY_BOOL) snprintf(text, size, key->fallback != 0 ? "`true`" : "`false`");
    for (const cp_choice *choice = key->choices; choice && choice->name; choice++)
        if (choice->value == key->fallback) snprintf(text, size, "`%s`", choice->name);
}

static void key_is_documented(const char *document, const char *kind, const cp_key *key) {
    char name[64], expected[64], line[400] = "", failure[200];
    snprintf(name, sizeof name, "`%s`", key->name);
    default_text(key, expected, sizeof expected);
    bool found = false;
    for (const char *row = strstr(document, "| model | key |"); !found && row && *row == '|'; row = strchr(row, '\n') + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(row, "\n"), row);
        char *model = strtok(line, "|"), *keys = strtok(NULL, "|"), *values = strtok(NULL, "|"), *fallback = strtok(NULL, "|");
        found = model && keys && fallback && strstr(keys, name) && strstr(fallback, expected);
        for (const cp_choice *choice = key->choices; found && choice && choice->name; choice++)
            found = strstr(values, choice->name);
    }
    snprintf(failure, sizeof failure, "docs/formats.md has no row for %s of %s with all values and the default %s", name, kind,
             expected);
    TEST_ASSERT_TRUE_MESSAGE(found, failure);
}

static void every_key_of_a_built_in_kind_is_in_the_table_of_docs_formats(void) {
    static const cp_kind *const kinds[] = {&cp_net_wrn.base, &cp_net_mlp.base, &cp_net_lstm.base, &cp_head_hybrid.base};
    cp_bytes                    document;
    TEST_ASSERT_TRUE(cp_file_read(CP_TEST_DATA "/../../docs/formats.md", 1 << 20, &document, &status) &&
                     cp_bytes_append(&document, "", 1));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const cp_key *key = kinds[i]->keys; key->name; key++)
            key_is_documented((const char *)document.data, kinds[i]->name, key);
    cp_bytes_free(&document);
}

/* ---- kinds in words ---- */

static void read_net(const char *words, cp_shape input, const char *expected) {
    cp_model_config config = {.classes = 2};
    status = (cp_status){0};
    TEST_ASSERT_TRUE_MESSAGE(cp_model_config_net(&config, words, input, "--net", &status), status.message);
    char *text = cp_model_config_text(&config);
    TEST_ASSERT_EQUAL_STRING(expected, text);
    free(text);
    TEST_ASSERT_TRUE_MESSAGE(cp_model_config_check(&config, input, &status), status.message);
}

static void networks_described_in_words_take_their_input_sizes_from_the_inputs(void) {
    cp_shape image = CP_SHAPE(8, 9, 3);
    read_net("wrn:depth=16,norm=group", image,
             "{\"model\":\"wrn\",\"depth\":16,\"width\":1,\"channels\":3,\"norm\":\"group\",\"layout\":\"jem\","
             "\"activation\":\"leaky\",\"classes\":2,\"head\":\"softmax\"}");
    read_net("mlp:sizes=64/32,activation=relu", image,
             "{\"model\":\"mlp\",\"sizes\":[216,64,32],\"activation\":\"relu\",\"classes\":2,\"head\":\"softmax\"}");
    read_net("lstm:hidden=5,bidirectional=true", image,
             "{\"model\":\"lstm\",\"in\":27,\"hidden\":5,\"layers\":1,\"bidirectional\":true,\"classes\":2,\"head\":"
             "\"softmax\"}");
}

static void words_are_refused(const char *words, const char *expected) {
    cp_model_config config = {.classes = 2};
    status = (cp_status){0};
    TEST_ASSERT_FALSE(cp_model_config_net(&config, words, CP_SHAPE(8, 8, 1), "--net", &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, expected), status.message);
}

static void words_that_do_not_describe_a_network_are_refused(void) {
    words_are_refused("resnet", "--net: \"resnet\" is not one of wrn, mlp, lstm");
    words_are_refused("wrn:dept=10", "--net: wrn has no key \"dept\"; the keys are depth, width, channels");
    words_are_refused("wrn:depth=12", "--net: \"depth\" is 12; it must be one of 10, 16, 22");
    words_are_refused("wrn:depth=many", "\"depth\" is \"many\"");
    words_are_refused("wrn:depth", "\"depth\" needs a value: depth=...");
    words_are_refused("wrn:norm=2", "\"norm\" is \"2\"; it must be one of none");
    words_are_refused("wrn:depth=10,depth=16", "depth");
    words_are_refused("mlp:sizes=64/x", "\"sizes\" must be 1 to 16 whole numbers");
    words_are_refused("lstm", "\"hidden\" is missing");
    words_are_refused("", "\"\" is not one of wrn, mlp, lstm");
    cp_model_config config = {.classes = 2, .wrn = {.channels = 3}};
    TEST_ASSERT_FALSE(cp_model_config_check(&config, CP_SHAPE(8, 8, 1), &status));
}

static void a_head_in_words_has_its_keys(void) {
    cp_model_config config = {.classes = 2};
    TEST_ASSERT_TRUE(cp_model_config_head(&config, "hybrid:precision=full,apart=true", "--head", &status));
    TEST_ASSERT_EQUAL_STRING("hybrid", config.head);
    TEST_ASSERT_TRUE(config.hybrid.precision == CP_FULL && config.hybrid.apart && config.hybrid.mean_sd == 0.6);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(networks_described_in_words_take_their_input_sizes_from_the_inputs);
    RUN_TEST(words_that_do_not_describe_a_network_are_refused);
    RUN_TEST(a_head_in_words_has_its_keys);
    RUN_TEST(own_kinds_are_saved_loaded_and_used_like_the_built_in_ones);
    RUN_TEST(own_keys_are_described_with_their_defaults);
    RUN_TEST(own_keys_are_checked_like_the_built_in_ones);
    RUN_TEST(kinds_with_a_taken_name_or_invalid_keys_are_refused);
    RUN_TEST(a_network_and_a_head_with_the_same_key_make_no_model);
    RUN_TEST(the_hybrid_head_starts_as_its_options_say);
    RUN_TEST(a_small_file_cannot_ask_for_a_large_model);
    RUN_TEST(impossible_models_in_files_are_bad_data_and_not_misuse);
    RUN_TEST(every_key_of_a_built_in_kind_is_in_the_table_of_docs_formats);
    RUN_TEST(a_kind_that_lacks_a_function_or_gives_a_wrong_shape_is_an_error);
    return UNITY_END();
}
