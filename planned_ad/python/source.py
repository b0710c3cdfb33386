"""Which line of the user's program an operation comes from."""

import bisect
import functools
import linecache
import os
import sys
import types
from dataclasses import dataclass

from .shadows import ShadowGlobals, is_library


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the user's program.

    Attributes
    ----------
    file : str
        Path of the source file, as the code object has it.
    number : int
        Line number from 1; 0 where unknown.
    function : str
        Name of the function that the line is in.
    """

    file: str
    number: int
    function: str

    @property
    def text(self) -> str:
        """The source text, stripped; empty where the source is not at hand."""
        return linecache.getline(self.file, self.number).strip()

    def __str__(self) -> str:
        if self.number == 0:
            return "an unknown line"
        return f"{os.path.basename(self.file)}:{self.number} in {self.function}"


UNKNOWN = Line(file="", number=0, function="")
LONG = 2048  # bytes of a line table, all of which are gone through each time a frame is asked for its line
LineTable = tuple[types.CodeType, tuple[int, ...], tuple[int | None, ...]]  # where lines begin, and which they are


def current_line() -> Line:
    """The user's line that is running: of the nearest traced function, else of the nearest code outside the libraries.

    Called once per recorded operation: about 0.1 us for each frame between here and the user's.
    """
    caller: types.FrameType | None = sys._getframe(1)
    frame = caller
    while frame is not None:
        names = frame.f_globals
        if type(names) is ShadowGlobals and (names.is_users or frame.f_code.co_filename.startswith("<doctest")):
            code = frame.f_code
            # By instruction, since `f_lineno` decodes the line table. The entry keeps the code alive, and so its id.
            key = (id(code), frame.f_lasti)
            entry = names.lines.get(key)
            if entry is None:
                names.lines[key] = entry = (code, _line_of(frame, names.line_tables))
            return entry[1]
        frame = frame.f_back
    return _nearest_outside_libraries(caller)


def _nearest_outside_libraries(frame: types.FrameType | None) -> Line:
    while frame is not None:
        names = frame.f_globals
        in_doctest = frame.f_code.co_filename.startswith("<doctest")  # whose globals are the documented module's
        if in_doctest or not is_library(names.get("__name__") or "", names.get("__file__")):
            return _line_of(frame)
        frame = frame.f_back
    return UNKNOWN


def _line_of(frame: types.FrameType, tables: dict[int, LineTable] | None = None) -> Line:
    """`tables` are those of long functions, by the identity of their code, each made when it is first asked for."""
    code = frame.f_code
    if tables is None or len(code.co_linetable) <= LONG:
        number = frame.f_lineno
    else:
        if id(code) not in tables:
            starts, _, numbers = zip(*code.co_lines())
            tables[id(code)] = code, starts, numbers
        _, starts, numbers = tables[id(code)]
        number = numbers[bisect.bisect_right(starts, frame.f_lasti) - 1]
    return Line(file=code.co_filename, number=number or 0, function=_function_name(code.co_qualname))


@functools.lru_cache(maxsize=1024)
def _function_name(qualified_name: str) -> str:
    """The name a person knows a function by: of a comprehension or generator expression, the function around it."""
    parts = [part for part in qualified_name.split(".") if part not in ("<locals>", "<listcomp>", "<genexpr>")]
    parts = [part for part in parts if part not in ("<dictcomp>", "<setcomp>")]
    return parts[-1] if parts else qualified_name
