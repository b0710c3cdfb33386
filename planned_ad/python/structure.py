"""Nested containers of arguments and results: taken apart into leaves, and put together again.

Containers are tuples, lists, dicts, namedtuples, None, and objects: dataclasses and instances of the user's classes,
whose parts are their attributes. Everything else is a leaf. Dicts keep their insertion order, and two dicts with the
same keys in another order have different structures: a program may depend on the order in which it iterates. An object
that is reached twice comes back as one object, and may lead back to itself; any other container comes back as two.
A bound method in an object that leads to the method's own object is a container of the two; any other is a leaf.
Complex numbers and arrays are containers of real ones; see `complex_parts`.
"""

import collections
import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .by_class import kept_by_class
from .complex_parts import PART, ComplexArray, complex_parts, is_complex_kind, kind_of_parts, whole_of_parts
from .shadows import is_user_class, real_class


class Const:
    """Makes an argument inactive: no derivative with respect to it (or to anything in it) is computed.

    Examples
    --------
    >>> import numpy as np
    >>> leaves, structure = flatten((np.zeros(2), Const(np.ones(2))))
    >>> structure
    (array, Const(array))
    >>> sorted(structure.inactive_leaves)
    [1]
    """

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


END = object()  # of what there is no more of


class Leaf:
    """The kind of a structure that is a leaf."""


class Repeated:
    """The kind of a structure that stands for an earlier object; its key: how many objects before it that began."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Structure:
    """How leaves nest. Equal structures have the same containers, keys and order; leaf types and activity do not count.

    Attributes
    ----------
    kind : type
        The container's class, `NoneType` for None, `Leaf`, or `Repeated`.
    keys : tuple
        Keys of a dict; names of the fields of a namedtuple, or of the attributes of an object; indices of a tuple or
        list.
    children : tuple of Structure
        One for each key.
    label : str
        What a leaf was, for messages: `array`, or the name of its class.
    is_active : bool
        False for a leaf inside a `Const`.
    """

    kind: type
    keys: tuple = ()
    children: tuple["Structure", ...] = ()
    label: str = field(default="", compare=False)
    is_active: bool = field(default=True, compare=False)

    @property
    def leaf_count(self) -> int:
        """How many leaves there are."""
        return sum(1 for _ in _walk(self, ""))

    @property
    def inactive_leaves(self) -> frozenset[int]:
        """Numbers of the leaves that are inside a `Const`."""
        return frozenset(number for number, (_, leaf) in enumerate(_walk(self, "")) if not leaf.is_active)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Put leaves together. A `Const` gives its value; an object is restored without running its `__init__`.

        Raises
        ------
        ValueError
            For more or fewer leaves than the structure has.
        """
        leaves = list(leaves)
        rest = iter(leaves)
        try:
            found, is_done = _build(self, rest, []), next(rest, END) is END
        except StopIteration:
            is_done = False
        if not is_done:
            raise ValueError(f"{self} has {self.leaf_count} leaves, and {len(leaves)} were given")
        return found

    def __repr__(self) -> str:
        parts = [repr(child) for child in self.children]
        if self.kind is Leaf:
            return self.label if self.is_active else f"Const({self.label})"
        if self.kind is type(None):
            return "None"
        if self.kind is Repeated:
            return "..."
        if is_complex_kind(self.kind):
            return "complex array" if self.kind is ComplexArray else self.kind.__name__
        if self.kind is tuple:
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        if self.kind is list:
            return f"[{', '.join(parts)}]"
        if issubclass(self.kind, dict):
            return f"{{{', '.join(f'{key!r}: {part}' for key, part in zip(self.keys, parts))}}}"
        return f"{self.kind.__name__}({', '.join(f'{key}={part}' for key, part in zip(self.keys, parts))})"


def flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None, read: Callable[[Any], Any] | None = None
) -> tuple[list[Any], Structure]:
    """Take nested containers apart.

    Parameters
    ----------
    tree : object
        A leaf, or tuples, lists, dicts, namedtuples, objects and None around leaves. Subclasses of list and dict
        (other than OrderedDict) are leaves, since they may hold more than their items. `Const` is transparent.
    is_leaf : callable, optional
        Where it is true of a container, that container is a leaf.
    read : callable, optional
        What to take in place of each container or leaf.

    Returns
    -------
    leaves : list
        In the order of `paths`.
    structure : Structure
        `structure.unflatten(leaves)` equals `tree`, without its `Const` marks.

    Raises
    ------
    ValueError
        If a list or dict contains itself, or containers nest too deeply for Python's stack.

    Examples
    --------
    >>> flatten((1.0, [2, {"w": None}]))
    ([1.0, 2], (float, [int, {'w': None}]))
    """
    leaves: list[Any] = []
    objects: dict[int, tuple[int, Any]] = {}  # by identity; holding them keeps the ids theirs

    def visit(node: Any, is_active: bool) -> Structure:
        node = node if read is None else read(node)
        kind: Any = type(node)
        if isinstance(node, Const):
            return visit(node.value, False)
        if is_leaf is not None and is_leaf(node):
            return leaf(node, is_active)
        if kind is np.ndarray:  # the usual kinds first: what other libraries take apart fast too
            if node.dtype not in PART:
                leaves.append(node)
                return ARRAY_LEAF if is_active else INACTIVE_ARRAY_LEAF
        elif kind is tuple or kind is list:
            children = tuple([visit(value, is_active) for value in node])
            return Structure(kind=kind, keys=tuple(range(len(children))), children=children)
        elif kind is dict:
            children = tuple([visit(value, is_active) for value in node.values()])
            return Structure(kind=dict, keys=tuple(node), children=children)
        elif kind in PLAIN:
            return leaf(node, is_active)
        parts = parts_of(node)
        if parts is None or (kind is types.MethodType and id(node.__self__) not in objects):
            return leaf(node, is_active)
        kind = kind_of_node(node)
        if is_object_class(kind):
            if id(node) in objects:
                return Structure(kind=Repeated, keys=(len(objects) - objects[id(node)][0],))
            objects[id(node)] = len(objects), node
        children = tuple([visit(value, is_active) for _, value in parts])
        return Structure(kind=kind, keys=tuple(key for key, _ in parts), children=children)

    def leaf(node: Any, is_active: bool) -> Structure:
        leaves.append(node)
        return leaf_structure("array" if isinstance(node, np.ndarray) else node.__class__.__name__, is_active)

    try:
        return leaves, visit(tree, True)
    except RecursionError:
        raise ValueError("a container contains itself, or nests too deeply to be taken apart") from None


PLAIN = frozenset({float, int, bool, str, np.float64})  # leaves that are asked for nothing


@functools.cache
def leaf_structure(label: str, is_active: bool) -> Structure:
    """Of a leaf: leaves that say the same are one object."""
    return Structure(kind=Leaf, label=label, is_active=is_active)


ARRAY_LEAF, INACTIVE_ARRAY_LEAF = leaf_structure("array", True), leaf_structure("array", False)


def flatten_arguments(arguments: Sequence[Any]) -> tuple[list[Any], Structure]:
    """`flatten` of a tuple of arguments, each for itself: an object that two of them lead to counts for both."""
    parts = [flatten(argument) for argument in arguments]
    leaves = [leaf for part, _ in parts for leaf in part]
    children = tuple(structure for _, structure in parts)
    return leaves, Structure(kind=tuple, keys=tuple(range(len(parts))), children=children)


def paths(structure: Structure) -> list[str]:
    """For each leaf, the Python expression that reaches it from the whole, such as `[0]['w']` or `.weights[2]`."""
    return [path for path, _ in _walk(structure, "")]


def complex_leaves(structure: Structure) -> frozenset[int]:
    """Numbers of the leaves that are the memory of complex arrays."""
    if structure.kind is ComplexArray:
        return frozenset((0,))
    found, start = set(), 0
    for child in structure.children:
        found |= {start + number for number in complex_leaves(child)}
        start += child.leaf_count
    return frozenset(found)


def path_of(structure: Structure, key: Any) -> str:
    """The Python expression that reaches a part of a container from it."""
    if structure.kind is ComplexArray:
        return ""
    is_indexed = structure.kind in (tuple, list) or issubclass(structure.kind, dict)
    return f"[{key!r}]" if is_indexed else f".{key}"


def parts_of(node: Any) -> list[tuple[Any, Any]] | None:
    """Keys and values of a container; None for a leaf."""
    kind: Any = type(node)
    if node is None:
        return []
    if kind is tuple or kind is list:
        return list(enumerate(node))
    if kind is dict or kind is collections.OrderedDict:
        return list(node.items())
    if _is_namedtuple(kind):
        return list(zip(kind._fields, node))
    if kind is types.MethodType:
        return [("__func__", node.__func__), ("__self__", node.__self__)]
    if kind_of_parts(node) is not None:
        return complex_parts(node)
    return list(attributes_of(node).items()) if is_object_class(kind) else None


def kind_of_node(node: Any) -> Any:
    """The kind of container that something is; the class of anything else."""
    kind = kind_of_parts(node)
    return real_class(type(node)) if kind is None else kind


def is_complex(node: Any) -> bool:
    """Whether something is a complex number or array, for those that take it as a whole."""
    return kind_of_parts(node) is not None


