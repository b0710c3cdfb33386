"""Lists that get longer or shorter, or are written to, while a loop runs over them: Python looks at each item."""

# ruff: noqa: B007, SIM113 (programs as people write them)

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.tape.interpret import GuardBroken
from planned_ad.trace import trace

from .tracing_oracle import replay

X = np.linspace(1, 2, 24)


def grown_from_one(x):
    c = [x[0]]
    s = 0.0
    for i, v in enumerate(c):
        s += v
        if i < 8:
            c.append(v)
    return s


def zipped_last(x):
    b = [1.0]
    s = 0.0
    for u, w in zip(x, b):
        s += u
        if len(b) < 14:
            b.append(1.0)
    return s


def zipped_first(x):
    b = [1.0]
    s = 0.0
    for w, u in zip(b, x):
        s += u * w
        if len(b) < 24:
            b.append(2.0)
    return s


def once_late(x):
    c = [v for v in x[:18]]
    s = 0.0
    for i, v in enumerate(c):
        s += v
        if i == 15:
            c.append(2.0)
    return s


def stale_item(x):
    c = [1.0] * 10
    s = 0.0
    for i, v in enumerate(c):
        s += v * x[i]
        if i < 9:
            c[i + 1] = 3.0
    return s


def stale_item_long(x):
    c = [1.0] * 20
    s = 0.0
    for i, v in enumerate(c):
        s += v * x[i]
        if i < 19:
            c[i + 1] = 3.0 + i
    return s


def stale_once(x):
    c = [1.0] * 20
    s = 0.0
    for i, v in enumerate(c):
        s += v * x[i]
        if i == 10:
            c[15] = 7.0
    return s


def stale_zip(x):
    c = [1.0] * 20
    s = 0.0
    for u, v in zip(x, c):
        s += v * u
        c[19] += 1.0
    return s


def stale_rev(x):
    c = [1.0] * 20
    s = 0.0
    for i, v in enumerate(reversed(c)):
        s += v * x[i]
        c[0] += 1.0
    return s


def popped(x):
    c = [1.0, 2.0, 3.0, 4.0] * 5
    s = 0.0
    for v, w in zip(x, c):
        s += v * w
        c.pop()
    return s


def popped_plain(x):
    c = list(range(20))
    s = 0.0
    for w in c:
        s += x[w]
        c.pop()
    return s


def removed(x):
    c = list(range(20))
    s = 0.0
    for w in c:
        s += x[w]
        if w % 3 == 0:
            c.remove(w)
    return s


def in_a_map(x):
    c = [x[0], x[1]]
    s = 0.0
    for v in map(lambda t: t * 2, c):
        s += v
        if len(c) < 12:
            c.append(v * 0.5)
    return s


def in_a_slice(x):
    c = [x[0], x[1]]
    s = 0.0
    for v in itertools.islice(c, 0, 9):
        s += v
        if len(c) < 12:
            c.append(v * 0.5)
    return s


def in_pairs(x):
    c = [x[0], x[1]]
    s = 0.0
    for a, b in itertools.pairwise(c):
        s += a * b
        if len(c) < 12:
            c.append(b * 0.5 + 0.1)
    return s


def from_late_on(x):
    c = [v for v in x[:18]]
    s = 0.0
    for i, v in enumerate(c):
        s += v
        if i > 14 and len(c) < 24:
            c.append(s)
    return s


def from_late_on_by_data(x):
    c = [v for v in x[:18]]
    s = 0.0
    for i, v in enumerate(c):
        s += v
        if i > 14 and s < 0.0 and len(c) < 24:
            c.append(s)
    return s


def counted(x):
    c = [x[0]]
    s = 0.0
    n = 0
    for v in c:
        s += v
        n += 1
        if n < 20:
            c.append(v * 0.9)
    return s


def by_length(x):
    c = [x[0]]
    s = 0.0
    for v in c:
        s += v
        if len(c) < 22:
            c.append(v * 0.9)
    return s


def cleared(x):
    c = [v for v in x]
    s = 0.0
    for v in c:
        s += v
        if s > 10:
            c.clear()
    return s


def breadth_first(x):
    adj = {i: [(2 * i + 1) % 24, (3 * i + 2) % 24] for i in range(24)}
    order = [0]
    seen = {0}
    s = 0.0
    for n in order:
        s += x[n] * len(order)
        for m in adj[n]:
            if m not in seen:
                seen.add(m)
                order.append(m)
    return s


def inserted(x):
    c = [x[0], x[1], x[2]]
    s = 0.0
    for v in c:
        s += v
        if len(c) < 8:
            c.insert(0, v * 2)
    return s


def in_a_generator(x):
    c = [x[0], x[1]]
    s = 0.0
    for v in (t * 2 for t in c):
        s += v
        if len(c) < 10:
            c.append(v * 0.3)
    return s


def work_list(x):
    work = [(x[0], 0)]
    s = 0.0
    for v, d in work:
        s += v * d
        if d < 4:
            work.extend([(v * 0.5, d + 1), (v * 0.3 + x[d], d + 1)])
    return s


PROGRAMS = (
    grown_from_one,
    zipped_last,
    zipped_first,
    once_late,
    stale_item,
    stale_item_long,
    stale_once,
    stale_zip,
    stale_rev,
    popped,
    popped_plain,
    removed,
    in_a_map,
    in_a_slice,
    in_pairs,
    from_late_on,
    from_late_on_by_data,
    counted,
    by_length,
    cleared,
    breadth_first,
    inserted,
    in_a_generator,
    work_list,
)


@pytest.mark.parametrize("unroll", [0, 16, 100])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lists_are_run_over_as_they_are(f: Callable, unroll: int) -> None:
    found = trace(f, (X,), unroll=unroll)
    for x in (X, X[::-1].copy(), -X[::-1]):
        with contextlib.suppress(GuardBroken):
            np.testing.assert_allclose(replay(found, x)[0], f(x), rtol=1e-12)
