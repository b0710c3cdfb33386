"""Split a differentiated tape where it turns: into the primal, and a reverse sweep that can run later.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.sum(np.exp(x)), (np.zeros(4),)).tape
>>> tape = simplify(reverse(tape, accumulate=True, keep_results=True))
>>> print(brief(tape))
v0: float64[4] = x[...]
v1: float64[4] = exp(v0)
v2 = reduce_sum(v1, axes=(0,))
result#1[...] = v2
# reverse sweep
dx#2[...] += v1
>>> halves = split(tape)
>>> print(brief(halves.forward))
v0: float64[4] = x[...]
v1: float64[4] = exp(v0)
v2 = reduce_sum(v1, axes=(0,))
result#1[...] = v2
kept#3[...] = v1
>>> print(brief(halves.reverse))
# reverse sweep
v1: float64[4] = kept#3[...]
dx#2[...] += v1

Requires a simplified tape with a reverse sweep that accumulates; ensures that the second half, run any number of times
later on what the first has left, has the effects of the sweep.

What the sweep needs of the primal crosses in buffers of kind 'tape': memory of the caller's, which the first half fills
and the second only reads. What lies in memory of the primal's own (caches, large local arrays) is written to the tape
at once. Arguments are copied, since the caller may overwrite them between the two. Of values, those are kept
that take the fewest bytes: a minimum cut between what cannot be computed again cheaply and what is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...analysis.dependence import WriteHistory
from ...analysis.minimum_cut import minimum_node_cut
from ...passes.boundary import move, privatise
from ...passes.dead_code import Liveness
from ...passes.pipeline import simplify
from ...python.source import UNKNOWN, Line
from ...regions.regions import Region, View, contiguous
from ...rules.table import RULES
from ...tape.builder import rebuilt
from ...tape.tape import (
    Apply,
    Buffer,
    Constant,
    Guard,
    Load,
    Operation,
    Store,
    Tape,
    Value,
    defined_by,
    free_values,
    walk,
)
from .handover import read_exactly
from .kept_values import DEAR, FEW, SELECTIONS

CHAIN = {True: 16.0, False: 8.0}  # additions per element (of an array, a scalar) that cost as much as keeping a number
SMALL = 512  # bytes: local memory up to this is copied to the tape, since it may live in registers
MOST_NODES = 1000  # that belong together: beyond, each needed value is kept
ALIGNMENT = 64  # of memory from SMALL on

Node = tuple[str, int]  # 'value' or 'buffer', and its id
Arc = tuple[Node, Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What crosses on the tape: `buffer` of both halves, and why."""

    buffer: int
    nbytes: int
    reason: str
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """The two tapes, which share their buffers; where each buffer lies on the tape; what is kept and computed again."""

    forward: Tape
    reverse: Tape
    offsets: dict[int, int]
    nbytes: int
    kept: tuple[Kept, ...]
    again: tuple[Apply, ...]


def split(tape: Tape) -> Halves:
    """Requires a simplified tape with a reverse sweep that accumulates; its results are stored to memory.

    Ensures that the first tape has the effects of the primal, and that the second, run any number of times later on
    what the first has left in the buffers of kind 'tape', has those of the sweep. Neither reads what the other half's
    caller brings.
    """
    return Splitter(tape).split()


