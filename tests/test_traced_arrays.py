"""Operators, ufuncs, methods and attributes of traced arrays against NumPy."""

from __future__ import annotations

import collections
import copy

import numpy as np
import pytest
import scipy.special

import planned_ad
from planned_ad.trace import trace

from .trace_helpers import matrix, vector
from .tracing_oracle import check

# Operators.

OPERATORS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "divmod": lambda x, y: divmod(x, y),
    "power": lambda x, y: x**y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(
    "pair",
    [
        (vector(), vector()[::-1].copy()),
        (vector(), 1.3),
        (0.7, vector()),
        (0.7, 1.3),
        (matrix(), vector(4)),
        (matrix(3, 1), matrix(1, 4)),
        (vector(6, np.float32), vector(6)),
        (vector(6, np.float32), 0.7),
        (vector(6, np.float32), np.float64(0.7)),
        (vector(), np.array(2.5)),
        (vector(), np.arange(1, 7)),
        (matrix(order="F"), matrix()),
    ],
    ids=lambda pair: "-".join(f"{np.asarray(a).dtype}{np.shape(a)}" for a in pair),
)
def test_binary_operators(name, pair):
    check(OPERATORS[name], *pair)


@pytest.mark.parametrize("x", [vector() - 1, matrix(order="F") - 1, -0.7, np.float64(-0.7), np.float32(0.5)])
def test_unary_operators(x):
    check(lambda x: (-x, +x, abs(x), x.__neg__() if isinstance(x, np.ndarray) else x), x)


def test_reflected_operators_with_numbers_and_arrays():
    table = np.arange(6.0) + 1
    check(lambda x: (2 - x, 2 / x, 2**x, 7 // x, 7 % x, 2 + x, 2 * x, table - x, table / x, table**x), vector())
    check(lambda x: np.float64(2) * x[0] + np.float32(3) - x[1], vector())
    check(lambda x: [1.0, 2.0] + x[:2], vector())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, -1, -2, 0.5, 2.0, -1.0, 1.5, -0.5, 17, 100])
def test_powers_with_known_exponents(n):
    check(lambda x: (x**n, x[0] ** n, np.power(x, n)), vector())


def test_powers_of_integers():
    k = np.arange(1, 7)
    check(lambda x, k: (k**2 * x, k**3 * x, k**0.5 * x, (k**0) * x, 2.0**k * x), vector(), k)
    with pytest.raises(ValueError, match="negative integer powers"):
        trace(lambda x, k: x * k**-1, (vector(), k))


def test_powers_at_the_edges():
    x = np.array([0.0, -1.5, 2.0, -0.0])
    check(lambda x: (x**0, x**2, x**3, 0.0 ** x[0], x**0.0, np.power(x, 3.0)), x)


def test_integer_and_boolean_arrays_are_data():
    k, b = np.arange(6), np.arange(6) % 2 == 0

    def f(x, k, b):
        return (
            x * k,
            k + 1,
            k // 2,
            k % 4,
            k & 3,
            k | 8,
            k ^ 5,
            ~k,
            k << 1,
            k >> 1,
            b & (x > 1),
            b | b,
            ~b,
            b * x,
            -k,
            k / 2,
        )

    traced = check(f, vector(), k, b)
    assert [leaf.active for leaf in traced.leaves] == [True, False, False]


def test_scalars_follow_nep_50():
    def f(x, a, b):
        return a + x[0], a * b, b * x[0], a**2, 1 - a, x * a, x * b, x[0] * x, abs(a), -a, a > b

    check(f, vector(6, np.float32), 0.7, np.float64(0.3))
    check(f, vector(), 0.7, np.float32(0.3))


def test_matrix_products():
    check(
        lambda a, b, v: (a @ b, b @ v, v @ a.T @ a, v.dot(v), np.dot(a, b), np.outer(v, v)),
        matrix(3, 4),
        matrix(4, 4),
        vector(4),
    )
    check(lambda x: np.arange(3.0) @ x, matrix(3, 4))


def test_matrix_multiplication_in_place():
    def f(a, b):
        a @= b
        return a.sum()

    check(f, matrix(4, 4), matrix(4, 4))


# Ufuncs.

POSITIVE = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "absolute",
    "fabs",
    "negative",
    "positive",
    "square",
    "reciprocal",
    "deg2rad",
    "rad2deg",
    "radians",
    "degrees",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "conjugate",
    "logical_not",
    "modf",
]
TWO = [
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "copysign",
    "fmod",
    "heaviside",
    "float_power",
    "logical_and",
    "logical_or",
    "logical_xor",
    "true_divide",
    "remainder",
    "mod",
    "floor_divide",
    "divmod",
]


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize(
    "x", [vector(), vector(6, np.float32), matrix(order="F"), np.float64(0.7)], ids=["v", "f4", "F", "s"]
)
def test_ufuncs_of_one_operand(name, x):
    check(lambda x: getattr(np, name)(x), x)


@pytest.mark.parametrize("name", [name for name in POSITIVE if name != "signbit"])  # it has no loop for integers
def test_ufuncs_of_integers(name):
    check(lambda x, k: getattr(np, name)(k), vector(), np.arange(1, 5))


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh"])
def test_ufuncs_on_the_unit_interval(name):
    check(lambda x: getattr(np, name)(x / 4), vector())
    check(lambda x: np.arccosh(x + 1), vector())


@pytest.mark.parametrize("name", TWO)
def test_ufuncs_of_two_operands(name):
    f = getattr(np, name)
    check(lambda x, y: (f(x, y), f(x, 0.5), f(x[0], y), f(-x, y)), vector(), vector()[::-1].copy())


