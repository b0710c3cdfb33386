"""Kernels as plain C functions, for callers that are compiled code themselves.

``int32_t gradient(const double *x, double n, double *dx)``: a pointer for each array, a number by value for each float,
a pointer for each number that comes back. Nothing is checked of what the pointers point to. Each call works in a
workspace that no other call holds, so that any number of threads may be inside; nothing is allocated unless more calls
are in flight than ever before.

The status is 0 where the call is done. `BROKEN_GUARD` says that the arguments take a branch that no recorded variant
takes, and `NO_MEMORY` that there was none for another workspace; nothing has been written then. `CALLEE_FAILED` says
that a function which the kernel calls raised an exception.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from ...python.callbacks import FORGET_PENDING
from ..library.native_callees import CALLEE_FAILED
from ..llvm.addresses import pointer_at
from ..llvm.builder import TerseBuilder
from ..llvm.codelibrary import LITTLE, compile_module, lasting_address
from ..llvm.types import I32, I64, POINTER, memory_type
from .callspec import ArraySpec, FloatSpec
from .watchtable import walker
from .workspace import ALIGNMENT

BROKEN_GUARD, NO_MEMORY = 1, -1  # and `CALLEE_FAILED`
HEADER = ALIGNMENT  # of a workspace: nothing but its node
NODE = ir.LiteralStructType([I64, I64, I32])  # address of the next one, of what is to be freed, and the claim
ROW = ir.LiteralStructType([POINTER, I64, I64, I64])
C_NAMES = {"f8": "double", "f4": "float", "b1": "uint8_t", "c16": "double _Complex", "c8": "float _Complex"}


class _Row(ctypes.Structure):
    """A variant: its kernel, the size of its workspaces, the first of them, and the table of what has to be outside."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("nbytes", ctypes.c_int64),
        ("nodes", ctypes.c_int64),
        ("watch", ctypes.c_int64),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeParameter:
    """A parameter of the C function: a leaf of the kernel, or a number that it returns.

    Parameters
    ----------
    path : str
        how the user would name it, such as ``params['w'][0]`` or ``dx``.
    spec : ArraySpec or FloatSpec
        a written FloatSpec is a pointer to a number that is read and written.
    dtype : numpy.dtype
    is_output : bool
        a pointer to a number that is only written.
    """

    path: str
    spec: ArraySpec | FloatSpec
    dtype: np.dtype
    is_output: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is passed by value."""
        return isinstance(self.spec, FloatSpec) and not self.spec.written and not self.is_output

    @property
    def type(self) -> ir.Type:
        return memory_type(self.dtype) if self.is_number else POINTER

    def declaration(self, name: str) -> str:
        """As C writes it."""
        code = self.dtype.str[1:]
        signedness = "u" if code[0] == "u" else ""
        kind = C_NAMES.get(code) or f"{signedness}int{8 * self.dtype.itemsize}_t"
        constant = isinstance(self.spec, ArraySpec) and not self.spec.writeable
        return f"{kind} {name}" if self.is_number else f"{'const ' if constant else ''}{kind} *{name}"


class NativeCall:
    """One C function for the variants of a plan, tried in order.

    Parameters
    ----------
    name : str
    parameters : sequence of NativeParameter
        the kernel's leaves in order, then its outputs.
    most_variants : int
        how many can be added.

    Attributes
    ----------
    address : int
        of the function; valid as long as this object lives.
    """

    def __init__(self, name: str, parameters: Sequence[NativeParameter], most_variants: int) -> None:
        self.name, self.parameters = name, tuple(parameters)
        self._rows = (_Row * (most_variants + 1))()  # the last one ends the table
        self._count = 0
        self._kept: dict[int, object] = {}  # of all kernels that were ever tried, since a call may be running in one
        self._lock = threading.Lock()
        symbol = f"planned_ad.{name}.native"
        table = ctypes.addressof(self._rows)
        self.library = compile_module(symbol, lambda module: _emit(module, symbol, self.parameters, table), LITTLE)
        self.address: int = self.library.address(symbol)
        free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.library.address(f"{symbol}.free"))
        weakref.finalize(self, _free_workspaces, self._rows, free, self.library.code).atexit = False

    @functools.cached_property
    def address_taking_gil(self) -> int:
        """Of a function that takes the GIL to look at what is outside, for callers whose threads do not have it.

        Whoever waits for such a call must not hold the GIL.
        """
        symbol, table = f"planned_ad.{self.name}.taking_gil", ctypes.addressof(self._rows)
        emit = functools.partial(_emit, symbol=symbol, parameters=self.parameters, rows=table, takes_gil=True)
        self._library_taking_gil = compile_module(symbol, emit, LITTLE)
        return self._library_taking_gil.address(symbol)

    def try_variants(self, variants: Sequence[tuple[int, int, int, object]]) -> None:
        """Let calls try these variants and no others, also calls compiled before.

        Each is the address of a kernel, the bytes of its workspace, the address of a `WatchTable`, or 0, and what keeps
        the kernel and the table. A row that has been tried stays, since a call may be in it, and leads nowhere; it may
        get a kernel again that needs no more memory. What does not fit any more is left out.
        """
        with self._lock:
            self._kept |= {kernel: keep for kernel, _, _, keep in variants}
            wanted = {kernel: (nbytes, watch) for kernel, nbytes, watch, _ in variants}
            for row in self._rows[: self._count]:
                if row.kernel not in wanted:
                    row.kernel = nowhere()
                wanted.pop(row.kernel, None)
            for kernel, (nbytes, watch) in wanted.items():
                past = (r for r in self._rows[: self._count] if r.kernel == nowhere() and r.nbytes >= nbytes)
                row = next(past, self._rows[self._count])
                if not row.kernel:  # a new one
                    if self._count == len(self._rows) - 1:
                        continue
                    row.nbytes = nbytes
                    self._count += 1
                row.watch = watch
                row.kernel = kernel  # last: with it the row exists

    @property
    def declaration(self) -> str:
        """The C declaration of the function."""
        described = [p.declaration(name) for p, name in zip(self.parameters, c_names(self.parameters))]
        return f"int32_t {self.name}({', '.join(described) or 'void'})"


def c_names(parameters: Sequence[NativeParameter]) -> list[str]:
    """What C calls the parameters of a function."""
    names: list[str] = []
    for parameter in parameters:
        name = "".join(c if c.isalnum() else "_" for c in parameter.path).rstrip("_")
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


@functools.cache
def nowhere() -> int:
    """The address of a kernel whose guards never hold."""

    def emit(module: ir.Module) -> None:
        function = ir.Function(module, ir.FunctionType(I32, [POINTER.as_pointer(), POINTER]), "nowhere")
        TerseBuilder(function.append_basic_block("entry")).ret(I32(BROKEN_GUARD))

    return lasting_address("nowhere", emit, LITTLE)


def _free_workspaces(rows: ctypes.Array, free, code: object) -> None:
    """`code` is where `free` is, which has to be there until then."""
    for row in rows:
        node = row.nodes
        while node:
            following, memory = (ctypes.c_int64 * 2).from_address(node)
            free(memory)
            node = following


def _emit(
    module: ir.Module, symbol: str, parameters: Sequence[NativeParameter], rows: int, takes_gil: bool = False
) -> None:
    """The function `symbol`, and `symbol.free` for the finaliser.

    It looks at one row of the table after the other, until there is none, or a kernel has come to its end.
    """
    _emit_free(module, f"{symbol}.free")
    claim = _emit_claim(module, f"{symbol}.claim")
    outside = _emit_outside(module, f"{symbol}.outside", takes_gil)
    function = ir.Function(module, ir.FunctionType(I32, [p.type for p in parameters]), symbol)
    builder = TerseBuilder(function.append_basic_block("entry"))
    leaves, cells = emit_leaves(builder, parameters, function.args)

    first = builder.block
    look, run, done, broken, full, failed = (
        function.append_basic_block(name) for name in ("look", "run", "done", "broken", "full", "failed")
    )
    builder.branch(look)
    builder.position_at_end(look)
    number = builder.phi(I64)
    number.add_incoming(I64(0), first)
    row = builder.gep(pointer_at(builder, "address", rows, ROW), [number])
    kernel, differs = _emit_kernel(builder, row, outside, broken)
    number.add_incoming(builder.add(number, I64(1)), builder.block)
    builder.cbranch(differs, look, run)
    builder.position_at_end(run)
    status = _emit_run(builder, row, kernel, leaves, claim, full)
    number.add_incoming(builder.add(number, I64(1)), builder.block)
    cases = builder.switch(status, look)
    cases.add_case(I32(0), done)
    cases.add_case(I32(CALLEE_FAILED), failed)

    builder.position_at_end(done)
    for copy, cell in cells:
        builder.store(builder.load(copy), cell)
    builder.ret(I32(0))
    for block, code in ((broken, BROKEN_GUARD), (full, NO_MEMORY)):
        TerseBuilder(block).ret(I32(code))
    builder.position_at_end(failed)
    builder.call(pointer_at(builder, "address", FORGET_PENDING, ir.FunctionType(ir.VoidType(), [])), [])
    builder.ret(I32(CALLEE_FAILED))


def _emit_free(module: ir.Module, symbol: str) -> None:
    """`void free(void *)`, as one of our own."""
    free = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), "free")
    wrapper = ir.Function(module, free.function_type, symbol)
    builder = TerseBuilder(wrapper.append_basic_block("entry"))
    builder.call(free, wrapper.args)
    builder.ret_void()


def emit_leaves(
    builder: ir.IRBuilder, parameters: Sequence[NativeParameter], arguments: Sequence[ir.Value]
) -> tuple[ir.Value, list[tuple[ir.Value, ir.Value]]]:
    """The table of the kernel's leaves; of numbers that come back the call's copy, and the caller's."""
    table = builder.alloca(POINTER, size=I64(len(parameters)))
    cells = []
    for position, (parameter, argument) in enumerate(zip(parameters, arguments)):
        leaf = argument
        if not isinstance(parameter.spec, ArraySpec):
            slot = builder.alloca(I64)
            kind = memory_type(parameter.dtype)
            number = builder.bitcast(slot, kind.as_pointer())
            leaf = builder.bitcast(slot, POINTER)
            if parameter.is_number:
                builder.store(argument, number)
            else:
                cell = builder.bitcast(argument, kind.as_pointer())
                cells.append((number, cell))
                if not parameter.is_output:
                    builder.store(builder.load(cell), number)
        builder.store(leaf, builder.gep(table, [I64(position)]))
    return table, cells


