"""Which variables of a running function may still be read, in ways that what stands in their place cannot notice.

A stand-in notices when it is calculated with, called, or asked for an attribute. It does not notice `is`, `match`,
`isinstance`, and it may be handed on to where that happens: returned, passed, put into a container.
"""

from __future__ import annotations

import builtins
import dis
import functools
import types

from .instructions import begin_of, instructions_of, numbers_of
from .shadows import ShadowGlobals

STORES = {"STORE_FAST", "STORE_DEREF", "STORE_NAME", "DELETE_FAST", "DELETE_DEREF", "DELETE_NAME"}
LEAVES = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"}
JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"}
ASKS_FOR_NAMES = {"locals", "dir", "vars", "eval", "exec"}
NONE: frozenset[str] = frozenset()
HARMLESS = frozenset(  # what a `with` enters that handles no errors
    ("errstate", "printoptions", "catch_warnings", "open", "nullcontext", "localcontext", "redirect_stdout", "closing")
)
NOTICED = {  # how many values these take, all of which notice
    "BINARY_OP": 2, "COMPARE_OP": 2, "BINARY_SUBSCR": 2, "BINARY_SLICE": 3, "STORE_SLICE": 4, "UNARY_NEGATIVE": 1,
    "UNARY_INVERT": 1, "LOAD_ATTR": 1, "LOAD_METHOD": 1, "GET_ITER": 1, "UNPACK_SEQUENCE": 1, "FORMAT_SIMPLE": 1,
}  # fmt: skip
OWN, BEGINS_TRACES = "planned_ad.", "planned_ad.trace"
CALLS = ("PRECALL", "CALL")  # which take as many as they say, with a function and what it is bound to


def may_be_read(frame: types.FrameType, name: str, after_loop: bool | None = None) -> bool:
    """Whether a variable may be read unnoticed, before it is assigned, from where the frame is now.

    `after_loop`: where a `for` fetches its next item, whether there is none; None where that is not known.
    """
    code = frame.f_code
    if not ASKS_FOR_NAMES.isdisjoint(code.co_names):
        return True
    numbers = numbers_of(code)
    here = numbers[begin_of(code, frame.f_lasti)]
    instruction = instructions_of(code)[here]
    start = {here}
    if instruction.opname == "FOR_ITER" and after_loop is not None:
        start = {numbers[instruction.argval]} if after_loop else {here + 1}
    return not start.isdisjoint(reads_of(code, name))


@functools.lru_cache(4096)
def is_read_unnoticed(code: types.CodeType, name: str) -> bool:
    """Whether a function, or one in it, reads a variable where a stand-in is not noticed."""
    if not ASKS_FOR_NAMES.isdisjoint(code.co_names):
        return True
    instructions = instructions_of(code)
    if any(is_load(i, name) and not is_noticed(instructions, k) for k, i in enumerate(instructions)):
        return True
    return any(is_read_unnoticed(inner, name) for inner in code.co_consts if isinstance(inner, types.CodeType))


def is_live(frame: types.FrameType, name: str) -> bool:
    """Whether a variable may be read before it is assigned, by this function or one in it."""
    code = frame.f_code
    if name in code.co_cellvars or not ASKS_FOR_NAMES.isdisjoint(code.co_names):
        return True
    return numbers_of(code)[begin_of(code, frame.f_lasti)] in reads_of(code, name, noticed=True)


@functools.lru_cache(1024)
def reads_of(code: types.CodeType, name: str, noticed: bool = False) -> frozenset[int]:
    """The instructions, by number, from which a variable may be read before it is assigned; unless that is noticed."""
    instructions = instructions_of(code)
    loads = (k for k, i in enumerate(instructions) if is_load(i, name))
    live = {k for k in loads if noticed or not is_noticed(instructions, k)}
    if any(is_read_unnoticed(inner, name) for inner in code.co_consts if isinstance(inner, types.CodeType)):
        live |= {k for k, i in enumerate(instructions) if i.opname == "LOAD_CLOSURE" and i.argval == name}
    stores = {k for k, i in enumerate(instructions) if i.opname in STORES and i.argval == name}
    before: dict[int, list[int]] = {}
    for k, following in enumerate(successors(code)):
        for other in following:
            before.setdefault(other, []).append(k)
    waiting = list(live)
    while waiting:
        for k in before.get(waiting.pop(), ()):
            if k not in live and k not in stores:
                live.add(k)
                waiting.append(k)
    return frozenset(live)


