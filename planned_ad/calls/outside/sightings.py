"""A walk over real objects as traced code sees them: where each is found, and what it is.

It goes the ways of `namespace`: through cells, default arguments, attributes, items. What it meets becomes `Sighting`s,
which are compared by value, and rows of a table in which pointers are compared.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import enum
import functools
import types
import weakref
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

import numpy as np

from ...kernels.entry import watchtable
from ...kernels.entry.watchtable import Row
from ...python.made import MadeOf
from ...python.shadows import is_array_class, is_user_class, is_user_function, real_class
from ...python.used_names import UsedNames, globals_in
from ...python.world import of_the_world
from ...tape.captured import MOST_BYTES, view_of
from ...tape.found_outside import Outside
from ...tracing.record.promotion import KINDS
from ...tracing.record.traced import Traced
from .abstract import members_asked_for, registered, registration_rows
from .libraries import (
    has_copies,
    has_hidden_parts,
    is_defined,
    is_fixed,
    is_generated,
    is_made_there,
    is_written_by_user,
    library_keeps_parts,
    may_be_hidden,
)
from .told import IN_PYTHON, PLAIN, Same, Sighting, is_plain, last_name, number_key, shown, shown_object, where

MOST_ITEMS = 512  # of a container: of one with more, the items are not looked at
MOST_ROWS = 4096
MOST_SEEN = 8 * MOST_ROWS  # a walk goes no further then
FIELDS = ("__name__", "__qualname__", "__doc__", "__annotations__")  # of functions, where code asks for them


IsUsed = Callable[[str], bool]
Look = tuple[bool, Callable[["Walk"], None]]  # whether objects are seen themselves there, and what visits them


class Walk:
    """One walk. `rows` for the table; `seen` in order; `notes` on what is not looked at; `codes` of functions met.

    `lasting`: rows of what nobody changes while a plan is in use, the names of modules and of built-in functions.
    `passed`: places of items that are not looked at.
    """

    def __init__(self, names: UsedNames, outside: Outside, passed: Container[tuple[int, str]] = ()):
        self.names, self.last_call, self.constants, self.passed = names, outside.last_call, outside.constants, passed
        self.is_frozen, self.set_first = outside.is_frozen, outside.set_first
        self.rows, self.lasting = list[Row](), list[Row]()
        self.looks: list[Look] = []
        self.seen, self.notes = list[Sighting](), list[str]()
        self.in_python: list[str] = []  # what each call compares there
        self.codes, self.texts = set[types.CodeType](), set[str]()
        self.asked: set[str] = set()  # attributes that `isinstance` asks for
        self.is_full = False
        self.is_raw = False  # whether traced code sees the objects themselves, instead of copies
        self._asked_of, self.fixed = dict[type | None, list[str]](), list[object]()  # what is fixed is of libraries
        self._met: dict[bool, dict[int, object]] = {False: {}, True: {}}

    @property
    def met(self) -> dict[int, object]:
        """Objects by their identity, in the order of the walk."""
        return self._met[False] | self._met[True]

    def is_new(self, obj: object) -> bool:
        """Whether this is met for the first time, or for the first time as it is."""
        known = self._met[self.is_raw]
        if id(obj) in known:
            return False
        known[id(obj)] = obj
        return True

    # Places.

    def globals(self, names: dict, keys: Iterable[str]) -> None:
        """Names that were read of a module's globals."""
        keys = dict.fromkeys(keys)
        for key in [*keys, *(key for key in sorted(self.names.asked_for) if key not in names and key not in keys)]:
            self.item(names, key, key, is_global=True)

    def item(self, items: dict, key: Any, path: str, in_order: bool = False, is_global: bool = False) -> None:
        """The value of a key, where it is among others; a key that is not there is not to be there."""
        if self.is_frozen(path) or (id(items), key) in self.set_first:
            return
        is_there = dict.__contains__(items, key)
        value = dict.__getitem__(items, key) if is_there else None
        if not is_there:
            is_built_in = hasattr(builtins, str(key))
            self.row(watchtable.item(items, key, None, False), is_built_in)
            self.see(path, ("missing",), "not there", not is_built_in)
            self.ask_world(getattr(builtins, str(key), None))
        else:
            self.bound(value, path, lambda: watchtable.item(items, key, value, in_order=in_order), is_global)

    def bound(self, value: Any, path: str, row: Callable[[], Row], is_global: bool = False) -> None:
        """What a place holds, and that it does."""
        if self.names.is_only_written(last_name(path), value):
            self.note(f"`{path}` is written to, and not read: it is not compared")
            return
        if last_name(path) in self.last_call:
            self.note(f"`{path}` is what a call has kept: it is not compared, and a plan computes it anew")
            return
        self.row(row(), is_global and isinstance(value, types.ModuleType) and is_fixed(value))
        if isinstance(value, type):  # which code may make instances of, by whatever name
            self.texts.add(value.__name__)
        self.visit(value, path)

    def row(self, row: Row, is_lasting: bool = False) -> None:
        """`is_lasting`: calls take it for granted, where a plan is looked for again it is compared."""
        if is_lasting:
            self.lasting.append(row)
        elif len(self.rows) < MOST_ROWS:
            self.rows.append(row)
        else:
            self.fill()

    def fill(self) -> None:
        """Say once that there is too much."""
        if not self.is_full:
            self.is_full = True
            self.note(f"of more than {MOST_ROWS} objects, those met last are not checked")

    def see(self, path: str, key: tuple, shown: str, is_checked: bool = True) -> None:
        self.seen.append(Sighting(path, key, shown, is_checked))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def ask_world(self, function: object) -> None:
        if id(function) in of_the_world():
            self.note(f"what `{of_the_world()[id(function)]}` gives is in the plan, and not compared")

    def compare_in_python(self, look: Callable[[Walk], None], what: str = "", path: str = "") -> None:
        """There are no pointers to compare: each call lets another walk `look` at it. Noted is `what` that is."""
        if len(self.rows) < MOST_ROWS:
            self.looks.append((self.is_raw, look))
        self.row(watchtable.NEVER)
        self.in_python.append(f"{what or path}, {IN_PYTHON}")
        self.notes += self.in_python[-1:] if what else []

    # Objects.

    def visit(self, obj: Any, path: str) -> None:
        """What is found at `path`, and all that it leads to."""
        kind = type(obj)
        if len(self.seen) >= MOST_SEEN:
            self.fill()
            return
        if self.is_frozen(path):
            return
        if is_fixed(obj):
            self.fixed.append(obj)
            self.see(path, ("library", Same(obj)), shown_object(obj), not isinstance(obj, types.ModuleType))
            self.ask_world(obj)
            return
        if is_plain(obj):
            if kind is str:
                self.texts.add(obj)
            self.see(path, number_key(obj), shown(obj))
            return
        if not self.is_new(obj):
            self.see(path, ("again", Same(obj)), f"a {kind.__name__}", False)
            return
        if issubclass(kind, Traced):  # of a trace around this one, which has it for one call
            self.see(path, ("object", Same(obj)), "another traced array or number")
            return
        if kind in VISITORS:
            VISITORS[kind](self, obj, path)
        elif kind in AS_IT_IS:
            self.as_it_is(AS_IT_IS[kind], obj, path)
        elif isinstance(obj, type):
            self.visit_class(obj, path)
        elif kind.__module__.startswith("numba.") and type(getattr(obj, "py_func", None)) is types.FunctionType:
            self.visit_function(obj.py_func, path)
        elif isinstance(obj, types.ModuleType):
            self.visit_module(obj, path)
        elif isinstance(obj, MadeOf) and obj.is_pure:
            self.visit_made(obj, path)
        elif has_copies(kind):
            self.visit_instance(obj, path)
        else:
            self.as_it_is(AS_IT_IS[object], obj, path)

    def as_it_is(self, visit: Callable[[Walk, Any, str], None], obj: Any, path: str) -> None:
        """Go on where traced code sees the objects themselves."""
        known = self.is_raw
        with self.raw():
            if known or self.is_new(obj):
                visit(self, obj, path)
            else:
                self.see(path, ("again", Same(obj)), f"a {type(obj).__name__}", False)

    @contextlib.contextmanager
    def raw(self) -> Iterator[None]:
        """In here, traced code sees the objects themselves."""
        before, self.is_raw = self.is_raw, True
        yield
        self.is_raw = before

    def root(self, obj: Any, path: str) -> None:
        """What was traced, or passed; of a function of a library, what it closes over."""
        if type(obj) is types.FunctionType and self.is_new(obj):
            self.visit_function(obj, path, is_root=True)
        else:
            self.visit(obj, path)

    def visit_made(self, made: MadeOf, path: str) -> None:
        self.see(path, ("instance", Same(type(made))), f"a {type(made).__name__}", False)
        told = made.told()
        self.visit(tuple(told), path)
        self.visit(tuple(told.values()), path)
        self.visit(made.__wrapped__, path)

    def visit_array(self, array: np.ndarray, path: str) -> None:
        flags = (array.flags.writeable,) if "flags" in self.names.names else ()
        layout: tuple = (array.shape, array.strides, array.dtype.str, *flags)
        for row in watchtable.layout_of(array):
            self.row(row)
        is_known = id(array) in self.constants or self.is_raw
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
        if is_followed := array.dtype.hasobject and array.size <= MOST_ITEMS:
            items = np.ndarray.view(array, np.ndarray).reshape(-1).tolist()
            self.row(watchtable.contents(low, high - low, array, *items))  # which objects it has
            self.visit_items(items, path)
        is_long = high - low > MOST_BYTES or array.dtype.hasobject
        if is_long or (not is_known and view_of(array) is not None):
            key = ("array", Same(array), array.ctypes.data, layout)
            self.see(path, key, f"an array of shape {array.shape}", False)
            if is_known or not (is_followed or array.dtype in KINDS or array.dtype.kind == "c"):
                what = f"the contents of the array `{path}`, {array.nbytes} bytes,"
                self.note(f"{what} are in the plan, and not compared")
            return
        if high > low:
            self.row(watchtable.contents(low, high - low, array))
        plain = np.ndarray.view(array, np.ndarray)  # of a class of a library, which may have other ideas of its bytes
        values = np.array2string(plain, threshold=8, edgeitems=3, precision=6)
        self.see(path, ("numbers", layout, plain.tobytes()), " ".join(values.split()))

    def visit_function(self, f: types.FunctionType, path: str, is_root: bool = False) -> None:
        wrapped = getattr(f, "__wrapped__", None)
        if not is_root and not is_user_function(f):
            if is_user_function(wrapped):
                self.cells(f)
            elif is_made_there(f):
                self.as_it_is(Walk.cells, f, path)
            self.see(path, ("function", Same(f)), "another function")
            return
        if self.is_raw:
            self.globals(f.__globals__, globals_in(f.__code__))
        if is_user_function(f) or is_root:
            self.codes.add(f.__code__)
        fields = ("__code__", "__defaults__", *(("__kwdefaults__",) if f.__kwdefaults__ else ()))
        for name in fields:
            self.row(watchtable.field_of(f, name))
        self.see(path, ("code", f.__code__), where(f), not is_root)
        self.cells(f)
        if f.__defaults__ is not None:
            parameters = f.__code__.co_varnames[: f.__code__.co_argcount][-len(f.__defaults__) or None :]
            for name, value in zip(parameters, f.__defaults__):
                self.visit(value, name)
        defaults = f.__kwdefaults__ or {}
        for name in defaults:
            self.item(defaults, name, name)
        for name in filter(self.names.names.__contains__, FIELDS):
            with self.raw():
                value = getattr(f, name)
                self.bound(value, f"{f.__name__}.{name}", functools.partial(watchtable.field_of, f, name))
        if "__wrapped__" in f.__dict__ and not self.is_used("__wrapped__"):
            self.item(f.__dict__, "__wrapped__", f"{f.__name__}.__wrapped__")
        self.attributes(f.__dict__, f.__name__, type(f))

    def cells(self, f: types.FunctionType, path: str = "") -> None:
        for cell, name in zip(f.__closure__ or (), f.__code__.co_freevars):
            if self.is_frozen(name) or not self.is_new(cell):
                continue
            try:
                value = cell.cell_contents
            except ValueError:
                self.row(watchtable.cell_of(cell))
                continue
            if not isinstance(value, weakref.WeakKeyDictionary):  # in which functions of libraries keep what they found
                self.bound(value, name, functools.partial(watchtable.cell_of, cell, value))

    def is_used(self, name: object) -> bool:
        return type(name) is not str or self.names.any_attribute or name in self.names.names

    def attributes(
        self, state: dict, path: str, kind: type | None = None, without: str = "", is_used: IsUsed | None = None
    ) -> None:
        """Those of an object, and those that are asked for and are not there, in its class `kind` neither."""
        asked, is_used = self.names.asked_for, is_used or self.is_used
        for name in state:
            if name != without and (is_used(name) or name in asked):
                self.item(state, name, f"{path}.{name}")
        missing = self.asked_of(kind)
        if missing and not state:  # as of most functions
            return self.row(watchtable.length_of(state))
        for name in missing:  # which would be seen if it were there
            if name not in state and not self.is_frozen(f"{path}.{name}"):
                self.row(watchtable.item(state, name, None, False))

    def asked_of(self, kind: type | None) -> list[str]:
        """What is asked for that a class has not."""
        if kind not in self._asked_of:
            asked = sorted(self.names.asked_for)
            self._asked_of[kind] = asked if kind is None else [name for name in asked if not is_defined(kind, name)]
        return self._asked_of[kind]

    def visit_module(self, module: types.ModuleType, path: str) -> None:
        """Of a module of the user's; what traced code reads of it is known, beside what runs as it is."""
        self.see(path, ("module", Same(module)), shown_object(module), False)
        if self.is_raw:
            self.globals(vars(module), [name for name in list(vars(module)) if name in self.names.names])

    def visit_class(self, cls: type, path: str) -> None:
        cls = real_class(cls)
        self.see(path, ("class", Same(cls), tuple(map(Same, cls.__mro__))), shown_object(cls), False)
        self.row(watchtable.bases_of(cls))
        if type(cls) is not type and is_written_by_user(type(cls)):
            self.as_it_is(Walk.class_attributes, type(cls), path)
        if is_user_class(cls) or is_array_class(cls):
            self.class_attributes(cls, path)
        elif is_written_by_user(cls):
            self.as_it_is(Walk.class_attributes, cls, path)

    def class_attributes(self, cls: type, path: str) -> None:
        known: set[str] = set()
        for base in filter(is_written_by_user, cls.__mro__):
            self.row(watchtable.size_of_class(base))
            for name, value in list(vars(base).items()):
                is_special = name.startswith("__") and name.endswith("__")
                if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
                    known.add(name)
                    continue
                if not (self.may_run(name, value, cls) if is_special else self.is_used(name)):
                    continue
                if self.is_frozen(f"{base.__name__}.{name}"):
                    continue
                found = f"{base.__name__}.{name}"
                holder = base if name in known else cls  # what it hides may be reached by `super`
                self.bound(value, found, functools.partial(watchtable.attribute, holder, name, value))
                known.add(name)
        for name in self.asked_of(cls):
            self.row(watchtable.attribute(cls, name))
            self.see(f"{cls.__name__}.{name}", ("missing",), "not there")
        if issubclass(cls, enum.Enum):
            self.visit_items(cls, path)
        self.asked.update(members_asked_for(cls))
        for row in registration_rows(cls):
            self.row(row)
        self.see(f"{cls.__name__}.register", ("registered", *registered(cls)), "other classes", False)

    def may_run(self, name: str, method: object, cls: type) -> bool:
        """Whether a special method may be called, whose name need not occur, or what has its name is asked for."""
        if name in self.names.names:
            return True
        method = getattr(method, "__func__", method)
        if name in NOT_CALLED or isinstance(method, type) or not (callable(method) or hasattr(method, "__get__")):
            return False
        if name in OF_CREATION:
            return self.is_used(cls.__name__)
        if name in OF_COMPARISONS and self.names.compares:
            return True
        return name not in OF_COMPARISONS | OF_CONTAINERS or not is_generated(method)

    def visit_instance(self, obj: Any, path: str) -> None:
        """An instance of a class of the user's, or of a named tuple."""
        real: Any = real_class(type(obj))
        self.see(path, ("instance", Same(real)), f"a {real.__name__}", False)
        self.visit(real, real.__name__)
        bases = real.__mro__[:-1]
        visit = next(filter(None, (VISITORS.get(base, AS_IT_IS.get(base)) for base in bases)), None)
        if visit is not None:
            visit(self, obj, path)
        elif has_hidden_parts(real):
            self.see(path, ("object", Same(obj)), f"another {real.__name__}")
        state = object.__getattribute__(obj, "__dict__") if real.__dictoffset__ else {}
        self.row(watchtable.class_of(obj))
        is_used = bool if visit is None and any(map(library_keeps_parts, bases)) else self.is_used
        if real.__dictoffset__:
            self.row(watchtable.length_of(state))
            for row in watchtable.dict_of(obj, state):
                self.row(row)
            self.attributes(state, path, real, is_used=is_used)
        for base in bases:
            for name, found in list(vars(base).items()):
                if not is_used(name):
                    continue
                if isinstance(found, types.MemberDescriptorType):
                    self.slot(obj, found, f"{path}.{name}")
                elif real.__dictoffset__ and name not in state and is_user_class(base) and may_be_hidden(name, found):
                    self.see(f"{path}.{name}", ("missing",), "not there", False)

    def slot(self, obj: Any, found: types.MemberDescriptorType, path: str) -> None:
        if self.is_frozen(path):
            return
        try:
            value = found.__get__(obj)
        except AttributeError:
            self.row(watchtable.slot_of(obj, found))
            self.see(path, ("missing",), "not there")
            return
        self.bound(value, path, lambda: watchtable.slot_of(obj, found, value))

    # Containers.

    def visit_items(self, items: Iterable[Any], path: str) -> None:
        kind = type(items).__name__
        items = tuple(items)
        self.see(path, ("items", kind, len(items)), f"{len(items)} items", False)
        if len(items) > MOST_ITEMS:
            self.note(f"the items of `{path}` ({len(items)}) are not looked into")
            return
        for number, item in enumerate(items):
            self.visit(item, f"{path}[{number}]")

    def visit_list(self, items: list, path: str) -> None:
        if list.__len__(items) > MOST_ITEMS:
            self.row(watchtable.length_of(items))
            self.see(path, ("list", Same(items), list.__len__(items)), f"{len(items)} items", False)
            self.note(f"the items of `{path}` ({len(items)}) are not compared")
            return
        self.row(watchtable.items_of(items))
        self.visit_items(list.__iter__(items), path)

    def visit_dict(self, items: dict, path: str) -> None:
        """Items under names that occur in code are looked into; of the others it is known what they are."""
        is_ordered = isinstance(items, collections.OrderedDict)
        keys = list(collections.OrderedDict.__iter__(items) if is_ordered else dict.keys(items))
        whole = any(type(key) is not str for key in keys) or self.names.any_item
        whole = whole or (isinstance(items, collections.Counter) and self.names.compares)
        used = keys if whole else list(filter(self.names.may_be_key, keys))
        whole, used = whole or not used, used or keys
        self.row(watchtable.length_of(items))
        if whole and len(keys) > MOST_ITEMS:
            self.see(path, ("dict", Same(items), len(keys)), f"{len(keys)} items", False)
            self.note(f"the items of `{path}` ({len(keys)}) are not compared")
            return
        if whole and is_ordered:
            self.compare_in_python(lambda walk: walk.visit(items, path), f"`{path}`, an OrderedDict")
        chosen = keys
        if len(keys) > MOST_ITEMS:
            self.note(f"of the items of `{path}` ({len(keys)}), those whose keys do not occur in code are not compared")
            chosen = used
        plain = (number_key(key) if type(key) in (float, *PLAIN) else Same(key) for key in chosen)
        self.see(path, ("keys", tuple(plain)), "items", False)
        looked_into = set(used) if not whole else ()
        for key in chosen:
            if type(key) not in (float, *PLAIN):
                self.visit(key, f"a key of {path}")
            if whole or key in looked_into:
                self.item(items, key, f"{path}[{key!r}]", in_order=len(chosen) == len(keys))
            else:
                self.other_item(items, key, f"{path}[{key!r}]")

    def other_item(self, items: dict, key: str, path: str) -> None:
        """An item whose key does not occur in code, which may make it of others: what it is, but not what is in it."""
        place = id(items), key
        if self.is_frozen(path) or place in self.passed:
            return
        value = dict.__getitem__(items, key)
        self.row(watchtable.item(items, key, value, in_order=True))
        found, text = (number_key, shown) if is_plain(value) else (lambda obj: ("object", Same(obj)), shown_object)
        self.seen.append(Sighting(path, found(value), text(value), False, place))

    def visit_set(self, items: set, path: str) -> None:
        if len(items) > MOST_ITEMS or not watchtable.sets_hold():
            self.see(path, ("set", Same(items)), f"{len(items)} items", False)
            self.note(f"the items of `{path}`, a set, are not compared")
            return
        for row in watchtable.members_of(items):
            self.row(row)
        self.visit_items(items, path)


VISITORS: dict[type, Callable[[Walk, Any, str], None]] = {}  # of kinds that traced code sees copies of: see `visitors`
AS_IT_IS: dict[type, Callable[[Walk, Any, str], None]] = {}  # and of those that it sees themselves
NOT_CALLED = frozenset(
    {"__init_subclass__", "__del__", "__getnewargs__", "__replace__", "__annotate__", "__annotate_func__"}
)
OF_CREATION = frozenset({"__init__", "__new__", "__post_init__"})
OF_CONTAINERS = frozenset({"__hash__", "__repr__", "__reduce__", "__getstate__"})  # and of copies, which call them
OF_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
