"""Random loops over queues and lists that get and lose elements at any place, as data decide."""

from __future__ import annotations

import bisect
import random
from collections import deque
from collections.abc import Callable

from .program_lists import function_of

N = 20


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = r = random.Random(seed)
        self.kinds = {name: r.choice(["queue", "queue", "short", "list", "list"]) for name in "ab"}

    def number(self, names: list[str]) -> str:
        return self.random.choice([f"x[{names[-1]}]", "s * 0.1", "x[1] * 0.5", f"{names[0]} * 0.1"])

    def test(self, names: list[str], q: str) -> str:
        r = self.random
        larger = f"x[{names[-1]}] > {r.uniform(-0.5, 0.8):.2f}"
        return r.choice([larger, f"len({q}) > {r.randrange(4)}", f"{q} and {q}[-1] > {self.number(names)}", q])

    def of_any(self, names: list[str], q: str, depth: int) -> list[str]:
        r, number = self.random, self.number(names)
        first = "popleft()" if self.kinds[q] != "list" else "pop(0)"
        match r.randrange(9):
            case 0 | 1:
                return [f"{q}.append({number})"]
            case 2 if depth < 2:
                other = ["else:", *self.block(names, depth + 1)] if r.random() < 0.4 else []
                return [f"if {self.test(names, q)}:", *self.block(names, depth + 1), *other]
            case 3:
                return [f"if {q}: s += {q}.{r.choice([first, 'pop()'])} * 0.3"]
            case 4:
                return [f"s += 0.1 * sum({q})"]
            case 5:
                return [f"for v in {q}: s += 0.05 * v * v"]
            case 6:
                return [f"while len({q}) > {r.randrange(1, 4)} and {q}[-1] < {number}: s += 0.1 * {q}.pop()"]
            case 7:
                return [f"if {q}: {q}[{r.choice(['0', '-1'])}] {r.choice(['=', '+='])} {number}"]
        return [f"s = 0.9 * s + 0.1 * {number}"]

    def of_lists(self, names: list[str], q: str) -> list[str]:
        r, number = self.random, self.number(names)
        where = r.choice(["0", "1", f"len({q}) // 2", "-1", "5", "i % 3"])
        return r.choice(
            [
                [f"{q}.insert({where}, {number})"],
                [f"{q} = [v * 0.9 for v in {q} if v > {r.uniform(-0.5, 0.5):.2f}]"],
                [f"if len({q}) > 4: {q} = {q}[{r.choice(['1:', '-3:', ':3', ':-1'])}]"],
                [f"bisect.insort({q}, {number})"],
                [f"s += 0.1 * bisect.bisect_{r.choice(['left', 'right'])}({q}, {number})"],
            ]
        )

    def block(self, names: list[str], depth: int) -> list[str]:
        r, lines = self.random, list[str]()
        for _ in range(r.randrange(1, 4)):
            q = r.choice("ab")
            if self.kinds[q] == "list" and r.random() < 0.4:
                lines += self.of_lists(names, q)
            elif self.kinds[q] != "list" and r.random() < 0.2:
                lines += [f"{q}.appendleft({self.number(names)})"]
            else:
                lines += self.of_any(names, q, depth)
        return ["    " + line for line in lines]

    def source(self) -> str:
        r, lines = self.random, ["s = 0.1 * x[0]"]
        for q, kind in self.kinds.items():
            items = r.choice(["[]", "[x[0]]", "[x[0], x[1] * 2]"])
            lines.append(f"{q} = " + {"list": items, "queue": f"deque({items})", "short": f"deque({items}, 3)"}[kind])
        for _ in range(r.randrange(1, 3)):
            lines.append(f"for i in range({r.choice([N, 7])}):")
            if r.random() < 0.3:
                lines += ["    for k in range(i % 4):", *("    " + line for line in self.block(["i", "k"], 0))]
            lines += self.block(["i"], 0)
        lines.append("return s + 0.3 * sum(a) + 0.1 * sum(v * (k + 1) for k, v in enumerate(b)) + len(a)")
        return "def f(x):\n" + "".join(f"    {line}\n" for line in lines)


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<queues {seed}>", deque=deque, bisect=bisect)
