"""Random loops over heaps: pushed to, popped, replaced, on sides of tests, and read in ways that only a list knows."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

NUMBERS = ("x[k]", "x[k] ** 2 + 0.1 * k", "t + x[k] ** 2", "np.sin(3 * x[k])", "s * 0.1", "0.3")
SECOND = ("k", "k % 3", "len(q)", "n")
STATEMENTS = (
    "heapq.heappush(q, {i})", "heapq.heappush(q, {i})", "heapq.heappush(q, {i})",
    "if q: t = heapq.heappop(q){f}; s += t * (k + 1)",
    "if len(q) > 1: t = heapq.heapreplace(q, {i}){f}; s += np.cos(t)",
    "t = heapq.heappushpop(q, {i}){f}; s += t * t", "if q: s += q[0]{f}", "s += len(q) * 0.1",
    "while len(q) > 3: s += heapq.heappop(q){f}", "if q and q[0]{f} < x[k]: heapq.heappop(q); n += 1",
    "s += sum(v{f} for v in q)", "q.append({i})", "if len(q) > 2: q.pop()", "s += max(q){f} if q else 0.0",
)  # fmt: skip
ENDS = (
    "while q: s = 0.9 * s + heapq.heappop(q){f}", "s += sum(v{f} * (i + 1) for i, v in enumerate(q))",
    "s += sum(v{f} * (i + 1) for i, v in enumerate(sorted(q)))", "s += t",
)  # fmt: skip
BEGINNINGS = (
    "q = []", "q = [{i}]", "q = [{a}, {b}]", "q = [{i} for k in range(4)]; heapq.heapify(q)",
    "q = [{i} for k in range(4)]; heapq.heapify(q)", "q = [{a}] * 3",
)  # fmt: skip
TESTS = ("x[k] > 0.4", "k % 2 == 0", "t < 0.8")


def source(seed: int) -> str:
    pick = random.Random(seed)
    is_pair = pick.random() < 0.5

    def item(number: str) -> str:
        return f"({number}, {pick.choice(SECOND)})" if is_pair else number

    def filled(choices: tuple[str, ...]) -> str:
        names = {"i": item(pick.choice(NUMBERS)), "a": item("0.1"), "b": item("0.2"), "f": "[0]" if is_pair else ""}
        return pick.choice(choices).format(**names)

    lines = ["def f(x):", "    s, t, k, n, q = 0.0, 0.0, 0, 0, []", f"    {filled(BEGINNINGS)}"]
    lines.append(f"    for k in range({pick.choice([3, 12, 12])}):")
    for _ in range(pick.randrange(1, 5)):
        statement = filled(STATEMENTS)
        if not statement.startswith(("if", "while")) and pick.random() < 0.35:
            lines += [f"        if {pick.choice(TESTS)}:", f"            {statement}"]
        else:
            lines.append(f"        {statement}")
    return "\n".join([*lines, f"    {filled(ENDS)}", "    return s + t + n + len(q)\n"])


def function(seed: int) -> Callable:
    return function_of(source(seed), f"<heap {seed}>", np=np, heapq=heapq)
