"""Gradients of products of matrices that loops and broadcasting write out, beside that of `a @ b`.

`python -m benchmarks.products [n]` prints a table.
"""

from __future__ import annotations

import sys

import numpy as np

import planned_ad

from .measure import seconds

SIZE = 200


def product(a, b, weights):
    return np.sum(weights * (a @ b))


def dots(a, b, weights):
    c = np.zeros_like(weights)
    for i in range(len(a)):
        for j in range(b.shape[1]):
            c[i, j] = a[i] @ b[:, j]
    return np.sum(weights * c)


def numbers(a, b, weights):
    c = np.zeros_like(weights)
    for i in range(len(a)):
        for j in range(b.shape[1]):
            for k in range(len(b)):
                c[i, j] += a[i, k] * b[k, j]
    return np.sum(weights * c)


def sums(a, b, weights):
    c = np.zeros_like(weights)
    for i in range(len(a)):
        for j in range(b.shape[1]):
            c[i, j] = np.sum(a[i] * b[:, j])
    return np.sum(weights * c)


def rows(a, b, weights):
    c = np.zeros_like(weights)
    for i in range(len(a)):
        c[i] = a[i] @ b
    return np.sum(weights * c)


def multiples_of_rows(a, b, weights):
    c = np.zeros_like(weights)
    for i in range(len(a)):
        for k in range(len(b)):
            c[i] += a[i, k] * b[k]
    return np.sum(weights * c)


def outer_products(a, b, weights):
    c = np.zeros_like(weights)
    for k in range(len(b)):
        c += np.outer(a[:, k], b[k])
    return np.sum(weights * c)


def broadcast(a, b, weights):
    return np.sum(weights * np.sum(a[:, :, None] * b, axis=1))


def syrk(a, b, weights):
    """NPBench's: half of `a @ a.T`, a row more in each iteration."""
    c = b.copy()
    for i in range(len(a)):
        c[i, : i + 1] *= 1.2
        for k in range(a.shape[1]):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
    return np.sum(weights * c)


def trmm(a, b, weights):
    """NPBench's: half of `a.T @ b`, in place, a row less in each iteration."""
    c = b.copy()
    for i in range(len(c)):
        for j in range(c.shape[1]):
            c[i, j] += np.dot(a[i + 1 :, i], c[i + 1 :, j])
    return np.sum(weights * 1.5 * c)


def covariance(a, b, weights):
    """NPBench's: half of `a.T @ a`."""
    a, c = a - np.mean(a, axis=0), np.zeros_like(weights)
    for i in range(len(c)):
        c[i:, i] = c[i, i:] = a[:, i] @ a[:, i:] / (len(a) - 1.0)
    return np.sum(weights * c)


WAYS = {
    f.__name__: f
    for f in (dots, numbers, sums, rows, multiples_of_rows, outer_products, broadcast, syrk, trmm, covariance)
}


def gradient_of(function, n: int) -> tuple:
    """`(gradient, *arguments)` for matrices of n rows and columns."""
    a, b, weights = np.random.default_rng(0).random((3, n, n))
    plan = planned_ad.compile(function, (a, b, planned_ad.Const(weights)))
    return plan.gradient, a, b, weights, np.zeros_like(a), np.zeros_like(b)


class Products:
    """The time of a way to write a product by that of `a @ b`."""

    params = tuple(WAYS)
    param_names = ("way",)

    def setup(self, way):
        self.way, self.product = gradient_of(WAYS[way], SIZE), gradient_of(product, SIZE)

    def track_way_by_product(self, way):
        this, other = seconds(self.way, self.product)
        return this / other

    track_way_by_product.unit = "ratio"


def main() -> None:
    n = int(sys.argv[1]) if sys.argv[1:] else SIZE
    least, *times = seconds(*(gradient_of(f, n) for f in (product, *WAYS.values())), repeats=40)
    for name, found in zip(WAYS, times):
        print(f"{name:<18} {found * 1e3:8.3g} ms {found / least:6.2f}")


if __name__ == "__main__":
    main()
