"""The call path: a built-in function that checks its arguments in machine code and runs a kernel.

Two pieces of code: the kernel, and the entry, which knows nothing of it but what kinds of arguments there are. Entries
of the same text are compiled once, and are in memory once; each call has a table of its own for it: its ``__self__``.

Requires a `CallSpec` and something that emits the kernel; ensures that a call whose arguments are exactly what the
specification says costs some tens of nanoseconds and allocates nothing, and that every other call reaches a Python slow
path with the very same arguments, before anything has been written.

The function has the C signature of ``METH_FASTCALL | METH_KEYWORDS``, which is also that of ``PyObject_Vectorcall``, so
that handing a call over is a jump. Where object headers are not laid out as `headers` knows them, all calls take the
slow path: `BuiltCall.fast_path` tells.
"""

import ctypes
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core.registry import cpu_target

from ..llvm.addresses import Referent, TableModule, plain_address, take_apart
from ..llvm.builder import TerseBuilder
from ..llvm.codelibrary import (
    AS_WRITTEN,
    ONLY_CHECKS,
    CodeLibrary,
    Compiled,
    MachineCode,
    Optimization,
    compiled_module,
    shared_library,
)
from . import headers, watchtable
from .callemit import CallEmitter
from .callspec import (
    ArgumentResult,
    CallSpec,
    ComplexResult,
    ConstantResult,
    ConvertedResult,
    DictResult,
    FloatResult,
    ListResult,
    NewArray,
    Result,
    TupleResult,
)
from .forms import arranger, forms_table
from .kernelemit import emit_entry, emit_kernel_function
from .kinds_of_calls import kind_of_call
from .workspace import KernelRunner, WorkspacePool, aligned_bytes

EmitKernel = Callable[[ir.IRBuilder, Any, list[ir.Value], ir.Value], ir.Value]
METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class CompiledCall(tuple):
    """The table of a built-in function's machine code, and what it refers to, as its ``__self__``.

    A tuple, because the garbage collector never empties a tuple that is still referred to: the method definition must
    outlive the function that points to it, even in a cycle.
    """

    __slots__ = ()


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class Following:
    """The function that machine code hands a call to whose guards do not hold: that of the next trace, or none."""

    def __init__(self) -> None:
        self.cell = ctypes.c_void_p(None)
        self.held: Callable[..., Any] | None = None

    def lead_to(self, function: Callable[..., Any] | None) -> None:
        """It is held as long as the machine code may call it."""
        self.cell.value = None if function is None else id(function)
        self.held = function


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltCall:
    """A compiled call.

    Parameters
    ----------
    function : callable
        the built-in function (or its stand-in in Python) that users call.
    fast_path : bool
        whether `function` checks in machine code.
    kernel_address : int
        of ``int32 kernel(void** leaf_pointers, void* workspace)``.
    run : KernelRunner
        runs the kernel at given leaf pointers with a workspace of a pool, for the slow path. Like `function`, it keeps
        the machine code, and what that refers to.
    libraries : tuple of CodeLibrary
        of the kernel, and of the entry.
    following : Following
        where machine code goes on with calls whose guards do not hold, instead of to the slow path.
    """

    function: Callable[..., Any]
    fast_path: bool
    kernel_address: int
    run: KernelRunner
    libraries: tuple[CodeLibrary, ...]
    following: Following = field(default_factory=Following)

    def llvm(self) -> str:
        """The optimised LLVM of the kernel and of what calls it."""
        return "\n".join(library.llvm() for library in self.libraries)

    def asm(self) -> str:
        """The machine code, as assembly."""
        return "\n".join(library.asm() for library in self.libraries)


@dataclass(frozen=True, slots=True)
class CallCode:
    """The machine code of a call; without an entry, all arguments are checked in Python."""

    kernel: Compiled
    entry: Compiled | None

    @property
    def is_of_process(self) -> bool:
        """Whether it refers to what another process does not have."""
        parts = [self.kernel] if self.entry is None else [self.kernel, self.entry]
        return any(referent.kind == "address" for part in parts for referent in part.referents.values())


