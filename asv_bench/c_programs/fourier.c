/* Fourier transforms of n = 2^k real numbers, and a weighted sum of the power. `roots`: cos and sin of -2 pi k / n, for
   k < n / 2, side by side as the complex numbers of `out` are. */

#include <stddef.h>

static double weighted_power(const double *out, ptrdiff_t n) {
    double total = 0.0;
    for (ptrdiff_t k = 0; k < n; k++) {
        double re = out[2 * k], im = out[2 * k + 1];
        total += (re * re + im * im) / (double)(k + 1);
    }
    return total;
}

/* The transforms of the even and of the odd elements are in both halves of `out`. */
static void join(double *restrict out, ptrdiff_t n, ptrdiff_t stride, const double *restrict roots) {
    double *other = out + n;
    for (ptrdiff_t k = 0; k < n / 2; k++) {
        double c = roots[2 * k * stride], s = roots[2 * k * stride + 1];
        double re = c * other[2 * k] - s * other[2 * k + 1], im = c * other[2 * k + 1] + s * other[2 * k];
        other[2 * k] = out[2 * k] - re;
        other[2 * k + 1] = out[2 * k + 1] - im;
        out[2 * k] += re;
        out[2 * k + 1] += im;
    }
}

static void transform(const double *x, ptrdiff_t n, ptrdiff_t stride, const double *roots, double *out) {
    if (n == 1) {
        out[0] = x[0];
        out[1] = 0.0;
        return;
    }
    transform(x, n / 2, 2 * stride, roots, out);
    transform(x + stride, n / 2, 2 * stride, roots, out + n);
    join(out, n, stride, roots);
}

double fft_recursive(const double *x, const double *roots, ptrdiff_t n, double *out) {
    transform(x, n, 1, roots, out);
    return weighted_power(out, n);
}

double fft_iterative(const double *x, const double *roots, ptrdiff_t n, double *out) {
    for (ptrdiff_t i = 0, j = 0; i < n; i++) { /* j: the bits of i in reverse */
        out[2 * j] = x[i];
        out[2 * j + 1] = 0.0;
        ptrdiff_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
    }
    for (ptrdiff_t length = 2; length <= n; length *= 2)
        for (ptrdiff_t start = 0; start < n; start += length) join(out + 2 * start, length, n / length, roots);
    return weighted_power(out, n);
}
