"""Random programs with dicts whose keys are integers, pairs of them or texts that data say, and with their order."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24
KEYS = {
    "integers": ["int(v * 7)", "int(v * 7) - 3", "int(np.floor(v * 5))", "int(v * 40) % 6", "-int(v * 3)"],
    "pairs": ["(int(v * 3), int(w * 3))", "(i % 3, int(v * 4) - 2)", "(int(v * 2), i // 5)"],
    "texts": ["('a' if v > 0.6 else 'bc' if v > 0.3 else 'd')", "('low' if v < 0.5 else 'high')"],
    "narrow": ["labels[i]", "labels[i]"],
}
MADE = ["{}", "{}", "dict()", "defaultdict(float)", "defaultdict(int)", "defaultdict(lambda: 1.0)", "Counter()"]


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.kind = r.choice(["integers", "integers", "pairs", "texts", "narrow"])
        self.made = r.choice(MADE)
        self.key = r.choice(KEYS[self.kind])
        narrow = r.choice(["int", "np.int8", "np.uint8", "np.int32", "np.int16"])
        self.lines = [f"labels = np.floor(x * 9).astype({narrow})", "s, t = 0.0, 0.0", f"D = {self.made}"]
        if r.random() < 0.15:
            self.lines += ["E = D"]
        self.fill()
        for _ in range(r.choice([0, 1, 1, 2])):
            r.choice([self.fill, self.change, self.change])()
        for _ in range(r.choice([1, 2, 3])):
            self.read()

    def source(self) -> str:
        return "\n    ".join(["def f(x):", *self.lines, "return s + t"]) + "\n"

    def loop(self, *body: str) -> None:
        r = self.random
        head = r.choice(["for i in range(len(x)):", "for i in range(len(x)):", "for i in range(3):"])
        self.lines += [head, "    v, w = x[i], x[len(x) - 1 - i]", *("    " + line for line in body)]

    def fill(self) -> None:
        r, key = self.random, self.key
        value = r.choice(["v", "v * w", "1.0", "v * v", "1"])
        join = r.choice(["+", "+", "*"])
        forms = [
            [f"D[k] = D.get(k, 0.0) {join} {value}"],
            ["if k in D:", f"    D[k] {join}= {value}", "else:", f"    D[k] = {value} * 2"],
            ["if k not in D:", "    D[k] = 0.5", f"D[k] {join}= {value}"],
            [f"D[k] = {value}"],
            [f"D.setdefault(k, {value})"],
            ["if v > 0.5:", f"    D[k] = D.get(k, 0.0) {join} {value}"],
        ]
        if "default" in self.made or "Counter" in self.made:
            forms += [[f"D[k] {join}= {value}"]] * 6 + [[f"s += D[k] * {value}"]]
        self.loop(f"k = {key}", *r.choice(forms))

    def change(self) -> None:
        r = self.random
        self.lines += r.choice([
            ["for k in D:", "    D[k] *= 0.5"],
            ["for k in D:", "    D[k] = 1.5"],
            ["for k, v in D.items():", "    D[k] = v * v + 0.1"],
            ["t = sum(D.values())", "for k in D:", "    D[k] = D[k] / (1.0 + t)"],
            ["D = {k: v * 2.0 for k, v in D.items()}"],
            ["D = {k: v for k, v in D.items() if v > 0.3}"],
            ["G = dict(D)", "for k in G:", "    G[k] += 1.0", "s += sum(G.values())"],
            ["for k in list(D):", "    D[k] += 0.25"],
            ["for k, v in D.items():", "    if v > 0.7:", "        D[k] = 0.5 * v"],
        ])  # fmt: skip
        if self.lines[-1].startswith("D = "):
            self.made = "{}"

    def read(self) -> None:
        r = self.random
        number = {"integers": "k", "narrow": "k", "pairs": "(k[0] - k[1])", "texts": "len(k)"}[self.kind]
        forms = [
            ["for k in D:", f"    s = 0.7 * s + D[k] * (1.0 + 0.1 * {number})"],
            ["for k, v in D.items():", f"    s = 0.7 * s + v * (2.0 + 0.1 * {number})"],
            ["for v in D.values():", "    s = 0.6 * s + v * v"],
            ["s += sum(v * v for v in D.values())"],
            ["s += sum(D.values()) * len(D)"],
            ["if D:", "    t += max(D.values()) - min(D.values())"],
            ["if D:", "    k = max(D, key=D.get)", f"    t += D[k] * {number}"],
            ["for j, (k, v) in enumerate(D.items()):", f"    s += v * j * 0.1 + 0.01 * {number}"],
            ["a = list(D.values())", "t += sum(a[:2]) + len(a)"],
            ["s += sum(v * y for v, y in zip(D.values(), x))"],
            ["t += sum([v for k, v in D.items() if v > 0.4])"],
            [
                "for k in D:",
                "    if D[k] > 0.5:",
                "        s = 0.9 * s + D[k]",
                "    else:",
                f"        s += 0.01 * {number}",
            ],
            ["H = {}", "for k, v in D.items():", "    H[k] = v + 1.0", "s += sum(H.values())"],
            ["i = 1", "v, w = x[0], x[1]", f"k = {self.key}", "if k in D:", "    s += D[k]"],
            ["i = 2", "v, w = x[2], x[3]", f"k = {self.key}", "s += D.get(k, 0.5)"],
        ]
        if self.kind != "texts":
            forms += [
                ["for k in sorted(D):", f"    s = 0.5 * s + D[k] * (1.0 + 0.1 * {number})"],
                ["for k, v in sorted(D.items()):", "    s = 0.5 * s + v"],
            ]
        forms.append(["for k, v in sorted(D.items(), key=lambda kv: -kv[1])[:3]:", "    s = 0.5 * s + v"])
        if self.made == "Counter()":
            forms += [["for k, n in D.most_common(2):", "    s = 0.5 * s + n"], ["t += D.total()"]]
        if "E = D" in self.lines:
            forms += [["s += sum(E.values())"]] * 3
        found = r.choice(forms)
        if r.random() < 0.2:
            found = ["if x[0] > 0.4:", *("    " + line for line in found)]
        self.lines += found


def function(seed: int) -> Callable:
    names = {"np": np, "Counter": Counter, "defaultdict": defaultdict}
    return function_of(Program(seed).source(), f"<ordered dicts {seed}>", **names)
