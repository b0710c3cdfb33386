"""Arguments and results in containers, copies, NumPy's own numbers as state, and its functions with callbacks."""

from __future__ import annotations

import copy
import operator

import numpy as np

from .program import Kind, matrix, vectors, with_number

ARGUMENTS = Kind("arguments")


def model(rng):
    return ({"w": rng.uniform(0.2, 1, 4), "b": rng.uniform(0.2, 1, 4)}, rng.uniform(0.2, 1, 20))


def layers(rng):
    return ([rng.uniform(-0.5, 0.5, (3, 3)) for _ in range(20)], rng.uniform(0.2, 1, 3))


def pairs(rng):
    return (tuple((rng.uniform(0.2, 1, 5), float(rng.uniform(0.2, 1))) for _ in range(3)),)


@ARGUMENTS.add(model)
def dict_of_weights_updated(parameters, x):
    step = 0
    for v in x:
        step += 1
        for name in parameters:
            parameters[name] -= 0.01 / step * (parameters[name] - v)
    return np.sum(parameters["w"] * parameters["b"])


@ARGUMENTS.add(layers)
def list_of_layers(weights, h):
    for k, w in enumerate(weights):
        h = np.tanh(w @ h) if k % 4 else h + 0.1 * (w @ h)
    return np.sum(h)


@ARGUMENTS.add(layers)
def list_of_layers_beside_flags(weights, h):
    for w, residual in zip(weights, [True, False, False, True] * 5):
        h = h + np.tanh(w @ h) if residual else np.tanh(w @ h)
    return np.sum(h)


@ARGUMENTS.add(layers)
def layers_written_in_turn(weights, h):
    for k in range(20):
        weights[k] *= 0.9
        h = np.tanh((weights[k] + weights[k - 1]) @ h) + 0.1
    return np.sum(h)


@ARGUMENTS.add(pairs)
def tuple_of_pairs(groups):
    total = 0.0
    for k in range(20):
        a, rate = groups[k % 3]
        a *= 1 - 0.01 * rate
        total += rate * a[k % 5]
    return total


@ARGUMENTS.add(vectors(20, 20))
def results_in_a_tuple(x, y):
    k, u, v = 1, 0.0, 0.0
    for a, b in zip(x, y):
        u, v, k = u + a / k, v - b * k, k + 1 if k < 7 else 1
    return u, v


@ARGUMENTS.add(vectors(20, 20))
def results_in_an_array(x, y):
    out, n = np.zeros(20), 0
    for i in range(20):
        if i % 3 != n % 2:
            n += 1
        out[i] = x[i] * y[n % 20]
    return out


@ARGUMENTS.add(vectors(20, 20))
def results_in_a_list_of_lists(x, y):
    rows = []
    for i in range(20):
        rows.append([x[i] * i, y[i] / (i + 1)])
    return np.array(rows)


@ARGUMENTS.add()
def copies_of_an_array(x):
    total = 0.0
    for k in range(20):
        a, b, c = copy.copy(x), copy.deepcopy(x), x[:]
        x[k] *= 0.5
        total += a[k] * 3 + b[k] * 2 + c[k]
    return total


@ARGUMENTS.add()
def item_getters(x):
    total = 0.0
    for k in range(20):
        first, second = operator.itemgetter(k, (k * 3) % 24)(x)
        total += first * second
    return total


@ARGUMENTS.add()
def numpy_scalars_as_state(x):
    k, scale, total = np.int64(0), np.float64(1.0), 0.0
    for v in x:
        k += 1
        scale *= 0.9
        total += v * scale * (k % 3)
    return total


@ARGUMENTS.add()
def plain_array_as_state(x):
    counts, total = np.zeros(4, dtype=int), 0.0
    for i, v in enumerate(x):
        counts[i % 4] += i
        total += v * counts[(i * 3) % 4]
    return total


@ARGUMENTS.add()
def plain_mask_as_state(x):
    alive = np.ones(24, dtype=bool)
    total = 0.0
    for k in range(20):
        total += np.sum(x[alive]) / (k + 1)
        alive[k] = False
    return total


@ARGUMENTS.add()
def plain_array_rolled(x):
    w, total = np.array([0.1, 0.9, -0.5, 0.3]), 0.0
    for v in x:
        total += v * w[0]
        w = np.roll(w, 1)
    return total


@ARGUMENTS.add(matrix(20, 3))
def apply_along_an_axis(a):
    return np.sum(np.apply_along_axis(lambda row: row * np.sum(row), 1, a) ** 2)


@ARGUMENTS.add(with_number(20))
def array_from_a_function_of_indices(x, s):
    return np.sum(np.fromfunction(lambda i: s * np.cos(0.1 * i), (20,)) * x)


@ARGUMENTS.add(with_number(20))
def piecewise_with_functions(x, s):
    return np.sum(np.piecewise(x, [x < s, x >= s], [lambda v: v**2, lambda v: s * v]))


@ARGUMENTS.add(with_number(20))
def select_of_conditions(x, s):
    total = 0.0
    for k in range(20):
        total += np.sum(np.select([x < 0.5, x < 0.9 + 0.01 * k], [x**2, s * x], default=1.0))
    return total
