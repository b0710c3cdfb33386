"""Emit a memory plan as typed LLVM: one function per some hundreds of items, called in order.

LLVM's work on one function grows faster than its length (66 s for 100,000 operations in one block), so long plans
are cut, between steps and inside long scalar blocks; numbers that cross a cut inside a block go through memory. So are
long bodies of loops and sides of branches, whose functions are passed the indices of the loops around. Nests
that are equal but for where their memory lies (the time steps of an unrolled loop) share one function.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from llvmlite import ir

from ..planning.schedule import (
    BranchStep,
    Compute,
    GuardStep,
    Item,
    LibraryStep,
    LoopStep,
    Memory,
    MemoryPlan,
    Nest,
    Read,
    Step,
    Write,
    guard_steps,
    memories_of,
    walk_steps,
)
from ..python.source import UNKNOWN
from ..regions.regions import View
from .entry.memories import KernelPointers, Layout
from .in_parts import emit_loop_parts, emit_nest_parts, emit_product_parts
from .library.blas import emit_contract, shared_tiles
from .library.fourier import LINES, emit_fourier
from .library.matrices import EMIT, SCRATCH, emit_matrices, scratch_of
from .library.native_callees import FIRST_GUARD, emit_call, in_python, may_leave
from .library.scans import emit_nonzero, emit_scan
from .library.shared_tiles import SharedTiles
from .library.sorting import emit_argsort
from .llvm.builder import TerseBuilder
from .llvm.places import Pointers, loop
from .llvm.types import I32, I64, POINTER, align_stack, constant, memory_type
from .nests.access import load_one
from .nests.counted_loops import nest_of_loop
from .nests.nests import NestEmitter
from .threads.division import cut_steps
from .threads.parts import LoopParts, NestParts, Parts, ProductParts, scratch_for

FUNCTION_ITEMS = 1200
LONG_BLOCK = 4 * FUNCTION_ITEMS  # of a loop or branch: shorter ones are emitted in place
REPEATED_FROM = 8  # nests: shorter plans are emitted in place

INTEGER = np.dtype(np.int64)
NOT_SHORT = 1e12  # operations

LIBRARY = {
    "cumulate": emit_scan,
    "recurrence": emit_scan,
    "nonzero": emit_nonzero,
    "argsort": emit_argsort,
    "call": emit_call,
    **dict.fromkeys(EMIT, emit_matrices),
    **dict.fromkeys(LINES, emit_fourier),
}


@dataclass
class KernelEmitter:
    """The emission of one plan. `buffers` are the tape's buffers in the order of the leaf pointers."""

    plan: MemoryPlan
    chunks: list[list[Step]]  # the plan's steps, cut
    buffers: Sequence[int]
    scratch_offset: int
    repeated: frozenset[object] = frozenset()
    shared: dict[object, ir.Function] = field(default_factory=dict)
    products: SharedTiles = field(default_factory=SharedTiles)
    guards: dict[int, int] = field(default_factory=dict)  # by the identity of its step, the number of a guard
    layout: Layout | None = None
    parts: dict[int, Parts] = field(default_factory=dict)  # by the identity of its step, how it is cut

    def emit(self, builder: ir.IRBuilder, leaves: Sequence[ir.Value], workspace: ir.Value) -> ir.Value:
        """Emit all steps behind `builder`; the status: 0, 2 when a callee failed, 3 + k when guard k broke."""
        chunks = self.chunks
        self.guards = {id(step): number for number, step in enumerate(guard_steps(self.plan.steps))}
        self.repeated = repeated_nests(chunks)
        self.parts = cut_steps(self.plan)
        self.products = shared_tiles(contractions(self.plan.steps))
        self.layout = Layout(self.plan, chunks, self.scratch_offset)
        passed = {Memory("buffer", id): leaf for id, leaf in zip(self.buffers, leaves)}
        if len(chunks) == 1 and not leaves_early(chunks[0]):
            self.emit_steps(builder, chunks[0], self.pointers(builder, passed, workspace, 0))
            return I32(0)
        for number, chunk in enumerate(chunks):
            own = {memory: passed[memory] for memory in addressed_by(chunk) if memory in passed}
            function = self.chunk_function(builder.module, f"{builder.function.name}.part{number}", number, list(own))
            status = builder.call(function, [*own.values(), workspace])
            if leaves_early(chunk):
                with builder.if_then(builder.icmp_unsigned("!=", status, I32(0)), likely=False):
                    builder.ret(status)
        return I32(0)

    def chunk_function(self, module: ir.Module, name: str, number: int, memories: Sequence[Memory]) -> ir.Function:
        """Of the addresses of these memories, and of the workspace: a tape has thousands, and LLVM looks at all."""
        kind = ir.FunctionType(I32, [POINTER] * (len(memories) + 1))
        function = ir.Function(module, kind, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        align_stack(function)
        for argument in function.args:
            argument.add_attribute("noalias")
        builder = TerseBuilder(function.append_basic_block("entry"))
        *addresses, workspace = function.args
        pointers = self.pointers(builder, dict(zip(memories, addresses)), workspace, number)
        self.emit_steps(builder, self.chunks[number], pointers)
        builder.ret(I32(0))
        return function

    def pointers(
        self, builder: ir.IRBuilder, base: dict[Memory, ir.Value], workspace: ir.Value, number: int
    ) -> KernelPointers:
        """Where the memories are in the function of chunk `number`; `base`: those that it is passed."""
        assert self.layout is not None
        cells = self.layout.cells[number] if self.layout.cells else {}
        return KernelPointers(base, builder=builder, workspace=workspace, layout=self.layout, cells=cells)

    def emit_steps(self, builder: ir.IRBuilder, steps: list[Step], pointers: Pointers) -> None:
        for step in steps:
            self.emit_step(builder, step, pointers)

    def emit_step(self, builder: ir.IRBuilder, step: Step, pointers: Pointers) -> None:
        if isinstance(step, Nest):
            self.emit_nest(builder, step, pointers)
        elif isinstance(step, LibraryStep):
            parts = self.parts.get(id(step))
            if isinstance(parts, ProductParts) and self.plan.threads > 1:
                emit_product_parts(builder, step, pointers, parts, self.plan.threads)
            elif step.operation.primitive == "contract":
                emit_contract(builder, step, pointers, self.products)
            else:
                LIBRARY[step.operation.primitive](builder, step, pointers)
        elif isinstance(step, LoopStep):
            self.emit_loop(builder, step, pointers)
        elif isinstance(step, BranchStep):
            self.emit_branch(builder, step, pointers)
        else:
            self.emit_guard(builder, step, pointers)

    def emit_nest(self, builder: ir.IRBuilder, nest: Nest, pointers: Pointers) -> None:
        """A nest in place; one that occurs several times, but for where its memory is, as one function."""
        key, memories = shape_of(nest) if self.repeated and not pointers.indices else (None, [])
        if key not in self.repeated:
            self.emit_in_place(builder, nest, pointers)
            return
        parts = self.parts.get(id(nest))
        if parts is not None and parts.sums:
            memories.append(SCRATCH)
        function = self.shared.get(key)
        if function is None:
            function = self.shared[key] = self.nest_function(builder.module, nest, memories)
        builder.call(function, [pointers.of(memory) for memory in memories])

    def emit_in_place(self, builder: ir.IRBuilder, nest: Nest, pointers: Pointers) -> None:
        parts = self.parts.get(id(nest))
        if parts is None:
            NestEmitter(builder, nest, pointers).emit()
        else:
            assert isinstance(parts, NestParts)
            emit_nest_parts(builder, nest, pointers, parts, self.plan.threads)

    def nest_function(self, module: ir.Module, nest: Nest, memories: list[Memory]) -> ir.Function:
        """A nest as a function of the addresses of its memories."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(memories))
        function = ir.Function(module, kind, f"nest{len(self.shared)}")
        function.linkage = "internal"
        function.attributes.add("noinline")
        align_stack(function)
        builder = TerseBuilder(function.append_basic_block("entry"))
        self.emit_in_place(builder, nest, Pointers(dict(zip(memories, function.args))))
        builder.ret_void()
        return function

    def emit_loop(self, builder: ir.IRBuilder, step: LoopStep, pointers: Pointers) -> None:
        op = step.operation
        if op.trips == 0:
            return
        parts = self.parts.get(id(step))
        if parts is not None:
            assert isinstance(parts, LoopParts) and isinstance(pointers, KernelPointers)
            emit_loop_parts(builder, step, pointers, parts, self.plan.threads, self.emit_steps)
            return
        trips = pointers.extent(builder, op.trips)
        first = pointers.offset(builder, op.start)
        if step.count is not None:
            memory, view = step.count
            count = load_one(builder, pointers.place(memory), pointers.offset(builder, view.offset), INTEGER)
            if op.step < 0:
                most = ir.Constant(I64, trips) if isinstance(trips, int) else trips
                first = builder.sub(first, builder.sub(most, count))
            trips = count
            nest = nest_of_loop(step)
            if nest is not None:
                pointers.indices[op.index] = count
                self.emit_in_place(builder, nest, pointers)
                del pointers.indices[op.index]
                return
        around = loop(builder, 0, trips, 1)
        with around as trip:
            moved = trip if op.step == 1 else builder.neg(trip)
            pointers.indices[op.index] = builder.add(first, moved)
            if stops(step):
                *before, branch = step.steps
                assert isinstance(branch, BranchStep)
                self.emit_steps(builder, before, pointers)
                goes_on = builder.append_basic_block("goes_on")
                builder.cbranch(self.predicate(builder, branch, pointers), goes_on, around.after)
                builder.position_at_end(goes_on)
                self.emit_block(builder, branch.then, pointers)
            else:
                self.emit_block(builder, step.steps, pointers)
        del pointers.indices[op.index]

    def emit_branch(self, builder: ir.IRBuilder, step: BranchStep, pointers: Pointers) -> None:
        with builder.if_else(self.predicate(builder, step, pointers)) as (then, otherwise):
            with then:
                self.emit_block(builder, step.then, pointers)
            with otherwise:
                self.emit_block(builder, step.otherwise, pointers)

    def emit_block(self, builder: ir.IRBuilder, steps: list[Step], pointers: Pointers) -> None:
        """The steps in a loop or a branch: of a long block in functions of their own."""
        is_long = sum(map(weight_of, steps)) > LONG_BLOCK
        for run in in_runs(steps) if is_long else [steps]:
            apart = is_long and not any(id(step) in self.parts for step in walk_steps(run))
            if apart and all(isinstance(step, Nest | LoopStep | BranchStep) for step in walk_steps(run)):
                memories = list(addressed_by(run))
                function = self.block_function(builder.module, run, memories, list(pointers.indices))
                builder.call(function, [*map(pointers.of, memories), *pointers.indices.values()])
            else:
                self.emit_steps(builder, run, pointers)

    def block_function(
        self, module: ir.Module, steps: list[Step], memories: list[Memory], indices: list[int]
    ) -> ir.Function:
        """Steps as a function of the addresses of their memories, and of the indices of the loops around."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(memories) + [I64] * len(indices))
        function = ir.Function(module, kind, module.get_unique_name("block"))
        function.linkage = "internal"
        function.attributes.add("noinline")
        align_stack(function)
        builder = TerseBuilder(function.append_basic_block("entry"))
        addresses, numbers = function.args[: len(memories)], function.args[len(memories) :]
        self.emit_steps(builder, steps, Pointers(dict(zip(memories, addresses)), dict(zip(indices, numbers))))
        builder.ret_void()
        return function

    def predicate(self, builder: ir.IRBuilder, step: BranchStep, pointers: Pointers) -> ir.Value:
        offset = pointers.offset(builder, step.view.offset)
        return load_one(builder, pointers.place(step.memory), offset, np.dtype(bool))

    def emit_guard(self, builder: ir.IRBuilder, step: GuardStep, pointers: Pointers) -> None:
        kind = memory_type(step.dtype)
        place = builder.gep(
            builder.bitcast(pointers.of(step.memory), kind.as_pointer()), [pointers.offset(builder, step.view.offset)]
        )
        expected = constant(np.dtype(np.uint8) if step.dtype.kind == "b" else step.dtype, step.operation.outcome)
        number = builder.load(place)
        if step.dtype.kind == "f":
            broken = builder.fcmp_unordered("!=", number, expected)
        else:
            broken = builder.icmp_unsigned("!=", number, expected)
        with builder.if_then(broken, likely=False):
            builder.ret(I32(FIRST_GUARD + self.guards[id(step)]))


def addressed_by(chunk: Sequence[Step]) -> Iterator[Memory]:
    """The memories that steps address, each once."""
    return iter(dict.fromkeys(memory for step in walk_steps(chunk) for memory in memories_of(step)))


def stops(step: LoopStep) -> bool:
    """Whether a loop can be left where its branch is not taken: nothing else in it is seen after the loop."""
    if not step.operation.stops or not step.steps:
        return False
    *before, branch = step.steps
    if not isinstance(branch, BranchStep) or branch.otherwise:
        return False
    return all(isinstance(nest, Nest) and not any(type(item) is Write for item in nest.items) for nest in before)


def leaves_early(chunk: Sequence[Step]) -> bool:
    """Whether the function of these steps may have to be left before its end."""
    return any(isinstance(s, GuardStep) or may_leave(s) for s in walk_steps(chunk))


def shape_of(nest: Nest) -> tuple[object, list[Memory]]:
    """What the code of a nest depends on, with its memories by number, and those memories."""
    memories: dict[Memory, int] = {}

    def numbered(item: Item) -> Item:
        if not hasattr(item, "memory"):
            return replace(item, line=UNKNOWN) if isinstance(item, Compute) else item
        number = memories.setdefault(item.memory, len(memories))
        return replace(item, memory=Memory("parameter", number))  # type: ignore[arg-type]

    items = tuple(map(numbered, nest.items))
    spills = tuple((register, numbered(write)) for register, write in nest.spills.items())
    return (nest.domain, items, spills, nest.ordered, nest.exact), list(memories)


def contractions(steps: Sequence[Step]) -> Iterator[LibraryStep]:
    for step in walk_steps(steps):
        if isinstance(step, LibraryStep) and step.operation.primitive == "contract":
            yield step


def repeated_nests(chunks: Sequence[Sequence[Step]]) -> frozenset[object]:
    """The shapes of nests that occur several times outside of loops (whose nests depend on indices)."""
    nests = [step for chunk in chunks for step in chunk if isinstance(step, Nest) and step.domain != ()]
    if len(nests) < REPEATED_FROM:
        return frozenset()
    shapes = Counter(shape_of(nest)[0] for nest in nests)
    return frozenset(shape for shape, times in shapes.items() if times > 1)


def cut_plan(plan: MemoryPlan) -> list[list[Step]]:
    """The steps of a plan in runs of about `FUNCTION_ITEMS` items."""
    is_long = any(not isinstance(step, Nest) and weight_of(step) > LONG_BLOCK for step in plan.steps)
    return in_runs(cut_blocks(plan.steps, frozenset(cut_steps(plan) if is_long else ())))


def cut_blocks(steps: Sequence[Step], in_parts: frozenset[int]) -> list[Step]:
    """Steps with long scalar blocks cut, also in long loops and branches; not what is done in parts."""
    found: list[Step] = []
    for step in steps:
        if id(step) in in_parts:
            found.append(step)
        elif isinstance(step, LoopStep) and weight_of(step) > LONG_BLOCK:
            found.append(replace(step, steps=cut_blocks(step.steps, in_parts)))
        elif isinstance(step, BranchStep) and weight_of(step) > LONG_BLOCK:
            then, otherwise = (cut_blocks(block, in_parts) for block in step.blocks)
            found.append(replace(step, then=then, otherwise=otherwise))
        else:
            found += cut_block(step)
    return found


def in_runs(steps: Iterable[Step]) -> list[list[Step]]:
    """Steps in runs of about `FUNCTION_ITEMS` items."""
    runs: list[list[Step]] = [[]]
    size = 0
    for step in steps:
        weight = weight_of(step)
        if size and size + weight > FUNCTION_ITEMS:
            runs.append([])
            size = 0
        runs[-1].append(step)
        size += weight
    return runs


def weight_of(step: Step) -> int:
    if isinstance(step, LoopStep | BranchStep):
        return sum(weight_of(inner) for block in step.blocks for inner in block)
    return len(step.items) if isinstance(step, Nest) else 40


def cut_block(step: Step) -> list[Step]:
    """A long scalar block as several, which hand numbers over in scratch memory (8 bytes each)."""
    if not isinstance(step, Nest) or step.domain != () or len(step.items) <= FUNCTION_ITEMS:
        return [step]
    part_of = {number: number // FUNCTION_ITEMS for number in range(len(step.items))}
    parts = [Nest(domain=(), sweep=step.sweep) for _ in range(1 + (len(step.items) - 1) // FUNCTION_ITEMS)]
    crossing = sorted(
        {k for number, item in enumerate(step.items) for k in operands_of(item) if part_of[k] != part_of[number]}
    )
    place = {}
    for k, number in enumerate(crossing):  # eight bytes each, whatever the type
        size = step.items[number].dtype.itemsize  # type: ignore[union-attr]
        place[number] = View(k * (8 // size), (), ())
    local: list[dict[int, int]] = [{} for _ in parts]
    for number, item in enumerate(step.items):
        part, names = parts[part_of[number]], local[part_of[number]]
        for k in operands_of(item):
            if k not in names:
                dtype = step.items[k].dtype  # type: ignore[union-attr]
                names[k] = part.add(Read(memory=SCRATCH, view=place[k], dtype=dtype), step.lines[k])
        names[number] = part.add(renamed(item, names), step.lines[number])
        if number in step.exact:
            part.exact |= {names[number]}
        if number in step.spills:
            write = step.spills[number]
            part.spills[names[number]] = renamed(write, names)  # type: ignore[assignment]
        if number in place:
            part.add(Write(memory=SCRATCH, view=place[number], source=names[number]), step.lines[number])
    return list(parts)


def scratch_nbytes(chunks: Sequence[Sequence[Step]]) -> int:
    """Bytes that cut scalar blocks hand over in, or that routines work in: one after the other, so the most counts."""
    nests = [step for chunk in chunks for step in walk_steps(chunk) if isinstance(step, Nest)]
    writes = [item for nest in nests for item in nest.items if isinstance(item, Write) and item.memory == SCRATCH]
    routines = [step for chunk in chunks for step in walk_steps(chunk) if isinstance(step, LibraryStep)]
    handed_over = (8 + 8 * int(write.view.offset) for write in writes)  # type: ignore[arg-type]
    return max((*handed_over, *map(scratch_of, routines)), default=0)


def workspace_nbytes(plan: MemoryPlan) -> int:
    """Bytes that the kernel of a plan works in."""
    in_parts = scratch_for(cut_steps(plan).values(), plan.threads)
    return plan.workspace_nbytes + max(scratch_nbytes(cut_plan(plan)), in_parts)


def operands_of(item: Item) -> tuple[int, ...]:
    """The registers that an item reads."""
    found = (*getattr(item, "operands", ()), *getattr(item, "indices", ()))
    return (*found, item.source) if hasattr(item, "source") else found


def renamed(item: Item, names: dict[int, int]) -> Item:
    """`item` with its registers renumbered."""
    changes: dict[str, object] = {}
    for name in ("operands", "indices"):
        if getattr(item, name, ()):
            changes[name] = tuple(names[k] for k in getattr(item, name))
    if hasattr(item, "source"):
        changes["source"] = names[item.source]
    return replace(item, **changes) if changes else item  # type: ignore[arg-type]


def flops(steps: Sequence[Step]) -> float:
    """Rough operations of one call: decides whether it releases the GIL, and how its checks are compiled."""
    total = 0.0
    for step in steps:
        if isinstance(step, Nest):
            total += math.prod(step.domain) * len(step.items)
        elif in_python(step):  # during which the interpreter may turn to another thread, and this one come back here
            total += NOT_SHORT
        elif isinstance(step, LibraryStep):
            count = math.prod(n for _, view, _ in step.operands for n in view.shape)
            total += 10.0 * count if step.operation.primitive in LINES else count**0.75
        elif isinstance(step, LoopStep):
            total += step.operation.trips * flops(step.steps)
        elif isinstance(step, BranchStep):
            total += max(map(flops, step.blocks))
    return total
