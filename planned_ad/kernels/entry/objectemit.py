"""Emit what is done with Python objects: fields read, references counted, new objects made.

Wherever an exception is raised on the way, the function that is emitted returns NULL, and drops what it holds.

What it needs of Python it finds in a table, the bytes that are the first item of its ``self``.
"""

from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from ..llvm.addresses import TableModule, invariant, pointer_at
from ..llvm.builder import TerseBuilder
from . import headers
from .callspec import (
    ArgumentResult,
    ComplexResult,
    ConstantResult,
    ConvertedResult,
    DictResult,
    FloatResult,
    ListResult,
    NewArray,
    PartResult,
    Result,
    TupleResult,
)

VOID = ir.VoidType()
BOOL = ir.IntType(1)
INT32 = ir.IntType(32)
INT64 = ir.IntType(64)
DOUBLE = ir.DoubleType()
POINTER = ir.IntType(8).as_pointer()
BYTES = INT64(headers.BYTES_VALUE)
Path = tuple[int, ...]  # where something is in the arguments: the position of one, of an item in it, ...


class CheckEmitter:
    """A function that reads fields of objects, and goes to its block `slow` where one is not what it has to be."""

    def __init__(self, module: TableModule, function: ir.Function) -> None:
        self.module, self.function = module, function
        self.builder = TerseBuilder(function.append_basic_block("entry"))
        self.slow = self._block("slow")

    def _require(self, condition: ir.Value) -> None:
        """Go on where `condition` holds, and to the slow path where not."""
        block = self._block("checked")
        self.module.expect(self.builder.cbranch(condition, block, self.slow), True)
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

    def _block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)


