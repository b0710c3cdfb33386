"""Random loops whose state is a member of an enumeration, a text or None, as data say."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24


class Phase(enum.Enum):
    FALL = 0
    STAND = 1
    RISE = 2


class Gear(enum.Enum):
    FALL = "low"
    STAND = "middle"
    RISE = "high"


class Level(enum.IntEnum):
    FALL = 0
    STAND = 1
    RISE = 2


RATES = {kind: {kind.FALL: 0.5, kind.STAND: 1.5, kind.RISE: -0.7} for kind in (Phase, Gear, Level)}


class Body:
    def __init__(self, state):
        self.state = state
        self.seen = []


def following(kind, state, v):
    if state is kind.FALL and v > 0.4:
        return kind.STAND
    if state == kind.STAND:
        return kind.RISE if v > 0.5 else kind.FALL
    return kind.FALL if v < 0.3 else state


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.kind = r.choice(["Phase", "Phase", "Gear", "Level"])
        self.lines = [
            "s, count, seen, body = 0.0, 0, [], Body(KIND.FALL)",
            "state, last = KIND.FALL, " + r.choice(["None", "KIND.RISE"]),
        ]
        self.lines.append(f"for i in range({r.choice([24, 20])}):")
        for _ in range(r.choice([1, 2, 3])):
            self.statement("    ")
        for _ in range(r.choice([0, 1])):
            self.afterwards()

    def one(self) -> str:
        return "KIND." + self.random.choice(["FALL", "STAND", "RISE"])

    def test(self) -> str:
        r, a, b = self.random, self.one(), self.one()
        state = r.choice(["state", "state", "last", "body.state"])
        return r.choice(
            [f"{state} is {a}", f"{state} == {a}", f"{state} is not {a}", f"{state} != {a}", f"{state} in ({a}, {b})",
             f"{state} not in ({a}, {b})", f"{a} is {state}", "state is last", "state == last", "last is None",
             f"{state} is {a} or {state} is {b}", f"{state} is {a} and x[i] > 0.3", "body.state is state",
             f"isinstance({state}, KIND)", f"not {state}"]
        )  # fmt: skip

    def statement(self, depth: str) -> None:
        r, a, b, c = self.random, self.one(), self.one(), self.one()
        forms = [
            [f"if {self.test()}:", "    s += x[i]", f"    if x[i] > 0.4: state = {a}", "else:",
             "    s -= 0.5 * x[i] ** 2", f"    if x[i] < 0.7: state = {b}"],
            [f"if state is {a}: s += x[i]", f"elif state is {b}: s += 2 * x[i]", f"else: state = {c}",
             f"if x[i] > 0.5: state = {a}"],
            ["state = following(KIND, state, x[i])"],
            ["state = following(KIND, state, x[i])", "s += RATES[KIND][state] * x[i]"],
            [f"state = {a} if x[i] > 0.6 else {b} if x[i] > 0.3 else state"],
            ["last = state"],
            [f"if {self.test()}: last = state"],
            [f"if {self.test()}: last = None"],
            [f"body.state = {a} if x[i] > 0.5 else {b}"],
            ["body.state = following(KIND, body.state, x[i])"],
            [f"if {self.test()}: s += 1.3 * x[i]"],
            [f"count += {self.test()}"],
            ["s += x[i] * (state.value == state.value)"] if self.kind == "Gear" else ["s += x[i] * state.value"],
            ["s += x[i] * len(state.name)"] if r.random() < 0.3 else [f"s += x[i] if state.name == {a}.name else 0.0"],
            ["seen.append(state)"],
            [f"if {self.test()}: seen.append(state)"],
            ["match state:", f"    case {a}: s += x[i] ** 2", f"    case {b}: state = {c}", "    case _: s -= 0.1"],
            ["for kind in KIND:", "    if kind is state: s += x[i]"],
            [f"while state is {a} and x[i] > 0.5: state = {b if b != a else 'last'}" if b != a else "last = state"],
            [r.choice(["state = list(KIND)[int(3 * x[i])]", "state = KIND.STAND if x[i] > 0.5 else KIND.RISE"])],
        ]  # fmt: skip
        self.lines += [depth + line for line in r.choice(forms)]

    def afterwards(self) -> None:
        self.lines.append(
            self.random.choice(
                [
                    f"s += seen.count({self.one()})",
                    f"s += sum(1.5 for one in seen if one is {self.one()})",
                    "s += len(seen)",
                    f"if {self.test()}: s *= 2".replace("x[i]", "x[3]"),
                    "s += RATES[KIND][state]",
                ]
            )
        )

    def source(self) -> str:
        return (
            "\n    ".join(["def f(x):", *self.lines, "return s + count * x[0] + np.sum(x)"]).replace("KIND", self.kind)
            + "\n"
        )


def function(seed: int) -> Callable:
    names = {each.__name__: each for each in (Phase, Gear, Level, Body, following)}
    return function_of(Program(seed).source(), f"<state machines {seed}>", np=np, RATES=RATES, **names)
