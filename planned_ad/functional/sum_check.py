"""Whether a function is a sum over rows. No trace can tell, so the equation is tried, and what breaks it is refused.

What numbers may not show is found in the traces: see `functional.sum_terms`.

It is tried on few rows, where a term that is there once shows most; with other numbers in the place of the arguments',
since a penalty that vanishes where an optimiser begins, at theta = 0, does not elsewhere; and on many rows, since a
function may look at how many there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calls.variant import Variant
from ..errors import ArgumentError
from ..plan import Plan
from ..python.examples import copied
from ..python.structure import flatten
from ..tape.captured import captured_in
from .row_sums import Arguments, RowArguments

FEW = 5  # rows
CUTS = (1, 3)
# How far from the arguments, in both directions or up only; the first at which the function is finite.
DISTANCES = [(low, 2.0**exponent) for exponent in (-3, -6, -12) for low in (-1.0, 0.0)]


@dataclass(frozen=True, slots=True)
class FoundSum:
    """That a function was found to be a sum, as long as what it finds outside is the same.

    `sizes`: for how many rows, as numbers of bits. `arrays`: from outside, each with what it held.
    """

    sizes: frozenset[int] = frozenset()
    variants: tuple[Variant, ...] = ()
    arrays: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def holds(self, plan: Plan) -> bool:
        return (
            self.variants == tuple(plan._variants)
            and all(variant.watch.is_same() for variant in self.variants)
            and all(np.array_equal(now, then, equal_nan=True) for now, then in self.arrays)
        )

    def also(self, plan: Plan, size: int) -> FoundSum:
        variants = tuple(plan._variants)
        buffers = [buffer for variant in variants for buffer in captured_in(variant.trace.tape)]
        arrays = [buffer.array for buffer in buffers if buffer.array is not None]
        return FoundSum(self.sizes | {size}, variants, tuple((array, array.copy()) for array in arrays))


def check_value(rows: RowArguments, f: Callable[..., Any], count: int, value: float) -> None:
    """Refuse a function whose value on the first `count` rows is not the `value` that their parts have summed to."""
    whole = evaluated(f, rows.part(0, count))
    if not agree(whole, [value], coarsest_eps(rows) ** 0.5):
        raise refusal(rows, f"of the first {count} rows it is {whole!r}, and of parts of them {value!r} in sum")


def check_few_rows(rows: RowArguments, f: Callable[..., Any]) -> None:
    """Refuse a function that is not the sum over the rows, near the arguments of this call, of which it takes a few."""
    random = np.random.default_rng(0)
    number = np.linspace(0, rows.count - 1, FEW).astype(int)
    few = rows.replaced(rows.with_rows(lambda leaf: leaf[number]))
    if not is_sum_near(few, f, random, with_rows=False):
        raise refusal(rows, "and this cannot be tried: it has no finite value of a few rows, near these arguments")
    is_sum_near(few, f, random, with_rows=True)


def is_sum_near(rows: RowArguments, f: Callable[..., Any], random: np.random.Generator, with_rows: bool) -> bool:
    """The same as `is_sum`, with other numbers in the place of the arguments'."""
    for low, distance in DISTANCES:
        draw = functools.partial(random.uniform, low * distance, distance)
        if is_sum(moved(rows, draw, with_rows), f):
            return True
    return False


def is_sum(rows: RowArguments, f: Callable[..., Any]) -> bool:
    """Whether it is; False where it has no finite value. Otherwise it is refused."""
    for cut in CUTS:
        try:
            with np.errstate(all="ignore"):
                whole, first, second = (evaluated(f, rows.part(a, b)) for a, b in ((0, FEW), (0, cut), (cut, FEW)))
        except (ArithmeticError, ValueError):  # outside of where it is defined
            return False
        if not np.all(np.isfinite([whole, first, second])):
            return False
        if not agree(whole, [first, second], coarsest_eps(rows) ** 0.6):
            raise refusal(
                rows, f"of {FEW} rows it is {whole!r}, and of {cut} and {FEW - cut} of them {first!r} and {second!r}"
            )
    return True


def evaluated(f: Callable[..., Any], given: Arguments) -> float:
    args, kwargs = copied(given)
    return float(f(*args, **kwargs))


def moved(rows: RowArguments, draw: Callable[..., Any], with_rows: bool) -> RowArguments:
    """Arguments that differ a little: all floating numbers in them, or all but the rows."""
    leaves, structure = flatten(rows.given)
    found = rows.replaced(structure.unflatten([near(leaf, draw) for leaf in leaves]))
    if with_rows:
        return found
    own = iter([leaf for leaves, _ in rows.taken for leaf in leaves])
    return found.replaced(found.with_rows(lambda leaf: next(own)))


def near(leaf: Any, draw: Callable[..., Any]) -> Any:
    if type(leaf) is np.ndarray and leaf.dtype.kind == "f":
        return leaf + ((np.abs(leaf) + 1) * draw(size=leaf.shape)).astype(leaf.dtype)
    if isinstance(leaf, float | np.floating):
        return type(leaf)(float(leaf) + (abs(float(leaf)) + 1) * draw())
    return leaf


def coarsest_eps(rows: RowArguments) -> float:
    """Of the coarsest floating type among the arguments."""
    dtypes = {leaf.dtype for leaf in flatten(rows.given)[0] if isinstance(leaf, np.ndarray | np.floating)}
    return max(float(np.finfo(dtype).eps) for dtype in {np.dtype(float), *dtypes} if dtype.kind == "f")


def agree(whole: float, of_parts: list[float], tolerance: float) -> bool:
    size = abs(whole) + float(np.sum(np.abs(of_parts)))
    return abs(whole - sum(of_parts)) <= tolerance * size or not np.isfinite(size)


def refusal(rows: RowArguments, found: str) -> ArgumentError:
    return ArgumentError(
        f"{rows.name} must be a sum over the rows of {', '.join(rows.chosen)}: {found}. Add what is there once, as a "
        f"penalty, outside of it, and divide by the number of rows there, for a mean"
    )
