"""Random programs that differentiate random functions inside of loops, branches and batches, as source text.

Each is `f(X, Y, a, s, idx, ptr)`: batches `X` and `Y` of B vectors, and the rest as in `random_loop_programs`. It calls
derivatives of `inner0` (a number) and `inner1` (a vector), functions of one item that write to their arguments, test
them, and have loops; their names (`grad`, `jvp`, ...) are given by whoever runs the program.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .random_loop_expressions import N
from .random_loop_programs import HELPERS, Source, begin
from .random_loop_programs import arguments as item_arguments

B = 4  # items of a batch
PLACES = {0: "x", 1: "y", 2: "a", 3: "s"}  # the active arguments of an inner function
Choose = Callable[[int, int], int]


class Inner(Source):
    """A function of one item."""

    def written_in_a_branch(self) -> None:
        """A test of data, that decides whether memory is written to: most often that of an argument."""
        vector = self.pick(("x", "y"))
        self.add(f"if {vector}[{self.choose(0, N - 1)}] {self.pick(('>', '<'))} {self.pick(('0.0', '0.2', 's'))}:")
        with self.block():
            self.pick((self.element, self.part_of_vector, self.row, self.matrix_element, self.scatter))()
        if self.chance(30):
            self.add("else:")
            with self.block():
                self.statements(2)

    def dead_loop(self) -> None:
        """A loop of which nothing is used."""
        self.add(f"for {self.new('j')} in range({self.choose(2, 9)}):")
        with self.block():
            self.add(f"{self.new('unused')} = {self.bounded()}")

    def loop(self) -> None:
        """Not three of them: iteration by iteration, as the reference takes them, these are long."""
        super().loop() if self.loops < 2 else self.element()

    def everything(self) -> None:
        """Branches that write and loops, in any order, with other statements in between."""
        parts = [self.written_in_a_branch, self.pick((self.loop, self.dead_loop))]
        parts += [self.pick((self.statement, self.loop, self.written_in_a_branch)) for _ in range(self.choose(0, 2))]
        while parts:
            parts.pop(self.choose(0, len(parts) - 1))()


def write_inner(choose: Choose, name: str, is_vector: bool, excluded: frozenset[str], lines: int) -> str:
    source = Inner(choose, excluded, lines)
    begin(source)
    source.everything()
    names = source.names
    if is_vector:
        result = f"np.sin(x) + {source.pick(names.vectors)} * {source.pick(names.scalars)} + a[:, 1] * y"
    else:
        total = [f"np.sum({source.pick(('np.sin(x)', 'x * y'))})", "np.sum(np.cos(y))", "0.3 * np.sum(a @ x)"]
        result = " + ".join([*total, *(f"np.sum(np.sin({v}))" for v in names.vectors[2:]), *names.scalars])
    source.add(f"return {result}")
    return f"def {name}(x, y, a, s, idx, ptr):\n" + "\n".join(source.lines) + "\n"


@dataclass
class Outer:
    """The function around: statements with derivatives in them."""

    choose: Choose
    lines: list[str] = field(default_factory=list)
    level: int = 1
    items: list[str] = field(default_factory=lambda: ["0", "1", "2"])  # integers less than B
    number: int = 0

    def add(self, line: str) -> None:
        self.lines.append("    " * self.level + line)

    def pick(self, options: Any) -> Any:
        return options[self.choose(0, len(options) - 1)]

    def new(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.add(header)
        self.level += 1
        yield
        self.level -= 1

    # Arguments.

    def item(self) -> str:
        return self.pick(self.items[-2:] * 2 + self.items)

    def argument(self, place: int) -> str:
        """An argument for an inner function: those of different places have no memory in common."""
        k = self.item()
        return self.pick(
            (
                (f"X[{k}]", f"X[{k}] * 1.0", f"np.tanh(X[{k}])", "v", "v * s"),
                (f"Y[{k}]", f"Y[{k}] * 1.0", f"Y[{k}, ::-1]", "w", "w + 0.1 * t"),
                ("a", "a", "0.5 * a", "a.T"),
                ("s", "math.tanh(t)", f"X[{k}, 0]", "0.3"),
            )[place]
        )

    def arguments(self) -> str:
        return ", ".join([*map(self.argument, range(4)), "idx", "ptr"])

    def direction(self, place: int) -> str:
        k = self.item()
        vectors = (f"X[{k}]", f"Y[{k}]", "v", "np.cos(w)")
        return self.pick((vectors, vectors, ("a", "np.tanh(a)"), ("0.7", "math.sin(t)"))[place])

    def argnums(self) -> int | tuple[int, ...]:
        return self.pick((0, 1, 1, 0, 2, 3, (0, 1), (1, 3), (0, 1, 2)))

    # What becomes of derivatives.

    def contracted(self, name: str, place: int) -> str:
        """A number made of something that has the shape of an argument."""
        return name if place == 3 else f"np.sum({name} * {self.direction(place)})"

    def take(self, name: str, argnums: int | tuple[int, ...]) -> None:
        """Use a derivative by these arguments."""
        places = (argnums,) if isinstance(argnums, int) else argnums
        names = [name] if isinstance(argnums, int) else [f"{name}[{k}]" for k in range(len(places))]
        for one, place in zip(names, places, strict=True):
            self.add_number(self.contracted(one, place))
            if place < 2 and self.choose(0, 2) == 0:
                k = self.item()
                kept = "v" if place == 0 else "w"
                self.add(
                    self.pick(
                        (
                            f"{kept} = 0.5 * {kept} + 0.1 * np.sin({one})",
                            f"{kept}[:] = 0.5 * {kept} + 0.1 * np.sin({one})",
                            f"{'X' if place == 0 else 'Y'}[{k}] += 0.1 * np.sin({one})",
                            f"{kept}[{self.choose(0, N - 1)}] = np.tanh({one}[1])",
                        )
                    )
                )

    def add_number(self, number: str) -> None:
        self.add(self.pick((f"t = 0.5 * t + np.tanh(0.2 * {number})", f"t += 0.3 * np.sin({number})")))

    # Statements.

    def statement(self, depth: int) -> None:
        options = [self.gradient, self.gradient, self.value_and_gradient, self.forward, self.pullback, self.batch]
        options += [self.batch, self.linear, self.jacobian, self.hessian_vector, self.of_a_closure, self.listed]
        if depth:
            options = [*options, *4 * [lambda: self.loop(depth - 1)], *3 * [lambda: self.branch(depth - 1)]]
        self.pick(options)()

    def loop(self, depth: int) -> None:
        k = self.new("k")
        header = self.pick((f"for {k} in range({B})", f"for {k} in range(1, {B})", f"for {k}, row in enumerate(X)"))
        self.items.append(k)
        with self.block(header + ":"):
            for _ in range(self.choose(1, 2)):
                self.statement(depth)
        self.items.pop()

    def branch(self, depth: int) -> None:
        with self.block(f"if {self.pick(('t', 'v[1]', f'Y[{self.item()}, 2]'))} > {self.pick(('0.0', '0.2'))}:"):
            self.statement(depth)
        if self.choose(0, 1):
            with self.block("else:"):
                self.statement(depth)

    def gradient(self) -> None:
        g, argnums = self.new("g"), self.argnums()
        self.add(f"{g} = grad(inner0, {argnums})({self.arguments()})")
        self.take(g, argnums)

    def value_and_gradient(self) -> None:
        g, argnums = self.new("g"), self.argnums()
        self.add(f"value, {g} = value_and_grad(inner0, {argnums})({self.arguments()})")
        self.add_number("value")
        self.take(g, argnums)

    def forward(self) -> None:
        place, inner = self.choose(0, 3), self.choose(0, 1)
        self.add(f"value, slope = jvp(inner{inner}, {place})({self.arguments()}, {self.direction(place)})")
        self.add_number(self.contracted("slope", 3 if inner == 0 else 0))

    def linear(self) -> None:
        place, function = self.choose(0, 3), self.new("linear")
        self.add(f"value, {function} = linearize(inner1, {place})({self.arguments()})")
        self.overwrite()
        self.add_number(f"np.sum({function}({self.direction(place)}) * value)")

    def pullback(self) -> None:
        argnums, function, g = self.argnums(), self.new("pullback"), self.new("g")
        self.add(f"value, {function} = vjp(inner1, {argnums})({self.arguments()})")
        self.overwrite()
        self.add(f"{g} = {function}({self.pick(('value', 'v', 'np.sin(w)'))})")
        self.take(g, argnums)

    def overwrite(self) -> None:
        """Between a derivative and its use: memory that it was taken of."""
        if self.choose(0, 2) == 0:
            self.add(self.pick(("v[:] = 0.5 * v", f"Y[{self.item()}] *= 0.5", "value[0] = t", "w[1] = t")))

    def jacobian(self) -> None:
        place = self.choose(0, 1)
        mode = self.pick(("", ", mode='forward'", ", mode='reverse'"))
        self.add(f"m = jacobian(inner1, {place}{mode})({self.arguments()})")
        self.add_number(f"np.sum(m @ {self.direction(0)})")

    def hessian_vector(self) -> None:
        place = self.choose(0, 1)
        self.add(f"h = hvp(inner0, {place})({self.arguments()}, {self.direction(place)})")
        self.add_number(f"np.sum(h * {self.direction(0)})")

    def batch(self) -> None:
        """A batch of a derivative, or of a function that takes one."""
        argnums, g = self.pick((0, 1, (0, 1))), self.new("g")
        axes = f"in_axes=({self.pick((0, 0, 0, None))}, 0, None, None, None, None)"
        first = self.pick(("X", "X", "np.tanh(X)")) if "(0" in axes else "v"
        made = self.pick(
            (
                f"grad(inner0, {argnums})",
                f"lambda x, y, *rest: grad(inner0, {argnums})(x * y, y, *rest)",
                f"lambda *full: value_and_grad(inner0, {argnums})(*full)[1]",
            )
        )
        rest = f"{self.pick(('Y', 'Y * s'))}, a, {self.argument(3)}, idx, ptr"
        self.add(f"{g} = vectorize({made}, {axes})({first}, {rest})")
        for name in [g] if isinstance(argnums, int) else [f"{g}[0]", f"{g}[1]"]:
            self.add_number(f"np.sum({name}[{self.item()}] * {self.direction(1)})")

    def of_a_closure(self) -> None:
        """Of a function that is defined here, and uses what is around."""
        g = self.new("g")
        rest = f"w * q, {self.pick(('a.copy()', '0.5 * a'))}, s, idx, ptr"
        self.add(f"{g} = grad(lambda z, q: inner0(z, {rest}) * q)({self.argument(0)}, {self.argument(3)})")
        self.take(g, 0)

    def listed(self) -> None:
        k = self.new("k")
        self.items.append(k)
        argnums = self.choose(0, 1)
        call = f"grad(inner0, {argnums})({self.arguments()})"
        self.add(f"t += 0.1 * sum([np.sum(np.sin({call})) for {k} in range({B})])")
        self.items.pop()


def write_program(choose: Choose, excluded: frozenset[str] = frozenset(), lines: int = 10, statements: int = 3) -> str:
    """The source of a program; after so many `lines` of an inner function no more loops begin in it."""
    outer = Outer(choose)
    for line in ("t = s", "v, w = 0.5 * X[1], Y[0] * 1.0"):
        outer.add(line)
    outer.pick((outer.batch, lambda: outer.loop(1)))()
    for _ in range(choose(0, statements - 1)):
        outer.statement(1)
    outer.add("return t + np.sum(np.sin(v)) + np.sum(np.sin(w * v)) + np.sum(X * Y) + 0.1 * np.sum(a @ a)")
    inner = [write_inner(choose, f"inner{k}", bool(k), excluded, lines) for k in range(2)]
    return HELPERS + "\n" + "\n\n".join(inner) + "\n\ndef f(X, Y, a, s, idx, ptr):\n" + "\n".join(outer.lines) + "\n"


NUMBER = 0


def function_of(source: str, transforms: Mapping[str, Any]) -> Callable[..., Any]:
    """Compile the text for these derivatives, so that its syntax is at hand."""
    global NUMBER
    NUMBER += 1
    name = f"<random nested program {NUMBER}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict = {"np": np, "math": math, **transforms}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def arguments(seed: int = 0) -> tuple:
    _, _, a, s, idx, ptr = item_arguments(seed)
    rng = np.random.default_rng(100 + seed)
    return 0.7 * rng.normal(size=(B, N)), 0.7 * rng.normal(size=(B, N)), a, s, idx, ptr
