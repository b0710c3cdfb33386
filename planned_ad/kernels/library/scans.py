"""Sequential primitives on whole arrays: running sums and products, linear recurrences, positions of true elements."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...planning.schedule import LibraryStep
from ...regions.regions import c_strides
from ...rules.reductions import start_of
from ..llvm.places import Pointers, loop
from ..llvm.types import I8, I64, constant, memory_type, register_type
from ..maths.elementwise import emit


def emit_scan(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """`cumulate` or `recurrence` along one axis: the running state in a register."""
    op = step.operation
    params = op.params
    axis, shape, dtype = int(params["axis"]), op.out.shape, op.out.dtype
    if op.out.size == 0:
        return
    kind = memory_type(dtype)
    targets = [*((pointers.of(memory), view.offset, view.strides) for memory, view, _ in step.operands)]
    targets.append((pointers.of(step.result), 0, c_strides(shape)))
    outer = [k for k in range(len(shape)) if k != axis]
    with builder.goto_entry_block():
        state, late = builder.alloca(register_type(dtype)), builder.alloca(register_type(dtype))

    def address(k: int, indices: dict[int, ir.Value]) -> ir.Value:
        base, offset, strides = targets[k]
        place: ir.Value = pointers.offset(builder, offset)
        for number, index in indices.items():
            place = builder.add(place, builder.mul(index, ir.Constant(I64, strides[number])))
        return builder.gep(builder.bitcast(base, kind.as_pointer()), [place])

    def line(indices: dict[int, ir.Value]) -> None:
        start = constant(dtype, start_of(params.get("operation", "add"), dtype))
        if params.get("operation") == "add" and not params["exclusive"] and dtype.kind == "f":
            start = constant(dtype, -0.0)  # the first sum is the first number, with its sign where that is zero
        builder.store(start, state)
        builder.store(constant(dtype, 0), late)
        with loop(builder, 0, shape[axis], 1) as i:
            along = builder.sub(ir.Constant(I64, shape[axis] - 1), i) if params["reverse"] else i
            places = [address(k, {**indices, axis: along}) for k in range(len(targets))]
            STEPS[op.primitive](builder, places, state, late, params, dtype)

    def loops(axes: list[int], indices: dict[int, ir.Value]) -> None:
        if not axes:
            line(indices)
            return
        with loop(builder, 0, shape[axes[0]], 1) as index:
            loops(axes[1:], {**indices, axes[0]: index})

    loops(outer, {})


def _cumulate(builder, places, state, late, params, dtype) -> None:
    source, target = places
    before = builder.load(state)
    number = builder.load(source)
    after = emit(builder, params["operation"], [before, number], dtype, dtype, {})
    builder.store(before if params["exclusive"] else after, target)
    builder.store(after, state)


def _recurrence(builder, places, state, late, params, dtype) -> None:
    factors, terms, target = places
    before, factor, term = builder.load(state), builder.load(factors), builder.load(terms)
    used = builder.load(late) if params["form"] == "late" else factor
    product = emit(builder, "multiply", [used, before], dtype, dtype, {})
    after = emit(builder, "add", [term, product], dtype, dtype, {})
    builder.store(before if params["form"] == "exclusive" else after, target)
    builder.store(after, state)
    builder.store(factor, late)


STEPS: dict[str, Callable[..., None]] = {"cumulate": _cumulate, "recurrence": _recurrence}


def emit_nonzero(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """Row-major positions of the true elements: each index is written, and kept where the mask is true."""
    ((memory, view, _),) = step.operands
    count = step.operation.out.size
    if view.size == 0 or count == 0:
        return
    with builder.goto_entry_block():
        filled = builder.alloca(I64)
    builder.store(ir.Constant(I64, 0), filled)
    result = builder.bitcast(pointers.of(step.result), I64.as_pointer())
    if step.operation.params.get("padded", False):
        with loop(builder, 0, count, 1) as i:
            builder.store(ir.Constant(I64, 0), builder.gep(result, [i]))
    base = pointers.of(memory)
    units = c_strides(view.shape)

    def loops(axis: int, offset: ir.Value, position: ir.Value) -> None:
        if axis < len(view.shape):
            with loop(builder, 0, view.shape[axis], 1) as i:
                loops(
                    axis + 1,
                    builder.add(offset, builder.mul(i, ir.Constant(I64, view.strides[axis]))),
                    builder.add(position, builder.mul(i, ir.Constant(I64, units[axis]))),
                )
            return
        is_true = builder.icmp_unsigned("!=", builder.load(builder.gep(base, [offset])), ir.Constant(I8, 0))
        number = builder.load(filled)
        room = builder.icmp_unsigned("<", number, ir.Constant(I64, count))
        with builder.if_then(builder.and_(is_true, room)):
            builder.store(position, builder.gep(result, [number]))
            builder.store(builder.add(number, ir.Constant(I64, 1)), filled)

    loops(0, pointers.offset(builder, view.offset), ir.Constant(I64, 0))
