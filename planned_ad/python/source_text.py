"""The text that code was compiled from, and its syntax, also where its file has been written anew since.

A file that is edited and loaded again (`importlib.reload`, `%autoreload`) holds another text than before, and one that
is edited while a program runs another text than the program's. So a text is taken for that of some code only where the
statement in it, compiled, gives the very same code; the last texts of each file are kept. Code of which there is none
is code whose source is not at hand.

>>> import linecache
>>> source = "def f(x):\\n    return 2 * x\\n"
>>> linecache.cache["<a cell>"] = len(source), None, source.splitlines(True), "<a cell>"
>>> names = {}
>>> exec(compile(source, "<a cell>", "exec"), names)
>>> compiled_text(names["f"].__code__) == source
True
>>> linecache.cache["<a cell>"] = 9, None, ["def g(x):\\n", "    return 3 * x\\n"], "<a cell>"
>>> compiled_text(names["f"].__code__) == source, compiled_text(compile("lambda: 1", "<a cell>", "eval").co_consts[0])
(True, '')
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import linecache
import types
import weakref
from collections.abc import Iterable, Iterator

TEXTS = 4  # of each file that are kept
FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

_texts: dict[str, list[str]] = {}  # of each file those that it has had, the last one first
_written: weakref.WeakKeyDictionary[types.CodeType, str] = weakref.WeakKeyDictionary()  # of code that was written anew


def current_text(file: str) -> str:
    """What a file holds now; empty where it cannot be read."""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    known = _texts.setdefault(file, [])
    if text and known[:1] != [text]:
        known[:] = [text, *(other for other in known if other != text)][:TEXTS]
    return text


def compiled_text(code: types.CodeType) -> str:
    """The text of the file that some code was compiled from; empty where that is not at hand."""
    return _written[code] if code in _written else _text_in(code, code.co_filename)


@functools.lru_cache(maxsize=4096)
def _text_in(code: types.CodeType, file: str) -> str:  # code may be equal that is from another file
    current_text(file)
    return next((text for text in _texts[file] if _is_from(code, text)), "")


def note_text(codes: Iterable[types.CodeType], text: str) -> None:
    """Of code that was compiled from the syntax of a text, but not as it stands."""
    for code in codes:
        _written[code] = text


def syntax_of(code: types.CodeType) -> ast.Module | None:
    """The syntax of the file that some code was compiled from; None where its source is not at hand."""
    return syntax(text) if (text := compiled_text(code)) else None


@functools.lru_cache(maxsize=64)
def syntax(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _is_from(code: types.CodeType, text: str) -> bool:
    tree = syntax(text)
    statement = None if tree is None else statement_at(tree, code.co_firstlineno)
    if tree is None or statement is None:
        return False
    try:
        found = _compiled(text, statement, code.co_filename, code.co_flags & FUTURE)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return code in found or any(_differs_in_asserts(code, other) for other in found)


def _differs_in_asserts(code: types.CodeType, other: types.CodeType) -> bool:
    """Whether code has names that no text can hold, as pytest gives it for its `assert`, and is this one otherwise."""
    made = [name for name in code.co_varnames if name.startswith("@")]
    return bool(made) and identity(code) == identity(other) and _lines(code) == _lines(other)


def _lines(code: types.CodeType) -> set[int | None]:
    return {line for _, _, line in code.co_lines()}


def identity(code: types.CodeType) -> tuple[str, int, tuple[str, ...]]:
    """What a function of a text is known by in another one."""
    return code.co_qualname, code.co_firstlineno, code.co_varnames[: code.co_argcount]


@functools.lru_cache(maxsize=512)
def _compiled(text: str, statement: ast.stmt, file: str, flags: int) -> frozenset[types.CodeType]:
    tree = syntax(text)
    assert tree is not None
    return frozenset(functions_of(module_with(tree, statement), file, flags))


def module_with(tree: ast.Module, statement: ast.stmt) -> ast.Module:
    """A module of one statement of another one, and what that imports: calls of those names are compiled otherwise."""
    return ast.Module([*_imports(tree), copy.deepcopy(statement)], [])


def functions_of(module: ast.Module, file: str, flags: int) -> list[types.CodeType]:
    """The functions in a module, those within them too."""
    return list(_functions(compile(module, file, "exec", flags, dont_inherit=True)))


def nested_code(code: types.CodeType) -> Iterator[types.CodeType]:
    """The functions that are written in a function."""
    return (constant for constant in code.co_consts if isinstance(constant, types.CodeType))


def _functions(code: types.CodeType) -> Iterator[types.CodeType]:
    for part in nested_code(code):
        yield part
        yield from _functions(part)


def statement_at(module: ast.Module, line: int) -> ast.stmt | None:
    """The statement of a module that holds a line."""
    for statement in module.body:
        decorators = getattr(statement, "decorator_list", [])
        if min(s.lineno for s in (statement, *decorators)) <= line <= (statement.end_lineno or 0):
            return statement
    return None


def _imports(module: ast.Module) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    waiting: list[ast.AST] = list(module.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            waiting += ast.iter_child_nodes(node)
    return found
