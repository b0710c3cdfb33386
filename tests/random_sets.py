"""Random programs with sets of integers, pairs of them or texts that data say."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of
from .random_dicts_of_items import KEYS

SIZE = 24


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.kind = r.choice(["integers", "integers", "pairs", "texts", "narrow"])
        self.key = r.choice(KEYS[self.kind])
        known = {"integers": "{0, 2}", "narrow": "{1, 3}", "pairs": "{(0, 1)}", "texts": "{'a', 'low'}"}[self.kind]
        narrow = r.choice(["int", "np.int8", "np.uint8", "np.int32", "np.int16"])
        self.lines = [f"labels = np.floor(x * 9).astype({narrow})", "s, t = 0.0, 0.0"]
        self.lines += [f"S = {r.choice(['set()', 'set()', known])}", f"T = {r.choice(['set()', 'S', known])}"]
        for _ in range(r.choice([1, 2, 2, 3])):
            self.loop()
        for _ in range(r.choice([1, 2])):
            self.read()

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s + t"]) + "\n"

    def loop(self) -> None:
        r = self.random
        one, other = r.choice(["S", "S", "T"]), r.choice(["S", "T"])
        value = r.choice(["v", "v * w", "v * v"])
        forms = [
            [f"if k not in {one}:", f"    {one}.add(k)", f"    s += {value}"],
            [f"if k in {one}:", f"    s += {value}", "else:", f"    {one}.add(k)", "    s -= 0.5 * v"],
            [f"if k in {one}:", "    continue", f"{one}.add(k)", f"s = 0.9 * s + {value}"],
            ["if v > 0.5:", f"    {one}.add(k)", "else:", f"    {other}.add(k)"],
            [f"if k in {one}:", f"    {one}.remove(k)", "else:", f"    {one}.add(k)"],
            [f"{one}.discard(k)"],
            [f"{one}.add(k)", f"t += len({one}) * {value}"],
            [f"if k in {one} and k not in {other}:", f"    t += {value}"],
            [f"{one}.update([k])"],
            [
                "near = set()",
                "for j in range(i):",
                "    if x[j] > v:",
                "        near.add(j % 4)",
                f"s += len(near) * {value}",
            ],
        ]
        head = r.choice(["for i in range(len(x)):", "for i in range(len(x)):", "for i in range(3):"])
        body = [f"k = {self.key}", *r.choice(forms)]
        self.lines += [head, "    v, w = x[i], x[len(x) - 1 - i]", *("    " + line for line in body)]

    def read(self) -> None:
        r = self.random
        number = {"integers": "k", "narrow": "k", "pairs": "(k[0] - k[1])", "texts": "len(k)"}[self.kind]
        forms = [
            ["t += len(S) * x[3]"],
            ["if S:", "    t += x[2]"],
            ["for i in range(len(x)):", "    v, w = x[i], x[0]", f"    if {self.key} in S:", "        t += v * w"],
            ["t += sum(x[i] for i in range(6) if i in S)"],
            ["s += len(S | T) * x[1]"],
            ["s += (S == T) * x[4] + x[5] * len(S & T)"],
            ["H = S.copy()", "H.add(77)", "t += len(H) * x[6] + len(S)"],
            ["for k in sorted(S):", f"    t = 0.5 * t + x[1] * {number}"],
        ]
        self.lines += r.choice(forms)


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<sets {seed}>", np=np)
