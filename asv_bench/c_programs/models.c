/* Objectives of ADBench (Gaussian mixture, LSTM, bundle adjustment). `work` is memory of the caller's. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

static double log_sum_exp(const double *x, ptrdiff_t n) {
    double top = x[0], total = 0.0;
    for (ptrdiff_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (ptrdiff_t i = 0; i < n; i++) total += exp(x[i] - top);
    return top + log(total);
}

/* The square of the length of Q (x - mean), where Q has `diagonal`, and `below` it row after row. */
static double squared_distance(const double *restrict x, const double *restrict mean, const double *restrict diagonal,
                               const double *restrict below, ptrdiff_t d, double *restrict apart) {
    double total = 0.0;
    for (ptrdiff_t i = 0; i < d; i++) {
        apart[i] = x[i] - mean[i];
        double scaled = diagonal[i] * apart[i];
        for (ptrdiff_t j = 0; j < i; j++) scaled += below[j] * apart[j];
        below += i;
        total += scaled * scaled;
    }
    return total;
}

/* The parts of a row of `icf`, whose entries below the diagonal lie column after column. */
static double unpacked(const double *q, ptrdiff_t d, double *restrict diagonal, double *restrict below) {
    double squares = 0.0;
    for (ptrdiff_t i = 0; i < d; i++) {
        diagonal[i] = exp(q[i]);
        squares += diagonal[i] * diagonal[i];
    }
    q += d;
    for (ptrdiff_t j = 0; j < d; j++)
        for (ptrdiff_t i = j + 1; i < d; i++, q++) {
            below[i * (i - 1) / 2 + j] = *q;
            squares += *q * *q;
        }
    return squares;
}

/* The posterior of a mixture with a Wishart prior of gamma = 1 and m = 0. work: k (d (d + 1) / 2 + 2) + d. */
double gmm(const double *alphas, const double *means, const double *icf, const double *x, ptrdiff_t n, ptrdiff_t d,
           ptrdiff_t k, double *work) {
    const double pi = 3.14159265358979323846;
    const ptrdiff_t width = d * (d + 1) / 2;
    double *sums = work + k * width, *terms = sums + k, *apart = terms + k;
    double likelihood = 0.0, squares = 0.0;
    for (ptrdiff_t c = 0; c < k; c++) {
        sums[c] = alphas[c];
        for (ptrdiff_t i = 0; i < d; i++) sums[c] += icf[c * width + i];
        squares += unpacked(icf + c * width, d, work + c * width, work + c * width + d);
    }
    for (ptrdiff_t p = 0; p < n; p++) {
        for (ptrdiff_t c = 0; c < k; c++) {
            const double *factor = work + c * width;
            terms[c] = sums[c] - 0.5 * squared_distance(x + p * d, means + c * d, factor, factor + d, d, apart);
        }
        likelihood += log_sum_exp(terms, k);
    }
    double freedom = (double)(d + 1), log_gamma = 0.25 * (double)(d * (d - 1)) * log(pi);
    for (ptrdiff_t i = 0; i < d; i++) log_gamma += lgamma(0.5 * (freedom - (double)i));
    double constant = -0.5 * (double)(n * d) * log(2.0 * pi) +
                      (double)k * (0.5 * freedom * (double)d * log(2.0) + log_gamma);
    return constant + likelihood - (double)n * log_sum_exp(alphas, k) + 0.5 * squares;
}

static inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

/* `hidden` and `cell` of a layer, in place; its weights are diagonal matrices, for four gates side by side. */
static void layer(const double *weight, const double *bias, const double *input, double *hidden, double *cell,
                  ptrdiff_t b) {
    for (ptrdiff_t i = 0; i < b; i++) {
        double forget = sigmoid(input[i] * weight[i] + bias[i]);
        double ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i]);
        double outgate = sigmoid(input[i] * weight[2 * b + i] + bias[2 * b + i]);
        double change = tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i]);
        cell[i] = cell[i] * forget + ingate * change;
        hidden[i] = outgate * tanh(cell[i]);
    }
}

/* Minus the mean logarithm of what is predicted for each next of `count` elements. work: 2 layers b + b. */
double lstm(const double *main, const double *extra, const double *state, const double *sequence, ptrdiff_t layers,
            ptrdiff_t count, ptrdiff_t b, double *work) {
    double *now = work, *y = work + 2 * layers * b, total = 0.0;
    for (ptrdiff_t i = 0; i < 2 * layers * b; i++) now[i] = state[i];
    for (ptrdiff_t t = 0; t < count - 1; t++) {
        for (ptrdiff_t i = 0; i < b; i++) y[i] = sequence[t * b + i] * extra[i];
        const double *input = y;
        for (ptrdiff_t l = 0; l < layers; l++) {
            double *hidden = now + 2 * l * b;
            layer(main + 8 * l * b, main + (8 * l + 4) * b, input, hidden, hidden + b, b);
            input = hidden;
        }
        double powers = 2.0;
        for (ptrdiff_t i = 0; i < b; i++) {
            y[i] = input[i] * extra[b + i] + extra[2 * b + i];
            powers += exp(y[i]);
        }
        powers = log(powers);
        for (ptrdiff_t i = 0; i < b; i++) total += sequence[(t + 1) * b + i] * (y[i] - powers);
    }
    return -total / (double)((count - 1) * b);
}

/* The point turned about the axis, by the angle that is its length (Rodrigues). */
static void rotated(const double *rotation, const double *point, double *found) {
    double square = rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2];
    double angle = sqrt(square), c = cos(angle), s = sin(angle);
    double a = rotation[0] / angle, b = rotation[1] / angle, d = rotation[2] / angle;
    double along = (a * point[0] + b * point[1] + d * point[2]) * (1.0 - c);
    found[0] = point[0] * c + (b * point[2] - d * point[1]) * s + a * along;
    found[1] = point[1] * c + (d * point[0] - a * point[2]) * s + b * along;
    found[2] = point[2] * c + (a * point[1] - b * point[0]) * s + d * along;
}

/* Residuals of `p` observations, two of the reprojection and one of the weight; returns half the sum of their squares.
   A camera: rotation 3, centre 3, focal length, principal point 2, distortion 2. */
double ba(const double *cameras, const double *points, const double *weights, const int64_t *observations,
          const double *features, ptrdiff_t p, double *residuals) {
    double total = 0.0;
    for (ptrdiff_t k = 0; k < p; k++) {
        const double *camera = cameras + 11 * observations[2 * k], *point = points + 3 * observations[2 * k + 1];
        double local[3], *r = residuals + 3 * k;
        rotated(camera, (double[]){point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]}, local);
        double a = local[0] / local[2], b = local[1] / local[2], square = a * a + b * b;
        double stretch = camera[6] * (1.0 + camera[9] * square + camera[10] * square * square);
        r[0] = weights[k] * (a * stretch + camera[7] - features[2 * k]);
        r[1] = weights[k] * (b * stretch + camera[8] - features[2 * k + 1]);
        r[2] = 1.0 - weights[k] * weights[k];
        total += 0.5 * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    }
    return total;
}
