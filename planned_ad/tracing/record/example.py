"""The example run: what a traced value is for the example arguments, where Python needs to know."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...tape.guards import REQUIRED, error_of, is_limit, is_stretch
from ...tape.interpret import memory_of
from ...tape.loop_code import LoopInterpreter
from ...tape.tape import Buffer, Guard, Operation, Value
from .builder import RecordingBuilder
from .scopes import Scopes


@dataclass
class Mark:
    """A place on the tape to which the run may have to go back, while `owner` is there."""

    owner: weakref.ref[object]
    position: int
    overwritten: dict[int, np.ndarray] = field(default_factory=dict)  # what memory held there, by buffer


class ExampleRun:
    """Runs the tape as far as it is recorded, on copies of the example arguments, when it is first asked."""

    def __init__(self, builder: RecordingBuilder, scopes: Scopes, max_steps: int):
        self.builder, self.scopes, self.max_steps = builder, scopes, max_steps
        self.arrays: dict[int, np.ndarray] = {}
        self.interpreter: LoopInterpreter | None = None
        self.done = 0
        self.marks: list[Mark] = []

    def provide(self, buffer: Buffer, array: np.ndarray) -> None:
        self.arrays[buffer.id] = array

    def mark(self, owner: object) -> None:
        """What is recorded from now on may be replaced by `owner`: the run will go on from here then."""
        if self.builder.operations is self.scopes.root:
            self.marks.append(Mark(weakref.ref(owner), len(self.builder.operations)))

    def go_back(self, owner: object) -> None:
        """The operations from the mark of `owner` on are other ones now."""
        own = next((k for k, mark in enumerate(self.marks) if mark.owner() is owner), None)
        if own is None:  # it is in a block, of which nothing has run
            return
        for mark in reversed(self.marks[own:]):
            for id, held in mark.overwritten.items():
                assert self.interpreter is not None
                self.interpreter.memories[id][...] = held
            mark.overwritten.clear()
        del self.marks[own + 1 :]
        self.done = min(self.done, self.marks[own].position)

    def number(self, value: Value) -> np.ndarray:
        """What `value` is for the example."""
        if self.interpreter is None:
            buffers = self.builder.buffers
            memories = {id: memory_of(buffers[id], array) for id, array in self.arrays.items()}
            self.interpreter = LoopInterpreter(buffers, memories, on_guard=self.broken)
            self.interpreter.written = range(sys.maxsize)  # any of them: what is to come is not known
        operations = self.builder.operations
        for mark, stop in self.stretches(len(operations)):
            block = operations[self.done : stop]
            if mark is not None:
                self.keep_overwritten(mark, block)
            with np.errstate(all="ignore"):
                self.interpreter.run(block)
            self.done = stop
        return self.interpreter.value(value)

    def stretches(self, end: int) -> Iterator[tuple[Mark | None, int]]:
        """What is still to be run: to where, and the mark that is before it."""
        alive: list[Mark] = []
        for mark in self.marks:
            if mark.owner() is not None:
                alive.append(mark)
            elif alive:  # to go back to the one before it takes what is held for this one
                alive[-1].overwritten = mark.overwritten | alive[-1].overwritten
        self.marks = alive
        for before, stop in zip([None, *alive], [*(mark.position for mark in alive), end]):
            if self.done < stop:
                yield before, stop

    def keep_overwritten(self, mark: Mark, block: list[Operation]) -> None:
        assert self.interpreter is not None
        for id in {region.buffer for op in block for region in op.writes} - mark.overwritten.keys():
            mark.overwritten[id] = self.interpreter.memory(self.builder.buffers[id]).copy()

    def broken(self, guard: Guard, actual: object) -> None:
        """The example is no run of the program: an index is out of range in a loop, say.

        Of a branch it is the outcome that the kernel has found, which the last bit of a sum may decide.
        """
        if is_stretch(guard):
            self.scopes.decisions.stretched.add(guard.line)
            raise self.scopes.restart()
        if guard.what in REQUIRED or is_limit(guard):
            raise error_of(guard, "", self.max_steps)
