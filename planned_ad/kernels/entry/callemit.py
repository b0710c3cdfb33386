"""Emit the machine code of a call: argument checks, workspace claim, kernel, result.

Every check branches to one block, which hands the same arguments to the slow path. A field is read only after the check
that makes reading it safe: an object's type before its fields, an array's dimension before its shape.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from ..llvm.types import STACK_ALIGNMENT
from ..nests.overlaps import overlap_bits
from . import headers
from .callspec import (
    ArgumentResult,
    ArraySpec,
    CallSpec,
    FloatResult,
    FloatSpec,
    Result,
    SequenceSpec,
    SlotsSpec,
    Spec,
    StaticSpec,
    TupleResult,
)
from .watchtable import walker

VOID = ir.VoidType()
INT32 = ir.IntType(32)
INT64 = ir.IntType(64)
DOUBLE = ir.DoubleType()
POINTER = ir.IntType(8).as_pointer()


def emit_kernel_function(module: ir.Module, symbol: str, spec: CallSpec) -> ir.Function:
    """Declare the kernel's body, ``i32 body(leaf..., output..., workspace)``, with what is known of its pointers.

    ``noalias`` follows from the checks: an array that no other one overlaps, or that only ever is read beside others
    that only are read. Slots and workspace are the call's own.
    """
    count = len(spec.leaves) + spec.outputs
    function = ir.Function(module, ir.FunctionType(INT32, [POINTER] * (count + 1)), symbol)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    function.attributes.alignstack = STACK_ALIGNMENT
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
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    table, workspace = function.args
    pointers = [builder.load(builder.gep(table, [INT64(leaf)])) for leaf in range(len(kernel.args) - 1)]
    builder.ret(builder.call(kernel, [*pointers, workspace]))


class CallEmitter:
    """Emits one built-in function, ``PyObject* symbol(self, args, nargs, kwnames)``."""

    def __init__(self, module: ir.Module, symbol: str, spec: CallSpec, slow_path: Callable[..., Any]) -> None:
        signature = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), INT64, POINTER])
        self.module = module
        self.spec = spec
        self.function = ir.Function(module, signature, symbol)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.slow = self._emit_slow_block(slow_path)
        self.pointers: list[ir.Value] = []
        self.ranges: list[tuple[ir.Value, int]] = []
        self.held: list[ir.Value] = []
        self.written: list[tuple[ir.Value, int, ir.Value]] = []  # list, position, and the copy of that item's number

    def emit(self, kernel: ir.Function, workspace: int, claim: int) -> None:
        """Emit the whole function, given the addresses of the plan's own workspace and of the flag that claims it."""
        builder, spec = self.builder, self.spec
        _, arguments, count, keywords = self.function.args
        self._require(builder.icmp_signed("==", keywords, POINTER(None)))
        self._require(builder.icmp_signed("==", count, INT64(len(spec.arguments))))
        for position, argument in enumerate(spec.arguments):
            self._check(argument, builder.load(builder.gep(arguments, [INT64(position)])), in_list=False)
        fixed = [(INT64(low), nbytes) for low, nbytes in spec.fixed]
        self._require_zero(overlap_bits(builder, [*self.ranges, *fixed], spec.apart))
        self._check_outside()
        outputs = [self._slot() for _ in range(spec.outputs)]
        operands = [*self.pointers, *outputs, _address(workspace)]
        # While the GIL is held nobody else can be inside, so only a call that releases it has to claim.
        flag = _address(claim, INT32) if spec.release_gil and spec.workspace_nbytes else None
        if flag is not None:
            claimed = builder.extract_value(builder.cmpxchg(flag, INT32(0), INT32(1), "acquire", "monotonic"), 1)
            self._require(claimed)
        status = self._call_without_gil(kernel, operands) if spec.release_gil else builder.call(kernel, operands)
        if flag is not None:
            builder.store_atomic(INT32(0), flag, "release", 4)
        self._require(builder.icmp_signed("==", status, INT32(0)))
        for items, position, slot in self.written:
            self._put_item(items, position, slot)
        builder.ret(self._result(spec.result, outputs, unfinished=()))

    def _emit_slow_block(self, slow_path: Callable[..., Any]) -> ir.Block:
        block = self.function.append_basic_block("slow")
        builder = ir.IRBuilder(block)
        _, arguments, count, keywords = self.function.args
        vectorcall = self._c_api("PyObject_Vectorcall", POINTER, [POINTER, POINTER.as_pointer(), INT64, POINTER])
        builder.ret(builder.call(vectorcall, [_object(slow_path), arguments, count, keywords], tail=True))
        return block

    # Checks -----------------------------------------------------------------------------------------------------------

    def _check(self, spec: Spec, value: ir.Value, in_list: bool) -> None:
        match spec:
            case ArraySpec():
                self._check_array(spec, value)
                if in_list:  # without the GIL, another thread could take it out of the list and free it
                    self.held.append(value)
            case FloatSpec():
                self._check_float(value)
            case StaticSpec():
                self._check_static(spec, value)
            case SequenceSpec():
                self._check_sequence(spec, value, in_list)
            case SlotsSpec():
                self._require(self._has_type(value, spec.type))
                for name, item in zip(spec.names, spec.items):  # another thread could replace what is in a slot too
                    self._check(item, self._field(value, headers.slot_offset(spec.type, name), POINTER), in_list=True)

    def _check_array(self, spec: ArraySpec, array: ir.Value) -> None:
        builder = self.builder
        self._require(self._has_type(array, np.ndarray))
        flags = headers.FLAG_ALIGNED | (headers.FLAG_WRITEABLE if spec.writeable else 0)
        set_flags = builder.and_(self._field(array, headers.ARRAY_FLAGS, INT32), INT32(flags))
        ndim = self._field(array, headers.ARRAY_NDIM, INT32)
        self._require_zero([builder.xor(set_flags, INT32(flags)), builder.xor(ndim, INT32(len(spec.shape)))])
        self._check_dtype(spec.dtype, array)
        if spec.shape:
            shape = self._field(array, headers.ARRAY_SHAPE, POINTER)
            strides = self._field(array, headers.ARRAY_STRIDES, POINTER)
            expected = [(shape, axis, extent) for axis, extent in enumerate(spec.shape)]
            expected += [(strides, axis, stride) for axis, _, stride in spec.used_strides]
            self._require_zero(
                [builder.xor(self._field(start, 8 * axis, INT64), INT64(value)) for start, axis, value in expected]
            )
        data = self._field(array, headers.ARRAY_DATA, POINTER)
        self.pointers.append(data)
        low, high = spec.byte_range
        self.ranges.append((builder.add(builder.ptrtoint(data, INT64), INT64(low)), high - low))

    def _check_dtype(self, dtype: np.dtype, array: ir.Value) -> None:
        """Nearly every array has NumPy's own dtype object; one that was unpickled has an equal one."""
        builder = self.builder
        descr = self._field(array, headers.ARRAY_DESCR, POINTER)
        own, equal = self._block("dtype.own"), self._block("dtype.equal")
        builder.cbranch(builder.icmp_signed("==", descr, _object(np.dtype(dtype.char))), own, equal).set_weights(
            [99, 1]
        )
        builder.position_at_end(equal)
        word = builder.and_(self._field(descr, headers.DESCR_WORD, INT64), INT64(_as_signed(headers.DESCR_WORD_MASK)))
        builder.cbranch(builder.icmp_signed("==", word, INT64(headers.descr_word(dtype))), own, self.slow)
        builder.position_at_end(own)

    def _check_float(self, value: ir.Value) -> None:
        builder = self.builder
        self._require(builder.or_(self._has_type(value, float), self._has_type(value, np.float64)))
        slot = self._slot()
        number = self._field(value, headers.FLOAT_VALUE, DOUBLE)
        builder.store(number, builder.bitcast(slot, DOUBLE.as_pointer()))
        self.pointers.append(slot)

    def _check_static(self, spec: StaticSpec, value: ir.Value) -> None:
        builder = self.builder
        same = builder.icmp_signed("==", value, _object(spec.value))
        if not spec.is_int64:
            self._require(same)
            return
        # Only the integers from -5 to 256 are unique objects.
        matched, other = self._block("static.same"), self._block("static.other")
        builder.cbranch(same, matched, other)
        builder.position_at_end(other)
        self._require(self._has_type(value, int))
        overflow = self._alloca(INT32)
        convert = self._c_api("PyLong_AsLongLongAndOverflow", INT64, [POINTER, INT32.as_pointer()])
        number = builder.call(convert, [value, overflow])
        equal = builder.icmp_signed("==", number, INT64(spec.value))
        fits = builder.icmp_signed("==", builder.load(overflow), INT32(0))
        builder.cbranch(builder.and_(equal, fits), matched, self.slow)
        builder.position_at_end(matched)

    def _check_sequence(self, spec: SequenceSpec, value: ir.Value, in_list: bool) -> None:
        builder = self.builder
        self._require(self._has_type(value, spec.type))
        length = self._field(value, headers.SEQUENCE_LENGTH, INT64)
        self._require(builder.icmp_signed("==", length, INT64(len(spec.items))))
        if spec.type is list:
            start, offset = self._field(value, headers.LIST_ITEMS, POINTER), 0
        else:
            start, offset = value, headers.TUPLE_ITEMS
        for position, item in enumerate(spec.items):
            item_value = self._field(start, offset + 8 * position, POINTER)
            self._check(item, item_value, in_list or spec.type is list)
            if isinstance(item, FloatSpec) and item.written and spec.type is list:
                self.written.append((value, position, self.pointers[-1]))

    def _check_outside(self) -> None:
        table = None if self.spec.watch is None else self.spec.watch.table
        if table is not None:
            kind = ir.FunctionType(INT32, [POINTER]).as_pointer()
            differs = self.builder.call(self.builder.inttoptr(INT64(walker()), kind), [_address(table.address)])
            self._require(self.builder.icmp_signed("==", differs, INT32(0)))

    # Kernel and result ------------------------------------------------------------------------------------------------

    def _call_without_gil(self, kernel: ir.Function, operands: list[ir.Value]) -> ir.Value:
        builder = self.builder
        for value in self.held:
            self._incref(value)
        thread = builder.call(self._c_api("PyEval_SaveThread", POINTER, []), [])
        status = builder.call(kernel, operands)
        builder.call(self._c_api("PyEval_RestoreThread", VOID, [POINTER]), [thread])
        for value in self.held:
            self._decref(value)
        return status

    def _result(self, result: Result, outputs: list[ir.Value], unfinished: tuple[ir.Value, ...]) -> ir.Value:
        """A new reference; without memory for it, drop the `unfinished` tuples around it and return NULL."""
        builder = self.builder
        match result:
            case None:
                return self._incref(_object(None))
            case ArgumentResult():
                return self._incref(builder.load(builder.gep(self.function.args[1], [INT64(result.position)])))
            case FloatResult():
                number = builder.load(builder.bitcast(outputs[result.output], DOUBLE.as_pointer()))
                new = builder.call(self._c_api("PyFloat_FromDouble", POINTER, [DOUBLE]), [number])
                self._return_if_null(new, unfinished)
                return new
            case TupleResult():
                new = builder.call(self._c_api("PyTuple_New", POINTER, [INT64]), [INT64(len(result.items))])
                self._return_if_null(new, unfinished)
                set_item = self._c_api("PyTuple_SetItem", INT32, [POINTER, INT64, POINTER])
                for position, item in enumerate(result.items):
                    value = self._result(item, outputs, (*unfinished, new))
                    builder.call(set_item, [new, INT64(position), value])  # takes over the reference; new cannot fail
                return new

    def _put_item(self, items: ir.Value, position: int, slot: ir.Value) -> None:
        """Put the number in `slot` into a list; an IndexError where it was shortened while the GIL was released."""
        builder = self.builder
        number = builder.load(builder.bitcast(slot, DOUBLE.as_pointer()))
        new = builder.call(self._c_api("PyFloat_FromDouble", POINTER, [DOUBLE]), [number])
        self._return_if_null(new, ())
        set_item = self._c_api("PyList_SetItem", INT32, [POINTER, INT64, POINTER])
        failed = builder.icmp_signed("<", builder.call(set_item, [items, INT64(position), new]), INT32(0))
        with builder.if_then(failed, likely=False):
            builder.ret(POINTER(None))

    def _return_if_null(self, value: ir.Value, unfinished: tuple[ir.Value, ...]) -> None:
        builder = self.builder
        failed, made = self._block("failed"), self._block("made")
        builder.cbranch(builder.icmp_signed("==", value, POINTER(None)), failed, made).set_weights([1, 99])
        builder.position_at_end(failed)
        for new in unfinished:
            self._decref(new)
        builder.ret(POINTER(None))
        builder.position_at_end(made)

    # Building blocks --------------------------------------------------------------------------------------------------

    def _require(self, condition: ir.Value) -> None:
        """Go on where `condition` holds, and to the slow path where not."""
        block = self._block("checked")
        self.builder.cbranch(condition, block, self.slow).set_weights([99, 1])
        self.builder.position_at_end(block)

    def _require_zero(self, words: list[ir.Value]) -> None:
        """Go on where all `words` are zero: several comparisons for one branch."""
        if words:
            union = words[0]
            for word in words[1:]:
                union = self.builder.or_(union, word)
            self._require(self.builder.icmp_signed("==", union, union.type(0)))

    def _field(self, value: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
        address = self.builder.gep(value, [INT64(offset)])
        return self.builder.load(self.builder.bitcast(address, kind.as_pointer()))

    def _has_type(self, value: ir.Value, wanted: type) -> ir.Value:
        return self.builder.icmp_signed("==", self._field(value, headers.OBJECT_TYPE, POINTER), _object(wanted))

    def _alloca(self, kind: ir.Type) -> ir.Value:
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind)

    def _slot(self) -> ir.Value:
        slot = self._alloca(DOUBLE)
        return self.builder.bitcast(slot, POINTER)

    def _incref(self, value: ir.Value) -> ir.Value:
        self.builder.call(self._c_api("Py_IncRef", VOID, [POINTER]), [value])
        return value

    def _decref(self, value: ir.Value) -> None:
        self.builder.call(self._c_api("Py_DecRef", VOID, [POINTER]), [value])

    def _block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    def _c_api(self, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)


def _address(address: int, kind: ir.Type | None = None) -> ir.Value:
    return INT64(address).inttoptr(POINTER if kind is None else kind.as_pointer())


def _object(value: object) -> ir.Value:
    """A pointer to an object, which the function's `CompiledCall` keeps alive."""
    return _address(id(value))


def _as_signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word
