"""Keys, part by part."""

from __future__ import annotations

from typing import Any

WHOLE = slice(None)


def expanded(ndim: int, key: Any) -> list[Any]:
    """The parts of a key: one for each axis of an array of `ndim`, and None for new axes."""
    parts = list(key) if type(key) is tuple else [key]
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    where = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[where : where + 1] = [WHOLE] * (ndim - used)
    return parts


def takes_all(parts: Any) -> bool:
    """Whether these parts of a key take everything."""
    return all(type(part) is slice and part == WHOLE for part in parts)
