"""What a function asks for by its instructions: whether something is None, or True; items; dicts that it makes."""

from __future__ import annotations

import collections
import dis
import functools
import itertools
import types

from .instructions import instructions_of, reads_items
from .source_text import nested_code

MAP_ADD, DICT_MERGE = dis.opmap["MAP_ADD"], dis.opmap["DICT_MERGE"]
BUILD_MAPS = [dis.opmap[name] for name in ("BUILD_MAP", "BUILD_CONST_KEY_MAP") if name in dis.opmap]
STORES = [operation for name, operation in dis.opmap.items() if name.startswith("STORE_")]


def makes_dicts(code: types.CodeType) -> bool:
    """Whether there are dict displays with something in them, or that are assigned, or dict comprehensions."""
    operations = code.co_code[::2]
    if MAP_ADD in operations:
        return True
    pairs = itertools.pairwise(zip(operations, code.co_code[1::2]))
    others = DICT_MERGE not in operations  # no call with `**`, which makes one too
    return any(one in BUILD_MAPS and (count or others or then in STORES) for (one, count), (then, _) in pairs)


@functools.lru_cache(maxsize=4096)
def asks_for_none(code: types.CodeType) -> bool:
    """Whether it, or a function in it, asks with `is` or by a pattern whether something is None."""
    before = collections.deque[bool](maxlen=2)  # whether None was loaded, perhaps for one call
    for instruction in instructions_of(code):
        name = instruction.opname
        if "IF_NONE" in name or "IF_NOT_NONE" in name or (name == "IS_OP" and any(before)):
            return True
        if name not in ("EXTENDED_ARG", "PRECALL"):
            before.append(name == "LOAD_CONST" and instruction.argval is None)
    return any(map(asks_for_none, nested_code(code)))


@functools.lru_cache(maxsize=1024)
def asks_for_truths(code: types.CodeType) -> bool:
    """Whether it has `is True` or `is False` in it, or a `case` that means it; the functions that it makes too."""
    pairs = itertools.pairwise(instructions_of(code))
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return any(b.opname == "IS_OP" and type(a.argval) is bool for a, b in pairs) or any(map(asks_for_truths, inner))


@functools.lru_cache(maxsize=4096)
def asks_for_items(code: types.CodeType) -> bool:
    """Whether it, or a function in it, reads something by an index or key."""
    return reads_items(code) or any(map(asks_for_items, nested_code(code)))