def _emit_kernel(
    builder: ir.IRBuilder, row: ir.Value, outside: ir.Function, none: ir.Block
) -> tuple[ir.Value, ir.Value]:
    """The kernel of a row, and whether it cannot be tried, since something outside differs; to `none` at the end."""
    kernel = builder.load_atomic(_field(builder, row, 0), "acquire", 8)
    there = builder.append_basic_block("outside")
    builder.cbranch(builder.icmp_unsigned("==", kernel, POINTER(None)), none, there)
    builder.position_at_end(there)
    return kernel, builder.icmp_unsigned("!=", builder.call(outside, [row]), I32(0))


def _emit_run(
    builder: ir.IRBuilder, row: ir.Value, kernel: ir.Value, leaves: ir.Value, claim: ir.Function, full: ir.Block
) -> ir.Value:
    """Run a kernel in a workspace that no other call holds; to `full` where there is no memory for one."""
    node = builder.call(claim, [row])
    claimed = builder.append_basic_block("claimed")
    builder.cbranch(builder.icmp_unsigned("==", node, NODE.as_pointer()(None)), full, claimed)
    builder.position_at_end(claimed)
    workspace = builder.gep(builder.bitcast(node, POINTER), [I64(HEADER)])
    signature = ir.FunctionType(I32, [POINTER.as_pointer(), POINTER])
    status = builder.call(builder.bitcast(kernel, signature.as_pointer()), [leaves, workspace])
    builder.store_atomic(I32(0), _field(builder, node, 2), "release", 4)
    return status


