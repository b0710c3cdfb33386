"""Check that a tape is well formed: what every pass may rely on, and must preserve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..regions.affine import Affine, Extent, Ragged, exact
from ..regions.bounds import Iterations
from ..regions.regions import Region, View, covers, ends, show
from ..rules import RULES
from .tape import Apply, Branch, Buffer, Constant, Guard, IndexValue, Load, Loop, Operation, Scatter, Store, Tape, Value

# Larger regions of arrays with gaps are checked by their bounds only.
EXACT = 10_000


class TapeError(AssertionError):
    """A tape is ill-formed: a mistake of a pass, never of the user."""


def verify(tape: Tape) -> Tape:
    """Return `tape`, or raise `TapeError` naming the operation that is wrong."""
    for id, buffer in enumerate(tape.buffers):
        require(buffer.id == id, "buffer {!r} has id {} at position {}", buffer.label, buffer.id, id)
    for id in (*tape.arguments, *tape.active):
        require(0 <= id < len(tape.buffers), "argument {} is no buffer of the tape", id)
    require(tape.active <= set(tape.arguments), "an active buffer is not an argument")
    require(0 <= tape.turn <= len(tape.operations), "the turn {} is not a position of the tape", tape.turn)
    known = Checker(tape.buffers).check(tape.operations, {}, Iterations())
    for result in tape.results:
        require(known.get(result.id) == result, "the result v{} is not defined", result.id)
    return tape


def outside_of_memory(tape: Tape) -> str | None:
    """Of the operations in loops, what is wrong with the first that would reach memory beside its buffer's; or None.

    This alone is asked of every trace, since such a plan would write where it must not.
    """
    checker = Checker(tape.buffers)

    def look(operations: Sequence[Operation], around: Iterations) -> None:
        for op in operations:
            if around.indices and isinstance(op, Load | Store | Scatter):
                checker.inside(op.region, around)
            inside = around.inside(op.index, *op.range, exact(op.trips)) if isinstance(op, Loop) else around
            for block in op.blocks:
                look(block, inside)

    try:
        look(tape.operations, Iterations())
    except TapeError as error:
        return str(error)
    return None


def check_defined(tape: Tape) -> Tape:
    """Return `tape`, in which all that is used is defined before, once.

    This is asked of every tape that is compiled, before and after it is differentiated: what is not defined would
    have no derivative.
    """
    taken, known = set[int](), set[int]()

    def look(operations: Sequence[Operation]) -> None:
        own = []
        for op in operations:
            for value in read_by(op):
                if value.id not in known:
                    raise TapeError(f"{type(op).__name__} ({op.line}): v{value.id} is used before it is defined")
            for block in op.blocks:
                look(block)
            for out in op.outputs:
                if out.id in taken:
                    raise TapeError(f"{type(op).__name__} ({op.line}): v{out.id} is defined twice")
                taken.add(out.id)
                known.add(out.id)
                own.append(out.id)
        if operations is not tape.operations:
            known.difference_update(own)

    look(tape.operations)
    if not {v.id for v in tape.results} <= known:
        raise TapeError("a result is not defined")
    return tape


def require(condition: bool, message: str, *shown: object) -> None:
    if not condition:
        raise TapeError(message.format(*shown))


class Checker:
    """One walk over the operations; value ids are unique over the whole tape, loops open scopes."""

    def __init__(self, buffers: Sequence[Buffer]):
        self.buffers = buffers
        self.taken: set[int] = set()

    def check(
        self, operations: Sequence[Operation], outside: Mapping[int, Value], around: Iterations
    ) -> dict[int, Value]:
        """The values defined after `operations`, which run in the iterations `around`."""
        known = dict(outside)
        for op in operations:
            try:
                self.operation(op, known, around)
            except TapeError as error:
                raise TapeError(f"{type(op).__name__} ({op.line}): {error}") from None
            inside = around
            if isinstance(op, Loop):
                inside = around.inside(op.index, *op.range, exact(op.trips))
            for block in op.blocks:
                self.check(block, known, inside)
            for out in op.outputs:
                known[out.id] = out
        return known

    def operation(self, op: Operation, known: Mapping[int, Value], around: Iterations) -> None:
        for value in read_by(op):
            require(value.id in known, "v{} is used before it is defined", value.id)
            require(known[value.id] == value, "v{} is used as {}, defined as {}", value.id, value, known[value.id])
        for out in op.outputs:
            require(out.id not in self.taken, "v{} is defined twice", out.id)
            self.taken.add(out.id)
        match op:
            case Constant():
                self.typed(op.out, op.data.shape, op.data.dtype)
            case Apply():
                self.applied(op)
            case IndexValue():
                self.typed(op.out, (), np.dtype(np.int64))
                bounds(around, op.expression)
            case Load():
                self.inside(op.region, around)
                self.typed(op.out, op.region.shape, self.buffers[op.region.buffer].dtype)
            case Store():
                self.inside(op.region, around)
                require(op.value.shape in ((), op.region.shape), "{} stored to {}", op.value.shape, op.region.shape)
                self.stored(op)
            case Scatter():
                self.inside(op.region, around)
                self.scattered(op)
                self.stored(op)
            case Guard():
                require(op.predicate.shape == (), "the predicate is not a scalar")
                require(not around.indices, "a guard inside a loop")
            case Loop():
                self.counted(op, around)
            case Branch():
                predicate = op.predicate
                require(predicate.shape == () and predicate.dtype.kind == "b", "the predicate is {}", predicate)

    def counted(self, op: Loop, around: Iterations) -> None:
        require(op.trips >= 0 and op.index not in around.indices, "loop index i{}, {} trips", op.index, op.trips)
        require(op.step in (1, -1), "loop index i{} in steps of {}", op.index, op.step)
        bounds(around, op.start)
        self.capacities(around, (op.trips,))
        if op.count is not None:
            integer = op.count.shape == () and op.count.dtype == np.int64
            require(integer, "the count of iterations is {}", op.count)

    def capacities(self, around: Iterations, extents: tuple[int, ...]) -> None:
        """No extent is larger than memory is laid out for."""
        for n in extents:
            if isinstance(n, Ragged):
                found = bounds(around, n.expression)
                held = found is None or found[1] <= int(n)
                require(held, "an extent of {}, up to {}, in place of {}", n, found, int(n))

    def typed(self, out: Value, shape: tuple[int, ...], dtype: np.dtype) -> None:
        require(
            out.shape == shape and out.dtype == dtype,
            "v{} is {}{}, should be {}{}",
            out.id,
            out.dtype,
            list(out.shape),
            dtype,
            list(shape),
        )

    def applied(self, op: Apply) -> None:
        require(op.primitive in RULES, "there is no rule for {}", op.primitive)
        try:
            shape, dtype = RULES[op.primitive].infer(op.operands, op.params)
        except Exception as error:
            raise TapeError(f"{op.primitive} does not take these operands: {error}") from error
        self.typed(op.out, shape, dtype)

    def stored(self, op: Store | Scatter) -> None:
        buffer = self.buffers[op.region.buffer]
        require(op.value.dtype == buffer.dtype, "{} stored to {}, of {}", op.value.dtype, buffer.label, buffer.dtype)

    def scattered(self, op: Scatter) -> None:
        shapes = {i.shape for i in op.indices}
        require(len(shapes) == 1 and len(op.indices) <= len(op.region.shape), "indices of shapes {}", shapes)
        require(all(i.dtype == np.int64 for i in op.indices), "indices are not int64")
        full = op.indices[0].shape + op.region.shape[len(op.indices) :]
        require(op.value.shape in ((), full), "{} scattered to {}", op.value.shape, full)

    def inside(self, region: Region, around: Iterations) -> None:
        """Every element of `region` is an element of its buffer's array, in every iteration."""
        require(0 <= region.buffer < len(self.buffers), "there is no buffer {}", region.buffer)
        buffer, view = self.buffers[region.buffer], region.view
        require(len(view.shape) == len(view.strides) and min(view.shape, default=0) >= 0, "view {}", view)
        self.capacities(around, view.shape)
        within = around.where(*(exact(n) for n in view.shape))
        low, high = ends(view)
        least, most = bounds(within, low), bounds(within, high)
        if least is None or most is None or not view.size:
            return
        inside = buffer.low <= least[0] and most[1] < buffer.low + buffer.span
        require(inside, "{} is outside of {}, {}", view, buffer.label, buffer.view)
        steady = isinstance(view.offset, int) and not any(isinstance(n, Ragged) for n in view.shape)
        if steady and view.size + buffer.span <= EXACT and not covers(buffer.view, buffer.span):
            addresses = np.arange(buffer.span)
            shown = show(addresses, View(view.offset - buffer.low, view.shape, view.strides))
            own = show(addresses, View(buffer.view.offset - buffer.low, buffer.view.shape, buffer.view.strides))
            hits = bool(np.isin(shown, own).all())
            require(hits, "{} touches what lies between the elements of {}", view, buffer.label)


def read_by(op: Operation) -> tuple[Value, ...]:
    """The operands of `op` itself; those of operations inside are checked there."""
    match op:
        case Loop():
            return () if op.count is None else (op.count,)
        case Branch():
            return (op.predicate,)
    return op.inputs


def bounds(around: Iterations, expression: Extent) -> tuple[int, int] | None:
    """The least and the greatest value of `expression`; None where there is no iteration."""
    terms = expression.terms if isinstance(expression, Affine) else ()
    for index, _ in terms:
        require(index in around.indices, "the loop index i{} is used outside of its loop", index)
    return around.bounds(expression)
