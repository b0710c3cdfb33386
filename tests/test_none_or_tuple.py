"""Variables that hold None until a test finds something, and then a tuple of numbers: `best = (i, x[i])`."""

from __future__ import annotations

import random
from collections import namedtuple

import numpy as np
import pytest

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs, function_of

SIZE = 40
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 400)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled
Place = namedtuple("Place", "i v")


@rolled
def nearest(x):
    best, arg = np.inf, None
    for i in range(len(x)):
        c = (x[i] - 0.3) ** 2
        if c < best:
            best = c
            arg = (i, x[i])
    return best + arg[0] * arg[1]


@rolled
def farthest_pair(x):
    pair, best = None, -1.0
    for i in range(20):
        for j in range(20, 40):
            d = abs(x[i] - x[j])
            if d > best:
                best, pair = d, (i, j)
    i, j = pair
    return x[i] ** 2 * x[j]


@rolled
def first_or_larger(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0.9:
            continue
        if best is None or x[i] > best[1]:
            best = (i, x[i])
    i, v = best
    return x[i] * v


@program
def perhaps_none_at_the_end(x):
    best = None
    for i in range(len(x)):
        if x[i] > 0.95 and (best is None or x[i] < best[0]):
            best = (x[i], x[(i + 1) % 40], i)
    if best is None:
        return x[0] * 3
    return best[0] * best[1] + best[2]


@rolled
def in_an_inner_loop(x):
    s = 0.0
    for k in range(5):
        hit, least = None, 9.0
        for i in range(8):
            t = x[8 * k + i]
            if 0.5 < t < least:
                least = t
                hit = (i, t * 2, x[i])
        if hit is not None:
            s += hit[0] * hit[1] + hit[2]
        else:
            s += 0.1
    return s


@rolled
def longer_tuples(x):
    arg, count = None, 0
    for i in range(len(x)):
        if x[i] > 0.5:
            if arg:
                count += arg[0]
            arg = (i, x[i])
            arg = (*arg, 2 * x[i])
    return arg[2] * count + len(arg)


@rolled
def named(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best.v:
            best = Place(i, x[i])
    return best.v**2 + best.i


@rolled
def tuples_of_tuples(x):
    box = None
    for i in range(0, 40, 2):
        p = (x[i], x[i + 1])
        if x[i] > 0.4:
            if box is None:
                box = (p, p)
            else:
                low, high = box
                box = ((min(low[0], p[0]), min(low[1], p[1])), (max(high[0], p[0]), max(high[1], p[1])))
    (a, b), (c, d) = box
    return (c - a) * (d - b)


@rolled
def the_one_before(x):
    found, before = [], None
    for i in range(len(x)):
        if x[i] > 0.5:
            if before is not None:
                found.append((x[i] - before[1]) * (i - before[0]))
            before = (i, x[i])
    return sum(found)


@program
def added_and_repeated(x):
    pair, s = None, 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            pair = (x[i], i)
        if pair is not None:
            s += sum(pair + (1.0, x[0])) + len(pair * 2) + (pair > (0.7, 3))
    return s


@program
def compared(x):
    before, s = None, 0.0
    for i in range(len(x)):
        now = (x[i], i) if x[i] > 0.3 else None
        if now is not None and before is not None and now > before:
            s += now[0] * before[0]
        if now != before:
            s += 0.1 * x[i]
        before = now
    return s


@program
def the_same_one(x):
    a, s = None, 0.0
    for k in range(len(x)):
        before = a
        if x[k] > 0.6:
            a = (1, x[k])
        if before is a:
            s += 1
    return s * x[0]


@program
def another_one(x):
    a, before, s = None, None, 0.0
    for k in range(len(x)):
        if x[k] > 0.6:
            a = (1, x[k])
        if before is not a:
            s += x[k]
        before = a
    return s * x[0]


class Program:
    """The source of one, from a seed."""

    VALUES = ("(i, x[i])", "(x[i] * 2.0, i)", "None", "{v}", "({w} if {w} is not None else (i, x[i]))", "(x[0], x[i])")
    TESTS = ("x[i] > {c}", "{v} is None", "{v} is not None and {v}[1] < {c}", "{v} is None or x[i] > {v}[1]")
    USES = ("{v}[0] * x[i]", "{v}[1]", "sum({v})", "({v} > {w} if {w} is not None else 2.0)", "len({v} + (1.0,))")

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def filled(self, choices: tuple[str, ...]) -> str:
        pick = self.random
        v, w = pick.choice(["ab", "ba"])
        return pick.choice(choices).format(v=v, w=w, c=pick.choice([0.2, 0.5, 0.8]))

    def statements(self, depth: int) -> list[str]:
        pick, kind, name = self.random, self.random.random(), self.random.choice("ab")
        if kind < 0.4:
            return [f"{name} = {self.filled(self.VALUES)}"]
        if kind < 0.65:
            use = pick.choice(self.USES).format(v=name, w="b" if name == "a" else "a")
            return [f"if {name} is not None:", f"    total = 0.9 * total + {use}"]
        if kind < 0.7:
            return ["a, b = b, a"]
        if kind < 0.75:
            return [f"if {self.filled(self.TESTS)}:", f"    {pick.choice(['continue', 'break'])}"]
        if depth > 1:
            return ["total += x[i]"]
        sides = [f"if {self.filled(self.TESTS)}:", *self.block(depth + 1)]
        return [*sides, "else:", *self.block(depth + 1)] if pick.random() < 0.4 else sides

    def block(self, depth: int) -> list[str]:
        return ["    " + line for _ in range(self.random.randrange(1, 3)) for line in self.statements(depth)]

    def source(self) -> str:
        body = [line for _ in range(self.random.randrange(2, 6)) for line in self.statements(0)]
        first = self.random.choice(["None", "None", "(0.5, x[1])"])
        lines = [f"a, b, total = None, {first}, x[2]", "for i in range(20):", *("    " + line for line in body)]
        lines += ["if a is not None:", "    total += a[0] * x[0] + a[1]"]
        lines += ["return total + (b[1] * x[3] if b is not None else 0.0)"]
        return "\n".join(["def f(x):", *("    " + line for line in lines)]) + "\n"


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


@pytest.mark.parametrize("seed", [*range(12), *LONG])
def test_random_programs(seed):
    f = function_of(Program(seed).source(), f"<none or tuple {seed}>", np=np)
    assert_right(f, SIZE, seed, 16 * (seed % 2))
