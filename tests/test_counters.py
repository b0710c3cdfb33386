"""Counters and histories that a function writes outside and does not read: they are not compared."""

from __future__ import annotations

import collections
import copy
import types

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import PlannedADError

CALLS, SEEN, LOG = 0, [], {"heights": [], "calls": 0, "best": None}
X = np.array([1.0, -2.0])


class Objective:
    evaluations = 0

    def __init__(self):
        self.nfev, self.history, self.recent = 0, [], collections.deque(maxlen=2)
        self.k = 0

    def __call__(self, x):
        self.nfev += 1
        Objective.evaluations -= 1
        self.k = self.k + 2
        value = np.sum(x**2) * x[0]
        self.history.append(float(value))
        self.recent.extend([value])
        return value


def of_globals(x):
    global CALLS
    CALLS += 1
    SEEN.append(x.copy())
    LOG["heights"].append(x[0])
    LOG["calls"] += 1
    return np.sum(x**2) * x[0]


def made_with_variables():
    calls, seen, count, log = 0, [], [0], {"x": [], "seconds": 0.0}

    def f(x):
        nonlocal calls
        calls += 1
        count[0] += 1
        seen.append(float(x[0]))
        log["x"].append(x.copy())
        log["seconds"] += 3.0 * len(x) - 2.0
        log["last"] = x[0]
        return np.sum(x**2) * x[0]

    return f


class WithSlots:
    __slots__ = ("calls", "scale")

    def __init__(self):
        self.calls, self.scale = 0, 1.0

    def __call__(self, x):
        self.calls += 1
        return np.sum(x**2) * x[0] * self.scale


@pytest.mark.parametrize("make", [Objective, lambda: of_globals, made_with_variables, WithSlots])
def test_calls_of_the_function_between_calls_of_its_plan(make):
    """As an optimiser has them, which is given the function and the gradient of its plan."""
    f = make()
    plan = planned_ad.compile(f, X)
    for k in range(1, 5):
        x = k * X
        f(x)
        np.testing.assert_allclose(plan.gradient(x), 2 * x * x[0] + np.array([x @ x, 0.0]))
    assert len(plan._variants) == 1
    assert any("is written to, and not read" in note for note in plan.explain().frozen)


def asked(x, model):
    model.calls += 1
    return x[0] * (2.0 if model.calls > 6 else 1.0)


def asked_for_by_a_method(x, model):
    model.calls += 1
    return x[0] * (2.0 if model.is_late() else 1.0)


def asked_for_by_name(x, model):
    model.calls += 1
    return x[0] * (2.0 if vars(model)["calls"] > 6 else 1.0)


def asked_under_another_name(x, model):
    model.seen.append(1.0)
    return x[0] * (2.0 if len(model.again) > 6 else 1.0)


def asked_for_its_length(x, model):
    model.seen.append(1.0)
    return x[0] * (2.0 if len(model.seen) > 6 else 1.0)


def asked_for_what_it_counts_to(x, model):
    model.calls = calls = model.calls + 1
    return x[0] * (2.0 if calls > 6 else 1.0)


def asked_in_a_dict(x, model):
    model.table["calls"] += 1
    return x[0] * (2.0 if model.table["calls"] > 6 else 1.0)


def asked_in_a_dict_by_all(x, model):
    model.table["calls"] += 1
    return x[0] * (2.0 if max(model.table.values()) > 6 else 1.0)


def asked_in_a_dict_by_parts(x, model):
    model.table["calls"] += 1
    return x[0] * (2.0 if model.table["cal" + "ls"] > 6 else 1.0)


def asked_for_an_item(x, model):
    model.table["calls"] += 1
    model.seen.append(model.table["calls"])
    return x[0] * (2.0 if model.seen[-1] > 6 else 1.0)


def asked_for_an_iterator(x, model):
    model.seen.append(1.0)
    return x[0] * (2.0 if len([*model.seen]) > 6 else 1.0)


