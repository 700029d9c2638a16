/* The engine of the course's first chapter and the library agree: on the chapter's examples, whose gradients are on its
 * page, and on random programs. Each example is written once and run by both engines. */
#include "couplet.h"
#include "docs/course/01-scalar-tape/engine.h"

#include "unity.h"

#define CLOSE (sizeof(cp_real) == 8 ? 1e-12 : 1e-5)

static tape     by_hand;
static cp_tape *library;

void setUp(void) {
    library = cp_tape_new();
    by_hand.length = 0;
}

void tearDown(void) { cp_tape_free(library); }

/* A value in both engines. */
typedef struct twin {
    int        place;
    cp_tensor *tensor;
} twin;

static twin twin_leaf(double value) {
    return (twin){leaf(&by_hand, value), cp_variable(library, (cp_real[]){(cp_real)value}, CP_SCALAR)};
}

static twin twin_add(twin a, twin b) { return (twin){add(&by_hand, a.place, b.place), cp_add(library, a.tensor, b.tensor)}; }

static twin twin_mul(twin a, twin b) { return (twin){mul(&by_hand, a.place, b.place), cp_mul(library, a.tensor, b.tensor)}; }

static twin twin_tanh(twin a) { return (twin){tanh_of(&by_hand, a.place), cp_tanh(library, a.tensor)}; }

/* Checks that the values and the gradients of the result at each of these values are the same; returns the first gradient. */
static double agree(twin result, int n, const twin *at) {
    cp_tensor *wrt[64], *grads[64];
    for (int i = 0; i < n; i++) wrt[i] = at[i].tensor;
    backward(&by_hand, result.place);
    TEST_ASSERT_TRUE(cp_grad(library, result.tensor, wrt, n, grads));
    for (int i = 0; i < n; i++) {
        const node *here = &by_hand.nodes[at[i].place];
        TEST_ASSERT_DOUBLE_WITHIN(CLOSE * fmax(1, fabs(here->value)), here->value, (double)cp_item(at[i].tensor));
        TEST_ASSERT_DOUBLE_WITHIN(CLOSE * fmax(1, fabs(here->grad)), here->grad, (double)cp_item(grads[i]));
    }
    return by_hand.nodes[at[0].place].grad;
}

static void the_example_on_paper_agrees(void) {
    twin x = twin_leaf(2), y = twin_leaf(3), sum = twin_add(x, y), result = twin_mul(sum, y);
    TEST_ASSERT_EQUAL_DOUBLE(3, agree(result, 4, (twin[]){x, y, sum, result}));
    TEST_ASSERT_EQUAL_DOUBLE(8, agree(result, 4, (twin[]){y, x, sum, result}));
}

static void the_neuron_agrees(void) {
    twin w = twin_leaf(0.8), b = twin_leaf(-0.2), x = twin_leaf(0.5);
    twin out = twin_tanh(twin_add(twin_mul(w, x), b)), error = twin_add(out, twin_leaf(-1)), loss = twin_mul(error, error);
    TEST_ASSERT_DOUBLE_WITHIN(5e-6, -0.77136, agree(loss, 6, (twin[]){w, b, x, out, error, loss}));
    TEST_ASSERT_DOUBLE_WITHIN(5e-6, -1.54271, agree(loss, 1, &b));
}

static void the_example_of_the_order_agrees(void) {
    twin x = twin_leaf(3), w = twin_leaf(2), h = twin_mul(x, x), product = twin_mul(h, w), result = twin_add(product, h);
    TEST_ASSERT_EQUAL_DOUBLE(18, agree(result, 5, (twin[]){x, w, h, product, result}));
}

static void twenty_doublings_agree(void) {
    twin x = twin_leaf(1), y = x;
    for (int i = 0; i < 20; i++) y = twin_add(y, y);
    TEST_ASSERT_EQUAL_DOUBLE(1 << 20, agree(y, 1, &x));
}

static void the_examples_of_accumulation_agree(void) {
    twin x = twin_leaf(3);
    TEST_ASSERT_EQUAL_DOUBLE(5, agree(twin_mul(twin_leaf(5), twin_add(x, twin_leaf(1))), 1, &x));
    TEST_ASSERT_EQUAL_DOUBLE(7, agree(twin_add(twin_mul(x, x), x), 1, &x));
    TEST_ASSERT_EQUAL_DOUBLE(2, agree(twin_add(x, x), 1, &x));
}

static void a_second_and_a_third_sweep_agree(void) {
    twin x = twin_leaf(3), p = twin_mul(x, x), result = twin_mul(p, twin_leaf(2));
    for (int sweep = 0; sweep < 3; sweep++) TEST_ASSERT_EQUAL_DOUBLE(12, agree(result, 2, (twin[]){x, p}));
}

static void random_program_agrees(cp_rng *rng) {
    twin values[40];
    int  leaves = 1 + (int)cp_rng_below(rng, 4), n = leaves + 1 + (int)cp_rng_below(rng, 30);
    for (int i = 0; i < n; i++) {
        if (i < leaves) {
            values[i] = twin_leaf(cp_rng_normal(rng));
            continue;
        }
        twin a = values[cp_rng_below(rng, (uint64_t)i)], b = values[cp_rng_below(rng, (uint64_t)i)];
        int  op = (int)cp_rng_below(rng, 3);
        values[i] = op == 0 ? twin_add(a, b) : op == 1 ? twin_tanh(twin_mul(a, b)) : twin_tanh(a); /* a bound on products */
    }
    agree(values[n - 1], n, values);
}

static void random_programs_agree(void) {
    cp_rng rng = cp_rng_named(1, "programs");
    for (int program = 0; program < 300; program++) {
        by_hand.length = 0;
        cp_tape_reset(library);
        random_program_agrees(&rng);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(the_example_on_paper_agrees);
    RUN_TEST(the_neuron_agrees);
    RUN_TEST(the_example_of_the_order_agrees);
    RUN_TEST(twenty_doublings_agree);
    RUN_TEST(the_examples_of_accumulation_agree);
    RUN_TEST(a_second_and_a_third_sweep_agree);
    RUN_TEST(random_programs_agree);
    return UNITY_END();
}
