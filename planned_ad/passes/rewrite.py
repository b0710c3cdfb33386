"""Common subexpressions, constant folding, loads of what is known, and algebra that keeps IEEE results.

>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: x * x + 1.0 * (x * x), (np.zeros(4),)).tape
>>> print(brief(tape))
v0: float64[4] = x[...]
v1: float64[4] = multiply(v0, v0)
v2: float64[4] = multiply(v0, v0)
v3 = 1.0
v4: float64[4] = multiply(v3, v2)
v5: float64[4] = add(v1, v4)
return v5
>>> print(brief(rewrite(tape)))
v0: float64[4] = x[...]
v1: float64[4] = multiply(v0, v0)
v3 = 1.0
v5: float64[4] = add(v1, v1)
return v5

What nothing uses any more stays, for `dead_code`.

Requires a verified tape; ensures that no block computes, or loads, what is already known in it. Inside a block (a
loop's body, a side of a branch) everything is known that was known around it, but for the contents of memory that the
loop writes to in any iteration. What is found out inside is forgotten at the end of the block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import is_

import numpy as np

from ..analysis.cost import worth_keeping
from ..analysis.enclosing import never_runs
from ..analysis.known_contents import Contents, KnownContents
from ..regions.regions import Region, View, compose, contiguous, is_fixed, is_identity, is_ragged
from ..rules.elementwise import MOST_HALVES, MOST_WHOLE
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Branch, Constant, Guard, IndexValue, Load, Loop, Operation, Scatter, Store, Tape, Value

MOST_CHOSEN = 4  # exponents of which each element of an array has one
FEW = 16  # elements of memory that are known one by one
FOLD_LIMIT = 1 << 16  # elements: larger constants are computed at run time rather than stored


def rewrite(tape: Tape) -> Tape:
    """Requires a verified tape; ensures that no block computes, or loads, what is already known in it.

    A load equals an earlier load of the same region while nothing that overlaps it was written. Constants of inner
    blocks move to the outermost.
    """
    builder = rebuilt(tape)
    walk = _Rewrite(builder)
    return replace(written_anew(tape, builder, walk.visit), results=tuple(map(walk.name, tape.results)))


@dataclass
class _Block:
    """What is known in one block, besides what is known around it."""

    outer: _Block | None = None
    operations: list[Operation] = field(default_factory=list)
    known: dict[object, Value] = field(default_factory=dict)  # where equal values were computed
    values: set[int] = field(default_factory=set)  # defined in this block
    contents: KnownContents = field(default_factory=KnownContents)

    def inner(self) -> _Block:
        return _Block(outer=self, contents=KnownContents(self.contents))

    def find(self, key: object) -> Value | None:
        value = self.known.get(key)
        return value if value is not None or self.outer is None else self.outer.find(key)


class _Rewrite:
    """The tables of one walk: what each value is now called, what it is made of, and what is known where."""

    def __init__(self, builder: TapeBuilder):
        self.builder = builder
        self.renamed: dict[int, Value] = {}
        self.made: dict[int, Operation] = {}
        self.same: dict[int, int] = {}  # values that an inner block has again -> the equal value around it
        self.top = self.block = _Block(operations=builder.operations)

    def visit(self, op: Operation) -> None:
        match op:
            case Apply():
                self.visit_apply(op)
            case Constant():
                self.visit_constant(op)
            case IndexValue():
                self.renamed[op.out.id] = self.once(("index", op.expression), lambda: op)
            case Load():
                self.visit_load(op)
            case Store():
                self.visit_store(op)
            case Scatter():
                op = replace(op, indices=tuple(map(self.name, op.indices)), value=self.name(op.value))
                op = self.accumulating(op)
                self.block.contents.forget(op.region)
                self.keep(op)
            case Guard():
                self.keep(replace(op, predicate=self.name(op.predicate)))
            case Branch():
                self.visit_branch(op)
            case Loop():
                self.visit_loop(op)
            case _:
                raise TypeError(f"no rewriting is known for {type(op).__name__}")

    def name(self, value: Value) -> Value:
        return self.renamed.get(value.id, value)

    def keep(self, op: Operation) -> None:
        self.keep_in(self.block, op)

    def keep_in(self, block: _Block, op: Operation) -> None:
        for value in op.outputs:
            self.made[value.id] = op
            block.values.add(value.id)
        block.operations.append(op)

    # Blocks.

    def inside(self, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
        """One block, rewritten."""
        self.block = inner = self.block.inner()
        for op in operations:
            self.visit(op)
        assert inner.outer is not None
        self.block = inner.outer
        return tuple(inner.operations)

    def visit_loop(self, op: Loop) -> None:
        """Nothing that any iteration writes is known at the beginning of one, nor after the loop."""
        if never_runs(op):
            return
        for region in op.writes:
            self.block.contents.forget(region)
        count = None if op.count is None else self.name(op.count)
        self.keep(replace(op, body=self.inside(op.body), count=count))

    def visit_branch(self, op: Branch) -> None:
        outcome = self.number(self.name(op.predicate))
        if outcome is not None:
            for inner in op.then if outcome else op.otherwise:
                self.visit(inner)
            return
        then, otherwise = map(self.inside, self.apart(op))
        for region in op.writes:
            self.block.contents.forget(region)
        self.keep(replace(op, predicate=self.name(op.predicate), then=then, otherwise=otherwise))

    def apart(self, op: Branch) -> tuple[tuple[Operation, ...], ...]:
        """The sides of a branch, without what both compute alike: that is computed before."""
        kinds: dict[object, int] = {}
        first, second = (computed_alike(side, kinds) for side in op.blocks)
        alike = first.keys() & second.keys()
        if not any(isinstance(first[number][0], Apply) for number in alike):
            return op.blocks
        moved: set[int] = set()
        for number, (inner, *again) in first.items():
            if number in alike:
                self.visit(inner)
                again += second[number]
                self.renamed |= {other.outputs[0].id: self.name(inner.outputs[0]) for other in again}
                moved |= {id(other) for other in (inner, *again)}
        return tuple(tuple(inner for inner in side if id(inner) not in moved) for side in op.blocks)

    def is_outer(self, value: Value) -> bool:
        """Whether `value` comes from around this block."""
        return value.id not in self.block.values

    # Memory.

    def visit_load(self, op: Load) -> None:
        contents = self.block.contents[op.region.buffer]
        value = contents.get(op.region.view)
        if value is None or (self.is_outer(value) and not self.is_number(value)):
            # An array from around the block would have to be kept; its memory is still there to be read.
            if value is not None:
                self.same[op.out.id] = self.origin(value)
            contents.put(op.region.view, op.out)
            self.keep(op)
        else:
            self.renamed[op.out.id] = value

    def visit_store(self, op: Store) -> None:
        value = self.scalar_of(self.name(op.value))
        contents = self.block.contents[op.region.buffer]
        there = contents.get(op.region.view)
        if not op.accumulate and there is not None and self.origin(there) == self.origin(value):
            return
        contents.forget(op.region)
        self.keep(op if value is op.value else replace(op, value=value))
        buffer = self.builder.buffers[op.region.buffer]
        if not op.accumulate and value.dtype == buffer.dtype:
            if value.shape == op.region.shape:
                contents.put(op.region.view, value)
            self.know_elements(op.region.view, value, contents)

    def know_elements(self, view: View, value: Value, contents: Contents) -> None:
        """Of few constants each one: some stay where others are written to."""
        made = self.made.get(value.id)
        is_array = isinstance(made, Constant) and value.shape == view.shape != ()
        if not view.shape or not view.size <= FEW or not is_fixed(view) or not (value.shape == () or is_array):
            return
        for place in np.ndindex(*view.shape):
            offset = view.offset + sum(k * by for k, by in zip(place, view.strides))
            element = self.constant(made.data[place], made) if is_array else value  # type: ignore[union-attr,arg-type]
            contents.put(View(offset, (), ()), element)

    def accumulating(self, op: Scatter) -> Scatter:
        """`a[i] = a[i] + b` at one run-time index as `a[i] += b`, of which nothing has to be known of `a`."""
        total = self.made.get(op.value.id)
        if op.accumulate or op.indices[0].size != 1 or not isinstance(total, Apply) or total.primitive != "add":
            return op
        there = self.block.contents[op.region.buffer].get(op.region.view)
        for old, new in (total.operands, total.operands[::-1]):
            read = self.made.get(old.id)
            if isinstance(read, Apply) and read.primitive == "gather" and new.shape == op.value.shape:
                source, *indices = map(self.origin, read.operands)
                if there is not None and source == self.origin(there) and indices == list(map(self.origin, op.indices)):
                    return replace(op, value=new, accumulate=True)
        return op

    def is_number(self, value: Value) -> bool:
        return value.shape == () or self.scalar_of(value) is not value

    def origin(self, value: Value) -> int:
        return self.same.get(value.id, value.id)

    # Constants.

    def visit_constant(self, op: Constant) -> None:
        data = op.data
        if data.size > 1 and is_uniform(data):
            scalar = self.constant(data.reshape(-1)[0], op)
            self.renamed[op.out.id] = self.settle(repeated(scalar, op))
        else:
            self.renamed[op.out.id] = self.constant(data, op)

    def constant(self, data: np.ndarray, op: Operation) -> Value:
        """The value of a constant; it is defined in the outermost block, where all can see it."""
        data = np.asarray(data)
        key = ("constant", data.dtype, data.shape, data.tobytes() if data.size <= 4096 else id(data))
        value = self.top.known.get(key)
        if value is None:
            if isinstance(op, Constant) and op.data is data:
                value = op.out
                self.keep_in(self.top, op)
            else:
                value = self.builder.new_value(data.shape, data.dtype)
                self.keep_in(self.top, Constant(out=value, data=data, line=op.line))
            self.top.known[key] = value
        return value

    def scalar_of(self, value: Value) -> Value:
        """The scalar that `value` repeats, where it is such a broadcast; else `value`."""
        made = self.made.get(value.id)
        if isinstance(made, Apply) and made.primitive == "view" and made.operands[0].shape == ():
            return made.operands[0]
        return value

    def number(self, value: Value) -> float | None:
        """The number that a constant scalar (or a broadcast of one) holds."""
        made = self.made.get(self.scalar_of(value).id)
        if isinstance(made, Constant) and made.data.ndim == 0:
            return made.data.item()
        return None

    # Computed values.

    def once(self, key: object, make: Callable[[], Operation]) -> Value:
        """The value known under `key`, else that of `make()`; made again where it is not worth keeping it for here."""
        value = self.block.find(key)
        if value is None or (self.is_outer(value) and not worth_keeping(self.made[value.id])):
            op = make()
            (out,) = op.outputs
            if value is not None:
                self.same[out.id] = self.origin(value)
            self.block.known[key] = value = out
            self.keep(op)
        return value

    def visit_apply(self, op: Apply) -> None:
        operands = tuple(self.name(v) for v in op.operands)
        rule = RULES[op.primitive]
        if rule.kind == "elementwise" and op.out.shape != () and op.primitive != "copy":
            scalars = tuple(self.scalar_of(v) for v in operands)
            if all(v.shape == () for v in scalars):
                # Every operand repeats a scalar: compute once, repeat the result.
                once = self.builder.new_value((), op.out.dtype)
                scalar = self.settle(replace(op, out=once, operands=scalars))
                self.renamed[op.out.id] = self.settle(repeated(scalar, op))
                return
            operands = scalars
        is_same = all(map(is_, operands, op.operands))
        self.renamed[op.out.id] = self.settle(op if is_same else replace(op, operands=operands))

    def settle(self, op: Apply) -> Value:
        """The value of `op`, from the cheapest source: an identity, a constant, an equal earlier value, or itself."""
        same = self.identity(op)
        if same is not None:
            return same
        if op.primitive == "view":
            op = self.flatten_view(op)
            if is_identity(op.params["view"], op.operands[0].shape):
                return op.operands[0]
        folded = self.fold(op)
        if folded is not None:
            return folded
        chosen = self.by_exponents(op)
        if chosen is not None:
            return chosen
        op = self.with_known_exponent(op)
        key = (op.primitive, tuple(map(self.origin, op.operands)), op.parameters)
        return self.once(key, lambda: op)

    def identity(self, op: Apply) -> Value | None:
        """Algebra that is exact in IEEE arithmetic: x * 1, x / 1, -(-x), x - 0, a choice already made."""
        operands, name = op.operands, op.primitive
        chosen = self.chosen(op)
        if chosen is not None:
            return chosen if chosen.shape == op.out.shape else self.settle(repeated(chosen, op))
        if name == "cut":
            return operands[0]
        if name in ("multiply", "divide") and self.number(operands[1]) == 1 and operands[0].shape == op.out.shape:
            return operands[0]
        if name == "multiply" and self.number(operands[0]) == 1 and operands[1].shape == op.out.shape:
            return operands[1]
        if name == "subtract" and operands[0].shape == op.out.shape and is_positive_zero(self.number(operands[1])):
            return operands[0]
        if name == "power" and op.out.dtype.kind == "f" and self.number(operands[1]) in (0, 1):
            one = operands[0] if self.number(operands[1]) else self.constant(np.ones((), op.out.dtype), op)
            return one if one.shape == op.out.shape else self.settle(repeated(one, op)) if one.shape == () else None
        if name == "negative":
            made = self.made.get(operands[0].id)
            if isinstance(made, Apply) and made.primitive == "negative":
                return made.operands[0]
        return None

    def chosen(self, op: Apply) -> Value | None:
        """The operand that gives the result by itself, of a choice and of "and" and "or", where a truth is known."""
        operands, name = op.operands, op.primitive
        if name == "where":
            holds = self.number(operands[0])
            found = None if holds is None else operands[1 if holds else 2]
        elif name in ("logical_and", "logical_or"):
            truths = [self.number(v) for v in operands]
            known = next((k for k, truth in enumerate(truths) if truth is not None), None)
            decides = known is not None and bool(truths[known]) == (name == "logical_or")
            found = None if known is None else operands[known if decides else 1 - known]
        else:
            return None
        return (
            found if found is not None and found.dtype == op.out.dtype and found.shape in ((), op.out.shape) else None
        )

    def with_known_exponent(self, op: Apply) -> Apply:
        """A power by few halves, by a square root; by a small whole number, by products."""
        exponent = self.number(op.operands[1]) if op.primitive == "power" else None
        if exponent is None or op.operands[0].shape != op.out.shape or op.out.dtype.kind != "f":
            return op
        if exponent in range(-MOST_WHOLE, MOST_WHOLE + 1) and exponent not in (0, 1):
            name, n = "integer_power", int(exponent)
        elif 2 * exponent in range(-MOST_HALVES, MOST_HALVES + 1, 2):
            name, n = "half_power", int(2 * exponent)
        else:
            return op
        return replace(op, primitive=name, operands=op.operands[:1], parameters=(("n", n),))

    def by_exponents(self, op: Apply) -> Value | None:
        """A power by an array of few small whole numbers: of the products that they ask for, each element has one.

        Where it has another one, a product is of ones, so that no slope is infinite there.
        """
        made = self.made.get(op.operands[1].id) if op.primitive == "power" else None
        if not isinstance(made, Constant) or made.data.shape != op.out.shape or op.out.dtype.kind != "f":
            return None
        base, exponents = op.operands[0], np.unique(made.data).tolist()
        if base.shape != op.out.shape or not set(exponents) <= set(range(MOST_WHOLE)) or len(exponents) > MOST_CHOSEN:
            return None

        def apply(primitive: str, *operands: Value, **parameters: object) -> Value:
            out = self.builder.new_value(op.out.shape, op.out.dtype)
            return self.settle(
                replace(op, out=out, primitive=primitive, operands=operands, parameters=tuple(parameters.items()))
            )

        one = self.constant(np.ones((), op.out.dtype), op)
        found: Value | None = None
        for n in exponents:
            here = self.constant(made.data == n, op)
            safe = base if n < 2 or len(exponents) == 1 else apply("where", here, base, one)
            power = one if n == 0 else base if n == 1 else apply("integer_power", safe, n=int(n))
            found = power if found is None else apply("where", here, power, found)
        return found if found is not None and found.shape == op.out.shape else None

    def flatten_view(self, op: Apply) -> Apply:
        """A view of a view as one view, where that is affine."""
        made = self.made.get(op.operands[0].id)
        if isinstance(made, Apply) and made.primitive == "view":
            inner = made.params["view"]
            view = compose(inner, op.params["view"])
            if view is not None:
                return replace(op, operands=made.operands, parameters=(("view", view),))
        if isinstance(made, Load):
            view = compose(made.region.view, op.params["view"])
            contents = self.block.contents[made.region.buffer]
            if view is not None and contents.get(made.region.view) is made.out:
                value = contents.get(view)
                if value is None:
                    value = self.builder.new_value(view.shape, op.out.dtype)
                    self.keep(Load(out=value, region=Region(made.region.buffer, view), line=op.line))
                    contents.put(view, value)
                return replace(op, operands=(value,), parameters=(("view", contiguous(view.shape)),))
        return op

    def fold(self, op: Apply) -> Value | None:
        source = op.operands[0]
        if op.out.size > FOLD_LIMIT or (op.primitive == "view" and (source.shape == () or op.out.size > source.size)):
            return None
        if is_ragged(op.out.shape) or (op.primitive == "view" and not is_fixed(op.params["view"])):
            return None
        made = [self.made.get(v.id) for v in op.operands]
        if not all(isinstance(m, Constant) for m in made):
            return None
        with np.errstate(all="ignore"):
            data = RULES[op.primitive].evaluate(*(m.data for m in made), **op.params)  # type: ignore[union-attr]
        return self.constant(np.asarray(data, dtype=op.out.dtype, order="C"), op)


def computed_alike(block: tuple[Operation, ...], kinds: dict[object, int]) -> dict[int, list[Operation]]:
    """What a block computes from what is around it, by numbers that are equal for what is equal."""
    names: dict[int, int | None] = {}  # of what the block makes
    written: set[int] = set()
    found: dict[int, list[Operation]] = {}
    for op in block:
        key: tuple[object, ...] | None = None
        match op:
            case IndexValue():
                key = ("index", op.expression)
            case Load() if op.region.buffer not in written:
                key = ("load", op.region)
            case Apply() if RULES[op.primitive].kind in ("elementwise", "view", "reduce", "contract"):
                operands = tuple(names.get(v.id, ("outer", v.id)) for v in op.operands)
                key = None if None in operands else (op.primitive, operands, op.parameters)
        written.update(region.buffer for region in op.writes)
        for value in op.outputs:
            names[value.id] = None if key is None else kinds.setdefault((key, value.shape), len(kinds))
        if key is not None:
            found.setdefault(kinds[key, op.outputs[0].shape], []).append(op)
    return found


def repeated(scalar: Value, op: Apply | Constant) -> Apply:
    """What `op` defines, as `scalar` again and again."""
    view = contiguous_repeat(op.out.shape)
    return Apply(out=op.out, primitive="view", operands=(scalar,), parameters=(("view", view),), line=op.line)


def is_uniform(data: np.ndarray) -> bool:
    """Whether all elements are one number."""
    if all(stride == 0 for stride in data.strides):
        return True
    first = data.flat[0]
    if data.flat[-1] != first or data.flat[data.size // 2] != first or not (data == first).all():
        return False
    return data.dtype.kind != "f" or bool((np.signbit(data) == np.signbit(data.flat[0])).all())


def contiguous_repeat(shape: tuple[int, ...]) -> View:
    """The view that repeats a scalar over `shape`."""
    return View(0, tuple(shape), (0,) * len(shape))


def is_positive_zero(number: float | None) -> bool:
    """Whether it is a zero that changes no number that it is subtracted from; of -0.0 that would change the sign."""
    return number == 0 and not np.signbit(np.float64(0.0 if number is None else number))
