"""Print a tape as pseudo-Python, one operation a line, with the user's lines beside it.

Stable and address-free: the same program prints the same text, so that listings can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ..python.source import UNKNOWN, Line
from ..regions.affine import Affine, Extent, exact, loop_index
from ..regions.regions import Region, View
from .operations import Apply, Branch, Buffer, Constant, Guard, IndexValue, Load, Loop, Operation, Scatter, Store, Value

WIDEST = 72  # comments start no further right


class Program(Protocol):
    """A tape, which is printed here and defined after this."""

    @property
    def buffers(self) -> Sequence[Buffer]: ...

    @property
    def operations(self) -> Sequence[Operation]: ...

    @property
    def results(self) -> Sequence[Value]: ...

    @property
    def turn(self) -> int: ...


def tape_listing(tape: Program) -> str:
    """The whole tape: buffers, operations, results."""
    return aligned([*((f"# {b.kind} {declared(b)}", None) for b in tape.buffers), *listing_rows(tape)])


def brief(tape: Program) -> str:
    """Operations and results alone, as in the miniatures that passes open with."""
    return "\n".join(text for text, _ in listing_rows(tape))


def listing_rows(tape: Program) -> Iterator[tuple[str, Line | None]]:
    """Operations, and results, each with its source line."""
    for position, op in enumerate(tape.operations):
        if position == tape.turn:
            yield "# reverse sweep", None
        yield from operation_rows(op, tape.buffers)
    if tape.results:
        yield f"return {', '.join(map(name, tape.results))}", None


def aligned(rows: Sequence[tuple[str, Line | None]]) -> str:
    """The rows with their source lines in one column; a line that the row above has too is not repeated."""
    commented = [text for text, line in rows if line is not None and line.number]
    column = min(max(map(len, commented), default=0), WIDEST)
    lines, above = [], None
    for text, line in rows:
        comment = "" if line is None or line == above else beside(line)
        lines.append(f"{text:<{column}}  # {comment}" if comment else text)
        above = line
    return "\n".join(lines) + "\n"


def beside(line: Line) -> str:
    """`model.py:12  y = x * x`; empty where the line is unknown."""
    return f"{os.path.basename(line.file)}:{line.number}  {line.text}".rstrip() if line.number else ""


def operation_rows(op: Operation, buffers: Sequence[Buffer], indent: str = "") -> Iterator[tuple[str, Line]]:
    """One operation, as lines of pseudo-Python."""
    match op:
        case Constant():
            text = f"{typed(op.out)} = {number(op.data)}"
        case Apply():
            arguments = [name(v) for v in op.operands] + [f"{key}={parameter(p)}" for key, p in op.parameters]
            text = f"{typed(op.out)} = {op.primitive}({', '.join(arguments)})"
        case Load():
            text = f"{typed(op.out)} = {place(op.region, buffers)}"
        case Store():
            text = f"{place(op.region, buffers)} {'+=' if op.accumulate else '='} {name(op.value)}"
        case Scatter():
            at = ", ".join(map(name, op.indices))
            text = f"{place(op.region, buffers)}[{at}] {'+=' if op.accumulate else '='} {name(op.value)}"
        case Guard():
            text = f"guard {name(op.predicate)} == {op.outcome}: {op.what}"
        case IndexValue():
            text = f"{typed(op.out)} = {written(op.expression)}"
        case Loop():
            yield f"{indent}{loop_header(op)}", op.line
            yield from block_rows(op.body, buffers, indent)
            return
        case Branch():
            yield f"{indent}if {name(op.predicate)}:", op.line
            yield from block_rows(op.then, buffers, indent)
            if op.otherwise:
                yield f"{indent}else:", op.line
                yield from block_rows(op.otherwise, buffers, indent)
            return
        case _:
            text = type(op).__name__.lower()
    yield indent + text, op.line


def block_rows(block: Sequence[Operation], buffers: Sequence[Buffer], indent: str) -> Iterator[tuple[str, Line]]:
    """The operations inside a loop or a branch."""
    for op in block:
        yield from operation_rows(op, buffers, indent + "    ")
    if not block:
        yield indent + "    pass", UNKNOWN


def loop_header(op: Loop) -> str:
    """`for i0 in range(0, 9, 1):`, or `range(0, 9, 1)[:v3]` where a number at run time decides how far it goes."""
    return f"for i{op.index} in {loop_range(op)}{'' if op.count is None else f'[:{name(op.count)}]'}:"


def loop_range(op: Loop) -> str:
    """The indices of a loop, as a range."""
    return f"range({written(op.start)}, {written(op.start + op.step * exact(op.trips))}, {op.step})"


def name(value: Value) -> str:
    return f"v{value.id}"


def typed(value: Value) -> str:
    """`v3`, with its type where it is not a float64 scalar."""
    if value.shape == () and value.dtype == np.float64:
        return name(value)
    return f"{name(value)}: {value.dtype}{list(value.shape) if value.shape else ''}"


def number(data: np.ndarray) -> str:
    """Small constants as Python writes them; large ones by their ends."""
    if data.size <= 4:
        return str(data.tolist())
    flat = data.reshape(-1)
    return f"[{flat[0].item()}, ..., {flat[-1].item()}]"


def parameter(parameter: object) -> str:
    """A parameter without addresses: a function by its name."""
    if isinstance(parameter, View):
        return f"{{{parameter}}}"
    if callable(parameter) and not isinstance(parameter, type):
        return getattr(parameter, "__name__", type(parameter).__name__)
    return str(parameter)


def label(buffer: Buffer) -> str:
    """The buffer's label, made unique by its id where the label is not the caller's (a cache's is its reason)."""
    if buffer.kind == "argument":
        return buffer.label
    return f"{'cache' if buffer.kind == 'cache' else buffer.label}#{buffer.id}"


def declared(buffer: Buffer) -> str:
    return f"{label(buffer)}: {buffer.dtype}{list(buffer.shape)} {{{buffer.view}}}"


def place(region: Region, buffers: Sequence[Buffer]) -> str:
    """A region as a subscript of its buffer where it is one, else its view in braces."""
    buffer = buffers[region.buffer]
    return f"{label(buffer)}{subscript(region.view, buffer.view)}"


def subscript(view: View, whole: View) -> str:
    if view == whole:
        return "[...]"
    parts = slices(view, whole)
    return f"{{{view}}}" if parts is None else f"[{', '.join(parts)}]"


def slices(view: View, whole: View) -> list[str] | None:
    """An index or a slice for each axis of `whole`; None where `view` is not a basic slice of it."""
    starts = coordinates(view.offset - whole.offset, whole)
    if starts is None or view.size == 0:
        return None
    parts: list[str] = []
    axes = list(zip(view.shape, view.strides))
    for k, (extent, stride, start) in enumerate(zip(whole.shape, whole.strides, starts)):
        if isinstance(start, int) and not 0 <= start < extent:
            return None
        if axes and (slice_ := as_slice(start, *axes[0], extent, stride, len(axes) == len(whole.shape) - k)):
            axes.pop(0)
            parts.append(slice_)
        else:
            parts.append(written(start))
    return None if axes else parts


def as_slice(start: Extent, count: int, move: int, extent: int, stride: int, needed: bool) -> str:
    """`count` elements from `start`, `move` apart, along an axis of `extent` and `stride`; empty if they do not fit.

    `needed`: every axis that is left is one of the view's, so that a single element is a slice too.
    """
    if count == 1:
        return f"{written(start)}:{written(start + 1)}" if needed else ""
    if stride == 0 or move % stride or move == 0:
        return ""
    step = move // stride
    stop = start + (exact(count) - 1) * step + (1 if step > 0 else -1)
    if isinstance(stop, int) and not -1 <= stop <= extent:
        return ""
    if start == 0 and stop == extent and step == 1:
        return ":"
    end = "" if stop == -1 else written(stop)
    return f"{written(start)}:{end}" + (f":{step}" if step != 1 else "")


def written(expression: Extent) -> str:
    """`i0 - 1` rather than `i0 + -1`."""
    return str(expression).replace("+ -", "- ")


def coordinates(distance: Extent, whole: View) -> list[Extent] | None:
    """The index in the array `whole` of the element at `distance` from its first; None where there is none."""
    constant, terms = (distance.constant, distance.terms) if isinstance(distance, Affine) else (distance, ())
    for floored in (False, True):  # of `x[i, -1]` and `x[i - 1, n - 1]`, equal in address, the one that is an index
        first = moves(constant, whole, floored)
        starts: list[Extent] | None = None if first is None else [*first]
        for index, coefficient in terms:
            more = moves(coefficient, whole)
            if starts is None or more is None:
                return None
            starts = [start + move * loop_index(index) if move else start for start, move in zip(starts, more)]
        if starts is not None and not any(isinstance(start, int) and start < 0 for start in starts):
            return starts
    return None


def moves(distance: int, whole: View, floored: bool = False) -> list[int] | None:
    """Steps along each axis of `whole`, the longest strides first, that make up `distance`."""
    steps = [0] * len(whole.shape)
    sign, rest = (-1, -distance) if distance < 0 and not floored else (1, distance)
    for k in sorted(range(len(whole.shape)), key=lambda k: -abs(whole.strides[k])):
        if whole.strides[k] and whole.shape[k] > 1:
            count, rest = divmod(rest, abs(whole.strides[k]))
            steps[k] = count * sign * (1 if whole.strides[k] > 0 else -1)
    return None if rest else steps
