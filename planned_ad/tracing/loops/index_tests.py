"""Tests in loops that their indices alone decide: `if t0 + k * dt >= start`, where all iterations go one way.

There is no branch then. What is computed of the indices is computed here for all iterations, as Python does it.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Affine, exact
from ...rules.table import RULES
from ...tape.operations import Apply, Constant, IndexValue, Operation
from ...tape.tape import Value
from ..record.decisions import KNOWN_KEYS
from .dict_keys import is_all_known

if TYPE_CHECKING:
    from ..record.recorder import Recorder

MOST_OPERATIONS, MOST_BEHIND = 32, 512  # that a test depends on; and that are looked through for one of them
MOST_ITERATIONS = 1 << 18
MOST_WRITTEN_OUT = 512  # iterations, for the sake of keys that they tell
# What NumPy rounds as everybody does.
EXACT = frozenset(
    {"add", "subtract", "multiply", "divide", "negative", "absolute", "minimum", "maximum", "floor", "ceil", "cast",
     "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not",
     "floor_divide", "remainder", "where"}
)  # fmt: skip


def written_out_for_key(recorder: Recorder, key: Any) -> BaseException | None:
    """What to raise where loops that are written out know the key of a dict; None where it depends on data.

    So it does where numbers in tables and the indices alone give it, and they are not run often. Once there are dicts
    or sets with keys of data, all of them are in memory, and loops are loops; so they are where data decide whether
    there is such a key.
    """
    if recorder.scopes.decisions.placed or (recorder.scopes.depth and recorder.scopes.loop.branches.active):
        return None
    parts = [part for part in (key if type(key) is tuple else (key,)) if not is_all_known(part)]
    used: set[int] = set()
    for part in parts:
        cone = operations_behind(recorder, recorder.value_of(part), of_tables=True)
        if cone is None:
            return None
        offsets = [op.params["view"].offset for op in cone if isinstance(op, Apply) and op.primitive == "view"]
        indices = [op.expression for op in cone if isinstance(op, IndexValue)]
        used |= {index for found in (*indices, *offsets) if isinstance(found, Affine) for index, _ in found.terms}
    scopes = [scope for scope in recorder.scopes.open if scope.index in used]
    trips = [known_trips(recorder, scope) for scope in scopes]
    if not scopes or None in trips or math.prod(trips) > MOST_WRITTEN_OUT:  # type: ignore[arg-type]
        return None
    return recorder.scopes.unroll(scopes, KNOWN_KEYS, recorder.builder.line)


def decided_by_indices(recorder: Recorder, predicate: Value) -> bool | None:
    """What a test gives in all iterations of the loops around; None where that differs, or depends on data."""
    cone = operations_behind(recorder, predicate)
    if cone is None:
        return None
    used = {index for op in cone if isinstance(op, IndexValue) for index, _ in op.expression.terms}
    trips = {scope.index: known_trips(recorder, scope) for scope in recorder.scopes.open if scope.index in used}
    if not used or len(trips) < len(used) or any(n is None for n in trips.values()):
        return None
    if math.prod(trips.values()) > MOST_ITERATIONS:  # type: ignore[arg-type]
        return None
    truths = computed(cone, trips)[predicate.id]  # type: ignore[arg-type]
    return bool(truths.flat[0]) if truths.size and (truths == truths.flat[0]).all() else None


def known_trips(recorder: Recorder, scope: Any) -> int | None:
    """How often a loop of the program's may run, where that is known once and for all."""
    last = exact(scope.range[1])
    is_known = scope.loop is not None and scope.loop.count is None and scope.loop not in recorder.whiles
    return last + 1 if is_known and isinstance(last, int) and scope.range[0] == 0 else None


def operations_behind(recorder: Recorder, predicate: Value, of_tables: bool = False) -> list[Operation] | None:
    """What a value is computed by, in order; None where that is more than exact arithmetic of indices and numbers.

    Or of what `of_tables` of numbers have at a place.
    """
    blocks = [recorder.builder.operations, *(scope.outer for scope in reversed(recorder.scopes.open))]
    missing, found = {predicate.id}, list[Operation]()
    for op in itertools.islice(itertools.chain.from_iterable(map(reversed, blocks)), MOST_BEHIND):
        made = [out.id for out in op.outputs if out.id in missing]
        if not made:
            continue
        is_exact = isinstance(op, Apply) and op.primitive in EXACT and op.out.shape == ()
        is_exact |= of_tables and isinstance(op, Apply) and op.primitive == "view"
        if not is_exact and not isinstance(op, Constant | IndexValue):
            return None
        missing.difference_update(made)
        missing.update(value.id for value in op.inputs)
        found.append(op)
        if not missing:
            return found[::-1]
        if len(found) > MOST_OPERATIONS:
            return None
    return None


def computed(operations: list[Operation], trips: dict[int, int]) -> dict[int, np.ndarray]:
    """Their values, with an axis for each index."""
    axes = {index: axis for axis, index in enumerate(trips)}
    numbers: dict[int, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for op in operations:
            if isinstance(op, IndexValue):
                total = np.asarray(op.expression.constant)
                for index, factor in op.expression.terms:
                    shape = [trips[index] if axis == axes[index] else 1 for axis in range(len(trips))]
                    total = total + factor * np.arange(trips[index]).reshape(shape)
                numbers[op.out.id] = total
            elif isinstance(op, Constant):
                numbers[op.out.id] = op.data
            else:
                assert isinstance(op, Apply)
                operands = [numbers[value.id] for value in op.operands]
                numbers[op.out.id] = RULES[op.primitive].evaluate(*operands, **dict(op.parameters))
    return numbers
