"""Random functions with nested loops and branches, as source text: what fails can be read, and pasted into a test.

Each is `f(x, y, a, s, idx, ptr)`: vectors `x` and `y` of N numbers, a matrix `a` of N by N, a float `s`, run-time
integers `idx` (N indices) and `ptr` (N + 1 of them, that rise from 0 to N). Indices of loops are generated with their
bounds, so that elements exist; numbers stay bounded (`np.tanh` and small factors), so that differences are accurate.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable

import numpy as np

from .random_loop_expressions import Expressions, Index, N

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


class Source(Expressions):
    """A program under construction: its statements."""

    # Statements.

    def statement(self) -> None:
        options = 3 * [self.element] + 2 * [self.assign, self.local_array, self.branch]
        options += [self.matrix_element, self.part_of_vector, self.row, self.carried, self.swap, self.whole_vector]
        options += [
            self.swap_vectors,
            self.exchange_elements,
            self.exchanged_pair,
            self.attribute,
            self.items_of_containers,
            self.call,
        ]
        options += [self.scatter, self.skip, self.counter]
        if self.loops < 3 and len(self.lines) < self.most_lines:
            options += [self.loop] * (4 if self.loops < 2 else 1)
        self.pick(options)()

    def statements(self, most: int) -> None:
        for _ in range(self.choose(1, most)):
            if len(self.lines) < self.most_lines:
                self.statement()

    def element(self) -> None:
        self.add(
            f"{self.pick(self.names.vectors)}[{self.index()}] {self.pick(('=', '+=', '*=', '='))} {self.bounded()}"
        )

    def matrix_element(self) -> None:
        target = f"{self.pick(self.names.matrices)}[{self.index()}, {self.index()}]"
        self.add(f"{target} {self.pick(('=', '+=', '-='))} {self.bounded()}")

    def part_of_vector(self) -> None:
        vector, part = self.pick(self.names.vectors), self.part()
        value = self.pick((self.bounded(), f"np.tanh({self.pick(self.names.vectors)}[{part}])"))
        self.add(f"{vector}[{part}] {self.pick(('=', '+=', '*='))} {value}")

    def row(self) -> None:
        matrix, i, part = self.pick(self.names.matrices), self.index(), self.part()
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

    def exchanged_pair(self) -> None:
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

    def items_of_containers(self) -> None:
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
            weight = self.pick(("", ", 0.3", f", weight={self.bounded(1)}"))
            self.add(f"relaxed({self.pick(self.names.vectors)}, {self.index(1, wraps=False)}{weight})")

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
            text, index = self.range_of(i)
            if self.chance(10) and self.allowed("reversed"):
                text = f"reversed({text})"
            if counts:
                self.add("k = 0")
            self.body(f"for {i} in {text}:", [index], [], [], counts)
        self.loops -= 1

    def range_of(self, i: str) -> tuple[str, Index]:
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
            return f"range(1, n{self.pick(('', ' - 1'))})", Index(i, 1, N - 1)
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


def begin(source: Source) -> None:
    """Let a program begin with what its statements use: numbers, arrays, containers and an object."""
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


def write_program(
    choose: Callable[[int, int], int], excluded: frozenset[str] = frozenset(), statements: int = 4, lines: int = 40
) -> str:
    """The source of a program, without the constructs in `excluded`; after `lines` no more loops begin."""
    source = Source(choose, excluded, lines)
    begin(source)
    names = source.names
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
