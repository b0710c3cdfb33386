"""What crosses between the halves of a split plan: values and memory of the primal that the reverse sweep needs.

Memory that the sweep reads as the primal has left it crosses as a whole, and what is found in it is free. For other
values the least is kept: they themselves, or the memory that they were loaded from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...analysis.cost import Parts, evaluated_parts, is_dear, is_local, is_short
from ...analysis.dependence import WriteHistory
from ...passes.dead_code import Liveness
from ...tape.tape import Apply, Buffer, Load, Operation, Tape, Value, defined_by, free_values, walk
from .handover import read_exactly
from .sources import Choice, Loaded, Node, Snapshot, Source, overwritten

SMALL = 512  # bytes: local memory up to this is copied to the tape, since it may live in registers


class Crossing(Choice):
    """What the operations `sweep` need of the operations `primal` of a tape, all of which have run before.

    `whole`: buffers that cross.
    """

    most_nodes = 20_000  # a second

    def __init__(self, tape: Tape, primal: Sequence[Operation], sweep: Sequence[Operation]):
        super().__init__(v.id for op in walk(tuple(sweep)) for v in read_exactly(op))
        self.tape, self.primal, self.sweep = tape, primal, sweep
        self.made = defined_by(tuple(primal))
        self.values = {v.id: v for op in primal for v in op.outputs}
        self.position = {v.id: k for k, op in enumerate(primal) for v in op.outputs}
        self.history = WriteHistory(replace(tape, operations=tuple(primal), turn=len(primal)))
        self.repeatable = self.found_repeatable()
        self.whole = self.read_as_left()

    def chosen(self) -> dict[int, Source]:
        """Where all values that the sweep needs come from; what else of memory crosses is `whole` from then on."""
        return self.sources([v.id for v in free_values((tuple(self.sweep),), ())])

    def read_as_left(self) -> set[int]:
        """Memory of the primal that the sweep reads as the primal has left it."""
        buffers = tuple(b if is_of_sweep(b) else replace(b, kind="local") for b in self.tape.buffers)
        sweep = tuple(self.sweep)
        live = Liveness(replace(self.tape, buffers=buffers, operations=sweep, results=(), turn=0))
        live.block(sweep)
        read = {r.buffer for op in sweep for r in op.reads if not is_of_sweep(self.tape.buffers[r.buffer])}
        filled = {r.buffer for op in self.primal for r in op.writes} | set(self.tape.arguments)
        filled |= {b.id for b in self.tape.buffers if b.array is not None}
        return {id for id in read & filled if live.elements(id).any()}

    def found_repeatable(self) -> set[int]:
        """Values that are rather computed again from their operands than kept."""
        found: set[int] = set()
        parts: dict[int, Parts] = {}
        for op in self.primal:
            new = evaluated_parts(op, (parts[v.id] for v in op.inputs)) if not op.blocks else {}
            for value in op.outputs:
                if isinstance(op, Apply) and self.is_cheap(op) and is_short(op, new):
                    found.add(value.id)
                elif isinstance(op, Apply):
                    new = {value.id: 1.0}
                parts[value.id] = new
        return found

    def is_cheap(self, op: Apply) -> bool:
        if op.out.id in self.exact and not self.repeats_exactly(op.out.id):
            return False
        return is_local(op, self.is_in_memory) and not is_dear(op)

    def is_in_memory(self, value: Value) -> bool:
        return isinstance(self.made[value.id], Load)

    # What the choice asks for.

    def operation(self, id: int) -> Operation:
        return self.made[id]

    def operands(self, id: int) -> Iterable[int]:
        return tuple(v.id for v in self.made[id].inputs)

    def home(self, id: int) -> Loaded | None:
        op = self.made[id]
        if isinstance(op, Load) and op.region.buffer in self.whole and self.overwriter(op) is None:
            return Loaded(op.region, op.line)
        copies = (region for region, _ in self.history.copies(id, len(self.primal)) if region.buffer in self.whole)
        region = next(copies, None)
        return None if region is None else Loaded(region, op.line)

    def can_repeat(self, id: int) -> bool:
        return id in self.repeatable

    def copy(self, id: int) -> Snapshot | None:
        """The memory that it was loaded from, where the primal leaves that as it was."""
        op = self.made[id]
        return Snapshot(op.region.buffer) if isinstance(op, Load) and self.overwriter(op) is None else None

    def overwriter(self, load: Load) -> Operation | None:
        return self.history.first_write(load.region, self.position[load.out.id], len(self.primal))

    def cost(self, node: Node) -> int:
        """Of equal sizes, memory costs less than a value, unless that memory has to be copied."""
        if isinstance(node, Snapshot):
            buffer = self.tape.buffers[node.buffer]
            return 2 * buffer.nbytes + 2 * is_copied(buffer)
        return 2 * self.values[node].nbytes + 1

    def kept(self, needs: Iterable[int]) -> set[Node]:
        found = super().kept(needs)
        self.whole = self.whole | {node.buffer for node in found if isinstance(node, Snapshot)}
        return found

    def why_lost(self, id: int, what: str) -> str:
        load = self.made[id]
        assert isinstance(load, Load)
        writer = self.overwriter(load)
        if writer is not None:
            return overwritten(writer, what)
        return (
            f"{self.tape.buffers[load.region.buffer].label} is read by the reverse sweep, and may be overwritten before"
        )


def is_of_sweep(buffer: Buffer) -> bool:
    return buffer.kind in ("shadow", "cotangent")


def is_copied(buffer: Buffer) -> bool:
    """Whether the primal works on memory of its own, and copies it to the tape at its end."""
    return buffer.visible or (buffer.nbytes <= SMALL and buffer.kind == "local")
