"""What is read under names that do not occur in the code, or by methods that nobody calls by name, is noticed too."""

import collections
import copy
import ctypes
import dataclasses
import enum
import importlib
import re
import string
import sys
import types

import numpy as np
import pytest

import planned_ad

from .outside_programs import X, follows

KEY, FIRST, SECOND, PAIR = "BETA", "al", "pha", "ab"


def alpha(v):
    return v


class Names(enum.Enum):
    alpha = 1


COLUMNS = np.array(["alpha", "beta"])


COMPUTED = {
    "by a method": (lambda x, c: c["alpha"] * c[KEY.lower()], "beta"),
    "two texts": (lambda x, c: c["beta"] * c[FIRST + SECOND], "alpha"),
    "a letter": (lambda x, c: c["beta"] * c[PAIR[0]], "a"),
    "taken apart": (lambda x, c: (lambda first, _: c["beta"] * c[first])(*PAIR), "a"),
    "a character": (lambda x, c: c["beta"] * c[chr(97)], "a"),
    "of a pattern": (lambda x, c: c["beta"] * c[re.match("(al.*)!", "alpha!").group(1)], "alpha"),
    "of a function": (lambda x, c: c["beta"] * c[alpha.__name__], "alpha"),
    "of an enumeration": (lambda x, c: c["beta"] * c[Names.alpha.name], "alpha"),
    "of three": (lambda x, c: c["beta"] * c["al" + FIRST[:0] + SECOND], "alpha"),
    "a slice": (lambda x, c: c["beta"] * c["alphabet"[:5]], "alpha"),
    "backwards": (lambda x, c: c["beta"] * c["ahpla"[::-1]], "alpha"),
    "of a module": (lambda x, c: c["beta"] * c[string.ascii_lowercase[0]], "a"),
    "of an array": (lambda x, c: c["beta"] * c[COLUMNS[0]], "alpha"),
    "of a dtype": (lambda x, c: c["beta"] * c[x.dtype.kind], "f"),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_keys(name: str) -> None:
    factor, key = COMPUTED[name]
    settings = {"alpha": 1.0, "beta": 2.0, "a": 3.0, "f": 4.0, "steps": 0}

    def f(x):
        return np.sum(x) * factor(x, settings)

    plan = planned_ad.compile(f, X)
    settings[key] += 1.0
    follows(plan, f)


def test_what_changes_without_a_difference_is_not_compared_any_more() -> None:
    settings = {"alpha": 1.0, "steps": 0, "log": [], "model": object()}

    def f(x):
        return np.sum(x) * settings["alpha"]

    plan = planned_ad.compile(f, X)
    for step in range(4):
        settings["steps"] += 1
        settings["log"].append(step)
        settings["model"] = object()
        follows(plan, f)
        assert plan.explain().variants == 1
    assert sum("made no difference" in note for note in plan.explain().frozen) == 2
    settings["alpha"] = 3.0
    follows(plan, f)
    assert plan.explain().variants == 2


class Weighted:
    def __init__(self, weight, value):
        self.weight, self.value = weight, value

    def __lt__(self, other):
        return self.weight < other.weight

    def __eq__(self, other):
        return self.weight == other.weight

    def __hash__(self):
        return hash(self.weight)

    def __repr__(self):
        return "-" * self.weight


@dataclasses.dataclass(order=True)
class Ordered:
    weight: float
    value: float


COMPARED = {
    "max": (Weighted, lambda a, b: max(a, b).value),
    "sorted": (Weighted, lambda a, b: sorted([a, b])[0].value),
    "count": (Weighted, lambda a, b: [Weighted(9, 1.0)].count(a)),
    "of a set": (Weighted, lambda a, b: len({a, b, Weighted(9, 1.0)})),
    "shown": (Weighted, lambda a, b: len(repr(a))),
    "of a dataclass": (Ordered, lambda a, b: max(a, b).value),
}


@pytest.mark.parametrize("name", COMPARED)
def test_what_methods_read_that_functions_of_libraries_call(name: str) -> None:
    kind, factor = COMPARED[name]
    a, b = kind(1, 2.0), kind(2, 5.0)

    def f(x):
        return np.sum(x) * factor(a, b)

    plan = planned_ad.compile(f, X)
    a.weight = 9
    follows(plan, f)


def test_counters_that_are_compared_or_added_up() -> None:
    one, two = collections.Counter(alpha=1, beta=2), collections.Counter(alpha=3, beta=4)

    def compared(x):
        return np.sum(x) * one["beta"] * (2.0 if one <= two else 1.0)

    def added(x):
        return np.sum(x) * one["beta"] * one.total()

    plans = [(planned_ad.compile(f, X), f) for f in (compared, added)]
    one["alpha"] += 7
    for plan, f in plans:
        follows(plan, f)


def test_what_a_dict_makes_of_keys_that_are_not_there() -> None:
    made = collections.defaultdict(lambda: 2.0)

    def f(x):
        return np.sum(x) * made.copy()["weight"]

    plan = planned_ad.compile(f, X)
    made.default_factory = lambda: 3.0
    follows(plan, f)


def test_memory_of_ctypes() -> None:
    held = (ctypes.c_double * 3)(1.0, 2.0, 3.0)

    def f(x):
        return np.sum(x) * held[1]

    plan = planned_ad.compile(f, X)
    held[1] = 5.0
    follows(plan, f)


settings = types.ModuleType("user_settings")
exec("K = 1.0\ndef get(): return K\ndef raised():\n    global K\n    K = K + 0.5\n    return K", settings.__dict__)


def test_a_module_that_is_imported_by_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "user_settings", settings)
    monkeypatch.setattr(settings, "K", 1.0)

    def f(x):
        return np.sum(x) * importlib.import_module("user_settings").K + importlib.import_module("user_settings").get()

    plan = planned_ad.compile(f, X)
    monkeypatch.setattr(settings, "K", 4.0)
    follows(plan, f)


