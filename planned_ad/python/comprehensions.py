"""Lists that a traced function makes, and what it asks with `is`, written so that the tracer sees them.

A list comprehension keeps its list on Python's stack. In the copy of a function that is traced, `[f(v) for v in x]`
reads `collected((f(v) for v in x))`, `list(items)` reads `collected(items, list)`, and an assigned list display `[a]`
or `[a] * n` reads `display([a] * n)`, as do empty ones in it and those that are appended; `deque(items)` reads
`made_container(deque, items)`, `items.index(v)` `index(items, v)` and `items.remove(v)` `remove_value(items, v)`.
`kind is float` reads `are_one(kind, float) is SAME`: the tracer has classes of its own in place of the real ones, and
which member of an enumeration a variable holds may be data. Where data decide what is None, `v is None` reads
`is_none(v)`; where the index of a loop is asked for its number by what it is an index of, `a[i][j]` reads `item_of(a,
i, j)`, `k in items` reads `is_in(k, items)` and `d.get(k)` reads `item_or_default(d, k)`. `for v in items` always
reads `for v in items_of_loop(items)`: a list gives its items to iterators of Python's alone; and `for self.k in
items` takes each to a variable first. All are functions of `written_calls`, looked up among the built-ins, under
names that no program has. Where the source is not at hand, or is no longer that of the function, the code stays what
it is. Loops that are left on a test are written anew by `exit_syntax`.
"""

import ast
import builtins
import copy
import dis
import functools
import itertools
import types
from collections.abc import Collection

from .asked_for import asks_for_items, asks_for_none, asks_for_truths, makes_dicts
from .call_syntax import (
    as_row,
    helper_name,
    is_item_read,
    run_over_syntax,
    slice_run_over,
    with_conditions_seen,
    written_call,
)
from .choices_of_names import ChoicesOfNames, has_choices, tree_of_tests
from .exit_syntax import ENDLESS, Exits, has, is_endless
from .instructions import (
    asks_at,
    asks_whether_in_at,
    has_whole_slices,
    instructions_of,
    puts_items_elsewhere,
    runs_over_what_is_there,
    takes_item_at,
)
from .source_text import (
    FUTURE,
    compiled_text,
    functions_of,
    identity,
    module_with,
    nested_code,
    note_text,
    statement_at,
    syntax,
)
from .statements import asks_again
from .written_calls import (
    COLLECTED,
    CONTAINER,
    COPIED,
    DISPLAY,
    EITHER,
    FIRST,
    GET,
    HAS,
    INDEX,
    IS_NONE,
    IS_ONE,
    IS_TRUTH,
    ITEM,
    ITSELF,
    LENGTH,
    MAY_BE_TESTED,
    ONE,
    RECORD,
    REMOVE,
    SORT,
    TABLE,
    TESTED,
    WHOLE,
)

KINDS = ("list", "tuple")
SEARCHES = {"index": INDEX, "remove": REMOVE}
CONTAINERS = frozenset(("deque", "defaultdict", "Counter", "OrderedDict", "set", "fromkeys"))
DISPLAYED = {"list": DISPLAY, "dict": TABLE}
PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
TESTS = frozenset(name for name in dis.opname if "JUMP_IF" in name)
BUILD_LIST, BUILD_SET, IS_OP, LOAD_CONST = (
    dis.opmap[name] for name in ("BUILD_LIST", "BUILD_SET", "IS_OP", "LOAD_CONST")
)
CONCERNS = (runs_over_what_is_there, asks_for_truths, puts_items_elsewhere, asks_again, has_whole_slices, has_choices)
RUNNING = frozenset({"sum", "min", "max", "any", "all", "enumerate", "zip"})  # ask nothing but items of an argument
SCOPED = frozenset({"super", "__class__", "locals", "vars", "dir", "eval", "exec"})  # see where they are written


def rewritten(
    code: types.CodeType, lines: Collection[int] = (), nones: bool = False, items: bool = False
) -> types.CodeType:
    """The code of a function with its lists made by `collected` and `display`, and with `itself` where it has `is`.

    The code that is given where that changes nothing. `nones`: also where it asks for None; `items`: for items.

    The loops that begin at one of `lines` are written so that their exits can be followed.
    """
    followed = frozenset(lines).intersection(range(code.co_firstlineno, _last_line(code) + 1) if lines else ())
    nones, items = nones and asks_for_none(code), items and asks_for_items(code)
    if not followed and not nones and not items and not _is_concerned(code):
        return code
    text = compiled_text(code)
    return _rewritten(text, code, followed, (nones, items)) if text else code


