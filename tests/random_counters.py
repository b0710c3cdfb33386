"""Random nests of loops over integers that count: by known steps, by indices, by data, up and down, and start again."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 60  # of the tables that they index


class Program:
    """The source of one, from a seed: a function of two such tables in one array."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.counters = ["a", "b", "c"][: self.random.randint(1, 3)]
        self.lines = [f"    {name} = {self.random.randint(-2, 4)}" for name in self.counters]
        if self.random.random() < 0.3:
            self.lines.append(f"    {self.counters[0]} = int(w[0] > 0.5)")
        for _ in range(3):
            self.block(1, [])

    def source(self) -> str:
        head = ["def f(z):", "    x, w = z[:60], z[60:]", "    n, s, y = 5, 0.0, np.zeros(60)"]
        last = f"    return s + np.sum(y * w) + {' + '.join(self.counters)}"
        return "\n".join([*head, *self.lines, last]) + "\n"

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def counter(self) -> str:
        return self.random.choice(self.counters)

    def step(self, indices: list[str]) -> str:
        """A counter changes."""
        r, name = self.random, self.counter()
        forms = [f"{name} += {r.choice([1, 1, 1, 2, -1, 3])}"] * 6
        forms += [f"{name} = {r.randint(-1, 3)}", f"{name} = {self.counter()} + {r.randint(-1, 2)}"]
        forms += [f"{name} += {self.counter()} % 3", f"{name} += int(x[{self.counter()} % 30] > 0.3)"]
        for index in indices:
            forms += [f"{name} += {index}", f"{name} -= {index}", f"{name} += 2 * {index} + 1", f"{name} = {index}"]
        return r.choice(forms)

    def use(self, indices: list[str]) -> str:
        """A counter is read."""
        r, name = self.random, self.counter()
        other = r.choice([*indices, "1"])
        place = r.choice([f"{name} % 30", f"{name} % 30", f"abs({name}) % 50", f"({name} + {other}) % 60"])
        return r.choice(
            [
                f"s += np.sin(x[{place}]) * w[{other}]",
                f"s += x[{place}] * {name}",
                f"y[{place}] += x[{self.counter()} % 30] * w[1]",
                f"y[{place}] = x[3] + w[{place}]",
                f"if x[{place}] > 0.2: {self.step(indices)}",
                f"if {name} % 2 == 0: s += x[{place}]",
                f"if x[{place}] > 1.6: {r.choice(['break', 'continue'])}" if indices else f"s -= {name}",
            ]
        )

    def block(self, depth: int, indices: list[str]) -> None:
        r = self.random
        for _ in range(r.randint(1, 3)):
            kind = r.random()
            if kind < 0.4 and depth < 4:
                self.loop(depth, indices)
            else:
                self.add(depth, self.step(indices) if kind < 0.7 else self.use(indices))

    def loop(self, depth: int, indices: list[str]) -> None:
        r, index = self.random, "ijk"[depth - 1]
        ranges = ["range(n)", "range(4)", "range(2, 6)", "range(5, 0, -1)"]
        if indices:
            o = indices[-1]
            ranges += [f"range({o})", f"range({o} + 1, n)", f"range({o} + 1)", f"range(n - {o})"] * 2
        if r.random() < 0.12:
            self.add(depth, f"q{depth} = 0")
            self.add(depth, f"while q{depth} < 4:")
            self.add(depth + 1, f"q{depth} += 1")
            self.block(depth + 1, indices)
        else:
            self.add(depth, f"for {index} in {r.choice(ranges)}:")
            self.block(depth + 1, [*indices, index])
        if r.random() < 0.1:
            self.add(depth + 1, f"if x[{self.counter()} % 30] > 1.6: {r.choice(['break', 'continue'])}")
        if r.random() < 0.5:
            self.add(depth + 1, self.step(indices))


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<counters {seed}>", np=np)
