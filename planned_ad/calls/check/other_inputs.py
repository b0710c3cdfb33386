"""Arguments beside the example, for which a trace takes other ways through the branches of its loops.

Of a branch in a loop that is recorded once the example may take one side only, and a check by the example alone says
nothing of the other. The numbers that a tape compares with are tried, as fuzzers do: near them it goes another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...tape.loop_code import COMPARISONS
from ...tape.tape import Apply, Branch, Constant, Loop, Tape, walk
from .comparison import is_floating

EXTREMA = ("maximum", "minimum", "fmax", "fmin")
EXAMPLE, LEAST, LARGEST = "example", 0, -1  # what most elements are: as they were, or one of the telling numbers
# And the share of those that are another number.
TRIED = (
    (EXAMPLE, 0.5), (LEAST, 0.15), (LARGEST, 0.15), (EXAMPLE, 0.15), (EXAMPLE, 1.0), (LEAST, 0.5), (LARGEST, 0.5),
    (EXAMPLE, 0.05), (LEAST, 0.0), (LARGEST, 0.0),
)  # fmt: skip
ANYWAY, MOST_RUNS = 1, 5  # times that the function runs beside the example: where nothing is new, and in all
MOST_MISSES = 3  # inputs in a row that go no new way, beside those


def has_branches(tape: Tape) -> bool:
    """Whether a loop that is recorded once goes one way or another, as the numbers are."""
    return any(isinstance(inner, Branch) for op in walk(tape.operations) if isinstance(op, Loop) for inner in op.body)


def compares(tape: Tape) -> bool:
    """Whether a loop that is recorded once compares numbers, by which it may choose what it reads."""
    loops = (op for op in walk(tape.operations) if isinstance(op, Loop))
    return any(isinstance(inner, Apply) and inner.primitive in COMPARISONS for op in loops for inner in op.body)


def hides(tape: Tape, varied: Sequence[Any]) -> bool:
    """Whether these arguments may not show what the trace makes of others: loops go other ways, or choose by them."""
    return has_branches(tape) or compares(tape) or any(map(is_poor_example, varied))


def is_poor_example(item: Any) -> bool:
    """Whether a floating array or number is all zeros, say, for which different things are the same."""
    array = np.asarray(item)
    return bool(array.size and np.all(array == array.flat[0]) and (array.size > 1 or array.flat[0] in (0, 1)))


def other_inputs(tape: Tape, leaves: Sequence[Any], varied: Sequence[int]) -> Iterator[list[Any]]:
    """Leaves of arguments in which the floating ones at the places `varied` have other numbers, here and there."""
    rng = np.random.default_rng(0)
    numbers = telling_numbers(tape)
    for base, share in TRIED:
        found = list(leaves)
        for place in varied:
            found[place] = varied_one(leaves[place], base, share, numbers, rng)
        yield found


def telling_numbers(tape: Tape) -> np.ndarray:
    """What the tape compares with, and zero and one: and numbers a little, and far, to either side."""
    known = {op.out.id: op.data for op in walk(tape.operations) if isinstance(op, Constant) and op.out.shape == ()}
    compared = {
        float(known[v.id])
        for op in walk(tape.operations)
        if isinstance(op, Apply) and (op.primitive in COMPARISONS or op.primitive in EXTREMA)
        for v in op.operands
        if v.id in known and v.dtype.kind == "f"
    }
    near = np.array(sorted(c for c in compared | {0.0, 1.0} if np.isfinite(c)))
    return np.sort(
        np.concatenate([near + side * (0.1 + reach * np.abs(near)) for side in (-1, 1) for reach in (0.1, 1.0)])
    )


def varied_one(item: Any, base: str | int, share: float, numbers: np.ndarray, rng: np.random.Generator) -> Any:
    """A floating array or number with others in it: of these numbers, and of its own with another size or sign."""
    array = np.asarray(item)
    own = array * rng.choice([-1.0, 2.0, -2.0, 0.5], array.shape)
    other = np.where(rng.random(array.shape) < 0.5, rng.choice(numbers, array.shape), own)
    other = other * rng.uniform(0.97, 1.03, array.shape)
    most = array if base == EXAMPLE else numbers[base] * rng.uniform(0.97, 1.03, array.shape)
    found = np.where(rng.random(array.shape) < share, other, most).astype(array.dtype)
    if not isinstance(item, np.ndarray):
        return type(item)(found)
    laid_out = np.empty_like(item, subok=False)
    laid_out[...] = found
    return laid_out


def may_vary(leaves: Sequence[Any], traced: Sequence[Any]) -> list[int]:
    """The leaves that can have other numbers: floating ones, no two of them in the same memory."""
    found = [k for k, (item, leaf) in enumerate(zip(leaves, traced)) if leaf.buffer is not None and is_floating(item)]
    arrays = [leaves[k] for k in found if isinstance(leaves[k], np.ndarray)]
    shared = any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
    return [] if shared else found