@functools.lru_cache(4096)
def may_come(code: types.CodeType, place: int) -> frozenset[int]:
    """The instructions, by number, that may run after the one at this offset, or are that."""
    following = successors_of(code)
    found = {numbers_of(code)[begin_of(code, max(place, 0))]}
    waiting = [*found]
    while waiting:
        others = following[waiting.pop()] - found
        found |= others
        waiting += others
    return frozenset(found)


def is_load(instruction: dis.Instruction, name: str) -> bool:
    loads = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_NAME")
    return instruction.argval == name and instruction.opname.startswith(loads)


def is_noticed(instructions: tuple[dis.Instruction, ...], k: int) -> bool:
    """Whether what is loaded goes straight to an instruction that notices a stand-in."""
    depth = 1  # of the stack, from what is loaded on
    for instruction in instructions[k + 1 :]:
        taken = NOTICED.get(instruction.opname)
        if taken is not None and taken >= depth:
            return True
        if instruction.opname in CALLS and (instruction.arg or 0) + 2 < depth:  # of what has been loaded since
            depth -= (instruction.arg or 0) + 1 if instruction.opname == "CALL" else 0
            continue
        if taken is None and not instruction.opname.startswith(("LOAD_", "PUSH_NULL")):
            return False
        depth += dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    return False


@functools.lru_cache(256)
def successors_of(code: types.CodeType) -> tuple[frozenset[int], ...]:
    return tuple(map(frozenset, successors(code)))


def successors(code: types.CodeType) -> list[set[int]]:
    """For each instruction the numbers of those that may follow, where an exception is raised too."""
    instructions = instructions_of(code)
    numbers = numbers_of(code)
    found: list[set[int]] = []
    for k, instruction in enumerate(instructions):
        is_last = instruction.opname in LEAVES | JUMPS
        following = set() if is_last or k + 1 == len(instructions) else {k + 1}
        if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            jumps = known_jump(instructions, k)
            following = following if jumps is False else {*following, numbers[instruction.argval]}
            following -= {k + 1} if jumps else set()
        found.append(following)
    for start, end, target in handlers(code):
        for k, instruction in enumerate(instructions):
            if start <= instruction.offset < end:
                found[k].add(numbers[target])
    return found


def known_jump(instructions: tuple[dis.Instruction, ...], k: int) -> bool | None:
    """Whether a jump is taken that tests a variable to which a truth has just been assigned: `while not accepted`."""
    name = instructions[k].opname
    if not name.startswith("POP_JUMP") or not name.endswith(("IF_TRUE", "IF_FALSE")):
        return None
    wanted, tested = name.endswith("IF_TRUE"), k - 1
    while instructions[tested].opname in ("UNARY_NOT", "TO_BOOL"):
        wanted ^= instructions[tested].opname == "UNARY_NOT"
        tested -= 1
    if instructions[tested].opname != "LOAD_FAST":
        return None
    for j in range(tested, 0, -1):
        instruction, before = instructions[j], instructions[j - 1]
        if instruction.opname == "STORE_FAST" and instruction.argval == instructions[tested].argval:
            is_known = before.opname == "LOAD_CONST" and type(before.argval) is bool
            return before.argval is wanted if is_known else None
        if instruction.is_jump_target or instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
            return None
    return None


def is_in_users_try(frame: types.FrameType | None, error: type[BaseException] | None = None) -> bool:
    """Whether traced code of the user's may catch what is raised where a frame is now, or one of those that wait.

    Or a library that runs such code, as one that keeps an error for it: a future, a task, the bottom of a thread.

    `error`: such errors; None for any, which each `with` may catch too.
    """
    kinds = frozenset(kind.__name__ for kind in (error or Exception).__mro__)
    kept = is_ours = has_begun = False  # by a library; whether it is planned_ad that runs that
    while frame is not None:
        names = frame.f_globals
        name = str(dict.get(names, "__name__"))
        if name.startswith(OWN):
            kept, is_ours = False, has_begun or name == BEGINS_TRACES
        elif type(names) is ShadowGlobals:
            targets = targets_at(frame)
            others = classes_of_others(frame, error) if targets and error is not None else frozenset()
            if names.is_users and (
                kept or any(error is None or catches(frame.f_code, t, kinds, others) for t in targets)
            ):
                return True
            is_ours, has_begun = False, True
        else:
            has_begun = True
            if not (kept or is_ours):
                kept = any(catches(frame.f_code, t, kinds, by_with=False) for t in targets_at(frame))
        frame = frame.f_back
    return kept


