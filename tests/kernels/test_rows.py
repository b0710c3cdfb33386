"""Every row of the rule table as a compiled kernel, against the NumPy evaluation of the row; made from the table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planned_ad.passes.inline import lower_calls
from planned_ad.regions.regions import View, c_strides
from planned_ad.rules import RULES, Rule
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.tape import Tape, Value
from tests.compiled_tape import CompiledTape
from tests.rules.cases import CASES, OTHERS
from tests.sweeps import left_out, rotated

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
INTEGERS = tuple(np.dtype(name) for name in ("int64", "int32", "int8", "uint8", "uint64"))
BOOL = np.dtype(bool)
SHAPES = [(), (0,), (1,), (3,), (8,), (21,), (4, 5)]
LAYOUTS = ("C", "F", "strided", "negative")
SPECIALS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 1e-300, 700.0, 2.0]
TOLERANCE = {FLOATS[0]: 1e-13, FLOATS[1]: 1e-6}

ELEMENTWISE = [name for name in sorted(RULES) if RULES[name].kind == "elementwise"]


def layout(shape: tuple[int, ...], kind: str) -> View:
    """The view that an argument of this shape and layout is."""
    if kind == "C":
        return View(0, shape, c_strides(shape))
    if kind == "F":
        return View(0, shape, c_strides(shape[::-1])[::-1])
    factor = 2 if kind == "strided" else -1
    return View(0, shape, tuple(factor * s for s in c_strides(shape)))


def dtypes_of(rule: Rule) -> list[tuple[np.dtype, ...]]:
    """The dtypes of the operands to test with."""
    arity, found = len(rule.adjoints), []
    for kinds in rule.kinds:
        if len(kinds) == 1:
            same = {"f": FLOATS, "i": INTEGERS, "b": (BOOL,)}[kinds]
            found += [(d,) * arity for d in same]
        else:
            found.append(tuple({"f": FLOATS[0], "i": INTEGERS[0], "b": BOOL}[k] for k in kinds))
            if "f" in kinds:
                found.append(tuple({"f": FLOATS[1], "b": BOOL}[k] for k in kinds))
    return found


def number(rng: np.random.Generator, rule: Rule, position: int, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    low, high = rule.samples[min(position, len(rule.samples) - 1)] if rule.samples else (-2, 2)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return np.asarray(rng.uniform(low, high, shape)).astype(dtype)
    low = max(low, 0) if dtype.kind == "u" else low
    return np.asarray(rng.integers(math.ceil(low), math.floor(high) + 1, shape)).astype(dtype)


class Program:
    """One tape that applies a row to many operands, each result stored to a buffer of its own."""

    def __init__(self) -> None:
        self.builder = TapeBuilder()
        self.inputs: list[np.ndarray] = []
        self.arguments: list[int] = []
        self.results: list[int] = []
        self.expected: list[tuple[str, np.ndarray, float]] = []  # each with the row, and its tolerance

    def operand(self, array: np.ndarray, kind: str) -> Value:
        buffer = self.builder.new_buffer("argument", "x", array.dtype, layout(array.shape, kind))
        self.arguments.append(buffer.id)
        self.inputs.append(array)
        return self.builder.load(buffer.whole)

    def apply(self, rule: Rule, operands: list[np.ndarray], kind: str, parameters: dict, tolerance: float) -> None:
        values = [self.operand(a, kind) for a in operands]
        out = self.builder.apply(rule.name, *values, **parameters)
        buffer = self.builder.new_buffer("result", "y", out.dtype, layout(out.shape, kind))
        self.builder.store(buffer.whole, out)
        self.results.append(buffer.id)
        with np.errstate(all="ignore"):
            self.expected.append((rule.name, np.asarray(rule.evaluate(*operands, **parameters)), tolerance))

    def check(self, scheduled: float = 1e-6) -> None:
        """Compiled results against NumPy's, and against those of the schedule to `scheduled`."""
        tape: Tape = lower_calls(self.builder.tape((*self.arguments, *self.results), (), frozenset()))
        compiled = CompiledTape(tape)
        actual = compiled.run(self.inputs)
        for a, (name, e, tolerance) in zip(actual[len(self.inputs) :], self.expected, strict=True):
            assert a.dtype == e.dtype, name
            if e.dtype.kind == "f":
                np.testing.assert_allclose(a, e, tolerance, tolerance * 1e-2, equal_nan=True, err_msg=name)
            else:
                np.testing.assert_array_equal(a, e, name)
        for a, e in zip(compiled.scheduled(self.inputs, 1, True), actual):
            np.testing.assert_allclose(a, e, rtol=scheduled, atol=scheduled * 1e-2, equal_nan=True)
        for a, e in zip(actual, self.inputs):
            np.testing.assert_array_equal(a, e)


