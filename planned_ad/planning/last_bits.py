"""The items of nests whose last bit may decide what is computed from them, through memory too.

Contracted to a fused multiply-add or not, as the code around them happens to be, they could decide one way in the
primal and another way where the reverse sweep computes them again, and another way than in NumPy: `T[i] * p - T[0] * q`
is zero there where both products are the same number. Rounded one by one they decide as NumPy does, everywhere.

Of a program, as steps:

nest  r0 = x[...]   r1 = y[...]   r2 = multiply(r0, r1)   r3 = subtract(r2, r0)   z[...] = r3
nest  r0 = z[...]   r1 = not_equal(r0, 0)   s[...] = reduce_sum(r1)

the comparison hangs on `z`, so `subtract` and `multiply` of the first nest are exact. So is the difference of
two products, whatever it is for: `x * x - y * y` is zero where they are equal, and its root 0. And so is one of a
product and another number of which a root or a logarithm is taken: `sqrt(x * x - y)` where `y` is that product.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from ..analysis.cost import hangs_on_a_bit
from .schedule import Compute, GatherRead, Item, LibraryStep, Memory, Nest, Read, Reduce, Step, Write, walk_steps

PRODUCTS = frozenset(("multiply", "strong_multiply", "integer_power"))
EDGED = frozenset(  # which have no number beyond an edge of their domain
    ("sqrt", "half_power", "power", "log", "log2", "log10", "log1p", "arccos", "arcsin", "arccosh", "arctanh")
)


def mark_exact(steps: Iterable[Step]) -> None:
    """Set `Nest.exact` of all nests. Cost: a few times linear in their items."""
    order = [step for step in walk_steps(steps) if isinstance(step, Nest | LibraryStep)][::-1]
    decisive: set[Memory] = set()
    edged = {memory for step in order if isinstance(step, Nest) for memory in read_by_edged(step)}
    known = -1
    while known < len(decisive):
        known = len(decisive)
        for step in order:
            if isinstance(step, Nest):
                step.exact = exact_items(step, decisive, edged)
                items = (step.items[number] for number in step.exact)
                decisive.update(item.memory for item in items if isinstance(item, Read | GatherRead))
            elif passes_bits_on(step, decisive):
                decisive.update(memory for memory, _, _ in step.operands)


def read_by_edged(nest: Nest) -> Iterator[Memory]:
    """The memories with operands of functions that have an edge."""
    for item in nest.items:
        for number in item.operands if isinstance(item, Compute) and item.primitive in EDGED else ():
            operand = nest.items[number]
            if isinstance(operand, Read | GatherRead):
                yield operand.memory


def exact_items(nest: Nest, decisive: Container[Memory], edged: Container[Memory]) -> frozenset[int]:
    """The items whose last bit matters, of which some go to memories of which it does, or to functions with edges."""
    found = {number for number, write in nest.spills.items() if write.memory in decisive}
    at_edges = {number for number, write in nest.spills.items() if write.memory in edged}
    at_edges.update(item.source for item in nest.items if isinstance(item, Write) and item.memory in edged)
    for item in nest.items:
        at_edges.update(item.operands if isinstance(item, Compute) and item.primitive in EDGED else ())
    found.update(number for number in at_edges if is_difference(nest, nest.items[number], of=any))
    for number in range(len(nest.items) - 1, -1, -1):
        item = nest.items[number]
        if isinstance(item, Compute) and (number in found or hangs_on_a_bit(item.primitive, item.dtype)):
            found.update(item.operands)
        elif (isinstance(item, Write) and item.memory in decisive) or (
            isinstance(item, Reduce) and (item.memory in decisive or hangs_on_a_bit(item.operation, item.dtype))
        ):
            found.add(item.source)
        elif is_difference(nest, item):
            found.add(number)
    return frozenset(found)


def is_difference(nest: Nest, item: Item, of: Callable[[Iterable[bool]], bool] = all) -> bool:
    """Whether it is that of two products, or the sum of two of which one has a minus sign; or one is, with `any`."""
    if not isinstance(item, Compute) or item.primitive not in ("subtract", "add"):
        return False
    signs, products = 0, []
    for number in item.operands:
        primitive, operands = made_by(nest, number)
        if primitive == "negative":
            signs += 1
            primitive, operands = made_by(nest, operands[0])
        products.append(primitive in PRODUCTS)
        signs += sum(made_by(nest, operand)[0] == "negative" for operand in operands)
    return of(products) and (signs > 0 or item.primitive == "subtract")


def made_by(nest: Nest, number: int) -> tuple[str, tuple[int, ...]]:
    """The primitive that computes an item, and its operands; of other items, no name."""
    item = nest.items[number]
    return (item.primitive, item.operands) if isinstance(item, Compute) else ("", ())


def passes_bits_on(step: LibraryStep, decisive: Container[Memory]) -> bool:
    """Whether its operands have to be exact: not those of products, which BLAS rounds as it likes."""
    primitive, out = step.operation.primitive, step.operation.out
    return primitive != "contract" and (step.result in decisive or hangs_on_a_bit(primitive, out.dtype))
