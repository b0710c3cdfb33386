"""Classes that change after a plan was compiled: what is put into them may hide what their instances have."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.outside.watch import Watch
from planned_ad.trace import trace

X = np.array([0.5, 2.0, 3.0])


class Meta(type):
    pass


class Base(metaclass=Meta):
    pass


class Held(Base):
    shared = 2.0

    def __init__(self):
        self.own = 2.0

    def method(self):
        return 2.0


def asked(value):
    """A `__getattribute__` that knows better."""
    names = {"own": value, "shared": value, "method": lambda: value}
    return lambda self, name: names[name] if name in names else object.__getattribute__(self, name)


CHANGES = {
    "getattribute": (lambda h: h.own, Held, "__getattribute__", asked(7.0)),
    "getattribute of a class attribute": (lambda h: h.shared, Held, "__getattribute__", asked(7.0)),
    "getattribute of a method": (lambda h: h.method(), Held, "__getattribute__", asked(7.0)),
    "getattribute of a base": (lambda h: h.own, Base, "__getattribute__", asked(7.0)),
    "property": (lambda h: h.own, Held, "own", property(lambda self: 7.0, lambda self, value: None)),
    "property of a base": (lambda h: h.own, Base, "own", property(lambda self: 7.0, lambda self, value: None)),
    "metaclass": (lambda h: type(h).shared, Meta, "shared", property(lambda cls: 7.0)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_class_gets_later_is_seen(what: str) -> None:
    read, cls, name, value = CHANGES[what]
    held = Held()

    def f(x):
        return np.sum(x * x) * read(held)

    before, watch = f(X), Watch(trace(f, (X,)).outside)
    assert watch.is_same()
    setattr(cls, name, value)
    try:
        assert f(X) != before and not watch.is_same() and not watch.holds()
    finally:
        delattr(cls, name)
    assert watch.holds()


def test_a_class_that_gets_what_is_not_read_needs_no_trace() -> None:
    @dataclasses.dataclass
    class Settings:
        rate: float = 2.0

    settings = Settings()
    plan = planned_ad.compile(lambda x: np.sum(x) * settings.rate, X, on_branch="raise")
    Settings.other = 3.0  # type: ignore[attr-defined]
    assert plan(X) == np.sum(X) * 2.0
    Settings.rate = property(lambda self: 5.0)  # type: ignore[assignment]
    with pytest.raises(planned_ad.errors.PlannedADError, match="rate"):
        plan(X)


class Positive:
    """A descriptor, which raises an error where it is asked for by the class."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return getattr(obj, self.name)

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj, self.name, value)


class Rate:
    k = Positive()

    def __init__(self, k: Any):
        self.k = k

    def __getattr__(self, name: str) -> Any:
        if name.startswith("p"):
            return self.k
        raise AttributeError(name)


def test_a_descriptor_that_its_class_does_not_give_is_no_change() -> None:
    watch = Watch(trace(lambda x: Rate(x[0]).k * np.sum(x), (X,)).outside)
    assert watch.is_same(), "else each call walks through all that is outside"
    kept, Rate.k = vars(Rate)["k"], property(lambda self: 2.0)  # type: ignore[assignment]
    try:
        assert not watch.is_same()
    finally:
        Rate.k = kept


def test_arrays_of_objects_are_compared_by_what_they_hold() -> None:
    held = np.array([[2.0], None, Rate(3.0)], dtype=object)
    watch = Watch(trace(lambda x: np.sum(x) * held[0][0] * held[2].k, (X,)).outside)
    assert watch.is_same(), "else each call walks through all that is outside"
    held[0][0] = 4.0
    assert not watch.is_same() and not watch.holds()
    held[0][0] = 2.0
    assert watch.holds()
    held[2] = Rate(5.0)
    assert not watch.is_same() and not watch.holds()


class Slotted:
    __slots__ = ()
    order = -1


class Mixture(Slotted):
    __slots__ = ("order", "rate")

    def __init__(self, rate: Any):
        self.rate, self.order = rate, 2

    def value(self) -> Any:
        return self.rate * self.order


def test_slots_that_hide_what_a_base_has() -> None:
    plan = planned_ad.compile(lambda x: Mixture(x[0]).value() * np.sum(x), X)
    assert plan(X) == X[0] * 2 * np.sum(X)
    assert plan._variants[0].watch.is_same(), "else each call walks through all that is outside"
