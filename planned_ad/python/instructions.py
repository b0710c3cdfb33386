"""The instructions of a function in one vocabulary, that of Python 3.11, whatever the version that runs.

Later versions join two instructions (`LOAD_FAST_LOAD_FAST`), tell apart what was one (`LOAD_FAST_BORROW`,
`LOAD_SMALL_INT`), or give another more to do (`BINARY_OP` reads items from 3.14 on).
"""

from __future__ import annotations

import dis
import functools
import itertools
import types
from collections.abc import Iterator

PARTS = {  # of instructions that are two; each part is of one of the two names
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
SAME = {"LOAD_FAST_BORROW": "LOAD_FAST", "LOAD_FAST_CHECK": "LOAD_FAST", "LOAD_SMALL_INT": "LOAD_CONST"}
GIVING = frozenset({"keys", "values", "items", "tolist", "list", "tuple", "sorted"})  # calls that give what is there
DO_NOTHING = frozenset({"CACHE", "NOT_TAKEN"})
SLICES = ("BUILD_SLICE", "BINARY_SLICE")
READS_ITEMS = dis.opmap.get("BINARY_SUBSCR", dis.opmap["BINARY_OP"])
CONTAINS = dis.opmap["CONTAINS_OP"]
SUBSCRIPT = next((k for k, (name, _) in enumerate(dis._nb_ops) if name == "NB_SUBSCR"), None)  # type: ignore[attr-defined]


@functools.lru_cache(1024)
def instructions_of(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """Two parts of one instruction have the same offset."""
    return tuple(part for one in dis.get_instructions(code) for part in _parts(code, one))


def _parts(code: types.CodeType, one: dis.Instruction) -> Iterator[dis.Instruction]:
    name = SAME.get(one.opname, one.opname)
    if name in DO_NOTHING:
        return
    if name in PARTS:
        for opname, argval in zip(PARTS[name], one.argval):
            yield _named(code, one._replace(opcode=dis.opmap[opname], arg=0, argval=argval), opname)
            one = one._replace(label=None)  # type: ignore[call-arg]  # jumps lead to the first part
    elif name == "BINARY_OP" and one.arg == SUBSCRIPT:
        yield one._replace(opname="BINARY_SUBSCR")
    else:
        yield _named(code, one, name)


def _named(code: types.CodeType, one: dis.Instruction, name: str) -> dis.Instruction:
    """From 3.13 on cells are loaded, to make functions of them, as variables are."""
    if name == "LOAD_FAST" and one.argval in code.co_cellvars + code.co_freevars:
        name = "LOAD_CLOSURE"
    return one if name == one.opname else one._replace(opname=name)


def has_whole_slices(code: types.CodeType) -> bool:
    """Whether there is a slice of all items, `items[:]`, in it."""
    found = instructions_of(code)
    if any(one.opname == "LOAD_CONST" and one.argval == slice(None) for one in found):
        return True
    triples = zip(found, found[1:], found[2:])
    return any(
        a.argval is b.argval is None and c.opname in SLICES
        for a, b, c in triples
        if a.opname == b.opname == "LOAD_CONST"
    )


@functools.lru_cache(1024)
def numbers_of(code: types.CodeType) -> dict[int, int]:
    """From the offset of each instruction to its number in `instructions_of`; of its first part, where it is two."""
    return {i.offset: k for k, i in reversed([*enumerate(instructions_of(code))])}


def begin_of(code: types.CodeType, place: int) -> int:
    """Where the instruction begins that a frame is at: one that calls stands at the end of its caches (Python 3.11).

    So does one that reads an item by a `__getitem__` written in Python, once it has run a few times.
    """
    numbers = numbers_of(code)
    while place not in numbers and place > 0:
        place -= 2
    return place


def reads_item_at(code: types.CodeType, place: int) -> bool:
    """Whether the instruction at this offset reads something by an index or key."""
    operation, operand = code.co_code[place : place + 2]
    return operation == READS_ITEMS and (SUBSCRIPT is None or operand == SUBSCRIPT)


def takes_item_at(code: types.CodeType, place: int) -> bool:
    """Whether the instruction at this offset reads, assigns or deletes something by an index or key."""
    place = begin_of(code, place)
    return reads_item_at(code, place) or dis.opname[code.co_code[place]] in ("STORE_SUBSCR", "DELETE_SUBSCR")


@functools.lru_cache(1024)
def leaves_with(code: types.CodeType) -> frozenset[int]:
    """Where a `with` statement is left, by offsets: its line begins there once more, before `__exit__` is called.

    (From 3.14 on with what it is bound to as a third argument. In another call, a line that begins so is within it.)
    """
    found = [i for i in instructions_of(code) if i.opname != "PRECALL"]
    by_error = {a.offset for a, b in itertools.pairwise(found) if b.opname == "WITH_EXCEPT_START"}
    nones = zip(found, found[1:], found[2:], found[3:])
    at_end = {
        first.offset
        for first, *others, call in nones
        if call.opname == "CALL"
        and call.arg in (2, 3)
        and all(i.opname == "LOAD_CONST" and i.argval is None for i in (first, *others))
    }
    return frozenset(by_error | at_end)


def asks_whether_in_at(code: types.CodeType, place: int) -> bool:
    """Whether the instruction at this offset is `in`, or `not in`."""
    return code.co_code[place] == CONTAINS


def asks_at(code: types.CodeType, place: int) -> bool:
    """Whether the instruction at this offset reads something by a key, or asks whether one is there."""
    place = begin_of(code, place)
    name = dis.opname[code.co_code[place]]
    return reads_item_at(code, place) or asks_whether_in_at(code, place) or ("CALL" in name and "get" in code.co_names)


def is_run_over(code: types.CodeType, place: int) -> bool:
    """Whether the instruction behind this offset asks for an iterator of what is there then, and of nothing else."""
    following = code.co_code[place + 2 :: 2]
    operation = next((found for found in following if dis.opname[found] not in DO_NOTHING), 0)
    return dis.opname[operation] == "GET_ITER"


@functools.lru_cache(maxsize=1024)
def loop_after(code: types.CodeType, place: int) -> int | None:
    """The offset of the `for` loop that runs over what the call at this offset gives; None where none does."""
    later = (one for one in instructions_of(code) if one.offset > place)
    asks, fetches = next(later, None), next(later, None)
    is_loop = asks is not None and fetches is not None and (asks.opname, fetches.opname) == ("GET_ITER", "FOR_ITER")
    return fetches.offset if is_loop and fetches is not None else None


def runs_over_what_is_there(code: types.CodeType) -> bool:
    """Whether a loop runs over something that is not what a function has just given."""
    around = itertools.pairwise(one.opname for one in instructions_of(code))
    before = {one for one, then in around if then == "GET_ITER"}
    return not before <= {"CALL"} or (bool(before) and not GIVING.isdisjoint(code.co_names))


def puts_items_elsewhere(code: types.CodeType) -> bool:
    """Whether a loop puts its items into attributes, or into items of something: `for self.step in range(n)`."""
    following = {then.opname for one, then in itertools.pairwise(instructions_of(code)) if one.opname == "FOR_ITER"}
    return not all(name.startswith(("STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "UNPACK_")) for name in following)


def reads_items(code: types.CodeType) -> bool:
    """Whether one of its instructions reads something by an index or key, or asks whether it is there."""
    if CONTAINS in code.co_code[::2] or "get" in code.co_names:
        return True
    if READS_ITEMS not in code.co_code[::2]:
        return False
    return SUBSCRIPT is None or any(i.opname == "BINARY_SUBSCR" for i in instructions_of(code))
