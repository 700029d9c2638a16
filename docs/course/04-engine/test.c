/* Checks exercise 4, stage by stage: values and gradients of each op, the sweep, and a training whose numbers must be the library's. */
#include "04-engine/moons.h"
#include "expect.h"
#include <couplet.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX = 64 };
static tape tape_of_test;

/* What is in a tensor; its shape is checked first, and a tensor of another shape counts as NaN. */
static void expect_table(const char *what, int rows, int columns, const double *expected, const tensor *t, const double *received) {
    char text[200];
    int  same = t->rows == rows && t->columns == columns;
    snprintf(text, sizeof text, "%s", what);
    expect_begin(text);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            char at[32];
            snprintf(at, sizeof at, "[%d, %d]", i, j);
            expect_value(at, expected[i * columns + j], same ? received[i * columns + j] : NAN, 1e-9);
        }
    snprintf(text, sizeof text, "expected the shape (%d, %d), received (%d, %d)", rows, columns, t->rows, t->columns);
    if (!same) expect_note(text);
}

/* Applies an op to counting numbers, starting at 1 and at 10, and runs its rule for the gradients 1, 2, 3 ... at the result. The
 * gradients at the inputs are 100 before: a rule adds to them. The expected numbers are the library's. */
static void expect_op(const char *what, tensor *(*op)(tape *, tensor *, tensor *),
                      cp_tensor *(*theirs)(cp_at, cp_tensor *, cp_tensor *), int rows_a, int columns_a, int rows_b, int columns_b) {
    char       text[200];
    double     numbers[2][MAX], expected[2][MAX];
    cp_tape   *library = cp_tape_new();
    tensor    *in[2] = {tensor_new(rows_a, columns_a), tensor_new(rows_b, columns_b)};
    cp_shape   shapes[2] = {CP_SHAPE(rows_a, columns_a), CP_SHAPE(rows_b, columns_b)};
    cp_tensor *leaves[2], *grads[2];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < in[k]->rows * in[k]->columns; i++) {
            numbers[k][i] = in[k]->data[i] = k ? 10 + i : 1 + i * 0.5;
            in[k]->grad[i] = 100;
        }
        leaves[k] = cp_variable(library, numbers[k], shapes[k]);
    }
    cp_tensor *right = theirs(CP_AT(library), leaves[0], leaves[1]), *seed = cp_full(library, 0, right->shape);
    for (size_t i = 0; i < seed->size; i++) seed->data[i] = (double)i + 1;
    cp_vjp(library, right, seed, leaves, 2, grads);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < grads[k]->size; i++) expected[k][i] = 100 + grads[k]->data[i];

    tensor *out = op(&tape_of_test, in[0], in[1]);
    snprintf(text, sizeof text, "%s: value", what);
    expect_table(text, right->dims[0], right->dims[1], right->data, out, out->data);
    for (int i = 0; i < out->rows * out->columns; i++) out->grad[i] = i + 1;
    if (out->rule) out->rule(out);
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, "%s: gradient at %c (100 before)", what, "ab"[k]);
        expect_table(text, in[k]->rows, in[k]->columns, expected[k], in[k], in[k]->grad);
        tensor_free(in[k]);
    }
    tape_clear(&tape_of_test);
    cp_tape_free(library);
}

static cp_tensor *library_add(cp_at at, cp_tensor *a, cp_tensor *b) {
    return cp_add(at, a, b);
}
static cp_tensor *library_mul(cp_at at, cp_tensor *a, cp_tensor *b) {
    return cp_mul(at, a, b);
}
static cp_tensor *library_matmul(cp_at at, cp_tensor *a, cp_tensor *b) {
    return cp_matmul(at, a, b, 0);
}

/* Whether an op of shapes that do not fit ends the program as shapes_differ does; it runs in a child process, whose words are dropped. */
static void expect_refused(const char *what, tensor *(*op)(tape *, tensor *, tensor *), int rows_b, int columns_b) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr)) op(&tape_of_test, tensor_new(2, 3), tensor_new(rows_b, columns_b));
        _Exit(0);
    }
    expect_true(what, child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 2);
    expect_note("expected a call of shapes_differ, which ends the program with code 2");
}

