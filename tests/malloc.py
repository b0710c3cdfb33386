"""Count what a call allocates: mallocs in the whole process, and blocks of Python's own allocator.

`count_in_subprocess` runs a snippet in a child into which ``malloc_count.c`` is preloaded. It cannot see memory that
is mapped directly (``mmap``), nor Python objects from a free list; ``python_objects=True`` sends the other objects
through malloc, so that one which is made and dropped again within a call is counted too.

Each snippet runs in a fork of a process that was started with it (`tests.forks`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from .forks import server

HERE = Path(__file__).parent

MEASURE = """
import ctypes as _ctypes, itertools as _itertools, json as _json, sys as _sys
_shim = _ctypes.CDLL({library!r})
_shim.malloc_count_start.restype = None
_shim.malloc_count_stop.restype = _ctypes.c_long

def _measure(function, repeats):
    blocks = _sys.getallocatedblocks()
    _shim.malloc_count_start()
    for _ in repeats:
        function()
    mallocs = _shim.malloc_count_stop()
    return mallocs, _sys.getallocatedblocks() - blocks

for _ in range(3):
    _measure(call, _itertools.repeat(None, 100))
_idle = _measure(object.__init_subclass__, _itertools.repeat(None, {calls}))
_busy = _measure(call, _itertools.repeat(None, {calls}))
print(_json.dumps(dict(malloc=_busy[0] - _idle[0], blocks=_busy[1] - _idle[1])))
"""


def shim() -> Path:
    """The compiled counting library; skips the test where it cannot be had."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not sys.platform.startswith("linux") or compiler is None:
        pytest.skip("counting mallocs takes Linux with glibc and a C compiler")
    source = HERE / "malloc_count.c"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"planned_ad_malloc_count_{os.getuid()}_{digest}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            built = Path(folder) / library.name
            subprocess.run(
                [compiler, "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", str(built), str(source)], check=True
            )
            built.replace(library)  # atomic, for test processes that run side by side
    return library


def count_in_subprocess(code: str, calls: int = 1000, *, python_objects: bool = False) -> dict[str, int]:
    """Run `code`, which defines a function ``call()``, and count over `calls` calls after a warm-up.

    Returns
    -------
    dict
        ``malloc``: heap allocations; ``blocks``: the change of ``sys.getallocatedblocks()``. Those of the counting loop
        itself are subtracted.
    """
    options = {"PYTHONMALLOC": "malloc"} if python_objects else {}
    with tempfile.TemporaryDirectory() as folder:
        program = code + MEASURE.format(library=str(shim()), calls=calls)
        done = server(LD_PRELOAD=str(shim()), **options).run(program, Path(folder))
    assert done.status == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
