/* Kinetic and potential energy of n bodies in space, and its adjoint by hand, forward and reverse of a pair in one. */

#include <math.h>

#include "repeated.h"

#define SOFTENING 1e-4

double n_body(const double *x, const double *v, const double *m, ptrdiff_t n) {
    double energy = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *w = v + 3 * i;
        energy += 0.5 * m[i] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
        for (ptrdiff_t j = i + 1; j < n; j++) {
            double a = x[3 * i] - x[3 * j], b = x[3 * i + 1] - x[3 * j + 1], c = x[3 * i + 2] - x[3 * j + 2];
            energy -= m[i] * m[j] / sqrt(a * a + b * b + c * c + SOFTENING);
        }
    }
    return energy;
}

double n_body_gradient(const double *x, const double *v, const double *m, ptrdiff_t n, double *restrict dx,
                       double *restrict dv, double *restrict dm) {
    double energy = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *w = v + 3 * i;
        double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
        energy += 0.5 * m[i] * square;
        dm[i] = 0.5 * square;
        for (int c = 0; c < 3; c++) {
            dv[3 * i + c] = m[i] * w[c];
            dx[3 * i + c] = 0.0;
        }
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double potential = 0.0, da = 0.0, db = 0.0, dc = 0.0;
        for (ptrdiff_t j = i + 1; j < n; j++) {
            double a = x[3 * i] - x[3 * j], b = x[3 * i + 1] - x[3 * j + 1], c = x[3 * i + 2] - x[3 * j + 2];
            double inverse = 1.0 / sqrt(a * a + b * b + c * c + SOFTENING);
            double pull = m[i] * m[j] * inverse * inverse * inverse;
            potential += m[j] * inverse;
            dm[j] -= m[i] * inverse;
            da += pull * a;
            db += pull * b;
            dc += pull * c;
            dx[3 * j] -= pull * a;
            dx[3 * j + 1] -= pull * b;
            dx[3 * j + 2] -= pull * c;
        }
        energy -= m[i] * potential;
        dm[i] -= potential;
        dx[3 * i] += da;
        dx[3 * i + 1] += db;
        dx[3 * i + 2] += dc;
    }
    return energy;
}

REPEATED(n_body, (const double *x, const double *v, const double *m, ptrdiff_t n), x, v, m, n)
REPEATED(n_body_gradient,
         (const double *x, const double *v, const double *m, ptrdiff_t n, double *dx, double *dv, double *dm), x, v, m,
         n, dx, dv, dm)
