"""Classes of the user's that derive from `numpy.ndarray`: attributes, methods, operators, what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import UnsupportedError
from planned_ad.trace import trace
from planned_ad.tracing.record.dispatch import HANDLERS

from .verdicts import examine

X = np.array([0.3, 0.6, 0.9])


class Measured(np.ndarray):
    """Made by `view`; its attribute goes over to what is made of it."""

    def __new__(cls, data, unit=1.0):
        made = np.asarray(data).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, obj):
        if obj is not None:
            self.unit = getattr(obj, "unit", 1.0)

    @property
    def scaled(self):
        return np.asarray(self) * self.unit

    def twice(self):
        return self * 2


class Quaternion(np.ndarray):
    """Made by `numpy.ndarray` over the memory of an array, which an attribute shows too; it has operators."""

    def __new__(cls, q):
        q = np.array(q, dtype=float)
        q /= np.linalg.norm(q)
        made = super(Quaternion, cls).__new__(cls, q.shape, float, q)  # noqa: UP008
        made.A = q
        return made

    def __mul__(self, other):
        return Quaternion(self.A[::-1] * other.A) if isinstance(other, Quaternion) else super().__mul__(other)

    def __getitem__(self, key):
        return np.ndarray.__getitem__(self, key) + 1.0


class Filled(Measured):
    def __new__(cls, n):
        made = np.ndarray.__new__(cls, (n,), float)
        made.fill(2.0)
        return made


def written(x):
    q = Quaternion(x)
    q[0] = 3 * x[1]
    q += x
    return 1.0 * q.A


def in_a_loop(x):
    out = np.zeros((20, 3))
    for t in range(20):
        q = Quaternion(x * (t + 1.0))
        out[t] = q * 2.0
    return out


def handed_on(x):
    q = Measured(x, 2.0)
    for _ in range(20):
        q = (np.sin(q) + x).twice() / 3
    return q.scaled


def into(x):
    q = Measured(np.zeros(3), 3.0)
    return np.add(x, 1.0, out=q).scaled


def shaped(x):
    q = Measured(np.outer(x, x), 2.0)
    q.shape = (9,)
    return q[::2].reshape(5, 1).T.scaled


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "method": lambda x: Measured(x, 3.0).twice().scaled,
    "item": lambda x: (Measured(x, 3.0)[1:] + 1).scaled.sum(),
    "ufunc": lambda x: np.sum(np.sin(Measured(x, x[0])).unit * x),
    "ufunc method": lambda x: np.multiply.outer(Measured(x, 2.0), x).scaled,
    "reflected": lambda x: (x * Measured(x, 2.0)).scaled,
    "two results": lambda x: np.divmod(Measured(x, 2.0), 0.5)[1].scaled,
    "operator": lambda x: Quaternion(x) * Quaternion(x[::-1]),
    "operator of numpy's": lambda x: (Quaternion(x) * 2.0).sum() + Quaternion(x).dot(x),
    "own item": lambda x: Quaternion(x)[1] + Quaternion(x)[::2].sum(),
    "function of plain arrays": lambda x: np.concatenate([Measured(x, 2.0), x]),
    "function": lambda x: np.linalg.inv(Measured(np.outer(x, x) + np.eye(3), 2.0)).scaled,
    "function of several": lambda x: np.linalg.eigh(Measured(np.outer(x, x) + np.diag([0.0, 1, 3]), 2.0))[0] * x,
    "class": lambda x: isinstance(Quaternion(x), np.ndarray) * x + (type(Quaternion(x)) is Quaternion) * 2 * x,
    "plain array": lambda x: Measured(x, 2.0).view(np.ndarray) * 2,
    "view": lambda x: x.view(Measured).T.mean() * Measured(x).max(),
    "known": lambda x: (Measured(np.arange(3.0), 2.0) + x).scaled + Filled(3) * x,
    "rows": lambda x: sum(row.scaled for row in Measured(np.outer(x, x), 2.0)),
    "written": written,
    "out": into,
    "shape": shaped,
    "loop": in_a_loop,
    "handed on": handed_on,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_the_function_itself(name: str) -> None:
    found = examine(FUNCTIONS[name], [(X,), (X[::-1] * 1.1,)], unroll=16)
    assert found.kind == "right", found


def test_a_call_returns_a_plain_array() -> None:
    plan = planned_ad.compile(lambda x: {"q": Measured(x, 2.0), "r": [Quaternion(x)]}, X)
    assert type(plan(X)["q"]) is np.ndarray
    np.testing.assert_array_equal(plan(X)["r"][0], np.asarray(Quaternion(X)))


def test_a_trace_that_is_over_leaves_nothing() -> None:
    before = len(HANDLERS)
    trace(FUNCTIONS["method"], (X,))
    assert len(HANDLERS) == before


def test_a_buffer_of_another_layout_is_refused() -> None:
    def f(x):
        return np.ndarray.__new__(Filled, (2,), float, x[::2])

    with pytest.raises(UnsupportedError, match="not supported for traced values"):
        trace(f, (X,))


def test_an_attribute_that_is_ours_is_refused() -> None:
    def f(x):
        Measured(x).read = 1.0

    with pytest.raises(UnsupportedError, match="read of an array of a class"):
        trace(f, (X,))


def test_an_object_that_says_what_array_it_is_is_assigned() -> None:
    class Cell:
        def __init__(self, rows):
            self.rows = rows

        def __array__(self, dtype=None, copy=None):
            return self.rows * 2.0

    def f(x):
        held = np.zeros((2, 3))
        held[:] = Cell(x.reshape(2, 3))
        held[0] = Cell(np.array([x[0], 1.0, 2.0]))
        return np.sum(held**2)

    x = np.arange(6.0) + 0.5
    plan = planned_ad.compile(f, x)
    np.testing.assert_allclose(plan(x), f(x), rtol=1e-14)
    np.testing.assert_allclose(plan.gradient(x), [8 * x[0], 0.0, 0.0, *(8 * x[3:])], rtol=1e-14)


def test_the_refusal_of_a_class_says_which_method_is_the_reason() -> None:
    class Wrapped(np.ndarray):
        def __array_wrap__(self, array, context=None, return_scalar=False):
            return array

    with pytest.raises(UnsupportedError, match=r"Wrapped, a subclass of numpy.ndarray.*\(it has __array_wrap__\)"):
        planned_ad.compile(lambda x: np.sum(np.asarray(x).view(Wrapped) ** 2), np.ones(3))
