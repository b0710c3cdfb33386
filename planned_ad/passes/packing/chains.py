"""Sums that are written out term by term, `s = s + t0; s = s + t1`, where nothing else reads what is in between."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...python.source import Line
from ...regions.regions import is_ragged
from ...tape.tape import Apply, Operation, Value

FEWEST = 8  # terms
MANY = 16  # sums by one line: if they are not as long, their terms of one place are added at once
MOST_LENGTHS = 4


@dataclass(frozen=True)
class Chain:
    """`out = start + sign * term + ...`, by `links`, the operations that add; without a start the first is a term."""

    start: Value | None
    terms: tuple[Value, ...]
    signs: tuple[int, ...]
    links: tuple[Apply, ...]

    @property
    def line(self) -> Line:
        return self.links[-1].line

    @property
    def out(self) -> Value:
        return self.links[-1].out

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.terms if self.start is None else (self.start, *self.terms)


def chains_in(block: Sequence[Operation], results: Iterable[Value]) -> list[Chain]:
    """The sums of a block; what `results` are is read elsewhere too."""
    uses = Counter(v.id for op in block for v in op.inputs) + Counter(v.id for v in results)
    adds: dict[int, Apply] = {}
    before: dict[int, int] = {}  # of a link, by the value it makes: the operand that is the sum so far
    length: dict[int, int] = {}
    for op in block:
        if not isinstance(op, Apply) or op.primitive not in ("add", "subtract") or op.out.dtype.kind != "f":
            continue
        if is_ragged(op.out.shape) or any(v.shape != op.out.shape for v in op.operands):
            continue
        adds[op.out.id] = op
        places = (0, 1) if op.primitive == "add" else (0,)
        so_far = [(length[v.id], -k) for k in places if (v := op.operands[k]).id in length and uses[v.id] == 1]
        longest, place = max(so_far, default=(0, 0))
        length[op.out.id] = longest + 1
        before[op.out.id] = -place
    inner = {op.operands[before[id]].id for id, op in adds.items() if uses[op.operands[before[id]].id] == 1}
    last = [op for id, op in adds.items() if length[id] >= FEWEST and id not in inner]
    lengths: defaultdict[Line, list[int]] = defaultdict(list)
    for op in last:
        lengths[op.line].append(length[op.out.id])
    uneven = {line for line, some in lengths.items() if len(some) >= MANY and len(set(some)) > MOST_LENGTHS}
    return [chain_to(op, adds, before, uses) for op in last if op.line not in uneven]


def chain_to(op: Apply, adds: dict[int, Apply], before: dict[int, int], uses: Counter[int]) -> Chain:
    links, terms, signs = [op], [], []
    while True:
        op = links[-1]
        place = before[op.out.id]
        terms.append(op.operands[1 - place])
        signs.append(-1 if op.primitive == "subtract" else 1)
        start = op.operands[place]
        if start.id not in adds or uses[start.id] != 1:
            return Chain(start, tuple(terms[::-1]), tuple(signs[::-1]), tuple(links[::-1]))
        links.append(adds[start.id])
