/* The Brusselator on a square of n x n points without flux at its edges, by Euler's method and that of Runge and Kutta,
   and an adjoint of the former by hand. p: the feed, the source, the diffusion. `work` is memory of the caller's. */

#include <stddef.h>
#include <string.h>

#define START 1.1
#define DT 1e-5

static inline double laplacian(const double *up, const double *u, const double *down, ptrdiff_t left, ptrdiff_t j,
                               ptrdiff_t right) {
    return up[j] + down[j] + u[left] + u[right] - 4.0 * u[j];
}

/* Calls BODY for each point: at `k`, its column is `j` between `left` and `right`, its row between `up` and `down`. */
#define EACH_POINT(n, BODY)                                                                 \
    for (ptrdiff_t i = 0; i < n; i++) {                                                     \
        const ptrdiff_t row = i * n, up = i ? row - n : row, down = i < n - 1 ? row + n : row; \
        { const ptrdiff_t j = 0, left = 0, right = 1; BODY }                                \
        for (ptrdiff_t j = 1; j < n - 1; j++) { const ptrdiff_t left = j - 1, right = j + 1; BODY } \
        { const ptrdiff_t j = n - 1, left = n - 2, right = n - 1; BODY }                    \
    }

static void rates(const double *restrict u, const double *restrict v, double t, const double *p,
                  const double *restrict forcing, ptrdiff_t n, double *restrict du, double *restrict dv) {
    const double feed = p[0], source = p[1], diffusion = p[2] * (double)(n - 1) * (double)(n - 1);
    const double on = t >= START ? 1.0 : 0.0;
    EACH_POINT(n, {
        const ptrdiff_t k = row + j;
        double reaction = u[k] * u[k] * v[k];
        du[k] = source + reaction - (feed + 1.0) * u[k] + on * forcing[k] +
                diffusion * laplacian(u + up, u + row, u + down, left, j, right);
        dv[k] = feed * u[k] - reaction + diffusion * laplacian(v + up, v + row, v + down, left, j, right);
    })
}

static double square_sum(const double *u, const double *v, ptrdiff_t count) {
    double total = 0.0;
    for (ptrdiff_t k = 0; k < count; k++) total += u[k] * u[k] + v[k] * v[k];
    return total;
}

/* work: 4 n n */
double brusselator_euler(const double *u0, const double *v0, const double *p, const double *forcing, ptrdiff_t n,
                         ptrdiff_t steps, double *work) {
    const ptrdiff_t count = n * n;
    double *u = work, *v = u + count, *du = v + count, *dv = du + count;
    memcpy(u, u0, count * sizeof(double));
    memcpy(v, v0, count * sizeof(double));
    for (ptrdiff_t step = 0; step < steps; step++) {
        rates(u, v, START + DT * (double)step, p, forcing, n, du, dv);
        for (ptrdiff_t k = 0; k < count; k++) u[k] += DT * du[k];
        for (ptrdiff_t k = 0; k < count; k++) v[k] += DT * dv[k];
    }
    return square_sum(u, v, count);
}

static void moved(const double *restrict u, double h, const double *restrict du, ptrdiff_t count,
                  double *restrict found) {
    for (ptrdiff_t k = 0; k < count; k++) found[k] = u[k] + h * du[k];
}

