"""Which conditional expressions have nothing to compute on either side: `high if value > high else value`.

Both sides are names or numbers, and the names are bound wherever the expression is reached: by an assignment before it
in the same block or in one around, by a loop, as an argument.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .source_text import compiled_text, syntax

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SIGNS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
NAMED = (ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchStar)
LEAVE = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@functools.lru_cache(maxsize=4096)
def has_choices(code: types.CodeType) -> bool:
    """Whether there may be one in a function, or several comparisons in one test; it is looked for in all its lines."""
    lines = [line for _, _, line in code.co_lines() if line]
    text = compiled_text(code)
    found = (*_lines_with_choices(text), *_lines_with_tests(text)) if lines else ()
    return any(min(lines) <= line <= max(lines) for line in found)


@functools.lru_cache(maxsize=64)
def _lines_with_choices(text: str) -> tuple[int, ...]:
    tree = syntax(text) if " else " in text else None
    nodes = ast.walk(tree) if tree is not None else ()
    return tuple(node.lineno for node in nodes if isinstance(node, ast.IfExp) and has_names_alone(node))


@functools.lru_cache(maxsize=64)
def _lines_with_tests(text: str) -> tuple[int, ...]:
    tree = syntax(text)
    nodes = ast.walk(tree) if tree is not None else ()
    return tuple(
        node.lineno for node in nodes
        if isinstance(node, ast.BoolOp) or (isinstance(node, ast.Compare) and len(node.ops) > 1)
    )  # fmt: skip


def has_names_alone(node: ast.IfExp) -> bool:
    return all(_is_there(side) for side in (node.body, node.orelse))


def _is_there(side: ast.expr) -> bool:
    if isinstance(side, ast.UnaryOp) and isinstance(side.op, ast.USub | ast.UAdd):
        side = side.operand
    is_number = isinstance(side, ast.Constant) and type(side.value) in (int, float)
    return is_number or isinstance(side, ast.Name)


@dataclass
class ChoicesOfNames:
    """Those in a statement of a module, by identity: `found`; and comparisons that may all be computed, `tests`."""

    found: set[int] = field(default_factory=set)
    tests: set[int] = field(default_factory=set)  # comparisons of names and numbers that are tested together
    stored: set[str] = field(default_factory=set)  # what the functions around assign at some point
    uncertain: set[str] = field(default_factory=set)  # of these, what is deleted, or assigned within expressions

    def look(self, node: ast.AST, bound: frozenset[str]) -> None:
        """Look at an expression, where these names are bound, or at a function."""
        if isinstance(node, FUNCTIONS):
            self.function(node, bound)
            return
        if isinstance(node, COMPREHENSIONS):
            targets = {name for each in node.generators for name in names_in(each.target)}
            self.stored |= targets
            bound |= targets
        if isinstance(node, ast.IfExp) and has_names_alone(node):
            sides = {
                part.id for side in (node.body, node.orelse) for part in ast.walk(side) if isinstance(part, ast.Name)
            }
            if sides & self.stored <= bound:
                self.found.add(id(node))
        for part in ast.iter_child_nodes(node):
            self.look(part, bound)

    def are_bound(self, parts: Iterable[ast.expr], bound: frozenset[str]) -> bool:
        names = {name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)}
        return names & self.stored <= bound

    def test(self, node: ast.expr, bound: frozenset[str]) -> None:
        """Look at what is tested: `low <= value < high and not abs(value - last) < 0.1`."""
        tree = tree_of_tests(node)
        if tree is not None and len(tree[1]) > 1 and self.are_bound([node], bound) and "abs" not in self.stored:
            self.tests.add(id(node))
            return
        parts = node.values if isinstance(node, ast.BoolOp) else [node.operand] if isinstance(node, ast.UnaryOp) else ()
        for part in parts:
            self.test(part, bound)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, bound: frozenset[str]) -> None:
        around = set(self.stored), set(self.uncertain)
        args, body = node.args, node.body if isinstance(node.body, list) else []
        given = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        names, own = {argument.arg for argument in given}, {name for part in body for name in names_in(part)}
        self.stored |= own | names
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Del):
                self.uncertain.add(part.id)
            elif isinstance(part, ast.NamedExpr):
                self.uncertain.add(part.target.id)
            elif isinstance(part, ast.ExceptHandler) and part.name:  # deleted behind it
                self.uncertain.add(part.name)
        for part in (*args.defaults, *filter(None, args.kw_defaults), *getattr(node, "decorator_list", ())):
            self.look(part, bound)
        inside = frozenset((bound - own) | names) - self.uncertain
        if body:
            self.block(body, inside)
        else:
            self.look(node.body, inside)  # type: ignore[arg-type]
        self.stored, self.uncertain = around

    def block(self, body: Iterable[ast.stmt], bound: frozenset[str]) -> frozenset[str] | None:
        """The names that are bound behind these statements; None where nothing follows them."""
        for statement in body:
            after = self.statement(statement, bound)
            if after is None:
                return None
            bound = after
        return bound

    def statement(self, statement: ast.stmt, bound: frozenset[str]) -> frozenset[str] | None:
        if isinstance(statement, FUNCTIONS):
            self.look(statement, bound)
            return bound | {statement.name}
        blocks = list(blocks_in(statement))
        for part in ast.iter_child_nodes(statement):
            if not isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case):
                self.look(part, bound)
        if isinstance(statement, LEAVE):
            return None
        if isinstance(statement, ast.If):
            self.test(statement.test, bound)
            sides = (statement.body, statement.orelse)
            ends = [self.block(side, bound) for side in sides]
            known = [end for end in ends if end is not None]
            return frozenset.intersection(*known) if known else None
        if not blocks:
            return bound | (frozenset(names_in(statement)) - self.uncertain)
        targets = names_in(statement.target) if isinstance(statement, ast.For | ast.AsyncFor) else ()
        inside = bound | (frozenset(targets) - self.uncertain)
        for number, block in enumerate(blocks):
            self.block(block, bound if number else inside)
        return bound


def tree_of_tests(node: ast.expr) -> tuple[Any, list[ast.expr]] | None:
    """How comparisons are joined, by their numbers, and all of these; None of other ones, which may raise errors."""
    leaves: list[ast.expr] = []

    def form(part: ast.expr) -> Any:
        if isinstance(part, ast.BoolOp):
            return ("or" if isinstance(part.op, ast.Or) else "and", *map(form, part.values))
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            return "not", form(part.operand)
        found: list[ast.expr] = [part]
        if isinstance(part, ast.Compare):
            items = [part.left, *part.comparators]
            found = [ast.Compare(a, [sign], [b]) for a, sign, b in zip(items, part.ops, items[1:])]
            if not all(isinstance(sign, SIGNS) for sign in part.ops) or not all(map(is_arithmetic, items)):
                raise ValueError
        elif not isinstance(part, ast.Name):
            raise ValueError
        leaves.extend(ast.copy_location(leaf, part) for leaf in found)
        numbers = tuple(range(len(leaves) - len(found), len(leaves)))
        return numbers[0] if len(numbers) == 1 else ("and", *numbers)

    try:
        return form(node), leaves
    except ValueError:
        return None


def is_arithmetic(node: ast.expr) -> bool:
    """Whether it is computed of names and numbers, if these are numbers without an error: `abs(a - b) / 2`."""
    match node:
        case ast.Name():
            return True
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return is_arithmetic(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return is_arithmetic(left) and is_arithmetic(right)
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=value)):
            return is_arithmetic(left) and type(value) in (int, float) and value != 0
        case ast.Call(func=ast.Name(id="abs"), args=[operand], keywords=[]):
            return is_arithmetic(operand)
    return False


def blocks_in(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for holder in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield from (part for name in ("body", "orelse", "finalbody") if (part := getattr(holder, name, None)))


def names_in(node: ast.AST) -> Iterator[str]:
    """The names that are assigned, deleted or made in a statement, those of functions in it left out."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif isinstance(part, NAMED) and part.name:
            yield part.name
        if not isinstance(part, (*FUNCTIONS, *COMPREHENSIONS)):
            waiting.extend(ast.iter_child_nodes(part))
