"""Random programs with a list of lists, or of arrays, in whose places loops put others, and to which they write."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24

ARRAYS = {
    "first": [
        ["L = [x[i:i + m].copy() for i in range(n)]"],
        ["L = [np.zeros(m) for _ in range(n)]"],
        ["L = [x[i:i + m] * x[0] for i in range(n)]"],
        ["L = []", "for i in range(n):", "    a = x[i:i + m] + 0.5", "    L.append(a)", "    s += L[-1][0]"],
        ["L = []", "for i in range(n):", "    a = x[i:i + m] + x[i]", "    L.append(a)", "    a = a * 2.0"],
        ["L = [x[i:i + m] for i in range(n)]"],
        ["z = x[0:m] * 1.5", "L = [z for _ in range(n)]"],
        ["L = [row.copy() for row in np.outer(x[:n], x[:m])]"],
    ],
    "then": [
        ["L[I] = L[J] * 0.9 + S"],
        ["L[I] = L[I] + 0.1 * L[J]"],
        ["L[I] += 0.1 * L[J]"],
        ["L[I] *= 0.9"],
        ["L[I][0] = S"],
        ["L[I][1] += L[J][0]"],
        ["L[I][:] = L[J] * 0.5"],
        ["r = L[I]"],
        ["r = L[I]", "r += S"],
        ["r = L[I]", "r[0] = S"],
        ["r = L[I][1:]", "r[0] = S"],
        ["r = L[I]", "L[I] = r * 0.8", "s += r[0]"],
        ["r = L[I]", "L[I] += 1.0", "s += r[0]"],
        ["q = L[I].copy()", "L[J] = q"],
        ["q = L[I] * 1.1", "L[J] = q", "q += 1.0"],
        ["L[I], L[J] = L[J], L[I]"],
        ["L[I] = L[J]"],
        ["s += L[I] @ L[J] * 0.1"],
        ["for v in L:", "    s += v[0] * 0.1"],
    ],
}
LISTS = {
    "first": [
        ["L = [[x[(i * m + j) % 20] for j in range(m)] for i in range(n)]"],
        ["L = [[0.0] * m for _ in range(n)]"],
        ["L = [[x[i], x[i] * 2] + [1.0] * (m - 2) for i in range(n)]"],
        ["L = []", "for i in range(n):", "    b = []", "    for j in range(m):", "        b.append(x[i] * x[j])"]
        + ["    L.append(b)", "    b[0] = 2.0"],
        ["L = []", "for i in range(n):", "    b = []", "    L.append(b)", "    for j in range(m):"]
        + ["        b.append(x[i] * x[j])", "    L[0][0] = x[1]"],
        ["z = [x[0]] * m", "L = [z for _ in range(n)]"],
        ["L = [list(x[i:i + m]) for i in range(n)]"],
    ],
    "then": [
        ["L[I][0] += S"],
        ["L[I][1] = L[J][0] * 0.9"],
        ["L[I] = [v * 0.9 + S for v in L[J]]"],
        ["L[I] = [u - 0.1 * v for u, v in zip(L[I], L[J])]"],
        ["L[I] = L[J][:]"],
        ["L[I] = [0.0] * m"],
        ["L[I], L[J] = L[J], L[I]"],
        ["q = L[I]", "L[I] = L[J]", "L[J] = q"],
        ["q = L[I]", "L[I] = L[J]", "L[J] = q", "q[0] += S"],
        ["p = max(range(n), key=lambda k: L[k][0])", "L[I], L[p] = L[p], L[I]"],
        ["L[I][0], L[J][0] = L[J][0], L[I][0]"],
        ["L[I] = L[J]"],
        ["r = L[I]"],
        ["r = L[I]", "r[0] = S"],
        ["r = L[I]", "L[I] = [v + 1 for v in r]", "s += r[0]"],
        ["q = [v * 2 for v in L[I]]", "L[J] = q", "q[0] = S"],
        ["s += max(L[I])"],
        ["for v in L:", "    s += v[1] * 0.1"],
        ["for a, b in zip(L[I], L[J]):", "    s += a * b * 0.1"],
    ],
}


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.of = r.choice([ARRAYS, LISTS])
        self.lines = [f"n, m, s = {r.choice([3, 4, 5, 18])}, {r.choice([2, 3])}, 0.0", *r.choice(self.of["first"])]
        if r.random() < 0.15:
            self.lines.append(f"r = L[{r.choice(['0', 'n - 1'])}]")
        for _ in range(r.choice([1, 1, 2])):
            self.loops()
        if r.random() < 0.3 and any(line.startswith("r = ") for line in self.lines):
            self.lines.append("s += r[0]")

    def source(self) -> str:
        last = ["for i in range(n):", "    for k in range(m):", "        s += L[i][k] * (1.0 + 0.1 * i + 0.03 * k)"]
        return "\n    ".join(["def f(x):", *self.lines, *last, "return s"]) + "\n"

    def loops(self) -> None:
        r = self.random
        depth, indices = 0, ["0"]
        for index, extent in (("t", "2"), ("i", r.choice(["n", "n - 1"])), ("j", r.choice(["m", "i", "n"]))):
            if index == "i" or r.random() < 0.5:
                self.lines.append("    " * depth + f"for {index} in range({extent}):")
                depth += 1
                indices += [index] if index != "t" else []
                for _ in range(r.choice([1, 2]) if index == "i" else index == "j"):
                    self.statement(depth, indices)

    def statement(self, depth: int, indices: list[str]) -> None:
        r = self.random
        if r.random() < 0.2:
            test = r.choice([f"x[{indices[-1]}] > 0.5", "s > 1.0", f"{indices[-1]} % 2 == 0"])
            self.lines.append("    " * depth + f"if {test}:")
            depth += 1
        first, second = self.place(indices), self.place(indices)
        number = r.choice([f"x[{indices[-1]}]", "0.5", "s * 0.1"])
        for line in r.choice(self.of["then"]):
            line = line.replace("[I]", f"[{first}]").replace("[J]", f"[{second}]")
            self.lines.append(
                "    " * depth + (line[:-1] + number if line.endswith("S") else line.replace("S for", f"{number} for"))
            )

    def place(self, indices: list[str]) -> str:
        index = self.random.choice(indices)
        return self.random.choice(
            [f"{index} % n"] * 3 + [f"({index} + 1) % n", f"(n - 1 - {index}) % n", "0", f"int(x[{index}] * n) % n"]
        )


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<changed rows {seed}>", np=np)
