"""Run a memory plan with NumPy: what the planner means, apart from how the emitter says it.

Every slot lies in one workspace of bytes, at the planner's offset, so that a place given away too early shows.
The indices of a nest run in blocks; a plan is right only if any blocks, in any order, give the same numbers
(except for `ordered` nests, whose blocks must be in order).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from planned_ad.planning.schedule import (
    BranchStep,
    Compute,
    Counted,
    GatherRead,
    GuardStep,
    Immediate,
    LibraryStep,
    LoopStep,
    Memory,
    MemoryPlan,
    Nest,
    Position,
    Read,
    Reduce,
    Step,
    Write,
)
from planned_ad.regions.affine import at as offset_at
from planned_ad.regions.regions import View, show
from planned_ad.rules import RULES
from planned_ad.tape.interpret import GuardBroken, actual, fixed

COMBINE = {
    "reduce_sum": np.add,
    "reduce_prod": np.multiply,
    "reduce_max": np.maximum,
    "reduce_min": np.minimum,
    "reduce_any": np.logical_or,
    "reduce_all": np.logical_and,
}


class ScheduleInterpreter:
    """Runs the steps of `plan`; `memories` are flat arrays by buffer id, element 0 at the buffer's lowest address."""

    def __init__(self, plan: MemoryPlan, memories: Mapping[int, np.ndarray], block: int | None, shuffle: bool = False):
        self.plan, self.memories, self.block = plan, memories, block
        self.indices: dict[int, int] = {}  # of the loops around
        self.random = np.random.default_rng(5) if shuffle else None
        self.workspace = np.full(plan.workspace_nbytes, 0xFF, np.uint8)  # nan, for floating numbers

    def run(self) -> None:
        with np.errstate(all="ignore"):
            self.steps(self.plan.steps)

    def steps(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Nest):
                self.nest(step)
            elif isinstance(step, LibraryStep):
                self.library(step)
            elif isinstance(step, LoopStep):
                self.loop(step)
            elif isinstance(step, BranchStep):
                self.steps(step.then if self.number(step.memory, step.view, np.dtype(bool)) else step.otherwise)
            else:
                self.guard(step)

    def loop(self, step: LoopStep) -> None:
        op = step.operation
        (trips,) = actual((op.trips,), self.indices)
        count = trips if step.count is None else self.number(*step.count, np.dtype(np.int64))
        start = offset_at(op.start, self.indices)
        for trip in range(trips - count, trips) if op.step < 0 else range(count):
            self.indices[op.index] = start + trip * op.step
            self.steps(step.steps)

    def number(self, memory: Memory, view: View, dtype: np.dtype):
        """The scalar at a place."""
        flat, low = self.memory(memory, dtype)
        return flat[offset_at(view.offset, self.indices) - low].item()

    def memory(self, memory: Memory, dtype: np.dtype) -> tuple[np.ndarray, int]:
        """A flat array, and the address of its first element."""
        if memory.kind == "constant":
            data = self.plan.constants[memory.id]
            assert data.flags.c_contiguous and data.dtype == dtype
            return data.reshape(-1), 0
        low = self.plan.tape.buffers[memory.id].low if memory.kind == "buffer" else 0
        if memory.kind == "buffer" and memory.id in self.memories:
            return self.memories[memory.id], low
        offset, nbytes = self.plan.offsets[memory], self.plan.sizes[memory]
        assert offset + nbytes <= self.workspace.size and offset % min(nbytes or 1, 8, dtype.itemsize) == 0
        return self.workspace[offset : offset + nbytes].view(dtype), low

    def nest(self, nest: Nest) -> None:
        domain = actual(nest.domain, self.indices)
        count = int(np.prod(domain, dtype=np.int64))
        indices = np.indices(domain).reshape(len(domain), count)
        for item in nest.items:
            if isinstance(item, Reduce):
                self.start(item, nest.domain)
        order = np.arange(count)
        if self.random is not None and not nest.ordered:
            order = self.random.permutation(count)
        block, run = count if self.block is None else self.block, NestRun(self, nest, indices)
        for start in range(0, count, max(block, 1)):
            run.block(order[start : start + block])

    def start(self, item: Reduce, domain: tuple[int, ...]) -> None:
        identity: float | None = COMBINE[item.operation].identity
        if identity is None:
            largest = item.operation == "reduce_min"
            if item.dtype.kind == "f":
                identity = np.inf if largest else -np.inf
            else:
                info = np.iinfo(item.dtype) if item.dtype.kind != "b" else None
                identity = largest if info is None else info.max if largest else info.min
        flat, _ = self.memory(item.memory, item.dtype)
        kept = [n for k, n in enumerate(domain) if k not in item.axes]
        if 0 not in kept:
            flat[...] = identity

    def library(self, step: LibraryStep) -> None:
        op = step.operation
        operands = []
        for memory, view, dtype in step.operands:
            flat, low = self.memory(memory, dtype)
            now = fixed(view, self.indices)
            operands.append(show(flat, View(offset_at(now.offset, {}) - low, now.shape, now.strides)).copy())
        flat, low = self.memory(step.result, op.out.dtype)
        now = fixed(step.target, self.indices)
        place = show(flat, View(offset_at(now.offset, {}) - low, now.shape, now.strides))
        found = np.asarray(RULES[op.primitive].evaluate(*operands, **op.params))
        place[...] = place + found if step.accumulate else found

    def guard(self, step: GuardStep) -> None:
        outcome = self.number(step.memory, step.view, step.dtype)
        if outcome != step.operation.outcome:
            raise GuardBroken(step.operation, outcome)


