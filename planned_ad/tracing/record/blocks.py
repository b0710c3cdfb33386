"""Values and buffers of blocks that are recorded several times: the same ids in each pass, seen only inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from ...regions.regions import View
from ...tape.builder import TapeBuilder
from ...tape.tape import Buffer, Constant, Operation, Value
from .ids import APART, CONSTANTS

SMALL = 1 << 12  # bytes of a constant that is known by its contents, and not by a hash of them


@dataclass
class Made:
    """What the passes over a block make, in order: the same in each."""

    buffers: list[Buffer] = field(default_factory=list)
    loops: list[tuple[int, Made]] = field(default_factory=list)  # of the loops inside: the index, and what they make
    apart: list[Buffer] = field(default_factory=list)  # in front of the block


@dataclass
class Block:
    """One pass over a block."""

    made: Made
    position: int = 0  # among the buffers
    loops: int = 0  # among the loops
    births: int = 0  # arrays made
    values: list[int] = field(default_factory=list)


@dataclass
class Blocks:
    """The passes under way, innermost last; `dead(value)` makes what is raised for a value of a pass that is over."""

    builder: TapeBuilder
    dead: Callable[[Value], BaseException]
    stack: list[Block] = field(default_factory=list)
    defined: dict[int, Value] = field(default_factory=dict)
    constants: dict[object, Value] = field(default_factory=dict)
    numbers: dict[int, np.ndarray] = field(default_factory=dict)  # of the constants, by the ids of their values
    apart: int = APART.start
    set_apart: int = 0  # whether something in front of a block is recorded now

    def __post_init__(self) -> None:
        self.first = self.builder.next_value  # everything before has no block around it
        self.root = self.builder.operations

    def begin(self, first_value: int, made: Made) -> None:
        """Start a pass: its values are numbered from `first_value` on, its buffers are those of the pass before."""
        self.stack.append(Block(made))
        self.builder.next_value = first_value

    def end(self) -> None:
        """End a pass: nothing after it sees its values."""
        block = self.stack.pop()
        for id in block.values:
            self.defined.pop(id, None)

    def begin_apart(self, block: Block) -> tuple[int, list[Operation]]:
        """Record something that belongs in front of a block."""
        saved = (self.builder.next_value, self.builder.operations)
        self.builder.next_value = self.apart
        self.stack.append(block)
        self.set_apart += 1
        return saved

    def end_apart(self, saved: tuple[int, list[Operation]]) -> None:
        self.stack.pop()
        self.set_apart -= 1
        self.apart = self.builder.next_value
        self.builder.next_value, self.builder.operations = saved

    def buffer(self, kind: str, label: str, dtype: np.dtype, view: View) -> Buffer | None:
        """The buffer that an earlier pass made here."""
        block = self.stack[-1] if self.stack else None
        if block is None or block.position >= len(block.made.buffers):
            return None
        found = block.made.buffers[block.position]
        if (found.kind, found.label, found.dtype, found.view) != (kind, label, dtype, view):
            del block.made.buffers[block.position :]
            return None
        block.position += 1
        return found

    def made(self, buffer: Buffer) -> None:
        block = self.stack[-1] if self.stack else None
        if block is not None:
            block.made.buffers.append(buffer)
            block.position += 1

    def loop(self, new: int) -> tuple[int, Made]:
        """The index of a loop that begins here, that of the pass before or `new`; and what the loop made then."""
        block = self.stack[-1] if self.stack else None
        if block is None:
            return new, Made()
        if block.loops == len(block.made.loops):
            block.made.loops.append((new, Made()))
        block.loops += 1
        return block.made.loops[block.loops - 1]

    def check(self, operation: Operation) -> None:
        """Note what an operation defines; what it reads must be seen here."""
        if not operation.blocks:
            for value in operation.inputs:
                if value.id >= self.first and self.defined.get(value.id) is not value:
                    raise self.dead(value)
        block = self.stack[-1] if self.stack and not self.set_apart else None
        for value in operation.outputs:
            self.defined[value.id] = value
            if block is not None:
                block.values.append(value.id)

    def constant(self, data: np.ndarray) -> Value:
        """A constant, recorded once, in front of all blocks."""
        contents = data.tobytes()
        if data.nbytes > SMALL:
            contents = blake2b(contents).digest()
        key = data.dtype, data.shape, contents
        value = self.constants.get(key)
        if value is None:
            value = Value(id=CONSTANTS[len(self.constants)], shape=data.shape, dtype=data.dtype)
            self.root.append(Constant(out=value, data=data, line=self.builder.line))
            self.constants[key] = self.defined[value.id] = value
            self.numbers[value.id] = data
        return value
