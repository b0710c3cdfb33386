"""Random programs with dicts whose keys are texts that data or loops choose, or pairs of such and of integers."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from .program_lists import function_of

SIZE = 24
TEXTS = ("on", "off", "idle")


class Program:
    """The source of one, from a seed."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.kind = r.choice(["text", "text", "text", "with_integer", "two_texts"])
        self.names = ["D"] if r.random() < 0.7 else ["D", "E"]
        self.lines = ["s, last, word = 0.0, 'on', 'off on'"]
        self.lines += [f"{name} = {self.made()}" for name in self.names]
        if r.random() < 0.1:
            self.lines.append(f"F = {self.names[0]}")
        self.lines.append("for i in range(20):")
        self.chosen("    ")
        for _ in range(r.choice([1, 2, 3])):
            self.statement("    ")
        if r.random() < 0.3:
            self.lines.append("    " + r.choice(["last = m", "if x[i] > 0.6:\n            last = m"]))
        if len(self.names) > 1 and r.random() < 0.3:
            self.lines.append(r.choice(["D, E = E, D", "    D, E = E, D", f"    E = {self.made()}", "D = E"]))
        for _ in range(r.choice([0, 1, 2])):
            self.afterwards()

    def source(self) -> str:
        keys = [self.key_of(a, b) for a in TEXTS for b in self.others()]
        last = [f"s += {k + 1} * {name}.get({key}, 0.25)" for name in self.names for k, key in enumerate(keys)]
        return "\n    ".join(["def f(x):", *self.lines, *last, f"return s + 0.1 * len({self.names[0]})"]) + "\n"

    def key_of(self, text: str, other: object) -> str:
        return repr(text) if self.kind == "text" else f"({text!r}, {other!r})"

    def others(self) -> tuple:
        """What stands beside a text in a key."""
        return (0, 1) if self.kind == "with_integer" else TEXTS if self.kind == "two_texts" else (0,)

    def made(self) -> str:
        r = self.random
        values = r.choice([["0"], ["0.0"], ["x[0]", "1.0"], ["0", "1.5", "x[2] * x[3]"]])
        texts = r.choice([TEXTS, TEXTS, TEXTS[:2], TEXTS[1:2], ()])
        pairs = [f"{self.key_of(t, o)}: {r.choice(values)}" for t in texts for o in self.others()]
        if r.random() < 0.1 and self.kind == "text" and texts:
            return f"dict.fromkeys({texts!r}, {r.choice(values)})"
        return "{" + ", ".join(pairs) + "}"

    def chosen(self, depth: str) -> None:
        r = self.random
        forms = [
            ["if x[i] > 0.66:", "    m = 'on'", "elif x[i] < 0.3:", "    m = 'off'", "else:", "    m = 'idle'"],
            ["m = 'on' if x[i] > 0.5 else 'off' if x[i] * x[i + 1] < 0.2 else 'idle'"],
            ["m = ('on', 'off', 'idle')[int(3 * x[i])]"],
            ["m = ['idle', 'on'][int(x[i] > x[i + 2])]"],
            ["m = 'off'", "if last == 'on' and x[i] > 0.4:", "    m = 'idle'", "last = m if x[i] > 0.2 else 'on'"],
            ["m = word.split()[i % 2]"],
        ]
        self.lines += [depth + line for line in r.choice(forms)]

    def key(self) -> str:
        r = self.random
        text = r.choice(["m"] * 5 + ["last", "'on'"])
        if self.kind == "text":
            return text
        return f"{text}, {r.choice(['i % 2', '0', 'int(2 * x[i])'] if self.kind == 'with_integer' else ['last', 'm'])}"

    def statement(self, depth: str) -> None:
        r, name, key, other = self.random, self.random.choice(self.names), self.key(), self.key()
        a, b = (key, other) if self.kind == "text" else (f"({key})", f"({other})")
        value = r.choice(["x[i]", "x[i] * s", "0.5", "i", "1", "x[i] ** 2"])
        default = r.choice(["0.0", "1", "x[i]"])
        forms = [
            [f"{name}[{key}] = {value}"],
            [f"{name}[{key}] = {name}.get({a}, {default}) + {value}"],
            [f"{name}[{key}] = {name}.get({a}, {default}) * 0.9 + {value}"],
            [f"if {a} in {name}:", f"    {name}[{key}] += {value}"],
            [f"if {a} not in {name}:", f"    {name}[{key}] = {default}", f"{name}[{key}] += {value}"],
            [f"if {b} in {name} and x[i] > 0.3:", f"    {name}[{key}] = {name}[{other}] * 0.9"],
            [f"s += {name}.get({a}, {default}) * 0.1"],
            [f"s += {name}.setdefault({a}, {default}) * 0.1"],
            [f"try:\n            {name}[{key}] += {value}\n        except KeyError:\n            s += 0.5"],
            [f"if {a} in {name} and x[i] > 0.8:", f"    s += {name}.pop({a})"],
            [f"s += 0.1 * len({name})"],
            [f"s += 0.1 * sum({name}.values())"],
            [f"for k, v in {name}.items():", "    s += 0.1 * v * len(k)"],
            [f"for k in {name}:", f"    {name}[k] *= 0.9"],
            [f"{name} = dict({name})"],
            [f"{name}.update({{{a}: {value}}})"],
            [f"s += 0.01 * max({name}.values(), default=0.0)"],
        ]
        for line in r.choice(forms):
            self.lines.append(depth + line)

    def afterwards(self) -> None:
        r, name = self.random, self.random.choice(self.names)
        self.lines.append(
            r.choice(
                [
                    f"s += sum({name}.values())",
                    f"s += sum(v * (k + 1) for k, v in enumerate({name}.values()))",
                    f"s += sum(v * len(k) for k, v in {name}.items())",
                    f"s += len(list({name})[0]) if {name} else 0.0",
                    f"s += max({name}.values(), default=0.0)",
                    f"{name}['more'] = 2.0" if self.kind == "text" else f"s += len({name})",
                    f"{name} = {{k: v / 2 for k, v in {name}.items()}}",
                    f"s += sorted({name}.values())[0] if {name} else 0.5",
                ]
            )
        )


def function(seed: int) -> Callable:
    return function_of(Program(seed).source(), f"<text keys {seed}>", np=np)
