"""Expressions of random programs with loops: numbers, vectors, slices and conditions from the names at hand.

Indices of loops are known with their bounds, so that elements exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

N = 6  # elements of a vector


@dataclass(frozen=True)
class Index:
    """An integer of the program between `low` and `high` (of an empty loop `low` is more than `high`)."""

    text: str
    low: int
    high: int


@dataclass
class Names:
    """What a block of the program can use."""

    scalars: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)  # of N elements
    small: list[str] = field(default_factory=list)  # of three
    matrices: list[str] = field(default_factory=list)
    indices: list[Index] = field(default_factory=list)

    def copy(self) -> Names:
        return Names([*self.scalars], [*self.vectors], [*self.small], [*self.matrices], [*self.indices])


@dataclass
class Expressions:
    """The expressions of a program under construction; `choose(low, high)` makes its choices."""

    choose: Callable[[int, int], int]
    excluded: frozenset[str] = frozenset()
    most_lines: int = 40  # after which no more loops begin
    lines: list[str] = field(default_factory=list)
    level: int = 1  # of indentation
    loops: int = 0  # around
    number: int = 0  # of names given
    names: Names = field(default_factory=Names)
    used: set[str] = field(default_factory=set)

    def add(self, line: str) -> None:
        self.lines.append("    " * self.level + line)

    def pick(self, options: Any) -> Any:
        return options[self.choose(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.choose(0, 99) >= 100 - percent

    def new(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    @contextmanager
    def block(self) -> Iterator[None]:
        """What is named in it is not known after it."""
        outer, self.names = self.names, self.names.copy()
        self.level += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.add("pass")
        self.level -= 1
        self.names = outer

    # Numbers.

    def index(self, least: int = 0, most: int = N - 1, wraps: bool = True) -> str:
        """An integer in [least, most], or the negative one that counts from the end."""
        found = []
        for v in self.names.indices:
            if v.low > v.high:
                continue
            for shift in (0, 0, -1, 1, -2):
                low, high = v.low + shift, v.high + shift
                text = v.text if shift == 0 else f"{v.text} {'+' if shift > 0 else '-'} {abs(shift)}"
                if (least <= low and high <= most) or (
                    wraps and least == 0 and low >= -N and high < 0 and most == N - 1
                ):
                    found.append(text)
                elif wraps and least == 0 and most == N - 1 and shift == -1 and low == -1 and high <= most:
                    found += [text] if self.chance(10) else []
            low, high = N - 1 - v.high, N - 1 - v.low
            if least <= low and high <= most:
                found.append(f"n - 1 - {v.text}")
                if wraps and least == 0 and most == N - 1:
                    found.append(f"-{v.text} - 1")
            if least <= 2 * v.low and 2 * v.high <= most:
                found.append(f"2 * {v.text}")
            if v.low >= 0 and least <= v.low // 2 and v.high // 2 <= most and self.chance(20):
                found.append(f"{v.text} // 2")
            if wraps and self.chance(15):
                if least == 0 and most == N - 1 and v.low >= 0 and v.high < N:
                    found.append(f"idx[{v.text}]")
                elif least == 0 and most == N - 1:
                    found.append(f"({v.text} + 1) % n")
        if not found or self.chance(8):
            found = [str(k) for k in range(max(least, 0), most + 1)] or ["0"]
        return self.pick(found)

    def part(self) -> str:
        """A slice of an axis with N elements."""
        k = self.index(0, N, wraps=False)
        empty = f"{k}:{k}" if self.chance(20) else ":"
        return self.pick((f":{k}", f"{k}:", f":{k}", ":", empty, "::2"))

    def scalar(self, depth: int = 2) -> str:
        names = self.names
        kind = self.choose(0, 11 if depth else 4)
        if kind in (0, 1):
            return f"{self.pick(names.vectors)}[{self.index()}]"
        if kind == 2:
            return f"{self.pick(names.matrices)}[{self.index()}, {self.index()}]"
        if kind == 3:
            return self.pick([*names.scalars, "0.5"])
        if kind == 4:
            if self.chance(30) and names.indices:
                return f"0.1 * {self.pick(names.indices).text}"
            if names.small and self.chance(50):
                return f"{self.pick(names.small)}[{self.choose(0, 2)}]"
            return self.pick(names.scalars)
        if kind == 5:
            return f"np.{self.pick(('sin', 'tanh', 'cos', 'arctan'))}({self.scalar(depth - 1)})"
        if kind == 6:
            return f"math.{self.pick(('sin', 'tanh'))}({self.scalar(depth - 1)})"
        if kind == 7:
            return self.reduction()
        if kind == 8 and self.allowed("conditional"):
            return f"({self.scalar(depth - 1)} if {self.condition()} else {self.scalar(depth - 1)})"
        if kind == 9 and self.allowed("minimum"):
            return f"{self.pick(('min', 'max'))}({self.scalar(depth - 1)}, {self.scalar(depth - 1)})"
        if kind == 10 and self.allowed("helper"):
            return f"bent({self.scalar(depth - 1)}, {self.scalar(depth - 1)})"
        operator = self.pick(("+", "-", "*", "* 0.5 +"))
        return f"({self.scalar(depth - 1)} {operator} {self.scalar(depth - 1)})"

    def allowed(self, construct: str) -> bool:
        if construct in self.excluded:
            return False
        self.used.add(construct)
        return True

    def bounded(self, depth: int = 2) -> str:
        return f"{self.pick(('np.tanh', 'np.sin', '0.4 * np.cos', 'math.tanh'))}({self.scalar(depth)})"

    def reduction(self) -> str:
        names = self.names
        vector, other, matrix = self.pick(names.vectors), self.pick(names.vectors), self.pick(names.matrices)
        part = self.part()
        i, j = self.index(), self.index()
        kind = self.choose(0, 7)
        if kind == 0:
            return f"0.2 * np.sum({vector}[{part}])"
        if kind == 1:
            return f"0.2 * np.dot({vector}[{part}], {other}[{part}])"
        if kind == 2:
            return f"0.2 * ({matrix}[{i}, {part}] @ {matrix}[{part}, {j}])"
        if kind == 3:
            return f"0.2 * {matrix}[{i}, {part}].sum()"
        if kind == 4:
            k = self.index(0, N - 1, wraps=False)
            return f"np.mean({vector}[{k}:])"
        if kind == 5 and self.allowed("sum of a generator"):
            q = self.new("q")
            return (
                f"0.2 * sum({vector}[{q}] * {other}[{self.index()}] for {q} in range({self.index(0, N, wraps=False)}))"
            )
        if kind == 6:
            return f"0.2 * np.sum({matrix}[{part}, {j}] * {vector}[{part}])"
        return f"0.2 * np.vdot({vector}, {matrix}[{i}])"

    def condition(self) -> str:
        names = self.names
        kind = self.choose(0, 7)
        if kind in (0, 1) or not names.indices:
            if self.chance(20):
                joined = self.pick(("and", "or"))
                return f"{self.scalar(0)} > {self.scalar(0)} {joined} {self.pick(('', 'not '))}({self.scalar(0)} < 0.3)"
            return f"{self.scalar(1)} {self.pick(('>', '<', '>='))} {self.pick((self.scalar(0), '0.0', '0.1'))}"
        index = self.pick(names.indices).text
        if kind == 2 and self.allowed("parity"):
            return f"{index} % 2 == 0"
        if kind in (3, 4):
            other = self.pick([i.text for i in names.indices] + ["0", "n - 1", "2"])
            return f"{index} {self.pick(('==', '==', '>', '<', '!='))} {other}"
        if kind == 5 and self.allowed("test of run-time integers"):
            return f"idx[{self.index(wraps=False)}] > {self.choose(0, 3)}"
        return f"{self.scalar(0)} > 0.2"

    def vector(self) -> str:
        """An expression for N numbers."""
        names = self.names
        kind = self.choose(0, 5)
        if kind == 0:
            return self.pick(names.vectors)
        if kind == 1:
            return f"{self.pick(names.matrices)}[{self.index()}]"
        if kind == 2:
            return f"{self.pick(names.matrices)}[:, {self.index()}]"
        if kind == 3:
            return f"0.2 * ({self.pick(names.matrices)} @ {self.pick(names.vectors)})"
        if kind == 4:
            return f"{self.scalar(1)} * {self.pick(names.vectors)}"
        return f"({self.pick(names.vectors)} + {self.pick(names.matrices)}[{self.index()}])"
