"""Which axes of values run together: index `i` along the one is index `i` along the other.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.exp(x - x.max(axis=1, keepdims=True)), (np.zeros((5, 3)),)).tape
>>> print(brief(tape))
v0: float64[5, 3] = x[...]
v1: float64[5] = reduce_max(v0, axes=(1,))
v2: float64[5, 1] = view(v1, view={+0 [5, 1] by [1, 1]})
v3: float64[5, 3] = view(v2, view={+0 [5, 3] by [1, 0]})
v4: float64[5, 3] = subtract(v0, v3)
v5: float64[5, 3] = exp(v4)
return v5
>>> for axes in SharedAxes(tape.operations).together():
...     print(*(f"v{value}.{axis}" for value, axis in axes))
v0.0 v1.0 v2.0 v3.0 v4.0 v5.0
v0.1 v3.1 v4.1 v5.1

A view shares the axes that it shows whole; one of more elements than there are shows some several times, and shares
none.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..regions.affine import Ragged
from ..regions.regions import View, decompose
from ..rules.table import RULES
from ..tape.tape import Apply, Load, Operation, Store, Value

AxisOf = tuple[int, int]  # the id of a value, and the number of one of its axes


class SharedAxes:
    """The axes of all values of a block, in classes of those that run together.

    `through`: buffers along whose axes, by their strides, run those of what is stored there and loaded.
    """

    def __init__(self, operations: Iterable[Operation], through: frozenset[int] = frozenset()) -> None:
        self._parent: dict[AxisOf, AxisOf] = {}
        self._members: dict[AxisOf, list[AxisOf]] = {}
        for op in operations:
            if isinstance(op, Apply):
                for (one, axis), (other, its) in pairs(op):
                    self._unite((one.id, axis), (other.id, its))
            elif isinstance(op, Load | Store) and op.region.buffer in through:
                value = op.out if isinstance(op, Load) else op.value
                for k, (n, stride) in enumerate(zip(op.region.view.shape, op.region.view.strides)):
                    if is_many(n) and stride and value.shape:
                        self._unite((value.id, k), (-1 - op.region.buffer, stride))

    def root(self, value: Value, axis: int) -> AxisOf:
        """The name of a class."""
        return self._root((value.id, axis))

    def axis_in(self, value: Value, root: AxisOf) -> int | None:
        """The axis of a value that is in a class, if it is the only one."""
        found = [axis for axis in range(len(value.shape)) if self.root(value, axis) == root]
        return found[0] if len(found) == 1 else None

    def axes_in(self, root: AxisOf) -> frozenset[AxisOf]:
        """The axes of values that are in a class."""
        return frozenset(axis for axis in self._members.get(root, [root]) if axis[0] >= 0)

    def root_of_memory(self, buffer: int, stride: int) -> AxisOf:
        """The name of the class of what runs through a buffer by that stride."""
        return self._root((-1 - buffer, stride))

    def together(self) -> list[list[AxisOf]]:
        """The classes of more than one axis."""
        return [sorted(members) for members in self._members.values()]

    def _root(self, found: AxisOf) -> AxisOf:
        while found in self._parent:
            found = self._parent[found]
        return found

    def _unite(self, one: AxisOf, other: AxisOf) -> None:
        a, b = self._root(one), self._root(other)
        if a != b:
            self._parent[b] = a
            self._members.setdefault(a, [a]).extend(self._members.pop(b, [b]))


def pairs(op: Apply) -> Iterable[tuple[tuple[Value, int], tuple[Value, int]]]:
    """Axes of the operands of an operation that run together with an axis of its result."""
    out, kind = op.out, RULES[op.primitive].kind
    for operand in op.operands:
        if kind == "elementwise" and operand.shape:
            yield from (((operand, k), (out, k)) for k, n in enumerate(out.shape) if is_many(n))
        elif kind == "view" and out.size <= operand.size:
            moves = (moved_axis(op.params["view"], operand.shape, k) for k in range(len(operand.shape)))
            yield from (((operand, k), (out, new)) for k, new in enumerate(moves) if new is not None)
        elif kind == "reduce":
            left = [k for k in range(len(operand.shape)) if k not in op.params["axes"]]
            yield from (((operand, k), (out, new)) for new, k in enumerate(left) if is_many(out.shape[new]))
    if kind == "gather":
        for index in op.operands[1:]:
            yield from (((index, k), (out, k)) for k, n in enumerate(index.shape) if is_many(n))
    if kind == "contract":
        for labels, operand in zip((op.params["a_labels"], op.params["b_labels"]), op.operands):
            for k, label in enumerate(labels):
                if label in op.params["out_labels"] and is_many(operand.shape[k]):
                    yield (operand, k), (out, op.params["out_labels"].index(label))


def is_many(extent: int) -> bool:
    return extent > 1 and not isinstance(extent, Ragged)


def moved_axis(view: View, shape: tuple[int, ...], axis: int) -> int | None:
    """The axis of a view that runs along one whole axis of the array of `shape` that it shows, which no other does."""
    found = decompose(view, shape) if is_many(shape[axis]) else None
    if found is None or found.start[axis]:
        return None
    along = [k for k, step in enumerate(found.steps) if step[axis]]
    if len(along) != 1 or view.shape[along[0]] != shape[axis]:
        return None
    step = found.steps[along[0]]
    return along[0] if step[axis] == 1 and not any(step[:axis] + step[axis + 1 :]) else None
