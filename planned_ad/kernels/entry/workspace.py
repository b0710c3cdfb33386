"""Memory that kernels work in: one workspace per call in flight."""

import ctypes
import mmap
from collections.abc import Callable, Sequence

import numpy as np

from ...errors import MemoryLimitError

ALIGNMENT = 64
LARGE = 1 << 22  # bytes: from here on NumPy's memory comes in huge pages


def aligned_bytes(nbytes: int, sparse: bool = False) -> np.ndarray:
    """Uninitialised bytes whose first address is a multiple of 64, a cache line and an AVX-512 register.

    Where they are filled sparsely, only the small pages that are touched take memory: NumPy would ask for huge ones.
    """
    try:
        if sparse and nbytes >= LARGE and hasattr(mmap, "MAP_ANONYMOUS"):
            return np.frombuffer(mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
        memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    except (OSError, OverflowError, ValueError, MemoryError) as error:
        raise MemoryLimitError(
            f"a call needs {nbytes:,} bytes of workspace, which there are not. explain() says what is kept, and why: "
            f"`while` loops have room for max_steps= iterations, in one another for the product. Give a smaller "
            f"max_steps= where they take fewer, or memory_limit="
        ) from error
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + nbytes]


class WorkspacePool:
    """Workspaces for the calls that cannot have the plan's own.

    ``list.pop`` and ``list.append`` are atomic, so threads need no lock; the pool grows to the number of calls that
    were ever in flight together and no further.
    """

    __slots__ = ("_free", "nbytes", "sparse")

    def __init__(self, nbytes: int, sparse: bool = False) -> None:
        self.nbytes, self.sparse = nbytes, sparse
        self._free: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        try:
            return self._free.pop()
        except IndexError:
            return aligned_bytes(self.nbytes, self.sparse)

    def give(self, workspace: np.ndarray) -> None:
        self._free.append(workspace)


class KernelRunner:
    """Run a compiled kernel, ``int32 kernel(void** leaf_pointers, void* workspace)``, from Python.

    Parameters
    ----------
    address : int
        of the kernel's entry.
    pool : WorkspacePool
        whence each run takes its workspace.
    release_gil : bool
        let other Python threads run meanwhile.
    keep : object
        the machine code, and what it refers to.
    """

    __slots__ = ("_entry", "keep", "pool")

    def __init__(self, address: int, pool: WorkspacePool, release_gil: bool, keep: object) -> None:
        prototype = ctypes.CFUNCTYPE if release_gil else ctypes.PYFUNCTYPE
        self._entry: Callable[..., int] = prototype(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)
        self.pool, self.keep = pool, keep

    def __call__(self, pointers: Sequence[int]) -> int:
        """Run on the leaves at `pointers`, which the caller keeps alive; returns the kernel's status, 0 for done."""
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        workspace = self.pool.take()
        try:
            return self._entry(ctypes.addressof(table), workspace.ctypes.data)
        finally:
            self.pool.give(workspace)
