"""What code does with the attributes, globals and variables around that it names, by its instructions.

>>> def f(model, log, x):
...     model.calls += 1
...     log["values"].append(x)
...     model.last = x
...     return model.scale * x
>>> sorted(uses_in(f.__code__))
[('append', 'read'), ('calls', 'counted'), ('scale', 'read')]
>>> names_assigned(f.__code__) == {"calls", "last"}
True
"""

from __future__ import annotations

import collections
import dis
import functools
import types
from collections.abc import Iterator, Sequence

from .instructions import instructions_of

WRITING_METHODS = frozenset({"append", "extend", "appendleft", "extendleft", "insert", "add", "update", "clear"})
CONTAINERS = (list, dict, set, collections.deque, collections.Counter, collections.defaultdict)
ANY = object()  # of the items of a container
READ, COUNTED, WRITTEN_TO = "read", "counted", "written to"
LONGEST_STATEMENT = 60  # instructions
ASSIGNS = frozenset({"STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF"})
OF_NEW_OBJECTS = frozenset({"__init__", "__new__", "__post_init__"})
NO_NAMES = frozenset(
    {"STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_NAME",
     "DELETE_DEREF", "LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_CLOSURE", "MAKE_CELL", "COMPARE_OP", "BINARY_OP",
     "LOAD_FAST_AND_CLEAR", "LOAD_CONST"}
)  # fmt: skip
READS_NAMES = frozenset(
    {"LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_SUPER_ATTR",
     "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF", "IMPORT_FROM"}
)  # fmt: skip


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object, and those of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


@functools.lru_cache(maxsize=1024)
def uses_in(code: types.CodeType) -> frozenset[tuple[str, str]]:
    """The attributes, globals and variables of functions around that code reads, and what for."""
    every = instructions_of(code)
    found = set()
    for k, one in enumerate(every):
        if one.opname in READS_NAMES:
            found.add((one.argval, purpose_of(one.argval, every[k + 1 : k + LONGEST_STATEMENT])))
        elif type(one.argval) is str and one.opname not in NO_NAMES:
            found.add((one.argval, READ))
    return frozenset(found)


@functools.lru_cache(maxsize=1024)
def assigned_in(code: types.CodeType) -> frozenset[tuple[str, str]]:
    """The attributes, globals and variables of functions around that code assigns to, not in making an object.

    With the instructions that do.
    """
    if code.co_name in OF_NEW_OBJECTS:
        return frozenset()
    return frozenset((i.opname, i.argval) for i in instructions_of(code) if i.opname in ASSIGNS)


def names_assigned(code: types.CodeType) -> set[str]:
    return {name for inner in nested(code) for _, name in assigned_in(inner)}


@functools.lru_cache(maxsize=1024)
def items_written_in(code: types.CodeType) -> frozenset[tuple[str, str, object]]:
    """The containers that code writes to: the instruction that reads each, its name, and the key.

    The key is `ANY` for what is no constant, and for more items.
    """
    every = instructions_of(code)
    found: set[tuple[str, str, object]] = set()
    for k, one in enumerate(every):
        after = every[k + 1 : k + LONGEST_STATEMENT]
        if (one.opname in READS_NAMES or one.opname == "LOAD_FAST") and purpose_of(one.argval, after) == WRITTEN_TO:
            is_item = len(after) > 1 and after[0].opname == "LOAD_CONST" and type(after[0].argval) in (str, int)
            is_item = is_item and after[1].opname in ("STORE_SUBSCR", "COPY", "BINARY_SUBSCR")
            found.add((one.opname, one.argval, after[0].argval if is_item else ANY))
    return frozenset(found)


def purpose_of(name: str, after: Sequence[dis.Instruction]) -> str:
    """What is done with the value of a name, by the instructions after that which reads it."""
    above = 0  # on the stack
    for k, one in enumerate(after):
        following = after[k + 1 : k + 4]
        if above == 0 and is_writing_method(one):
            return WRITTEN_TO
        if above == 1 and one.opname == "BINARY_OP":
            store = next((one for one in following[:2] if one.opname not in ("SWAP", "LOAD_FAST")), None)
            is_back = store is not None and store.opname.startswith("STORE_") and store.argval == name
            return COUNTED if is_back else READ
        if (above, one.opname) in ((1, "STORE_SUBSCR"), (2, "STORE_SLICE")):
            return WRITTEN_TO
        if above == 1 and one.opname == "BINARY_SUBSCR":
            return WRITTEN_TO if following and is_writing_method(following[0]) else READ
        if above == 1 and [i.opname for i in after[k : k + 3]] == ["COPY", "COPY", "BINARY_SUBSCR"]:
            return WRITTEN_TO  # `name[key] += value`
        above += dis.stack_effect(one.opcode, one.arg if one.opcode >= dis.HAVE_ARGUMENT else None)
        if above < 0 or "JUMP" in one.opname:
            break
    return READ


def is_writing_method(one: dis.Instruction) -> bool:
    return one.opname in ("LOAD_ATTR", "LOAD_METHOD") and one.argval in WRITING_METHODS


def is_container(value: object) -> bool:
    return type(value) in CONTAINERS