def _emit_outside(module: ir.Module, symbol: str, takes_gil: bool) -> ir.Function:
    """`int32 outside(row *)`: 0 where everything outside is as it was, or this thread has no GIL to look at it.

    `takes_gil`: it looks at it in any case.
    """
    function = ir.Function(module, ir.FunctionType(I32, [ROW.as_pointer()]), symbol)
    function.linkage = "internal"
    builder = TerseBuilder(function.append_basic_block("entry"))
    watch = builder.load(_field(builder, function.args[0], 3))
    ask, look, leave = (function.append_basic_block(name) for name in ("ask", "look", "leave"))
    builder.cbranch(builder.icmp_unsigned("!=", watch, I64(0)), ask, leave)
    builder.position_at_end(ask)
    state = None
    if takes_gil:
        state = builder.call(ir.Function(module, ir.FunctionType(I32, []), "PyGILState_Ensure"), [])
        builder.branch(look)
    else:
        has_gil = ir.Function(module, ir.FunctionType(I32, []), "PyGILState_Check")
        builder.cbranch(builder.icmp_unsigned("!=", builder.call(has_gil, []), I32(0)), look, leave)
    builder.position_at_end(look)
    walk = pointer_at(builder, "address", walker(), ir.FunctionType(I32, [POINTER]))
    differs = builder.call(walk, [builder.inttoptr(watch, POINTER)])
    if state is not None:
        release = ir.Function(module, ir.FunctionType(ir.VoidType(), [I32]), "PyGILState_Release")
        builder.call(release, [state])
    builder.ret(differs)
    builder.position_at_end(leave)
    builder.ret(I32(0))
    return function


