"""Emit a step in parts (`threads.division` says which): a function of the number of a part, and what starts it.

With several threads the pool calls that function, through a table of what the function around it knows: addresses, and
the indices of loops. With one, a loop calls it. What is summed for each part lies in scratch memory, the parts one
after the other, and is added up in their order.
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
from .llvm.places import Part, Place, Pointers, loop
from .llvm.types import I64, POINTER, align_stack
from .nests.access import put, read
from .nests.lanes import add, combine
from .nests.nests import NestEmitter, NestPart
from .threads import pool
from .threads.division import LINE, LoopParts, NestParts, ProductParts

VECTOR_BYTES = 64
EmitPart = Callable[[ir.IRBuilder, Pointers, ir.Value, ir.Value], None]
"""Emits a part behind a builder, from where memory lies in its function, its number, and the number of its thread."""


@dataclass(frozen=True, slots=True)
class PartFunction:
    """`void function(addresses..., indices..., part, thread)`, and what to call it with in the function around it."""

    function: ir.Function
    known: list[ir.Value]

    @classmethod
    def written(
        cls,
        builder: ir.IRBuilder,
        name: str,
        pointers: Pointers,
        memories: Iterable[Memory],
        emit: EmitPart,
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
        module = builder.module
        kind = ir.FunctionType(ir.VoidType(), [*(value.type for value in known), I64, I64])
        function = ir.Function(module, kind, module.get_unique_name(name))
        function.linkage = "internal"
        function.attributes.add("noinline")
        align_stack(function)
        inside = ir.IRBuilder(function.append_basic_block("entry"))
        *arguments, part, thread = function.args
        addresses = dict(zip(given, arguments))
        indices = dict(zip(pointers.indices, arguments[len(known) - len(pointers.indices) :]))
        found = Pointers(addresses, indices)
        if kernel is not None:
            for argument in arguments[: len(given) + 1]:
                argument.add_attribute("noalias")
            cells = {m: dtype for m, dtype in kernel.cells.items() if m in own}
            found = KernelPointers(
                addresses, indices, builder=inside, workspace=arguments[len(given)], layout=kernel.layout, cells=cells
            )
        emit(inside, found, part, thread)
        inside.ret_void()
        return cls(function, known)

    def call(self, builder: ir.IRBuilder, part: ir.Value) -> None:
        builder.call(self.function, [*self.known, part, I64(0)])

    def do_all(self, builder: ir.IRBuilder, parts: int, threads: int) -> None:
        """All parts, by several threads where there are some."""
        if threads > 1:
            self.start(builder, parts, threads)
            return
        with loop(builder, 0, parts, 1) as part:
            self.call(builder, part)

    def start(self, builder: ir.IRBuilder, parts: int, threads: int) -> None:
        """Have threads do all parts."""
        with builder.goto_entry_block():
            table = builder.alloca(I64, max(len(self.known), 1))
        for k, value in enumerate(self.known):
            number = value if value.type == I64 else builder.ptrtoint(value, I64)
            builder.store(number, builder.gep(table, [I64(k)]))
        pool.emit_call(builder, self.from_table(builder.module), builder.bitcast(table, POINTER), parts, threads)

    def from_table(self, module: ir.Module) -> ir.Function:
        """`void part(table, part, thread)`."""
        function = ir.Function(module, pool.PART, f"{self.function.name}.started")
        function.linkage = "internal"
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        table, part, thread = function.args
        numbers = builder.bitcast(table, I64.as_pointer())
        known = []
        for k, value in enumerate(self.known):
            number = builder.load(builder.gep(numbers, [I64(k)]))
            known.append(number if value.type == I64 else builder.inttoptr(number, value.type))
        builder.call(self.function, [*known, part, thread])
        builder.ret_void()
        return function


# Nests.


def emit_nest_parts(builder: ir.IRBuilder, nest: Nest, pointers: Pointers, parts: NestParts, threads: int) -> None:
    """A nest in parts; sums of each are added up behind them."""
    NestEmitter(builder, nest, pointers).emit_before_parts(parts.sums)

    def emit(inside: ir.IRBuilder, found: Pointers, part: ir.Value, thread: ir.Value) -> None:
        for number, (place, _) in parts.sums.items():
            start = inside.add(inside.mul(part, I64(parts.nbytes)), I64(place))
            found.base[summed(nest, number).memory] = inside.gep(found.of(SCRATCH), [start])
        NestEmitter(inside, nest, found, NestPart(Part(part, parts.count), parts.depth, parts.sums)).emit()

    sums = {summed(nest, number).memory for number in parts.sums}
    memories = [m for m in dict.fromkeys(memories_of(nest)) if m not in sums] + [SCRATCH] * bool(sums)
    function = PartFunction.written(builder, "nest_part", pointers, memories, emit)
    function.do_all(builder, parts.count, threads)
    for number, (place, kept) in parts.sums.items():
        item = summed(nest, number)
        target, first = pointers.of(item.memory), builder.gep(pointers.of(SCRATCH), [I64(place)])
        join(builder, target, first, kept, item.dtype, lambda old, new: new)
        with loop(builder, 1, parts.count, 1) as part:
            following = builder.gep(first, [builder.mul(part, I64(parts.nbytes))])
            join(builder, target, following, kept, item.dtype, functools.partial(combine, builder, item))


# Products.


def emit_product_parts(
    builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers, parts: ProductParts, threads: int
) -> None:
    """A product of matrices in parts."""
    emit_zeros(builder, step, pointers)

    def emit(inside: ir.IRBuilder, found: Pointers, part: ir.Value, thread: ir.Value) -> None:
        emit_products(inside, step, found, Part(part, parts.count), parts.loop)

    memories = dict.fromkeys(memories_of(step))
    PartFunction.written(builder, "product_part", pointers, memories, emit).do_all(builder, parts.count, threads)


def summed(nest: Nest, number: int) -> Reduce:
    item = nest.items[number]
    assert isinstance(item, Reduce)
    return item


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
    plan, op = pointers.layout.plan, step.operation
    copies = parts.count if threads > 1 else 1
    behind = copies * parts.nbytes  # where in scratch memory the threads' own begins

    def emit(inside: ir.IRBuilder, found: Pointers, part: ir.Value, thread: ir.Value) -> None:
        assert isinstance(found, KernelPointers)
        scratch = found.of(SCRATCH)
        of_part = inside.gep(scratch, [inside.mul(part, I64(parts.nbytes))]) if threads > 1 else scratch
        of_thread = inside.gep(scratch, [inside.add(inside.mul(thread, I64(parts.own_nbytes)), I64(behind))])
        for memory, place in parts.totals.items():
            found.base[memory] = inside.gep(of_part, [I64(place - low(pointers, memory))])
        for memory in parts.own - found.cells.keys() if threads > 1 else ():
            place = plan.offsets[memory] - parts.start - low(pointers, memory)
            found.base[memory] = inside.gep(of_thread, [I64(place)])
        clear(inside, of_part, parts.nbytes)
        start = found.offset(inside, op.start)
        with loop(inside, *Part(part, parts.count).bounds(inside, op.trips), 1) as trip:
            found.indices[op.index] = inside.add(start, inside.mul(trip, I64(op.step)))
            emit_steps(inside, step.steps, found)

    memories = dict.fromkeys(m for inner in walk_steps([step]) for m in memories_of(inner))
    own = parts.own | parts.totals.keys()
    function = PartFunction.written(builder, "loop_part", pointers, memories, emit, own)
    if threads > 1:
        function.start(builder, parts.count, threads)
        with loop(builder, 0, parts.count, 1) as part:
            add_totals(builder, pointers, parts, builder.mul(part, I64(parts.nbytes)))
    else:
        with loop(builder, 0, parts.count, 1) as part:
            function.call(builder, part)
            add_totals(builder, pointers, parts, I64(0))


def add_totals(builder: ir.IRBuilder, pointers: KernelPointers, parts: LoopParts, start: ir.Value) -> None:
    """Add the totals of a part, which lie from `start` in scratch memory on, to those of all."""
    assert pointers.layout is not None
    scratch = builder.gep(pointers.of(SCRATCH), [start])
    for memory, place in parts.totals.items():
        buffer = pointers.layout.plan.tape.buffers[memory.id]
        target = builder.gep(pointers.of(memory), [I64(low(pointers, memory))])
        source = builder.gep(scratch, [I64(place)])
        join(builder, target, source, buffer.span, buffer.dtype, functools.partial(added, builder, buffer.dtype))


def added(builder: ir.IRBuilder, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    return add(builder, a, b, dtype)


def low(pointers: KernelPointers, memory: Memory) -> int:
    """Bytes from what a memory's views count from to its first element."""
    assert pointers.layout is not None
    if memory.kind != "buffer":
        return 0
    buffer = pointers.layout.plan.tape.buffers[memory.id]
    return buffer.low * buffer.dtype.itemsize


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
    widest = VECTOR_BYTES // dtype.itemsize
    done = 0
    for lanes in (widest, 1):
        last = count - (count - done) % lanes
        if last > done:
            with loop(builder, done, last, lanes) as k:
                old, new = (read(builder, Place(p), k, 1, dtype, lanes, lanes) for p in (target, source))
                put(builder, Place(target), k, 1, dtype, joined(old, new), lanes, lanes)
        done = last


def clear(builder: ir.IRBuilder, start: ir.Value, nbytes: int) -> None:
    """Zero whole lines of memory."""
    if nbytes:
        line = ir.VectorType(I64, LINE // 8)
        with loop(builder, 0, nbytes, LINE) as place:
            where = builder.bitcast(builder.gep(start, [place]), line.as_pointer())
            builder.store(ir.Constant(line, [0] * line.count), where, align=8)
