"""Which numbers of traced arrays are the same for all data: `numpy.array([a, b, 0.0])[2]`, the last of `x * (1, 0)`."""

from __future__ import annotations

import numpy as np

from ...regions.regions import Region, View, is_fixed, overlap
from ...tape.loop_code import SAME
from ...tape.tape import Apply, Constant, Load, Operation, Store, Value
from .recording import Recording

LARGE = 1 << 12  # elements of a region in which an element is not looked for
MOST = 1000  # numbers that are looked at for one
OF_BOTH = ("add", "subtract")
OF_ONE = (*SAME, "negative", "cast")


def is_constant(recorder: Recording, value: Value) -> bool:
    """Whether a number is a constant, as far as it has been stored, copied and read again since, or made of zeros.

    (A number times zero is zero: what it makes of infinite ones has no derivative either.) Outside of loops: in
    one, what has been stored last may be what an iteration has stored.
    """
    return not recorder.scopes.depth and KnownElements(recorder.builder.operations).number(value, 0) is not None


class KnownElements:
    """Of what is recorded, the numbers that are known for all data."""

    def __init__(self, operations: list[Operation]):
        self.operations = operations
        self.made = {v.id: position for position, op in enumerate(operations) for v in op.outputs}
        self.left = MOST

    def number(self, value: Value, place: int) -> float | None:
        """The element of a value that has so many in front of it."""
        self.left -= 1
        position = self.made.get(value.id)
        if position is None or self.left < 0:
            return None
        op = self.operations[position]
        if isinstance(op, Constant):
            return float(op.data.reshape(-1)[place].real)
        if isinstance(op, Load) and is_fixed(op.region.view):
            return self.stored(position, op.region.buffer, _address(op.region.view, place))
        if not isinstance(op, Apply):
            return None
        if op.primitive == "view":
            view = op.params["view"]
            return self.number(op.operands[0], _address(view, place)) if is_fixed(view) else None
        if op.primitive not in ("multiply", "divide", *OF_ONE, *OF_BOTH):
            return None
        return self.computed(op, place)

    def computed(self, op: Apply, place: int) -> float | None:
        """An element that is zero, or of the only operand."""
        found = (self.number(v, place if v.shape else 0) for v in op.operands)
        if op.primitive in OF_ONE:
            first = next(found)
            return -first if first is not None and op.primitive == "negative" else first
        if op.primitive == "divide":
            return 0.0 if next(found) == 0 else None
        are_zero = (number == 0 for number in found)
        return 0.0 if (any(are_zero) if op.primitive == "multiply" else all(are_zero)) else None

    def stored(self, before: int, buffer: int, address: int) -> float | None:
        """What has been stored there last."""
        here = Region(buffer, View(address, (), ()))
        for op in reversed(self.operations[:before]):
            if not any(region.buffer == buffer and overlap(region, here) for region in op.writes):
                continue
            if not isinstance(op, Store) or op.accumulate or not is_fixed(op.region.view):
                return None
            view, value = op.region.view, op.value
            if value.shape == ():
                return self.number(value, 0)
            places = range(view.size if view.size <= LARGE else 0)
            place = next((k for k in places if _address(view, k) == address), None)
            return None if place is None else self.number(value, place)
        return None


def _address(view: View, place: int) -> int:
    """Where in memory the element is that has so many in front of it."""
    indices = np.unravel_index(place, view.shape) if view.shape else ()
    offset: int = view.offset  # type: ignore[assignment]
    return offset + sum(int(k) * by for k, by in zip(indices, view.strides))
