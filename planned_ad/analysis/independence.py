"""Whether the iterations of a loop may run side by side: which memory they share, and how.

Iterations may share what all of them only read, what all of them only add to, and a sum (or an extremum) that each
takes on from the one before: `v = load(r); w = v + term; store(r, w)`, where nothing else reads `v`, `w` or `r`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, combinations_with_replacement

from ..regions.affine import Affine, coefficient, exact
from ..regions.bounds import Iterations
from ..regions.regions import Region, View, limits, overlap
from ..tape.tape import Apply, Buffer, Load, Loop, Operation, Scatter, Store, Value, all_blocks, walk
from .dependence import Access, Overwrites, Place
from .enclosing import certainly_runs, inside, spread

MOST_SEARCHES = 200  # pairs of accesses to look at closely
EXTREMA = {"maximum": "reduce_max", "minimum": "reduce_min", "logical_and": "reduce_all"}


class NotIndependent(Exception):
    """An iteration depends on another in a way that array operations cannot express."""


@dataclass(frozen=True, slots=True)
class Term:
    """What an iteration adds to a carry; `sign` is -1 where it is subtracted."""

    value: Value
    sign: int = 1


@dataclass(frozen=True, slots=True)
class Carry:
    """Memory that every iteration updates by `operation` (add, maximum or minimum) with terms of its own.

    `load` and `store` are all that touches it; `links` are the values in between.
    """

    load: Load
    store: Store
    operation: str
    terms: tuple[Term, ...]
    links: frozenset[int]


class UsesInBody:
    """The users of the values of a loop's body, by their ids, and what touches each buffer."""

    def __init__(self, body: Sequence[Operation]):
        self.users: dict[int, list[Operation]] = {}
        self.touching: defaultdict[int, list[tuple[Operation, Region]]] = defaultdict(list)
        for op in body:
            for value in op.inputs:
                self.users.setdefault(value.id, []).append(op)
            for region in (*op.reads, *op.writes):
                self.touching[region.buffer].append((op, region))


@dataclass(slots=True)
class Sharing:
    """What iterations share: carries, by the position of their store; and stores of which the last one stays."""

    carries: dict[int, Carry] = field(default_factory=dict)
    last: set[int] = field(default_factory=set)  # positions


def moves(region: Region, index: int) -> bool:
    return coefficient(region.view.offset, index) != 0


def sharing(buffers: Sequence[Buffer], loop: Loop, around: tuple[Loop, ...]) -> Sharing:
    """Requires a body without blocks; raises `NotIndependent` where its iterations may not run side by side."""
    found = shares(loop, around)
    check_pairs(buffers, loop, around, carried_by(found), found.last, in_turn=True)
    return found


def kept_in_turn(buffers: Sequence[Buffer], loop: Loop, around: tuple[Loop, ...]) -> Iterator[tuple[int, int]]:
    """Pairs of positions, of which the later one of an iteration has to come before the other one of the next."""
    found = shares(loop, around)
    for a, b in out_of_turn(buffers, loop, around, carried_by(found), found.last, in_turn=True):
        yield a.position, b.position


def shares(loop: Loop, around: tuple[Loop, ...]) -> Sharing:
    """What its iterations share, as far as they may."""
    found, body = Sharing(), UsesInBody(loop.body)
    for position, op in enumerate(loop.body):
        if isinstance(op, Store) and not op.accumulate and not moves(op.region, loop.index):
            carry = find_carry(loop, op, around, body)
            if carry is not None:
                found.carries[position] = carry
            elif certainly_runs(loop):
                found.last.add(position)
    return found


def carried_by(found: Sharing) -> set[tuple[int, str]]:
    """The operations of carries (their `id`), with what these do."""
    return {(id(op), carry.operation) for carry in found.carries.values() for op in (carry.load, carry.store)}


