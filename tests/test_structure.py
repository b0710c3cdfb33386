"""Nested containers: taken apart, put together, compared, printed, and addressed leaf by leaf."""

import collections
import dataclasses
import typing

import numpy as np
import pytest

from planned_ad.python.namespace import Namespace
from planned_ad.python.structure import Const, flatten, paths


class State(typing.NamedTuple):
    x: object
    v: object


@dataclasses.dataclass
class Model:
    weights: list
    bias: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenModel:
    weights: object


@dataclasses.dataclass
class WithExtra:
    a: float

    def __post_init__(self):
        self.twice = 2 * self.a


@dataclasses.dataclass
class CountsInit:
    a: float
    made: typing.ClassVar[int] = 0

    def __post_init__(self):
        CountsInit.made += 1


@dataclasses.dataclass
class Records(list):
    a: float = 0.0


TREES = [
    (1.0, 2.0),
    (),
    [],
    {},
    None,
    (1.0,),
    [1.0, (2.0, None), {"w": 3.0}],
    {"b": 1.0, "a": {2: 3.0}},
    collections.OrderedDict(b=1.0, a=2.0),
    State(1.0, [2.0]),
    Model([1.0, 2.0], 3.0),
    FrozenModel({"a": 1.0}),
    WithExtra(1.0),
    1.0,
    "text",
]


def same_structure(a, b):
    return flatten(a)[1] == flatten(b)[1]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_unflatten_restores(tree):
    leaves, structure = flatten(tree)
    assert structure.unflatten(leaves) == tree


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_unflatten_restores_the_class(tree):
    leaves, structure = flatten(tree)
    assert type(structure.unflatten(leaves)) is type(tree)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_paths_reach_the_leaves(tree):
    leaves, structure = flatten(tree)
    assert [eval(f"tree{path}", {"tree": tree}) for path in paths(structure)] == leaves


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_leaf_count(tree):
    leaves, structure = flatten(tree)
    assert structure.leaf_count == len(leaves)


def test_structures_are_equal_whatever_the_leaves():
    assert same_structure((1.0, [np.zeros(2)]), ("a", [None.__class__]))


def test_equal_structures_hash_alike():
    assert hash(flatten((1.0, {"a": 2.0}))[1]) == hash(flatten((3, {"a": 4}))[1])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((1.0,), [1.0]),
        ((1.0,), (1.0, 2.0)),
        (None, 1.0),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0}),
        ((1.0, 2.0), State(1.0, 2.0)),
        ({"a": 1.0}, collections.OrderedDict(a=1.0)),
        (WithExtra(1.0), CountsInit(1.0)),
    ],
)
def test_structures_differ(a, b):
    assert not same_structure(a, b)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ((np.zeros(2), [np.zeros(2), np.zeros(2)], {"w": np.zeros(2)}), "(array, [array, array], {'w': array})"),
        ((1.0,), "(float,)"),
        ((), "()"),
        ([None], "[None]"),
        (State(1, "a"), "State(x=int, v=str)"),
        (FrozenModel(np.zeros(2)), "FrozenModel(weights=array)"),
        ((Const(np.zeros(2)), 1.0), "(Const(array), float)"),
    ],
)
def test_structure_prints(tree, expected):
    assert repr(flatten(tree)[1]) == expected


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (({"w": 1.0},), ["[0]['w']"]),
        (Model([1.0, 2.0], 3.0), [".weights[0]", ".weights[1]", ".bias"]),
        (State(1.0, (2.0,)), [".x", ".v[0]"]),
        (1.0, [""]),
        ((None, 1.0), ["[1]"]),
    ],
)
def test_paths_read_as_python(tree, expected):
    assert paths(flatten(tree)[1]) == expected


def test_dict_leaves_are_in_insertion_order():
    assert flatten({"b": 1.0, "a": 2.0})[0] == [1.0, 2.0]


def test_dataclass_init_is_not_run():
    leaves, structure = flatten(CountsInit(1.0))
    made = CountsInit.made
    structure.unflatten(leaves)
    assert made == CountsInit.made


def test_dataclass_field_that_is_not_set_stays_unset():
    model = object.__new__(Model)
    model.bias = 1.0
    leaves, structure = flatten(model)
    assert not hasattr(structure.unflatten(leaves), "weights")


@pytest.mark.parametrize(
    "tree",
    [collections.defaultdict(list), Records(), Model, {1.0, 2.0}, np.zeros(3)],
    ids=lambda tree: repr(type(tree)),
)
def test_leaf(tree):
    leaves, _ = flatten(tree)
    assert leaves[0] is tree


def test_is_leaf_stops_the_descent():
    leaves, _ = flatten([(1.0, 2.0), [3.0]], is_leaf=lambda node: type(node) is tuple)
    assert leaves == [(1.0, 2.0), 3.0]


def test_is_leaf_may_take_none():
    leaves, _ = flatten((None, 1.0), is_leaf=lambda node: node is None)
    assert leaves == [None, 1.0]


@pytest.mark.parametrize("count", [1, 3])
def test_wrong_number_of_leaves_is_refused(count):
    _, structure = flatten((1.0, 2.0))
    with pytest.raises(ValueError, match=rf"\(float, float\) has 2 leaves, and {count} were given"):
        structure.unflatten([0.0] * count)


def test_container_that_contains_itself_is_refused():
    tree: list = []
    tree.append(tree)
    with pytest.raises(ValueError, match="contains itself"):
        flatten(tree)


def test_const_marks_everything_in_it_inactive():
    _, structure = flatten((1.0, Const([2.0, {"a": 3.0}]), 4.0))
    assert structure.inactive_leaves == {1, 2}


def test_const_gives_its_value():
    leaves, structure = flatten((1.0, Const([2.0])))
    assert structure.unflatten(leaves) == (1.0, [2.0])


def test_const_does_not_change_the_structure():
    assert same_structure((1.0, Const([2.0])), (1.0, [2.0]))


def test_const_in_const():
    _, structure = flatten(Const((1.0, Const(2.0))))
    assert structure.inactive_leaves == {0, 1}


def test_const_prints():
    assert repr(Const(2.0)) == "Const(2.0)"


def test_const_has_one_attribute():
    with pytest.raises(AttributeError):
        Const(1.0).other = 2


def test_instance_of_a_shadow_class_has_the_real_structure():
    model = FrozenModel((1.0,))
    shadow = Namespace({}, lambda array, name: array).shadow(model)
    assert same_structure(shadow, model)
