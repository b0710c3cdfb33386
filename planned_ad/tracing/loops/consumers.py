"""Generator expressions whose items we ask for ourselves, so that the loops in them may be recorded as loops."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...python.instructions import instructions_of
from ..record.recorder import Recorder


@dataclass
class Consumer:
    """Who asks a generator expression for its items: part of the state that the loops in it change."""

    value: Any
    may_end: bool = False  # before there are no more of them


def ended(error: RuntimeError) -> BaseException:
    """What a comprehension raises where a generator expression in its place does: an iterator's end as it is."""
    is_end = isinstance(error.__cause__, StopIteration) and error.args == ("generator raised StopIteration",)
    return error.__cause__ if is_end and error.__cause__ is not None else error


def is_generator_expression(items: Any) -> bool:
    return type(items) is types.GeneratorType and items.gi_code.co_name == "<genexpr>" and items.gi_frame is not None


def assigns(code: types.CodeType) -> bool:
    """Whether a generator expression binds a variable of the function around, by `:=`."""
    stores = ("STORE_DEREF", "STORE_GLOBAL", "STORE_NAME")
    return any(instruction.opname in stores for instruction in instructions_of(code))


def joined(recorder: Recorder, items: Any, start: Any, join: Callable[[Any, Any], Any], last: Any = None) -> Any:
    """`join` of all the items of a generator expression up to `last`, whose loops may be recorded as loops."""
    consumer, frame = Consumer(start, last is not None), items.gi_frame
    assert frame is not None
    recorder.consumers[frame] = consumer
    try:
        for item in items:
            consumer.value = join(consumer.value, item)
            if last is not None and consumer.value is last:
                break
    finally:
        del recorder.consumers[frame]
    return consumer.value
