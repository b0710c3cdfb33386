"""Loops that are left on a test, written so that the tracer can follow both ways: from the syntax of the function.

Python that leaves a loop does not come back to record what its other iterations do. So where the tracer has found that
a loop is left on traced values, the copy of the function that is traced reads, for

    for k in items:                        .exits1 = exits(1, items)
        ...                                for k in .exits1:
        if test:                               ...
            break                              if test:
        ...                                        if .exits1.leaves('break'): break
    else:                                          continue
        rest                                   ...
                                           else:
                                               if not .exits1.left('break'): rest

`leaves` says whether the loop is really to be left. While it is recorded, it notes on the side of the branch that is
running that the loop ends here, and the side goes on as after a `continue`. `return value` is done alike, and again
after the loop. `while test: body` becomes a `for` over as many steps as there is memory for, of which each begins with
`if test: pass`, `else: .exits1.ends(); continue`. The names begin with a dot, which those of programs cannot.
"""

from __future__ import annotations

import ast
import types
from typing import Any

EXITS = "__planned_ad_exits__"
ENDLESS = "__planned_ad_endless__"  # the test of `while True`, where it is asked again after a `continue`
VALUE, STEP = ".value", ".step"
BREAK, RETURN = "break", "return"
JUMPS = (ast.Break, ast.Continue, ast.Return)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def name_of(line: int) -> str:
    """The variable that holds the exits of the loop whose statement begins at `line`."""
    return f".exits{line}"


def is_followed(code: types.CodeType, line: int) -> bool:
    """Whether the loop at `line` is written so in this code."""
    return name_of(line) in code.co_varnames


class Exits(ast.NodeTransformer):
    """Writes the loops that begin at one of `lines` so."""

    def __init__(self, lines: frozenset[int]):
        self.lines = lines
        self.loops: list[str | None] = []  # the variables of the loops around in this function, None for the others

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, FUNCTIONS):
            return super().visit(node)
        around, self.loops = self.loops, []
        self.generic_visit(node)
        self.loops = around
        return node

    def visit_For(self, node: ast.For) -> Any:
        node.iter = self.visit(node.iter)
        return self.loop(node, node.iter)

    def visit_While(self, node: ast.While) -> Any:
        node.test = self.visit(node.test)
        return self.loop(node)

    def loop(self, node: ast.For | ast.While, *items: ast.expr) -> Any:
        returns = any(has(s, ast.Return) for s in node.body)
        name = name_of(node.lineno) if node.lineno in self.lines and not may_be_overruled(node.body) else None
        self.loops.append(name)
        node.body = self.statements(node.body)
        self.loops.pop()
        node.orelse = self.statements(node.orelse)
        if name is None:
            return node
        made = at(node, ast.Assign([stored(name)], call(loaded(EXITS), ast.Constant(node.lineno), *items)))
        body, target = node.body, getattr(node, "target", stored(STEP))
        if isinstance(node, ast.While) and not is_endless(node.test):
            ended = [ast.Expr(call(method(name, "ends"))), ast.Continue()]
            body = [at(node, ast.If(node.test, [ast.Pass()], ended)), *body]
        orelse: list[ast.stmt] = []
        if returns:
            result = self.visit(at(node, ast.Return(call(method(name, "result")))))
            taken = result if isinstance(result, list) else [result]
            orelse.append(ast.If(call(method(name, "left"), ast.Constant(RETURN)), taken, []))
        if node.orelse:
            left = call(method(name, "left"), ast.Constant(BREAK))
            orelse.append(ast.If(ast.UnaryOp(ast.Not(), left), node.orelse, []))
        return [made, at(node, ast.For(target, loaded(name), body, orelse))]

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            found += new if isinstance(new, list) else [new]
        return found

    def visit_Break(self, node: ast.Break) -> Any:
        name = self.loops[-1] if self.loops else None
        if name is None:
            return node
        leaves = call(method(name, "leaves"), ast.Constant(BREAK))
        return [at(node, ast.If(leaves, [node], [])), at(node, ast.Continue())]

    def visit_Return(self, node: ast.Return) -> Any:
        name = self.loops[-1] if self.loops else None
        if name is None:
            self.generic_visit(node)
            return node
        value = ast.Constant(None) if node.value is None else self.visit(node.value)
        leaves = call(method(name, "leaves"), ast.Constant(RETURN), loaded(VALUE))
        return [
            at(node, ast.Assign([stored(VALUE)], value)),
            at(node, ast.If(leaves, [ast.Return(loaded(VALUE))], [])),
            at(node, ast.Continue()),
        ]


def is_endless(test: ast.expr) -> bool:
    """Whether it is that of a `while` which only a statement in its body leaves."""
    return (isinstance(test, ast.Constant) and bool(test.value)) or (isinstance(test, ast.Name) and test.id == ENDLESS)


def has(statement: ast.AST, *kinds: type) -> bool:
    """Whether a statement is one of `kinds`, or has one in it that leaves it: not in a loop or function of its own."""
    waiting: list[tuple[ast.AST, bool]] = [(statement, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, kinds) and not (inside and isinstance(node, ast.Break | ast.Continue)):
            return True
        if isinstance(node, FUNCTIONS):
            continue
        inside_body = inside or isinstance(node, ast.For | ast.While)
        after = [id(child) for child in getattr(node, "orelse", [])] if isinstance(node, ast.For | ast.While) else []
        waiting += [(n, inside if id(n) in after else inside_body) for n in ast.iter_child_nodes(node)]
    return False


def may_be_overruled(body: list[ast.stmt]) -> bool:
    """Whether a loop would be left by something in a `try` whose `finally` may decide otherwise."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Try | ast.TryStar) and any(has(s, *JUMPS) for s in node.finalbody):
            others = [*node.body, *node.handlers, *node.orelse]
            if any(has(s, ast.Break, ast.Return) for s in others):
                return True
        if not isinstance(node, FUNCTIONS):
            waiting += ast.iter_child_nodes(node)
    return False


def loaded(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def stored(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def method(name: str, attribute: str) -> ast.Attribute:
    return ast.Attribute(loaded(name), attribute, ast.Load())


def call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    return ast.Call(function, list(arguments), [])


def at(place: ast.stmt, made: Any) -> Any:
    """A statement that was made, at the first line of the one that it stands for."""
    waiting: list[ast.AST] = [made]
    while waiting:
        node = waiting.pop()
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, place)
            if isinstance(node, ast.expr | ast.stmt):
                node.end_lineno, node.end_col_offset = place.lineno, place.col_offset
        waiting += ast.iter_child_nodes(node)
    return made