def _last_line(code: types.CodeType) -> int:
    """Of a function and those in it."""
    lines = (number for _, _, number in code.co_lines() if number is not None)
    return max((code.co_firstlineno, *lines, *map(_last_line, nested_code(code))))


def _is_concerned(code: types.CodeType) -> bool:
    """Whether it makes lists or sorts them, or asks with `is` for more than constants."""
    operations = code.co_code[::2]
    if code.co_name == "<genexpr>" and any(one.opname in TESTS for one in instructions_of(code)):
        return True
    if (
        BUILD_LIST in operations
        or BUILD_SET in operations
        or makes_dicts(code)
        or not {*KINDS, *CONTAINERS, "sort", *SEARCHES, "dict", "copy", "iter"}.isdisjoint(code.co_names)
    ):
        return True
    if any(asked(code) for asked in CONCERNS):
        return True
    if IS_OP in operations and any(b == IS_OP and a != LOAD_CONST for a, b in itertools.pairwise(operations)):
        return True
    return any(map(_is_concerned, nested_code(code)))


def reads_an_item(frame: types.FrameType) -> bool:
    """Whether a frame is reading something by an index or key, or asking whether it is there."""
    return asks_at(frame.f_code, frame.f_lasti)


def is_at_item(frame: types.FrameType) -> bool:
    """Whether a frame is reading, assigning or deleting something by an index or key."""
    return takes_item_at(frame.f_code, frame.f_lasti)


def asks_whether_in(frame: types.FrameType) -> bool:
    """Whether a frame is asking whether a key is there."""
    return asks_whether_in_at(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=512)
def _rewritten(text: str, code: types.CodeType, followed: frozenset[int], asked: tuple[bool, bool]) -> types.CodeType:
    tree = syntax(text)
    statement = None if tree is None else statement_at(tree, code.co_firstlineno)
    if statement is None:
        return code
    try:
        functions = _compiled(text, statement, code.co_filename, code.co_flags & FUTURE, followed, asked)
    except (SyntaxError, ValueError, RecursionError):
        return code
    candidates = [f for f in functions if identity(f) == identity(code)]
    if len(candidates) != 1 or candidates[0].co_freevars != code.co_freevars:
        return code
    return candidates[0]


@functools.lru_cache(maxsize=64)
def _compiled(
    text: str, statement: ast.stmt, file: str, flags: int, followed: frozenset[int], asked: tuple[bool, bool]
) -> list[types.CodeType]:
    """The functions in a statement of a module, rewritten: all methods of a class at once."""
    tree = syntax(text)
    assert tree is not None
    module = module_with(tree, statement)
    written, choices = _Written(*asked), ChoicesOfNames()
    choices.statement(module.body[-1], frozenset())
    written.choices, written.tests = choices.found, choices.tests
    module.body[-1] = written.visit(module.body[-1])
    if followed:
        module.body[-1] = Exits(followed).visit(module.body[-1])
    functions = functions_of(module, file, flags)
    note_text(functions, text)
    return functions


