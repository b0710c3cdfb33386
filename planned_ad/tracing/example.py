"""The example run: what a traced value is for the example arguments, where Python needs to know."""

from __future__ import annotations

import numpy as np

from ..builder import TapeBuilder
from ..interpret import Interpreter, memory_of
from ..tape import Buffer, Value


class ExampleRun:
    """Runs the tape as far as it is recorded, on copies of the example arguments, when it is first asked."""

    def __init__(self, builder: TapeBuilder):
        self.builder = builder
        self.arrays: dict[int, np.ndarray] = {}
        self.interpreter: Interpreter | None = None
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
            self.interpreter = Interpreter(buffers, memories)
        operations = self.builder.operations
        self.interpreter.run(operations[self.done :])
        self.done = len(operations)
        return self.interpreter.value(value)
