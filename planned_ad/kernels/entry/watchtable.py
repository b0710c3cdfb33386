"""A check in machine code that objects outside of a plan are what they were: a walk over a table of places.

Each row says where a pointer (or some bytes) is found, and what it was. The walk takes a nanosecond or two a row, runs
no Python code, and needs the GIL. One walker, compiled once in a process, serves all tables.

Pointers in objects that the table keeps alive, such as the code and the defaults of functions, may be read at any time:
they come first, as pairs of numbers. Where there is nothing else, a call compares them itself.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from ..llvm.builder import TerseBuilder
from ..llvm.codelibrary import lasting_address
from ..llvm.places import loop
from ..llvm.types import I1, I32, I64, POINTER, value_unless
from . import headers

# Kinds of rows, by what is found at `place`, and what is compared:
CELL = 0  # the pointer there
BYTES = 1  # `nbytes` bytes there, with those at `expected`
ITEM = 2  # the value of `key` in the dict there; 0 where it has none
ITEMS = 3  # the pointers in the list there, of `nbytes` bytes, with those at `expected`
ATTRIBUTE = 4  # what `key` is in the class there
ENTRY = 5  # as ITEM, found at once at `slot` while the dict's table of keys is at `table`
PLACE = 7  # as ENTRY, and nowhere else
VALUE = 6  # as ITEM, found at once at `slot` while the dict's values are at `table` (it shares its keys with others)

CELL_CONTENTS = 16
OBJECT_CLASS = 8
MANAGED_DICT, HAS_MANAGED_DICT = -24, 1 << 4  # of an object whose class says so
DICT_LENGTH = 16
DICT_KEYS = 32
DICT_VALUES = 40
FIELDS = 7
HEAD = 2  # numbers before all: how many pairs there are, and how many other rows


@dataclass(frozen=True, slots=True)
class Row:
    """One place to look at; `alive` are objects that it refers to by address."""

    kind: int
    place: int
    key: int
    expected: int
    nbytes: int
    alive: tuple[object, ...]
    slot: int = 0
    table: int = 0

    @property
    def is_field(self) -> bool:
        """Whether it is a pointer in an object that is kept: it can be read whatever other rows find."""
        if self.kind != CELL:
            return False
        owner = self.alive[0]
        return 0 <= self.place - id(owner) < type.__getattribute__(type(owner), "__basicsize__")


def cell(place: int, expected: int, *alive: object) -> Row:
    return Row(CELL, place, 0, expected, 0, alive)


NOTHING = ctypes.c_int64(0)
NEVER = cell(ctypes.addressof(NOTHING), 1, NOTHING)  # never the same: what only Python can compare is among the things


def cell_of(variable: types.CellType, *value: object) -> Row:
    """What a variable of a closure is bound to; nothing where it has no value."""
    return cell(id(variable) + CELL_CONTENTS, id(value[0]) if value else 0, variable, *value)


def dict_of(obj: object, state: dict) -> list[Row]:
    """Which dict has the attributes of an object; no row where there is no telling."""
    kind = type(obj)
    if not kind.__flags__ & HAS_MANAGED_DICT and kind.__dictoffset__ <= 0:
        return []
    place = id(obj) + (MANAGED_DICT if kind.__flags__ & HAS_MANAGED_DICT else kind.__dictoffset__)
    is_there = ctypes.c_void_p.from_address(place).value == id(state)
    return [cell(place, id(state), obj, state)] if is_there else []


def class_of(obj: object) -> Row:
    """Of which class an object is."""
    return cell(id(obj) + OBJECT_CLASS, id(type(obj)), obj, type(obj))


def length_of(items: dict | list) -> Row:
    """How many items there are: where a dict says it, a list does."""
    count = list.__len__(items) if isinstance(items, list) else dict.__len__(items)
    return cell(id(items) + DICT_LENGTH, count, items)


def size_of_class(cls: type) -> Row:
    """How many attributes a class itself has: one that is added may hide what its instances have."""
    return length_of(next(d for d in gc.get_referents(vars(cls)) if isinstance(d, dict)))  # of which `vars` is a view


def layout_of(array: np.ndarray) -> list[Row]:
    """Where an array's elements are: address, shape, strides and dtype, which can be set on the array itself."""
    fields = headers.ARRAY_STRIDES + 28 - headers.ARRAY_DATA  # with `base`, the dtype and the flags behind
    found = [contents(id(array) + headers.ARRAY_DATA, fields, array, array.dtype)]
    if array.ndim:  # shape and strides lie one after the other
        found.append(contents(_int64(id(array) + headers.ARRAY_SHAPE), 16 * array.ndim, array))
    return found


SET_USED, SET_MASK, SET_TABLE = 24, 32, 40


