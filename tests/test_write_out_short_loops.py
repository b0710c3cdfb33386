"""Short loops of array operations, written out: the numbers of each iteration lie as that one has them."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.passes.short_loops import write_out_short_loops
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.tape import Loop
from planned_ad.trace import trace

from .oracle import check_gradient

RNG = np.random.default_rng(3)


def last_of_shorter_and_shorter(x, a, s):
    """Of the rows that a row is overwritten by, the last one stays, in an array as long as the longest of them."""
    n = len(x)
    for i in range(n):
        for _, row in zip(x, a):
            x[: n - 1 - i] = np.tanh(row[: n - 1 - i])
            if s > 0.2:
                continue
        a[-i - 1, n - 1 - i] -= 0.4 * np.cos(s)
    return np.sum(np.sin(x)) + np.sum(np.sin(a)) + s


def test_parts_of_rows_of_different_lengths() -> None:
    check_gradient(last_of_shorter_and_shorter, RNG.normal(size=5), RNG.normal(size=(5, 5)), 0.5, every_call=False)


@pytest.mark.parametrize(("rows", "is_loop"), ((4, False), (400, True)))
def test_long_triangles_stay_loops(rows: int, is_loop: bool) -> None:
    def f(x, a, c):
        for i in range(12):
            c[:, i] = np.sum(a[:, :i] * x, axis=1)

    a, c = RNG.normal(size=(2, rows, 12))
    tape = vectorise(trace(f, (0.5, a, c), unroll=1).tape)
    assert any(isinstance(op, Loop) for op in tape.operations)
    assert any(isinstance(op, Loop) for op in write_out_short_loops(tape).operations) == is_loop
