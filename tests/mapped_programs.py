"""Functions mapped over arrays, and iterators that are made lists, summed, sorted: each of an array of 24 numbers."""

# ruff: noqa: RUF007, RUF058, SIM905 (loops of these kinds are what is tested)

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from .program_lists import Programs

TABLE = np.linspace(0.1, 2.4, 24)
FOUND = Programs()
LOOPS, PROGRAMS = FOUND.loops, FOUND.all
program, rolled = FOUND.program, FOUND.rolled


@rolled
def listed(x):
    def at(v):
        return math.sin(v) * v

    return np.sum(np.array(list(map(at, x))) ** 2)


@rolled
def over_a_table(x):
    return sum(map(lambda t: t * x[int(t)] ** 2, TABLE))


@rolled
def over_a_range(x):
    found = list(map(lambda k: x[k] * x[k - 1] * k, range(1, 24)))
    return found[-1] * found[3] + sum(found)


@rolled
def two_arrays(x):
    return math.fsum(map(lambda u, v: u * math.exp(-v), x, x[::-1]))


@rolled
def two_on_a_line(x):
    return max(map(math.sin, x)) + sum(map(math.cos, x)) * sum(map(lambda v: v * v, x))


@rolled
def as_tuples(x):
    found = tuple(map(lambda v: (v, v * v), x))
    return sum(a * b for a, b in found) + found[2][1]


@rolled
def kept(x):
    return sum(filter(lambda v: v > 0.4, x)) + len(list(filter(lambda v: v < 0.7, x)))


@rolled
def reduced(x):
    return functools.reduce(lambda a, b: 0.5 * a + b * b, map(math.sin, x), 1.0)


@rolled
def in_order(x):
    found = sorted(map(lambda v: (v - 0.5) ** 2, x))
    return found[0] + 2 * found[3] + found[-1]


@rolled
def pairs_and_places(x):
    pairs = list(zip(x, x[1:]))
    places = list(enumerate(x))
    back = list(reversed(x))
    return sum(u * v for u, v in pairs) + sum(k * v for k, v in places) + back[0] * back[5] + len(pairs)


@rolled
def of_starred_pairs(x):
    return sum(itertools.starmap(lambda u, v: u * v * v, zip(x, x[1:])))


@rolled
def in_a_loop(x):
    total = 0.0
    for i in range(1, 20):
        total += sum(map(lambda v: v * x[i], x)) * sum(map(math.sin, x[:i]))
    return total


@program
def with_state(x):
    seen = []

    def note(v):
        seen.append(v * v)
        return v + len(seen)

    total = sum(map(note, x))
    return total + seen[3] * seen[-1]


@program
def until_found(x):
    count = [0]

    def is_large(v):
        count[0] += 1
        return v > 0.6

    found = any(map(is_large, x))
    return x[0] * count[0] + found


@program
def taken_in_parts(x):
    squares = map(lambda v: v * v, x)
    first = next(squares)
    return first * 3.0 + sum(squares)


@program
def texts(x):
    names = list(map(str, range(24)))
    return sum(v * len(name) for v, name in zip(x, names)) + sum(map(int, "12 30 5".split())) * x[1]


@program
def columns_of_pairs(x):
    first, second = zip(*map(lambda v: (math.sin(v), v * v), x))
    return sum(first) * sum(second)


@program
def kept_in_turn(x):
    large = filter(lambda v: v > 0.3, x)
    return sum(map(lambda v: v * v, large)) + x[0]


@program
def truthy(x):
    return sum(filter(None, np.maximum(x - 0.5, 0.0))) + x[1]
