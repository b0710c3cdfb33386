"""Random loops over records: lists, dicts and objects that data choose, change, exchange, sort, link and drop."""

from __future__ import annotations

import random
from collections.abc import Callable

from .program_lists import function_of

N = 40
NUMBERS = {
    "v": ("[0]", '["v"]', ".v"),
    "w": ("[1]", '["w"]', ".w"),
    "n": ("[2]", '["n"]', ".n"),
    "p": ("[3]", '["p"]', ".p"),
}
KINDS = ["list", "dict", "object", "local", "floats"]


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        self.random = r = random.Random(seed * 7 + 1)
        self.kind, self.count = r.choice(KINDS), r.choice([3, 5, 5, 6, 18])
        self.links, self.grows, self.shares = r.random() < 0.4, r.random() < 0.4, r.random() < 0.3
        self.walks = self.links and r.random() < 0.6
        self.is_object = self.kind in ("object", "local")
        self.gains, self.scores = self.is_object and r.random() < 0.4, self.is_object and r.random() < 0.3
        self.length = "len(q)" if self.grows or r.random() < 0.3 else str(self.count)

    def of(self, name: str, field: str) -> str:
        """An item of a record."""
        place = 2 if self.is_object else 1 if self.kind == "dict" else 0
        return name + NUMBERS[field][place]

    def new(self, first: str, second: str) -> str:
        if self.is_object:
            return f"R({first}, {second})" if self.random.random() < 0.7 else f"R({first})"
        link, zero = self.links, "0.0" if self.kind == "floats" else "0"
        if self.kind == "dict":
            return f'{{"v": {first}, "w": {second}, "n": 0' + (', "p": None}' if link else "}")
        return f"[{first}, {second}, {zero}" + (", None]" if link else "]")

    def made(self) -> list[str]:
        """The class of objects."""
        if not self.is_object:
            return []
        lines = ["class R:", "    def __init__(self, v, w=1.0):", "        self.v, self.w, self.n = v, w, 0"]
        lines += ["        self.p = None"] if self.links else []
        if self.gains:
            lines += [
                "    def gain(self, d):",
                "        self.v += d",
                "        self.n += 1",
                "        return self.v * self.w",
            ]
        if self.scores:
            lines += ["    @property", "    def score(self):", "        return self.v * self.w + self.n"]
        return lines

    def statement(self) -> list[str]:
        r, n = self.random, self.length
        field = r.choice(["v", "v", "w"])
        item, b = self.of("q[k]", field), lambda name: self.of("b", name)
        other = r.choice([f"(k + 1) % {n}", f"t % {n}", f"({n}) - 1 - k"])
        choices = [
            [f"{item} {r.choice(['+=', '-=', '*='])} {r.choice(['v', '0.5', '0.1 * t', '0.3 * v'])}"],
            ["b = q[k]", f"{b(field)} = 0.5 * {b('v')} + {r.choice(['v', '0.1', b('w')])}", f"{b('n')} += 1"],
            [f"j = {other}", r.choice(["q[k], q[j] = q[j], q[k]", "one = q[k]; q[k] = q[j]; q[j] = one"])],
            [f"q.sort(key=lambda b: {r.choice(['', '-'])}{b(field)})"],
            [f"b = {r.choice(['min', 'max'])}(q, key=lambda b: {b(field)})", f"{b('w')} += 0.05 * v", f"s += {b('v')}"],
            ["for b in q:", f"    {b(field)} {r.choice(['*= 0.97', '+= 0.01 * v'])}"],
            [f"q[k] = {self.new('v', '0.7')}"],
            [f"s += {self.of('q[k]', 'v')} * {self.of('q[k]', 'w')}"],
            self.in_pairs(),
        ]
        choices += [["s += q[k].score * v"]] * self.scores + [["s += q[k].gain(0.2 * v)"]] * self.gains
        choices += [[f"{self.of('u[k % len(u)]', field)} += 0.1 * v", f"s += {item}"]] * self.shares
        choices += [self.linked(other), self.linked(other)] * (self.links and not self.walks)
        choices += [self.walked(), self.walked()] * self.walks
        choices += [[f"q.append({self.new('v * 0.5', '1.5')})"], self.dropped()] * self.grows
        return r.choice(choices)

    def in_pairs(self) -> list[str]:
        a, b = ((self.of(name, "v"), self.of(name, "w")) for name in "ab")
        exchange = f"        {a[1]}, {b[1]} = {b[1]}, {a[1]}"
        return ["for a, b in zip(q, q[1:]):", f"    if {a[0]} > {b[0]}:", exchange]

    def linked(self, other: str) -> list[str]:
        link = self.of("q[k]", "p")
        if self.random.random() < 0.5:
            return [f"j = {other}", f"{link} = q[j]"]
        return [f"if {link} is not None:", f"    s += {self.of(link, 'v')}", f"    {self.of(link, 'w')} += 0.1 * v"]

    def walked(self) -> list[str]:
        if self.random.random() < 0.6:
            return [f"node = {self.new('v', '0.5')}", f"{self.of('node', 'p')} = head", "head = node"]
        value = f"    s += {self.of('head', 'v')} * {self.of('head', 'w')}"
        return ["if head is not None:", value, f"    head = {self.of('head', 'p')}"]

    def dropped(self) -> list[str]:
        where = self.random.choice(["", "0", "-1"])
        return ["if len(q) > 2:", f"    b = q.pop({where})", f"    s += {self.of('b', 'v')}"]

    def block(self) -> list[str]:
        if self.random.random() > 0.35:
            return self.statement()
        lines = [f"if v > {self.random.choice(['0', '0.3', '-0.5'])}:", *indented(self.statement())]
        return lines + ["else:", *indented(self.statement())] if self.random.random() < 0.4 else lines

    def source(self) -> str:
        r, n = self.random, self.length
        if r.random() < 0.6:
            lines = [f"q = [{self.new('x[i]', r.choice(['1.0', '0.5 * x[i + 1]']))} for i in range({self.count})]"]
        else:
            lines = [
                "q = []",
                f"for i in range({self.count}):",
                f"    q.append({self.new('x[i]', '1.0 + 0.1 * x[i + 3]')})",
            ]
        lines += ["s = 0.0"] + [f"u = {r.choice(['q[:]', 'list(q)', '[b for b in q]'])}"] * self.shares
        lines += ["head = None"] * self.walks
        body = [
            "v = x[(t * 7 + 3) % 40]",
            r.choice([f"k = int(abs(v) * {r.choice([3, 7, 10])}) % {n}", f"k = t % {n}"]),
        ]
        for _ in range(r.choice([2, 3, 4])):
            body += self.block() + [f"k = k % {n}"] * self.grows
        lines += [f"for t in range({r.choice([6, 18, 20, 24])}):", *indented(body)]
        v, w, n = (self.of("b", field) for field in "vwn")
        lines += [f"s += sum({v} ** 2 * {w} + {n} for b in q)"]
        value = f"    s += 0.5 * {self.of('head', 'v')} * {self.of('head', 'w')}"
        lines += ["while head is not None:", value, f"    head = {self.of('head', 'p')}"] * self.walks
        lines += [f"s += sum({v} for b in u)"] * self.shares + ["return s"]
        if self.kind == "local":
            return "\n".join(["def f(x):", *indented(self.made() + lines)]) + "\n"
        return "\n".join([*self.made(), "def f(x):", *indented(lines)]) + "\n"


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<records {seed}>")
