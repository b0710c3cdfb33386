"""Matrix routines in a kernel: each for one item of a batch, in loops over the batch."""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir

from ...planning.schedule import LibraryStep, Memory
from ...regions.regions import c_strides
from ..llvm.places import Pointers, loop
from ..llvm.types import I64, memory_type
from . import complex_decompositions, decompositions, equations, systems
from .fourier import LINES, fourier_scratch
from .routines import Item, rounded
from .sorting import sorting_scratch

SCRATCH = Memory("scratch", 0)

# How many axes of each operand, and of the result, belong to one item.
CORES: dict[str, tuple[tuple[int, ...], int]] = {
    "lu": ((2,), 1),
    "lu_solve": ((1, 2), 2),
    "lu_inverse": ((1,), 2),
    "lu_det": ((1,), 0),
    "lu_slogdet": ((1,), 1),
    "cholesky": ((2,), 2),
    "triangular_solve": ((2, 2), 2),
    "lu_factors": ((1,), 2),
    "permutation": ((1,), 1),
    "band_lu": ((2,), 1),
    "band_solve": ((1, 2), 2),
    "sylvester": ((2, 2, 2), 2),
    "eigh": ((2,), 1),
    "svd": ((2,), 1),
    "qr": ((2,), 1),
    "pinv": ((2,), 2),
    "eig": ((2,), 1),
    "complex_eig": ((3,), 1),
    "complex_eigh": ((3,), 1),
    "complex_svd": ((3,), 1),
    "complex_qr": ((3,), 1),
}
EMIT: dict[str, Callable[[Item], None]] = {
    "lu": systems.emit_lu,
    "lu_solve": systems.emit_lu_solve,
    "lu_inverse": systems.emit_lu_inverse,
    "lu_det": systems.emit_lu_det,
    "lu_slogdet": systems.emit_lu_slogdet,
    "cholesky": systems.emit_cholesky,
    "triangular_solve": systems.emit_triangular_solve,
    "lu_factors": systems.emit_lu_factors,
    "permutation": equations.emit_permutation,
    "band_lu": equations.emit_band_lu,
    "band_solve": equations.emit_band_solve,
    "sylvester": equations.emit_sylvester,
    "eigh": decompositions.emit_eigh,
    "svd": decompositions.emit_svd,
    "qr": decompositions.emit_qr,
    "pinv": decompositions.emit_pinv,
    "eig": complex_decompositions.emit_eig,
    "complex_eig": complex_decompositions.emit_complex_eig,
    "complex_eigh": complex_decompositions.emit_complex_eigh,
    "complex_svd": complex_decompositions.emit_complex_svd,
    "complex_qr": complex_decompositions.emit_complex_qr,
}


COMPLEX = ("complex_eig", "complex_eigh", "complex_svd", "complex_qr")
EQUATIONS = {"permutation", "band_lu", "band_solve", "sylvester"}
DECOMPOSITIONS = dict.fromkeys(("eigh", "svd", "qr", "pinv"), decompositions.decomposition_scratch) | dict.fromkeys(
    ("eig", *COMPLEX), complex_decompositions.complex_decomposition_scratch
)


def emit_matrices(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """The routine for all items."""
    op = step.operation
    _, core = CORES[op.primitive]
    if op.out.size == 0:
        return
    kind = memory_type(op.out.dtype).as_pointer()
    rank = len(op.out.shape) - core
    batch = op.out.shape[:rank]
    bases = [builder.bitcast(pointers.of(memory), kind) for memory, _, _ in step.operands]
    offsets = [pointers.offset(builder, view.offset) for _, view, _ in step.operands]
    moves = [view.strides[:rank] for _, view, _ in step.operands]
    bases.append(builder.bitcast(pointers.of(step.result), kind))
    offsets.append(I64(0))
    moves.append(c_strides(op.out.shape)[:rank])
    scratch = pointers.of(SCRATCH) if scratch_of(step) else bases[-1]

    def inside(axis: int, offsets: list[ir.Value]) -> None:
        if axis < rank:
            with loop(builder, 0, batch[axis], 1) as index:
                moved = [builder.add(o, builder.mul(index, I64(m[axis]))) for o, m in zip(offsets, moves)]
                inside(axis + 1, moved)
            return
        *operands, result = (builder.gep(b, [o]) for b, o in zip(bases, offsets))
        shapes, strides = ([getattr(v, name)[rank:] for _, v, _ in step.operands] for name in ("shape", "strides"))
        EMIT[op.primitive](Item(builder, op, operands, shapes, strides, result, scratch))

    inside(0, offsets)


def scratch_of(step: LibraryStep) -> int:
    """Bytes that a routine needs besides its result; where it needs none of its own, for a copy of each operand."""
    op = step.operation
    if op.primitive in LINES:
        return fourier_scratch(step)
    if op.primitive == "argsort":
        return sorting_scratch(step)
    if op.primitive not in CORES:
        return 0
    rank = len(op.out.shape) - CORES[op.primitive][1]
    shapes = [view.shape[rank:] for _, view, _ in step.operands]
    if op.primitive in DECOMPOSITIONS:
        return DECOMPOSITIONS[op.primitive](op.primitive, shapes[0], op.params, op.out.dtype)  # type: ignore[arg-type]
    if op.primitive in EQUATIONS:
        return equations.equation_scratch(op.primitive, shapes, op.out.dtype)  # type: ignore[arg-type]
    return sum(rounded(math.prod(shape) * op.out.dtype.itemsize) for shape in shapes)


# Larger matrices: LAPACK calls routines of OpenBLAS that take memory for themselves (seen by counting).
LARGEST_WITHOUT_MEMORY = dict.fromkeys(("eigh", "svd", "pinv", "sylvester", *COMPLEX), 24) | {"eig": 64}
LARGEST_OF_OTHERS = 128


def may_allocate(step: LibraryStep) -> bool:
    """Whether the routine may allocate memory."""
    primitive = step.operation.primitive
    if primitive not in CORES or primitive == "permutation":
        return False
    largest = LARGEST_WITHOUT_MEMORY.get(primitive, LARGEST_OF_OTHERS)
    rank = len(step.operation.out.shape) - CORES[primitive][1]
    matrices = [view.shape[rank:] for _, view, _ in step.operands if len(view.shape) - rank >= 2]
    return any(max(shape) > largest for shape in matrices)
