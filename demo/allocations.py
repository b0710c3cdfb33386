"""Count the heap allocations of a call, in a child process whose malloc is replaced by a counting one.

The counter is `tests/malloc_count.c`. Where it cannot be used (not Linux with glibc, or no C compiler), Python's own
allocators are asked instead, which see no plain malloc.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "tests" / "malloc_count.c"
CALLS = 1000


def allocations_per_call(module: str, maker: str) -> str:
    """How much the call that `module.maker()` returns allocates, and how that was counted."""
    counted = count_in_child(module, maker)
    if counted is not None:
        return f"{counted:g} (malloc and its kin, over {CALLS} calls)"
    blocks, peak = python_allocations(getattr(importlib.import_module(module), maker)())
    return f"{blocks} blocks kept, {peak} bytes at the peak (Python's allocators, {CALLS} calls; not malloc)"


def count_in_child(module: str, maker: str) -> float | None:
    """Allocations per call, or None where they cannot be counted."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not sys.platform.startswith("linux") or compiler is None or not SOURCE.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "malloc_count.so"
        command = [compiler, "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", str(library), str(SOURCE)]
        if subprocess.run(command, capture_output=True).returncode:
            return None
        command = [sys.executable, __file__, module, maker, str(library)]
        child = subprocess.run(
            command, env=dict(os.environ, LD_PRELOAD=str(library)), stdout=subprocess.PIPE, text=True
        )
        return None if child.returncode else json.loads(child.stdout.splitlines()[-1])


def counted(function: Callable[[], object], library: ctypes.CDLL) -> int:
    """Allocations in `CALLS` calls."""
    repeats = itertools.repeat(None, CALLS)
    library.malloc_count_start()
    for _ in repeats:
        function()
    return library.malloc_count_stop()


def heap_allocations(call: Callable[[], object], library: ctypes.CDLL) -> float:
    """Allocations per call, less those of the counting loop itself."""
    library.malloc_count_start.restype = None
    library.malloc_count_stop.restype = ctypes.c_long
    counted(call, library)  # warm up
    idle = counted(object.__init_subclass__, library)
    return (counted(call, library) - idle) / CALLS


def python_allocations(call: Callable[[], object]) -> tuple[int, int]:
    """Over `CALLS` calls: blocks of Python's allocator that are kept, and the peak of bytes in use.

    Those of the counting loop itself are subtracted.
    """
    busy, idle = [kept_and_peak(f) for f in (call, call, object.__init_subclass__)][1:]  # the first warms up
    return busy[0] - idle[0], busy[1] - idle[1]


def kept_and_peak(function: Callable[[], object]) -> tuple[int, int]:
    blocks = sys.getallocatedblocks()
    for _ in itertools.repeat(None, CALLS):
        function()
    blocks = sys.getallocatedblocks() - blocks
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in itertools.repeat(None, CALLS):
        function()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return blocks, peak


if __name__ == "__main__":
    name, maker, preloaded = sys.argv[1:]
    print(json.dumps(heap_allocations(getattr(importlib.import_module(name), maker)(), ctypes.CDLL(preloaded))))
