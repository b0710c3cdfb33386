"""Kernels as an object file for a linker: functions of C's, with all constants inside, that need no Python.

``int32_t model_gradient(const double *x, double *dx, void *workspace)``: as those of `native_calls`, but for the
workspace, which the caller gives: 64-byte aligned memory of a known size, one for each call at a time. Nothing is
allocated, and nothing is looked at outside: what a function has read of arrays there, the object holds as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from ..library.native_callees import CALLEE_FAILED, FIRST_GUARD
from ..library.routines import PREFIX as LIBRARY
from ..llvm.addresses import OpenModule
from ..llvm.builder import TerseBuilder
from ..llvm.codelibrary import MachineCode, Optimization, linkable_machine
from ..llvm.types import I8, I32, I64, POINTER, align_stack
from ..maths.scalar_library import PREFIX as SCIPY
from .callpath import EmitKernel
from .callspec import CallSpec
from .kernelemit import emit_entry, emit_kernel_function
from .native_calls import BROKEN_GUARD, NativeParameter, emit_leaves


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFunction:
    """A function of the object file, and the kernels that it tries in order, until the guards of one hold."""

    symbol: str
    parameters: tuple[NativeParameter, ...]
    kernels: tuple[tuple[CallSpec, EmitKernel], ...]

    @property
    def workspace_nbytes(self) -> int:
        return max(spec.workspace_nbytes for spec, _ in self.kernels)


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """Its bytes, and the functions that it needs of others."""

    contents: bytes
    needs: tuple[str, ...]


class NotLinkable(Exception):
    """Something that only this process has; the message says what."""


def object_file(functions: Sequence[ExportedFunction], optimization: Optimization, cpu: str | None) -> ObjectFile:
    """Compile functions for a linker, for this processor unless another is named."""
    with global_compiler_lock:
        module = OpenModule("exported", stands_alone=True)
        for function in functions:
            emit_exported(module, function)
        put_inside(module)
        scipy = [name.removeprefix(SCIPY) for name in module.globals if name.startswith(SCIPY)]
        if scipy:
            raise NotLinkable(f"scipy.special.{scipy[0]} is compiled code of SciPy's, which is loaded with Python")
        text = str(module)
        for name in [name for name in module.globals if name.startswith(LIBRARY)]:  # as Fortran calls them
            text = text.replace(f'@"{name}"', f'@"{name.removeprefix(LIBRARY)}_"')
        made = MachineCode.made(text, optimization, linkable_machine(cpu))
    with llvm.create_context() as context, llvm.parse_bitcode(made.bitcode, context) as parsed:
        declared = [f.name for f in parsed.functions if f.is_declaration and not f.name.startswith("llvm.")]
    return ObjectFile(made.object, tuple(sorted(declared)))


def emit_exported(module: ir.Module, exported: ExportedFunction) -> None:
    entries = []
    for number, (spec, emit_kernel) in enumerate(exported.kernels):
        kernel = emit_kernel_function(module, f"{exported.symbol}.body{number}", spec)
        builder = TerseBuilder(kernel.append_basic_block("entry"))
        *pointers, memory = kernel.args
        builder.ret(emit_kernel(builder, cpu_target.target_context, pointers, memory))
        emit_entry(module, f"{exported.symbol}.kernel{number}", kernel)
        entries.append(module.globals[f"{exported.symbol}.kernel{number}"])
        entries[-1].linkage = "internal"
    kinds = [*(p.type for p in exported.parameters), POINTER]
    function = ir.Function(module, ir.FunctionType(I32, kinds), exported.symbol)
    align_stack(function)  # the kernels may be written out in here
    builder = TerseBuilder(function.append_basic_block("entry"))
    *arguments, workspace = function.args
    leaves, cells = emit_leaves(builder, exported.parameters, arguments)
    done, other = function.append_basic_block("done"), function.append_basic_block("other")
    for entry in entries:
        status = builder.call(entry, [leaves, workspace])
        failed, following = function.append_basic_block("failed"), function.append_basic_block("following")
        builder.cbranch(builder.icmp_signed("==", status, I32(0)), done, failed)
        builder.position_at_end(failed)
        builder.cbranch(builder.icmp_signed(">=", status, I32(FIRST_GUARD)), following, other)
        builder.position_at_end(following)
    builder.ret(I32(BROKEN_GUARD))
    builder.position_at_end(other)
    builder.ret(I32(CALLEE_FAILED))
    builder.position_at_end(done)
    for copy, cell in cells:
        builder.store(builder.load(copy), cell)
    builder.ret(I32(0))


def put_inside(module: OpenModule) -> None:
    """Have the cells point to copies, in the module, of what they refer to."""
    for name, referent in module.referents.items():
        if referent.kind != "array":
            raise NotLinkable("it calls compiled code that is in this process only")
        cell = module.globals[name]
        data = constant_data(module, f"data.{name}", referent.what)
        cell.initializer = data.ptrtoint(I64)
        cell.global_constant, cell.linkage = True, "internal"


def constant_data(module: ir.Module, name: str, array: np.ndarray) -> ir.Constant:
    """The memory that an array spans, and the address of its first element there."""
    low, high = np.lib.array_utils.byte_bounds(array)
    spanned = np.zeros(high - low, np.uint8)
    first = array.ctypes.data - low
    np.ndarray(array.shape, array.dtype, spanned, first, array.strides)[...] = array
    kind = ir.ArrayType(I8, max(len(spanned), 1))
    data = ir.GlobalVariable(module, kind, name)
    data.initializer = ir.Constant(kind, bytearray(spanned.tobytes() or b"\0"))
    data.global_constant, data.linkage, data.align = True, "internal", 64
    return data.gep([I32(0), I32(first)])
