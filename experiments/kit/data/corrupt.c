/* Corrupted images. */
#include "experiments/kit/data/corrupt.h"

#include <math.h>

const char *const cp_corruption_names[CP_CORRUPTIONS] = {"noise", "blur", "contrast", "rotation"};

static const double amounts[CP_CORRUPTIONS][CP_STRENGTHS] = {
    {0.08, 0.16, 0.24, 0.36, 0.52}, {0.5, 1, 1.5, 2, 3}, {0.8, 0.6, 0.4, 0.25, 0.1}, {10, 20, 40, 60, 90}};

static double pixel(const cp_real *image, cp_shape s, int y, int x, int c) {
    y = y < 0 ? 0 : y < s.dims[0] ? y : s.dims[0] - 1;
    x = x < 0 ? 0 : x < s.dims[1] ? x : s.dims[1] - 1;
    return (double)image[(y * s.dims[1] + x) * s.dims[2] + c];
}

static double blurred(const cp_real *image, cp_shape s, int y, int x, int c, double sd) {
    int    reach = (int)ceil(3 * sd);
    double sum = 0, weights = 0;
    for (int v = -reach; v <= reach; v++)
        for (int u = -reach; u <= reach; u++) {
            double weight = exp(-(u * u + v * v) / (2 * sd * sd));
            sum += weight * pixel(image, s, y + v, x + u, c);
            weights += weight;
        }
    return sum / weights;
}

static double rotated(const cp_real *image, cp_shape s, int y, int x, int c, double degrees) {
    double angle = degrees * acos(-1) / 180, v = y - (s.dims[0] - 1) / 2.0, u = x - (s.dims[1] - 1) / 2.0;
    double from_y = v * cos(angle) - u * sin(angle) + (s.dims[0] - 1) / 2.0;
    double from_x = v * sin(angle) + u * cos(angle) + (s.dims[1] - 1) / 2.0;
    int    top = (int)floor(from_y), left = (int)floor(from_x);
    double down = from_y - top, right = from_x - left;
    return (1 - down) * ((1 - right) * pixel(image, s, top, left, c) + right * pixel(image, s, top, left + 1, c)) +
           down * ((1 - right) * pixel(image, s, top + 1, left, c) + right * pixel(image, s, top + 1, left + 1, c));
}

void cp_corrupt(cp_corruption kind, int strength, const cp_real *image, cp_shape shape, cp_rng *rng, cp_real *out) {
    int    channels = shape.dims[2], size = shape.dims[0] * shape.dims[1] * channels;
    double amount = amounts[kind][strength - 1], mean = 0;
    for (int i = 0; i < size; i++) mean += (double)image[i] / size;
    for (int i = 0; i < size; i++) {
        int    y = i / channels / shape.dims[1], x = i / channels % shape.dims[1], c = i % channels;
        double value = kind == CP_NOISE      ? (double)image[i] + amount * cp_rng_normal(rng)
                       : kind == CP_BLUR     ? blurred(image, shape, y, x, c, amount)
                       : kind == CP_CONTRAST ? mean + amount * ((double)image[i] - mean)
                                             : rotated(image, shape, y, x, c, amount);
        out[i] = (cp_real)fmax(-1, fmin(1, value));
    }
}
