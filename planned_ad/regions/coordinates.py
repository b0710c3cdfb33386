"""Places of a region, told by axis of its buffer instead of by address.

Along the axes, `A[i, j]` and `A[j, k]` are two pairs of expressions of loop indices; as addresses they are sums that
could mean other elements as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from .affine import Affine, Extent, Ranges, affine, exact, extremes, loop_index
from .regions import View, is_injective

MOST_CHOICES = 64  # ways to divide an expression by a stride that are tried
AXIS = -2  # the name of the position along axis `k` of a view is `AXIS - k`; loop indices are not negative


def elements(view: View, ranges: Ranges) -> tuple[Extent, Ranges]:
    """The address of each element of `view`, as one expression of loop indices and of positions along its axes.

    With it the ranges of all of these, where `ranges` has those of the loops around.
    """
    address, found = view.offset, dict(ranges)
    for k, (n, stride) in enumerate(zip(view.shape, view.strides)):
        if stride and n != 1:
            found[AXIS - k] = (0, exact(n) - 1)
            address += loop_index(AXIS - k) * stride
    return address, found


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of a buffer with more than one element: (index, extent, stride), the longest stride first."""

    low: int
    axes: tuple[tuple[int, int, int], ...]


def axes_of(view: View) -> Axes | None:
    """The axes of a buffer; None where its elements cannot be told apart by coordinates."""
    low = view.bounds()[0] if view.size else 0
    if not is_injective(view) or not isinstance(low, int):
        return None
    axes = ((k, n, s) for k, (n, s) in enumerate(zip(view.shape, view.strides)) if n > 1)
    return Axes(low, tuple(sorted(axes, key=lambda axis: -abs(axis[2]))))


def coordinates(address: Extent, axes: Axes, ranges: Ranges) -> tuple[Extent, ...] | None:
    """`address` as a position along each of `axes`, counted from the lowest address.

    Requires the ranges of all indices in `address`. None where no split into axes keeps each position inside its
    extent for all of them.
    """
    return split(address - axes.low, [(n, abs(s)) for _, n, s in axes.axes], ranges)


def split(rest: Extent, axes: Sequence[tuple[int, int]], ranges: Ranges) -> tuple[Extent, ...] | None:
    if not axes:
        return () if rest == 0 else None
    (extent, stride), inner = axes[0], axes[1:]
    reach = sum((n - 1) * s for n, s in inner)
    for quotient in quotients(rest, stride):
        left = rest - quotient * stride
        if not between(quotient, 0, extent - 1, ranges) or not between(left, 0, reach, ranges):
            continue
        found = split(left, inner, ranges)
        if found is not None:
            return (quotient, *found)
    return None


def quotients(expression: Extent, stride: int) -> Iterator[Extent]:
    """Ways to divide by `stride`: each coefficient rounded to either side."""
    terms = expression.terms if isinstance(expression, Affine) else ()
    constant = expression.constant if isinstance(expression, Affine) else expression
    coefficients = (constant, *(c for _, c in terms))
    sides = [(c // stride,) if c % stride == 0 else (c // stride, c // stride + 1) for c in coefficients]
    for number, choice in enumerate(product(*sides)):
        if number == MOST_CHOICES:
            return
        yield affine(choice[0], {index: c for (index, _), c in zip(terms, choice[1:])})


def between(expression: Extent, low: int, high: int, ranges: Ranges) -> bool:
    least, greatest = extremes(expression, ranges)
    return low <= least and greatest <= high


def follow(view: View, source: View, target: View, ranges: Ranges) -> View | None:
    """`view` of the memory that `source` lays out, moved to the memory where `target` lays out the same array.

    As `regions.remap`, for views that loops move: `ranges` are those of the loops' indices.
    """
    axes = axes_of(source)
    address, names = elements(view, ranges)
    found = None if axes is None else coordinates(address, axes, names)
    if axes is None or found is None:
        return None
    moved = target.offset
    for (k, extent, stride), position in zip(axes.axes, found):
        moved += (position if stride > 0 else extent - 1 - position) * target.strides[k]
    terms = dict(moved.terms) if isinstance(moved, Affine) else {}
    strides = tuple(terms.pop(AXIS - k, 0) for k in range(len(view.shape)))
    return View(affine(moved.constant if isinstance(moved, Affine) else moved, terms), view.shape, strides)
