"""Iterators that several ask for items: who makes another iterator of one, and who runs over it afterwards."""

# ruff: noqa: B007, RUF007 (programs as people write them)

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import with_loops_compiled
from .sweeps import name_of, rotated

W = np.arange(1.0, 7.0)


def enumerate_with_itself(x):
    e = enumerate(x)
    t = 0.0
    for (i, a), (j, b) in zip(e, e):
        t += a * b * b + i
    return t


def next_between(x):
    e = reversed(x)
    t = 0.0
    z = zip(e, x)
    a, b = next(z)
    t += a * b * b + 100 * next(e)
    for a, b in z:
        t += a * b * b
    return t


def rest_after_zip(x):
    e = reversed(x)
    t = 0.0
    for a, b in zip(e, x[:3]):
        t += a * b * b
    for a in e:
        t += 10 * a
    return t


def rest_after_zip_second(x):
    e = reversed(x)
    t = 0.0
    for a, b in zip(x[:3], e):
        t += a * b * b
    for a in e:
        t += 10 * a
    return t


def rest_after_enumerate(x):
    e = zip(x, x[1:])
    t = 0.0
    for i, (a, b) in enumerate(e):
        t += a * b * b
    for a, b in e:
        t += 10 * a
    return t


def rest_after_islice(x):
    e = enumerate(x)
    t = 0.0
    for i, a in itertools.islice(e, 3):
        t += a * a
    for i, a in e:
        t += 10 * a * i
    return t


def map_of_one_iterator(x):
    e = reversed(x)
    t = 0.0
    m = map(lambda a, b: a * b * b, e, e)
    for v in m:
        t = t * 0.5 + v
    return t


def rest_after_pairwise(x):
    e = reversed(x)
    t = 0.0
    for a, b in itertools.pairwise(e):
        t += a * b * b
    for v in e:
        t += 100 * v
    return t


def rest_after_product(x):
    e = reversed(x)
    t = 0.0
    for a, b in itertools.product(e, [1.0, 2.0]):
        t = t * 0.9 + a * b * b
    for v in e:
        t += 100 * v
    return t


def rest_after_combinations(x):
    e = reversed(x)
    t = 0.0
    for a, b in itertools.combinations(e, 2):
        t = t * 0.9 + a * b * b
    for v in e:
        t += 100 * v
    return t


def skips_in_zip(x):
    e = enumerate(x)
    t = 0.0
    for (i, v), w in zip(e, reversed(x)):
        t = t * 0.9 + v * w * w
        next(e, None)
    return t


def pairs_of_map(x):
    e = map(lambda v: v * v, x)
    t = 0.0
    for a, b in zip(*[e] * 2):
        t = t * 0.5 + a * b * b
    return t


def triples(x):
    e = reversed(x)
    t = 0.0
    for a in zip(*[e] * 3):
        t = t * 0.5 + a[0] * a[1] ** 2 * a[2]
    return t


def generator_over_pairs(x):
    e = reversed(x)
    return sum(a * b * b for a, b in zip(e, e))


def zip_under_enumerate_twice(x):
    e = zip(x, x)
    z = enumerate(e)
    t = 0.0
    for i, (a, b) in z:
        t += a * i
    for i, (a, b) in enumerate(e):
        t += a
    for k in z:
        t += 1e3
    return t


def two_zips_of_one(x):
    e = reversed(x)
    z = zip(e, x)
    y = zip(e, x)
    t = 0.0
    for a, b in z:
        t = t * 0.5 + a * b * b
        for c, d in y:
            t = t * 0.5 + c * d
            break
    return t


def flat_once(x):
    t = 0.0
    for v in x.flat:
        t += v * v
    return t


def flat_twice(x):
    fl = x.flat
    t = 0.0
    for v in fl:
        t += v * v
    for v in fl:
        t += 100 * v
    return t


def flat_next_first(x):
    fl = x.flat
    t = next(fl) * 10
    for v in fl:
        t = t * 0.5 + v
    return t


def flat_zip(x):
    return sum(v * w for v, w in zip(x.flat, W))


def flat_in_functions(x):
    return np.sum(x.flat) + np.max(np.asarray(x.flat)) + np.sum(np.array(x.flat) * 2)


def flat_by_index(x):
    y = x.copy()
    fl = y.flat
    for i in range(6):
        fl[i] = fl[i] * i
    s = fl[1:3]
    s[:] = 0.0
    return np.sum(y * y)


def flat_in_builtins(x):
    return sum(x.flat) + max(x.flat) + sum(list(x.flat)) + sum([*x.flat][:2])


def flat_enumerate(x):
    t = 0.0
    for i, v in enumerate(x.flat):
        t += i * v
    return t


def flat_written(x):
    y = np.zeros_like(x)
    y.flat = x.flat
    y.flat[::2] = 1.0
    y.flat[[1, 3]] = x.flat[[2, 4]] * 3
    return np.sum(y * y)


def flat_in_a_loop(x):
    t = 0.0
    for i in range(8):
        t = t * 0.5 + sum(x.flat)
    return t


def flat_with_itself(x):
    fl = x.flat
    t = 0.0
    for a, b in zip(fl, fl):
        t += a * b * b
    return t


def flat_next(x):
    fl = x.flat
    t = 0.0
    for i in range(3):
        t = t * 0.5 + next(fl)
    return t + len(fl)


