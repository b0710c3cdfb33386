"""Calls of BLAS and LAPACK from a kernel: addresses that SciPy publishes, and what all such emission shares."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from ...tape.tape import Apply
from ..llvm.codelibrary import REGISTERED
from ..llvm.places import loop
from ..llvm.types import I8, I32, I64, constant, memory_type
from ..maths.notation import declare

Index = Any  # an integer, or one of LLVM's


@functools.cache
def library_symbol(name: str) -> str:
    """Register a routine of BLAS or LAPACK with LLVM, once a process; the symbol under which it is called."""
    from scipy.linalg import cython_blas, cython_lapack

    library = cython_blas if name in cython_blas.__pyx_capi__ else cython_lapack
    capsule = library.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    symbol = f"{PREFIX}{name}"
    llvm.add_symbol(symbol, get_pointer(capsule, get_name(capsule)))
    return symbol


PREFIX = "planned_ad.library."
REGISTERED[PREFIX] = library_symbol


def cell(builder: ir.IRBuilder, value: ir.Constant) -> ir.Value:
    """A stack cell that holds `value`: Fortran takes every argument by address."""
    with builder.goto_entry_block():
        place = builder.alloca(value.type)
    builder.store(value, place)
    return place


@dataclass
class Item:
    """The emission of a routine for one item of a batch.

    `operands` and `result` point to numbers; `strides` are those of the operands, their batch axes aside. `scratch` is
    memory that is free during the routine.
    """

    builder: ir.IRBuilder
    operation: Apply
    operands: list[ir.Value]
    shapes: list[tuple[int, ...]]
    strides: list[tuple[int, ...]]
    result: ir.Value
    scratch: ir.Value
    used: int = 0  # bytes of the scratch memory
    cells: dict[object, ir.Value] = field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype:
        return self.operation.out.dtype

    @property
    def params(self) -> dict:
        return self.operation.params

    # Numbers.

    def at(self, base: ir.Value, *steps: tuple[Index, int]) -> ir.Value:
        """The address of the number at the sum of index times stride."""
        fixed, offset = 0, None
        for index, stride in steps:
            if isinstance(index, int):
                fixed += index * stride
                continue
            moved = index if stride == 1 else self.builder.mul(index, I64(stride))
            offset = moved if offset is None else self.builder.add(offset, moved)
        if offset is None:
            return self.builder.gep(base, [I64(fixed)]) if fixed else base
        return self.builder.gep(base, [self.builder.add(offset, I64(fixed)) if fixed else offset])

    def number(self, value: float) -> ir.Constant:
        return constant(self.dtype, value)

    def element(self, k: int, *indices: Index) -> ir.Value:
        """An element of operand `k`."""
        return self.builder.load(self.at(self.operands[k], *zip(indices, self.strides[k])))

    def loops(self, *extents: int) -> Loops:
        return Loops(self.builder, extents)

    # Scratch memory: what one piece takes is free again when the next item begins.

    def temporary(self, count: int, dtype: np.dtype | None = None) -> ir.Value:
        """Room for so many numbers, or for so many integers of LAPACK."""
        kind = I32 if dtype == np.int32 else memory_type(self.dtype)
        place = self.builder.bitcast(self.builder.gep(self.scratch, [I64(self.used)]), kind.as_pointer())
        self.used += rounded(count * (4 if dtype == np.int32 else self.dtype.itemsize))
        return place

    # Calls.

    def integer(self, value: int) -> ir.Value:
        return self._cell(("integer", value), I32(value))

    def letter(self, value: str) -> ir.Value:
        return self._cell(("letter", value), ir.Constant(I8, ord(value)))

    def scalar(self, value: float) -> ir.Value:
        return self._cell(("scalar", value), self.number(value))

    def _cell(self, key: object, value: ir.Constant) -> ir.Value:
        if key not in self.cells:
            self.cells[key] = cell(self.builder, value)
        return self.cells[key]

    def info(self) -> ir.Value:
        with self.builder.goto_entry_block():
            return self.builder.alloca(I32)

    def call(self, name: str, *arguments: object) -> None:
        """A routine of BLAS or LAPACK: letters, integers and floats stand for cells that hold them."""
        self._call(("d" if self.dtype.itemsize == 8 else "s") + name, arguments)

    def call_complex(self, name: str, *arguments: object) -> None:
        """Likewise, one of complex numbers, which are pairs."""
        self._call(("z" if self.dtype.itemsize == 8 else "c") + name, arguments)

    def _call(self, name: str, arguments: Sequence[object]) -> None:
        places = []
        for argument in arguments:
            if isinstance(argument, str):
                argument = self.letter(argument)
            elif isinstance(argument, int):
                argument = self.integer(argument)
            elif isinstance(argument, float):
                argument = self.scalar(argument)
            places.append(argument)
        kinds = [place.type for place in places]  # type: ignore[attr-defined]
        function = declare(self.builder.module, library_symbol(name), ir.VoidType(), kinds)
        self.builder.call(function, places)

    # Matrices as LAPACK has them, column by column.

    def copy_in(self, k: int, target: ir.Value, row: int, column: int) -> None:
        """The matrix that operand `k` is, to memory with these strides."""
        n, m = self.shapes[k]
        with self.loops(n, m) as (i, j):
            self.builder.store(self.element(k, i, j), self.at(target, (i, row), (j, column)))

    def move(self, source: ir.Value, strides: tuple[int, int], target: ir.Value, to: tuple[int, int], shape) -> None:
        with self.loops(*shape) as (i, j):
            number = self.builder.load(self.at(source, (i, strides[0]), (j, strides[1])))
            self.builder.store(number, self.at(target, (i, to[0]), (j, to[1])))

    def line(self, k: int) -> ir.Value:
        """Operand `k`, one row of numbers, where they lie one after the other."""
        (n,) = self.shapes[k]
        if self.strides[k] == (1,) or n <= 1:
            return self.operands[k]
        target = self.temporary(n)
        with self.loops(n) as (i,):
            self.builder.store(self.element(k, i), self.at(target, (i, 1)))
        return target


def rounded(nbytes: int) -> int:
    """To whole cache lines."""
    return -(-nbytes // 64) * 64


class Loops:
    """`with Loops(builder, extents) as indices:` emits loops one inside the other; none of the extents is zero."""

    def __init__(self, builder: ir.IRBuilder, extents: Sequence[int]):
        self.around = [loop(builder, 0, n, 1) for n in extents]

    def __enter__(self) -> tuple[ir.Value, ...]:
        return tuple(each.__enter__() for each in self.around)

    def __exit__(self, *error) -> None:
        for each in reversed(self.around):
            each.__exit__(*error)


@contextmanager
def descending(builder: ir.IRBuilder, count: int) -> Iterator[ir.Value]:
    """A loop from `count - 1` to 0."""
    with loop(builder, 0, count, 1) as k:
        yield builder.sub(I64(count - 1), k)
