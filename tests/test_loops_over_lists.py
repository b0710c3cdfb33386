"""Loops over plain lists, tuples and dict views of numbers, some of them traced, and of tuples of such."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs, function_of

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(30, 600)]
N, SIZE = 20, 24
NUMBERS = np.random.default_rng(1).normal(size=N).tolist()
PAIRS = [(k * 3 % N, (k * 7 + 1) % N) for k in range(30)]
SPRINGS = [(k, k + 1, 1.0 + 0.1 * k) for k in range(N)]
RATES = {k: 0.1 * k for k in range(N)}
POINTS = list(np.random.default_rng(2).normal(size=(N, 3)))
UNEVEN = [[0.1 * (j + k) for j in range(1 + k % 4)] for k in range(N)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


def huber(r):
    return 0.5 * r * r if r < 0.5 else 0.5 * r - 0.125


@rolled
def residuals(x):
    total = 0.0
    for z in NUMBERS:
        total += huber(abs(x[0] - z))
    return total


@rolled
def energy_of_pairs(x):
    total = 0.0
    for i, j in PAIRS:
        d = x[i] - x[j]
        if d > 0.5:
            continue
        total += d * d
    return total


@rolled
def array_written_to_and_replaced(x):
    mu = np.zeros(5)
    for i, j, k in SPRINGS:
        mu[0] += x[i] * k
        mu = mu + 0.1 * x[j] * mu[0]
    return mu.sum()


@rolled
def entries_of_a_dict(x):
    total = 0.0
    for k, rate in RATES.items():
        total += rate * x[k] ** 2
    for k in RATES:
        total += RATES[k] * x[k]
    for rate in RATES.values():
        total *= 1.0 - 0.01 * rate * x[0]
    return total


@rolled
def in_comprehensions(x):
    first = sum(x[i] * x[j] for i, j in PAIRS if x[i] > 0.3)
    second = [a * x[k] for k, _, a in SPRINGS]
    return first + max(second) + sum(second)


@rolled
def numbers_and_traced_ones(x):
    bars = []
    for k in range(N):
        bars += [(k, k + 1, x[0]), (k, k + 2, x[1]), (k + 1, k + 3, 0.5)]
    total = 0.0
    for i, j, a in [(i, j, a * 1.0) for i, j, a in bars]:
        d = x[j] - x[i]
        total += d * a if d < 0 else d * d
    return total


@program
def traced_ones_that_are_appended(x):
    bars = []
    for k in range(N):
        bars.append((k, k + 1, x[0]))
        bars.append((k, k + 2, x[k]))
    total = 0.0
    for i, j, a in bars:
        d = x[j % N] - x[i]
        total += d * a if d < 0 else d * d
    return total


@program
def a_list_in_a_list(x):
    total = 0.0
    for row in UNEVEN:
        for v in row:
            total = total + x[0] * np.sin(total * v)
    return total


@program
def left_and_left_over(x):
    total = 0.0
    for z in NUMBERS:
        total += abs(z) * x[0]
        if total > 4.0:
            break
    else:
        total = -1.0
    for i, _ in PAIRS:
        total += x[i] if i % 2 else 0.0
    return total * z + i


@program
def lists_that_the_loop_changes(x):
    items, total = [0.1 * k for k in range(N)], 0.0
    for v in items:
        total += v * x[0]
        if len(items) < 2 * N:
            items.append(v + 0.5)
    for k, v in enumerate(items):
        items[k] = v * total
    rates = dict(RATES)
    for k, rate in rates.items():
        rates[k] = rate * x[k]
    return sum(items) + sum(rates.values())


@program
def whatever_the_numbers_shape(x):
    total = 0.0
    for n in [*range(1, N)]:
        total += np.full(n, x[n]).sum() + len(f"{n}")
    return total


@program
def objects_and_texts_between_them(x):
    total = 0.0
    for z in [*NUMBERS, None, "a", 2]:
        if z is None:
            total += x[1]
        elif isinstance(z, str):
            total += len(z) * x[2]
        else:
            total += z * x[0]
    for flag in [k % 3 == 0 for k in range(N)]:
        total += x[3] if flag else x[4] ** 2
    return total


@program
def an_iterator_that_two_loops_share(x):
    total, items = 0.0, iter(NUMBERS)
    for z in items:
        total += z * x[0] * next(items)
    for z in items:
        total += 100.0 * z
    return total


@rolled
def arrays(x):
    total = 0.0
    for z in POINTS:
        total += huber(np.sum(z * x[:3]))
    for k, z in enumerate(POINTS):
        total += z[k % 3] * x[k]
    return total


@program
def which_array_it_is(x):
    total, known = 0.0, {id(POINTS[3]): 1.0, id(POINTS[4]): 2.0}
    for z in POINTS:
        total += x[0] if z is POINTS[3] else 0.0
        total += known.get(id(z), 0.0) * x[1]
        for w in POINTS:
            total += x[2] if z is not w else x[3] * z[0]
    return total


@program
def which_tuple_it_is(x):
    total, best = 0.0, SPRINGS[3]
    for t in SPRINGS:
        for u in SPRINGS:
            if t is not u:
                total += x[t[0]] * u[2]
        if t is best:
            total *= x[1]
    items = [(k, x[k]) for k in range(N)]
    best = items[0]
    for p in items:
        if p is not best and p[1] > best[1]:
            best = p
    return total + best[1]


@program
def of_which_type_numbers_are(x):
    items, total = [x[k] * 2.0 if k % 2 else 1.5 for k in range(N)], 0.0
    for v in items:
        total += v if isinstance(v, np.float64) else 2.0 * v * x[0]
    grown = []
    for k in range(N):
        grown.append(x[k] * 2.0 if x[k] > 0.5 else 1.5)  # noqa: PERF401
    for v in grown:
        total += v * x[1] if type(v) is float else v
    return total


@program
def numpy_numbers(x):
    total = 0.0
    for z in [*POINTS[0], *np.arange(N), *np.linspace(0.0, 1.0, N)]:
        total += z * x[0] if hasattr(z, "dtype") else x[1]
    return total


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f, unroll):
    assert_right(f, SIZE, 0, unroll)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    plan = InterpretedPlan(f, np.random.default_rng(0).random(SIZE))
    assert not [found.reason for found in plan.traces[0].unrolled if "growing" not in found.reason]


@pytest.mark.parametrize("f", [residuals, energy_of_pairs, traced_ones_that_are_appended])
def test_one_trace_for_all_inputs(f):
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(SIZE),), check=False)
    for _ in range(4):
        x = rng.random(SIZE)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
    assert len(plan._variants) == 1


def test_integers_beyond_64_bits_are_refused():
    def f(x):
        total = 0.0
        for i in range(N):
            v = 3**30 + i
            total += float((v * v) % 1000) * x[0]
        return total

    with pytest.raises(planned_ad.errors.BoundsError, match="more than 64 bits"):
        planned_ad.compile(f, (np.ones(SIZE),), check=False)(np.ones(SIZE))


def test_a_list_outside_may_change():
    weights, pairs = [0.1 * k for k in range(N)], [(0, 1)] * N

    def f(x):
        total = 0.0
        for w in weights:
            total += w * x[0]
        for i, j in pairs:
            total += x[i] * x[j]
        return total

    x = np.random.default_rng(0).random(SIZE)
    plan = planned_ad.compile(f, (x,), check=False)
    changes = [lambda: None, lambda: weights.append(3.0), lambda: pairs.__setitem__(3, (4, 5)), lambda: weights.clear()]
    for change in changes:
        change()
        assert plan(x) == pytest.approx(f(x), rel=1e-14)


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.lines = ["s, m = 0.0, np.zeros(3)"]
        self.widths: dict[str, int] = {}
        for name in "ABC"[: r.choice([1, 2, 3])]:
            self.widths[name] = r.choice([0, 0, 2, 3])
            self.lines += self.made(name)
        for _ in range(r.choice([1, 2])):
            self.loops()

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s + m.sum()"]) + "\n"

    def item(self, width: int, index: str) -> str:
        r = self.random
        parts = [r.choice([index, f"{index} % 5", "2"])] if width else []
        numbers = [f"0.1 * {index}", "0.5", f"x[{index}]", f"x[{index}] * 2.0", f"float({index})", f"{index} // 3"]
        parts += [r.choice(numbers[: r.choice([2, 6])]) for _ in range(max(width - 1, 1))]
        return "(" + ", ".join(parts) + ")" if width else parts[0]

    def made(self, name: str) -> list[str]:
        r, width, n = self.random, self.widths[name], self.random.choice([3, 9, 20])
        one = self.item(width, "k")
        forms = [
            [f"{name} = [{one} for k in range({n})]"],
            [f"{name} = tuple({one} for k in range({n}))"],
            [f"{name} = []", f"for k in range({n}):", f"    {name}.append({one})"],
            [f"{name} = []", f"for k in range({n}):", f"    {name} += [{one}, {self.item(width, 'k')}]"],
            [f"{name} = [{', '.join(self.item(width, str(k)) for k in range(n))}]"],
            [f"{name} = {{k: {one} for k in range({n})}}.values()"],
        ]
        return r.choice(forms)

    def statement(self, depth: int, known: list[str], name: str, target: str) -> None:
        r, v, w = self.random, self.random.choice(known), self.random.choice(known)
        forms = [
            [f"s += {v} * x[0]"],
            [f"s = s * 0.9 + {v} * {w}"],
            [f"if {v} > 0.4:", f"    s += {w} * x[1]"],
            [f"if x[{depth}] * {v} > 0.3:", f"    s += {w}", "else:", f"    s -= 0.5 * {w}"],
            [f"if {v} > 1.5:", "    continue"],
            [f"m[0] += {v}", f"m = m + 0.1 * {w} * x[2]"],
            [f"m[{depth}] += {v} * s * 0.01"],
            [f"s += sum(c * {v} for c in [0.5, x[1], 0.25])"],
        ]
        if r.random() < 0.15:
            forms = [["if s > 5.0:", "    break"], [f"s += len({name}) * {v}"], [f"last = {v}", "s += last"]]
        for line in r.choice(forms):
            self.lines.append("    " * depth + line)

    def loops(self) -> None:
        r, known = self.random, []
        for depth, letter in enumerate("ab"):
            if depth and r.random() < 0.6:
                break
            name = r.choice([*self.widths])
            width = self.widths[name]
            names = [f"{letter}{k}" for k in range(max(width, 1))]
            target = ", ".join(names)
            over = name if r.random() < 0.85 else r.choice([f"list({name})", f"sorted({name})", f"[*{name}, *{name}]"])
            self.lines.append("    " * depth + f"for {target} in {over}:")
            known = [*known, *names]
            for _ in range(r.choice([1, 2])):
                self.statement(depth + 1, known, name, target)
        if r.random() < 0.3:
            self.lines.append(f"s += {known[0]}")


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<lists {seed}>", np=np)


@pytest.mark.parametrize("seed", [*range(30), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))
