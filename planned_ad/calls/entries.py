"""Entries of a plan: for each public call, the tape that it runs, its memory plan and its compiled kernel.

An entry knows how its arguments map to leaves: the primal's arguments, then shadows, then cotangents; and what
it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..differentiate.keep.decisions import record_decisions
from ..differentiate.keep.memory_limit import Rerun, within_limit
from ..differentiate.keep.rooms import capacities, last_with_room
from ..differentiate.keep.split import split
from ..differentiate.reverse import activity, reverse
from ..errors import NotDifferentiableError
from ..kernels.emit import KernelEmitter, cut, flops, scratch_nbytes
from ..kernels.entry.callpath import BuiltCall, make_builtin
from ..kernels.entry.callspec import (
    ArgumentResult,
    ArraySpec,
    CallSpec,
    FloatResult,
    FloatSpec,
    Result,
    SequenceSpec,
    SlotsSpec,
    Spec,
    StaticSpec,
    TupleResult,
)
from ..kernels.llvm.codelibrary import Optimization
from ..kernels.llvm.types import I64
from ..passes.boundary import primal, privatise, written_arguments, written_before_guards
from ..passes.counted_exits import fills_sparsely
from ..passes.gather_form import gather_form
from ..passes.in_place import results_in_place
from ..passes.inline import lower_calls
from ..passes.invariants import hoist_invariants
from ..passes.pipeline import simplify
from ..passes.products import lower_products
from ..passes.vectorise.vectorise import vectorise
from ..planner import plan_memory
from ..planning.schedule import MemoryPlan
from ..python.structure import Leaf, Structure
from ..tape.captured import fixed_ranges
from ..tape.guards import decides
from ..tape.tape import Buffer, Tape
from ..trace import Trace
from .outside.watch import Watch
from .split_tape import KeptLayout

RELEASE_GIL_AT = 100_000.0  # operations: some tens of microseconds
# Loops are emitted as vectors, and unrolled where that pays: LLVM need not look for either (a quarter of its time).
OPTIMIZATION = Optimization(level=3, loop_vectorize=False, slp_vectorize=False, loop_unroll=False)

TAPE = -1  # the id, among those of buffers, of the memory of a split plan's tape, which holds several of them
KINDS = ("call", "gradient", "value_and_gradient", "pullback")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the positional arguments of an entry fall into memory.

    `specs`: what the fast path accepts. `buffers`: the tape buffers behind the leaf pointers, in order. `arrays`: of
    each array leaf, its buffer. `outputs`: buffers whose number comes back in an output slot.
    """

    specs: tuple[Spec, ...]
    buffers: tuple[int, ...]
    outputs: tuple[int, ...]
    shadows: tuple[int, ...]  # positions (among the primal's arguments) that have a shadow argument
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One compiled public call of one variant."""

    kind: str
    tape: Tape
    memory: MemoryPlan
    layout: Layout
    spec: CallSpec
    call: BuiltCall
    kept: KeptLayout | None = None  # of a half of a split plan: the layout of its tape
    reruns: tuple[Rerun, ...] = ()  # loops that the reverse sweep runs again


class Never(tuple):
    """The type of no object: where the fast path is to leave an argument to the slow path, its leaves stand in one."""


def left_to_slow_path(*items: Spec) -> SequenceSpec:
    return SequenceSpec(type=Never, items=items)


def entry_tape(trace: Trace, kind: str, preserve_args: bool, room: int = 1) -> Tape:
    """The tape that an entry runs: traced, on private copies where needed, differentiated, simplified."""
    return finished(differentiated(trace, kind, preserve_args, room=room))


def limited_tape(
    trace: Trace, kind: str, preserve_args: bool, memory_limit: int | None, room: int = 1
) -> tuple[Tape, tuple[Rerun, ...]]:
    """`entry_tape`, with loops that its reverse sweep runs again so that no more than `memory_limit` bytes are kept."""
    if memory_limit is None:
        return entry_tape(trace, kind, preserve_args, room), ()
    return within_limit(
        memory_limit,
        trace.name,
        differentiated(trace, kind, preserve_args, room=room),
        lambda: differentiated(trace, kind, preserve_args, record_decisions, counted=False),
        finished,
        (lambda tape: split(tape).nbytes) if kind == "split" else (lambda tape: plan_memory(tape).cached_nbytes),
    )


def differentiated(
    trace: Trace,
    kind: str,
    preserve_args: bool,
    prepared: Callable[[Tape], Tape] = lambda tape: tape,
    counted: bool = True,
    room: int = 1,
) -> Tape:
    """The traced program on private copies where needed, `prepared`, with its reverse sweep.

    Loops that stop early are `counted` unless they are to be cut into segments. `room`: times as much as there is
    at first, for those in other loops.
    """
    tape = trace.tape
    rooms = capacities(tape, room) if counted and kind != "call" else {}
    if preserve_args:
        tape = privatise(tape, written_arguments(tape), write_back=False)
    else:
        early = written_before_guards(tape, last_with_room(tape, rooms))
        if early:
            tape = privatise(tape, early, write_back=True)
    tape = prepared(hoist_invariants(vectorise(tape), loads=True))
    if kind == "call":
        tape = primal(tape)
    else:
        is_pullback = kind in ("pullback", "split")
        if not is_pullback:
            check_loss(trace)
        tape = reverse(
            tape,
            accumulate=is_pullback,
            fresh=lone_floats(trace),
            keep_results=kind in ("value_and_gradient", "split"),
            loss=not is_pullback,
            counted=counted,
            capacities=rooms,
        )
    return tape


def finished(tape: Tape) -> Tape:
    """`tape` simplified, and in the forms that run fast."""
    tape = results_in_place(simplify(lower_calls(tape)))
    for passed in (lower_products, lower_products, gathered):  # twice: what repeats, then what has become small
        changed = passed(tape)
        tape = tape if changed is tape else simplify(changed)
    return tape


def gathered(tape: Tape) -> Tape:
    """The reverse sweep in gather form; all of a tape that has none (it may be a derivative that was traced)."""
    return gather_form(tape, 0 if tape.turn == len(tape.operations) else tape.turn)


def check_loss(trace: Trace) -> None:
    """Refuse a gradient of what is not one floating scalar, or of one that no argument ever changes."""
    results = trace.tape.results
    if is_scalar_loss(trace):
        if results[0].id in activity(trace.tape)[0] or any(map(decides, trace.tape.operations)):
            return
        raise NotDifferentiableError(
            f"{trace.name} ({trace.line}): the result does not depend on any active argument: its gradient is zero "
            f"everywhere"
        )
    what = f"returns {trace.result_structure}" if trace.result_leaves else "returns nothing"
    if len(results) == 1:
        what = f"returns an array of shape {results[0].shape} and dtype {results[0].dtype}"
    raise NotDifferentiableError(
        f"{trace.name} ({trace.line}) {what}; a gradient is of one floating scalar. Return one, such as np.sum(...), "
        f"or use plan.pullback with a cotangent"
    )


def is_scalar_loss(traced: Trace) -> bool:
    """Whether `f` returns one floating scalar, of which there is a gradient."""
    results = traced.tape.results
    return len(results) == 1 and results[0].shape == () and results[0].dtype.kind == "f"


def lone_floats(trace: Trace) -> frozenset[int]:
    """Buffers of float arguments that are no part of a container: their derivative is returned, not accumulated."""
    found, start = set(), 0
    for child in trace.structure.children:
        leaf = trace.leaves[start] if child.kind is Leaf else None
        start += child.leaf_count
        if leaf is not None and leaf.kind == "float" and leaf.buffer is not None:
            found.add(leaf.buffer)
    return frozenset(found)


def build_entry(
    trace: Trace,
    kind: str,
    tape: Tape,
    slow_path: Callable[..., Any],
    reruns: tuple[Rerun, ...] = (),
    kept: KeptLayout | None = None,
    watch: Watch | None = None,
) -> Entry:
    """Plan and compile one entry; `kept`: of a half of a split plan; `watch`: over what the trace relies on."""
    memory = plan_memory(tape)
    if kept is not None:
        again = kept.recomputed() if kind == "reverse" else ()
        memory = replace(memory, cached=kept.cached(), recomputed=again)
    layout = lay_out_arguments(trace, kind, tape, kept)
    chunks = cut(memory.steps)
    spec = CallSpec(
        arguments=layout.specs,
        disjoint=disjoint_pairs(layout.specs),
        fixed=fixed_ranges(tape),
        result=layout.result,
        outputs=len(layout.outputs),
        workspace_nbytes=memory.workspace_nbytes + scratch_nbytes(chunks),
        sparse=fills_sparsely(tape.operations),
        release_gil=flops(memory.steps) > RELEASE_GIL_AT,
        watch=None if watch is None or watch.table is None else watch,
    )
    on_tape = {} if kept is None else kept.offsets_in(tape)
    own = [id for id in layout.buffers if id != TAPE]
    emitter = KernelEmitter(memory, chunks, (*own, *on_tape), memory.workspace_nbytes)

    def emit(builder: Any, context: Any, leaves: Sequence[Any], workspace: Any) -> Any:
        """The kernel, which knows each buffer on the tape by an address of its own."""
        found = [leaf for id, leaf in zip(layout.buffers, leaves) if id != TAPE]
        if on_tape:
            start = leaves[layout.buffers.index(TAPE)]
            found += [builder.gep(start, [I64(n)]) for n in on_tape.values()]
        return emitter.emit(builder, found, workspace)

    call = make_builtin(
        kind,
        DOCS[kind].format(name=trace.name),
        signature(trace, kind, layout),
        spec,
        emit,
        slow_path,
        optimization=OPTIMIZATION,
        keep=memory,
    )
    return Entry(kind=kind, tape=tape, memory=memory, layout=layout, spec=spec, call=call, kept=kept, reruns=reruns)


DOCS = {
    "call": "Run {name}: its value, and its own writes to its arguments.",
    "gradient": "Gradient of the scalar {name} returns; overwrites the shadows, and returns them.",
    "value_and_gradient": "(value, gradient) of {name}; overwrites the shadows.",
    "pullback": "Pull cotangents back through {name}; shadows are in-out.",
    "forward": "Run {name}, and keep on a tape what its reverse sweep needs.",
    "reverse": "Pull cotangents back through the run of {name} that filled a tape; shadows are in-out.",
}


def lay_out_arguments(trace: Trace, kind: str, tape: Tape, kept: KeptLayout | None = None) -> Layout:
    """Specs and buffers of an entry, in the order of its positional arguments."""
    written = {region.buffer for op in tape.operations for region in op.writes}
    leaf_buffers = [leaf.buffer for leaf in trace.leaves]
    shadow_of = {tape.buffers[id].shadow_of: id for id in tape.arguments if tape.buffers[id].kind == "shadow"}
    buffers: list[int] = []
    specs: list[Spec] = []
    position = 0

    def spec_of(structure: Structure, ids: list[int | None], statics: list[Any]) -> Spec:
        nonlocal position
        if structure.kind is Leaf:
            id, static = ids[position], statics[position]
            position += 1
            if id is None:
                return StaticSpec(value=static)
            buffers.append(id)
            buffer = tape.buffers[id]
            kind_of_leaf = trace_kind(trace, id if buffer.shadow_of is None else buffer.shadow_of)
            return leaf_spec(buffer, id in written, kind_of_leaf)
        items = tuple(spec_of(child, ids, statics) for child in structure.children)
        if structure.kind in (list, tuple) or issubclass(structure.kind, tuple):
            return SequenceSpec(type=structure.kind, items=items)
        return left_to_slow_path(*items)

    statics = [leaf.value for leaf in trace.leaves]
    if kind != "reverse":
        specs += [spec_of(child, list(leaf_buffers), statics) for child in trace.structure.children]
    if kept is not None:
        specs.append(kept.spec(writeable=kind == "forward"))
        buffers.append(TAPE)
    outputs: list[int] = []
    shadows: list[int] = []
    results: list[Result] = []
    if kind not in ("call", "forward"):
        ids: list[int | None] = [shadow_of.get(b) if b is not None else None for b in leaf_buffers]
        position = 0
        for number, child in enumerate(trace.structure.children):
            count = child.leaf_count
            mine = ids[position : position + count]
            if all(id is None for id in mine):
                position += count
                continue
            if child.kind is Leaf and trace.leaves[position].kind == "float":
                results.append(FloatResult(len(outputs)))
                outputs.append(mine[0])  # type: ignore[arg-type]
                position += count
                continue
            flat_list = child.kind is list and all(item.kind is Leaf for item in child.children)
            regular = all(
                id is not None and (leaf.kind == "array" or (flat_list and leaf.dtype == np.float64))
                for id, leaf in zip(mine, trace.leaves[position : position + count])
            )
            start = position
            results.append(ArgumentResult(len(specs)))
            shadows.append(number)
            if regular:
                specs.append(spec_of(child, ids, [None] * len(ids)))
            else:
                found = [(id, leaf) for id, leaf in zip(mine, trace.leaves[start : start + count]) if id is not None]
                specs.append(left_to_slow_path(*(leaf_spec(tape.buffers[id], True, leaf.kind) for id, leaf in found)))
                buffers.extend(id for id, _ in found)
            position = start + count
        if kind in ("pullback", "reverse"):
            for id in tape.arguments:
                if tape.buffers[id].kind == "cotangent":
                    scalar = tape.buffers[id].shape == ()
                    specs.append(leaf_spec(tape.buffers[id], False, "float" if scalar else "array"))
                    buffers.append(id)
    returned = [id for id in tape.arguments if tape.buffers[id].kind == "result"]
    value: Result = None
    if kind == "value_and_gradient":
        value = FloatResult(len(outputs))
        outputs.append(returned[0])
    elif kind in ("call", "forward"):
        kinds = result_kinds(trace)
        if kinds is None:
            specs.append(left_to_slow_path(*(leaf_spec(tape.buffers[id], True, "array") for id in returned)))
            buffers.extend(returned)
        elif kinds:
            places: list[Result] = []
            for id, of_array in zip(returned, kinds):
                if of_array:
                    places.append(ArgumentResult(len(specs)))
                    specs.append(leaf_spec(tape.buffers[id], True, "array"))
                    buffers.append(id)
                else:
                    places.append(FloatResult(len(outputs)))
                    outputs.append(id)
            value = nested_result(trace.result_structure, iter(places))
    result: Result = results[0] if len(results) == 1 else TupleResult(tuple(results)) if results else None
    if kind == "value_and_gradient":
        result = TupleResult((value, result))
    elif kind in ("call", "forward"):
        result = value
    elif kind == "reverse" and any(tape.buffers[id].dtype != np.float64 for id in outputs):
        specs[0] = left_to_slow_path(specs[0])  # whose floats are of other types
    return Layout(
        specs=tuple(specs),
        buffers=(*buffers, *outputs),
        outputs=tuple(outputs),
        shadows=tuple(shadows),
        result=result,
    )


def trace_kind(trace: Trace, buffer: int) -> str:
    return next((leaf.kind for leaf in trace.leaves if leaf.buffer == buffer), "array")


def leaf_spec(buffer: Buffer, writes: bool, kind: str) -> Spec:
    """What the fast path checks of one leaf."""
    if kind == "float":
        number = FloatSpec(written=buffer.kind == "shadow")
        return number if buffer.dtype == np.float64 else left_to_slow_path(number)
    itemsize = buffer.dtype.itemsize
    return ArraySpec(
        dtype=buffer.dtype,
        shape=buffer.shape,
        strides=tuple(s * itemsize for s in buffer.view.strides),
        writeable=writes or buffer.kind in ("shadow", "result"),
    )


def array_specs(specs: tuple[Spec, ...]) -> list[ArraySpec]:
    found: list[ArraySpec] = []
    for spec in specs:
        if isinstance(spec, ArraySpec):
            found.append(spec)
        elif isinstance(spec, SequenceSpec | SlotsSpec):
            found.extend(array_specs(spec.items))
    return found


def disjoint_pairs(specs: tuple[Spec, ...]) -> tuple[tuple[int, int], ...]:
    """Pairs of arrays, one of them written to, which a call must not pass overlapping."""
    arrays = array_specs(specs)
    return tuple(
        (i, j)
        for i in range(len(arrays))
        for j in range(i + 1, len(arrays))
        if np.prod(arrays[i].shape) and np.prod(arrays[j].shape) and (arrays[i].writeable or arrays[j].writeable)
    )


def signature(trace: Trace, kind: str, layout: Layout) -> str:
    """The text signature, as `help` shows it."""
    own = [identifier(name) for name in trace.names]
    names = ([] if kind == "reverse" else own) + ([] if layout.buffers.count(TAPE) == 0 else ["tape"])
    names += out_names(trace) if kind in ("call", "forward") else ["d" + own[k] for k in layout.shadows]
    if kind in ("pullback", "reverse"):
        count = len(layout.specs) - len(names)
        names += ["cotangent"] if count == 1 else [f"cotangent{k}" for k in range(count)]
    return "(" + ", ".join([*names, "/"] if names else []) + ")"


def result_kinds(trace: Trace) -> list[bool] | None:
    """Of each result whether it is an array; None where the fast path cannot put the results together.

    It can for nested tuples of arrays and of float64 numbers.
    """
    values = trace.tape.results
    only_tuples = all(kind in (tuple, Leaf) for kind in kinds_in(trace.result_structure))
    if len(trace.result_leaves) != len(values) or not (only_tuples or not trace.result_leaves):
        return None
    kinds = [kind == "array" for kind in trace.result_kinds]
    whole = all(v.dtype == np.float64 or is_array for v, is_array in zip(values, kinds))
    return kinds if whole and not any(v.shape == () and is_array for v, is_array in zip(values, kinds)) else None


def kinds_in(structure: Structure) -> Iterator[type]:
    yield structure.kind
    for child in structure.children:
        yield from kinds_in(child)


def nested_result(structure: Structure, leaves: Iterator[Result]) -> Result:
    if structure.kind is Leaf:
        return next(leaves)
    return TupleResult(tuple(nested_result(child, leaves) for child in structure.children))


def out_names(trace: Trace) -> list[str]:
    """Of the arguments of a call of the plan itself that the arrays of its result are written to, if passed."""
    arrays = [kind for kind in trace.result_kinds if kind == "array"]
    return ["out"] if len(arrays) == 1 else [f"out{k}" for k in range(len(arrays))]


def identifier(name: str) -> str:
    """A parameter's name for a signature: `args[0]` becomes `args0`."""
    return "".join(c for c in name if c.isalnum() or c == "_")
