"""Refusals that the traced function catches: what comes after would be recorded, and not be what the function does."""

from __future__ import annotations

import sys

from ...errors import TraceError
from ...python.liveness import is_in_users_try


class CaughtRefusals:
    """Remembers the first refusal that was made inside of a `try`, or a `with`, of the user's code."""

    def __init__(self) -> None:
        self.first: TraceError | None = None

    def told(self, error: TraceError) -> None:
        if self.first is None and is_in_users_try(sys._getframe(1)):
            self.first = error

    def check(self) -> None:
        """Called where the function has come to its end all the same."""
        if self.first is not None:
            raise TraceError(f"the function has caught this, and gone on: {self.first}") from self.first
