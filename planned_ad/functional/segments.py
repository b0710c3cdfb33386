"""Differentiate what a traced function has just recorded, where it stands on the tape.

A `Segment` is what one call of a function recorded: the operations since it began. Its derivative is written right
there, among the operations of the trace, so that it can be differentiated again, and may stand in loops and branches.
Only the `independents` are active in it: whatever else the function uses, traced or not, is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.activity import dependent, is_floating
from ..analysis.dependence import Overwrites
from ..analysis.singularities import singularities
from ..differentiate.adjoints import transpose
from ..differentiate.forward import Tangents, full_tangent, push
from ..differentiate.keep.caches import NoBound
from ..differentiate.shadows import new_shadow
from ..differentiate.sweep import Sweep
from ..passes.dead_code import drop_dead
from ..passes.invariants import hoist_invariants
from ..passes.known_zeros import forward_zeros
from ..passes.rewrite import rewrite
from ..passes.small_matrices import small_matrices_in_numbers
from ..passes.vectorise.vectorise import vectorise
from ..regions.affine import Extent, loop_index, ragged
from ..regions.regions import Region, View, contiguous
from ..tape.builder import TapeBuilder
from ..tape.renaming import Copier
from ..tape.tape import (
    Apply,
    Constant,
    Guard,
    Loop,
    Operation,
    Scatter,
    Store,
    Tape,
    Value,
    free_values,
    next_value,
    walk,
)
from ..tracing.record.ids import DERIVATIVES
from ..tracing.record.storage import LIVE

if TYPE_CHECKING:
    from ..tracing.record.recorder import Recorder

Block = tuple[Operation, ...]

SCRATCH = DERIVATIVES.start  # the value id that marks where a derivative begins that is being written


class Segment:
    """What is recorded from now on, as a function of `independents`. Memory that was read before is read again."""

    def __init__(self, recorder: Recorder, independents: Sequence[Value]):
        recorder.scopes.begin_epoch()
        self.recorder = recorder
        self.independents = tuple(independents)
        self.operations = recorder.builder.operations
        self.start = len(self.operations)
        self.results: tuple[Value, ...] = ()  # values that are used afterwards
        self.known = len(recorder.builder.buffers)
        self.depth, self.made = recorder.builder.depth, len(recorder.builder.made)
        recorder.example.mark(self)

    def recorded(self) -> tuple[Operation, ...]:
        """Its operations so far. It has to end in the block in which it began."""
        if self.recorder.builder.operations is not self.operations:
            raise self.recorder.scopes.unroll_innermost("is left early", self.recorder.builder.line)
        return tuple(self.operations[self.start :])

    def replace(self, operations: Iterable[Operation]) -> None:
        """Put other operations in the place of its own."""
        del self.operations[self.start :]
        self.recorder.example.go_back(self)
        for op in operations:
            self.recorder.builder.emit(op)

    def prepared(self) -> tuple[TapeBuilder, Block]:
        """A builder for the derivative, which knows the memory of the trace; and the operations as they are best
        differentiated: loops of independent iterations as array operations, invariants moved out of the others.

        Memory that the program may still get at is there as before, and so are its `results`; where it turns out that
        other values are used, the trace starts again and keeps them all.
        """
        recorder, own = self.recorder, self.recorded()
        builder = TapeBuilder(
            buffers=list(recorder.builder.buffers), line=recorder.builder.line, next_value=SCRATCH + 1
        )
        if not any(isinstance(op, Loop) for op in own):
            return builder, own
        seen = {id(storage.buffer) for storage in LIVE.storages if storage.buffer is not None}
        seen |= {id(b) for b in builder.buffers[: self.known]}
        # New ids go up from that of a constant, which is no other's.
        mark = Constant(out=Value(id=SCRATCH, shape=(), dtype=np.dtype(complex)), data=np.array(0j))
        scopes, blocks = recorder.scopes, recorder.scopes.blocks
        wanted = {v.id for v in self.results}
        every = [v for op in own if not isinstance(op, Constant) for v in op.outputs]
        values = [v for v in every if scopes.decisions.keeps or v.id < blocks.first or v.id in wanted]
        tape = Tape(
            buffers=tuple(replace(b, kind="argument") if id(b) in seen else b for b in builder.buffers),
            arguments=(),
            operations=(mark, *own),
            results=(mark.out, *values),
            turn=len(own) + 1,
        )
        tape = small_matrices_in_numbers(hoist_invariants(vectorise(tape), loads=True))
        builder.buffers += tape.buffers[len(builder.buffers) :]
        builder.next_value = next_value(tape)
        names = (
            Apply(out=old, primitive="cut", operands=(new,), line=recorder.builder.line)
            for old, new in zip(values, tape.results[1:], strict=True)
            if old.id != new.id
        )
        left = {v.id for op in tape.operations for v in op.outputs} | {mark.out.id} | {v.id for v in values}
        for value in every:
            if value.id not in left:
                scopes.dropped.add(value.id)
                blocks.defined.pop(value.id, None)
        constants = (op for op in own if isinstance(op, Constant) and op.out.id not in left)
        return builder, (*constants, *(op for op in tape.operations if mark.out not in op.outputs), *names)

    @property
    def around(self) -> tuple[Loop, ...]:
        """The loops that it stands in."""
        scopes, found = self.recorder.scopes, []
        for scope in scopes.open:
            if scope.index is not None:
                first, last = scope.range
                trips = ragged(max(scopes.bounds(last - first + 1)[1], 0), last - first + 1)
                found.append(Loop(index=scope.index, start=first, step=1, trips=trips, body=()))
        return tuple(found)

    # Forward.

    def pushed(
        self, builder: TapeBuilder, own: Block, tangents: Sequence[Value], results: Sequence[Value]
    ) -> list[Value]:
        """Write its operations with tangents beside them in a scratch builder; the tangents of `results`."""
        values, buffers = dependent(own, [v.id for v in self.independents], ())
        state = Tangents(builder, values, loops=self.around, facts=singularities(own, builder.buffers))
        state.tangents.update({v.id: tangent for v, tangent in zip(self.independents, tangents)})
        for id in sorted(buffers):
            if is_floating(builder.buffers[id].dtype):
                shadow = state.shadows[id] = new_shadow(builder, builder.buffers[id], "local")
                builder.store(shadow.whole, builder.constant(0, shadow.dtype))
        push(state, own)
        return [full_tangent(state, r) for r in results]

    def push(self, tangents: Sequence[Value], results: Sequence[Value]) -> list[Value]:
        """Write tangents beside the operations; those of `results`."""
        builder, own = self.prepared()
        found = self.pushed(builder, own, tangents, results)
        graft = Graft(self.recorder, builder)
        self.replace(graft.again(keep_loops=True).put(builder.operations))
        return [graft.value(v) for v in found]

    def pushforward(self, results: Sequence[Value], *, later: bool) -> Derivative | None:
        """Tangents of the results; None where loops would have to run again that change memory from outside.

        Values that the operations have computed stay; loops and branches run again, with what they read of memory.
        later : what they read of memory from outside is copied, as for `pullback`.
        """
        recorded, (builder, own) = self.recorded(), self.prepared()
        again = without_checks(own, {flag.id for flag in self.recorder.scopes.flags.values()})
        written = {r.buffer for op in walk(again) if not op.blocks for r in op.writes}
        if not written <= self.made_inside(builder):
            return None
        primal, graft = Graft(self.recorder, builder), Graft(self.recorder, builder, copied=written)
        if any(isinstance(op, Loop) for op in recorded):
            self.replace(primal.again(keep_loops=True).put(own))
        tangents = [builder.new_value(v.shape, v.dtype) for v in self.independents]
        found = self.pushed(builder, again, tangents, results)
        graft.values.update(primal.values)
        operations = repeated_for_directions(again, builder.operations)
        if later:
            graft.keep_memory(operations)
        return Derivative(graft, operations, tangents, found)

    def made_inside(self, builder: TapeBuilder) -> set[int]:
        """The memory that its operations have made."""
        recorder = self.recorder.builder
        inside = {id for id, depth in recorder.made[self.made :] if depth >= self.depth}
        return inside | set(range(len(recorder.buffers), len(builder.buffers)))

    # Reverse.

    def pullback(self, results: Sequence[Value], *, later: bool) -> Derivative:
        """The reverse sweep for cotangents of `results`; the operations are made to keep what it needs.

        later : what it reads of memory is copied, since other things may be written there before it runs.
        """
        builder, own = self.prepared()
        builder.operations = list(own)
        values, buffers = dependent(own, [v.id for v in self.independents], ())
        around = self.around
        overwrites, facts = Overwrites(builder.buffers, own, around), singularities(own, builder.buffers)
        indices = iter(lambda: self.recorder.scopes.new_loop()[0], None)
        sweep = Sweep(builder, values, overwrites=overwrites, loops=around, facts=facts, indices=indices)
        sweep.make_shadows(buffers)
        cotangents = [builder.new_value(r.shape, r.dtype) for r in results]
        for result, cotangent in zip(results, cotangents):
            sweep.contribute(result, cotangent)
        try:
            primal = transpose(sweep, own)
        except NoBound as error:
            raise self.recorder.scopes.bound_loops(error) from None
        found = []
        for value in self.independents:
            total = sweep.collapse(value)
            zero = builder.broadcast(sweep.zero(value.dtype), value.shape) if total is None else total
            found.append(zero)
        graft = Graft(self.recorder, builder)
        adjoint, found = tidied(builder, graft.known, tuple(primal), tuple(builder.operations[len(own) :]), found)
        self.replace(graft.again(keep_loops=True).put(primal))
        if later:
            graft.keep_memory(adjoint)
        return Derivative(graft, adjoint, cotangents, found)


def without_checks(operations: Block, flags: Collection[int]) -> Block:
    """What runs once more for the same numbers: they have been checked, by guards and what is noted in `flags`."""
    return tuple(
        op.with_blocks(*(without_checks(block, flags) for block in op.blocks)) if op.blocks else op
        for op in operations
        if not isinstance(op, Guard) and not (isinstance(op, Store) and op.region.buffer in flags)
    )


def repeated_for_directions(own: Block, both: Sequence[Operation]) -> list[Operation]:
    """Of operations and their tangents those that run for each direction: values of the block itself are there."""
    has_blocks = any(op.blocks for op in own)
    there = {id(op) for op in own if not has_blocks or not isinstance(op, Store | Scatter)}
    return [op for op in both if id(op) not in there]


@dataclass
class Derivative:
    """Operations that are still to be put on the tape, for given inputs; any number of times."""

    graft: Graft
    operations: Sequence[Operation]
    inputs: Sequence[Value]  # for which those that it is called with are put
    results: Sequence[Value]

    @property
    def size(self) -> int:
        """How many operations it writes."""
        return sum(1 for _ in walk(tuple(self.operations)))

    def __call__(self, *inputs: Value) -> list[Value]:
        """Write the operations; their results."""
        graft = self.graft.again()
        graft.copier.values.update({old.id: new for old, new in zip(self.inputs, inputs)})
        for op in graft.put(self.operations):
            graft.recorder.builder.emit(op)
        return [graft.value(v) for v in self.results]


class Graft:
    """Puts operations from a scratch builder on the tape that is being recorded, under names that are free there.

    What the scratch builder made is named anew; so are all values and loops, if there are `copied` buffers.
    """

    def __init__(self, recorder: Recorder, scratch: TapeBuilder, copied: Iterable[int] | None = None):
        self.recorder, self.scratch, self.copied = recorder, scratch, copied
        self.known = len(recorder.builder.buffers)
        self.values: dict[int, Value] = {}
        self.buffers: dict[int, int] = {}
        self.copier = self._copier(False)

    def _copier(self, keep_loops: bool) -> Copier:
        recorder = self.recorder
        return Copier(
            recorder.builder.new_value,
            None if keep_loops else lambda: recorder.scopes.new_loop()[0],
            SCRATCH if self.copied is None else 0,
            self.values if keep_loops else dict(self.values),
            self.buffers if keep_loops else dict(self.buffers),
        )

    def again(self, keep_loops: bool = False) -> Graft:
        """One that names anew what it makes; or, with `keep_loops`, one whose names all later ones share."""
        graft = Graft.__new__(Graft)
        graft.__dict__.update(self.__dict__)
        graft.copier = self._copier(keep_loops)
        return graft

    def value(self, value: Value) -> Value:
        return self.copier.values.get(value.id) or self.values.get(value.id, value)

    def put(self, operations: Iterable[Operation]) -> Iterable[Operation]:
        """They under their new names, to be emitted one after the other."""
        builder = self.recorder.builder
        for op in operations:
            builder.line = op.line
            if isinstance(op, Constant) and op.out.id >= self.copier.first:
                self.copier.values[op.out.id] = builder.constant(op.data)
                continue
            self._adopt_buffers(op)
            yield self.copier.copy(op)

    def _adopt_buffers(self, op: Operation) -> None:
        """New memory of the derivative becomes memory of the trace."""
        for inner in walk((op,)):
            for region in (*inner.reads, *inner.writes) if not inner.blocks else ():
                id = region.buffer
                if id not in self.copier.buffers and (id >= self.known or id in (self.copied or ())):
                    made = self.scratch.buffers[id]
                    if made.array is not None:  # nothing writes to it
                        continue
                    buffer = self.recorder.builder.new_buffer(made.kind, made.label, made.dtype, made.view)
                    self.copier.buffers[id] = buffer.id

    def keep_memory(self, operations: Sequence[Operation]) -> None:
        """Let `operations` read copies of the memory that the trace could still write to."""
        builder = self.recorder.builder
        read = {r.buffer for op in walk(tuple(operations)) if not op.blocks for r in op.reads}
        for id in sorted(id for id in read if id < self.known and id not in (self.copied or ())):
            buffer = builder.buffers[id]
            if buffer.array is not None:
                continue
            copy = builder.new_buffer("local", buffer.label, buffer.dtype, buffer.view)
            builder.store(copy.whole, builder.load(buffer.whole))
            self.buffers[id] = copy.id


def tidied(
    builder: TapeBuilder, known: int, primal: Block, adjoint: Block, results: Sequence[Value]
) -> tuple[Block, list[Value]]:
    """A simpler reverse sweep for `primal`, and its results: what it zeroes, adds up and loads again would be in the
    way of differentiating it. Memory with ids below `known` is seen by others.
    """
    buffers = (replace(b, kind="argument") if b.id < known and not b.visible else b for b in builder.buffers)
    tape = Tape(
        buffers=tuple(buffers), arguments=(), operations=primal + adjoint, results=tuple(results), turn=len(primal)
    )
    for passed in (rewrite, forward_zeros, drop_dead, rewrite, drop_dead):
        tape = passed(tape)
    before, after = tape.operations[: tape.turn], tape.operations[tape.turn :]
    builder.next_value = max(builder.next_value, next_value(tape))
    # What was computed from the primal's values in another way, or moved to the primal, belongs to the sweep.
    own = {v.id for op in primal for v in op.outputs}
    wanted = {v.id for v in (*tape.results, *free_values((after,), ()))}
    moved: list[Operation] = []
    for op in reversed(before):
        if any(v.id in wanted and v.id not in own for v in op.outputs):
            if not isinstance(op, Apply | Constant):
                return adjoint, list(results)
            moved.append(op)
            wanted.update(v.id for v in op.inputs)
    # In blocks of the primal, to which they belong, they have other names.
    copier = Copier(builder.new_value)
    return tuple(map(copier.copy, (*moved[::-1], *after))), list(map(copier.renamed, tape.results))


UNROLLED = 256  # operations: so many are rather written one after the other than in a loop


def each(recorder: Recorder, count: int, size: int, body: Callable[[Extent], None]) -> None:
    """Have `body(index)`, which writes some `size` operations, for each index from 0 to `count`: in a loop if many."""
    builder = recorder.builder
    if count * size <= UNROLLED:
        for index in range(count):
            body(index)
        return
    line, (number, _) = builder.line, recorder.scopes.new_loop()
    inner = builder.recorded(lambda: body(loop_index(number)))
    builder.line = line
    builder.emit(Loop(index=number, start=0, step=1, trips=count, body=inner, line=line))


def basis(recorder: Recorder, value: Value, position: Extent) -> Value:
    """The array like `value` with a one at `position` (of its elements in row-major order), and zeros elsewhere."""
    builder = recorder.builder
    one = builder.constant(1, value.dtype)
    if value.shape == ():
        return one
    buffer = builder.new_buffer("local", "basis", value.dtype, contiguous(value.shape))
    builder.store(buffer.whole, builder.constant(0, value.dtype))
    builder.store(Region(buffer.id, View(position, (), ())), one)
    return builder.load(buffer.whole)
