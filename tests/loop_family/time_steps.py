"""Time loops over a state: differential equations, bodies, recurrent networks, filters and descent."""

from __future__ import annotations

import math

import numpy as np

from .program import Collection

TIME_STEPS = Collection()
program = TIME_STEPS.add


@program(
    lambda n, d: (d.normal(n, 3), d.normal(4, 3), 0.5 * d.normal(16, 3), 0.5 * d.normal(16, 4), d.normal(16)),
    6,
    24,
    "carried",
    peer="jax: lax.scan",
)
def lstm(x, h0, w, u, bias):
    def sigmoid(z):
        return 1.0 / (1.0 + np.exp(-z))

    h, c = h0[:, 0], h0[:, 1]
    out = np.empty((x.shape[0], 4))
    for t in range(x.shape[0]):
        z = w @ x[t] + u @ h + bias
        i, f, g, o = sigmoid(z[:4]), sigmoid(z[4:8]), np.tanh(z[8:12]), sigmoid(z[12:])
        c = f * c + i * g
        h = o * np.tanh(c)
        out[t] = h
    return np.sum(out**2) + np.sum(c)


@program(lambda n, d: (d.normal(n, 3), 0.5 * d.normal(3, 4, 7)), 6, 21, "carried")
def gru(x, weights):
    h = np.zeros(4)
    for t in range(len(x)):
        joined = np.concatenate([x[t], h])
        z = 1 / (1 + np.exp(-weights[0] @ joined))
        r = 1 / (1 + np.exp(-weights[1] @ joined))
        candidate = np.tanh(weights[2] @ np.concatenate([x[t], r * h]))
        h = (1 - z) * h + z * candidate
    return h @ h


@program(lambda n, d: (np.array([1.2, 3.1], d.dtype), 1.0, 3.0, n), 6, 30, "carried")
def brusselator_rk4(y, a, b, steps):
    def rhs(y):
        u, v = y
        return np.array([a + u * u * v - (b + 1) * u, b * u - u * u * v])

    h = 0.05
    for _ in range(steps):
        k1 = rhs(y)
        k2 = rhs(y + 0.5 * h * k1)
        k3 = rhs(y + 0.5 * h * k2)
        k4 = rhs(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0] ** 2 + y[1]


@program(lambda n, d: (d.positive(n), 2 * d.positive(n), n - 3), 5, 24)
def brusselator_grid_rk4(u, v, steps):
    def rhs(u, v):
        du, dv = np.empty_like(u), np.empty_like(v)
        n = len(u)
        for i in range(n):
            left, right = u[i - 1], u[(i + 1) % n]
            du[i] = 1.0 + u[i] ** 2 * v[i] - 4.0 * u[i] + 0.1 * (left + right - 2 * u[i])
            dv[i] = 3.0 * u[i] - u[i] ** 2 * v[i]
        return du, dv

    dt = 0.01
    for _ in range(steps):
        k1u, k1v = rhs(u, v)
        k2u, k2v = rhs(u + dt / 2 * k1u, v + dt / 2 * k1v)
        k3u, k3v = rhs(u + dt / 2 * k2u, v + dt / 2 * k2v)
        k4u, k4v = rhs(u + dt * k3u, v + dt * k3v)
        u += dt / 6 * (k1u + 2 * k2u + 2 * k3u + k4u)
        v += dt / 6 * (k1v + 2 * k2v + 2 * k3v + k4v)
    return np.sum(u * v)


@program(lambda n, d: (1.0, 0.5, 1.1, 0.4, n), 8, 50, "carried")
def lotka_volterra_euler(prey, hunters, growth, catch, steps):
    for _ in range(steps):
        prey, hunters = (
            prey + 0.02 * (growth * prey - catch * prey * hunters),
            hunters + 0.02 * (0.1 * prey * hunters - catch * hunters),
        )
    return prey * hunters


@program(lambda n, d: (d.normal(3), d.normal(3), 0.7, n), 8, 50)
def leapfrog_pendulums(q, p, k, steps):
    for _ in range(steps):
        p -= 0.05 * k * np.sin(q)
        q += 0.1 * p
        p -= 0.05 * k * np.sin(q)
    return 0.5 * p @ p - np.sum(np.cos(q))


