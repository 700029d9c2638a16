/* Three chains of a sampler in one batch. Chain 0 stays where it is, chain 2 moves. Does this affect chain 0? */
#include <couplet.h>

enum { CHAINS = 3, WIDTH = 2 };

typedef struct network {
    cp_tensor *weight, *mean, *var; /* (2, 2), (2), (2) */
} network;

/* E(x) = sum of tanh(batch norm(x W)) over the features: (CHAINS). */
static cp_tensor *energies(cp_tape *tape, const network *net, cp_tensor *x, bool training) {
    cp_batch_norm_config config = {.training = training}; /* no running statistics, so training mode changes nothing */
    if (!training) config.running_mean = net->mean, config.running_var = net->var;
    cp_tensor *h = cp_batch_norm(tape, cp_matmul(tape, x, net->weight, 0), NULL, NULL, config);
    return cp_sum(tape, cp_tanh(tape, h), CP_AXES(1), false);
}

static void look(cp_tape *tape, const network *net, bool training, cp_real a, cp_real b) {
    cp_tensor *x = cp_variable(tape, (cp_real[]){1, 0, 0, 1, a, b}, CP_SHAPE(CHAINS, WIDTH)), *of_all, *of_first;
    cp_tensor *e = energies(tape, net, x, training);
    cp_grad(tape, cp_sum(tape, e, CP_ALL, false), &x, 1, &of_all);
    cp_grad(tape, cp_slice(tape, e, (int[]){0}, (int[]){1}, NULL), &x, 1, &of_first);
    printf("  chain 2 at (%2.0f, %2.0f): E_0 = %6.3f, row 0 of d sum(E)/dx = (%6.3f, %6.3f), row 2 of dE_0/dx = (%6.3f, %6.3f)\n",
           a, b, e->data[0], of_all->data[0], of_all->data[1], of_first->data[4], of_first->data[5]);
    cp_tape_reset(tape);
}

int main(void) {
    cp_tape *tape = cp_tape_new();
    network  net = {cp_tensor_new(CP_SHAPE(2, 2)), cp_tensor_new(CP_SHAPE(2)), cp_tensor_new(CP_SHAPE(2))};
    cp_real  weight[] = {1, 2, -1, 1};
    for (int i = 0; i < 4; i++) net.weight->data[i] = weight[i];
    for (int i = 0; i < 2; i++) net.var->data[i] = 1;
    for (int training = 1; training >= 0; training--) {
        printf("%s\n", training ? "training mode" : "evaluation mode");
        look(tape, &net, training, -1, 1);
        look(tape, &net, training, 3, -2);
    }
    cp_tensor_free(net.weight);
    cp_tensor_free(net.mean);
    cp_tensor_free(net.var);
    cp_tape_free(tape);
    return 0;
}
