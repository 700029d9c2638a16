#include "04-engine/exercise.c"

static void relu_rule(tensor *out) {
    for (int i = 0; i < out->rows * out->columns; i++) out->in[0]->grad[i] += out->data[i] > 0 ? out->grad[i] : 0;
}

tensor *relu(tape *tape, tensor *a) {
    tensor *out = record(tape, a->rows, a->columns, a, NULL, relu_rule);
    for (int i = 0; i < out->rows * out->columns; i++) out->data[i] = a->data[i] > 0 ? a->data[i] : 0;
    return out;
}

/* ln of the sum of e^z over a row. */
static double log_sum(const double *z, int columns) {
    double largest = z[0], sum = 0;
    for (int c = 1; c < columns; c++) largest = fmax(largest, z[c]);
    for (int c = 0; c < columns; c++) sum += exp(z[c] - largest);
    return largest + log(sum);
}

static void cross_entropy_rule(tensor *out) {
    tensor *logits = out->in[0];
    int     columns = logits->columns;
    for (int i = 0; i < logits->rows; i++) {
        double sum = log_sum(logits->data + i * columns, columns);
        for (int c = 0; c < columns; c++) {
            double p = exp(logits->data[i * columns + c] - sum);
            logits->grad[i * columns + c] += out->grad[0] * (p - (c == (int)out->in[1]->data[i])) / logits->rows;
        }
    }
}

tensor *cross_entropy(tape *tape, tensor *logits, const int *labels) {
    tensor *numbers = record(tape, logits->rows, 1, NULL, NULL, NULL);
    for (int i = 0; i < logits->rows; i++) numbers->data[i] = labels[i];
    tensor *out = record(tape, 1, 1, logits, numbers, cross_entropy_rule);
    for (int i = 0; i < logits->rows; i++) {
        const double *z = logits->data + i * logits->columns;
        out->data[0] += (log_sum(z, logits->columns) - z[labels[i]]) / logits->rows;
    }
    return out;
}

void sgd_momentum(tensor *const *weights, tensor *const *velocities, int count, double rate, double momentum) {
    for (int k = 0; k < count; k++)
        for (int i = 0; i < weights[k]->rows * weights[k]->columns; i++) {
            velocities[k]->data[i] = momentum * velocities[k]->data[i] + weights[k]->grad[i];
            weights[k]->data[i] -= rate * velocities[k]->data[i];
        }
}
