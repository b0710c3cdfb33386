"""Random programs that join lists whose length is data: with one another, known ones, arrays and generators."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24
LISTS = (
    "{v} + {w}", "{v}[:-1] + {w}[1:]", "[x[0]] + {v}", "{v} + [x[1], s]", "[x[2], 1.0] + {v}[1:] + {w}", "list({v})",
    "[u * 0.5 for u in {v}]", "{v}[1:] + {v}[:1]", "[u for u in {v} if u > 0.4] + {w}", "{w}",
    "sorted({v})", "[] + {v}",
)  # fmt: skip
MORE = (
    "{w}", "{w}[1:]", "x[:3]", "x[int(4 * x[5]):6]", "(u * u for u in x[:5])", "[u for u in {w} if u > 0.5]",
    "[x[7], 0.5]", "np.sin(x[:2])", "sorted({w})", "(x[k] for k in range(int(3 * x[9])))", "x[x > 0.8]", "range(2)",
)  # fmt: skip


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.lines = ["s = 0.0", "a, b = [], []", "for i in range(20):"]
        self.lines += ["    if x[i] > 0.5:", "        a.append(x[i])"]
        other = r.choice(["else:", "elif x[i] < 0.3:", "if x[i + 1] > 0.6:"])
        self.lines += [f"    {other}", f"        b.append({r.choice(['x[i] * 2', 'x[i]', '0.25'])})", "c = a"]
        if r.random() < 0.3:
            self.lines.append(f"for i in range({r.choice([2, 3])}):")
            self.lines += ["    " + line for _ in range(r.choice([1, 2])) for line in self.statement()]
        for _ in range(r.choice([1, 2, 3])):
            self.lines += self.statement()

    def filled(self, choices: tuple[str, ...]) -> str:
        return self.random.choice(choices).format(v=self.random.choice("aabbc"), w=self.random.choice("ab"))

    def statement(self) -> list[str]:
        r, v = self.random, self.random.choice("abc")
        return r.choice(
            [
                [f"{v} = {self.filled(LISTS)}"],
                [f"{v} = {self.filled(LISTS)}"],
                [f"{v}.extend({self.filled(MORE)})"],
                [f"{v}.extend({self.filled(MORE)})"],
                [f"{v} += {self.filled(LISTS)}"],
                ["if x[3] > 0.5:", f"    {v}.extend({self.filled(MORE)})"],
                [f"if {v}:", f"    {v}[0] = {v}[-1] * 0.5"],
                [f"if {v}:", f"    s += {v}.pop()"],
                [f"for u in {v}:", "    s = 0.9 * s + u"],
            ]
        )

    def source(self) -> str:
        last = [f"for k, u in enumerate({v}):\n        s += u * (k + {n})" for n, v in enumerate("abc")]
        return "\n    ".join(["def f(x):", *self.lines, *last, "return s + 0.1 * len(a) + 0.2 * len(c)"]) + "\n"


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<joined lists {seed}>", np=np)
