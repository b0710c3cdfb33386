"""Images of truths: SciPy's morphology, labels and distances when the plan runs. They have no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..tracing.record.recorder import Recorder
from .solvers import by_scipy, calls, refuse_options

OF_TRUTHS = (
    "binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes", "binary_hit_or_miss", "binary_opening",
    "binary_propagation",
)  # fmt: skip


def by_ndimage(recorder: Recorder, name: str, image: Any, args: tuple, options: dict[str, Any], more: int = 0) -> Any:
    """What the function finds, in a line as long as the image, with `more` numbers behind."""
    import scipy.ndimage

    function = getattr(scipy.ndimage, name)

    def solve(image: Any, args: tuple, options: dict[str, Any]) -> np.ndarray:
        found = function(image, *args, **options)
        return np.concatenate([np.ravel(part) for part in (found if isinstance(found, tuple) else (found,))])

    return by_scipy(recorder, name, solve, (image, args, options), image.size + more)


def image_of(recorder: Recorder, given: Any) -> Any:
    return recorder.array(recorder.value_of(given))


def named(recorder: Recorder, name: str, args: tuple, options: dict[str, Any]) -> dict[str, Any]:
    """The options that are given, all but one by name: an array that is to be written to is among the others."""
    if len(args) > 1:
        raise UnsupportedError(f"{recorder.here()}: give the options of scipy.ndimage.{name} by name")
    return {option: value for option, value in options.items() if value is not None}


@calls("scipy.ndimage", *OF_TRUTHS)
def of_truths(recorder: Recorder, name: str, input: Any, *args: Any, **options: Any) -> Any:
    options = named(recorder, name, args, options)
    refuse_options(
        recorder, name, options,
        ("structure", "structure1", "structure2", "iterations", "mask", "border_value", "origin", "origin1", "origin2",
         "brute_force"),
    )  # fmt: skip
    image = image_of(recorder, input)
    return by_ndimage(recorder, name, image, args, options).reshape(image.shape) != 0


@calls("scipy.ndimage", "label")
def label(recorder: Recorder, name: str, input: Any, structure: Any = None, **options: Any) -> Any:
    refuse_options(recorder, name, options, ())
    image = image_of(recorder, input)
    found = by_ndimage(recorder, name, image, (structure,), {}, 1)
    return found[:-1].reshape(image.shape).astype(np.int32), recorder.integer(found[-1])


@calls("scipy.ndimage", "distance_transform_edt")
def distances(recorder: Recorder, name: str, input: Any, *args: Any, **options: Any) -> Any:
    options = named(recorder, name, args, options)
    refuse_options(recorder, name, options, ("sampling", "return_distances"))
    image = image_of(recorder, input)
    return by_ndimage(recorder, name, image, args, options).reshape(image.shape)
