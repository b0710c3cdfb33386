"""Emit what a kernel is called by: its body as a function, and an entry for callers outside of its module."""

from llvmlite import ir

from ..llvm.builder import TerseBuilder
from ..llvm.types import align_stack
from .callspec import ArraySpec, CallSpec, FloatSpec
from .objectemit import INT32, INT64, POINTER


def emit_kernel_function(module: ir.Module, symbol: str, spec: CallSpec) -> ir.Function:
    """Declare the kernel's body, ``i32 body(leaf..., output..., workspace)``, with what is known of its pointers.

    ``noalias`` follows from the checks: an array that no other one overlaps, or that only ever is read beside others
    that only are read. Slots and workspace are the call's own.
    """
    count = len(spec.leaves) + spec.outputs
    function = ir.Function(module, ir.FunctionType(INT32, [POINTER] * (count + 1)), symbol)
    function.linkage = "internal"
    align_stack(function)
    unaliased = iter(spec.unaliased())
    for leaf, argument in zip((*spec.leaves, *[FloatSpec()] * spec.outputs), function.args):
        if not isinstance(leaf, ArraySpec):
            argument.add_attribute("noalias")
            argument.attributes.align = 8
            continue
        if next(unaliased):
            argument.add_attribute("noalias")
        argument.attributes.align = leaf.dtype.alignment
    function.args[-1].add_attribute("noalias")
    function.args[-1].attributes.align = 64
    return function


def emit_entry(module: ir.Module, symbol: str, kernel: ir.Function) -> None:
    """Emit ``int32 kernel(void** leaf_pointers, void* workspace)``, for callers outside this module."""
    function = ir.Function(module, ir.FunctionType(INT32, [POINTER.as_pointer(), POINTER]), symbol)
    align_stack(function)  # the kernel may be written out in here
    builder = TerseBuilder(function.append_basic_block("entry"))
    table, workspace = function.args
    pointers = [builder.load(builder.gep(table, [INT64(leaf)])) for leaf in range(len(kernel.args) - 1)]
    builder.ret(builder.call(kernel, [*pointers, workspace]))
