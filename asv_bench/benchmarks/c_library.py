"""The C programs of `c_programs/`, compiled by `cc -O3 -march=native` and called by ctypes."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SOURCES = Path(__file__).parents[1] / "c_programs"
COMPILER = shutil.which("cc")
FLAGS = ("-std=c11", "-O3", "-march=native", "-shared", "-fPIC")  # strict: no sum is reassociated


@functools.cache
def library(source: str) -> ctypes.CDLL:
    """That of one file. Its own file is gone when this returns; it stays loaded."""
    assert COMPILER is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{source}.so"
        command = [COMPILER, *FLAGS, str(SOURCES / f"{source}.c"), "-o", str(path), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return ctypes.CDLL(str(path))


@dataclass(frozen=True, kw_only=True)
class CCall:
    """A C function, and what it is called with: pointers, sizes; `arrays` are what the pointers lead to."""

    function: Any
    arguments: tuple
    arrays: tuple

    def __call__(self) -> float:
        return self.function(*self.arguments)


def converted(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    return ctypes.c_ssize_t(argument)


def c_call(source: str, name: str, *arguments: Any) -> CCall:
    """A call of a function that returns a double; integers are passed as `ptrdiff_t`."""
    function = getattr(library(source), name)
    function.restype = ctypes.c_double
    return CCall(function=function, arguments=tuple(map(converted, arguments)), arrays=arguments)
