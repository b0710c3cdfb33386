"""`[a, b, c][k]` with `k` decided by data, in loops: numbers are chosen, of other things branches are recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .sweeps import name_of, rotated

N = 30


def branches_of_a_loss(x):
    s = 0.0
    for v in x:
        k = 0 if v < 0.3 else 1 if v < 0.7 else 2
        s += [-v - 0.5, 0.5 * v * v, v - 0.5][k]
    return s


def counted(x):
    s = 0.0
    for v in x:
        k = int(v > 0.3) + int(v > 0.7)
        s += (0, v, 1.5)[k] * v
    return s


def weights_that_change(x):
    s, c = 0.0, [1.0, 2.0, x[3]]
    for v in x:
        k = int(v > 0.3) + int(v > 0.7)
        c[k] += v
        c[0] *= 0.9
        s += c[k - 1]
    return s


def turned_round(x):
    s, t = 0.0, (x[0], x[1], x[2], 0.5)
    for i, v in enumerate(x):
        s += t[i % 4] * t[int(v > 0.5)]
        t = (t[1] * 0.9, v, t[0], t[2])
    return s


def functions(x):
    s, kinds = 0.0, [np.sin, np.cos, lambda v: v * v]
    for v in x:
        f = kinds[int(v > 0.3) + int(v > 0.7)]
        s += f(v) + kinds[-1](v)
    return s


def arrays_that_are_written(x):
    a, b, s = x[:3] * 1, x[3:6] * 2, 0.0
    for v in x:
        [a, b][int(v > 0.5)][1] += v
        s += np.sum(a - b) * v
    return s


def lists_that_grow(x):
    a, b = [], []
    for v in x:
        (a, b)[int(v > 0.5)].append(v)
    return sum(a) - sum(b) * len(a)


def arrays_that_move(x):
    s, rows = 0.0, [x[:3] * 1, x[3:6] * 2, x[5:8]]
    for i, v in enumerate(x):
        w = rows[int(v > 0.3) + int(v > 0.7)]
        s += np.sum(w) * v
        rows[i % 3] = w * 0.5
    return s


def records(x):
    s, found = 0.0, [{"a": 1.0, "b": 2.0}, {"a": 0.5, "b": x[1]}]
    for v in x:
        d = found[int(v > 0.5)]
        d["a"] += v
        s += d["b"]
    return s + found[0]["a"] * found[1]["a"]


LOOPS = [
    branches_of_a_loss, counted, weights_that_change, turned_round, functions, arrays_that_are_written,
    lists_that_grow, arrays_that_move, records,
]  # fmt: skip


@pytest.mark.parametrize(("f", "unroll"), rotated(LOOPS, [0, 16]), ids=name_of)
def test_one_loop_serves_all_inputs(f: Callable, unroll: int) -> None:
    x = np.random.default_rng(0).normal(size=N)
    found = trace(f, (x,), unroll=unroll)
    assert found.rolled and not found.unrolled
    assert_right(f, N, 1, unroll)


@pytest.mark.parametrize("unroll", [0, 16])
def test_what_hangs_on_the_type_of_a_number_is_right(unroll: int) -> None:
    def f(x):
        s, n = 0.0, 0
        for v in x:
            k = int(v > 0.3) + int(v > 0.7)
            n += [1, 2, n][k]
            s += [n, 3, v][min(k, 1)] // 2 + [v, -v][-k] if k < 2 else 1
        return s

    assert_right(f, N, 1, unroll)
