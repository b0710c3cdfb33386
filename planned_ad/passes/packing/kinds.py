"""Which operations are alike: how they are made, a few steps back, and by which line of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from ...regions.regions import View, c_strides, is_ragged
from ...rules.table import RULES
from ...tape.tape import Apply, Constant, Guard, Load, Operation, Store, Value
from .chains import Chain
from .order import Node, base_and_number

DEPTH = 3  # how far operations are looked back from
LARGEST = 16  # numbers of what is packed


def is_small(op: Operation) -> bool:
    """Whether it computes numbers, or a small array, in a way that can be done for many at once."""
    if not isinstance(op, Apply) or RULES[op.primitive].kind not in ("elementwise", "reduce", "contract", "view"):
        return False
    return all(not is_ragged(v.shape) and v.size <= LARGEST for v in (op.out, *op.operands)) and not shows_a_block(op)


def shows_a_block(op: Operation) -> bool:
    """Whether it only shows what lies next to each other in an array."""
    if not isinstance(op, Apply) or op.primitive != "view" or is_ragged((*op.out.shape, *op.operands[0].shape)):
        return False
    view = op.params["view"]
    return isinstance(view.offset, int) and view.strides == c_strides(view.shape)


class Kinds:
    """Of the operations of one block."""

    def __init__(self, operations: Sequence[Operation]):
        self.uses = Counter(v.id for op in operations for v in op.inputs)
        self.made: dict[int, Node] = {v.id: op for op in operations for v in op.outputs}
        self.structures: dict[tuple[int, int], Hashable] = {}

    def know(self, chains: Iterable[Chain]) -> None:
        self.made |= {chain.out.id: chain for chain in chains}
        self.structures.clear()

    def even(self, chain: Chain) -> Chain:
        """Without the sums that begin it where their terms are of another kind, and with its start as a term."""
        kinds = [self.structure(term) for term in chain.terms]
        uneven = kinds.index(kinds[-1])
        start, terms, signs, links = chain.start, chain.terms[uneven:], chain.signs[uneven:], chain.links[uneven:]
        assert start is not None
        if uneven:
            start = chain.links[uneven - 1].out
        if self.structure(start) == kinds[-1]:
            return Chain(None, (start, *terms), (1, *signs), links)
        first = chain.links[uneven - 1]
        if uneven and first.primitive == "add":  # the sum of what there was before and the first term
            for other, term in (first.operands, first.operands[::-1]):
                if self.structure(term) == kinds[-1]:
                    return Chain(other, (term, *terms), (1, *signs), (first, *links))
        return Chain(start, terms, signs, links)

    def of(self, node: Node) -> Hashable:
        """What nodes that may be packed together have in common; None where it may not be."""
        match node:
            case Chain():
                parts = [self.structure(value) for value in (node.start, node.terms[0]) if value is not None]
                return "sum", node.line, node.signs, node.out.shape, node.out.dtype, *parts
            case Load() if is_small_view(node.region.view):
                return self.load(node)
            case Store() if is_small_view(node.region.view):
                view = node.region.view
                place = node.region.buffer, base_and_number(view.offset)[0], view.shape, view.strides
                return "store", *place, node.accumulate, node.value.shape, node.line
            case Guard() if node.predicate.dtype.kind == "b":
                return "guard", bool(node.outcome), node.what, node.detail, node.line
            case Apply() if is_small(node):
                return self.structure(node.out)
        return None

    def load(self, op: Load) -> Hashable:
        view = op.region.view
        return "load", op.region.buffer, base_and_number(view.offset)[0], view.shape, view.strides

    def structure(self, value: Value, depth: int = DEPTH) -> Hashable:
        """How a value is made, so far back."""
        key = value.id, depth
        if key not in self.structures:
            self.structures[key] = self.structure_of(value, depth)
        return self.structures[key]

    def structure_of(self, value: Value, depth: int, is_exponent: bool = False) -> Hashable:
        op = self.made.get(value.id)
        match op:
            case Constant():
                return "constant", value.dtype, value.shape, op.data.tobytes() if is_exponent else None
            case Load():
                return self.load(op)
            case Chain():
                return "sum", op.signs, op.line, value.dtype, value.shape
            case Apply():
                inner = tuple(
                    self.structure_of(v, 0, True)
                    if op.primitive == "power" and k == 1
                    else self.structure(v, depth - 1)
                    for k, v in enumerate(op.operands if depth else ())
                )
                return op.primitive, op.parameters, op.line, value.dtype, value.shape, inner
        return "outside", value.dtype, value.shape


def is_small_view(view: View) -> bool:
    """Whether it shows a number, or a small array."""
    return not is_ragged(view.shape) and view.size <= LARGEST
