"""What the copy of a function that is traced calls in place of what is written: see `comprehensions`.

These are what it stands for. Looked up among the built-ins, under names that no program has; the tracer has its own.
"""

from __future__ import annotations

from typing import Any

from .exit_syntax import ENDLESS, EXITS

COLLECTED, DISPLAY = "__planned_ad_collected__", "__planned_ad_display__"
CONTAINER = "__planned_ad_container__"
RECORD, TABLE = "__planned_ad_record__", "__planned_ad_table__"
IS_ONE, ONE = "__planned_ad_is_one__", "__planned_ad_one__"
ITSELF, IS_NONE, SORT = "__planned_ad_itself__", "__planned_ad_is_none__", "__planned_ad_sort__"
INDEX, REMOVE, EACH = "__planned_ad_index__", "__planned_ad_remove__", "__planned_ad_each__"
ITEM, ROW, LENGTH = "__planned_ad_item__", "__planned_ad_row__", "__planned_ad_length__"
WHOLE, COPIED = "__planned_ad_whole__", "__planned_ad_copied__"
BETWEEN, EITHER = "__planned_ad_between__", "__planned_ad_either__"
TESTED, MAY_BE_TESTED = "__planned_ad_tested__", "__planned_ad_may_be_tested__"
FIRST, IS_TRUTH = "__planned_ad_first__", "__planned_ad_is_truth__"
HAS, GET, RUN = "__planned_ad_has__", "__planned_ad_get__", "__planned_ad_run__"
VIEW = "__planned_ad_view__"


def collected(items: Any, kind: Any = list) -> Any:
    """What a list comprehension stands for; the tracer has its own."""
    return kind(items)


def display(items: list) -> list:
    """What a list display that is assigned stands for; the tracer has its own."""
    return items


def record(items: Any) -> Any:
    """What another list, dict or set display stands for; the tracer has its own."""
    return items


def dict_made(items: Any) -> Any:
    """What an assigned dict stands for, or one of such pairs of keys and values; the tracer has its own."""
    return items if type(items) is dict else dict(items)


def made_container(kind: Any, *args: Any, **options: Any) -> Any:
    """What `deque(...)`, `defaultdict(...)`, `set(...)` and the like stand for; the tracer has its own."""
    return kind(*args, **options)


def itself(obj: object) -> object:
    """What is compared by `is`; the tracer has its own."""
    return obj


SAME = object()


def are_one(a: object, b: object) -> object:
    """What stands for `a is b` as `are_one(a, b) is SAME`; the tracer has its own."""
    return SAME if a is b else None


def is_none(obj: object) -> bool:
    """What `obj is None` stands for; the tracer has its own."""
    return obj is None


def exits(line: int, items: Any = None) -> Any:
    """What a loop runs over whose exits are followed, by the line of its statement; the tracer has its own."""
    return items


def sort(items: Any, **options: Any) -> None:
    """What `items.sort(...)` stands for; the tracer has its own."""
    items.sort(**options)


def index(items: Any, value: Any) -> Any:
    """What `items.index(value)` stands for; the tracer has its own."""
    return items.index(value)


def remove_value(items: Any, value: Any) -> Any:
    """What `items.remove(value)` stands for; the tracer has its own."""
    return items.remove(value)


def tested_items(items: Any) -> Any:
    """What a generator expression with a condition runs over; the tracer has its own."""
    return items


def item_of(holder: Any, *keys: Any) -> Any:
    """What `holder[key]`, or `holder[key][other]`, stands for; the tracer has its own."""
    for key in keys:
        holder = holder[key]
    return holder


def chosen_row(holder: Any, *keys: Any) -> Any:
    """What `holder[key]` stands for of which an item is read, by a key that is computed after it: `a[i][b[j]]`."""
    return item_of(holder, *keys)


def item_count(function: Any, holder: Any, *keys: Any) -> Any:
    """What `len(holder[key])` stands for, by the function that `len` is; the tracer has its own."""
    return function(item_of(holder, *keys))


def view_of_item(name: str, holder: Any, *keys: Any) -> Any:
    """What a loop runs over that runs over `holder[key].items()`, or another view; the tracer has its own."""
    return getattr(item_of(holder, *keys), name)()


def is_in(key: Any, holder: Any) -> bool:
    """What `key in holder` stands for; the tracer has its own."""
    return key in holder


def item_or_default(holder: Any, *args: Any) -> Any:
    """What `holder.get(key)`, or `holder.get(key, default)`, stands for; the tracer has its own."""
    return holder.get(*args)


def items_of_loop(items: Any) -> Any:
    """What a loop runs over that may be a list of plain numbers; the tracer has its own."""
    return items


def all_items(items: Any) -> Any:
    """What `items[:]` stands for; the tracer has its own."""
    return items[:]


def copied(items: Any) -> Any:
    """What `items.copy()` stands for; the tracer has its own."""
    return items.copy()


def items_between(items: Any, start: Any, stop: Any) -> Any:
    """What a loop runs over that runs over `items[start:stop]`; the tracer has its own."""
    return items[start:stop]


def one_or_other(test: Any, one: Any, other: Any) -> Any:
    """What `one if test else other` stands for, of which both are there already; the tracer has its own."""
    return one if test else other


def first_of_all(items: Any) -> Any:
    """What `next(iter(items))` stands for; the tracer has its own."""
    return next(iter(items))


def is_truth_itself(obj: object, truth: bool) -> bool:
    """What `obj is True`, or `obj is False`, stands for; the tracer has its own."""
    return obj is truth


def tested_together(form: Any, *truths: Any) -> Any:
    """What truths stand for that are joined so, all of which are computed; the tracer has its own."""
    raise NotImplementedError


def may_be_tested_together(*names: Any) -> bool:
    """Whether comparisons of what has these names are; the tracer has its own."""
    return False


HELPERS: dict[str, Any] = {
    SORT: sort, COLLECTED: collected, DISPLAY: display, RECORD: record, TABLE: dict_made, CONTAINER: made_container,
    ITSELF: itself, IS_NONE: is_none, EXITS: exits, ITEM: item_of, ROW: chosen_row, LENGTH: item_count, INDEX: index,
    REMOVE: remove_value,
    IS_ONE: are_one, ONE: SAME, EACH: tested_items, HAS: is_in, GET: item_or_default, RUN: items_of_loop, ENDLESS: True,
    VIEW: view_of_item,
    WHOLE: all_items, COPIED: copied, BETWEEN: items_between, EITHER: one_or_other,
    FIRST: first_of_all, IS_TRUTH: is_truth_itself,
    TESTED: tested_together, MAY_BE_TESTED: may_be_tested_together,
}  # fmt: skip
