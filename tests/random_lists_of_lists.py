"""Random loops over lists in lists, whose lengths are data: filled, emptied, written to, put in anew, kept."""

from __future__ import annotations

import random
from collections.abc import Callable

from .program_lists import function_of

N = 20


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = r = random.Random(seed)
        self.count, self.of_floats = r.choice([3, 4, 18]), r.random() < 0.5
        self.lines: list[str] = []

    def number(self, names: list[str]) -> str:
        return self.random.choice([*(f"x[{name}]" for name in names), "s", "x[1] * 0.5", f"{names[0]} * 0.1"])

    def element(self, names: list[str]) -> str:
        return self.number(names) if self.of_floats else self.random.choice(names)

    def row(self, names: list[str]) -> str:
        r, m = self.random, self.count
        by_index = f"({names[0]} * {r.randrange(1, 3)} + {r.randrange(2)}) % {m}"
        return r.choice(
            [str(r.randrange(3)), f"{names[-1]} % {m}", by_index, f"min(int(abs(x[{names[0]}]) * 2), {m - 1})"]
        )

    def test(self, names: list[str]) -> str:
        r = self.random
        return r.choice(
            [
                f"{self.number(names)} > {r.uniform(-0.5, 0.8):.2f}",
                f"len(g[{self.row(names)}]) > {r.randrange(3)}",
                f"g[{self.row(names)}]",
                f"x[{names[0]}] < x[{r.randrange(5)}]",
            ]
        )

    def statement(self, names: list[str], depth: int) -> list[str]:
        r, row, element = self.random, self.row(names), self.element(names)
        match r.randrange(12):
            case 0 | 1 | 2:
                return [f"g[{row}].append({element})"]
            case 3 if depth < 2:
                other = ["else:", *self.block(names, depth + 1)] if r.random() < 0.4 else []
                return [f"if {self.test(names)}:", *self.block(names, depth + 1), *other]
            case 4:
                ways = [f"s += 0.3 * g[{row}][-1]", f"s += 0.1 * g[{row}].pop()", f"s = s * 0.9 + 0.1 * g[{row}][0]"]
                ways += [f"g[{row}][0] = {element}", f"g[{row}][-1] {'+=' if self.of_floats else '='} {element}"]
                return [f"if g[{row}]:", "    " + r.choice(ways)]
            case 5:
                return [f"s += 0.1 * {r.choice(['sum', 'len'])}(g[{row}])"]
            case 6:
                return [f"g[{row}] = " + r.choice(["[]", f"[{element}]"])]
            case 7:
                more = [f"g[{self.row(names)}].append({element})"] if r.random() < 0.6 else []
                end = r.choice(["s += 0.05 * len(h)", "s += 0.1 * sum(h)", f"h[0] = {element}"])
                return [f"h = g[{row}]", f"h.append({element})", *more, end]
            case 8:
                return [f"for v in g[{row}]: s += 0.05 * " + ("v" if self.of_floats else "x[v] * v * 0.1")]
            case 9:
                return ["for q in g: s += 0.02 * len(q)"]
            case 10:
                ends = [f"w.append({element})", "s += 0.1 * sum(w)"]
                made = [f"w = [{element}]", f"if {self.test(names)}: w.append({element})", f"g[{row}] = w"]
                return made + [end for end in ends if r.random() < 0.5]
        return [f"s = s + 0.1 * {self.number(names)}"]

    def block(self, names: list[str], depth: int) -> list[str]:
        lines = [line for _ in range(self.random.randrange(1, 4)) for line in self.statement(names, depth)]
        return ["    " + line for line in lines]

    def loop(self) -> list[str]:
        r = self.random
        a, b = r.choice([("i", "j"), ("j", "i")])
        head = f"for {a} in range({r.choice([N, N - 1, 3])}):"
        if r.random() < 0.4:
            inner = [f"for {b} in range({r.choice(['3', f'{a} + 1'])}):", *self.block([a, b], 0)]
            return [head, *("    " + line for line in inner)]
        return [head, *self.block([a], 0)]

    def begin(self) -> list[str]:
        item = "x[i] * 1.0" if self.of_floats else "i"
        return self.random.choice(
            [
                [f"g = [[] for _ in range({self.count})]"],
                ["g = []", f"for i in range({self.count}): g.append([])"],
                [f"g = [[{item} for i in range({N}) if x[i] > 0.1 * k] for k in range({self.count})]"],
            ]
        )

    def source(self) -> str:
        loops = [line for _ in range(self.random.randrange(1, 4)) for line in self.loop()]
        total = "sum(q)" if self.of_floats else "sum(x[v] for v in q)"
        lines = ["s = 0.1 * x[0]", *self.begin(), *loops]
        lines.append(f"return s + 0.1 * sum({total} * (k + 1) for k, q in enumerate(g))")
        return "def f(x):\n" + "".join(f"    {line}\n" for line in lines)


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<lists of lists {seed}>")
