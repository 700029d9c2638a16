/* Exercise 9: the two adjoints of a one-dimensional convolution, with a stride and zeros at both ends.
 *
 * The forward loop is given: y[i] = sum over k of x[i stride + k - pad] w[k], where x is zero outside of 0 ... width - 1.
 * Write what the two others must do so that, for any x, w and g,
 *     sum y[i] g[i] = sum x[j] dx[j] = sum w[k] dw[k]. */

static int out_width(int width, int kernel, int stride, int pad) {
    return (width + 2 * pad - kernel) / stride + 1;
}

void conv1d(int width, int kernel, int stride, int pad, const double *x, const double *w, double *y) {
    for (int i = 0; i < out_width(width, kernel, stride, pad); i++) {
        y[i] = 0;
        for (int k = 0; k < kernel; k++) {
            int j = i * stride + k - pad;
            if (j >= 0 && j < width) y[i] += x[j] * w[k];
        }
    }
}

/* From g, the gradient at y, to the gradient at x. */
void conv1d_input_grad(int width, int kernel, int stride, int pad, const double *g, const double *w, double *dx) {
    for (int j = 0; j < width; j++) dx[j] = 0;
    /* Write the loops here. */
}

/* From x and g to the gradient at w. */
void conv1d_weight_grad(int width, int kernel, int stride, int pad, const double *x, const double *g, double *dw) {
    for (int k = 0; k < kernel; k++) dw[k] = 0;
    /* Write the loops here. */
}
