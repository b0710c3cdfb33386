"""Random programs with dicts of lists, tuples, arrays and objects whose keys are integers, pairs or texts of data."""

from __future__ import annotations

import random
from collections import OrderedDict, defaultdict
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24
KEYS = {
    "integers": ["int(v * 7)", "int(v * 7) - 3", "int(v * 40) % 6", "-int(v * 3)", "i % 4"],
    "pairs": ["(int(v * 3), int(w * 3))", "(i % 3, int(v * 4) - 2)"],
    "texts": ["('a' if v > 0.6 else 'bc' if v > 0.3 else 'd')", "('low' if v < 0.5 else 'high')"],
    "narrow": ["labels[i]", "labels[i]"],
}


class Tally:
    def __init__(self, v=0.0):
        self.n, self.t = 0, v

    def add(self, v):
        self.n += 1
        self.t = self.t * 0.9 + v

    def value(self):
        return self.t * self.n


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.kind = r.choice(["integers", "integers", "pairs", "texts", "narrow"])
        self.key = r.choice(KEYS[self.kind])
        kinds = ["numbers", "numbers", "numbers", "tuples", "pairs in lists", "records", "objects", "dicts"]
        self.items = r.choice(kinds)
        made = {
            "numbers": ["defaultdict(list)", "defaultdict(list)", "{}", "OrderedDict()"],
            "pairs in lists": ["defaultdict(list)", "{}"],
            "records": ["defaultdict(lambda: [0, 0.5])", "{}"],
            "objects": ["defaultdict(Tally)", "{}"],
            "dicts": ["defaultdict(lambda: {'n': 0, 's': 0.5})", "{}"],
            "tuples": ["{}", "defaultdict(lambda: (0.5, 1))"],
        }
        self.made = r.choice(made[self.items])
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

    def fill(self) -> None:
        r = self.random
        value = r.choice(["v", "v * w", "1.0", "v * v"])
        grows = self.made.startswith("defaultdict")
        if self.items in ("numbers", "pairs in lists"):
            item = value if self.items == "numbers" else f"({value}, i)"
            forms = [
                [f"D.setdefault(k, []).append({item})"],
                ["if k not in D:", "    D[k] = []", f"D[k].append({item})"],
                ["if k in D:", f"    D[k].append({item})", "else:", f"    D[k] = [{item}]"],
                [f"D[k] = D.get(k, []) + [{item}]"],
                ["if v > 0.4:", f"    D.setdefault(k, []).append({item})"],
                ["g = D.get(k)", "if g is None:", f"    D[k] = [{item}]", "else:", f"    g.append({item})"],
            ]
            if grows:
                forms += [[f"D[k].append({item})"]] * 5 + [[f"D[k] += [{item}]"], [f"D[k].extend([{item}, {item}])"]]
        elif self.items == "records":
            forms = [["if k not in D:", "    D[k] = [0, 0.5]", "D[k][0] += 1", f"D[k][1] += {value}"]]
            forms += [["if k in D:", f"    D[k][1] *= {value}", "else:", f"    D[k] = [1, {value}]"]]
            if grows:
                forms += [["e = D[k]", "e[0] += 1", f"e[1] += {value}"], ["D[k][0] += 1", f"D[k][1] -= {value}"]] * 2
        elif self.items == "dicts":
            forms = [["if k not in D:", "    D[k] = {'n': 0, 's': 0.5}", "D[k]['n'] += 1", f"D[k]['s'] += {value}"]]
            forms += [["if k in D:", f"    D[k]['s'] *= {value}", "else:", f"    D[k] = {{'n': 1, 's': {value}}}"]]
            if grows:
                forms += [["e = D[k]", "e['n'] += 1", f"e['s'] += {value}"]] * 3
        elif self.items == "objects":
            forms = [["if k not in D:", "    D[k] = Tally()", f"D[k].add({value})"]]
            forms += [["if k in D:", f"    D[k].add({value})", "else:", f"    D[k] = Tally({value})"]]
            if grows:
                forms += [[f"D[k].add({value})"], ["e = D[k]", "e.n += 2", f"e.t -= {value}"]] * 2
        else:
            forms = [
                ["a, b = D.get(k, (0.0, 1))", f"D[k] = (a + {value}, b + 1)"],
                [
                    "if k in D:",
                    "    a, b = D[k]",
                    f"    D[k] = (max(a, {value}), i)",
                    "else:",
                    f"    D[k] = ({value}, 0)",
                ],
                [f"D[k] = ({value}, i)"],
                ["if k not in D:", f"    D[k] = ({value}, i)"],
            ]
            if grows:
                forms += [["a, b = D[k]", f"D[k] = (a + {value}, b)"]] * 3
        head = r.choice(["for i in range(len(x)):", "for i in range(len(x)):", "for i in range(3):"])
        body = [f"k = {self.key}", *r.choice(forms)]
        self.lines += [head, "    v, w = x[i], x[len(x) - 1 - i]", *("    " + line for line in body)]

    def of(self, item: str) -> str:
        """A number that an item comes to."""
        forms = {
            "numbers": ["sum({})", "len({})", "max({})", "np.mean({})", "sum(v * v for v in {})", "{}[-1]", "{}[0]"],
            "pairs in lists": ["sum(a * (1 + b) for a, b in {})", "len({})", "{}[-1][0]", "sum([a for a, b in {}])"],
            "records": ["{0}[0] * {0}[1]", "{}[1]"],
            "objects": ["{}.value()", "{}.t"],
            "tuples": ["{0}[0] * {0}[1]", "{}[0]"],
            "dicts": ["{0}['n'] * {0}['s']", "{}['s']"],
        }
        return self.random.choice(forms[self.items]).format(item)

    def change(self) -> None:
        r = self.random
        forms = {
            "numbers": [
                ["for k in D:", "    D[k].append(0.5)"],
                ["for k, g in D.items():", "    if len(g) > 2:", "        g.pop()"],
                ["for g in D.values():", "    g[0] *= 2.0"],
                ["for k in D:", "    D[k] = [v * 0.5 for v in D[k]]"],
                ["D = {k: g for k, g in D.items() if len(g) > 1}"],
                ["for g in D.values():", "    g.sort()"],
            ],
            "pairs in lists": [
                ["for k in D:", "    D[k].append((0.5, 2))"],
                ["for g in D.values():", "    g[0] = (g[0][0] * 2.0, 3)"],
            ],
            "records": [["for e in D.values():", "    e[1] *= 0.5"], ["for k in D:", "    D[k][0] = 2"]],
            "objects": [["for e in D.values():", "    e.add(0.25)"], ["for k, e in D.items():", "    e.n = 3"]],
            "dicts": [["for e in D.values():", "    e['s'] *= 0.5"], ["for k in D:", "    D[k]['n'] = 2"]],
            "tuples": [["for k in D:", "    D[k] = (D[k][0] * 0.5, 2)"]],
        }  # fmt: skip
        found = r.choice(forms[self.items])
        if found[0].startswith("D = "):
            self.made = "{}"
        self.lines += found

    def read(self) -> None:
        r = self.random
        number = {"integers": "k", "narrow": "k", "pairs": "(k[0] - k[1])", "texts": "len(k)"}[self.kind]
        forms = [
            ["for k in D:", f"    s = 0.7 * s + {self.of('D[k]')} * (1.0 + 0.1 * {number})"],
            ["for k, g in D.items():", f"    s = 0.7 * s + {self.of('g')} * (2.0 + 0.1 * {number})"],
            ["for g in D.values():", f"    s = 0.6 * s + {self.of('g')}"],
            [f"s += sum({self.of('g')} for g in D.values())"],
            [f"s += sum({self.of('g')} for g in D.values()) / len(D)"],
            [f"H = {{k: {self.of('g')} for k, g in D.items()}}", "s += sum(H.values())"],
            ["for j, (k, g) in enumerate(D.items()):", f"    s += {self.of('g')} * j * 0.1 + 0.01 * {number}"],
            [f"s += sum({self.of('g')} * y for g, y in zip(D.values(), x))"],
            [f"best = max(D, key=lambda k: {self.of('D[k]')})", f"t += {self.of('D[best]')}"],
            [
                "for i in range(len(x)):",
                "    v, w = x[i], x[len(x) - 1 - i]",
                f"    k = {self.key}",
                "    if k in D:",
                f"        s += {self.of('D[k]')}",
            ],
            ["t += len(D)"],
            [f"s += np.sum([{self.of('g')} for g in D.values()])"],
        ]  # fmt: skip
        if self.kind != "texts":
            forms += [["for k in sorted(D):", f"    s = 0.5 * s + {self.of('D[k]')} * (1.0 + 0.1 * {number})"]]
        if "E = D" in self.lines:
            forms += [[f"s += sum({self.of('g')} for g in E.values())"]] * 3
        found = r.choice(forms)
        if r.random() < 0.15:
            found = ["if x[0] > 0.4:", *("    " + line for line in found)]
        self.lines += found


def function(seed: int) -> Callable:
    names = {"np": np, "OrderedDict": OrderedDict, "defaultdict": defaultdict, "Tally": Tally}
    return function_of(Program(seed).source(), f"<dicts of items {seed}>", **names)
