"""Random nests of loops whose bodies test the indices: bands, triangles, windows at the ends of arrays."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

RELATIONS = ["<", "<=", ">", ">=", "==", "!="]


class Nests:
    """Writes one function of an array of `size` numbers."""

    def __init__(self, seed: int):
        self.random = r = random.Random(seed)
        self.lines: list[str] = []
        self.size = r.choice([5, 7, 9, 12, 20, 24])
        self.other = r.choice([self.size, self.size, self.size // 2 + 1, self.size + 3])

    def source(self) -> str:
        r = self.random
        self.lines += ["def f(x):", f"    y = {r.choice(['x * 0.0', 'x * 0.5'])}", "    s, t = 0.0, 1.0"]
        for _ in range(1 + (r.random() < 0.3)):
            self.loop([], "    ")
        result = r.choice(["s + t + np.sum(y * y)", "s * t + y[0] * y[-1] + x[0]"])
        return "\n".join([*self.lines, f"    return {result}", ""])

    def index(self, names: list[str]) -> str:
        """An integer made of one or two of the indices."""
        r, found = self.random, ""
        steps = ["", "", "-", "2*"] if len(names) < 2 else ["", "", "-"]
        for name in r.sample(names, r.randint(1, min(2, len(names)))):
            term = r.choice(steps) + name
            found += ("+" if found and term[0] != "-" else "") + term
        return found + (f"{r.randint(-4, self.size):+d}" if r.random() < 0.7 else "")

    def test(self, names: list[str]) -> str:
        r, which, relation = self.random, self.random.random(), self.random.choice(RELATIONS)
        index = self.index(names)
        if which < 0.45:
            return f"{index} {relation} {r.choice([self.index(names), str(r.randint(-2, self.size)), '0'])}"
        if which < 0.6:
            return f"0 <= {index} < {r.choice([self.size, self.other])}"
        if which < 0.75:
            return f"abs({index}) {relation} {r.randint(0, 5)}"
        if which < 0.93:
            return f"{self.test(names)} {r.choice(['and', 'or'])} {self.test(names)}"
        return f"not ({self.test(names)})"

    def number(self, names: list[str]) -> str:
        r, name = self.random, self.random.choice(names)
        return r.choice([f"x[{name}]", f"x[{name}]", "s", "t", f"y[{name}]", f"np.sin(x[{name}])", f"0.1 * {name}"])

    def loop(self, names: list[str], indent: str) -> None:
        r, n = self.random, self.size
        ranges = [f"range({n})"] * 5 + [f"range({n - 1}, -1, -1)", f"range(1, {n})", f"range(0, {n}, 2)"]
        if names:
            ranges += [f"range({names[-1]})", f"range({names[-1]}, {n})", f"range({names[-1]} + 1)"]
        self.lines.append(f"{indent}for {'ijk'[len(names)]} in {r.choice(ranges)}:")
        names, indent = [*names, "ijk"[len(names)]], indent + "    "
        if r.random() < 0.5:
            self.simple(names, indent)
        if len(names) < r.choice([1, 2, 2, 3]):
            self.loop(names, indent)
        for _ in range(r.randint(1, 2)):
            self.statement(names, indent, 0)

    def statement(self, names: list[str], indent: str, depth: int) -> None:
        r, which = self.random, self.random.random()
        if which < 0.25:
            self.place(names, indent)
        elif which < 0.5 and depth < 2:
            self.lines.append(f"{indent}if {self.test(names)}:")
            self.statement(names, indent + "    ", depth + 1)
            for other in r.choice([[], [], ["else:"], [f"elif {self.test(names)}:"]]):
                self.lines.append(indent + other)
                self.statement(names, indent + "    ", depth + 1)
        elif which < 0.6:
            self.lines.append(f"{indent}if {self.test(names)}: continue")
            self.simple(names, indent)
        else:
            self.simple(names, indent)

    def place(self, names: list[str], indent: str) -> None:
        """An element that is looked for first."""
        r, n, inner = self.random, self.size, indent + "    "
        self.lines.append(f"{indent}p = {self.index(names)}")
        self.lines.append(indent + r.choice([f"if 0 <= p < {n}:", f"if not (p < 0 or p >= {n}):"]))
        number = self.number(names)
        sums = [f"s += 0.1 * x[p] * {number}", f"s = 0.9 * s + 0.1 * y[p] * {number}"]
        writes = [f"y[p] {w} 0.5 * {number} + 0.1 * x[p]" for w in ("=", "+=")]
        self.lines.append(inner + r.choice(sums + writes))

    def simple(self, names: list[str], indent: str) -> None:
        r, a, b = self.random, self.number(names), self.number(names)
        write = f"y[{r.choice(names)}] {r.choice(['=', '+=', '*='])} {a} * 0.5 + {b} * 0.2"
        self.lines.append(indent + r.choice([f"s = s * 0.8 + {a} * {b}", f"t += 0.1 * {a} * {b}", write, f"s += {a}"]))


def function(seed: int) -> tuple[Callable, int]:
    """The function, and the size of its argument."""
    nests = Nests(seed)
    return function_of(nests.source(), f"<index tests {seed}>", np=np), nests.size
