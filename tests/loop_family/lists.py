"""Lists that loops fill: by `append`, by comprehensions, and lists made anew from the one before."""

from __future__ import annotations

import numpy as np

from .program import Collection

LISTS = Collection()
program = LISTS.add


@program(lambda n, d: (d.normal(n),), 8, 40)
def products_in_a_list(x):
    table = [[x[i] * x[j] ** 2 for j in range(len(x))] for i in range(len(x))]
    total = 0.0
    for i in range(len(x)):
        total += table[i][-1] * table[0][i]
    return total + np.sum(np.tanh(np.array(table)))


@program(lambda n, d: (d.normal(n),), 8, 40)
def recurrence_in_a_list(x):
    values = [x[0], 0.5]
    for i in range(2, len(x)):
        values.append(np.sin(values[i - 1]) * x[i] + 0.3 * values[-2])
    return np.sum(np.array(values) ** 2) + values[3] * values[-1]


@program(lambda n, d: (d.normal(n), d.normal(3)), 7, 30, "branch")
def history_of_states(x, state):
    history: dict[str, list] = {"states": [], "sizes": []}
    for v in x:
        state = np.tanh(0.8 * state + v)
        history["states"].append(state)
        history["sizes"].append(v**2 if v > 0 else -0.1 * v)
    return np.sum(np.array(history["states"]) ** 2 * np.array(history["sizes"])[:, None]) + np.sum(state)


@program(lambda n, d: (d.normal(n),), 8, 40)
def lists_from_lists(x):
    u = [v**2 for v in x]
    for _ in range(6):
        u = [0.5 * u[i] + 0.1 * np.sin(u[i - 1]) for i in range(len(u))]
    return sum(u) + u[0] * u[-1]


@program(lambda n, d: (d.normal(n, 4),), 6, 30)
def rows_joined(a):
    rows = [np.cumsum(row) * row[0] for row in a]
    joined = np.concatenate([row[1:] for row in rows])
    return np.sum(np.stack(rows, axis=1) ** 2) + np.sum(joined[1:] * joined[:-1]) + np.max([np.sum(r) for r in rows])


@program(lambda n, d: (d.normal(n),), 8, 40)
def greatest_of_generators(x):
    best = max(v * np.cos(v) for v in x)
    return best * min(max(x[i] * v for v in x) for i in range(len(x)))


@program(lambda n, d: (d.normal(n),), 8, 40)
def pairs_in_lists(x):
    pairs = [(x[i], x[i - 1] * x[i]) for i in range(1, len(x))]
    edges = [[i, i + 1] for i in range(len(x) - 1)]
    total = 0.0
    for (a, b), edge in zip(pairs, edges):
        total += a * b + x[edge[0]] * np.sin(x[edge[1]])
    return total


@program(lambda n, d: (d.normal(n),), 6, 20)
def nested_appends(x):
    out, last = [], []
    for i in range(len(x)):
        inner = [x[i]]
        for v in x:
            inner.append(0.5 * inner[-1] + v)
            out.append(v * x[i])
        last.append(inner[-1])
    return np.sum(np.array(out) * np.arange(len(out))) + sum(last)
