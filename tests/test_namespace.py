"""The shadow namespace: whatever traced code reaches runs over replaced functions, and nothing real changes."""

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import gc
import math
import sys
import threading
import types
import typing

import numba
import numpy as np
import pytest

import planned_ad
from planned_ad.functional.transforms import grad
from planned_ad.python.namespace import Namespace
from planned_ad.python.shadows import is_library, is_user_frame, real_class
from planned_ad.python.source import UNKNOWN, Line, current_line

# The replaced function is math.exp. Under tracing it returns a number that the real one cannot, so that a result tells
# which code ran.
TRACED = -7.0


class WrappedArray:
    """What the tests' namespaces make of an array."""

    def __init__(self, array, name):
        self.array = array
        self.name = name


WrappedArray.__module__ = "planned_ad.testing"  # as tracers are, a library's class


def traced_exp(x):
    return TRACED


def make_namespace(refuse=None, **more):
    replacements = {id(math.exp): traced_exp}
    for real, seen in more.get("replacements", ()):
        replacements[id(real)] = seen
    return Namespace(replacements, WrappedArray, refuse)


def run(f, *args):
    return make_namespace().function(f)(*args)


def make_module(name, source):
    module = types.ModuleType(name)
    exec(source, module.__dict__)
    return module


# Globals that the programs below read

exp = math.exp
K = np.arange(3.0)
ACTIVATIONS = {"exp": math.exp, "nested": [lambda x: math.exp(x)]}
DERIVATIVE = {math.exp: "itself"}
HISTORY: list = []
CYCLE: list = [math.exp]
CYCLE.append(CYCLE)
SETTINGS = types.SimpleNamespace(K=K, act=math.exp)
QUEUE = collections.deque([math.exp], maxlen=4)
COUNTER = 0
helpers = make_module("user_helpers", "import math\nK = [1]\ndef f(x): return math.exp(x)\ndef g(x): return f(x)")


def helper(x):
    return math.exp(x)


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


class Base:
    scale = K

    def __init__(self, w):
        super().__init__()
        self.w = w
        self.start = math.exp(0)

    def value(self, x):
        return math.exp(x)

    def describe(self):
        return type(self).__name__


class Model(Base):
    def __init__(self, w):
        super().__init__(w)
        self.model_start = math.exp(0)

    def value(self, x):
        return ("model", super().value(x))

    def __call__(self, x):
        return self.value(x)

    def __add__(self, other):
        return math.exp(0)

    @property
    def energy(self):
        return math.exp(0)

    @functools.cached_property
    def cached(self):
        return math.exp(0)

    @staticmethod
    def static(x):
        return math.exp(x)

    @classmethod
    def build(cls):
        return cls(1.0)


MODEL = Model(K)


@dataclasses.dataclass
class Point:
    x: float
    y: float = dataclasses.field(default_factory=lambda: math.exp(0))

    def norm(self):
        return math.exp(self.x)


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenPoint:
    x: float
    weights: object = None

    def norm(self):
        return math.exp(self.x)


class State(typing.NamedTuple):
    x: float

    def norm(self):
        return math.exp(self.x)


class Parent:
    def __init__(self, x):
        self.x = x

    def __call__(self):
        return math.exp(0)

    def __getitem__(self, index):
        return math.exp(0)

    def __neg__(self):
        return math.exp(0)

    def __hash__(self):
        return int(math.exp(0))


class Child(Parent):
    pass


class Abstract(abc.ABC):
    @abc.abstractmethod
    def value(self): ...

    def twice(self):
        return self.value()


class Concrete(Abstract):
    def value(self):
        return math.exp(0)


class Virtual:
    pass


class Color(enum.Enum):
    RED = 1


class UserError(Exception):
    pass


# Functions


def by_name(x):
    return exp(x)


def by_attribute(x):
    return math.exp(x)


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


# Classes and instances


