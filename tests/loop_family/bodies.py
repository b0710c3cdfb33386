"""What people do in the body of a loop: local arrays, swaps, helpers, objects, aliases, indices of every kind."""

from __future__ import annotations

import numpy as np

from .program import Collection

BODIES = Collection()
program = BODIES.add


@program(lambda n, d: (d.normal(n),), 8, 40)
def local_arrays(x):
    total = 0.0
    for i in range(1, len(x) - 1):
        window = np.empty(3)
        window[0] = x[i - 1]
        window[1:] = x[i : i + 2] ** 2
        window *= np.array([0.25, 0.5, 0.25])
        total += np.exp(-np.sum(window))
    return total


@program(lambda n, d: (d.normal(n),), 9, 40)
def negative_indices(x):
    n = len(x)
    for i in range(1, n):
        x[-i] = 0.5 * x[-i] + np.sin(x[-i - 1] if i + 1 <= n else 0.0)
    for i in range(-1, -n, -1):
        x[i] *= x[i - 1 + n if i == -n else i]
    return np.sum(x)


@program(lambda n, d: (d.normal(2 * n), d.normal(n)), 7, 30)
def computed_indices(x, y):
    n = len(y)
    for i in range(n):
        k = 2 * i + 1
        y[n - 1 - i] += x[k] * x[k - 1]
        x[2 * n - 1 - k] *= 0.5
    return np.sum(y**2) + np.sum(x**2)


@program(lambda n, d: (d.normal(n * n),), 6, 20)
def flattened_matrix(a):
    n = int(np.sqrt(len(a)))
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += a[i * n + j] * a[j * n + i] ** 2
    return total


@program(lambda n, d: (d.normal(n),), 8, 40)
def values_used_after(x):
    last, index = 0.0, 0
    for i in range(len(x)):
        last = np.sin(x[i]) * (i + 1)
        doubled = 2 * last
        index = i
    return last * doubled + x[index] ** 2 + i


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40)
def swapped_elements(x, y):
    n = len(x)
    for i in range(n // 2):
        x[i], x[n - 1 - i] = x[n - 1 - i], 2 * x[i]
        x[i], y[i] = y[i], x[i]
    return np.sum(x * np.arange(n)) + np.sum(y**2)


@program(lambda n, d: (d.normal(4), d.normal(4), n), 7, 40, "carried")
def swapped_arrays(u, v, steps):
    for _ in range(steps):
        u, v = v, 0.5 * u + np.sin(v)
    return u @ v


@program(lambda n, d: (d.normal(3), d.normal(3), d.normal(3), n), 7, 40, "carried")
def rotated_arrays(a, b, c, steps):
    for _ in range(steps):
        a[:] = 0.5 * b + np.cos(c)
        a, b, c = b, c, a
    return a @ a + b @ c


@program(lambda n, d: (d.normal(n),), 8, 40, "carried")
def several_distances(x):
    a = b = c = 0.0
    for v in x:
        c, b, a = b + 0.1 * a * a, a * 0.5, v + 0.3 * np.sin(c)
    return a + b * c


@program(lambda n, d: (d.normal(n), 2.0), 8, 40)
def helpers_called(x, power):
    def inner(v, w):
        return np.sin(v) * w

    def outer(a, i):
        return inner(a[i], a[i - 1]) + power * a[i - 1]

    total = 0.0
    for i in range(1, len(x)):
        total += outer(x, i)
    return total


def _relax(a, i, weight=0.5):
    a[i] = weight * a[i] + (1 - weight) * a[i - 1] ** 2


@program(lambda n, d: (d.normal(n),), 8, 40)
def helper_that_writes(x):
    for i in range(1, len(x)):
        _relax(x, i)
    for i in range(1, len(x)):
        _relax(x, i, weight=0.3)
    return np.sum(x)


class Integrator:
    """An object with a method that is called in a loop, and a field that it carries."""

    def __init__(self, step):
        self.step = step
        self.energy = 0.0

    def advance(self, q, p):
        p = p - self.step * np.sin(q)
        q = q + self.step * p
        self.energy = 0.9 * self.energy + 0.5 * p * p
        return q, p


@program(lambda n, d: (0.3, d.number(0.4, 0.9), 0.1, n), 7, 40, "carried")
def object_with_state(q, p, step, steps):
    integrator = Integrator(step)
    for _ in range(steps):
        q, p = integrator.advance(q, p)
    return q * q + integrator.energy


@program(lambda n, d: (d.normal(n, 3, 3), d.normal(3)), 7, 30, "carried")
def product_of_matrices(matrices, v):
    total = np.eye(3)
    for m in matrices:
        total = 0.7 * (m @ total)
    return np.sum(np.tanh(total @ v))


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40)
def out_arguments(x, y):
    t = np.empty_like(x)
    for i in range(1, len(x)):
        np.multiply(x, y[i], out=t)
        np.sin(t, out=t)
        x += 0.1 * t
        t[...] = 0
    return np.sum(x**2)


