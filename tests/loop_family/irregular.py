"""Run-time integer data: gathers and scatters at `x[index[i]]`, and loops whose bounds are run-time integers."""

from __future__ import annotations

import numpy as np

from .program import Collection, Draw

IRREGULAR = Collection()
program = IRREGULAR.add


def row_pointers(n: int, draw: Draw) -> np.ndarray:
    """Of n rows of 0 to 4 numbers each, 2 n in all: the same total for all draws."""
    counts = draw.rng.permutation(np.resize([0, 4, 2, 1, 3], n))
    counts[-1] += 2 * n - counts.sum()
    return np.concatenate([[0], np.cumsum(counts)])


def sparse(n: int, draw: Draw) -> tuple:
    return row_pointers(n, draw), draw.integers(0, n, 2 * n), draw.normal(2 * n)


@program(lambda n, d: (*sparse(n, d), d.normal(n)), 7, 30, "csr gather", peer="jax: segment_sum with row numbers")
def csr_product(row, col, values, x):
    y = np.zeros(len(row) - 1)
    for i in range(len(row) - 1):
        for k in range(row[i], row[i + 1]):
            y[i] += values[k] * x[col[k]]
    return np.sum(y * y)


@program(lambda n, d: (*sparse(n, d), d.normal(n)), 7, 30, "csr gather")
def csr_product_by_slices(row, col, values, x):
    y = np.empty(row.size - 1, values.dtype)
    for i in range(row.size - 1):
        cols = col[row[i] : row[i + 1]]
        vals = values[row[i] : row[i + 1]]
        y[i] = vals @ x[cols]
    return np.sum(y * y)


@program(lambda n, d: (*sparse(n, d), d.normal(n)), 7, 30, "csr gather")
def csr_transposed_product_by_slices(row, col, values, x):
    y = np.zeros(len(row) - 1)
    for i in range(len(row) - 1):
        part = slice(row[i], row[i + 1])
        np.add.at(y, col[part], np.sin(values[part]) * x[i])
    return np.sum(y * y)


@program(lambda n, d: (*sparse(n, d), 4 + d.positive(n), d.normal(n), 3), 7, 22, "csr gather carried")
def csr_gauss_seidel_by_slices(row, col, values, diagonal, x, sweeps):
    for _ in range(sweeps):
        for i in range(len(x)):
            start, stop = row[i], row[i + 1]
            x[i] = (1.0 - values[start:stop] @ x[col[start:stop]]) / diagonal[i]
    return x @ x


@program(lambda n, d: (row_pointers(n, d), d.normal(2 * n), d.normal(2 * n)), 7, 30, "csr")
def softmax_of_segments(row, scores, weights):
    shares = np.zeros_like(scores)
    for i in range(len(row) - 1):
        e = np.exp(scores[row[i] : row[i + 1]])
        shares[row[i] : row[i + 1]] = e / (1.0 + np.sum(e))
    return np.sum(shares * weights)


@program(lambda n, d: (row_pointers(n, d), d.normal(2 * n), d.normal(2 * n)), 7, 30, "csr carried")
def segments_in_place(row, x, v):
    total = 0.0
    for i in range(len(row) - 1):
        segment = x[row[i] : row[i + 1]]
        segment[1:] += 0.5 * segment[:-1] * v[row[i] : row[i + 1]][1:]
        segment *= 1.0 + 0.1 * len(segment)
        total = 0.5 * total + np.sum(np.diff(segment) ** 2)
    return total + np.sum(x * v)


@program(lambda n, d: (*sparse(n, d), d.normal(n)), 7, 30, "csr gather")
def csr_transposed_product(row, col, values, x):
    y = np.zeros(len(row) - 1)
    for i in range(len(row) - 1):
        for k in range(row[i], row[i + 1]):
            y[col[k]] += values[k] * x[i]
    return np.sum(np.sin(y))


@program(lambda n, d: (*sparse(n, d), 4 + d.positive(n), d.normal(n), 3), 7, 22, "csr gather carried")
def csr_jacobi(row, col, values, diagonal, b, sweeps):
    x = np.zeros_like(b)
    for _ in range(sweeps):
        new = np.empty_like(x)
        for i in range(len(b)):
            total = b[i]
            for k in range(row[i], row[i + 1]):
                total -= values[k] * x[col[k]]
            new[i] = total / diagonal[i]
        x = new
    return x @ x


@program(lambda n, d: (d.normal(n), d.integers(0, n, n + 4)), 7, 30, "gather")
def gathered_scalars(x, index):
    total = 0.0
    for i in range(len(index)):
        total += x[index[i]] ** 2 * (i + 1)
    return total


