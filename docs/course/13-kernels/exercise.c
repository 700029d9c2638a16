/* Exercise 13: Winograd's F(2,3) along a row. Fill it in; `docs/course/check 13` says what is still wrong. */

/* The product of two numbers. The check counts its calls: use only this to multiply a value that depends on x. */
double times(double a, double b);

/* y[i] = g[0] x[i] + g[1] x[i + 1] + g[2] x[i + 2] for i < n; x has n + 2 values. Two results at a time cost four products.
 * If n is odd, the last result stands alone and may cost three. Sums and halves of the weights g are free, since they are
 * computed once. */
void correlate(int n, const double *x, const double g[3], double *y) {
    (void)n, (void)x, (void)g, (void)y; /* write it here */
}
