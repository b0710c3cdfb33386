"""The shadow namespace: classes and their instances run over replaced functions."""

import collections
import dataclasses
import enum
import gc
import math
import threading
import typing

import numpy as np
import pytest

from planned_ad.python.shadows import real_class

from .namespace_programs import (
    MODEL,
    TRACED,
    Abstract,
    Base,
    K,
    Model,
    Parent,
    Point,
    State,
    WrappedArray,
    make_namespace,
    run,
    traced_exp,
)


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenPoint:
    x: float
    weights: object = None

    def norm(self):
        return math.exp(self.x)


class Child(Parent):
    pass


class Concrete(Abstract):
    def value(self):
        return math.exp(0)


class Virtual:
    pass


class Color(enum.Enum):
    RED = 1


class UserError(Exception):
    pass


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


def test_metaclass_with_a_property_of_the_name_of_a_method():
    class Meta(type):
        @property
        def name(cls):
            return cls.__name__

    class Thing(metaclass=Meta):
        @property
        def name(self):
            return math.exp(0)

    assert run(lambda: Thing().name) == TRACED
    assert run(lambda: Thing.name) == "Thing"


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
    assert run(lambda: Made.make(2.0) + MadeToo.make(2.0)) == 14.0


class Cost:
    model = ""

    def of(self, x):
        return x


class Exponential(Cost):
    model = "exp"

    def of(self, x):
        return math.exp(x)


class Tripled(Exponential):
    model = "three"


def test_classes_that_derive_from_one_are_found():
    def f(x):
        class Local(Cost):
            model = "local"

        found = {cls.model: cls for cls in Cost.__subclasses__()}
        assert issubclass(found["exp"], Cost) and [c.model for c in found["exp"].__subclasses__()] == ["three"]
        return found["exp"]().of(x), "local" in found, Local.__subclasses__()

    assert run(f, 1.0) == (TRACED, True, [])
    assert Cost.__subclasses__()[0] is Exponential
