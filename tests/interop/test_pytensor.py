"""Plans as operations of PyTensor, in Python and in Numba's mode."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BranchError, DtypeError, ShapeError

from .programs import SINGLE, W, X, branching, likelihood, waves

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytensor = pytest.importorskip("pytensor")
    pt = pytest.importorskip("pytensor.tensor")
    pytensor_function = planned_ad.interop.pytensor_function

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTensor and what it imports
MODES = ["FAST_COMPILE", "NUMBA"]


def compiled(inputs, outputs, mode):
    return pytensor.function(inputs, outputs, mode=mode)


def test_a_loss_of_an_array_and_a_number() -> None:
    x, s, results = pt.dvector("x"), pt.dscalar("s"), []
    for f in (
        pytensor_function(planned_ad.compile(likelihood, (X, 0.5))),
        lambda x, s: pt.sum(pt.cos(x) * pt.exp(s)) + s**3,
    ):
        loss = f(x, s) ** 2
        first = pytensor.grad(loss, [x, s])
        results += [loss, *first, *pytensor.grad((first[0] * W).sum() + first[1], [x, s])]
    found = [compiled([x, s], results[:5], mode)(X, 0.7) for mode in MODES]
    for one in found:
        for own, other in zip(one, compiled([x, s], results[5:], "FAST_COMPILE")(X, 0.7)):
            np.testing.assert_allclose(own, other, rtol=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_arrays_of_several_arguments(mode) -> None:
    x, t, results = pt.dvector("x"), pt.dscalar("t"), []
    plan = planned_ad.compile(waves, (X, 2.0, 3, planned_ad.Const(W)))
    for f in (pytensor_function(plan), lambda x, t, n, w: pt.sin(x * t) ** n * w):
        loss = pt.cos(f(x, t, 3, W)).sum()
        first = pytensor.grad(loss, [x, t])
        results += [loss, *first, *pytensor.grad(first[0].sum() + first[1], [x, t])]
    found = compiled([x, t], results[:5], mode)(X, 1.7)
    for one, other in zip(found, compiled([x, t], results[5:], "FAST_COMPILE")(X, 1.7)):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("program, other", list(zip(SINGLE, [lambda x: pt.sum(pt.cos(x)) ** 2, lambda x: pt.cos(x)])))
def test_single_precision(program, other) -> None:
    x, results = pt.fvector("x"), []
    for f in (pytensor_function(planned_ad.compile(program, X.astype("f4"))), other):
        loss = (f(x) ** 2).sum()
        gradient = pytensor.grad(loss, x)
        results.append([loss, gradient, pytensor.grad((gradient * x).sum(), x)])
    true = compiled([x], results[1], "FAST_COMPILE")(X.astype("f4"))
    for mode in MODES:
        for one, expected in zip(compiled([x], results[0], mode)(X.astype("f4")), true):
            assert one.dtype == np.float32
            np.testing.assert_allclose(one, expected, rtol=1e-4)


def test_what_is_refused() -> None:
    f, x = pytensor_function(planned_ad.compile(branching(6), X)), pt.dvector("x")
    with pytest.raises(DtypeError):
        f(pt.fvector("x"))
    with pytest.raises(ShapeError):
        f(pt.dmatrix("x"))
    in_numba = compiled([x], f(x), "NUMBA")
    with pytest.raises(BranchError, match="call the plan"):
        in_numba(-X)
    with pytest.raises(ShapeError):
        in_numba(X[1:])
    np.testing.assert_allclose(in_numba(np.repeat(X, 2)[::2]), np.sum(X**6), rtol=1e-14)
    np.testing.assert_allclose(compiled([x], f(x), "FAST_COMPILE")(-X), np.sum(np.cos(X)), rtol=1e-14)
    np.testing.assert_allclose(in_numba(-X), np.sum(np.cos(X)), rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_what_has_changed_outside_is_seen_by_what_is_compiled_then(mode) -> None:
    state = {"k": 1.0, "w": np.array([1.0, 2.0, 3.0])}
    at = np.array([0.5, 0.7, 0.9])
    plan = planned_ad.compile(lambda x: np.sum(state["w"] * (x - state["k"]) ** 2), at)
    x = pt.dvector("x")
    loss = pytensor_function(plan)(x)
    for key, value in (("k", 1.0), ("k", 4.0), ("w", np.array([7.0, 8.0, 9.0]))):
        state[key] = value
        found = compiled([x], [loss, pytensor.grad(loss, x)], mode)(at)
        np.testing.assert_allclose(found[0], np.sum(state["w"] * (at - state["k"]) ** 2))
        np.testing.assert_allclose(found[1], 2 * state["w"] * (at - state["k"]))
