"""Where a value comes back from after the program that made it has ended, and the least that is kept for that.

Whoever needs values later (the mirrored block of an adjoint, the other half of a split plan) gets each of them

- loaded from memory that nothing overwrites until then;
- computed again, by operations that cost less than memory does, from values that are there;
- loaded from a copy of the memory that it was in;
- or kept: stored by the program at a place of its own, and loaded from there.

What is kept is the smallest choice, in bytes, that makes all needed values available: a minimum cut between what cannot
be had otherwise and what is needed. (Jain et al., Checkmate, 2020, treat the general question; here nothing is computed
again that is expensive, which makes it a cut.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...analysis.cost import rounds_nothing
from ...analysis.minimum_cut import components, minimum_node_cut
from ...python.source import Line
from ...regions.regions import Region
from ...tape.tape import Apply, Constant, IndexValue, Load, Operation

DECIDES = "the derivative goes the way that this decided, to the last bit"


def overwritten(writer: Operation, what: str = "its memory is") -> str:
    return f"needed by the derivative, and {what} overwritten at {writer.line}: {writer.line.text}"


def costs_more(op: Apply) -> str:
    return f"needed by the derivative, and computing {op.title} again costs more than keeping it"


def read_again(line: Line) -> str:
    return f"the array made here ({line}) is read again by the reverse sweep"


@dataclass(frozen=True, slots=True)
class Loaded:
    """From memory that still holds it, since the operation of that line."""

    region: Region
    line: Line


@dataclass(frozen=True, slots=True)
class Again:
    """By the operation once more: from values that are there, or from none (a constant, an index)."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Snapshot:
    """From a copy of a buffer, as it is when a block begins: inside `around`, where `steps` lead to; () in the end."""

    buffer: int
    steps: tuple[tuple[int, int], ...] = ()
    around: tuple[Operation, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """From a place of its own."""


Source = Loaded | Again | Snapshot | Kept
Node = int | Snapshot  # what may be kept: a value, by its id, or a copy of memory


class Choice(ABC):
    """What is known of the values of a program, and the choice that follows.

    `exact`: values of which the very same bits are needed. `most_nodes`: that belong together; beyond, each needed
    value is kept.
    """

    most_nodes: float = math.inf

    def __init__(self, exact: Iterable[int]):
        self.exact = frozenset(exact)
        self._repeats_exactly: dict[int, bool] = {}

    # What is known.

    @abstractmethod
    def operation(self, id: int) -> Operation | None:
        """What made the value; None for one from outside, which is there."""

    @abstractmethod
    def operands(self, id: int) -> Iterable[int]:
        """The values that it was made from."""

    @abstractmethod
    def home(self, id: int) -> Loaded | None:
        """Memory that still holds the value in the end."""

    @abstractmethod
    def can_repeat(self, id: int) -> bool:
        """Whether the operation that made the value may rather be done again than the value be kept."""

    @abstractmethod
    def copy(self, id: int) -> Snapshot | None:
        """What of memory could be kept as a whole, so that the value is found in the copy."""

    @abstractmethod
    def cost(self, node: Node) -> int:
        """Of keeping it, in bytes or in proportion to them."""

    @abstractmethod
    def why_lost(self, id: int, what: str) -> str:
        """Why a loaded value is not in memory any more, as a reason to keep it or `what` is computed from it."""

    def together(self, candidates: Iterable[Node]) -> dict[Any, int]:
        """Of candidates that share their places with another value: that one."""
        return {}

    # What follows.

    def is_free(self, id: int) -> bool:
        op = self.operation(id)
        return op is None or isinstance(op, Constant | IndexValue) or self.home(id) is not None

    def repeats_exactly(self, id: int) -> bool:
        """Whether the value comes from memory and constants by operations that round nothing."""
        if id not in self._repeats_exactly:
            waiting, seen, result = [id], {id}, True
            while waiting and result:
                last = waiting.pop()
                op = self.operation(last)
                if isinstance(op, Apply):
                    result = rounds_nothing(op)
                    new = set(self.operands(last)) - seen
                    seen |= new
                    waiting += new
            self._repeats_exactly[id] = result
        return self._repeats_exactly[id]

    def sources(self, needs: Iterable[int]) -> dict[int, Source]:
        """Where each needed value comes from, and each that it is computed from again."""
        kept = self.kept(needs)
        found: dict[int, Source] = {}
        waiting = sorted(needs)
        while waiting:
            id = waiting.pop()
            if id in found or self.operation(id) is None:
                continue
            found[id] = self.source(id, kept)
            if isinstance(found[id], Again):
                waiting += self.operands(id)
        return found

    def source(self, id: int, kept: set[Node]) -> Source:
        op, home = self.operation(id), self.home(id)
        assert op is not None
        if home is not None and not isinstance(op, Constant | IndexValue):
            return home
        if id in kept:
            return Kept()
        if isinstance(op, Load):
            copy = self.copy(id)
            assert copy in kept, "a value is neither kept nor can it be had again"
            return copy
        return Again(op)

    def kept(self, needs: Iterable[int]) -> set[Node]:
        """The least from which all of `needs` can be had."""
        wanted: list[Node] = [id for id in needs if not self.is_free(id)]
        costs: dict[Node, int] = {}
        arcs: list[tuple[Node, Node]] = []
        lost: set[Node] = set()
        waiting = list(wanted)
        while waiting:
            node = waiting.pop()
            if node in costs:
                continue
            costs[node] = self.cost(node)
            origins = self.origins(node)
            if origins is None:
                lost.add(node)
            else:
                arcs += ((origin, node) for origin in origins)
                waiting += origins
        once = self.together(lost)
        costs = {node: cost for node, cost in costs.items() if node not in once}
        lost, sinks = ({once.get(node, node) for node in nodes} for nodes in (lost, wanted))
        chosen: set[Node] = set()
        for nodes, inside in components(costs, {(once.get(a, a), b): None for a, b in arcs}):
            if len(nodes) > self.most_nodes:
                chosen |= sinks.intersection(nodes)
            else:
                own = {node: costs[node] for node in nodes}
                chosen |= minimum_node_cut(own, inside, lost.intersection(nodes), sinks.intersection(nodes))
        return chosen | {after for after, before in once.items() if before in chosen}

    def origins(self, node: Node) -> list[Node] | None:
        """What a node can be had from, unless it is kept itself; None for nothing."""
        if isinstance(node, Snapshot):
            return None
        if self.can_repeat(node):
            return [id for id in dict.fromkeys(self.operands(node)) if not self.is_free(id)]
        copy = self.copy(node)
        return None if copy is None else [copy]

    def reason(self, id: int) -> str:
        """Why the value is kept, for `explain`."""
        op = self.operation(id)
        if id in self.exact and isinstance(op, Apply) and not self.repeats_exactly(id):
            return DECIDES
        waiting, seen = [id], set()
        while waiting:
            source = waiting.pop(0)
            if source in seen or self.is_free(source):
                continue
            seen.add(source)
            op = self.operation(source)
            if isinstance(op, Apply) and not self.can_repeat(source):
                return costs_more(op)
            if isinstance(op, Load):
                return self.why_lost(source, "its memory is" if source == id else "what it is computed from is")
            waiting += self.operands(source)
        return "needed by the derivative"