def appended_and_taken(x, model):
    model.seen.append(1.0)
    return x[0] * (2.0 if sum(model.seen) > 6 else 1.0)


class Model(types.SimpleNamespace):
    def is_late(self):
        return self.calls > 6


@pytest.mark.parametrize(
    "f",
    [asked, asked_for_an_item, asked_for_an_iterator,
     asked_for_by_a_method, asked_for_by_name, asked_under_another_name, asked_for_its_length,
     appended_and_taken, asked_for_what_it_counts_to, asked_in_a_dict, asked_in_a_dict_by_all,
     asked_in_a_dict_by_parts],
)  # fmt: skip
def test_what_is_read_is_compared(f):
    seen: list[float] = []
    model = Model(calls=0, seen=seen, again=seen, table={"calls": 0})
    plan = planned_ad.compile(lambda x: f(x, model), X)
    before = plan.gradient(X)[0]
    while f(X, model) == X[0]:
        pass
    assert (before, plan.gradient(X)[0]) == (1.0, 2.0)


class LastValues:
    def __init__(self):
        self.value, self.at, self.seconds = None, np.zeros(2), 0.0

    def __call__(self, x):
        begin = float(np.sum(self.__class__.weights))
        value = np.sum(x**2) * x[0]
        self.value, self.at = value, x.copy()
        self.seconds += 2 * begin - begin
        return value


LastValues.weights = np.ones(3)


def test_last_values_that_are_not_read():
    f = LastValues()
    plan = planned_ad.compile(f, X)
    for k in range(1, 4):
        x = k * X
        assert f(x) == plan(x) == f.value
        np.testing.assert_allclose(plan.gradient(x), 2 * x * x[0] + np.array([x @ x, 0.0]))
    assert len(plan._variants) == 1


def kept_array(state, x):
    if state.x is None or not np.array_equal(x, state.x):
        state.x, state.value = x.copy(), np.sum(x**2)
    return state.value


def kept_number(state, x):
    if state.x is None or x[0] != state.x:
        state.x, state.value = float(x[0]), np.sum(x**2)
    return state.value


KEPT_X, KEPT_VALUE = None, None


class State:
    def __init__(self):
        self.x = self.value = self.pair = None
        self.table, self.points, self.values = {"x": None, "value": None, "scale": 1.0}, [], []


def kept_globals(state, x):
    global KEPT_X, KEPT_VALUE
    if KEPT_X is None or (x != KEPT_X).any():
        KEPT_X, KEPT_VALUE = x.copy(), np.sum(x**2)
    return KEPT_VALUE


def kept_within_a_tolerance(state, x):
    if state.x is None or np.max(np.abs(x - state.x)) > 1e-12:
        state.x, state.value = np.array(x), np.sum(x**2)
    return state.value


def kept_as_allclose(state, x):
    if state.x is not None and np.allclose(x, state.x, rtol=0.0, atol=1e-12):
        return state.value
    state.x, state.value = x.copy(), np.sum(x**2)
    return state.value


def kept_near(state, x):
    if state.x is not None and np.linalg.norm(state.x - x) < 1e-12:
        return state.value
    state.x, state.value = x.copy(), np.sum(x**2)
    return state.value


def kept_in_a_dict(state, x):
    if state.table["x"] is None or not np.array_equal(x, state.table["x"]):
        state.table["x"], state.table["value"] = x.copy(), np.sum(x**2)
    return state.table["value"] * state.table["scale"]


def kept_in_lists(state, x):
    for at, value in zip(state.points, state.values):
        if np.array_equal(at, x):
            return value
    state.points.append(x.copy())
    state.values.append(np.sum(x**2))
    return state.values[-1]


def kept_as_a_pair(state, x):
    if state.pair is None or not np.array_equal(state.pair[0], x):
        state.pair = (x.copy(), np.sum(x**2))
    return state.pair[1]


