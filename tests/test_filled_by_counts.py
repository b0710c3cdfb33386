"""Lists that loops fill that run as often as data say; arrays of such lengths by `repeat`, indices, `bincount`."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs
from .random_filled_by_counts import SIZE, function

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(16, 600)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def cash_flows(x):
    m = np.floor(x * 9).astype(int) + 1
    times, amounts, which = [], [], []
    for b in range(len(x)):
        for k in range(1, 2 * m[b] + 1):
            times.append(k / 2)
            amounts.append(x[b] + (k == 2 * m[b]))
            which.append(b)
    t, a, w = np.array(times), np.array(amounts), np.array(which)
    return np.sum(a * np.exp(-0.05 * t) * (1 + w))


@rolled
def rows(x):
    m = np.floor(x * 5).astype(np.uint8)
    flows, total = [], 0.0
    for b in range(len(x)):
        for k in range(m[b]):
            flows.append((b, k / 2, x[b]))  # noqa: PERF401
    for b, t, c in flows:
        total += c * np.exp(-t * x[b])
    return total


@rolled
def extended(x):
    m, out = np.floor(x * 5).astype(int), []
    for b in range(len(x)):
        out += [x[b] * k for k in range(m[b])]
        out.extend(x[b] * np.arange(m[b]))
    return sum(v * v for v in out)


@rolled
def comprehension_of_two(x):
    m = np.floor(x * 5).astype(int)
    out = [x[b] * k for b in range(len(x)) for k in range(m[b])]
    return sum(v * v for v in out) + len(out)


@rolled
def ranges_of_unsigned_bounds(x):
    m, total = np.floor(x * 5).astype(np.uint8), 0.0
    for i in range(len(x)):
        for k in range(1, m[i]):
            total += x[i] * k
        for k in range(m[i], 2):
            total += x[i] * k * k
        for k in range(m[i], 1, -1):
            total += 0.1 * x[i] * k
    return total


@program
def repeated(x):
    m = np.floor(x * 5).astype(int)
    which = np.repeat(np.arange(len(m)), m)
    return np.sum(x[which] ** 2) + np.sum(np.repeat(x, m) ** 3) * len(which)


@rolled
def scores_of_labels(x):
    steps = np.sin(np.arange(16.0)).reshape(4, 4)
    labels, total = (np.floor(x * 40) % 4).astype(int).reshape(4, 6), 0.0
    values, lengths = x.reshape(4, 6), (np.floor(x[:4] * 4) + 2).astype(int)
    for i in range(4):
        n = lengths[i]
        e = values[i, :n, None] * steps[0]
        total += np.sum(e[np.arange(n), labels[i, :n]]) + x[i] * np.sum(steps[labels[i, : n - 1], labels[i, 1:n]])
    return total


@rolled
def counted_in_groups(x):
    m, total = np.floor(x * 5).astype(int), 0.0
    for j in range(20):
        c = x > x[j]
        total += x[j] * np.sum(np.bincount(m[c], minlength=5) ** 2)
        total += np.sum(np.bincount(m[c], weights=x[c], minlength=5) ** 2)
        total += x[j] * np.sum(np.bincount(m[j : j + 4], minlength=6))
    return total


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 0)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE, unroll=0)


@pytest.mark.parametrize("seed", [*range(16), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))


@pytest.mark.parametrize("f", [cash_flows, repeated])
def test_one_trace_serves_all_counts(f):
    x = np.random.default_rng(0).random(SIZE)
    plan = planned_ad.compile(f, (x,), calls=())
    for x in np.random.default_rng(1).random((4, SIZE)):
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
    assert len(plan._variants) == 1


def appended(x, m):
    out = []
    for b in range(len(m)):
        for k in range(m[b]):
            out.append(x[b] * k)  # noqa: PERF401
    return sum(out)


def test_more_iterations_than_there_is_room_for_are_traced_again():
    x, m = np.random.default_rng(0).random((2, 20))
    m = np.floor(m * 5).astype(int)
    plan = planned_ad.compile(appended, (x, planned_ad.Const(m)), max_steps=10, calls=())
    m[3] = 35
    assert plan(x, m) == pytest.approx(appended(x, m), rel=1e-12)
    assert plan._options["max_steps"] > 10


def with_few_bins(x, m):
    total = 0.0
    for j in range(20):
        found = np.bincount(m[j : j + 5], minlength=4)
        total += x[j] * np.sum(found**2) + len(found)
    return total


@pytest.mark.parametrize("check", [True, False])
def test_more_bins_than_are_asked_for_are_another_trace(check):
    x, rng = np.random.default_rng(0).random(30), np.random.default_rng(1)
    plan = planned_ad.compile(with_few_bins, (x, planned_ad.Const(rng.integers(0, 4, 30))), check=check, calls=())
    for most in (4, 9, 4):
        m = rng.integers(0, most, 30)
        assert plan(x, m) == pytest.approx(with_few_bins(x, m), rel=1e-12)


def of_bins(x):
    d, total = {}, 0.0
    for i in range(12):
        k = int(np.floor(x[i] * 7))
        d[k] = d.get(k, 0.0) + x[i] ** 2
    for k, v in d.items():
        total = 0.9 * total + v * v * (k + 1)
    return total


def of_flows(x):
    out = []
    for b in range(6):
        for k in range(int(x[b] * 5)):
            out.append(x[b] ** 2 * (k + 1))  # noqa: PERF401
    return sum(q * q for q in out)


@pytest.mark.parametrize("f", [of_bins, of_flows])
def test_gradients_in_a_loop_whose_counts_differ(f):
    gradient = planned_ad.grad(f)

    def several(x):
        total = 0.0
        for t in range(20):
            total += np.sum(gradient(x + 0.01 * t) * x[::-1])
        return total

    rng = np.random.default_rng(5)
    plan = planned_ad.compile(several, (rng.random(12),), check=False)
    for x, d in rng.random((4, 2, 12)):
        points = [x + 0.01 * t for t in range(20)]
        slope = sum(planned_ad.hvp(f)(p, d) @ x[::-1] + gradient(p) @ d[::-1] for p in points)
        assert plan.gradient(x) @ d == pytest.approx(slope, rel=1e-10)