def check_nest(buffers: Sequence[Buffer], loop: Loop, around: tuple[Loop, ...]) -> None:
    """As `sharing`, where there are loops in the body, which do not depend on the index of the one around.

    What an iteration does may then be done for all of them, operation by operation, in the loops inside too.
    """
    carried, last = set(), set()
    for block in all_blocks(loop.body):
        for position, op in enumerate(block):
            if isinstance(op, Store) and not op.accumulate and not moves(op.region, loop.index):
                carry = carry_in_nest(loop, block, op, around)
                if carry is not None:
                    carried |= {(id(carry.load), carry.operation), (id(carry.store), carry.operation)}
                elif block is loop.body and certainly_runs(loop):
                    last.add(position)
    check_pairs(buffers, loop, around, carried, last)


def carry_in_nest(loop: Loop, block: Sequence[Operation], store: Store, around: tuple[Loop, ...]) -> Carry | None:
    """The carry that ends in `store`, in the body or that of a loop inside; others may update the same memory."""
    everything = tuple(walk(loop.body))
    inside = {id(op) for op in block}
    body = tuple(op for op in everything if not op.blocks and (id(op) in inside or touched_alone(op) != store.region))
    loops = (*around, *(op for op in everything if isinstance(op, Loop)))
    carry = find_carry(replace(loop, body=body), store, loops)
    return carry if carry is not None and id(carry.load) in inside else None


def touched_alone(op: Operation) -> Region | None:
    """What a load, or a store that does not add, touches."""
    return op.region if isinstance(op, Load) or (isinstance(op, Store) and not op.accumulate) else None


def find_carry(loop: Loop, store: Store, around: tuple[Loop, ...], body: UsesInBody | None = None) -> Carry | None:
    """The carry that ends in `store`; None where it is none. `body` is that of the loop, where the caller has it."""
    body = body or UsesInBody(loop.body)
    region = store.region
    touching = body.touching[region.buffer]
    loads = [op for op, touched in touching if isinstance(op, Load) and touched == region]
    if len(loads) != 1 or store.value.dtype.kind not in "fib":
        return None
    if any(coefficient(exact(n), loop.index) for n in region.shape):
        return None
    (load,) = loads
    others = (touched for op, touched in touching if op is not load and op is not store)
    if any(may_touch(touched, region, (*around, loop)) for touched in others):
        return None
    terms: list[Term] = []
    links: set[int] = set()
    kinds: set[str] = set()
    value = load.out
    while True:  # each link is used once: nothing else depends on what was loaded
        links.add(value.id)
        users = body.users.get(value.id, [])
        if len(users) != 1 or value.shape != region.shape:
            return None
        (op,) = users
        if op is store:
            break
        if not isinstance(op, Apply) or op.primitive not in ("add", "subtract", *EXTREMA):
            return None
        at = next(k for k, operand in enumerate(op.operands) if operand.id == value.id)
        if op.primitive == "subtract" and at == 1:
            return None
        kinds.add("add" if op.primitive == "subtract" else op.primitive)
        terms.append(Term(op.operands[1 - at], -1 if op.primitive == "subtract" else 1))
        value = op.out
    if len(kinds) != 1 or (kinds != {"add"} and not certainly_runs(loop)):
        return None
    return Carry(load, store, kinds.pop(), tuple(terms), frozenset(links))


def may_touch(a: Region, b: Region, loops: tuple[Loop, ...]) -> bool:
    """Whether two regions may have an element in common in an iteration of these loops, the outermost first."""
    if not overlap(a, b):
        return False
    (low, high), (least, most) = (limits(View(0, region.view.shape, region.view.strides)) for region in (a, b))
    iterations = Iterations()
    for loop in loops:
        iterations = inside(iterations, loop)
    gap = iterations.bounds(a.view.offset - b.view.offset)
    return gap is not None and not (gap[0] + low > most or gap[1] + high < least)


def depending(body: Sequence[Operation], source: Value) -> set[int]:
    """The values of one iteration that are computed from `source`, and itself."""
    found = {source.id}
    for op in body:
        if any(v.id in found for v in op.inputs):
            found.update(v.id for v in op.outputs)
    return found


