"""Generators that yield on one side of a test: an iterator in C that takes their items moves on there only."""

import collections
import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad import vectorize
from planned_ad.trace import trace

from .sweeps import rotated
from .tracing_oracle import replay

EXAMPLES = np.random.default_rng(0).uniform(0, 1, (4, 8))


def above(x):
    for v in x:
        if v > 0.5:
            yield v


def above_or_twice(x):
    for v in x:
        if v > 0.5:
            yield v
        else:
            yield 2 * v


def through(x):
    yield from above(x)


def twice(x):
    for v in above(x):
        yield 2.0 * v


def numbered(take: Callable) -> Callable:
    """A sum of items, each times its number."""

    def f(x):
        total = 0.0
        for k, v in take(above(x)):
            total = total + v * k
        return total

    return f


def by_hand(x):
    items, total = enumerate(above(x)), 0.0
    while True:
        try:
            k, v = next(items)
        except StopIteration:
            return total
        total += k * v


PROGRAMS = {
    "enumerate": numbered(enumerate),
    "from one": numbered(lambda items: enumerate(items, 1)),
    "zip": numbered(lambda items: zip(itertools.count(), items)),
    "map": numbered(lambda items: map(lambda a, b: (a, b), itertools.count(), items)),
    "islice": numbered(lambda items: enumerate(itertools.islice(items, 3))),
    "chain": numbered(lambda items: enumerate(itertools.chain([1.0], items))),
    "filter": numbered(lambda items: enumerate(filter(lambda v: v < 0.9, items))),
    "by hand": by_hand,
    "yield from": lambda x: sum(k * v for k, v in enumerate(through(x))),
    "of another": lambda x: sum(k * v for k, v in enumerate(twice(x))),
    "pairwise": lambda x: sum(a * b for a, b in itertools.pairwise(above(x))),
    "two by two": lambda x: sum(a * b for a, b in zip(*[above(x)] * 2)),
    "two of them": lambda x: sum(a * b for a, b in zip(above(x), above_or_twice(x))),
    "accumulate": lambda x: sum(itertools.accumulate(above(x))),
    "takewhile": lambda x: sum(itertools.takewhile(lambda v: v < 0.9, above(x))),
    "always": lambda x: sum(k * v for k, v in enumerate(above_or_twice(x))),
    "list": lambda x: sum(k * v for k, v in enumerate(list(above(x)))),
    "star": lambda x: sum(k * v for k, v in enumerate([*above(x)])),
    "dict": lambda x: sum(dict(enumerate(above(x))).values()),
    "sorted": lambda x: sum((k + 1) * v for k, v in enumerate(sorted(above(x)))),
    "deque": lambda x: sum(collections.deque(above(x), maxlen=2)),
    "reduce": lambda x: functools.reduce(lambda a, b: 0.5 * a + b, above(x), 0.0),
    "fsum": lambda x: math.fsum(above(x)),
    "max": lambda x: max(above(x), default=0.0),
    "next": lambda x: (lambda items: 2 * next(items, 0.0) + next(items, 0.0))(above(x)),
}


def one_after_the_other(f: Callable) -> Callable:
    def of_all(examples):
        total = 0.0
        for k in range(len(examples)):
            total = 0.5 * total + f(examples[k])
        return total

    return of_all


@pytest.mark.parametrize(("name", "around"), rotated([*PROGRAMS], ["vectorize", "loop"]))
def test_generators(name: str, around: str) -> None:
    f = PROGRAMS[name]
    every = vectorize(f) if around == "vectorize" else one_after_the_other(f)
    plain = (lambda a: np.array([f(x) for x in a])) if around == "vectorize" else every
    found = trace(every, (EXAMPLES,), unroll=0)
    np.testing.assert_allclose(replay(found, EXAMPLES)[0], plain(EXAMPLES), rtol=1e-12)


def inverses(v, eps):
    return np.array([0 if abs(t) <= eps else 1 / t for t in v], dtype=float)


def in_the_function(x):
    total = 0.0
    for k in range(40):
        total = total * 0.5 + inverses(np.array([x[k % 8] - total]), 0.2).sum()
    return total


def in_the_loop(x):
    total, kept = 0.0, []
    for k in range(40):
        total = total * 0.5 + sum(v if v > 0.3 else v**2 for v in (x[k % 8],))
        kept.append(max(total if t > 0.5 else 0.1 for t in (x[3],)))
    return total + sum(kept)


@pytest.mark.parametrize("f", [in_the_function, in_the_loop], ids=lambda f: f.__name__)
def test_a_generator_expression_ends_its_sides(f: Callable) -> None:
    found = trace(f, (EXAMPLES[0].copy(),))
    assert not found.unrolled
    for x in EXAMPLES:
        np.testing.assert_allclose(replay(found, x.copy())[0], f(x), rtol=1e-13)
