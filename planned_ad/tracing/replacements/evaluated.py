"""`eval` and `exec` of plain expressions and statements: what they read of globals is what traced code sees."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from ...python.instructions import instructions_of
from ...python.shadows import ShadowGlobals
from ...python.used_names import globals_in
from ..record.recorder import Recorder


def evaluated_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, the built-ins that run code in a text. That reads globals past what makes their shadows."""

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, ("__name__", "__doc__"), ())
        def called(source: Any, /, globals: Any = None, locals: Any = None) -> Any:
            frame = sys._getframe(1)
            names = frame.f_globals if globals is None else globals
            if locals is None:
                locals = frame.f_locals if globals is None else names
            code = source if isinstance(source, types.CodeType) else compile(source, "<string>", function.__name__)
            if type(names) is ShadowGlobals and is_plain_code(code):
                for name in globals_in(code):
                    if name in names.real and not dict.__contains__(names, name):
                        names[name] = names.read_first(name)
                recorder.namespace.roots.append((types.FunctionType(code, names.real), function.__name__))
            return function(code, names, locals)

        return called

    return {id(f): of(f) for f in (eval, exec)}


def is_plain_code(code: types.CodeType) -> bool:
    """Whether it has no loops and no functions, which are traced by their source."""
    has_code = any(isinstance(constant, types.CodeType) for constant in code.co_consts)
    return not has_code and all(i.opname not in ("FOR_ITER", "JUMP_BACKWARD") for i in instructions_of(code))
