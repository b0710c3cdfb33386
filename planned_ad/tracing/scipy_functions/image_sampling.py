"""Images between their pixels: what `shift`, `zoom`, `rotate`, `affine_transform` and `map_coordinates` call.

Splines of degree k through the pixels: a recursive filter (see `spline_filter1d`) gives their coefficients, and k + 1
of these count at each coordinate, along each axis (Unser, Splines: a perfect fit for signal and image processing,
1999).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.ndimage import _nd_image

from ...python.versions import SCIPY
from ..numpy_functions.order import positions_below
from ..numpy_functions.support import FLOAT, unsupported
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .b_splines import b_splines_at
from .image_filters import (
    CONSTANT,
    GRID_CONSTANT,
    GRID_WRAP,
    MIRROR,
    NEAREST,
    REFLECT,
    WRAP,
    extended,
    on_axis,
)
from .intervals import traced_arrays
from .recurrences import linear_recurrence

POLES = {
    2: (math.sqrt(8.0) - 3.0,),
    3: (math.sqrt(3.0) - 2.0,),
    4: (
        math.sqrt(664.0 - math.sqrt(438976.0)) + math.sqrt(304.0) - 19.0,
        math.sqrt(664.0 + math.sqrt(438976.0)) - math.sqrt(304.0) - 19.0,
    ),
    5: (
        math.sqrt(67.5 - math.sqrt(4436.25)) + math.sqrt(26.25) - 6.5,
        math.sqrt(67.5 + math.sqrt(4436.25)) - math.sqrt(26.25) - 6.5,
    ),
}
BORDER = {CONSTANT: MIRROR, NEAREST: MIRROR, WRAP: MIRROR}  # how coefficients go on, where not as pixels do


@implements(_nd_image.spline_filter1d)
def spline_filter1d(recorder, image, order, axis, output, mode):
    """One pole after the other, forwards and backwards, from the state that an endless signal would have left."""
    (a,) = traced_arrays(recorder, image)
    c = np.moveaxis(a.astype(FLOAT), axis, -1)
    n = c.shape[-1]
    if n > 1 and order > 1:
        c = c * math.prod((1 - z) * (1 - 1 / z) for z in POLES[order])
        for z in POLES[order]:
            first = forward_start(c, z, n, mode)
            terms = np.concatenate([first[..., None], c[..., 1:]], axis=-1)
            c = linear_recurrence(recorder, np.full(n, z), terms)
            last = backward_start(c, z, n, mode)
            terms = np.concatenate([-z * c[..., :-1], last[..., None]], axis=-1)
            c = linear_recurrence(recorder, np.full(n, z), terms, reverse=True)
    output[...] = np.moveaxis(c, -1, axis)


def forward_start(c: Any, z: float, n: int, mode: int) -> Any:
    """The sum over all that lies before the first element, with powers of z."""
    powers = z ** np.arange(n)
    if mode in (REFLECT, NEAREST):
        weights = powers + z**n * powers[::-1]
        if SCIPY < (1, 18):  # whose last term holds the sum so far in the place of the first element
            weights[0], weights[-1] = 1.0, z**n
        turned = c @ weights
        if SCIPY < (1, 18):
            turned = turned + powers[-1] * (c[..., -1] + z**n * turned)
        return c[..., 0] + turned * z / (1 - z ** (2 * n))
    if mode == GRID_WRAP:
        return (c[..., 0] + c[..., 1:] @ powers[:0:-1]) / (1 - z**n)
    weights = powers + np.concatenate([[z ** (2 * n - 2)], z ** (2 * n - 2 - np.arange(1, n))])
    weights[0], weights[-1] = 1.0, z ** (n - 1)
    return c @ weights / (1 - z ** (2 * n - 2))


def backward_start(c: Any, z: float, n: int, mode: int) -> Any:
    if mode in (REFLECT, NEAREST):
        return c[..., -1] * z / (z - 1)
    if mode == GRID_WRAP:
        return (c[..., -1] + c[..., :-1] @ z ** np.arange(1, n)) * z / (z**n - 1)
    return (z * c[..., -2] + c[..., -1]) * z / (z * z - 1)


# Coordinates.


def folded(x: Any, n: int, mode: int) -> tuple[Any, Any]:
    """Coordinates along an axis of length n as such in its range, and where there is nothing but the constant."""
    nowhere: Any = False
    if mode == CONSTANT:
        nowhere = ~((x >= 0) & (x <= n - 1))
        x = np.clip(x, 0, n - 1)
    elif mode == NEAREST:
        x = np.clip(x, 0, n - 1)
    elif n == 1 and mode != GRID_CONSTANT:
        x = x * 0.0
    elif mode == MIRROR:
        x = x - (2 * n - 2) * np.floor(x / (2 * n - 2))
        x = np.where(x > n - 1, 2 * n - 2 - x, x)
    elif mode == REFLECT:
        x = x - 2 * n * np.floor(x / (2 * n))
        x = np.where(x >= n, 2 * n - 1 - x, x)
    elif mode == WRAP:
        below, above = x + (n - 1) * (np.floor(-x / (n - 1)) + 1), x - (n - 1) * np.floor(x / (n - 1))
        x = np.where(x < 0, below, np.where(x > n - 1, above, x))
    elif mode == GRID_WRAP:
        x = x - n * np.floor(x / n)
    return x, nowhere


def taps(recorder: Recorder, x: Any, n: int, order: int, mode: int) -> tuple[list[Any], list[Any], Any]:
    """Along one axis: places in coefficients with `order + 2` more at each end, their weights, and where nothing is."""
    x, nowhere = folded(x, n, mode)
    margin = order + 2
    if mode == GRID_CONSTANT:
        x = np.clip(x, -margin + 0.25, n - 1 + margin - 0.25)
    below = np.floor(x if order % 2 else x + 0.5)
    share = x - below if order % 2 else x + 0.5 - below
    start = np.clip(below, -margin, n - 1 + margin).astype(np.int64) - order // 2 + margin
    size = n + 2 * margin
    places = [positions_below(recorder, np.clip(start + k, 0, size - 1), size) for k in range(order + 1)]
    knots = np.arange(-order, order + 2.0)
    weights = b_splines_at(knots, order, share, order) if order else [1.0]
    return places, weights, nowhere


def with_margins(recorder: Recorder, c: Any, order: int, mode: int, cval: float) -> Any:
    for axis in range(c.ndim):
        c = extended(recorder, c, axis, order + 2, order + 2, BORDER.get(mode, mode), cval)
    return c


def sampled(recorder: Recorder, c: Any, coordinates: Sequence[Any], order: int, mode: int, cval: float) -> Any:
    """The spline with coefficients `c` at coordinates, an array of them for each axis, all of one shape."""
    each = [taps(recorder, x, n, order, mode) for x, n in zip(coordinates, c.shape)]
    wide = with_margins(recorder, c, order, mode, cval)
    terms = []
    for chosen in itertools.product(range(order + 1), repeat=c.ndim):
        term = wide[tuple(places[k] for (places, _, _), k in zip(each, chosen))]
        terms.append(math.prod([weights[k] for (_, weights, _), k in zip(each, chosen)], start=term) if order else term)
    found = sum(terms[1:], terms[0])
    for _, _, nowhere in each:
        found = np.where(nowhere, cval, found)
    return found


def put(output: Any, found: Any) -> None:
    """As SciPy puts numbers into images of integers: the nearest that they can have, of halves the one off zero."""
    if output.dtype.kind in "iu":
        ends = np.iinfo(output.dtype)
        found = np.clip(np.trunc(found + np.copysign(0.5, found)), ends.min, ends.max)
    output[...] = found


def refuse_mapping(mapping: Any) -> None:
    if mapping is not None:
        raise unsupported(
            "scipy.ndimage.geometric_transform with a traced image",
            "use map_coordinates with the coordinates that the mapping gives",
        )


@implements(_nd_image.geometric_transform)
def geometric_transform(
    recorder, image, mapping, coordinates, matrix, offset, output, order, mode, cval, npad, arguments, keywords
):
    refuse_mapping(mapping)
    (a,) = traced_arrays(recorder, image)
    if coordinates is not None:
        places = list(traced_arrays(recorder, coordinates)[0].astype(FLOAT))
    else:
        matrix, offset = traced_arrays(recorder, matrix, offset)
        grid = np.indices(output.shape, dtype=FLOAT)
        count = output.ndim
        rows = [[matrix[i, j] * grid[j] for j in range(count)] for i in range(a.ndim)]
        places = [sum(row[1:], row[0]) + offset[i] for i, row in enumerate(rows)]
    put(output, sampled(recorder, a.astype(FLOAT), [x + npad for x in places], order, mode, cval))


@implements(_nd_image.zoom_shift)
def zoom_shift(recorder, image, zoom, shift, output, order, mode, cval, npad, grid_mode):
    """An axis after the other."""
    (found,) = traced_arrays(recorder, image)
    found = found.astype(FLOAT)
    zoom, shift = (None if given is None else traced_arrays(recorder, given)[0] for given in (zoom, shift))
    empty: Any = False
    for axis, count in enumerate(output.shape):
        x: Any = np.arange(count, dtype=FLOAT)
        x = x if shift is None else x + shift[axis]
        if zoom is not None:
            x = (x + 0.5) * zoom[axis] - 0.5 if grid_mode else x * zoom[axis]
        n, rest = found.shape[axis], (1,) * (found.ndim - axis - 1)
        places, weights, nowhere = taps(recorder, x + npad, n, order, mode)
        wide = extended(recorder, found, axis, order + 2, order + 2, BORDER.get(mode, mode), cval)
        terms = [
            wide[on_axis(wide.ndim, axis, place)] * (np.reshape(weight, (count, *rest)) if order else 1.0)
            for place, weight in zip(places, weights)
        ]
        found = sum(terms[1:], terms[0])
        empty = empty | (np.reshape(nowhere, (count, *rest)) if nowhere is not False else False)
    put(output, np.where(empty, cval, found) if empty is not False else found)
