"""Whether the text that is made of a number is only shown: printed, logged, raised, thrown away.

What else is done with a text (it is compared, stored, handed on, read as a number again) may decide what the function
computes. Told from the syntax around the instruction that runs, and around those of the functions that return it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import types
from collections.abc import Iterable, Iterator
from typing import Any

from .frames import user_frames
from .shadows import ShadowGlobals, is_user_function
from .source_text import syntax_of
from .statements import path_at

SHOWING = {
    "print", "pprint", "debug", "info", "warning", "warn", "error", "exception", "critical", "log", "write",
    "writelines", "set_description", "set_postfix", "set_postfix_str",
}  # fmt: skip
OF_TEXT = {  # what makes a text of a text, and of a number
    "str", "repr", "format", "ascii", "join", "ljust", "rjust", "center", "strip", "upper", "lower", "replace", "dict",
}  # fmt: skip
KEEPING = frozenset(("StringIO", "getvalue", "redirect_stdout"))  # what is printed may be read there
READING = frozenset(("exc_info", "exception", "format_exc", "format_exception"))  # which give the error that is handled
HOLDING = (
    ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.keyword, ast.IfExp,
    ast.GeneratorExp, ast.ListComp,
)  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SHOWN, RETURNED, RAISED, READ = "shown", "returned", "raised", "read"


def is_only_shown(frame: types.FrameType | None) -> bool:
    """Whether what the traced code that is running makes a text of is only shown; so for code of libraries."""
    use = SHOWN
    if any(map(keeps_text, user_frames(frame))):
        return False
    for user in user_frames(frame):
        if not user.f_globals.is_users:  # type: ignore[attr-defined]
            return True  # a message of a library's
        if has_own_that_show(user):
            return False
        use = use_at(user.f_code, user.f_lasti)
        if use != RETURNED:
            break
    if use == RAISED:
        return not any(is_kept(user.f_code, user.f_lasti) for user in user_frames(frame))
    return use == SHOWN


def keeps_text(frame: types.FrameType) -> bool:
    """Whether a function that runs has, or may make, something in which what is written can be read again."""
    names_it = not KEEPING.isdisjoint(frame.f_code.co_names)
    return names_it or any(isinstance(value, io.StringIO | io.BytesIO) for value in frame.f_locals.values())


def has_own_that_show(frame: types.FrameType) -> bool:
    """Whether a function that is called like those that show texts may be the program's own, which may keep them."""
    code, held = frame.f_code, frame.f_locals
    names = SHOWING.intersection((*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars))
    real = frame.f_globals.real  # type: ignore[attr-defined]
    if any(is_written_here(held.get(name, real.get(name))) for name in names):
        return True
    if not names:
        return False
    owners = [*held.values(), *(real[name] for name in code.co_names if name in real)]
    owners += [value for owner in owners for value in attributes(owner)]
    return any(is_written_here(inspect.getattr_static(type(owner), name, None)) for owner in owners for name in names)


def attributes(owner: Any) -> Iterable[Any]:
    """What an object of a class that somebody has written holds, read past any code of that class."""
    if isinstance(owner, type | types.ModuleType | types.FunctionType):
        return ()
    try:
        return list(object.__getattribute__(owner, "__dict__").values())
    except AttributeError:
        return ()


def is_written_here(function: Any) -> bool:
    """Whether this is a function of the program's, or its copy that is traced."""
    names = getattr(function, "__globals__", None)
    return names.is_users if type(names) is ShadowGlobals else is_user_function(function)


@functools.lru_cache(1024)
def is_kept(code: types.CodeType, instruction: int) -> bool:
    """Whether an `except` around an instruction does more with the error than show it."""
    if not READING.isdisjoint(code.co_names):
        return True
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    tree = syntax_of(code)
    path = path_at(tree, line, column or 0) if tree is not None and line is not None else []
    return any(
        isinstance(statement, ast.Try | ast.TryStar)
        and any(inner in path for inner in statement.body)
        and any(handler.name and use_in(handler, {handler.name}) == READ for handler in statement.handlers)
        for statement in path
    )