class NestRun:
    """One run of a nest: where it reads and writes for all its indices, and the registers of a block of them."""

    def __init__(self, interpreter: ScheduleInterpreter, nest: Nest, indices: np.ndarray):
        self.interpreter, self.nest, self.indices = interpreter, nest, indices
        self.places: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by the identity of items
        self.chosen = np.arange(0)  # the places of the block's indices among all
        self.registers: list[np.ndarray] = []

    def place(self, item: Read | GatherRead | Write | Reduce, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """A flat array, and where in it an item finds the elements of this block."""
        found = self.places.get(id(item))
        if found is None:
            flat, low = self.interpreter.memory(item.memory, dtype)
            view = item.view
            at = np.full(self.indices.shape[1], offset_at(view.offset, self.interpreter.indices) - low)
            for axis, stride in zip(self.indices, view.strides):
                at = at + axis * stride
            assert isinstance(item, GatherRead | Write) or at.min(initial=0) >= 0
            found = self.places[id(item)] = flat, at
        flat, at = found[0], found[1][self.chosen]
        if isinstance(item, GatherRead | Write):
            for k, stride in zip(item.indices, item.strides):
                at = at + self.registers[k].astype(np.int64) * stride
            assert at.min(initial=0) >= 0
        return flat, at

    def write(self, item: Write) -> None:
        number = self.register(item.source)
        flat, at = self.place(item, number.dtype)
        if item.accumulate:
            np.add.at(flat, at, number)
        else:
            flat[at] = number  # in order: of those at the same place the last one stays

    def register(self, source: int) -> np.ndarray:
        return np.broadcast_to(self.registers[source], self.chosen.shape)

    def block(self, chosen: np.ndarray) -> None:
        self.chosen, self.registers = chosen, []
        for number, item in enumerate(self.nest.items):
            self.registers.append(self.computed(item))
            if number in self.nest.spills:
                self.write(self.nest.spills[number])

    def computed(self, item: object) -> np.ndarray:
        match item:
            case Immediate():
                return np.array(item.number, item.dtype)
            case Position():
                return np.array(offset_at(item.expression, self.interpreter.indices), item.dtype)
            case Counted():
                at = np.full(self.indices.shape[1], offset_at(item.view.offset, self.interpreter.indices))
                for axis, stride in zip(self.indices, item.view.strides):
                    at = at + axis * stride
                return (item.first + item.step * at[self.chosen]).astype(item.dtype)
            case Read() | GatherRead():
                flat, at = self.place(item, item.dtype)
                return flat[at]
            case Compute():
                operands = [self.registers[k] for k in item.operands]
                result = np.asarray(RULES[item.primitive].evaluate(*operands, **dict(item.parameters)))
                assert result.dtype == item.dtype, (item, result.dtype)
                return result
            case Write():
                self.write(item)
            case Reduce():
                flat, at = self.place(item, item.dtype)
                COMBINE[item.operation].at(flat, at, self.register(item.source))
            case _:
                raise AssertionError(item)
        return np.array(0)


def run_plan(plan: MemoryPlan, memories: Mapping[int, np.ndarray], block: int | None = None, shuffle: bool = False):
    """Run `plan` on flat `memories` of the buffers that the caller brings, in place."""
    ScheduleInterpreter(plan, memories, block, shuffle).run()
