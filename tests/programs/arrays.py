"""Sequences, index arrays, masks, views and helpers as people write them."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from .registry import floats, positive, program

# Sequences.


@program(floats(6), 0.7)
def horner(c, x):
    total = 0.0
    for k in range(len(c) - 1, -1, -1):
        total = total * x + c[k]
    return total


@program(floats(4, 6))
def running_sums(x):
    return np.sum(np.cumsum(x, axis=1) ** 2) + np.sum(np.cumsum(x) * np.arange(24))


@program(positive(3, 5))
def running_products(x):
    return np.sum(np.cumprod(x, axis=0)) + np.sum(np.log(np.cumprod(x[0])))


@program(positive(7))
def taylor_of_log(x):
    power, total = 1.0, 0.0
    for i in range(1, 7):
        power = power * x[0]
        total += (-1) ** (i + 1) * power / i * x[i]
    return total


@program(floats(9))
def running_maximum(x):
    best = x[0]
    for v in x:
        best = np.maximum(best, v)
        x *= 0.9
    return best + np.sum(x)


@program(floats(8))
def fibonacci(x):
    a, b = x[0], x[1]
    for k in range(2, 8):
        a, b = b, a * b + x[k]
    return b


@program(floats(8), floats(3))
def convolution(x, kernel):
    y = np.zeros(6)
    for i in range(6):
        y[i] = np.sum(x[i : i + 3] * kernel)
    return np.sum(y**2)


@program(floats(9), floats(3))
def convolution_by_shifts(x, kernel):
    y = np.zeros(7)
    for k in range(3):
        y += kernel[k] * x[k : k + 7]
    return np.sum(np.exp(-y * y))


@program(floats(3, 4), 0.1 * floats(4, 4), 0.1 * floats(3, 4))
def recurrent_network(x, w, u):
    h = np.zeros(4)
    out = np.empty((3, 4))
    for t in range(3):
        h = np.tanh(w @ h + u[t] * x[t])
        out[t] = h
    return np.sum(out**2)


# Index arrays and masks.


@program(floats(6), np.array([0, 3, 3, 5]), floats(4))
def scatter_with_repeated_indices(x, index, values):
    x[index] = values * values
    return np.sum(x**2 * np.arange(1.0, 7.0))


@program(floats(6), np.array([0, 3, 3, 5]), floats(4))
def scatter_in_place(x, index, values):
    x[index] *= values
    return np.sum(x**2)


@program(floats(6), np.array([0, -3, 3, 5]), floats(4))
def add_at(x, index, values):
    np.add.at(x, index, values * x[index])
    return np.sum(x**3)


@program(floats(5, 3), np.array([[0, 4], [2, 2]]), floats(2, 2, 3))
def gather_rows(x, index, weights):
    return np.sum(x[index] * weights) + np.sum(np.take(x, index[0], axis=0) ** 2)


@program(floats(4, 5), np.array([0, 3, 1]), np.array([3, 2, 2]))
def gather_pairs(x, i, j):
    x[i, j] += x[j[::-1], i]
    return np.sum(x[i, 1:] ** 2) + np.sum(x[:, j] * x[i[:1], 0])


@program(floats(10), np.array([0, 0, 1, 2, 2, 2, 1, 0, 3, 3]))
def histogram(x, bins):
    sums = np.zeros(4)
    np.add.at(sums, bins, x)
    return np.sum(sums**2)


@program(floats(9))
def mask_writes(x):
    x[x < 0] *= -0.5
    x[x > 1] = 1.0
    return np.sum(x**2)


@program(floats(9))
def mask_by_where(x):
    return np.sum(np.where(x > 0, x**2, np.sin(x)))


@program(floats(3, 4), np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 0]], bool))
def mask_argument(x, mask):
    y = np.zeros_like(x)
    y[mask] = x[mask] ** 2
    return np.sum(y * x)


@program(floats(7))
def sorted_by_argument(x):
    return np.sum(np.clip(x, -0.5, 0.8) * np.abs(x)) + np.max(x) * np.min(x)


# Views and aliases.


@program(floats(6))
def swap_of_views(x):
    a, b = x[:3], x[3:]
    t = a.copy()
    a[:] = b
    b[:] = t * 2
    return np.sum(a**2) + np.sum(b**3)


@program(floats(6))
def swap_elements(x):
    for i in range(3):
        x[i], x[5 - i] = x[5 - i], x[i] * 2
    return np.sum(x * np.arange(6.0))


@program(floats(4), floats(4))
def out_chain(x, y):
    t = np.empty(4)
    np.multiply(x, y, out=t)
    np.exp(t, out=t)
    np.add(t, x, out=t)
    np.sin(t, out=x)
    return np.sum(x * t)


@program(floats(7))
def reversed_in_place(x):
    x[::-1] = x * 2
    x[:] = x[::-1] ** 2
    return np.sum(x * np.arange(7.0))


@program(floats(7))
def shifted_up(x):
    x[1:] = x[:-1] * 2
    x[2:] += x[:-2]
    return np.sum(x**2 * np.arange(7.0))


@program(floats(7))
def shifted_down(x):
    x[:-1] = x[1:] * 2
    x[:-2] *= x[2:]
    return np.sum(x**2 * np.arange(7.0))


@program(floats(4, 6))
def views_of_views(x):
    a = x[1:, ::2]
    b = a.T[1:]
    c = b[::-1, 1]
    c *= a[0, 1:]
    b += 1.0
    d = x.reshape(2, 12)[1].reshape(3, 4)[:, ::-1]
    d[1] = d[0] * d[2]
    return np.sum(x**2)


@program(floats(5, 5))
def diagonals(x):
    np.einsum("ii->i", x)[:] *= 2.0
    x.T[0] += x.diagonal()
    return np.sum(x**2) + np.trace(x @ x)


@program(floats(4, 4))
def transpose_in_place(x):
    x += x.T
    x[:] = x.T @ x
    return np.sum(np.sin(x))


@program(floats(3, 4))
def broadcast_writes(x):
    y = np.empty((3, 4))
    y[...] = x[0]
    y[:, 1] = x[:, 2]
    y[1] = 2.0
    y[2, 1:3] += x[1:, 0]
    return np.sum(y * x)


@program(floats(4))
def empty_slices(x):
    y = np.zeros(3)
    y[3:] = x[4:]
    x[2:2] *= 2.0
    return np.sum(y) + np.sum(x[:0]) + np.sum(x**2)


@program(np.asfortranarray(floats(3, 4)), floats(8)[::2], floats(6)[::-1])
def other_layouts(a, b, c):
    a *= b
    b += c[1:5]
    return np.sum(a**2) + b @ c[:4]


@program(np.array(0.7), floats(2))
def zero_dimensional(a, x):
    a *= x[0]
    a[...] = np.sin(a)
    return a * x[1] + a


# Arguments and helpers.

Point = namedtuple("Point", "x y")


@dataclass
class Model:
    weights: np.ndarray
    bias: float
    name: str

    def predict(self, x):
        return x @ self.weights + self.bias


@program({"w": floats(3), "b": 0.5, "n": 2}, floats(3))
def dict_argument(params, x):
    total = params["b"]
    for _ in range(params["n"]):
        total = np.tanh(params["w"] @ x + total)
    return total


@program(Model(floats(3), 0.3, "linear"), floats(4, 3))
def dataclass_argument(model, x):
    return np.sum(model.predict(x) ** 2)


@program(Point(floats(3), 2.0), [floats(2), (floats(2), 0.1)])
def nested_arguments(point, tree):
    a, (b, scale) = tree
    a *= scale
    return np.sum(point.x) * point.y + a @ b + scale**3


@program(1.5, 2.5)
def float_arguments(a, b):
    return math.exp(-a * b) + math.sin(a) / b + max(a, b) ** 2


@program(floats(3), 2.0, floats(3))
def star_args(*args):
    x, scale, y = args
    return np.sum(x * y) * scale


@program(floats(5), 3, "tanh", True)
def static_arguments(x, n, name, flag):
    y = x
    for _ in range(n):
        y = np.tanh(y) if name == "tanh" else np.sin(y)
    return np.sum(y if flag else x)


@program(floats(6).astype(np.float32), floats(6).astype(np.float32), differences=False)
def single_precision(x, y):
    x *= y
    return np.sum(np.exp(x) * y)


@program(floats(4), floats(4).astype(np.float32), differences=False)
def mixed_precision(x, y):
    return np.sum(np.sin(x) * y) + np.sum(y * y)


@program(floats(4), np.arange(4))
def integer_data(x, n):
    return np.sum(x**n) + np.sum(x * n) + np.sum(n % 3 * x // 1)


@program(positive(9), positive(9))
def powers(x, y):
    return np.sum(x**y) + np.sum(x**2.5) + np.sum(2.0**y) + np.sum(x**-2) + np.sum((x - 1.2) ** 3)


@program(floats(3, 4), floats(4))
def many_functions(x, y):
    z = np.concatenate([x, y[None]], axis=0)
    z = np.stack([z, np.roll(z, 1, axis=0), np.flip(z, axis=1)])
    z = np.pad(z, ((0, 0), (1, 0), (0, 2)))
    z = np.repeat(np.tile(z, (1, 1, 2)), 2, axis=0)
    first, second = np.split(z, 2, axis=0)
    return np.sum(np.tensordot(first, second, axes=([1, 2], [1, 2])) ** 2) + np.std(z)


@program(floats(20), floats(20).astype(np.float32), differences=False)
def long_scalar_program(x, y):
    """Numbers of several dtypes cross the places where its one block is cut into functions."""
    flags = [y[i] > y[i - 1] for i in range(20)]
    total = 0.0
    for i in range(20):
        for j in range(20):
            total = total * 0.9 + np.where(flags[j], x[i] * x[j], y[i] * y[j] * x[j])
    return total
