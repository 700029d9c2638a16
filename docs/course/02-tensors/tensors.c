/* Rules of ops on tensors: an elementwise op, a product of matrices, and broadcasting. */
#include <couplet.h>

static void show(const char *name, cp_tensor *t) {
    t->name = name;
    cp_tensor_print(stdout, t);
}

/* The slopes of tanh at three values are nine numbers. A sweep with the gradient 1 at one element and 0 elsewhere gives one row. */
static void elementwise(cp_tape *tape) {
    cp_tensor *a = cp_variable(tape, (cp_real[]){0, 0.5, -1}, CP_SHAPE(3)), *row;
    cp_tensor *y = cp_tanh(tape, a);
    show("y = tanh a", y);
    for (int i = 0; i < 3; i++) {
        cp_real one[3] = {0};
        one[i] = 1;
        cp_vjp(tape, y, cp_constant(tape, one, CP_SHAPE(3)), &a, 1, &row);
        printf("slopes of y[%d]: %6.3f %6.3f %6.3f\n", i, row->data[0], row->data[1], row->data[2]);
    }
    cp_vjp(tape, y, cp_constant(tape, (cp_real[]){1, 10, 100}, CP_SHAPE(3)), &a, 1, &row);
    show("gradient at a, when that at y is 1 10 100", row);
}

static void product(cp_tape *tape) {
    cp_tensor *a = cp_variable(tape, (cp_real[]){1, 2, 3, 4, 5, 6}, CP_SHAPE(2, 3));
    cp_tensor *b = cp_variable(tape, (cp_real[]){1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1}, CP_SHAPE(3, 4));
    cp_tensor *g = cp_constant(tape, (cp_real[]){1, 2, 3, 4, 5, 6, 7, 8}, CP_SHAPE(2, 4)), *grads[2];
    cp_tensor *y = cp_matmul(tape, a, b, 0); /* (2, 4) */
    cp_vjp(tape, y, g, (cp_tensor *[]){a, b}, 2, grads);
    printf("\n");
    show("gradient at A", grads[0]);
    show("G B^T", cp_matmul(tape, g, b, CP_TRANSPOSE_B));
    show("gradient at B", grads[1]);
    show("A^T G", cp_matmul(tape, a, g, CP_TRANSPOSE_A));
}

/* x + row + column + number, shapes (2, 3), (3), (2, 1) and (). */
static void broadcast(cp_tape *tape) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){0, 0, 0, 0, 0, 0}, CP_SHAPE(2, 3));
    cp_tensor *row = cp_variable(tape, (cp_real[]){1, 2, 3}, CP_SHAPE(3));
    cp_tensor *column = cp_variable(tape, (cp_real[]){10, 20}, CP_SHAPE(2, 1));
    cp_tensor *number = cp_variable(tape, (cp_real[]){100}, CP_SCALAR), *grads[4];
    cp_tensor *y = cp_add(tape, cp_add(tape, cp_add(tape, x, row), column), number); /* (2, 3) */
    cp_tensor *g = cp_constant(tape, (cp_real[]){1, 2, 3, 4, 5, 6}, CP_SHAPE(2, 3));
    cp_vjp(tape, y, g, (cp_tensor *[]){x, row, column, number}, 4, grads);
    printf("\n");
    show("x + row + column + number", y);
    show("gradient at x, as at the sum", grads[0]);
    show("gradient at row", grads[1]);
    show("gradient at column", grads[2]);
    show("gradient at number", grads[3]);
}

/* Three predictions in a column and three targets in a row: broadcasting compares every prediction with every target. */
static void a_loss_of_nine(cp_tape *tape) {
    cp_tensor *predicted = cp_variable(tape, (cp_real[]){1, 2, 3}, CP_SHAPE(3, 1));
    cp_tensor *target = cp_constant(tape, (cp_real[]){1, 2, 3}, CP_SHAPE(3));
    cp_tensor *wrong = cp_sub(tape, predicted, target);                                /* (3, 3) */
    cp_tensor *right = cp_sub(tape, cp_reshape(tape, predicted, CP_SHAPE(3)), target); /* (3) */
    printf("\nerror of perfect predictions: %.3f over %zu differences, %.3f over %zu\n",
           cp_item(cp_mean(tape, cp_square(tape, wrong), CP_ALL, false)), wrong->size,
           cp_item(cp_mean(tape, cp_square(tape, right), CP_ALL, false)), right->size);
}

int main(void) {
    cp_tape *tape = cp_tape_new();
    elementwise(tape);
    product(tape);
    broadcast(tape);
    a_loss_of_nine(tape);
    cp_tape_free(tape);
    return 0;
}
