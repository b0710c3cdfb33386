"""The example run: what a traced value is for the example arguments, where Python needs to know."""

from __future__ import annotations

import sys

import numpy as np

from ...tape.guards import REQUIRED, error_of, is_limit, is_stretch
from ...tape.interpret import memory_of
from ...tape.loop_code import LoopInterpreter
from ...tape.tape import Buffer, Guard, Value
from .builder import RecordingBuilder
from .scopes import Scopes


class ExampleRun:
    """Runs the tape as far as it is recorded, on copies of the example arguments, when it is first asked."""

    def __init__(self, builder: RecordingBuilder, scopes: Scopes, max_steps: int):
        self.builder, self.scopes, self.max_steps = builder, scopes, max_steps
        self.arrays: dict[int, np.ndarray] = {}
        self.interpreter: LoopInterpreter | None = None
        self.done = 0

    def provide(self, buffer: Buffer, array: np.ndarray) -> None:
        self.arrays[buffer.id] = array

    def forget(self, position: int) -> None:
        """The operations from this position on are other ones now."""
        if self.done > position:
            self.interpreter, self.done = None, 0

    def number(self, value: Value) -> np.ndarray:
        """What `value` is for the example."""
        if self.interpreter is None:
            buffers = self.builder.buffers
            memories = {id: memory_of(buffers[id], array) for id, array in self.arrays.items()}
            self.interpreter = LoopInterpreter(buffers, memories, on_guard=self.broken)
            self.interpreter.written = range(sys.maxsize)  # any of them: what is to come is not known
        operations = self.builder.operations
        self.interpreter.run(operations[self.done :])
        self.done = len(operations)
        return self.interpreter.value(value)

    def broken(self, guard: Guard, actual: object) -> None:
        """The example is no run of the program: an index is out of range in a loop, say.

        Of a branch it is the outcome that the kernel has found, which the last bit of a sum may decide.
        """
        if is_stretch(guard):
            self.scopes.decisions.stretched.add(guard.line)
            raise self.scopes.restart()
        if guard.what in REQUIRED or is_limit(guard):
            raise error_of(guard, "", self.max_steps)