@program(lambda n, d: (d.normal(n, n),), 6, 21)
def views_named_before_the_loop(a):
    top, left, inner = a[0], a[:, 0], a[1:, 1:]
    for i in range(len(inner)):
        row = inner[i]
        row *= top[1:]
        left[i + 1] += row[i]
    return np.sum(a**2)


@program(lambda n, d: (d.normal(n),), 7, 30)
def array_replaced_in_the_loop(x):
    history = np.zeros((len(x), 3))
    state = np.array([0.1, 0.2, 0.3])
    for t in range(len(x)):
        state = np.roll(state, 1) * 0.8
        state[0] += x[t]
        history[t] = state
    return np.sum(history**2)


@program(lambda n, d: (d.normal(n),), 7, 30)
def alias_kept_from_before(x):
    y = x
    for i in range(1, len(x)):
        y[i] *= x[i - 1]
    y = y * 2.0
    for i in range(len(x)):
        y[i] += x[i] ** 2
    return np.sum(y)


@program(lambda n, d: (d.normal(n, n), d.normal(n)), 6, 20)
def three_deep_with_statements_between(a, x):
    n = len(x)
    total = 0.0
    for i in range(n):
        row = 0.0
        for j in range(n):
            cell = a[i, j] * x[j]
            for _ in range(5):
                cell = 0.5 * cell + 0.1 * np.sin(cell)
            row += cell
        x[i] = row
        total += row**2
    return total


@program(lambda n, d: (d.normal(n),), 8, 40)
def loop_invariant_work(x):
    total = 0.0
    for i in range(len(x)):
        scale = np.exp(-np.sum(x[:2] ** 2))
        table = np.arange(4) * scale
        total += table[i % 4 if i < 0 else 3] * np.sin(x[i])
    return total


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40)
def arithmetic_on_the_index(x, y):
    total = 0.0
    for i in range(len(x)):
        t = i * 0.1
        total += np.cos(t) * x[i] + y[i] * t**2 / (i + 1) + float(i) * 1e-2 + (len(x) - i) * x[i] ** 2
    return total


@program(lambda n, d: (d.normal(n),), 8, 40)
def powers_of_the_index(x):
    total = 0.0
    for i in range(len(x)):
        total += (-1) ** i * x[i] ** 2 / 2.0**i + x[i] ** 3 * 0.5 ** (i + 1)
    return total


@program(lambda n, d: (d.normal(n),), 8, 30)
def index_in_an_array(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = i
    weights = np.array([1.0 / (i + 1) for i in range(len(x))])
    return np.sum(x**2 * y) + weights @ x


@program(lambda n, d: (d.normal(n), 4), 8, 30)
def captured_constants(x, m):
    table = np.linspace(0.0, 1.0, len(x))
    total = 0.0
    for i in range(len(x)):
        total += table[i] * x[i] ** 2 + table[len(x) - 1 - i] * np.sin(x[i])
    return total


@program(lambda n, d: (d.normal(n),), 8, 40)
def last_write_wins(x):
    y = np.zeros(3)
    for i in range(len(x)):
        y[1] = x[i]
        y[0] += y[1] ** 2
    return np.sum(y * np.array([1.0, 10.0, 100.0]))


@program(lambda n, d: (d.normal(n, 3), 0.5), 7, 30)
def whole_array_in_each_iteration(a, scale):
    for i in range(len(a)):
        a[i] *= scale
        a += 0.01 * a[i]
    return np.sum(a**2)


@program(lambda n, d: (d.normal(n),), 8, 40, "carried")
def type_of_carried_value_changes(x):
    best = 0
    for i in range(len(x)):
        best = best * 0.5 + x[i] * (i + 1)
    return best


@program(lambda n, d: (d.normal(n, 3), d.normal(3)), 7, 30)
def unpacked_rows(points, centre):
    cx, cy, cz = centre
    total = 0.0
    for x, y, z in points:
        total += (x - cx) ** 2 * (y - cy) + np.exp(-((z - cz) ** 2))
    return total


@program(lambda n, d: (d.normal(n),), 16, 64)
def complex_parts_of_another_length(x):
    """A Fourier transform, stage by stage: what a loop leaves behind is shorter than what the next one assigns."""
    z = x.astype(complex)
    half = 1
    while half < len(z):
        turn = np.exp(-1j * np.pi * np.arange(half) / half)
        for start in range(0, len(z), 2 * half):
            even = z[start : start + half].copy()
            odd = turn * z[start + half : start + 2 * half]
            z[start : start + half] = even + odd
            z[start + half : start + 2 * half] = even - odd
        half *= 2
    return np.sum(np.abs(z) ** 2 / (1 + np.arange(len(z))))
