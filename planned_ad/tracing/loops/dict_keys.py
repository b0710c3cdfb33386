"""Keys of dicts that lie in memory: what a traced integer or text is among those for which there is room.

A text is its place among all that are keys, as in `letters`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record.promotion import INT
from ..values.loop_index import LoopIndex
from ..values.number_types import NumberType
from ..values.scalar_tracer import ScalarTracer
from .letters import Letter, Letters, Text, is_text_or_member

if TYPE_CHECKING:
    from ..record.recorder import Recorder

Range = tuple[int, int]
MOST_PLACES = 1 << 22  # for how many keys there is room at most
MOST_COMPARED = 1 << 10  # keys that are looked up one by one, to see whether all are there


def texts_in(key: Any) -> list[Text]:
    """The texts that the parts of a key may be."""
    parts = key if type(key) is tuple else (key,)
    texts = [part.letters.texts if type(part) is Letter else (part,) for part in parts]
    return [text for text in itertools.chain(*texts) if is_text_or_member(text)]


def are_texts(key: Any) -> tuple[bool, ...]:
    """Which of its parts are texts."""
    parts = key if type(key) is tuple else (key,)
    return tuple(type(part) is Letter or is_text_or_member(part) for part in parts)


def is_all_known(key: Any) -> bool:
    """Whether it is a plain integer or text, or made of such."""
    return all(type(part) is int or is_text_or_member(part) for part in (key if type(key) is tuple else (key,)))


def number_of_part(recorder: Recorder, part: Any, texts: tuple[Text, ...]) -> Any:
    """An integer, as it is; a text of these by its place."""
    if is_text_or_member(part):
        return texts.index(part)
    if type(part) is not Letter:
        return part
    places = [texts.index(text) for text in part.letters.texts]  # type: ignore[arg-type]
    if places == list(range(len(places))):
        found = part.code
    else:
        found = recorder.concrete(np.array(places))[part.code].item()
    if type(found) is ScalarTracer:
        recorder.builder.limits.note(found.value, min(places), max(places))
    return found


def may_be(recorder: Recorder, key: Any) -> list[Any] | None:
    """All that a key may be; None where that is not known, or too many."""
    parts, each = key if type(key) is tuple else (key,), []
    count = 1
    for part in parts:
        known = (0, 0) if type(part) is Letter or is_text_or_member(part) else range_of(recorder, part)
        if known is None or known == UNKNOWN:
            return None
        texts = part.letters.texts if type(part) is Letter else (part,)
        each.append(texts if type(part) is Letter or is_text_or_member(part) else range(known[0], known[1] + 1))
        count *= len(each[-1])
        if count > MOST_COMPARED:
            return None
    return [found if type(key) is tuple else found[0] for found in itertools.product(*each)]


def kinds_of(key: Any) -> tuple[NumberType | None, ...]:
    """The types of the integers in a key; None for a text."""
    found: list[NumberType | None] = []
    for part in key if type(key) is tuple else (key,):
        if type(part) is Letter or is_text_or_member(part):
            found.append(None)
        elif type(part) is ScalarTracer:
            found.append((part.dtype, part.is_python))
        else:
            is_python = type(part) in (int, LoopIndex)
            found.append((INT if is_python else part.dtype, is_python))
    return tuple(found)


UNKNOWN = (1, 0)  # the range of an integer of which it is not known


def lies_between(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] <= inner[1] <= outer[1]


def range_of(recorder: Recorder, number: Any) -> Range | None:
    """Between which integers a part of a key is; None for what is no integer."""
    if type(number) is int or issubclass(type(number), np.integer):
        return int(number), int(number)
    if type(number) is LoopIndex:
        return recorder.scopes.bounds(number.expression)
    if type(number) is not ScalarTracer or number.dtype.kind not in "iu" or number.types:
        return None
    first, last = recorder.builder.limits.of(number.value)
    if last - first < MOST_PLACES:
        return first, last
    return UNKNOWN if np.can_cast(number.dtype, INT) else None


def as_python(recorder: Recorder, number: Any) -> Any:
    """An integer as one of Python's, with which nothing overflows that a place is computed from."""
    if issubclass(type(number), np.integer):
        return int(number)
    if type(number) is not ScalarTracer or number.is_python:
        return number
    first, last = recorder.builder.limits.of(number.value)
    found = recorder.value_of(number, INT)
    recorder.builder.limits.note(found, first, last)
    return ScalarTracer(recorder, found, is_python=True)


def clamped(recorder: Recorder, number: ScalarTracer, first: int, last: int) -> tuple[ScalarTracer, Any]:
    """An integer between two others, and whether it was."""
    wanted, apply = recorder.value_of(number, INT), recorder.apply
    low, high = (recorder.constant(bound, INT) for bound in (first, last))
    inside = apply("logical_and", apply("greater_equal", wanted, low), apply("less_equal", wanted, high))
    found = apply("minimum", apply("maximum", wanted, low), high)
    recorder.builder.limits.note(found, first, last)
    return ScalarTracer(recorder, found, is_python=True), inside


def key_of_place(
    recorder: Recorder,
    place: ScalarTracer,
    ranges: tuple[Range, ...],
    texts: tuple[Text, ...],
    kinds: tuple[NumberType | None, ...],
) -> list[Any]:
    """The parts of the key that has a place, each of its type; the reverse of a sum over the ranges."""
    parts: list[Any] = []
    rest: Any = place
    for k, ((first, last), kind) in enumerate(reversed([*zip(ranges, kinds)])):
        extent = last - first + 1
        number = rest if k == len(ranges) - 1 else rest % extent
        rest = rest // extent
        value = recorder.value_of(number + first, INT if kind is None else kind[0])
        recorder.builder.limits.note(value, first, last)
        is_python = kind is None or kind[1]
        part: Any = ScalarTracer(recorder, value, is_python=is_python)
        parts.append(part if kind is not None else Letters(texts[first : last + 1]).made(part - first))
    return parts[::-1]