def compiled_call(
    name: str,
    spec: CallSpec,
    emit_kernel: EmitKernel,
    *,
    optimization: Optimization | None = None,
    fast_path: bool | None = None,
) -> CallCode:
    """Compile a kernel, and the function that calls it where there is none of its kind yet.

    Parameters
    ----------
    name : str
    spec : CallSpec
    emit_kernel : callable
        ``emit_kernel(builder, context, leaf_pointers, workspace) -> status`` emits the kernel's body: pointers are
        ``i8*``, one per leaf and output, the status an ``i32``, 0 for done. Any other status says that the plan's
        assumptions do not hold and that **nothing has been written** to the arguments; the call then takes the slow
        path. `context` is Numba's CPU context, which is not refreshed (that takes 0.4 s): it knows types, and no
        implementations.
    optimization : Optimization, optional
    fast_path : bool, optional
        False leaves out the call; by default that is so only where it must.

    """
    symbol = f"planned_ad.{name}"

    def emit(module: ir.Module) -> None:
        kernel = emit_kernel_function(module, f"{symbol}.body", spec)
        kernel.linkage = "external"
        kernel.attributes.add("noinline")  # into what calls it for the slow path: small ones would be compiled twice
        builder = TerseBuilder(kernel.append_basic_block("entry"))
        *leaf_pointers, memory = kernel.args
        builder.ret(emit_kernel(builder, cpu_target.target_context, leaf_pointers, memory))
        emit_entry(module, f"{symbol}.kernel", kernel)

    kernel = compiled_module(symbol, emit, optimization)
    is_fast = has_fast_path(spec) if fast_path is None else fast_path
    return CallCode(kernel, compiled_entry(spec) if is_fast else None)


def compiled_entry(spec: CallSpec) -> Compiled:
    """The function that checks arguments, and calls what its table says."""
    kind = kind_of_call(spec)
    return _emitted_entry(spec) if kind is None else _entry_of_kind(kind, kind.watch is not None)


@functools.lru_cache(256)
def _entry_of_kind(kind: CallSpec, is_watched: bool) -> Compiled:
    """`is_watched`: two specifications that differ in their watch alone are equal."""
    return _emitted_entry(kind)


def _emitted_entry(spec: CallSpec) -> Compiled:
    module = TableModule(ENTRY)
    CallEmitter(module, ENTRY, spec).emit()
    text, referents = str(module), module.referents
    take_apart(module)
    return Compiled(MachineCode.of(text, AS_WRITTEN if spec.is_long else ONLY_CHECKS), referents)


ENTRY = "planned_ad.call"


def loaded_call(
    compiled: CallCode,
    name: str,
    doc: str,
    text_signature: str,
    spec: CallSpec,
    slow_path: Callable[..., Any],
    *,
    fast_path: bool | None = None,
    keep: object = None,
    shown: str | None = None,
) -> BuiltCall:
    """A call that was compiled, perhaps by another process, in this one.

    Parameters
    ----------
    compiled : Compiled
    name, doc, text_signature : str
        what ``help`` shows; `text_signature` as ``"(x, dx, /)"``.
    spec : CallSpec
        equal to the one that it was compiled for.
    slow_path : callable
        is called with the same arguments, positional and keyword, whenever they are not what `spec` says.
        It may itself be the function of another `BuiltCall`: variants then form a chain.
    fast_path : bool, optional
        False makes the stand-in in Python; by default it is made only where it must.
    keep : object, optional
        what is kept as long as the function.
    shown : str, optional
        the name of the function, where it is not that of the kind of call.

    Notes
    -----
    A call that releases the GIL holds references to the arrays in its lists. Unchecked: that no other thread resizes an
    array meanwhile.
    """
    fast_path = has_fast_path(spec) if fast_path is None else fast_path
    library = compiled.kernel.load()
    symbol, held = f"planned_ad.{name}", (library.code, keep)  # by the kernel: no way back to the slow path
    kernel_address = library.address(f"{symbol}.kernel")
    run = KernelRunner(kernel_address, WorkspacePool(spec.workspace_nbytes, spec.sparse), spec.release_gil, held)
    following = Following()
    if fast_path:
        assert compiled.entry is not None
        entry = shared_library(compiled.entry.code)
        own = OwnMemory(spec, slow_path, following, library.address(f"{symbol}.body"))
        found = [own.address(referent) for referent in compiled.entry.referents.values()]
        table = np.array([address for address, _ in found], np.int64).tobytes()
        alive = (spec, *held, *library.referred, entry.code, *(what for _, what in found))
        described = f"{shown or name}{text_signature}\n--\n\n{doc}"
        function = _builtin_function(shown or name, described, entry.address(ENTRY), table, alive)
    else:
        function = _slow_function(shown or name, doc, text_signature, slow_path)
    return BuiltCall(
        function=function,
        fast_path=fast_path,
        kernel_address=kernel_address,
        run=run,
        libraries=(library, entry) if fast_path else (library,),
        following=following,
    )


