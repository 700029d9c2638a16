/* A convolution of a row of five numbers as a matrix, and its two adjoints as transposed matrices. A row is an image of
 * height 1 and one channel: (1, 1, 5, 1). Then the same test on an image with channels, whose matrix is too large to
 * print. */
#include <couplet.h>

enum { WIDTH = 5, KERNEL = 3, OUT = 3 };
static const cp_conv2d_config config = {.stride_h = 1, .stride_w = 2, .pad_left = 1, .pad_right = 1};
static const int              x_dims[] = {1, 1, WIDTH, 1}, w_dims[] = {1, KERNEL, 1, 1};
static const cp_real          x_data[WIDTH] = {1, 2, 3, 4, 5}, w_data[KERNEL] = {10, 20, 30};

static cp_tensor *row(cp_tape *tape, const cp_real *data, int width) {
    return cp_constant(tape, data, CP_SHAPE(1, 1, width, 1));
}

static cp_tensor *kernel(cp_tape *tape, const cp_real *data) {
    return cp_constant(tape, data, CP_SHAPE(1, KERNEL, 1, 1));
}

/* The matrix of a linear map of a row with `from` numbers, column by column: its results for 1, 0, 0 ...; 0, 1, 0 ...;
 * and so on. */
typedef cp_tensor *linear_map(cp_tape *tape, const cp_real *row);

static void print_matrix(cp_tape *tape, const char *name, linear_map *map, int from, int to) {
    cp_real matrix[WIDTH][WIDTH] = {{0}};
    for (int j = 0; j < from; j++) {
        cp_real unit[WIDTH] = {0};
        unit[j] = 1;
        cp_tensor *column = map(tape, unit);
        for (int i = 0; i < to; i++) matrix[i][j] = column->data[i];
    }
    printf("%s\n", name);
    for (int i = 0; i < to; i++) {
        for (int j = 0; j < from; j++) printf("%5.0f", matrix[i][j]);
        printf("\n");
    }
}

static cp_tensor *of_x(cp_tape *tape, const cp_real *x) {
    return cp_conv2d(tape, row(tape, x, WIDTH), kernel(tape, w_data), NULL, config);
}
static cp_tensor *of_x_adjoint(cp_tape *tape, const cp_real *g) {
    return cp_conv2d_input_grad(tape, row(tape, g, OUT), kernel(tape, w_data), x_dims, config);
}
static cp_tensor *of_w(cp_tape *tape, const cp_real *w) {
    return cp_conv2d(tape, row(tape, x_data, WIDTH), kernel(tape, w), NULL, config);
}
static cp_tensor *of_w_adjoint(cp_tape *tape, const cp_real *g) {
    return cp_conv2d_weight_grad(tape, row(tape, x_data, WIDTH), row(tape, g, OUT), w_dims, config);
}

/* ---- the inner-product test ---- */

static double inner(cp_tape *tape, cp_tensor *a, cp_tensor *b) {
    return cp_item(cp_sum(tape, cp_mul(tape, a, b), CP_ALL, false));
}

static cp_tensor *random_tensor(cp_tape *tape, cp_rng *rng, cp_shape shape) {
    cp_tensor *t = cp_full(tape, 0, shape);
    cp_rng_fill_normal(rng, t->data, t->size, 0, 1);
    return t;
}

static void images(cp_tape *tape) {
    cp_rng           rng = cp_rng_named(7, "course");
    cp_conv2d_config c = {CP_STRIDE(2), CP_PAD(1)};
    cp_tensor       *x = random_tensor(tape, &rng, CP_SHAPE(2, 7, 6, 3));
    cp_tensor       *w = random_tensor(tape, &rng, CP_SHAPE(3, 3, 3, 4));
    cp_tensor       *y = cp_conv2d(tape, x, w, NULL, c);
    cp_tensor       *g = random_tensor(tape, &rng, y->shape);
    printf("image (2, 7, 6, 3), kernel (3, 3, 3, 4), stride 2: result (%d, %d, %d, %d)\n", y->dims[0], y->dims[1], y->dims[2],
           y->dims[3]);
    printf("<conv(x, w), g>        = %.3f\n", inner(tape, y, g));
    printf("<x, input_grad(g, w)>  = %.3f\n", inner(tape, x, cp_conv2d_input_grad(tape, g, w, x->dims, c)));
    printf("<w, weight_grad(x, g)> = %.3f\n", inner(tape, w, cp_conv2d_weight_grad(tape, x, g, w->dims, c)));
}

int main(void) {
    cp_tape *tape = cp_tape_new();
    print_matrix(tape, "A, from x to y (kernel 10 20 30, stride 2, one zero at each end):", of_x, WIDTH, OUT);
    print_matrix(tape, "conv2d_input_grad, from g to x:", of_x_adjoint, OUT, WIDTH);
    print_matrix(tape, "B, from w to y (x = 1 2 3 4 5):", of_w, KERNEL, OUT);
    print_matrix(tape, "conv2d_weight_grad, from g to w:", of_w_adjoint, OUT, KERNEL);
    printf("\n");
    images(tape);
    cp_tape_free(tape);
    return 0;
}
