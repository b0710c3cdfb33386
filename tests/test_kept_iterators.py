"""Iterators that a loop leaves on a traced test and are asked for more; numbers that are equal and not the same."""

# ruff: noqa: B007, E741, E742, PERF401, SIM113 (programs as people write them)

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.interpret import GuardBroken
from planned_ad.tape.tape import Loop
from planned_ad.trace import trace

from .sweeps import name_of, rotated
from .tracing_oracle import replay

X = np.linspace(0.4, 0.9, 20)


def iter_array(x):
    r = iter(x)
    s = 0.0
    for v in r:
        if v < 0:
            break
        s += v
    for v in r:
        s -= v
    return s


def iter_reversed(x):
    r = reversed(x)
    s = 0.0
    for v in r:
        if v < 0:
            break
        s += v
    for v in r:
        s -= v
    return s


def iter_range(x):
    r = iter(range(20))
    s = 0.0
    for i in r:
        if x[i] < 0:
            break
        s += x[i]
    for i in r:
        s -= x[i]
    return s


def iter_enumerate(x):
    r = enumerate(x)
    s = 0.0
    for i, v in r:
        if v < 0:
            break
        s += v
    for i, v in r:
        s -= v
    return s


def iter_zip(x):
    r = zip(x, x)
    s = 0.0
    for i, v in r:
        if v < 0:
            break
        s += v
    for i, v in r:
        s -= v
    return s


def iter_map(x):
    r = map(lambda v: v, x)
    s = 0.0
    for v in r:
        if v < 0:
            break
        s += v
    for v in r:
        s -= v
    return s


def iter_pairwise(x):
    r = itertools.pairwise(x)
    s = 0.0
    for v, w in r:
        if v < 0:
            break
        s += v
    for v, w in r:
        s -= v
    return s


def iter_starmap(x):
    r = map(lambda a, b: a, x, x)
    s = 0.0
    for v in r:
        if v < 0:
            break
        s += v
    for v in r:
        s -= v
    return s


def iter_product(x):
    r = itertools.product(range(4), range(5))
    s = 0.0
    for i, j in r:
        if x[5 * i + j] < 0:
            break
        s += x[5 * i + j]
    for i, j in r:
        s -= x[5 * i + j]
    return s


def iter_shifts(x):
    total = 0.0
    for shift in itertools.product((-1, 0, 1), range(3), repeat=2):
        for k in range(20):
            if shift == (0, 0, 0, 0) and k == 3:
                continue
            total += x[k] * shift[0] + shift[1] * shift[3]
    return total


def iter_ndenumerate(x):
    r = np.ndenumerate(x)
    s = 0.0
    for i, v in r:
        if v < 0:
            break
        s += v
    for i, v in r:
        s -= v
    return s


def iter_tuple(x):
    r = iter(tuple(x))
    s = 0.0
    for v in r:
        if v < 0:
            break
        s += v
    for v in r:
        s -= v
    return s


def iter_combinations(x):
    r = itertools.combinations(range(7), 2)
    s = 0.0
    for i, j in r:
        if x[i + j] < 0:
            break
        s += x[i]
    for i, j in r:
        s -= x[j]
    return s


def iter_list_of_numbers(x):
    k = iter([0.1 * j for j in range(20)])
    s = 0.0
    i = 0
    for w in k:
        if x[i] < 0:
            break
        s += w * x[0]
        i += 1
    for w in k:
        s -= w * x[0]
    return s


def iter_rows(x):
    r = iter(x.reshape(10, 2))
    s = 0.0
    for w in r:
        if w[1] < 0:
            break
        s += w[0]
    for w in r:
        s -= w[0]
    return s


def helper_return(x):  # a reader: return from a loop over a kept iterator
    r = iter(x)

    def until():
        for v in r:
            if v < 0:
                return v
        return 1.0

    return until() + 10 * until()


def next_after(x):
    r = iter(x)
    for v in r:
        if v < 0:
            break
    return next(r, 5.0) * v


def hint_after(x):
    r = iter(x)
    for v in r:
        if v < 0:
            break
    return len(list(r)) * x[0]


def found_by_nobody(x):  # wrong with defaults too: the check's inputs do not reach the break
    r = iter(x)
    s = 0.0
    t = 0.0
    for v in r:
        t = 0.5 * t + np.sin(v) * np.cos(t)
        if abs(t - 0.61234) < 1e-3:
            break
        s += v
    return s - sum(r)


