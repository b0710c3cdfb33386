"""Whether a function is a sum over rows. No trace can tell, so the equation is tried, and what breaks it is refused.

A term that has nothing to do with the rows is found in the trace, whatever it is where the equation is tried: 0, of a
hinge or a branch.

It is tried on few rows, where a term that is there once shows most; with other numbers in the place of the arguments',
since a penalty that vanishes where an optimiser begins, at theta = 0, does not elsewhere; and on many rows, since a
function may look at how many there are.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calls.variant import Variant
from ..errors import ArgumentError
from ..plan import Plan
from ..python.examples import copied
from ..python.structure import flatten
from ..tape.captured import captured_in
from ..tape.tape import Apply, Constant, Guard, Operation, Tape, Value, walk
from ..trace import Trace
from .row_sums import Arguments, RowArguments

FEW = 5  # rows
CUTS = (1, 3)
# How far from the arguments, in both directions or up only; the first at which the function is finite.
DISTANCES = [(low, 2.0**exponent) for exponent in (-3, -6, -12) for low in (-1.0, 0.0)]
PIECEWISE = {"maximum", "minimum", "where", "greater", "greater_equal", "less", "less_equal", "absolute", "reduce_max"}


@dataclass(frozen=True, slots=True)
class FoundSum:
    """That a function was found to be a sum, as long as what it finds outside is the same.

    `sizes`: for how many rows, as numbers of bits. `arrays`: from outside, each with what it held.
    """

    sizes: frozenset[int] = frozenset()
    variant: Variant | None = None
    arrays: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def holds(self, plan: Plan) -> bool:
        return (
            plan._variants[0] is self.variant
            and self.variant.watch.is_same()
            and all(np.array_equal(now, then, equal_nan=True) for now, then in self.arrays)
        )

    def also(self, plan: Plan, size: int) -> FoundSum:
        variant = plan._variants[0]
        arrays = [buffer.array for buffer in captured_in(variant.trace.tape) if buffer.array is not None]
        return FoundSum(self.sizes | {size}, variant, tuple((array, array.copy()) for array in arrays))


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


# What numbers may not show.


def check_terms(name: str, chosen: Sequence[str], trace: Trace) -> None:
    """Refuse a term that has nothing to do with the rows where it may be 0 for some numbers and not for others.

    Each part of the rows would count it: a hinge, or a penalty on one side of a branch.
    """
    operations = trace.tape.operations
    rows = {leaf.buffer for leaf in trace.leaves if re.split(r"\W", leaf.path)[0] in chosen}
    values = of_rows(trace.tape, rows)
    made = {v.id: op for op in walk(operations) for v in op.outputs}
    branches = any(isinstance(op, Guard) and op.what == "branch" for op in operations)
    waiting = [trace.tape.results[0]]
    while waiting:
        value = waiting.pop()
        op = made[value.id]
        if isinstance(op, Apply) and op.primitive in ("add", "subtract", "negative") and not value.shape:
            waiting += op.operands
        elif value.id not in values and not isinstance(op, Constant) and (branches or is_piecewise(value, made)):
            raise ArgumentError(
                f"{name} must be a sum over the rows of {', '.join(chosen)}: {op.line} adds a term that has nothing to "
                f"do with them (`{op.line.text}`), which each part of the rows would count. Add it outside"
            )


def is_piecewise(value: Value, made: Mapping[int, Operation]) -> bool:
    """Whether numbers are chosen or compared on the way to a value."""
    waiting, seen = [value], set[int]()
    while waiting:
        op = made[waiting.pop().id]
        if op.blocks or (isinstance(op, Apply) and op.primitive in PIECEWISE):
            return True
        waiting += [v for v in op.inputs if v.id not in seen]
        seen.update(v.id for v in op.inputs)
    return False


def of_rows(tape: Tape, buffers: set[int | None]) -> set[int]:
    """The values, by their ids, that depend on what is in some buffers; with these, those that it gets to."""
    values: set[int] = set()
    found = -1
    while found != len(values) + len(buffers):
        found = len(values) + len(buffers)
        for op in walk(tape.operations):
            inside = [op, *walk(tuple(o for block in op.blocks for o in block))] if op.blocks else [op]
            read = op.steering if op.blocks else op.inputs
            if any(v.id in values for v in read) or any(r.buffer in buffers for r in op.reads if not op.blocks):
                values |= {v.id for inner in inside for v in inner.outputs}
                buffers |= {r.buffer for inner in inside for r in inner.writes}
    return values
