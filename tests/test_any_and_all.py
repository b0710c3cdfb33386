"""`any` and `all` end with the item that decides: what can be seen of how far they came is what Python makes it."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.guards import guards_of
from planned_ad.tape.interpret import GuardBroken
from planned_ad.trace import trace

from .sweeps import name_of, rotated
from .tracing_oracle import replay


class Box:
    count = 0


def pure(x):
    return x[0] * (2.0 if any(v > 1.5 for v in x) else 3.0)


def pure_all(x):
    return x[0] * (2.0 if all(v < 1.5 for v in x) else 3.0)


def pure_zip(x):
    return x[0] * (2.0 if any(a > b for a, b in zip(x, x[::-1])) else 3.0)


def pure_loop(x):
    s = 0.0
    for i in range(30):
        if any(v * i > 40 for v in x):
            s = s + x[0]
        else:
            s = s + x[1]
    return s


def in_for(x):
    s = 0.0
    for v in x:
        if all(abs(v - w) < 5 for w in x):
            s = s + v
    return s


def rows(x):
    A = x[:16].reshape(4, 4)
    ok = all(abs(A[i, i]) >= sum(abs(A[i, j]) for j in range(4) if j != i) for i in range(4))
    return x[0] if ok else x[1]


def cls_counter(x):
    Box.count = 0

    def big(v):
        Box.count += 1
        return v > 1.5

    any(big(v) for v in x)
    return x[0] * Box.count


def cls_unread(x):
    def big(v):
        Box.count += 1
        return v > 1.5

    any(big(v) for v in x)
    n = Box.count
    Box.count = 0
    return x[0] * n


def array_written(x):
    u = np.zeros(3)

    def big(v):
        u[0] += v
        return v > 1.5

    any(big(v) for v in x)
    return u[0]


def array_arg(x):
    def big(i):
        x[0] = x[i]
        return x[i] > 1.5

    any(big(i) for i in range(len(x)))
    return x[0]


def glob_count(x):
    global G
    G = 0

    def big(v):
        global G
        G += 1
        return v > 1.5

    any(big(v) for v in x)
    return x[0] * G


def gen_state(x):
    def items():
        n = 0.0
        for v in x:
            n += 0.5
            yield v, n

    g = items()
    any(v > 1.5 for v, n in g)
    return sum(v for v, n in g) + x[0]


def passed(x):
    def exists(gen):
        return any(gen)

    it = iter(x)
    exists(v > 1.5 for v in it)
    return x[0] + sum(it)


def zipped(x):
    it = iter(x)
    any(a > 1.5 for a, b in zip(it, range(100)))
    return x[0] + sum(it)


def enumerated(x):
    e = enumerate(x)
    any(v > 1.5 for i, v in e)
    return x[0] + sum(i * v for i, v in e)


def popped(x):
    s = list(x)
    any(s.pop() > 1.5 for _ in range(len(x)))
    return x[0] * len(s)


def deque_(x):
    d = deque(x)
    any(d.popleft() > 1.5 for _ in range(len(x)))
    return x[0] + sum(d)


def memo(x):
    m = {}

    def f(i):
        if i not in m:
            m[i] = x[i] ** 2
        return m[i]

    any(f(i) > 2.25 for i in range(len(x)))
    return x[0] * len(m)


def rng(x):
    r = np.random.default_rng(0)
    any(v > r.uniform(1.4, 1.6) for v in x)
    return x[0] * r.uniform()


def obj_iter(x):
    class It:
        def __init__(s):
            s.k = 0

        def __iter__(s):
            return s

        def __next__(s):
            s.k += 1
            if s.k > len(x):
                raise StopIteration
            return x[s.k - 1]

    it = It()
    any(v > 1.5 for v in it)
    return x[0] * it.k


def raising(x):
    def f(v):
        if v > 1.5:
            raise ValueError
        return False

    try:
        any(f(v) for v in x)
    except ValueError:
        return x[0] * 2
    return x[0]


def rest(x):
    it = iter(x)
    if any(v > 1.5 for v in it):
        return sum(it) + x[0]
    return x[0]


def rest_all(x):
    it = iter(x)
    if not all(v < 1.5 for v in it):
        return sum(it) + x[0]
    return x[0]


def count(x):
    n = [0]

    def big(v):
        n[0] += 1
        return v > 1.5

    any(big(v) for v in x)
    return x[0] * n[0]


def seen(x):
    s = []

    def big(v):
        s.append(v)
        return v > 1.5

    if any(big(v) for v in x):
        return s[-1]
    return x[0]


def attribute(x):
    class Thing:
        pass

    o = Thing()
    o.last = 0.0

    def big(v):
        o.last = v
        return v > 1.5

    if any(big(v) for v in x):
        return o.last
    return x[0]


def nonloc(x):
    last = 0.0

    def big(v):
        nonlocal last
        last = v
        return v > 1.5

    if any(big(v) for v in x):
        return last
    return x[0]


def lst(x):  # any of a list comprehension: right
    it = iter(x)
    if any([v > 1.5 for v in it]):
        return sum(it) + x[0]
    return x[0]


def isin(x):
    it = iter(x)
    if 5.0 in it:
        return sum(it) + x[0]
    return x[0]


def anymap(x):
    it = iter(x)
    if any(map(lambda v: v > 1.5, it)):
        return sum(it) + x[0]
    return x[0]


def mx(x):
    s = []

    def f(v):
        s.append(v)
        return v

    m = max(f(v) for v in x)
    return s[-1] + m


def division(x):  # any() stops before what would raise
    if any(1 / v > 2 for v in x):
        return x[1] * 3
    return x[0]


def logging(x, log):
    for v in x:
        log.append(v)
        yield v


def counting(x, box):
    for v in x:
        box.count += 1
        yield v > 1.5


def of_a_generator(x):
    log = []
    found = any(v > 1.5 for v in logging(x, log))
    return sum(v * v for v in log) * (2.0 if found else 1.0)


def of_expressions_over_a_generator(x):
    log = []
    found = all(v < 3.0 for v in (2 * u for u in logging(x, log)))
    return sum(v * v for v in log) + found * x[0]


def of_generators_side_by_side(x):
    box = Box()
    found = any(q and v > 0 for q, v in zip(counting(x, box), logging(x, [])))
    return x[0] * box.count + found


def index(x):
    k = 0
    if any(x[(k := i)] > 1.5 for i in range(len(x))):
        return x[k] * k
    return x[0]


PURE = (pure, pure_all, pure_zip, pure_loop, in_for, rows)
SEEN = (
    cls_counter,
    cls_unread,
    array_written,
    array_arg,
    glob_count,
    gen_state,
    passed,
    zipped,
    enumerated,
    popped,
    deque_,
    memo,
    rng,
    obj_iter,
    raising,
    rest,
    rest_all,
    count,
    seen,
    attribute,
    nonloc,
    lst,
    isin,
    anymap,
    mx,
    division,
    index,
    of_a_generator,
    of_expressions_over_a_generator,
    of_generators_side_by_side,
)


def points() -> list[np.ndarray]:
    """The item that decides is the last one, or the second."""
    late = np.linspace(1, 1.4, 18)
    late[-1] = 2.0
    early = late.copy()
    early[1] = 5.0
    return [late, early]


@pytest.mark.parametrize("unroll", [0, 100])
@pytest.mark.parametrize("f", PURE, ids=lambda f: f.__name__)
def test_where_nothing_else_changes_all_items_are_one_test(f: Callable, unroll: int) -> None:
    found = trace(f, (points()[0],), unroll=unroll)
    for x in points():
        with contextlib.suppress(GuardBroken):
            np.testing.assert_allclose(replay(found, x.copy())[0], f(x.copy()), rtol=1e-12)
    assert len(guards_of(found.tape)) <= (30 if unroll and f in (pure_loop, in_for) else 1)


@pytest.mark.parametrize(("f", "unroll"), rotated(SEEN, [0, 100]), ids=name_of)
def test_what_can_be_seen_of_how_far_they_came(f: Callable, unroll: int) -> None:
    for example in points():
        found = trace(f, (example.copy(),), unroll=unroll)
        for x in points():
            try:
                actual = replay(found, x.copy())[0]
            except GuardBroken:
                assert x[1] != example[1]
            else:
                np.testing.assert_allclose(actual, f(x.copy()), rtol=1e-12)