@kept_by_class
def is_object_class(kind: Any) -> bool:
    """Whether instances are taken apart into their attributes.

    They are leaves where memory other than attributes belongs to them (extension types, subclasses of list and dict),
    where a copy would release what it does not own (`__del__`), and where they stand for arrays (`__array__`).
    """
    if kind is types.SimpleNamespace:
        return True
    kind = real_class(kind)
    if not dataclasses.is_dataclass(kind) and (
        not is_user_class(kind) or hasattr(kind, "__del__") or hasattr(kind, "__array__")
    ):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes that an object holds, in slots and in its `__dict__`, read past any code of its class."""
    found: dict[str, Any] = {}
    kind: Any = type(node)
    for name, slot in slots_of(kind).items():
        try:
            found[name] = slot.__get__(node)
        except AttributeError:  # not set
            continue
    found.update(state_in_dict(node))
    kind = real_class(kind)
    if dataclasses.is_dataclass(kind):  # fields first, in their order
        names = [f.name for f in dataclasses.fields(kind) if f.name in found]
        found = {name: found[name] for name in dict.fromkeys([*names, *found])}
    return found


def set_attribute(node: Any, name: str, value: Any) -> None:
    """Set what `attributes_of` reads; frozen dataclasses too."""
    kind: Any = type(node)
    slot = slots_of(kind).get(name)
    if slot is None:
        state_in_dict(node)[name] = value
    else:
        slot.__set__(node, value)


def slots_of(kind: Any) -> dict[str, types.MemberDescriptorType]:
    """The slots of a class and its bases, those of the bases first."""
    bases = kind.__mro__
    return {name: vars(bases[number])[name] for number, name in _places_of_slots(kind)}


@kept_by_class
def _places_of_slots(kind: Any) -> tuple[tuple[int, str], ...]:
    """By the numbers of bases."""
    bases = [(number, vars(base)) for number, base in reversed([*enumerate(kind.__mro__)])]
    found = [(k, name) for k, names in bases for name, value in names.items() if is_slot(value) and name != "__dict__"]
    return tuple(found)


def is_slot(value: Any) -> bool:
    return isinstance(value, types.MemberDescriptorType)


def state_in_dict(node: Any) -> dict[str, Any]:
    return object.__getattribute__(node, "__dict__") if type(node).__dictoffset__ else {}


def _is_namedtuple(kind: Any) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _build(structure: Structure, leaves: Iterator[Any], objects: list[Any]) -> Any:
    kind: Any = structure.kind
    if kind is Leaf:
        return next(leaves)
    if kind is tuple or kind is list:
        return kind([_build(child, leaves, objects) for child in structure.children])
    if kind is dict:
        return {key: _build(child, leaves, objects) for key, child in zip(structure.keys, structure.children)}
    if kind is type(None):
        return None
    if kind is Repeated:
        return objects[-structure.keys[0]]
    if is_object_class(kind):
        instance = kind() if kind is types.SimpleNamespace else object.__new__(kind)
        objects.append(instance)
        for name, child in zip(structure.keys, structure.children):
            set_attribute(instance, name, _build(child, leaves, objects))
        return instance
    values = [_build(child, leaves, objects) for child in structure.children]
    if is_complex_kind(kind):
        return whole_of_parts(kind, values)
    if issubclass(kind, dict):
        return kind(zip(structure.keys, values))
    return kind(*values) if kind is types.MethodType else tuple.__new__(kind, values)


def _walk(structure: Structure, path: str) -> Iterator[tuple[str, Structure]]:
    """Each leaf with its path, in order."""
    if structure.kind is Leaf:
        yield path, structure
        return
    for key, child in zip(structure.keys, structure.children):
        yield from _walk(child, path + path_of(structure, key))


def updated(given: Any, structure: Structure, leaves: Iterator[Any], in_place: Callable[[type], bool]) -> Any:
    """`given` with other leaves: changed where it is of a kind that `in_place` says, and else a new one if they differ.

    Parameters
    ----------
    given : object
        Of this structure.
    structure : Structure
    leaves : iterator
        All of them, in order.
    in_place : callable
        Of the class of a container, whether what it holds is replaced in itself.
    """
    objects: list[Any] = []

    def update(old: Any, structure: Structure) -> Any:
        kind = structure.kind
        if kind is Leaf:
            return next(leaves)
        if kind is Repeated:
            return objects[-structure.keys[0]]
        place = len(objects)
        if is_object_class(kind):
            objects.append(old)
        parts = [value for _, value in parts_of(old) or ()]
        new = [update(part, child) for part, child in zip(parts, structure.children)]
        changed = {key: b for key, a, b in zip(structure.keys, parts, new) if a is not b}
        if not changed or kind is ComplexArray:  # the array itself was written to
            return old
        if not in_place(kind):
            flat = (Structure(kind=Leaf),) * len(new)
            old = Structure(kind=kind, keys=structure.keys, children=flat).unflatten(new)
            if is_object_class(kind):
                objects[place] = old
            return old
        for key, value in changed.items():
            if is_object_class(kind):
                set_attribute(old, key, value)
            else:
                old[key] = value
        return old

    return update(given, structure)


def is_mutable(kind: type) -> bool:
    """Whether a container's parts can be replaced: a list, a dict, or an object but for frozen dataclasses."""
    if is_object_class(kind):
        return not (dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return kind is list or issubclass(kind, dict)
