"""Adjoints are expressions of the same rule table, and can be differentiated again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.differentiate.reverse import reverse
from planned_ad.errors import NotDifferentiableError
from planned_ad.regions.regions import contiguous
from planned_ad.rules import RULES
from planned_ad.rules.algebra import Symbol
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import interpret, memory_of
from planned_ad.tape.tape import Tape
from planned_ad.tape.verify import verify

from ..tolerances import assert_derivative
from .cases import Case
from .test_rules import cotangent, derivatives, of_operands


def slope_tape(case: Case, k: int, ct: np.ndarray, direction: np.ndarray) -> Tape:
    """A program for `<adjoint of operand k, direction>`, of the floating operands as arguments."""
    builder = TapeBuilder()
    operands, arguments = [], []
    for j, a in enumerate(case.operands):
        if j in case.floating:
            buffer = builder.new_buffer("argument", "abcdef"[j], a.dtype, contiguous(a.shape))
            arguments.append(buffer.id)
            operands.append(builder.load(buffer.whole))
        else:
            operands.append(builder.constant(a))
    y = builder.apply(case.rule.name, *operands, **case.parameters)
    adjoint = case.rule.adjoints[k]
    assert adjoint is not None
    symbols = [Symbol(builder, v) for v in (builder.constant(ct), y, *operands)]
    result = adjoint(*symbols, **case.parameters)
    product = result.apply("multiply", Symbol(builder, builder.constant(direction)))
    total = product.apply("reduce_sum", axes=tuple(range(len(product.shape))))
    return verify(builder.tape(tuple(arguments), (total.value,), frozenset(arguments)))


def values(tape: Tape, arrays: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The results of `tape`, and what its arguments hold afterwards."""
    full = [*arrays, *(np.zeros(tape.buffer(id).shape) for id in tape.arguments[len(arrays) :])]
    memories = {id: memory_of(tape.buffer(id), a) for id, a in zip(tape.arguments, full)}
    results = interpret(tape, memories)
    return results, [memories[id].reshape(tape.buffer(id).shape) for id in tape.arguments]


def second_order_cases(name: str) -> list[tuple[Case, int]]:
    """One of each shape of parameters: small, not empty, in float64."""
    return [
        (case, k)
        for case, k in derivatives(name)
        if case.evaluate().dtype == np.float64 and 0 < max(a.size for a in case.operands) <= 12 and case.evaluate().size
    ]


@of_operands
@pytest.mark.parametrize("name", sorted(name for name in RULES if second_order_cases(name)))
def test_the_adjoint_has_a_right_adjoint(name: str, chosen: Callable) -> None:
    rng = np.random.default_rng(5)
    for case, k in chosen(second_order_cases(name)):
        shape = case.evaluate().shape if case.rule.kind == "elementwise" else case.operands[k].shape
        tape = slope_tape(case, k, cotangent(case), rng.normal(size=shape))
        arrays = [case.operands[j] for j in case.floating]
        try:
            gradient = verify(reverse(tape))
        except NotDifferentiableError:  # of a linear function
            continue
        shadows = values(gradient, arrays)[1][len(arrays) :]
        for j, shadow in enumerate(shadows):
            direction = np.asarray(rng.normal(size=arrays[j].shape))
            assert_derivative(np.sum(shadow * direction), differences(tape, arrays, j, direction))


def differences(tape: Tape, arrays: list[np.ndarray], j: int, direction: np.ndarray) -> float:
    """The derivative of the tape's result along `direction` of argument `j`."""

    def slope(h: float) -> float:
        up, down = ([a + s * h * direction if i == j else a for i, a in enumerate(arrays)] for s in (1, -1))
        return float(values(tape, up)[0][0] - values(tape, down)[0][0]) / (2 * h)

    coarse, middle, fine = (slope(h) for h in (4e-3, 2e-3, 1e-3))
    return (64 * fine - 20 * middle + coarse) / 45


# Where a first derivative is guarded, the second is still that of the function.
GUARDED = [
    ("power", (2.0, 0.0), {}, 0, (0.0, 0.5)),
    ("power", (0.0, 3.0), {}, 0, (0.0, 0.0)),
    ("power", (0.0, 2.0), {}, 0, (2.0, 0.0)),
    ("xlogy", (0.0, 2.0), {}, 1, (0.5, 0.0)),
    ("logaddexp", (-np.inf, -np.inf), {}, 0, (0.0, 0.0)),
    ("hypot", (3.0, 4.0), {}, 0, (16 / 125, -12 / 125)),
]


@pytest.mark.parametrize(("name", "operands", "parameters", "k", "expected"), GUARDED)
def test_guards_do_not_hide_second_derivatives(name, operands, parameters, k, expected) -> None:
    case = Case(RULES[name], tuple(np.array(a) for a in operands), parameters)
    tape = reverse(slope_tape(case, k, np.array(1.0), np.array(1.0)))
    shadows = values(tape, list(case.operands))[1][len(operands) :]
    np.testing.assert_allclose(shadows, expected, rtol=1e-12)