def members_of(items: set) -> list[Row]:
    """How many items a set has, where its table is, and what is in that."""
    mask, table = _int64(id(items) + SET_MASK), _int64(id(items) + SET_TABLE)
    found = [cell(id(items) + SET_USED, len(items), items), cell(id(items) + SET_TABLE, table, items)]
    return [*found, contents(table, 16 * (mask + 1), items, *items)]


@functools.cache
def sets_hold() -> bool:
    """Whether sets are laid out as `members_of` reads them."""
    known = {object(), object(), object()}
    mask, table = _int64(id(known) + SET_MASK), _int64(id(known) + SET_TABLE)
    if _int64(id(known) + SET_USED) != 3 or mask != 7 or not id(known) < table < id(known) + set.__basicsize__:
        return False
    return {id(item) for item in known} <= {_int64(table + 16 * k) for k in range(mask + 1)}


def contents(place: int, nbytes: int, *alive: object) -> Row:
    """Some bytes, which are to stay as they are now."""
    copy = ctypes.create_string_buffer(ctypes.string_at(place, nbytes), nbytes)
    return Row(BYTES, place, 0, ctypes.addressof(copy), nbytes, (copy, *alive))


def item(items: dict, key: object, value: object, is_there: bool = True, in_order: bool = False) -> Row:
    """The value of a key of a dict; `in_order`: at this place among the others."""
    expected = id(value) if is_there else 0
    kind, slot, table = place_of(items, key, value) if is_there else (ITEM, 0, 0)
    kind = PLACE if in_order and kind == ENTRY else kind
    return Row(kind, id(items), id(key), expected, 0, (items, key, value), slot, table)


def place_of(items: dict, key: object, value: object) -> tuple[int, int, int]:
    """Where a dict keeps a value, found by looking for it: the kind of row, the slot, and the table that it is in."""
    keys, values = (ctypes.c_int64.from_address(id(items) + offset).value for offset in (DICT_KEYS, DICT_VALUES))
    if values:  # their order is that of the keys that are shared: only an object that is there once is found
        count = dict.__len__(items)
        found = [k for k in range(count) if _int64(values + 8 * k) == id(value)]
        is_only = len(found) == sum(v is value for v in dict.values(items)) == 1
        return (VALUE, values + 8 * found[0], values) if is_only else (ITEM, 0, 0)
    words = (dict.__sizeof__(items) - type(items).__basicsize__) // 8
    table = np.ctypeslib.as_array((ctypes.c_int64 * max(words, 2)).from_address(keys))
    places = np.flatnonzero((table[:-1] == id(key)) & (table[1:] == id(value)))
    return (ENTRY, keys + 8 * (int(places[0]) + 1), keys) if len(places) == 1 else (ITEM, 0, 0)


