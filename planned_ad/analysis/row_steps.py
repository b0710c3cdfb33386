"""Where memory has rows that loops move along, or within, but never out of: row `i` of an access is row `i` of memory.

>>> from planned_ad.regions.affine import loop_index
>>> from planned_ad.regions.regions import View
>>> t = loop_index(0)
>>> row_step(View(100 * t, (100,), (1,)), 0, 100, 0, {0: (0, 49)})  # column t of `cache[t, :]`, for 50 t
1
>>> row_step(View(t + 1, (100,), (50,)), 0, 100, 0, {0: (0, 48)})  # of `y[:, t + 1]`: rows are 50 elements apart
50
>>> row_step(View(t + 1, (99,), (1,)), 0, 99, 0, {0: (0, 1)})  # another row in each iteration
0
>>> print(in_fewer_rows(View(100 * t, (100,), (1,)), 0, 100, 8, 0, {0: (0, 49)}))
+8*i0 [8] by [1]
"""

from __future__ import annotations

from ..regions.affine import Affine, Extent, Ranges, affine
from ..regions.regions import View


def row_step(view: View, axis: int, extent: int, low: int, ranges: Ranges) -> int:
    """How far apart the rows are, of memory that begins at `low`, which a view has along an axis of `extent` rows.

    It may move around by as much as all rows take, and within a row: over loops whose indices have these `ranges`, and
    along its other axes. 0 where it may be at other rows.
    """
    step = view.strides[axis]
    if step <= 0 or any(type(n) is not int for n in view.shape):
        return 0
    found = first_row(view, axis, step * extent, low, ranges)
    if found is None:
        return 0
    first, last = found
    return step if last - first // (step * extent) * (step * extent) < step and first % (step * extent) < step else 0


def first_row(view: View, axis: int, around: int, low: int, ranges: Ranges) -> tuple[int, int] | None:
    """Of the elements that a view shows at row 0, the first and the last, but for moves by multiples of `around`."""
    first, terms = constant_and_moves(view.offset)
    first -= low
    last = first
    for index, move in terms:
        if move % around == 0:
            continue
        least, greatest = ranges.get(index, (None, None))
        if not isinstance(least, int) or not isinstance(greatest, int):
            return None
        first, last = first + min(move * least, move * greatest), last + max(move * least, move * greatest)
    for k, (n, stride) in enumerate(zip(view.shape, view.strides)):
        if k != axis and stride % around:
            first, last = first + min(0, stride) * (n - 1), last + max(0, stride) * (n - 1)
    return first, last


def in_fewer_rows(view: View, axis: int, extent: int, count: int, low: int, ranges: Ranges) -> View:
    """The view in memory that is alike but for having `count` rows; requires that it has a `row_step`."""
    step = view.strides[axis]
    around, now = step * extent, step * count
    found = first_row(view, axis, around, low, ranges)
    assert found is not None

    def moved(by: int) -> int:
        return by if by % around else by // around * now

    constant, terms = constant_and_moves(view.offset)
    whole = found[0] // around
    constant += whole * (now - around)
    shape = (*view.shape[:axis], count, *view.shape[axis + 1 :])
    strides = tuple(s if k == axis else moved(s) for k, s in enumerate(view.strides))
    return View(affine(constant, {index: moved(move) for index, move in terms}), shape, strides)


def constant_and_moves(offset: Extent) -> tuple[int, tuple[tuple[int, int], ...]]:
    return (offset.constant, offset.terms) if isinstance(offset, Affine) else (offset, ())
