"""Views of arrays whose extents differ between iterations: which of them can be followed back."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import UnsupportedError
from ..regions.affine import Ragged
from ..regions.regions import View, contiguous
from ..tape.tape import Apply, Operation


def refuse_flattening(op: Apply, written: Iterable[Operation]) -> None:
    """Where what is written for the derivative of `op` sees an array of moving extents as one of fixed extents."""
    if any(map(flattens, written)):
        raise UnsupportedError(
            f"{op.line}: {op.primitive} has no derivative yet where a loop changes the extents of arrays; "
            f"use arrays of full extent there"
        )


def flattens(op: Operation) -> bool:
    """Whether `op` sees an array that a loop changes the extents of as one of fixed extents, with what lies between."""
    if not isinstance(op, Apply) or op.primitive != "view":
        return False
    shape = op.params["view"].shape
    return any(isinstance(n, Ragged) and n not in shape for n in op.operands[0].shape)


def inverse_in_loops(view: View, shape: tuple[int, ...]) -> View | None:
    """As `regions.inverse`, for views that only turn the axes of an array, or add axes of length one."""
    own, packed = contiguous(shape), contiguous(view.shape)
    axes = {(s, n): t for n, s, t in zip(view.shape, view.strides, packed.strides) if n != 1}
    wanted = [(s, n) for n, s in zip(shape, own.strides) if n != 1]
    if view.offset != 0 or len(axes) != len(wanted) or set(axes) != set(wanted):
        return None
    return View(0, shape, tuple(axes.get((s, n), 0) for n, s in zip(shape, own.strides)))
