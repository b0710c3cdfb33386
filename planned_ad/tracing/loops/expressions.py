"""Generator expressions in place of `map`, `filter` and of what is made a list: `list(map(f, x))`, `sum(zip(a, b))`.

Who asks such an iterator for all its items asks for `(item for item in items)` at the same place of the program, whose
loop may be recorded as a loop.
"""

from __future__ import annotations

import functools
import linecache
import sys
import types
from typing import Any

from ...python.frames import user_frame
from ...python.source_text import compiled_text, note_text
from ...regions.affine import Affine, exact
from ..record.recorder import Recorder
from .consumers import is_generator_expression
from .dict_tables import ordered_view
from .generators import generator_of
from .iteration import Once

ALL = "(item for item in items)"
CHOSEN = "(item for item in items if keeps(item))"


def as_expression(recorder: Recorder, items: Any) -> Any:
    """Items that a function asks for one by one, as a generator expression where that may be recorded as a loop."""
    generator = generator_of(items)
    if generator is not None and not is_generator_expression(generator):
        return generator_over(ALL, generator)
    if getattr(type(items), "is_one_of_several", False):
        return items.elements()
    view = ordered_view(items)
    if view is not None:
        return generator_over(ALL, view)
    if type(items) is not Once or items.is_taken or items.iterator is not None or goes_one_by_one(recorder, items):
        return items
    return generator_over(ALL, items)


def goes_one_by_one(recorder: Recorder, items: Once) -> bool:
    length: Any = items.length
    is_fixed = isinstance(length, int) and not isinstance(exact(length), Affine)
    return items.is_plain or (is_fixed and length <= recorder.unroll)


def filter_expression(recorder: Recorder, keeps: Any, items: Any) -> Any:
    """What `filter` gives of such items; None where it is given others."""
    if type(items) is not Once or goes_one_by_one(recorder, items):
        return None
    return generator_over(CHOSEN, items, keeps=bool if keeps is None else keeps)


def generator_over(source: str, items: Any, **variables: Any) -> Any:
    """A generator expression over items, where the program is now."""
    frame = user_frame(sys._getframe(1))
    assert frame is not None
    code = generator_code(source, frame.f_code, frame.f_lasti, frame.f_lineno)
    cells = tuple(types.CellType(variables[name]) for name in code.co_freevars)
    made = types.FunctionType(code, frame.f_globals, closure=cells)(iter(items))
    assert is_generator_expression(made)
    return made


@functools.lru_cache(maxsize=256)
def generator_code(source: str, at: types.CodeType, instruction: int, line: int) -> types.CodeType:
    """The code of a generator expression on a line of other code; another one for each instruction there.

    What is tested has its source, where the sides of the test are looked up.
    """
    text = f"lambda items, keeps: {source}\n"
    outer = compile(text, at.co_filename, "eval").co_consts[0]
    code: types.CodeType = next(part for part in outer.co_consts if isinstance(part, types.CodeType))
    code = code.replace(co_qualname=at.co_qualname, co_consts=(*code.co_consts, instruction))
    if not code.co_freevars:
        code, text = code.replace(co_firstlineno=line), compiled_text(at)
    else:
        name = f"<filter at {at.co_filename}:{line}>"
        linecache.cache[name] = len(text), None, [text], name
        code = code.replace(co_filename=name)
    note_text([code], text)
    return code
