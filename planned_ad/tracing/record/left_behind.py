"""Memory that functions which SciPy calls have written to: what it holds in the trace is not what it holds in a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...errors import UnsupportedError


class LeftBehind:
    """By the memory, its version when the callbacks were done, and the function of SciPy that calls them."""

    __slots__ = ("running", "stand_ins", "versions")

    def __init__(self) -> None:
        self.running = 0  # functions of SciPy that are being traced: callbacks may read what they have written
        self.stand_ins: list[Any] = []  # for what is no memory
        self.versions: dict[Any, tuple[int, str]] = {}

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Meanwhile callbacks are traced, or made plain functions of."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    def check(self, storage: Any, here: str) -> None:
        """Refuse to read what nobody has written to since."""
        version, name = self.versions.get(storage, (None, ""))
        if version == storage.version and not self.running:
            raise UnsupportedError(
                f"{here}: the traced function reads an array which a function that {name} calls has changed; SciPy "
                f"calls it when the plan runs"
            )
