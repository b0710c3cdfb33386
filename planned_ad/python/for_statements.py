"""Where `for` statements, and generator expressions, fetch their items, and what they assign them to."""

from __future__ import annotations

import dis
import functools
import types

from .instructions import instructions_of


@functools.lru_cache(maxsize=256)
def for_statements(code: types.CodeType) -> dict[tuple[types.CodeType, int], tuple[str, ...]]:
    """The places in `code` where a `for` statement fetches the next item, with the variables that it assigns."""
    found = {}
    instructions = instructions_of(code)
    for k, instruction in enumerate(instructions):
        if instruction.opname != "FOR_ITER":
            continue
        rest, names = instructions[k + 1 :], []
        wanted = 1
        for following in rest:
            if following.opname == "UNPACK_SEQUENCE":
                wanted += following.arg - 1  # type: ignore[operator]
            elif following.opname == "UNPACK_EX":  # so many before the one with a star, and behind it
                wanted += (following.arg & 0xFF) + (following.arg >> 8)  # type: ignore[operator]
            elif following.opname == "EXTENDED_ARG":
                continue
            elif following.opname in ("STORE_FAST", "STORE_DEREF", "STORE_NAME"):
                names.append(str(following.argval))
                wanted -= 1
            else:
                break
            if wanted <= 0:
                break
        appends = {"LIST_APPEND", "SET_ADD", "MAP_ADD"}
        target = instruction.argval
        inside = [i.opname for i in rest if isinstance(target, int) and i.offset < target]
        if not names or (appends & set(inside) and _is_inlined_comprehension(instructions, k)):
            continue
        found[code, instruction.offset] = tuple(names)
    return found


def _is_inlined_comprehension(instructions: tuple[dis.Instruction, ...], k: int) -> bool:
    """Whether a FOR_ITER belongs to a comprehension that runs in the frame of its function (Python 3.12 on)."""
    return any(i.opname == "LOAD_FAST_AND_CLEAR" for i in instructions[max(k - 8, 0) : k])
