"""Random functions with nested loops and branches, as source text: what fails can be read, and pasted into a test.

Each is `f(x, y, a, s, idx, ptr)`: vectors `x` and `y` of N numbers, a matrix `a` of N by N, a float `s`, run-time
integers `idx` (N indices) and `ptr` (N + 1 of them, that rise from 0 to N). Indices of loops are generated with their
bounds, so that elements exist; numbers stay bounded (`np.tanh` and small factors), so that differences are accurate.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

N = 6

HELPERS = """
def bent(u, v):
    if u > v:
        return 0.5 * u - v
    return np.sin(u) * v


def relaxed(v, k, weight=0.5):
    v[k] = weight * v[k] + 0.3 * np.tanh(v[k - 1])


class Thing:
    def __init__(self, energy, scale):
        self.energy = energy
        self.scale = scale

    def add(self, value):
        self.energy = self.scale * self.energy + np.tanh(value)
        return 0.5 * self.energy

"""


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
        return Names(*(list(part) for part in (self.scalars, self.vectors, self.small, self.matrices, self.indices)))


@dataclass
class Source:
    """A program under construction; `choose(low, high)` makes its choices."""

    choose: Callable[[int, int], int]
    excluded: frozenset[str] = frozenset()
    lines: list[str] = field(default_factory=list)
    level: int = 1  # of indentation
    loops: int = 0  # around
    number: int = 0  # of names given
    names: Names = field(default_factory=Names)
    used: set[str] = field(default_factory=set)

    def add(self, line: str) -> None:
        self.lines.append("    " * self.level + line)

    def pick(self, options):
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
                if (least <= low and high <= most) or (wraps and least == 0 and low >= -N and high < 0 and most == N - 1):
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

    def part(self) -> tuple[str, Index | None]:
        """A slice of an axis with N elements, and its extent where it is an index of a loop."""
        k = self.index(0, N, wraps=False)
        return self.pick((f":{k}", f"{k}:", f":{k}", ":", f"{k}:{k}" if self.chance(20) else ":", "::2")), None

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
        part, _ = self.part()
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
        if kind == 3:
            return f"{index} == {self.pick([i.text for i in names.indices] + ['0', 'n - 1', '2'])}"
        if kind == 4:
            return f"{index} {self.pick(('>', '<', '!='))} {self.pick([i.text for i in names.indices] + ['0', 'n - 1', '2'])}"
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

    # Statements.

    def statement(self) -> None:
        options = [
            self.element, self.element, self.element, self.matrix_element, self.part_of_vector, self.row, self.assign, self.assign,
            self.carried, self.swap, self.local_array, self.local_array, self.whole_vector, self.swap_vectors, self.exchange_elements,
            self.branch, self.branch, self.tuple, self.attribute, self.list, self.call, self.scatter, self.skip, self.counter,
        ]  # fmt: skip
        if self.loops < 3:
            options += [self.loop] * (4 if self.loops < 2 else 1)
        self.pick(options)()

    def statements(self, most: int) -> None:
        for _ in range(self.choose(1, most)):
            self.statement()

    def element(self) -> None:
        self.add(
            f"{self.pick(self.names.vectors)}[{self.index()}] {self.pick(('=', '+=', '*=', '='))} {self.bounded()}"
        )

    def matrix_element(self) -> None:
        self.add(
            f"{self.pick(self.names.matrices)}[{self.index()}, {self.index()}] {self.pick(('=', '+=', '-='))} {self.bounded()}"
        )

    def part_of_vector(self) -> None:
        vector, part = self.pick(self.names.vectors), self.part()[0]
        value = self.pick((self.bounded(), f"np.tanh({self.pick(self.names.vectors)}[{part}])"))
        self.add(f"{vector}[{part}] {self.pick(('=', '+=', '*='))} {value}")

    def row(self) -> None:
        matrix, i, part = self.pick(self.names.matrices), self.index(), self.part()[0]
        target = self.pick(
            (
                f"{matrix}[{i}]",
                f"{matrix}[{i}, :]",
                f"{matrix}[:, {i}]",
                f"{matrix}[{i}, {part}]",
                f"{matrix}[{part}, {i}]",
            )
        )
        value = (
            f"np.tanh({self.vector()})"
            if part not in target or part == ":"
            else f"np.sin({self.pick(self.names.vectors)}[{part}])"
        )
        self.add(f"{target} {self.pick(('=', '+=', '*='))} {value}")

    def assign(self) -> None:
        if self.chance(40) and self.names.scalars:
            self.add(f"{self.target()} = {self.bounded()}")
            return
        value = self.bounded()
        name = self.new("t")
        self.add(f"{name} = {value}")
        self.names.scalars.append(name)

    def target(self) -> str:
        return self.pick([name for name in self.names.scalars if name.isidentifier()])

    def carried(self) -> None:
        name = self.target()
        self.add(
            self.pick(
                (
                    f"{name} = 0.5 * {name} + {self.bounded()}",
                    f"{name} += 0.3 * {self.bounded()}",
                    f"{name} *= {self.bounded()}",
                )
            )
        )

    def swap(self) -> None:
        a, b = self.target(), self.target()
        if a != b:
            self.add(f"{a}, {b} = {b}, {self.pick((a, f'0.5 * {a} + {self.bounded()}'))}")

    def local_array(self) -> None:
        kind = self.choose(0, 5)
        if kind <= 1:
            values = [self.scalar(1) for _ in range(3)]
            name = self.new("w")
            self.add(
                self.pick(
                    (f"{name} = np.zeros(3)", f"{name} = np.empty(3)", f"{name} = np.array([{', '.join(values)}])")
                )
            )
            for k in range(3):
                if "empty" in self.lines[-1 - k] or self.chance(30):
                    pass
            if "empty" in self.lines[-1]:
                self.add(f"{name}[:] = {values[0]}")
            self.add(f"{name}[{self.choose(0, 2)}] += {values[1]}")
            self.names.small.append(name)
        elif kind <= 3:
            value = self.pick(
                (
                    f"np.tanh({self.vector()})",
                    f"{self.pick(self.names.vectors)}.copy()",
                    "np.zeros(n)",
                    f"0.5 * {self.vector()}",
                )
            )
            name = self.new("v")
            self.add(f"{name} = {value}")
            self.names.vectors.append(name)
        elif kind == 4 and self.allowed("views"):
            value = self.pick(
                (
                    self.pick(self.names.vectors),
                    f"{self.pick(self.names.matrices)}[{self.index()}]",
                    f"{self.pick(self.names.vectors)}[::-1]",
                )
            )
            name = self.new("v")
            self.add(f"{name} = {value}")
            self.names.vectors.append(name)
        else:
            value = self.pick(
                (
                    f"np.outer({self.vector()}, {self.vector()}) * 0.2",
                    f"{self.pick(self.names.matrices)}.T",
                    f"np.tanh({self.pick(self.names.matrices)})",
                )
            )
            name = self.new("m")
            self.add(f"{name} = {value}")
            self.names.matrices.append(name)

    def whole_vector(self) -> None:
        names = [v for v in self.names.vectors if v.isidentifier()]
        name = self.pick(names)
        value = f"np.tanh({self.vector()})"
        self.add(
            self.pick(
                (f"{name} = {value}", f"{name} = 0.5 * {name} + {value}", f"{name} += {value}", f"{name}[:] = {value}")
            )
        )

    def swap_vectors(self) -> None:
        names = [v for v in self.names.vectors if v.isidentifier()]
        a, b = self.pick(names), self.pick(names)
        if a != b and self.allowed("exchanged arrays"):
            self.add(self.pick((f"{a}, {b} = {b}, {a}", f"{a}, {b} = {b}, 0.5 * {a} + np.tanh({self.vector()})")))

    def exchange_elements(self) -> None:
        a = f"{self.pick(self.names.vectors)}[{self.index()}]"
        b = f"{self.pick(self.names.vectors)}[{self.index()}]"
        self.add(f"{a}, {b} = {b}, 0.5 * {a}")

    def branch(self) -> None:
        self.add(f"if {self.condition()}:")
        with self.block():
            self.statements(2)
        if self.chance(25):
            self.add(f"elif {self.condition()}:")
            with self.block():
                self.statements(2)
        if self.chance(50):
            self.add("else:")
            with self.block():
                self.statements(2)

    def skip(self) -> None:
        if self.loops and self.allowed("continue"):
            self.add(f"if {self.condition()}:")
            with self.block():
                if self.chance(50):
                    self.statement()
                self.add("continue")

    def tuple(self) -> None:
        if self.allowed("tuple"):
            self.add(f"pair = (pair[1], 0.5 * pair[0] + {self.bounded()})")

    def attribute(self) -> None:
        if self.allowed("attribute"):
            self.add(
                self.pick(
                    (
                        f"thing.energy = 0.5 * thing.energy + {self.bounded()}",
                        f"thing.add({self.scalar()})",
                        f"{self.target()} = thing.add({self.scalar()})",
                        f"thing.energy += 0.1 * {self.bounded()}",
                    )
                )
            )

    def list(self) -> None:
        if self.allowed("list"):
            self.add(
                self.pick(
                    (
                        f"box[{self.choose(0, 2)}] = {self.bounded()}",
                        f"box[0], box[1] = box[1], 0.5 * box[0] + {self.bounded()}",
                        f"box[{self.choose(0, 2)}] += {self.bounded()}",
                        f"table['u'] = 0.5 * table['v'] + {self.bounded()}",
                    )
                )
            )

    def call(self) -> None:
        if self.allowed("helper that writes"):
            self.add(
                f"relaxed({self.pick(self.names.vectors)}, {self.index(1, wraps=False)}{self.pick(('', ', 0.3', f', weight={self.bounded(1)}'))})"
            )

    def scatter(self) -> None:
        if self.allowed("scatter"):
            at = f"idx[{self.index()}]"
            self.add(f"{self.pick(self.names.vectors)}[{at}] {self.pick(('=', '+=', '*='))} {self.bounded()}")

    def counter(self) -> None:
        if self.loops and self.allowed("counter"):
            self.add(self.pick(("k += 1", "k += 1", "k += 2", "k = k + 1")))

    # Loops.

    def loop(self) -> None:
        kind = self.choose(0, 15)
        self.loops += 1
        names = self.names
        i = self.new(self.pick("ijk"))
        temporaries = None
        counts = self.loops == 1 and self.chance(15) and self.allowed("counter")
        if kind == 8 and self.allowed("items"):
            source = self.pick(names.vectors)
            self.body(f"for v{i} in {source}:", [], [f"v{i}"])
        elif kind == 9 and self.allowed("items"):
            self.body(f"for {i}, v{i} in enumerate({self.pick(names.vectors)}):", [Index(i, 0, N - 1)], [f"v{i}"])
        elif kind == 10 and self.allowed("items"):
            self.body(
                f"for v{i}, u{i} in zip({self.pick(names.vectors)}, {self.pick(names.vectors)}):",
                [],
                [f"v{i}", f"u{i}"],
            )
        elif kind == 11 and self.allowed("rows"):
            self.body(f"for {i}, r{i} in enumerate({self.pick(names.matrices)}):", [Index(i, 0, N - 1)], [], [f"r{i}"])
        elif kind == 12 and self.allowed("run-time bounds") and any(0 <= v.low <= v.high < N for v in names.indices):
            v = self.pick([v for v in names.indices if 0 <= v.low <= v.high < N]).text
            self.body(f"for {i} in range(ptr[{v}], ptr[{v} + 1]):", [Index(i, 0, N - 1)], [])
        elif kind == 13 and self.allowed("ndindex"):
            self.body(
                f"for {i}, j{i} in np.ndindex({self.choose(2, N)}, {self.choose(2, N)}):",
                [Index(i, 0, N - 1), Index(f"j{i}", 0, N - 1)],
                [],
            )
        elif kind == 14 and self.allowed("enumerate of zip"):
            self.body(
                f"for {i}, (v{i}, r{i}) in enumerate(zip({self.pick(names.vectors)}, {self.pick(names.matrices)})):",
                [Index(i, 0, N - 1)],
                [f"v{i}"],
                [f"r{i}"],
            )
        else:
            text, index = self.range(i)
            if self.chance(10) and self.allowed("reversed"):
                text = f"reversed({text})"
            if counts:
                self.add("k = 0")
            self.body(f"for {i} in {text}:", [index], [], [], counts)
        self.loops -= 1
        del temporaries

    def range(self, i: str) -> tuple[str, Index]:
        """The text of a range, and its index."""
        outer = [v for v in self.names.indices if 0 <= v.low <= v.high < N]
        if outer and self.chance(50) and self.allowed("triangular"):
            v = self.pick(outer)
            form = self.choose(0, 6)
            if form == 0:
                return f"range({v.text})", Index(i, 0, v.high - 1)
            if form == 1:
                return f"range({v.text} + 1)", Index(i, 0, v.high)
            if form == 2:
                return f"range({v.text}, n)", Index(i, v.low, N - 1)
            if form == 3:
                return f"range({v.text} + 1, n)", Index(i, v.low + 1, N - 1)
            if form == 4:
                return f"range({v.text} - 1, -1, -1)", Index(i, 0, v.high - 1)
            if form == 5:
                return f"range(n - 1, {v.text}, -1)", Index(i, v.low + 1, N - 1)
            return f"range(n - {v.text})", Index(i, 0, N - 1 - v.low)
        form = self.choose(0, 9)
        low, high = self.choose(0, 2), self.choose(3, N)
        if form <= 3:
            return "range(n)", Index(i, 0, N - 1)
        if form <= 5:
            return f"range(1, n{self.pick(('', ' - 1'))})", Index(i, 1, N - 1 if self.lines and False else N - 1)
        if form == 6:
            step = self.pick((2, 3))
            numbers = range(low, high, step)
            return f"range({low}, {high}, {step})", Index(i, numbers[0], numbers[-1])
        if form == 7:
            return f"range({high - 1}, {low - 1}, -1)", Index(i, low, high - 1)
        if form == 8:
            return f"range(-1, -{high}, -1)", Index(i, 1 - high, -1)
        return f"range({low}, {high})", Index(i, low, high - 1)

    def body(
        self,
        header: str,
        indices: list[Index],
        scalars: list[str],
        vectors: list[str] | None = None,
        counts: bool = False,
    ) -> None:
        self.add(header)
        with self.block():
            names = self.names
            names.indices += indices
            names.scalars += scalars
            names.vectors += vectors or []
            if counts:
                names.indices.append(Index("k", 0, N - 1))
            self.statements(4 if self.loops < 3 else 2)
            if counts:
                self.add("k += 1")
            inside = [name for name in self.names.scalars if name.startswith("t") and name.isidentifier()]
        runs = header.startswith(("for i", "for j", "for k")) and any(t in header for t in ("range(n)", "range(1, n"))
        if runs and self.loops == 1 and self.chance(50) and self.allowed("used after"):
            flat = [
                line.strip().split(" = ")[0] for line in self.lines if line.startswith("    " * (self.level + 1) + "t")
            ]
            self.names.scalars += [
                name
                for name in inside
                if name in flat and name not in self.names.scalars and self.definite(name, header)
            ]

    def definite(self, name: str, header: str) -> bool:
        """Whether the last loop at this level has assigned `name` in each iteration."""
        start = max(k for k, line in enumerate(self.lines) if line.strip() == header)
        for line in self.lines[start:]:
            if "continue" in line:
                return False
            if line.startswith("    " * (self.level + 1) + name + " = "):
                return True
        return False


def write_program(
    choose: Callable[[int, int], int], excluded: frozenset[str] = frozenset(), statements: int = 4
) -> str:
    """The source of a program."""
    source = Source(choose, excluded)
    names = source.names
    names.scalars += ["s", "pair[0]", "thing.energy", "box[1]", "table['u']"]
    names.vectors += ["x", "y"]
    names.matrices += ["a"]
    for line in (
        "n = len(x)",
        "k = 0",
        "pair = (s, 0.3)",
        "thing = Thing(0.1, 0.5)",
        "box = [0.2, s, x[0]]",
        "table = {'u': 0.4, 'v': s}",
    ):
        source.add(line)
    if source.chance(40):
        source.add("u, v = x.copy(), 0.5 * y")
        names.vectors += ["u", "v"]
    for _ in range(source.choose(0, 1)):
        source.statement()
    source.loop()
    for _ in range(source.choose(0, statements - 1)):
        source.statement() if source.chance(50) else source.loop()
    total = " + ".join(f"np.sum(np.sin({v}))" for v in names.vectors + names.matrices)
    scalars = " + ".join(name for name in names.scalars)
    source.add(f"return {total} + {scalars} + box[0] * box[2] + pair[1] + 0.01 * k")
    return HELPERS + "\ndef f(x, y, a, s, idx, ptr):\n" + "\n".join(source.lines) + "\n"


NUMBER = 0


def function_of(source: str) -> Callable:
    """Compile the text, so that its syntax is at hand."""
    global NUMBER
    NUMBER += 1
    name = f"<random loop program {NUMBER}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    import math

    namespace: dict = {"np": np, "math": math}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def arguments(seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    ptr = np.sort(np.r_[0, rng.integers(0, N + 1, N - 1), N])
    return (
        0.7 * rng.normal(size=N), 0.7 * rng.normal(size=N), 0.5 * rng.normal(size=(N, N)), float(rng.normal()),
        rng.integers(0, N, N), ptr,
    )  # fmt: skip
