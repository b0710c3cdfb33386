"""Arguments by keyword, nested tuples of floats and ints, and objects: as arguments, shadows and results."""

from __future__ import annotations

import copy
import functools
import types

import numpy as np
import pytest

import planned_ad
from planned_ad import Const, make_zero
from planned_ad.errors import ArgumentError, StaticArgumentError, TraceError

X = np.array([1.0, 2.0, 3.0])


# Arguments by keyword.


def weighted(x, n, *, w, power=2):
    return np.sum(w * x**power) * n


@pytest.fixture(scope="module")
def by_keyword():
    return planned_ad.compile(weighted, (X,), {"n": 3, "w": X})


def test_what_f_takes_by_position_too_is_ordered_there(by_keyword) -> None:
    assert by_keyword._variants[0].trace.names == ("x", "n", "w")


def test_keywords_have_derivatives_after_the_others(by_keyword) -> None:
    dx, dw = by_keyword.gradient(X, n=3, w=2 * X)
    np.testing.assert_allclose(dx, 3 * 2 * (2 * X) * X)
    np.testing.assert_allclose(dw, 3 * X**2)


def test_shadows_by_keyword(by_keyword) -> None:
    dx, dw = np.empty(3), np.empty(3)
    value, (first, second) = by_keyword.value_and_gradient(X, 3, w=X, dw=dw, dx=dx)
    assert value == weighted(X, 3, w=X) and first is dx and second is dw
    np.testing.assert_allclose(dw, 3 * X**2)


def test_pullback_by_keyword(by_keyword) -> None:
    dx, dw = np.ones(3), np.ones(3)
    by_keyword.pullback(x=X, n=3, w=X, dx=dx, dw=dw, cotangent=2.0)
    np.testing.assert_allclose(dx, 1 + 2 * 3 * 2 * X * X)


def test_the_function_itself_by_keyword(by_keyword) -> None:
    assert by_keyword(X, w=X, n=3) == weighted(X, 3, w=X)


