"""What is asked of a class again and again, kept as long as the class is there.

Each trace makes classes of its own (`shadows`), which lead to all that it has met.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

Found = TypeVar("Found")


def kept_by_class(function: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """`function` of a class, asked once for each; its answer must not lead to the class."""
    answers: weakref.WeakKeyDictionary[Any, Found] = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def kept(kind: Any) -> Found:
        try:
            return answers[kind]
        except KeyError:
            answers[kind] = found = function(kind)
            return found

    return kept
