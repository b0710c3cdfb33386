"""Every row of the rule table, against NumPy and finite differences; generated from the table.

Derivatives of `view` and `gather` are not rows' adjoints; they are tested with reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.rules import RULES, Rule, register
from planned_ad.rules.algebra import Symbol
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import Interpreter
from planned_ad.tape.tape import Load, Store, Value

from ..sweeps import left_out
from ..tolerances import assert_derivative, assert_same
from .cases import CASES, Case
from .matrix_cases import FACTORED

BY_KIND = {"view", "gather"}  # reverse.py adds these cotangents in place
CONSTANT_BY_DECREE = {"stop_gradient"}
names = pytest.mark.parametrize("name", sorted(RULES))


class Adjoint:
    """The adjoint of `case` in operand `k`, recorded on a tape of its own."""

    def __init__(self, case: Case, k: int, ct: np.ndarray):
        self.builder = builder = TapeBuilder()
        operands = [builder.constant(a) for a in case.operands]
        y = builder.apply(case.rule.name, *operands, **case.parameters)
        cotangent = builder.constant(ct, y.dtype)
        self.names = {y.id: "y", **{v.id: "abcdef"[j] for j, v in enumerate(operands)}, cotangent.id: "ct"}
        symbols = [Symbol(builder, v) for v in (cotangent, y, *operands)]
        adjoint = case.rule.adjoints[k]
        assert adjoint is not None
        self.result: Value = adjoint(*symbols, **case.parameters).value
        self.elementwise = case.rule.kind == "elementwise"
        self.shape = case.operands[k].shape

    @property
    def value(self) -> np.ndarray:
        interpreter = Interpreter(self.builder.buffers)
        interpreter.run(self.builder.operations)
        number = interpreter.value(self.result)
        if self.elementwise and number.shape != self.shape:
            return np.broadcast_to(number, self.shape) if self.shape else np.sum(number, dtype=number.dtype)
        assert number.shape == self.shape
        return number

    @property
    def reads(self) -> set[str]:
        """The names whose numbers the result is computed from, the cotangent apart."""
        producer = {out.id: op for op in self.builder.operations for out in op.outputs if out.id not in self.names}
        stored: dict[int, list[Value]] = {}
        for op in self.builder.operations:
            if isinstance(op, Store):
                stored.setdefault(op.region.buffer, []).append(op.value)
        found, seen, todo = set(), set(), [self.result]
        while todo:
            value = todo.pop()
            if value.id in self.names:
                found.add(self.names[value.id])
            elif value.id not in seen:
                seen.add(value.id)
                op = producer[value.id]
                todo += stored[op.region.buffer] if isinstance(op, Load) else op.inputs
        return found - {"ct"}


def cotangent(case: Case, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=case.evaluate().shape)


def differences(case: Case, k: int, ct: np.ndarray, direction: np.ndarray, step: float = 1e-3) -> float:
    """`<ct, df/d operand k . direction>` by central differences, extrapolated twice (error of order h**6)."""

    def slope(h: float) -> float:
        shifted = [
            case.evaluate(*(a + s * h * direction if j == k else a for j, a in enumerate(case.operands)))
            for s in (1, -1)
        ]
        return float(np.sum(ct * (shifted[0].astype(float) - shifted[1].astype(float)))) / (2 * h)

    coarse, middle, fine = (slope(h) for h in (4 * step, 2 * step, step))
    return (64 * fine - 20 * middle + coarse) / 45


def derivatives(name: str) -> list[tuple[Case, int]]:
    return [
        (case, k)
        for case in CASES[name]
        for k in case.floating
        if case.rule.adjoints[k] is not None and case.evaluate().dtype.kind == "f"
    ]


@names
def test_a_row_has_cases(name: str) -> None:
    assert CASES[name]


@names
def test_infer_agrees_with_evaluate(name: str) -> None:
    for case in CASES[name]:
        for typed in (case, case.cast(np.float32)):
            builder = TapeBuilder()
            out = builder.apply(name, *map(builder.constant, typed.operands), **typed.parameters)
            number = typed.evaluate()
            assert (number.shape, number.dtype) == (out.shape, out.dtype), str(typed)


@names
def test_the_layout_of_operands_does_not_matter(name: str) -> None:
    for case in CASES[name]:
        column_major = [np.array(a, order="F") for a in case.operands]
        strided = [np.stack([a, a], axis=-1)[..., 0] for a in case.operands]
        for operands in (column_major, strided):
            assert_same(case.evaluate(*operands), case.evaluate(), case.evaluate().dtype)


@names
def test_float32_is_float64_rounded(name: str) -> None:
    for case in CASES[name]:
        if case.floating and RULES[name].kind != "other":
            narrow = case.cast(np.float32)
            wide = narrow.cast(np.float64)
            assert_same(narrow.evaluate(), wide.evaluate(), np.float32)


@names
def test_adjoint_agrees_with_finite_differences(name: str) -> None:
    if name in FACTORED:
        pytest.skip("see tests/numpy_functions/test_linear_algebra.py")
    rng = np.random.default_rng(11)
    for case, k in derivatives(name):
        if case.evaluate().dtype != np.float64:
            continue
        ct = cotangent(case)
        direction = np.asarray(rng.normal(size=case.operands[k].shape))
        adjoint = Adjoint(case, k, ct).value
        assert adjoint.dtype == np.float64
        assert_derivative(np.sum(adjoint * direction), differences(case, k, ct, direction))


# Others have a derivative elsewhere, or none by intent.
BY_THEIR_ROWS = [n for n in sorted(RULES) if n not in BY_KIND | CONSTANT_BY_DECREE | FACTORED and not RULES[n].refused]


@pytest.mark.parametrize("name", BY_THEIR_ROWS)
def test_a_missing_adjoint_means_a_zero_derivative(name: str) -> None:
    for case in CASES[name]:
        for k in case.floating:
            if case.rule.adjoints[k] is None:
                direction = np.ones(case.operands[k].shape)
                assert differences(case, k, cotangent(case), direction, 1e-7) == 0.0


@names
def test_adjoint_reads_what_needs_says(name: str) -> None:
    rule = RULES[name]
    assert len(rule.needs) == len(rule.adjoints)
    found: list[set[str]] = [set() for _ in rule.needs]
    for case, k in derivatives(name):
        found[k] |= Adjoint(case, k, cotangent(case)).reads
    assert found == [set(names) for names in rule.needs]


def by_one_operand(cases: list[tuple[Case, int]]) -> list[tuple[Case, int]]:
    """Each case with the adjoint of one operand, of another one from case to case."""
    operands: dict[int, list[int]] = {}
    for case, k in cases:
        operands.setdefault(id(case), []).append(k)
    turns = {case: own[number % len(own)] for number, (case, own) in enumerate(operands.items())}
    return [(case, k) for case, k in cases if turns[id(case)] == k]


of_operands = pytest.mark.parametrize("chosen", [by_one_operand, left_out(list)], ids=["one", "all"])


@of_operands
@names
def test_adjoint_is_linear_in_the_cotangent(name: str, chosen: Callable) -> None:
    for case, k in chosen(derivatives(name)):
        first, second = cotangent(case, 1), cotangent(case, 2)
        separate = Adjoint(case, k, first).value - 3 * Adjoint(case, k, second).value
        assert_same(Adjoint(case, k, first - 3 * second).value, separate, case.evaluate().dtype)


@of_operands
@names
def test_adjoint_in_float32(name: str, chosen: Callable) -> None:
    for case, k in chosen(derivatives(name)):
        narrow, ct = case.cast(np.float32), cotangent(case).astype(np.float32)
        adjoint = Adjoint(narrow, k, ct).value
        assert adjoint.dtype == np.float32
        assert_same(adjoint, Adjoint(narrow.cast(np.float64), k, ct).value, np.float32)


# Points where the formula of the derivative is singular, or the function has a kink.
INFINITY, NAN = np.inf, np.nan
SINGULAR = [
    ("absolute", (0.0,), {}, 0, 0.0),
    ("sqrt", (0.0,), {}, 0, INFINITY),
    ("power", (0.0, 0.0), {}, 0, 0.0),
    ("power", (0.0, 1.0), {}, 0, 1.0),
    ("power", (0.0, 2.0), {}, 0, 0.0),
    ("power", (2.0, 0.0), {}, 0, 0.0),
    ("power", (0.0, 2.0), {}, 1, 0.0),
    ("power", (0.0, 0.0), {}, 1, 0.0),
    ("power", (-2.0, 3.0), {}, 0, 12.0),
    ("power", (-2.0, 3.0), {}, 1, NAN),
    ("integer_power", (0.0,), {"n": 2}, 0, 0.0),
    ("integer_power", (0.0,), {"n": 3}, 0, 0.0),
    ("hypot", (0.0, 0.0), {}, 0, 0.0),
    ("hypot", (0.0, 0.0), {}, 1, 0.0),
    ("logaddexp", (-INFINITY, -INFINITY), {}, 0, 0.0),
    ("logaddexp", (-INFINITY, 0.0), {}, 0, 0.0),
    ("logaddexp", (-INFINITY, 0.0), {}, 1, 1.0),
    ("xlogy", (0.0, 2.0), {}, 0, np.log(2)),
    ("xlogy", (0.0, 0.0), {}, 1, 0.0),
    ("copysign", (-3.0, 1.0), {}, 0, -1.0),
    ("copysign", (3.0, -0.0), {}, 0, -1.0),
    ("copysign", (0.0, 1.0), {}, 0, 1.0),
    ("copysign", (0.0, -1.0), {}, 0, -1.0),
    ("maximum", (2.0, 2.0), {}, 0, 0.5),
    ("maximum", (2.0, 2.0), {}, 1, 0.5),
    ("minimum", (2.0, 2.0), {}, 0, 0.5),
    ("fmax", (2.0, 2.0), {}, 0, 0.5),
    ("fmax", (NAN, 2.0), {}, 0, 0.0),
    ("fmax", (NAN, 2.0), {}, 1, 1.0),
    ("fmin", (2.0, NAN), {}, 0, 1.0),
    ("fmin", (2.0, NAN), {}, 1, 0.0),
    ("remainder", (1.0, 0.1), {}, 1, -9.0),
    ("expit", (-800.0,), {}, 0, 0.0),
    ("tanh", (800.0,), {}, 0, 0.0),
]


@pytest.mark.parametrize(("name", "operands", "parameters", "k", "expected"), SINGULAR)
def test_adjoint_at_singular_points(name, operands, parameters, k, expected) -> None:
    case = Case(RULES[name], tuple(np.array(a) for a in operands), parameters)
    np.testing.assert_allclose(Adjoint(case, k, np.array(1.0)).value, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "a", "expected"),
    [
        ("reduce_max", [1.0, 3.0, 3.0, 2.0], [0, 0.5, 0.5, 0]),
        ("reduce_min", [1.0, 3.0, 1.0, 1.0], [1 / 3, 0, 1 / 3, 1 / 3]),
        ("reduce_max", [1.0, np.nan, 3.0], [np.nan] * 3),
        ("reduce_prod", [2.0, 0.0, 5.0], [0, 10, 0]),
        ("reduce_prod", [2.0, 0.0, 0.0], [0, 0, 0]),
    ],
)
def test_ties_and_zeros_in_reductions(name, a, expected) -> None:
    case = Case(RULES[name], (np.array(a),), {"axes": (0,)})
    np.testing.assert_allclose(Adjoint(case, 0, np.array(1.0)).value, expected)


@pytest.mark.parametrize(
    ("name", "operands", "parameters"),
    [
        ("exp", [np.ones(2, int)], {}),
        ("add", [np.ones(2), np.ones(2, np.float32)], {}),
        ("add", [np.ones(2), np.ones(3)], {}),
        ("add", [np.ones(2)], {}),
        ("logical_and", [np.ones(2), np.ones(2)], {}),
        ("integer_power", [np.ones(2)], {"n": 1}),
        ("integer_power", [np.ones(2, int)], {"n": -2}),
        ("polygamma", [np.ones(2)], {"n": 0}),
        ("reduce_sum", [np.ones((2, 3))], {"axes": (1, 0)}),
        ("reduce_sum", [np.ones((2, 3))], {"axes": (2,)}),
        ("cumulate", [np.ones(2)], {"axis": 1, "operation": "add", "reverse": False, "exclusive": False}),
        ("contract", [np.ones(2), np.ones(2)], {"a_labels": (0,), "b_labels": (1,), "out_labels": (0,)}),
        ("contract", [np.ones(2), np.ones(3)], {"a_labels": (0,), "b_labels": (0,), "out_labels": ()}),
        ("gather", [np.ones(2), np.ones(2)], {}),
    ],
)
def test_infer_refuses(name, operands, parameters) -> None:
    builder = TapeBuilder()
    values = [builder.constant(a) for a in operands]
    with pytest.raises((TypeError, ValueError)):
        builder.apply(name, *values, **parameters)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="already"):
        register(RULES["add"])


def test_a_row_says_what_each_adjoint_needs() -> None:
    with pytest.raises(ValueError, match="needs"):
        register(Rule(name="new", kind="other", infer=None, evaluate=None, adjoints=(None,), needs=()))  # type: ignore[arg-type]


def test_gather_and_nonzero_check_their_operands() -> None:
    with pytest.raises(IndexError):
        RULES["gather"].evaluate(np.ones(3), np.array([-1]))
    with pytest.raises(ValueError, match="true elements"):
        RULES["nonzero"].evaluate(np.array([True]), count=2)
