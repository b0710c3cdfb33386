"""Changes that leave what was read as it is: iterators, names that were not there, other objects of the same value."""

from __future__ import annotations

import array
import collections
import contextvars
import enum
import functools
import itertools
import os
import threading
import types
from typing import ClassVar

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.outside.watch import Watch
from planned_ad.errors import TraceError
from planned_ad.trace import trace

from .outside_programs import X

# Iterators.


@pytest.mark.parametrize("make", [itertools.count, lambda: iter([1.0, 2.0]), lambda: (v for v in [1.0])])
def test_iterators_from_outside_are_refused(make):
    items = make()
    for f in (
        lambda x: np.sum(x) * next(items),
        lambda x: sum(a * b for a, b in zip(x, items)),
        lambda x: x[0] * sum(items),
    ):
        with pytest.raises(TraceError, match=r"`items`, an iterator from outside .* make the iterator in the function"):
            trace(f, (X,))
    assert len(list(itertools.islice(items, 1))) == 1  # nothing was taken


# Names, attributes and keys that were not there; other objects of the same value.


class Unit:
    def __init__(self):
        self.a = 1.0

    def __call__(self, x):
        return np.sum(x)

    def of(self, x):
        return np.sum(np.sin(x))


def added_key(found):
    return lambda x: x[0] * found.table["a"] * found.table.get("q", 1.0), lambda: found.table.update(q=3.0)


def shadowed_method(found):
    unit = Unit()
    return lambda x: unit.of(x), lambda: setattr(unit, "of", np.cumsum)


def tuple_for_list(found):
    return lambda x: np.sum(np.outer(x, x)[found.weights]), lambda: setattr(found, "weights", (0, 1))


def missing_global(found):
    def f(x):
        try:
            return x[0] * NOT_THERE_YET
        except NameError:
            return x[0]

    return f, lambda: globals().update(NOT_THERE_YET=5.0)


def rebound_call(found):
    unit, old = Unit(), Unit.__call__
    found.undo = lambda: setattr(Unit, "__call__", old)
    return lambda x: unit(x), lambda: setattr(Unit, "__call__", lambda self, x: np.prod(x))


def other_class(found):
    unit = Unit()
    return lambda x: unit(x), lambda: setattr(unit, "__class__", Other)


class Other(Unit):
    def __call__(self, x):
        return x[0]


def keywords(found):
    part = functools.partial(lambda x, k=1.0, p=2: np.sum(x**p) * k, k=2.0)
    return lambda x: part(x), lambda: part.keywords.update(p=3)


def all_attributes(found):
    unit = Unit()
    return lambda x: x[0] * sum(vars(unit).values()), lambda: setattr(unit, "z", 4.0)


def bytes_in_place(found):
    return lambda x: x[0] * found.memory[0], lambda: found.memory.__setitem__(0, 4)


def numbers_in_place(found):
    return lambda x: x[0] * found.numbers[0], lambda: found.numbers.__setitem__(0, 4.0)


def objects_in_place(found):
    return lambda x: x[0] * found.objects[0], lambda: found.objects.__setitem__(0, 4.0)


def environment(found):
    os.environ["PLANNED_AD_TEST"] = "2"
    return lambda x: x[0] * float(os.environ["PLANNED_AD_TEST"]), lambda: os.environ.update(PLANNED_AD_TEST="3")


def variable(found):
    held = contextvars.ContextVar("held", default=1.0)
    return lambda x: x[0] * held.get(), lambda: held.set(3.0)


class Way(enum.Enum):
    UP = 1
    DOWN = 2


def member(found):
    found.ways = [Way.UP]
    return lambda x: x[0] if found.ways[0] is Way.UP else x[1], lambda: found.ways.__setitem__(0, Way.DOWN)


def member_of_an_attribute(found):
    unit = Unit()
    unit.way = Way.UP
    return lambda x: x[0] if unit.way == Way.UP else x[1], lambda: setattr(unit, "way", Way.DOWN)


def module_of_an_attribute(found):
    unit = Unit()
    unit.xp = np
    swapped = types.SimpleNamespace(sin=np.cos)
    return lambda x: unit.xp.sin(x[0]), lambda: setattr(unit, "xp", swapped)


def module_of_a_closure(found):
    xp = np

    def change():
        nonlocal xp
        xp = types.SimpleNamespace(sin=np.cos)

    return lambda x: xp.sin(x[0]), change


CHANGES = [
    added_key, shadowed_method, tuple_for_list, missing_global, rebound_call, other_class, keywords, all_attributes,
    bytes_in_place, numbers_in_place, objects_in_place, environment, variable, member, member_of_an_attribute,
    module_of_an_attribute, module_of_a_closure,
]  # fmt: skip


