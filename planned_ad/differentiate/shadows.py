"""Memory of derivatives: shadows, laid out as the memory that they belong to."""

from __future__ import annotations

import numpy as np

from ..errors import UnsupportedError
from ..regions.coordinates import follow
from ..regions.regions import Region, View, c_strides, contiguous, is_fixed, remap
from ..tape.builder import TapeBuilder
from ..tape.tape import Buffer, Loop


def new_shadow(builder: TapeBuilder, buffer: Buffer, kind: str) -> Buffer:
    """A shadow for `buffer`: its layout when that is dense, else packed in the same order of axes."""
    view = buffer.view
    if buffer.span != view.size or buffer.low != 0:
        view = packed(view)
    return builder.new_buffer(kind, "d" + buffer.label, buffer.dtype, view, shadow_of=buffer.id)


def packed(view: View) -> View:
    """Dense strides with the axes nested in the same order as in `view`, as `np.empty_like` gives them."""
    order = sorted(range(len(view.shape)), key=lambda k: (-abs(view.strides[k]), k))
    dense = c_strides(tuple(view.shape[k] for k in order))
    strides = [0] * len(order)
    for position, axis in enumerate(order):
        strides[axis] = dense[position]
    return View(0, view.shape, tuple(strides))


def shadow_region(
    builder: TapeBuilder, region: Region, buffer: Buffer, shadow: Buffer, loops: tuple[Loop, ...]
) -> Region:
    """The region of `shadow` that belongs to a region of `buffer`, inside of `loops`."""
    if buffer.view == shadow.view:
        return Region(shadow.id, region.view)
    if is_fixed(region.view):
        view = remap(region.view, buffer.view, shadow.view)
    else:
        view = follow(region.view, buffer.view, shadow.view, {loop.index: loop.range for loop in loops})
    if view is None:
        raise UnsupportedError(
            f"{builder.line}: the strides of {buffer.label} cannot be followed; pass a contiguous array"
        )
    return Region(shadow.id, view)


def local_memory(builder: TapeBuilder, label: str, shape: tuple[int, ...], dtype: np.dtype) -> Region:
    """New memory for an array of `shape`."""
    buffer = builder.new_buffer("local", label, dtype, contiguous(tuple(map(int, shape))))
    return Region(buffer.id, contiguous(shape))
