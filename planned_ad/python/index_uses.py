"""Whether a loop uses what it counts with to say places only: `x[i, j + 1]`, and not `x**i` or `i * step`.

>>> import linecache
>>> source = '''
... for i in range(3):
...     k = 2 * i
...     y += x[k : k + 2]
... for i in range(3):
...     y += c[i] * x**i
... '''
>>> linecache.cache["<two loops>"] = len(source), None, source.splitlines(True), "<two loops>"
>>> says_places_only("<two loops>", 2), says_places_only("<two loops>", 5)
(True, False)
"""

from __future__ import annotations

import ast
import functools

from .statements import syntax_of

INTEGERS = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.expr_context)


@functools.lru_cache(512)
def says_places_only(file: str, line: int) -> bool:
    """Of the `for` statement at a line; False where its source is not at hand."""
    tree = syntax_of(file)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and node.lineno == line] if tree else []
    if not loops:
        return False
    names = counters(loops[0])
    while True:
        made = {name for node in loops[0].body for name in _made_of(node, names)}
        if made <= names:
            break
        names |= made
    uses = OtherUses(names)
    for statement in loops[0].body:
        uses.visit(statement)
    return not uses.found


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
