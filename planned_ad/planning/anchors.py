"""Which values get a home: computed once, at their own place in the schedule.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x, y):
...     a, b = 2.0 * x, np.exp(y)
...     x[:] = 0.0
...     return a * b + b
>>> tape = primal(trace(f, (np.zeros(4), np.zeros(4))).tape)
>>> print(brief(tape))
v0 = 2.0
v1: float64[4] = x[...]
v2: float64[4] = multiply(v0, v1)
v3: float64[4] = y[...]
v4: float64[4] = exp(v3)
v5 = 0.0
x[...] = v5
v6: float64[4] = multiply(v2, v4)
v7: float64[4] = add(v6, v4)
result#2[...] = v7
>>> for id, reason in decide_anchors(tape).reasons.items():
...     print(f"v{id}: {reason}")
v4: needed by the derivative, and computing exp again costs more than keeping it
v2: its memory is overwritten

Requires a simplified tape; ensures that every other value can be evaluated wherever it is used.

All other values are *virtual*: views, loads and short elementwise chains, evaluated again wherever they
are used (reloaded, recomputed) at the price of a few operations. A value is anchored when evaluating
it again costs more than keeping it, when the memory it came from is overwritten before a use, or when a
library routine needs it in memory. Each anchor carries its reason.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..analysis.cost import COPY_FROM, ONCE, Parts, evaluated_parts, is_dear, is_short
from ..analysis.dependence import WriteHistory
from ..differentiate.keep.sources import Again, Kept, Loaded, costs_more
from ..regions.regions import (
    Region,
    View,
    compose,
    contiguous,
    is_fixed,
    is_injective,
    is_ragged,
    overlap,
    same_layout,
)
from ..rules.table import RULES
from ..tape.tape import (
    Apply,
    Branch,
    Constant,
    Guard,
    IndexValue,
    Load,
    Loop,
    Operation,
    Scatter,
    Tape,
    Value,
    walk,
)

MOST_IN_PARTS = 64.0  # additions, of all parts of a value together, that are worth the code of each
BEFORE = -1  # the position, within a loop's body or a branch's side, of operations before the loop or branch


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where a number that an expression needs comes from: `value`, at the places `view` of its row-major memory.

    `since`: from which position on memory holds it, of what is loaded.
    """

    value: Value
    view: View
    source: Kept | Loaded | Again
    since: int = -1


def writes_within(op: Operation) -> dict[int, list[Region]]:
    """What is written to in the blocks of an operation, each region once, by buffers."""
    found: dict[int, list[Region]] = defaultdict(list)
    for region in dict.fromkeys(written for inner in walk((op,)) for written in inner.writes):
        found[region.buffer].append(region)
    return found


