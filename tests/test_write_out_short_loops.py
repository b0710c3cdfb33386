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


def convolution(x, w):
    out = np.zeros((len(x), 8, 8, w.shape[-1]))
    for i in range(8):
        for j in range(8):
            out[:, i, j] = np.sum(x[:, i : i + 5, j : j + 5, :, None] * w, axis=(1, 2, 3))
    return out


def pooling(x):
    out = np.zeros((len(x), 12, 12, x.shape[-1]))
    for i in range(12):
        for j in range(12):
            out[:, i, j] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    return out


def test_short_loops_in_one_another_over_windows_are_not_written_out() -> None:
    found = trace(lambda x, w: np.sum(convolution(x, w) ** 2), (np.zeros((4, 12, 12, 6)), np.zeros((5, 5, 6, 16))))
    assert len(write_out_short_loops(vectorise(found.tape)).operations) < 20
    pooled = vectorise(trace(lambda x: np.sum(pooling(x) ** 2), (np.zeros((4, 24, 24, 6)),)).tape)
    assert not any(isinstance(op, Loop) for op in pooled.operations)


def test_convolution_and_pooling() -> None:
    def f(x, w):
        return np.sum(np.sin(convolution(pooling(x), w)))

    x, w = RNG.permutation(2304).reshape(2, 24, 24, 2) / 2304, RNG.normal(size=(5, 5, 2, 3)) / 5
    check_gradient(f, x, w, step=2e-5, every_call=False)


@pytest.mark.parametrize(("size", "is_loop"), ((600, False), (2000, True), (40_000, False)))
def test_what_is_long_is_written_out_where_iterations_read_the_same(size: int, is_loop: bool) -> None:
    def f(x, w, out):
        for k in range(3):
            out[k] = x * w[k]

    tape = trace(f, (np.zeros(size), np.zeros(3), np.zeros((3, size))), unroll=1).tape
    assert any(isinstance(op, Loop) for op in write_out_short_loops(tape).operations) == is_loop


def test_steps_in_time_are_written_out() -> None:
    def f(x):
        for _ in range(6):
            x[1:-1] = 0.5 * (x[:-2] + x[2:])

    tape = trace(f, (np.zeros(3000),), unroll=1).tape
    assert not any(isinstance(op, Loop) for op in write_out_short_loops(tape).operations)


def test_numbers_that_loops_count_with_are_known() -> None:
    def f(x, y, c):
        z = np.zeros_like(x)
        for i in range(6):
            for j in range(6):
                z += c[i, j] * x**i * y**j
        return np.sum(z)

    found = trace(f, (np.ones(200), np.ones(200), np.ones((6, 6))))
    assert not any(isinstance(op, Loop) for op in found.tape.operations)
