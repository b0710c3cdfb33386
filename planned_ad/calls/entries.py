"""Entries of a plan: for each public call, the tape that it runs, its memory plan and its compiled kernel.

An entry knows its parameters (`parameters`), and so how what is passed maps to memory, and what it returns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..analysis.activity import activity
from ..differentiate.keep.decisions import record_decisions
from ..differentiate.keep.memory_limit import Rerun, within_limit
from ..differentiate.keep.rooms import capacities, last_with_room
from ..differentiate.keep.split import split
from ..differentiate.one_number import goes_forwards, gradient_forwards
from ..differentiate.reverse import reverse
from ..errors import NotDifferentiableError, UnsupportedError
from ..kernels.emit import KernelEmitter, cut_plan, flops, weight_of, workspace_nbytes
from ..kernels.entry.callpath import BuiltCall, CallCode, EmitKernel, compiled_call, loaded_call
from ..kernels.entry.callspec import CallSpec
from ..kernels.llvm.codelibrary import Optimization
from ..kernels.llvm.types import I64
from ..kernels.threads.pool import WORKING
from ..passes.appended_parts import appended_parts
from ..passes.banded_products import banded_products
from ..passes.boundary import primal, privatise, written_arguments, written_before_guards
from ..passes.counted_exits import fills_sparsely
from ..passes.dead_code import drop_dead
from ..passes.gather_form import gather_form
from ..passes.held_once import without_held_once
from ..passes.in_place import results_in_place
from ..passes.index_set_splitting import split_index_sets
from ..passes.inline import lower_calls
from ..passes.invariants import hoist_invariants
from ..passes.joined_parts import without_joined_parts
from ..passes.narrow import narrow
from ..passes.packing.packing import packed
from ..passes.pipeline import simplify
from ..passes.product_order import in_cheaper_order
from ..passes.products import lower_products
from ..passes.products_after_loops import products_after_loops
from ..passes.repeated_factors import products_of_repeated
from ..passes.rewrite import rewrite
from ..passes.shifted_copies import in_margins
from ..passes.short_axes import write_out_extrema, write_out_short_axes
from ..passes.short_loops import write_out_short_loops
from ..passes.small_matrices import small_matrices_in_numbers
from ..passes.stored_along import stored_along
from ..passes.stored_order import in_stored_order
from ..passes.sums_by_parts import sums_by_parts
from ..passes.upwards import run_upwards
from ..passes.vectorise.vectorise import vectorise
from ..passes.zero_cotangents import without_zero_cotangents
from ..planner import plan_memory
from ..planning.schedule import MemoryPlan
from ..python.progress import stage
from ..tape.captured import fixed_ranges
from ..tape.guards import decides
from ..tape.tape import Tape
from ..tape.verify import check_defined
from ..trace import Trace
from .conversions import Conversions
from .described import description, shown_name
from .kinds import SPLIT, CallKind, Role
from .outside.watch import Watch
from .parameters import TAPE_BUFFER, Parameter, is_scalar_loss, lone_floats, parameters_of, text_signature
from .specs import call_spec
from .split_tape import KeptLayout

RELEASE_GIL_AT = 100_000.0  # operations: some tens of microseconds
LONG_AT = 20_000.0  # operations: some microseconds
# Loops are emitted as vectors, and unrolled where that pays: LLVM need not look for either (a quarter of its time).
OPTIMIZATION = Optimization(level=1, loop_vectorize=False, slp_vectorize=False, loop_unroll=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One compiled public call of one variant.

    `parameters`: what it takes, and the numbers that it returns. `buffers`: those behind the leaves of what is passed,
    then behind the numbers.
    """

    row: CallKind
    tape: Tape
    memory: MemoryPlan
    parameters: tuple[Parameter, ...]
    buffers: tuple[int, ...]
    spec: CallSpec
    call: BuiltCall
    kept: KeptLayout | None = None  # of a half of a split plan: the layout of its tape
    reruns: tuple[Rerun, ...] = ()  # loops that the reverse sweep runs again
    conversions: Conversions = field(default_factory=Conversions)  # of what calls have been passed

    def of(self, *roles: Role) -> list[Parameter]:
        """Its parameters in some of the roles."""
        return [parameter for parameter in self.parameters if parameter.role in roles]