@pytest.mark.parametrize(
    "f",
    [
        lambda: MODEL.value(1.0)[1],
        lambda: MODEL(1.0)[1],
        lambda: MODEL + 1,
        lambda: MODEL.energy,
        lambda: MODEL.cached,
        lambda: MODEL.static(1.0),
        lambda: MODEL.build().start,
        lambda: Model(1.0).start,
        lambda: Model(1.0).model_start,
        lambda: Point(1.0).y,
        lambda: Point(1.0).norm(),
        lambda: FrozenPoint(1.0).norm(),
        lambda: dataclasses.replace(FrozenPoint(1.0), x=2.0).norm(),
    ],
)
def test_methods_run_shadowed(f):
    assert run(f) == TRACED


@pytest.mark.parametrize("obj", [Point(1.0), FrozenPoint(1.0), State(1.0)], ids=lambda obj: type(obj).__name__)
def test_instances_run_shadowed(obj):
    assert make_namespace().shadow(obj).norm() == TRACED


@pytest.mark.parametrize("obj", [Point(1.0, 2.0), FrozenPoint(1.0), State(1.0)], ids=lambda obj: type(obj).__name__)
def test_shadow_instance_has_the_real_state(obj):
    assert repr(make_namespace().shadow(obj)) == repr(obj)


def test_instance_attribute_wins_over_the_class_attribute():
    class Step:
        size = 1

    step = Step()
    step.size = 2
    assert run(lambda: step.size) == 2


def test_self_reference_is_kept():
    class Node:
        def get(self):
            return self.me is self

    node = Node()
    node.me = node
    assert run(lambda: node.get())


def test_long_linked_structure():
    class Node:
        def __init__(self, following):
            self.following = following

    head = None
    for _ in range(5000):
        head = Node(head)
    assert run(lambda: head.following.following is not None)


def test_real_instance_is_not_written():
    point = Point(1.0, 2.0)

    def f():
        point.x = 5.0

    run(f)
    assert point.x == 1.0


def test_frozen_dataclass_stays_frozen():
    point = FrozenPoint(1.0)

    def f():
        point.x = 2.0

    with pytest.raises(dataclasses.FrozenInstanceError):
        run(f)


def test_list_and_dict_subclasses_keep_items():
    class Layers(list):
        def run(self):
            return self[0](1.0)

    class Parameters(dict):
        def run(self):
            return self["f"](1.0)

    layers, parameters = Layers([math.exp]), Parameters(f=math.exp)
    assert run(lambda: (layers.run(), parameters.run())) == (TRACED, TRACED)


def test_cooperative_super_visits_each_class_once():
    visited = []

    class Left:
        def visit(self):
            visited.append("left")

    class Right(Left):
        def visit(self):
            visited.append("right")
            super().visit()

    class Mixin(Left):
        def visit(self):
            visited.append("mixin")
            super().visit()

    class Both(Mixin, Right):
        def visit(self):
            visited.append("both")
            super().visit()
            return visited

    both = Both()
    assert run(lambda: both.visit()) == ["both", "mixin", "right", "left"]


def test_abstract_base_class():
    concrete = Concrete()
    assert run(lambda: (concrete.twice(), Concrete().twice(), isinstance(concrete, Abstract))) == (TRACED, TRACED, True)


def test_abstract_class_stays_abstract():
    with pytest.raises(TypeError, match="abstract"):
        run(lambda: Abstract())


def test_abstract_base_class_rejects_other_classes():
    assert run(lambda: (isinstance(Point(1.0), Abstract), issubclass(Point, Abstract))) == (False, False)


def test_real_abstract_base_class_answers_as_before():
    shadow = make_namespace().shadow(Abstract)
    assert shadow is not Abstract and not issubclass(Point, Abstract)


def test_virtual_subclass():
    Abstract.register(Virtual)
    assert run(lambda: (isinstance(Virtual(), Abstract), issubclass(Virtual, Abstract))) == (True, True)


def test_init_subclass_is_not_run_for_shadows():
    registered = []

    class Registry:
        def __init_subclass__(cls):
            registered.append(cls)

    class Plugin(Registry):
        pass

    plugin = Plugin()
    run(lambda: plugin)
    assert registered == [Plugin]


