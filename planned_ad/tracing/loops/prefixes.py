"""Numbers for sequences of recorded operations: the same for the same ones.

A block that is being recorded is asked for its number at each test in it, and has become longer since: only what has
come to it is looked at.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from ...tape.tape import Operation
from ..record.ids import APART


@dataclass
class Prefixes:
    numbers: dict[tuple[int, object], int] = field(default_factory=dict)  # by that of all but the last, and the last
    # Blocks by identity, with how many operations were looked at, the last of them, and their number.
    blocks: dict[int, tuple[list[Operation], int, Operation | None, int]] = field(default_factory=dict)

    def number(self, block: list[Operation]) -> int:
        _, count, last, number = self.blocks.get(id(block), (block, 0, None, 0))
        if count and (count > len(block) or block[count - 1] is not last):
            count, number = 0, 0
        for op in itertools.islice(block, count, None):
            number = self.numbers.setdefault((number, skeleton(op)), len(self.numbers) + 1)
        self.blocks[id(block)] = block, len(block), block[-1] if block else None, number
        return number

    def forget_blocks(self) -> None:
        """The numbers stay what they are; the blocks are gone."""
        self.blocks.clear()


def skeleton(op: Operation) -> object:
    """What of an operation the sides after it can tell: not what is inside of blocks, or in front of them."""
    if op.blocks:
        return type(op), op.line, getattr(op, "index", None)
    for value in (*op.inputs, *op.outputs):
        if value.id in APART:
            return type(op), op.line
    return op