def entry_tape(trace: Trace, row: CallKind, preserve_args: bool, room: int = 1) -> Tape:
    """The tape that an entry runs: traced, on private copies where needed, differentiated, simplified."""
    with stage(f"differentiating {trace.name}"):
        return finished(differentiated(trace, row, preserve_args, room=room))


def limited_tape(
    trace: Trace, row: CallKind, preserve_args: bool, memory_limit: int | None, room: int = 1
) -> tuple[Tape, tuple[Rerun, ...]]:
    """`entry_tape`, with loops that its reverse sweep runs again so that no more than `memory_limit` bytes are kept."""
    if memory_limit is None:
        return entry_tape(trace, row, preserve_args, room), ()
    return within_limit(
        memory_limit,
        trace.name,
        differentiated(trace, row, preserve_args, room=room, distributes=False),
        lambda: differentiated(trace, row, preserve_args, record_decisions, counted=False, distributes=False),
        finished,
        (lambda tape: split(tape).nbytes) if row is SPLIT else (lambda tape: plan_memory(tape).cached_nbytes),
    )


def differentiated(
    trace: Trace,
    row: CallKind,
    preserve_args: bool,
    prepared: Callable[[Tape], Tape] = lambda tape: tape,
    counted: bool = True,
    room: int = 1,
    distributes: bool = True,
) -> Tape:
    """The traced program on private copies where needed, `prepared`, with its reverse sweep.

    Loops that stop early are `counted` unless they are to be cut into segments. `room`: times as much as there is
    at first, for those in other loops.
    """
    tape = trace.tape
    rooms = capacities(tape, room) if counted and row.is_reverse else {}
    if preserve_args:
        tape = privatise(tape, written_arguments(tape), write_back=False)
    else:
        early = written_before_guards(tape, last_with_room(tape, rooms))
        if early:
            tape = privatise(tape, early, write_back=True)
    grown = appended_parts(tape)
    tape = tape if grown is tape else drop_dead(grown)
    tape = rewrite(
        hoist_invariants(write_out_short_loops(vectorise(packed(split_index_sets(tape)), distributes)), loads=True)
    )
    for passed in (
        small_matrices_in_numbers,
        run_upwards,
        narrow,
        without_held_once,
        narrow,
        in_cheaper_order,
        products_of_repeated,
        sums_by_parts,
        write_out_short_axes,
    ):
        changed = passed(tape)
        tape = tape if changed is tape else drop_dead(rewrite(changed))
    tape = check_defined(prepared(tape))
    if not row.is_reverse:
        return primal(tape)
    if row.of_loss:
        check_loss(trace)
        if goes_forwards(tape):
            with contextlib.suppress(UnsupportedError, NotDifferentiableError):
                return gradient_forwards(tape, row.keeps_results)
    return reverse(
        tape,
        accumulate=row.is_in_out,
        fresh=lone_floats(trace),
        keep_results=row.keeps_results,
        loss=row.of_loss,
        counted=counted,
        capacities=rooms,
    )


