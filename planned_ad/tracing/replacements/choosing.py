"""What traced code sees in place of `max` and `min`: the choice is data, where it is one between numbers.

By a `key`, too: `max(range(k, n), key=lambda i: abs(A[i, k]))` is a loop that hands on the best item and its key. Of
other things than numbers, which no memory can hold in turn, each comparison is a test as if it were written out; and so
is each where the program asks with `is` which of the numbers it got.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import control
from ...python.written_calls import may_be_tested_together, tested_together
from ...regions.affine import exact, ragged
from ...tape.guards import RAISES
from ..lengths.elements import Length, RunTime
from ..loops.consumers import is_generator_expression, joined
from ..loops.dict_of_items import SetOfKeys
from ..loops.dict_order import OrderedView
from ..loops.dict_tables import item_by_key, ordered_view
from ..loops.expressions import as_expression
from ..loops.heaps import Heap
from ..loops.iteration import Sequence
from ..loops.list_functions import collected_items
from ..loops.list_in_trace import is_traced_list
from ..loops.none_or_value import decided
from ..loops.read_copies import copies_of, site_of_copies
from ..loops.references import RecordInRow
from ..loops.run_time_lists import RunTimeList
from ..loops.sequences import sequence_of
from ..loops.traced_list import TracedList
from ..record.decisions import Site
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.traced import TracedArray
from ..values.elementwise import elementwise
from ..values.loop_index import LoopIndex, index_of
from ..values.number_types import ALWAYS_ONE, FLOAT, can_be_one, is_lost_in, number_class, told_apart, types_of
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .sorting import arrays_of_numbers, numbers_of, positions_in_order

SEEN = "of numbers that are told apart, by `is` or by their type"
NUMBERS = (int, float, bool, np.number)
MOST_INTEGER = 1 << 53
PLAIN_NUMBERS = (int, float, bool, np.float64, np.bool_)


def choosing(recorder: Recorder, function: Callable[..., Any], compare: np.ufunc) -> Callable[..., Any]:
    """What stands for `max` (which takes what is `greater`) or `min`."""

    @functools.wraps(function, ("__name__", "__doc__"), ())
    def choose(*args, **options):
        decisions = recorder.scopes.decisions
        if decisions.chosen:
            if recorder.scopes.depth:
                raise recorder.scopes.unroll_innermost(f"takes the {function.__name__} {SEEN}", recorder.builder.line)
            return function(*args, **options)
        frame = sys._getframe(1)
        found = one_of((frame.f_code, frame.f_lasti), args, options)
        if recorder.is_scalar(found):
            recorder.chosen.add(found.value)
        return found

    def one_of(site, args, options):
        view = ordered_view(args[0]) if len(args) == 1 else None
        given: Any = view if view is not None else as_expression(recorder, args[0]) if len(args) == 1 else None
        if options.get("key") is not None and set(options) == {"key"}:
            if issubclass(type(given), SetOfKeys):
                given = recorder.namespace.function(control._elements)(given)
            if is_generator_expression(given) and site not in recorder.scopes.decisions.plain:
                given = collected_items(recorder, given, site, list)
            return best_by_key(recorder, site, function, given if len(args) == 1 else list(args), options["key"])
        if type(given) is Heap:
            given = given.in_any_order()
        is_filled = is_traced_list(given) and not given.is_plain
        is_filled |= is_axis(given) or view is not None
        if options.get("key") is None and (is_filled or is_generator_expression(given)):
            return best_of(site, given, options)
        items = list(given) if len(args) == 1 else list(args)
        if options.get("key") is not None or not items or not any(is_scalar(recorder, item) for item in items):
            return function(items, **options)  # by comparisons: each is a guard
        recorder.mark()
        best = items[0]
        for item in items[1:]:
            best = better(best, item)
        return best

    def better(best: Any, item: Any) -> Any:
        if type(best) is type(item) is tuple and is_lexicographic(best, item):
            takes = precedes(recorder, compare, item, best)
            return tuple(where(recorder, takes, a, b) for a, b in zip(item, best))
        is_known = not is_scalar(recorder, item) and not is_scalar(recorder, best)
        if is_known or recorder.is_array(item) or recorder.is_array(best):  # arrays of no axes, one of which it is
            return function(best, item)
        return where(recorder, elementwise(recorder, compare, (item, best), is_operator=True), item, best)

    def is_lexicographic(best: tuple[Any, ...], item: tuple[Any, ...]) -> bool:
        """Whether these are tuples of as many numbers, of which some are traced."""
        are_alike = len(best) == len(item) and all(is_number(recorder, a, b) for a, b in zip(best, item))
        return are_alike and any(is_scalar(recorder, part) for part in (*best, *item))

    def best_of(site: Site, items: Any, options: dict[str, Any]) -> Any:
        """Of items that a loop may compare."""
        recorder.mark()
        if type(items) in (RunTimeList, OrderedView):
            if "default" in options and not items:
                return options["default"]
            return joined(recorder, (item for item in items), items.first(function), better)
        if not is_generator_expression(items):
            return joined(recorder, (item for item in items[1:]), items[0], better)
        types = recorder.scopes.decisions.best.get(site)
        if types is not None:
            return best_tuple(items, types, options)

        def first_or_better(best: Any, item: Any) -> Any:
            if type(item) is tuple and recorder.scopes.depth and is_lexicographic(item, item):
                recorder.scopes.decisions.best[site] = [min(types_of(part), key=str) for part in item]
                raise recorder.scopes.restart()
            if best is None and is_of_moving_length(recorder) and is_scalar(recorder, item):
                recorder.scopes.decisions.best[site] = (min(types_of(item), key=str),)
                raise recorder.scopes.restart()
            best = decided(best)
            return item if best is None else better(best, item)

        best = decided(joined(recorder, items, None, first_or_better))
        return function((), **options) if best is None else best

    def best_tuple(items: Any, types: list[Any] | tuple[Any], options: dict[str, Any]) -> Any:
        """Of tuples of numbers of these types, or of numbers, which a loop gives; and whether there was one."""
        are_numbers = type(types) is tuple

        def first_or_better(best: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
            item = (item,) if are_numbers else item
            if type(item) is not tuple or not is_lexicographic(best[1:], item):
                raise recorder.scopes.unroll_innermost("compares tuples of other numbers", recorder.builder.line)
            takes = precedes(recorder, compare, item, best[1:])
            takes = elementwise(recorder, np.logical_or, (elementwise(recorder, np.logical_not, (best[0],)), takes))
            takes = takes.item() if recorder.is_array(takes) else takes
            return True, *(where(recorder, takes, a, b) for a, b in zip(item, best[1:]))

        none = False, *(number_class(*each)(0) for each in types)
        is_there, *best = joined(recorder, items, none, first_or_better)
        if recorder.is_scalar(is_there) and not (is_caught(ValueError) or "default" in options):
            recorder.scopes.require_after(recorder.value_of(is_there), RAISES)
        elif not is_there:
            return function((), **options)
        return best[0] if are_numbers else tuple(best)

    return choose


def choice_of_names(recorder: Recorder) -> Callable[..., Any]:
    """What stands for `one if test else other`, of which both are there already: of numbers of one type no branch."""

    def choose(test: Any, one: Any, other: Any) -> Any:
        test = decided(test)
        if type(test) is not ScalarTracer or test.is_known or not is_number(recorder, one, other):
            return one if test else other
        types = types_of(one) | types_of(other)
        is_float = all(dtype.kind == "f" for dtype, _ in types)
        are_known = not (recorder.scopes.depth or recorder.is_scalar(one) or recorder.is_scalar(other))
        if are_known or any(dtype.kind == "b" for dtype, _ in types) or any(map(is_beyond_memory, (one, other))):
            return one if test else other
        is_one = len(types) == 1 or (is_float and not recorder.scopes.decisions.chosen)
        narrow = min((dtype for dtype, is_python in types if not is_python), key=lambda d: d.itemsize, default=FLOAT)
        if (
            not is_one
            or not (is_float or recorder.scopes.depth)
            or is_lost_in(one, narrow)
            or is_lost_in(other, narrow)
        ):
            return one if test else other
        recorder.mark()
        truth = test if test.dtype.kind == "b" else elementwise(recorder, np.not_equal, (test, 0), is_operator=True)
        found = where(recorder, truth, one, other)
        if len(types) == 1:
            return found
        recorder.chosen.add(found.value)
        return ScalarTracer(recorder, found.value, found.is_python, types)

    return choose


def is_beyond_memory(item: Any) -> bool:
    """Whether it is an integer that the tape may not have."""
    return type(item) is int and abs(item) > MOST_INTEGER


def comparisons(recorder: Recorder) -> dict[int, object]:
    """What stands for `low <= value < high and value != last`: one test, where all are numbers and one is data."""

    def may_be_together(*names: Any) -> bool:
        are_numbers = all(type(item) is ScalarTracer or type(item) in PLAIN_NUMBERS for item in names)
        data = [item for item in names if type(item) is ScalarTracer]
        are_alike = all(len({dtype for dtype, _ in item.types}) < 2 for item in data)
        return are_numbers and are_alike and any(not item.is_known for item in data)

    def together(form: Any, *truths: Any) -> Any:
        if type(form) is int:
            return truth_of(truths[form])
        kind, *parts = form
        found = [together(part, *truths) for part in parts]
        if kind == "not":
            return logical("logical_not", *found) if type(found[0]) is ScalarTracer else not found[0]
        if any(part is (kind == "or") for part in found):
            return kind == "or"
        left = [part for part in found if type(part) is ScalarTracer]
        return functools.reduce(functools.partial(logical, f"logical_{kind}"), left) if left else kind == "and"

    def truth_of(item: Any) -> Any:
        if type(item) is not ScalarTracer:
            return bool(item)
        return item if item.dtype.kind == "b" else elementwise(recorder, np.not_equal, (item, 0), is_operator=True)

    def logical(name: str, *truths: Any) -> ScalarTracer:
        return ScalarTracer(recorder, recorder.apply(name, *(truth.value for truth in truths)), is_python=True)

    return {id(may_be_tested_together): may_be_together, id(tested_together): together}


def is_of_moving_length(recorder: Recorder) -> bool:
    """Whether the innermost loop runs another number of times in each iteration of those around."""
    loops = [scope.loop for scope in recorder.scopes.open if scope.loop is not None]
    return len(loops) > 1 and type(loops[-1].trips) is not int


def precedes(recorder: Recorder, compare: np.ufunc, item: tuple[Any, ...], best: tuple[Any, ...]) -> Any:
    """Whether a tuple comes before another one: the first numbers in which they differ say it."""
    takes: Any = False
    for a, b in reversed([*zip(item, best)]):
        is_equal = elementwise(recorder, np.equal, (a, b), is_operator=True)
        takes = elementwise(recorder, np.logical_and, (is_equal, takes))
        takes = elementwise(recorder, np.logical_or, (elementwise(recorder, compare, (a, b), is_operator=True), takes))
    return takes.item() if recorder.is_array(takes) else takes


def best_by_key(
    recorder: Recorder, site: Site, function: Callable[..., Any], items: Any, key: Callable[[Any], Any]
) -> Any:
    """The first item whose key no other one exceeds (or is below)."""
    better, key = operator.gt if function is max else operator.lt, item_by_key(key)
    recorder.mark()

    def chosen(best: tuple[Any, Any], found: tuple[Any, Any]) -> tuple[Any, Any]:
        takes = better(found[1], best[1])
        if not recorder.is_scalar(takes):
            return found if takes else best
        if all(is_number(recorder, a, b) for a, b in zip(found, best)):
            return where(recorder, takes, found[0], best[0]), where(recorder, takes, found[1], best[1])
        (item, number), (other, least) = found, best
        are_tuples = type(item) is type(other) is tuple and len(item) == len(other)
        are_tuples = are_tuples and site not in recorder.scopes.decisions.plain
        if are_tuples and all(is_number(recorder, a, b) for a, b in zip((*item, number), (*other, least))):
            recorder.rows_given.add(site)  # which is another tuple
            parts = tuple(where(recorder, takes, a, b) for a, b in zip(item, other))
            return parts, where(recorder, takes, number, least)
        is_record = issubclass(type(item), RecordInRow) and issubclass(type(other), RecordInRow)
        if is_record and item.record_reference == other.record_reference and is_number(recorder, number, least):
            row = where(recorder, takes, item.record_row, other.record_row)
            return item.record_reference.made(row), where(recorder, takes, number, least)
        return found if bool(takes) else best

    sequence = sequence_of(recorder, items)
    is_list = type(items) in (RunTimeList, OrderedView)
    if sequence is not None and not (is_list or isinstance(sequence.length, int)):
        sequence = None
    rest = None if sequence is None else without_first(recorder, sequence)
    if sequence is None or rest is None:
        is_long = type(items) is TracedList and type(items.extent()) is int and len(items) > recorder.unroll
        if is_long and recorder.scopes.may_try(site_of_copies(site)):
            keys = recorder.namespace.function(control._keys)(items, key).traced()
            columns = [keys] if keys.ndim == 1 else [keys[:, k] for k in range(keys.shape[1])]
            return items[place_of_best(recorder, function, columns)]
        pairs = [(item, key(item)) for item in items]
        numbers = numbers_of(recorder, [number for _, number in pairs]) if pairs else None
        if numbers is not None and not recorder.is_concrete(numbers) and recorder.scopes.may_try(site_of_copies(site)):
            copies = copies_of(recorder, site_of_copies(site), [item for item, _ in pairs])
            if copies is not None:
                return copies.item(place_of_best(recorder, function, numbers))
        return functools.reduce(chosen, pairs)[0] if pairs else function(())
    first = items.first(function) if is_list else sequence.item(0)
    return joined(recorder, ((item, key(item)) for item in rest), (first, key(first)), chosen)[0]


def place_of_best(recorder: Recorder, function: Callable[..., Any], numbers: list[Any]) -> Any:
    """The first place of the most or least, of several numbers the first ones first."""
    if len(numbers) > 1:
        return positions_in_order(recorder, numbers, reverse=function is max)[0].item()
    (array,) = arrays_of_numbers(recorder, numbers)
    return recorder.call(np.argmax if function is max else np.argmin, (array,), {}).item()


def without_first(recorder: Recorder, sequence: Sequence) -> Sequence | None:
    """The other items; None where it is not certain that there is one, or that they are numbers."""
    if isinstance(sequence.length, RunTime):
        count = recorder.apply("subtract", sequence.length.count, recorder.constant(1, INT))
        count = recorder.apply("maximum", count, recorder.constant(0, INT))
        others: Length = RunTime(count, max(sequence.length.most - 1, 0))
        return Sequence(recorder, others, lambda k: sequence.item(k + 1), sequence.holders, sequence.is_plain)
    if getattr(type(sequence), "is_iterator", False):
        return None
    length = exact(sequence.length)
    first = sequence.item(0) if (index_of(recorder, length) > 0) is True else None
    if not is_number(recorder, first) and not issubclass(type(first), RecordInRow):
        return None
    left = ragged(recorder.scopes.capacity(length - 1), length - 1)
    return Sequence(recorder, left, lambda k: sequence.item(k + 1), sequence.holders, sequence.is_plain)


def is_axis(items: Any) -> bool:
    """Whether these are the numbers of an array, which a loop may compare."""
    return issubclass(type(items), TracedArray) and not items.is_known and items.ndim == 1 and len(items) > 1


def is_scalar(recorder: Recorder, item: Any) -> bool:
    """Whether it is a traced number."""
    return recorder.is_scalar(item) or (recorder.is_array(item) and not item.ndim and not recorder.is_concrete(item))


def is_number(recorder: Recorder, *items: Any) -> bool:
    """Whether these are numbers that can take turns in one place."""
    if not all(recorder.is_scalar(item) or type(item) is LoopIndex or isinstance(item, NUMBERS) for item in items):
        return False
    return can_be_one(frozenset().union(*map(types_of, items)))


def where(recorder: Recorder, condition: Any, a: Any, b: Any) -> Any:
    """`a if condition else b` for scalars."""
    if not recorder.is_scalar(condition):
        return a if condition else b
    types = types_of(a) | types_of(b)
    if not can_be_one(types):
        raise told_apart(recorder, types)
    dtype = recorder.result_type(a, b)
    value = recorder.apply("where", condition.value, recorder.value_of(a, dtype), recorder.value_of(b, dtype))
    is_python = all(is_python for _, is_python in types)
    return ScalarTracer(recorder, value, is_python, types if len(types) > 1 else ALWAYS_ONE)
