"""A library's function without a rule is named as people know it, with the line and how to take it as it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, optimize, sparse, special

from planned_ad.errors import ConversionError, UnsupportedError
from planned_ad.python.library_names import public_name
from planned_ad.trace import trace

MATRIX = sparse.eye(3, format="csr")


def by_ufunc(x):
    return np.sum(special.kei(x))


def by_decorated_function(x):
    return np.sum(linalg.expm_cond(np.outer(x, x)))


def by_alias(x):
    evaluate = special.ker
    return np.sum(evaluate(x))


def by_class(x):
    return interpolate.CloughTocher2DInterpolator(np.eye(3)[:, :2], x)


def by_callback(x):
    return optimize.diagbroyden(lambda t: t - x, np.ones(3))


def by_fortran(x):
    return linalg.blas.dgemm(1.0, np.outer(x, x), np.eye(3))


def by_masked(x):
    return np.ma.sort(x)


# What is called, how its error calls it, and what to write instead.
NAMED = [
    (by_ufunc, "scipy.special.kei has no rule", "return scipy.special.kei(x)"),
    (by_decorated_function, "scipy.linalg.expm_cond has no rule", "def expm_cond("),
    (by_alias, "scipy.special.ker has no rule", "docs/supported.md"),
    (by_class, "scipy.interpolate.CloughTocher2DInterpolator has no rule", "linear in the values"),
    (by_callback, "scipy.optimize.diagbroyden has no rule", "implicit function theorem"),
    (by_fortran, "scipy.linalg.blas.dgemm has no rule", "docs/supported.md"),
    (by_masked, "numpy.ma.sort has no rule", "numpy.where(mask, 0.0, data)"),
]


@pytest.mark.parametrize("f, name, advice", NAMED, ids=lambda part: getattr(part, "__name__", None))
def test_the_function_that_the_line_calls_is_named(f, name, advice):
    with pytest.raises(UnsupportedError) as raised:
        trace(f, (np.ones(3),))
    message = str(raised.value)
    assert f" in {f.__name__}" in message or "<lambda>" in message
    assert f": {name}" in message and advice in message and "@planned_ad.opaque(result=" in message
    assert 'derivative="differences"' in message


def test_where_no_library_is_called_python_is_named():
    with pytest.raises(ConversionError, match=r"hash\(\) needs the number"):
        trace(lambda x: {x[0]: 1.0}[x[0]], (np.ones(3),))


@pytest.mark.parametrize(
    "function, name",
    [
        (np.linalg.norm, "numpy.linalg.norm"),
        (np.exp, "numpy.exp"),
        (special.gamma, "scipy.special.gamma"),
        (special.logsumexp, "scipy.special.logsumexp"),
        (integrate.quad, "scipy.integrate.quad"),
        (interpolate.CubicSpline, "scipy.interpolate.CubicSpline"),
        (np.ma.masked_array, "numpy.ma.MaskedArray"),
        (np.frompyfunc(abs, 1, 1), "abs (vectorized)"),
    ],
)
def test_public_names(function, name):
    assert public_name(function) == name
