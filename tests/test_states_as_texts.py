"""States that are texts, told by dicts of transitions, counted, and asked for parts of themselves: one trace."""

from __future__ import annotations

import enum
from collections import Counter, defaultdict

import numpy as np
import pytest

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 40
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled
TURNS = {("idle", "up"): "run", ("run", "down"): "idle"}


class Gear(enum.IntEnum):
    LOW = 1
    MID = 2
    HIGH = 5


class Mode(enum.StrEnum):
    HEAT = "heat"
    COOL = "cool"


class Rate(float, enum.Enum):
    SLOW = 0.5
    FAST = 1.5


@rolled
def gears(x):
    gear, weights, s = Gear.LOW, {Gear.LOW: 1.0, Gear.MID: 2.5, Gear.HIGH: 0.1}, 0.0
    for v in x:
        if v > 0.6:
            gear = Gear.MID
        elif v < 0.2:
            gear = Gear.HIGH
        s += weights[gear] * v + (2.0 if gear == 2 else 1.0) * v * v + (0.1 * v if gear > Gear.LOW else 0.0) + gear * v
    return s


@rolled
def thermostat(x):
    mode, rate, warm, s = Mode.HEAT, Rate.SLOW, 0.5, 0.0
    for v in x:
        if warm > 0.8:
            mode, rate = Mode.COOL, Rate.FAST
        elif warm < 0.2:
            mode, rate = Mode.HEAT, Rate.SLOW
        warm += rate * (0.3 * v if mode == "heat" else -0.2 * v) + (0.01 if mode is Mode.HEAT else 0.0)
        s += warm * warm
    return s


@program
def members_among_what_they_are_equal_to(x):
    mode, gear, known, s = "heat", Gear.LOW, {"heat": 0.5, "cool": 2.0}, 0.0
    for v in x:
        if v > 0.6:
            mode, gear = Mode.COOL, 2
        elif v < 0.3:
            mode, gear = Mode.HEAT, Gear.HIGH
        known[mode] = known[mode] + 0.1 * v
        s += v * (2.0 if isinstance(mode, Mode) else known["heat"]) + (v if isinstance(gear, Gear) else gear * v * v)
    return s + known["cool"]


@rolled
def counted(x):
    state, c = "idle", Counter()
    for v in x:
        state = "run" if v > 0.6 else "idle" if v < 0.3 else state
        c[state] += 1
    return c["run"] * x[0] + c["idle"] * x[1]


@rolled
def weighed(x):
    state, c = "idle", defaultdict(float)
    for v in x:
        state = "run" if v > 0.6 else "idle" if v < 0.3 else state
        c[state] += v
    return c["run"] * x[0] + c["idle"] * x[1]


@rolled
def what_is_not_there_counts_zero(x):
    c = Counter()
    for v in x:
        c["run" if v > 0.6 else "idle"] += 1
    return c["run"] * x[0] + c["idle"] * x[1] + c["none"]


@rolled
def by_transitions(x):
    state, s = "idle", 0.0
    for v in x:
        event = "up" if v > 0.6 else "down" if v < 0.3 else None
        state = TURNS.get((state, event), state)
        s += v if state == "run" else v * v
    return s


@rolled
def by_transitions_and_counted(x):
    state, count, energy = "idle", Counter(), 0.0
    turns = {("idle", "up"): "run", ("run", "up"): "sprint", ("run", "down"): "idle", ("sprint", "down"): "run"}
    rate = {"idle": 0.1, "run": 1.0, "sprint": 2.5}
    for v in x:
        event = "up" if v > 0.7 else "down" if v < 0.3 else None
        state = turns.get((state, event), state)
        count[state] += 1
        energy += rate[state] * abs(v)
    return energy + count["sprint"] * 0.1 * x[0]


@rolled
def numbered_states(x):
    state, s = 0, 0.0
    turns = {(0, "up"): 1, (1, "down"): 0}
    for v in x:
        state = turns.get((state, "up" if v > 0.6 else "down"), state)
        s += v if state == 1 else v * v
    return s


@rolled
def a_number_or_what_was_computed(x):
    state, s, rate = "a", 0.0, {"a": 0.5, "b": 1.5}
    for v in x:
        state = "a" if v > 0.6 else "b" if v < 0.3 else "c"
        s += rate.get(state, v * s) * v
    return s


@rolled
def parts_of_texts(x):
    state, n, s = "idle", 0, 0.0
    for v in x:
        state = "run" if v > 0.6 else "idle" if v < 0.3 else state
        if state[0] == "r":
            s += v
        if state.startswith("id") or "u" in state:
            n += 1
        if state.upper() == "RUN":
            s += 0.1 * v
        if state + "x" == "runx":
            s += 0.2
        if state < "k":
            s -= 0.1 * v
        s += 0.01 * len(state.replace("i", "ii")) + 0.001 * state.find("n")
    return s + n * x[0]


@rolled
def two_texts_in_a_row(x):
    a, b, c, s = "u", "u", Counter(), 0.0
    for v in x:
        a = "u" if v > 0.6 else "d"
        c[a + b] += 1
        if a + b == "ud":
            s += v
        if a > b:
            s *= 0.9
        b = a
    return s + c["uu"] * x[0] + c["dd"] * x[1]


@program
def an_index_that_one_text_does_not_have(x):
    s = 0.0
    for v in x:
        state = "ab" if v > 0.5 else "c"
        try:
            if state[1] == "b":
                s += v
        except IndexError:
            s -= v
    return s


@program
def what_a_text_cannot_be_asked(x):
    state, s = "ab", 0.0
    for v in x[:8]:
        state = "ab" if v > 0.5 else "c"
        try:
            s += v * (state * v)
        except TypeError:
            s += 2 * v
    return s


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


@pytest.mark.parametrize("seed", range(6))
def test_random_transitions(seed):
    rng = np.random.default_rng(seed)
    states, events = ["a", "bb", "ccc"][: 2 + seed % 2], ["up", "down", "stay"]
    turns = {(s, e): str(rng.choice(states)) for s in states for e in events if rng.random() < 0.6}
    rates = {s: float(rng.random()) for s in states}

    def f(x):
        state, total, count = states[0], 0.0, Counter()
        for v in x:
            event = "up" if v > 0.7 else "down" if v < 0.4 else "stay"
            state = turns.get((state, event), states[0] if seed % 3 == 0 else state)
            count[state, event] += 1
            total += rates[state] * v * len(state) + (0.1 if state[-1] == "b" else 0.0)
        return total + count["a", "up"] * x[0] + count["bb", "stay"] * x[1]

    assert_right(f, SIZE, seed, 16 * (seed % 2))