@functools.lru_cache(1024)
def use_at(code: types.CodeType, instruction: int) -> str:
    """What becomes of the text that an instruction makes."""
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    tree = syntax_of(code)
    if tree is None or line is None:
        return READ
    path = path_at(tree, line, column or 0)
    around = parents(path[-1] if path else tree)
    made = [n for n in around if is_around(n, code, instruction)]
    if not made:
        return READ
    return use_of(made[-1], around, [statement for statement in path if isinstance(statement, FUNCTIONS)])


def is_around(node: ast.AST, code: types.CodeType, instruction: int) -> bool:
    """Whether an expression is around an instruction."""
    line, end_line, column, end_column = list(code.co_positions())[instruction // 2]
    if not isinstance(node, ast.expr) or line is None:
        return False
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return start <= (line, column or 0) and (end_line or line, end_column or 0) <= end


def parents(statement: ast.AST) -> dict[ast.AST, ast.AST]:
    """Of each node of a statement the one around it, outer ones first."""
    found: dict[ast.AST, ast.AST] = {}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        for child in ast.iter_child_nodes(node):
            found[child] = node
            waiting.append(child)
    return found


def use_of(node: ast.AST, around: dict[ast.AST, ast.AST], functions: list[Any]) -> str:
    """What becomes of an expression that is a text, or that makes one for an error, as `items.index(number)` does."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "index":
        return RAISED
    while True:
        if isinstance(node, ast.Call) and called_name(node.func) in SHOWING:
            return SHOWN
        outer = around.get(node)
        if isinstance(outer, ast.Raise) or (isinstance(outer, ast.Assert) and node is outer.msg):
            return RAISED
        if isinstance(outer, ast.Expr):
            return SHOWN
        if isinstance(outer, ast.Return | ast.Lambda):
            return RETURNED
        if isinstance(outer, ast.Assign | ast.AugAssign | ast.AnnAssign):
            return use_of_name(outer, functions)
        if isinstance(outer, ast.IfExp) and node is outer.test:
            return READ
        raised = isinstance(outer, ast.Call) and isinstance(around.get(outer), ast.Raise)
        of_text = isinstance(outer, ast.Call | ast.Attribute) and called_name(outer) in SHOWING | OF_TEXT
        if not (raised or of_text or isinstance(outer, HOLDING)):
            return READ
        node = outer  # type: ignore[assignment]


def use_of_name(assignment: Any, functions: list[Any]) -> str:
    """What becomes of a text that a variable of a function is bound to, wherever that reads the variable."""
    targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    if not functions or not all(isinstance(target, ast.Name) for target in targets):
        return READ
    return use_in(functions[-1], {called_name(target) for target in targets})


def use_in(node: ast.AST, names: set[str]) -> str:
    """What becomes of a text, wherever these variables that are bound to it are read in a part of the program."""
    around, found = parents(node), SHOWN
    for load in loads_of(names, around):
        inner = around[load]
        while not isinstance(inner, ast.stmt | ast.Lambda):
            inner = around[inner]
        is_same = isinstance(inner, ast.Assign | ast.AugAssign) and load_is_added(inner, names)
        use = SHOWN if is_same else use_of(load, around, [])
        if use == RAISED:
            found = RAISED
        elif use != SHOWN:
            return READ
    return found


def loads_of(names: set[str], nodes: dict[ast.AST, ast.AST]) -> Iterator[ast.Name]:
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            yield node


def load_is_added(assignment: Any, names: set[str]) -> bool:
    """Whether a variable is bound to more of the same text."""
    targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    return all(isinstance(target, ast.Name) and target.id in names for target in targets) and isinstance(
        assignment.value, ast.JoinedStr | ast.BinOp
    )


def called_name(function: ast.AST) -> str:
    if isinstance(function, ast.Call):
        return called_name(function.func)
    return getattr(function, "attr", getattr(function, "id", ""))
