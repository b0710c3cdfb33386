"""Random tapes with loops, branches and ragged extents, for passes to keep right."""

from __future__ import annotations

import random

import numpy as np

from planned_ad.analysis.enclosing import inside, stays_inside
from planned_ad.regions.affine import Affine, Ragged, loop_index
from planned_ad.regions.bounds import Iterations
from planned_ad.regions.regions import Region, View
from planned_ad.tape.tape import Loop, Tape, Value
from tests.blocks import Program

N = 6
UNARY = ("sin", "negative", "tanh")
BINARY = ("add", "subtract", "multiply", "maximum", "add")


class RandomTape:
    """One random tape: blocks of loads, stores and arithmetic on a few small buffers."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.program = Program()
        self.x = self.program.argument("x", N)
        self.A = self.program.argument("A", N, N)
        self.locals = [self.program.local("c"), self.program.local("d"), self.program.local("r", N)]
        self.next_index = 0

    def tape(self) -> Tape:
        program = self.program
        for buffer in self.locals:
            program.store(buffer.whole, program.constant(self.random.choice((0.0, 0.5))))
        self.block([], (), Iterations(), 3)
        program.store(self.x.whole, program.load(self.locals[2].whole), accumulate=True)
        total = program.apply("reduce_sum", program.load(self.A.whole), axes=(0, 1))
        sum_of_x = program.apply("reduce_sum", program.load(self.x.whole), axes=(0,))
        return program.primal(
            program.apply("add", program.apply("add", total, sum_of_x), program.load(self.locals[0].whole))
        )

    def block(self, values: list[Value], loops: tuple[int, ...], around: Iterations, depth: int) -> None:
        values = list(values)
        for _ in range(self.random.randint(2, 6)):
            choice = self.random.random()
            if choice < 0.2 and depth:
                self.loop(values, loops, around, depth - 1)
            elif choice < 0.3 and depth:
                self.branch(values, loops, around, depth - 1)
            elif choice < 0.55:
                self.store(values, loops, around)
            elif choice < 0.75 or not values:
                region = self.region(loops, around)
                if region is not None:
                    values.append(self.program.load(region))
            else:
                values.append(self.computed(values, loops))

    def loop(self, values: list[Value], loops: tuple[int, ...], around: Iterations, depth: int) -> None:
        index, self.next_index = self.next_index, self.next_index + 1
        trips: int = self.random.randint(0, N) if self.random.random() < 0.2 else self.random.randint(1, N)
        start: int = self.random.randint(0, N - trips)
        if loops and self.random.random() < 0.4:
            outer = loop_index(self.random.choice(loops))
            start, trips = self.random.choice(((0, Ragged(N, outer)), (0, Ragged(N + 1, outer + 1)), (outer, 1)))
        step = self.random.choice((1, 1, -1))
        if step < 0 and not isinstance(trips, Ragged):
            start = start + (max(trips, 1) - 1)
        elif step < 0:
            start = trips.expression - 1
        like = Loop(index=index, start=start, step=step, trips=trips, body=())
        with self.program.loop(index, trips, start=start, step=step):
            self.block(values, (*loops, index), inside(around, like), depth)

    def branch(self, values: list[Value], loops: tuple[int, ...], around: Iterations, depth: int) -> None:
        scalars = [v for v in values if v.shape == ()]
        if not scalars:
            return
        predicate = self.program.apply("greater", self.random.choice(scalars), self.program.constant(0.1))
        sides = []
        for _ in range(2):
            with self.program.side() as side:
                self.block(values, loops, around, depth)
            sides.append(side)
        self.program.branch(predicate, *sides)

    def region(self, loops: tuple[int, ...], around: Iterations) -> Region | None:
        """A random region that stays inside its buffer; None where none was found."""
        for _ in range(20):
            buffer = self.random.choice((self.x, self.A, self.A, *self.locals, self.locals[0]))
            offset = Affine(0, ()) * 1 + self.random.randint(0, buffer.span - 1)
            for index in loops:
                offset = offset + loop_index(index) * self.random.choice((0, 1, 1, -1, N))
            length: int = self.random.choice((2, N, N - 2))
            if loops and self.random.random() < 0.3:
                length = Ragged(N, loop_index(self.random.choice(loops)))
            shape = (length,) if self.random.random() < 0.5 and buffer.span > 1 else ()
            view = View(offset, shape, (self.random.choice((1, 1, N, -1)),) * len(shape))
            if stays_inside(buffer, view, around) and self.capacity_fits(shape, around):
                return Region(buffer.id, view)
        return None

    def capacity_fits(self, shape: tuple[int, ...], around: Iterations) -> bool:
        for n in shape:
            if isinstance(n, Ragged):
                bounds = around.bounds(n.expression)
                if bounds is not None and bounds[1] > int(n):
                    return False
        return True

    def store(self, values: list[Value], loops: tuple[int, ...], around: Iterations) -> None:
        region = self.region(loops, around)
        if region is None:
            return
        fitting = [v for v in values if v.shape in ((), region.shape) and v.dtype.kind == "f"]
        if not fitting or self.random.random() < 0.2:
            fitting = [self.program.constant(self.random.choice((0.0, 0.0, 0.25)))]
        self.program.store(region, self.random.choice(fitting), accumulate=self.random.random() < 0.4)

    def computed(self, values: list[Value], loops: tuple[int, ...]) -> Value:
        choice = self.random.random()
        program, a = self.program, self.random.choice(values)
        if choice < 0.3:
            return program.apply("tanh", a) if choice < 0.15 else program.apply(self.random.choice(UNARY), a)
        if choice < 0.4 and a.shape:
            return program.apply("reduce_sum", a, axes=(0,))
        if choice < 0.5 and loops:
            number = program.index_value(loop_index(self.random.choice(loops)) + 1)
            return program.apply("tanh", program.cast(number, np.dtype(float)))
        others = [v for v in values if v.shape in ((), a.shape)]
        product = program.apply(self.random.choice(BINARY), a, self.random.choice(others))
        return program.apply("tanh", product)