def kept_at_the_function(state, x):
    f = kept_at_the_function
    if not hasattr(f, "x") or (x != f.x).any():
        f.x, f.value = x.copy(), np.sum(x**2)
    return f.value


@pytest.mark.parametrize(
    "f",
    [kept_array, kept_number, kept_globals, kept_within_a_tolerance, kept_as_allclose, kept_near, kept_in_a_dict,
     kept_in_lists, kept_as_a_pair, kept_at_the_function],
)  # fmt: skip
@pytest.mark.parametrize("is_first", [True, False])
def test_values_kept_for_the_same_argument(f, is_first):
    """A plan computes them anew: where the function has just kept them, too, it would give a constant."""
    global KEPT_X, KEPT_VALUE
    KEPT_X = KEPT_VALUE = None
    vars(kept_at_the_function).clear()
    state = State()
    xs = np.random.default_rng(2).normal(size=(5, 2))
    if not is_first:
        f(state, xs[0])
    plan = planned_ad.compile(lambda x: f(state, x), xs[0])
    for x in xs:
        np.testing.assert_allclose(plan.gradient(x), 2 * x)
        f(state, x)
        np.testing.assert_allclose(plan.gradient(x), 2 * x)
        np.testing.assert_allclose(plan.gradient(-x), -2 * x)
    assert len(plan._variants) == 1
    assert any("what a call has kept" in note for note in plan.explain().frozen)


def test_equality_with_what_is_only_set_elsewhere():
    """No cache: the value there is that of the function."""

    class Model:
        def __init__(self):
            self.centre = np.array([1.0, 2.0])

        def move(self, x):
            self.centre = x

        def __call__(self, x):
            return 7.0 + 0.0 * x[0] if np.array_equal(x, self.centre) else np.sum(x**2)

    f = Model()
    plan = planned_ad.compile(f, X)
    assert (plan(f.centre), plan(X)) == (7.0, 5.0)


def test_a_number_that_is_read_and_makes_no_difference_yet():
    """The function is traced again as it moves on, and nothing is compiled."""
    state = types.SimpleNamespace(calls=0)

    def f(x):
        state.calls += 1
        return np.sum(x**2) * (10.0 if state.calls > 60 else 1.0)

    plan = planned_ad.compile(f, X)
    first = plan.gradient
    np.testing.assert_allclose(first(X), 2 * X)
    entry = plan._variants[0].entries["gradient"]
    for _ in range(5):
        f(X)
        np.testing.assert_allclose(first(X), 2 * X)
    assert len(plan._variants) == 1 and plan._variants[0].entries["gradient"] is entry
    while state.calls <= 60:
        f(X)
    np.testing.assert_allclose(first(X), 20 * X)
    state.calls = 0
    np.testing.assert_allclose(first(X), 2 * X)


def found_by_getattr(state, x):
    last = getattr(state, "_x", None)
    if last is None or not np.array_equal(last, x):
        state._x, state._value = x.copy(), np.sum(x**2)
    return state._value


def kept_in_a_default(state, x, _table={"x": None, "value": None}):  # noqa: B006 (as people write it)
    if _table["x"] is None or not np.array_equal(_table["x"], x):
        _table["x"], _table["value"] = x.copy(), np.sum(x**2)
    return _table["value"]


@pytest.mark.parametrize("f", [found_by_getattr, kept_in_a_default])
def test_other_ways_to_what_is_kept(f):
    state = State()
    for k in range(1, 4):
        x = np.array([0.3, -1.7]) * k
        f(state, x)
        np.testing.assert_allclose(planned_ad.compile(lambda x: f(state, x), x).gradient(x), 2 * x)


def parameter_beside(state, x):
    if state.both[0] is None or not np.array_equal(state.both[0], x):
        state.both[0], state.both[1] = x.copy(), state.both[2] * np.sum(x**2)
    return state.both[1]


