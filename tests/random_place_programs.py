"""Random functions whose names are bound to views: by branches, loops, helpers, containers; and written in place.

Each is `f(x, y, s)`: vectors of 12 numbers and a float. Names `v0` ... hold arrays of three numbers, which are views of
`x` and `y`, of one another, or memory of their own. What is read through them is what memory holds then.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable

import numpy as np

PRELUDE = """
def pick(a, b, s):
    if a[0] > b[1] + 0.1 * s:
        return a
    return b


def choose(a, b, s):
    return a if s > b[0] else b


def first(a, b):
    return a


def soften(v, s):
    v *= 0.9
    v[0] += 0.1 * np.tanh(s)
    return v


class Box:
    def __init__(self, w):
        self.w = w

    def put(self, w):
        self.w = w

"""
VIEWS = ("x[0:3]", "x[3:6]", "x[2:5]", "x[6:12:2]", "x[8:5:-1]", "y[0:3]", "y[1:4]", "y[6:9]", "y[::4]", "x[9:]")


class Source:
    """A program under construction."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.depth = 1
        self.index: list[str] = []  # variables of the loops around
        self.loops = 0
        self.most = rng.randint(6, 18)
        self.names = [f"v{k}" for k in range(rng.randint(2, 4))]
        features = ["pair", "items", "table", "box", "hist", "get"]
        self.features = [feature for feature in features if rng.random() < 0.25]

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self) -> str:
        return self.rng.choice(self.names)

    def view(self) -> str:
        options = list(VIEWS)
        if self.index and self.rng.random() < 0.2:
            options = [f"x[{self.index[-1]} % 4:{self.index[-1]} % 4 + 3]"]
        return self.rng.choice(options)

    def array(self) -> str:
        rng, a, b = self.rng, self.name(), self.name()
        options = [a, a, self.view(), self.view(), self.view(), f"{a}[::-1]"]
        options += [f"pick({a}, {b}, s)", f"choose({a}, {self.view()}, s)", f"first({a}, {b})", f"soften({a}, s)"]
        options += [f"{a} if {self.condition()} else {rng.choice((b, self.view()))}"]
        options += [f"max({a}, {b}, key=lambda r: r[0])", f"min({a}, {self.view()}, key=lambda r: r[1])"]
        options += ["np.zeros(3)", f"{a}.copy()", f"np.tanh({a} + {b})", f"0.5 * {a}", "np.ones(3) * s"]
        options += [f"[{a}, {b}][{rng.choice((0, 1))}]", f"np.reshape({a}, (3, 1))[:, 0]"]
        for feature, choices in {
            "pair": ("pair[0]", "pair[1]"),
            "items": ("items[0]", "items[1]", "items[-1]"),
            "table": ("table['a']", "table['b']"),
            "box": ("box.w",),
            "hist": ("hist[-1]", "hist[0]"),
            "get": ("get()",),
        }.items():
            if feature in self.features:
                options += 2 * list(choices)
        return rng.choice(options)

    def number(self) -> str:
        rng = self.rng
        name = self.name()
        return rng.choice((f"{name}[{rng.randrange(3)}]", "s", f"x[{rng.randrange(12)}]", f"{rng.uniform(-1, 1):.1f}"))

    def condition(self) -> str:
        a, b = self.number(), self.number()
        return f"s > {b}" if a == b or not ("[" in a or "s" in a) else f"{a} > {b}"

    def body(self, most: int) -> None:
        before = len(self.lines)
        for _ in range(self.rng.randint(1, most)):
            if len(self.lines) < self.most + 6:
                self.statement()
        if len(self.lines) == before:
            self.add("pass")

    def statement(self) -> None:
        options = 4 * [self.bind] + 4 * [self.write] + 3 * [self.branch] + 2 * [self.total, self.swap]
        options += [self.over_names]
        options += 2 * [self.container] if self.features else []
        if self.loops < 2 and self.depth < 4:
            options += [self.loop]
        self.rng.choice(options)()

    def bind(self) -> None:
        self.add(f"{self.name()} = {self.array()}")

    def write(self) -> None:
        rng, name = self.rng, self.name()
        options = [f"{name}[{rng.randrange(3)}] = np.tanh({self.number()})", f"{name} *= 0.9", "x *= 0.9"]
        options += [f"{name}[:] = 0.5 * {self.name()}", f"{self.view()[:]}[...] = 0.8 * {self.name()}"]
        options += [f"np.tanh({self.name()}, out={name})", f"soften({name}, s)", f"y[{rng.randrange(12)}] += 0.1 * s"]
        options += [f"x[{rng.randrange(12)}] = 0.5 * {self.number()}", "y[:6] = 0.9 * x[6:]", "x[:] = np.sin(x)"]
        if self.index:
            options += [f"x[{self.index[-1]} % 12] = 0.7 * {self.number()}"]
        self.add(rng.choice(options))

    def branch(self) -> None:
        if self.depth > 3:
            return self.bind()
        self.add(f"if {self.condition()}:")
        self.depth += 1
        self.body(2)
        self.depth -= 1
        if self.rng.random() < 0.4:
            self.add("else:")
            self.depth += 1
            self.body(2)
            self.depth -= 1
        return None

    def total(self) -> None:
        a, b = self.name(), self.name()
        generator = f"s = 0.5 * s + 0.1 * sum(w[0] for w in ({a}, {b}))"
        self.add(self.rng.choice((f"s += 0.1 * {a}[1]", f"s = 0.5 * s + 0.2 * np.sum({a})", generator)))

    def swap(self) -> None:
        a, b = self.name(), self.name()
        self.add(f"{a}, {b} = {b}, {a}")

    def over_names(self) -> None:
        a, b = self.name(), self.name()
        self.add(f"for w in ({a}, {b}):")
        self.add(self.rng.choice(("    w *= 0.95", "    s += 0.1 * w[0]", f"    {a} = w", "    w[0] = 0.5 * w[1]")))

    def container(self) -> None:
        rng, a, b = self.rng, self.name(), self.name()
        feature = rng.choice(self.features)
        options = {
            "pair": (f"pair = ({a}, {b})", "pair = pair[::-1]", f"pair = (pair[1], {a})", f"{a}, {b} = pair"),
            "items": (f"items[0] = {a}", f"items = [{a}, {b}]", "items[0], items[1] = items[1], items[0]",
                      f"items = [w for w in ({a}, {b})]", "items.reverse()", f"{a} = items[1]"),
            "table": (f"table['a'] = {a}", f"table = {{'a': {a}, 'b': {b}}}",
                      "table['a'], table['b'] = table['b'], table['a']"),
            "box": (f"box.w = {a}", f"box.put({a})", f"box = Box({a})", f"{a}, box.w = box.w, {a}"),
            "hist": (f"hist.append({a})", f"hist.append({a})", f"hist.append({a}.copy())"),
            "get": (f"s += 0.1 * get()[{rng.randrange(3)}]", "soften(get(), s)"),
        }[feature]  # fmt: skip
        self.add(rng.choice(options))

    def loop(self) -> None:
        rng = self.rng
        index, trips = f"i{self.loops}", rng.randint(5, 40) if not self.index else rng.randint(2, 20)
        self.loops += 1
        is_while = rng.random() < 0.15
        if is_while:
            self.add(f"{index} = 0")
        self.add(f"while {index} < {trips}:" if is_while else f"for {index} in range({trips}):")
        self.depth += 1
        if is_while:
            self.add(f"{index} += 1")
        self.index.append(index)
        self.body(6)
        self.index.pop()
        self.depth -= 1

    def program(self) -> str:
        for name in self.names:
            self.add(f"{name} = {self.rng.choice((self.view(), self.view(), 'np.zeros(3)', 'x[:3].copy()'))}")
        a, b = self.name(), self.name()
        for feature in self.features:
            self.add(
                {
                    "pair": f"pair = ({a}, {b})",
                    "items": f"items = [{a}, {b}]",
                    "table": f"table = {{'a': {a}, 'b': {b}}}",
                    "box": f"box = Box({a})",
                    "hist": self.rng.choice((f"hist = [{a}]", f"hist = [{a}.copy()]", f"hist = [{a}.copy(), {b}]")),
                    "get": f"get = lambda: {a}",
                }[feature]
            )
        self.loop()
        while self.loops < 3 and self.rng.random() < 0.5:
            self.statement()
        total = " + ".join(f"{k + 1} * np.sum({name} * w3)" for k, name in enumerate(self.names))
        if "hist" in self.features:
            total += " + sum(h[0] * k for k, h in enumerate(hist))"
        self.add(f"return s + {total}")
        return "w3 = np.array([1.0, -0.7, 0.4])\n" + PRELUDE + "def f(x, y, s):\n" + "\n".join(self.lines) + "\n"


def write_program(seed: int) -> str:
    return Source(random.Random(seed)).program()


def function_of(source: str, seed: object = 0) -> Callable:
    name = f"<places {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict = {"np": np, "__name__": "places"}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def arguments(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=12), rng.normal(size=12), float(rng.normal())
