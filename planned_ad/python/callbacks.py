"""Functions that kernels call by address: Python functions behind `ctypes`, and compiled ones through Numba.

All have the form `int32 function(void** operands, void* results)` (see `calls.Native`). What fails in one leaves its
exception pending in its thread; the kernel returns at once, and the slow path of the call raises it.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Type = tuple[tuple[int, ...], np.dtype]
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)

_pending = threading.local()


def raise_pending() -> None:
    """Raise what a callback of this thread left when it failed."""
    error = getattr(_pending, "error", None)
    if error is not None:
        _pending.error = None
        raise error


def _forget() -> None:
    _pending.error = None


_forget_pointer = ctypes.CFUNCTYPE(None)(_forget)
FORGET_PENDING: int = ctypes.cast(_forget_pointer, ctypes.c_void_p).value or 0  # for callers that cannot raise it


class PythonCallback:
    """A Python function of arrays, called from a kernel.

    `function(*operands) -> results`: lists of arrays of exactly the types given. The operands are copies.
    """

    in_python = True

    def __init__(self, function: Callable[..., list[np.ndarray]], operands: Sequence[Type], results: Sequence[Type]):
        self.function, self.operands, self.results = function, tuple(operands), tuple(results)
        self._pointer = SIGNATURE(self._called)
        self.address = ctypes.cast(self._pointer, ctypes.c_void_p).value or 0

    def run(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        return self.function(*operands)

    def _called(self, operands: Any, results: int) -> int:
        try:
            found = self.function(*(memory_at(operands[k], kind).copy() for k, kind in enumerate(self.operands)))
            offset = 0
            for kind, array in zip(self.results, found, strict=True):
                target = memory_at(results + offset, kind)
                target[...] = array
                offset += target.nbytes
        except BaseException as error:  # it has to pass through the kernel
            _pending.error = error
            return 1
        return 0


def memory_at(address: int, kind: Type) -> np.ndarray:
    """The array at an address; it must not outlive the call."""
    shape, dtype = kind
    nbytes = int(np.prod(shape, dtype=int)) * dtype.itemsize
    if nbytes == 0:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)


class NumbaCallback:
    """A Numba-jitted function that fills its results, called from a kernel without Python and without memory.

    `function(*operands, *results)`; an operand of shape () is a number, a result of shape () a 0-d array. Where it
    raises, it is called once more from Python, on copies, for the exception.

    fixed : arguments that are no operands, by their position
    zeroed : whether the results are zero when it is called.
    """

    in_python = False

    def __init__(
        self,
        function: Any,
        operands: Sequence[Type],
        results: Sequence[Type],
        fixed: Mapping[int, Any],
        zeroed: bool = False,
    ):
        self.function, self.operands, self.results = function, tuple(operands), tuple(results)
        self.fixed, self.zeroed = dict(fixed), zeroed
        self._failed = PythonCallback(self._again, operands, results)

    @functools.cached_property
    def _compiled(self) -> Any:
        return self._compile()

    @property
    def address(self) -> int:
        return self._compiled.address

    def run(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        make = np.zeros if self.zeroed else np.empty
        results = [make(shape, dtype) for shape, dtype in self.results]
        own = [a[()] if a.shape == () else np.ascontiguousarray(a) for a in operands]
        self.function(*self._with_fixed(own), *results)
        return results

    def _with_fixed(self, operands: Sequence[Any]) -> list[Any]:
        left = iter(operands)
        return [self.fixed[k] if k in self.fixed else next(left) for k in range(len(operands) + len(self.fixed))]

    def _again(self, *operands: np.ndarray) -> list[np.ndarray]:
        self.run(operands)
        raise RuntimeError(f"{self.function.__name__} raised an exception in compiled code, and not when called again")

    def _compile(self) -> Any:
        """A C function around the jitted one; its source is made here, since types and shapes are in it."""
        from numba import carray, cfunc, types

        names: dict[str, Any] = {"carray": carray, "function": self.function}
        arguments = []
        for k, (shape, dtype) in enumerate(self.operands):
            names[f"dtype{k}"] = dtype.type
            place = f"carray(operands[{k}], {shape or (1,)}, dtype{k})"
            arguments.append(f"{place}[0]" if shape == () else place)
        for k, value in self.fixed.items():
            names[f"fixed{k}"] = value
            arguments.insert(k, f"fixed{k}")
        lines, offset = [], 0
        total = sum(int(np.prod(shape, dtype=int)) for shape, _ in self.results)
        names["dtype"] = self.results[0][1].type
        for k, (shape, _) in enumerate(self.results):
            size = int(np.prod(shape, dtype=int))
            lines.append(f"result{k} = whole[{offset}:{offset + size}].reshape({shape})")
            arguments.append(f"result{k}")
            offset += size
        zero = "whole[:] = 0" if self.zeroed else "pass"
        source = "\n    ".join(
            [
                "def called(operands, results):",
                f"whole = carray(results, ({total},), dtype)",
                zero,
                *lines,
                "try:",
                f"    function({', '.join(arguments)})",
                "except Exception:",
                "    return 1",
                "return 0",
            ]
        )
        exec(source, names)
        return cfunc(types.int32(types.CPointer(types.voidptr), types.voidptr))(names["called"])

    @property
    def on_failure(self) -> int:
        """The address of what is called after a failure, with the same pointers."""
        return self._failed.address
