"""Emit a step in parts (`threads.division` says which): a function of a stretch of its loop, and what calls it.

With several threads the pool calls it, through a table of what the function around it knows: addresses, and the indices
of loops. With one it is called for the whole loop at once, or for one part after the other where each has sums of its
own. It is the same function, in which nothing is known but what holds for every stretch, since others might call it (it
is external): so LLVM makes the same arithmetic of it for each number of threads.

What is summed for each part lies in scratch memory, the parts one after the other, and is added up in their order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from ..planning.schedule import LibraryStep, LoopStep, Memory, Nest, Reduce, Step, memories_of, walk_steps
from .entry.memories import KernelPointers
from .library.blas import emit_products, emit_zeros
from .library.matrices import SCRATCH
from .llvm.builder import TerseBuilder
from .llvm.places import LoopPart, Place, Pointers, loop, loop_part
from .llvm.types import I8, I64, POINTER, align_stack, constant, element_constant
from .nests.access import put, read, store_one
from .nests.lanes import IDENTITY, add, combine
from .nests.nests import NestEmitter, NestPart
from .threads import pool
from .threads.parts import LINE, LoopParts, NestParts, Parts, ProductParts

VECTOR_BYTES = 64
VOID = ir.VoidType()


@dataclass(frozen=True, slots=True)
class PartFunction:
    """`void function(addresses..., indices..., own, sums, first, last)`, and the function that calls it.

    `own`: memory of the thread; `sums`: of the part. Both are null where there is none.
    """

    builder: ir.IRBuilder  # of the function that calls it
    pointers: Pointers
    function: ir.Function
    inside: ir.IRBuilder
    found: Pointers  # inside
    known: list[ir.Value]  # the first arguments

    @classmethod
    def begun(
        cls,
        builder: ir.IRBuilder,
        name: str,
        pointers: Pointers,
        memories: Iterable[Memory],
        own: Collection[Memory] = (),
    ) -> PartFunction:
        """`own`: memories that the function has for itself."""
        kernel = pointers if isinstance(pointers, KernelPointers) else None
        given = [m for m in memories if m not in own and (kernel is None or kernel.is_given(m))]
        known = [pointers.of(memory) for memory in given]
        if kernel is not None:
            assert kernel.workspace is not None
            known.append(kernel.workspace)
        known += pointers.indices.values()
        kinds = [*(value.type for value in known), POINTER, POINTER, I64, I64]
        function = ir.Function(builder.module, ir.FunctionType(VOID, kinds), builder.module.get_unique_name(name))
        if getattr(builder.module, "stands_alone", False):  # whose names others see
            function.linkage = "internal"
        function.attributes.add("noinline")
        align_stack(function)
        for argument in function.args:
            if kernel is not None and argument.type == POINTER:
                argument.add_attribute("noalias")
        inside = TerseBuilder(function.append_basic_block("entry"))
        addresses = dict(zip(given, function.args))
        indices = dict(zip(pointers.indices, function.args[len(known) - len(pointers.indices) :]))
        found = Pointers(addresses, indices)
        if kernel is not None:
            cells = {m: dtype for m, dtype in kernel.cells.items() if m in own}
            workspace = function.args[len(given)]
            found = KernelPointers(
                addresses, indices, builder=inside, workspace=workspace, layout=kernel.layout, cells=cells
            )
        return cls(builder, pointers, function, inside, found, known)

    @property
    def own(self) -> ir.Value:
        return self.function.args[-4]

    @property
    def sums(self) -> ir.Value:
        return self.function.args[-3]

    @property
    def stretch(self) -> LoopPart:
        return LoopPart(*self.function.args[-2:])

    def do_all(self, parts: Parts, extent: int, unit: int, threads: int, after: Callable[[ir.Value], None]) -> None:
        """End the function, and do all parts of a loop; `after` emits what follows each, in order, from its sums."""
        self.inside.ret_void()
        scratch = self.pointers.of(SCRATCH) if parts.scratch_nbytes(threads) else None
        if threads > 1:
            self.start(parts, extent, unit, threads, scratch)
            if parts.sums:
                assert scratch is not None
                with loop(self.builder, 0, parts.count, 1) as part:
                    after(self.builder.gep(scratch, [self.builder.mul(part, I64(parts.nbytes))]))
            return
        nothing = ir.Constant(POINTER, None)
        own = self.own_in_place(parts)
        if not parts.sums:
            self.builder.call(self.function, [*self.known, own, nothing, I64(0), I64(extent)])
            return
        with loop(self.builder, 0, parts.count, 1) as part:
            stretch = loop_part(self.builder, part, parts.count, extent, unit)
            self.builder.call(self.function, [*self.known, own, scratch, stretch.first, stretch.last])
            after(scratch)

    def own_in_place(self, parts: Parts) -> ir.Value:
        """Where a single thread has its own memory: where the plan has it."""
        if not isinstance(parts, LoopParts) or not parts.own_nbytes:
            return ir.Constant(POINTER, None)
        assert isinstance(self.pointers, KernelPointers)
        return self.builder.gep(self.pointers.workspace, [I64(parts.start)])

    def start(self, parts: Parts, extent: int, unit: int, threads: int, scratch: ir.Value | None) -> None:
        """Have threads do all parts."""
        builder = self.builder
        known = [*self.known, ir.Constant(POINTER, None) if scratch is None else scratch]
        with builder.goto_entry_block():
            table = builder.alloca(I64, len(known))
        for k, value in enumerate(known):
            number = value if value.type == I64 else builder.ptrtoint(value, I64)
            builder.store(number, builder.gep(table, [I64(k)]))
        started = self.from_table(parts, extent, unit, [value.type for value in known])
        pool.emit_parts_call(builder, started, builder.bitcast(table, POINTER), parts.count, threads)

    def from_table(self, parts: Parts, extent: int, unit: int, kinds: list[ir.Type]) -> ir.Function:
        """`void started(table, part, thread)`."""
        function = ir.Function(self.builder.module, pool.PART, f"{self.function.name}.started")
        function.linkage = "internal"
        builder = TerseBuilder(function.append_basic_block("entry"))
        table, part, thread = function.args
        numbers = builder.bitcast(table, I64.as_pointer())
        values = []
        for k, kind in enumerate(kinds):
            number = builder.load(builder.gep(numbers, [I64(k)]))
            values.append(number if kind == I64 else builder.inttoptr(number, kind))
        *known, scratch = values
        nothing = ir.Constant(POINTER, None)
        sums = builder.gep(scratch, [builder.mul(part, I64(parts.nbytes))]) if parts.sums else nothing
        own = nothing
        if parts.own_nbytes:
            place = builder.add(builder.mul(thread, I64(parts.own_nbytes)), I64(parts.count * parts.nbytes))
            own = builder.gep(scratch, [place])
        stretch = loop_part(builder, part, parts.count, extent, unit)
        builder.call(self.function, [*known, own, sums, stretch.first, stretch.last])
        builder.ret_void()
        return function


# Nests.


def emit_nest_parts(builder: ir.IRBuilder, nest: Nest, pointers: Pointers, parts: NestParts, threads: int) -> None:
    """A nest in parts."""
    before = NestEmitter(builder, nest, pointers)
    before.emit_before_parts(parts.sums)
    sums = {summed(nest, number): place for number, place in parts.sums.items()}
    targets = {item.memory for item in sums}
    memories = [m for m in dict.fromkeys(memories_of(nest)) if m not in targets]
    function = PartFunction.begun(builder, "nest_part", pointers, memories)
    for item, (place, _) in sums.items():
        function.found.base[item.memory] = function.inside.gep(function.sums, [I64(place)])
    NestEmitter(function.inside, nest, function.found, NestPart(function.stretch, parts.depth, parts.sums)).emit()
    for item, (_, kept) in sums.items():  # (the sums of the parts are added to nothing)
        begin_sums(builder, pointers.of(item.memory), item, kept)

    def add_sums(start: ir.Value) -> None:
        for item, (place, kept) in sums.items():
            source = builder.gep(start, [I64(place)])
            join(builder, pointers.of(item.memory), source, kept, item.dtype, functools.partial(combine, builder, item))

    function.do_all(parts, before.axes[parts.depth].extent, before.unit(parts.depth), threads, add_sums)


def summed(nest: Nest, number: int) -> Reduce:
    item = nest.items[number]
    assert isinstance(item, Reduce)
    return item


# Products.


def emit_product_parts(
    builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers, parts: ProductParts, threads: int
) -> None:
    """A product of matrices in parts."""
    emit_zeros(builder, step, pointers)
    function = PartFunction.begun(builder, "product_part", pointers, dict.fromkeys(memories_of(step)))
    emit_products(function.inside, step, function.found, function.stretch, parts.loop)
    function.do_all(parts, parts.extent, parts.unit, threads, lambda start: None)


# Loops.


def emit_loop_parts(
    builder: ir.IRBuilder,
    step: LoopStep,
    pointers: KernelPointers,
    parts: LoopParts,
    threads: int,
    emit_steps: Callable[[ir.IRBuilder, list[Step], Pointers], None],
) -> None:
    """A loop in parts: iterations one after the other in each."""
    assert pointers.layout is not None
    op, offsets, buffers = step.operation, pointers.layout.plan.offsets, pointers.layout.plan.tape.buffers
    memories = dict.fromkeys(m for inner in walk_steps([step]) for m in memories_of(inner))
    function = PartFunction.begun(builder, "loop_part", pointers, memories, parts.own | parts.totals.keys())
    inside, found = function.inside, function.found
    assert isinstance(found, KernelPointers)

    def low(memory: Memory) -> int:
        """Bytes from what a memory's views count from to its first element."""
        return buffers[memory.id].low * buffers[memory.id].dtype.itemsize if memory.kind == "buffer" else 0

    for memory, place in parts.totals.items():
        found.base[memory] = inside.gep(function.sums, [I64(place - low(memory))])
    for memory in parts.own - found.cells.keys():
        found.base[memory] = inside.gep(function.own, [I64(offsets[memory] - parts.start - low(memory))])
    clear_bytes(inside, function.sums, parts.nbytes)
    for memory in parts.cleared:
        begin = inside.gep(found.of(memory), [I64(low(memory))])
        clear_bytes(inside, begin, buffers[memory.id].nbytes)
    start = found.offset(inside, op.start)
    with loop(inside, function.stretch.first, function.stretch.last, 1) as trip:
        found.indices[op.index] = inside.add(start, inside.mul(trip, I64(op.step)))
        emit_steps(inside, step.steps, found)

    def add_totals(start: ir.Value) -> None:
        for memory, place in parts.totals.items():
            buffer = buffers[memory.id]
            target = builder.gep(pointers.of(memory), [I64(low(memory))])
            source = builder.gep(start, [I64(place)])
            join(builder, target, source, buffer.span, buffer.dtype, functools.partial(added_up, builder, buffer.dtype))

    function.do_all(parts, op.trips, 1, threads, add_totals)