@dataclass
class Anchors:
    """The decisions: `reasons[value id]` for each anchored value, and how to find any value's leaves."""

    tape: Tape
    history: WriteHistory
    made: dict[int, tuple[int, Operation]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    overwrites: dict[int, Operation] = field(default_factory=dict)
    parts: dict[int, Parts] = field(default_factory=dict)  # of elementwise values
    read_in_reverse: frozenset[int] = frozenset()  # values of the primal that operations of the reverse sweep read
    users: dict[int, list[int]] = field(default_factory=dict)  # of each value, their positions in this block
    last_users: dict[int, list[Operation]] = field(default_factory=dict)  # see `users_in_the_end`
    positions: dict[int, int] = field(default_factory=dict)  # of the operations of this block, by identity
    inside: dict[int, tuple[Anchors, ...]] = field(default_factory=dict)  # by position: decisions for its blocks

    def leaves(self, value: Value, view: View, position: int) -> Iterator[Leaf]:
        """The memory and the anchored values that `value` at `view` is computed from, by an operation at `position`."""
        if value.id in self.reasons:
            yield Leaf(value, view, Kept())
            return
        made_at, op = self.made[value.id]
        if isinstance(op, Constant):
            yield Leaf(value, view, Again(op))
        elif isinstance(op, IndexValue):
            return
        elif isinstance(op, Load):
            region, since = self.home_of_load(op, made_at, position)
            seen = compose(region.view, view)
            if seen is None:
                raise NotAffine(value, made_at)
            yield Leaf(value, view, Loaded(Region(region.buffer, seen), op.line), since)
        else:
            assert isinstance(op, Apply)
            if op.primitive == "view":
                inner = compose(op.params["view"], view)
                if inner is None:
                    raise NotAffine(value, made_at)
                yield from self.leaves(op.operands[0], inner, position)
                return
            copy = self.copy_to_read(value, view, position)
            if copy is not None:
                yield Leaf(value, view, Loaded(copy[0], op.line), copy[1])
            else:
                for operand in op.operands:
                    yield from self.leaves(operand, operand_view(operand, op.out, view), position)

    def home_of_load(self, op: Load, made_at: int, position: int) -> tuple[Region, int]:
        """Where the loaded numbers are still found at `position`: where they were read, or were stored since."""
        if self.history.first_write(op.region, made_at, position) is not None:
            place = self.stored_copy(op.out, position)
            if place is not None:
                return place
        return op.region, made_at

    def copy_to_read(self, value: Value, view: View, position: int) -> tuple[Region, int] | None:
        """Where `value` at `view` is read instead of computed again: one number for several.

        Not by the reverse sweep from an array of the primal's that would be kept alive for it.
        """
        if not value.shape or self.cost_of(value) < COPY_FROM:
            return None
        copy = self.stored_copy(value, position)
        if copy is None:
            return None
        region, since = copy
        if since < self.tape.turn <= position and not self.tape.buffers[region.buffer].visible:
            return None
        seen = compose(region.view, view)
        if seen is None or self.clashes(self.tape.operations[position], Region(region.buffer, seen)):
            return None
        return Region(region.buffer, seen), since

    def stored_copy(self, value: Value, position: int) -> tuple[Region, int] | None:
        """A region that `value` was stored to earlier and that still holds it at `position`."""
        return next(self.history.copies(value.id, position), None)

    def anchor(self, value: Value, reason: str) -> None:
        if value.id in self.reasons:
            return
        self.reasons[value.id] = reason
        position, op = self.made[value.id]
        if isinstance(op, Apply):
            self.check_uses(position, op)

    # Deciding.

    def decide(self) -> None:
        """Walk the tape once; afterwards every leaf of every use is intact, affine, and where it must be."""
        turn = self.tape.turn
        primal = {value.id for op in self.tape.operations[:turn] for value in op.outputs}
        reads = (value.id for op in self.tape.operations[turn:] for value in op.inputs)
        self.read_in_reverse = frozenset(id for id in reads if id in primal)
        for position, op in enumerate(self.tape.operations):
            self.positions[id(op)] = position
            for value in op.inputs:
                self.users.setdefault(value.id, []).append(position)
        for position, op in enumerate(self.tape.operations):
            for value in op.outputs:
                self.made[value.id] = (position, op)
            self.decide_one(position, op)

    def decide_one(self, position: int, op: Operation) -> None:
        if isinstance(op, Constant | Load | IndexValue):
            return
        if isinstance(op, Loop | Branch):
            self.decide_blocks(position, op)
            return
        if isinstance(op, Apply):
            rule = RULES[op.primitive]
            if rule.kind == "view":
                self.check_view(op, position)
                return
            if rule.kind == "elementwise":
                self.check_broadcasts(op)
                parts = self.parts[op.out.id] = evaluated_parts(op, map(self.parts_of, op.operands))
                if not is_dear(op) and (is_short(op, parts) or self.is_used_in_parts(op)):
                    return
            if rule.kind not in ("elementwise", "reduce"):
                for operand in op.operands if rule.kind != "gather" else op.operands[:1]:
                    self.put_in_memory(operand, rule.name)
            self.anchor(op.out, costs_more(op))
            return
        if isinstance(op, Guard):
            self.anchor(op.predicate, "tested by a guard")
        self.check_uses(position, op)

    def users_of(self, value: Value) -> list[Operation]:
        return [self.tape.operations[k] for k in self.users.get(value.id, ())]

    def users_in_the_end(self, op: Apply) -> list[Operation]:
        """The users of a value, or of what is computed of it alone, element by element."""
        passed = []
        while op.out.id not in self.last_users:
            passed.append(op.out.id)
            users = self.users_of(op.out)
            if len(users) != 1 or not isinstance(users[0], Apply) or users[0].out.shape != op.out.shape:
                break
            if RULES[users[0].primitive].kind != "elementwise":
                break
            op = users[0]
        found = self.last_users[op.out.id] if op.out.id in self.last_users else self.users_of(op.out)
        self.last_users |= dict.fromkeys(passed, found)
        return found

    def is_used_in_parts(self, op: Apply) -> bool:
        """Whether all uses of a value look at different elements of it, so that none is evaluated twice.

        They may do so after more has been computed from it alone.
        """
        users = self.users_in_the_end(op)
        if len(users) < 2 or sum(self.parts[op.out.id].values()) * len(users) > MOST_IN_PARTS:
            return False
        views = [user.params["view"] for user in users if isinstance(user, Apply) and user.primitive == "view"]
        if len(views) < len(users) or any(len(self.users_of(user.outputs[0])) != 1 for user in users):
            return False
        seen = [Region(-1, view) for view in views]
        if any(is_ragged(view.shape) or not is_fixed(view) or not is_injective(view) for view in views):
            return False
        return not any(overlap(a, b) for a, b in itertools.combinations(seen, 2))

    def decide_blocks(self, position: int, op: Loop | Branch) -> None:
        """What a loop or a branch reads from outside is in memory; each block is decided as a tape of its own.

        Values do not cross iterations, and every iteration finds memory as the ones before left it, so that the
        order within one iteration is all there is to keep.
        """
        for value in op.steering:
            if not isinstance(self.made[value.id][1], Constant):
                self.anchor(value, "decides what is run")
        known, written = dict(self.made), writes_within(op)
        for value in op.inputs:
            if self.found_inside(position, written, value):
                known[value.id] = (BEFORE, self.made[value.id][1])
            else:
                self.anchor(value, "read in each iteration of a loop" if isinstance(op, Loop) else "read by a branch")
        blocks = []
        for block in op.blocks:
            tape = replace(self.tape, operations=block, turn=len(block) if position < self.tape.turn else 0)
            blocks.append(Anchors(tape, WriteHistory(tape), dict(known), self.reasons, self.overwrites))
            blocks[-1].decide()
        self.inside[position] = tuple(blocks)

    def found_inside(self, position: int, written: dict[int, list[Region]], value: Value) -> bool:
        """Whether blocks that write so find `value` as well: a constant, an index, or memory that stays as it is."""
        made = self.made[value.id][1]
        if isinstance(made, Constant | IndexValue):
            return True
        if not isinstance(made, Load) or value.id in self.reasons:
            return False
        region = made.region
        if self.history.first_write(region, self.made[value.id][0], position) is not None:
            return False
        return not any(overlap(other, region) for other in written.get(region.buffer, ()))

    def parts_of(self, value: Value) -> Parts:
        """What evaluating `value` evaluates."""
        if value.id in self.reasons:
            return {value.id: 1.0}
        if value.id in self.parts:
            return self.parts[value.id]
        _, op = self.made[value.id]
        return evaluated_parts(op, map(self.parts_of, op.inputs))

    def cost_of(self, value: Value) -> float:
        return sum(self.parts_of(value).values())

    def put_in_memory(self, value: Value, user: str) -> None:
        """Library routines and gathers address memory: computed operands are kept in a slot."""
        base = value
        while base.id not in self.reasons:
            _, op = self.made[base.id]
            if isinstance(op, IndexValue):
                self.anchor(base, f"{user} reads it from memory")
            if not isinstance(op, Apply):
                return
            if op.primitive != "view":
                self.anchor(base, f"{user} reads it from memory")
                return
            base = op.operands[0]

    def check_view(self, op: Apply, position: int) -> None:
        """A view whose places cannot be written as one affine map of its base is copied."""
        while True:
            try:
                list(self.leaves(op.out, contiguous(op.out.shape), position))
                return
            except NotAffine as problem:
                self.anchor(problem.value, "its elements are not at regular places")

    def check_broadcasts(self, op: Apply) -> None:
        """An operand that is computed, and repeated along an axis, is computed once and kept."""
        for operand in op.operands:
            if operand.id in self.reasons:
                continue
            _, made = self.made[operand.id]
            if isinstance(made, Apply) and made.primitive == "view":
                base = made.operands[0]
                small = base.size * 2 <= operand.size
                if small and base.id not in self.reasons and self.cost_of(base) > ONCE:
                    self.anchor(base, "used by many elements")
            elif operand.shape == () and op.out.shape != () and self.cost_of(operand) > ONCE:
                self.anchor(operand, "used by many elements")

    def check_uses(self, position: int, op: Operation) -> None:
        """Anchor what this operation can no longer find in memory, or would overwrite while reading."""
        for operand in op.inputs:
            while self.mend(position, op, operand):
                pass

    def mend(self, position: int, op: Operation, operand: Value) -> bool:
        """Anchor one culprit among the leaves of `operand`; False when all is well."""
        view = contiguous(operand.shape)
        try:
            leaves = list(self.leaves(operand, view, position))
        except NotAffine as problem:
            self.anchor(problem.value, "its elements are not at regular places")
            return True
        lost: dict[int, Operation] = {}
        values: dict[int, Value] = {}
        for leaf in leaves:
            if not isinstance(leaf.source, Loaded):
                continue
            region = leaf.source.region
            writer = self.history.first_write(region, leaf.since, position)
            if writer is None and self.clashes(op, region):
                writer = op
            if writer is not None:
                lost[leaf.value.id] = writer
                values[leaf.value.id] = leaf.value
        if not lost:
            return self.keep_smaller(position, operand)
        culprit = self.wanted_part(operand, set(lost))
        if culprit is None:
            culprit = operand
            if len(lost) == 1 or self.made_by_view(operand):
                culprit = next(iter(values.values()))
        writer = next(iter(lost.values()))
        culprit = self.furthest(culprit, writer)
        self.overwrites[culprit.id] = writer
        self.anchor(culprit, "its memory is overwritten")
        return True

    def furthest(self, value: Value, writer: Operation) -> Value:
        """What is computed from `value` alone before `writer`: it takes no more memory, and saves computing it."""
        overwritten = self.positions[id(writer)]
        while value.shape:
            users = self.users.get(value.id, [])
            user = self.tape.operations[users[0]] if len(users) == 1 else None
            if not isinstance(user, Apply) or RULES[user.primitive].kind != "elementwise":
                return value
            out = user.out
            if out.id in self.reasons or out.nbytes > value.nbytes or users[0] >= overwritten:
                return value
            value = out
        return value

    def keep_smaller(self, position: int, operand: Value) -> bool:
        """Keep a value of the primal for the reverse sweep when computing it again would keep more memory alive."""
        if position < self.tape.turn:
            return False
        for value in self.primal_parts(operand):
            leaves = self.leaves(value, contiguous(value.shape), position)
            buffers = {leaf.source.region.buffer for leaf in leaves if isinstance(leaf.source, Loaded)}
            alive = [self.tape.buffers[id] for id in buffers]
            if sum(b.nbytes for b in alive if not b.visible) > value.nbytes:
                self.anchor(value, "computing it again would keep larger arrays alive")
                return True
        return False

    def primal_parts(self, value: Value) -> Iterator[Value]:
        """The largest parts of the expression `value` that the primal computed."""
        made_at, op = self.made[value.id]
        if value.id in self.reasons or not isinstance(op, Apply):
            return
        if made_at < self.tape.turn and op.primitive != "view":
            yield value
            return
        for operand in op.operands:
            yield from self.primal_parts(operand)

    def wanted_part(self, value: Value, lost: set[int]) -> Value | None:
        """The innermost part of the expression `value` that the reverse sweep reads and that has all the lost loads.

        Kept, it serves both this use and the reverse sweep; the loads kept instead would serve only this one.
        """
        if value.id in self.reasons:
            return None
        _, op = self.made[value.id]
        if not isinstance(op, Apply):
            return None
        if op.primitive == "view":
            return self.wanted_part(op.operands[0], lost)
        for operand in op.operands:
            inner = self.wanted_part(operand, lost)
            if inner is not None:
                return inner
        return value if value.id in self.read_in_reverse and lost <= self.loads_of(value) else None

    def loads_of(self, value: Value) -> set[int]:
        """The loads that the expression `value` is computed from."""
        if value.id in self.reasons:
            return set()
        _, op = self.made[value.id]
        if isinstance(op, Load):
            return {value.id}
        return set().union(*map(self.loads_of, op.inputs))

    def made_by_view(self, value: Value) -> bool:
        _, op = self.made[value.id]
        return not (isinstance(op, Apply) and op.primitive != "view")

    def clashes(self, op: Operation, region: Region) -> bool:
        """Whether `op` writes, at another index than it reads it, an element of `region`."""
        for written in op.writes:
            if overlap(written, region) and (
                isinstance(op, Scatter) or not (same_layout(written.view, region.view) and is_injective(written.view))
            ):
                return True
        return False


class NotAffine(Exception):
    """`value` is seen at places that no single view describes."""

    def __init__(self, value: Value, position: int):
        super().__init__(value, position)
        self.value = value


def operand_view(operand: Value, out: Value, view: View) -> View:
    """Where an elementwise operation that is evaluated at `view` of its result reads `operand`."""
    if operand.shape == () and out.shape != ():
        return View(0, view.shape, (0,) * len(view.shape))
    return view


def decide_anchors(tape: Tape) -> Anchors:
    """Requires a simplified tape; ensures that every other value can be evaluated wherever it is used."""
    anchors = Anchors(tape, WriteHistory(tape))
    anchors.decide()
    return anchors
