"""What runs as it is while a function is traced, without a copy, is looked at as the function's own names are."""

from __future__ import annotations

import abc
import collections
import enum
import fractions
import functools
import sys
import threading
import types
import typing
import weakref
from collections.abc import Callable

import numpy as np
import pytest
import scipy.optimize

import planned_ad
from planned_ad.calls.outside.watch import Watch
from planned_ad.errors import UnsupportedError
from planned_ad.trace import trace

X = np.array([1.0, 2.0])
K = 2.0
WEIGHTS = np.ones(2)
HOLDER = types.SimpleNamespace(gain=2.0)
CASES: dict[str, Callable] = {}


def case(make: Callable) -> Callable:
    """A function that makes one of X, and what changes it."""
    CASES[make.__name__] = make
    return make


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setitem(globals(), "K", 2.0)
    monkeypatch.setitem(globals(), "WEIGHTS", np.ones(2))


def other_number() -> None:
    globals()["K"] = 7.0


def in_place() -> None:
    WEIGHTS[:] *= 3


class Slope(enum.Enum):
    LINE = 1

    def __call__(self, v):
        return K * v

    @property
    def steepness(self):
        return K

    @staticmethod
    def weights():
        return WEIGHTS


@case
def called_member():
    return lambda x: np.sum(Slope.LINE(x)), other_number


@case
def property_of_a_member():
    return lambda x: np.sum(x) * Slope.LINE.steepness, other_number


@case
def array_of_a_member():
    return lambda x: np.sum(x * Slope.weights()), in_place


def dispatched():
    @functools.singledispatch
    def energy(model, x):
        return np.sum(x)

    @energy.register
    def spring(model: int, x):
        return K * np.sum(WEIGHTS * x**2)

    return energy


@case
def number_of_a_handler():
    energy = dispatched()
    return lambda x: energy(1, x), other_number


@case
def array_of_a_handler():
    energy = dispatched()
    return lambda x: energy(1, x), in_place


@case
def new_handler():
    energy = dispatched()
    return lambda x: energy("a", x), lambda: energy.register(str, lambda model, x: np.sum(x**3))


@case
def method_by_the_class_of_its_argument():
    class Model:
        gain = 2.0

        @functools.singledispatchmethod
        def energy(self, a, x):
            return np.sum(x)

        @energy.register
        def _(self, a: int, x):
            return self.gain * np.sum(x**2)

    model = Model()
    return lambda x: model.energy(1, x), lambda: setattr(model, "gain", 3.0)


def with_settings(make_cache):
    @make_cache
    def settings(name="usual"):
        return types.SimpleNamespace(gain=2.0, w=np.ones(2))

    return settings


@case
def attribute_of_a_kept_result():
    settings = with_settings(functools.cache)
    settings()
    return lambda x: settings().gain * np.sum(x), lambda: setattr(settings(), "gain", 5.0)


@case
def kept_in_a_bounded_cache():
    settings = with_settings(functools.lru_cache(4))
    settings("other"), settings("usual")
    return lambda x: settings("other").gain * np.sum(x), lambda: setattr(settings("other"), "gain", 5.0)


@case
def cache_that_is_cleared():
    settings = with_settings(functools.cache)
    settings().gain = 9.0
    return lambda x: settings().gain * np.sum(x), settings.cache_clear


@case
def cache_that_is_filled():
    settings = with_settings(functools.cache)
    return lambda x: settings().gain * np.sum(x), lambda: setattr(settings(), "gain", 5.0)


@case
def the_only_instance():
    class Only:
        found = None

        def __new__(cls):
            if cls.found is None:
                cls.found = super().__new__(cls)
                cls.found.gain = 2.0
            return cls.found

    Only()
    return lambda x: Only().gain * np.sum(x), lambda: setattr(Only(), "gain", 5.0)


@case
def class_under_another_name():
    class Model:
        def __init__(self):
            self.gain = holder.gain

    holder, models = types.SimpleNamespace(gain=2.0), {"a": Model}
    return lambda x: models["a"]().gain * np.sum(x), lambda: setattr(holder, "gain", 5.0)


@case
def called_by_compiled_code():
    return lambda x: np.sum(x) * scipy.optimize.brentq(lambda z: z - K, 0, 50), other_number


