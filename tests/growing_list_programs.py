"""Lists that get longer in loops and are read there, as people write them: functions of an array of 24 numbers."""

# ruff: noqa: PERF401, RUF007 (loops that append are what is tested)

from __future__ import annotations

import math

import numpy as np

from .program_lists import Programs

FOUND = Programs()
LOOPS, PROGRAMS = FOUND.loops, FOUND.all
program, rolled = FOUND.program, FOUND.rolled


@rolled
def forward_substitution(x):
    y = []
    for i in range(12):
        y.append(x[i] - sum(x[i - j] * y[j] for j in range(i)))
    return sum(v * v for v in y)


@rolled
def over_what_there_is(x):
    y = []
    for i in range(12):
        s = x[i]
        for j, v in enumerate(y):
            s -= 0.3 * x[j] * v
        y.append(s)
    return y[-1] * y[3]


@rolled
def from_its_end(x):
    y = []
    for i in range(12):
        s = 0.0
        for j, v in enumerate(reversed(y)):
            s += v * x[j]
        y.append(0.5 * s + x[i])
    return y[-1]


@rolled
def catalan(x):
    y = [x[0]]
    for i in range(1, 12):
        s = 0.0
        for j in range(i):
            s += y[j] * y[i - 1 - j] * 0.1
        y.append(s + x[i])
    return y[-1]


@rolled
def rows_of_a_table(x):
    p = [0.0] + [1e3] * 12
    for i in range(8):
        q = [1e3]
        for j in range(12):
            q.append(abs(x[i] - x[12 + j]) + min(p[j], p[j + 1], q[j]))
        p = q
    return p[-1]


@rolled
def rows_that_are_written_too(x):
    p = list(x)
    for _ in range(6):
        q = [0.0]
        for j in range(1, 24):
            q.append(0.5 * q[j - 1] + p[j] * p[j - 1])
        for j in range(24):
            q[j] *= 0.5
        p = q
    return sum(v * v for v in p)


@rolled
def rows_with_one_more(x):
    p, total = [0.0] * 24, 0.0
    for k in range(6):
        q = [1.0]
        for j in range(23):
            q.append(0.5 * q[j] + p[j] * x[k])
        total += q[k]
        p = q
        q[0] = total
    return sum(p) + total


@rolled
def ends_beside_the_row(x):
    p = list(x)
    for _ in range(6):
        q = [p[0]]
        for j in range(1, 23):
            q.append(p[j] + 0.1 * (p[j + 1] - 2 * p[j] + p[j - 1]))
        q.append(p[-1])
        p = q
    return sum(v * v for v in p)


@rolled
def orthogonal(x):
    basis = []
    for k in range(18):
        v = x[k : k + 6] + 0.1 * k
        for u in basis[-2:] if k > 5 else basis:
            v = v - (u @ v) * u
        basis.append(v / (0.1 + np.sqrt(v @ v)))
    return sum((k + 1) * np.sum(u * x[:6]) for k, u in enumerate(basis))


@rolled
def attention(x):
    h = [0.0]
    for t in range(20):
        weights = [math.exp(v * x[t]) for v in h]
        total = sum(weights)
        h.append(sum(w * v for w, v in zip(weights, h)) / total + x[t])
    return h[-1]


@rolled
def means_of_rows(x):
    h = [x]
    for t in range(1, 9):
        h.append(x * x[t] + 0.1 * np.mean(h, axis=0))
    return np.sum(h[-1])


@rolled
def triangle(x):
    total = 0.0
    for i in range(1, 12):
        row = [x[i] * x[j] for j in range(i)]
        half = [0.5 * v for v in row]
        total += max(row) * min(half) + sum(u * v for u, v in zip(row, half)) + row[-1] + len(row) * half[0]
    return total


@rolled
def triangle_of_none(x):
    total = 0.0
    for i in range(12):
        row = [x[i] * x[j] for j in range(i - 3)]
        if row:
            total += row[-1]
        total += len(row) + sum(row)
    return total