@pytest.mark.parametrize("name", ["expit", "logit", "erf", "erfc", "gammaln", "psi", "ndtr", "log_expit", "entr"])
def test_special_functions(name):
    check(lambda x: getattr(scipy.special, name)(x / 2), vector())


@pytest.mark.parametrize("name", ["xlogy", "rel_entr", "xlog1py"])
def test_special_functions_of_two_operands(name):
    check(lambda x, y: getattr(scipy.special, name)(x, y), np.array([0.0, 0.5, 2.0]), np.array([0.5, 0.25, 3.0]))


def test_ufunc_arguments():
    def f(x, y):
        out = np.empty(6)
        same = np.add(x, y, out=out)
        np.multiply(out, 2, out)
        np.exp(x, out=y[::-1])
        mask = x > 1
        np.sqrt(x, out=out, where=mask)
        return same, out, np.add(x, 1, dtype=np.float32), np.clip(x, 0.5, 1.2)

    check(f, vector(), vector())


def test_ufunc_methods():
    def f(x, m):
        np.add.at(x, [0, 1, 1], x[:3])
        np.subtract.at(x, np.array([2, 2]), 0.5)
        return (
            np.add.reduce(x),
            np.add.reduce(m, axis=1),
            np.multiply.accumulate(x),
            np.multiply.outer(x, x),
            np.maximum.reduce(m),
        )

    check(f, vector(), matrix())


# Methods and attributes of ndarray.


def test_attributes():
    def f(x):
        assert isinstance(x, np.ndarray) and isinstance(x[0, 0], float) and isinstance(x[0, 0], np.float64)
        assert x.shape == (3, 4) and x.ndim == 2 and x.size == 12 and len(x) == 3 and x.dtype == np.float64
        assert x[0, 0].dtype == np.float64 and x[0, 0].shape == () and x.nbytes == 96 and x.itemsize == 8
        assert np.shape(x) == (3, 4) and np.ndim(x) == 2 and np.size(x) == 12
        print(repr(x), f"{x[0, 0]:.3f}")
        return x.T, x.real, x.imag, x[0, 0].T, x[0, 0].real

    check(f, matrix())


def test_methods():
    def f(x):
        return [
            x.sum(), x.sum(0), x.sum(axis=1, keepdims=True), x.mean(), x.mean(1), x.prod(), x.max(), x.min(0),
            x.var(), x.std(1, ddof=1), x.cumsum(), x.cumprod(1), x.dot(x.T), x.reshape(4, 3), x.reshape((2, -1)),
            x.ravel(), x.flatten(), x.flatten("F"), x.copy(), x.astype(np.float32), x.astype(int), x.transpose(),
            x.transpose(1, 0), x.transpose((1, 0)), x.swapaxes(0, 1), x[:, :1].squeeze(), x.take([0, 2], axis=1),
            x.repeat(2), x.diagonal(), x.trace(), x.clip(0.5, 1), x.round(1), (x > 1).any(), (x > 0).all(1), x.conj(),
            x.tolist(), x.item(3), x.item(1, 2), x[0].item(0), x[0, 0].item(),
        ]  # fmt: skip

    check(f, matrix())
    check(f, matrix(order="F"))


def test_methods_of_scalars():
    check(
        lambda x: (x[0].sum(), x[0].copy(), x[0].astype(np.float32), x[0].reshape(1, 1), x[0][None], np.sum(x[0])),
        vector(),
    )


def test_fill_and_copyto():
    def f(x, y):
        y.fill(x[0])
        z = np.empty_like(x)
        np.copyto(z, x[::-1])
        np.copyto(z[1:3], 5)
        np.copyto(z, y, where=x > 1)
        return z

    check(f, vector(), vector())


def test_copies_are_copies():
    def f(x):
        y, z, w = x.copy(), copy.copy(x), copy.deepcopy(x)
        y[0] = 7
        x[1] = 5
        return y, z, w, np.array(x), np.asarray(x) is x

    check(f, vector())


def test_iteration_and_unpacking():
    def f(x, m):
        a, b, *rest = x
        total = 0.0
        for row in m:
            row *= 2
            for element in row:
                total += element
        return a * b, rest, total, [r.sum() for r in m], sum(x), sum(r for r in m), list(zip(x, m[0]))

    check(f, vector(), matrix())


def test_deques_are_sequences() -> None:
    def f(x):
        window, total = collections.deque(maxlen=3), 0.0
        for v in x:
            window.append(v * v)
            total += np.mean(window) * np.array(window)[-1] + np.std(list(window))
        return total + np.dot(window, window)

    plan = planned_ad.compile(f, (np.arange(1.0, 7.0),))
    x = np.array([0.3, -0.7, 1.1, 0.2, -0.4, 0.9])
    np.testing.assert_allclose(plan(x), f(x), rtol=1e-14)
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in np.eye(6) * 1e-6]
    np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-6)


class InDegrees:
    """With both of NumPy's protocols: functions that ask for the second are its own, `np.asarray` takes the first."""

    def __init__(self, radians):
        self.radians = radians

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.radians)

    def __array_function__(self, function, types, args, kwargs):
        return function(args[0].radians, **kwargs) * (180 / np.pi)


def test_a_class_with_both_protocols_takes_functions_into_its_own_hands():
    def f(x):
        angles = InDegrees(x)
        return np.sum(angles) + np.max(angles) * np.asarray(angles)[1] + np.array(angles)[0]

    x = np.array([0.1, 0.2, 0.3])
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x), rel=1e-14)
    degrees = 180 / np.pi
    np.testing.assert_allclose(plan.gradient(x), [degrees + 1, degrees + 0.3 * degrees, degrees + 0.2 * degrees])
