"""Derivatives inside functions: descent, sensitivities, bilevel problems, batches of gradients, with Python state around."""

from __future__ import annotations

import numpy as np
import planned_ad

from .program import Kind, matrix, number, numbers, vectors, with_number

DERIVATIVES = Kind("derivatives")


def away_from_zero(rng):
    """A matrix whose branches on signs are not changed by small steps."""
    return (rng.choice([-1.0, 1.0], (20, 3)) * rng.uniform(0.3, 1.2, (20, 3)),)


def well(u):
    return np.sum((u**2 - 1) ** 2) + 0.1 * np.sum(u[1:] * u[:-1])


@DERIVATIVES.add(with_number(4))
def gradient_descent(u, rate):
    for _ in range(20):
        u = u - 0.01 * rate * planned_ad.grad(well)(u)
    return well(u)


@DERIVATIVES.add(with_number(4))
def descent_with_a_schedule(u, rate):
    lr, k = rate, 0
    while k < 20:
        u = u - 0.01 * lr * planned_ad.grad(well)(u)
        k += 1
        if k % 6 == 0:
            lr *= 0.5
    return well(u)


@DERIVATIVES.add(with_number(4))
def descent_in_place(u, rate):
    g = planned_ad.grad(well)
    for _ in range(20):
        u -= 0.01 * rate * g(u)
    return np.sum(u**2)


@DERIVATIVES.add(with_number(4))
def momentum_object_with_gradients(u, rate):
    class Heavy:
        def __init__(self):
            self.v, self.n = 0.0, 0

        def step(self, u):
            self.n += 1
            self.v = 0.5 * self.v + planned_ad.grad(well)(u)
            return u - 0.01 * rate / self.n * self.v

    h = Heavy()
    for _ in range(20):
        u = h.step(u)
    return well(u)


@DERIVATIVES.add(number())
def derivative_of_a_closure(s):
    def f(v, k):
        return np.sin(0.2 * k * v) * s

    total = 0.0
    for k in range(1, 21):
        total += planned_ad.grad(lambda v: f(v, k))(s)
    return total


@DERIVATIVES.add(numbers(2))
def newton_by_derivatives(a, b):
    def f(v):
        return v**3 + a * v - b

    v = 1.0
    for _ in range(20):
        v = v - f(v) / planned_ad.grad(f)(v)
    return v


@DERIVATIVES.add(vectors(4, 4))
def hessian_vector_products(u, v):
    for k in range(18):
        v = v / (1 + np.sum(v**2)) + 0.01 * k * planned_ad.hvp(well)(u, v)
        v = v / np.sqrt(np.sum(v**2))
    return np.sum(v * np.arange(4))


@DERIVATIVES.add(vectors(4, 4))
def directional_derivatives(u, v):
    total = 0.0
    for k in range(20):
        _, dy = planned_ad.jvp(well)(u * (1 + 0.01 * k), v)
        total += dy
    return total


@DERIVATIVES.add(matrix(20, 3))
def batched_gradients(x):
    def f(row):
        return np.sum(np.sin(row)) * row[0]

    return np.sum(planned_ad.vectorize(planned_ad.grad(f))(x) ** 2)


@DERIVATIVES.add(away_from_zero)
def batched_gradients_with_a_branch(x):
    def f(row):
        if row[0] > 0:
            row[1] = 0.5
        for k in range(20):
            row[2] = np.sin(row[2]) + 0.1 * row[1]
        return np.sum(row**2)

    return np.sum(planned_ad.vectorize(planned_ad.grad(f))(x.copy()) ** 2)


@DERIVATIVES.add(away_from_zero)
def gradient_in_a_loop_of_a_branch(x):
    def f(a, b):
        if a[0] > 0:
            b[1] = 0.5
        t = 0.0
        for j in range(20):
            t = 0.5 * t + np.sin(b[j % 3]) * a[1]
        return np.sum(a * b) + t

    total = 0.0
    for k in range(20):
        total = total + np.sum(planned_ad.grad(f, argnums=1)(x[k] * 1.0, x[19 - k] * 1.0) ** 2)
    return total


@DERIVATIVES.add(matrix(20, 3))
def vectorize_with_weights_by_closure(x):
    w = [0.5, 1.0, -0.3]

    def f(row):
        return sum(c * v**2 for c, v in zip(w, row))

    return np.sum(planned_ad.vectorize(f)(x) ** 2)


@DERIVATIVES.add(matrix(20, 3))
def vectorize_with_state_in_the_item(x):
    def f(row):
        k, total = 0, 0.0
        for v in row:
            k += 1
            total += v / k
        return total

    return np.sum(np.sin(planned_ad.vectorize(f)(x)))


@DERIVATIVES.add(with_number(4))
def leapfrog_of_a_potential(q, p0):
    p = np.full(4, p0)
    for _ in range(20):
        p = p - 0.01 * planned_ad.grad(well)(q)
        q = q + 0.02 * p
        p = p - 0.01 * planned_ad.grad(well)(q)
    return well(q) + 0.5 * np.sum(p**2)


@DERIVATIVES.add(with_number(4))
def hamiltonian_with_seeded_momenta(q, s):
    rng = np.random.default_rng(3)
    for _ in range(20):
        p = s * rng.normal(size=4)
        p = p - 0.01 * planned_ad.grad(well)(q)
        q = q + 0.02 * p
    return np.sum(q**2)


@DERIVATIVES.add(number())
def value_and_gradient_pairs(s):
    total = 0.0
    for w in [0.1 * k for k in range(20)]:
        value, slope = planned_ad.value_and_grad(lambda v: np.exp(-w * v) * v)(s)
        total += value * slope
    return total


@DERIVATIVES.add(numbers(2))
def third_derivative_by_nesting(a, b):
    def f(v):
        return np.sin(a * v) * v

    d3 = planned_ad.grad(planned_ad.grad(planned_ad.grad(f)))
    total = 0.0
    for k in range(18):
        total += d3(b + 0.01 * k) * (k % 3)
    return total


@DERIVATIVES.add(with_number(4))
def jacobian_in_a_gauss_newton_step(u, s):
    def residual(v):
        return np.stack([v[0] ** 2 - s, v[0] * v[1] - 1, np.sin(v[2]) - 0.3, v[3] - v[0] + s])

    for _ in range(5):
        j = planned_ad.jacobian(residual)(u)
        u = u - np.linalg.solve(j.T @ j + 0.1 * np.eye(4), j.T @ residual(u))
    return np.sum(residual(u) ** 2) + u[0]


@DERIVATIVES.add(numbers(2))
def gradient_of_a_function_with_early_exit(a, b):
    def settle(v):
        for k in range(30):
            new = 0.5 * (v + a / v)
            if abs(new - v) < 1e-9:
                break
            v = new
        return v * b

    return planned_ad.grad(settle)(1.5) + settle(2.0)


@DERIVATIVES.add(matrix(20, 3))
def gradients_by_a_list_of_functions(x):
    fs = [lambda v: np.sum(v**2), lambda v: np.prod(v), lambda v: np.sin(v[0])]
    total = 0.0
    for i, row in enumerate(x):
        total += np.sum(planned_ad.grad(fs[i % 3])(row))
    return total
