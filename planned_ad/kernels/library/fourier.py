"""Fourier transforms in a kernel (see `planned_ad.rules.fourier`): the lines of an array, alone or side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from ...planning.schedule import LibraryStep, Memory
from ...regions.regions import View, c_strides
from ..llvm.addresses import OpenModule
from ..llvm.builder import TerseBuilder
from ..llvm.places import Pointers, loop
from ..llvm.types import I64, POINTER, memory_type
from .fourier_lines import LaneBlocks, Strided, Transforms, Treatment
from .twiddles import LANES

SCRATCH = Memory("scratch", 0)
# Numbers of lines that are transformed side by side: where neighbours lie side by side in memory, while buffers stay in
# the second cache; where they are far apart, while that is faster than four steps (measured).
LONGEST_IN_LANES, LONGEST_GATHERED = 8192, 256


@dataclass(frozen=True, slots=True)
class BatchAxis:
    """An axis of the batch: how many lines, and how far apart they are in the operand and in the result."""

    extent: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Batch:
    """How the lines of a step are gone through: loops, and an axis along which lanes lie, if there is one."""

    n: int
    source: tuple[int, int | None]  # steps along the line, and from real to imaginary parts, where there are any
    target: tuple[int, int | None]
    loops: tuple[BatchAxis, ...]
    lanes: BatchAxis | None


def batch_of(step: LibraryStep) -> Batch:
    op = step.operation
    ((_, view, _),) = step.operands
    behind: int = op.params["behind"]  # type: ignore[assignment]
    real_in, real_out = op.primitive == "real_fourier", op.primitive == "fourier_real"
    n, source, dims = line_and_batch(view, behind, not real_in)
    out = View(0, op.out.shape, c_strides(op.out.shape))
    n_out, target, dims_out = line_and_batch(out, behind, not real_out)
    n = n_out if real_out else n
    pairs_of_reals = (real_in or real_out) and n % 2 == 0
    axes = joined_axes([BatchAxis(n, a, b) for (n, a), (_, b) in zip(dims, dims_out) if n != 1])
    wide = [d for d in axes if d.extent >= LANES]
    lanes = min(wide, key=lambda d: (abs(d.source) + abs(d.target), -d.extent), default=None)
    longest = LONGEST_GATHERED if lanes is not None and abs(lanes.source) > 2 else LONGEST_IN_LANES
    if (n if pairs_of_reals else 2 * n) >= 2 * longest:
        lanes = None
    return Batch(n, source, target, tuple(d for d in axes if d is not lanes), lanes)


def line_and_batch(view: View, behind: int, pairs: bool) -> tuple[int, tuple[int, int | None], list[tuple[int, int]]]:
    """Of a view: the extent of the line, its steps, and extents and strides of the other axes."""
    axes = list(zip(view.shape, view.strides))
    pair = axes.pop()[1] if pairs else None
    n, step = axes.pop(len(axes) - 1 - behind)
    return n, (step, pair), axes


def joined_axes(axes: list[BatchAxis]) -> list[BatchAxis]:
    """Axes of which one continues the next are one."""
    found: list[BatchAxis] = []
    for d in axes:
        last = found[-1] if found else None
        if last and last.source == d.source * d.extent and last.target == d.target * d.extent:
            found[-1] = BatchAxis(last.extent * d.extent, d.source, d.target)
        else:
            found.append(d)
    return found


def emit_fourier(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """The transforms of all lines: a call of a function that equal steps of a plan share."""
    op = step.operation
    if op.out.size == 0:
        return
    ((memory, view, dtype),) = step.operands
    number = memory_type(dtype).as_pointer()
    source = builder.gep(builder.bitcast(pointers.of(memory), number), [pointers.offset(builder, view.offset)])
    target = builder.bitcast(pointers.of(step.result), number)
    function = transform_function(builder.module, op.primitive, batch_of(step), op.params, dtype)
    builder.call(function, [source, target, pointers.of(SCRATCH)])


def transform_function(module: ir.Module, primitive: str, batch: Batch, params: dict, dtype: np.dtype) -> ir.Function:
    """`void transform(source, target, scratch)`, once in a module."""
    name = f"planned_ad.{primitive}.{dtype.name}.{batch}.{sorted(params.items())}"
    if name in module.globals:
        return module.globals[name]
    number = memory_type(dtype).as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [number, number, POINTER]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = TerseBuilder(function.append_basic_block("entry"))
    source, target, scratch = function.args
    transforms = Transforms(builder, dtype, scratch)

    def inside(loops: tuple[BatchAxis, ...], source: ir.Value, target: ir.Value) -> None:
        if loops:
            with loop(builder, 0, loops[0].extent, 1) as index:
                inside(loops[1:], *moved(index, loops[0], source, target))
        elif batch.lanes is None:
            lines(1, source, target, BatchAxis(1, 0, 0))
        else:
            with LaneBlocks(builder, batch.lanes.extent) as (_, start):
                lines(LANES, *moved(start, batch.lanes, source, target), batch.lanes)

    def moved(index: ir.Value, along: BatchAxis, source: ir.Value, target: ir.Value) -> tuple[ir.Value, ir.Value]:
        offsets = (builder.mul(index, I64(k)) for k in (along.source, along.target))
        from_there, to_there = (transforms.at(place, k) for place, k in zip((source, target), offsets))
        return from_there, to_there

    def lines(lanes: int, source: ir.Value, target: ir.Value, across: BatchAxis) -> None:
        here, there = end(source, batch.source, across.source), end(target, batch.target, across.target)
        LINES[primitive](transforms, batch.n, lanes, here, there, params)

    def end(place: ir.Value, steps: tuple[int, int | None], lane: int) -> Strided:
        along, pair = steps
        return Strided(place, None if pair is None else transforms.at(place, pair), along, lane, pair or 0)

    inside(batch.loops, source, target)
    builder.ret_void()
    return function


def _fourier(transforms: Transforms, n: int, lanes: int, source: Strided, target: Strided, params: dict) -> None:
    inverse = params["inverse"]
    transforms.transform(n, lanes, source, target, Treatment(params["scale"], inverse, inverse))


def _real_fourier(transforms: Transforms, n: int, lanes: int, source: Strided, target: Strided, params: dict) -> None:
    transforms.real_to_complex(n, lanes, source, target, params["scale"], params["inner"])


def _fourier_real(transforms: Transforms, n: int, lanes: int, source: Strided, target: Strided, params: dict) -> None:
    transforms.complex_to_real(n, lanes, source, target, params["scale"], params["inner"])


LINES: dict[str, Callable[[Transforms, int, int, Strided, Strided, dict], None]] = {
    "fourier": _fourier,
    "real_fourier": _real_fourier,
    "fourier_real": _fourier_real,
}


def fourier_scratch(step: LibraryStep) -> int:
    """Bytes of the buffers."""
    batch = batch_of(step)
    lanes = 1 if batch.lanes is None else LANES
    return scratch_of_lines(step.operation.primitive, batch.n, lanes, step.operation.out.dtype)


class Measured(Transforms):
    """An emission into nowhere, which shows how much scratch memory there has to be."""

    def call(self, name: str, lanes: int, variant: object, *arguments: object) -> None:
        pass


@functools.cache
def scratch_of_lines(primitive: str, n: int, lanes: int, dtype: np.dtype) -> int:
    number = memory_type(dtype).as_pointer()
    function = ir.Function(OpenModule("nowhere"), ir.FunctionType(ir.VoidType(), [number, number]), "nowhere")
    builder = TerseBuilder(function.append_basic_block())
    place, scratch = function.args
    transforms = Measured(builder, dtype, builder.bitcast(scratch, POINTER))
    line = Strided(place, place, 3, 3, 1)  # of no buffer
    LINES[primitive](transforms, n, lanes, line, line, {"scale": 2.0, "inner": 1.0, "inverse": True})
    return transforms.most