@pytest.mark.parametrize("at_all", [False, left_out(True)])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_dtype_and_length(name: str, at_all: bool) -> None:
    """Lengths around the width of a vector, scalars, and operands that are scalars beside arrays."""
    rule, program = RULES[name], Program()
    rng, turn = np.random.default_rng(3), ELEMENTWISE.index(name)
    for dtypes in dtypes_of(rule) if at_all else dtypes_of(rule)[turn % 2 :: 2] or dtypes_of(rule):
        shapes = [(), (3,)] if at_all else [[(), (3,)][turn // 2 % 2]]
        tolerance = TOLERANCE.get(dtypes[-1], 0.0)
        for parameters in map(dict, rule.examples):
            if parameters.get("n", 1) < 0 and dtypes[0].kind != "f":
                continue
            for shape in [*shapes, (21,)]:
                operands = [number(rng, rule, k, d, shape) for k, d in enumerate(dtypes)]
                program.apply(rule, operands, "C", parameters, tolerance)
            if len(dtypes) > 1:
                operands = [number(rng, rule, k, d, () if k else (9,)) for k, d in enumerate(dtypes)]
                program.apply(rule, operands, "negative", parameters, tolerance)
    program.check()


def grouped(names: list[str]) -> list[list[str]]:
    """A few rows each, which one kernel has."""
    return [names[k : k + 8] for k in range(0, len(names), 8)]


@pytest.mark.parametrize(
    "names", grouped([n for n in ELEMENTWISE if "f" in "".join(RULES[n].kinds) and n != "expn"]), ids="-".join
)
def test_special_values(names: list[str]) -> None:
    """Zeros of both signs, infinities, NaN and subnormals, in every pair of operands; `expn` has whole orders only."""
    program = Program()
    for name in names:
        apply_to_special_values(program, RULES[name])
    program.check()


def apply_to_special_values(program: Program, rule: Rule) -> None:
    dtypes = next(d for d in dtypes_of(rule) if FLOATS[0] in d)
    specials = np.array(SPECIALS)
    mesh = [m.reshape(-1) for m in np.meshgrid(*[specials] * min(len(dtypes), 2), indexing="ij")]
    operands = [mesh[k % 2 if k < 2 else 0] if d.kind == "f" else mesh[0] > 0 for k, d in enumerate(dtypes)]
    for parameters in map(dict, rule.examples):
        if rule.name == "cast" and np.dtype(parameters["dtype"]).kind == "i":
            continue  # converting NaN to an integer is undefined
        program.apply(rule, operands, "C", parameters, 1e-13)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, BOOL], ids=str)
@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_layout(dtype: np.dtype, kind: str) -> None:
    """Reads, writes, casts and choices for every memory layout and shape."""
    rng = np.random.default_rng(4)
    program, tolerance = Program(), TOLERANCE.get(dtype, 0.0)
    for shape in SHAPES:
        a, b = (number(rng, RULES["add"], k, dtype, shape) for k in range(2))
        program.apply(RULES["maximum"], [a, b], kind, {}, tolerance)
        program.apply(RULES["less"], [a, b], kind, {}, tolerance)
        program.apply(RULES["cast"], [a], kind, {"dtype": FLOATS[0]}, tolerance)
    program.check()


@pytest.mark.parametrize(("name", "casts"), rotated(sorted(OTHERS), [None, np.float32]))
def test_whole_arrays(name: str, casts: type | None) -> None:
    """Reductions, scans, products, views and gathers."""
    for part in np.array_split(np.arange(len(CASES[name])), max(1, len(CASES[name]) // 8)):
        program = Program()
        for case in (CASES[name][k] for k in part):
            case = case if casts is None else case.cast(casts)
            tolerance = 1e-12 if casts is None else 1e-5
            program.apply(case.rule, list(case.operands), "C", case.parameters, tolerance)
        # LAPACK's and NumPy's solutions of a system in single precision differ by its condition.
        factors = casts is not None and RULES[name].kind == "matrix"
        program.check(1e-5 if factors else 1e-6)
