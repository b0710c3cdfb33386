"""Loops inside of others that have no iteration at times, `for j in range(i + 1, n)`: what they leave, and fill."""

from __future__ import annotations

import random

import numpy as np
import pytest

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs, function_of

SIZE = 60
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 400)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


def counts(x):
    return np.floor(np.abs(x) * 3).astype(int) % 3


@rolled
def the_last_row(x):
    a = x.reshape(6, 10) * 0.5
    row = a[0]
    for i in range(6):
        for _j in range(i + 1, 6):
            row = a[i]
    return np.sum(row * np.arange(10))


@rolled
def written_to_the_last_row(x):
    a = x[:36].reshape(6, 6) * 0.5
    c = a[0]
    for i in range(6):
        for _j in range(i + 1, 6):
            c = a[i]
        c[i] += 1.0
    return np.sum(a * np.arange(6)[:, None])


@rolled
def which_was_last(x):
    for i in range(20):
        for _j in range(i + 1, 20):
            k = i
    return k * x[0]


@program
def its_own_index(x):
    for i in range(20):
        for j in range(19 - i):  # noqa: B007
            pass
    return j * x[0] + i


@rolled
def rows_and_indices(x):
    s = 0.0
    for i in range(20):
        for j in range(i + 3, 20):
            row = x[i : i + 3]
            last = j
        s += row[0] * last
    return s + row[1] * last


@rolled
def arrays_that_get_longer(x):
    s = 0.0
    for i in range(20):
        y = x[:2] * 1.0
        for j in range(i + 5, 20):
            y = np.append(y, x[j])
        s += y.sum() * i + len(y)
    return s * x[0]


@rolled
def lists_that_are_filled(x):
    s = 0.0
    for i in range(20):
        found = []
        for j in range(i + 5, 20):
            found.append(x[j] * i)  # noqa: PERF401
        s += sum(found) * i + len(found)
    return s * x[0]


@rolled
def numbers_that_are_counted(x):
    s = 0.0
    for i in range(20):
        n, t = 0, 1.0
        for j in range(i + 5, 20):
            n += 2
            t *= x[j]
        s += n * x[i] + t
    return s * x[0]


@rolled
def three_loops(x):
    s, w = 0.0, x[:3]
    for i in range(20):
        for j in range(i + 12, 20):
            for k in range(j + 2, 20):
                w = x[k : k + 3]
        s += w[1] * i
    return s * x[0]


@rolled
def as_often_as_data_say(x):
    q, s = counts(x), 0.0
    for i in range(20):
        for j in range(q[i]):
            k = i
            v = x[i + j]
        if i > 12:
            s += v * k
    return k * x[0] + v + s


@rolled
def found_on_one_side(x):
    q = counts(x)
    for i in range(20):
        for j in range(q[i]):
            if x[j + i] > -0.5:
                k = i
                v = x[i + j]
    return k * x[0] + v


class Program:
    """The source of a nest of two or three loops, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.lines = ["a = x.reshape(6, 10) * 0.5", "s = 0.0", f"row = {r.choice(['a[0]', 'x[:10]', 'a[5]'])}", "k = 0"]
        n = r.choice([6, 6, 5])
        first = [f"i + {r.randint(1, 4)}, {n}", f"{n - 1} - i", f"{n}, i, -1", "q[i]", f"2 * i, {n}"]
        self.lines.append("q = np.floor(np.abs(x) * 3).astype(int) % 3")
        inside = r.sample(self.statements(), r.randint(2, 4))
        body = [
            "v = x[i]",
            "L = []",
            "y = x[:2]",
            *r.sample(["row = a[i] * 1.0", "k = 7", "s += row[0]"], r.randint(0, 1)),
        ]
        body += [f"for j in range({r.choice(first)}):", *("    " + line for line in inside)]
        body += r.sample(
            ["s += row[i]", "s += v * k", "s += sum(L) + len(L)", "row[i] += 1.0", "s += y.sum()"], r.randint(1, 4)
        )
        self.lines += ["for i in range(6):", *("    " + line for line in body)]
        self.lines += ["return s + np.sum(row) * k + np.sum(a * np.arange(6)[:, None]) + v"]

    def statements(self) -> list[str]:
        r = self.random
        return [
            "row = a[i]", "row = a[j % 6]", "k = i", "k = j", "v = x[i + j]", "L.append(x[j])",
            "y = np.append(y, x[j])", f"v *= {r.choice(['0.5', 'x[j]'])}", "s += a[i, j]", "k += 1", "row = row * 0.9",
        ]  # fmt: skip

    def source(self) -> str:
        return "\n".join(["def f(x):", *("    " + line for line in self.lines)]) + "\n"


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 0)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_one_trace_for_all(f):
    first, *others = np.random.default_rng(0).normal(size=(4, SIZE))
    plan = InterpretedPlan(f, first, unroll=0)
    for x in others:
        assert plan(x) == pytest.approx(f(x), rel=1e-11)
    assert len(plan.traces) == 1


@pytest.mark.parametrize("seed", [*range(12), *LONG])
def test_random_nests(seed):
    f = function_of(Program(seed).source(), f"<nest {seed}>", np=np)
    assert_right(f, SIZE, seed, 0)
