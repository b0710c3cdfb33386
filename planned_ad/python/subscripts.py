"""To what a function assigns items: `c[i] = v` and `self.rows[i][j] += v`, by the names that these begin with."""

from __future__ import annotations

import functools
import re
import types
from typing import Any

from .instructions import instructions_of
from .liveness import may_come
from .source_text import compiled_text

ROOT = re.compile(r"[^\W\d]\w*")
WRITING = ("update", "setdefault")  # methods of dicts
DEEPEST = 3  # containers and objects on the way from a name to what is assigned to


@functools.lru_cache(1024)
def roots_written(code: types.CodeType) -> dict[int, str | None]:
    """By the numbers of instructions that assign items of something, or update it, the first names in what that is.

    None where the source is not at hand.
    """
    found, lines = {}, compiled_text(code).split("\n")
    for k, instruction in enumerate(instructions_of(code)):
        is_call = instruction.opname in ("LOAD_METHOD", "LOAD_ATTR") and instruction.argval in WRITING
        if instruction.opname != "STORE_SUBSCR" and not is_call:
            continue
        place = instruction.positions
        line = "" if place is None or not place.lineno else "".join(lines[place.lineno - 1 : place.lineno])
        match = ROOT.match(line.encode()[place.col_offset or 0 :].decode()) if place is not None and line else None
        found[k] = None if match is None else match.group()
    return found


def is_written_in(frame: types.FrameType, target: Any) -> bool:
    """Whether the code of a frame assigns items of something that leads to `target`, or may, from where it is now."""
    written = roots_written(frame.f_code)
    if not written:
        return False
    roots = {written[k] for k in may_come(frame.f_code, frame.f_lasti) & written.keys()}
    return any(name is None or leads_to(frame.f_locals.get(name, frame.f_globals.get(name)), target) for name in roots)


def leads_to(value: Any, target: Any, depth: int = DEEPEST) -> bool:
    """Whether `target` is a value, or in it."""
    if value is target:
        return True
    if not depth or isinstance(value, type | types.ModuleType):
        return False
    inner: Any = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    parts = [*inner, *getattr(value, "__dict__", {}).values()]
    return len(parts) < 1000 and any(leads_to(part, target, depth - 1) for part in parts)
