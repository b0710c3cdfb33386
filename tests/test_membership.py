"""Whether a key is there, and what there is for it or a default, where loops or data say which key it is."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs, function_of

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(30, 500)]
N, SIZE = 20, 24
MISSING = {3, 7, 11, 12, 19}
WALLS = frozenset([(1, 2), (3, 4), (2, 2), (4, 1)])
FINE = [2, 5, 6, 9, 14]
COSTS = {(i, j): 1.0 + i * j for i in range(6) for j in range(6) if i != j}
NEAR = {0: {1, 2}, 1: {0}, 2: {0, 3}, 3: {2}, 4: set()}
WEIGHTS = {0: {1: 0.5, 2: 0.25}, 1: {0: 1.5}, 2: {0: 2.0, 3: 0.1}, 3: {2: 0.3}}
LABELS = ["a", "b", "c", "d", "a", "d"] * 4
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def measurements_that_are_missing(x):
    m, p, total = x[0], x[1] ** 2, 0.0
    for t, z in enumerate(x):
        p = p + 0.1 * x[2]
        if t not in MISSING:
            gain = p / (p + 1.0)
            m, p = m + gain * (z - m), (1 - gain) * p
        total += m * m
    return total


@rolled
def cells_that_are_walls(x):
    u = [[0.1 * (i - j) for j in range(6)] for i in range(6)]
    for _ in range(3):
        for i in range(1, 5):
            for j in range(1, 5):
                if (i, j) in WALLS:
                    continue
                u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) + x[i + j]
    return u[2][3] + u[4][4] ** 2


@rolled
def pairs_with_costs(x):
    total = 0.0
    for i in range(6):
        for j in range(6):
            total += COSTS.get((i, j), 0.5) * x[i] * x[j]
            if (j, i) in COSTS:
                total += COSTS[j, i] ** 2 * x[i + j]
    return total


@program
def pairs_without_one(x):
    return sum(COSTS[i, j] * x[i] * x[j] for i in range(6) for j in range(6) if i != j)


@rolled
def labels_of_some_kinds(x):
    total = 0.0
    for i, label in enumerate(LABELS):
        if label in {"b", "d"}:
            total += x[i] * i
        total += {"a": 1.0, "b": 2.0}.get(label, 0.1) * x[0]
    return total


@rolled
def neighbours_in_sets(x):
    total = 0.0
    for u in range(5):
        for v in range(5):
            if v in NEAR[u]:
                total += (x[u] - x[v] * v) ** 2
    return total


@rolled
def weights_in_dicts_of_dicts(x):
    total = 0.0
    for u in range(4):
        for v in range(4):
            total += WEIGHTS[u].get(v, 0.25) * x[u] * x[v]
            if v in WEIGHTS[u]:
                total += WEIGHTS[u][v] * x[0] ** 2
    return total


@rolled
def keys_that_data_say(x):
    total = 0.0
    for i in range(N):
        k = int(x[i] * 12)
        if k in MISSING:
            total += x[i] * i
        if k - 4 not in FINE:
            total += x[i] ** 2
        total += {1: 2.0, 3: 4.0, 5: 0.5}.get(k, 0.25) * x[0]
    return total


@rolled
def answers_that_are_kept(x):
    total = 0.0
    for i in range(N):
        fine, here = i in FINE, i not in MISSING
        total += (2.0 if fine else 1.0) * x[i] + here * x[1]
        if here and not fine:
            total += x[2] ** 2
    return total


@rolled
def ranges_and_keys(x):
    total = 0.0
    for i in range(N):
        if i * i in range(0, 400, 9):
            total += x[i]
        if i % 7 in WEIGHTS:
            total += x[i] ** 2
        if i % 7 in WEIGHTS:
            total += x[i] ** 3
    return total


@program
def a_set_that_the_loop_fills(x):
    total, seen = 0.0, set()
    for i in range(N):
        k = (i * 7) % 11
        if k in seen:
            continue
        seen.add(k)
        total += x[i] * k
    return total


@program
def a_dict_that_the_loop_fills(x):
    total, seen = 0.0, {5: 0.5}
    for i in range(N):
        k = (i * 7) % 11
        total += seen.get(k, 0.25) * x[i]
        seen[k] = 1.0 + i
    return total


@program
def keys_that_are_not_there_at_times(x):
    total = 0.0
    for i in range(N):
        try:
            total += WEIGHTS[i % 5][i % 3] * x[i]
        except KeyError:
            total += x[0]
    return total


@program
def none_for_what_is_not_there(x):
    total = 0.0
    for i in range(N):
        w = WEIGHTS.get(i % 6)
        if w is not None:
            total += len(w) * x[i]
        v = {1: 2.0, 3: 0.5}.get(i)
        total += x[i] if v is None else v
    return total


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f, unroll):
    assert_right(f, SIZE, 0, unroll)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    plan = InterpretedPlan(f, np.random.default_rng(0).random(SIZE), unroll=0)
    assert not [found.reason for found in plan.traces[0].unrolled]


@pytest.mark.parametrize("f", [keys_that_data_say, weights_in_dicts_of_dicts])
def test_compiled(f):
    assert_right(f, SIZE, 0, 0, compiled=True)


def test_keys_that_are_missing_are_errors():
    def f(x):
        total = 0.0
        for i in range(N):
            total += COSTS[int(x[i] * 6), 0] * x[i]
        return total

    x = np.full(SIZE, 0.5)
    plan = planned_ad.compile(f, (x,))
    assert plan(x) == pytest.approx(f(x))
    x[7] = 0.1
    with pytest.raises(KeyError, match=r"\(0, 0\)"):
        plan(x)
    x[7] = 0.2
    assert plan(x) == pytest.approx(f(x))


def test_what_is_outside_may_change():
    holes, costs = {2, 4}, {2: 0.5}

    def f(x):
        total = 0.0
        for i in range(N):
            if i % 7 in holes:
                total += x[i] * i
            total += costs.get(i % 3, 0.0) * x[0]
        return total

    x = np.random.default_rng(0).random(SIZE)
    plan = planned_ad.compile(f, (x,), check=False)
    for change in (lambda: None, lambda: holes.add(5), lambda: costs.update({1: 2.0}), lambda: holes.clear()):
        change()
        assert plan(x) == pytest.approx(f(x), rel=1e-14)


class Program:
    """The source of one, from a seed: constants are sets, lists and dicts, keys are what indices and data make."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.pairs = r.random() < 0.4
        self.lines = ["s = 0.0"]
        self.names = {name: self.made() for name in "ABC"[: r.choice([1, 2, 3])]}
        self.lines += [f"{name} = {what}" for name, what in self.names.items()]
        for _ in range(r.choice([1, 2])):
            self.loops()

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s"]) + "\n"

    def member(self) -> str:
        r = self.random
        one = lambda: str(r.randint(-2, 9))  # noqa: E731
        return f"({one()}, {one()})" if self.pairs else one()

    def made(self) -> str:
        r = self.random
        members = [self.member() for _ in range(r.choice([1, 3, 6, 12]))]
        plain = "{" + ", ".join(members) + "}"
        value = lambda: r.choice(["0.5", "2.0", "1", str(r.random())])  # noqa: E731
        pairs = "{" + ", ".join(f"{m}: {value()}" for m in members) + "}"
        return r.choice([plain, f"frozenset({plain})", f"[{plain[1:-1]}]", f"({plain[1:-1]},)", pairs, pairs, pairs])

    def part(self, indices: list[str]) -> str:
        r, index = self.random, self.random.choice(indices)
        others = [f"{index} - 2", f"{index} % 3", f"2 * {index}", "3", f"int(x[{index}] * 8) - 1", f"{index} // 2"]
        return r.choice([*[index] * 4, *others])

    def key(self, indices: list[str]) -> str:
        return f"({self.part(indices)}, {self.part(indices)})" if self.pairs else self.part(indices)

    def statement(self, depth: int, indices: list[str]) -> None:
        r, name = self.random, self.random.choice([*self.names])
        key, index = self.key(indices), r.choice(indices)
        more = r.choice([f"x[{index}]", f"x[{index}] * s * 0.1", f"np.sin(x[{index}])"])
        forms = [
            [f"if {key} in {name}:", f"    s += {more}"],
            [f"if {key} not in {name}:", f"    s += {more}", "else:", "    s *= 0.9"],
            [f"b = {key} in {name}", f"s += {more} if b else 0.5", f"s += b * x[{index}]"],
            [f"if {key} in {name} and x[{index}] > 0.4:", f"    s += {more}"],
            [f"s += sum(x[k] for k in range(6) if {self.key(['k', *indices])} in {name})"],
        ]
        if ":" in self.names[name]:
            forms += [[f"s += {name}.get({key}, {r.choice(['0.0', '0.25', '2'])}) * x[{index}]"]] * 3
            forms += [[f"if {key} in {name}:", f"    s += {name}[{key}] * {more}"]] * 2
            forms += [[f"v = {name}.get({key})", f"s += 0.5 if v is None else v * {more}"]]
        for line in r.choice(forms):
            self.lines.append("    " * depth + line)

    def loops(self) -> None:
        r = self.random
        depth, indices = 0, []
        for index, extent in (("i", r.choice(["5", "9", "16"])), ("j", r.choice(["i", "4", "7"]))):
            if index == "i" or r.random() < 0.5:
                self.lines.append("    " * depth + f"for {index} in range({extent}):")
                depth += 1
                indices.append(index)
                for _ in range(r.choice([1, 2])):
                    self.statement(depth, indices)


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<membership {seed}>", np=np)


@pytest.mark.parametrize("seed", [*range(30), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))
