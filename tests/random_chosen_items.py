"""Random loops that choose from short lists of arrays, pairs or objects by data, while these are written to."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .program_lists import function_of


@dataclass
class Item:
    w: np.ndarray
    v: float


KINDS = {  # how an item is made, and how its array and its number are read
    "array": ("{w}", "{o}", "{o}[1]"),
    "pair": ("({w}, {v})", "{o}[0]", "{o}[1]"),
    "object": ("Item({w}, {v})", "{o}.w", "{o}.v"),
}
ARRAYS = ("x[:3] * u", "base * u", "base", "np.sin(x[1:4])", "x[2:5]", "x[:3]")
PLACES = ("k", "k", "k", "i % len(h)", "k - 1", "0", "-1")


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.made, self.array, self.number = KINDS[self.random.choice(list(KINDS))]

    def item(self) -> str:
        return self.made.format(w=self.random.choice(ARRAYS), v=self.random.choice(["u", "0.5", "x[3] * u"]))

    def statements(self, depth: int) -> list[str]:
        pick, kind = self.random, self.random.random()
        place = f"{pick.choice(['h', 'h', 'h', 'other'])}[{pick.choice(PLACES)}]"
        array, number = self.array.format(o=place), self.number.format(o=place)
        if kind < 0.45:
            return [
                f"t += {pick.choice([f'np.sum({array}) * u', f'{number} * u', f'{array} @ base', f'{array}[k % 3]'])}"
            ]
        if kind < 0.53:
            return [f"{place} = {self.item()}"]
        if kind < 0.6:
            return [pick.choice([f"{array}[1] = t * 0.01", f"w = {array}", f"w = {array}"])]
        if kind < 0.66:
            return [pick.choice(["w *= 0.9", "w[0] = u", "t += w[2]"])]
        if kind < 0.72:
            return [pick.choice(["base[1] = u", "base *= 0.9", "base = base + u"])]
        if kind < 0.76:
            return [f"h.append({self.item()})"]
        if kind < 0.82:
            return [f"for o in h: t += {self.number.format(o='o')} * 0.1"]
        if kind < 0.86:
            return ["other = h"]
        if depth:
            return ["t *= 0.9"]
        return [f"if {pick.choice(['u > 0.5', 'i > 3', 'k == 1'])}:", *self.block(depth + 1)]

    def block(self, depth: int) -> list[str]:
        return ["    " + line for _ in range(self.random.randrange(1, 3)) for line in self.statements(depth)]

    def source(self) -> str:
        body = [line for _ in range(self.random.randrange(1, 5)) for line in self.statements(0)]
        items = ", ".join(self.item() for _ in range(4))
        made = self.random.choice([f"[{items}]", f"[{self.item()} for u in x[:4]]"])
        return "\n".join(
            [
                "def f(x):",
                "    base, u, t, w = x[3:6] * 0.5, 0.3, 0.1, x[:3] * 0.5",
                f"    h = {made}",
                "    other = h",
                "    for i, u in enumerate(x):",
                "        k = int(u * 3.99)",
                f"        t += {self.number.format(o='h[k]')}",
                *("        " + line for line in body),
                f"    t += sum({self.number.format(o='o')} + np.sum({self.array.format(o='o')}) for o in h)",
                "    return t + np.sum(w)\n",
            ]
        )


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<chosen {seed}>", np=np, Item=Item)
