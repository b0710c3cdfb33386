"""The shadow namespace: whatever traced code reaches runs over replaced functions, and nothing real changes."""

import collections
import contextlib
import functools
import math
import sys
import types

import numba
import numpy as np
import pytest

from planned_ad.python.namespace import Namespace

from .namespace_programs import (
    MODEL,
    TRACED,
    Base,
    K,
    Model,
    Point,
    State,
    WrappedArray,
    by_attribute,
    exp,
    helper,
    make_namespace,
    run,
    traced_exp,
)


def make_module(name, source):
    module = types.ModuleType(name)
    exec(source, module.__dict__)
    return module


ACTIVATIONS = {"exp": math.exp, "nested": [lambda x: math.exp(x)]}
DERIVATIVE = {math.exp: "itself"}
HISTORY: list = []
CYCLE: list = [math.exp]
CYCLE.append(CYCLE)
SETTINGS = types.SimpleNamespace(K=K, act=math.exp)
QUEUE = collections.deque([math.exp], maxlen=4)
COUNTER = 0
helpers = make_module("user_helpers", "import math\nK = [1]\ndef f(x): return math.exp(x)\ndef g(x): return f(x)")


def is_even(n):
    return math.exp(0) if n == 0 else is_odd(n - 1)


def is_odd(n):
    return is_even(n - 1)


@numba.njit
def jitted(x):
    return math.exp(x)


def count():
    global COUNTER
    COUNTER += 1
    return COUNTER


# Functions


def by_name(x):
    return exp(x)


def by_import(x):
    import math as m

    return m.exp(x)


def by_from_import(x):
    from math import exp as e

    return e(x)


def by_helper(x):
    return helper(x)


def by_module(x):
    return helpers.g(x)


def by_default(x, f=math.exp):
    return f(x)


def by_lambda_default(x, f=lambda x: math.exp(x)):
    return f(x)


def by_keyword_default(x, *, f=math.exp):
    return f(x)


def by_mutual_recursion(x):
    return is_even(4)


def by_dict_of_functions(x):
    return ACTIVATIONS["exp"](x)


def by_nested_containers(x):
    return ACTIVATIONS["nested"][0](x)


def by_numba(x):
    return jitted(x)


def by_generator_expression(x):
    return next(math.exp(a) + 0 * b for a in [x] for b in (y for y in [math.exp(a)]))


def by_comprehension(x):
    (result,) = [math.exp(a) for a in [x]]
    return result


def by_generator(x):
    def generate():
        yield math.exp(x)

    return next(generate())


def by_star_arguments(*args, **options):
    return helper(*args, **options)


def by_local_function(x):
    def local():
        return math.exp(x)

    return local()


def by_local_class(x):
    class Local:
        start = math.exp(0)

        def get(self):
            return min(self.start, math.exp(x))

    return Local().get()


def by_class_derived_here(x):
    class Local(Model):
        def value(self, x):
            return super().value(x)[1]

    return Local(1.0)(x)


def by_simple_namespace(x):
    return SETTINGS.act(x)


def by_deque(x):
    return QUEUE[0](x)


def by_cyclic_list(x):
    return CYCLE[1][1][0](x)


def by_class_method(x):
    return Model.build().start


def by_static_method(x):
    return Model.static(x)


def by_named_tuple_method(x):
    return State(x).norm()


PROGRAMS = [f for name, f in list(globals().items()) if name.startswith("by_")]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_replaced_function_is_reached(f):
    assert run(f, 1.0) == TRACED


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_real_function_is_untouched(f):
    run(f, 1.0)
    assert f(1.0) != TRACED


@pytest.mark.parametrize("rounds", [60])
def test_interpreter_does_not_specialise_over_the_shadow(rounds):
    # Both share one code object, whose instructions the interpreter specialises as they run.
    copy = make_namespace().function(by_attribute)
    for _ in range(rounds):
        assert (by_attribute(0.0), copy(0.0)) == (1.0, TRACED)


def test_builtins_are_replaced():
    namespace = make_namespace(replacements=[(range, lambda n: "traced range")])
    assert namespace.function(lambda: range(3))() == "traced range"


def test_builtins_are_replaced_in_local_functions():
    namespace = make_namespace(replacements=[(range, lambda n: "traced range")])
    assert namespace.function(lambda: (lambda: range(3))())() == "traced range"


def test_closure_recursion():
    def factorial(n):
        return math.exp(0) if n == 0 else factorial(n - 1)

    assert run(factorial, 3) == TRACED


def test_closures_go_on_sharing_a_nonlocal():
    total = 0

    def increase():
        nonlocal total
        total += 1

    def f():
        increase()
        increase()
        return total

    assert run(f) == 2


def test_real_nonlocal_is_not_written():
    total = 0

    def f():
        nonlocal total
        total += 1
        return total

    run(f)
    assert total == 0


def test_decorated_function():
    def decorate(g):
        @functools.wraps(g)
        def wrapper(*args):
            return g(*args)

        return wrapper

    assert run(decorate(by_attribute), 1.0) == TRACED


def test_wrapped_attribute_is_shadowed():
    @functools.wraps(by_attribute)
    def wrapper(x):
        return wrapper.__wrapped__(x)

    assert run(wrapper, 1.0) == TRACED


def test_context_manager_function():
    @contextlib.contextmanager
    def manage():
        yield math.exp(0)

    def f():
        with manage() as value:
            return value

    assert run(f) == TRACED


def test_cached_function_is_not_cached_while_tracing():
    @functools.lru_cache
    def cached(x):
        return math.exp(x)

    def f(x):
        return cached(x)

    run(f, 1.0)
    assert cached.cache_info().currsize == 0