@program(lambda n, d: (d.normal(n), d.integers(0, 4, n)), 8, 40, "gather")
def histogram(x, bins):
    sums = np.zeros(4)
    for i in range(len(x)):
        sums[bins[i]] += x[i]
    return np.sum(sums**2)


@program(lambda n, d: (d.normal(n), d.integers(-n, n, n), d.integers(0, n, n)), 7, 30, "gather")
def gather_and_scatter_in_place(x, source, target):
    for i in range(len(source)):
        x[target[i]] = 0.5 * x[target[i]] + np.sin(x[source[i]])
    return np.sum(x**2)


@program(lambda n, d: (d.normal(n, 3), d.integers(0, n, 2 * n, 2), d.positive(2 * n)), 7, 30, "gather")
def springs(x, ends, lengths):
    energy = 0.0
    for (a, b), length in zip(ends, lengths):
        d = x[a] - x[b]
        energy += 0.5 * (np.sqrt(np.sum(d * d) + 0.1) - length) ** 2
    return energy


@program(lambda n, d: (d.normal(n, 3), d.integers(0, n, 2 * n, 2)), 7, 30, "gather")
def forces_on_edges(x, ends):
    force = np.zeros_like(x)
    for e in range(len(ends)):
        i, j = ends[e, 0], ends[e, 1]
        d = x[i] - x[j]
        f = d / (1.0 + d @ d)
        force[i] -= f
        force[j] += f
    return np.sum(force**2)


@program(lambda n, d: (d.normal(5, 4), d.integers(0, 5, n), d.normal(4, 4)), 7, 30, "gather carried")
def embedding_and_recurrence(table, words, w):
    h = np.zeros(4, table.dtype)
    for word in words:
        h = np.tanh(0.5 * w @ h + table[word])
    return np.sum(h)


@program(
    lambda n, d: (d.probabilities(3), d.probabilities(3, 3), d.probabilities(3, 4), d.integers(0, 4, n)),
    7,
    40,
    "gather",
)
def hmm_forward_with_scaling(start, transition, emission, observed):
    alpha = start * emission[:, observed[0]]
    total = np.sum(alpha)
    loglik = np.log(total)
    alpha = alpha / total
    for t in range(1, len(observed)):
        alpha = (alpha @ transition) * emission[:, observed[t]]
        total = np.sum(alpha)
        loglik += np.log(total)
        alpha = alpha / total
    return loglik


@program(lambda n, d: (d.normal(n), d.rng.permutation(n)), 8, 30, "gather")
def chained_permutation(x, order):
    y = x[order[0]]
    for i in range(1, len(order)):
        y = np.tanh(y) * x[order[i]] + 0.5 * x[order[i - 1]]
    return y


@program(lambda n, d: (d.normal(2 * n), d.integers(0, n, 6), d.integers(1, n, 6)), 7, 30, "csr")
def sums_of_windows(x, start, length):
    total = 0.0
    for w in range(len(start)):
        window = x[start[w] : start[w] + length[w]]
        total += np.sum(window * window) * (w + 1)
    return total


@program(lambda n, d: (d.normal(n), d.integers(0, n, n) % np.maximum(np.arange(n), 1)), 8, 40, "gather")
def sums_up_a_tree(x, parent):
    for i in range(len(x) - 1, 0, -1):
        x[parent[i]] += np.sin(x[i])
    return x[0] ** 2


@program(lambda n, d: (d.normal(n, 2), d.integers(0, n, n, 3)), 6, 25, "gather")
def triangle_areas(points, triangles):
    total = 0.0
    for i, j, k in triangles:
        a, b = points[j] - points[i], points[k] - points[i]
        total += 0.5 * np.sqrt((a[0] * b[1] - a[1] * b[0]) ** 2 + 0.01)
    return total


@program(lambda n, d: (d.normal(n), d.integers(0, 2, n).astype(bool)), 8, 40, "branch gather")
def masked_by_data(x, keep):
    total = 0.0
    for i in range(len(x)):
        if keep[i]:
            total += x[i] ** 2
        else:
            total *= 0.9
    return total


@program(lambda n, d: (d.normal(n), d.integers(0, 3, n)), 8, 40, "branch gather")
def little_machine(x, code):
    top = 1.0
    for i in range(len(code)):
        if code[i] == 0:
            top = top + x[i]
        elif code[i] == 1:
            top = top * x[i]
        else:
            top = np.sin(top)
    return top
