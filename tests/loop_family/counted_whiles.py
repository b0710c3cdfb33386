"""Programs that count in a `while`, as people write who come from other languages."""

from __future__ import annotations

import numpy as np

from .program import Collection

COUNTED_WHILES = Collection()
program = COUNTED_WHILES.add


@program(lambda n, d: (d.normal(n),), 8, 40)
def from_both_ends(x):
    i, j, total = 0, len(x) - 1, 0.0
    while i < j:
        x[i], x[j] = np.sin(x[j]), x[i] * x[j]
        total += x[i] * (j - i)
        i += 1
        j -= 1
    return total + np.sum(x) * i


@program(lambda n, d: (d.triangular(n), d.normal(n)), 6, 20, "triangular carried")
def forward_substitution_by_while(a, b):
    i = 0
    while i < len(b):
        j, rest = 0, b[i]
        while j < i:
            rest -= a[i, j] * b[j]
            j += 1
        b[i] = rest / a[i, i]
        i += 1
    return np.sum(b**2)


@program(lambda n, d: (d.normal(n),), 7, 24, "triangular")
def counting_down_to_a_neighbour(x):
    total = 0.0
    for i in range(len(x)):
        j = i - 2
        while j >= 0:
            total += x[i] * x[j] ** 2
            j -= 1
        total += j * x[i]
    return total


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40, "branch")
def while_with_a_branch_and_continue(x, y):
    k = 0
    while k != len(x):
        k += 1
        if x[k - 1] > 0.0:
            y[k - 1] *= x[k - 1]
            continue
        y[k - 1] += x[k - 1] ** 3
    return np.sum(y**2)


@program(lambda n, d: (d.normal(n),), 9, 40, "carried")
def endless_with_a_counted_break(x):
    total, k = 0.0, 1
    while True:
        total = 0.7 * total + x[k] * x[k - 1]
        k += 2
        if k >= len(x):
            break
        x[k] += 0.1 * total
    return total * k + np.sum(x)


@program(lambda n, d: (d.normal(10), n), 7, 31, "carried")
def while_with_exchanged_arrays(x, steps):
    u, v = x.copy(), np.zeros_like(x)
    step = 0
    while step < steps:
        v[1:-1] = u[1:-1] + 0.2 * np.tanh(u[2:] - u[:-2])
        u, v = v, u
        step += 1
    return np.sum(u**2)


class Cursor:
    """A reader with a position, which a method moves on."""

    def __init__(self, items):
        self.items, self.position = items, 0

    def more(self):
        return self.position < len(self.items)

    def take(self):
        self.position += 1
        return self.items[self.position - 1]


@program(lambda n, d: (d.normal(n),), 8, 40, "carried")
def while_of_an_object(x):
    cursor, total = Cursor(x), 0.0
    while cursor.more():
        total = np.cos(total) + cursor.take()
    return total * cursor.position
