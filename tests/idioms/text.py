"""Strings, formatting, match statements, walrus, chained comparisons and flags that choose what is computed."""

from __future__ import annotations

import enum
import re

import numpy as np

from .program import Kind, matrix, number, vector, vectors, with_number

TEXT = Kind("text")


@TEXT.add()
def string_that_grows(x):
    log, total = "", 0.0
    for v in x:
        log += "a" if len(log) % 3 else "bc"
        total += v * log.count("b")
    return total


@TEXT.add()
def formatted_keys(x):
    table = {f"w{k:02d}": 0.1 * k for k in range(24)}
    total = 0.0
    for i, v in enumerate(x):
        total += v * table[f"w{i:02d}"]
    return total


@TEXT.add()
def parsed_program(x):
    total = 0.0
    for line, v in zip(("add 2\nmul 0.5\nsin 1\nadd 0.1\n" * 6).split("\n"), x):
        op, arg = line.split()
        if op == "add":
            total = total + float(arg) * v
        elif op == "mul":
            total = total * float(arg)
        else:
            total = np.sin(total)
    return total


@TEXT.add()
def regular_expression_groups(x):
    total = 0.0
    for m, v in zip(re.finditer(r"([a-z])(\d)", "a1b2c3d4" * 6), x):
        total += v * int(m.group(2))
    return total


@TEXT.add()
def match_on_a_tuple(x):
    total = 0.0
    for i, v in enumerate(x):
        match (i % 3, i > 19):
            case (0, False):
                total += v
            case (0, True):
                total -= v
            case (1, _):
                total *= 1.01
            case _:
                total += v**2
    return total


@TEXT.add()
def match_on_commands(x):
    commands = [("push", 2.0), ("scale", 0.5), ("wait",), ("push", -1.0)] * 6
    total = 0.0
    for command, v in zip(commands, x):
        match command:
            case ("push", amount):
                total += amount * v
            case ("scale", factor):
                total *= factor
            case ("wait",):
                total = np.cos(total)
    return total


@TEXT.add()
def match_on_a_dict_and_class(x):
    class Event:
        __match_args__ = ("kind", "size")

        def __init__(self, kind, size):
            self.kind, self.size = kind, size

    events = [Event("up", k) if k % 4 else {"reset": 0.5} for k in range(24)]
    total = 0.0
    for e, v in zip(events, x):
        match e:
            case Event("up", size) if size > 10:
                total += v
            case Event(_, size):
                total += v * size
            case {"reset": level}:
                total = level * total
    return total


@TEXT.add()
def walrus_of_a_counter(x):
    n, total = 0, 0.0
    while (n := n + 1) < 24:
        total += x[n] / n
    return total


@TEXT.add(vector(24, -1.0, 1.0))
def walrus_of_a_traced_value(x):
    total = 0.0
    for v in x:
        if (y := v * v) > 0.3:
            total += y
        else:
            total -= 0.1 * y
    return total


@TEXT.add()
def walrus_in_a_comprehension(x):
    last = 0.0
    ys = [last := 0.9 * last + v for v in x]
    return ys[5] * ys[-1] + last


@TEXT.add(vector(24, -1.0, 1.0))
def chained_comparison_of_data(x):
    total = 0.0
    for v in x:
        if -0.4 < v < 0.6:
            total += np.sin(v)
        elif v >= 0.6 or v < -0.9:
            total += 0.5
    return total * x[0]


@TEXT.add()
def chained_comparison_of_the_index(x):
    total = 0.0
    for i, v in enumerate(x):
        if 3 <= i < 18 != i + 4:
            total += v * i
    return total


class Phase(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Flags(enum.Flag):
    NONE = 0
    A = enum.auto()
    B = enum.auto()


@TEXT.add()
def int_enum_arithmetic(x):
    phase, total = Phase.LOW, 0.0
    for v in x:
        total += v * phase
        phase = Phase(4 - phase)
    return total


@TEXT.add()
def flag_enum_toggled(x):
    flags, total = Flags.NONE, 0.0
    for i, v in enumerate(x):
        flags ^= Flags.A if i % 2 else Flags.B
        if Flags.A in flags and Flags.B in flags:
            total += 2 * v
        elif flags:
            total += v
    return total


@TEXT.add()
def name_of_a_method(x):
    total = 1.0
    for v, name in zip(x, ["sin", "cos", "tanh", "exp"] * 6):
        total += getattr(np, name)(v)
    return total


@TEXT.add()
def einsum_by_a_string(x):
    a = x.reshape(4, 6)
    total = 0.0
    for spec, k in zip(["ij->", "ij,ij->", "ij,kj->"] * 7, range(21)):
        args = (a,) if k % 3 == 0 else (a, a)
        total += np.einsum(spec, *args) / (k + 1)
    return total


@TEXT.add()
def unicode_ordinals(x):
    return sum(v * (ord(c) - 96) for c, v in zip("thequickbrownfoxjumpsoverthelazydog", x))


@TEXT.add()
def text_of_the_state(x):
    state, total = 5, 0.0
    for v in x:
        state = int(str(state * state).zfill(4)[1:3]) + 3
        total += v * state
    return total


@TEXT.add(with_number(20))
def kinds_by_isinstance(x, s):
    items = [1, 2.5, "skip", None, True] * 4
    for item, v in zip(items, x):
        if isinstance(item, bool):
            s = s * 0.9
        elif isinstance(item, int | float):
            s = s + 0.1 * item * v
        elif item is None:
            s = np.sin(s)
    return s


@TEXT.add(matrix(24, 3))
def schema_of_columns(x):
    columns = {"mass": 0, "force": 1, "drag": 2}
    total = 0.0
    for i, row in enumerate(x):
        name = ("mass", "force", "drag", "force")[i % 4]
        total += row[columns[name]] * (i + 1)
    return total


@TEXT.add(number())
def steps_by_a_letter(s):
    plan = "aabacabaabacadabacab" * 2
    kick = dict(zip("abcd", (0.1, -0.2, 0.4, -0.8)))
    for c in plan:
        s = s + kick[c] * np.cos(s)
    return s


@TEXT.add(vectors(20, 20))
def conditional_chain_by_a_string_variable(x, y):
    mode, total = "x", 0.0
    for a, b in zip(x, y):
        total += a if mode == "x" else b if mode == "y" else a * b
        mode = {"x": "y", "y": "xy", "xy": "x"}[mode]
    return total


@TEXT.add()
def repeated_join_and_split(x):
    words, total = "one two three four five".split(), 0.0
    for v in x:
        words = " ".join(words[1:] + words[:1]).split()
        total += v * len(words[0])
    return total