def reader_loop(x):  # all settings: BranchError "does not end within 4,096,000 iterations", at its example too
    r = iter(x)
    n = 0
    s = 0.0

    def until():
        nonlocal n
        t = 0.0
        for v in r:
            n += 1
            if v > 0.75:
                return t
            t += v
        return -t

    while n < 20:
        s = s * 0.5 + until()
    return s


def zero_carried(x):
    z = 0.0
    s = 0.0
    for v in x:
        s += math.copysign(v, z)
        z = -0.0
    return s


def zero_carried_in_branch(x):
    z = 0.0
    for v in x:
        if v < 0:
            z = -0.0
    return math.copysign(1.0, z) * x[0]


def zero_conditional(x):
    s = 0.0
    for v in x:
        z = 0.0 if v > 0.5 else -0.0
        s += math.copysign(1.0, z) * v
    return s


def zero_comprehension(x):
    l = [0.0 if v > 0.5 else -0.0 for v in x]
    return sum(math.copysign(1.0, k) * v for k, v in zip(l, x))


def zero_append(x):
    l = []
    for v in x:
        l.append(0.0 if v > 0.5 else -0.0)
    return sum(math.copysign(1.0, k) * v for k, v in zip(l, x))


def zero_attribute(x):
    class O:
        pass

    o = O()
    o.z = 0.0
    s = 0.0
    for v in x:
        s += math.copysign(v, o.z)
        o.z = -0.0
    return s


def zero_by_index(x):
    s = 0.0
    z = 0.0
    for i in range(20):
        s += np.copysign(x[i], z)
        z = -0.0 if i > 3 else 0.0
    return s


def tuple_conditional(x):
    s = 0.0
    for v in x:
        k = (1,) if v > 0.5 else (1.0,)
        s += v * (2.0 if isinstance(k[0], float) else 1.0)
    return s


def list_item_1_then_float(x):
    s = 0.0
    k = [1]
    for v in x:
        s += v * (2.0 if isinstance(k[0], float) else 1.0)
        k[0] = 1.0
    return s


def dict_item_1_then_float(x):
    s = 0.0
    k = {"q": 1}
    for v in x:
        s += v * (2.0 if isinstance(k["q"], float) else 1.0)
        k["q"] = 1.0
    return s


def mixed_table(x):
    s = 0.0
    for v, k in zip(x, [3, 2.0] * 10):
        s += v * (7 // k if isinstance(k, int) else 1.0)
    return s


CLASSES = (tuple_conditional, list_item_1_then_float, dict_item_1_then_float, mixed_table)
ITERATORS = (
    iter_array,
    iter_reversed,
    iter_range,
    iter_enumerate,
    iter_zip,
    iter_map,
    iter_pairwise,
    iter_starmap,
    iter_product,
    iter_shifts,
    iter_ndenumerate,
    iter_tuple,
    iter_combinations,
    iter_list_of_numbers,
    iter_rows,
    helper_return,
    next_after,
    hint_after,
    found_by_nobody,
    reader_loop,
)
ZEROS = (
    zero_carried,
    zero_carried_in_branch,
    zero_conditional,
    zero_comprehension,
    zero_append,
    zero_attribute,
    zero_by_index,
)


def points() -> list[np.ndarray]:
    early = X.copy()
    early[7], early[12] = -0.2, -0.3
    return [X, early, X[::-1].copy(), 3 * np.random.default_rng(0).normal(size=20)]


@pytest.mark.parametrize(("f", "unroll"), rotated([*ITERATORS, *ZEROS, *CLASSES], [0, 100]), ids=name_of)
def test_as_python_has_it(f: Callable, unroll: int) -> None:
    for example in points()[:2]:
        found = trace(f, (example,), unroll=unroll)
        for x in points():
            with contextlib.suppress(GuardBroken):
                np.testing.assert_allclose(replay(found, x)[0], f(x), rtol=1e-12, atol=1e-12)


def test_a_product_of_many_is_one_loop() -> None:
    found = trace(iter_shifts, (X,))
    outer = [op for op in found.tape.operations if isinstance(op, Loop)]
    assert [loop.trips for loop in outer] == [81] and not found.unrolled
