"""Bytes under keys, in files: what is found is what was put under the same key, whole, or nothing is found.

A file is written beside its place and then moved there, so that no process ever sees a part of one, whoever writes at
the same time or is killed meanwhile; its contents follow a digest of the key and of them, so that what a disk has
spoilt, or somebody has renamed, is as good as not there. Whatever the system refuses (no room, no permission) means
that there is no cache, never an error.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from . import folders

MAGIC = b"planned_ad 3\n"  # then the digest of key and rest, which is `about`, its length before it, and the contents
HEAD = len(MAGIC) + 32
SUFFIX = ".pladc"
UNFINISHED = ".pladc-part"
MOST_BYTES = 256 * 2**20  # of one folder; the oldest go first
MOST_TOLD = 200  # bytes
LEFT_BEHIND = 3600.0  # seconds, after which an unfinished file is one of a process that was killed
USED_AGAIN = 3600.0  # seconds, after which a use is noted in the file's time


def key_of(*parts: object) -> str:
    """A key for what depends on these alone, each told by how it is written."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


@functools.cache
def own_files() -> str:
    """A digest of this package, by its files: in development its version says little."""
    return key_of(sorted(files_below(os.path.dirname(os.path.dirname(__file__)))))


def files_below(folder: str) -> Iterator[tuple[str, int, int]]:
    """The Python files in a folder: name, time, size."""
    with os.scandir(folder) as around:
        for file in around:
            if file.name.endswith(".py"):
                known = file.stat()
                yield file.path, known.st_mtime_ns, known.st_size
            elif "." not in file.name and file.name != "__pycache__" and file.is_dir():
                yield from files_below(file.path)


def find(key: str) -> bytes | None:
    """What was put under a key, by whichever process."""
    folder = folders.folder_now()
    if folder is None:
        return None
    path = folder / f"{key}{SUFFIX}"
    try:
        data = path.read_bytes()
        if not data.startswith(MAGIC) or digest_of(key, data[HEAD:]) != data[len(MAGIC) : HEAD]:
            return None
        if time.time() - path.stat().st_mtime > USED_AGAIN:
            with contextlib.suppress(OSError):
                os.utime(path)
        return data[HEAD + 2 + int.from_bytes(data[HEAD : HEAD + 2], "little") :]
    except OSError:
        return None


def digest_of(key: str, contents: bytes) -> bytes:
    return hashlib.sha256(key.encode() + contents).digest()


def label_in(path: Path) -> str:
    """What a file of the cache says that it holds, for people."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD + 2)
            text = file.read(int.from_bytes(head[HEAD:], "little"))
        return text.decode("utf-8", "replace") if head.startswith(MAGIC) else ""
    except OSError:
        return ""


def put(key: str, contents: bytes, about: str = "") -> None:
    """Have `find` find `contents`; `about`: what they are, for people."""
    folder = folders.folder_now()
    if folder is None or len(contents) > MOST_BYTES // 4:
        return
    told = about.encode("utf-8", "replace")[:MOST_TOLD]
    contents = len(told).to_bytes(2, "little") + told + contents
    part = folder / f"{key}.{os.getpid()}.{secrets.token_hex(4)}{UNFINISHED}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(MAGIC + digest_of(key, contents) + contents)
            os.replace(part, folder / f"{key}{SUFFIX}")
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
        folders.remember(folder)
        trim(folder)
    except OSError:
        return


def files_in(folder: Path) -> list[tuple[float, int, Path]]:
    """The files of the cache in a folder, the oldest first: when last used, bytes, where."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as around:
        for file in around:
            if file.name.endswith((SUFFIX, UNFINISHED)):
                with contextlib.suppress(OSError):
                    known = file.stat()
                    found.append((known.st_mtime, known.st_size, Path(file.path)))
    return sorted(found)


def trim(folder: Path) -> None:
    """Remove what was used longest ago, so that no more than the most bytes are left, and what was never finished."""
    now, files = time.time(), files_in(folder)
    total = sum(nbytes for _, nbytes, _ in files)
    for used, nbytes, path in files:
        is_left = path.name.endswith(UNFINISHED) and now - used > LEFT_BEHIND
        if total > MOST_BYTES or is_left:
            with contextlib.suppress(OSError):
                path.unlink()
            total -= nbytes