static void stage_1(void) {
    expect_part("stage 1: add");
    expect_op("(2, 3) + (2, 3)", add, library_add, 2, 3, 2, 3);
    expect_op("(1, 4) + (1, 4)", add, library_add, 1, 4, 1, 4);
    tensor *a = tensor_new(1, 2), *out = add(&tape_of_test, a, a);
    out->grad[0] = 1, out->grad[1] = 5;
    if (out->rule) out->rule(out);
    expect_table("a + a: gradient at a, which is used twice", 1, 2, (double[]){2, 10}, a, a->grad);
    tensor_free(a), tape_clear(&tape_of_test);
}

static void stage_2(void) {
    expect_part("stage 2: matmul");
    expect_op("(2, 3) times (3, 4)", matmul, library_matmul, 2, 3, 3, 4);
    expect_op("(1, 3) times (3, 1)", matmul, library_matmul, 1, 3, 3, 1);
    expect_op("(3, 1) times (1, 2)", matmul, library_matmul, 3, 1, 1, 2);
}

static bool stage_3(void) {
    static const int shapes[][2] = {{2, 3}, {1, 3}, {2, 1}, {1, 1}};
    bool             right = true;
    expect_part("stage 3: sum to shape");
    for (int k = 0; k < 4; k++) {
        char    what[80];
        tensor *small = tensor_new(shapes[k][0], shapes[k][1]);
        snprintf(what, sizeof what, "place in (%d, %d), for a table of (2, 3)", small->rows, small->columns);
        expect_begin(what);
        for (int i = 0; i < 6; i++) {
            char at[32];
            int  expected = (small->rows == 1 ? 0 : i / 3) * small->columns + (small->columns == 1 ? 0 : i % 3);
            int  received = place(small, i / 3, i % 3);
            snprintf(at, sizeof at, " at [%d, %d]", i / 3, i % 3);
            expect_value(at, expected, received, 0);
            right &= expected == received;
        }
        tensor_free(small);
    }
    if (!right) return false; /* the others would read and write anywhere */
    expect_op("(2, 3) times (2, 3), elementwise", mul, library_mul, 2, 3, 2, 3);
    expect_op("(2, 3) times (1, 3), elementwise", mul, library_mul, 2, 3, 1, 3);
    expect_op("(2, 1) times (2, 3), elementwise", mul, library_mul, 2, 1, 2, 3);
    expect_op("(3, 1) times (1, 4), elementwise", mul, library_mul, 3, 1, 1, 4);
    expect_op("(2, 3) + (1, 3), a bias", add, library_add, 2, 3, 1, 3);
    expect_op("(1, 1) + (2, 3)", add, library_add, 1, 1, 2, 3);
    expect_op("(2, 1) + (1, 3)", add, library_add, 2, 1, 1, 3);
    expect_refused("add refuses (2, 3) + (3, 3)", add, 3, 3);
    expect_refused("mul refuses (2, 3) times (2, 4), elementwise", mul, 2, 4);
    return true;
}

/* Runs the rule of a recorded value alone, for the gradients 1, 2, 3 ... at the value. */
static void expect_rule(const char *what, tensor *out, const double *slopes) {
    tensor *in = out->in[0];
    double  expected[MAX];
    for (int i = 0; i < out->rows * out->columns; i++) out->grad[i] = i + 1;
    for (int i = 0; i < in->rows * in->columns; i++) {
        in->grad[i] = 100;
        expected[i] = 100 + slopes[i] * (out->rows * out->columns == 1 ? 1 : i + 1);
    }
    if (out->rule) out->rule(out);
    expect_table(what, in->rows, in->columns, expected, in, in->grad);
}

