"""Recurrences, series, filters and sums along a sequence."""

from __future__ import annotations

import math

import numpy as np

from .program import Collection

SEQUENCES = Collection()
program = SEQUENCES.add


@program(lambda n, d: (3.3, d.number(0.2, 0.4), n), 7, 50, "carried", cached=lambda n: 8 * n, peer="jax: lax.scan")
def iterated_map(r, x, steps):
    for _ in range(steps):
        x = r * x * (1.0 - x)
    return x


@program(lambda n, d: (d.positive(n), 0.3), 8, 50, "carried", cached=lambda n: 8 * n)
def iterated_map_with_forcing(force, x):
    for i in range(len(force)):
        x = np.sin(force[i] * x) + 0.1 * x
    return x


@program(lambda n, d: (d.positive(n),), 8, 50, cached=lambda n: 0, peer="jax: lax.scan")
def each_from_the_one_before(x):
    for i in range(1, len(x)):
        x[i] = np.sin(x[i - 1])
    return np.sum(x)


@program(lambda n, d: (d.positive(n),), 8, 50, cached=lambda n: 8 * n)
def each_times_the_one_before(x):
    for i in range(1, len(x)):
        x[i] = x[i] * x[i - 1]
    return np.sum(x)


@program(lambda n, d: (d.normal(n),), 8, 50, "carried")
def fibonacci(x):
    a, b = 0.5, 1.0
    for i in range(len(x)):
        a, b = b, a + b * x[i]
    return b


@program(lambda n, d: (d.normal(n),), 8, 50, "carried")
def three_registers(x):
    a, b, c = x[0], x[1], x[2]
    for i in range(3, len(x)):
        a, b, c = b, c, 0.3 * a * b + x[i] * np.cos(c)
    return a + 2 * b + 3 * c


@program(lambda n, d: (d.normal(n), 0.7), 8, 50, "carried")
def horner(c, x):
    total = 0.0
    for k in range(len(c) - 1, -1, -1):
        total = total * x + c[k]
    return total


@program(lambda n, d: (d.normal(n), 0.7), 8, 50, "carried")
def horner_by_elements(c, x):
    total = 0.0
    for coefficient in c[::-1]:
        total = total * x + coefficient
    return total


@program(lambda n, d: (d.normal(n), d.number(0.1, 0.9)), 8, 40, "carried")
def clenshaw(c, x):
    b1 = b2 = 0.0
    for k in range(len(c) - 1, 0, -1):
        b1, b2 = 2 * x * b1 - b2 + c[k], b1
    return x * b1 - b2 + c[0]


@program(lambda n, d: (d.positive(n), d.positive(n)), 8, 40, "carried")
def continued_fraction(a, b):
    total = 0.0
    for i in reversed(range(len(a))):
        total = a[i] / (b[i] + total)
    return total


@program(lambda n, d: (d.normal(n), 3), 9, 40)
def moving_average(x, width):
    y = np.empty(len(x) - width + 1)
    for i in range(len(y)):
        y[i] = np.mean(x[i : i + width])
    return np.sum(y**2)


@program(lambda n, d: (d.normal(n), 4), 9, 40, "carried")
def running_window(x, width):
    total = np.sum(x[:width])
    best = total * total
    for i in range(width, len(x)):
        total += x[i] - x[i - width]
        best += total * total
    return best


@program(lambda n, d: (d.positive(n),), 8, 40, "carried")
def cumulative_products(x):
    p = 1.0
    y = np.zeros_like(x)
    for i in range(len(x)):
        p *= x[i]
        y[i] = p
    return np.sum(y) + p


@program(lambda n, d: (d.normal(n), d.normal(3), 0.3 * d.normal(2)), 9, 50)
def iir_filter(x, b, a):
    y = np.zeros_like(x)
    y[0] = b[0] * x[0]
    y[1] = b[0] * x[1] + b[1] * x[0] - a[0] * y[0]
    for n in range(2, len(x)):
        y[n] = b[0] * x[n] + b[1] * x[n - 1] + b[2] * x[n - 2] - a[0] * y[n - 1] - a[1] * y[n - 2]
    return np.sum(y**2)


@program(lambda n, d: (d.normal(n), 0.3 * d.normal(4, 6)), 8, 40)
def biquad_cascade(x, sections):
    for b0, b1, b2, a1, a2, gain in sections:
        s1 = s2 = 0.0
        for i in range(len(x)):
            y = b0 * x[i] + s1
            s1 = b1 * x[i] - a1 * y + s2
            s2 = b2 * x[i] - a2 * y
            x[i] = (1 + gain) * y
    return np.sum(x * np.arange(len(x)))


@program(lambda n, d: (d.normal(n), 0.4, 0.2), 8, 50, "carried")
def holt_smoothing(x, alpha, beta):
    level, trend = x[0], x[1] - x[0]
    error = 0.0
    for t in range(1, len(x)):
        error += (x[t] - level - trend) ** 2
        last = level
        level = alpha * x[t] + (1 - alpha) * (level + trend)
        trend = beta * (level - last) + (1 - beta) * trend
    return error


