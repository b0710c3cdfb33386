"""Affine views of memory: offset, shape and strides, counted in elements.

A `View` describes which elements of a flat memory an array shows; a `Region`
is a view of one buffer. Slices, transposes, reshapes of contiguous memory,
diagonals and broadcasts are all views of this form, so that aliasing in the
user's program is arithmetic here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .affine import Affine, Extent, Ragged, at, exact


@dataclass(frozen=True, slots=True)
class View:
    """Elements `offset + sum(i[k] * strides[k])` for `0 <= i[k] < shape[k]` of a flat memory."""

    offset: Extent
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def bounds(self) -> tuple[Extent, Extent]:
        """First and last element touched (inclusive); meaningless for an empty view."""
        low: Extent = self.offset
        high: Extent = self.offset
        for extent, stride in zip(self.shape, self.strides):
            low += min(0, stride) * (extent - 1)
            high += max(0, stride) * (extent - 1)
        return low, high

    def __str__(self) -> str:
        return f"+{self.offset} {list(self.shape)} by {list(self.strides)}"


@dataclass(frozen=True, slots=True)
class Region:
    """A view of the buffer with id `buffer`."""

    buffer: int
    view: View

    @property
    def shape(self) -> tuple[int, ...]:
        return self.view.shape


def limits(view: View) -> tuple[int, int]:
    """The bounds of a view that no loop moves."""
    low, high = view.bounds()
    assert isinstance(low, int) and isinstance(high, int)
    return low, high


def ends(view: View) -> tuple[Extent, Extent]:
    """First and last element touched in this iteration, where there is one."""
    low: Extent = view.offset
    high: Extent = view.offset
    for n, stride in zip(view.shape, view.strides):
        low += (exact(n) - 1) * min(0, stride)
        high += (exact(n) - 1) * max(0, stride)
    return low, high


def is_ragged(shape: Iterable[int]) -> bool:
    """Whether some extent differs between iterations."""
    return Ragged in map(type, shape)


def is_fixed(view: View) -> bool:
    """Whether `view` shows the same elements in every iteration of every loop."""
    return type(view.offset) is not Affine and not is_ragged(view.shape)


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of a row-major array of `shape`."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def contiguous(shape: tuple[int, ...], offset: Extent = 0) -> View:
    """The whole of a row-major memory of `shape`."""
    return View(offset, tuple(shape), c_strides(tuple(shape)))


def is_identity(view: View, shape: tuple[int, ...]) -> bool:
    """Whether `view` shows a row-major array of `shape` exactly as it is."""
    return view.shape == tuple(shape) and view.offset == 0 and same_layout(view, contiguous(view.shape))


def same_layout(a: View, b: View) -> bool:
    """Whether two views of equal shape touch the same element at each index."""
    if a.shape != b.shape or a.offset != b.offset:
        return a.size == 0 and a.shape == b.shape
    return a.size == 0 or all(s == t or n == 1 for n, s, t in zip(a.shape, a.strides, b.strides))


def is_injective(view: View) -> bool:
    """Whether distinct indices show distinct elements (sufficient test: strides nest)."""
    axes = sorted((abs(s), n) for n, s in zip(view.shape, view.strides) if n > 1)
    reach = 0
    for stride, extent in axes:
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def elements_shown(view: View) -> int:
    """Elements that a view shows, each counted once."""
    return math.prod(n for n, stride in zip(view.shape, view.strides) if stride)


def covers(view: View, size: int) -> bool:
    """Whether `view` shows every one of the `size` elements of its memory exactly once."""
    if is_ragged(view.shape):
        return False
    return view.size == size and is_injective(view) and view.bounds() == (0, size - 1 if size else view.bounds()[1])


def inverse(view: View, shape: tuple[int, ...]) -> View | None:
    """The view through which an array of `view.shape`, stored row-major, shows as `shape`.

    For a view that covers its memory exactly once: `u[inverse]` undoes `v[view]`.
    None where that is not an affine view.
    """
    if not covers(view, math.prod(shape)):
        return None
    return permuted(shape, view, contiguous(view.shape))


def permuted(shape: tuple[int, ...], through: View, target: View) -> View | None:
    """The view of `target`'s memory that shows `shape` when `through` maps `target`'s indices into it.

    Each axis of `shape` must be a union of whole axes of `through`, or of whole parts of them, in nested order,
    with one stride.
    """
    axes = split_axes(through, target, tuple(step for n, step in zip(shape, c_strides(shape)) if n > 1))
    offset = target.offset
    strides: list[int] = []
    position = 0
    for extent, step in zip(reversed(shape), reversed(c_strides(shape))):
        if extent == 1:
            strides.append(0)
            continue
        covered, stride = 1, 0
        while covered < extent:
            if position == len(axes):
                return None
            s, n, t = axes[position]
            if abs(s) != step * covered:
                return None
            sign = 1 if s > 0 else -1
            if s < 0:
                offset += t * (n - 1)
            if covered == 1:
                stride = sign * t
            elif sign * t != covered * stride:
                return None
            covered *= n
            position += 1
        if covered != extent:
            return None
        strides.append(stride)
    return View(offset, tuple(shape), tuple(reversed(strides)))


def split_axes(through: View, target: View, cuts: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """The axes as `(stride in through, extent, stride in target)`, innermost first; split in two at each of the
    addresses `cuts` that divides one, so that an axis of 6 shows as 2 by 3."""
    axes = []
    for n, s, t in zip(through.shape, through.strides, target.strides):
        for cut in sorted(cuts):
            inside = cut // abs(s) if s else 1
            if 1 < inside < n and cut % s == 0 and n % inside == 0:
                axes.append((s, inside, t))
                n, s, t = n // inside, s * inside, t * inside
        if n > 1:
            axes.append((s, n, t))
    return sorted(axes, key=lambda axis: abs(axis[0]))


@dataclass(frozen=True, slots=True)
class AxisMap:
    """A view taken apart by axis: index `i` of the view is index `start + steps @ i` of the array."""

    start: tuple[int, ...]  # one per axis of the array
    steps: tuple[tuple[int, ...], ...]  # per axis of the view: a step for each axis of the array


@lru_cache(maxsize=1 << 14)
def decompose(view: View, shape: tuple[int, ...]) -> AxisMap | None:
    """`view` of a row-major array of `shape` as a map between indices, or None where an axis wraps."""
    if view.size == 0 or isinstance(view.offset, Affine):
        return None
    base = c_strides(shape)
    start = [int(i) for i in np.unravel_index(view.offset, shape)] if shape else []
    low, high = list(start), list(start)
    steps = []
    for extent, stride in zip(view.shape, view.strides):
        rest, step = abs(stride) if extent > 1 else 0, [0] * len(shape)
        sign = 1 if stride > 0 else -1
        for axis, (n, unit) in enumerate(zip(shape, base)):
            if n > 1 and rest:
                whole, rest = divmod(rest, unit)
                step[axis] = sign * whole
        if rest:
            return None
        steps.append(tuple(step))
        for axis, move in enumerate(step):
            low[axis] += min(0, move) * (extent - 1)
            high[axis] += max(0, move) * (extent - 1)
    if any(a < 0 or b >= n for a, b, n in zip(low, high, shape)):
        return None
    return AxisMap(tuple(start), tuple(steps))


def compose(outer: View, inner: View) -> View | None:
    """The view of `outer`'s memory that `inner` shows of an array stored row-major; None if not affine."""
    if inner.size == 0:
        return View(outer.offset, inner.shape, tuple(0 for _ in inner.shape))
    if same_layout(outer, contiguous(outer.shape, outer.offset)):
        return View(outer.offset + inner.offset, inner.shape, inner.strides)
    axes = decompose(inner, outer.shape)
    if axes is None:
        return None
    offset = outer.offset
    for start, stride in zip(axes.start, outer.strides):
        offset += start * stride
    strides = tuple(sum(m * s for m, s in zip(step, outer.strides)) for step in axes.steps)
    return View(offset, inner.shape, strides)


