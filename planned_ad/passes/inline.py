"""Write a closed tape into another, in place of a call of it.

>>> import planned_ad
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> @planned_ad.custom_rule
... def square(a):
...     return a * a
>>> tape = trace(lambda t: square(t) + 1.0, (2.0,)).tape
>>> print(brief(tape))
v0 = t[...]
v1 = call(v0, callee=square, group=0)
v2 = 1.0
v3 = add(v1, v2)
return v3
>>> print(brief(write_out_calls(tape)))
v0 = t[...]
v4 = view(v0, view={+0 [] by []})
v5 = multiply(v4, v4)
v2 = 1.0
v3 = add(v5, v2)
return v3

Requires a tape that is differentiated already, since a callee may have a derivative of its own; ensures the same
numbers, without calls but for those of native code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..regions.regions import is_fixed
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.callees import Callee, is_call, packed
from ..tape.renaming import Copier
from ..tape.tape import Apply, Load, Loop, Operation, Tape, Value, renamed, walk


def inline(builder: TapeBuilder, tape: Tape, arguments: Sequence[Value], first_index: int) -> list[Value]:
    """Write the operations of `tape` where `builder` stands; its results.

    Requires a tape without guards whose argument buffers are contiguous. `arguments` are their contents; what the tape
    writes to them is not seen outside. Its loop indices are numbered from `first_index` on, which must be above those
    of the loops around.
    """
    line, indices = builder.line, itertools.count(first_index)
    copier = _Inlining(builder.new_value, lambda: next(indices))
    copier.contents = {}
    for buffer in tape.buffers:
        given = arguments[tape.arguments.index(buffer.id)] if buffer.id in tape.arguments else None
        if given is not None and is_value(tape, buffer.id):
            copier.contents[buffer.id] = given
            continue
        builder.line = buffer.line
        if buffer.array is not None:
            copier.buffers[buffer.id] = builder.captured(buffer.label, buffer.array, buffer.view).id
            continue
        kind = buffer.kind if given is None else "local"
        new = builder.new_buffer(kind, buffer.label, buffer.dtype, buffer.view)
        copier.buffers[buffer.id] = new.id
        if given is not None:
            builder.store(new.whole, given)
    for op in tape.operations:
        builder.emit(copier.copy(op))
    builder.line = line
    return [copier.values[v.id] for v in tape.results]


def end_of_indices(operations: Sequence[Operation]) -> int:
    """The first loop index that is free."""
    return 1 + max((op.index for op in walk(tuple(operations)) if isinstance(op, Loop)), default=-1)


class _Inlining(Copier):
    """Copies where arguments that are only read are values of the outer tape."""

    contents: dict[int, Value]  # by argument buffer

    def copy(self, op: Operation) -> Operation:
        if not isinstance(op, Load) or op.region.buffer not in self.contents:
            return super().copy(op)
        out = self.values[op.out.id] = self.new_value(op.out.shape, op.out.dtype)
        operands = (self.contents[op.region.buffer],)
        return Apply(out=out, primitive="view", operands=operands, parameters=(("view", op.region.view),), line=op.line)


def is_value(tape: Tape, id: int) -> bool:
    """Whether an argument is only read, at places that no loop moves."""
    touching = [op for op in walk(tape.operations) if not op.blocks]
    written = any(r.buffer == id for op in touching for r in op.writes)
    return not written and all(is_fixed(r.view) for op in touching for r in op.reads if r.buffer == id)


def write_out_calls(tape: Tape, keep: Callable[[Callee], bool] = lambda callee: False) -> Tape:
    """`tape` with the tapes of its callees in place of calls, but for those to `keep` and native ones."""
    if not any(is_call(op) for op in walk(tape.operations)):
        return tape
    builder, next_index = rebuilt(tape), end_of_indices(tape.operations)
    names: dict[int, Value] = {}
    bodies: dict[Callee, Tape] = {}

    def write(op: Operation) -> None:
        nonlocal next_index
        blocks = builder.with_written_blocks(op, write).blocks
        op = renamed(op.with_blocks(*(() for _ in blocks)), names).with_blocks(*blocks)
        callee = op.params["callee"] if isinstance(op, Apply) and op.primitive == "call" else None
        if callee is None or callee.tape is None or keep(callee):
            builder.emit(op)
            return
        assert isinstance(op, Apply)
        if callee not in bodies:
            bodies[callee] = write_out_calls(callee.tape, keep)
        body, group = bodies[callee], op.params["group"]
        results = inline(builder, body, op.operands, next_index)
        next_index += sum(isinstance(inner, Loop) for inner in walk(body.operations))
        builder.line = op.line
        names[op.out.id] = packed(builder, callee, group, [results[k] for k in callee.groups[group]])

    tape = written_anew(tape, builder, write)
    return replace(tape, results=tuple(names.get(v.id, v) for v in tape.results))


def lower_calls(tape: Tape) -> Tape:
    """`tape` as it is planned: calls written out; operands of native callees by themselves in memory, row-major."""
    tape = write_out_calls(tape)
    if not any(is_call(op) for op in walk(tape.operations)):
        return tape
    builder = rebuilt(tape)

    def write(op: Operation) -> None:
        op = builder.with_written_blocks(op, write)
        if isinstance(op, Apply) and op.primitive == "call":
            builder.line = op.line
            op = replace(op, operands=tuple(builder.apply("copy", v) for v in op.operands))
        builder.emit(op)

    return written_anew(tape, builder, write)