def test_bound_keywords_take_the_fast_way(by_keyword, monkeypatch) -> None:
    dx, dw = np.empty(3), np.empty(3)
    bound = by_keyword.bind(X, 3, dw=dw, dx=dx, w=X)
    monkeypatch.setattr("planned_ad.plan.replay", None)
    bound()
    np.testing.assert_allclose(dw, 3 * X**2)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((X, 3), {}, "takes 3 arguments .* w is missing by keyword"),
        ((X, 3, X), {}, "w is missing by keyword"),
        ((X,), {"w": X}, "n is missing"),
        ((3,), {"x": X, "w": X}, "n is missing"),
        ((X, 3), {"w": X, "power": 3}, "unexpected or repeated argument 'power'"),
        ((X, 3), {"w": X, "dx": X.copy()}, "the shadow dw is missing"),
        ((X, 3), {"w": X[:2]}, "w has shape"),
    ],
)
def test_wrong_keywords_are_refused(by_keyword, arguments, keywords, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        by_keyword.gradient(*arguments, **keywords)


def test_keywords_by_name_and_order_of_what_kwargs_gathers() -> None:
    def f(x, **terms):
        return sum((k + 1) * x * term for k, term in enumerate(terms.values()))

    plan = planned_ad.compile(f, (2.0,), {"a": 3.0, "b": 4.0})
    assert plan.gradient(2.0, a=3.0, b=4.0) == (11.0, 2.0, 4.0)
    with pytest.raises(ArgumentError, match="a, b in this order"):
        plan.gradient(2.0, b=4.0, a=3.0)


def test_keywords_survive_a_new_branch_and_a_copy() -> None:
    def f(x, *, scale, fixed):
        return scale * x * fixed if scale > 0 else x * fixed

    plan = copy.deepcopy(planned_ad.compile(f, (2.0,), {"scale": 3.0, "fixed": Const(5.0)}))
    assert plan.gradient(2.0, scale=3.0, fixed=5.0) == (15.0, 10.0)
    assert plan.gradient(2.0, scale=-3.0, fixed=5.0) == (5.0, 0.0)


def test_a_shadow_that_has_the_name_of_an_argument_goes_by_position() -> None:
    plan = planned_ad.compile(lambda x, dx: np.sum(x) * dx, (X, Const(0.5)))
    np.testing.assert_allclose(plan.gradient(X, dx=0.25), [0.25] * 3)
    shadow = np.empty(3)
    assert plan.gradient(X, 0.25, shadow) is shadow


# *args, and tuples of floats and ints.


def concat(*items):
    if not items:
        return ()
    first, *rest = items
    return (*(first if isinstance(first, tuple) else (first,)), *concat(*rest))


def sum_of_squares(out, *items):
    out[0] = sum(item * item for item in concat(*items))


def test_recursive_concat_of_splatted_tuples() -> None:
    plan = planned_ad.compile(sum_of_squares, (np.zeros(1), (1.0, 2), 3.0, (4.0,)))
    out = np.zeros(1)
    shadows = plan.pullback(out, (1.0, 2), 3.0, (4.0,), np.ones(1), (0.5, 2), (0.0,))
    assert out[0] == 30.0
    assert shadows[1:] == ((2.5, 2), 6.0, (8.0,))


def test_shadows_of_gathered_arguments_together() -> None:
    plan = planned_ad.compile(lambda *xs: np.sum(xs[0]) * xs[1] * np.sum(xs[2]), (X, 2, X))
    first, last = np.empty(3), np.empty(3)
    plan.gradient(X, 2, X, dxs=(first, None, last))
    np.testing.assert_allclose(last, [12.0] * 3)
    with pytest.raises(ArgumentError, match="a tuple of 3 shadows"):
        plan.gradient(X, 2, X, dxs=(first, last))


def square_all(tree):
    if isinstance(tree, tuple):
        return sum(square_all(part) for part in tree)
    return np.sum(tree * tree)


TREE = ((1.0, 2), (3.0, (X, np.array([4, 5]), True, 6.0)))


@pytest.mark.parametrize("make", [lambda: (), lambda: (make_zero(TREE),)], ids=["new", "passed"])
def test_what_is_no_float_passes_through_untouched(make) -> None:
    shadow = planned_ad.compile(square_all, (TREE,)).gradient(TREE, *make())
    (a, b), (c, (d, e, f, g)) = shadow
    assert (a, b, c, f, g) == (2.0, 2, 6.0, True, 12.0)
    assert e is TREE[1][1][1]
    np.testing.assert_allclose(d, 2 * X)


def test_a_constant_number_keeps_its_place() -> None:
    plan = planned_ad.compile(lambda p: p[0] * p[1], ((2.0, Const(3.0)),))
    assert plan.gradient((2.0, 4.0)) == (4.0, 4.0)


# Objects.


class Base:
    gain = 2.0

    def __init__(self, u, t=0.0):
        self.u, self.t, self.steps, self.name = u, t, 3, "heat"

    @property
    def total(self):
        return np.sum(self.u)


class Model(Base):
    def __init__(self, u, t=0.0):
        super().__init__(u, t)
        self.parameters = {"k": 0.5, "v": (np.ones(3), 2)}

    def __call__(self, x):
        return self.gain * self.parameters["k"] * np.sum(self.u * x) + self.total * self.t


class Slotted:
    __slots__ = ("__hidden", "x")

    def __init__(self, x):
        self.x = x
        self.__hidden = 2.0

    def loss(self):
        return np.sum(self.x**2) * self.__hidden

    def hidden(self):
        return self.__hidden


def model(**changes):
    made = Model(X.copy(), 2.0)
    vars(made).update(changes)
    return made


@pytest.fixture(scope="module")
def call():
    return planned_ad.compile(Model.__call__, (model(), X))


def test_gradient_of_an_object_is_an_object(call) -> None:
    m = model(u=2 * X)
    dm, dx = call.gradient(m, X)
    assert type(dm) is Model and (dm.steps, dm.name) == (3, "heat")
    np.testing.assert_allclose(dm.u, X + 2.0)
    np.testing.assert_allclose(dx, m.u)
    assert dm.t == m.total and dm.parameters["k"] == 2 * np.sum(m.u * X)
    np.testing.assert_array_equal(dm.parameters["v"][0], np.zeros(3))


def test_pullback_adds_to_an_object(call) -> None:
    dm = make_zero(model())
    dm.t = 1.0
    du = dm.u
    dx = np.zeros(3)
    returned = call.pullback(model(), X, dm, dx, 3.0)
    assert returned[0] is dm and dm.u is du and dm.t == 1.0 + 3 * X.sum()
    np.testing.assert_allclose(du, 3 * (X + 2.0))


def test_other_static_attributes_are_refused(call) -> None:
    with pytest.raises(StaticArgumentError, match=r"self\.steps is 4"):
        call.gradient(model(steps=4), X)
    with pytest.raises(ArgumentError, match="Model"):
        call.gradient(model(other=1), X)


def test_an_array_of_strings_in_an_object_is_part_of_the_plan() -> None:
    plan = planned_ad.compile(Model.__call__, (model(labels=np.array(["a", "b"])), X))
    assert plan.gradient(model(labels=np.array(["a", "b"])), X)[0].t == 6.0
    with pytest.raises(StaticArgumentError, match=r"self\.labels"):
        plan.gradient(model(labels=np.array(["a", "c"])), X)


def test_slots_and_private_names() -> None:
    plan = planned_ad.compile(Slotted.loss, (Slotted(X),))
    dm = plan.gradient(Slotted(2 * X))
    np.testing.assert_allclose(dm.x, 8 * X)
    assert dm.hidden() == 4 * np.sum(X**2)


def test_the_attributes_of_a_bound_method_are_constants() -> None:
    m = model()
    np.testing.assert_allclose(planned_ad.compile(m.__call__, X).gradient(X), m.u)


def test_a_result_may_be_an_object() -> None:
    def f(m, x):
        return Slotted(m.u * x), types.SimpleNamespace(total=m.total)

    slotted, space = planned_ad.compile(f, (model(), X))(model(), X)
    assert type(slotted) is Slotted and slotted.hidden() == 2.0 and space.total == 6.0
    np.testing.assert_array_equal(slotted.x, X * X)


def test_an_object_that_leads_back_to_itself() -> None:
    def f(node):
        return np.sum(node.x) * node.next.next.t * node.next.t

    def ring():
        a = types.SimpleNamespace(x=X, t=2.0)
        a.next = types.SimpleNamespace(next=a, t=5.0)
        return a

    plan = planned_ad.compile(f, (ring(),))
    d = plan.gradient(ring())
    assert d.next.next is d and (d.t, d.next.t) == (30.0, 12.0)


class Closing:
    def __init__(self):
        self.k = 2.0
        self.f = lambda x: self.k * x
        self.g = self.double

    def double(self, x):
        return self.k * x


def test_a_method_in_an_attribute_belongs_to_the_object() -> None:
    def holder():
        made = object.__new__(Closing)
        made.k, made.g = 3.0, made.double
        return made

    dm, dx = planned_ad.compile(lambda m, x: m.g(x) * m.k, (holder(), 1.0)).gradient(holder(), 5.0)
    assert (dm.k, dx) == (30.0, 9.0) and dm.g.__self__ is dm


def test_a_closure_over_the_object_itself_is_refused() -> None:
    with pytest.raises(TraceError, match="an object of the argument `m`, a Closing, from outside"):
        planned_ad.compile(lambda m: m.f(3.0) * m.k, (Closing(),))


def test_returned_objects_are_of_the_real_world() -> None:
    m = model(gain_of=np.sum, helper=concat)
    returned = planned_ad.compile(lambda m: m, (m,))(m)
    assert returned.helper is concat and returned.gain_of is np.sum


# Shadows to begin with.


def test_make_zero() -> None:
    m = model(rng=np.random.default_rng(0), count=np.arange(2), small=np.float32(2), u=np.ones((2, 3)).T)
    zero = make_zero(m)
    assert type(zero) is Model and zero.rng is m.rng and zero.count is m.count and zero.steps == 3
    assert zero.u.strides == m.u.strides and not zero.u.any() and m.u.all()
    assert zero.t == 0.0 and type(zero.small) is np.float32 and zero.small == 0
    assert make_zero((1.0, Const(2.0), 3, True, None, "a", 1j)) == (0.0, 2.0, 3, True, None, "a", 0j)


def test_make_zero_takes_apart_what_a_plan_does() -> None:
    class Counts(list):
        pass

    counts, partial = Counts([1.0]), functools.partial(np.sum, axis=0)
    assert make_zero([counts, partial]) == [counts, partial]


def test_a_container_without_items_has_a_shadow_without_items() -> None:
    plan = planned_ad.compile(lambda d, x: d.get("a", x) ** 2, ({}, 2.0))
    assert plan.gradient({}, 2.0) == 4.0
    assert plan.jvp({}, 2.0, 1.0) == (4.0, 4.0)
