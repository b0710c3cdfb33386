"""Products by `numpy.diag(d)` scale rows or columns, as long as the matrix is as it was made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.tape import Apply, walk
from planned_ad.trace import trace

from ..interpreted_plans import assert_right
from ..sweeps import name_of

N = 36


def both_sides(x):
    u, k = x[:6], x.reshape(6, 6)
    return np.sum((np.diag(u) @ k @ np.diag(u)) ** 2)


def dotted(x):
    u, k = x[:6], x.reshape(6, 6)
    return np.sum(np.dot(k[:3], np.diag(u)) * np.diag(x[3:6]).dot(k[3:]) + np.diag(u)[:3] @ k)


def of_a_vector(x):
    return (x[6:12] @ np.diag(x[:6])) @ (np.diag(x[12:18]) @ x[18:24])


def of_another_type(x):
    return np.sum(np.diag(np.arange(6)) @ x.reshape(6, 6) * np.diag(x[:6]).astype(np.float64))


def vector_changed_later(x):
    u = x[:6] * 1.0
    d = np.diag(u)
    u *= 3.0
    return np.sum((d @ x.reshape(6, 6)) ** 2) + np.sum(u)


def made_anew_in_a_loop(x):
    k, s = x.reshape(6, 6), 0.0
    for i in range(20):
        k = np.diag(x[i : i + 6]) @ k * 0.5 + x[i]
        s += k[0, 1]
    return s + np.sum(k)


SCALED = [both_sides, of_a_vector, vector_changed_later, made_anew_in_a_loop]


def matrix_written(x):
    d = np.diag(x[:6])
    d[0, 1] = x[7]
    return np.sum((d @ x.reshape(6, 6)) ** 2)


def written_through_a_view(x):
    d = np.diag(x[:6])
    d[1:][0, :2] += x[:2]
    return np.sum(x.reshape(6, 6) @ d)


def written_at_the_end_of_an_iteration(x):
    d, s, k = np.diag(x[:6]), 0.0, x.reshape(6, 6)
    for i in range(20):
        s += np.sum((d @ k)[:, 0]) * x[i]
        d[0, 1] += x[i]
    return s


def written_on_one_side(x):
    d, s, k = np.diag(x[:6]), 0.0, x.reshape(6, 6)
    for i in range(20):
        if x[i] > 0.5:
            d[2, 1] += x[i]
        s += np.sum(d @ k) * x[i]
    return s


def chosen(x):
    s, k = 0.0, x.reshape(6, 6)
    d = np.diag(x[:6])
    for i in range(20):
        s += np.sum(d @ k) * x[i]
        d = k * x[i] if x[i] > 0.5 else np.diag(x[i : i + 6])
    return s


@pytest.mark.parametrize("f", [*SCALED, dotted, of_another_type], ids=name_of)
def test_numbers_are_those_of_the_product(f: Callable) -> None:
    assert_right(f, N, 1, 0)
    products = [op for op in walk(trace(f, (np.ones(N),), unroll=0).tape.operations) if isinstance(op, Apply)]
    summed = [op for op in products if op.primitive == "contract" and len(set(op.params["a_labels"])) == 2]
    assert not [op for op in summed if f in SCALED and len(op.operands[1].shape) == 2]


@pytest.mark.parametrize(
    "f",
    [matrix_written, written_through_a_view, written_at_the_end_of_an_iteration, written_on_one_side, chosen],
    ids=name_of,
)
def test_a_matrix_that_has_changed_is_multiplied_as_it_is(f: Callable) -> None:
    assert_right(f, N, 1, 0)
    assert_right(f, N, 2, 16)
