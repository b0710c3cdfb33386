"""Random loops with slices whose bounds move with the loop, past both ends of the array too."""

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
        self.lines = ["s, n, y, rows = 0.0, 24, x * 0.5, x.reshape(4, 6) * 1.0"]
        self.lines.append(f"for i in range({r.choice(['24', '2, 40', '20', '1, 24', '30, 3, -1'])}):")
        for _ in range(r.choice([1, 1, 2, 3])):
            self.statement()
        if r.random() < 0.2:
            self.lines.append("    x = x * 0.9")

    def bound(self) -> str:
        r = self.random
        k = r.choice([1, 2, 5, 9, 12])
        return r.choice(
            [f"i - {k}", f"i + {k}", f"max(0, i - {k})", f"min(n, i + {k})", "i", "n - i", "-i", "2 * i", f"{k} - i",
             "", f"{k}", f"-{k}", "max(1, i - 20)", "min(n, i - 1)"]
        )  # fmt: skip

    def part(self) -> str:
        step = self.random.choice(["", "", "", "", ":2", ":-1"])
        return f"{self.bound()}:{self.bound()}{step}"

    def statement(self) -> None:
        r, array, part = self.random, self.random.choice(["x", "x", "y"]), self.part()
        test = r.choice(["x[i % 24] > 0.5", "i > 10", "s < 3.0"])
        row = r.choice(["rows[1, {}]", "rows[:, {}]", "rows[i % 4, {}]"]).format(part)
        forms = [
            [f"s += np.sum({array}[{part}]) * 0.1"],
            [f"s += np.sum({array}[{part}] ** 2 * x[i % 24])"],
            [f"s += np.max({array}[{part}], initial=0.1)"],
            [f"s += len({array}[{part}]) * x[i % 24]"],
            [f"y[{part}] = 0.1 * i"],
            [f"y[{part}] *= 0.9"],
            [f"y[{part}] += x[{part}] * 0.1"],
            [f"y[{part}] = x[{part}] * s * 0.1"],
            [f"s += 0.1 * (x[{part}] @ y[{part}])"],
            [f"w = {array}[{part}]", "s += np.sum(np.sin(w))"],
            [f"w = {array}[{part}].copy()", "if len(w): s += w[0] + w[-1]"],
            [f"lo, hi = {self.bound() or 0}, {self.bound() or 'n'}", f"s += 0.1 * np.sum({array}[lo:hi])"],
            [f"s += 0.1 * np.sum({row})"],
            [f"{row} *= 0.95"],
            [f"if {test}: s += np.sum({array}[{part}]) * 0.1"],
            [f"w = {array}[{part}]", "s += 0.1 * np.sum(w[1:] * w[:-1]) + np.sum(np.diff(w))"],
            ["w = y[:i]", f"w[{r.choice(['1:', ':-1', ':-2', '2:'])}] *= 0.9"],
            ["w = x[i:] * 1.0", f"u = w[{r.choice(['1:', ':-1', '3:-2'])}]", "u += 0.1", "s += np.sum(w * w)"],
            [f"for j in range(3): s += 0.1 * np.sum({array}[{part}]) * x[j]"],
        ]
        self.lines += ["    " + line for line in r.choice(forms)]

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s + np.sum(x) + np.sum(y * y) + np.sum(rows)"]) + "\n"


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<slices in loops {seed}>", np=np)
