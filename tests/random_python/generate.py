"""Random programs as users write them: arrays and numbers that are traced, and Python's own state around them.

`program(x, y, s)` reads the vectors `x` and `y` and the float `s`, may write to both vectors, and returns a number that
stays of moderate size.
"""

from __future__ import annotations

import random

import numpy as np

from . import lengths, missing, shared
from .bodies import STATEMENTS, loop, statements
from .replaced import SETUP
from .states import STATES
from .tree import Lines, Node, Program
from .writer import Scope, Writer

SIZES = (4, 20, 24)  # of x: fewer and more than the default of `unroll`
HELPERS = """\
def chosen(a, b, k):
    if a[k] > b[k] + 0.0137:
        return a
    return b

def helper(v, w):
    if v > 0.3171:
        b = np.sin(v)
    else:
        b = w * v
    return b * v

def bounded(v):
    if v < 0.2719:
        raise KeyError(v * v)
    return np.cos(v)

def bounded_in_turn(v):
    try:
        w = bounded(v)
    finally:
        v = 0.5 * v
    return bounded(w + v)

def inner(v, w):
    u = v
    for k in range(3):
        u = 0.5 * np.sin(u) + 0.2 * w
    return u * v

def touched(a, w):
    if w > 0.2113:
        a[1] = 0.5
    u = 0.0
    for k in range(20):
        u = 0.5 * u + np.sin(a[k % 3]) * w
    return np.sum(a * a) + u
"""


RESULT = "t + 0.3 * c + np.sum(u) / 7 + 0.1 * np.sum(p * q) + 0.1 * history[len(history) // 2] + 0.1 * rows[-1][0]"


def random_program(seed: int) -> Program:
    """The program of that seed."""
    w = Writer(random.Random(seed))
    w.computes = random.Random(-seed - 2_000_000).random() < 0.2  # other programs are what they were without
    w.replaces = random.Random(-seed - 3_000_000).random() < 0.2
    w.shares = random.Random(-seed - 4_000_000).random() < 0.2
    w.misses = random.Random(-seed - 5_000_000).random() < 0.25
    w.lengthens = random.Random(-seed - 6_000_000).random() < 0.25
    w.favourites = tuple(w.rng.sample(list(STATEMENTS), 2)) if w.chance(0.6) else ()
    x, y = w.rng.choice(SIZES), w.rng.choice((6, 20))
    names = w.rng.sample(list(STATES), w.rng.choice((0, 1, 1, 2, 3)))
    states = [w.fill(STATES[name]) for name in names]
    w.kinds.update(f"state: {name}" for name in names)
    outside: list[Node] = [Lines(HELPERS), *(Lines(state.outside) for state in states if state.outside)]
    body: list[Node] = [
        Lines(f"t, c = {w.rng.choice(('s', '0.1', 'x[0]'))}, 0.2 * s"),
        Lines(f"u = {w.rng.choice(('np.zeros(7)', 'np.linspace(0.0, 1.0, 7)', 'np.full(7, s)'))}"),
        Lines(f"p, q = {w.rng.choice(('y[:3], y[3:6]', 'u[:3], u[4:]', 'x[:3], y[:3]'))}"),
        Lines(f"history, memo = [{w.rng.choice(('s', 't', '0.0'))}], {{}}"),
        Lines(f"rows = [{w.rng.choice(('y', 'y.copy()', '0.5 * p'))}]"),
        *(Lines(state.setup) for state in states if state.setup),
        *([Lines(SETUP)] if w.replaces else []),
        *([Lines(shared.SETUP)] if w.shares else []),
        *([Lines(missing.SETUP)] if w.misses else []),
        *([Lines(lengths.SETUP)] if w.lengthens else []),
    ]
    scope = Scope(
        scalars=("t", "c", "s"),
        arrays=(("x", x), ("y", y), ("u", 7), ("p", 3), ("q", 3)),
        lists=("history",),
        uses=tuple(state.use for state in states),
        steps=tuple(state.step for state in states if state.step),
    )
    end = RESULT
    if random.Random(-seed - 1).random() < 0.3:  # other programs are what they were without tables
        scope, end = with_tables(w, scope, body), RESULT + " + 0.1 * sum(tab) + 0.1 * sum(map(sum, grid))"
    for _ in range(w.rng.choice((1, 1, 2))):
        if w.chance(0.2):
            body += statements(w, scope, 1)
        node = None
        while node is None:
            node = loop(w, scope, size=x)
        body.append(node)
    body.append(Lines(f"return {end}"))
    return Program(tuple(outside), tuple(body), frozenset(w.kinds), (x, y))


NUMBERS = (
    "[0.0] * 9",
    "[0] * 9",
    "[0.1 * j for j in range(9)]",
    "list(y[:6]) + [s, t, c]",
    "[t] * 9",
    "[v for v in u] + [s, s]",
)
GRIDS = (
    "[[0.1] * 4 for _ in range(5)]",
    "[[0.1 * i * j for j in range(4)] for i in range(5)]",
    "[[t] * 4, [s] * 4, [0] * 4, [c] * 4, [0.5] * 4]",
)


def with_tables(w: Writer, scope: Scope, body: list[Node]) -> Scope:
    """The scope with lists of numbers to which the program writes, `tab` and `tub`, and a list of lists, `grid`."""
    body += [
        Lines(f"tab = {w.rng.choice(NUMBERS)}"),
        Lines(f"tub = {w.rng.choice((*NUMBERS, 'tab', 'tab[:]'))}"),
        Lines(f"grid = {w.rng.choice(GRIDS)}"),
    ]
    w.favourites = (*w.favourites, "write item")
    return scope.knows(tables=(("tab", (9,)), ("tub", (9,)), ("grid", (5, 4))))


def arguments(program: Program, seed: int) -> tuple:
    """Arguments of the program; those of another seed may take other branches."""
    rng = np.random.default_rng(seed)
    x, y = program.sizes
    return rng.uniform(-0.6, 1.4, x), rng.uniform(-0.6, 1.4, y), float(rng.uniform(0.2, 1.2))
