"""Rows of lists that comprehensions and loops make are one object each time, where a program asks which one it has."""

# ruff: noqa: PERF401 (programs as people write them)

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.interpret import GuardBroken
from planned_ad.trace import trace

from .tracing_oracle import replay

X = np.linspace(1, 2, 24)


def of_lists(x):
    T = [[v, v] for v in x]
    return x[0] if T[1] is T[1] else x[1]


def where_it_does_not_show(x):
    T = [[v, v] for v in x]
    r = T[1]
    s = x[0]
    for i in range(20):
        if r is T[1] and x[i] < 0:
            s += x[i]
    return s


def pairs_of_particles(x):
    P = [[v, 0.5 * v] for v in x]
    s = 0.0
    for p in P:
        for q in P:
            if q is not p:
                s += p[0] * q[1]
    return s


def by_id(x):
    T = [[v, v] for v in x]
    r = T[1]
    return x[0] if id(r) == id(T[1]) else x[1]


def of_tuples(x):
    T = [(v, v) for v in x]
    return x[0] if T[1] is T[1] else x[1]


def of_arrays(x):
    T = [x * k for k in range(20)]
    return (x[0] if T[1] is T[1] else x[1]) + T[3][2]


def of_views(x):
    A = x.reshape(6, 4)
    T = [A[i % 6] for i in range(20)]
    return x[0] if T[1] is T[1] else x[1]


def of_appended(x):
    T = []
    for v in x:
        T.append([v, v])
    return x[0] if T[1] is T[1] else x[1]


def membership(x):
    T = [[v, v] for v in x]
    r = T[1]
    return x[0] if r in T else x[1]


def membership_of_tuples(x):
    T = [(i, v) for i, v in enumerate(x)]
    r = T[1]
    return x[0] if r in T[:3] else x[1]


def position(x):
    T = [[v, v] for v in x]
    r = T[5]
    return x[T.index(r)]


def removal(x):
    T = [[v, v] for v in x[:6]]
    r = T[3]
    T.remove(r)
    return sum(t[0] for t in T)


def ids_as_keys(x):
    T = [[v, v] for v in x]
    d = {id(t): i for i, t in enumerate(T)}
    return x[d[id(T[4])]]


def ids_in_a_set(x):
    T = [[v, v] for v in x]
    return x[0] * len({id(t) for t in T + T})


def not_the_least(x):
    T = [[v, -v] for v in x]
    b = min(T, key=lambda t: t[0])
    s = 0.0
    for t in T:
        if t is not b:
            s += t[1]
    return s


def of_a_copied_list(x):
    A = [x * k for k in range(20)]
    B = list(A)
    return x[0] * sum(a is b for a, b in zip(A, B))


def of_objects(x):
    class P:
        def __init__(s, v):
            s.v = v

    ps = [P(v) for v in x]
    t = 0.0
    for p in ps:
        for q in ps:
            if p is not q:
                t += p.v * q.v
    return t


def objects_by_equality(x):
    class P:
        def __init__(s, v):
            s.v = v

    ps = [P(v) for v in x]
    t = 0.0
    for p in ps:
        for q in ps:
            if p != q:
                t += p.v * q.v
    return t


class ByValue:
    """Equal to others like it, and hashed by which one it is."""

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return isinstance(other, ByValue) and abs(self.v - other.v) < 0.1

    __hash__ = object.__hash__


class ByObject(ByValue):
    def __hash__(self):
        return object.__hash__(self)


class BySuper:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return super().__eq__(other)

    def __hash__(self):
        return super().__hash__()


class Unknown:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return NotImplemented

    def __hash__(self):
        return 7


def compares(kind, one):
    """A program in which data decide which of the objects of a list are compared."""

    def compared(x):
        group = [kind(v) for v in x[:20]]
        s = x[0]
        b = group[3]
        for i in range(20):
            a = group[int(abs(x[i]) * 20) % 20]
            if x[i] > 1.6:
                b = a
            if one(a, b):
                s += x[i] * i
            if abs(x[i]) < 1.2:
                b = group[(i + 1) % 20]
        return s

    compared.__name__ = f"{kind.__name__}_{one.__code__.co_firstlineno}"
    return compared


def chosen_tuples(x):
    best, last, s = (x[0], 0), (x[0], 1), 0.0
    for i, v in enumerate(x):
        found = (v, i)
        best = found if v * v > 1.9 * best[0] else best
        if best is found:
            s += i * v
        if v > 1.5:
            last = found
        if last is not found:
            s += v * v
    return s


def truths_by_bool(x):
    total = 0.0
    for v in x:
        done = bool(v > 1.4)
        if done is True:
            total += v
    return total + x[0]


def truths_in_tuples(x):
    total, found = x[0], (False, 0.0)
    for v in x:
        if found[0] is True:
            total += found[1] * v
        found = (bool(v > 1.4), v)
    return total


OBJECTS = [
    compares(kind, one)
    for kind in (ByValue, ByObject, BySuper, Unknown)
    for one in (
        lambda a, b: len({a, b}) == 1,
        lambda a, b: a in {b: 1},
        lambda a, b: hash(a) == hash(b) and a.v == b.v,
        lambda a, b: a == b,
        lambda a, b: object.__eq__(a, b) is True,
        lambda a, b: weakref.ref(a)() is b,
        lambda a, b: a in [b],
    )
]


PROGRAMS = (
    of_lists,
    where_it_does_not_show,
    pairs_of_particles,
    by_id,
    of_tuples,
    of_arrays,
    of_views,
    of_appended,
    membership,
    membership_of_tuples,
    position,
    removal,
    ids_as_keys,
    ids_in_a_set,
    not_the_least,
    of_a_copied_list,
    of_objects,
    objects_by_equality,
    chosen_tuples,
    truths_by_bool,
    truths_in_tuples,
    *OBJECTS,
)


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_row_is_itself(f: Callable, unroll: int) -> None:
    found = trace(f, (X,), unroll=unroll)
    for x in (X, -X, X[::-1] ** 2):
        with contextlib.suppress(GuardBroken):
            np.testing.assert_allclose(replay(found, x)[0], f(x), rtol=1e-12)