/* work: 12 n n */
double brusselator_rk4(const double *u0, const double *v0, const double *p, const double *forcing, ptrdiff_t n,
                       ptrdiff_t steps, double *work) {
    static const double ahead[] = {0.0, 0.5, 0.5, 1.0};
    const ptrdiff_t count = n * n;
    double *u = work, *v = u + count, *a = v + count, *b = a + count, *du = b + count, *dv = du + 4 * count;
    memcpy(u, u0, count * sizeof(double));
    memcpy(v, v0, count * sizeof(double));
    for (ptrdiff_t step = 0; step < steps; step++) {
        const double t = START + DT * (double)step;
        rates(u, v, t, p, forcing, n, du, dv);
        for (int s = 1; s < 4; s++) {
            moved(u, ahead[s] * DT, du + (s - 1) * count, count, a);
            moved(v, ahead[s] * DT, dv + (s - 1) * count, count, b);
            rates(a, b, t + ahead[s] * DT, p, forcing, n, du + s * count, dv + s * count);
        }
        for (ptrdiff_t k = 0; k < count; k++) {
            u[k] += DT / 6.0 * (du[k] + 2.0 * du[count + k] + 2.0 * du[2 * count + k] + du[3 * count + k]);
            v[k] += DT / 6.0 * (dv[k] + 2.0 * dv[count + k] + 2.0 * dv[2 * count + k] + dv[3 * count + k]);
        }
    }
    return square_sum(u, v, count);
}

/* One step back: `gu`, `gv` are the adjoints after it, `hu`, `hv` become those before. The Laplacian is symmetric, so
   the slope by the diffusion needs no Laplacian of the state. */
static void euler_step_back(const double *restrict u, const double *restrict v, const double *p, ptrdiff_t n,
                            const double *restrict gu, const double *restrict gv, double *restrict hu,
                            double *restrict hv, double *dp) {
    const double feed = p[0], scale = (double)(n - 1) * (double)(n - 1), diffusion = p[2] * scale;
    double by_feed = 0.0, by_source = 0.0, by_diffusion = 0.0;
    EACH_POINT(n, {
        const ptrdiff_t k = row + j;
        double back = gu[k] - gv[k];
        double lu = laplacian(gu + up, gu + row, gu + down, left, j, right);
        double lv = laplacian(gv + up, gv + row, gv + down, left, j, right);
        by_feed -= u[k] * back;
        by_source += gu[k];
        by_diffusion += u[k] * lu + v[k] * lv;
        hu[k] = gu[k] + DT * (2.0 * u[k] * v[k] * back - gu[k] - feed * back + diffusion * lu);
        hv[k] = gv[k] + DT * (u[k] * u[k] * back + diffusion * lv);
    })
    dp[0] += DT * by_feed;
    dp[1] += DT * by_source;
    dp[2] += DT * scale * by_diffusion;
}

/* work: (2 steps + 6) n n; all states are kept. */
double brusselator_euler_gradient(const double *u0, const double *v0, const double *p, const double *forcing,
                                  ptrdiff_t n, ptrdiff_t steps, double *work, double *du0, double *dv0, double *dp) {
    const ptrdiff_t count = n * n;
    double *du = work, *dv = du + count, *gu = dv + count, *gv = gu + count, *states = gv + count;
    memcpy(states, u0, count * sizeof(double));
    memcpy(states + count, v0, count * sizeof(double));
    for (ptrdiff_t step = 0; step < steps; step++) {
        double *u = states + 2 * count * step;
        rates(u, u + count, START + DT * (double)step, p, forcing, n, du, dv);
        moved(u, DT, du, count, u + 2 * count);
        moved(u + count, DT, dv, count, u + 3 * count);
    }
    double *last = states + 2 * count * steps, value = square_sum(last, last + count, count);
    double *from[2] = {gu, gv}, *to[2] = {du, dv};
    for (ptrdiff_t k = 0; k < count; k++) {
        gu[k] = 2.0 * last[k];
        gv[k] = 2.0 * last[count + k];
    }
    dp[0] = dp[1] = dp[2] = 0.0;
    for (ptrdiff_t step = steps - 1; step >= 0; step--) {
        const double *u = states + 2 * count * step;
        euler_step_back(u, u + count, p, n, from[0], from[1], to[0], to[1], dp);
        for (int s = 0; s < 2; s++) {
            double *swapped = from[s];
            from[s] = to[s];
            to[s] = swapped;
        }
    }
    memcpy(du0, from[0], count * sizeof(double));
    memcpy(dv0, from[1], count * sizeof(double));
    return value;
}
