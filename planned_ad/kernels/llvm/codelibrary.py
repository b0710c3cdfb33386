"""Compile a module of typed LLVM in Numba's code library, without Numba's Python front end.

Numba's own way in (bytecode, type inference, lowering, wrappers) costs 15 ms for the smallest function and 390 ms for
the first one of a process, when it fills its registries of Python operations. Nothing of that is needed for code that
is typed LLVM already: the library that Numba itself compiles into takes it directly, in 3 ms and 12 ms.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

_serial = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimization:
    """How much work LLVM does on a library.

    The defaults suit loop nests. On generated straight-line kernels of 1,000 and 3,000 statements ``level=1`` took 29 %
    and 7 % off the time to compile, and ``slp_vectorize`` added 34 % and 63 %; neither changed the number of
    instructions.
    """

    level: int = 3
    loop_vectorize: bool = True
    slp_vectorize: bool = False
    loop_unroll: bool = True


class CodeLibrary(JITCodeLibrary):
    """Numba's library with one optimisation pipeline in place of its three.

    Numba optimises each function, then the module cheaply, then the module fully: the earlier two bring reference
    counts together so that pairs can be removed. Emitted kernels have no reference counts.
    """

    optimization = Optimization()

    def _optimize_functions(self, ll_module) -> None:
        if not _has_pass_builder:
            super()._optimize_functions(ll_module)
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        if not _has_pass_builder:
            super()._optimize_final_module()
            return
        wanted, options = self.optimization, llvm.create_pipeline_tuning_options()
        options.speed_level = wanted.level
        options.loop_vectorization = wanted.loop_vectorize
        options.slp_vectorization = wanted.slp_vectorize
        options.loop_unrolling = wanted.loop_unroll
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


_has_pass_builder = hasattr(llvm, "create_pass_builder")  # llvmlite 0.45; before it, Numba's own pipeline serves


def unique_symbol(name: str) -> str:
    """A linker name that no other module of this process has."""
    return f"planned_ad.{name}.{next(_serial)}"


def compile_module(
    symbol: str, emit: Callable[[ir.Module], None], optimization: Optimization | None = None
) -> CodeLibrary:
    """Let `emit` fill an empty module, and compile it.

    Returns
    -------
    CodeLibrary
        ``get_pointer_to_function(symbol)`` gives an entry's address, which stays valid for the life of the process:
        Numba's engine keeps the machine code.
    """
    with global_compiler_lock:
        library = CodeLibrary(cpu_target.target_context.codegen(), symbol)
        library.optimization = optimization or Optimization()
        module = library.create_ir_module(symbol)
        emit(module)
        library.add_ir_module(module)
        library.finalize()
        return library
