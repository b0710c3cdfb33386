"""Compile a module of typed LLVM, without Numba's Python front end and apart from its engine.

Numba's own way in (bytecode, type inference, lowering, wrappers) costs 15 ms for the smallest function and 390 ms for
the first one of a process, when it fills its registries of Python operations. Nothing of that is needed for code that
is typed LLVM already, which takes 3 ms and 12 ms. Numba's engine never gives machine code back; here each library has
an engine of its own, of 80 KB, that goes with it, and an LLVM context of its own while it is compiled.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import config
from numba.core.cgutils import normalize_ir_text
from numba.core.codegen import initialize_llvm
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from ...caching import store
from .addresses import OpenModule, Referent, plain_address, take_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimization:
    """How much work LLVM does on a library.

    The defaults suit loop nests as others write them. What is emitted here has its loops as vectors, and little is left
    to find: over 36 of NPBench's kernels ``level=1`` took 5 % off the time to compile, and code ran in 0.995 of the
    time. On straight-line kernels of 1,000 and 3,000 statements ``slp_vectorize`` added 34 % and 63 % to it.

    Code without loops that `only_checks` and calls is as fast by five passes, in a quarter of the time: what the whole
    pipeline does to it is mostly to number values, over and over, in search of what it can leave out. `as_written`
    takes an eighth of that again (3 ms for 800 lines), and 4 to 30 ns more a call: for kernels that take microseconds.

    Where a block has very many loads and stores, functions are simplified one by one, which is all but the end of the
    pipeline: there loads are sought that the iteration before has stored, by a comparison of each access with each
    other one, half of the time. Short bodies gain by that (a recurrence in its own array runs in half of the time).
    """

    level: int = 3
    loop_vectorize: bool = True
    slp_vectorize: bool = False
    loop_unroll: bool = True
    only_checks: bool = False
    as_written: bool = False  # no pass at all, and the quickest choice of instructions


LITTLE = Optimization(level=2, loop_vectorize=False, loop_unroll=False)
ONLY_CHECKS = Optimization(level=2, loop_vectorize=False, loop_unroll=False, only_checks=True)
AS_WRITTEN = Optimization(level=0, loop_vectorize=False, loop_unroll=False, as_written=True)
MANY_ACCESSES = 64  # in one block


REGISTERED: dict[str, Callable[[str], str]] = {}  # by the prefix of symbols, what registers one with LLVM by the rest


def register_symbol(symbol: str) -> None:
    """Have LLVM find a function of a library, in code that was emitted by another process."""
    prefix = next(prefix for prefix in REGISTERED if symbol.startswith(prefix))
    REGISTERED[prefix](symbol.removeprefix(prefix))


class MachineCode(NamedTuple):
    """A module, compiled: its object file, and its optimised LLVM for readers."""

    object: bytes
    bitcode: bytes

    @classmethod
    def of(cls, text: str, optimization: Optimization) -> MachineCode:
        """What was made from the same text before, for this processor and by this LLVM; else made now, and stored."""
        with global_compiler_lock:
            text = normalize_ir_text(text)
            key = store.key_of("code", text, optimization, processor())
            found = cls.found(key)
            if found is None:
                found = (RECENT.find(key) or cls.made(text, optimization)).put(key, module_name(text))
            RECENT.keep(key, found)
            return found

    @classmethod
    def found(cls, key: str) -> MachineCode | None:
        """What is on disk under a key."""
        contents = store.find(key)
        if contents is None:
            return None
        length = int.from_bytes(contents[:8], "little")
        return cls(contents[8 : 8 + length], contents[8 + length :])

    def put(self, key: str, name: str) -> MachineCode:
        """Have it be on disk; `name`: the module's."""
        contents = len(self.object).to_bytes(8, "little") + self.object + self.bitcode
        store.put(key, contents, f"machine code: {name}")
        return self

    @property
    def nbytes(self) -> int:
        return len(self.object) + len(self.bitcode)

    @classmethod
    def made(cls, text: str, optimization: Optimization, machine: llvm.TargetMachine | None = None) -> MachineCode:
        machine = _target_machine(optimization.as_written) if machine is None else machine
        with llvm.create_context() as context, llvm.parse_assembly(text, context) as parsed:
            parsed.triple, parsed.data_layout = llvm.get_process_triple(), str(machine.target_data)
            parsed.verify()
            if not optimization.as_written:
                _optimize(parsed, machine, optimization, most_accesses(text) >= MANY_ACCESSES)
            return cls(machine.emit_object(parsed), parsed.as_bitcode())


