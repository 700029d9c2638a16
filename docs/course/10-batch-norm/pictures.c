/* Draws the slopes of all results with respect to all inputs of a batch norm, in both modes. */
#include <couplet-kit.h>

enum { N = 5 };

int main(void) {
    static const char *const rows[] = {"y[0]", "y[1]", "y[2]", "y[3]", "y[4]"}, *const columns[] = {"x[0]", "x[1]", "x[2]", "x[3]",
                                                                                                    "x[4]"};
    const cp_real data[N] = {1, 3, 4, 5, 7}; /* mean 4, variance 4 */
    cp_status     status = {0};
    cp_tape      *tape = cp_tape_new();
    cp_tensor    *mean = cp_tensor_new(CP_SHAPE(1)), *var = cp_tensor_new(CP_SHAPE(1));
    cp_figure    *figure = cp_figure_new((cp_figure_config){.columns = 2, .width = 250, .height = 200});
    mean->data[0] = var->data[0] = 4;
    for (int evaluation = 0; evaluation < 2; evaluation++) {
        double          slopes[N * N];
        cp_panel_config config = {.title = evaluation ? "evaluation" : "training",
                                  .x_names = columns,
                                  .x_name_count = N,
                                  .y_names = rows,
                                  .y_name_count = N};
        for (int i = 0; i < N; i++) {
            cp_real    one[N] = {0};
            cp_tensor *x = cp_variable(tape, data, CP_SHAPE(N, 1)), *row;
            one[i] = 1;
            cp_batch_norm_config norm = {.training = !evaluation};
            if (evaluation) norm.running_mean = mean, norm.running_var = var;
            cp_vjp(tape, cp_batch_norm(tape, x, NULL, NULL, norm), cp_constant(tape, one, CP_SHAPE(N, 1)), &x, 1, &row);
            for (int j = 0; j < N; j++) slopes[i * N + j] = row->data[j];
            cp_tape_reset(tape);
        }
        cp_panel_cells(cp_figure_panel(figure, config), (cp_style){.color = 0}, N, N, slopes, -0.2, 0.5, 2);
    }
    bool ok = cp_figure_finish(figure, "slopes", &status);
    if (!ok) fprintf(stderr, "%s\n", status.message);
    cp_tensor_free(mean), cp_tensor_free(var), cp_tape_free(tape);
    return !ok;
}