def test_finalizer_is_not_run_for_shadows():
    released = []

    class Resource:
        def __del__(self):
            released.append(1)

    resource = Resource()
    run(lambda: resource and None)
    gc.collect()
    assert released == []


def test_metaclass_of_the_user():
    class Meta(type):
        def __call__(cls, *args):
            return super().__call__(*args)

    class Thing(metaclass=Meta):
        def value(self):
            return math.exp(0)

    assert run(lambda: Thing().value()) == TRACED


@pytest.mark.parametrize(
    "f",
    [
        lambda: isinstance(MODEL, Model),
        lambda: isinstance(MODEL, Base),
        lambda: isinstance(Model(1.0), Model),
        lambda: not isinstance(MODEL, Point),
        lambda: issubclass(Model, Base),
        lambda: type(MODEL) is Model,
        lambda: type(Point(1.0)) is Point,
        lambda: Point(1.0, 2.0) == Point(1.0, 2.0),
        lambda: State(1.0) == (1.0,),
    ],
)
def test_types_compare_as_in_the_program(f):
    assert run(f)


def test_shadow_instance_is_an_instance_of_the_real_class():
    assert isinstance(make_namespace().shadow(MODEL), Base)


def test_shadow_class_accepts_real_instances():
    assert isinstance(MODEL, make_namespace().shadow(Base))


def test_real_class_of_a_shadow():
    assert real_class(type(make_namespace().shadow(MODEL))) is Model


@pytest.mark.parametrize("obj", [Color, Color.RED, UserError, ValueError, float, np.float64(1.0), threading.Lock])
def test_left_as_it_is(obj):
    assert make_namespace().shadow(obj) is obj


def test_named_tuple_without_code_keeps_its_class():
    pair = collections.namedtuple("Pair", "a b")(math.exp, 1)
    shadow = make_namespace().shadow(pair)
    assert type(shadow) is type(pair) and shadow.a is traced_exp


def test_instance_of_an_extension_type_is_left():
    class Value(float):
        def get(self):
            return 1

    value = Value(2.0)
    assert make_namespace().shadow(value) is value


def test_refuse_has_the_last_word():
    namespace = make_namespace(refuse=lambda obj, name: f"refused {name}" if obj is math.sin else obj)
    assert namespace.function(lambda: math.sin)() == "refused math.sin"


def test_refuse_is_not_asked_about_tracers():
    asked = []
    namespace = make_namespace(refuse=lambda obj, name: asked.append(obj))
    namespace.shadow(WrappedArray(K, "K"))
    assert asked == []


def test_class_with_a_name_property():
    class Named:
        @property
        def __name__(self):
            return "a name"

    named = Named()
    assert run(lambda: named.__name__) == "a name"


@pytest.mark.parametrize(
    "f",
    [
        lambda: Child(TRACED).x,
        lambda: Child(1.0)(),
        lambda: Child(1.0)[0],
        lambda: -Child(1.0),
        lambda: hash(Child(1.0)),
    ],
)
def test_inherited_special_methods(f):
    assert run(f) == TRACED


def test_slots_of_every_class_in_the_hierarchy():
    class Parent:
        __slots__ = ("__private",)

        def __init__(self):
            self.__private = math.exp

        def value(self):
            return self.__private(0)

    class Child(Parent):
        __slots__ = ("not_set", "own")

    child = Child()
    child.own = math.exp
    assert run(lambda: (child.value(), child.own(0), hasattr(child, "not_set"))) == (TRACED, TRACED, False)


def test_user_defined_attribute_access():
    class Dynamic:
        def __init__(self):
            object.__setattr__(self, "known", {"a": math.exp})

        def __getattr__(self, name):
            return self.known[name]

        def __setattr__(self, name, value):
            self.known[name] = value

    dynamic = Dynamic()
    assert run(lambda: dynamic.a(0)) == TRACED


