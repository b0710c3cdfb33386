"""A stand-in for what a variable no longer holds."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...python.shadows import is_user_frame
from .aliases import Refusal
from .recording import Recording

DIFFERS = "which differs in kind from one iteration or branch to another"
BEHIND = "a part of memory that was chosen by an earlier iteration or a branch, after it has been written to"


class Lost:
    """What a variable holds that is assigned anew before it is read. Where it is read first, the loop is unrolled."""

    __slots__ = ("_name", "_reason", "_recorder", "_refuse")

    def __init__(self, recorder: Recording, name: str, reason: str = DIFFERS, refuse: Refusal | None = None):
        object.__setattr__(self, "_refuse", refuse)
        object.__setattr__(self, "_recorder", recorder)
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_reason", reason)

    def __getattribute__(self, attribute: str) -> Any:
        is_ours = attribute == "__class__" and not is_user_frame(sys._getframe(1))
        if is_ours or attribute in ("_recorder", "_name", "_reason", "_refuse"):
            return object.__getattribute__(self, attribute)
        read_lost(self)


def read_lost(self: Lost, *args: Any, **kwargs: Any) -> Any:
    reason = f"reads `{self._name}`, {self._reason}"
    if self._refuse is not None:
        raise self._refuse(reason, False)
    raise self._recorder.scopes.unroll_innermost(reason, self._recorder.builder.line)


KEPT = {"__class__", "__getattribute__", "__init__", "__init_subclass__", "__new__", "__setattr__", "__subclasshook__"}
for _kind in (float, list, np.ndarray):
    for _name, _method in vars(_kind).items():
        if _name.startswith("__") and callable(_method) and _name not in KEPT:
            setattr(Lost, _name, read_lost)
