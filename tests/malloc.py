"""Count what a call allocates: mallocs in the whole process, and blocks of Python's own allocator.

`count_in_subprocess` runs a snippet in a child into which ``malloc_count.c`` is preloaded. It cannot see memory that
is mapped directly (``mmap``), nor Python objects from a free list; ``python_objects=True`` sends the other objects
through malloc, so that one which is made and dropped again within a call is counted too.

To start Python and Numba takes two seconds: that is done once, and each snippet runs in a fork of what was started.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

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


# Reads programs, one in a line, and answers with the status and the output of a fork that has run it.
SERVER = """
import json, os, sys
import numpy, scipy.special
import planned_ad
planned_ad.compile(lambda x: x @ x, numpy.ones(2)).gradient(numpy.ones(2))
for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writer, 1), os.dup2(writer, 2)
        os.close(reader), os.close(writer)
        try:
            exec(compile(json.loads(line), "<string>", "exec"), {"__name__": "__main__"})
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
            status = 1
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status)
    os.close(writer)
    with open(reader) as pipe:
        output = pipe.read()
    print(json.dumps([os.waitpid(child, 0)[1], output]), flush=True)
"""


class Server:
    """A process that runs programs in forks of itself."""

    def __init__(self, python_objects: bool) -> None:
        environment = dict(os.environ, LD_PRELOAD=str(shim()))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
        if python_objects:
            environment["PYTHONMALLOC"] = "malloc"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.process.communicate)  # the end of its input is its end

    def run(self, program: str) -> tuple[int, str]:
        """The status and the output of a program."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(program), file=self.process.stdin, flush=True)
        status, output = json.loads(self.process.stdout.readline())
        return status, output


server = functools.cache(Server)


def count_in_subprocess(code: str, calls: int = 1000, *, python_objects: bool = False) -> dict[str, int]:
    """Run `code`, which defines a function ``call()``, and count over `calls` calls after a warm-up.

    Returns
    -------
    dict
        ``malloc``: heap allocations; ``blocks``: the change of ``sys.getallocatedblocks()``. Those of the counting loop
        itself are subtracted.
    """
    status, output = server(python_objects).run(code + MEASURE.format(library=str(shim()), calls=calls))
    assert status == 0, output
    return json.loads(output.splitlines()[-1])
