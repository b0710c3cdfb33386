"""What is computed for all elements, and looked at in part, is computed for that part.

>>> import numpy as np
>>> from planned_ad.passes.dead_code import drop_dead
>>> from planned_ad.passes.rewrite import rewrite
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.sin(x)[1:], (np.zeros(5),)).tape
>>> print(brief(tape))
v0: float64[5] = x[...]
v1: float64[5] = sin(v0)
v2: float64[4] = view(v1, view={+1 [4] by [1]})
return v2
>>> print(brief(drop_dead(rewrite(narrow(tape)))))
v4: float64[4] = x[1:5]
v2: float64[4] = sin(v4)
return v2

Requires a tape; ensures the same numbers. What several views show is computed once, as it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..regions.regions import View, compose
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Operation, Tape, Value, all_blocks, walk


def narrow(tape: Tape) -> Tape:
    """Requires a tape; ensures that no elementwise operation is only looked at through one view of fewer elements.

    The same tape where there is none.
    """
    narrowing = Narrowing(tape, rebuilt(tape))
    if not any(narrowing.shown_in_part(op) for op in walk(tape.operations)):
        return tape
    return written_anew(tape, narrowing.builder, narrowing.write)


class Narrowing:
    """One rewriting of a tape."""

    def __init__(self, tape: Tape, builder: TapeBuilder):
        self.builder = builder
        self.made: dict[int, Apply] = {}
        self.places: dict[int, int] = {}  # of what is made: the number of its block
        self.users = Counter(v.id for v in tape.results)
        for number, block in enumerate(all_blocks(tape.operations)):
            for op in block:
                if isinstance(op, Apply):
                    self.made[op.out.id], self.places[op.out.id] = op, number
                self.users.update({v.id for v in (op.steering if op.blocks else op.inputs)})
        self.seen: dict[tuple[int, int, View], Value] = {}  # by the number of a block: elsewhere they may not be known
        self.place = 0  # the block that is written

    def write(self, op: Operation) -> None:
        if op.blocks:
            self.builder.emit(self.builder.with_written_blocks(op, self.write))
            return
        inner = self.shown_in_part(op)
        if inner is None:
            self.builder.emit(op)
            return
        assert isinstance(op, Apply)
        self.builder.line = inner.line
        self.place = self.places[op.out.id]
        operands = tuple(self.shown(v, op.params["view"]) for v in inner.operands)
        self.builder.emit(replace(inner, out=op.out, operands=operands))

    def shown_in_part(self, op: Operation) -> Apply | None:
        """The elementwise operation of whose result `op` alone shows a part."""
        if not isinstance(op, Apply) or op.primitive != "view":
            return None
        (operand,) = op.operands
        inner = self.beside(operand, self.places[op.out.id])
        is_part = inner is not None and op.out.size < operand.size
        return inner if is_part and inner is not None and RULES[inner.primitive].kind == "elementwise" else None

    def beside(self, value: Value, place: int) -> Apply | None:
        """What makes a value for one use only, in the same block: a loop inside would do it again and again."""
        is_here = self.places.get(value.id) == place and self.users[value.id] == 1
        return self.made[value.id] if is_here else None

    def shown(self, value: Value, view: View) -> Value:
        """An operand of an elementwise operation, as a view of its result shows it."""
        if not value.shape:
            return value
        key = self.place, value.id, view
        if key not in self.seen:
            self.seen[key] = self.show(value, view)
        return self.seen[key]

    def show(self, value: Value, view: View) -> Value:
        inner = self.beside(value, self.place)
        if inner is not None:
            if RULES[inner.primitive].kind == "elementwise":
                operands = [self.shown(v, view) for v in inner.operands]
                return self.builder.apply(inner.primitive, *operands, **inner.params)
            both = compose(inner.params["view"], view) if inner.primitive == "view" else None
            if both is not None:
                return self.builder.view(inner.operands[0], both)
        return self.builder.view(value, view)
