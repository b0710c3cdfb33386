"""Programs of the tests, by what is said of their loops; and such that are written by the tests."""

from __future__ import annotations

import inspect
import linecache
import re
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


def with_short_loops(f: Callable) -> Callable:
    """The same function with loops of three iterations each, where it says how many there are."""
    source = re.sub(r"for (.+) in range\(\d+\):", r"for \1 in range(3):", inspect.getsource(f))
    source = re.sub(r"for (.+) in range\((\d), \d+\):", lambda m: f"for {m[1]} in range({m[2]}, {m[2]} + 3):", source)
    source = source.replace("for v in x:", "for v in x[:3]:").replace("in enumerate(x):", "in enumerate(x[:3]):")
    return function_of(source, f"{f.__code__.co_filename} with short loops", **f.__globals__)