def has_fast_path(spec: CallSpec) -> bool:
    """Whether machine code can check the arguments, by what is known of this Python."""
    return headers.supported() and (spec.watch is None or watchtable.supported())


ROUTINES = {"walk": watchtable.walker, "arrange": arranger} | {
    name: functools.partial(headers.numpy_function, name) for name in headers.NUMPY_API
}


class OwnMemory:
    """What one call has of its own: a kernel, a workspace and the flag that claims it, tables, its slow path."""

    def __init__(self, spec: CallSpec, slow_path: Callable[..., Any], following: Following, kernel: int) -> None:
        self._spec, self._slow_path, self._following, self._kernel = spec, slow_path, following, kernel

    def address(self, referent: Referent) -> tuple[int, object]:
        """The address of what machine code refers to, and what has to be kept for it."""
        if referent.kind == "routine":
            return ROUTINES[referent.what](), None
        if referent.kind == "fixed":
            return self._spec.fixed[referent.what][0], None
        return getattr(self, f"_{referent.what}_address")() if referent.kind == "own" else plain_address(referent)

    def _kernel_address(self) -> tuple[int, object]:
        return self._kernel, None

    def _slow_path_address(self) -> tuple[int, object]:
        return id(self._slow_path), self._slow_path

    def _following_address(self) -> tuple[int, object]:
        return ctypes.addressof(self._following.cell), self._following

    def _workspace_address(self) -> tuple[int, object]:
        workspace = aligned_bytes(self._spec.workspace_nbytes, self._spec.sparse)
        return workspace.ctypes.data, workspace

    def _claim_address(self) -> tuple[int, object]:
        claim = ctypes.c_int32(0)
        return ctypes.addressof(claim), claim

    def _forms_address(self) -> tuple[int, object]:
        assert self._spec.forms is not None
        table = forms_table(self._spec.forms)
        return ctypes.addressof(table), table

    def _watch_address(self) -> tuple[int, object]:
        watch = self._spec.watch
        assert watch is not None and watch.table is not None
        return watch.table.address, watch


def _builtin_function(name: str, doc: str, address: int, table: bytes, kept: tuple[Any, ...]) -> Callable[..., Any]:
    definition = _MethodDef(name.encode(), address, METH_FASTCALL_KEYWORDS, doc.encode())
    return _new_function(ctypes.addressof(definition), CompiledCall((table, definition, *kept)), __name__)


# A private prototype: the argument types of `ctypes.pythonapi.PyCFunction_NewEx` itself are shared with everybody.
_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def _slow_function(name: str, doc: str, text_signature: str, slow_path: Callable[..., Any]) -> Callable[..., Any]:
    """The stand-in: the slow path, described as the built-in function is."""

    def function(*arguments: Any, **keywords: Any) -> Any:
        return slow_path(*arguments, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__signature__ = inspect.signature(eval(f"lambda {text_signature.strip('()')}: None"))  # type: ignore[attr-defined]
    return function


def build_result(result: Result, arguments: Sequence[Any], outputs: Sequence[float]) -> Any:
    """What a call returns, from its arguments and the values of its output slots."""
    match result:
        case ArgumentResult():
            return arguments[result.position]
        case FloatResult():
            return outputs[result.output]
        case ComplexResult():
            return complex(*(build_result(part, arguments, outputs) for part in result.items))
        case ConstantResult():
            return result.value
        case NewArray():
            return array_like(result)
        case ConvertedResult():
            return result.function(build_result(result.item, arguments, outputs))
        case TupleResult() | ListResult() | DictResult():
            items = [build_result(item, arguments, outputs) for item in result.items]
            if isinstance(result, DictResult):
                return dict(zip(result.keys, items))
            return items if isinstance(result, ListResult) else tuple(items)
    return None


def array_like(result: NewArray) -> np.ndarray:
    spec = result.spec
    memory = (np.zeros if result.is_zero else np.empty)(spec.byte_range[1], np.uint8)
    return np.ndarray(spec.shape, spec.dtype, memory, strides=spec.strides)
