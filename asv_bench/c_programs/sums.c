/* Sums over a vector, and their adjoints by hand: name_gradient returns the value and overwrites dx. */

#include <math.h>

#include "repeated.h"

#define BLOCK 16

double rosenbrock(const double *x, ptrdiff_t n) {
    double total = 0.0;
    for (ptrdiff_t i = 0; i < n - 1; i++) {
        double off = x[i + 1] - x[i] * x[i], rest = 1.0 - x[i];
        total += 100.0 * off * off + rest * rest;
    }
    return total;
}

double rosenbrock_gradient(const double *x, ptrdiff_t n, double *restrict dx) {
    double total = 0.0, pull = 0.0;
    for (ptrdiff_t i = 0; i < n - 1; i++) {
        double off = x[i + 1] - x[i] * x[i], rest = 1.0 - x[i];
        total += 100.0 * off * off + rest * rest;
        dx[i] = pull - 400.0 * off * x[i] - 2.0 * rest;
        pull = 200.0 * off;
    }
    dx[n - 1] = pull;
    return total;
}

REPEATED(rosenbrock, (const double *x, ptrdiff_t n), x, n)
REPEATED(rosenbrock_gradient, (const double *x, ptrdiff_t n, double *dx), x, n, dx)

static double largest(const double *x, ptrdiff_t n) {
    double top = x[0];
    for (ptrdiff_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    return top;
}

double log_sum_exp(const double *x, ptrdiff_t n) {
    double top = largest(x, n), total = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) total += exp(x[i] - top);
    return top + log(total);
}

double log_sum_exp_gradient(const double *x, ptrdiff_t n, double *restrict dx) {
    double top = largest(x, n), total = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) total += dx[i] = exp(x[i] - top);
    for (ptrdiff_t i = 0; i < n; i++) dx[i] /= total;
    return top + log(total);
}

/* The series of log(1 + x), each power from the one before. */

double taylor(const double *x, ptrdiff_t terms) {
    double total = 0.0, power = -1.0;
    for (ptrdiff_t i = 1; i <= terms; i++) {
        power *= -x[0];
        total += power / (double)i;
    }
    return total;
}

double taylor_gradient(const double *x, ptrdiff_t terms, double *restrict dx) {
    double total = 0.0, slope = 0.0, power = 1.0; /* (-x)^(i - 1) */
    for (ptrdiff_t i = 1; i <= terms; i++) {
        slope += power;
        power *= -x[0];
        total -= power / (double)i;
    }
    dx[0] = slope;
    return total;
}

/* Squares in place: the first of `x`, all others of `y`. */

double mutating_loop(const double *x, ptrdiff_t n, ptrdiff_t sweeps, double *restrict y) {
    double total = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) y[i] = x[i] * x[i];
    for (ptrdiff_t k = 1; k < sweeps; k++)
        for (ptrdiff_t i = 0; i < n; i++) y[i] *= y[i];
    for (ptrdiff_t i = 0; i < n; i++) total += y[i];
    return total;
}

/* All sweeps over `count` elements; `total`: of those before. */
static inline double squared(const double *x, int count, ptrdiff_t sweeps, double total, double *y, double *dx) {
    double value[BLOCK], slope[BLOCK];
    for (int i = 0; i < count; i++) {
        value[i] = x[i];
        slope[i] = 1.0;
    }
    for (ptrdiff_t k = 0; k < sweeps; k++)
        for (int i = 0; i < count; i++) {
            slope[i] *= 2.0 * value[i];
            value[i] *= value[i];
        }
    for (int i = 0; i < count; i++) {
        y[i] = value[i];
        dx[i] = slope[i];
        total += value[i];
    }
    return total;
}

/* One block in registers after the other: nothing is kept. */
double mutating_loop_gradient(const double *x, ptrdiff_t n, ptrdiff_t sweeps, double *restrict y, double *restrict dx) {
    const ptrdiff_t whole = n - n % BLOCK;
    double total = 0.0;
    for (ptrdiff_t i = 0; i < whole; i += BLOCK) total = squared(x + i, BLOCK, sweeps, total, y + i, dx + i);
    return squared(x + whole, (int)(n - whole), sweeps, total, y + whole, dx + whole);
}
