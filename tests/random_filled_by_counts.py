"""Random programs whose loops run as often as data say, and fill lists meanwhile; and arrays of such lengths."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        kind = r.choice(["int", "int", "np.int8", "np.uint8", "np.int32", "np.uint16"])
        self.lines = [
            f"m = np.floor(x * {r.choice([3, 5])}).astype({kind})",
            "s, t, out, rows = 0.0, 0.0, [], []",
            "table = np.sin(np.arange(30.0)).reshape(6, 5)",
        ]
        for _ in range(r.choice([1, 1, 2])):
            self.fill()
        for _ in range(r.choice([1, 2, 3])):
            self.read()
        if r.random() < 0.5:
            self.arrays()

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s + t"]) + "\n"

    def fill(self) -> None:
        r = self.random
        outer = r.choice(
            ["for b in range(len(x)):", "for b in range(20):", "for b in range(3):", "for b, v in enumerate(x):"]
        )
        count = r.choice(["m[b]", "m[b]", "m[b] + 1", "2 * m[b]", "int(x[b] * 4)", "len(x[x > v])"])
        loop = r.choice([
            f"for k in range({count}):", f"for k in range({count}):", f"for k in range(1, {count}):",
            f"for k in range(0, {count}, 2):", f"for k in range({count}, 0, -1):", f"for k in np.arange({count}):",
        ])  # fmt: skip
        value = r.choice(["v * k", "v + 0.1 * k", "v", "k", "v * v"])
        bodies = [
            [loop, f"    out.append({value})"],
            [loop, f"    out.append({value})"],
            [loop, f"    rows.append((b, {value}))"],
            [loop, f"    if {r.choice(['v > 0.5', 'k > 1', 'v * k < 0.9'])}:", f"        out.append({value})"],
            [loop, f"    if v * k > {r.choice([0.9, 2.0])}:", "        break", f"    out.append({value})"],
            [loop, f"    out.append({value})", f"    rows.append((k, {value}))"],
            [f"out += [{value} {loop[:-1]}]"],
            [f"out.extend([{value} {loop[:-1]}])"],
            [f"out.extend(v * np.arange({count}))"],
            [f"part = [{value} {loop[:-1]}]", "out += part", "s += 0.01 * len(part)"],
            ["j = 0.0", f"while j < {count}:", "    out.append(v * j)", "    j += 0.75"],
        ]
        if r.random() < 0.15:
            self.lines.append(f"out += [{value} {outer[:-1].replace('b, v', 'b, v')} {loop[:-1]}]")
            self.lines.insert(2, "v = x[0]")
            return
        set_v = [] if "enumerate" in outer else ["v = x[b]"]
        body = r.choice(bodies)
        if r.random() < 0.15:
            body = ["if x[b] > 0.3:", *("    " + line for line in body)]
        self.lines += ["v = x[0]", outer, *("    " + line for line in (*set_v, *body))]

    def read(self) -> None:
        r = self.random
        self.lines += r.choice([
            ["s += sum(q * q for q in out)"],
            ["s += np.sum(np.array(out) ** 2)"],
            ["for q in out:", "    s = 0.9 * s + q"],
            ["for j, q in enumerate(out):", "    s += q * (1 + j % 3)"],
            ["for j, q in rows:", "    t = 0.8 * t + q * (1 + j)"],
            ["s += len(out) + 0.1 * len(rows)"],
            ["if out:", "    t += max(out) + out[-1] + out[0]"],
            ["t += sum(q * (j + 1) for j, q in rows)"],
            ["for q, w in zip(out, x):", "    s += q * w"],
            ["t += sum(sorted(out)[:3])"],
            ["z = np.array(out)", "t += np.sum(np.exp(-np.abs(z)) * np.arange(len(z)))"],
            ["if len(out) > 2:", "    t += sum(b * a for a, b in zip(out, out[1:]))"],
        ])  # fmt: skip

    def arrays(self) -> None:
        r = self.random
        self.lines += r.choice([
            ["w = np.repeat(np.arange(len(m)), m)", "t += np.sum(x[w] ** 2)"],
            ["t += np.sum(np.repeat(x, m) ** 2)"],
            ["for j in range(4):", "    n = m[j] + 1", "    e = np.outer(x[:n], x[5:10])",
             "    t += np.sum(e[np.arange(n), m[:n] % 5])"],
            ["for j in range(20):", "    n = m[j] + 1", "    t += np.sum(table[m[:n], m[n : 2 * n] % 5]) * x[j]"],
            ["for j in range(20):", "    t += np.sum(np.bincount(m[j : j + 5], minlength=5) ** 2) * x[j]"],
            ["for j in range(20):", "    c = x > x[j]",
             "    t += np.sum(np.bincount(m[c], weights=x[c], minlength=5) ** 2)"],
            ["for j in range(20):", "    t += np.sum(np.repeat(x[:4], m[j : j + 4]) * x[j])"],
        ])  # fmt: skip


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<filled by counts {seed}>", np=np)
