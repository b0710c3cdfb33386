"""Calls of what `written_calls` has, as syntax: of what loops run over, and of items by keys that data may say."""

import ast

from .written_calls import BETWEEN, EACH, ITEM, ROW, RUN, VIEW

NO_LISTS = ("range", "enumerate", "zip", "map", "filter", "reversed", ITEM, ROW)
VIEWS = ("keys", "values", "items")


def run_over_syntax(items: ast.expr) -> ast.expr:
    """What a loop runs over, if not what a call gives that has no list."""
    is_other = isinstance(items, ast.Call) and getattr(items.func, "id", "") in NO_LISTS
    items = view_run_over(slice_run_over(items))
    return items if is_other else written_call(RUN, items, items)


def slice_run_over(items: ast.expr) -> ast.expr:
    """A slice of which nothing is asked but its items, one after the other."""
    if not (isinstance(items, ast.Subscript) and isinstance(items.slice, ast.Slice) and items.slice.step is None):
        return items
    none = ast.copy_location(ast.Constant(None), items)
    return written_call(BETWEEN, items, items.value, items.slice.lower or none, items.slice.upper or none)


def view_run_over(items: ast.expr) -> ast.expr:
    """A view of a dict that data may choose, of which nothing is asked but its items: `g[u].items()`."""
    if not (isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute) and items.func.attr in VIEWS):
        return items
    if items.args or items.keywords or not is_item_read(items.func.value):
        return items
    return written_call(VIEW, items, ast.copy_location(ast.Constant(items.func.attr), items), *items.func.value.args)  # type: ignore[attr-defined]


def with_conditions_seen(node: ast.GeneratorExp) -> ast.GeneratorExp:
    """Where it has a condition, the sides of which are over with each item."""
    for generator in node.generators:
        if generator.ifs and not generator.is_async:
            generator.iter = written_call(EACH, generator.iter, generator.iter)
    return node


def is_item_read(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == ITEM


def as_row(node: ast.expr) -> ast.expr:
    """What an item is read of, or asked for: perhaps one of several lists, of which data say which one."""
    if is_item_read(node):
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        node.func.id = ROW
    return node


def written_call(name: str, place: ast.expr, *arguments: ast.expr) -> ast.Call:
    function = helper_name(name, place)
    for argument in arguments:
        if not hasattr(argument, "lineno"):
            ast.copy_location(argument, place)
    return ast.copy_location(ast.Call(function, list(arguments), []), place)


def helper_name(name: str, place: ast.expr) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), place)
