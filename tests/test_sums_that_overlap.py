"""What iterations add to windows of memory that overlap: slices of sums, whatever loops there are around."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.tape import Loop, walk
from planned_ad.trace import trace

from .blocks import assert_same
from .interpreted_plans import assert_right
from .program_lists import Programs

N = 24
PROGRAMS = Programs()


@PROGRAMS.rolled
def a_convolution_by_elements(x):
    out = np.zeros(N + 4)
    for i in range(N):
        for j in range(5):
            out[i + j] += x[i] * x[j]
    return np.sum(out**2)


@PROGRAMS.rolled
def a_convolution_by_windows(x):
    out = np.zeros(N + 4)
    for i in range(N):
        out[i : i + 5] += x[i] * x[:5]
    return np.sum(out**3)


@PROGRAMS.rolled
def in_two_dimensions(x):
    out, k = np.zeros((6, 8)), x[:9].reshape(3, 3)
    for i in range(4):
        for j in range(6):
            out[i : i + 3, j : j + 3] += k * x[6 * i + j]
    return np.sum(out**2)


@PROGRAMS.program
def several_numbers_of_one_element(x):
    out = np.ones(N + 2)
    for i in range(N):
        out[i] += np.sin(x[i])
        out[i + 2] += x[i] * x[0]
        out[i] += x[i] ** 2
    return np.sum(out**2)


@PROGRAMS.rolled
def forces_between_neighbours(x):
    f = np.zeros(N)
    for i in range(N - 1):
        d = x[i + 1] - x[i] - 0.1
        f[i] += d
        f[i + 1] += -d
    return np.sum(f**2)


@PROGRAMS.program
def windows_that_overlap_in_part(x):
    out = np.zeros(2 * N + 4)
    for i in range(N):
        out[2 * i : 2 * i + 5] += x[i] * x[:5]
    return np.sum(out**2)


@PROGRAMS.program
def long_windows(x):
    out = np.zeros(2 * N)
    for i in range(N):
        out[i : i + N] += x[i] * x
    return np.sum(out**2)


@PROGRAMS.rolled
def sums_that_are_read(x):
    out = np.zeros(N + 1)
    for i in range(N):
        out[i + 1] += x[i]
        out[i] += out[i + 1] * 0.5
    return np.sum(out**2)


@PROGRAMS.program
def sums_that_are_handed_on(x):
    out = np.zeros(N + 1)
    for i in range(N):
        out[i] += x[i]
        out[i + 1] += out[i] * 0.5
    return np.sum(out**2)


@PROGRAMS.program
def one_sum_inside_of_another(x):
    out = x[:4].copy()
    for i in range(N):
        before = out[i % 2]
        out[0] += x[i]
        out[i % 2] = before + x[i] * 0.5
    return np.sum(out**2)


@pytest.mark.parametrize("f", PROGRAMS.all)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_values_and_slopes(f: Callable, compiled: bool) -> None:
    assert_right(f, N, 6, 0, compiled)


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_sums_are_array_operations(f: Callable) -> None:
    tape = trace(f, (np.random.default_rng(0).random(N),), unroll=0).tape
    changed = vectorise(tape)
    assert_same(tape, changed)
    assert any(isinstance(op, Loop) for op in walk(changed.operations)) == (f not in PROGRAMS.loops)
