"""Random loops over variables that hold None or an array: assigned, exchanged, written to, asked for, left early."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

NAMES = ("a", "b")
VALUES = (
    "row * 2.0", "row", "np.sin(row)", "None", "row[::-1]", "{v}", "(row if {v} is None else {v} * 0.5)",
    "({v} + row if {v} is not None else None)", "y * 0.5", "y", "step(row, {v})", "x[i - 1]",
    "({v}.copy() if {v} is not None else row)",
)  # fmt: skip
TESTS = (
    "{t}", "{t}", "{t}", "{v} is None", "{v} is not None and {t}", "{v} is None or {t}",
    "{v} is not None and {v}[1] < 0.4",
)  # fmt: skip


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def filled(self, choices: tuple[str, ...]) -> str:
        pick = self.random
        test = f"row[{pick.randrange(3)}] > {pick.choice([0.2, 0.4, 0.5, 0.6, 0.8])}"
        return pick.choice(choices).format(v=pick.choice(NAMES), t=test)

    def statements(self, depth: int) -> list[str]:
        pick, kind, name = self.random, self.random.random(), self.random.choice(NAMES)
        if kind < 0.4:
            return [f"{name} = {self.filled(VALUES)}"]
        if kind < 0.55:
            return [f"if {name} is not None:", f"    total += {name}[{pick.randrange(3)}] * row[1] + {name}.sum()"]
        if kind < 0.62:
            return ["y = 0.5 * y + row"]
        if kind < 0.65:
            return [f"if {name} is not None:", f"    {name} {pick.choice(['+=', '*='])} {pick.choice(['0.9', 'row'])}"]
        if kind < 0.68:
            return ["y *= 0.9"]
        if kind < 0.72:
            return ["a, b = b, a"]
        if kind < 0.79:
            return [f"if {self.filled(TESTS)}:", f"    {pick.choice(['continue', 'break'])}"]
        if depth > 2:
            return ["total += row[0]"]
        sides = [f"if {self.filled(TESTS)}:", *self.block(depth + 1)]
        return [*sides, "else:", *self.block(depth + 1)] if pick.random() < 0.4 else sides

    def block(self, depth: int) -> list[str]:
        return ["    " + line for _ in range(self.random.randrange(1, 3)) for line in self.statements(depth)]

    def source(self) -> str:
        first = self.random.choice(["None", "None", "x[0] * 1.5"])
        body = [line for _ in range(self.random.randrange(2, 6)) for line in self.statements(0)]
        return "\n".join(
            [
                "def step(row, previous=None):",
                "    return row * 0.5 if previous is None else 0.5 * previous + row",
                "def f(x):",
                f"    a, b, total, y = None, {first}, 0.0, x[1] * 0.3",
                "    for i, row in enumerate(x):",
                *("        " + line for line in body),
                "    if a is not None:",
                "        total += a @ x[0]",
                "    if b is not None:",
                "        total += b.sum() * x[1, 1]",
                "    return total + y[0]\n",
            ]
        )


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<none {seed}>", np=np)
