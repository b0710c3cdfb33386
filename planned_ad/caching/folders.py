"""Where files of the cache lie.

By Numba's convention, in `__pycache__` beside the file of the function where that can be written to, else in a folder
of the user's. `PLANNED_AD_CACHE_DIR` or `planned_ad.cache_dir` names one for all; "off" or None is none at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import cast

VARIABLE = "PLANNED_AD_CACHE_DIR"
OFF = ("", "off", "none", "0")
UNSET = object()

_chosen: object = UNSET  # by `cache_dir`: a Path, None, or not at all
_belongs_to: ContextVar[str] = ContextVar("belongs_to", default="")  # the file of the function that is being compiled


def cache_dir(folder: str | os.PathLike[str] | object | None = UNSET) -> Path | None:
    """Where later processes find what is compiled: said for all functions, or asked for.

    Parameters
    ----------
    folder : path or None, optional
        From now on the folder of all functions, in this process; None: nothing is read or written.

    Returns
    -------
    Path or None
        The folder of all functions; the user's own, where each function has one beside its file.

    Notes
    -----
    Unless it is said here or by the environment variable `PLANNED_AD_CACHE_DIR` ("off" for none), it is `__pycache__`
    beside the file of the function, or a folder of the user's where that cannot be written to, as Numba does it.
    """
    global _chosen
    if folder is not UNSET:
        _chosen = None if folder is None else Path(cast(str, folder)).expanduser()
    said = _said()
    return users_folder() if said is UNSET else said  # type: ignore[return-value]


def _said() -> object:
    """The folder that was named for all, None for no cache, UNSET where nothing was said."""
    if _chosen is not UNSET:
        return _chosen
    variable = os.environ.get(VARIABLE)
    if variable is None:
        return UNSET
    return None if variable.strip().lower() in OFF else Path(variable).expanduser()


def users_folder() -> Path:
    """A folder of the user's, where the system keeps such."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "planned_ad"


@contextlib.contextmanager
def belonging_to(file: str) -> Iterator[None]:
    """What is compiled meanwhile belongs to a function of this file."""
    token = _belongs_to.set(file)
    try:
        yield
    finally:
        _belongs_to.reset(token)


def folder_now() -> Path | None:
    """Where to look, and to write."""
    said = _said()
    if said is not UNSET:
        return said  # type: ignore[return-value]
    file = _belongs_to.get()
    if file and os.path.isfile(file):
        around = Path(file).resolve().parent
        cache = around / "__pycache__"
        if os.access(cache if cache.is_dir() else around, os.W_OK):
            return cache
    return users_folder()


def remember(folder: Path) -> None:
    """Have `all_folders` know of a folder beside functions."""
    home = users_folder()
    if folder == home or _said() is not UNSET:
        return
    name = home / "folders" / hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    with contextlib.suppress(OSError):
        if not name.exists():
            name.parent.mkdir(parents=True, exist_ok=True)
            name.write_text(str(folder))


def all_folders() -> list[Path]:
    """The folder that was said; else the user's, and those beside functions that were compiled."""
    said = _said()
    if said is not UNSET:
        return [] if said is None else [said]  # type: ignore[list-item]
    home, found = users_folder(), []
    with contextlib.suppress(OSError):
        found = [Path(name.read_text()) for name in sorted((home / "folders").iterdir())]
    return [home, *(folder for folder in found if folder.is_dir())]
