"""Objects whose attributes a function sets or writes into: what a call does to them, and to their shadows."""

from __future__ import annotations

import copy
import types
from dataclasses import dataclass

import numpy as np
import pytest

import planned_ad
from planned_ad import Const, make_zero
from planned_ad.errors import OverlapError, TraceError

from .test_structured_arguments import X, model


def step(m, x, dt):
    m.u = m.u + dt * x * m.u
    m.t += dt
    m.parameters["v"][0][:] *= 2
    return np.sum(m.u**2) * m.t


def test_attributes_that_are_set() -> None:
    plan = planned_ad.compile(step, (model(), X, 0.1))
    m, expected = model(), model()
    before = m.u
    assert plan(m, X, 0.1) == pytest.approx(step(expected, X, 0.1))
    assert m.t == expected.t and type(m.t) is float
    np.testing.assert_allclose(m.u, expected.u)
    np.testing.assert_array_equal(m.parameters["v"][0], [2.0] * 3)
    np.testing.assert_array_equal(before, X)  # as in NumPy, a new array has taken its place
    m = model()
    dm, _, ddt = plan.gradient(m, X, 0.1)
    np.testing.assert_allclose(m.u, expected.u)
    np.testing.assert_allclose(dm.u, 2 * expected.u * (1 + 0.1 * X) * expected.t)
    assert dm.t == pytest.approx(np.sum(expected.u**2))
    assert ddt == pytest.approx(np.sum(2 * expected.u * X * X) * expected.t + np.sum(expected.u**2))


def test_pullback_through_attributes_that_are_set() -> None:
    def f(m, x):
        m.u = m.u * x
        m.t = m.t * m.t

    plan = planned_ad.compile(f, (model(), X))
    dm, dx = make_zero(model()), np.zeros(3)
    dm.u[:], dm.t = 1.0, 1.0  # the adjoint of the final state
    plan.pullback(model(), X, dm, dx)
    np.testing.assert_allclose(dm.u, X)
    np.testing.assert_allclose(dx, X)
    assert dm.t == 2 * 2.0


def test_attributes_set_in_a_loop() -> None:
    def f(m, dt):
        for _ in range(40):
            m.u = m.u - dt * m.u
            m.t += dt
        return np.sum(m.u)

    m = model()
    dm, _ = planned_ad.compile(f, (model(), 0.01)).gradient(m, 0.01)
    np.testing.assert_allclose(m.u, X * 0.99**40)
    np.testing.assert_allclose(dm.u, 0.99**40)
    assert m.t == pytest.approx(2.4)


def test_preserved_arguments_keep_their_attributes() -> None:
    plan = planned_ad.compile(step, (model(), X, 0.1), preserve_args=True)
    m = model()
    before = m.u
    plan.gradient(m, X, 0.1)
    assert m.t == 2.0 and m.u is before


class Buffers:
    def __init__(self):
        self.u, self.v, self.w = X.copy(), np.zeros(3), np.ones(3)

    def swap(self, k):
        self.v[:] = k * self.u + self.v
        self.u, self.v = self.v, self.u

    def rotate(self, k):
        self.w, self.v, self.u = self.v, self.u, k * self.u + self.v * self.w


@pytest.mark.parametrize("f", [Buffers.swap, Buffers.rotate])
def test_arrays_that_change_places(f) -> None:
    plan = planned_ad.compile(f, (Buffers(), 2.0))
    made, expected = Buffers(), Buffers()
    arrays, others = [vars(m).copy() for m in (made, expected)]
    for _ in range(2):
        plan(made, 2.0)
        f(expected, 2.0)
    for name in vars(expected):
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))
        np.testing.assert_array_equal(arrays[name], others[name])
        same = [k for k in others if getattr(expected, name) is others[k]]
        assert same == [k for k in arrays if getattr(made, name) is arrays[k]]


@pytest.mark.parametrize("f", [Buffers.swap, Buffers.rotate])
def test_shadows_of_arrays_that_change_places(f) -> None:
    def loss(m, k):
        f(m, k)
        f(m, k)
        return np.sum(np.sin(m.u)) + 2 * np.sum(np.sin(m.v)) + 3 * np.sum(np.sin(m.w))

    whole, half = planned_ad.compile(loss, (Buffers(), 2.0)), planned_ad.compile(f, (Buffers(), 2.0))
    expected, dk = whole.gradient(Buffers(), 2.0)
    middle, m = Buffers(), Buffers()
    half(middle, 2.0)
    last = copy.deepcopy(middle)
    half(last, 2.0)
    dm = make_zero(m)
    dm.u, dm.v, dm.w = np.cos(last.u), 2 * np.cos(last.v), 3 * np.cos(last.w)
    found = half.pullback(middle, 2.0, dm)[1] + half.pullback(m, 2.0, dm)[1]
    assert found == pytest.approx(dk)
    for name in vars(m):
        np.testing.assert_allclose(getattr(dm, name), getattr(expected, name), atol=1e-12)