def _emit_claim(module: ir.Module, symbol: str) -> ir.Function:
    """`node *claim(row *)`: a workspace that no other call holds; a new one where all are held; NULL without memory.

    The list only ever grows, so that to walk it needs no lock, and to push is one compare-and-exchange.
    """
    function = ir.Function(module, ir.FunctionType(NODE.as_pointer(), [ROW.as_pointer()]), symbol)
    function.linkage = "internal"
    (row,) = function.args
    builder = TerseBuilder(function.append_basic_block("entry"))
    head = _field(builder, row, 2)
    _emit_search(builder, head)
    new, address = _emit_node(builder, row)
    _emit_push(builder, head, new, address)
    builder.ret(new)
    return function


def _emit_search(builder: ir.IRBuilder, head: ir.Value) -> None:
    """Return the first node of the list that can be claimed; go on where there is none."""
    entry = builder.block
    look, test, attempt, following, found, none = (
        builder.append_basic_block(name) for name in ("look", "test", "attempt", "next", "found", "make")
    )
    first = builder.load_atomic(head, "acquire", 8)
    builder.branch(look)
    builder.position_at_end(look)
    address = builder.phi(I64)
    address.add_incoming(first, entry)
    builder.cbranch(builder.icmp_unsigned("==", address, I64(0)), none, test).set_weights([1, 99])
    builder.position_at_end(test)
    node = builder.inttoptr(address, NODE.as_pointer())
    flag = _field(builder, node, 2)
    free = builder.icmp_unsigned("==", builder.load_atomic(flag, "monotonic", 4), I32(0))
    builder.cbranch(free, attempt, following).set_weights([99, 1])
    builder.position_at_end(attempt)
    won = builder.extract_value(builder.cmpxchg(flag, I32(0), I32(1), "acquire", "monotonic"), 1)
    builder.cbranch(won, found, following).set_weights([99, 1])
    builder.position_at_end(following)
    address.add_incoming(builder.load(_field(builder, node, 0)), following)
    builder.branch(look)
    builder.position_at_end(found)
    builder.ret(node)
    builder.position_at_end(none)


def _emit_node(builder: ir.IRBuilder, row: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A new node, which is claimed, and its address; return NULL where there is no memory for it."""
    failed, fill = (builder.append_basic_block(name) for name in ("failed", "fill"))
    malloc = ir.Function(builder.module, ir.FunctionType(POINTER, [I64]), "malloc")
    nbytes = builder.add(builder.load(_field(builder, row, 1)), I64(HEADER + ALIGNMENT))
    memory = builder.call(malloc, [nbytes])
    builder.cbranch(builder.icmp_unsigned("==", memory, POINTER(None)), failed, fill)
    builder.position_at_end(failed)
    builder.ret(NODE.as_pointer()(None))
    builder.position_at_end(fill)
    start = builder.ptrtoint(memory, I64)
    aligned = builder.and_(builder.add(start, I64(ALIGNMENT - 1)), I64(-ALIGNMENT))
    new = builder.inttoptr(aligned, NODE.as_pointer())
    builder.store(start, _field(builder, new, 1))
    builder.store(I32(1), _field(builder, new, 2))
    return new, aligned


def _emit_push(builder: ir.IRBuilder, head: ir.Value, new: ir.Value, address: ir.Value) -> None:
    """Put a node in front of the list."""
    push, pushed = (builder.append_basic_block(name) for name in ("push", "pushed"))
    before, known = builder.block, builder.load_atomic(head, "monotonic", 8)
    builder.branch(push)
    builder.position_at_end(push)
    latest = builder.phi(I64)
    latest.add_incoming(known, before)
    builder.store(latest, _field(builder, new, 0))
    exchanged = builder.cmpxchg(head, latest, address, "release", "monotonic")
    latest.add_incoming(builder.extract_value(exchanged, 0), push)
    builder.cbranch(builder.extract_value(exchanged, 1), pushed, push)
    builder.position_at_end(pushed)


def _field(builder: ir.IRBuilder, struct: ir.Value, field: int) -> ir.Value:
    return builder.gep(struct, [I32(0), I32(field)])
