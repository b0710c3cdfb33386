"""The meaning of the IR: run a tape with plain NumPy, slowly and obviously.

What the planner and the emitter are tested against; and what answers `bool(tracer)` while a tape is being recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from ..regions.affine import Ragged, at, exact
from ..regions.regions import Region, View, is_fixed, is_injective, is_ragged, show, shown
from ..rules import RULES
from .tape import Apply, Branch, Buffer, Constant, Guard, IndexValue, Load, Loop, Operation, Scatter, Store, Tape, Value

OnGuard = Callable[[Guard, object], None]
Step = Callable[[], None]


class GuardBroken(Exception):
    """A guard's predicate has another outcome than the one recorded."""

    def __init__(self, guard: Guard, actual: object):
        super().__init__(f"{guard.what}: {actual!r} instead of {guard.outcome!r} ({guard.line})")
        self.guard = guard
        self.actual = actual


def refuse(guard: Guard, actual: object) -> None:
    """What is done about a broken guard unless the caller says otherwise."""
    raise GuardBroken(guard, actual)


def uninitialised(buffer: Buffer) -> np.ndarray:
    """Flat memory for `buffer` that no program should read."""
    return garbage((buffer.span,), buffer.dtype)


def garbage(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """nan, or an unlikely integer."""
    kind = dtype.kind
    return np.full(shape, np.nan if kind in "fc" else True if kind == "b" else np.iinfo(dtype).max // 3, dtype)


def memory_of(buffer: Buffer, array: np.ndarray) -> np.ndarray:
    """A flat memory for `buffer` that holds `array`. Its element 0 is address `buffer.low`."""
    memory = uninitialised(buffer)
    array_of(buffer, memory)[...] = array
    return memory


def array_of(buffer: Buffer, memory: np.ndarray) -> np.ndarray:
    """The whole array that `memory` holds for `buffer`; a view."""
    return show(memory, below(buffer.view, buffer, {}))


def below(view: View, buffer: Buffer, indices: Mapping[int, int]) -> View:
    """`view` counted from the lowest address of `buffer`, where the loop indices have the values given."""
    now = fixed(view, indices)
    return View(at(now.offset, {}) - at(buffer.low, {}), now.shape, now.strides)


def fixed(view: View, indices: Mapping[int, int]) -> View:
    """`view` where the loop indices have the values given: what it shows in one iteration."""
    return view if is_fixed(view) else View(at(view.offset, indices), actual(view.shape, indices), view.strides)


def actual(shape: tuple[int, ...], indices: Mapping[int, int]) -> tuple[int, ...]:
    """`shape` where the loop indices have the values given; an extent below zero is none."""
    return tuple(max(at(exact(n), indices), 0) for n in shape) if is_ragged(shape) else shape


class Interpreter:
    """Runs operations one after another.

    Parameters
    ----------
    buffers : the tape's buffers; may be a list that still grows.
    memories : flat memories by buffer id (see `memory_of`), which are written to. Others are made at their first
        use, uninitialised; those of captured arrays with what these hold then.
    on_guard : called with a guard and the actual outcome where that is not the recorded one; raises, or returns to
        go on.
    """

    def __init__(
        self,
        buffers: Sequence[Buffer],
        memories: Mapping[int, np.ndarray] | None = None,
        *,
        on_guard: OnGuard = refuse,
    ):
        self.buffers = buffers
        self.memories: dict[int, np.ndarray] = dict(memories or {})
        self.values: dict[int, np.ndarray] = {}
        self.indices: dict[int, int] = {}
        self.on_guard = on_guard
        self._lowest: dict[int, int] = {}  # by buffer id, the address of the first element of its memory
        self._steps: dict[int, tuple[tuple[Operation, ...], list[Step]]] = {}  # of a body, by its identity

    def value(self, value: Value) -> np.ndarray:
        """The number that `value` has; not to be written to."""
        return self.values[value.id]

    def run(self, operations: Iterable[Operation]) -> None:
        """Run `operations` after those run before."""
        with np.errstate(all="ignore"):
            for operation in operations:
                self.step(operation)

    def region(self, region: Region) -> np.ndarray:
        """The elements of a region now: a view of its buffer's memory."""
        memory, view = self.memory(self.buffers[region.buffer]), region.view
        first = at(view.offset, self.indices) - self._lowest[region.buffer]
        return shown(memory, first, actual(view.shape, self.indices), view.strides)

    def memory(self, buffer: Buffer) -> np.ndarray:
        """The flat memory of a buffer, made at its first use: a captured array's holds what that holds."""
        if buffer.id not in self.memories:
            known = buffer.array
            self.memories[buffer.id] = uninitialised(buffer) if known is None else memory_of(buffer, known)
        if buffer.id not in self._lowest:
            self._lowest[buffer.id] = at(buffer.low, {})
        return self.memories[buffer.id]

    def step(self, op: Operation) -> None:
        match op:
            case Constant():
                self.define(op.out, op.data)
            case Apply():
                self.define(op.out, self.applied(op))
            case Load():
                self.define(op.out, self.region(op.region).copy())
            case Store():
                self.store(op)
            case Scatter():
                self.scatter(op)
            case Guard():
                actual = self.value(op.predicate).item()
                if actual != op.outcome:
                    self.on_guard(op, actual)
            case IndexValue():
                self.define(op.out, np.array(at(op.expression, self.indices), op.out.dtype))
            case Loop():
                self.loop(op)
            case Branch():
                self.block(op.then if self.value(op.predicate).item() else op.otherwise)
            case _:
                raise TypeError(f"the interpreter does not know {type(op).__name__}")

    def define(self, out: Value, number: np.ndarray) -> None:
        number, shape = np.asarray(number), actual(out.shape, self.indices)
        if number.shape != shape or number.dtype != out.dtype:
            raise TypeError(f"v{out.id} is {out.dtype}{list(shape)}, got {number.dtype}{list(number.shape)}")
        self.values[out.id] = number

    def applied(self, op: Apply) -> np.ndarray:
        parameters = {name: fixed(p, self.indices) if isinstance(p, View) else p for name, p in op.parameters}
        of_view = RULES[op.primitive].kind == "view"
        operands = [self.laid_out(v) if of_view else self.value(v) for v in op.operands]
        return RULES[op.primitive].evaluate(*operands, **parameters)

    def laid_out(self, value: Value) -> np.ndarray:
        """The number of `value` as views count its elements: along a ragged axis, as many as there can be."""
        number = self.value(value)
        if not any(isinstance(n, Ragged) for n in value.shape):
            return number
        memory = garbage(tuple(map(int, value.shape)), number.dtype)
        memory[tuple(map(slice, number.shape))] = number
        return memory

    def store(self, op: Store) -> None:
        target = self.region(op.region)
        if not op.accumulate:
            target[...] = self.value(op.value)
        elif is_injective(op.region.view):
            target += self.value(op.value)
        else:  # an element shown several times receives each of its terms
            memory = self.memories[op.region.buffer]
            view = below(op.region.view, self.buffers[op.region.buffer], self.indices)
            np.add.at(memory, show(np.arange(memory.size), view), self.value(op.value))

    def scatter(self, op: Scatter) -> None:
        target = self.region(op.region)
        indices = tuple(self.value(i) for i in op.indices)
        extents, rest = target.shape[: len(indices)], target.shape[len(indices) :]
        positions = np.ravel_multi_index(indices, extents).reshape(-1)
        rows = np.broadcast_to(self.value(op.value), indices[0].shape + rest).reshape(positions.size, *rest)
        if op.accumulate:
            np.add.at(target, np.unravel_index(positions, extents), rows)
        else:
            unique, from_end = np.unique(positions[::-1], return_index=True)
            target[np.unravel_index(unique, extents)] = rows[positions.size - 1 - from_end]

    def loop(self, op: Loop) -> None:
        (trips,) = actual((op.trips,), self.indices)
        if op.count is not None:
            count = int(self.value(op.count))
            if count > trips:
                raise ValueError(f"a loop of at most {trips} iterations is to run {count} times ({op.line})")
            skipped, trips = trips - count if op.step < 0 else 0, count
        else:
            skipped = 0
        start = at(op.start, self.indices)
        for trip in range(skipped, skipped + trips):
            self.indices[op.index] = start + trip * op.step
            self.block(op.body)
        self.indices.pop(op.index, None)

    def block(self, operations: tuple[Operation, ...]) -> None:
        """Run the operations of a loop or branch; their values are gone afterwards."""
        known = self._steps.get(id(operations))
        if known is None:
            known = operations, [*map(self.prepared, operations), self.forgetting(operations)]
            self._steps[id(operations)] = known
        for step in known[1]:
            step()

    # What runs again and again: that an operation does the same each time is found once.

    def forgetting(self, operations: tuple[Operation, ...]) -> Step:
        values, ids = self.values, [out.id for inner in operations for out in inner.outputs]

        def forget() -> None:
            for id in ids:
                values.pop(id, None)

        return forget

    def prepared(self, op: Operation) -> Step:
        """As `step`; of numbers in memory, and of operations on values of known shapes, in half of the time."""
        if type(self).step is not Interpreter.step:  # a subclass does more
            return partial(self.step, op)
        if isinstance(op, Load) and not op.region.shape:
            return self.prepared_load(op)
        if isinstance(op, Store) and not op.region.shape:
            return self.prepared_store(op)
        if isinstance(op, Apply) and is_same_each_time(op):
            return self.prepared_apply(op)
        return partial(self.step, op)

    def prepared_apply(self, op: Apply) -> Step:
        values, evaluate, parameters = self.values, RULES[op.primitive].evaluate, dict(op.parameters)
        ids, out = [operand.id for operand in op.operands], op.out
        id, shape, dtype, define = out.id, out.shape, out.dtype, self.define

        def run() -> None:
            number = evaluate(*[values[id] for id in ids], **parameters)
            if type(number) is np.ndarray and number.shape == shape and number.dtype == dtype:
                values[id] = number
            else:
                define(out, number)

        return run

    def prepared_load(self, op: Load) -> Step:
        values, id, place = self.values, op.out.id, self.prepared_place(op.region)

        def run() -> None:
            memory, first = place()
            values[id] = np.array(memory[first])

        return run

    def prepared_store(self, op: Store) -> Step:
        values, id, accumulate, place = self.values, op.value.id, op.accumulate, self.prepared_place(op.region)

        def run() -> None:
            memory, first = place()
            if accumulate:
                memory[first] += values[id]
            else:
                memory[first] = values[id]

        return run

    def prepared_place(self, region: Region) -> Callable[[], tuple[np.ndarray, int]]:
        """The memory of a number, and where it lies there."""
        buffer, offset, indices = self.buffers[region.buffer], region.view.offset, self.indices
        memory, lowest = self.memory(buffer), self._lowest

        def place() -> tuple[np.ndarray, int]:
            first = at(offset, indices) - lowest[buffer.id]
            if first < 0:
                raise IndexError(f"{buffer.label}: an element before the first one")
            return memory, first

        return place


def is_same_each_time(op: Apply) -> bool:
    """Whether no loop moves what is to be done."""
    is_moved = any(isinstance(p, View) and not is_fixed(p) for _, p in op.parameters)
    return not is_moved and not any(is_ragged(value.shape) for value in (op.out, *op.operands))


def interpret(tape: Tape, memories: Mapping[int, np.ndarray], *, on_guard: OnGuard = refuse) -> list[np.ndarray]:
    """Run `tape` on the flat `memories` of its argument buffers, in place, and return its results."""
    for id in tape.arguments:
        if id not in memories:
            raise KeyError(f"no memory for the argument {tape.buffer(id).label}")
    interpreter = Interpreter(tape.buffers, memories, on_guard=on_guard)
    interpreter.run(tape.operations)
    return [interpreter.value(result).copy() for result in tape.results]
