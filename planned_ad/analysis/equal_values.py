"""Which values of a loop or branch are the same number, and where in memory each of them lies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..regions.affine import coefficient, exact
from ..regions.regions import Region, View, overlap
from ..tape.tape import Apply, Load, Loop, Operation, Store, Value
from .dependence import Access, Place
from .known_contents import KnownContents

Known = dict[object, Value]


@dataclass(frozen=True, slots=True)
class Made:
    """The operation that defines a value, and where it stands."""

    operation: Operation
    place: Place


class EqualValues:
    """Facts about the values that the blocks of `primal` define.

    Attributes
    ----------
    made : of each value id, its definition.
    first : of each value id, the first value that is certainly equal to it: loaded from the same memory, or stored
        to it, with no write in between; or made from equal values in the same way. In the same block or around it.
    values : the values by id, and those from outside that they are equal to.
    homes : of each first value, the regions that were loaded or stored as that value in the block that defines it.
    carried : of a value loaded in a loop's body that is, but for the first iteration, a value that the iteration
        before has stored: that one.
    """

    def __init__(self, primal: Operation, place: Place):
        self.made: dict[int, Made] = {}
        self.first: dict[int, int] = {}
        self.values: dict[int, Value] = {}
        self.homes: dict[int, list[Access]] = defaultdict(list)
        self.carried: dict[int, int] = {}
        self._enter(primal, place, KnownContents(), {})

    def operands(self, op: Operation) -> tuple[int, ...]:
        """The first values equal to what `op` reads."""
        return tuple(self.first.get(v.id, v.id) for v in op.inputs)

    def _enter(self, op: Operation, place: Place, contents: KnownContents, known: Known) -> None:
        """`contents`: what is known of memory, which `op` may write to; `known`: the values of expressions."""
        for region in op.writes:
            contents.forget(region)
        for number, block in enumerate(op.blocks):
            self._block(block, place.inside(op, number), KnownContents(contents), dict(known))

    def _block(self, block: tuple[Operation, ...], start: Place, contents: KnownContents, known: Known) -> None:
        for position, op in enumerate(block):
            place = start.at(position)
            for value in op.outputs:
                self.made[value.id] = Made(op, place)
                self.values[value.id] = value
                self.first[value.id] = value.id
            if isinstance(op, Load):
                held = contents[op.region.buffer].get(op.region.view)
                if held is None:
                    contents[op.region.buffer].put(op.region.view, op.out)
                else:
                    self._same(op.out, held)
                self._lives_in(op.out, Access(op.region, place, op))
            elif isinstance(op, Apply):
                self._same(op.out, known.setdefault((op.primitive, self.operands(op), op.parameters), op.out))
            self._enter(op, place, contents, known)
            if isinstance(op, Store) and not op.accumulate and op.value.shape == op.region.shape:
                contents[op.region.buffer].put(op.region.view, op.value)
                self._lives_in(op.value, Access(op.region, place, op))
        if isinstance(start.around[-1], Loop):
            self._find_carried(start.around[-1], block)

    def _find_carried(self, loop: Loop, block: tuple[Operation, ...]) -> None:
        """What the loads of `block` have from the iteration before: the last thing that was written there."""
        own = {v.id for op in block for v in op.outputs}
        writes: dict[int, list[tuple[int, Region]]] = defaultdict(list)
        for position, op in enumerate(block):
            for region in op.writes:
                writes[region.buffer].append((position, region))
        for position, op in enumerate(block):
            if not isinstance(op, Load) or self.first[op.out.id] != op.out.id or follows(op.region.view, loop.index):
                continue
            writers = [k for k, region in writes[op.region.buffer] if overlap(op.region, region)]
            last = block[writers[-1]] if writers and writers[0] > position else None
            if isinstance(last, Store) and last.region == op.region and not last.accumulate:
                stored = self.first.get(last.value.id, last.value.id)
                if stored in own and stored != op.out.id and last.value.shape == op.out.shape:
                    self.carried[op.out.id] = stored

    def _same(self, value: Value, other: Value) -> None:
        self.values.setdefault(other.id, other)
        self.first[value.id] = self.first.get(other.id, other.id)

    def _lives_in(self, value: Value, access: Access) -> None:
        first = self.first.get(value.id, value.id)
        made = self.made.get(first)
        if made is not None and made.place.steps[:-1] == access.place.steps[:-1]:
            self.homes[first].append(access)


def follows(view: View, index: int) -> bool:
    """Whether `view` differs between the iterations of the loop with that index."""
    expressions = (view.offset, *map(exact, view.shape))
    return any(coefficient(e, index) for e in expressions)
