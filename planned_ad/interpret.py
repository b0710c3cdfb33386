"""The meaning of the IR: run a tape with plain NumPy, slowly and obviously.

What the planner and the emitter are tested against; and what answers `bool(tracer)` while a tape is being recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from .affine import at
from .regions import Region, View, is_injective, show
from .rules import RULES
from .tape import Apply, Buffer, Constant, Guard, Load, Loop, Operation, Scatter, Store, Tape, Value

OnGuard = Callable[[Guard, object], None]


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
    """Flat memory for `buffer` that no program should read: nan, or an unlikely integer."""
    kind = buffer.dtype.kind
    garbage = np.nan if kind in "fc" else True if kind == "b" else np.iinfo(buffer.dtype).max // 3
    return np.full(buffer.span, garbage, buffer.dtype)


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
    return View(at(view.offset, indices) - at(buffer.low, {}), view.shape, view.strides)


class Interpreter:
    """Runs operations one after another.

    Parameters
    ----------
    buffers : the tape's buffers; may be a list that still grows.
    memories : flat memories by buffer id (see `memory_of`), which are written to. Others are made at their first
        use, uninitialised.
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
        buffer = self.buffers[region.buffer]
        if buffer.id not in self.memories:
            self.memories[buffer.id] = uninitialised(buffer)
        return show(self.memories[buffer.id], below(region.view, buffer, self.indices))

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
            case Loop():
                self.loop(op)
            case _:
                raise TypeError(f"the interpreter does not know {type(op).__name__}")

    def define(self, out: Value, number: np.ndarray) -> None:
        number = np.asarray(number)
        if number.shape != out.shape or number.dtype != out.dtype:
            raise TypeError(f"v{out.id} is {out.dtype}{list(out.shape)}, got {number.dtype}{list(number.shape)}")
        self.values[out.id] = number

    def applied(self, op: Apply) -> np.ndarray:
        parameters = {
            name: View(at(p.offset, self.indices), p.shape, p.strides) if isinstance(p, View) else p
            for name, p in op.parameters
        }
        return RULES[op.primitive].evaluate(*map(self.value, op.operands), **parameters)

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
        for trip in range(op.trips):
            self.indices[op.index] = op.start + trip * op.step
            for inner in op.body:
                self.step(inner)
        self.indices.pop(op.index, None)
        for inner in op.body:
            for out in inner.outputs:
                self.values.pop(out.id, None)


def interpret(tape: Tape, memories: Mapping[int, np.ndarray], *, on_guard: OnGuard = refuse) -> list[np.ndarray]:
    """Run `tape` on the flat `memories` of its argument buffers, in place, and return its results."""
    for id in tape.arguments:
        if id not in memories:
            raise KeyError(f"no memory for the argument {tape.buffer(id).label}")
    interpreter = Interpreter(tape.buffers, memories, on_guard=on_guard)
    interpreter.run(tape.operations)
    return [interpreter.value(result).copy() for result in tape.results]
