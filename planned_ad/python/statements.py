"""Which statement of the user's program an instruction belongs to: from the code's positions and the syntax."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import dis
import enum
import functools
import reprlib
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .exit_syntax import ENDLESS, has, is_followed
from .identity_methods import IDENTITY_METHODS
from .instructions import instructions_of
from .source_text import compiled_text, current_text, syntax, syntax_of

IDENTITY = "is in a function that asks with `is` for the identity of arrays"
CONTINUES = "has a `continue` and no test"
GENERATOR = 0x20  # the flag of code that yields


@dataclass(frozen=True, slots=True)
class Extent:
    """The lines that a test decides about, first and last.

    Where it leaves a loop, by what, the line of the loop's statement, and those of all the loops that it leaves. The
    lines are then those of the loop's body, of which it decides about the rest if the loop's exits are followed; where
    they are not, `otherwise` is what it decides about, if anything can be said.
    """

    first: int
    last: int
    leaves: str = ""
    loop: int = 0
    loops: tuple[int, ...] = ()
    otherwise: Extent | None = None

    def has(self, line: int) -> bool:
        return self.first <= line <= self.last


def extent_at(frame: types.FrameType) -> Extent | None:
    """What the test that is running in `frame` decides about; None where the source is not at hand.

    That is the statement it is in. An `if` with a `continue` or `break` in it decides about the rest of the loop's
    body, one with a `return` about the rest of the function.
    """
    return _extent(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=4096)
def _extent(code: types.CodeType, instruction: int) -> Extent | None:
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    tree = syntax_of(code)
    if line is None or tree is None:
        return None
    path = path_at(tree, line, column or 0)
    if not path:
        return None
    statement = path[-1]
    if isinstance(statement, ast.While):
        lines = Extent(statement.lineno, statement.body[-1].end_lineno or statement.lineno)
        loop = statement.lineno
        return Extent(lines.first, lines.last, "end a `while` loop", loop, (loop,))
    return _reach(path, [statement]) if isinstance(statement, ast.If) else _lines([statement])


def _path(code: types.CodeType, instruction: int) -> list[Any]:
    """The statements around an instruction, outermost first; empty where the source is not at hand."""
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    tree = syntax_of(code)
    return [] if line is None or tree is None else path_at(tree, line, column or 0)


def rest_at(frame: types.FrameType) -> Extent | None:
    """The rest of the body of the innermost loop around the test that is running in `frame`, or of its function."""
    return _rest(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=1024)
def _rest(code: types.CodeType, instruction: int) -> Extent | None:
    path = _path(code, instruction)
    if not path:
        return None
    function, loops = _around(path)
    return _lines(loops[-1].body) if loops else _lines([path[-1]]) if function is None else function


def all_of_function(frame: types.FrameType, instruction: int) -> Extent | None:
    """All of the function that is running in a frame, by one of its instructions."""
    path = _path(frame.f_code, instruction)
    return _around(path)[0] if path else None


@functools.lru_cache(maxsize=4096)
def try_around(code: types.CodeType, instruction: int, line: int) -> Extent | None:
    """What a test decides about, by its instruction, whose side is at a line that handles an error.

    That is the `try` statement, or what the test would decide about if it stood before that; None where the line is in
    no handler.
    """
    path = _path(code, instruction)
    for depth in range(len(path), 0, -1):
        tried = path[depth - 1]
        if isinstance(tried, ast.Try | ast.TryStar) and any(_lines([handler]).has(line) for handler in tried.handlers):
            return _reach(path[:depth], [tried])
    return None


@functools.lru_cache(maxsize=4096)
def may_be_swallowed(code: types.CodeType, instruction: int) -> bool:
    """Whether an instruction is in a `try` whose `finally` may leave it, so that an error goes no further."""
    tries = [s for s in _path(code, instruction) if isinstance(s, ast.Try | ast.TryStar)]
    return any(has(s, kind) for t in tries for s in t.finalbody for kind in (ast.Return, ast.Break, ast.Continue))


@functools.lru_cache(maxsize=4096)
def ends_in_error(code: types.CodeType, instruction: int) -> bool:
    """Whether an instruction is in a `raise` statement, or in the assignment before one, of its message perhaps."""
    path = _path(code, instruction)
    if not path or isinstance(path[-1], ast.Raise):
        return bool(path)
    if not isinstance(path[-1], ast.Assign) or len(path) < 2:
        return False
    bodies = [body for _, body in ast.iter_fields(path[-2]) if isinstance(body, list) and path[-1] in body]
    following = bodies[0][bodies[0].index(path[-1]) + 1 :] if bodies else []
    return bool(following) and isinstance(following[0], ast.Raise)


@functools.lru_cache(maxsize=4096)
def ends_its_side(code: types.CodeType, test: int, instruction: int) -> bool:
    """Whether an instruction is in a statement of which the test decides alone whether it runs, or in its own."""
    around, path = _path(code, test), _path(code, instruction)
    if not (around and path) or around[-1] not in path[-2:]:
        return False
    asked = getattr(around[-1], "test", None)
    return asked is not None and not any(isinstance(part, ast.BoolOp | ast.IfExp) for part in ast.walk(asked))


@functools.lru_cache(maxsize=4096)
def is_in_finally(code: types.CodeType, instruction: int, line: int) -> bool:
    """Whether a line is in the `finally` of a `try` statement around an instruction."""
    tries = [s for s in _path(code, instruction) if isinstance(s, ast.Try | ast.TryStar)]
    return any(s.finalbody and _lines(s.finalbody).has(line) for s in tries)


def extent_after(frame: types.FrameType, line: int, returns: bool) -> Extent:
    """What a test decides about, after the loop whose statement begins at `line`, whether it was left by something.

    That is the rest of the function, or of a loop around, where it was left by `return`; else the `else` of the loop.
    """
    text = compiled_text(frame.f_code)
    tree, loop = syntax(text), next(loop for loop in _loops(text) if loop.lineno == line)
    assert tree is not None
    return _reach(path_at(tree, line, loop.col_offset), [ast.Return()] if returns else loop.orelse)


@functools.lru_cache(maxsize=64)
def _loops(text: str) -> list[Any]:
    tree = syntax(text)
    return [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]


def _reach(path: list[Any], decided: Sequence[Any]) -> Extent:
    """What a test decides about that stands before `decided`; `path` are the statements around it."""
    function, loops = _around(path)
    returns = any(has(s, ast.Return) for s in decided)
    breaks = any(has(s, ast.Break) for s in decided)
    if loops and (returns or breaks):
        body = _lines(loops[-1].body)
        left = tuple(loop.lineno for loop in loops) if returns else (loops[-1].lineno,)
        after = loops[-1].orelse if any(has(s, ast.Break, ast.Return, ast.Continue) for s in loops[-1].orelse) else ()
        otherwise = function if returns else _reach(path[: path.index(loops[-1]) + 1], after)
        return Extent(body.first, body.last, "return" if returns else "break", loops[-1].lineno, left, otherwise)
    if returns and function is not None:
        return function
    if loops and any(has(s, ast.Continue) for s in decided):
        return _lines(loops[-1].body)
    return _lines([path[-1]])


def _around(path: list[Any]) -> tuple[Extent | None, list[Any]]:
    """The lines of the function in which a path of statements ends, if it is in one, and the loops around the end."""
    functions = [k for k, s in enumerate(path) if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = path[functions[-1] + 1 :] if functions else path
    loops = [s for s, within in pairwise(inside) if isinstance(s, ast.For | ast.While) and within not in s.orelse]
    return _lines(path[functions[-1]].body) if functions else None, loops


def _lines(statements: list[Any]) -> Extent:
    return Extent(statements[0].lineno, statements[-1].end_lineno or statements[-1].lineno)


def while_part(frame: types.FrameType) -> tuple[Extent, bool] | None:
    """Of a test of a `while` statement that is running: the lines of the statement, and whether it is all of the test.

    What else there is are the parts of `a and b`. None where the test has `or`, `not`, or a chain of comparisons in it.
    """
    return _while_part(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=4096)
def _while_part(code: types.CodeType, instruction: int) -> tuple[Extent, bool] | None:
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    tree = syntax_of(code)
    if line is None or tree is None:
        return None
    path = path_at(tree, line, column or 0)
    if not path or not isinstance(path[-1], ast.While):
        return None
    if (line, column) == (path[-1].lineno, path[-1].col_offset):  # where compilers put the jump after a call
        line, column = _before(code, instruction)
    test = path[-1].test
    both = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    parts = test.values if both else [test]  # type: ignore[attr-defined]
    for part in parts:
        start, end = _span(part)
        if start <= (line, column or 0) < end:
            lines = Extent(path[-1].lineno, path[-1].end_lineno or path[-1].lineno)
            return (lines, not both) if _is_one_test(part) else None
    return None


Names = Mapping[str, Any]  # the globals of a function


def asks_identity(frame: types.FrameType) -> bool:
    """Whether a function that runs asks with `is` whether two variables, attributes or items are one."""
    return _asks(frame.f_code, frame.f_globals)


def _asks(code: types.CodeType, names: Names) -> bool:
    return any(not any(_is_member(*part, names) for part in parts) for parts in _compared_by_identity(code))


@functools.lru_cache(maxsize=1024)
def _compared_by_identity(code: types.CodeType) -> list[list[tuple[str, str]]]:
    """What a function compares with `is` where all of it may be arrays or objects: globals, and their attributes."""
    if dis.opmap["IS_OP"] not in code.co_code[::2]:
        return []
    tree = syntax_of(code)
    lines = [line for _, _, line in code.co_lines() if line]
    if tree is None or not lines:
        return []
    found = [
        [node.left, *node.comparators]
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and min(lines) <= node.lineno <= max(lines)
        and any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
    ]
    own = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    return [
        [path for path in map(_path_of, parts) if path is not None and path[0] not in own]
        for parts in found
        if all(_may_be_array(part, code) for part in parts)
    ]


def _path_of(part: ast.expr) -> tuple[str, str] | None:
    """The name, and the attribute of it (or none), that an operand is."""
    if isinstance(part, ast.Name):
        return part.id, ""
    return (part.value.id, part.attr) if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) else None


def _is_member(name: str, attribute: str, names: Names) -> bool:
    """Whether this is a class, a plain `object()`, or a member of an enumeration, as `Phase.FALL`."""
    try:
        kind = names[name]
    except KeyError:
        return False
    if not attribute:
        return isinstance(kind, type) or type(kind) is object
    return isinstance(kind, enum.EnumType) and attribute in kind.__members__


WHILE_SHOWN = {dataclasses.__file__, reprlib.__file__}  # which object's `repr` is being made, by its identity


BY_NAME = {"id", "is_", "is_not", "ref", "WeakSet", "WeakKeyDictionary", "WeakValueDictionary"}


def may_ask_identity(code: types.CodeType, known: Names, is_inner: bool = False) -> bool:
    """As `asks_identity`, of a function and those in it, and by `id`, `operator.is_`, `weakref.ref` and such too."""
    if code.co_filename in WHILE_SHOWN:
        return False
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    names = {*code.co_names}
    # In methods of classes that stand in no function, `super()` leads to `identity_methods`.
    goes_on = "object" in names or (is_inner and "super" in names)
    by_name = BY_NAME & names or (goes_on and {*IDENTITY_METHODS, "__repr__"} & names)
    return bool(by_name) or _asks(code, known) or any(may_ask_identity(each, known, True) for each in inner)


def _may_be_array(operand: ast.expr, code: types.CodeType) -> bool:
    """Whether this may be an array or an object: all but constants, classes, and names of built-in things."""
    if isinstance(operand, ast.Name):
        own = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
        return operand.id in own or not hasattr(builtins, operand.id)
    if isinstance(operand, ast.Call):
        return not (isinstance(operand.func, ast.Name) and operand.func.id == "type")
    return not isinstance(operand, ast.Constant | ast.JoinedStr | ast.Compare | ast.Lambda)


@dataclass(frozen=True, slots=True)
class WhileLines:
    """A `while` statement: its first line, the last one of its test, and of its body."""

    first: int
    test: int
    last: int
    endless: bool  # whether its test is the constant True
    leaves: bool = False  # whether its body may leave it
    refused: str = ""  # why its iterations cannot be told apart

    def is_around(self, line: int) -> bool:
        """Whether a line is one of its body."""
        return self.test < line <= self.last or (bool(self.refused) and line == self.last)


@functools.lru_cache(maxsize=1024)
def while_statements(code: types.CodeType) -> tuple[WhileLines, ...]:
    """The `while` statements of a function, in the order of the text; of one that yields, none."""
    if code.co_flags & GENERATOR:
        return ()
    numbers = {line for _, _, line in code.co_lines() if line is not None}
    lines = compiled_text(code).split("\n")
    if not any("while" in line for line in lines[min(numbers, default=1) - 1 : max(numbers, default=0)]):
        return ()
    instructions = {i.offset: i for i in instructions_of(code)}
    back = [i for i in instructions.values() if i.opcode in dis.hasjrel and i.argval <= i.offset]
    ends = [i for jump in back for i in (jump, instructions.get(jump.argval))]
    jumps = {i.positions.lineno for i in ends if i is not None and i.positions is not None}
    is_asked_again = ENDLESS in code.co_names
    found = [_while_lines(statement, is_asked_again) for statement in _whiles(compiled_text(code))]
    # Where no jump back begins or ends in a test, the source is another one by now.
    found = [lines for lines in found if not is_followed(code, lines.first)]
    return tuple(lines for lines in found if not jumps.isdisjoint(range(lines.first, lines.test + 1)))


def has_while(code: types.CodeType) -> bool:
    """Whether there is a `while` statement in some code, also where it yields."""
    return any(is_in_while(code.co_filename, line) for _, _, line in code.co_lines() if line is not None)


def is_in_while(file: str, line: int) -> bool:
    """Whether a line is in the body of a `while` statement."""
    return any(found.lineno < line <= (found.end_lineno or 0) for found in _whiles(current_text(file)))


@functools.lru_cache(maxsize=64)
def _whiles(text: str) -> list[ast.While]:
    return sorted((s for s in _loops(text) if isinstance(s, ast.While)), key=lambda statement: statement.lineno)


def asks_again(code: types.CodeType) -> bool:
    """Whether a `while True` in it has a `continue`, after which its test would have to be asked again."""
    return any(found.refused == CONTINUES for found in while_statements(code))


def _while_lines(statement: ast.While, is_asked_again: bool = False) -> WhileLines:
    test, body = statement.test, statement.body
    endless = isinstance(test, ast.Constant) and bool(test.value)
    refused = ""
    last_of_test = test.end_lineno or test.lineno
    if body[0].lineno == last_of_test:
        refused = "has its test and its body in one line"
    elif endless and any(has(s, ast.Continue) for s in body):
        endless, refused = not is_asked_again, "" if is_asked_again else CONTINUES
    leaves = any(has(s, ast.Break, ast.Return) for s in body)
    return WhileLines(statement.lineno, last_of_test, body[-1].end_lineno or body[-1].lineno, endless, leaves, refused)


def breaks_from(frame: types.FrameType, lines: WhileLines) -> bool:
    """Whether the test running in `frame` is that of an `if` with a `break` or `return` in it that leaves this loop."""
    return _breaks_from(frame.f_code, frame.f_lasti) == lines.first


@functools.lru_cache(maxsize=4096)
def _breaks_from(code: types.CodeType, instruction: int) -> int | None:
    """The line of the loop that the `if` at this instruction breaks from."""
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    tree = syntax_of(code)
    path = [] if line is None or tree is None else path_at(tree, line, column or 0)
    if not path or not isinstance(path[-1], ast.If):
        return None
    if not has(path[-1], ast.Break, ast.Return):
        return None
    loops = [s for s in path if isinstance(s, ast.For | ast.While)]
    return loops[-1].lineno if loops else None


def _before(code: types.CodeType, instruction: int) -> tuple[int, int]:
    """Where the instructions in front of this one, and elsewhere in the text, come from."""
    positions = list(code.co_positions())
    here = positions[instruction // 2]
    line, _, column, _ = next((p for p in reversed(positions[: instruction // 2]) if p != here), here)
    return line or 0, column or 0


def _is_one_test(part: ast.expr) -> bool:
    """Whether Python asks for the truth of a condition just once, and goes on where it holds."""
    if isinstance(part, ast.Compare):
        return len(part.ops) == 1
    return not isinstance(part, ast.BoolOp | ast.IfExp) and not (
        isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
    )


def path_at(tree: ast.AST, line: int, column: int) -> list[Any]:
    """The statements around a position, outermost first."""
    found: list[Any] = []
    children = list(ast.iter_child_nodes(tree))
    while children:
        inside = None
        for child in children:
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                start, end = _span(child)
                if start <= (line, column) < end:
                    inside = child
                    break
        if inside is None:
            return found
        if isinstance(inside, ast.stmt):
            found.append(inside)
        children = list(ast.iter_child_nodes(inside))
    return found


def _span(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    if isinstance(node, ast.match_case):
        last = node.body[-1]
        return (node.pattern.lineno, node.pattern.col_offset), (last.end_lineno or 0, last.end_col_offset or 0)
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