def classes_of_others(frame: types.FrameType, error: type[BaseException]) -> frozenset[str]:
    """The names in a function that now stand for classes of errors of which this is none."""
    found, code = {}, frame.f_code
    if type(frame.f_globals) is ShadowGlobals:
        now, first = frame.f_globals, frame.f_globals.real
        found = {name: dict.get(now, name, first.get(name)) for name in code.co_names}
    variables = frame.f_locals
    found |= {name: variables.get(name) for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars)}
    classes = {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, BaseException)}
    return frozenset(name for name, kind in classes.items() if not issubclass(error, kind))


def targets_at(frame: types.FrameType) -> list[int]:
    """The handlers around the instruction that a frame is at."""
    place = frame.f_lasti
    return [target for start, end, target in handlers(frame.f_code) if start <= place < end]


def catches_anywhere(code: types.CodeType, error: type[Exception]) -> bool:
    """Whether some `except` in a function is for such errors."""
    kinds = frozenset(kind.__name__ for kind in error.__mro__)
    return any(catches(code, target, kinds) for _, _, target in handlers(code))


def is_missed(frame: types.FrameType, name: str) -> bool:
    """Whether the function, or one of those that wait for it, may handle that a variable of it has no value."""
    code, error = frame.f_code, UnboundLocalError
    kinds = frozenset(kind.__name__ for kind in error.__mro__)
    reads = [i.offset for i in instructions_of(code) if is_load(i, name)]
    targets = (t for start, end, t in handlers(code) if any(start <= place < end for place in reads))
    return any(catches(code, target, kinds) for target in targets) or is_in_users_try(frame, error)


@functools.lru_cache(1024)
def catches(
    code: types.CodeType, target: int, kinds: frozenset[str], others: frozenset[str] = NONE, by_with: bool = True
) -> bool:
    """Whether an error with one of these names that comes to the handler there is handled: by it, or further out.

    `others`: the names of classes that it is not of.

    By an `except`, whose clauses are looked at one after the other, or (`by_with`) by what a `with` enters.
    """
    instructions = instructions_of(code)
    numbers = numbers_of(code)
    here, loaded, visited = numbers[target] + 1, set[str](), {target}
    clause = here  # where the last one begins
    while here < len(instructions):
        instruction = instructions[here]
        if instruction.opname == "CHECK_EXC_MATCH":
            if any(name not in others and (name in kinds or not hasattr(builtins, name)) for name in loaded):
                return True
            loaded.clear()
            jump = next(i for i in instructions[here + 1 :] if i.opname != "EXTENDED_ARG")
            here = clause = numbers[jump.argval]  # where it goes on if that is not the class
            continue
        if instruction.opname == "POP_TOP" and here == clause:  # a bare `except`
            return True
        if by_with and instruction.opname == "WITH_EXCEPT_START" and HARMLESS.isdisjoint(names_at(code, instruction)):
            return True
        if instruction.opname == "RERAISE":
            outer = next((t for start, end, t in handlers(code) if start <= instruction.offset < end), None)
            if outer is None or outer in visited:
                return False
            visited.add(outer)
            here = clause = numbers[outer] + 1
            continue
        if instruction.opname.startswith("LOAD_"):
            loaded.add(str(instruction.argval))
        elif not instruction.opname.startswith("BUILD_"):
            loaded.clear()
        here += 1
    return False


def names_at(code: types.CodeType, instruction: dis.Instruction) -> set[str]:
    """The names that are loaded at the line of an instruction."""
    line = instruction.positions and instruction.positions.lineno
    found = (i for i in instructions_of(code) if i.positions and i.positions.lineno == line)
    return {str(i.argval) for i in found if i.opname.startswith("LOAD_")}


@functools.lru_cache(256)
def handlers(code: types.CodeType) -> list[tuple[int, int, int]]:
    """Where exceptions lead: from the offsets between two on, to a third."""
    return [(entry.start, entry.end, entry.target) for entry in dis._parse_exception_table(code)]  # type: ignore[attr-defined]
