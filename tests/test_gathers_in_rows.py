"""Elements of rows by computed or tabled indices in a loop over the rows: one gather, along the axis of the loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.tape import Apply, Loop, walk
from planned_ad.trace import trace

from .interpreted_plans import assert_right

N = 20
PICKS, STEPS = np.arange(N) * 7 % 5, np.arange(30) * 3 % 5
PAIRS = np.array([[0, 2], [4, 1], [3, 3]])


def one_for_all(x):
    rows, a = x.reshape(N, 5), np.zeros(N)
    for k in STEPS:
        new = np.empty(N)
        for j in range(N):
            new[j] = np.sin(a[j]) + rows[j, k]
        a = new
    return np.sum(a)


def one_for_each(x):
    rows, total = x.reshape(N, 5), 0.0
    for j in range(N):
        total += np.sin(rows[j, PICKS[j]]) * rows[j, 1]
    return total


def several(x):
    rows, total = x.reshape(N, 5), 0.0
    for j in range(N):
        total += np.sum(np.sin(rows[j, PAIRS]) * rows[j, PAIRS[0, 1]])
    return total


def by_data(x):
    rows, total = x.reshape(N, 5), 0.0
    for j in range(N):
        k = int(rows[j, 0] * 4.99)
        total += np.cos(rows[j, k]) * rows[j, 2]
    return total


def of_computed_rows(x):
    rows, out = x.reshape(N, 5), np.zeros((N, 3))
    for j in range(N):
        table = np.outer(rows[j], rows[j, :3])
        out[j] = table[STEPS[2]] + table[PICKS[j]] + table[PAIRS[:, 0], [0, 2, 1]]
    return np.sum(out * out)


def of_columns(x):
    columns, total = x.reshape(5, N), 0.0
    for j in range(N):
        total += np.cos(columns[PICKS[j], j]) * columns[STEPS[4], j]
    return total


def item_of_a_row(x):
    rows, total, last = x.reshape(N, 5), 0.0, 0
    for j in range(N):
        k = int(rows[j, 0] * 4.99)
        total += rows[last * 2][k] * np.sum(rows[last * 2][1:3]) + rows.T[k][last] * rows[last][::-1][k]
        last = k
    return total


def item_of_a_row_that_is_written(x):
    rows, total, last = x.reshape(N, 5).copy(), 0.0, 0
    for j in range(N):
        k, row = int(x[j] * 4.99), rows[last]
        row[k] = 0.5 * rows[last][k] + 0.1
        rows[last][1:3] *= 0.9
        total += rows[k][last] * row[2]
        last = k
    return total + np.sum(rows)


ITEMS = (item_of_a_row, item_of_a_row_that_is_written)
PROGRAMS = (one_for_all, one_for_each, several, by_data, of_computed_rows, of_columns)


@pytest.mark.parametrize("f", (*PROGRAMS, *ITEMS), ids=lambda f: f.__name__)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_values_and_slopes(f: Callable, compiled: bool) -> None:
    assert_right(f, 5 * N, 0, 0, compiled)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_no_loop_over_rows_is_left(f: Callable) -> None:
    tape = vectorise(trace(f, (np.random.default_rng(0).random(5 * N),), unroll=0).tape)
    loops = [op for op in walk(tape.operations) if isinstance(op, Loop)]
    assert len(loops) == (f is one_for_all)  # over the steps


def test_an_item_of_a_row_is_one_gather() -> None:
    def f(x):
        rows, total, last = x.reshape(N, 5), 0.0, 0
        for k in STEPS:
            total += rows[last][k]
            last = k
        return total

    tape = trace(f, (np.random.default_rng(0).random(5 * N),), unroll=0).tape
    gathers = [op for op in walk(tape.operations) if isinstance(op, Apply) and op.primitive == "gather"]
    assert [op.out.shape for op in gathers] == [()]
