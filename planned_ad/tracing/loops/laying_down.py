"""What to raise where a list has to lie in memory, as an array does: the trace starts again; see `written_lists`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .references import refer_items

if TYPE_CHECKING:
    from .list_in_trace import ListInTrace

MOST_TAKEN = 1024  # elements that are taken one by one from the rows of a loop
SHRINKING = ("clear", "index", "pop", "remove")  # which lists do whose length is data
METHODS = frozenset(("clear", "count", "index", "insert", "pop", "remove", "reverse"))


def to_lay_down(items: Any) -> BaseException:
    """For a list that is read at an index that a loop or data say, or to which a loop writes."""
    decisions = items.recorder.scopes.decisions
    if decisions.filled_first.get(items.site):  # it seemed so
        decisions.filled_first[items.site] = False
        return items.recorder.scopes.restart()  # type: ignore[no-any-return]
    if items.site in decisions.written or items.site in decisions.filled:
        return refer_items(items)
    decisions.written[items.site] = None
    return items.recorder.scopes.restart()  # type: ignore[no-any-return]


def to_lay_down_if_better(items: Any) -> BaseException:
    """As `to_lay_down`; as rows of records where that is better."""
    return to_lay_down(items) if items.recorder.is_better_in_memory(items) else refer_items(items)


def to_replace(items: Any, value: Any) -> BaseException:
    """As `to_lay_down`, where something takes the place of an item: perhaps an array, that of another one."""
    decisions = items.recorder.scopes.decisions
    recorder, is_tried = items.recorder, items.site in decisions.written and items.site not in decisions.lengths
    is_inside = items.site in decisions.growing and recorder.scopes.depth > items.depth
    if is_tried and is_inside and recorder.is_scalar(value):  # perhaps it gets longer or shorter as data say
        del decisions.written[items.site]
        return items.uneven()  # type: ignore[no-any-return]
    if items.site in decisions.replaced or items.kind is not list or not items.recorder.is_array(value):
        return to_lay_down(items)
    decisions.written.setdefault(items.site)
    decisions.replaced.add(items.site)
    return items.recorder.scopes.restart()  # type: ignore[no-any-return]


def to_write_in_place(items: ListInTrace) -> BaseException:
    """Where an array is written to that is an item: they are all rows of memory, unless that was tried."""
    decisions = items.recorder.scopes.decisions
    if items.site in decisions.in_place or items.site in decisions.plain or items.kind is not list:
        return items.refuse()
    decisions.written.setdefault(items.site)
    decisions.replaced.add(items.site)
    decisions.in_place[items.site] = True
    return items.recorder.scopes.restart()


def to_replace_rows(items: ListInTrace) -> BaseException:
    """Where another array takes the place of one to which a loop writes: what is asked for is a copy, put back then."""
    decisions = items.recorder.scopes.decisions
    if decisions.in_place.get(items.site) is not True:
        return items.refuse()
    decisions.in_place[items.site] = False
    return items.recorder.scopes.restart()


def as_made(items: Any) -> bool:
    """Whether a list is what Python has made, or is from now on, and this is the block in which that was."""
    is_own = not (items.is_element or items.is_written) and items.kind is list
    if not is_own or items.scope is not items.recorder.scopes.innermost:
        return False
    length = items.extent()
    if not items.is_plain and isinstance(length, int) and length <= MOST_TAKEN:
        items.parts = items.elements()
    return items.is_plain  # type: ignore[no-any-return]


def method_of_list(items: Any, name: str) -> Any:
    """What a list that traced code has made does by itself under this name; None where it is not what Python made."""
    if name == "pop" and items.kind is list:
        return lambda *where: popped_item(items, *where)
    return method_as_made(items, name)


def popped_item(items: Any, *where: Any) -> Any:
    """Where data say which one it is, what is left is data too."""
    if where and items.recorder.is_scalar(where[0]):
        raise items.uneven()
    found = method_as_made(items, "pop")
    if found is None:
        raise items.refuse()
    return found(*where)


def method_as_made(items: Any, name: str) -> Any:
    if name in METHODS and items.is_as_made:
        return getattr(items.parts, name)
    if name in SHRINKING and items.kind is list and (name == "remove" or items.recorder.scopes.depth > items.depth):
        raise items.uneven()
    return None
