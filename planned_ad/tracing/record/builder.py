"""The builder of a trace: of loops and branches that are recorded several times it makes the same in each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ...errors import UnsupportedError
from ...regions.regions import View
from ...tape.builder import TapeBuilder, literal
from ...tape.tape import Buffer, Operation, Value
from .blocks import Blocks
from .limits import INT, Limits


@dataclass
class RecordingBuilder(TapeBuilder):
    """A log of operations with blocks in it, in which buffers and constants may be known from an earlier pass."""

    blocks: Blocks | None = None
    depth: int = 0  # how many blocks are around
    made: list[tuple[int, int]] = field(default_factory=list)  # buffers, in order, and how deep they were made
    limits: Limits = field(default_factory=Limits)
    of_forms: dict[int, Operation] = field(default_factory=dict)  # by identity; of no statement of the program
    is_between: bool = False  # whether what is recorded now is of none
    # By identity, values that there may not be; with each what to do where it is used.
    doubtful: dict[int, tuple[Value, Callable[[], None]]] = field(default_factory=dict)

    def new_buffer(self, kind: str, label: str, dtype: np.dtype, view: View, shadow_of: int | None = None) -> Buffer:
        known = None if self.blocks is None else self.blocks.buffer(kind, label, np.dtype(dtype), view)
        buffer = super().new_buffer(kind, label, dtype, view, shadow_of) if known is None else known
        self.made.append((buffer.id, self.depth))
        if self.blocks is not None and known is None:
            self.blocks.made(buffer)
        return buffer

    def emit(self, operation: Operation) -> None:
        if self.blocks is not None:
            self.blocks.check(operation)
        for value in operation.inputs if self.doubtful and not operation.blocks else ():
            self.use(value)
        if self.is_between:
            self.of_forms[id(operation)] = operation
        self.operations.append(operation)

    @contextmanager
    def between_statements(self) -> Iterator[None]:
        """What is recorded in the block is what loops and branches hand on."""
        was, self.is_between = self.is_between, True
        try:
            yield
        finally:
            self.is_between = was

    def use(self, value: Value) -> None:
        """A value is used, or returned."""
        if id(value) in self.doubtful:
            self.doubtful[id(value)][1]()

    def cast(self, value: Value, dtype: np.dtype) -> Value:
        if dtype.kind == "c":
            raise UnsupportedError(
                f"{self.line}: real numbers are asked for as complex ones where that has no rule; use .astype(complex)"
            )
        return super().cast(value, dtype)

    def apply(self, primitive: str, *operands: Value, **parameters: object) -> Value:
        out = super().apply(primitive, *operands, **parameters)
        self.limits.derive(out, primitive, operands)
        return out

    def constant(self, data: object, dtype: np.dtype | None = None) -> Value:
        known = literal(data, dtype)
        if self.blocks is None or not self.blocks.stack:
            value = super().constant(known)
        else:
            value = self.blocks.constant(known)
        if value.dtype == INT and not value.shape:
            self.limits.note(value, int(known), int(known))
        return value
