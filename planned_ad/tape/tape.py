"""The tape: the one intermediate representation (IR) of a program."""

from __future__ import annotations

from dataclasses import dataclass, field

from .listing import tape_listing

from .operations import (  # isort: skip
    Apply, Branch, Buffer, Constant, Guard, IndexValue, Load, Loop, Operation, Scatter, Store, Value, all_blocks,
    defined_by, free_values, over, renamed, stretch, walk,
)  # fmt: skip

__all__ = [
    "Apply", "Branch", "Buffer", "Constant", "Guard", "IndexValue", "Load", "Loop", "Operation", "Scatter", "Store",
    "Tape", "Value", "all_blocks", "defined_by", "free_values", "next_value", "over", "renamed", "stretch", "walk",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """A program: buffers, operations in order, and what it returns.

    `arguments` are ids of the buffers passed in, in order. `results` are the values returned (scalars and
    arrays), in order. Operations from position `turn` on belong to the reverse sweep (`turn == len(operations)`
    for a primal tape).
    """

    buffers: tuple[Buffer, ...]
    arguments: tuple[int, ...]
    operations: tuple[Operation, ...]
    results: tuple[Value, ...] = ()
    turn: int = 0
    active: frozenset[int] = field(default_factory=frozenset)  # argument buffers with derivative

    def buffer(self, id: int) -> Buffer:
        return self.buffers[id]

    def __str__(self) -> str:
        return tape_listing(self)


def next_value(tape: Tape) -> int:
    """The first value id that is free."""
    return 1 + max((v.id for op in walk(tape.operations) for v in op.outputs), default=-1)