@dataclass
class Splitter:
    """The decisions for one tape."""

    tape: Tape
    primal: list[Operation] = field(default_factory=list)
    sweep: list[Operation] = field(default_factory=list)
    moved: dict[int, int] = field(default_factory=dict)  # from buffers of the primal to their copies on the tape
    kept: list[Kept] = field(default_factory=list)

    def split(self) -> Halves:
        self.divide()
        whole = self.crossing_buffers()
        values, buffers = self.crossing_values(whole)
        self.builder = rebuilt(self.tape)
        for id in sorted(whole | buffers):
            self.keep_buffer(id)
        loads = self.keep_values(sorted(values))
        again = self.repeated(values)
        return self.halves([*loads, *again], tuple(op for op in again if isinstance(op, Apply)))

    def divide(self) -> None:
        """The operations of both halves: what the sweep loads of the primal's memory belongs to the first."""
        tape = self.tape
        self.primal = list(tape.operations[: tape.turn])
        history = WriteHistory(replace(tape, operations=tape.operations[tape.turn :], turn=0))
        for k, op in enumerate(tape.operations[tape.turn :]):
            assert not any(isinstance(o, Guard) for o in walk((op,))), "the reverse sweep leaves in the middle"
            if isinstance(op, Constant) or (
                isinstance(op, Load)
                and not self.is_of_sweep(op.region.buffer)
                and history.first_write(op.region, -1, k) is None
            ):
                self.primal.append(op)
                continue
            self.sweep.append(op)
        self.made = defined_by(tuple(self.primal))
        self.position = {v.id: k for k, op in enumerate(self.primal) for v in op.outputs}
        self.history = WriteHistory(replace(tape, operations=tuple(self.primal), turn=len(self.primal)))
        self.wanted = {v.id: v for v in free_values((tuple(self.sweep),), ())}
        self.exact = {v.id for op in walk(tuple(self.sweep)) for v in read_exactly(op)}
        self.parts: dict[int, dict[int, float]] = {}
        self.stored: dict[int, list[tuple[Region, int]]] = {}
        for k, op in enumerate(self.primal):
            if isinstance(op, Store) and not op.accumulate and op.value.shape == op.region.shape:
                self.stored.setdefault(op.value.id, []).append((op.region, k))

    def is_of_sweep(self, buffer: int) -> bool:
        return self.tape.buffers[buffer].kind in ("shadow", "cotangent")

    # What crosses.

    def crossing_buffers(self) -> set[int]:
        """Memory of the primal that the sweep reads as the primal has left it."""
        buffers = tuple(b if self.is_of_sweep(b.id) else replace(b, kind="local") for b in self.tape.buffers)
        sweep = tuple(self.sweep)
        live = Liveness(replace(self.tape, buffers=buffers, operations=sweep, results=(), turn=0))
        live.block(sweep)
        read = {r.buffer for op in sweep for r in op.reads if not self.is_of_sweep(r.buffer)}
        filled = {r.buffer for op in self.primal for r in op.writes} | set(self.tape.arguments)
        filled |= {b.id for b in self.tape.buffers if b.array is not None}
        return {id for id in read & filled if live.elements(id).any()}

    def crossing_values(self, whole: set[int]) -> tuple[set[int], set[int]]:
        """The values, and the buffers besides `whole`, from which all that the sweep needs can be had."""
        costs: dict[Node, int] = {}
        arcs: list[Arc] = []
        lost: set[Node] = set()
        waiting: list[Node] = [("value", id) for id in sorted(self.wanted) if not self.is_free(id, whole)]
        sinks = set(waiting)
        while waiting:
            node = waiting.pop()
            if node in costs:
                continue
            op, value = self.made[node[1]], self.value_of(node[1])
            costs[node] = 2 * value.nbytes + 1
            if isinstance(op, Load) and self.is_intact(op.region, node[1]) and op.region.buffer not in whole:
                source = ("buffer", op.region.buffer)
                costs[source] = 2 * self.nbytes_of(op.region.buffer) + 2 * self.is_copied(op.region.buffer)
                lost.add(source)
                arcs.append((source, node))
            elif self.can_repeat(node[1]):
                operands = [("value", v.id) for v in op.inputs if not self.is_free(v.id, whole)]
                arcs += [(operand, node) for operand in dict.fromkeys(operands)]
                waiting += operands
            else:
                lost.add(node)
        chosen: set[Node] = set()
        for nodes, inside in components(costs, arcs):
            if len(nodes) == 1 or len(nodes) > MOST_NODES:
                chosen |= nodes & sinks
            else:
                own = {node: costs[node] for node in nodes}
                chosen |= minimum_node_cut(own, inside, sorted(nodes & lost), sorted(nodes & sinks))
        buffers = {id for kind, id in chosen if kind == "buffer"}
        values = {id for kind, id in chosen if kind == "value" and self.home(id, whole | buffers) is None}
        return values, buffers

    def value_of(self, id: int) -> Value:
        return next(v for v in self.made[id].outputs if v.id == id)

    def nbytes_of(self, buffer: int) -> int:
        return self.tape.buffers[buffer].span * self.tape.buffers[buffer].dtype.itemsize

    def is_copied(self, buffer: int) -> bool:
        """Whether the primal works on memory of its own, and copies it to the tape at its end."""
        return self.tape.buffers[buffer].visible or (
            self.nbytes_of(buffer) <= SMALL and self.tape.buffers[buffer].kind == "local"
        )

    def is_intact(self, region: Region, id: int) -> bool:
        """Whether memory still holds at the end of the primal what value `id` was loaded from it as."""
        return self.history.first_write(region, self.position[id], len(self.primal)) is None

    def home(self, id: int, buffers: Iterable[int]) -> Region | None:
        """Memory in `buffers` that holds the value at the end of the primal."""
        op = self.made[id]
        places = [(op.region, self.position[id])] if isinstance(op, Load) else []
        for region, since in (*places, *self.stored.get(id, ())):
            if region.buffer in buffers and self.history.first_write(region, since, len(self.primal)) is None:
                return region
        return None

    def is_free(self, id: int, whole: set[int]) -> bool:
        return isinstance(self.made[id], Constant) or self.home(id, whole) is not None

    def can_repeat(self, id: int) -> bool:
        """Whether the value is rather computed again from its operands than kept."""
        return len(self.parts_of(id)) != 1 or id not in self.parts_of(id)

    def parts_of(self, id: int) -> dict[int, float]:
        """What computing the value again would compute; the value alone where it had better be kept."""
        waiting = [id]
        while waiting:
            last = waiting[-1]
            missing = [v.id for v in self.made[last].inputs if v.id not in self.parts] if self.is_cheap(last) else []
            if last in self.parts or not missing:
                waiting.pop()
                self.parts.setdefault(last, self.parts_from_operands(last))
            else:
                waiting += missing
        return self.parts[id]

    def parts_from_operands(self, id: int) -> dict[int, float]:
        op = self.made[id]
        if isinstance(op, Constant):
            return {}
        if not isinstance(op, Apply) or not self.is_cheap(id):
            return {id: 1.0}
        found = {} if RULES[op.primitive].kind == "view" else {-1 - id: RULES[op.primitive].cost}
        for operand in op.operands:
            found |= self.parts[operand.id]
        return found if sum(found.values()) <= CHAIN[bool(op.out.shape)] else {id: 1.0}

    def is_cheap(self, id: int) -> bool:
        op = self.made[id]
        if not isinstance(op, Apply) or (id in self.exact and not self.repeats_exactly(id)):
            return False
        rule = RULES[op.primitive]
        cheap = (
            rule.kind in ("elementwise", "view")
            or (rule.kind == "gather" and isinstance(self.made[op.operands[0].id], Load))
            or (rule.kind == "reduce" and op.operands[0].size <= FEW)
        )
        return cheap and rule.cost < DEAR

    def repeats_exactly(self, id: int) -> bool:
        """Whether the value comes from memory and constants by operations that round nothing."""
        waiting, seen = [id], {id}
        while waiting:
            op = self.made[waiting.pop()]
            if isinstance(op, Load | Constant):
                continue
            if not isinstance(op, Apply):
                return False
            kind = RULES[op.primitive].kind
            chosen = op.out.dtype.kind != "f" or op.primitive in SELECTIONS
            if not (kind in ("view", "gather") or (kind == "elementwise" and chosen)):
                return False
            new = {v.id for v in op.operands} - seen
            waiting += new
            seen |= new
        return True

    # Writing the halves.

    def keep_buffer(self, id: int) -> None:
        """Memory on the tape in the place of a buffer, or for a copy of it."""
        old = self.tape.buffers[id]
        self.builder.line = old.line
        label = "cache" if old.kind == "cache" else old.label
        copy = self.builder.new_buffer("tape", label, old.dtype, old.view)
        self.moved[id] = copy.id
        if old.kind in ("argument", "captured"):
            reason = f"{old.label} is read by the reverse sweep, and the caller may overwrite it before"
        elif old.kind == "cache":
            reason = old.label
        else:
            reason = f"the array made here ({old.line}) is read again by the reverse sweep"
        line = old.line if old.line.number else self.first_read(id)
        self.kept.append(Kept(buffer=copy.id, nbytes=self.nbytes_of(id), reason=reason, line=line))
        if self.is_copied(id):
            self.builder.line = line
            self.builder.store(copy.whole, self.builder.load(old.whole))

    def first_read(self, buffer: int) -> Line:
        """Where the sweep first needs a buffer; or where the primal first uses it."""
        operations = (*walk(tuple(self.sweep)), *walk(tuple(self.primal)))
        plain = (op for op in operations if not op.blocks)
        return next((op.line for op in plain if any(r.buffer == buffer for r in (*op.reads, *op.writes))), UNKNOWN)

    def keep_values(self, ids: list[int]) -> list[Operation]:
        """Store values to the tape; the loads by which the sweep gets them. Scalars of one type share a buffer."""
        loads: list[Operation] = []
        scalars: dict[np.dtype, list[int]] = {}
        for id in ids:
            if not self.value_of(id).shape:
                scalars.setdefault(self.value_of(id).dtype, []).append(id)
        shared: dict[int, Region] = {}
        for dtype, some in scalars.items():
            buffer = self.builder.new_buffer("tape", "numbers", dtype, contiguous((len(some),)))
            shared |= {id: Region(buffer.id, View(k, (), ())) for k, id in enumerate(some)}
        for id in ids:
            value, line = self.value_of(id), self.made[id].line
            self.builder.line = line
            region = shared.get(id)
            if region is None:
                region = self.builder.new_buffer("tape", "kept", value.dtype, contiguous(value.shape)).whole
            self.builder.store(region, value)
            loads.append(Load(out=value, region=region, line=line))
            self.kept.append(Kept(buffer=region.buffer, nbytes=value.nbytes, reason=self.reason(id), line=line))
        return loads

    def reason(self, id: int) -> str:
        op = self.made[id]
        if isinstance(op, Load):
            label = self.tape.buffers[op.region.buffer].label
            if not self.is_intact(op.region, id):
                writer = self.history.first_write(op.region, self.position[id], len(self.primal))
                assert writer is not None
                return f"needed by the derivative, and its memory is overwritten at {writer.line}: {writer.line.text}"
            return f"{label} is read by the reverse sweep, and may be overwritten before"
        if id in self.exact and not self.repeats_exactly(id):
            return "the derivative goes the way that this decided, to the last bit"
        title = op.title if isinstance(op, Apply) else "it"
        return f"needed by the derivative, and computing {title} again costs more than keeping it"

    def repeated(self, kept: set[int]) -> list[Operation]:
        """The operations by which the sweep gets what is not kept, in order."""
        found: dict[int, Operation] = {}
        waiting = [id for id in self.wanted if id not in kept]
        while waiting:
            id = waiting.pop()
            if id in found or id in kept:
                continue
            op, home = self.made[id], self.home(id, self.moved)
            if isinstance(op, Constant):
                found[id] = op
            elif home is not None:
                found[id] = Load(out=self.value_of(id), region=self.on_tape(home), line=op.line)
            else:
                assert isinstance(op, Apply), "a value is neither kept nor can it be computed again"
                found[id] = op
                waiting += [v.id for v in op.operands]
        return [found[id] for id in sorted(found, key=self.position.__getitem__)]

    def on_tape(self, region: Region) -> Region:
        return Region(self.moved[region.buffer], region.view)

    def halves(self, prologue: list[Operation], again: tuple[Apply, ...]) -> Halves:
        tape, builder = self.tape, self.builder
        at_once = {id: copy for id, copy in self.moved.items() if not self.is_copied(id)}
        first = (*(move(op, at_once) for op in self.primal), *builder.operations)
        second = (*prologue, *(move(op, self.moved) for op in self.sweep))
        buffers = tuple(builder.buffers)
        kept = [b for b in buffers if b.kind == "tape"]
        ids = tuple(b.id for b in kept)
        own = tuple(id for id in tape.arguments if not self.is_of_sweep(id))
        forward = replace(tape, buffers=buffers, arguments=(*own, *ids), operations=first, turn=len(first))
        shadows = tuple(id for id in tape.arguments if self.is_of_sweep(id))
        reverse = Tape(buffers=buffers, arguments=(*shadows, *ids), operations=second)
        written = {r.buffer for op in second for r in op.writes}
        reverse = privatise(reverse, sorted(written & set(ids)), write_back=False)
        forward, reverse = simplify(forward), replace(simplify(replace(reverse, turn=0)), turn=0)
        offsets, nbytes = laid_out(kept)
        return Halves(
            forward=forward, reverse=reverse, offsets=offsets, nbytes=nbytes, kept=tuple(self.kept), again=again
        )