def flat_compared(x):
    return np.sum(np.where(x.flat > 0.5, 1.0, 2.0) * np.ravel(x))


def flat_fromiter(x):
    return float(np.dot(np.asarray(x.flat), W)) + np.fromiter(x.flat, float).sum()


def flat_rest_after_break(x):
    fl = x.flat
    t = 0.0
    for v in fl:
        if v > 0.6:
            break
    for w in fl:
        t += w
    return t


def flat_of_the_transpose(x):
    m = x[0, 0]
    for v in x.T.flat:
        m = max(m, v) * 0.99
    return m


def flat_at(x):
    return x.T.flat[3] + x.flat[-1] + np.linalg.norm(x.flat)


SHARED = (
    enumerate_with_itself,
    next_between,
    rest_after_zip,
    rest_after_zip_second,
    rest_after_enumerate,
    rest_after_islice,
    map_of_one_iterator,
    rest_after_pairwise,
    rest_after_product,
    rest_after_combinations,
    skips_in_zip,
    pairs_of_map,
    triples,
    generator_over_pairs,
    zip_under_enumerate_twice,
    two_zips_of_one,
)
FLAT = (
    flat_once,
    flat_twice,
    flat_next_first,
    flat_zip,
    flat_in_functions,
    flat_by_index,
    flat_in_builtins,
    flat_enumerate,
    flat_written,
    flat_in_a_loop,
    flat_with_itself,
    flat_next,
    flat_compared,
    flat_fromiter,
    flat_rest_after_break,
    flat_of_the_transpose,
    flat_at,
)


@pytest.mark.parametrize(("f", "setting"), rotated(SHARED, [(6, 0), (24, 16), (6, 16), (24, 0)]), ids=name_of)
def test_items_go_to_who_asks(f: Callable, setting: tuple[int, int]) -> None:
    length, unroll = setting
    rng = np.random.default_rng(0)
    plan = with_loops_compiled(f, rng.random(length), unroll)
    for x in (rng.random(length), rng.random(length)):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)


@pytest.mark.parametrize(("f", "setting"), rotated(FLAT, [("C", 0), ("F", 16), ("C", 16), ("F", 0)]), ids=name_of)
def test_flat_is_an_iterator_and_a_place(f: Callable, setting: tuple[str, int]) -> None:
    order, unroll = setting
    rng = np.random.default_rng(0)
    first, second, third = (np.asarray(rng.random((2, 3)), order=order) for _ in range(3))
    plan = with_loops_compiled(f, first, unroll)
    for x in (second, third):
        np.testing.assert_allclose(plan(x.copy("K")), f(x.copy("K")), rtol=1e-12)


def test_loops_over_iterators_that_nobody_shares_stay_loops() -> None:
    def f(x):
        total = 0.0
        for i, (a, b) in enumerate(zip(x, x[1:])):
            total += a * b * i
        for v in x.flat:
            total += v
        return total

    found = trace(f, (np.ones(40),), unroll=0)
    assert len(found.rolled) == 2 and not found.unrolled


def test_an_index_into_what_is_run_over_is_refused() -> None:
    def f(x):
        total, flat = 0.0, x.flat
        for v in flat:
            total += v * flat[0]
            if total > 100.0:
                break
        return total

    with pytest.raises(planned_ad.errors.UnsupportedError, match="begins again"):
        planned_ad.compile(f, (np.ones((2, 3)),), check=False)


@pytest.mark.parametrize("on_branch", ["retrace", "record"])
@pytest.mark.parametrize("length", [5, 20])
def test_one_side_of_a_branch_asks_for_items(length: int, on_branch: str) -> None:
    def f(x):
        items = iter(x)
        total = 0.0
        for v in items:
            total += v
            if v > 0.7:
                total += 2 * next(items, 5.0)
        return total

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(length),), check=False, on_branch=on_branch)
    for x in rng.random((12, length)):
        assert plan(x) == pytest.approx(f(x), rel=1e-12)


MAKE = {
    "starmap": lambda: itertools.starmap(pow, [(1, 1), (2, 2), (3, 1), (2, 3), (1, 1)]),
    "zip_longest": lambda: map(sum, itertools.zip_longest([1, 2, 3, 4, 5], [1], fillvalue=0)),
    "dict": lambda: iter({1: 0, 2: 0, 5: 0, 7: 0, 9: 0}),
    "values": lambda: iter({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}.values()),
    "chain": lambda: itertools.chain([1, 2], [3, 4, 5]),
    "generator": lambda: (k * k for k in range(1, 9)),
}


@pytest.mark.parametrize("on_branch", ["retrace", "record"])
@pytest.mark.parametrize("name", MAKE)
def test_one_side_of_a_branch_asks_an_iterator_of_python(name: str, on_branch: str) -> None:
    def f(x):
        items = MAKE[name]()
        total = 0.0
        for v in x:
            if v > 0.3:
                total += next(items) * v
        return total

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(5),), check=False, on_branch=on_branch)
    for x in rng.random((12, 5)):
        assert plan(x) == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize("on_branch", ["retrace", "record"])
def test_one_side_of_a_branch_draws_random_numbers(on_branch: str) -> None:
    def f(x):
        draws = random.Random(1)
        total = 0.0
        for v in x:
            if v > 0.5:
                w = draws.random()
                total += w * v
        return total

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(5),), check=False, on_branch=on_branch)
    for x in rng.random((12, 5)):
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
