"""Every form of a call runs as machine code, and gives what the call with all of its arguments by position gives."""

from __future__ import annotations

import collections
import gc
import inspect
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError, OverlapError, ReadOnlyError

from .call_programs import KEYS, SQUARES, x


class Pair(NamedTuple):
    a: Any
    b: Any


class Plain:
    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b


@dataclass
class Record:
    a: Any
    b: Any


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b


class Went(Exception):
    """The slow path was taken."""


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls go to machine code, or fail; plans are to be compiled before."""

    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise Went

    monkeypatch.setattr("planned_ad.plan.replay", refuse)
    monkeypatch.setattr("planned_ad.plan.run_reverse", refuse)
    monkeypatch.setattr("planned_ad.functional.enzyme.sweeps.replay", refuse)


def goes_slow(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> bool:
    try:
        call(*arguments, **keywords)
    except Went:
        return True
    return False


def weighted(x, k, *, w=1.0):
    return np.sum(x * x * k) * w


WEIGHTED = planned_ad.compile(weighted, (x(), 2.0), {"w": 3.0})
SQUARES.value_and_gradient(x()), SQUARES.pullback(x(), cotangent=1.0)


# Without shadows, by keyword.


def test_shadows_that_are_missing_are_made(fast: None) -> None:
    given, dx = x(), np.empty(3)
    found = SQUARES.gradient(given)
    assert SQUARES.gradient(given, dx) is dx
    assert type(found) is np.ndarray and found.flags.owndata and found.flags.c_contiguous and found.flags.writeable
    np.testing.assert_array_equal(found, dx)
    assert SQUARES.gradient(given) is not found
    value, found = SQUARES.value_and_gradient(given)
    assert value == 14.0
    np.testing.assert_array_equal(found, dx)
    np.testing.assert_array_equal(SQUARES.gradient(given, None), dx)


def test_what_is_added_to_begins_as_zero(fast: None) -> None:
    spoiled = [np.full(3, np.nan) for _ in range(50)]
    del spoiled
    for _ in range(5):
        np.testing.assert_array_equal(SQUARES.pullback(x(), cotangent=2.0), 4 * x())
        np.testing.assert_array_equal(SQUARES.pullback(x(), None, 2.0), 4 * x())


def test_keywords_in_order(fast: None) -> None:
    dx = np.empty(3)
    found = WEIGHTED.gradient(x(), 2.0, 3.0, dx)
    assert found[0] is dx and found[1:] == (42.0, 28.0)
    for arguments, keywords in (
        ((x(), 2.0), {"w": 3.0}),
        ((x(),), {"k": 2.0, "w": 3.0}),
        ((), {"x": x(), "k": 2.0, "w": 3.0}),
        ((), {"x": x(), "k": 2.0, "w": 3.0, "dx": dx}),
        ((x(), 2.0), {"w": 3.0, "dx": dx}),
    ):
        other = WEIGHTED.gradient(*arguments, **keywords)
        np.testing.assert_array_equal(other[0], 12 * x())
        assert other[1:] == found[1:]


def test_keywords_in_another_order_are_put_in_order(fast: None) -> None:
    assert goes_slow(WEIGHTED.gradient, k=2.0, x=x(), w=3.0)


def test_keywords_in_another_order_give_the_same() -> None:
    assert WEIGHTED.gradient(w=3.0, k=2.0, x=x())[1:] == (42.0, 28.0)


def test_what_is_wrong_is_refused_as_ever() -> None:
    dx = np.full(3, 7.0)
    for arguments, keywords, message in (
        ((), {}, "0 were given"),
        ((x(), 2.0), {}, "w is missing by keyword"),
        ((x(), 2.0, 3.0), {}, "w is missing by keyword"),
        ((x(), 2.0), {"w": 3.0, "dy": dx}, "unexpected or repeated argument 'dy'"),
        ((x(), 2.0), {"w": 3.0, "x": x()}, "k is missing"),
        ((x(), 2.0, 3.0, dx), {"dx": dx}, "unexpected or repeated argument 'dx'"),
        ((x(), 2.0, 3.0, dx, dx), {}, "5 arguments were given"),
        ((x()[:2], 2.0), {"w": 3.0}, "x has shape"),
        ((x(), "2"), {"w": 3.0}, "k must be a float"),
    ):
        with pytest.raises(ArgumentError, match=message):
            WEIGHTED.gradient(*arguments, **keywords)
    assert np.all(dx == 7.0)
    both = planned_ad.compile(lambda x, y: np.sum(x * y), (x(), x()))
    with pytest.raises(ArgumentError, match="the shadow dy is missing"):
        both.gradient(x(), x(), dx)
    with pytest.raises(ReadOnlyError):
        frozen = np.zeros(3)
        frozen.flags.writeable = False
        SQUARES.gradient(x=x(), dx=frozen)
    with pytest.raises(OverlapError):
        same = x()
        SQUARES.gradient(x=same, dx=same)


def test_signatures() -> None:
    assert str(inspect.signature(SQUARES)) == "(x, /)"
    assert str(inspect.signature(SQUARES.gradient)) == "(x, dx, /)"
    forward, reverse = SQUARES.split()
    assert str(inspect.signature(forward)) == "(x, tape, /)"
    assert str(inspect.signature(reverse)) == "(tape, dx, cotangent, /)"
    assert "f" in inspect.signature(planned_ad.Plan).parameters
    assert planned_ad.Plan.__call__.__doc__ and callable(SQUARES)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_shadow_has_the_layout_of_its_argument(axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
    plan = planned_ad.compile(lambda x: np.sum(x * x), given)
    plan.pullback(given, cotangent=1.0)
    monkeypatch.setattr("planned_ad.plan.replay", None)
    for found in (plan.gradient(given), plan.pullback(given, cotangent=1.0)):
        assert found.strides == given.strides and found.base is None
        np.testing.assert_array_equal(found, 2 * given)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (1, 1)])
def test_arrays_of_no_length_and_without_axes(shape: tuple[int, ...]) -> None:
    given = np.ones(shape)
    plan = planned_ad.compile(lambda x: x * 2.0 if x.ndim else x[()] * 2.0, given)
    assert np.shape(plan(given)) == shape
    assert plan.pullback(given, cotangent=2.0 * np.ones(shape) if shape else 2.0).shape == shape


# Containers.

TREES: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda a, b: {"a": a, "b": b},
    "numbered dict": lambda a, b: {0: a, 1: b},
    "namedtuple": Pair,
    "tuple": lambda a, b: (a, b),
    "list": lambda a, b: [a, b],
    "dataclass": Record,
    "object": Plain,
    "slots": Slotted,
    "namespace": lambda a, b: types.SimpleNamespace(a=a, b=b),
    "nested": lambda a, b: {"u": [a, {"v": Pair(b, None)}], "n": 3},
}


def leaves(tree: Any) -> list[Any]:
    from planned_ad.python.structure import flatten

    return [leaf for leaf in flatten(tree)[0] if isinstance(leaf, np.ndarray | float)]


def references(tree: Any) -> list[int]:
    gc.collect()
    return [sys.getrefcount(leaf) for leaf in leaves(tree)]


def product(tree: Any) -> Any:
    a, b = leaves_of_traced(tree)
    return np.sum(a * a * b)


def leaves_of_traced(tree: Any) -> tuple[Any, Any]:
    if isinstance(tree, dict):
        if "u" in tree:
            return tree["u"][0], tree["u"][1]["v"].a
        return tuple(tree.values())
    return (tree[0], tree[1]) if isinstance(tree, list | tuple) else (tree.a, tree.b)


@pytest.mark.parametrize("name", TREES)
def test_containers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = TREES[name]
    tree, shadows = make(x(), x() + 1), make(np.empty(3), np.empty(3))
    plan = planned_ad.compile(product, (tree,))
    monkeypatch.setattr("planned_ad.plan.replay", None)
    assert plan.gradient(tree, shadows) is shadows
    given, held = leaves(shadows), references(tree)
    np.testing.assert_array_equal(given[0], 2 * x() * (x() + 1))
    np.testing.assert_array_equal(given[1], x() ** 2)
    if name != "nested":  # whose number is that of the argument
        found = plan.gradient(tree)
        assert type(found) is type(tree)
        for new, old in zip(leaves(found), given, strict=True):
            assert new is not old
            np.testing.assert_array_equal(new, old)
        del found
    assert held == references(tree)


@pytest.mark.parametrize("name", ["dict", "list", "tuple", "namedtuple"])
def test_numbers_in_containers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = TREES[name]
    tree = make(2.0, 3.0)
    plan = planned_ad.compile(product, (tree,))
    monkeypatch.setattr("planned_ad.plan.replay", None)
    expected = make(12.0, 4.0)
    assert plan.gradient(tree) == expected and type(plan.gradient(tree)) is type(tree)
    shadows = make(0.5, 0.5)
    found = plan.gradient(tree, shadows)
    assert found == expected and tree == make(2.0, 3.0)
    if name in ("dict", "list"):
        assert found is shadows
    else:
        assert shadows == make(0.5, 0.5)


def test_tuples_of_numbers_in_a_list_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned_ad.compile(lambda t: np.sum(t[0][0] * t[1]) * t[0][1], ([(2.0, 3.0), x()],))
    shadows = [(0.0, 0.0), np.empty(3)]
    slow = plan.gradient([(2, 3.0), x()], [(0.0, 0.0), np.empty(3)])
    monkeypatch.setattr("planned_ad.plan.replay", None)
    found = plan.gradient([(2.0, 3.0), x()], shadows)
    assert found is shadows and found[0] == slow[0] == (18.0, 12.0)
    np.testing.assert_array_equal(found[1], slow[1])


def test_dicts_that_are_not_as_they_were(fast: None) -> None:
    class Own(dict):
        pass

    gradient = KEYS.gradient
    assert not goes_slow(gradient, {"a": x(), "b": x()})
    assert not goes_slow(gradient, {"".join(["", "a"]): x(), str(b"b", "ascii"): x()})  # other objects, equal
    for wrong in (
        {"b": x(), "a": x()},
        {"a": x()},
        {"a": x(), "b": x(), "c": x()},
        {"a": x(), "c": x()},
        {"a": x(), 1: x()},
        Own(a=x(), b=x()),
        collections.OrderedDict(a=x(), b=x()),
        {"a": x(), "b": x()[::-1]},
        {"a": x(), "b": 1.0},
        [x(), x()],
        None,
    ):
        assert goes_slow(gradient, wrong), wrong
        assert goes_slow(gradient, {"a": x(), "b": x()}, wrong) or wrong is None


def test_dicts_that_are_not_as_they_were_are_refused() -> None:
    with pytest.raises(ArgumentError, match="the arguments are"):
        KEYS.gradient({"b": x(), "a": x()})
    with pytest.raises(OverlapError):
        same = x()
        KEYS.gradient({"a": same, "b": x()}, {"a": np.empty(3), "b": same})


def test_objects_with_another_attribute_go_to_the_slow_path() -> None:
    plan = planned_ad.compile(product, (Plain(x(), x()),))
    other = Plain(x(), x())
    other.c = 1.0
    with pytest.raises(ArgumentError, match="the arguments are"):
        plan.gradient(other)
    part = Slotted(x(), x())
    plan = planned_ad.compile(product, (Slotted(x(), x()),))
    del part.b
    with pytest.raises(ArgumentError, match="the arguments are"):
        plan.gradient(part)


# Results.

RESULTS: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: x * 2,
    "arrays": lambda x: (x * 2, [x + 1, x[0]]),
    "dict": lambda x: {"y": x * 2, "s": np.sum(x), "n": 3, None: None},
    "namedtuple": lambda x: Pair(x * 2, np.sum(x)),
    "object": lambda x: Record(x * 2, {"s": np.sum(x)}),
    "count": lambda x: (np.sum(x), len(x), "text"),
    "single": lambda x: np.sum(x).astype(np.float32),
    "integer": lambda x: (np.sum(x), np.sum(x > 1)),
    "truth": lambda x: (np.sum(x), np.all(x > 0)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_any_result(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = RESULTS[name]
    plan = planned_ad.compile(f, x())
    plan(x())
    monkeypatch.setattr("planned_ad.plan.replay", None)
    found, expected = plan(x()), f(x())
    assert_alike(found, expected)
    other = plan(x=x())
    assert_alike(other, expected)
    assert not {id(a) for a in leaves(found) if isinstance(a, np.ndarray)} & {id(a) for a in leaves(other)}


def assert_alike(found: Any, expected: Any) -> None:
    """Equal, and of the same types; but NumPy's doubles come as Python's."""
    from planned_ad.python.structure import flatten

    (found, structure), (expected, wanted) = flatten(found), flatten(expected)
    assert structure == wanted
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, e)
        assert type(a) is type(e) or (type(a) is float and type(e) is np.float64)


def test_a_result_that_depends_on_a_branch() -> None:
    def f(x):
        return x * 2 if x[0] > 0 else x[1:]

    plan = planned_ad.compile(f, x())
    for given in (x(), -x(), x()):
        np.testing.assert_array_equal(plan(given), f(given))


def test_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    forward, reverse = SQUARES.split()
    tape = forward.tape()
    forward(x(), tape)
    monkeypatch.setattr("planned_ad.plan.replay", None)
    monkeypatch.setattr("planned_ad.plan.run_reverse", None)
    assert forward(x(), tape) == forward(x(), tape=tape) == forward(x=x(), tape=tape) == 14.0
    dx = np.zeros(3)
    for found in (reverse(tape), reverse(tape, dx), reverse(tape, cotangent=1.0), reverse(tape, None, 1.0)):
        np.testing.assert_array_equal(found, 2 * x())
