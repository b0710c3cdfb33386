"""Random programs with dicts whose keys are integers, or pairs of them, that loops or data say."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.pairs, self.arrays = r.random() < 0.5, r.random() < 0.25
        self.names = ["D"] if r.random() < 0.7 else ["D", "E"]
        self.lines = [f"n, s = {r.choice([3, 5, 18])}, 0.0"]
        for name in self.names:
            self.lines.append(f"{name} = {self.made()}")
        if r.random() < 0.1:
            self.lines.append(f"F = {self.names[0]}")
        for _ in range(r.choice([1, 2, 2, 3])):
            self.loops()

    def source(self) -> str:
        last = []
        for name in self.names:
            last += ["for i in range(n):", "    for j in range(n):"] if self.pairs else ["for i in range(n):"]
            depth = "        " if self.pairs else "    "
            key = "i, j" if self.pairs else "i"
            test = f"({key}) in {name}" if self.pairs else f"{key} in {name}"
            last += [f"{depth}if {test}:", f"{depth}    s += {self.number(f'{name}[{key}]')} * (1.0 + 0.1 * i)"]
        return "\n    ".join(["def f(x):", *self.lines, *last, f"return s + 0.1 * len({self.names[0]})"]) + "\n"

    def number(self, value: str) -> str:
        return f"{value}.sum()" if self.arrays else value

    def made(self) -> str:
        r = self.random
        value = "x[i:i + 3] * 2.0" if self.arrays else r.choice(["0.0", "x[i]", "x[i] * 2.0", "0"])
        if self.pairs:
            full = f"{{(i, j): {value} for i in range(n) for j in range(n)}}"
            some = "{(0, 0): x[:3] * 1.0}" if self.arrays else "{(0, 0): x[0]}"
        else:
            full, some = f"{{i: {value} for i in range(n)}}", "{0: x[:3] * 1.0}" if self.arrays else "{0: x[0], 1: 0.5}"
        return r.choice([full, full, some, "{}", "dict()"])

    def key(self, indices: list[str]) -> str:
        r = self.random
        found = []
        for _ in range(2 if self.pairs else 1):
            index = r.choice(indices)
            found.append(
                r.choice([index] * 4 + [f"{index} - 1", f"({index} + 1) % n", "0", f"int(x[{index}] * n) % n"])
            )
        return ", ".join(found)

    def value(self, indices: list[str]) -> str:
        r, index = self.random, self.random.choice(indices)
        if self.arrays:
            return r.choice([f"x[{index}:{index} + 3] * 0.5", f"np.full(3, x[{index}])", "np.ones(3)"])
        return r.choice([f"x[{index}]", f"x[{index}] * s", "0.5", index, "1"])

    def statement(self, depth: int, indices: list[str]) -> None:
        r, name, key, other = self.random, self.random.choice(self.names), self.key(indices), self.key(indices)
        there = f"({other}) in {name}" if self.pairs else f"{other} in {name}"
        value, read = self.value(indices), self.number(f"{name}[{other}]")
        forms = [
            [f"{name}[{key}] = {value}"],
            [f"{name}[{key}] = {value}"],
            [f"if {there}:", f"    {name}[{key}] = {name}[{other}] * 0.9 + {value}"],
            [f"if {there}:", f"    {name}[{other}] += {value}"],
            [f"if {there}:", f"    s += {read} * 0.1"],
            [f"if {there}:", f"    del {name}[{other}]"] if r.random() < 0.3 else ["s *= 0.9"],
            [f"if not ({there}):", f"    {name}[{other}] = {value}"],
        ]
        if not self.arrays:
            default = r.choice(["0.0", "1", f"x[{indices[-1]}]"])
            pair = f"({key})" if self.pairs else key
            forms += [
                [f"s += {name}.get({pair}, {default}) * 0.1"],
                [f"{name}[{key}] = {name}.get({pair}, {default}) + {value}"],
                [f"s += {name}.setdefault({pair}, {default}) * 0.1"],
            ]
        else:
            forms += [[f"if {there}:", f"    r = {name}[{other}]", "    r[0] = 2.0"]]
        for line in r.choice(forms):
            self.lines.append("    " * depth + line)

    def loops(self) -> None:
        r = self.random
        depth, indices = 0, ["0"]
        for index, extent in (("t", "2"), ("i", r.choice(["n", "n - 1"])), ("j", r.choice(["i", "n"]))):
            if index == "i" or r.random() < (0.7 if index == "j" and self.pairs else 0.3):
                self.lines.append("    " * depth + f"for {index} in range({extent}):")
                depth += 1
                indices += [index] if index != "t" else []
                for _ in range(r.choice([1, 2]) if index != "t" else 0):
                    self.statement(depth, indices)
        if len(self.names) > 1 and r.random() < 0.3:
            self.lines.append("    " * max(depth - 1, 0) + r.choice(["D = E", "D, E = E, D", f"E = {self.made()}"]))


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<dicts {seed}>", np=np)
