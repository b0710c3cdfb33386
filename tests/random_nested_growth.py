"""Random loops that append to lists on the sides of branches within branches."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24
TESTS = ("x[i] > 0.5", "x[i] > x[i + 2]", "s < 2.0", "x[i] < 0.8", "i > 6", "t > 0.3", "x[i] > 0.3 and x[i + 1] < 0.7")
TESTS += ("0.2 < x[i] < 0.7", "x[i] > 0.9 or t > 0.5")


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.kind = r.choice(["number"] * 3 + ["pair", "array"])
        self.lines = ["s, t, out, more = 0.0, 0.4, [], []", "for i in range(18):"]
        for _ in range(r.choice([1, 1, 2, 3])):
            self.branch("    ", 0)
        if r.random() < 0.4:
            self.lines.append("    t = 0.5 * t + 0.3 * x[i]")

    def item(self) -> str:
        kinds = {"number": ["x[i]", "s * 0.1", "x[i] * t", "0.5", "t"], "pair": ["(x[i], s)", "(t, 1.0)", "(x[i], t)"]}
        return self.random.choice(kinds.get(self.kind, ["x[i : i + 2] * t", "x[:2]", "x[2:4] * s"]))

    def number(self, item: str) -> str:
        return {"number": item, "pair": f"{item}[0]", "array": f"np.sum({item})"}[self.kind]

    def leaf(self, depth: str, grows: bool) -> None:
        r = self.random
        found = [f"out.append({self.item()})"] if grows else []
        if r.random() < 0.3:
            found.append(r.choice(["t = x[i] * 0.5", "s += x[i]", "s = 0.9 * s + t"]))
        if r.random() < 0.2:
            found.append(f"s += 0.1 * {self.number('out[-1]')}" if grows else "s += 0.01 * len(out)")
        if r.random() < 0.08:
            found.append(
                r.choice([f"out.append({self.item()})", "continue", f"more.append({self.item()})", "if out: out.pop()"])
            )
        r.shuffle(found[1:])
        self.lines += [depth + line for line in found or ["pass"]]

    def branch(self, depth: str, level: int) -> None:
        r = self.random
        evenly = r.random() < 0.85
        self.lines.append(f"{depth}if {r.choice(TESTS)}:")
        self.side(depth + "    ", level, evenly or r.random() < 0.5)
        if r.random() < 0.3:
            self.lines.append(f"{depth}elif {r.choice(TESTS)}:")
            self.side(depth + "    ", level, evenly or r.random() < 0.5)
        if evenly or r.random() < 0.5:
            self.lines.append(f"{depth}else:")
            self.side(depth + "    ", level, evenly or r.random() < 0.5)

    def side(self, depth: str, level: int, grows: bool) -> None:
        if level < 2 and self.random.random() < 0.4:
            self.branch(depth, level + 1)
            if self.random.random() < 0.2:
                self.lines.append(f"{depth}s += 0.1 * {self.number('out[-1]')} if out else 0.5")
        else:
            self.leaf(depth, grows)

    def source(self) -> str:
        total = self.number("o")
        sums = [f"for k, o in enumerate(out): s += (k + 1) * {total}", f"for o in more: s += {total}"]
        last = ["s += np.sum(np.array(out))"] if self.kind != "pair" and self.random.random() < 0.3 else []
        return "\n    ".join(["def f(x):", *self.lines, *last, *sums, "return s + t + 0.1 * len(out)"]) + "\n"


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<nested growth {seed}>", np=np)
