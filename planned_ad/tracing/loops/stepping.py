"""Loops of libraries of which is known that they cannot be recorded once: they are not tried."""

from __future__ import annotations

import functools
import os
import types

FOLDERS = (os.path.join("scipy", "integrate", "_ivp", ""),)  # steps of a length that their errors decide
REASON = "takes steps in SciPy whose length data decide"


def is_stepping(code: types.CodeType) -> bool:
    """Whether it is of such a library: its tests are those of the example, and its loops are unrolled."""
    return _is_in_folder(code.co_filename)


@functools.lru_cache(maxsize=4096)
def _is_in_folder(file: str) -> bool:
    return any(folder in file for folder in FOLDERS)
