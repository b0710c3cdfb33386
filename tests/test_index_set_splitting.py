"""Loops that test their indices: they are recorded as loops, and become loops over parts of their ranges."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.index_set_splitting import split_index_sets
from planned_ad.passes.packing.packing import packed
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Branch, walk
from planned_ad.tape.verify import verify
from planned_ad.trace import trace

from .interpreted_plans import assert_loops_stay, assert_right
from .oracle import memories_for
from .program_lists import Programs
from .random_index_sets import function
from .sweeps import name_of, rotated

SIZE = 40
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(16, 1500)]
COMPILED = [pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 200)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def autocorrelation(x):
    n, total = len(x), 0.0
    for lag in range(20):
        s = 0.0
        for t in range(n):
            if t + lag < n:
                s += x[t] * x[t + lag]
        total += s * s
    return total


@rolled
def product_of_polynomials(x):
    n = len(x) // 2
    a, b, c = x[:n], x[n:], np.zeros(2 * n - 1)
    for k in range(2 * n - 1):
        for i in range(n):
            j = k - i
            if j >= 0 and j < n:
                c[k] += a[i] * b[j]
    return np.sum(c * c)


@rolled
def window(x):
    n, y = len(x), np.zeros(len(x))
    for i in range(n):
        s, c = 0.0, 0
        for k in range(-9, 10):
            if i + k < 0 or i + k >= n:
                continue
            s += x[i + k]
            c += 1
        y[i] = s / c
    return np.sum(y * y)


@rolled
def short_window_in_a_list(x):
    n, means = len(x), []
    for i in range(n):
        s, c = 0.0, 0
        for k in range(-5, 6):
            if 0 <= i + k < n:
                s += x[i + k]
                c += 1
        means.append(s / c)
    return sum(v * v for v in means)


@rolled
def band(x):
    n, y = len(x), np.zeros(len(x))
    for i in range(n):
        for j in range(n):
            if abs(i - j) <= 3:
                y[i] += x[j] * (i - j)
    return np.sum(y * y)


@rolled
def neighbours(x):
    n, e = len(x), 0.0
    for i in range(n):
        for j in range(n):
            if abs(i - j) == 1:
                e += x[i] * x[j]
            if i == j:
                continue
            e += 0.1 * x[i] * x[j] * x[j]
    return e


@rolled
def toeplitz(x):
    n, r = len(x), 0.0
    for i in range(n):
        for j in range(n):
            r += x[abs(i - j)] * x[i] * x[j]
    return r


@rolled
def warped_in_a_band(x):
    n = len(x) // 2
    a, b = x[:n], x[n:]
    d = np.full((n + 1, n + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            if abs(i - j) > 5:
                continue
            d[i, j] = (a[i - 1] - b[j - 1]) ** 2 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, n]


@rolled
def triangles(x):
    n, t = len(x), 0.0
    for i in range(n):
        for j in range(n):
            if i < j:
                t += x[i] * x[j]
            elif i == j:
                t += x[i] ** 2
            else:
                t -= np.sin(x[j])
    return t


@rolled
def halves(x):
    n, t = len(x), 0.0
    for i in range(n):
        t = 0.9 * t + x[i] * x[i + n // 2] if i < n // 2 else t - x[i] * x[i - n // 2]
    return t


@rolled
def bilateral(x):
    a, n, out = x[:36].reshape(6, 6), 6, np.zeros((6, 6))
    for i in range(n):
        for j in range(n):
            s = w = 0.0
            for di in range(-2, 3):
                for dj in range(-2, 3):
                    ni, nj = i + di, j + dj
                    if ni < 0 or ni >= n or nj < 0 or nj >= n:
                        continue
                    g = np.exp(-(di * di + dj * dj) / 4.0 - (a[ni, nj] - a[i, j]) ** 2)
                    s += g * a[ni, nj]
                    w += g
            out[i, j] = s / w
    return np.sum(out**2)


@rolled
def in_ranges(x):
    n, t = len(x), 0.0
    for i in range(n - 1, 0, -1):
        for j in range(max(0, i - 2), min(n, i + 3)):
            if j - 5 in range(n) and j + i - 4 in range(3, n):
                t += x[j - 5] * x[i + j - 4]
    return t


@program
def behind_a_test_of_data(x):
    n, t = len(x), 0.0
    for i in range(n):
        if x[i] > 0.4:
            for j in range(n):
                if i + j < n and x[j] < 0.8:
                    t += x[i + j] * x[j]
    return t


@program
def counted_by_while(x):
    n, t, i = len(x), 0.0, 0
    while i < n:
        j = 0
        while j < n:
            if j < i:
                t += x[i] * x[j]
            j += 1
        i += 1
    return t


@rolled
def of_two_steps(x):
    n, t = len(x), 0.0
    for i in range(n):
        for j in range(n):
            k = 2 * i - j
            if 0 <= k < n:
                t += x[k] * x[i] * x[j]
    return t


@program
def as_often_as_data_say(x):
    t = 0.0
    for i in range(int(np.sum(x > 0.3))):
        for j in range(20):
            if i + j < 30:
                t = 0.9 * t + x[i + j] * x[j]
    return t


def without_tests(f, size=SIZE):
    return split_index_sets(trace(f, (np.zeros(size) + 0.5,), unroll=0).tape)


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS.all, [0, 16]), ids=name_of)
def test_right(f, unroll):
    assert_right(f, SIZE, 3, unroll)


@pytest.mark.parametrize("f", PROGRAMS.all[::3], ids=lambda f: f.__name__)
def test_right_compiled(f):
    assert_right(f, SIZE, 4, 0, compiled=True)


@pytest.mark.parametrize("f", [f for f in PROGRAMS.loops if f is not bilateral], ids=lambda f: f.__name__)
def test_loops_stay(f):
    assert_loops_stay(f, SIZE)


@pytest.mark.parametrize("f", [autocorrelation, product_of_polynomials, window, band, triangles, halves, toeplitz])
def test_no_test_is_left(f):
    assert not [op for op in walk(without_tests(f).operations) if isinstance(op, Branch)]


def test_places_behind_a_test_are_known():
    kinds = {getattr(op, "primitive", "") for op in walk(without_tests(product_of_polynomials).operations)}
    assert "gather" not in kinds and "wrap_index" not in kinds


def test_an_index_that_leaves_the_array_behind_a_test_of_data_is_an_error():
    def f(x, count):
        t = 0.0
        for i in range(20):
            for k in range(20):
                if i + k < 20 + count[0]:
                    t += x[i + k]
        return t

    x = np.ones(20)
    plan = planned_ad.compile(f, (x, np.array([0])), unroll=0)
    assert plan(x, np.array([0])) == 210.0
    with pytest.raises(IndexError):
        plan(x, np.array([1]))


@pytest.mark.parametrize("seed", [*range(16), *LONG])
def test_random_nests(seed):
    f, size = function(seed)
    with np.errstate(all="ignore"):
        x = np.random.default_rng(seed).uniform(0.2, 1.0, size)
        wanted = f(x.copy())
        if not abs(wanted) < 1e6:
            pytest.skip("its numbers are too large")
        traced = trace(f, (x,), unroll=seed % 2 * 16)
        split = split_index_sets(traced.tape)
        for tape in (traced.tape, verify(split), verify(vectorise(packed(split)))):
            (found,) = interpret(tape, memories_for(tape, traced, (x.copy(),), {}, []))
            assert found == pytest.approx(wanted, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("seed", [*range(4), *COMPILED])
def test_random_nests_compiled(seed):
    f, size = function(seed)
    with np.errstate(all="ignore"):
        if abs(f(np.full(size, 1.0))) < 1e6:
            assert_right(f, size, seed, 0, compiled=True)
