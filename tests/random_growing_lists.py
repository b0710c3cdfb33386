"""Random loops over lists that get longer: filled, read, run over, cut, joined and written to while they do."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

NUMBERS = (
    "x[i]", "s", "{v}[-1]", "{v}[i - 1]", "sum({v})", "sum(u * u for u in {v})", "len({v}) * 0.1", "max({v})",
    "sum(a * b for a, b in zip({v}, h))", "sum(h[j] * x[j] for j in range(i))", "np.sum(np.array({v}))", "min(h)",
    "{v}[len({v}) // 2]", "np.dot({v}, {v})", "{v}[0] * x[i]",
)  # fmt: skip
LISTS = (
    "[x[j] * x[i] for j in range(i)]", "[u * 0.5 for u in h]", "[a - b for a, b in zip(h, {v})]", "{v}[::-1]",
    "[u for u in {v} if u > 0.3]", "{v}[1:]", "list(h)", "h[:]", "{v} + [x[i]]", "[x[0]] + {v}", "list(reversed(h))",
    "sorted({v})", "[h[j] for j in range(len(h))]", "[u + x[j] for j, u in enumerate(h[:5])]", "[]", "[x[i]]", "{w}",
    "[x[j] for j in range(i - 2)]", "[x[i] + x[j] for j in range(i, 8)]", "[0.5] * i", "[{v}[0], *{v}[1:]]",
)  # fmt: skip


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def filled(self, choices: tuple[str, ...]) -> str:
        v, w = self.random.choice(["h", "h", "r", "q"]), self.random.choice("rq")
        return self.random.choice(choices).format(v=v, w=w)

    @property
    def number(self) -> str:
        """A number, 0.0 where it asks a list that is too short for it."""
        return f"number(lambda: {self.filled(NUMBERS)})" if self.random.random() < 0.1 else self.filled(NUMBERS)

    def statements(self, depth: int) -> list[str]:
        pick, kind = self.random, self.random.random()
        v = pick.choice("rq")
        if kind < 0.18:
            return [f"h.append(math.sin({self.number}))"]
        if kind < 0.4:
            return [f"{v} = {self.filled(LISTS)}"]
        if kind < 0.48:
            return [f"{v}.append({self.number})"]
        if kind < 0.58:
            place = pick.choice(["0", "-1", "i % len({v})"]).format(v=v)
            return [f"if {v}:", f"    {v}[{place}] = {self.number}"]
        if kind < 0.64:
            return [f"for j in range(len({v})):", f"    {v}[j] = {v}[j] * 0.5 + {pick.choice(['x[i]', 's', 'h[0]'])}"]
        if kind < 0.72:
            return [f"for j, u in enumerate({pick.choice(['h', v])}):", "    s = 0.9 * s + u * x[j % 8]"]
        if kind < 0.74:
            more = pick.choice([f"len({v})", "3", "i"])
            return [f"if {v}:", f"    for j in range({more}):", f"        {v}.append(0.5 * {v}[j % len({v})] + x[i])"]
        if kind < 0.77:
            return [f"for {pick.choice(['u in reversed(h)', 'u in h'])}:", "    s = math.cos(s) * u"]
        if kind < 0.79:
            return [f"if r is q or len({v}) == {pick.randrange(4)}:", "    s += 0.3"]
        if kind < 0.82:
            return ["r, q = q, r"]
        if kind < 0.85:
            return [f"if len({v}) > 1:", f"    s += {v}.pop({pick.choice(['', '0'])})"]
        if kind < 0.9 or depth > 1:
            return [f"s = math.sin(s + {self.number})"]
        test = pick.choice(["x[i] > 0.5", "i > 3", "i % 2", f"{v}", "s < 0.4"])
        return [f"if {test}:", *self.block(depth + 1)]

    def block(self, depth: int) -> list[str]:
        return ["    " + line for _ in range(self.random.randrange(1, 3)) for line in self.statements(depth)]

    def source(self) -> str:
        first = self.random.choice(["[x[0]]", "[x[0], x[1] * 0.5]", "[1.0]"])
        body = [line for _ in range(self.random.randrange(2, 6)) for line in self.statements(0)]
        return "\n".join(
            [
                "def f(x):",
                f"    h, r, q, s = {first}, [x[2], 0.5], [x[3]], 0.1",
                f"    for i in range({self.random.choice(['1', '2'])}, 8):",
                *("        " + line for line in body),
                "    return s + sum(h) + sum(u * u for u in r) + sum(q) * x[4]\n",
            ]
        )


def number(read: Callable) -> float:
    """What is read, or 0.0 where there is nothing."""
    try:
        return read()
    except (IndexError, ValueError):
        return 0.0


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<growing {seed}>", np=np, math=math, number=number)
