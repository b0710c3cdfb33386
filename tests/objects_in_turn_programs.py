"""Programs with objects of the user's classes of which one takes the place of another, and who else holds them."""

# ruff: noqa: E731 (programs as people write them)

from __future__ import annotations

import copy
import dataclasses
import functools


class P:
    def __init__(s, v, w=0.0):
        s.v = v
        s.w = w

    def __add__(s, o):
        return P(s.v + o.v, s.w + o.w)

    def __iadd__(s, o):
        s.v = s.v + o.v
        return s

    def moved(s, d):
        q = P(s.v + d, s.w)
        return q

    def set(s, v):
        s.v = v
        return s


class N:
    def __init__(s, p, k):
        s.p = p
        s.k = k


@dataclasses.dataclass(frozen=True)
class F:
    a: float
    b: float


class Lim:
    def __init__(s, p):
        s.p = p

    def add(s, v):
        s.p = s.p + P(v)


def kept_first(x):
    a = P(0.0)
    keep = a
    for v in x:
        a = a + P(v)
    return a.v + 100 * keep.v


def kept_before(x):
    a = P(0.0)
    prev = a
    t = 0.0
    for v in x:
        prev = a
        a = a + P(v)
        t += prev.v * a.v
    return t + prev.v


def history(x):
    a = P(0.0)
    hist = []
    for v in x:
        a = a + P(v)
        if v > 0.5:
            hist.append(a.v)
    return sum(hist) + a.v


def bound_method(x):
    a = P(0.0)
    f = a.moved
    t = 0.0
    for v in x:
        t += f(v).v
        a = a + P(v)
    return t + a.v


def nested(x):
    n = N(P(0.0), 1.0)
    for v in x:
        n = N(n.p + P(v), n.k * 0.9)
    return n.p.v * n.k


def frozen(x):
    s = F(0.0, 1.0)
    for v in x:
        s = dataclasses.replace(s, a=s.a + v * s.b, b=s.b * 0.99)
    return s.a * s.b


def attribute_in_turn(x):
    lim = Lim(P(0.0))
    for v in x:
        lim.add(v)
    return lim.p.v


def exchanged(x):
    a = P(1.0)
    b = P(2.0)
    for v in x:
        a, b = b, a + P(v)
    return a.v * b.v


def exchanged_and_changed(x):
    a = P(1.0)
    b = P(2.0)
    for v in x:
        a, b = b, a
        a.v += v
    return a.v + 3 * b.v


def in_a_dict(x):
    a = P(0.0)
    c = {"best": a}
    for v in x:
        p = P(v)
        if p.v > c["best"].v:
            c["best"] = p
    return c["best"].v + a.v


def in_a_list(x):
    a = P(0.0)
    seen = [a]
    for v in x:
        a = a + P(v)
        seen[0].v += 1.0
    return a.v + seen[0].v


def two_names_that_part(x):
    a = P(0.0)
    for v in x:
        b = a
        a = a + P(v)
        b.w += v
        if v > 0.5:
            a = b
    return a.v + a.w


def copies(x):
    a = P(0.0)
    for v in x:
        a += P(v)
        c = copy.copy(a)
        c.v *= 2
        if v > 0.6:
            a = c
    return a.v


def least(x):
    best = None
    for v in x:
        p = P(v)
        if best is None or p.v < best.v:
            best = p
    return best.v


def items_of_a_list(x):
    st = [P(0.0), P(1.0)]
    for v in x:
        st[0] = st[0] + P(v)
        if v > 0.5:
            st[1] = P(v)
    return st[0].v * st[1].v


def of_a_class_attribute(x):
    class S:
        cur = P(0.0)

    for v in x:
        S.cur = S.cur + P(v)
    return S.cur.v


def closure_reads(x):
    a = P(0.0)
    g = lambda: a.v
    t = 0.0
    for v in x:
        a = a + P(v)
        t += g()
    return t


def nonlocal_in_turn(x):
    a = P(0.0)

    def step(v):
        nonlocal a
        a = a + P(v)
        return a

    t = 0.0
    for v in x:
        t += step(v).v
    return t + a.v


def another_name_at_times(x):
    a = P(x[0], x[1])
    o = a
    for v in x:
        if v > 0.5:
            a = P(v, a.w)
        else:
            o = a
        o.w = o.w + 0.1
    return a.v + a.w + o.v * o.w


def inner_shared(x):
    a = N(P(0.0), None)
    a.k = a.p
    for v in x:
        a = N(P(v + a.k.v), None)
        a.k = a.p
        a.p.v *= 1.5
    return a.k.v


def identities(x):
    a = P(0.0)
    ids = set()
    for v in x:
        a = a + P(v)
        ids.add(id(a))
    return a.v


def as_a_key(x):
    a = P(0.0)
    d = {a: 1.0}
    t = 0.0
    for v in x:
        t += d.get(a, 2.0)
        a = a + P(v)
    return t + a.v


def compared_by_identity(x):
    a = P(0.0)
    t = 0.0
    first = a
    for v in x:
        if a is first:
            t += v
        if v > 0.7:
            a = P(v)
    return t + a.v


def compared_with_the_one_before(x):
    a = P(0.0)
    t = 0.0
    for v in x:
        old = a
        if v > 0.7:
            a = P(v)
        t += 1.0 if a == old else v
    return t


def inner_loops(x):
    t = 0.0
    a = P(0.0)
    for v in x:
        for w in (1.0, 2.0, 3.0):
            a = a.moved(v * w)
            if a.v > 3:
                a = P(0.0, a.w + 1)
        t += a.v * a.w
    return t


def held_by_a_with(x):
    class Entered(P):
        out = 0.0

        def __enter__(self):
            return self

        def __exit__(self, *error):
            Entered.out = self.v

    a = Entered(1.0)
    with a:
        for v in x:
            a = Entered(a.v + v)
    return a.v + 3 * Entered.out


def held_by_a_cache(x):
    @functools.lru_cache(None)
    def twice(p):
        return p.v * 2

    a = P(1.0)
    t = 0.0
    for v in x:
        t += twice(a)
        a = P(a.v + v)
    return t + a.v


def held_by_its_attributes(x):
    a = P(1.0)
    kept = a.__dict__
    for v in x:
        a = P(a.v + v)
    return a.v + 3 * kept["v"]


PROGRAMS = [
    held_by_a_with,
    held_by_a_cache,
    held_by_its_attributes,
    kept_first,
    kept_before,
    history,
    bound_method,
    nested,
    frozen,
    attribute_in_turn,
    exchanged,
    exchanged_and_changed,
    in_a_dict,
    in_a_list,
    two_names_that_part,
    copies,
    least,
    items_of_a_list,
    of_a_class_attribute,
    closure_reads,
    nonlocal_in_turn,
    another_name_at_times,
    inner_shared,
    identities,
    as_a_key,
    compared_by_identity,
    compared_with_the_one_before,
    inner_loops,
]
