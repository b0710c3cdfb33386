"""Whether a loop uses what it counts with to say places only: `x[i, j + 1]`, and not `x**i` or `i * step`.

>>> import linecache
>>> source = '''
... def f(x, c, y):
...     for i in range(3):
...         k = 2 * i
...         y += x[k : k + 2]
...     for i in range(3):
...         y += c[i] * x**i
... '''
>>> linecache.cache["<two loops>"] = len(source), None, source.splitlines(True), "<two loops>"
>>> names = {}
>>> exec(compile(source, "<two loops>", "exec"), names)
>>> says_places_only(names["f"].__code__, 3), says_places_only(names["f"].__code__, 6)
(True, False)
"""

from __future__ import annotations

import ast
import functools
import types

from .source_text import compiled_text, syntax

INTEGERS = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.expr_context)


@functools.lru_cache(512)
def says_places_only(code: types.CodeType, line: int) -> bool:
    """Of the `for` statement of a function at a line; False where its source is not at hand."""
    loop = loops_of(compiled_text(code)).get(line)
    if loop is None:
        return False
    names = counters(loop)
    while True:
        made = {name for node in loop.body for name in _made_of(node, names)}
        if made <= names:
            break
        names |= made
    uses = OtherUses(names)
    for statement in loop.body:
        uses.visit(statement)
    return not uses.found


@functools.lru_cache(64)
def loops_of(text: str) -> dict[int, ast.For]:
    """The `for` statements of a text by their lines, the first one of each."""
    tree = syntax(text)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.For)] if tree else []
    return {node.lineno: node for node in reversed(found)}


def counters(loop: ast.For) -> set[str]:
    """The names of a loop that may be integers which it counts with."""
    target, items = loop.target, loop.iter
    if isinstance(target, ast.Name):
        return {target.id}
    is_enumerated = isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id == "enumerate"
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    return {part.id for part in (parts[:1] if is_enumerated else parts) if isinstance(part, ast.Name)}


def _made_of(statement: ast.AST, names: set[str]) -> set[str]:
    """The names to which arithmetic with these names is assigned."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign) and _is_of(node.value, names):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _is_of(value: ast.expr, names: set[str]) -> bool:
    parts = list(ast.walk(value))
    read = {part.id for part in parts if isinstance(part, ast.Name)}
    return bool(read & names) and all(isinstance(part, INTEGERS) for part in parts)


class OtherUses(ast.NodeVisitor):
    """Looks for other uses of some names than in subscripts, in bounds of `range` and in what is assigned to them."""

    def __init__(self, names: set[str]) -> None:
        self.names, self.found = names, False

    def visit_Name(self, node: ast.Name) -> None:
        self.found |= isinstance(node.ctx, ast.Load) and node.id in self.names

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        if not (isinstance(node.func, ast.Name) and node.func.id == "range"):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not _is_of(node.value, self.names):
            self.generic_visit(node)