def test_functions_may_hold_what_a_cache_tells_of_itself():
    @functools.lru_cache
    def cached(x):
        return exp(x)

    def f(x):
        return cached(x)

    f.cache_info = cached.cache_info
    assert run(f, 1.0) == TRACED
    with pytest.raises(AttributeError, match="cache_info"):
        run(lambda: f.cache_info())


def test_partial():
    f = functools.partial(by_default, f=helper)
    assert run(f, 1.0) == TRACED


def test_bound_method_as_the_function():
    assert run(MODEL.value, 1.0) == ("model", TRACED)


def test_copy_keeps_its_names():
    copy = make_namespace().function(Model.value)
    assert (copy.__name__, copy.__qualname__, copy.__module__, copy.__doc__) == (
        Model.value.__name__,
        Model.value.__qualname__,
        Model.value.__module__,
        Model.value.__doc__,
    )


def test_copy_is_made_once():
    namespace = make_namespace()
    assert namespace.function(helper) is namespace.function(helper)


def test_copy_of_a_copy_is_itself():
    namespace = make_namespace()
    copy = namespace.function(helper)
    assert namespace.function(copy) is copy


def test_a_namespace_within_another_starts_from_the_real_globals():
    copy = make_namespace().function(by_attribute)
    inner = Namespace({id(math.exp): lambda x: "inner"}, WrappedArray)
    assert inner.function(copy)(1.0) == "inner"


def test_unfilled_closure_variable_is_a_name_error():
    def f():
        return later

    copy = make_namespace().function(f)
    with pytest.raises(NameError):
        copy()
    later = 1


# Globals


def test_unknown_name_is_a_name_error():
    with pytest.raises(NameError, match="no_such_name"):
        run(lambda: no_such_name)  # noqa: F821


def test_global_defined_after_the_copy_is_seen():
    module = make_module("user_later", "def f(): return late")
    copy = make_namespace().function(module.f)
    module.late = 5
    assert copy() == 5


def test_global_write_is_seen_while_tracing():
    namespace = make_namespace()
    namespace.function(count)()
    assert namespace.function(count)() == 2


def test_global_write_stays_in_the_shadow():
    run(count)
    assert COUNTER == 0


def test_global_list_is_copied():
    run(lambda: HISTORY.append(1))
    assert HISTORY == []


def test_functions_as_keys_are_found():
    assert run(lambda: DERIVATIVE[math.exp]) == "itself"


def test_globals_function_finds_names():
    assert run(lambda: ("K" in globals(), globals().get("COUNTER"), globals().get("nothing"))) == (True, 0, None)


def test_cycle_is_kept():
    assert run(lambda: CYCLE[1] is CYCLE[1][1])


def test_containers_of_the_standard_library_are_not_copied():
    assert run(lambda: sys.path) is sys.path


# Arrays


def test_array_is_wrapped_once():
    seen = run(lambda: (K, SETTINGS.K, MODEL.w, Base.scale))
    assert all(wrapped is seen[0] for wrapped in seen)


ONE = np.ones(1)
TABLE = {"a": (1, np.ones(2))}
POINT = Point(np.ones(2))
arrays = make_module("user_arrays", "import numpy\nK = numpy.ones(3)")


@pytest.mark.parametrize(
    ("reach", "name"),
    [
        (lambda: ONE, "ONE"),
        (lambda: TABLE["a"][1], "TABLE['a'][1]"),
        (lambda: POINT.x, "POINT.x"),
        (lambda: arrays.K, "user_arrays.K"),
        (lambda a=TABLE["a"][1]: a, "a"),
    ],
)
def test_array_is_named_as_the_user_reaches_it(reach, name):
    assert run(reach).name == name


@pytest.mark.parametrize("error", [ValueError, TypeError])
def test_refused_array_is_an_error(error):
    def refuse_array(array, name):
        raise error(name)

    pair, weights = State(K), K
    with pytest.raises(error):
        Namespace({}, refuse_array).function(lambda: (pair, weights))()


# Modules


def test_module_proxy_is_a_module():
    assert run(lambda: isinstance(math, types.ModuleType) and math.__name__) == "math"


def test_module_proxy_lists_its_names():
    assert run(lambda: dir(math)) == dir(math)


def test_missing_module_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"no attribute 'nope'"):
        run(lambda: math.nope)


def test_write_to_a_module_stays_in_the_shadow():
    def f():
        helpers.K = 5
        return helpers.K

    assert run(f) == 5 and helpers.K == [1]


def test_submodules_are_proxies():
    def f():
        import os.path

        return os.path.join("a", "b")

    assert run(f).startswith("a")


def test_imported_submodule_is_replaced():
    def f():
        from numpy.linalg import norm

        return norm(1.0)

    assert make_namespace(replacements=[(np.linalg.norm, traced_exp)]).function(f)() == TRACED


def test_relative_import(tmp_path, monkeypatch):
    package = tmp_path / "user_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("import math\ndef f(x): return math.exp(x)")
    (package / "main.py").write_text("def g(x):\n    from .helper import f\n    return f(x)")
    monkeypatch.syspath_prepend(tmp_path)
    import user_package.main

    assert run(user_package.main.g, 1.0) == TRACED


def test_a_cache_is_cleared_for_the_trace_alone():
    @functools.lru_cache
    def cached(x):
        return exp(x)

    def f(x):
        before = cached(x)
        cached.cache_clear()
        return before, cached(x)

    known = cached(1.0)
    assert run(f, 1.0) == (known, TRACED) and cached.cache_info().currsize == 1
    cached.cache_clear()
    assert run(f, 1.0) == (TRACED, TRACED)
