"""Random programs over lists, tuples, objects and arrays that no loop stays for, when all are written out."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

COUNT = 6  # things of each kind
FUNCTIONS = ("math.sin", "math.tanh", "math.cos", "abs")


class Thing:
    def __init__(self, a, b):
        self.a, self.b, self.c = a, b, np.array([a, b, 0.5])


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def number(self, index: str, depth: int = 2) -> str:
        """Of the things at an index."""
        pick = self.random
        if depth == 0 or pick.random() < 0.3:
            other = pick.choice([index, index, f"({index} + 1) % {COUNT}", f"{index} - 1", str(pick.randrange(COUNT))])
            sources = [f"u[{other}]", f"v[{other}]", f"things[{other}].a", f"things[{other}].b", f"x[2 * {index}]"]
            return pick.choice([*sources, f"pairs[{other}][0]", f"things[{other}].c[{pick.randrange(3)}]", "s", "0.7"])
        a, b = self.number(index, depth - 1), self.number(index, depth - 1)
        kind = pick.random()
        if kind < 0.55:
            return f"({a} {pick.choice('+-*')} {b})"
        if kind < 0.8:
            return f"{pick.choice(FUNCTIONS)}({a})"
        return pick.choice(
            [f"max({a}, {b})", f"({a}) ** 2", f"({a}) / (2.0 + ({b}) ** 2)", f"{0.1 * pick.randrange(9)} * {a}"]
        )

    def bounded(self, index: str) -> str:
        return f"math.tanh({self.number(index)})"

    def statement(self) -> list[str]:
        pick = self.random
        span = pick.choice([f"range({COUNT})", f"range({COUNT})", f"range(1, {COUNT})", f"range({COUNT - 1}, -1, -1)"])
        loop = f"for k in {span}:"
        target = pick.choice(["things[k].a", "things[k].b", "u[k]", "v[k]", "s", "y[k]", "y[2 * k]"])
        kind = pick.random()
        if kind < 0.4:
            return [loop, f"    {target} = {self.bounded('k')}"]
        if kind < 0.55:
            return [loop, f"    s {pick.choice(['+=', '-='])} {self.number('k')}", "s = math.tanh(s)"]
        if kind < 0.65:
            return [f"{pick.choice('uv')} = [{self.bounded('k')} for k in range({COUNT})]"]
        if kind < 0.72:
            return [f"s = math.tanh(sum({self.number('k')} for k in range({COUNT})))"]
        if kind < 0.8:
            change = pick.choice(["things[k].c = things[k].c + {}", "things[k].c *= {}", "things[k].c[1] = {}"])
            return [loop, "    " + change.format(self.bounded("k"))]
        if kind < 0.87:
            inner = f"u[k] += {self.bounded('j')} * {self.bounded('k')}"
            return [
                loop,
                f"    for j in range({pick.choice([str(COUNT), 'k'])}):",
                f"        {inner}",
                "    u[k] = math.tanh(u[k])",
            ]
        if kind < 0.94:
            return [f"pairs = [({self.bounded('k')}, u[k]) for k in range({COUNT})]"]
        return [loop, f"    y[k] += {self.number('k')}", f"    s = math.tanh(s + y[{pick.randrange(2 * COUNT)}])"]

    def source(self) -> str:
        lines = [
            f"u, v = list(x[:{COUNT}]), list(x[{COUNT}:{2 * COUNT}])",
            f"things = [Thing(x[k], x[k + {2 * COUNT}]) for k in range({COUNT})]",
            "pairs, y, s = list(zip(u, v)), 0.1 * x, 0.3",
            *(line for _ in range(self.random.randrange(3, 9)) for line in self.statement()),
            "return s + sum(u) * 0.3 + sum(v) + sum(t.a * t.b + np.sum(t.c) for t in things) + np.sum(y) + pairs[1][0]",
        ]
        return "\n    ".join(["def f(x):", *lines, ""])


def random_unrolled(seed: int) -> Callable[[np.ndarray], float]:
    return function_of(Program(seed).source(), f"<unrolled {seed}>", np=np, math=math, Thing=Thing)
