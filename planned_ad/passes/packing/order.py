"""What has to be done before what, in one block: by the values it takes, the memory it touches, and what may leave."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ...regions.affine import Affine, Extent
from ...regions.regions import Region, is_ragged
from ...rules.table import RULES
from ...tape.tape import Apply, Buffer, Guard, Operation, Scatter, Store, Value
from .chains import Chain

Node = Operation | Chain


MOST_NUMBERS = 16  # of a region that are told base_and_number


def place_of(region: Region) -> tuple[Extent, list[int]] | None:
    """Of a few numbers in memory, what moves them and by how much they are further on; None of more."""
    view = region.view
    if is_ragged(view.shape) or view.size > MOST_NUMBERS:
        return None
    base, number = base_and_number(view.offset)
    return base, [number + k for k in numbers_shown(view.shape, view.strides)]


@lru_cache(maxsize=1 << 10)
def numbers_shown(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    return [sum(k * s for k, s in zip(at, strides)) for at in itertools.product(*map(range, shape))]


@dataclass
class Memory:
    """The accesses of one buffer so far, by their positions."""

    last_store: dict[int, int] = field(default_factory=dict)  # to each number
    loads: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # since
    all: list[int] = field(default_factory=list)  # since the last that waits for all
    last_whole: int | None = None


def dependences(buffers: Sequence[Buffer], nodes: Sequence[Node]) -> list[set[int]]:
    """For each node the positions of those that it has to wait for."""
    maker = {v.id: k for k, node in enumerate(nodes) for v in outputs(node)}
    written = {region.buffer for node in nodes if not isinstance(node, Chain) for region in node.writes}
    moved: dict[int, set[object]] = {id: set() for id in written}
    for node in nodes:
        for region, _ in accessed(node):
            if region.buffer in written:
                place = place_of(region)
                moved[region.buffer].add(None if place is None else place[0])
    memories: defaultdict[int, Memory] = defaultdict(Memory)
    found: list[set[int]] = []
    last_ordered: int | None = None
    guards: list[int] = []  # since
    stores: list[int] = []  # that the caller sees, since
    for k, node in enumerate(nodes):
        waits = {maker[v.id] for v in node.inputs if v.id in maker}
        for region, writes in accessed(node):
            if region.buffer not in written:
                continue
            memory = memories[region.buffer]
            place = place_of(region) if len(moved[region.buffer] - {None}) == 1 else None
            if place is None:
                waits.update(memory.all)
                memory.all, memory.last_whole = [k], k
                memory.last_store.clear()
                memory.loads.clear()
                continue
            memory.all.append(k)
            if memory.last_whole is not None:
                waits.add(memory.last_whole)
            for number in place[1]:
                if number in memory.last_store:
                    waits.add(memory.last_store[number])
                if writes:
                    waits.update(memory.loads.pop(number, ()))
                    memory.last_store[number] = k
                else:
                    memory.loads[number].append(k)
        turn = turn_of(buffers, node)
        if turn is not None and last_ordered is not None:
            waits.add(last_ordered)
        if turn == "all" or (turn == "store" and guards):
            waits.update(guards)
            if turn == "all":
                waits.update(stores)
            last_ordered, guards, stores = k, [], []
        elif turn == "guard":
            guards.append(k)
        elif turn == "store":
            stores.append(k)
        waits.discard(k)
        found.append(waits)
    return found


def outputs(node: Node) -> tuple[Value, ...]:
    return (node.out,) if isinstance(node, Chain) else node.outputs


def accessed(node: Node) -> list[tuple[Region, bool]]:
    """The regions, and whether they are written to."""
    if isinstance(node, Chain):
        return []
    return [*((region, False) for region in node.reads), *((region, True) for region in node.writes)]


def turn_of(buffers: Sequence[Buffer], node: Node) -> str | None:
    """What may fail, or is not looked into, is done after 'all' in front; what the caller sees after each guard."""
    if isinstance(node, Chain):
        return None
    if isinstance(node, Guard):
        return "guard"
    if isinstance(node, Store):
        return "store" if buffers[node.region.buffer].visible else None
    is_closed = isinstance(node, Apply) and RULES[node.primitive].kind in ("other", "matrix", "gather")
    return "all" if is_closed or node.blocks or isinstance(node, Scatter) else None


def base_and_number(offset: Extent) -> tuple[Extent, int]:
    """What moves it, and the number that is added to that."""
    if isinstance(offset, Affine):
        return offset - offset.constant, offset.constant
    return 0, offset