@pytest.mark.parametrize("make", CHANGES)
def test_changes_that_leave_what_was_read_as_it_is(make):
    found = types.SimpleNamespace(undo=lambda: globals().pop("NOT_THERE_YET", None))
    found.table, found.weights, found.memory = {"a": 1.0}, [0, 1], bytearray(b"ab")
    found.numbers, found.objects = array.array("d", [1.0]), np.array([1.0, None], dtype=object)
    f, change = make(found)
    x = np.array([0.5, 1.5])
    try:
        plan = planned_ad.compile(f, x)
        np.testing.assert_allclose(plan(x), f(x))
        before = f(x)
        change()
        assert not np.array_equal(before, f(x))
        np.testing.assert_allclose(plan(x), f(x))
    finally:
        found.undo()


class Numbered:
    count = 0

    def __init__(self, gain):
        Numbered.count += 1
        self.name, self.gain = f"sys[{Numbered.count}]", gain


def test_a_call_looked_up_before_a_change_goes_to_the_variant_of_now(monkeypatch):
    """It does not go through the slow path of its own variant again, as optimisers hold `plan.gradient`."""

    def f(x):
        return Numbered(x[0]).gain * Numbered(x[1]).gain ** 2

    x = np.array([1.0, 2.0])
    plan = planned_ad.compile(f, x)
    held = plan.gradient
    for _ in range(3):
        f(x)  # numbers two more
        np.testing.assert_allclose(held(x), [4.0, 4.0])
        with monkeypatch.context() as patch:
            patch.setattr(planned_ad.plan, "replay", None)
            np.testing.assert_allclose(held(2 * x), [16.0, 16.0])


def test_a_call_looked_up_before_a_change_takes_other_branches():
    scale = types.SimpleNamespace(factor=1.0)

    def f(x):
        return scale.factor * (x[0] ** 2 if x[0] > 0.0 else x[0])

    x = np.array([3.0])
    plan = planned_ad.compile(f, x)
    held = plan.gradient
    for factor in (1.0, 2.0, 1.0, 3.0):
        scale.factor = factor
        np.testing.assert_allclose(held(x), [6.0 * factor])
        np.testing.assert_allclose(held(-x), [factor])
        np.testing.assert_allclose(held(x), [6.0 * factor])


class Settings:
    def __init__(self, factor):
        self.factor = factor


class Listed(Settings, list):
    """Has a place for its dict elsewhere."""


@pytest.mark.parametrize("make", [Settings, Listed])
def test_another_dict_of_attributes(make):
    """As a state that was saved is set again."""
    settings = make(2.0)
    plan = planned_ad.compile(lambda x: settings.factor * np.sum(x), X)
    before = plan(X)
    settings.__dict__ = {"factor": 6.0}
    assert plan(X) == pytest.approx(3 * before)
    settings.factor = 4.0
    assert plan(X) == pytest.approx(2 * before)


# What is compared in Python at each call: it alone.

OF_THREAD = threading.local()
OF_THREAD.gain = 1.0
QUEUE, ORDERED = collections.deque([1.0, 2.0]), collections.OrderedDict(a=1.0, b=2.0)
SETTING = contextvars.ContextVar("SETTING", default=3.0)


class Much:
    """What takes time to walk."""

    table: ClassVar = {f"key{k}": float(k) for k in range(200)}


def compared_in_python(x):
    gain = OF_THREAD.gain * QUEUE[0] * sum(ORDERED.values()) * SETTING.get()
    return x[0] * gain * Much.table["key7"] + (x[1] if isinstance(x, Much) else x[2])


def test_what_is_compared_in_python_is_looked_at_by_itself(monkeypatch):
    plan = planned_ad.compile(compared_in_python, (X,), check=False)
    walks = []
    monkeypatch.setattr(Watch, "_walk", lambda self, names: walks.append(names))
    assert plan(X) == compared_in_python(X) and not walks


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(OF_THREAD, "gain", 2.0),
        lambda patch: QUEUE.rotate(),
        lambda patch: patch.setitem(ORDERED, "a", 5.0),
        lambda patch: patch.setitem(Much.table, "key7", 0.5),
        lambda patch: SETTING.set(4.0),
    ],
)
def test_each_of_them_is_seen_to_change(monkeypatch, change):
    plan = planned_ad.compile(compared_in_python, (X,), check=False)
    before = plan(X)
    assert before == compared_in_python(X)
    contextvars.copy_context().run(lambda: changed_and_called(plan, change, monkeypatch, before))


def changed_and_called(plan, change, monkeypatch, before):
    change(monkeypatch)
    assert plan(X) == pytest.approx(compared_in_python(X), rel=1e-15) and plan(X) != before