def components(nodes: Iterable[Node], arcs: Sequence[Arc]) -> list[tuple[set[Node], list[Arc]]]:
    """The nodes in sets that no arc connects, each with its arcs."""
    touching: dict[Node, list[Arc]] = {node: [] for node in nodes}
    for arc in arcs:
        for node in arc:
            touching[node].append(arc)
    found: list[tuple[set[Node], list[Arc]]] = []
    seen: set[Node] = set()
    for start in touching:
        if start in seen:
            continue
        part, waiting = {start}, [start]
        while waiting:
            new = {node for arc in touching[waiting.pop()] for node in arc} - part
            part |= new
            waiting += sorted(new)
        seen |= part
        found.append((part, [(a, b) for node in sorted(part) for a, b in touching[node] if a == node]))
    return found


def laid_out(buffers: Iterable[Buffer]) -> tuple[dict[int, int], int]:
    """Places one after the other, the larger ones at multiples of 64 bytes, and the bytes of all."""
    offsets: dict[int, int] = {}
    end = 0
    for buffer in sorted(buffers, key=lambda b: (-b.span * b.dtype.itemsize, b.id)):
        nbytes = buffer.span * buffer.dtype.itemsize
        unit = ALIGNMENT if nbytes >= SMALL else 8
        end = -(-end // unit) * unit
        offsets[buffer.id] = end
        end += nbytes
    return offsets, end
