"""Terms of a result that have nothing to do with the rows that it is to be the sum over: each part would count them.

Found in traces, they may be whatever they like where the equation is tried: 0, of a hinge or on a side of a branch that
is not taken, or too small to show. One that is the same for another number of rows is counted often;
`len(x) * np.log(sigma)` is not the same.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import ArgumentError
from ..python.source import Line
from ..tape.listing import brief
from ..tape.tape import Apply, Branch, Constant, Guard, Load, Loop, Operation, Scatter, Store, Tape, Value, walk
from ..trace import Trace

PIECEWISE = {"maximum", "minimum", "where", "greater", "greater_equal", "less", "less_equal", "absolute", "reduce_max"}
PIECEWISE |= {"rint", "floor", "ceil", "trunc", "floor_divide", "remainder", "sign", "reduce_min", "cast"}
MOST_TERMS = 256  # that are compared: more are iterations over the rows, one by one
NUMBERED = re.compile(r"\b[vi]\d+|#\d+")  # values, indices and buffers in a listing


def check_terms(name: str, chosen: Sequence[str], trace: Trace) -> None:
    """Refuse a term that may be 0 for some numbers and not for others: a hinge, or a penalty behind a branch."""
    branches = any(isinstance(op, Guard) and op.what == "branch" for op in trace.tape.operations)
    terms = Terms(chosen, trace)
    for count, value in terms.counted().values():
        if count % terms.rows and (branches or terms.is_piecewise(value)):
            raise counted_often(name, chosen, terms.line_of(value))


def check_same_terms(name: str, chosen: Sequence[str], traces: Sequence[Trace], others: Sequence[Trace]) -> None:
    """Refuse a term that is as often there, and the same, for another number of rows."""
    known = {(text, count) for trace in others for text, (count, _) in Terms(chosen, trace).counted().items()}
    for trace in traces:
        terms = Terms(chosen, trace)
        for text, (count, value) in terms.counted().items():
            if (text, count) in known:
                raise counted_often(name, chosen, terms.line_of(value))


def counted_often(name: str, chosen: Sequence[str], line: Line) -> ArgumentError:
    return ArgumentError(
        f"{name} must be a sum over the rows of {', '.join(chosen)}: {line} adds a term that has nothing to "
        f"do with them (`{line.text}`), which each part of the rows would count. Add it outside"
    )


class Terms:
    """What is added to the result of a trace.

    made : what makes each value, by its id.
    stored : what writes to each buffer of the tape's own, by its id.
    around : the loops and branches around each operation, by its identity.
    rows : how many there are.
    """

    def __init__(self, chosen: Sequence[str], trace: Trace) -> None:
        self.tape = trace.tape
        self.made = {v.id: op for op in walk(self.tape.operations) for v in op.outputs}
        self.stored: dict[int, list[Store | Scatter]] = defaultdict(list)
        self.around: dict[int, tuple[Operation, ...]] = {}
        self._enter(self.tape.operations, ())
        rows = {leaf.buffer for leaf in trace.leaves if re.split(r"\W", leaf.path)[0] in chosen}
        self.rows = next((self.tape.buffers[id].shape[0] for id in rows if id is not None), 1)
        self.of_rows = of_rows(self.tape, rows)

    def _enter(self, operations: Sequence[Operation], around: tuple[Operation, ...]) -> None:
        for op in operations:
            self.around[id(op)] = around
            if isinstance(op, Store | Scatter) and not self.tape.buffers[op.region.buffer].visible:
                self.stored[op.region.buffer].append(op)
            for block in op.blocks:
                self._enter(block, (*around, op))

    def once(self) -> Iterator[Value]:
        """The terms that have nothing to do with the rows, through memory too."""
        waiting, seen = [self.tape.results[0]], set[int]()
        while waiting:
            value = waiting.pop()
            op = self.made[value.id]
            if value.id not in self.of_rows:
                yield value
            elif value.id in seen:
                continue
            elif isinstance(op, Load):
                waiting += [store.value for store in self.stored[op.region.buffer] if not self.is_for_each_row(store)]
            elif isinstance(op, Apply) and not value.shape:
                if op.primitive in ("add", "subtract", "negative"):
                    waiting += op.operands
                elif op.primitive in ("multiply", "divide") and sum(v.id in self.of_rows for v in op.operands) == 1:
                    waiting += [v for v in op.operands if v.id in self.of_rows]
            seen.add(value.id)

    def is_for_each_row(self, op: Operation) -> bool:
        """Whether it is in a loop that runs as often as there are rows."""
        return any(isinstance(loop, Loop) and loop.trips == self.rows > 1 for loop in self.around[id(op)])

    def counted(self) -> dict[str, tuple[int, Value]]:
        """Those that are not 0, by the operations that they come from: how often they are there, and one of them."""
        found: dict[str, tuple[int, Value]] = {}
        for value in itertools.islice(self.once(), MOST_TERMS):
            if not self.is_zero(value):
                text = brief(replace(self.tape, operations=only(self.tape.operations, self.needed(value)), results=()))
                for k, name in enumerate(dict.fromkeys(NUMBERED.findall(text))):
                    text = re.sub(rf"{name}\b", f"<{k}>", text)
                found[text] = found.get(text, (0, value))[0] + 1, value
        return found

    def line_of(self, value: Value) -> Line:
        """That of the operation, or of one before it that has a line of the program."""
        lines = [op.line for op in self.needed(value).values()]
        return next((line for line in lines if line.text), lines[0])

    def is_zero(self, value: Value) -> bool:
        """Whether it is for all arguments, as a penalty whose weight is 0."""
        op = self.made[value.id]
        if isinstance(op, Constant):
            return not np.any(op.data)
        if isinstance(op, Load):
            array = self.tape.buffers[op.region.buffer].array
            return array is not None and not np.any(array)
        zeros = (self.is_zero(v) for v in op.inputs)
        if not isinstance(op, Apply) or not op.operands:
            return False
        if op.primitive in ("multiply", "contract"):
            return any(zeros)
        return op.primitive in ("add", "subtract", "negative", "view", "reduce_sum", "cast") and all(zeros)

    def needed(self, value: Value) -> dict[int, Operation]:
        """The operations that a value comes from, with the loops and branches around them, by their identity."""
        found: dict[int, Operation] = {}
        waiting = [self.made[value.id]]
        while waiting:
            op = waiting.pop()
            if id(op) not in found:
                found[id(op)] = op
                waiting += [self.made[v.id] for v in (op.steering if op.blocks else op.inputs)]
                waiting += [] if op.blocks else [store for r in op.reads for store in self.stored[r.buffer]]
                waiting += self.around[id(op)]
        return found

    def is_piecewise(self, value: Value) -> bool:
        """Whether numbers are chosen or compared on the way to a value."""
        needed = self.needed(value).values()
        return any(isinstance(op, Branch) or (isinstance(op, Apply) and op.primitive in PIECEWISE) for op in needed)


def only(operations: Sequence[Operation], needed: dict[int, Operation]) -> tuple[Operation, ...]:
    found = (op for op in operations if id(op) in needed)
    return tuple(op.with_blocks(*(only(block, needed) for block in op.blocks)) if op.blocks else op for op in found)


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