/* mean((tanh(w x) + w) w) has w three times, and a value after the result that does not count. */
static void stage_4(void) {
    const double numbers[] = {0.5, -1, 2, 0}, x[] = {1, 2, -0.5, 3};
    expect_part("stage 4: the sweep");
    cp_tape   *library = cp_tape_new();
    cp_tensor *v = cp_variable(library, numbers, CP_SHAPE(2, 2)), *c = cp_constant(library, x, CP_SHAPE(2, 2)), *dv;
    cp_tensor *h = cp_tanh(library, cp_mul(library, v, c));
    cp_tensor *m = cp_mean(library, cp_mul(library, cp_add(library, h, v), v), CP_ALL, false);
    cp_grad(library, m, &v, 1, &dv);

    tensor *w = tensor_new(2, 2), *xs = leaf(&tape_of_test, 2, 2, x);
    for (int i = 0; i < 4; i++) w->data[i] = numbers[i];
    tensor *active = tanh_of(&tape_of_test, mul(&tape_of_test, w, xs));
    tensor *loss = mean(&tape_of_test, mul(&tape_of_test, add(&tape_of_test, active, w), w));
    tensor *later = mean(&tape_of_test, loss);
    expect_table("tanh: value", 2, 2, h->data, active, active->data);
    double slopes[4];
    for (int i = 0; i < 4; i++) slopes[i] = 1 - h->data[i] * h->data[i];
    expect_rule("tanh: gradient at a (100 before)", active, slopes);
    expect_table("mean: value", 1, 1, m->data, loss, loss->data);
    expect_rule("mean: gradient at a (100 before)", loss, (double[]){0.25, 0.25, 0.25, 0.25});
    later->grad[0] = 9, xs->grad[0] = 9; /* left over from an earlier sweep */
    backward(&tape_of_test, loss);
    expect_table("backward: gradient at the result", 1, 1, (double[]){1}, loss, loss->grad);
    expect_table("backward: gradient at a weight that is used three times", 2, 2, dv->data, w, w->grad);
    backward(&tape_of_test, loss);
    expect_table("the same after a second backward: it clears first", 2, 2, dv->data, w, w->grad);
    expect_table("backward: gradient at a value that was made after the result", 1, 1, (double[]){0}, later, later->grad);
    tensor_free(w), tape_clear(&tape_of_test), cp_tape_free(library);
}

static void stage_5(void) {
    enum { STEPS = 20 };
    double     losses[STEPS], expected[STEPS];
    moons      m = moons_make();
    tensor    *w[WEIGHTS], *pair[2] = {tensor_new(1, 2), tensor_new(2, 1)};
    cp_tensor *parameters[WEIGHTS];
    cp_tape   *library = cp_tape_new();
    expect_part("stage 5: SGD");
    for (int k = 0; k < 2; k++) pair[k]->data[0] = 1, pair[k]->grad[0] = 4, pair[k]->grad[1] = -2 - k;
    sgd(pair, 2, 0.5);
    expect_table("sgd with rate 0.5: first weight", 1, 2, (double[]){-1, 1}, pair[0], pair[0]->data);
    expect_table("sgd with rate 0.5: second weight", 2, 1, (double[]){-1, 1.5}, pair[1], pair[1]->data);
    weights_make(w), parameters_make(w, parameters);
    for (int step = 0; step < STEPS; step++) {
        tensor *loss = loss_of(&tape_of_test, &m, w);
        losses[step] = loss->data[0];
        backward(&tape_of_test, loss);
        sgd(w, WEIGHTS, 0.3);
        tape_clear(&tape_of_test);
        expected[step] = library_step(library, &m, parameters, 0.3);
    }
    expect_numbers("two moons: loss at step", STEPS, expected, losses, 1e-9);
    static const char *const names[WEIGHTS] = {"W1", "b1", "W2", "b2"};
    for (int k = 0; k < WEIGHTS; k++) {
        char what[60];
        snprintf(what, sizeof what, "two moons: %s after %d steps", names[k], STEPS);
        expect_table(what, w[k]->rows, w[k]->columns, parameters[k]->data, w[k], w[k]->data);
        tensor_free(w[k]), cp_tensor_free(parameters[k]);
    }
    tensor_free(pair[0]), tensor_free(pair[1]), cp_tape_free(library);
}

int main(void) {
    stage_1();
    stage_2();
    if (!stage_3()) return expect_end();
    stage_4();
    stage_5();
    return expect_end();
}
