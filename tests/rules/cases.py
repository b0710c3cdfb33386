"""Test points for every row of the rule table, drawn from the row's own hints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planned_ad.regions.regions import View, contiguous
from planned_ad.rules import RULES, Rule
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.callees import Callee

from .matrix_cases import MATRIX_CASES

SHAPES = [(), (3,), (2, 3), (0,), (2, 0)]


@dataclass(frozen=True)
class Case:
    """A row with operands and parameters."""

    rule: Rule
    operands: tuple[np.ndarray, ...]
    parameters: dict

    def __str__(self) -> str:
        shapes = ",".join(f"{a.dtype.char}{list(a.shape)}" for a in self.operands)
        return f"{self.rule.name}({shapes}{''.join(f' {k}={v}' for k, v in self.parameters.items())})"

    @property
    def floating(self) -> tuple[int, ...]:
        """The operands that have a derivative."""
        known = self.rule.adjoints
        refused = {k for k in range(len(known)) if self.rule.refused and known[k] is None}
        return tuple(k for k, a in enumerate(self.operands) if a.dtype.kind == "f" and k not in refused)

    def evaluate(self, *operands: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(self.rule.evaluate(*(operands or self.operands), **self.parameters))

    def cast(self, dtype) -> Case:
        operands = tuple(a.astype(dtype) if a.dtype.kind == "f" else a for a in self.operands)
        return Case(self.rule, operands, self.parameters)


def draw(rng: np.random.Generator, kind: str, interval: tuple[float, float], shape: tuple[int, ...]) -> np.ndarray:
    low, high = interval
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind == "i":
        return np.asarray(rng.integers(math.ceil(low), math.floor(high) + 1, shape))
    return np.asarray(rng.uniform(low, high, shape))


def elementwise_cases(rule: Rule) -> list[Case]:
    rng = np.random.default_rng(20)
    arity = len(rule.adjoints)
    intervals = [rule.samples[min(k, len(rule.samples) - 1)] if rule.samples else (-2, 2) for k in range(arity)]
    layouts = [(shape,) * arity for shape in SHAPES]
    if arity > 1:
        layouts += [tuple((3,) if j == k else () for j in range(arity)) for k in range(arity)]

    def operands(kind: str, shapes) -> tuple[np.ndarray, ...]:
        return tuple(draw(rng, k, i, s) for k, i, s in zip(kind * (arity // len(kind)), intervals, shapes))

    return [
        Case(rule, operands(kind, shapes), example)
        for example in map(dict, rule.examples)
        for kind in rule.kinds
        for shapes in layouts
        if not (kind == "i" and example.get("n", 1) < 0)
    ]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(0.5, 2, shape)


def with_zeros(*shape: int) -> np.ndarray:
    a = numbers(*shape)
    a.reshape(-1)[1::3] = 0
    return a


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).integers(-3, 4, shape)


def bools(*shape: int) -> np.ndarray:
    return integers(*shape) > 0


REDUCED = [((), ()), ((4,), (0,)), ((2, 3), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((2, 3, 4), (0, 2)), ((2, 3), ())]
SCANNED = [
    {"axis": axis, "reverse": reverse, "exclusive": exclusive}
    for axis in (0, 1)
    for reverse in (False, True)
    for exclusive in (False, True)
]
CONTRACTED = [
    ("i", "i", ""),
    ("ij", "j", "i"),
    ("ij", "jk", "ki"),
    ("bij", "bjk", "bik"),
    ("i", "j", "ij"),
    ("ij", "ij", ""),
    ("ij", "ij", "ji"),
    ("ab", "bca", "ac"),
    ("", "ij", "ji"),
    ("", "", ""),
]
EXTENTS = dict(zip("abcijk", (2, 3, 4, 3, 4, 2)))


def reduce_cases(make, empty: bool = True):
    yield from (((make(*shape),), {"axes": axes}) for shape, axes in REDUCED)
    yield (make(3, 0),), {"axes": (0,)}
    if empty:
        yield (make(0),), {"axes": (0,)}
        yield (make(2, 0),), {"axes": (1,)}


def contract_cases(make):
    for labels in CONTRACTED:
        a, b, out = (tuple("abcijk".index(name) for name in group) for group in labels)
        shapes = ([EXTENTS[name] for name in group] for group in labels[:2])
        yield tuple(make(*shape) for shape in shapes), {"a_labels": a, "b_labels": b, "out_labels": out}


def callee() -> Callee:
    """Of two integer arrays: their sum, and twice the first; packed in one group."""
    builder = TapeBuilder()
    arguments = [builder.new_buffer("argument", "ab"[k], np.dtype(np.int64), contiguous((2, 3))) for k in range(2)]
    a, b = (builder.load(buffer.whole) for buffer in arguments)
    results = (builder.apply("add", a, b), builder.apply("add", a, a))
    tape = builder.tape(tuple(buffer.id for buffer in arguments), results, frozenset())
    kind = ((2, 3), np.dtype(np.int64))
    return Callee(name="sum_and_double", operands=(kind, kind), results=(kind, kind), tape=tape)


OTHERS = {
    "call": [((integers(2, 3), integers(2, 3) + 1), {"callee": callee(), "group": 0})],
    "reduce_sum": [*reduce_cases(numbers), *reduce_cases(integers)],
    "reduce_prod": [*reduce_cases(numbers), *reduce_cases(with_zeros), *reduce_cases(integers)],
    **{name: [*reduce_cases(numbers, False), *reduce_cases(integers, False)] for name in ("reduce_max", "reduce_min")},
    **{name: list(reduce_cases(bools)) for name in ("reduce_any", "reduce_all")},
    "cumulate": [
        ((make(*shape),), {**scan, "operation": operation})
        for make in (numbers, with_zeros, integers)
        for shape in ((3, 4), (1, 2), (0, 2), (2, 0))
        for operation in ("add", "multiply")
        for scan in SCANNED
    ]
    + [
        ((make(3, 4),), {**scan, "operation": operation})
        for make in (numbers, integers)
        for operation in ("maximum", "minimum", "fmax", "fmin")
        for scan in SCANNED
        if not scan["exclusive"]
    ],
    "recurrence": [
        ((make(*shape), numbers(*shape) - 1), {"axis": axis, "reverse": reverse, "form": form})
        for make in (numbers, with_zeros)
        for shape in ((3, 4), (1, 2), (0, 2), (2, 0))
        for axis in (0, 1)
        for reverse in (False, True)
        for form in ("inclusive", "late", "exclusive")
    ],
    "contract": [*contract_cases(numbers), *contract_cases(integers)],
    "view": [
        ((numbers(3, 4),), {"view": View(1, (3, 2), (4, 2))}),
        ((numbers(3, 4),), {"view": View(11, (4, 3), (-1, -4))}),
        ((numbers(3),), {"view": View(0, (2, 3), (0, 1))}),
        ((numbers(),), {"view": contiguous((1, 1))}),
        ((numbers(0, 2),), {"view": contiguous((2, 0))}),
        ((bools(3, 4),), {"view": View(0, (3,), (5,))}),
    ],
    "gather": [
        ((numbers(4, 3), np.array([3, 0, 3])), {}),
        ((numbers(4, 3), np.array([[3, 0], [1, 1]]), np.array([[0, 0], [2, 1]])), {}),
        ((numbers(4, 3), np.array(2), np.array(1)), {}),
        ((integers(4), np.zeros(0, np.int64)), {}),
    ],
    **MATRIX_CASES,
    "nonzero": [
        ((np.array([[True, False], [True, True]]),), {"count": 3}),
        ((np.zeros(0, bool),), {"count": 0}),
        ((np.array(True),), {"count": 1}),
        ((np.array([False, True, False, True]),), {"count": 4, "padded": True}),
    ],
    "argsort": [
        ((numbers(7),), {"axis": 0}),
        ((np.array([2.0, np.nan, -1.0, np.nan, 2.0, -0.0, 0.0]),), {"axis": 0}),
        ((numbers(3, 5),), {"axis": 0}),
        ((integers(2, 3, 4) % 3,), {"axis": 2}),
        ((bools(3, 4),), {"axis": 1}),
        ((numbers(3, 0),), {"axis": 1}),
    ],
}

CASES = {
    name: elementwise_cases(rule)
    if rule.kind == "elementwise"
    else [Case(rule, operands, parameters) for operands, parameters in OTHERS.get(name, ())]
    for name, rule in RULES.items()
}
