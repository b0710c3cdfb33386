"""Random loops over generators: tests, exits, `yield` on sides, and state that both functions change."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

OPERATIONS = (
    "({} + {})", "({} - {})", "np.sin({})", "(0.5 * {} * np.tanh({}))", "np.tanh({})", "np.maximum({}, {})",
    "({} if {} > {} else {})",
)  # fmt: skip
CONSTANTS = ("0.7", "-0.3", "1.1")
IN_GENERATOR = ("a", "b", "v", "state.t", "buf[0]", "buf[2]", "x[4]")
IN_BODY = ("s", "u", "w", "q", "state.t", "buf[1]", "x[6]")


class State:
    def __init__(self, t):
        self.t, self.n = t, 0


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def expression(self, names: tuple[str, ...], depth: int = 2) -> str:
        pick = self.random
        if not depth or pick.random() < 0.25:
            return pick.choice(names + CONSTANTS)
        operation = pick.choice(OPERATIONS)
        return operation.format(*(self.expression(names, depth - 1) for _ in range(operation.count("{}"))))

    def test(self, names: tuple[str, ...]) -> str:
        return f"{self.expression(names, 1)} {self.random.choice('<>')} {self.expression(names, 1)}"

    def branch(self, block: Callable[[int], list[str]], names: tuple[str, ...], depth: int) -> list[str]:
        lines = [f"if {self.test(names)}:", *block(depth)]
        return [*lines, "else:", *block(depth)] if self.random.random() < 0.5 else lines

    def generators(self, depth: int = 0) -> list[str]:
        """The body of a loop in a generator."""
        pick, names, found = self.random, IN_GENERATOR, list[str]()
        for _ in range(pick.randrange(1, 4)):
            kind = pick.random()
            if kind < 0.3:
                found.append(f"{pick.choice('ab')} = 0.8 * np.tanh({self.expression(names)})")
            elif kind < 0.45 and depth < 2:
                found += self.branch(self.generators, names, depth + 1)
            elif kind < 0.5:
                found.append(f"if {self.test(names)}: {pick.choice(['continue', 'break', 'return'])}")
            elif kind < 0.58:
                found.append(f"buf[{pick.randrange(3)}] = {self.expression(names, 1)}")
            elif kind < 0.65:
                found.append(f"state.t = 0.9 * np.tanh(state.t + {self.expression(names, 1)})")
            else:
                found.append(f"yield {self.expression(names)}")
        return ["    " + line for line in found]

    def takers(self, depth: int = 0) -> list[str]:
        """The body of the loop that takes the items."""
        pick, names, found = self.random, IN_BODY, list[str]()
        for _ in range(pick.randrange(1, 4)):
            kind, name = pick.random(), pick.choice("suw")
            if kind < 0.45:
                found.append(f"{name} = 0.8 * np.tanh({name} + {self.expression(names)})")
            elif kind < 0.6 and depth < 2:
                found += self.branch(self.takers, names, depth + 1)
            elif kind < 0.68:
                found.append(f"if {self.test(names)}: {pick.choice(['continue', 'break', 'return s'])}")
            elif kind < 0.76:
                found.append(f"buf[{pick.randrange(3)}] = np.tanh(buf[0]) * {self.expression(names, 1)}")
            elif kind < 0.85:
                found.append(f"state.t = 0.9 * np.tanh(state.t + {self.expression(names, 1)})")
            elif kind < 0.92 and not depth:
                found.append(f"log.append({self.expression(names, 1)})")
            else:
                found.append("state.n += 1")
        return ["    " + line for line in found]

    def generator(self, name: str) -> list[str]:
        pick = self.random
        return [
            f"def {name}(items):",
            "    a, b = 0.2, x[5]",
            *(["    yield a"] if pick.random() < 0.15 else []),
            "    for v in items:",
            *("    " + line for line in self.generators()),
            "        yield v * a + b",
            *(["    yield b"] if pick.random() < 0.15 else []),
            *(["    state.t = state.t * 0.5"] if pick.random() < 0.15 else []),
        ]

    def source(self) -> str:
        pick = self.random
        items = "second(first(x))" if pick.random() < 0.3 else "first(x)"
        if pick.random() < 0.15:
            items = f"({pick.choice(['z * z', 'np.sin(z)'])} for z in {items})"
        head = f"for k, q in enumerate({items}):" if pick.random() < 0.15 else f"for q in {items}:"
        body = [
            "state, log, buf = State(x[0]), [], np.array([x[1], x[2], 0.3])",
            "s, u, w = 0.1, x[3], 0.0",
            *self.generator("first"),
            *self.generator("second"),
            head,
            *self.takers(),
            *(["for q in first(x[:5]):", "    s = s + 0.3 * q"] if pick.random() < 0.2 else []),
            "return s + 2.0 * u - w + state.t + buf.sum() + 0.01 * state.n + 0.1 * sum(log)",
        ]
        lines = ["def f(x):", *("    " + line for line in body)]
        return "\n".join(lines) + "\n"


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<generators {seed}>", np=np, State=State)
