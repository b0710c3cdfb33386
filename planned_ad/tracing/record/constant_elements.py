"""Which numbers of traced arrays the program has put there as constants: `numpy.array([a, b, 0.0])[2]`."""

from __future__ import annotations

import numpy as np

from ...regions.regions import Region, View, is_fixed, overlap
from ...tape.loop_code import SAME
from ...tape.tape import Apply, Constant, Load, Operation, Store, Value
from .recording import Recording

LARGE = 1 << 12  # elements of a region in which an element is not looked for


def is_constant(recorder: Recording, value: Value) -> bool:
    """Whether a number is a constant, as far as it has only been stored, copied and read again since."""
    around = [op for s in recorder.scopes.open for block in (s.outer, s.before) for op in block]
    operations: list[Operation] = [*around, *recorder.builder.operations]
    made = {v.id: position for position, op in enumerate(operations) for v in op.outputs}
    place = 0  # of the number, among those of `value`
    while value.id in made:
        position = made[value.id]
        op = operations[position]
        if isinstance(op, Load) and is_fixed(op.region.view):
            found = _stored(operations[:position], op.region.buffer, _address(op.region.view, place))
            if found is None:
                return False
            value, place = found
        elif isinstance(op, Apply) and op.primitive == "view" and is_fixed(op.params["view"]):
            value, place = op.operands[0], _address(op.params["view"], place)
        elif isinstance(op, Apply) and op.primitive in SAME:
            value = op.operands[0]
        else:
            return isinstance(op, Constant)
    return False


def _stored(operations: list[Operation], buffer: int, address: int) -> tuple[Value, int] | None:
    """What has been stored there last, and which of its elements."""
    here = Region(buffer, View(address, (), ()))
    for op in reversed(operations):
        if not any(region.buffer == buffer and overlap(region, here) for region in op.writes):
            continue
        view = op.region.view if isinstance(op, Store) and not op.accumulate else None
        if view is None or not isinstance(op, Store) or not is_fixed(view) or view.size > LARGE:
            return None
        if op.value.shape == ():
            return op.value, 0
        return next(((op.value, k) for k in range(view.size) if _address(view, k) == address), None)
    return None


def _address(view: View, place: int) -> int:
    """Where in memory the element is that has so many in front of it."""
    indices = np.unravel_index(place, view.shape)
    offset: int = view.offset  # type: ignore[assignment]
    return offset + sum(int(k) * by for k, by in zip(indices, view.strides))