@dataclass(frozen=True, slots=True)
class Touch:
    """An access of the body: 'read', 'write', or 'add', which commutes with itself.

    It stands at, or in `loops` at, this `position` of the body.
    """

    position: int
    kind: str
    region: Region
    operation: Operation
    loops: tuple[Loop, ...] = ()


def touches(body: Sequence[Operation]) -> Iterator[Touch]:
    for position, op in enumerate(body):
        if isinstance(op, Loop):
            for touch in touches(op.body):
                yield replace(touch, position=position, loops=(op, *touch.loops))
        elif op.blocks:
            for touch in chain.from_iterable(map(touches, op.blocks)):
                yield replace(touch, position=position)
        elif isinstance(op, Store | Scatter):
            yield Touch(position, "add" if op.accumulate else "write", op.region, op)
        else:
            for region in op.reads:
                yield Touch(position, "read", region, op)


def check_pairs(
    buffers: Sequence[Buffer],
    loop: Loop,
    around: tuple[Loop, ...],
    carried: Set[tuple[int, str]],
    last: Set[int],
    in_turn: bool = False,
) -> None:
    """Refuse the loop where operations are `out_of_turn`."""
    for a, _ in out_of_turn(buffers, loop, around, carried, last, in_turn):
        raise NotIndependent(f"{a.operation.line}: an iteration may need what another one leaves")


def out_of_turn(
    buffers: Sequence[Buffer],
    loop: Loop,
    around: tuple[Loop, ...],
    carried: Set[tuple[int, str]],
    last: Set[int],
    in_turn: bool,
) -> Iterator[tuple[Touch, Touch]]:
    """Accesses, in the order of the body, that may meet at one element in different iterations, whose order matters.

    `carried`: operations of carries (their `id`), with what these do; `last`: positions of stores of which the last one
    stays. Where each operation is done for all iterations before the next one is (`in_turn`), what an iteration does
    still comes before all that stands further down in the body, in later iterations as in its own.
    """
    overwrites = Overwrites(buffers, ())
    searches, updates = 0, dict(carried)

    def access(touch: Touch) -> Access:
        place = Place(((touch.position, 0),) * (len(around) + len(touch.loops) + 2), (*around, loop, *touch.loops))
        return Access(touch.region, place, touch.operation)

    of_buffer: defaultdict[int, list[Touch]] = defaultdict(list)
    for touch in touches(loop.body):
        of_buffer[touch.region.buffer].append(touch)
    for a, b in chain.from_iterable(combinations_with_replacement(found, 2) for found in of_buffer.values()):
        if a.kind == b.kind != "write":
            continue
        if id(a.operation) in updates and updates[id(a.operation)] == updates.get(id(b.operation)):
            continue  # carries are all that touches their memory
        if a is b and not a.loops and (a.position in last or isinstance(a.operation, Scatter)):
            continue  # what is written last stays, here as there
        first_touched, then_touched = spread(a.region, a.loops), spread(b.region, b.loops)
        if pass_each_other(first_touched.view, then_touched.view, loop.index) or not overlap(
            spread(first_touched, (loop,)), spread(then_touched, (loop,))
        ):
            continue
        searches += 1
        first, second = access(a), access(b)
        if (
            searches > MOST_SEARCHES
            or overwrites.may_meet(second, first, around, loop)
            or (not (in_turn and a.position < b.position) and overwrites.may_meet(first, second, around, loop))
        ):
            yield a, b


def pass_each_other(a: View, b: View, index: int) -> bool:
    """Whether two views that move alike move, in one iteration, beyond all that the other one shows."""
    gap, move = a.offset - b.offset, abs(coefficient(a.offset, index))
    if isinstance(gap, Affine) or not move:
        return False
    (low, high), (least, most) = (limits(View(0, view.shape, view.strides)) for view in (a, b))
    return move > gap + high - least and move > most - gap - low
