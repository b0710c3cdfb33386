"""How a person knows a library's function: `scipy.special.gamma`, whichever private module it is defined in."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import sys
import types
from typing import Any

import numpy as np

from .shadows import ShadowGlobals, is_library

UFUNC_MODULES = ("numpy", "scipy.special")  # the ufuncs of others say nothing of where they are from
FORTRAN_MODULES = ("scipy.linalg.lapack", "scipy.linalg.blas")
OURS = "planned_ad"


def public_name(function: Any) -> str:
    """The full name of a function or class, without the private modules that it lies in."""
    if isinstance(function, np.ufunc):
        name = function.__name__
        homes = [m for m in UFUNC_MODULES if getattr(sys.modules.get(m), name, None) is function]
        return f"{homes[0]}.{name}" if homes else name
    if type(function).__name__ == "fortran":  # which calls itself "function dgemm"
        name = function.__name__.rpartition(" ")[2]
        homes = [m for m in FORTRAN_MODULES if getattr(sys.modules.get(m), name, None) is function]
        return f"{homes[0]}.{name}" if homes else name
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or str(function)
    if isinstance(function, str):
        return function
    return _shortest(getattr(function, "__module__", None) or "", name)


def _shortest(module: str, name: str) -> str:
    """`module.name` by the first public package from which it can be reached."""
    public = list(itertools.takewhile(lambda part: not part.startswith("_"), module.split(".")))
    top = name.partition(".")[0]
    wanted = getattr(sys.modules.get(module), top, None)
    for count in range(1, len(public) + 1):
        package = ".".join(public[:count])
        if wanted is not None and getattr(sys.modules.get(package), top, None) is wanted:
            return f"{package}.{name}"
    return ".".join([*public, name])


def library_call(frame: types.FrameType | None) -> tuple[str, Any]:
    """The library function that the user's line has called, among the frames from here outwards.

    Returns its name and, where it is at hand, the function; an empty name where the line has called none.
    """
    inner: list[types.FrameType] = []
    while frame is not None and not _is_users(frame):
        if _is_librarys(frame):
            inner.append(frame)
        frame = frame.f_back
    if frame is None:
        return "", None
    written = _called(frame)
    if isinstance(written, str):
        return written, None
    if written is not None and _is_not_traced(written):
        return _named(written)
    for outer in reversed(inner):  # that of a decorator has no name of its own
        if "<locals>" not in outer.f_code.co_qualname:
            return _name_of_frame(outer), None
    return "", None


def _named(function: Any) -> tuple[str, Any]:
    if isinstance(function, types.MethodType):
        return f"{public_name(type(function.__self__))}.{function.__name__}", None
    return public_name(function), function


def _is_not_traced(function: Any) -> bool:
    """Whether it is a library's (not the standard library's, nor ours), or a class of arrays."""
    module = getattr(function, "__module__", None) or "numpy"
    if module.partition(".")[0] in sys.stdlib_module_names or module.startswith(OURS):
        return False
    return is_library(module) or (isinstance(function, type) and issubclass(function, np.ndarray))


def _name_of_frame(frame: types.FrameType) -> str:
    name = frame.f_code.co_qualname
    for constructor in (".__init__", ".__new__"):
        name = name.removesuffix(constructor)
    return _shortest(frame.f_globals.get("__name__") or "", name)


def _is_users(frame: types.FrameType) -> bool:
    names = frame.f_globals
    return type(names) is ShadowGlobals and (names.is_users or frame.f_code.co_filename.startswith("<doctest"))


def _is_librarys(frame: types.FrameType) -> bool:
    """Whether a frame runs a library's code, traced or not; not the standard library's or ours."""
    module = (frame.f_globals.get("__name__") or "").partition(".")[0]
    return module != OURS and module not in sys.stdlib_module_names


def _called(frame: types.FrameType) -> Any:
    """What stands before the brackets of the call that a frame is at; None where that is no plain name.

    Its name where it does not know that itself, as compiled functions of Fortran.
    """
    expression = expression_at(frame)
    if not isinstance(expression, ast.Call):
        return None
    names: list[str] = []
    node: ast.expr = expression.func
    owner: Any = None
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    try:
        found = frame.f_locals[node.id] if node.id in frame.f_locals else frame.f_globals[node.id]
        for name in reversed(names):
            owner, found = found, getattr(found, name)
    except (LookupError, AttributeError):
        return None
    if not isinstance(found, types.FunctionType):
        is_nameless = isinstance(owner, types.ModuleType) and not isinstance(found, np.ufunc | type)
        return f"{owner.__name__}.{names[0]}" if is_nameless and not hasattr(found, "__module__") else found
    real = getattr(sys.modules.get(found.__module__ or ""), found.__name__, found)  # behind what traced code sees of it
    return inspect.unwrap(real) if isinstance(real, types.FunctionType) else real


def expression_at(frame: types.FrameType) -> ast.expr | None:
    """The expression that a frame is evaluating, as its source has it."""
    positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if positions is None or None in positions:
        return None
    return _parsed(frame.f_code.co_filename, *positions)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=64)
def _parsed(file: str, first: int, last: int, begin: int, end: int) -> ast.expr | None:
    lines = [linecache.getline(file, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    try:
        return ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None