def finished(tape: Tape) -> Tape:
    """`tape` simplified, and in the forms that run fast."""
    tape = results_in_place(simplify(lower_calls(tape)))
    # Products twice: what repeats, then what has become small.
    for passed in (
        without_zero_cotangents,
        write_out_extrema,
        without_held_once,
        products_after_loops,
        stored_along,
        in_stored_order,
        banded_products,
        lower_products,
        lower_products,
        gather_form,
        in_margins,
        without_joined_parts,
    ):
        changed = passed(tape)
        tape = tape if changed is tape else simplify(changed)
    return check_defined(tape)


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
    if trace.result_structure.kind is complex:
        raise NotDifferentiableError(
            f"{trace.name} ({trace.line}) returns a complex number; a gradient is of one real floating scalar. Return "
            f"its real part or its size, np.abs(...), or use plan.pullback with a complex cotangent"
        )
    if len(results) == 1:
        what = f"returns an array of shape {results[0].shape} and dtype {results[0].dtype}"
    raise NotDifferentiableError(
        f"{trace.name} ({trace.line}) {what}; a gradient is of one floating scalar. Return one, such as np.sum(...), "
        f"or use plan.pullback with a cotangent"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryParts:
    """What an entry is made of, compiled, but for what belongs to this process: `spec` has no watch."""

    tape: Tape
    memory: MemoryPlan
    parameters: tuple[Parameter, ...]
    buffers: tuple[int, ...]
    spec: CallSpec
    compiled: CallCode
    is_watched: bool
    kept: KeptLayout | None = None
    reruns: tuple[Rerun, ...] = ()


def build_entry(
    trace: Trace,
    row: CallKind,
    tape: Tape,
    slow_path: Callable[..., Any],
    watch: Watch | None = None,
    threads: int = 1,
) -> Entry:
    """Plan, compile and load one entry."""
    parts = compiled_parts(trace, row, tape, watch=watch, threads=threads)
    return loaded_entry(trace, row, parts, slow_path, watch)


def loaded_entry(
    trace: Trace, row: CallKind, parts: EntryParts, slow_path: Callable[..., Any], watch: Watch | None
) -> Entry:
    """The entry of these parts in this process; `watch`: over what the trace relies on."""
    WORKING.at_least(parts.memory.threads - 1)
    spec = replace(parts.spec, fixed=fixed_ranges(parts.tape), watch=watch if parts.is_watched else None)
    doc, text = description(trace, row, parts.parameters), text_signature(parts.parameters)
    shown = shown_name(trace, row)
    return Entry(
        row=row,
        tape=parts.tape,
        memory=parts.memory,
        parameters=parts.parameters,
        buffers=parts.buffers,
        spec=spec,
        call=loaded_call(parts.compiled, row.name, doc, text, spec, slow_path, keep=parts.memory, shown=shown),
        kept=parts.kept,
        reruns=parts.reruns,
    )


def emission(
    memory: MemoryPlan,
    buffers: Sequence[int],
    on_tape: dict[int, int],
    emitter_of: Callable[..., KernelEmitter] = KernelEmitter,
) -> EmitKernel:
    """What emits the kernel of a plan, which knows each buffer on the tape by an address of its own."""
    own = [id for id in buffers if id != TAPE_BUFFER]
    emitter = emitter_of(memory, cut_plan(memory), (*own, *on_tape), memory.workspace_nbytes)

    def emit(builder: Any, context: Any, leaves: Sequence[Any], workspace: Any) -> Any:
        found = [leaf for id, leaf in zip(buffers, leaves) if id != TAPE_BUFFER]
        if on_tape:
            start = leaves[buffers.index(TAPE_BUFFER)]
            found += [builder.gep(start, [I64(n)]) for n in on_tape.values()]
        return emitter.emit(builder, found, workspace)

    return emit


def compiled_parts(
    trace: Trace,
    row: CallKind,
    tape: Tape,
    reruns: tuple[Rerun, ...] = (),
    kept: KeptLayout | None = None,
    watch: Watch | None = None,
    threads: int = 1,
    preserve_args: bool = False,
) -> EntryParts:
    """Plan and compile one entry; `kept`: of a half of a split plan; `watch`: over what the trace relies on."""
    with stage(f"planning {len(tape.operations):,} operations"):
        memory = replace(plan_memory(tape), threads=threads)
    if kept is not None:
        again = () if row.writes_tape else kept.recomputed()
        memory = replace(memory, cached=kept.cached(), recomputed=again)
    parameters = parameters_of(trace, row, tape, preserve_args)
    passed = [p for p in parameters if p.is_passed]
    buffers = tuple(id for p in (*passed, *(p for p in parameters if not p.is_passed)) for id in p.ids)
    spec, operations = call_spec(trace, row, parameters, kept), flops(memory.steps)
    spec = replace(
        spec,
        fixed=fixed_ranges(tape),
        workspace_nbytes=workspace_nbytes(memory),
        sparse=fills_sparsely(tape.operations),
        release_gil=operations > RELEASE_GIL_AT,
        is_long=operations > LONG_AT,
        watch=None if watch is None or watch.table is None else watch,
    )
    emit = emission(memory, buffers, {} if kept is None else kept.offsets_in(tape))
    with stage(f"making machine code of {sum(map(weight_of, memory.steps)):,} operations"):
        compiled = compiled_call(row.name, spec, emit, optimization=OPTIMIZATION)
    return EntryParts(
        tape=tape,
        memory=memory,
        parameters=parameters,
        buffers=buffers,
        spec=replace(spec, watch=None),
        compiled=compiled,
        is_watched=spec.watch is not None,
        kept=kept,
        reruns=reruns,
    )
