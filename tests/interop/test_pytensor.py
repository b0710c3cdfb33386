"""Plans as operations of PyTensor, in Python and in Numba's mode."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BranchError, DtypeError, ShapeError

from .programs import W, X, branching, rosenbrock, waves

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytensor = pytest.importorskip("pytensor")
    pt = pytest.importorskip("pytensor.tensor")
    pytensor_function = planned_ad.interop.pytensor_function

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTensor and what it imports
MODES = ["FAST_COMPILE", "NUMBA"]


def both(x):
    return pt.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def compiled(inputs, outputs, mode):
    return pytensor.function(inputs, outputs, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_value_and_two_derivatives(mode) -> None:
    x, results = pt.dvector("x"), []
    for f in (pytensor_function(planned_ad.compile(rosenbrock, X)), both):
        loss = pt.exp(-1e-3 * f(x))
        gradient = pytensor.grad(loss, x)
        results += [loss, gradient, pytensor.grad((gradient * W).sum(), x)]
    found = compiled([x], results, mode)(X)
    for one, other in zip(found[:3], found[3:]):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_arrays_of_several_arguments(mode) -> None:
    x, t, results = pt.dvector("x"), pt.dscalar("t"), []
    plan = planned_ad.compile(waves, (X, 2.0, 3, planned_ad.Const(W)))
    for f in (pytensor_function(plan), lambda x, t, n, w: pt.sin(x * t) ** n * w):
        loss = pt.cos(f(x, t, 3, W)).sum()
        first = pytensor.grad(loss, [x, t])
        results += [loss, *first, *pytensor.grad(first[0].sum() + first[1], [x, t])]
    found = compiled([x, t], results, mode)(X, 1.7)
    for one, other in zip(found[:5], found[5:]):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_what_is_refused() -> None:
    f, x = pytensor_function(planned_ad.compile(branching, X)), pt.dvector("x")
    with pytest.raises(DtypeError):
        f(pt.fvector("x"))
    with pytest.raises(ShapeError):
        f(pt.dmatrix("x"))
    in_numba = compiled([x], f(x), "NUMBA")
    with pytest.raises(BranchError, match="call the plan"):
        in_numba(-X)
    with pytest.raises(ShapeError):
        in_numba(X[1:])
    np.testing.assert_allclose(in_numba(np.repeat(X, 2)[::2]), np.sum(X**3), rtol=1e-14)
    np.testing.assert_allclose(compiled([x], f(x), "FAST_COMPILE")(-X), np.sum(np.cos(X)), rtol=1e-14)
    np.testing.assert_allclose(in_numba(-X), np.sum(np.cos(X)), rtol=1e-14)
