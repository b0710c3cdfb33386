"""Whether numbers that should be the same are: to the last bit, to rounding, or as far as the program lets them be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tape.tape import Tape, walk

# Of each element, and of the largest one: two ways to compute the same number in these types.
ROUNDING = {np.dtype(np.float64): (1e-9, 1e-13), np.dtype(np.float32): (1e-4, 1e-6)}
AMPLIFIED = 1000.0  # times what the function makes of one rounding of its arguments
ALIKE, NEAR, FAR = 1e-9, 1e-6, 1e-3  # runs beside a jump, relative to the largest of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A result or written argument, called `name`: as the function gives it, and as its trace does."""

    name: str
    expected: Any
    actual: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first thing in which two runs differ, in words; or the error of a guard that does not hold in one of them."""

    text: str
    error: Exception | None = None


def same_bits(pair: Pair) -> bool:
    """Whether the numbers of a pair are the same; all nans are."""
    a, b = np.asarray(pair.expected), np.asarray(pair.actual)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def apart(pair: Pair, noise: Any = 0.0) -> np.ndarray | None:
    """Which elements differ by more than rounding, and than `noise` amplified; None where the shapes do."""
    a, b = np.asarray(pair.expected), np.asarray(pair.actual)
    if a.shape != b.shape:
        return None
    if a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
        return np.asarray(a != b)
    dtype = a.dtype if a.dtype.kind == "f" else b.dtype
    relative, absolute = ROUNDING.get(dtype, (0.0, 0.0))
    a, b = np.asarray(a, float), np.asarray(b, float)
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(a), where=np.isfinite(a), initial=0.0)
        most = np.maximum(relative * np.abs(a), np.maximum(absolute * scale, AMPLIFIED * np.asarray(noise)))
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= most) | np.isnan(np.asarray(noise))
    return np.asarray(~same)


def noise_of(first: Any, second: Any) -> Any:
    """How far two runs of a function are apart, element by element; nan where one of them is no number."""
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
        return np.nan
    with np.errstate(all="ignore"):
        return np.where(a == b, 0.0, np.abs(np.asarray(a, float) - np.asarray(b, float)))


def jumps_elsewhere(pair: Pair, others: Sequence[Any]) -> Any:
    """Where a function jumps (two of three runs are alike, and the third is far) to other values than the trace has."""
    values = [np.asarray(value) for value in (pair.expected, *others)]
    actual = np.asarray(pair.actual)
    if any(v.shape != actual.shape or v.dtype.kind not in "fiub" for v in (*values, actual)):
        return False
    values, actual = [np.asarray(v, float) for v in values], np.asarray(actual, float)
    with np.errstate(all="ignore"):
        scale = np.maximum(np.max(np.abs(values), axis=0), np.finfo(float).tiny)
        gaps = [np.abs(a - b) / scale for a, b in itertools.combinations(values, 2)]
        is_jump = (np.min(gaps, axis=0) < ALIKE) & (np.max(gaps, axis=0) > FAR)
        return is_jump & (np.min([np.abs(actual - v) / scale for v in values], axis=0) > NEAR)


def first_difference(
    pairs: Sequence[Pair], noise: Sequence[Any] = (), other: str = "in its trace"
) -> Difference | None:
    """The first pair whose numbers differ; the second of them is the `other` one."""
    for k, pair in enumerate(pairs):
        if same_bits(pair):
            continue
        which = apart(pair, noise[k] if noise else 0.0)
        if which is None:
            shapes = f"of shape {np.shape(pair.expected)}, and of shape {np.shape(pair.actual)} {other}"
            return Difference(text=f"{pair.name} is {shapes}")
        if which.any():
            return Difference(text=described(pair, which, other))
    return None


def described(pair: Pair, which: np.ndarray, other: str) -> str:
    """The first element that differs, with both numbers."""
    place = tuple(int(i) for i in np.argwhere(which)[0]) if which.ndim else ()
    name = pair.name + (f"[{', '.join(map(str, place))}]" if place else "")
    expected, actual = (np.asarray(v)[place] for v in (pair.expected, pair.actual))
    return f"{name} is {expected!s}, and {actual!s} {other}"


def precision_of(tape: Tape) -> np.dtype:
    """The type in which a program computes that rounds the most."""
    values = (value for op in walk(tape.operations) for value in op.outputs)
    return np.dtype(np.float32 if any(value.dtype == np.float32 for value in values) else np.float64)


def rounded(arrays: Sequence[Any], to_other_side: bool, precision: np.dtype) -> list[Any]:
    """Floating arrays and numbers, each moved to a neighbour at random, or to the other one; a zero by a rounding of
    the largest element."""
    rng = np.random.default_rng(0)
    return [one_rounded(item, rng, to_other_side, precision) if is_floating(item) else item for item in arrays]


def one_rounded(item: Any, rng: np.random.Generator, to_other_side: bool, precision: np.dtype) -> Any:
    found = np.asarray(item)
    array = found.astype(precision) if precision.itemsize < found.itemsize else found
    up = (rng.random(array.shape) < 0.5) ^ to_other_side
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(array), where=np.isfinite(array), initial=0.0) or 1.0
        near = np.nextafter(array, np.where(up, np.inf, -np.inf).astype(array.dtype))
        moved = np.where(array == 0, np.where(up, 1, -1) * np.finfo(array.dtype).eps * scale, near).astype(array.dtype)
    moved = np.where(np.isfinite(moved), moved, found).astype(found.dtype)
    return type(item)(moved) if not isinstance(item, np.ndarray) else moved


def is_floating(item: Any) -> bool:
    return isinstance(item, float | np.floating) or (isinstance(item, np.ndarray) and item.dtype.kind == "f")
