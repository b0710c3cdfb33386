"""Random imperative NumPy programs, as source text: what fails can be read, and pasted into a test.

Each program has three arguments `x` (vector), `a` (matrix), `s` (float) and an index array `n`. It makes views, writes
through them, and keeps its numbers bounded (`tanh` and `0.5 *` everywhere), so that differences are accurate.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

EXTENTS = (1, 2, 3, 4, 6, 9)
UNARY = ("np.sin({})", "np.tanh({})", "np.exp(-{} * {})", "({}) ** 2", "-{}", "np.sqrt({} * {} + 1.0)", "np.abs({})")
BINARY = (
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} / (1.0 + {1} * {1})",
    "np.maximum({}, {})",
    "np.arctan2({}, 2.0 + {1} ** 2)",
)


@dataclass
class Array:
    """A name in the program and the shape of what it is; `base` names the memory."""

    name: str
    shape: tuple[int, ...]


@dataclass
class Source:
    """A program under construction."""

    draw: Callable
    lines: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        self.lines.append(line)

    def pick(self, options):
        return self.draw(st.sampled_from(options))

    def new(self, shape: tuple[int, ...], expression: str) -> Array:
        array = Array(f"t{len(self.lines)}", shape)
        self.add(f"{array.name} = {expression}")
        self.arrays.append(array)
        return array

    def slice_of(self, extent: int) -> tuple[str, int]:
        """A slice of an axis and how many elements it shows."""
        step = self.pick((1, 1, 1, 2, -1, -2, 3))
        low = self.draw(st.integers(0, max(extent - 1, 0)))
        high = self.draw(st.integers(low, extent))
        if step > 0:
            return f"{low}:{high}:{step}", len(range(low, high, step))
        if low == 0:
            return f"{high - 1 if high else -extent - 1}::{step}", len(range(high - 1, -1, step))
        return f"{high - 1}:{low - 1}:{step}", len(range(high - 1, low - 1, step))

    def view(self) -> tuple[str, tuple[int, ...]]:
        """An expression that shows a part of an array."""
        array = self.pick(self.arrays)
        parts, shape = [], []
        for extent in array.shape:
            kind = self.pick(("all", "slice", "slice", "index", "new"))
            if kind == "index" and extent:
                parts.append(str(self.draw(st.integers(-extent, extent - 1))))
            elif kind == "slice":
                text, count = self.slice_of(extent)
                parts.append(text)
                shape.append(count)
            else:
                if kind == "new" and len(array.shape) < 3:
                    parts.append("None")
                    shape.append(1)
                parts.append(":")
                shape.append(extent)
        text = f"{array.name}[{', '.join(parts)}]" if parts else array.name
        if len(shape) == 2 and self.draw(st.booleans()):
            text, shape = f"{text}.T", shape[::-1]
        return text, tuple(shape)

    def of_shape(self, shape: tuple[int, ...]) -> str:
        """An expression that broadcasts to `shape` (reads only)."""
        for _ in range(6):
            text, own = self.view()
            try:
                if np.broadcast_shapes(own, shape) == shape:
                    return text
            except ValueError:
                pass
            if len(own) == len(shape) and all(n >= m for n, m in zip(own, shape)) and 0 not in own and shape:
                return f"{text}[{', '.join(f':{m}' for m in shape)}]"
        return self.pick(self.scalars)

    def expression(self, shape: tuple[int, ...], depth: int = 2) -> str:
        kind = self.pick(("leaf", "unary", "binary", "binary", "where")) if depth else "leaf"
        if kind == "leaf":
            return self.of_shape(shape)
        if kind == "unary":
            form, inside = self.pick(UNARY), self.expression(shape, depth - 1)
            return f"({form.replace('{}', inside)})"
        if kind == "where":
            c, a, b = (self.expression(shape, depth - 1) for _ in range(3))
            return f"np.where({c} > 0.1, {a}, {b})"
        a, b = (self.expression(shape, depth - 1) for _ in range(2))
        form = self.pick(BINARY).replace("{1}", b)
        return f"({form.replace('{}', a, 1).replace('{}', b, 1)})"

    # Statements.

    def statement(self) -> None:
        kinds = ("write", "write", "update", "update", "alias", "fresh", "reduce", "matmul", "gather", "scatter")
        getattr(self, self.pick((*kinds, "zeros", "mask", "scalar", "scan", "copy", "swap", "add_at", "out")))()

    def write(self) -> None:
        target, shape = self.view()
        if shape == () and not target.endswith("]"):
            return
        suffix = "" if target.endswith("]") else "[...]"
        self.add(f"{target}{suffix} = {self.expression(shape)}")

    def update(self) -> None:
        target, shape = self.view()
        suffix = "" if target.endswith("]") else "[...]"
        self.add(f"{target}{suffix} {self.pick(('+=', '-=', '*='))} 0.5 * {self.expression(shape)}")

    def alias(self) -> None:
        text, shape = self.view()
        if shape:
            self.new(shape, text)

    def copy(self) -> None:
        text, shape = self.view()
        if shape:
            self.new(shape, f"{text}.copy()")

    def fresh(self) -> None:
        _, shape = self.view()
        if shape:
            self.new(shape, f"np.broadcast_to({self.expression(shape)}, {shape}) * 1.0")

    def zeros(self) -> None:
        shape = tuple(self.draw(st.lists(st.sampled_from(EXTENTS), min_size=1, max_size=2)))
        self.new(shape, f"np.zeros({shape})")

    def swap(self) -> None:
        text, shape = self.view()
        other = self.of_shape(shape)
        if "[" in other and "[" in text and ".T" not in text + other and "][" not in other:
            self.add(f"{text}, {self.arrays[0].name}[0] = {other} * 0.9, {self.pick(self.scalars)}")

    def scalar(self) -> None:
        name = f"s{len(self.lines)}"
        self.add(f"{name} = np.tanh({self.expression(())})")
        self.add(f"{name} = np.sum({name})")
        self.scalars.append(name)

    def reduce(self) -> None:
        text, shape = self.view()
        if not shape:
            return
        axis = self.draw(st.integers(0, len(shape) - 1))
        kept = shape[:axis] + shape[axis + 1 :]
        name = self.pick(("np.sum", "np.mean", "np.max", "np.min", "np.sum"))
        if shape[axis] == 0:
            name = "np.sum"
        keep = self.draw(st.booleans())
        if keep:
            self.new(shape[:axis] + (1,) + shape[axis + 1 :], f"0.3 * {name}({text}, axis={axis}, keepdims=True)")
        elif kept:
            self.new(kept, f"0.3 * {name}({text}, axis={axis})")
        else:
            self.add(f"s{len(self.lines)} = 0.3 * {name}({text})")
            self.scalars.append(f"s{len(self.lines) - 1}")

    def matmul(self) -> None:
        text, shape = self.view()
        if len(shape) == 2:
            self.new((shape[0], shape[0]), f"np.tanh({text} @ {text}.T)")
        elif len(shape) == 1:
            self.add(f"s{len(self.lines)} = np.tanh({text} @ {text})")
            self.scalars.append(f"s{len(self.lines) - 1}")

    def scan(self) -> None:
        text, shape = self.view()
        if len(shape) == 1:
            self.new(shape, f"0.5 * np.cumsum({text})")

    def indices(self, extent: int, count: int) -> str:
        index = self.draw(st.lists(st.integers(-extent, extent - 1), min_size=count, max_size=count))
        return f"np.array({index}, dtype=int)" if self.draw(st.booleans()) else f"n[:{min(count, 3)}] % {extent}"

    def gather(self) -> None:
        text, shape = self.view()
        if shape and shape[0]:
            count = self.draw(st.integers(1, 3))
            self.new((count, *shape[1:]), f"{text}[{self.indices(shape[0], count)}] * 0.7")

    def scatter(self) -> None:
        text, shape = self.view()
        if shape and shape[0]:
            count = self.draw(st.integers(1, 3))
            operator = self.pick(("=", "+=", "*="))
            self.add(f"{text}[{self.indices(shape[0], count)}] {operator} 0.5 * {self.expression((count, *shape[1:]))}")

    def add_at(self) -> None:
        text, shape = self.view()
        if shape and shape[0]:
            count = self.draw(st.integers(1, 3))
            self.add(f"np.add.at({text}, {self.indices(shape[0], count)}, {self.expression((count, *shape[1:]))})")

    def mask(self) -> None:
        text, shape = self.view()
        if shape:
            self.add(f"{text}[{text} > 0.2] *= 0.5")

    def out(self) -> None:
        text, shape = self.view()
        if shape:
            a, b = self.of_shape(shape), self.of_shape(shape)
            self.add(f"np.{self.pick(('multiply', 'add', 'subtract'))}({a}, {b}, out={text})")


@st.composite
def programs(draw, statements: int = 7, x: int = 6, a: tuple[int, int] = (4, 3)) -> str:
    """The source of `f(x, a, s, n)`, where `x` has `x` elements and `a` has the shape `a`."""
    source = Source(draw, arrays=[Array("x", (x,)), Array("a", a)], scalars=["s", "0.75", "x[1]"])
    for _ in range(draw(st.integers(1, statements))):
        source.statement()
    total = " + ".join(f"np.sum(np.sin({array.name}))" for array in source.arrays)
    source.add(f"return {total} + {source.scalars[-1]}")
    return "def f(x, a, s, n):\n" + "\n".join("    " + line for line in source.lines) + "\n"


NUMBER = 0


def function_of(source: str) -> Callable:
    """Compile the text, so that its lines are found by error messages."""
    global NUMBER
    NUMBER += 1
    name = f"<random program {NUMBER}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]
