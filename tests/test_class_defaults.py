"""Attributes that objects have from their class, `state = "idle"`, until a side of a test sets them."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import TraceError

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 40
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


class Machine:
    state = "idle"
    energy = 0.0

    def step(self, v):
        if v > 0.6:
            self.state = "run"
        elif v < 0.3:
            self.state = "idle"
        if self.state == "run":
            self.energy += v


class Total:
    total = 0.0
    count = 0

    def add(self, v):
        self.total += v
        self.count += 1


class Rated:
    rate = 0.5

    def __init__(self):
        self.v = 0.0

    def step(self, u):
        if u > 0.7:
            self.rate *= 0.9
        self.v += self.rate * u


class Faster(Rated):
    boost = None

    def step(self, u):
        super().step(u)
        if u < 0.2:
            self.boost = u


@rolled
def states(x):
    machine = Machine()
    for v in x:
        machine.step(v)
    return machine.energy + x[0]


@rolled
def several_objects(x):
    totals = [Total() for _ in range(3)]
    for i, v in enumerate(x):
        if v > 0.5:
            totals[i % 3].add(v)
    return sum(a.total**2 * (a.count + 1) for a in totals)


@rolled
def scaled(x):
    found = Rated()
    for u in x:
        found.step(u)
    return found.v * found.rate


@rolled
def of_a_base_class(x):
    found, s = Faster(), 0.0
    for u in x:
        found.step(u)
        if found.boost is not None:
            s += found.boost * u
    return found.v + s


@program
def asked_for_what_it_holds(x):
    machine, s = Machine(), 0.0
    for v in x:
        machine.step(v)
        s += v * ("state" in vars(machine))
    return s + machine.energy


@program
def deleted_again(x):
    machine, s = Machine(), 0.0
    for v in x:
        machine.step(v)
        if v > 0.9 and "state" in vars(machine):
            del machine.state
        s += v if machine.state == "idle" else 2 * v
    return s


@program
def assigned_to_the_class(x):
    one, other, s = Machine(), Machine(), 0.0
    for i in range(20):
        if x[i] > 0.9:
            other.energy += x[i]
        Machine.energy = i
        s += one.energy + other.energy
    Machine.energy = 0.0
    return s * x[0]


@program
def assigned_to_the_class_afterwards(x):
    one, other, s = Faster(), Faster(), 0.0
    for i in range(20):
        if x[i] > 0.9:
            other.rate += x[i]
    Rated.rate = 0.7
    s += one.rate * x[0] + other.rate
    Rated.rate = 0.5
    return s


@program
def all_that_it_holds(x):
    machine, s = Machine(), 0
    for i in range(20):
        if x[i] > 0.9:
            machine.energy += x[i]
        s += len(machine.__dict__) + ("energy" in machine.__dict__)
    return s * x[1] + machine.energy


@program
def deleted_from_another(x):
    one, other, s = Machine(), Machine(), 0
    for i in range(20):
        if x[i] > 0.9:
            other.energy += x[i]
        try:
            del one.energy
            s += 1
        except AttributeError:
            s += 2
    return s * x[1] + other.energy


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


def test_objects_from_outside_keep_nothing_from_call_to_call():
    touched, other = Machine(), Machine()

    def f(x):
        for v in x:
            touched.step(v)
        return touched.energy + (other.energy + 1.0) * x[0]

    low, high = np.full(SIZE, 0.4), np.linspace(0.1, 0.9, SIZE)
    plan = planned_ad.compile(f, (low,), check=False)
    assert plan(low) == 0.4
    with pytest.raises(TraceError, match=r"sets the attribute `(energy|state)` of a Machine that is no argument"):
        plan(high)
    assert plan(low) == 0.4
    assert vars(touched) == vars(other) == {}


def test_state_that_the_comparison_moves():
    """The function runs to be compared, which moves its object: the trace is for where that is then."""
    touched = Machine()

    def f(x):
        for v in x:
            touched.step(v)
        return touched.energy + x[0]

    low = np.full(SIZE, 0.4)
    plan = planned_ad.compile(f, (low,))
    assert touched.energy > 0.0 and touched.state == "idle"
    assert plan(low) == f(low) == touched.energy + 0.4


class Lazy:
    weights = None

    def of(self, x):
        if self.weights is None:
            self.weights = np.arange(1.0, SIZE + 1)
        return self.weights @ x


def test_what_is_computed_at_first_is_kept_outside():
    held = Lazy()
    x = np.linspace(0.0, 1.0, SIZE)
    plan = planned_ad.compile(held.of, (x,))
    for scale in (1.0, 2.0, 3.0):
        assert plan(scale * x) == pytest.approx(np.arange(1.0, SIZE + 1) @ (scale * x), rel=1e-14)
