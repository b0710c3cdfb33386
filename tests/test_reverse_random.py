"""Adjoints of random loops and branches against those of the same programs written out."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from planned_ad.differentiate.reverse import reverse
from planned_ad.regions.affine import Ragged, Ranges, affine, extremes, loop_index, ragged
from planned_ad.regions.regions import Region
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import Interpreter, actual, fixed
from planned_ad.tape.tape import Apply, Constant, IndexValue, Load, Loop, Operation, Store, Tape, Value
from planned_ad.tape.verify import verify

from .sweeps import sweep
from .test_reverse_loops import Program, gradient_of

SIDE = 5


class WrittenOut(Interpreter):
    """Runs a tape and notes what it does, one iteration after the other, as operations without loops or branches."""

    def __init__(self, tape: Tape, memories: dict[int, np.ndarray]):
        super().__init__(tape.buffers, memories)
        self.builder = TapeBuilder(buffers=list(tape.buffers))
        self.names: dict[int, Value] = {}

    def step(self, op: Operation) -> None:
        super().step(op)
        if op.blocks:
            return
        changes: dict[str, object] = {}
        for out in op.outputs:
            changes["out"] = self.builder.new_value(actual(out.shape, self.indices), out.dtype)
        match op:
            case Load() | Store():
                changes["region"] = Region(op.region.buffer, fixed(op.region.view, self.indices))
            case Apply():
                changes["operands"] = tuple(self.names[v.id] for v in op.operands)
            case IndexValue():
                op = Constant(out=op.out, data=self.value(op.out))
        if isinstance(op, Store):
            changes["value"] = self.names[op.value.id]
        written = replace(op, **changes)
        self.names |= {old.id: new for old, new in zip(op.outputs, written.outputs)}
        self.builder.emit(written)


def written_out(tape: Tape, inputs: list[np.ndarray]) -> Tape:
    memories = {id: x.copy().reshape(-1) for id, x in zip(tape.arguments, inputs)}
    run = WrittenOut(tape, memories)
    run.run(tape.operations)
    return run.builder.tape(tape.arguments, tuple(run.names[v.id] for v in tape.results), tape.active)


class Random:
    """A random program on two arguments and two local arrays."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.p = p = Program()
        self.x, self.y = p.argument("x", SIDE, SIDE), p.argument("y", SIDE)
        self.t, self.s = p.local(SIDE, SIDE), p.local(1)
        p.store(self.t.whole, p.load(self.x.whole))
        p.write(p.constant(0.4), self.s, 0)

    def tape(self) -> Tape:
        p = self.p
        for _ in range(2):
            self.nest({}, [], 3)
        total = p.apply("add", p.sum(self.x), p.apply("add", p.sum(self.y), p.sum(self.t)))
        return p.finished(p.apply("add", total, p.read(self.s, 0)), 2)

    def place(self, ranges: Ranges):
        """An expression between 0 and SIDE - 1 in all iterations."""
        for _ in range(20):
            indices = self.draw.sample(list(ranges), min(len(ranges), self.draw.choice((0, 1, 1, 1, 2))))
            terms = {i: self.draw.choice((1, 1, 1, -1)) for i in indices}
            expression = affine(self.draw.randrange(-2, SIDE + 1), terms)
            low, high = extremes(expression, ranges)
            if low >= 0 and high < SIDE:
                return expression
        return self.draw.randrange(SIDE)

    def region(self, ranges: Ranges, shape: tuple[int, ...] = ()) -> Region:
        p = self.p
        row = tuple((0, n) for n in shape)
        if shape:
            return p.at(self.draw.choice((self.x, self.t)), self.place(ranges), *row)
        match self.draw.randrange(4):
            case 0:
                return p.at(self.s, 0)
            case 1:
                return p.at(self.y, self.place(ranges))
            case _:
                return p.at(self.draw.choice((self.x, self.t)), self.place(ranges), self.place(ranges))

    def nest(self, ranges: Ranges, values: list[Value], depth: int) -> None:
        """A block of a few statements; `values` are the scalars at hand."""
        p, values = self.p, list(values)
        for _ in range(self.draw.randrange(2, 5)):
            kind = self.draw.choice(("read", "write", "loop", "branch", "row", "work") if depth else ("read", "write"))
            if kind == "read" or not values:
                values.append(p.load(self.region(ranges)))
            elif kind == "write":
                p.store(self.region(ranges), self.work(values), accumulate=self.draw.random() < 0.25)
            elif kind == "work":
                values.append(self.work(values))
            elif kind == "row":
                self.row(ranges, values)
            elif kind == "loop":
                self.loop(ranges, values, depth)
            else:
                test = p.apply("less", self.draw.choice(values), self.draw.choice(values))
                p.branch(
                    test, lambda: self.nest(ranges, values, depth - 1), lambda: self.nest(ranges, values, depth - 1)
                )
        p.store(self.region(ranges), self.work(values))

    def loop(self, ranges: Ranges, values: list[Value], depth: int) -> None:
        p, step = self.p, self.draw.choice((1, 1, -1))
        start: object = self.draw.randrange(2)
        trips: int = self.draw.randrange(1, SIDE)
        outer = [i for i in ranges if extremes(loop_index(i), ranges)[0] >= 0]
        if outer and self.draw.random() < 0.5:
            index = loop_index(self.draw.choice(outer))
            start, trips = self.draw.choice(((0, ragged(SIDE, index)), (index, ragged(SIDE, SIDE - index))))
        count = None
        if self.draw.random() < 0.15 and not isinstance(trips, Ragged):
            positive = p.cast(p.apply("less", self.draw.choice(values), p.constant(0.5)), np.dtype(np.int64))
            count = p.apply("multiply", positive, p.constant(trips))
        if step < 0:
            start = start + (trips.expression if isinstance(trips, Ragged) else trips) - 1
        with p.loop(trips, start, step, count) as i:
            made = Loop(index=i.terms[0][0], start=start, step=step, trips=trips, body=())
            self.nest({**ranges, made.index: made.range}, values, depth - 1)

    def row(self, ranges: Ranges, values: list[Value]) -> None:
        p = self.p
        extent = self.draw.choice(
            [
                SIDE,
                *(
                    ragged(SIDE, loop_index(i))
                    for i in ranges
                    if extremes(loop_index(i), ranges)[0] >= 0 and extremes(loop_index(i), ranges)[1] <= SIDE
                ),
            ]
        )
        first, second = p.load(self.region(ranges, (extent,))), p.load(self.region(ranges, (extent,)))
        both = p.apply(self.draw.choice(("multiply", "add")), first, p.apply("sin", second))
        if self.draw.random() < 0.5:
            p.store(self.region(ranges, (extent,)), p.apply("multiply", p.apply("sin", both), self.draw.choice(values)))
        values.append(p.apply("tanh", p.apply("reduce_sum", both, axes=(0,))))

    def work(self, values: list[Value]) -> Value:
        p = self.p
        a, b, c = (self.draw.choice(values) for _ in range(3))
        match self.draw.randrange(5):
            case 0:
                return p.apply("sin", p.times(a, b))
            case 1:
                return p.apply("tanh", p.apply("add", a, b))
            case 2:
                return p.apply("add", p.times(p.times(p.constant(0.3), a), b), p.apply("cos", c))
            case 3:
                return p.apply("subtract", p.times(p.constant(0.6), a), p.times(b, p.constant(0.3)))
            case _:
                return p.times(p.apply("exp", p.apply("negative", p.times(a, a))), b)


@pytest.mark.parametrize("seed", sweep(range(60), slice(0, None, 3)))
def test_loops_have_the_gradient_of_what_they_do(seed: int) -> None:
    tape = Random(seed).tape()
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-0.9, 0.9, (SIDE, SIDE)), rng.uniform(-0.9, 0.9, SIDE)]
    plain = written_out(tape, inputs)
    expected = gradient_of(reverse(plain), inputs)
    joint = verify(reverse(tape))
    for found, wanted in zip(gradient_of(joint, inputs), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
