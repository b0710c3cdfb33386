"""Programs of the tests, by what is said of their loops; and such that are written by the tests."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any


class Programs:
    """Those of one file: all of them, and of these the ones whose loops are recorded as loops."""

    def __init__(self) -> None:
        self.all: list[Callable] = []
        self.loops: list[Callable] = []

    def program(self, f: Callable) -> Callable:
        self.all.append(f)
        return f

    def rolled(self, f: Callable) -> Callable:
        self.loops.append(f)
        return self.program(f)


def function_of(source: str, name: str, **names: Any) -> Callable:
    """The function `f` of a source, which is at hand under this name of a file."""
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    exec(compile(source, name, "exec"), names)
    return names["f"]  # type: ignore[no-any-return]
