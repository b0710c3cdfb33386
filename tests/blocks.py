"""Tapes with loops and branches, written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from planned_ad.regions.affine import Affine, loop_index
from planned_ad.regions.regions import Region, View, c_strides, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import array_of, interpret, memory_of, uninitialised
from planned_ad.tape.tape import Branch, Buffer, Loop, Operation, Tape, Value, walk
from planned_ad.tape.verify import verify

FLOAT = np.dtype(float)


class Program(TapeBuilder):
    """A tape under construction."""

    def argument(self, label: str, *shape: int, dtype=FLOAT) -> Buffer:
        return self.new_buffer("argument", label, dtype, contiguous(shape))

    def local(self, label: str, *shape: int, dtype=FLOAT) -> Buffer:
        return self.new_buffer("local", label, dtype, contiguous(shape))

    @contextmanager
    def loop(self, index: int, trips: int, *, start=0, step: int = 1, count: Value | None = None) -> Iterator[Affine]:
        """The operations written inside become the body of a loop."""
        around, self.operations = self.operations, []
        yield loop_index(index)
        body, self.operations = tuple(self.operations), around
        self.emit(Loop(index=index, start=start, step=step, trips=trips, body=body, count=count))

    @contextmanager
    def side(self) -> Iterator[list[Operation]]:
        """The operations written inside are found in the list that is yielded."""
        around, self.operations = self.operations, []
        found = self.operations
        yield found
        self.operations = around

    def branch(self, predicate: Value, then: list[Operation], otherwise: list[Operation]) -> None:
        self.emit(Branch(predicate=predicate, then=tuple(then), otherwise=tuple(otherwise)))

    def primal(self, *results: Value) -> Tape:
        arguments = tuple(b.id for b in self.buffers if b.kind != "local")
        active = frozenset(b.id for b in self.buffers if b.kind == "argument" and b.dtype.kind == "f")
        return verify(self.tape(arguments, results, active))


def at(buffer: Buffer, *position) -> Region:
    """One element, or the rest of the axes, at leading indices that may move with loops."""
    strides = c_strides(buffer.shape)
    offset = sum((p * s for p, s in zip(position, strides)), start=0)
    return Region(buffer.id, View(offset, buffer.shape[len(position) :], strides[len(position) :]))


def outcome(tape: Tape, seed: int = 0) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The results, and what the arguments hold at the end, from random arguments."""
    rng = np.random.default_rng(seed)
    memories = {}
    for id in tape.arguments:
        buffer = tape.buffers[id]
        if buffer.kind != "result":
            numbers = rng.normal(size=buffer.shape) if buffer.dtype.kind == "f" else rng.integers(0, 3, buffer.shape)
            memories[id] = memory_of(buffer, numbers)
        else:
            memories[id] = uninitialised(buffer)
    results = interpret(tape, memories)
    return results, {tape.buffers[id].label: array_of(tape.buffers[id], memories[id]) for id in tape.arguments}


def assert_same(before: Tape, after: Tape, exact: bool = False) -> None:
    """Both tapes have the same results and effects."""
    verify(after)
    for seed in range(3):
        (expected, memory), (found, left) = outcome(before, seed), outcome(after, seed)
        for a, b in zip(expected, found, strict=True):
            assert_close(b, a, exact, "result")
        for label in memory:
            assert_close(left[label], memory[label], exact, label)


def assert_close(found: np.ndarray, expected: np.ndarray, exact: bool, label: str) -> None:
    """Equal, or so up to rounding in sums whose largest terms are like the largest number."""
    largest = np.abs(expected).max(initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=0 if exact else 1e-13 * largest, err_msg=label)


def names(operations: tuple[Operation, ...]) -> list[str]:
    """What the operations are: the primitive, or the kind of operation."""
    return [getattr(op, "primitive", type(op).__name__) for op in operations]


def counted(tape: Tape, name: str) -> int:
    """How often an operation occurs, in blocks too."""
    return names(tuple(walk(tape.operations))).count(name)
