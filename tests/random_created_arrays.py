"""Random loops that make arrays of as many elements as data say."""

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
        self.lines = ["s, y, m = 0.0, x * 0.5, (5 * x).astype(int)"]
        around = r.choice(["for i in range(24):"] * 4 + ["for i in range(2, 20):", "for i in [1, 4, 7]:"])
        if r.random() < 0.8:
            self.lines.append(around)
        else:
            self.lines += ["i = 3", "if True:"]
        for _ in range(r.choice([1, 1, 2])):
            self.block()
        if r.random() < 0.2:
            self.lines.append("    x = x * 0.9")

    def number(self) -> str:
        return self.random.choice(
            ["int(9 * x[i])", "min(max(int(9 * x[i]), 1), 7)", "m[i]", "m[i] + 1", "len(x[x > x[i]])", "len(x[:m[i]])",
             "np.sum(x > x[i])", "max(int(7 * x[i]) - 1, 0)", "abs(int(20 * x[i]) - 12)", "m[i] * 2",
             "int(np.floor(9 * x[i]))", "m[i] + i", "m[0] + 1", "int(30 * x[i])"]
        )  # fmt: skip

    def made(self) -> str:
        r = self.random
        return r.choice(
            ["np.zeros(k)", "np.ones(k)", "np.ones(k) * x[i]", "np.full(k, x[i])", "np.arange(k)", "np.arange(k) * 0.1",
             "np.arange(1, k + 1)", "np.arange(0, k, 2)", "np.arange(k, 0, -1)", "np.arange(0.0, x[i], 0.11)",
             "np.linspace(0.0, x[i], k)", "np.linspace(x[0], 1.0, k + 2)", "np.linspace(0, 1, k, endpoint=False)",
             "np.zeros((k,))", "np.ones(k) * 0", "np.exp(-np.arange(k) * x[i])", "np.arange(-1, k)",
             "np.full((k,), 0.5)",
             "np.arange(k, dtype=float)", "np.zeros(k, int)", "np.arange(m[i], k)", "np.arange(k + 0.5)",
             "np.zeros(shape=k)", "np.ones((k, 2))[:, 1]", "np.zeros((3, k))[1]"]
        )  # fmt: skip

    def use(self) -> list[str]:
        r, j = self.random, self.random.choice(["0", "-1", "k // 2", "len(w) - 1"])
        return r.choice(
            [
                ["s += np.sum(w) * x[i]"],
                ["s += len(w) * x[i] + w.size"],
                ["s += np.sum(w * w)"],
                ["for j in range(len(w)): s += w[j] * x[j % 24]"],
                ["for v in w: s += v * x[i]"],
                ["w = w * 1.0", "for j in range(len(w)): w[j] += x[j % 24] * j", "s += np.sum(w ** 2)"],
                ["w = w * 1.0", "w[1:] += 0.5 * x[i]", "s += np.sum(w ** 2)"],
                [f"if len(w) > 0: s += w[{j}] * x[i]"],
                ["n = min(len(w), 24)", "s += np.dot(w[:n], x[:n])"],
                ["s += np.max(w) if len(w) else 0.3"],
                ["w = np.cumsum(w)", "s += np.sum(w) * 0.01"],
                ["u = np.where(w > 0.5, w, x[i])", "s += np.sum(u)"],
                ["u = w[w > 0.4]", "s += np.sum(u) * x[i]"],
                ["y[:len(w)] += x[i] * 0.01"],
                ["u = np.concatenate([w, x[:2]])", "s += np.sum(u[1:] * u[:-1])"],
                ["u = w", "w = w + x[i]", "s += np.sum(u * w)"],
                ["w = np.array(w, dtype=float)", "w += x[i]", "w *= w", "s += w.sum()"],
                ["s += np.sum(np.sort(w)[::-1] * np.arange(len(w)))"],
                ["if x[i] > 0.5: w = w * x[i]", "s += np.sum(w)"],
                ["s += np.mean(w) if w.size > 0 else x[i]"],
                ["u = np.zeros_like(w)", "u[:] = x[i]", "s += np.sum(u * w)"],
                ["s += np.sum(x[w.astype(int) % 24])"],
                ["s += sum(a * b for a, b in zip(w, x))"],
                ["s += np.sum([v * x[j % 24] for j, v in enumerate(w)])"],
                ["s += np.sum(np.outer(w, x[:3]))"],
            ]
        )

    def block(self) -> None:
        r = self.random
        lines = [f"k = {self.number()}"]
        if r.random() < 0.25:
            lines.append("if k > 4: k = 4")
        if r.random() < 0.15:
            lines += [f"w = {self.made()} if x[i] > 0.4 else {self.made()}"]
        else:
            lines.append(f"w = {self.made()}")
        for _ in range(r.choice([1, 1, 2])):
            lines += self.use()
        if r.random() < 0.15:
            lines = ["if x[i] > 0.3:", *["    " + line for line in lines]]
        self.lines += ["    " + line for line in lines]

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s + np.sum(x) + np.sum(y * y)"]) + "\n"


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<created arrays {seed}>", np=np)
