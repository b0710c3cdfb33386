"""States that are members of enumerations, as data say: loops are recorded once, which member is a test of data."""

from __future__ import annotations

import enum
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .interpreted_plans import assert_right
from .random_state_machines import SIZE, Gear, Phase, function
from .sweeps import name_of, rotated

LONG = [pytest.param(seed, seed % 2 * 16, marks=pytest.mark.long) for seed in range(12, 400)]


class Planet(enum.Enum):
    NEAR = (0.4, 1.0)
    FAR = (3.0, 0.2)

    def __init__(self, distance, mass):
        self.distance, self.mass = distance, mass

    @property
    def pull(self):
        return self.mass / self.distance**2


def hopper(x):
    phase, z, speed, energy = Phase.FALL, 1.0 + x[0], 0.0, 0.0
    for v in x:
        if phase is Phase.FALL:
            pull = -9.81
            if z < 0.9 and speed < 0.0:
                phase = Phase.STAND
        else:
            pull = -9.81 + 400.0 * (0.9 - z) - v * speed
            energy += speed**2
            if z >= 0.9 and speed > 0.0:
                phase = Phase.FALL
        speed += 0.02 * pull
        z += 0.02 * speed
    return z + energy


def tables(x):
    gear, ratios, times = Gear.FALL, {Gear.FALL: 3.0, Gear.STAND: 2.0, Gear.RISE: 1.0}, {}
    total = 0.0
    for v in x:
        total += ratios[gear] * v
        times[gear] = times.get(gear, 0) + 1
        gear = Gear.RISE if v > 0.7 else Gear.STAND if v > 0.3 else Gear.FALL
    return total + sum(times.get(gear, 0) ** 2 * x[0] for gear in Gear)


def matched(x):
    state, total = Phase.FALL, 0.0
    for v in x:
        match state:
            case Phase.FALL:
                total += v
                state = Phase.STAND if v > 0.4 else state
            case Phase.STAND | Phase.RISE:
                total -= v**2
                state = Phase.RISE if v > 0.6 else Phase.FALL
    return total * (2.0 if state == Phase.FALL else 1.0)


def logged(x):
    log, state = [], None
    for v in x:
        if v > 0.5:
            state = Phase.RISE
        elif v < 0.2:
            state = Phase.FALL
        if state is not None and state is not Phase.RISE:
            log.append(state)
    return len(log) * x[0] + log.count(Phase.FALL) * x[1] + isinstance(state, Phase) * x[2]


def values_and_names(x):
    state, total = Phase.FALL, 0.0
    for v in x:
        total += v * state.value + (state.name == "RISE") * v**2 + v * (Phase.STAND.value < state.value)
        state = Phase.RISE if v > 0.5 else Phase.STAND
    return total


def with_attributes(x):
    planet, total = Planet.NEAR, 0.0
    for v in x:
        total += v * planet.mass + planet.pull
        planet = Planet.FAR if v > 0.5 else Planet.NEAR
    return total


class Heating(enum.Enum):
    IDLE = enum.auto()
    ON = enum.auto()
    OFF = enum.auto()

    def following(self, t):
        if self is Heating.IDLE:
            return Heating.ON if t < 0.3 else Heating.OFF if t > 0.7 else self
        return Heating.IDLE if self is Heating.ON and t > 0.5 else self.after(t)

    def after(self, t):
        return Heating.IDLE if t < 0.5 else self

    @property
    def power(self):
        return {Heating.IDLE: 0.0, Heating.ON: 1.5, Heating.OFF: -0.5}[self]


def methods_of_members(x):
    state, t, total = Heating.IDLE, 0.2, 0.0
    for v in x:
        state = state.following(t)
        t += 0.2 * state.power + 0.1 * (v - t)
        total += t * v + abs(state.power)
    return total


FOLLOWED = [methods_of_members, hopper, tables, matched, logged, values_and_names]


@pytest.mark.parametrize(("f", "unroll"), rotated(FOLLOWED, [0, 1]), ids=name_of)
def test_they_are_loops(f: Callable, unroll: int) -> None:
    found = trace(f, (np.linspace(0.05, 0.95, SIZE),), unroll=unroll)
    assert found.rolled and not found.unrolled
    assert_right(f, SIZE, 1, unroll)


def test_what_members_have_beside_their_values() -> None:
    assert_right(with_attributes, SIZE, 1, 16)


@pytest.mark.parametrize(("seed", "unroll"), [*rotated(range(12), [0, 16]), *LONG])
def test_random_programs(seed: int, unroll: int) -> None:
    assert_right(function(seed), SIZE, seed, unroll)
