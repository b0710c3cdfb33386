"""What shaped a trace is noticed when it changes: names, numbers, flags, objects, functions of libraries."""

from __future__ import annotations

import collections
import functools
import math
import operator
import sys
import types
import weakref

import numba
import numpy as np
import pytest

import planned_ad
from planned_ad.calls.outside import sightings
from planned_ad.calls.outside.watch import Watch
from planned_ad.calls.present_variants import MOST_PAST
from planned_ad.errors import BranchError
from planned_ad.trace import trace

from .outside_programs import X, follows, gradient_of

TABLE = np.array([1.0, 2.0, 3.0])
FLAG = True
SCALE = 2.0


def helper(x):
    return x * SCALE


def uses_globals(x):
    return np.sum(helper(x) ** 2) if FLAG else np.sum(x)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Globals are what they were, whatever a test makes of them."""
    for name in ("TABLE", "FLAG", "SCALE", "helper"):
        value = globals()[name]
        monkeypatch.setitem(globals(), name, value.copy() if isinstance(value, np.ndarray) else value)


# What shaped the trace.


def test_globals():
    plan = planned_ad.compile(uses_globals, X)
    gradient = plan.gradient
    for name, value in ("SCALE", 3.0), ("FLAG", False), ("FLAG", True), ("helper", lambda x: np.sin(x) * SCALE):
        globals()[name] = value
        follows(plan, uses_globals)
        np.testing.assert_allclose(gradient(X), gradient_of(uses_globals), rtol=1e-6)


def test_globals_with_the_name_of_a_variable_that_functions_share_do_not_count():
    def f(x):
        if x[0] > x[1]:
            x = x * 2.0
        found = [0.0] * 3
        for i in range(3):
            found[i] = x[i] + sum(x[j] * found[j] for j in range(i))
        return max(found, key=lambda v: v * found[0])

    plan = planned_ad.compile(f, X)
    assert "found" not in {name for names in plan._variants[0].trace.outside.read.values() for name in names[1]}


def test_functions_without_a_text_are_the_same_at_once():
    """Their `__doc__` is None, as an object; their `__defaults__` are not there."""

    def undocumented(x, /):
        return x.sum()

    def f(x):
        return undocumented(x) * (2.0 if undocumented.__doc__ is None else 3.0)

    watch = Watch(trace(f, (X,)).outside)
    assert watch.is_same()
    undocumented.__doc__ = "A sum."
    assert not watch.is_same() and not watch.holds()


def test_closures_containers_attributes_and_classes():
    class Model:
        power = 2
        __slots__ = ("bias", "list", "options")

        def __init__(self):
            self.bias, self.list, self.options = 1.0, [1.0, (2.0, [3.0])], {"scale": 2.0, 3: 4.0}

        def run(self, x):
            total = np.sum(x**self.power) * self.options["scale"] + self.bias * x[0]
            return total + self.list[0] * x[1] + self.list[1][1][0] * x[2] * self.options[3]

    model, sign, settings, terms = Model(), 1.0, types.SimpleNamespace(factor=2.0), {1.0, 2.0}
    indices, mask = np.array([0, 2]), np.array([True, False, True])

    def f(x):
        return sign * model.run(x) * settings.factor * sum(terms) + np.sum(x[indices] ** 2) + np.sum(x[mask] ** 3)

    plan = planned_ad.compile(f, X)

    def flip():
        nonlocal sign
        sign = -sign

    changes = [
        flip,
        lambda: setattr(model, "bias", 5.0),
        lambda: setattr(settings, "factor", 3.0),
        lambda: model.options.update(scale=4.0),
        lambda: model.options.update({3: -1.0}),
        lambda: model.list.__setitem__(0, 9.0),
        lambda: model.list[1][1].__setitem__(0, 0.5),
        lambda: setattr(Model, "power", 3),
        lambda: indices.__setitem__(0, 1),
        lambda: mask.__setitem__(1, True),
        lambda: terms.add(5.0),
    ]
    for number, change in enumerate(changes):
        change()
        follows(plan, f)
        assert len(plan._variants) <= number + 2


def test_states_that_come_back_are_traced_once():
    """A schedule, a cross-validation: what is outside goes round. Of many states, the last ones are kept."""
    settings = types.SimpleNamespace(weight=0)

    def f(x):
        return np.sum(x**2) * settings.weight

    plan = planned_ad.compile(f, X)
    made = []
    for weight in [*range(1, 9)] * 3:
        settings.weight = weight
        follows(plan, f)
        made += [v for v in plan._variants if v not in made]
    assert len(made) == 9  # one for each, and the first
    for weight in range(10, 10 + 2 * MOST_PAST):
        settings.weight = weight
        follows(plan, f)
    assert len(plan._variants) <= MOST_PAST + 1


def test_functions_and_types_of_libraries():
    class Layer:
        activation = staticmethod(np.tanh)

        def __init__(self):
            self.reduce, self.kind = np.sum, np.float64

    layer, steps, chosen, outer = Layer(), [np.sin], {"first": np.cos}, np.exp

    def f(x):
        x = outer(layer.activation(x)) * np.array([1.0], layer.kind)
        return layer.reduce(steps[0](x) * chosen["first"](x))

    plan = planned_ad.compile(f, X)

    def bind():
        nonlocal outer
        outer = np.square

    changes = [
        bind,
        lambda: setattr(layer, "reduce", np.prod),
        lambda: setattr(Layer, "activation", staticmethod(np.arctan)),
        lambda: steps.__setitem__(0, np.sqrt),
        lambda: chosen.update(first=np.log1p),
        lambda: setattr(layer, "kind", np.int64),
    ]
    for change in changes:
        change()
        follows(plan, f)


def test_attributes_that_instances_get_and_lose():
    class Model:
        flag = False

    model = Model()
    plan = planned_ad.compile(lambda x: np.sum(x**2) if model.flag else np.sum(x), X)
    model.flag = True
    np.testing.assert_array_equal(plan.gradient(X), 2 * X)
    del model.flag
    np.testing.assert_array_equal(plan.gradient(X), np.ones(3))


class Names:
    """Where a library's function may be found under a name of the user's."""

    static = staticmethod(np.sin)
    plain = np.sin
    __slots__ = ("attribute", "items", "slot")

    def __init__(self):
        self.attribute, self.slot, self.items = np.sin, np.sin, {"key": np.sin, "list": [np.sin], "tuple": (np.sin,)}


def test_names_of_what_libraries_have_are_looked_at():
    names, apply, proxied = Names(), np.sin, {"key": np.sin}
    proxy = types.MappingProxyType(proxied)

    def inner(x, f=np.sin, *, g=np.sin):
        return f(x) + g(x)

    def put(f):
        nonlocal apply
        apply = f

    read = {
        "cell": (lambda x: apply(x), put),
        "attribute": (lambda x: names.attribute(x), lambda f: setattr(names, "attribute", f)),
        "slot": (lambda x: names.slot(x), lambda f: setattr(names, "slot", f)),
        "key": (lambda x: names.items["key"](x), lambda f: names.items.update(key=f)),
        "list": (lambda x: names.items["list"][0](x), lambda f: names.items.update(list=[f])),
        "item": (lambda x: names.items["list"][0](x), lambda f: names.items["list"].__setitem__(0, f)),
        "tuple": (lambda x: names.items["tuple"][0](x), lambda f: names.items.update(tuple=(f,))),
        "static": (lambda x: names.static(x), lambda f: setattr(Names, "static", staticmethod(f))),
        "class": (lambda x: names.plain(x), lambda f: setattr(Names, "plain", f)),
        "default": (lambda x: inner(x), lambda f: setattr(inner, "__defaults__", (f,))),
        "keyword": (lambda x: inner(x), lambda f: inner.__kwdefaults__.update(g=f)),
        "proxy": (lambda x: proxy["key"](x), lambda f: proxied.update(key=f)),
        "global": (lambda x: HELD(x), lambda f: globals().update(HELD=f)),
    }
    for where, (f, change) in read.items():
        plan = planned_ad.compile(lambda x, f=f: np.sum(f(x)), X)
        for new in (np.cos, np.exp, np.sin):
            change(new)
            np.testing.assert_allclose(plan(X), np.sum(f(X)), err_msg=where)
            np.testing.assert_allclose(plan(X), np.sum(f(X)), err_msg=where)


HELD = np.sin


def test_functions_and_classes_of_libraries_beside_elementwise_ones():
    reduce, number, kind = np.sum, math.sin, float

    def f(x):
        return reduce(x * kind(2.5)) * number(0.5)

    plan = planned_ad.compile(f, X)

    def change(n):
        nonlocal reduce, number, kind
        reduce, number, kind = [(np.max, math.sin, float), (np.max, math.cos, float), (np.max, math.cos, int)][n]

    for n in range(3):
        change(n)
        np.testing.assert_allclose(plan(X), f(X))


def test_objects_that_lead_on():
    class Held:
        factor = 2.0

    held, counts, chain = Held(), collections.Counter(a=2), collections.ChainMap({"a": 1.0}, {"b": 2.0})
    own, ask, link = collections.UserDict(a=2.0), operator.attrgetter("factor"), weakref.ref(held)
    read = {
        "getter": (lambda: ask(held), lambda: setattr(held, "factor", 3.0)),
        "weak reference": (lambda: link().factor, lambda: setattr(held, "factor", 4.0)),
        "counter": (lambda: counts["a"], lambda: counts.update("a")),
        "chain": (lambda: chain["b"], lambda: chain.maps[1].update(b=5.0)),
        "dict": (lambda: own["a"], lambda: own.update(a=7.0)),
    }
    for what, (factor, change) in read.items():
        plan = planned_ad.compile(lambda x, factor=factor: np.sum(x) * factor(), X)
        change()
        np.testing.assert_allclose(plan(X), np.sum(X) * factor(), err_msg=what)


def test_partials_defaults_and_keyword_defaults():
    def inner(x, scale=[2.0], *, shift={"by": 1.0}):  # noqa: B006
        return np.sum((x * scale[0] + shift["by"]) ** 2)

    outer = functools.partial(inner)

    def f(x):
        return outer(x)

    plan = planned_ad.compile(f, X)
    inner.__defaults__[0][0] = 3.0
    follows(plan, f)
    inner.__kwdefaults__["shift"]["by"] = -1.0
    follows(plan, f)
    inner.__defaults__ = ([0.5],)
    follows(plan, f)


def test_what_is_equal_is_no_change():
    """Another object of the same value, a function that is defined once more, an array with the same indices."""
    indices = [np.array([0, 2])]

    def f(x):
        return np.sum(helper(x)[indices[0]]) if FLAG else np.sum(x)

    watch = Watch(trace(f, (X,)).outside)
    assert watch.is_same()
    globals()["SCALE"] = float("2.0")
    globals()["helper"] = types.FunctionType(helper.__code__, globals(), "helper")
    indices[0] = indices[0].copy()
    assert not watch.is_same() and watch.holds() and watch.is_same()
    globals()["SCALE"] = 2  # an int
    assert not watch.holds()


def test_what_traced_code_does_not_name_may_change():
    class Model:
        def __init__(self):
            self.scale, self.calls, self.history = 2.0, 0, []

        def __call__(self, x):
            return np.sum(x * self.scale)

        def log(self, x):
            self.history.append(x)
            self.calls += 1

    model = Model()
    plan = planned_ad.compile(lambda x: model(x), X)
    for k in range(3):
        model.log(k)
        model.new = k
        globals()["unrelated"] = k
        assert plan._variants[0].watch.holds() and plan._variants[0].watch.is_same()
    model.scale = 3.0
    assert not plan._variants[0].watch.holds()


def test_computed_names_are_looked_at():
    class Model:
        def __init__(self):
            self.first, self.second = 2.0, 3.0

    model, names, parameters = Model(), ["first", "second"], {"a": 1.0, "b": 2.0}

    def attributes(x):
        return sum(getattr(model, name) * x[k] for k, name in enumerate(names))

    def items(x):
        return sum(parameters[name] * x[0] for name in parameters)

    def formatted(x):
        return parameters["%s" % chr(98)] * x[0] + parameters["a"]  # noqa: UP031

    watch = Watch(trace(formatted, (X,)).outside)
    parameters["b"] = 7.0
    assert not watch.holds()
    for f, change in (attributes, lambda: setattr(model, "second", 5.0)), (items, lambda: parameters.update(b=5.0)):
        watch = Watch(trace(f, (X,)).outside)
        assert watch.is_same()
        change()
        assert not watch.holds()
    watch = Watch(trace(items, (X,)).outside)
    parameters["c"] = 1.0
    assert not watch.holds()


@pytest.mark.parametrize("change", [{"other": 3.0}, {"b": 5.0}])
def test_dicts_that_are_compared_are_looked_at_as_a_whole(change):
    parameters, usual = {"a": 2.0, "b": 1.0}, {"a": 2.0, "b": 1.0}

    def f(x):
        return parameters["a"] * x[0] if parameters == usual else x[1]

    watch = Watch(trace(f, (X,)).outside)
    assert watch.is_same()
    parameters.update(change)
    assert not watch.holds() and not watch.is_same()


def test_a_change_is_refused_with_the_name_and_the_line():
    plan = planned_ad.compile(uses_globals, X, on_branch="raise")
    globals()["SCALE"] = 3.0
    with pytest.raises(
        BranchError, match=r"`SCALE` is 3.0 now, and was 2.0 .*test_outside_names.py:\d+ in helper: `return"
    ):
        plan.gradient(X)
    globals()["SCALE"] = 2.0
    np.testing.assert_array_equal(plan.gradient(X), 8 * X)


def test_frozen_names_are_constant():
    plan = planned_ad.compile(lambda x: np.sum(helper(x) * TABLE), X, frozen=("SCALE", "TABLE"))
    expected = plan.gradient(X)
    globals()["SCALE"], TABLE[:] = 5.0, 7.0
    np.testing.assert_array_equal(plan.gradient(X), expected)
    assert [note.split()[0] for note in plan.explain().frozen] == ["SCALE", "TABLE"]
    assert not any("TABLE" in note for note in plan.explain().assumptions)


def test_what_is_too_much_to_compare_is_said():
    places, numbers = np.arange(3000) % 3, [1.0] * 1000

    def f(x):
        return np.sum(x[places]) * numbers[0]

    notes = " ".join(planned_ad.compile(f, X).explain().frozen)
    assert "`places`" in notes and "`numbers` (1000)" in notes


def test_what_functions_do_not_have_is_no_matter_of_its_size():
    texts = [f"name_{k}" for k in range(100)]
    helpers = [eval(f"lambda x: x * {k}.0 if not hasattr(x, {texts[k]!r}) else x") for k in range(100)]

    def f(x):
        return sum(np.sum(helper(x)) for helper in helpers) * (2.0 if hasattr(helpers[7], "name_3") else 1.0)

    plan = planned_ad.compile(f, X, on_branch="raise")
    assert not any("objects" in note for note in plan.explain().frozen)
    helpers[7].other = 1  # which nothing asks for
    assert plan(X) == f(X)
    helpers[7].name_3 = 1
    with pytest.raises(BranchError, match=r"`<lambda>.name_3` is 1 now, and was not there"):
        plan(X)


def test_a_walk_ends_where_there_is_too_much(monkeypatch):
    monkeypatch.setattr(sightings, "MOST_SEEN", 200)
    tables = [list(range(k, k + 100)) for k in range(100)]
    plan = planned_ad.compile(lambda x: np.sum(x) * tables[0][1] * tables[99][0], X)
    assert "`tables`" not in plan.explain().frozen
    assert any("of more than" in note and "not checked" in note for note in plan.explain().frozen)
    assert len(plan._variants[0].watch._seen) < 400
    tables[0][1] = 7
    assert plan(X) == np.sum(X) * 7 * 99


def test_an_array_of_a_librarys_class_is_known_by_its_bytes():
    """Such arrays have ideas of their own of `tobytes`."""
    nothing = np.ma.masked  # which its own methods try to write to
    plan = planned_ad.compile(lambda x: np.sum(x) * (2.0 if nothing is None else 3.0), X)
    assert plan(X) == 3 * np.sum(X)


def test_a_module_that_cannot_be_shown(monkeypatch):
    """As of a finder which is its own, unfinished specification (geomstats)."""
    module = types.ModuleType("made_by_a_finder")
    module.__spec__ = types.SimpleNamespace()
    module.double = eval("lambda x: 2 * x")
    module.double.__module__ = module.__name__
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(AttributeError):
        repr(module)
    plan = planned_ad.compile(lambda x: np.sum(module.double(x)), X)
    assert plan(X) == 2 * np.sum(X)


def rotate(queue, ordered, holder):
    queue.rotate(1)


def reorder(queue, ordered, holder):
    ordered.move_to_end("a")


def give(queue, ordered, holder):
    holder.power = 5.0


def give_to_class(queue, ordered, holder):
    type(holder).scale = 7.0


@pytest.mark.parametrize("change", [rotate, reorder, give, give_to_class])
def test_order_and_attributes_that_were_not_there(change):
    class Holder:
        pass

    holder, queue = Holder(), collections.deque([1.0, 2.0, 3.0])
    ordered = collections.OrderedDict(a=1.0, b=2.0)

    def f(x):
        first = next(iter(ordered.values()))
        return np.sum(x) * queue[0] * first * getattr(holder, "power", 1.0) * (2.0 if hasattr(Holder, "scale") else 1.0)

    plan = planned_ad.compile(f, X)
    assert plan(X) == f(X)
    change(queue, ordered, holder)
    assert plan(X) == f(X)
    notes = " ".join(plan.explain().frozen)
    assert "`queue`, a deque, is compared in Python" in notes


def test_derivatives_as_functions_and_products_look_too():
    plan, gradient = planned_ad.compile(uses_globals, X), planned_ad.grad(uses_globals)
    hvp, forward = plan.hvp, plan.split()[0]
    for flag, scale in (True, 2.0), (False, 2.0), (True, 3.0):
        globals()["FLAG"], globals()["SCALE"] = flag, scale
        second = 2 * scale**2 if flag else 0.0
        np.testing.assert_allclose(gradient(X), gradient_of(uses_globals), rtol=1e-6)
        for call in (hvp, plan.hvp):
            np.testing.assert_allclose(call(X, np.ones(3)), np.full(3, second))
        tape = forward.tape()
        assert np.isclose(forward(X, tape), uses_globals(X))
        np.testing.assert_allclose(plan.split()[1](tape), gradient_of(uses_globals), rtol=1e-6)


def test_results_of_another_shape():
    count = 2

    def f(x):
        return x[:count] * 2.0

    plan = planned_ad.compile(f, X)
    assert plan(X).shape == (2,)
    count = 3
    assert plan(X).shape == (3,) and plan.pullback(X, cotangent=np.ones(3)).tolist() == [2, 2, 2]


def test_compiled_callers_notice():
    plan = planned_ad.compile(uses_globals, X)
    kernel = plan.kernel.gradient

    @numba.njit
    def compiled(x, dx):
        return kernel(x, dx)

    dx = np.empty(3)
    for scale in (2.0, 3.0, 2.0):
        globals()["SCALE"] = scale
        if scale == 3.0:
            with pytest.raises(BranchError, match="has changed since"):
                compiled(X, dx)
        plan.gradient(X, dx)
        np.testing.assert_allclose(compiled(X, dx), 2 * scale**2 * X)


def test_rules_are_looked_at():
    factor = 1.0

    @planned_ad.custom_rule
    def square(x):
        return x**2

    @square.vjp
    def square_vjp(x, cotangent):
        return (factor * 2 * x * cotangent,)

    plan = planned_ad.compile(lambda x: np.sum(square(x)), X)
    np.testing.assert_array_equal(plan.gradient(X), 2 * X)
    factor = 5.0
    np.testing.assert_array_equal(plan.gradient(X), 10 * X)


def test_no_name_of_ours_is_among_what_a_plan_relies_on() -> None:
    def f(x):
        items = [v * 2.0 for v in x]
        for _ in range(100):
            if abs(items[0]) < 1e-3 and x.dtype.type is np.float64:
                break
            items = [v / 2.0 for v in items]
        return items[0] + SCALE

    shown = str(planned_ad.compile(f, (np.ones(3),)).explain())
    assert "SCALE" in shown and "__planned_ad" not in shown


def test_the_room_of_a_queue_and_the_length_of_a_long_list_count() -> None:
    queue, table, places = collections.deque([1.0, 2.0], maxlen=3), list(range(600)), {k: k for k in range(600)}

    def f(x):
        return x[0] * (queue.maxlen or 1) + len(queue) + 10 * len(table) + len(places)

    plan = planned_ad.compile(f, np.ones(3), check=False)
    assert plan(np.ones(3)) == f(np.ones(3))
    queue = collections.deque(queue, maxlen=5)
    assert plan(np.ones(3)) == f(np.ones(3))
    table.append(0)
    assert plan(np.ones(3)) == f(np.ones(3))
    del places[0]
    assert plan(np.ones(3)) == f(np.ones(3))
