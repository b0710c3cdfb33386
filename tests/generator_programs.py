"""Loops over generators, by whether they stay loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

FOLLOWED: list[Callable] = []  # recorded as loops
UNROLLED: list[tuple[Callable, str]] = []  # one by one, and why


def followed(f: Callable) -> Callable:
    FOLLOWED.append(f)
    return f


def unrolled(reason: str) -> Callable[[Callable], Callable]:
    def noted(f: Callable) -> Callable:
        UNROLLED.append((f, reason))
        return f

    return noted


# What gives the items.


def squares(x):
    for v in x:
        yield v * v


def averages(x, rate=0.9):
    mean = 0.0
    for v in x:
        mean = rate * mean + (1 - rate) * v
        yield mean


def pairs(x):
    for i in range(len(x) - 1):
        yield x[i], x[i + 1]


def positive(x):
    for v in x:
        if v > 0:
            yield v


def either(x):
    for v in x:
        if v > 0:
            yield v
        else:
            yield 2 * v * v


def skipping(x):
    for v in x:
        if v < 0:
            continue
        yield v**2


def up_to(x, limit):
    for v in x:
        if v > limit:
            return
        yield v


def windows(x, count):
    window = np.zeros(count)
    for v in x:
        window[:-1] = window[1:].copy()
        window[-1] = v
        yield window


def batches(x, size):
    for i in range(0, len(x), size):
        yield x[i : i + size]


def with_ends(x):
    total = 1.0
    yield total
    for v in x:
        total += v
        yield v
        yield v * v
    yield total


def delegating(x):
    yield from squares(x)
    yield from averages(x)


class Walk:
    def __init__(self, x):
        self.x, self.place = x, 0.0

    def __iter__(self):
        for v in self.x:
            self.place = 0.9 * self.place + v
            yield self.place


# Who takes them.


@followed
def sums_up(x):
    total = 0.0
    for v in squares(x):
        total = 0.9 * total + v
    return total


@followed
def takes_pairs(x):
    total = 0.0
    for a, b in pairs(x):
        total += 0.1 * a * b * total + a
    return total


@followed
def counts_some(x):
    total, count = 0.0, 0
    for v in positive(x):
        total += v * v
        count += 1
    return total / max(count, 1)


@followed
def tests_on_both_sides(x):
    total = 1.0
    for v in either(x):
        total = 0.8 * total + v if v < 1 else 0.5 * total
    return total


@followed
def both_continue(x):
    total = 0.0
    for v in skipping(x):
        if v > 1:
            continue
        total += v * total + v
    return total


@followed
def generator_returns(x):
    total = 0.0
    for v in up_to(x, 1.2):
        total = 0.9 * total + v * v
    return total


@followed
def generator_returns_in_a_loop(x):
    total = 0.0
    for k in range(3):
        for v in up_to(x[4 * k : 4 * k + 4], 0.8):
            total = 0.9 * total + v * v
    return total


@followed
def one_array_is_given_again(x):
    total = 0.0
    for window in windows(x, 3):
        total += np.max(window) * np.sum(window)
    return total


@followed
def all_are_the_same_array(x):
    kept = []
    for window in windows(x, 3):
        kept += [window]
    return sum(np.sum(w * w) for w in kept)


@followed
def taker_writes_to_it(x):
    total = 0.0
    for window in windows(x, 3):
        if window[-1] > 0:
            window[0] = 2 * window[-1]
        window *= 0.9
        total += np.sum(window**2)
    return total


@followed
def items_are_parts(x):
    total = 0.0
    for batch in batches(x, 3):
        total = 0.5 * total + np.mean(batch) ** 2
    return total


@followed
def two_in_one_another(x):
    total = 0.0
    for v in averages(squares(x)):
        total += 0.1 * v * total + v
    return total


@followed
def more_than_one_yield(x):
    total, count = 0.0, 1
    for v in with_ends(x):
        total = 0.9 * total + v * count
        count += 2
    return total


@followed
def yields_from(x):
    total = 0.0
    for v in delegating(x):
        total = 0.9 * total + v * v
    return total


@followed
def expression(x):
    total = 0.0
    for v in (np.sin(u) for u in averages(x) if u > 0):
        total = 0.9 * total + v
    return total


@followed
def numbered(x):
    total = 0.0
    for k, v in enumerate(squares(x), 1):
        total += v * k
    return total


@followed
def mapped_and_filtered(x):
    return sum(map(np.sin, filter(lambda v: v > 0.1, averages(x))))


@followed
def totals(x):
    total = 0.0
    for v in itertools.accumulate(squares(x), lambda a, b: 0.9 * a + b):
        total += v * v
    return total


@followed
def listed(x):
    return np.sum(np.array(list(averages(x))) ** 2) + max(squares(x)) + np.sum(np.fromiter(averages(x), float))


@followed
def taker_breaks(x):
    total = 0.0
    for v in squares(x):
        total = 0.9 * total + v
        if total > 3:
            break
    return total


@followed
def taker_returns(x):
    total = 0.0
    for v in squares(x):
        total = 0.9 * total + v
        if total > 3:
            return 2 * total
    return total


@followed
def objects_and_cells(x):
    shared = 0.0

    def moving():
        nonlocal shared
        for v in x:
            shared += v
            yield shared * v

    walk, total = Walk(x), 0.0
    for v in moving():
        if v > 0:
            shared *= 0.5
        total += v
    for place in walk:
        walk.place *= 0.99
        total += place**2
    return total + shared + walk.place


@followed
def memory_of_both(x):
    cells = np.zeros(3)

    def moving():
        for i in range(len(x)):
            cells[i % 3] += x[i]
            yield cells

    total = 0.0
    for seen in moving():
        total += np.sum(seen**2)
        seen *= 0.9
    return total + cells.sum()


@followed
def in_a_loop(x):
    total = 0.0
    for batch in batches(x, 4):
        for v in averages(batch):
            total = 0.95 * total + v * v
    return total


@followed
def variable_of_the_generator_is_not_there_yet(x):
    def differences():
        for i, v in enumerate(x):
            if i == 0:
                before = v
            else:
                yield v - before
                before = v * v

    total = 0.0
    for d in differences():
        total = 0.8 * total + d
    return total


@followed
def along_an_axis(x):
    rows = np.apply_along_axis(lambda row: row / np.sum(row * row), 1, x.reshape(-1, 3))
    return np.sum(rows[:, 0])


@followed
def of_another_length(x):
    total = 0.0
    for i in range(1, len(x)):
        for v in averages(x[:i]):
            total += 0.1 * v * x[i]
    return total


@followed
def else_follows(x):
    total = 0.0
    for v in squares(x):
        total += v
    else:
        total *= 2
    return total + v


@followed
def search_for_a_root(x):
    def roots(a):
        z = 1.0 + 0.0 * a
        while abs(z * z - a) > 1e-12:
            z = 0.5 * (z + a / z)
            yield z

    total = 0.0
    for v in x[:3]:
        for z in roots(1.0 + v * v):
            last = z
        total += last
    return total


@unrolled("takes items of what it runs over in its body")
def asks_for_more(x):
    items, total = squares(x), 0.0
    for v in items:
        total = 0.9 * total + v * next(items)
    return total


@unrolled("takes items of what it runs over in its body")
def goes_on_after_break(x):
    items, total = squares(x), 0.0
    for v in items:
        total = 0.9 * total + v
        if total > 1.5:
            break
    return total + next(items, 0.0)


@unrolled("comprehension or generator")
def counted_in_between(x):
    total = 0.0
    for a, b in zip(squares(x), averages(x)):
        total += a * b
    return total


@unrolled("holds an iterator")
def another_is_asked(x):
    others, total = averages(x), 0.0
    for v in squares(x):
        total = 0.9 * total + v * next(others)
    return total


@unrolled("left early")
def goes_on_behind_yield(x):
    def moving():
        state = 0.0
        for v in x:
            yield state
            walk.place += v
            state = 0.9 * state + walk.place

    walk, total = Walk(x), 0.0
    for v in moving():
        total += v * v
        if total > 2:
            break
    return total + walk.place


@followed
def beside_others(x):
    return sum(a * b for a, b in zip(averages(x), np.arange(1.0, 30.0)))


@followed
def beside_two_others(x):
    total = 0.0
    for a, b, c in zip(averages(x), x * x, np.arange(40.0)):
        total += a * b + 0.1 * c * a
    return total


@followed
def one_through_another(x):
    return sum((a - b) ** 2 for a, b in zip(averages(averages(x, 0.5)), x))


@unrolled("left early")
def raises(x):
    def checked():
        for v in x:
            if v > 1.5:
                raise ValueError
            yield v * v

    total = 0.0
    try:
        for v in checked():
            total = 0.9 * total + v
    except ValueError:
        total *= 3
    return total


@unrolled("holds an iterator")
def is_sent_values(x):
    def scaled() -> Iterator[Any]:
        state = 0.0
        for v in x:
            factor = yield state
            state = 0.9 * state + v * factor

    items, total = scaled(), 0.0
    next(items)
    for i in range(6):
        total += items.send(0.5 + 0.01 * i)
    return total
