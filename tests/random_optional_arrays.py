"""Random loops with arrays that are None at first, are written to in place, and have other names."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24
NAMES = ("v", "w")


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.lines = ["s, z, base = 0.0, x[:3] * 1, x[3:6] * 0.5", "rows = x[:12].copy().reshape(4, 3)"]
        self.lines.append(f"v = {r.choice(['None', 'None', 'None', 'base'])}")
        self.lines.append(f"w = {r.choice(['None', 'None', 'v', 'z', 'base'])}")
        self.lines.append("for i in range(18):")
        for _ in range(r.choice([1, 2, 3, 4])):
            self.statement("    ", 0)
        if r.random() < 0.3:
            self.lines.append("    if s > 4.0: break")
        for _ in range(r.choice([0, 1, 1])):
            self.statement("", 0)

    def source(self) -> str:
        sums = [f"if {name} is not None: s += {k + 2} * np.sum({name})" for k, name in enumerate(NAMES)]
        body = ["def f(x):", *self.lines, *sums, "return s + np.sum(z) + 0.1 * np.sum(base) + np.sum(rows)"]
        return "\n    ".join(body) + "\n"

    def condition(self) -> str:
        return self.random.choice(["x[i] > 0.5", "x[i] > x[i + 3]", "z[0] > 0.4", "i > 3", "s < 1.5", "x[i] < 0.8"])

    def array(self) -> str:
        r = self.random
        new = ["x[:3] * x[i]", "np.zeros(3)", "z * 0.9", "base + x[i]", "z.copy()"]
        named = ["z", "base", "z[::-1]", "rows[i % 4]", "rows[1]"]
        return r.choice(new if r.random() < 0.75 else named)

    def in_place(self, name: str) -> str:
        value = self.random.choice(["x[i]", "0.1", "z * 0.1", "x[i] * base", "0.2 * s"])
        return self.random.choice(
            [
                f"{name} += {value}",
                f"{name} *= 0.9",
                f"{name}[:] = {value}",
                f"{name}[1] += x[i]",
                f"{name}[i % 3] = x[i]",
            ]
        )

    def use(self, name: str) -> str:
        return self.random.choice(
            [f"s += np.sum({name}) * 0.1", f"s += {name}[1]", f"z = z * 0.7 + {name} * 0.1", f"z[1] = {name}[0]"]
        )

    def statement(self, depth: str, level: int) -> None:
        r, name = self.random, self.random.choice(NAMES)
        other = NAMES[name == NAMES[0]]
        forms = [
            [
                f"if {name} is None:",
                f"    {name} = {self.array()}",
                f"elif {self.condition()}:",
                f"    {self.in_place(name)}",
            ],
            [f"if {name} is None:", f"    {name} = {self.array()}", "else:", f"    {name} = {name} * 0.9"],
            [f"if {name} is None:", f"    {name} = {self.array()}", self.in_place(name)],
            [f"if {name} is None and {self.condition()}:", f"    {name} = {self.array()}"],
            [f"if {name} is None or {self.condition()}:", f"    {name} = {self.array()}", self.use(name)],
            [f"if {name} is not None:", f"    {self.use(name)}"],
            [f"if {name} is not None and {self.condition()}:", f"    {self.in_place(name)}"],
            [f"if {name} is not None:", f"    {self.in_place(name)}", "else:", f"    {name} = {self.array()}"],
            [f"if {self.condition()}:", f"    {name} = {r.choice(['None', other, other, self.array()])}"],
            [f"{name} = {other}"],
            [f"{name} = {self.array()}", self.in_place(name)],
            ["v, w = w, v"],
            [self.in_place(r.choice(["z", "base", "rows[i % 4]", "rows[1]"]))],
            ["z = z * 0.8 + x[i] * 0.1"],
        ]
        if level < 1:
            self.lines.append(f"{depth}if {self.condition()}:" if depth else "if s > 0.5:")
            if r.random() < 0.2:
                self.statement(depth + "    ", level + 1)
                return
            self.lines.pop()
        form = r.choice(forms if depth else forms[2:6:2])
        self.lines += [depth + line.replace("[i", "[2") if not depth else depth + line for line in form]


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<optional arrays {seed}>", np=np)