class ObjectEmitter(CheckEmitter):
    """A function, ``PyObject* symbol(self, args, nargs, kwnames)``, as far as its objects go.

    It leaves by one of two ways: `exit`, with what it returns, or `slow`, where its call is handed on.
    """

    def __init__(self, module: TableModule, symbol: str) -> None:
        signature = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), INT64, POINTER])
        super().__init__(module, ir.Function(module, signature, symbol))
        table = self.builder.gep(self._field(self.function.args[0], headers.TUPLE_ITEMS, POINTER), [BYTES])
        module.table = self.builder.bitcast(table, INT64.as_pointer())
        self.exit = self._block("exit")
        self.returned = TerseBuilder(self.exit).phi(POINTER)
        self.made: list[ir.Value] = []  # cells of references that are dropped at the end
        self.seen: dict[Path, ir.Value] = {}  # arguments and what is in them; of a float, the copy of its number

    def _cell(self) -> ir.Value:
        """A place for a reference that is dropped at the end."""
        cell = self._alloca(POINTER)
        with self.builder.goto_entry_block():
            self.builder.store(POINTER(None), cell)
        self.made.append(cell)
        return cell

    def _keep(self, value: ir.Value) -> None:
        self.builder.store(value, self._cell())

    def _return(self, value: ir.Value) -> None:
        self.returned.add_incoming(value, self.builder.block)
        self.builder.branch(self.exit)

    # New objects ----------------------------------------------------------------------------------------------------

    def _result(self, result: Result, outputs: list[ir.Value], unfinished: tuple[ir.Value, ...]) -> ir.Value:
        """A new reference; without memory for it, drop the `unfinished` containers around it and return NULL."""
        match result:
            case None:
                return self._incref(self._object(None))
            case ConstantResult():
                return self._incref(self._object(result.value))
            case ArgumentResult():
                return self._incref(self.seen[result.position,])
            case PartResult():
                found = self.seen[result.path]
                return self._new_float(found, unfinished) if result.is_float else self._incref(found)
            case FloatResult():
                return self._new_float(outputs[result.output], unfinished)
            case ComplexResult():
                numbers = [self._number_in(outputs[part.output]) for part in result.items]  # type: ignore[union-attr]
                return self._new("PyComplex_FromDoubles", [DOUBLE] * 2, numbers, unfinished)
            case NewArray():
                return self._new_array(result, unfinished)
            case TupleResult():
                return self._filled(tuple, [self._item(item, outputs) for item in result.items], unfinished)
            case ListResult():
                return self._filled(list, [self._item(item, outputs) for item in result.items], unfinished)
            case DictResult():
                new = self._new("PyDict_New", [], [], unfinished)
                for key, item in zip(result.keys, result.items):
                    value = self._result(item, outputs, (*unfinished, new))
                    self._put("PyDict_SetItem", new, self._object(key), value, (*unfinished, new))
                    self._decref(value)
                return new
            case ConvertedResult():
                return self._converted(result.function, self._result(result.item, outputs, unfinished), unfinished)

    def _converted(self, make: object, value: ir.Value, unfinished: tuple[ir.Value, ...] = ()) -> ir.Value:
        """A new reference to what a function makes of a value, the reference to which is dropped."""
        call = self._c_api("PyObject_CallOneArg", POINTER, [POINTER] * 2)
        made = self.builder.call(call, [self._object(make), value])
        self._decref(value)
        self._return_if_null(made, unfinished)
        return made

    def _item(self, item: Result, outputs: list[ir.Value]) -> Callable[[tuple[ir.Value, ...]], ir.Value]:
        return lambda unfinished: self._result(item, outputs, unfinished)

    def _filled(
        self, kind: type, items: list[Callable[[tuple[ir.Value, ...]], ir.Value]], unfinished: tuple[ir.Value, ...]
    ) -> ir.Value:
        """A new tuple or list of `items`, each made in its turn."""
        name = "PyTuple" if kind is tuple else "PyList"
        new = self._new(f"{name}_New", [INT64], [INT64(len(items))], unfinished)
        set_item = self._c_api(f"{name}_SetItem", INT32, [POINTER, INT64, POINTER])
        for position, item in enumerate(items):
            value = item((*unfinished, new))
            self.builder.call(set_item, [new, INT64(position), value])  # takes over the reference; cannot fail
        return new

    def _new(
        self, name: str, kinds: list[ir.Type], arguments: list[ir.Value], unfinished: tuple[ir.Value, ...]
    ) -> ir.Value:
        new = self.builder.call(self._c_api(name, POINTER, kinds), arguments)
        self._return_if_null(new, unfinished)
        return new

    def _number_in(self, slot: ir.Value) -> ir.Value:
        return self.builder.load(self.builder.bitcast(slot, DOUBLE.as_pointer()))

    def _new_float(self, slot: ir.Value, unfinished: tuple[ir.Value, ...] = ()) -> ir.Value:
        return self._new("PyFloat_FromDouble", [DOUBLE], [self._number_in(slot)], unfinished)

    def _new_array(self, result: NewArray, unfinished: tuple[ir.Value, ...]) -> ir.Value:
        """As `np.empty` or `np.zeros`, by what these call; an array of another order has its strides said."""
        builder, spec = self.builder, result.spec
        count, words, is_c = len(spec.shape), INT64.as_pointer(), spec.is_c_ordered
        dtype = self._incref(self._object(np.dtype(spec.dtype.char)))  # the call takes over the reference
        extents = self._constants(spec.shape)
        if is_c:
            kind = ir.FunctionType(POINTER, [INT32, words, POINTER, INT32])
            make = pointer_at(builder, "routine", "zeros" if result.is_zero else "empty", kind)
            new = builder.call(make, [INT32(count), extents, dtype, INT32(0)])
        else:
            kind = ir.FunctionType(POINTER, [POINTER, POINTER, INT32, words, words, POINTER, INT32, POINTER])
            make = pointer_at(builder, "routine", "new", kind)
            strides, nothing = self._constants(spec.strides), POINTER(None)
            new = builder.call(
                make, [self._object(np.ndarray), dtype, INT32(count), extents, strides, nothing, INT32(0), nothing]
            )
        self._return_if_null(new, unfinished)
        if result.is_zero and not is_c:
            fill = self._c_api("memset", POINTER, [POINTER, INT32, INT64])
            nbytes = self._integer(spec.byte_range[1])
            builder.call(fill, [self._field(new, headers.ARRAY_DATA, POINTER), INT32(0), nbytes])
        return new

    def _constants(self, numbers: Sequence[int]) -> ir.Value:
        """The address of these numbers."""
        return self.module.integers(self.builder, numbers)

    def _integer(self, number: int) -> ir.Value:
        """A number of the call, which is no part of its code."""
        return invariant(self.builder, self._constants([number]))

    def _put(
        self, name: str, items: ir.Value, key: ir.Value, value: ir.Value, unfinished: tuple[ir.Value, ...]
    ) -> None:
        builder = self.builder
        set_item = self._c_api(name, INT32, [POINTER, key.type, POINTER])
        failed = builder.icmp_signed("<", builder.call(set_item, [items, key, value]), INT32(0))
        self._leave_if(failed, unfinished)

    def _return_if_null(self, value: ir.Value, unfinished: tuple[ir.Value, ...]) -> None:
        self._leave_if(self.builder.icmp_signed("==", value, POINTER(None)), unfinished)

    def _leave_if(self, failed: ir.Value, unfinished: tuple[ir.Value, ...]) -> None:
        """Return NULL where an exception has been raised."""
        builder = self.builder
        leave, go_on = self._block("failed"), self._block("made")
        self.module.expect(builder.cbranch(failed, leave, go_on), False)
        builder.position_at_end(leave)
        for new in unfinished:
            self._decref(new)
        self._return(POINTER(None))
        builder.position_at_end(go_on)

    # Building blocks --------------------------------------------------------------------------------------------------

    def _has_type(self, value: ir.Value, wanted: type) -> ir.Value:
        return self.builder.icmp_signed("==", self._field(value, headers.OBJECT_TYPE, POINTER), self._object(wanted))

    def _object(self, value: object) -> ir.Value:
        """A pointer to an object, which the function's `CompiledCall` keeps alive."""
        return pointer_at(self.builder, "object", value)

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

    def _c_api(self, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)


def as_signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word
