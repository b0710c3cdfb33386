"""A stand-in for what a variable no longer holds."""

from __future__ import annotations

from typing import Any

from .recording import Recording

DIFFERS = "which differs in kind from one iteration or branch to another"
BEHIND = "a part of memory that was chosen by an earlier iteration or a branch, after it has been written to"


class Lost:
    """What a variable holds that is assigned anew before it is read. Where it is read first, the loop is unrolled."""

    __slots__ = ("_name", "_reason", "_recorder")

    def __init__(self, recorder: Recording, name: str, reason: str = DIFFERS):
        object.__setattr__(self, "_recorder", recorder)
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_reason", reason)

    def __getattribute__(self, attribute: str) -> Any:
        if attribute in ("_recorder", "_name", "_reason", "__class__"):
            return object.__getattribute__(self, attribute)
        raise self._recorder.scopes.unroll_innermost(
            f"reads `{self._name}`, {self._reason}", self._recorder.builder.line
        )


for _name in [
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "matmul",
    "rmatmul",
    "getitem",
    "setitem",
    "len",
    "iter",
    "neg",
    "pos",
    "abs",
    "bool",
    "float",
    "int",
    "index",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "contains",
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "array",
    "array_ufunc",
]:
    setattr(Lost, f"__{_name}__", lambda self, *args, **kwargs: self.used)
