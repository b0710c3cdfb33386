"""Random loops over items around loops over time: variables of items, sums over all, arrays by item and by time."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

ITEMS, STEPS = 9, 5
VARIABLES = "uvw"
UPDATES = ("=", "=", "+=", "*=", "-=")


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.loops: list[str] = ["i"]

    def place(self) -> str:
        """One element of an array by item and time."""
        pick = self.random
        item = "i" if pick.random() < 0.95 else str(pick.randrange(ITEMS))
        return f"{item}, {pick.choice([*self.loops[1:], *self.loops[1:], str(pick.randrange(STEPS))])}"

    def number(self, depth: int = 2) -> str:
        pick = self.random
        kind = pick.random() if depth else 0.0
        if kind < 0.35:
            return pick.choice([*VARIABLES, f"x[{self.place()}]", f"y[{self.place()}]", "0.7"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.6:
            return f"({a} {pick.choice('+-*')} {b})"
        if kind < 0.8:
            return f"np.{pick.choice(['sin', 'tanh', 'cos'])}({a})"
        return f"max({a}, {b})" if kind < 0.9 else f"np.exp(-({a}) ** 2)"

    def statement(self) -> list[str]:
        pick, kind, time = self.random, self.random.random(), self.loops[-1]
        update = pick.choice(UPDATES)
        if kind < 0.4:
            number = self.number()
            return [f"{pick.choice(VARIABLES)} {update} {f'np.tanh({number})' if update == '*=' else number}"]
        if kind < 0.52:
            return [f"s {pick.choice(['+=', '-='])} {self.number()}"]
        if kind < 0.6:
            return [f"out[{self.place()}] {pick.choice(['=', '+='])} {self.number()}"]
        if kind < 0.64:
            return [f"keep[i] {update} {self.number()}"]
        if kind < 0.68 and time != "i":
            return [f"history[{time}] += {self.number()}"]
        if kind < 0.72:
            return [f"path = np.zeros({STEPS})", f"path[{pick.randrange(STEPS)}] = {self.number()}"]
        if kind < 0.76 and time != "i":
            return [f"path[{time}] = {self.number()} + path[{pick.randrange(STEPS)}]"]
        if kind < 0.78:
            return [f"last = {self.number()}"]
        if kind < 0.9:
            changed = [
                f"    {pick.choice([*VARIABLES, 's'])} {pick.choice(['+=', '='])} {self.number(1)}" for _ in "ab"
            ]
            lines = [f"if {self.number(1)} > {self.number(1)}:", changed[0].replace("s =", "s +=")]
            return lines if pick.random() < 0.5 else [*lines, "else:", changed[1].replace("s =", "s +=")]
        return self.loop()

    def loop(self) -> list[str]:
        pick = self.random
        if len(self.loops) > 2:
            return [f"s += {self.number()}"]
        index = "tk"[len(self.loops) - 1]
        bounds = pick.choice([f"{STEPS}", f"{STEPS}", f"1, {STEPS}", f"{STEPS - 1}, -1, -1", "3"])
        self.loops.append(index)
        body = self.block()
        self.loops.pop()
        return [f"for {index} in range({bounds}):", *body]

    def block(self) -> list[str]:
        lines = [line for _ in range(self.random.randint(1, 4)) for line in self.statement()]
        return [f"    {line}" for line in lines]

    def source(self) -> str:
        start = [
            f"    {v} = {self.number(1).replace('u', '0.3').replace('v', '0.2').replace('w', '0.1')}" for v in "uvw"
        ]
        body = [*start, f"    path = np.zeros({STEPS})", *self.block(), *(f"    {line}" for line in self.loop())]
        body += [*self.block(), f"    s += {self.random.choice(VARIABLES)} + path[2]"]
        lines = [
            f"x, y = x.reshape(2, {ITEMS}, {STEPS})", f"out, keep = np.zeros(({ITEMS}, {STEPS})), np.zeros({ITEMS})",
            f"history, s, last = np.zeros({STEPS}), 0.0, x[0, 0]", f"for i in range({ITEMS}):", *body,
            "return s + last + np.sum(np.sin(out)) + np.sum(np.tanh(keep)) + np.sum(history)",
        ]  # fmt: skip
        return "\n    ".join(["def f(x):", *lines, ""])


def random_item_loops(seed: int) -> Callable[[np.ndarray], float]:
    return function_of(Program(seed).source(), f"<items {seed}>", np=np)