@program(lambda n, d: (d.normal(n, 3), d.positive(n)), 6, 24, "triangular", peer="jax: n^2 broadcast")
def nbody_energy(x, m):
    energy = 0.0
    for i in range(len(x)):
        for j in range(i):
            d = x[i] - x[j]
            energy -= m[i] * m[j] / np.sqrt(np.sum(d * d) + 0.01)
    return energy


@program(lambda n, d: (d.normal(n, 3), d.positive(n)), 6, 20, "triangular")
def nbody_energy_scalars(x, m):
    energy = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            r2 = 0.01
            for k in range(3):
                r2 += (x[i, k] - x[j, k]) ** 2
            energy += m[i] * m[j] / math.sqrt(r2)
    return energy


@program(lambda n, d: (d.normal(n, 3), 0.1 * d.normal(n, 3), d.positive(n), n - 2), 5, 20, "triangular")
def nbody_leapfrog(x, v, m, steps):
    def accelerations(x):
        a = np.zeros_like(x)
        for i in range(len(x)):
            for j in range(i):
                d = x[j] - x[i]
                f = d / (d @ d + 0.1) ** 1.5
                a[i] += m[j] * f
                a[j] -= m[i] * f
        return a

    a = accelerations(x)
    for _ in range(steps):
        v += 0.005 * a
        x += 0.01 * v
        a = accelerations(x)
        v += 0.005 * a
    return np.sum(x * x) + np.sum(v * v)


@program(lambda n, d: (d.normal(n, 2), 0.5 * d.normal(3, 3), d.normal(2, 3), 0.1, 0.2), 5, 24, "carried")
def kalman_filter(z, a, h, q, r):
    x = np.zeros(3)
    p = np.eye(3)
    loglik = 0.0
    for t in range(len(z)):
        x = a @ x
        p = a @ p @ a.T + q * np.eye(3)
        y = z[t] - h @ x
        s = h @ p @ h.T + r * np.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        s_inverse = np.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = p @ h.T @ s_inverse
        x = x + gain @ y
        p = p - gain @ h @ p
        loglik -= 0.5 * (y @ s_inverse @ y + np.log(det))
    return loglik


@program(lambda n, d: (d.normal(n), 0.5, 0.2, 0.9), 8, 50, "carried")
def scalar_kalman_filter(z, q, r, a):
    x, p, loglik = 0.0, 1.0, 0.0
    for observation in z:
        x, p = a * x, a * a * p + q
        s = p + r
        k = p / s
        e = observation - x
        loglik += -0.5 * (math.log(s) + e * e / s)
        x, p = x + k * e, (1 - k) * p
    return loglik


@program(
    lambda n, d: (0.1 * d.normal(3), d.normal(n, 3), d.integers(0, 2, n).astype(d.dtype), 0.3),
    8,
    40,
    peer="jax: lax.scan",
)
def sgd_on_logistic_regression(w, features, labels, rate):
    for x, label in zip(features, labels):
        p = 1.0 / (1.0 + np.exp(-(w @ x)))
        w -= rate * (p - label) * x
    return np.sum((features @ w - labels) ** 2)


@program(lambda n, d: (d.normal(4), d.definite(4), n, 0.1), 8, 40)
def momentum_descent(x, a, steps, rate):
    velocity = np.zeros_like(x)
    for _ in range(steps):
        gradient = a @ x + np.sin(x)
        velocity = 0.9 * velocity - rate * gradient
        x += velocity
    return 0.5 * x @ a @ x


@program(lambda n, d: (d.normal(4), d.definite(4), n), 7, 40)
def adam(x, a, steps):
    m, v = np.zeros(4), np.zeros(4)
    for t in range(1, steps + 1):
        g = a @ x + 0.1 * x**3
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g**2
        x = x - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-3)
    return x @ x


@program(lambda n, d: (d.normal(n, 5), 100.0, 0.05, 0.2), 7, 30, "carried")
def asian_option_paths(noise, spot, rate, sigma):
    s = np.full(noise.shape[1], spot)
    average = np.zeros(noise.shape[1])
    dt = 1.0 / len(noise)
    for z in noise:
        s = s * np.exp((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z)
        average += s
    payoff = np.maximum(average / len(noise) - 100.0, 0.0)
    return np.exp(-rate) * np.mean(payoff)


@program(lambda n, d: (d.normal(n), 0.1), 8, 50, "carried")
def random_walk_with_drift(noise, sigma):
    position, energy = 0.0, 0.0
    for z in noise:
        position = position + sigma * z - 0.1 * position**3
        energy += position**2
    return energy / len(noise)
