"""The tangent of every row agrees with its adjoints, and with finite differences; generated from the table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from planned_ad.differentiate.forward import tangent_of
from planned_ad.rules import RULES
from planned_ad.rules.algebra import Symbol
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import Interpreter

from ..sweeps import left_out
from ..tolerances import SAME, assert_derivative, assert_same
from .cases import CASES, Case
from .matrix_cases import FACTORED
from .test_rules import BY_KIND, CONSTANT_BY_DECREE, Adjoint, cotangent, differences

APART = {"call"}  # its rule is the user's: tests/test_custom_rules.py
ROWS = sorted(name for name in RULES if name not in APART and any(case.floating for case in CASES[name]))
names = pytest.mark.parametrize("name", ROWS)


def tangent(case: Case, tangents: dict[int, np.ndarray]) -> np.ndarray:
    """That of the result for these tangents of operands, zero for the others; in the shape of the result."""
    builder = TapeBuilder()
    operands = [builder.constant(a) for a in case.operands]
    y = builder.apply(case.rule.name, *operands, **case.parameters)
    given = [
        Symbol(builder, builder.constant(tangents[k], v.dtype)) if k in tangents else None
        for k, v in enumerate(operands)
    ]
    symbols = [Symbol(builder, v) for v in operands]
    found = tangent_of(case.rule, given, Symbol(builder, y), symbols, case.parameters)
    if found is None:
        return np.zeros(y.shape, y.dtype)
    assert found.dtype == y.dtype
    interpreter = Interpreter(builder.buffers)
    interpreter.run(builder.operations)
    with np.errstate(all="ignore"):
        return np.broadcast_to(interpreter.value(found.value), y.shape)


def directions(case: Case, seed: int = 8) -> dict[int, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {k: np.asarray(rng.normal(size=case.operands[k].shape)) for k in case.floating}


def subsets(tangents: dict[int, np.ndarray]) -> list[dict[int, np.ndarray]]:
    """Every choice of operands that have a tangent, but for none."""
    return [
        dict(chosen)
        for count in range(1, len(tangents) + 1)
        for chosen in itertools.combinations(tangents.items(), count)
    ]


def floating_cases(name: str) -> list[Case]:
    return [case for case in CASES[name] if case.floating and case.evaluate().dtype.kind == "f"]


# The cotangents of others are added in place by reverse.py; the next test compares them with differences.
@pytest.mark.parametrize("name", [name for name in ROWS if name not in BY_KIND])
@pytest.mark.parametrize("every", [2, left_out(1)])
def test_tangent_agrees_with_the_adjoints(name: str, every: int) -> None:
    """`<ct, tangent(t)> = sum_k <adjoint_k(ct), t_k>`, with and without each of the tangents."""
    for case in floating_cases(name)[::every]:
        ct, full = cotangent(case), directions(case)
        adjoints = {k: Adjoint(case, k, ct).value for k in full if case.rule.adjoints[k] is not None}
        for chosen in subsets(full):
            expected = sum(float(np.sum(adjoints[k] * t)) for k, t in chosen.items() if k in adjoints)
            scale = sum(float(np.sum(np.abs(adjoints[k] * t))) for k, t in chosen.items() if k in adjoints)
            actual = float(np.sum(ct * tangent(case, chosen)))
            tolerance = SAME[np.dtype(case.evaluate().dtype)]
            np.testing.assert_allclose(
                actual, expected, rtol=tolerance, atol=tolerance * max(1.0, scale), err_msg=str(case)
            )


# Others have no derivative, by intent.
@pytest.mark.parametrize("name", [n for n in ROWS if n not in CONSTANT_BY_DECREE | FACTORED and not RULES[n].refused])
def test_tangent_agrees_with_finite_differences(name: str) -> None:
    for case in floating_cases(name):
        if case.evaluate().dtype != np.float64:
            continue
        ct = cotangent(case)
        for k, direction in directions(case).items():
            if case.rule.adjoints[k] is not None or name in BY_KIND:
                actual = np.sum(ct * tangent(case, {k: direction}))
                assert_derivative(actual, differences(case, k, ct, direction))


@pytest.mark.parametrize("every", [3, left_out(1)])
@names
def test_tangent_in_float32(name: str, every: int) -> None:
    for case in floating_cases(name)[::every]:
        narrow = case.cast(np.float32)
        given = {k: t.astype(np.float32) for k, t in directions(case).items()}
        wide = {k: t.astype(np.float64) for k, t in given.items()}
        if narrow.evaluate().dtype == np.float32:
            assert_same(tangent(narrow, given), tangent(narrow.cast(np.float64), wide), np.float32)