def added_up(builder: ir.IRBuilder, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    return add(builder, a, b, dtype)


# Memory.


def join(
    builder: ir.IRBuilder,
    target: ir.Value,
    source: ir.Value,
    count: int,
    dtype: np.dtype,
    joined: Callable[[ir.Value, ir.Value], ir.Value],
) -> None:
    """`target[k] = joined(target[k], source[k])`, in vectors."""
    done = 0
    for lanes in (VECTOR_BYTES // dtype.itemsize, 1):
        last = count - (count - done) % lanes
        if last > done:
            with loop(builder, done, last, lanes) as k:
                old, new = (read(builder, Place(p), k, 1, dtype, lanes, lanes) for p in (target, source))
                put(builder, Place(target), k, 1, dtype, joined(old, new), lanes, lanes)
        done = last


def begin_sums(builder: ir.IRBuilder, target: ir.Value, item: Reduce, count: int) -> None:
    """Have a reduction begin from its identity."""
    identity = constant(item.dtype, IDENTITY[item.operation](item.dtype))
    with loop(builder, 0, count, 1) as k:
        store_one(builder, Place(target), k, item.dtype, identity)


def clear_bytes(builder: ir.IRBuilder, start: ir.Value, nbytes: int) -> None:
    """Zero memory, in whole lines as long as there are some."""
    done = 0
    for size in (LINE, 1):
        last = nbytes - (nbytes - done) % size
        if last > done:
            kind = ir.VectorType(I64, size // 8) if size >= 8 else I8
            zero = element_constant(kind, 0)
            with loop(builder, done, last, size) as place:
                builder.store(zero, builder.bitcast(builder.gep(start, [place]), kind.as_pointer()), align=1)
        done = last
