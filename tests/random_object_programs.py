"""Random loops over objects and short lists that are replaced, shared, put into lists, written to and compared."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .program_lists import function_of


@dataclass
class Compared:
    p: float
    q: float = 0.5

    def step(self, u):
        return type(self)(self.p + 0.1 * self.q, math.sin(self.q * u))

    def push(self, u):
        self.p += 0.2 * u


class Plain:
    def __init__(self, p, q=0.5):
        self.p, self.q = p, q

    step, push = Compared.step, Compared.push


class Slotted:
    __slots__ = ("p", "q")
    __init__, step, push = Plain.__init__, Compared.step, Compared.push


@dataclass(frozen=True)
class Frozen:
    p: float
    q: float = 0.5
    step = Compared.step


@dataclass
class Holding:
    p: float
    q: float = 0.5
    kept: list = field(default_factory=lambda: [0.5, 0.25])

    def step(self, u):
        return Holding(self.p + 0.1 * self.kept[1], math.sin(self.q * u), [self.kept[1], self.p * u])

    def push(self, u):
        self.kept[0] += 0.2 * u


CLASSES = (Compared, Compared, Plain, Slotted, Frozen, Holding)
NUMBERS = (
    "u", "{a}.p", "{a}.q", "{l}[0]", "{l}[1] * u", "s", "h[-1].p", "h[0].q", "sum(o.p * o.q for o in h)", "rows[-1][0]",
    "sum(r[0] * r[1] for r in rows)", "len(h) * 0.1", "h[i % len(h)].p", "max(o.p for o in h)",
    "d['k'].p", "t[0].q", "t[1][0]", "g(u).p",
)  # fmt: skip
OBJECTS = ("{a}.step(u)", "{a}.step({n})", "new({n}, {n})", "{b}", "new({n})", "h[-1]", "h[0]", "{a}.step(u).step(s)")
LISTS = ("[{l}[0] * u, {n}]", "[v * 0.9 for v in {l}]", "list({l})", "{m}", "[{n}] + {l}[:1]", "rows[-1]", "{l}[::-1]")
TESTS = (
    "u > 0.5", "u > 0.3", "i % 3 == 1", "{a} is {b}", "h[-1] is {a}", "{a} == h[0]", "{a} in h", "rows[-1] is {l}",
    "{l} == {m}", "{a} != {b}",
)  # fmt: skip


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.cls = self.random.choice(CLASSES)

    def filled(self, choices: tuple[str, ...]) -> str:
        pick = self.random
        names = {"a": pick.choice("aab"), "b": pick.choice("ab"), "l": pick.choice("llm"), "m": pick.choice("lm")}
        number = pick.choice(NUMBERS[:8]).format(**names)
        return pick.choice(choices).format(**names, n=f"math.sin({number})")

    def statements(self, depth: int) -> list[str]:
        pick, kind, number = self.random, self.random.random(), self.filled(NUMBERS)
        a, m = pick.choice("aab"), pick.choice("llm")
        if kind < 0.22:
            return [f"{a} = {self.filled(OBJECTS)}"]
        if kind < 0.36:
            return [f"{m} = {self.filled(LISTS)}"]
        if kind < 0.48:
            return [f"h.append({pick.choice([a, a, self.filled(OBJECTS)])})"]
        if kind < 0.56:
            return [f"rows.append({pick.choice([m, m, self.filled(LISTS)])})"]
        if kind < 0.66 and self.cls is not Frozen:
            target = pick.choice([a, a, a, "h[-1]", "h[0]", "d['k']", "t[0]"])
            return [pick.choice([f"{target}.p = math.sin({number})", f"{target}.q *= 0.9", f"{target}.push(u)"])]
        if kind < 0.72:
            return [f"{pick.choice([m, m, m, 'rows[-1]', 't[1]'])}[{pick.randrange(2)}] = math.sin({number})"]
        if kind < 0.75:
            return [pick.choice(["a, b = b, a", "l, m = m, l", f"d['k'] = {a}", f"t = ({a}, {m})", f"g = {a}.step"])]
        if kind < 0.8:
            change = [] if self.cls is Frozen or pick.random() < 0.7 else ["    o.p = 0.5 * o.p + u"]
            return ["for o in h:", "    s += o.p * 0.1", *change]
        if kind < 0.88 or depth > 1:
            return [f"s = math.sin(s + {number})"]
        sides = [f"if {self.filled(TESTS)}:", *self.block(depth + 1)]
        return [*sides, "else:", *self.block(depth + 1)] if pick.random() < 0.3 else sides

    def block(self, depth: int) -> list[str]:
        return ["    " + line for _ in range(self.random.randrange(1, 3)) for line in self.statements(depth)]

    def source(self) -> str:
        body = [line for _ in range(self.random.randrange(2, 6)) for line in self.statements(0)]
        return "\n".join(
            [
                "def f(x):",
                "    a, b, s = new(x[0], x[1]), new(0.3), 0.1",
                "    l, m, rows = [x[0], 0.5], [0.2, x[1]], [[0.1, x[2]]]",
                f"    h = {self.random.choice(['[a]', '[new(x[2])]', '[new(0.5), b]'])}",
                f"    d, t, g = {{'k': {self.random.choice('ab')}}}, (b, l), a.step",
                "    for i, u in enumerate(x):",
                *("        " + line for line in body),
                "    s += a.p * b.q + l[0] * m[1] + len(rows)",
                "    return s + sum(o.p + o.q for o in h) + sum(r[0] - r[1] for r in rows)\n",
            ]
        )


def function(seed: int) -> Callable:
    program = Program(seed)
    return function_of(program.source(), f"<objects {seed}>", np=np, math=math, new=program.cls)
