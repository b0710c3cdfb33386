"""The programs of `c_programs/sums.c` and `n_body.c` in NumPy, each in several natural ways."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import rosen
from scipy.special import logsumexp

from .physics import SOFTENING, n_body

# Rosenbrock.


def rosenbrock_loop(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def rosenbrock_slices(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_generator(x):
    return sum(100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2 for a, b in zip(x, x[1:]))  # noqa: RUF007  (as it is often written)


def rosenbrock_norms(x):
    off, rest = x[1:] - x[:-1] * x[:-1], 1.0 - x[:-1]
    return 100.0 * off @ off + rest @ rest


ROSENBROCK = {
    "loop": rosenbrock_loop,
    "slices": rosenbrock_slices,
    "generator": rosenbrock_generator,
    "dot products": rosenbrock_norms,
    "scipy": rosen,
}

# The logarithm of a sum of exponentials.


def log_sum_exp_shifted(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def log_sum_exp_scipy(x):
    return logsumexp(x)


def log_sum_exp_reduced(x):
    return np.logaddexp.reduce(x)


def log_sum_exp_loop(x):
    top = x[0]
    for value in x:
        top = max(top, value)
    total = 0.0
    for value in x:
        total += np.exp(value - top)
    return top + np.log(total)


LOG_SUM_EXP = {
    "shifted": log_sum_exp_shifted,
    "scipy": log_sum_exp_scipy,
    "logaddexp.reduce": log_sum_exp_reduced,
    "loop": log_sum_exp_loop,
}

# The Taylor series of log(1 + x).


def taylor_loop(x, terms):
    total, power = 0.0, -1.0
    for i in range(1, terms + 1):
        power *= -x[0]
        total += power / i
    return total


def taylor_powers(x, terms):
    i = np.arange(1.0, terms + 1.0)
    return -np.sum((-x[0]) ** i / i)


def taylor_cumprod(x, terms):
    return -np.sum(np.cumprod(np.full(terms, -x[0])) / np.arange(1, terms + 1))


def taylor_signs(x, terms):
    i = np.arange(1, terms + 1)
    signs = np.where(i % 2 == 1, 1.0, -1.0)
    return np.sum(signs * x**i / i)


TAYLOR = {"loop": taylor_loop, "powers": taylor_powers, "cumprod": taylor_cumprod, "signs": taylor_signs}

# Squares in place.


def mutating_elements(x, sweeps):
    for _ in range(sweeps):
        for i in range(len(x)):
            x[i] *= x[i]
    return np.sum(x)


def mutating_arrays(x, sweeps):
    for _ in range(sweeps):
        x *= x
    return x.sum()


def mutating_power(x, sweeps):
    for _ in range(sweeps):
        x[:] = x**2
    total = 0.0
    for value in x:
        total += value
    return total


MUTATING = {"elements": mutating_elements, "arrays": mutating_arrays, "powers": mutating_power}

# Energy of n bodies.


def n_body_loops(x, v, m):
    n = len(m)
    energy = 0.0
    for i in range(n):
        energy += 0.5 * m[i] * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        for j in range(i + 1, n):
            a, b, c = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            energy -= m[i] * m[j] / np.sqrt(a * a + b * b + c * c + SOFTENING)
    return energy


def n_body_rows(x, v, m):
    energy = 0.5 * np.sum(m[:, None] * v**2)
    for i in range(len(m) - 1):
        apart = x[i + 1 :] - x[i]
        energy -= m[i] * np.sum(m[i + 1 :] / np.sqrt(np.sum(apart**2, axis=1) + SOFTENING))
    return energy


def n_body_broadcast(x, v, m):
    apart = x[:, None, :] - x[None, :, :]
    potential = np.outer(m, m) / np.sqrt(np.sum(apart**2, axis=-1) + SOFTENING)
    return 0.5 * np.einsum("i,ij,ij->", m, v, v) - np.sum(np.triu(potential, 1))


def n_body_combinations(x, v, m):
    energy = 0.5 * sum(m[i] * (v[i] @ v[i]) for i in range(len(m)))
    for i, j in itertools.combinations(range(len(m)), 2):
        apart = x[i] - x[j]
        energy -= m[i] * m[j] / np.sqrt(apart @ apart + SOFTENING)
    return energy


N_BODY = {
    "loops": n_body_loops,
    "triu_indices": n_body,
    "rows": n_body_rows,
    "broadcasting": n_body_broadcast,
    "combinations": n_body_combinations,
}