class Recent:
    """Machine code that this process has asked for lately, by its key, of no more than `most` bytes together.

    The same text comes again where a function is compiled again, where plans differ in what is not in their code, and
    from functions that are written twice. There need be no folder on a disk for it.
    """

    def __init__(self, most: int) -> None:
        self.most, self.nbytes = most, 0
        self._codes: dict[str, MachineCode] = {}  # what was asked for last is last

    def find(self, key: str) -> MachineCode | None:
        return self._codes.get(key)

    def keep(self, key: str, code: MachineCode) -> None:
        self.nbytes += code.nbytes - (self._codes.pop(key).nbytes if key in self._codes else 0)
        self._codes[key] = code
        while self.nbytes > self.most:
            self.nbytes -= self._codes.pop(next(iter(self._codes))).nbytes


RECENT = Recent(8 * 2**20)


def module_name(text: str) -> str:
    """The name of a module, from its text."""
    return text[:200].partition('ModuleID = "')[2].partition('"')[0]


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code that any process can load, and what the cells of its module are to point to, by their names."""

    code: MachineCode
    referents: dict[str, Referent]
    symbols: tuple[str, ...] = ()  # functions of libraries, by the names under which we register them

    def load(self, address_of: Callable[[Referent], tuple[int, object]] = plain_address) -> CodeLibrary:
        """It, in memory; `address_of` gives an address, and what has to be kept for it."""
        for symbol in self.symbols:
            register_symbol(symbol)
        found = {name: address_of(referent) for name, referent in self.referents.items()}
        with global_compiler_lock:
            library = CodeLibrary(self.code)
        for name, (address, kept) in found.items():
            library.refer(name, address)
            library.referred.append(kept)
        return library


class CodeLibrary:
    """The machine code of one module, loaded, which lives as long as its `code`.

    Parameters
    ----------
    code : MachineCode

    Attributes
    ----------
    referred : list
        What its cells point to, to be held as long as it runs.
    code : numpy.ndarray
        Whatever holds an address of this library must hold this, or the library. It is an empty array because the
        garbage collector does not see those. Of what is in circles it calls all finalisers before it takes them apart,
        and one of them, a user's `__del__`, may call a plan: code in sight of the collector would be gone by then.
    """

    def __init__(self, code: MachineCode) -> None:
        engine = _empty_engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.object))
        engine.finalize_object()
        self._engine, self._bitcode, self.code = engine, code.bitcode, np.empty(0, np.uint8)
        self.referred: list[object] = []
        # Not when the process ends: threads without the GIL may still be in it.
        weakref.finalize(self.code, engine.close).atexit = False

    def address(self, symbol: str) -> int:
        """Of one of its functions; valid as long as `code` lives."""
        return self._engine.get_function_address(symbol)

    def refer(self, name: str, address: int) -> None:
        """Write an address to the cell of this name; before anything is called."""
        ctypes.c_int64.from_address(self._engine.get_global_value_address(name)).value = address

    def llvm(self) -> str:
        """The optimised LLVM."""
        with llvm.create_context() as context, llvm.parse_bitcode(self._bitcode, context) as module:
            return str(module)

    def asm(self) -> str:
        """The machine code, as assembly."""
        with llvm.create_context() as context, llvm.parse_bitcode(self._bitcode, context) as module:
            return _target_machine().emit_assembly(module)


@functools.cache
def _target_machine(as_written: bool = False) -> llvm.TargetMachine:
    """What all modules are compiled by, but those that are left as written: it knows 0.7 MB about this processor."""
    return _new_target_machine(**{"opt": 0} if as_written else {})


def _new_target_machine(**changes: Any) -> llvm.TargetMachine:
    """This machine, as Numba compiles for it, but for some options."""
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(**_machine_options() | changes)


def linkable_machine(cpu: str | None) -> llvm.TargetMachine:
    """One whose machine code a linker takes, for this processor or one of that name."""
    named = {} if cpu is None else {"cpu": cpu, "features": ""}
    return _new_target_machine(reloc="pic", codemodel="default", jit=False, **named)


@functools.cache
def _machine_options() -> dict[str, Any]:
    initialize_llvm()
    options = {"opt": config.OPT}  # type: ignore[attr-defined]
    cpu_target.target_context.codegen()._customize_tm_options(options)
    return options


@functools.cache
def processor() -> str:
    """What machine code is made for, and by which LLVM."""
    return f"{llvm.get_process_triple()} {llvm.llvm_version_info} {sorted(_machine_options().items())}"


def _empty_engine() -> llvm.ExecutionEngine:
    """An engine without a module, with a target machine of its own, which it only asks how data are laid out.

    That machine is told nothing of this processor: its two hundred features take as long to read as all else here.
    """
    module = llvm.parse_assembly("")
    own_memory = config.USE_LLVMLITE_MEMORY_MANAGER  # type: ignore[attr-defined]
    engine = llvm.create_mcjit_compiler(module, _new_target_machine(cpu="", features=""), use_lmm=own_memory)
    if config.ENABLE_PROFILING:  # type: ignore[attr-defined]
        engine.enable_jit_events()
    engine.remove_module(module)
    module.close()
    return engine


def most_accesses(text: str) -> int:
    """Loads and stores of the block of a module that has the most."""
    return max(block.count(" = load ") + block.count("  store ") for block in text.split(":\n"))


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, wanted: Optimization, one_by_one: bool) -> None:
    """One pipeline in place of Numba's three.

    Numba optimises each function, then the module cheaply, then the module fully: the earlier two bring reference
    counts together so that pairs can be removed. Emitted kernels have no reference counts.
    """
    options = llvm.create_pipeline_tuning_options()
    options.speed_level = wanted.level
    options.loop_vectorization = wanted.loop_vectorize
    options.slp_vectorization = wanted.slp_vectorize
    options.loop_unrolling = wanted.loop_unroll
    builder = llvm.create_pass_builder(machine, options)
    parts: list[llvm.ModuleRef | llvm.ValueRef] = [module]
    if wanted.only_checks:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    elif one_by_one and not wanted.loop_vectorize and not wanted.slp_vectorize:
        passes, parts = builder.getFunctionPassManager(), [f for f in module.functions if not f.is_declaration]
    else:
        passes = builder.getModulePassManager()
    for part in parts:
        passes.run(part, builder)
    # `passes.close()` would forget 140 KB in the llvmlite that has this base class, which comes after another.
    llvm.newpassmanagers.NewPassManager._dispose(passes)
    passes.detach()


def compiled_module(
    symbol: str,
    emit: Callable[[ir.Module], None],
    optimization: Optimization | None = None,
    stands_alone: bool = False,
) -> Compiled:
    """Let `emit` fill an empty module, and compile it.

    Symbols need be unique in their module only: each library has an engine of its own.
    """
    with global_compiler_lock:
        module = OpenModule(symbol, stands_alone)
        emit(module)
        symbols = tuple(name for name in module.globals if name.startswith(tuple(REGISTERED)))
        text, referents = str(module), module.referents
        take_apart(module)
        return Compiled(MachineCode.of(text, optimization or Optimization()), referents, symbols)


def compile_module(
    symbol: str, emit: Callable[[ir.Module], None], optimization: Optimization | None = None
) -> CodeLibrary:
    """`compiled_module`, loaded. ``address(symbol)`` of the library is that of a function."""
    return compiled_module(symbol, emit, optimization).load()


@functools.lru_cache(64)
def shared_library(code: MachineCode) -> CodeLibrary:
    """The library of such a module, which is in memory once as long as it is among the last ones asked for."""
    with global_compiler_lock:
        return CodeLibrary(code)


_lasting: dict[str, CodeLibrary] = {}


def lasting_address(symbol: str, emit: Callable[[ir.Module], None], optimization: Optimization | None = None) -> int:
    """The address of a function that all plans share: compiled once in a process, and never given back."""
    with global_compiler_lock:
        if symbol not in _lasting:
            key = store.key_of("lasting", symbol, store.own_files(), processor())
            code = MachineCode.found(key)
            if code is None:
                code = compiled_module(symbol, emit, optimization, stands_alone=True).code.put(key, symbol)
            _lasting[symbol] = Compiled(code, {}).load()
        return _lasting[symbol].address(symbol)