def count_of_points(state, x):
    if not any(np.array_equal(a, x) for a in state.seen):
        state.seen.append(x.copy())
    return np.sum(x**2) * len(state.seen)


def tabu(state, x):
    for a in state.seen:
        if np.linalg.norm(a - x) < 0.1:
            return np.sum(x**2) + 10.0
    state.seen.append(x.copy())
    return np.sum(x**2)


def history_decides(state, x):
    state.values.append(np.sum(x**2))
    is_slow = len(state.values) > 3 and abs(state.values[-1] - state.values[-2]) < 1e-12
    return state.values[-1] + (100.0 if is_slow else 0.0)


@pytest.mark.parametrize("f", [parameter_beside, count_of_points, tabu, history_decides])
@pytest.mark.parametrize("is_called", [True, False])
def test_what_is_kept_and_matters(f, is_called):
    """It is no cache: a plan gives what the function gives at that moment, or refuses."""
    state = types.SimpleNamespace(both=[None, None, 2.0], seen=[], values=[])
    x, y = np.array([0.31, -0.7]), np.array([0.9, 0.4])
    if is_called:
        f(state, x)
    try:
        plan = planned_ad.compile(lambda x: f(state, x), x)
    except PlannedADError:  # its second call gives something else
        assert f in (tabu, history_decides, count_of_points)
        return

    def changes():
        yield dict(both=[None, None, 7.0], seen=[y], values=[1.0, 2.0, 3.0, np.sum(x**2)])
        yield dict(both=[None, None, 3.0], seen=[y, y + 1.0, x], values=[])

    for change in changes():
        for at in (y, x):
            vars(state).update(copy.deepcopy(change))
            try:
                found = plan(at)
            except PlannedADError:
                continue
            vars(state).update(copy.deepcopy(change))
            assert found == pytest.approx(f(state, at), rel=1e-12)


def proximal(points):
    def f(x):
        before, points[0] = points[0], x.copy()
        return np.sum(x**2) + (0.0 if before is None else np.sum((x - before) ** 2))

    return f


def scaled_by_the_largest(largest):
    def f(x):
        largest[0] = max(largest[0], float(x[0]))
        return x[1] / largest[0]

    return f


def by_parity(state):
    def f(x):
        f.calls += 1
        return x[0] * 2 if f.calls % 2 else x[0] * 3

    f.calls = 0
    return f


def by_turns(state):
    class Turns:
        def __init__(self):
            self.a, self.b = 1.0, 2.0

        def step(self, x):
            self.a, self.b = self.b, self.a
            return x[0] * self.a

    return Turns().step


@pytest.mark.parametrize(
    "f", [proximal([None]), scaled_by_the_largest([0.0]), by_parity(None), by_turns(None)], ids=lambda f: f.__qualname__
)
def test_what_moves_on_from_call_to_call_is_refused(f):
    with pytest.raises(PlannedADError, match="makes the difference"):
        planned_ad.compile(f, (np.array([0.5, 1.0]),))


SCALES = [1.0, 2.0, 3.0]


class KeptForTheSame:
    def __init__(self):
        self.x, self.value = None, None

    def __call__(self, x):
        if self.x is None or not np.array_equal(x, self.x):
            self.x, self.value = x.copy(), np.sum(x**2) * SCALES[int(x[0])]
        return self.value


class KeepsTheLeast:
    least = np.inf

    def __call__(self, x):
        value = np.sum(x**2) * SCALES[int(x[0])]
        if value < self.least:
            self.least = value
        return value


@pytest.mark.parametrize("kind", [KeptForTheSame, KeepsTheLeast])
def test_functions_that_are_for_some_numbers_only(kind):
    """The check calls them with others, for which they raise."""
    plan = planned_ad.compile(kind(), (np.array([2.5, 1.0]),))
    assert plan(np.array([1.5, 2.0])) == 12.5