def test_a_tuple_in_an_attribute_is_set() -> None:
    def f(m):
        m.pair = (m.pair[0] * m.pair[1], m.pair[1])
        return np.sum(m.pair[0])

    m = types.SimpleNamespace(pair=(X, 2.0))
    other = m.pair[0]
    dm = planned_ad.compile(f, (m,)).gradient(m)
    np.testing.assert_array_equal(m.pair[0], 2 * X)
    np.testing.assert_array_equal(other, X)
    assert m.pair[1] == 2.0 and dm.pair[1] == 6.0


def test_a_dataclass_is_mutated_as_an_object_is() -> None:
    @dataclass
    class State:
        x: np.ndarray
        n: int = 2

        def double(self):
            self.x = self.n * self.x
            return np.sum(self.x)

    state = State(X)
    plan = planned_ad.compile(State.double, (state,))
    np.testing.assert_array_equal(plan.gradient(state).x, [2.0] * 3)
    np.testing.assert_array_equal(state.x, 2 * X)


def set_shape(m):
    m.u = m.u[:2] * 2


def set_dtype(m):
    m.u = (m.u * 2).astype(np.float32)


def set_single(m):
    m.t = m.t * np.float32(2)


def set_number_to_array(m):
    m.t = m.u * 1.0


def alias(m):
    m.u = m.parameters["v"][0]


def set_view(m):
    m.u = m.u[::-1]


def write_then_set(m):
    m.u[0] = 1.0
    m.u = m.u * 2


def same_array_twice(m):
    m.u = m.u * 2
    m.parameters = {"k": 0.5, "v": (m.u, 2)}


def count(m):
    m.steps += 1


def add(m):
    m.other = m.u * 2


def remove(m):
    del m.t


def append(m):
    m.parameters["new"] = m.u * 2


def set_item(m):
    m.parameters["k"] = m.t * 2


def outside(m):
    m.u = X


@pytest.mark.parametrize(
    ("f", "where"),
    [
        (set_shape, "m.u"),
        (set_dtype, "m.u"),
        (set_single, "m.t"),
        (set_number_to_array, "m.t"),
        (alias, "m.u"),
        (set_view, "m.u"),
        (write_then_set, "m.u"),
        (same_array_twice, "m.parameters['v'][0]"),
        (count, "m.steps"),
        (add, "m.other"),
        (remove, "m.t"),
        (append, "m.parameters"),
        (set_item, "m.parameters['k']"),
        (outside, "m.u"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_call_could_not_do_is_refused(f, where) -> None:
    def loss(m):
        f(m)
        return np.sum(m.u)

    with pytest.raises(TraceError) as raised:
        planned_ad.compile(loss, (model(),))
    assert f"`{where}`" in str(raised.value)


def test_an_object_of_two_arguments_is_refused_where_it_changes() -> None:
    def f(a, b):
        a.t = a.t * 2
        return np.sum(a.u) * b.t

    with pytest.raises(TraceError, match="two arguments"):
        planned_ad.compile(f, (m := model(), m))
    plan = planned_ad.compile(f, (model(), model()))
    with pytest.raises(OverlapError, match=r"a\.t"):
        plan.gradient(m, m)
    assert m.t == 2.0


def test_setting_an_attribute_of_what_is_no_argument_is_refused() -> None:
    m = model()

    def f(x):
        m.t = m.t + np.sum(x)
        return m.t

    with pytest.raises(TraceError, match="attribute `t` of a Model that is no argument"):
        planned_ad.compile(f, X)


def test_a_new_branch_with_objects_and_constants() -> None:
    def f(m, c):
        m.t = m.t * c
        return np.sum(m.u) * m.t if m.t > 0 else m.t * m.t

    plan = planned_ad.compile(f, (model(), Const(2.0)))
    m = model(t=-1.0)
    dm = plan.gradient(m, 2.0)
    assert (m.t, dm.t) == (-2.0, -8.0)
