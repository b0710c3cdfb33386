"""Statements that are written many times: packed into operations on arrays, or steps of a loop."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.packing import cells, chains, packing, rolling
from planned_ad.passes.packing.packing import packed
from planned_ad.tape.guards import decides
from planned_ad.tape.tape import walk
from planned_ad.trace import trace

from .blocks import Program, assert_same, at
from .interpreted_plans import assert_right
from .program_lists import Programs
from .random_unrolled import random_unrolled

SIZE = 120
PROGRAMS = Programs()


class Particle:
    def __init__(self, place, speed):
        self.place, self.speed = place, speed

    def step(self, dt):
        self.place += dt * self.speed
        self.speed -= dt * self.place


@PROGRAMS.rolled
def objects(x):
    particles = [Particle(x[k], x[k + 1]) for k in range(0, SIZE, 2)]
    for _ in range(4):
        for p in particles:
            p.step(0.1)
    return sum(p.place**2 for p in particles)


@PROGRAMS.rolled
def objects_with_arrays(x):
    places = x.reshape(-1, 3)
    particles = [Particle(place, 0.1 * place[::-1]) for place in places]
    for p in particles:
        p.place = p.place + 0.1 * p.speed / np.sqrt(1.0 + np.sum(p.place**2))
    return sum(np.dot(p.place, p.speed) for p in particles)


@PROGRAMS.rolled
def pairs(x):
    particles = [Particle(v, 0.0) for v in x[:12]]
    for a in particles:
        for b in particles:
            if a is not b:
                a.speed = a.speed + (b.place - a.place) / (1.0 + (b.place - a.place) ** 2)
    return sum(p.place * p.speed for p in particles)


@PROGRAMS.rolled
def neurons(x):
    weights = [list(row) for row in x[:96].reshape(12, 8)]
    values = list(x[96:104])
    hidden = [math.tanh(sum(w * v for w, v in zip(row, values))) for row in weights]
    return sum(h * w for h, w in zip(hidden, x[104:116]))


@PROGRAMS.rolled
def neighbours(x):
    """The ends of a row have one neighbour, the others two."""
    cells = [[v, []] for v in x[:60]]
    for a, b in zip(cells, cells[1:]):  # noqa: RUF007
        a[1].append(b)
        b[1].append(a)
    for _ in range(3):
        new = [c[0] + 0.2 * sum(n[0] - c[0] for n in c[1]) for c in cells]
        for c, v in zip(cells, new):
            c[0] = v
    return sum(k * c[0] ** 2 for k, c in enumerate(cells))


@PROGRAMS.rolled
def halves(x):
    def combined(values):
        half = len(values) // 2
        return math.exp(0.1 * values[0]) if not half else math.tanh(combined(values[:half])) + combined(values[half:])

    return combined(x[:64])


@PROGRAMS.rolled
def windows(x):
    last, total = deque(maxlen=5), 0.0
    for v in x:
        last.append(v)
        total += math.tanh(sum(last) / len(last))
    return total


@PROGRAMS.rolled
def windows_of_an_array(x):
    return sum(np.tanh(np.mean(x[max(0, k - 4) : k + 1])) for k in range(SIZE))


@PROGRAMS.rolled
def recurrence(x):
    s, path = x[0], []
    for v in x:
        s = 0.9 * s + math.sin(v)
        path.append(s)
    return sum(s * s for s in path)


@PROGRAMS.rolled
def two_that_hand_on(x):
    a, b = x[0], x[1]
    for v in x:
        a, b = 0.5 * a + v * b, math.tanh(a - b)
    return a * b


@PROGRAMS.rolled
def elimination(x):
    rows = [list(row) for row in x[:100].reshape(10, 10)]
    for k in range(10):
        rows[k][k] += 10.0
    for k in range(10):
        for j in range(k + 1, 10):
            factor = rows[j][k] / rows[k][k]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[k])]
    return sum(math.log(rows[k][k]) for k in range(10))


@PROGRAMS.rolled
def weights_of_each(x):
    """Known numbers that differ, and exponents."""
    return sum((0.1 + 0.01 * k) * x[k] ** 3 + x[k] ** 1.5 * (0.5 if k % 2 else 2.0) for k in range(SIZE))


@PROGRAMS.rolled
def signs_that_change(x):
    total = 0.0
    for k in range(SIZE):
        total = total - x[k] * x[-k] if k % 3 else total + x[k]
    return total


@PROGRAMS.rolled
def written_in_place(x):
    x = x.copy()
    for k in range(1, SIZE):
        x[k] = x[k] * math.sin(x[k])
        x[k - 1] += 0.1 * x[k]
    return np.sum(x**2)


@PROGRAMS.rolled
def overwritten_while_read(x):
    x = x.copy()
    for k in range(SIZE - 1):
        x[k] = x[k + 1] * x[k]
    for k in range(SIZE - 1, 0, -1):
        x[k] = 0.5 * x[k - 1] - x[k]
    return np.sum(x * np.arange(SIZE))


@PROGRAMS.rolled
def handed_on_over_two_steps(x):
    """Of what a step makes some is read much later in the next one than the rest: two steps are under way at once."""
    a, b, total = x[0], x[1], 0.0
    for k in range(SIZE):
        c = math.sin(b) * a
        d = c / (1.5 + math.cos(b * c))
        a, b = a + 0.1 * b, b + 0.1 * (d - math.exp(-d) * a) * x[k]
        total += a * a + math.cos(b)
    return total


@PROGRAMS.rolled
def of_three_steps_before(x):
    a, b, c = x[0], x[1], x[2]
    for k in range(SIZE):
        a, b, c = b, c, math.sin(a) * c + x[k] * b
    return a * b + c


@PROGRAMS.rolled
def largest_so_far(x):
    largest, total = x[0], 0.0
    for v in x:
        largest = max(largest, v)
        total += math.sin(largest)
    return total


@PROGRAMS.program
def numbers_and_arrays_by_one_line(x):
    """Sums of ten numbers, and of ten arrays of two."""

    def total(items):
        found = items[0]
        for item in items[1:]:
            found = found + item
        return found

    rows = []
    for k in range(24):
        of_numbers = k % 5 in (0, 1, 3)
        rows.append(total([x[j] if of_numbers else x[j : j + 2] for j in range(k, k + 10)]) * x[k : k + 2])
    return sum(np.sum(np.sin(row)) for row in rows)


@pytest.mark.parametrize("f", PROGRAMS.all)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_values_and_slopes(f: Callable, compiled: bool) -> None:
    assert_right(f, SIZE, 3, 10**9, compiled)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_few_operations_are_left(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LONG", 100)
    monkeypatch.setattr(packing, "VERY_LONG", 100)
    tape = trace(f, (np.random.default_rng(0).random(SIZE),), unroll=10**9).tape
    assert_same(tape, packed(tape))
    assert len(list(walk(packed(tape).operations))) < len(tape.operations) / 3


def test_short_blocks_stay_as_they_are() -> None:
    tape = trace(lambda x: sum(a * b for a, b in zip(list(x), list(x)[1:])), (np.zeros(40),), unroll=1000).tape
    assert packed(tape) is tape


def test_a_long_body_in_which_little_is_alike_stays_in_a_packed_block() -> None:
    functions = (np.sin, np.cos, np.tanh, np.arctan)
    order = np.random.default_rng(0).integers(0, 4, 60).tolist()

    def f(x):
        a, b, c = x[0], x[1], x[2]
        values = [np.sin(x[k]) * x[k + 1] for k in range(100)]
        for _ in range(200):
            for j in range(60):
                a, b, c = 0.3 * functions[order[j]](b - c * a), c, a
        return np.array(values), a

    x = np.linspace(0.1, 1.0, 101)
    values, last = planned_ad.compile(f, x, unroll=150)(x)
    assert np.allclose(values, f(x)[0], rtol=1e-15) and last == pytest.approx(f(x)[1], rel=1e-12)


def test_results_and_arguments() -> None:
    def f(x, out):
        values = [v * v for v in list(x)]
        for k, v in enumerate(values):
            out[k] = v
        return values[3], np.array(values), values[7] + values[8]

    x = np.random.default_rng(0).random(300)
    plan = planned_ad.compile(f, (x, np.zeros(300)), unroll=1000)
    out = np.zeros(300)
    a, b, c = plan(x, out)
    assert a == x[3] ** 2 and c == pytest.approx(x[7] ** 2 + x[8] ** 2, rel=1e-15)
    assert np.array_equal(b, x**2) and np.array_equal(out, x**2)


def test_nothing_is_written_before_a_guard() -> None:
    """Of an input that goes another way nothing has been changed when the program is left."""

    def f(x, y):
        for k in range(300):
            if x[k] > 0.0:
                y[k] = x[k] * x[k]
            else:
                y[k] = -x[k]

    x, y = np.ones(300), np.zeros(300)
    plan = planned_ad.compile(f, (x, y), unroll=1000)
    x[200] = -2.0
    plan(x, y)
    assert y[200] == 2.0 and y.sum() == 301.0


def test_accesses_of_one_memory_keep_their_order() -> None:
    p = Program()
    x, y = p.argument("x", 8), p.argument("y", 8)
    for k in range(7):
        p.store(at(y, k + 1), p.apply("multiply", p.load(at(x, k)), p.load(at(y, k))))
    for k in range(8):
        p.store(at(x, k), p.apply("sin", p.load(at(y, 7 - k))))
    p.store(at(y), p.apply("exp", p.load(at(x))))
    for k in range(8):
        p.store(at(x, k), p.apply("cos", p.load(at(y, k))), accumulate=True)
    tape = p.primal()
    with pytest.MonkeyPatch.context() as patch:
        least(patch, 2)
        assert_same(tape, packed(tape))


def least(patch: pytest.MonkeyPatch, fewest: int) -> None:
    """Pack whatever can be."""
    patch.setattr(packing, "LONG", 4)
    patch.setattr(packing, "VERY_LONG", 4)
    patch.setattr(packing, "LEAST_PACKED", 0.0)
    for module in (packing, cells, chains, rolling):
        patch.setattr(module, "FEWEST", fewest)


@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(n, marks=pytest.mark.long) for n in range(40, 1000))])
def test_random_programs(seed: int) -> None:
    f = random_unrolled(seed)
    tape = trace(f, (np.random.default_rng(seed).random(24),), unroll=10**9).tape
    if any(map(decides, tape.operations)):
        return  # another input would go another way
    with pytest.MonkeyPatch.context() as patch:
        least(patch, 2 + seed % 4)
        assert_same(tape, packed(tape))