def show(memory: np.ndarray, view: View, indices: dict[int, int] | None = None) -> np.ndarray:
    """The NumPy view of a flat `memory` that `view` describes (writable, no copy)."""
    return shown(memory, at(view.offset, indices or {}), view.shape, view.strides)


def shown(memory: np.ndarray, first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The NumPy view of a flat `memory` that begins at its element `first`; strides in elements."""
    if 0 in shape:
        return np.empty(shape, memory.dtype)
    size = memory.itemsize
    return np.ndarray(shape, memory.dtype, memory, first * size, tuple([stride * size for stride in strides]))


def overlap(a: Region, b: Region) -> bool:
    """Whether two regions may share an element: exact without loop indices, else conservative."""
    if a.buffer != b.buffer:
        return False
    one, other = a.view, b.view
    moves = isinstance(one.offset, Affine) or isinstance(other.offset, Affine)
    if moves and are_apart(one, other):
        return False
    gap = one.offset - other.offset
    if isinstance(gap, Affine):
        return one.size > 0 and other.size > 0
    return meet(gap, one.shape, one.strides, other.shape, other.strides)


@lru_cache(maxsize=1 << 14)
def meet(
    gap: int, shape: tuple[int, ...], strides: tuple[int, ...], others: tuple[int, ...], steps: tuple[int, ...]
) -> bool:
    """Whether two views share an element, the first of which begins `gap` elements after the second.

    Remembered: what is unrolled asks the same again and again, at other places.
    """
    a, b = View(gap, shape, strides), View(0, others, steps)
    if min((*shape, *others, 1)) <= 0:  # or less, in iterations that do not run
        return False
    (a_low, a_high), (b_low, b_high) = limits(a), limits(b)
    if a_high < b_low or b_high < a_low:
        return False
    if a.size == 1 and b.size == 1:
        return a_low == b_low
    if same_layout(a, b):
        return True
    low, high = min(a_low, b_low), max(a_high, b_high)
    try:
        work = 10_000  # candidate solutions; beyond them the answer is yes
        first, second = _dummy(a, low, high), _dummy(b, low, high)
        return bool(np.shares_memory(first, second, max_work=work))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def are_apart(a: View, b: View) -> bool:
    """Whether views that loops move certainly share no element in any one iteration (sufficient tests)."""
    for one, other in ((a, b), (b, a)):
        gap = ends(one)[0] - ends(other)[1]
        if isinstance(gap, int) and gap > 0:
            return True
    gap = a.offset - b.offset
    steps = [s for view in (a, b) for n, s in zip(view.shape, view.strides) if n > 1]
    if isinstance(gap, Affine):
        steps += [coefficient for _, coefficient in gap.terms]
    step = math.gcd(*steps)  # of all distances between elements of the two, what they differ by
    rest = gap.constant if isinstance(gap, Affine) else gap
    return step > 1 and rest % step != 0


def contains(outer: Region, inner: Region) -> bool:
    """Whether every element of `inner` certainly lies in `outer` (sufficient test)."""
    if outer.buffer != inner.buffer:
        return False
    if inner.view.size == 0 or same_layout(outer.view, inner.view):
        return True
    if isinstance(outer.view.offset, Affine) or isinstance(inner.view.offset, Affine) or is_ragged(outer.view.shape):
        return False
    (low, high), (first, last) = limits(outer.view), limits(inner.view)
    dense = is_injective(outer.view) and high - low + 1 == outer.view.size
    return dense and low <= first and last <= high


# A span of address space for overlap tests: the arrays made over it are never read.
_SPAN = np.empty(0, np.int8)


def _dummy(view: View, low: int, high: int) -> np.ndarray:
    global _SPAN
    if _SPAN.size < high - low + 1:
        _SPAN = np.empty(2 * (high - low + 1), np.int8)  # untouched memory: reserved, not resident
    return np.ndarray(view.shape, np.int8, _SPAN, at(view.offset, {}) - low, view.strides)


def remap(view: View, source: View, target: View) -> View | None:
    """`view` of the memory that `source` lays out, moved to the memory where `target` lays out the same array.

    None where a stride of `view` is not a whole number of steps along the axes of `source`.
    """
    if isinstance(view.offset, Affine):
        return None
    axes = sorted(
        (abs(s), 1 if s > 0 else -1, n, t) for n, s, t in zip(source.shape, source.strides, target.strides) if n > 1
    )[::-1]

    def steps(distance: int) -> list[int] | None:
        sign, rest, moves = (1 if distance >= 0 else -1), abs(distance), []
        for size, _, _, _ in axes:
            whole, rest = divmod(rest, size)
            moves.append(sign * whole)
        return None if rest else moves

    low = source.bounds()[0]
    assert isinstance(low, int)
    start = steps(view.offset - low)
    moves = [steps(s) if n > 1 else [0] * len(axes) for n, s in zip(view.shape, view.strides)]
    if start is None or any(m is None for m in moves):
        return None
    for k, (_, _, extent, _) in enumerate(axes):  # counted from the lowest address: must stay inside each axis
        first = start[k] + sum(min(0, m[k]) * (n - 1) for n, m in zip(view.shape, moves) if m)
        last = start[k] + sum(max(0, m[k]) * (n - 1) for n, m in zip(view.shape, moves) if m)
        if first < 0 or last >= extent:
            return None
    offset = target.offset
    for position, (_, sign, extent, step) in zip(start, axes):
        offset += (position if sign > 0 else extent - 1 - position) * step
    strides = [sum(move * sign * t for move, (_, sign, _, t) in zip(m or (), axes)) for m in moves]
    return View(offset, view.shape, tuple(strides))
