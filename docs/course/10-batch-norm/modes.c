/* A batch norm of five numbers in both modes. The running statistics are set to those of the batch, so both modes give
 * the same values, but their gradients differ. Then how the running statistics approach those of the batch. */
#include <couplet.h>
#include <math.h>

enum { N = 5 };
static const cp_real data[N] = {1, 3, 4, 5, 7}; /* mean 4, variance 4 */

static void show(const char *what, const cp_real *v) {
    printf("%-42s", what);
    for (int i = 0; i < N; i++) printf("%7.3f", fabs(v[i]) < 5e-4 ? 0 : v[i]); /* no -0.000 */
    printf("\n");
}

static cp_tensor *norm(cp_tape *tape, cp_tensor *x, cp_tensor *mean, cp_tensor *var, bool training) {
    cp_batch_norm_config config = {.training = training, .running_mean = mean, .running_var = var};
    return cp_batch_norm(tape, x, NULL, NULL, config); /* no gamma, no beta */
}

/* y[0] and d y[0] / dx, in one of the modes. */
static void mode(cp_tape *tape, cp_tensor *mean, cp_tensor *var, bool training) {
    cp_tensor *x = cp_variable(tape, data, CP_SHAPE(N, 1)), *dx;
    cp_tensor *y = norm(tape, x, training ? NULL : mean, training ? NULL : var, training);
    cp_tensor *first = cp_slice(tape, y, (int[]){0, 0}, (int[]){1, 1}, NULL);
    cp_grad(tape, first, &x, 1, &dx);
    printf("%s\n", training ? "training" : "evaluation");
    show("  y", y->data);
    show("  gradient of y[0]", dx->data);
}

/* The same gradient by differences, in evaluation. */
static void differences(cp_tape *tape, cp_tensor *mean, cp_tensor *var) {
    cp_real slope[N];
    for (int i = 0; i < N; i++) {
        double y[2];
        for (int side = 0; side < 2; side++) {
            cp_real moved[N];
            for (int k = 0; k < N; k++) moved[k] = data[k] + (k == i ? side - 0.5 : 0);
            y[side] = norm(tape, cp_constant(tape, moved, CP_SHAPE(N, 1)), mean, var, false)->data[0];
        }
        slope[i] = y[1] - y[0];
    }
    show("  by differences", slope);
}

/* The classic bug: values from the running statistics, gradient by the training rule, for g = 1 0 0 0 0. */
static void bug(void) {
    cp_real dx[N];
    double  mean_g = 1.0 / N, mean_gy = (data[0] - 4) / 2 / N;
    for (int i = 0; i < N; i++) dx[i] = ((i == 0) - mean_g - (data[i] - 4) / 2 * mean_gy) / 2;
    show("  the classic bug says", dx);
}

static void running(cp_tape *tape, cp_real momentum) {
    cp_tensor *mean = cp_tensor_new(CP_SHAPE(1)), *var = cp_tensor_new(CP_SHAPE(1));
    var->data[0] = 1;
    printf("momentum %.1f, running mean and variance:", momentum);
    for (int step = 1; step <= 3; step++) {
        cp_tensor *x = cp_constant(tape, data, CP_SHAPE(N, 1));
        cp_batch_norm(tape, x, NULL, NULL,
                      (cp_batch_norm_config){.training = true, .running_mean = mean, .running_var = var, .momentum = momentum});
        printf("  %.3f %.3f", mean->data[0], var->data[0]);
        cp_tape_reset(tape);
    }
    printf("\n");
    cp_tensor_free(mean);
    cp_tensor_free(var);
}

int main(void) {
    cp_tape   *tape = cp_tape_new();
    cp_tensor *mean = cp_tensor_new(CP_SHAPE(1)), *var = cp_tensor_new(CP_SHAPE(1));
    mean->data[0] = var->data[0] = 4;
    mode(tape, mean, var, true);
    mode(tape, mean, var, false);
    differences(tape, mean, var);
    bug();
    cp_tape_reset(tape);
    printf("\n");
    running(tape, 0.1);
    running(tape, 0.9);
    cp_tape_free(tape);
    cp_tensor_free(mean);
    cp_tensor_free(var);
    return 0;
}