def test_generic_class():
    class Box(typing.Generic[typing.TypeVar("T")]):
        def value(self):
            return math.exp(0)

    assert run(lambda: Box[int]().value()) == TRACED


def test_instances_as_keys_are_found():
    key = FrozenPoint(1.0)
    table, members = {key: math.exp}, frozenset([key])
    assert run(lambda: (table[FrozenPoint(1.0)](0), FrozenPoint(1.0) in members)) == (TRACED, True)


def test_match_statement():
    def f(p):
        match p:
            case Point(x=1.0, y=y):
                return y

    point = Point(1.0, 3.0)
    assert run(lambda: f(point)) == 3.0


# Libraries, frames and lines


def test_examples_in_docstrings_are_user_code():
    # doctest runs them over a copy of the documented module's globals.
    names = {"__name__": "planned_ad.plan", "math": math}
    exec(compile("def f(x): return math.exp(x)\ndef g(x): return f(x)", "<doctest plan[0]>", "exec"), names)
    assert run(names["g"], 1.0) == TRACED


@pytest.mark.parametrize(
    ("module_name", "file", "expected"),
    [
        ("numpy.linalg", None, True),
        ("planned_ad.trace", None, True),
        ("contextlib", contextlib.__file__, True),
        ("code", "/home/user/code.py", False),
        ("__main__", None, False),
        ("numpylike", None, False),
    ],
)
def test_is_library(module_name, file, expected):
    assert is_library(module_name, file) is expected


def test_user_frame_is_a_shadow_frame():
    namespace = make_namespace(replacements=[(exp, lambda x: is_user_frame(sys._getframe(1)))])
    assert namespace.function(by_attribute)(1.0) and not is_user_frame(sys._getframe())


def lines_seen_by(f):
    seen = []
    namespace = Namespace({id(math.exp): lambda x: seen.append(current_line())}, WrappedArray)
    namespace.function(f)()
    return seen


def test_line_names_the_innermost_traced_function():
    def outer():
        return helper(1.0)

    (line,) = lines_seen_by(outer)
    assert (line.function, line.text) == ("helper", "return math.exp(x)")


def test_line_prints_short():
    (line,) = lines_seen_by(lambda: helper(1.0))
    assert str(line) == f"test_namespace.py:{helper.__code__.co_firstlineno + 1} in helper"


def test_line_of_a_comprehension_is_in_its_function():
    def f():
        return [math.exp(x) for x in range(2)]

    assert [line.function for line in lines_seen_by(f)] == ["f", "f"]


def test_line_is_made_once():
    def f():
        for _ in range(2):
            math.exp(0)

    first, second = lines_seen_by(f)
    assert first is second


def test_two_lines_of_one_function_differ():
    def f():
        math.exp(0)
        math.exp(1)

    first, second = lines_seen_by(f)
    assert second.number == first.number + 1


def test_line_without_traced_function():
    assert current_line().function == "test_line_without_traced_function"


def test_unknown_line_prints():
    assert (str(UNKNOWN), UNKNOWN.text) == ("an unknown line", "")


def test_line_is_hashable_and_equal_by_value():
    assert len({Line(file="a.py", number=1, function="f"), Line(file="a.py", number=1, function="f")}) == 1


def test_a_function_defined_in_traced_code_sees_what_its_variables_become():
    def f(x):
        s = 1.0
        for _ in range(3):
            s = s + np.sum(grad(lambda z: np.sum(z**2) * s)(x))  # noqa: B023
        return s

    x = np.array([0.5, 1.0])
    assert planned_ad.compile(f, x)(x) == pytest.approx((1 + 2 * np.sum(x)) ** 3)


class Made:
    scale = 3.0

    @classmethod
    def make(cls, x):
        return x * cls.scale


def around(before):
    def make(cls, x):
        return before(x) + 1

    return classmethod(make)


Made.make = around(Made.make)


class MadeToo(Made):
    scale = 2.0


def test_bound_class_methods_that_were_replaced():
    assert run(lambda x: Made.make(x) + MadeToo.make(x), 2.0) == 14.0