@rolled
def triangle_with_more(x):
    total = 0.0
    for i in range(12):
        row = [x[i] * x[j] for j in range(i)]
        row.append(x[i])
        row = row[::-1]
        row[0] = 0.5
        total += row[-1] * row[i // 2] + np.array(row).sum()
    return total


@rolled
def triangle_as_an_array(x):
    total = 0.0
    for i in range(1, 12):
        row = [x[i] * x[j] for j in range(i)]
        total += np.dot(row, x[:i]) + np.sum(np.sin(np.array(row)))
        both = np.concatenate([[x[i]], row])
        total += both @ both
    return total


@rolled
def triangles_of_pairs(x):
    total = 0.0
    for i in range(1, 12):
        for u, v in [(x[i], x[j] * 0.5) for j in range(i)]:
            total += u * v
        for place in [2 * j for j in range(i)]:
            total += x[place // 2] * place
    return total


@program
def two_names(x):
    total = 0.0
    for i in range(2, 10):
        row = [x[i] * x[j] for j in range(i)]
        same = row
        same[1] = 0.25
        other = row + same
        row.append(0.5)
        total += sum(row) + sum(same) * x[0] + len(other) * other[1] + (1.0 if row is same else 0.0)
    return total


@program
def halved(x):
    total = 0.0
    for i in range(1, 8):
        row = [x[i] * x[j] for j in range(i)]
        while len(row) > 1:
            row = [0.5 * (u + v) for u, v in zip(row, row[1:])]
        total += row[0]
    return total


@program
def read_whole_at_first(x):
    y = [x[0]]
    for i in range(1, 12):
        y.append(x[i] - 0.1 * np.dot(x[:i], y))
    return y[-1] * y[3]


@program
def filled_and_written_and_filled(x):
    y = [x[0]]
    for j in range(11):
        y.append(0.5 * y[j] + x[j])
    for j in range(12):
        y[j] *= 0.9
    for j in range(12):
        y.append(y[j] * x[j])
    for j in range(24):
        y[j] = y[j] + 0.1
    return sum(v * v for v in y)


@program
def rows_filled_twice(x):
    p = [0.0] * 20
    for k in range(4):
        q = [1.0]
        for j in range(9):
            q.append(0.5 * q[j] + p[j] * x[k])
        for j in range(10):
            q[j] *= 0.9
        for j in range(10):
            q.append(q[j] + p[j])
        p = q
    return sum(p)


@rolled
def earlier_items_late(x):
    """An item that the first iterations do not have, behind tests of the index."""
    found, s = [], 0.0
    for k in range(20):
        found.append(x[k] * (1.0 + s))
        if k > 5 and abs(found[-1] - found[-2]) < 0.8:
            s += 0.1 * x[k]
        if k % 3 == 2:
            s += 0.1 * found[-1] * found[-2] - 0.01 * found[-3]
        s += found[-4] * 0.01 if k >= 10 else 0.0
    return s


@rolled
def stopped_by_earlier_items(x):
    found, s = [], 1.0
    for k in range(20):
        s = 0.5 * s + 0.1 * x[k]
        found.append(s)
        if k > 7 and abs(found[-1] - found[-5]) < 0.01:
            break
    return s * len(found) + found[-1]


@rolled
def earlier_items_of_lists(x):
    rows = []
    for k in range(20):
        rows.append([x[k], x[k] * x[k + 1]])
        if k > 3:
            rows[-1][0] += 0.5 * rows[-2][1] + 0.1 * rows[-4][0]
    s = 0.0
    for a, b in rows:
        s += a * b
    return s


@rolled
def states_that_begin_with_an_argument(x):
    found = []
    for t in range(1, 5):
        state = x
        for _ in range(3):
            state = 0.9 * state + 0.1 * np.sin(state * t)
        found.append(state)
    return np.sum(np.array(found) ** 2)


@program
def one_that_may_be_the_argument(x):
    """The list has the argument itself where the inner loop has no iteration."""
    found, y = [], x * 1.0
    for t in range(4):
        state = y
        for _ in range(t):
            state = 0.9 * state
        found.append(state)
    y[0] = 3.0
    return np.sum(np.array(found) ** 2)
