"""Passes that make a tape smaller without changing its numbers.

Each is a function tape -> tape. `simplify` runs them in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .builder import TapeBuilder, rebuilt
from .regions import Region, View, compose, contiguous, is_identity, is_injective, overlap, show
from .rules.table import RULES
from .tape import Apply, Constant, Guard, Load, Loop, Operation, Scatter, Store, Tape, Value, renamed

FOLD_LIMIT = 1 << 16  # elements: larger constants are computed at run time rather than stored


def simplify(tape: Tape) -> Tape:
    """All passes, in order. Requires a verified tape; ensures the same results and visible effects."""
    for passed in PASSES:
        tape = passed(tape)
    return tape


def rewrite(tape: Tape) -> Tape:
    """Common subexpressions, constant folding, and algebra that keeps IEEE results, in one walk.

    A load equals an earlier load of the same region while nothing that overlaps it was written.
    """
    builder = rebuilt(tape)
    walk = _Rewrite(builder)
    turn = 0
    for position, op in enumerate(tape.operations):
        if position == tape.turn:
            turn = len(builder.operations)
        walk.visit(op)
    if tape.turn == len(tape.operations):
        turn = len(builder.operations)
    results = tuple(walk.renamed.get(v.id, v) for v in tape.results)
    return replace(tape, operations=tuple(builder.operations), results=results, turn=turn)


class _Rewrite:
    """The tables of one walk: what each value is now called, is made of, and where equal ones were computed."""

    def __init__(self, builder: TapeBuilder):
        self.builder = builder
        self.renamed: dict[int, Value] = {}
        self.made: dict[int, Operation] = {}
        self.known: dict[object, Value] = {}
        self.loads: dict[int, _Held] = {}

    def visit(self, op: Operation) -> None:
        if isinstance(op, Apply):
            self.visit_apply(op)
        elif isinstance(op, Constant):
            self.visit_constant(op)
        elif isinstance(op, Load):
            self.visit_load(op)
        elif isinstance(op, Store):
            value = self.scalar_of(self.name(op.value))
            self.forget(op.region)
            self.keep(op if value is op.value else replace(op, value=value))
            buffer = self.builder.buffers[op.region.buffer]
            if not op.accumulate and value.shape == op.region.shape and value.dtype == buffer.dtype:
                self.held(op.region.buffer).put(op.region.view, value)
        elif isinstance(op, Scatter):
            self.forget(op.region)
            indices = tuple(self.name(i) for i in op.indices)
            self.keep(replace(op, indices=indices, value=self.name(op.value)))
        elif isinstance(op, Guard):
            self.keep(replace(op, predicate=self.name(op.predicate)))
        else:
            assert isinstance(op, Loop)
            for region in op.writes:
                self.forget(region)
            self.keep(renamed(op, self.renamed))

    def name(self, value: Value) -> Value:
        return self.renamed.get(value.id, value)

    def keep(self, op: Operation) -> None:
        for value in op.outputs:
            self.made[value.id] = op
        self.builder.emit(op)

    def forget(self, region: Region) -> None:
        if region.buffer in self.loads:
            self.loads[region.buffer].forget(region)

    def held(self, buffer: int) -> _Held:
        if buffer not in self.loads:
            self.loads[buffer] = _Held(buffer)
        return self.loads[buffer]

    def visit_load(self, op: Load) -> None:
        held = self.held(op.region.buffer)
        value = held.get(op.region.view)
        if value is None:
            held.put(op.region.view, op.out)
            self.keep(op)
        else:
            self.renamed[op.out.id] = value

    def visit_constant(self, op: Constant) -> None:
        data = op.data
        if data.size > 1 and is_uniform(data):
            scalar = self.constant(data.reshape(-1)[0], op)
            self.renamed[op.out.id] = self.once(
                ("view", (scalar.id,), contiguous_repeat(data.shape)),
                lambda: Apply(
                    out=op.out,
                    primitive="view",
                    operands=(scalar,),
                    parameters=(("view", contiguous_repeat(data.shape)),),
                    line=op.line,
                ),
            )
            return
        self.renamed[op.out.id] = self.constant(data, op)

    def constant(self, data: np.ndarray, op: Operation) -> Value:
        data = np.asarray(data)
        key = ("constant", data.dtype, data.shape, data.tobytes() if data.size <= 4096 else id(data))
        value = self.known.get(key)
        if value is None:
            if isinstance(op, Constant) and op.data is data:
                value = op.out
                self.keep(op)
            else:
                value = self.builder.new_value(data.shape, data.dtype)
                self.keep(Constant(out=value, data=data, line=op.line))
            self.known[key] = value
        return value

    def once(self, key: object, make: Callable[[], Operation]) -> Value:
        value = self.known.get(key)
        if value is None:
            op = make()
            (value,) = op.outputs
            self.known[key] = value
            self.keep(op)
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

    def visit_apply(self, op: Apply) -> None:
        operands = tuple(self.name(v) for v in op.operands)
        rule = RULES[op.primitive]
        if rule.kind == "elementwise" and op.out.shape != ():
            scalars = tuple(self.scalar_of(v) for v in operands)
            if all(v.shape == () for v in scalars):
                # Every operand repeats a scalar: compute once, repeat the result.
                once = self.builder.new_value((), op.out.dtype)
                scalar = self.settle(replace(op, out=once, operands=scalars))
                view = contiguous_repeat(op.out.shape)
                repeat = Apply(
                    out=op.out, primitive="view", operands=(scalar,), parameters=(("view", view),), line=op.line
                )
                self.renamed[op.out.id] = self.settle(repeat)
                return
            operands = scalars
        self.renamed[op.out.id] = self.settle(replace(op, operands=operands))

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
        key = (op.primitive, tuple(v.id for v in op.operands), op.parameters)
        return self.once(key, lambda: op)

    def identity(self, op: Apply) -> Value | None:
        """Algebra that is exact in IEEE arithmetic: x * 1, x / 1, -(-x), x - 0, a choice already made."""
        operands, name = op.operands, op.primitive
        if name in ("multiply", "divide") and self.number(operands[1]) == 1 and operands[0].shape == op.out.shape:
            return operands[0]
        if name == "multiply" and self.number(operands[0]) == 1 and operands[1].shape == op.out.shape:
            return operands[1]
        if name == "subtract" and self.number(operands[1]) == 0 and operands[0].shape == op.out.shape:
            return operands[0]
        if name == "negative":
            made = self.made.get(operands[0].id)
            if isinstance(made, Apply) and made.primitive == "negative":
                return made.operands[0]
        return None

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
            held = self.held(made.region.buffer)
            if view is not None and held.get(made.region.view) is made.out:
                region = Region(made.region.buffer, view)
                value = held.get(view)
                if value is None:
                    value = self.builder.new_value(view.shape, op.out.dtype)
                    self.keep(Load(out=value, region=region, line=op.line))
                    held.put(view, value)
                return replace(op, operands=(value,), parameters=(("view", contiguous(view.shape)),))
        return op

    def fold(self, op: Apply) -> Value | None:
        source = op.operands[0]
        if op.out.size > FOLD_LIMIT or (op.primitive == "view" and (source.shape == () or op.out.size > source.size)):
            return None
        made = [self.made.get(v.id) for v in op.operands]
        if not all(isinstance(m, Constant) for m in made):
            return None
        with np.errstate(all="ignore"):
            data = RULES[op.primitive].evaluate(*(m.data for m in made), **op.params)  # type: ignore[union-attr]
        return self.constant(np.asarray(data, dtype=op.out.dtype, order="C"), op)


class _Held:
    """Which values the regions of one buffer are known to hold; single elements by their offset."""

    def __init__(self, buffer: int):
        self.buffer = buffer
        self.points: dict[object, dict[View, Value]] = {}
        self.areas: dict[View, Value] = {}

    def place(self, view: View) -> dict[View, Value]:
        if view.size == 1 and isinstance(view.offset, int):
            return self.points.setdefault(view.offset, {})
        return self.areas

    def get(self, view: View) -> Value | None:
        return self.place(view).get(view)

    def put(self, view: View, value: Value) -> None:
        self.place(view)[view] = value

    def forget(self, region: Region) -> None:
        """Drop what a write to `region` may change."""
        view = region.view
        for known in [v for v in self.areas if overlap(region, Region(self.buffer, v))]:
            del self.areas[known]
        if view.size == 1 and isinstance(view.offset, int):
            self.points.pop(view.offset, None)
            return
        for offset in [o for o in self.points if overlap(region, Region(self.buffer, View(o, (), ())))]:  # type: ignore[arg-type]
            del self.points[offset]


def is_uniform(data: np.ndarray) -> bool:
    """Whether all elements are one number (looked for in large arrays only where the strides say so)."""
    if all(stride == 0 for stride in data.strides):
        return True
    if data.size > FOLD_LIMIT or not (data == data.flat[0]).all():
        return False
    return data.dtype.kind != "f" or bool((np.signbit(data) == np.signbit(data.flat[0])).all())


def contiguous_repeat(shape: tuple[int, ...]) -> View:
    """The view that repeats a scalar over `shape`."""
    return View(0, tuple(shape), (0,) * len(shape))


def forward_zeros(tape: Tape) -> Tape:
    """Accumulation into memory that is known to be zero becomes a store; a load of it, the constant zero."""
    zero = _KnownZeros(tape)
    operations: list[Operation] = []
    turn = tape.turn
    for position, op in enumerate(tape.operations):
        operations.append(zero.visit(op))
        if position + 1 == tape.turn:
            turn = len(operations)
    return replace(tape, operations=tuple(operations), turn=turn)


class _KnownZeros:
    """Per buffer, which elements are known to be zero now: one boolean each, or all/none for large buffers."""

    EXACT = 1 << 16

    def __init__(self, tape: Tape):
        self.tape = tape
        self.zero: dict[int, np.ndarray] = {}
        self.work = 50_000_000  # elements that may be looked at before settling for less
        self.constants = {op.out.id: op.data for op in tape.operations if isinstance(op, Constant)}

    def known(self, buffer: int) -> np.ndarray | None:
        if buffer not in self.zero:
            self.zero[buffer] = np.zeros(self.tape.buffers[buffer].span, bool)
        self.work -= 1 + self.zero[buffer].size // 64
        return self.zero[buffer] if self.work > 0 else None

    def part(self, region: Region) -> np.ndarray | None:
        known = self.known(region.buffer)
        if known is None or not isinstance(region.view.offset, int):
            return None
        low = self.tape.buffers[region.buffer].low
        view = region.view
        self.work -= view.size // 64
        return show(known, View(view.offset - low, view.shape, view.strides))

    def visit(self, op: Operation) -> Operation:
        if isinstance(op, Store):
            part = self.part(op.region)
            if part is None:
                self.lose(op.region.buffer)
                return op
            data = self.constants.get(op.value.id)
            is_zero = data is not None and data.ndim == 0 and not any(data.tobytes())  # -0.0 is another number
            if op.accumulate:
                if part.size and part.all() and is_injective(op.region.view):
                    op = replace(op, accumulate=False)
                part[...] &= is_zero
            else:
                part[...] = is_zero
        elif isinstance(op, Scatter | Loop):
            for region in op.writes:
                self.lose(region.buffer)
        elif isinstance(op, Load):
            part = self.part(op.region)
            if part is not None and part.size and part.all():
                view = contiguous_repeat(op.region.shape)
                return Constant(out=op.out, data=np.broadcast_to(np.zeros((), op.out.dtype), view.shape), line=op.line)
        return op

    def lose(self, buffer: int) -> None:
        if buffer in self.zero:
            self.zero[buffer][...] = False


def drop_dead(tape: Tape) -> Tape:
    """Remove operations without effect: unused values, stores overwritten or never read, writes to unread locals."""
    used = {v.id for v in tape.results}
    # Per buffer, which elements are read later (or by the caller); None: too large to follow, assume all.
    wanted: dict[int, np.ndarray] = {}
    budget = 50_000_000

    def mask(buffer: int) -> np.ndarray:
        if buffer not in wanted:
            b = tape.buffers[buffer]
            wanted[buffer] = np.full(b.span, b.visible)
        return wanted[buffer]

    def part(region: Region) -> np.ndarray | None:
        nonlocal budget
        if not isinstance(region.view.offset, int):
            return None
        budget -= 1 + region.view.size // 16
        if budget < 0:
            return None
        low = tape.buffers[region.buffer].low
        return show(mask(region.buffer), View(region.view.offset - low, region.view.shape, region.view.strides))

    kept: list[Operation] = []
    turn = 0
    for position in range(len(tape.operations) - 1, -1, -1):
        op = tape.operations[position]
        if isinstance(op, Store):
            elements = part(op.region)
            if elements is not None:
                if not elements.any():
                    continue
                if not op.accumulate:
                    op = narrowed(op, elements)
                    elements[...] = False
        elif isinstance(op, Scatter | Loop):
            if not any(mask(r.buffer).any() for r in op.writes):
                continue
        elif not isinstance(op, Guard) and not any(v.id in used for v in op.outputs):
            continue
        for region in op.reads if not isinstance(op, Store) else ():
            elements = part(region)
            if elements is None:
                mask(region.buffer)[...] = True
            else:
                elements[...] = True
        used.update(v.id for v in op.inputs)
        kept.append(op)
        turn += position < tape.turn
    kept.reverse()
    return replace(tape, operations=tuple(kept), turn=turn)


def narrowed(op: Store, wanted: np.ndarray) -> Store:
    """A store of one number to a dense stretch, cut to the part that is read later."""
    view = op.region.view
    if op.value.shape != () or view.strides != (1,) or wanted.all():
        return op
    first, last = int(wanted.argmax()), len(wanted) - int(wanted[::-1].argmax())
    return replace(op, region=Region(op.region.buffer, View(view.offset + first, (last - first,), (1,))))


PASSES = (rewrite, forward_zeros, drop_dead, rewrite, drop_dead)
