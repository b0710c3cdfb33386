"""Whether a loop over lists does nothing with them but read them: each iteration may have one of its own then.

Told by the syntax: `for t in T: K[np.ix_(t, t)] += k * np.eye(3)`. The program's own list is needed where it is kept
(`last = t`), handed to a function of the program's, written to, or asked for by `is`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import types
from collections.abc import Iterator
from typing import Any

from .source_text import syntax_of

COPYING = frozenset({"len", "sum", "min", "max", "sorted", "enumerate", "zip", "tuple", "list", "set", "any", "all"})
LIBRARIES = frozenset({"np", "numpy", "math"})
IN_TURN = frozenset({"enumerate", "zip"})


@functools.lru_cache(maxsize=1024)
def only_reads_rows(code: types.CodeType, line: int) -> bool:
    """Of all loops that run over something on a line of a function."""
    tree = syntax_of(code)
    scope = None if tree is None else scope_at(tree, code.co_firstlineno, line)
    loops = [] if scope is None else list(loops_over(scope, line))
    return bool(loops) and all(is_read(scope, loop) for loop in loops)  # type: ignore[arg-type]


def scope_at(tree: ast.AST, first: int, line: int) -> ast.AST | None:
    """The innermost function around a line; None for what is written in another way."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            found = node if found is None or node.lineno >= found.lineno else found
    return found


def loops_over(scope: ast.AST, line: int) -> Iterator[Any]:
    for node in ast.walk(scope):
        if isinstance(node, ast.For | ast.comprehension) and node.iter.lineno <= line <= (node.iter.end_lineno or 0):
            yield node


def is_read(scope: ast.AST, loop: Any) -> bool:
    parents = {child: node for node in ast.walk(scope) for child in ast.iter_child_nodes(node)}
    around = loop if isinstance(loop, ast.For) else parents[loop]
    target, inside, names = set(ast.walk(loop.target)), set(ast.walk(around)), set(names_of_rows(loop))
    used = (n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id in names and n not in target)
    return None not in names and all(node in inside and is_reading(node, parents, around) for node in used)


def names_of_rows(loop: Any) -> Iterator[str | None]:
    """The variables that may be lists; None for another place. What is unpacked at once is no list any more."""
    target, given = loop.target, loop.iter
    is_in_turn = isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id in IN_TURN
    if isinstance(target, ast.Tuple | ast.List) and is_in_turn:
        counts = given.func.id == "enumerate"
        for part in target.elts[1:] if counts else target.elts:
            if not isinstance(part, ast.Tuple | ast.List):
                yield part.id if isinstance(part, ast.Name) else None
    elif not isinstance(target, ast.Tuple | ast.List):
        yield target.id if isinstance(target, ast.Name) else None


def is_reading(name: ast.Name, parents: dict[ast.AST, ast.AST], around: ast.AST) -> bool:
    """Whether what a variable is used for gives its numbers alone, or another list."""
    if not isinstance(name.ctx, ast.Load):
        return False
    node: Any = name
    while isinstance(parents[node], ast.Tuple | ast.Starred | ast.keyword):
        node = parents[node]
    parent: Any = parents[node]
    if is_in_function(parent, parents, around):
        return False
    if isinstance(parent, ast.Subscript):
        return node is parent.slice or isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.Call) and node is not parent.func:
        return is_of_a_library(parent.func)
    if isinstance(parent, ast.Assign):
        return node is name and all(isinstance(target, ast.Tuple | ast.List) for target in parent.targets)
    if isinstance(parent, ast.Compare):
        return all(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in parent.ops)
    return isinstance(parent, ast.BinOp | ast.For | ast.comprehension) and node is name


def is_of_a_library(function: Any) -> bool:
    if isinstance(function, ast.Name):
        return function.id in COPYING and hasattr(builtins, function.id)
    while isinstance(function, ast.Attribute):
        function = function.value
        if isinstance(function, ast.Name):
            return function.id in LIBRARIES
    return False


def is_in_function(node: ast.AST, parents: dict[ast.AST, ast.AST], around: ast.AST) -> bool:
    """Whether something may run later."""
    while node is not around and node in parents:
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            return True
        node = parents[node]
    return False