class _Written(ast.NodeTransformer):
    def __init__(self, nones: bool, items: bool):
        self.choices: set[int] = set()  # conditional expressions between names and numbers, by identity
        self.tests: set[int] = set()  # comparisons of such that are tested together
        self.nones, self.items = nones, items  # whether `is None` and what is read by an index are written too

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        is_choice = id(node) in self.choices
        self.generic_visit(node)
        return written_call(EITHER, node, node.test, node.body, node.orelse) if is_choice else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return _tested_together(node) if id(node) in self.tests else self.generic_visit(node)  # type: ignore[return-value]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return _tested_together(node) if id(node) in self.tests else self.generic_visit(node)  # type: ignore[return-value]

    def visit_List(self, node: ast.List) -> ast.expr:
        self.generic_visit(node)
        is_made = isinstance(node.ctx, ast.Load) and node.elts
        return written_call(RECORD, node, node) if is_made and not _has_starred(node.elts) else node

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.generic_visit(node)
        return node if _has_starred(node.elts) else written_call(RECORD, node, node)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        is_known = all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys)
        node.values = [_displayed(value) for value in node.values]
        return written_call(RECORD, node, node) if is_known and node.keys else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        node.left, node.right = _as_display(node.left), _as_display(node.right)  # which makes another list
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)
        if not _stands_alone(node):
            return node
        node.elt = _displayed(node.elt)
        return written_call(COLLECTED, node, with_conditions_seen(ast.GeneratorExp(node.elt, node.generators)))

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.iter = run_over_syntax(node.iter)
        if any(isinstance(part, ast.Attribute | ast.Subscript) for part in ast.walk(node.target)):
            item = f".item{node.lineno}"
            taken = ast.Assign([node.target], ast.Name(item, ast.Load()))
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(taken, node.target)))
            node.target = ast.copy_location(ast.Name(item, ast.Store()), node.target)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        has_body = node.body[0].lineno > (node.test.end_lineno or node.test.lineno)
        if has_body and is_endless(node.test) and any(has(statement, ast.Continue) for statement in node.body):
            node.test = helper_name(ENDLESS, node.test)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = node.iter if node.is_async else run_over_syntax(node.iter)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        self.generic_visit(node)
        return with_conditions_seen(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if _calls(node, "next") and _calls(node.args[0], "iter"):
            return written_call(FIRST, node, node.args[0].args[0])  # type: ignore[attr-defined]
        if isinstance(node.func, ast.Name) and node.func.id in RUNNING:
            node.args = list(map(slice_run_over, node.args))
        if isinstance(node.func, ast.Name) and node.func.id == "dict":
            for keyword in node.keywords:
                keyword.value = _displayed(keyword.value)
        if not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)):  # what may be filled later
            node.args = list(map(_empty_displayed, node.args))
            for keyword in node.keywords:
                keyword.value = _empty_displayed(keyword.value)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "sort" and not node.args:
            found = written_call(SORT, node, node.func.value)
            found.keywords = node.keywords
            return found
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args and not node.keywords:
            return written_call(COPIED, node, node.func.value)
        is_plain = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
        if is_plain and getattr(node.func, "id", "") == "len" and is_item_read(node.args[0]):
            return written_call(LENGTH, node, node.func, *node.args[0].args)  # type: ignore[attr-defined]
        if is_plain and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
            return written_call(SEARCHES[node.func.attr], node, node.func.value, node.args[0])
        if self.items and _gets_an_item(node):
            assert isinstance(node.func, ast.Attribute)
            return written_call(GET, node, as_row(node.func.value), *node.args)
        if not CONTAINERS.isdisjoint((getattr(node.func, "id", ""), getattr(node.func, "attr", ""))):
            found = written_call(CONTAINER, node, node.func, *node.args)
            found.keywords = node.keywords
            return found
        if is_plain and getattr(node.func, "id", "") == "dict" and isinstance(node.args[0], ast.Name | ast.Attribute):
            return written_call(CONTAINER, node, node.func, *node.args)
        is_kind = isinstance(node.func, ast.Name) and node.func.id in KINDS
        if not is_kind or node.keywords or len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
            return node
        return written_call(COLLECTED, node, node.args[0], node.func)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if id(node) in self.tests:
            return _tested_together(node)
        for place, (operator, part) in enumerate(zip(node.ops, node.comparators)):
            if isinstance(operator, ast.In | ast.NotIn) and isinstance(part, ast.Set):  # so nothing is hashed
                node.comparators[place] = ast.copy_location(ast.Tuple(part.elts, ast.Load()), part)
        self.generic_visit(node)
        if self.nones and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            asked = [part for part in (node.left, node.comparators[0]) if not _is_none(part)]
            if len(asked) == 1:
                found = written_call(IS_NONE, asked[0], asked[0])
                is_not = isinstance(node.ops[0], ast.IsNot)
                return ast.copy_location(ast.UnaryOp(ast.Not(), found), node) if is_not else found
        if self.items and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            found = written_call(HAS, node, node.left, as_row(node.comparators[0]))
            return found if isinstance(node.ops[0], ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        operands = [node.left, *node.comparators]
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot) and _is_truth(operands[1]):
            found = written_call(IS_TRUTH, node, *operands)
            return found if isinstance(node.ops[0], ast.Is) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        are_known = any(isinstance(part, ast.Constant) for part in operands)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot) and not are_known:
            node.left, node.comparators = written_call(IS_ONE, node, *operands), [helper_name(ONE, node)]
            return node
        places: set[int] = set()
        for place, (operator, pair) in enumerate(zip(node.ops, itertools.pairwise(operands))):
            is_known = any(isinstance(part, ast.Constant) and not (self.nones and _is_none(part)) for part in pair)
            if isinstance(operator, ast.Is | ast.IsNot) and not is_known:
                places.update((place, place + 1))
        parts = [written_call(ITSELF, part, part) if place in places else part for place, part in enumerate(operands)]
        node.left, node.comparators = parts[0], parts[1:]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and _is_whole(node.slice):
            return written_call(WHOLE, node, node.value)
        if not self.items or not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Slice):
            return node
        if isinstance(node.slice, ast.Tuple) and any(isinstance(e, ast.Slice | ast.Starred) for e in node.slice.elts):
            return node
        holder = node.value
        if is_item_read(holder) and _is_plain(node.slice):
            assert isinstance(holder, ast.Call)
            holder.args.append(node.slice)
            return ast.copy_location(holder, node)
        return written_call(ITEM, node, as_row(holder), node.slice)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        node.value = _displayed(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        self.generic_visit(node)
        node.value = _displayed(node.value) if isinstance(node.value, ast.DictComp) else node.value
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        node.value = None if node.value is None else _displayed(node.value)
        return node


def _stands_alone(node: ast.ListComp | ast.DictComp) -> bool:
    """Whether a generator expression has the same items."""
    is_async = any(g.is_async for g in node.generators)
    return not is_async and not any(_sees_its_scope(part) for part in ast.walk(node))


def _calls(node: ast.expr, name: str) -> bool:
    """Whether it is a call of a built-in with one argument."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    return is_call and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)  # type: ignore[attr-defined]


def _tested_together(node: ast.expr) -> ast.expr:
    """One test, where all that is compared are numbers; else as it was written."""
    tree = tree_of_tests(copy.deepcopy(node))
    assert tree is not None
    names = dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id != "abs")
    form = ast.copy_location(ast.Constant(tree[0]), node)
    test = written_call(MAY_BE_TESTED, node, *(ast.copy_location(ast.Name(name, ast.Load()), node) for name in names))
    found = ast.IfExp(test, written_call(TESTED, node, form, *tree[1]), node)
    return ast.fix_missing_locations(ast.copy_location(found, node))


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is bool


def _is_whole(key: ast.expr) -> bool:
    return isinstance(key, ast.Slice) and key.lower is key.upper is key.step is None


def _gets_an_item(node: ast.Call) -> bool:
    """`holder.get(key)`, `holder.get(key, default)`."""
    is_get = isinstance(node.func, ast.Attribute) and node.func.attr == "get" and not node.keywords
    return is_get and 1 <= len(node.args) <= 2 and not _has_starred(node.args)


def _is_plain(node: ast.expr) -> bool:
    """Whether computing it changes nothing: it may come before something else."""
    return all(isinstance(part, PLAIN) for part in ast.walk(node))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _sees_its_scope(node: ast.AST) -> bool:
    return isinstance(node, ast.Await) or (isinstance(node, ast.Name) and node.id in SCOPED)


def _has_starred(parts: list[ast.expr]) -> bool:
    return any(isinstance(part, ast.Starred) for part in parts)


def _as_display(value: ast.expr) -> ast.expr:
    """A list display as it was written."""
    is_record = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == RECORD
    return value.args[0] if is_record and isinstance(value.args[0], ast.List) else value  # type: ignore[attr-defined]


def _displayed(value: ast.expr) -> ast.expr:
    """An assigned value with the list displays in it, also those in tuples and dicts, made by `display`."""
    value = _as_display(value)
    if isinstance(value, ast.List):
        value.elts = list(map(_empty_displayed, value.elts))
    if isinstance(value, ast.List) or _repeats_a_display(value):
        return written_call(DISPLAY, value, value)
    if isinstance(value, ast.Tuple):
        value.elts = [_displayed(part) for part in value.elts]
    elif isinstance(value, ast.BoolOp):
        value.values = [_displayed(part) for part in value.values]
    elif isinstance(value, ast.IfExp):
        value.body, value.orelse = _displayed(value.body), _displayed(value.orelse)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        is_empty = value.func.id in DISPLAYED and not value.args and not value.keywords
        return written_call(DISPLAYED[value.func.id], value, value) if is_empty else value
    if isinstance(value, ast.DictComp) and _stands_alone(value):
        pair = ast.copy_location(ast.Tuple([value.key, _displayed(value.value)], ast.Load()), value)
        return written_call(TABLE, value, with_conditions_seen(ast.GeneratorExp(pair, value.generators)))
    return written_call(TABLE, value, value) if isinstance(value, ast.Dict) else value


def _empty_displayed(value: ast.expr) -> ast.expr:
    """An element of a list: one that begins without elements is filled later."""
    return _displayed(value) if isinstance(value, ast.List) and not value.elts else value


def _repeats_a_display(value: ast.expr) -> bool:
    """`[0.0] * n`, and what is added to it."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult | ast.Add):
        return False
    return any(isinstance(part, ast.List) or _repeats_a_display(part) for part in (value.left, value.right))