@case
def made_into_a_ufunc():
    scaled = np.frompyfunc(lambda v: v * K, 1, 1)
    return lambda x: np.sum(x) * scaled(3.0), other_number


@case
def key_of_a_sort():
    key = functools.cmp_to_key(lambda a, b: K - 5.0)
    return lambda x: np.sum(x) * sorted([1.0, 3.0], key=key)[0], other_number


@case
def class_of_sets():
    tags = type("Tags", (set,), {})([1])
    return lambda x: np.sum(x) * len(tags), lambda: tags.add(2)


@case
def dtype_in_place():
    numbers = np.array([1.0, 2.0])
    return lambda x: np.sum(x * numbers), lambda: setattr(numbers, "dtype", np.int64)


@case
def name_that_is_asked_for():
    globals()["GIVEN"] = 1
    return lambda x: np.sum(x) * (3.0 if "GIVEN" in globals() else 1.0), lambda: globals().pop("GIVEN")


@case
def module_by_its_name():
    sys.modules["a_module"] = module = types.ModuleType("a_module")
    module.k = 2.0
    return lambda x: np.sum(x) * sys.modules["a_module"].k, lambda: setattr(module, "k", 5.0)


@case
def module_that_was_not_there():
    sys.modules.pop("no_module", None)
    put = functools.partial(sys.modules.__setitem__, "no_module", np)
    return lambda x: np.sum(x) * (2.0 if sys.modules.get("no_module") else 1.0), put


@case
def local_of_a_thread():
    local = type("Local", (threading.local,), {})()
    local.k = 4.0
    return lambda x: np.sum(x) * local.k, lambda: setattr(local, "k", 3.0)


@case
def function_in_a_local_of_a_thread():
    local = threading.local()
    local.scaled = lambda x: K * np.array(x)
    return lambda x: np.sum(local.__dict__.get("scaled")(x)), lambda: setattr(local, "scaled", np.exp)


class Meta(type):
    gain = 2.0

    @property
    def steepness(cls):
        return K

    def __len__(cls):
        return int(K)


class OfMeta(metaclass=Meta):
    pass


@case
def property_of_a_metaclass():
    return lambda x: np.sum(x) * OfMeta.steepness, other_number


@case
def method_of_a_metaclass():
    return lambda x: np.sum(x) * len(OfMeta), other_number


@case
def registered_class():
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Round:
        pass

    thing = Round()
    return lambda x: np.sum(x) * (2.0 if isinstance(thing, Shape) else 1.0), lambda: Shape.register(Round)


@case
def protocol_that_is_fulfilled():
    @typing.runtime_checkable
    class HasGain(typing.Protocol):
        gain: float

    thing = types.SimpleNamespace()
    return lambda x: np.sum(x) * (2.0 if isinstance(thing, HasGain) else 1.0), lambda: setattr(thing, "gain", 1.0)


@case
def attribute_of_a_dict():
    held = collections.UserDict()
    held.gain = 2.0
    return lambda x: np.sum(x) * held.gain, lambda: setattr(held, "gain", 5.0)


@case
def key_of_a_dict():
    key = type("Key", (), {})()
    key.gain, table = 2.0, {}
    table[key] = 1
    return lambda x: np.sum(x) * sum(k.gain for k in table), lambda: setattr(key, "gain", 5.0)


@case
def list_in_a_slice():
    window = slice([2.0], None)
    return lambda x: np.sum(x) * window.start[0], lambda: window.start.__setitem__(0, 5.0)


@case
def evaluated_text():
    return lambda x: np.sum(x) * eval("K + HOLDER.gain"), lambda: setattr(HOLDER, "gain", 5.0)


@case
def executed_text():
    def f(x):
        exec("found = K + 1", globals(), names := {})
        return np.sum(x) * names["found"]

    return f, other_number


@case
def name_of_a_function():
    def helper(): ...

    return lambda x: np.sum(x) * len(helper.__name__), lambda: setattr(helper, "__name__", "h")


@case
def weak_values():
    thing = type("Thing", (), {"gain": 2.0})()
    held = weakref.WeakValueDictionary(a=thing)
    return lambda x: np.sum(x) * held["a"].gain, lambda: setattr(thing, "gain", 5.0)


