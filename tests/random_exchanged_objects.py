"""Random programs with objects, dicts and lists that take turns, and other names for the arrays in them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .program_lists import function_of

SIZE = 12


class Holder:
    def __init__(self, v):
        self.arr = np.array([v, 1.0])
        self.weight = 1.0


class Slots:
    __slots__ = ("arr", "weight")

    def __init__(self, v):
        self.arr, self.weight = np.array([v, 1.0]), 1.0


@dataclass
class Data:
    v: float
    weight: float = 1.0
    arr: np.ndarray = field(default=None)

    def __post_init__(self):
        self.arr = np.array([self.v, 1.0])


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        kind = r.choice(["Holder", "Slots", "Data", "dict", "list"])
        made = {
            "dict": "dict(arr=np.array([{}, 1.0]), weight=1.0)",
            "list": "[np.array([{}, 1.0]), 1.0]",
        }.get(kind, kind + "({})")
        self.arr = {"dict": "['arr']", "list": "[0]"}.get(kind, ".arr")
        self.weight = {"dict": "['weight']", "list": "[1]"}.get(kind, ".weight")
        self.lines = ["s = 0.0", f"o, p = {made.format('x[0]')}, {made.format('0.3')}", "first = o"]
        self.has_first = r.random() < 0.3  # another name for one of them
        self.lines = self.lines if self.has_first else self.lines[:-1]
        self.lines.append(r.choice([f"ref = o{self.arr}", f"ref = p{self.arr}", f"ref = o{self.arr}[::-1]"]))
        self.lines += [r.choice(["for v in x:", "for v in x:", "for v in x[:3]:"])]
        for _ in range(r.choice([1, 1, 2, 2, 3])):
            self.statement()
        if r.random() < 0.3:
            self.lines.append("if x[1] > 0.5: o, p = p, o")
        if r.random() < 0.3:
            self.lines.append("ref[0] += x[2]")

    def action(self) -> str:
        r = self.random
        if r.random() < 0.4:
            return r.choice(["o, p = p, o", "ref[0] *= 0.7", "ref[-1] += v"])
        first = "first" if self.has_first else "o"
        one, other = r.choice([("o", "p"), ("p", "o"), ("p", first), (first, "p")])
        return r.choice(
            ["o, p = p, o", "ref[0] *= 0.7", "ref[0] += v", f"{one}{self.arr}[1] *= 0.9", f"{one}{self.arr}[0] += v",
             f"{one} = {other}", f"ref = {one}{self.arr}", f"{one}{self.arr} = {one}{self.arr} * 0.9",
             f"{one}{self.arr} = {other}{self.arr}", f"{one}{self.weight} += v",
             f"s += {one}{self.arr}[1] * {other}{self.weight}",
             f"s += ref[0] * {one}{self.arr}[0]", f"{one}{self.arr} *= 0.95", f"{one}{self.arr} = ref * 1.0",
             f"{one}{self.weight} = {other}{self.weight} * 0.5", f"{one}{self.arr}[:] = v"]
        )  # fmt: skip

    def statement(self) -> None:
        r = self.random
        form = r.choice(["plain", "one", "two", "two", "two"])
        if form == "plain":
            self.lines.append(f"    {self.action()}")
            return
        self.lines += [f"    if v > {r.choice([0.3, 0.5, 0.7])}:", f"        {self.action()}"]
        if r.random() < 0.3:
            self.lines.append(f"        {self.action()}")
        if form == "two":
            self.lines += ["    else:", f"        {self.action()}"]

    def source(self) -> str:
        a, w = self.arr, self.weight
        last = f"return s + o{a}.sum() + 0.5 * p{a}[1] + 0.3 * p{a}[0] + ref.sum() + 0.1 * o{w}"
        last += f" + 0.2 * first{a}[0] * first{w}" if self.has_first else ""
        return "\n    ".join(["def f(x):", *self.lines, last]) + "\n"


def function(seed: int, short: bool = False) -> Callable:
    """`short`: with three iterations."""
    names = {each.__name__: each for each in (Holder, Slots, Data)}
    source = Program(seed).source().replace("for v in x:", "for v in x[:3]:" if short else "for v in x:")
    return function_of(source, f"<exchanged objects {seed}{short}>", np=np, **names)