def items_of(items: list) -> Row:
    nbytes = 8 * list.__len__(items)
    copy = (ctypes.c_int64 * max(nbytes // 8, 1))(*map(id, list.__iter__(items)))
    return Row(ITEMS, id(items), 0, ctypes.addressof(copy), nbytes, (copy, items, *list.__iter__(items)))


def attribute(cls: type, name: str, *value: object) -> Row:
    """What a class has under a name; without a value: nothing."""
    return Row(ATTRIBUTE, id(cls), id(name), id(value[0]) if value else 0, 0, (cls, name, *value))


def bases_of(cls: type) -> Row:
    """The order in which a class and its bases are looked through."""
    return cell(id(cls) + _bases_offset(), id(cls.__mro__), cls, cls.__mro__)


@functools.cache
def _bases_offset() -> int:
    words = object.__getattribute__(type, "__basicsize__") // 8
    return 8 * [_int64(id(int) + 8 * k) for k in range(words)].index(id(int.__mro__))


ABC_REGISTRY = 16  # of what an abstract base class keeps beside its attributes


def registry_of(cls: Any) -> list[Row]:
    """How many classes are registered with an abstract base class."""
    place = id(cls._abc_impl) + ABC_REGISTRY
    registry = _int64(place)
    found = [cell(place, registry, cls, cls._abc_impl)]
    return [*found, cell(registry + SET_USED, _int64(registry + SET_USED), cls)] if registry else found


@functools.cache
def _field_offset(name: str) -> int:
    """Where a function keeps one of its fields: where a known object is found that has been put into it."""

    def known(x: object = None, *, y: object = None) -> None:
        """Known."""

    known.__defaults__, known.__kwdefaults__ = (object(),), {"y": object()}
    words, value = types.FunctionType.__basicsize__ // 8, getattr(known, name)  # annotations are made when asked for
    return 8 * [_int64(id(known) + 8 * k) for k in range(words)].index(id(value))


def field_of(f: types.FunctionType, name: str) -> Row:
    """`__code__`, `__defaults__` or another such attribute of a function; of None, as it is kept: `__doc__` is None."""
    value, place = getattr(f, name), id(f) + _field_offset(name)
    return cell(place, 0 if value is None and not _int64(place) else id(value), f, value)


MEMBER, MEMBER_OFFSET = 40, 16  # of the descriptor of a slot, and of what that points to


def slot_of(obj: object, descriptor: types.MemberDescriptorType, *value: object) -> Row:
    """What an object has in one of its slots; nothing where it is not set."""
    return cell(id(obj) + _slot_offset(descriptor), id(value[0]) if value else 0, obj, *value)


def _slot_offset(descriptor: types.MemberDescriptorType) -> int:
    return _int64(_int64(id(descriptor) + MEMBER) + MEMBER_OFFSET)


def _int64(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


@dataclass(eq=False)
class WatchTable:
    """Rows that may be replaced while machine code refers to the table, by one store of an address."""

    start: ctypes.Array = field(default_factory=lambda: (ctypes.c_int64 * 1)())
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(HEAD, np.int64))
    alive: tuple[Row, ...] = ()

    @property
    def address(self) -> int:
        return ctypes.addressof(self.start)

    def fill(self, rows: Iterable[Row]) -> None:
        rows = tuple(rows)
        pairs, others = [r for r in rows if r.is_field], [r for r in rows if not r.is_field]
        numbers = [n for r in pairs for n in (r.place, r.expected)]
        numbers += [n for r in others for n in (r.kind, r.place, r.key, r.expected, r.nbytes, r.slot, r.table)]
        table = np.array([len(pairs), len(others), *numbers], np.int64)
        self.start[0] = table.ctypes.data
        self.numbers, self.alive = table, rows

    def has_form_of(self, rows: Iterable[Row]) -> bool:
        """Whether there are as many rows of both kinds, as calls that were compiled for it know."""
        return sorted(row.is_field for row in self.alive) == sorted(row.is_field for row in rows)

    def holds(self) -> bool:
        """Whether everything is as it was."""
        return _in_python()(self.address) == 0


@functools.cache
def supported() -> bool:
    """Whether objects are laid out as the rows say."""
    return headers.supported() and hasattr(ctypes.pythonapi, "_PyType_Lookup") and _cells_hold()


def _cells_hold() -> bool:
    known = object()
    found = (lambda: known).__closure__
    assert found is not None
    slotted = _Slotted()
    slotted.second = known
    descriptor: types.MemberDescriptorType = vars(_Slotted)["second"]
    name = _int64(_int64(id(descriptor) + MEMBER))
    if ctypes.string_at(name) != b"second" or _int64(id(slotted) + _slot_offset(descriptor)) != id(known):
        return False
    length = ctypes.c_int64.from_address(id({1: 1, 2: 2, 3: 3}) + DICT_LENGTH).value
    return ctypes.c_int64.from_address(id(found[0]) + CELL_CONTENTS).value == id(known) and length == 3


class _Slotted:
    __slots__ = ("first", "second")
    second: object


@functools.cache
def walker() -> int:
    """The address of ``int32 walk(int64* start)``: 0 where everything is as it was."""
    return lasting_address("walk", lambda module: _emit(module, "walk"))


@functools.cache
def _in_python():
    return ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(walker())


def _emit(module: ir.Module, symbol: str) -> None:
    function = ir.Function(module, ir.FunctionType(I32, [POINTER]), symbol)
    builder = TerseBuilder(function.append_basic_block("entry"))
    table = table_at(builder, function.args[0])
    differs = builder.append_basic_block("differs")
    with each_field(builder, table) as same:
        going_on = builder.append_basic_block("going_on")
        builder.cbranch(same, going_on, differs)
        builder.position_at_end(going_on)
    rows = builder.gep(table, [builder.add(builder.mul(_number(builder, table, 0), I64(2)), I64(HEAD))])
    with loop(builder, builder.add(I64(0), I64(0)), _number(builder, table, 1), 1) as number:
        first = builder.mul(number, I64(FIELDS))
        kind, *fields = (_number(builder, rows, builder.add(first, I64(k))) for k in range(FIELDS))
        done = builder.append_basic_block("same")
        chosen = builder.switch(kind, differs)
        for what, emit in KINDS.items():
            block = builder.append_basic_block("kind")
            chosen.add_case(I64(what), block)
            builder.position_at_end(block)
            same = emit(builder, *fields)
            builder.cbranch(same, done, differs)
        builder.position_at_end(done)
    builder.ret(I32(0))
    builder.position_at_end(differs)
    builder.ret(I32(1))


def table_at(builder: ir.IRBuilder, start: ir.Value) -> ir.Value:
    """The numbers of a table, by the address of a `WatchTable`."""
    return builder.load(builder.bitcast(start, I64.as_pointer().as_pointer()))


def has_only_fields(builder: ir.IRBuilder, table: ir.Value) -> ir.Value:
    return builder.icmp_signed("==", _number(builder, table, 1), I64(0))


@contextmanager
def each_field(builder: ir.IRBuilder, table: ir.Value) -> Iterator[ir.Value]:
    """What is emitted in the block goes over the pairs of a table; given is whether the pointer is as it was."""
    with loop(builder, builder.add(I64(0), I64(0)), _number(builder, table, 0), 1) as number:
        first = builder.add(builder.mul(number, I64(2)), I64(HEAD))
        place, expected = (_number(builder, table, builder.add(first, I64(k))) for k in range(2))
        yield builder.icmp_signed("==", _pointer_there(builder, place), expected)


def _number(builder: ir.IRBuilder, numbers: ir.Value, index: int | ir.Value) -> ir.Value:
    return builder.load(builder.gep(numbers, [I64(index) if isinstance(index, int) else index]))


def _pointer_there(builder: ir.IRBuilder, place: ir.Value, offset: int = 0) -> ir.Value:
    return builder.load(builder.inttoptr(builder.add(place, I64(offset)), I64.as_pointer()))


def _same_cell(builder, place, key, expected, nbytes, slot, table):
    return builder.icmp_signed("==", _pointer_there(builder, place), expected)


def _same_bytes(builder, place, key, expected, nbytes, slot, table):
    compare = _c(builder, "memcmp", I32, POINTER, POINTER, I64)
    places = (builder.inttoptr(p, POINTER) for p in (place, expected))
    return builder.icmp_signed("==", builder.call(compare, [*places, nbytes]), I32(0))


def _same_item(builder, place, key, expected, nbytes, slot, table):
    look_up = _c(builder, "PyDict_GetItemWithError", I64, I64, I64)
    return builder.icmp_signed("==", builder.call(look_up, [place, key]), expected)


def _same_items(builder, place, key, expected, nbytes, slot, table):
    length = builder.mul(_pointer_there(builder, place, headers.SEQUENCE_LENGTH), I64(8))

    def compared():
        start = _pointer_there(builder, place, headers.LIST_ITEMS)
        return _same_bytes(builder, start, key, expected, nbytes, slot, table)

    return value_unless(builder, builder.icmp_signed("==", length, nbytes), I1(0), compared)


def _same_attribute(builder, place, key, expected, nbytes, slot, table):
    look_up = _c(builder, "_PyType_Lookup", I64, I64, I64)
    return builder.icmp_signed("==", builder.call(look_up, [place, key]), expected)


def _same_entry(builder, place, key, expected, nbytes, slot, table):
    return _at_once(builder, DICT_KEYS, place, key, expected, nbytes, slot, table)


def _same_place(builder, place, key, expected, nbytes, slot, table):
    is_near = builder.icmp_signed("==", _pointer_there(builder, place, DICT_KEYS), table)
    return value_unless(builder, is_near, I1(0), lambda: _same_near(builder, slot, key, expected, nbytes, slot, table))


def _same_near(builder, place, key, expected, nbytes, slot, table):
    same = _same_cell(builder, place, key, expected, nbytes, slot, table)
    return builder.and_(same, builder.icmp_signed("==", _pointer_there(builder, slot, -8), key))


def _same_value(builder, place, key, expected, nbytes, slot, table):
    return _at_once(builder, DICT_VALUES, place, key, expected, nbytes, slot, table)


def _at_once(builder, offset, place, key, expected, nbytes, slot, table):
    """Look where the value was, if the dict has the same table; else look it up."""
    near, far, after = (builder.append_basic_block(name) for name in ("near", "far", "after"))
    builder.cbranch(builder.icmp_signed("==", _pointer_there(builder, place, offset), table), near, far)
    builder.position_at_end(near)
    there = _same_near if offset == DICT_KEYS else _same_cell
    same = there(builder, slot, key, expected, nbytes, slot, table)
    builder.cbranch(same, after, far)
    builder.position_at_end(far)
    looked_up = _same_item(builder, place, key, expected, nbytes, slot, table)
    far = builder.block
    builder.branch(after)
    builder.position_at_end(after)
    found = builder.phi(ir.IntType(1))
    found.add_incoming(ir.IntType(1)(1), near)
    found.add_incoming(looked_up, far)
    return found


KINDS = {
    CELL: _same_cell,
    BYTES: _same_bytes,
    ITEM: _same_item,
    ITEMS: _same_items,
    ATTRIBUTE: _same_attribute,
    ENTRY: _same_entry,
    VALUE: _same_value,
    PLACE: _same_place,
}


def _c(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: ir.Type) -> ir.Function:
    module = builder.module
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)