@case
def attribute_of_a_partial():
    p = functools.partial(np.sum)
    p.gain = 2.0
    return lambda x: p(x) * p.gain, lambda: setattr(p, "gain", 5.0)


@case
def array_in_an_object_that_is_no_copy():
    held = collections.UserDict(w=np.ones(2))
    return lambda x: np.sum(x * held["w"]), lambda: held["w"].__imul__(3)


@pytest.mark.parametrize("name", CASES)
def test_changes_are_noticed(name):
    f, change = CASES[name]()
    before, watch = f(X), Watch(trace(f, (X,)).outside)
    if name != "cache_that_is_filled":
        assert watch.holds()
    change()
    assert not watch.is_same() and not watch.holds()
    assert f(X) != before
    assert Watch(trace(f, (X,)).outside).holds()


class Lazy:
    def __init__(self):
        self.source, self.made = np.ones(2), None

    def by_hand(self):
        if self.made is None:
            self.made = self.source * 2
        return self.made

    @functools.cached_property
    def by_property(self):
        return self.source * 2


@pytest.mark.parametrize("read", [Lazy.by_hand, lambda lazy: lazy.by_property])
@pytest.mark.parametrize("change", [lambda lazy, made: lazy.source, lambda lazy, made: made])
def test_a_cache_that_the_function_fills_at_its_first_call(read, change):
    lazy = Lazy()
    plan = planned_ad.compile(lambda x: np.sum(x * read(lazy)), X)
    array = change(lazy, read(lazy))
    array += 5
    np.testing.assert_array_equal(plan(X), np.sum(X * read(lazy)))


def test_what_asks_the_world_is_listed(tmp_path):
    file = tmp_path / "number"
    file.write_text("2.0")

    def f(x):
        with open(file) as lines:
            return np.sum(x) * float(lines.read())

    assert any("`open`" in note for note in Watch(trace(f, (X,)).outside).notes)
    watch = Watch(trace(lambda x: np.sum(x) * np.get_printoptions()["precision"], (X,)).outside)
    assert any("`numpy.get_printoptions`" in note for note in watch.notes)


def test_errors_of_numpy_that_settings_have_raised():
    def f(x):
        try:
            return np.sum(np.log(x))
        except FloatingPointError:
            return 3 * np.sum(x)

    watch = Watch(trace(f, (X,)).outside)
    assert watch.holds()
    with np.errstate(all="raise"):
        assert not watch.holds()
        with pytest.raises(UnsupportedError, match="have its errors raised"):
            trace(f, (X,))


def test_fractions_and_objects_that_stand_for_arrays():
    class Held:
        def __array__(self, dtype=None, copy=None):
            return WEIGHTS

    third, held = fractions.Fraction(1, 3), Held()

    def f(x):
        return (third / x[0] + np.sum(x) * third) ** third + np.sum(held * x) + len(WEIGHTS.tobytes())

    plan = planned_ad.compile(f, X)
    np.testing.assert_allclose(plan(X), f(X), rtol=1e-15)
    step = 1e-6 * np.eye(2)
    np.testing.assert_allclose(plan.gradient(X), [(f(X + d) - f(X - d)) / 2e-6 for d in step], rtol=1e-8)


def test_a_proxy_stands_for_its_object():
    thing = type("Thing", (), {"gain": 2.0})()
    proxy = weakref.proxy(thing)
    watch = Watch(trace(lambda x: np.sum(x) * proxy.gain, (X,)).outside)
    assert watch.holds()
    thing.gain = 3.0
    assert not watch.holds()


class Keyed:
    factor = 2.0


def test_what_a_cache_has_kept_for_an_object() -> None:
    """It is found by the object, whatever its attributes are since."""
    key = Keyed()

    @functools.cache
    def scale(obj, more):
        return obj.factor * more

    def f(x):
        return scale(key, 10) * np.sum(x)

    x = np.array([1.0, 2.0])
    plan = planned_ad.compile(f, x)
    assert plan(x) == f(x) == 60.0
    key.factor = 5.0
    assert plan(x) == planned_ad.compile(lambda x: f(x) * 1.0, x, check=False)(x) == f(x) == 60.0
    scale.cache_clear()
    assert plan(x) == f(x) == 150.0
