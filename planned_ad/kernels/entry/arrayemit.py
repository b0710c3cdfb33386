"""Emit the check of an array: one function for all of the same rank and kind, which finds the extents in a row.

So a call of many arrays has little more code than one of a single array. Where a call has to be quick, LLVM writes the
function out at each place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llvmlite import ir

from ..llvm.addresses import TableModule, invariant
from . import headers
from .callspec import ArraySpec
from .objectemit import INT32, INT64, POINTER, CheckEmitter, as_signed

INT1 = ir.IntType(1)


def numbers_of(spec: ArraySpec) -> list[int]:
    """The numbers that an array of this specification has: its extents, and the strides that decide anything."""
    return [*spec.shape, *(stride for _, _, stride in spec.used_strides)]


def flags_of(spec: ArraySpec) -> ir.Value:
    """The flags that an array of this specification has to have set."""
    return INT32(headers.FLAG_ALIGNED | (headers.FLAG_WRITEABLE if spec.writeable else 0))


def check_of(module: TableModule, spec: ArraySpec, written_out: bool) -> ir.Function:
    """``bool check(array, ndarray, dtype, flags, row)`` for arrays of this rank and dtype.

    `flags`: of those that have to be set. `row`: the numbers of `numbers_of`.
    """
    axes = tuple(axis for axis, _, _ in spec.used_strides)
    symbol = "_".join(map(str, ("array", spec.dtype.char, len(spec.shape), *axes)))
    found = module.globals.get(symbol)
    if found is None:
        kind = ir.FunctionType(INT1, [POINTER, POINTER, POINTER, INT32, INT64.as_pointer()])
        found = ir.Function(module, kind, symbol)
        found.linkage = "internal"
        if written_out:
            found.attributes.add("alwaysinline")
        ArrayCheck(module, found).emit(spec.dtype, len(spec.shape), axes)
    return found


class ArrayCheck(CheckEmitter):
    """Emits one such function."""

    def emit(self, dtype: np.dtype, ndim: int, axes: Sequence[int]) -> None:
        builder = self.builder
        array, ndarray, own_dtype, flags, row = self.function.args
        self._require(builder.icmp_signed("==", self._field(array, headers.OBJECT_TYPE, POINTER), ndarray))
        set_flags = builder.and_(self._field(array, headers.ARRAY_FLAGS, INT32), flags)
        found = self._field(array, headers.ARRAY_NDIM, INT32)
        self._require_zero([builder.xor(set_flags, flags), builder.xor(found, INT32(ndim))])
        self._check_dtype(dtype, array, own_dtype)
        if ndim:
            shape = self._field(array, headers.ARRAY_SHAPE, POINTER)
            strides = self._field(array, headers.ARRAY_STRIDES, POINTER)
            expected = [(shape, axis) for axis in range(ndim)] + [(strides, axis) for axis in axes]
            words = []
            for k, (start, axis) in enumerate(expected):
                number = invariant(builder, builder.gep(row, [INT64(k)]))
                words.append(builder.xor(self._field(start, 8 * axis, INT64), number))
            self._require_zero(words)
        builder.ret(INT1(1))
        self.builder.position_at_end(self.slow)
        builder.ret(INT1(0))

    def _check_dtype(self, dtype: np.dtype, array: ir.Value, own_dtype: ir.Value) -> None:
        """Nearly every array has NumPy's own dtype object; one that was unpickled has an equal one."""
        builder = self.builder
        descr = self._field(array, headers.ARRAY_DESCR, POINTER)
        own, equal = self._block("dtype.own"), self._block("dtype.equal")
        self.module.expect(builder.cbranch(builder.icmp_signed("==", descr, own_dtype), own, equal), True)
        builder.position_at_end(equal)
        word = builder.and_(self._field(descr, headers.DESCR_WORD, INT64), INT64(as_signed(headers.DESCR_WORD_MASK)))
        builder.cbranch(builder.icmp_signed("==", word, INT64(headers.descr_word(dtype))), own, self.slow)
        builder.position_at_end(own)
