"""Check that a tape is well formed: what every pass may rely on, and must preserve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .affine import Affine, Extent
from .regions import Region, View, covers, show
from .rules import RULES
from .tape import Apply, Buffer, Constant, Guard, Load, Loop, Operation, Scatter, Store, Tape, Value

# Larger regions of arrays with gaps are checked by their bounds only.
EXACT = 10_000


class TapeError(AssertionError):
    """A tape is ill-formed: a mistake of a pass, never of the user."""


def verify(tape: Tape) -> Tape:
    """Return `tape`, or raise `TapeError` naming the operation that is wrong."""
    for id, buffer in enumerate(tape.buffers):
        require(buffer.id == id, f"buffer {buffer.label!r} has id {buffer.id} at position {id}")
    for id in (*tape.arguments, *tape.active):
        require(0 <= id < len(tape.buffers), f"argument {id} is no buffer of the tape")
    require(tape.active <= set(tape.arguments), "an active buffer is not an argument")
    require(0 <= tape.turn <= len(tape.operations), f"the turn {tape.turn} is not a position of the tape")
    known = Checker(tape.buffers).check(tape.operations, {}, {})
    for result in tape.results:
        require(known.get(result.id) == result, f"the result v{result.id} is not defined")
    return tape


def require(condition: bool, message: str) -> None:
    if not condition:
        raise TapeError(message)


class Checker:
    """One walk over the operations; value ids are unique over the whole tape, loops open scopes."""

    def __init__(self, buffers: Sequence[Buffer]):
        self.buffers = buffers
        self.taken: set[int] = set()

    def check(
        self, operations: Sequence[Operation], outside: Mapping[int, Value], indices: Mapping[int, tuple[int, int]]
    ) -> dict[int, Value]:
        """The values defined after `operations`; `indices` are the ranges of the enclosing loops' indices."""
        known = dict(outside)
        for op in operations:
            try:
                self.operation(op, known, indices)
            except TapeError as error:
                raise TapeError(f"{type(op).__name__} ({op.line}): {error}") from None
            if isinstance(op, Loop):
                last = op.start + op.step * max(op.trips - 1, 0)
                inside = {**indices, op.index: (min(op.start, last), max(op.start, last))}
                self.check(op.body if op.trips else (), known, inside)
            for out in op.outputs:
                known[out.id] = out
        return known

    def operation(self, op: Operation, known: Mapping[int, Value], indices: Mapping[int, tuple[int, int]]) -> None:
        for value in () if isinstance(op, Loop) else op.inputs:
            require(value.id in known, f"v{value.id} is used before it is defined")
            require(known[value.id] == value, f"v{value.id} is used as {value}, defined as {known[value.id]}")
        for out in op.outputs:
            require(out.id not in self.taken, f"v{out.id} is defined twice")
            self.taken.add(out.id)
        match op:
            case Constant():
                self.typed(op.out, op.data.shape, op.data.dtype)
            case Apply():
                self.applied(op)
            case Load():
                self.inside(op.region, indices)
                self.typed(op.out, op.region.shape, self.buffers[op.region.buffer].dtype)
            case Store():
                self.inside(op.region, indices)
                require(op.value.shape in ((), op.region.shape), f"{op.value.shape} stored to {op.region.shape}")
                self.stored(op)
            case Scatter():
                self.inside(op.region, indices)
                self.scattered(op)
                self.stored(op)
            case Guard():
                require(op.predicate.shape == (), "the predicate is not a scalar")
            case Loop():
                require(op.trips >= 0 and op.index not in indices, f"loop index i{op.index}, {op.trips} trips")

    def typed(self, out: Value, shape: tuple[int, ...], dtype: np.dtype) -> None:
        require(
            out.shape == shape and out.dtype == dtype,
            f"v{out.id} is {out.dtype}{list(out.shape)}, should be {dtype}{list(shape)}",
        )

    def applied(self, op: Apply) -> None:
        require(op.primitive in RULES, f"there is no rule for {op.primitive}")
        try:
            shape, dtype = RULES[op.primitive].infer(op.operands, op.params)
        except Exception as error:
            raise TapeError(f"{op.primitive} does not take these operands: {error}") from error
        self.typed(op.out, shape, dtype)

    def stored(self, op: Store | Scatter) -> None:
        buffer = self.buffers[op.region.buffer]
        require(op.value.dtype == buffer.dtype, f"{op.value.dtype} stored to {buffer.label}, of {buffer.dtype}")

    def scattered(self, op: Scatter) -> None:
        shapes = {i.shape for i in op.indices}
        require(len(shapes) == 1 and len(op.indices) <= len(op.region.shape), f"indices of shapes {shapes}")
        require(all(i.dtype == np.int64 for i in op.indices), "indices are not int64")
        full = op.indices[0].shape + op.region.shape[len(op.indices) :]
        require(op.value.shape in ((), full), f"{op.value.shape} scattered to {full}")

    def inside(self, region: Region, indices: Mapping[int, tuple[int, int]]) -> None:
        """Every element of `region` is an element of its buffer's array, in every iteration."""
        require(0 <= region.buffer < len(self.buffers), f"there is no buffer {region.buffer}")
        buffer, view = self.buffers[region.buffer], region.view
        require(len(view.shape) == len(view.strides) and min(view.shape, default=0) >= 0, f"view {view}")
        if not view.size:
            return
        low, high = view.bounds()
        least, most = extremes(low, indices)[0], extremes(high, indices)[1]
        inside = buffer.low <= least and most < buffer.low + buffer.span
        require(inside, f"{view} is outside of {buffer.label}, {buffer.view}")
        if least == low and view.size + buffer.span <= EXACT and not covers(buffer.view, buffer.span):
            addresses = np.arange(buffer.span)
            shown = show(addresses, View(view.offset - buffer.low, view.shape, view.strides))
            own = show(addresses, View(buffer.view.offset - buffer.low, buffer.view.shape, buffer.view.strides))
            require(bool(np.isin(shown, own).all()), f"{view} touches what lies between the elements of {buffer.label}")


def extremes(expression: Extent, indices: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    """The least and the greatest value of `expression` over the enclosing loops."""
    if not isinstance(expression, Affine):
        return expression, expression
    low = high = expression.constant
    for index, c in expression.terms:
        require(index in indices, f"the loop index i{index} is used outside of its loop")
        ends = [c * end for end in indices[index]]
        low, high = low + min(ends), high + max(ends)
    return low, high