def test_what_a_copy_reads() -> None:
    class Stored:
        weight = 2.0

        def __getstate__(self):
            return {"scale": self.weight}

    stored = Stored()

    def f(x):
        return np.sum(x) * copy.copy(stored).scale

    plan = planned_ad.compile(f, X)
    stored.weight = 5.0
    follows(plan, f)


def module_and_its_functions(x):
    settings.K = 1.0
    total = 0.0
    for i in range(len(x)):
        total = 0.9 * total + x[i] * settings.raised()
        if i % 3 == 1:
            settings.K = 1.0
    return total + settings.K * np.sum(x) + settings.get()


def module_that_gets_and_loses_a_name(x):
    total = 0.0
    for i in range(len(x)):
        if not hasattr(settings, "extra"):
            settings.extra = 2.0
            total += 10.0 * x[i]
        total += settings.extra * x[i]
    del settings.extra
    return total


@pytest.mark.parametrize("f", [module_and_its_functions, module_that_gets_and_loses_a_name], ids=lambda f: f.__name__)
@pytest.mark.parametrize("unroll", [0, 100])
def test_a_module_has_what_its_functions_see(f, unroll: int) -> None:
    follows(planned_ad.compile(f, X, unroll=unroll, check=False), f)


def test_dicts_of_one_name_are_told_apart() -> None:
    """What makes no difference in one may make one in the other."""

    def made(name):
        settings = {"alpha": 1.0, "beta": 2.0}
        return (lambda x: np.sum(x) * settings["alpha"]) if name == "alpha" else (
            lambda x: x[0] * settings["beta"]
        ), settings

    (first, settings), (second, others) = made("alpha"), made("beta")

    def f(x):
        return first(x) + (second(x) if others["beta"] > 2.5 else x[1])

    plan = planned_ad.compile(f, X)
    settings["beta"] = others["beta"] = 2.25
    follows(plan, f)
    settings["beta"] = others["beta"] = 3.0
    follows(plan, f)
