"""Write a tape: the one place where operations are made, typed by the rule table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ..python.source import UNKNOWN, Line
from ..regions.affine import Affine
from ..regions.regions import Region, View, contiguous, is_identity
from ..rules.table import RULES
from .tape import Apply, Buffer, Constant, Guard, IndexValue, Load, Operation, Scatter, Store, Tape, Value, next_value


@dataclass
class TapeBuilder:
    """An append-only log of operations. `line` is the source line given to the operations that follow."""

    buffers: list[Buffer] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    line: Line = UNKNOWN
    next_value: int = 0

    def new_value(self, shape: tuple[int, ...], dtype: np.dtype) -> Value:
        value = Value(id=self.next_value, shape=tuple(shape), dtype=np.dtype(dtype))
        self.next_value += 1
        return value

    def new_buffer(self, kind: str, label: str, dtype: np.dtype, view: View, shadow_of: int | None = None) -> Buffer:
        buffer = Buffer(
            id=len(self.buffers),
            kind=kind,
            label=label,
            dtype=np.dtype(dtype),
            view=view,
            shadow_of=shadow_of,
            line=self.line,
        )
        self.buffers.append(buffer)
        return buffer

    def captured(self, label: str, array: np.ndarray, view: View) -> Buffer:
        """The memory of an array from outside."""
        id = len(self.buffers)
        known = dict(dtype=array.dtype, view=view, line=self.line, array=array, address=array.ctypes.data)
        buffer = Buffer(id=id, kind="captured", label=label, **known)  # type: ignore[arg-type]
        self.buffers.append(buffer)
        return buffer

    def emit(self, operation: Operation) -> None:
        self.operations.append(operation)

    def recorded(self, write: Callable[[], object]) -> tuple[Operation, ...]:
        """The operations that `write` emits, as a block: they are not on the tape."""
        around, self.operations = self.operations, []
        try:
            write()
            return tuple(self.operations)
        finally:
            self.operations = around

    def block(self, operations: Iterable[Operation], write: Callable[[Operation], object]) -> tuple[Operation, ...]:
        """A block of what `write` emits for each of the operations."""

        def write_all() -> None:
            for op in operations:
                write(op)

        return self.recorded(write_all)

    def with_written_blocks(self, op: Operation, write: Callable[[Operation], object]) -> Operation:
        """`op` around what `write` emits for each operation of its blocks."""
        return op.with_blocks(*(self.block(block, write) for block in op.blocks))

    def constant(self, data: object, dtype: np.dtype | None = None) -> Value:
        array = literal(data, dtype)
        out = self.new_value(array.shape, array.dtype)
        self.emit(Constant(out=out, data=array, line=self.line))
        return out

    def apply(self, primitive: str, *operands: Value, **parameters: object) -> Value:
        """The result of a primitive; shape and dtype come from its row in the rule table."""
        shape, dtype = RULES[primitive].infer(operands, parameters)
        out = self.new_value(shape, dtype)
        self.emit(
            Apply(
                out=out,
                primitive=primitive,
                operands=tuple(operands),
                parameters=tuple(sorted(parameters.items())),
                line=self.line,
            )
        )
        return out

    def load(self, region: Region) -> Value:
        out = self.new_value(region.shape, self.buffers[region.buffer].dtype)
        self.emit(Load(out=out, region=region, line=self.line))
        return out

    def store(self, region: Region, value: Value, accumulate: bool = False) -> None:
        """Write `value` (of the region's shape, or a scalar) to `region`."""
        assert value.shape in ((), region.shape), (value.shape, region.shape)
        assert value.dtype == self.buffers[region.buffer].dtype, (value.dtype, self.buffers[region.buffer])
        self.emit(Store(region=region, value=value, accumulate=accumulate, line=self.line))

    def scatter(self, region: Region, indices: tuple[Value, ...], value: Value, accumulate: bool = False) -> None:
        self.emit(Scatter(region=region, indices=indices, value=value, accumulate=accumulate, line=self.line))

    def index_value(self, expression: Affine) -> Value:
        """What an expression of the indices of the loops around is now."""
        out = self.new_value((), np.dtype(np.int64))
        self.emit(IndexValue(out=out, expression=expression, line=self.line))
        return out

    def guard(self, predicate: Value, outcome: object, what: str, detail: str = "", line: Line | None = None) -> None:
        line = self.line if line is None else line
        self.emit(Guard(predicate=predicate, outcome=outcome, what=what, detail=detail, line=line))

    # Shorthands used by tracing and by adjoints.

    def view(self, value: Value, view: View) -> Value:
        """`value` seen through `view`; the value itself where that changes nothing."""
        return value if is_identity(view, value.shape) else self.apply("view", value, view=view)

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value:
        return self.view(value, contiguous(tuple(shape)))

    def broadcast(self, value: Value, shape: tuple[int, ...]) -> Value:
        """`value` repeated along new or length-1 axes, as NumPy broadcasts."""
        if value.shape == tuple(shape):
            return value
        own = contiguous(value.shape)
        lead = len(shape) - len(value.shape)
        strides = [0] * lead + [0 if n == 1 else s for n, s in zip(own.shape, own.strides)]
        return self.view(value, View(0, tuple(shape), tuple(strides)))

    def cast(self, value: Value, dtype: np.dtype) -> Value:
        return value if value.dtype == dtype else self.apply("cast", value, dtype=np.dtype(dtype))

    def tape(self, arguments: tuple[int, ...], results: tuple[Value, ...], active: frozenset[int]) -> Tape:
        return Tape(
            buffers=tuple(self.buffers),
            arguments=arguments,
            operations=tuple(self.operations),
            results=results,
            turn=len(self.operations),
            active=active,
        )


def literal(data: object, dtype: np.dtype | None) -> np.ndarray:
    """Numbers as the array that an operation holds."""
    array = np.array(data, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def continued(tape: Tape) -> TapeBuilder:
    """A builder that goes on where `tape` ends."""
    return TapeBuilder(buffers=list(tape.buffers), operations=list(tape.operations), next_value=next_value(tape))


def rebuilt(tape: Tape) -> TapeBuilder:
    """An empty builder for another version of `tape`: its buffers, and ids that are still free."""
    return TapeBuilder(buffers=list(tape.buffers), next_value=next_value(tape))


def written_anew(tape: Tape, builder: TapeBuilder, write: Callable[[Operation], object]) -> Tape:
    """`tape` with what `write` emits to `builder` for each of its operations; the sweeps stay apart."""
    for op in tape.operations[: tape.turn]:
        write(op)
    turn = len(builder.operations)
    for op in tape.operations[tape.turn :]:
        write(op)
    return replace(tape, buffers=tuple(builder.buffers), operations=tuple(builder.operations), turn=turn)
