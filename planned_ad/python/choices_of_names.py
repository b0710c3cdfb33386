"""Which conditional expressions have nothing to compute on either side: `high if value > high else value`.

Both sides are names or numbers, and the names are bound wherever the expression is reached.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator

from .source_text import syntax_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@functools.lru_cache(maxsize=4096)
def has_choices(code: types.CodeType) -> bool:
    """Whether there may be one in a function; it is looked for in all lines of it."""
    tree = syntax_of(code)
    lines = [line for _, _, line in code.co_lines() if line]
    if tree is None or not lines:
        return False
    found = (node for node in ast.walk(tree) if isinstance(node, ast.IfExp) and is_choice(node))
    return any(min(lines) <= node.lineno <= max(lines) for node in found)


def is_choice(node: ast.IfExp) -> bool:
    return all(_is_there(side) for side in (node.body, node.orelse))


def _is_there(side: ast.expr) -> bool:
    if isinstance(side, ast.UnaryOp) and isinstance(side.op, ast.USub | ast.UAdd):
        side = side.operand
    is_number = isinstance(side, ast.Constant) and type(side.value) in (int, float)
    return is_number or isinstance(side, ast.Name)


class Bound:
    """The names that are bound where a visitor is in a function, from the outermost one inwards."""

    def __init__(self) -> None:
        self.scopes: list[tuple[set[str], dict[str, int], set[str]]] = []  # always; from a line on; at some point

    def enter(self, node: ast.AST) -> None:
        """A function or a comprehension begins."""
        if isinstance(node, COMPREHENSIONS):
            self.scopes.append(({name for each in node.generators for name in names_in(each.target)}, {}, set()))
            return
        assert isinstance(node, FUNCTIONS)
        args = node.args
        given = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        always, later, stored = {argument.arg for argument in given}, dict[str, int](), set[str]()
        for statement in node.body if isinstance(node.body, list) else ():
            stored.update(names_in(statement))
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                for name in names_in(statement):
                    later.setdefault(name, statement.lineno)
        self.scopes.append((always, later, stored))

    def leave(self) -> None:
        self.scopes.pop()

    def has(self, node: ast.IfExp) -> bool:
        """Whether all names on both sides are bound there."""
        names = [part.id for side in (node.body, node.orelse) for part in ast.walk(side) if isinstance(part, ast.Name)]
        return all(self.is_bound(name, node.lineno) for name in names)

    def is_bound(self, name: str, line: int) -> bool:
        for always, later, stored in reversed(self.scopes):
            if name in always:
                return True
            if name in stored:
                return name in later and later[name] < line
        return True


def names_in(node: ast.AST) -> Iterator[str]:
    """The names that are assigned, deleted or made in a statement, those of functions in it left out."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.ExceptHandler | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and part.name:
            yield part.name
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(part))
