"""The programs that are compared with C are right: in C, and in each way that they are written in NumPy."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.tolerances import DIFFERENCES

sys.path.append(str(Path(__file__).parents[1] / "asv_bench"))

from benchmarks import c_measure
from benchmarks.c_library import COMPILER
from benchmarks.c_programs import C_PROGRAMS, ENZYME

with_c = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
NAMES = [name for name in C_PROGRAMS if name not in ("gmm_d20_k50", "mutating_loop_1", "rosenbrock_1000000")]
BY_HAND = [name for name in NAMES if C_PROGRAMS[name].by_hand]
HARD = ("ba", "brusselator_rk4")  # take long to compile


def slope(program, variant, direction):
    """The derivative in one direction, by a difference of fourth order."""

    def value(step):
        arguments = list(program.arguments(program.small))
        active = [k for k in range(len(arguments)) if k not in program.inactive]
        for k, along in zip(active, direction, strict=True):
            arguments[k] = arguments[k] + step * along
        return program.variants[variant](*arguments)

    h = 1e-3
    return (8.0 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12.0 * h)


def check(program, variant, gradient):
    rng = np.random.default_rng(0)
    direction = [0.1 * rng.normal(size=g.shape) for g in gradient]
    found = sum(np.sum(g * along) for g, along in zip(gradient, direction))
    expected = slope(program, variant, direction)
    assert abs(found - expected) < 1000 * DIFFERENCES * max(1.0, abs(expected))


@with_c
@pytest.mark.parametrize("name", NAMES)
def test_value_of_each_variant_is_that_of_c(name):
    program = C_PROGRAMS[name]
    found = [variant(*program.arguments(program.small)) for variant in program.variants.values()]
    np.testing.assert_allclose(found, program.primal(program.small)(), rtol=1e-13)


@with_c
@pytest.mark.parametrize("name", BY_HAND)
def test_adjoint_in_c(name):
    program = C_PROGRAMS[name]
    call, shadows = program.adjoint(program.small)
    assert call() == pytest.approx(program.primal(program.small)(), rel=1e-14)
    check(program, next(iter(program.variants)), shadows)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HARD])
def test_gradient(name):
    """Of the variant that compiles fastest."""
    program = C_PROGRAMS[name]
    variant = {"n_body": "broadcasting", "fft_iterative": "np.fft"}.get(name, list(program.variants)[1])
    _, gradient = c_measure.Ours(program, variant, program.small).result()
    check(program, variant, gradient)


@with_c
def test_programs_are_measured():
    """In this process: a child's figures are of no interest here."""
    found = c_measure.measured("rosenbrock_10", "slices", 10)
    assert set(found) == {"ours", "c", "adjoint", "compile", "workspace", "value error", "gradient error"}
    assert found["value error"] < 1e-13 and found["gradient error"] < 1e-13
    assert all(found[who] > 0 for who in ("ours", "c", "adjoint", "compile"))


def test_jacobians_are_written_where_they_are_wanted():
    program = C_PROGRAMS["ba"]
    value, (rows, weights) = c_measure.Ours(program, "columns", program.small).result()
    arguments = program.arguments(program.small)
    assert value == pytest.approx(program.variants["columns"](*arguments))
    assert rows.shape == (program.small, 2, 15)
    np.testing.assert_array_equal(weights, -2.0 * arguments[2])


def test_each_program_has_a_published_figure():
    assert set(ENZYME) == set(C_PROGRAMS)
    assert importlib.import_module("compare_c").C_PROGRAMS


def test_without_a_compiler_there_is_no_figure(monkeypatch):
    monkeypatch.setattr(c_measure, "COMPILER", None)
    with pytest.raises(NotImplementedError):
        c_measure.BesideC().setup("n_body: loops")