@program(lambda n, d: (d.normal(n), 4), 9, 40, "unrolled")
def ring_buffer_delay(x, delay):
    ring = np.zeros(delay)
    total = 0.0
    for t in range(len(x)):
        out = x[t] + 0.5 * ring[t % delay]
        ring[t % delay] = out
        total += out * out
    return total


@program(lambda n, d: (0.3 * d.normal(n), 0.1, 0.1, 0.8), 8, 50, "carried", peer="numba: by hand")
def garch_likelihood(returns, omega, alpha, beta):
    variance = omega / (1 - alpha - beta)
    loglik = 0.0
    for r in returns:
        loglik -= 0.5 * (math.log(variance) + r * r / variance)
        variance = omega + alpha * r * r + beta * variance
    return loglik


@program(lambda n, d: (d.number(1.5, 2.5), n), 6, 40, "carried")
def newton_fixed_steps(a, steps):
    x = 1.0
    for _ in range(steps):
        x = x - (x**3 - a) / (3 * x**2)
    return x


@program(lambda n, d: (d.number(0.2, 0.6), 0.4, n), 6, 40, "carried")
def kepler_equation(mean_anomaly, e, steps):
    anomaly = mean_anomaly
    for _ in range(steps):
        anomaly -= (anomaly - e * math.sin(anomaly) - mean_anomaly) / (1 - e * math.cos(anomaly))
    return anomaly


@program(lambda n, d: (d.number(1.2, 3.0), d.number(0.5, 1.0), n // 2), 8, 24, "carried")
def arithmetic_geometric_mean(a, b, steps):
    for _ in range(steps):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return a


@program(lambda n, d: (d.normal(n), d.number(0.2, 0.8)), 7, 24, "triangular")
def de_casteljau(points, t):
    n = len(points)
    for level in range(1, n):
        for i in range(n - level):
            points[i] = (1 - t) * points[i] + t * points[i + 1]
    return points[0] ** 2


@program(lambda n, d: (np.arange(n).astype(d.dtype) + 0.3 * d.positive(n), d.normal(n), 0.8), 6, 20, "triangular")
def divided_differences(x, f, at):
    n = len(x)
    for j in range(1, n):
        for i in range(n - 1, j - 1, -1):
            f[i] = (f[i] - f[i - 1]) / (x[i] - x[i - j])
    value = f[n - 1]
    for i in range(n - 2, -1, -1):
        value = value * (at - x[i]) + f[i]
    return value


@program(lambda n, d: (d.number(0.3, 0.9), d.normal(n)), 8, 40, "carried")
def legendre_series(x, c):
    before, now = 1.0, x
    total = c[0] + c[1] * x
    for k in range(1, len(c) - 1):
        before, now = now, ((2 * k + 1) * x * now - k * before) / (k + 1)
        total += c[k + 1] * now
    return total


@program(lambda n, d: (d.number(0.5, 1.5), n // 2 + 1), 10, 20, "triangular unrolled")
def romberg(b, levels):
    table = np.zeros((levels, levels))
    table[0, 0] = 0.5 * b * (1.0 + math.exp(-b * b))
    for k in range(1, levels):
        total = 0.0
        h = b / 2**k
        for i in range(1, 2 ** (k - 1) + 1):
            t = (2 * i - 1) * h
            total += math.exp(-t * t)
        table[k, 0] = 0.5 * table[k - 1, 0] + h * total
        for m in range(1, k + 1):
            table[k, m] = table[k, m - 1] + (table[k, m - 1] - table[k - 1, m - 1]) / (4**m - 1)
    return table[levels - 1, levels - 1]


@program(lambda n, d: (d.normal(n), d.normal(n), 0.05), 7, 30, "triangular")
def attention_to_the_past(keys, values, scale):
    out = np.zeros_like(values)
    for t in range(1, len(keys)):
        w = np.exp(scale * keys[t] * keys[:t])
        out[t] = np.sum(w * values[:t]) / np.sum(w)
    return np.sum(out**2)


@program(lambda n, d: (d.normal(n), d.normal(3)), 8, 40)
def autoregression_likelihood(x, phi):
    loglik = 0.0
    for t in range(3, len(x)):
        mean = 0.0
        for k in range(3):
            mean += phi[k] * x[t - 1 - k]
        loglik -= 0.5 * (x[t] - mean) ** 2
    return loglik


@program(lambda n, d: (d.normal(n), d.positive(n)), 7, 30, "triangular")
def volterra_equation(g, kernel):
    n = len(g)
    u = np.zeros(n)
    u[0] = g[0]
    for i in range(1, n):
        total = 0.0
        for j in range(i):
            total += kernel[i - j] * np.sin(u[j])
        u[i] = g[i] + 0.1 * total
    return np.sum(u * u)


@program(lambda n, d: (d.normal(n), d.normal(n)), 7, 24, "triangular")
def full_convolution(a, b):
    c = np.zeros(len(a) + len(b) - 1)
    for i in range(len(a)):
        for j in range(len(b)):
            c[i + j] += a[i] * b[j]
    return np.sum(np.tanh(c))
