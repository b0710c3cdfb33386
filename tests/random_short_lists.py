"""Random loops over short lists of arrays, from which tests choose, to which they write, and which they leave."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 40
LISTS = [
    "[x[3 * i : 3 * i + 3] for i in range({n})]",
    "[x[3 * i : 3 * i + 3] * 1.5 for i in range({n})]",
    "[(x[3 * i : 3 * i + 3] + 0.1, 0.5 * i) for i in range({n})]",
    "[(x[3 * i : 3 * i + 3].copy(), x[i]) for i in range({n})]",
]
STATEMENTS = [
    ["if d < best:", "    best = d", "    hit = c"],
    ["if c[1] > 0.6:", "    continue"],
    ["if c[0] > 0.5:", "    s += c[0]", "else:", "    s -= 0.1 * c[2]"],
    ["if d > 1.5:", "    break"],
    ["if c[0] > 0.7:", "    t = 0.9 * t + w"],
    ["t += np.sin(d)"],
    ["if d < 0.7 and c[2] > 0.2:", "    hit = c * 0.5"],
]
RESULTS = [
    ["if hit is not None:", "    s += best * hit[0]"],
    ["s += best"],
    ["if hit is None:", "    s += 0.1", "else:", "    t += hit[1] * hit[2]"],
]


def source(seed: int) -> str:
    r = random.Random(seed)
    made = r.choice(LISTS)
    is_pair, is_view = made.startswith("[("), made == LISTS[0]
    statements = [*STATEMENTS, ["s += 0.01"] if is_view else [f"c[{r.randrange(3)}] *= 0.9"]]
    begins = r.choice(["None", "x[:3]", "L[0][0]" if is_pair else "L[0]"])
    lines = [f"L = {made.format(n=r.choice([2, 3, 4, 5]))}", "s = t = 0.0", f"hit = {begins}"]
    depth = r.choice([1, 1, 2])
    lines += ["    " * k + f"for p{k} in range({r.choice([3, 4, 20])}):" for k in range(depth)]
    body = [f"hit = {r.choice(['None', 'x[3:6]'])}"] * (r.random() < 0.6)
    body += [f"best = {r.choice(['9.0', '0.8', 'x[0]'])}"]
    body += ["for c, w in L:" if is_pair else "for c in L:"]
    inner = ["d = c @ c * (1.0 + 0.1 * p0) - w" if is_pair else "d = c @ c * (1.0 + 0.1 * p0) - 0.3"]
    for statement in r.sample(statements, r.choice([3, 4, 5])):
        inner += statement if is_pair else [line.replace("t + w", "t + 0.3") for line in statement]
    body += ["    " + line for line in inner]
    body += r.choice(RESULTS)
    lines += ["    " * depth + line for line in body]
    return "\n".join(["def f(x):", *("    " + line for line in [*lines, "return s + t"])]) + "\n"


def function(seed: int) -> Callable:
    return function_of(source(seed), f"<short lists {seed}>", np=np)
