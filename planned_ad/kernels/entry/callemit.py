"""Emit the machine code of a call: argument checks, workspace claim, call of the kernel, result.

The kernel, and all numbers and objects, are in the table of the call: so the code is that of all calls whose arguments
are of the same kinds, whatever their shapes.

Every check branches to one block, which hands the same arguments to the slow path, or to the
call of the next trace. A field is read only after the check
that makes reading it safe: an object's type before its fields, an array's dimension before its shape.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir

from ..llvm.addresses import TableModule, integer_at, pointer_at
from ..llvm.builder import TerseBuilder
from ..llvm.types import value_unless
from ..nests.overlaps import overlap_bits
from . import headers, watchtable
from .arrayemit import check_of, flags_of, numbers_of
from .callspec import (
    ANY_TYPES,
    AnySpec,
    ArraySpec,
    CallSpec,
    ComplexSpec,
    DictSpec,
    FloatSpec,
    NewArray,
    ObjectSpec,
    Result,
    SequenceSpec,
    SlotsSpec,
    Spec,
    StaticSpec,
)
from .forms import SIGNATURE
from .objectemit import BOOL, DOUBLE, INT32, INT64, POINTER, VOID, ObjectEmitter, Path


class CallEmitter(ObjectEmitter):
    """Emits one built-in function, ``PyObject* symbol(self, args, nargs, kwnames)``."""

    def __init__(self, module: TableModule, symbol: str, spec: CallSpec) -> None:
        super().__init__(module, symbol)
        self.spec = spec
        self.next = self._alloca(POINTER)  # what takes the call over, where this one is not for it
        self.builder.store(pointer_at(self.builder, "own", "slow_path"), self.next)
        self.pointers: list[ir.Value] = []
        self.ranges: list[tuple[ir.Value, int]] = []
        self.held: list[ir.Value] = []
        self.owners: list[tuple[ir.Value, bool]] = []  # objects, and whether numbers may be put into them
        self.told_apart: list[ir.Value] = []  # arrays and containers

    def emit(self) -> None:
        """Emit the whole function. Of its `own` are kernel, workspace, the flag that claims it, and the slow path."""
        builder, spec = self.builder, self.spec
        self._take_arguments()
        fixed = [(integer_at(builder, "fixed", k), nbytes) for k, (_, nbytes) in enumerate(spec.fixed)]
        self._require_zero(overlap_bits(builder, [*self.ranges, *fixed], spec.apart, self._integer))
        self._check_owners()
        self._check_outside()
        outputs = [self._slot() for _ in range(spec.outputs)]
        operands = [*self.pointers, *outputs, pointer_at(builder, "own", "workspace")]
        # While the GIL is held nobody else can be inside, so only a call that releases it has to claim.
        claims = spec.release_gil and spec.workspace_nbytes
        flag = pointer_at(builder, "own", "claim", INT32) if claims else None
        if flag is not None:
            claimed = builder.extract_value(builder.cmpxchg(flag, INT32(0), INT32(1), "acquire", "monotonic"), 1)
            self._require(claimed)
        kernel = pointer_at(builder, "own", "kernel", ir.FunctionType(INT32, [POINTER] * len(operands)))
        status = self._call_without_gil(kernel, operands) if spec.release_gil else builder.call(kernel, operands)
        if flag is not None:
            builder.store_atomic(INT32(0), flag, "release", 4)
        self._require_done(status)
        for shown in {path for argument in spec.arguments for path in shown_within(argument)}:
            self._keep(self._incref(self.seen[shown]))  # where it was, there may be another one before it is shown
        for position, argument in enumerate(spec.arguments):
            if changes_within(argument):
                new = self._updated(argument, (position,))
                if new is not None:  # a tuple that holds what has changed
                    self._keep(new)
                    self.seen[position,] = new
        self._return(self._result(spec.result, outputs, unfinished=()))
        self._emit_ends()

    def _require_done(self, status: ir.Value) -> None:
        """Go on where the kernel is done; where its guards do not hold, to the call that follows, if there is one."""
        builder, done, broken = self.builder, self._block("done"), self._block("broken")
        self.module.expect(builder.cbranch(builder.icmp_signed("==", status, INT32(0)), done, broken), True)
        builder.position_at_end(broken)
        following = builder.load(pointer_at(builder, "own", "following", POINTER))
        is_last = builder.icmp_signed("==", following, POINTER(None))
        builder.store(builder.select(is_last, builder.load(self.next), following), self.next)
        builder.branch(self.slow)
        builder.position_at_end(done)

    def _take_arguments(self) -> None:
        """Find each argument, make what is missing, and check."""
        builder, spec = self.builder, self.spec
        arguments = self._in_order()
        made = dict(spec.forms.made) if spec.forms is not None else {}
        for position in range(len(spec.arguments)):
            value = builder.load(builder.gep(arguments, [INT64(position)]))
            value = self._made(value, made[position]) if position in made else value
            self._check(spec.arguments[position], value, False, (position,))

    def _in_order(self) -> ir.Value:
        """All arguments in a row, as they are where all are passed by position."""
        builder, spec = self.builder, self.spec
        _, arguments, count, keywords = self.function.args
        plain = builder.icmp_signed("==", keywords, POINTER(None))
        plain = builder.and_(plain, builder.icmp_signed("==", count, INT64(len(spec.arguments))))
        if spec.forms is None or not spec.arguments:
            self._require(plain)
            return arguments

        def arranged() -> ir.Value:
            with builder.goto_entry_block():
                ordered = builder.alloca(POINTER, size=INT64(len(spec.arguments)))
            integers = INT64.as_pointer()
            places = [builder.bitcast(place, integers) for place in (arguments, ordered)]
            arrange = pointer_at(builder, "routine", "arrange", SIGNATURE)
            row = pointer_at(builder, "own", "forms", INT64)
            status = builder.call(arrange, [row, places[0], count, keywords, places[1]])
            self._require(builder.icmp_signed("==", status, INT32(0)))
            return ordered

        return value_unless(builder, builder.not_(plain), arguments, arranged, likely=False)

    def _made(self, value: ir.Value, result: Result) -> ir.Value:
        """An argument, or what is made in its place where it is None."""
        builder, cell = self.builder, self._cell()

        def make() -> ir.Value:
            new = self._result(result, [], unfinished=())
            builder.store(new, cell)
            return new

        return value_unless(builder, builder.icmp_signed("==", value, self._object(None)), value, make)

    def _emit_ends(self) -> None:
        """The slow path, and the way out; both drop what was made here."""
        _, arguments, count, keywords = self.function.args
        vectorcall = self._c_api("PyObject_Vectorcall", POINTER, [POINTER, POINTER.as_pointer(), INT64, POINTER])
        for block in (self.slow, self.exit):
            self.builder = builder = TerseBuilder(block)
            for cell in self.made:
                value = builder.load(cell)
                with builder.if_then(builder.icmp_signed("!=", value, POINTER(None))):
                    self._decref(value)
            if block is self.exit:
                builder.ret(self.returned)
            else:
                passed = [builder.load(self.next), arguments, count, keywords]
                builder.ret(builder.call(vectorcall, passed, tail=True))

    # Checks -----------------------------------------------------------------------------------------------------------

    def _check(self, spec: Spec, value: ir.Value, in_list: bool, path: Path) -> None:
        """Check an argument, or what is in one; `in_list`: in something that another thread could take it out of."""
        self.seen[path] = value
        if path[0] < self.spec.told_apart and has_identity(spec):
            self.told_apart.append(value)
        if in_list and not isinstance(spec, StaticSpec | FloatSpec | ComplexSpec | AnySpec):
            self.held.append(value)  # without the GIL, it could be freed
        match spec:
            case ArraySpec():
                self._check_array(spec, value)
                if spec.is_copied:
                    self.seen[path] = self._copy(spec, value)
            case FloatSpec():
                self._check_float(value)
                self.seen[path] = self.pointers[-1]
            case ComplexSpec():
                self._check_complex(value)
            case StaticSpec():
                self._check_static(spec, value)
            case SequenceSpec():
                self._check_sequence(spec, value, in_list, path)
            case DictSpec():
                self._require(self._has_type(value, dict))
                self._check_items(spec, value, path)
            case ObjectSpec():
                self._require(self._has_type(value, spec.type))
                self._note_owner(spec, value, path)
                self._check_items(spec, self._attributes(value), path)
            case SlotsSpec():
                self._require(self._has_type(value, spec.type))
                self._note_owner(spec, value, path)
                for k, (name, item) in enumerate(zip(spec.names, spec.items)):
                    found = self._field(value, headers.slot_offset(spec.type, name), POINTER)
                    self._require(self.builder.icmp_signed("!=", found, POINTER(None)))
                    self._check(item, found, True, (*path, k))
            case AnySpec():
                kinds = ANY_TYPES if spec.also is None else (*ANY_TYPES, spec.also)
                same = [self._has_type(value, kind) for kind in kinds]
                self._require(functools.reduce(self.builder.or_, same))

    def _check_items(self, spec: DictSpec | ObjectSpec, items: ir.Value, path: Path) -> None:
        """Check keys and values of a dict, in their order."""
        builder = self.builder
        length = self._field(items, headers.DICT_LENGTH, INT64)
        self._require(builder.icmp_signed("==", length, INT64(len(spec.keys))))
        place, key, item = self._alloca(INT64), self._alloca(POINTER), self._alloca(POINTER)
        builder.store(INT64(0), place)
        cells = [POINTER.as_pointer(), POINTER.as_pointer()]
        following = self._c_api("PyDict_Next", INT32, [POINTER, INT64.as_pointer(), *cells])
        for k, (expected, inner) in enumerate(zip(spec.keys, spec.items)):
            builder.call(following, [items, place, key, item])
            self._check_key(builder.load(key), expected)
            self._check(inner, builder.load(item), True, (*path, k))

    def _check_key(self, key: ir.Value, expected: Any) -> None:
        """The same object nearly always; an equal text, where it was not written in a program."""
        builder = self.builder
        same, other = self._block("key.same"), self._block("key.other")
        is_same = builder.icmp_signed("==", key, self._object(expected))
        self.module.expect(builder.cbranch(is_same, same, other), True)
        builder.position_at_end(other)
        if type(expected) is str:
            self._require(self._has_type(key, str))
            compare = self._c_api("PyUnicode_Compare", INT32, [POINTER, POINTER])
            self._require(builder.icmp_signed("==", builder.call(compare, [key, self._object(expected)]), INT32(0)))
            builder.branch(same)
        else:
            builder.branch(self.slow)
        builder.position_at_end(same)

    def _check_array(self, spec: ArraySpec, array: ir.Value) -> None:
        builder, row = self.builder, self._constants(numbers_of(spec))
        check = check_of(self.module, spec, written_out=not self.spec.is_long)
        kinds = [self._object(np.ndarray), self._object(np.dtype(spec.dtype.char))]
        self._require(builder.call(check, [array, *kinds, flags_of(spec), row]))
        data = self._field(array, headers.ARRAY_DATA, POINTER)
        self.pointers.append(data)
        low, high = spec.byte_range
        start = builder.ptrtoint(data, INT64)
        self.ranges.append((builder.add(start, self._integer(low)) if low else start, high - low))

    def _copy(self, spec: ArraySpec, array: ir.Value) -> ir.Value:
        """An array of the call's own in the place of this one."""
        new = self._new_array(NewArray(spec, False), ())
        self._keep(new)
        places = [self._field(each, headers.ARRAY_DATA, POINTER) for each in (new, array)]
        copy = self._c_api("memcpy", POINTER, [POINTER, POINTER, INT64])
        self.builder.call(copy, [*places, self._integer(spec.byte_range[1])])
        self.pointers[-1] = places[0]
        return new

    def _check_float(self, value: ir.Value) -> None:
        builder = self.builder
        self._require(builder.or_(self._has_type(value, float), self._has_type(value, np.float64)))
        slot = self._slot()
        number = self._field(value, headers.FLOAT_VALUE, DOUBLE)
        builder.store(number, builder.bitcast(slot, DOUBLE.as_pointer()))
        self.pointers.append(slot)

    def _check_complex(self, value: ir.Value) -> None:
        builder = self.builder
        self._require(builder.or_(self._has_type(value, complex), self._has_type(value, np.complex128)))
        for offset in headers.COMPLEX_VALUES:
            slot = self._slot()
            builder.store(self._field(value, offset, DOUBLE), builder.bitcast(slot, DOUBLE.as_pointer()))
            self.pointers.append(slot)

    def _check_static(self, spec: StaticSpec, value: ir.Value) -> None:
        builder = self.builder
        same = builder.icmp_signed("==", value, self._object(spec.value))
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
        equal = builder.icmp_signed("==", number, self._integer(int(spec.value)))  # type: ignore[call-overload]
        fits = builder.icmp_signed("==", builder.load(overflow), INT32(0))
        builder.cbranch(builder.and_(equal, fits), matched, self.slow)
        builder.position_at_end(matched)

    def _check_sequence(self, spec: SequenceSpec, value: ir.Value, in_list: bool, path: Path) -> None:
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
            self._check(item, item_value, in_list or spec.type is list, (*path, position))

    def _note_owner(self, spec: Spec, value: ir.Value, path: Path) -> None:
        self.owners.append((value, changes_within(self.spec.arguments[path[0]])))

    def _check_owners(self) -> None:
        """An object that gets numbers is met in one place: in two, each would have its own."""
        written = [owner for owner, is_written in self.owners if is_written]
        self._require_distinct(written, [owner for owner, is_written in self.owners if not is_written])
        self._require_distinct(self.told_apart, [])

    def _require_distinct(self, objects: list[ir.Value], others: list[ir.Value]) -> None:
        """Go on where none of the objects is another one of them, or of the others."""
        every = [*objects, *others]
        if not objects or len(every) == 1:
            return
        with self.builder.goto_entry_block():
            row = self.builder.alloca(POINTER, size=INT64(len(every)))
        for k, owner in enumerate(every):
            self.builder.store(owner, self.builder.gep(row, [INT64(k)]))
        counts = [INT64(len(objects)), INT64(len(every))]
        self._require(self.builder.call(distinct_check(self.module), [row, *counts]))

    def _check_outside(self) -> None:
        """By a loop of its own where all that is looked at are fields of objects; else by the routine for all."""
        if self.spec.watch is None or self.spec.watch.table is None:
            return
        builder, watch = self.builder, pointer_at(self.builder, "own", "watch")
        table = watchtable.table_at(builder, watch)
        fields, whatever, same = self._block("fields"), self._block("whatever"), self._block("outside.same")
        builder.cbranch(watchtable.has_only_fields(builder, table), fields, whatever)
        builder.position_at_end(fields)
        with watchtable.each_field(builder, table) as is_same:
            self._require(is_same)
        builder.branch(same)
        builder.position_at_end(whatever)
        walk = pointer_at(builder, "routine", "walk", ir.FunctionType(INT32, [POINTER]))
        self._require(builder.icmp_signed("==", builder.call(walk, [watch]), INT32(0)))
        builder.branch(same)
        builder.position_at_end(same)

    # Kernel and result ------------------------------------------------------------------------------------------------

    def _call_without_gil(self, kernel: ir.Value, operands: list[ir.Value]) -> ir.Value:
        builder = self.builder
        for value in self.held:
            self._keep(self._incref(value))
        thread = builder.call(self._c_api("PyEval_SaveThread", POINTER, []), [])
        status = builder.call(kernel, operands)
        builder.call(self._c_api("PyEval_RestoreThread", VOID, [POINTER]), [thread])
        return status

    def _updated(self, spec: Spec, path: Path) -> ir.Value | None:
        """A new reference to what stands in the place of a float, or of a tuple that holds one, after the kernel.

        Lists, dicts and objects that can be are changed themselves: None.
        """
        if isinstance(spec, FloatSpec):
            new = self._new_float(self.seen[path])
            return new if spec.kind is float else self._converted(spec.kind, new)
        if isinstance(spec, ArraySpec):
            assert spec.shows is not None
            return self._incref(self.seen[spec.shows])
        assert isinstance(spec, SequenceSpec | DictSpec | ObjectSpec | SlotsSpec)
        if is_renewed(spec):
            new = self._filled(tuple, [self._part(item, (*path, k)) for k, item in enumerate(spec.items)], ())
            if isinstance(spec, SequenceSpec):
                return new if spec.type is tuple else self._converted(functools.partial(tuple.__new__, spec.type), new)
            assert isinstance(spec, ObjectSpec | SlotsSpec)
            return self._converted(spec.renewed, new)
        for k, item in enumerate(spec.items):
            value = self._updated(item, (*path, k)) if changes_within(item) else None
            if value is not None:
                self._replace(spec, self.seen[path], k, value)
        return None

    def _replace(self, spec: Spec, container: ir.Value, k: int, value: ir.Value) -> None:
        """Put something new, the reference to which is taken over, in the place of an item of a container."""
        match spec:
            case DictSpec():
                self._put("PyDict_SetItem", container, self._object(spec.keys[k]), value, (value,))
                self._decref(value)
            case ObjectSpec():
                attributes = self._attributes(container)
                self._put("PyDict_SetItem", attributes, self._object(spec.keys[k]), value, (value,))
                self._decref(value)
            case SlotsSpec():
                offset = headers.slot_offset(spec.type, spec.names[k])
                old = self._field(container, offset, POINTER)
                place = self.builder.gep(container, [INT64(offset)])
                self.builder.store(value, self.builder.bitcast(place, POINTER.as_pointer()))
                self._decref(old)
            case _:  # it fails where the list was shortened while the GIL was released
                self._put("PyList_SetItem", container, INT64(k), value, ())

    def _attributes(self, value: ir.Value) -> ir.Value:
        """The dict of an object, which keeps it alive."""
        find = self._c_api("PyObject_GenericGetDict", POINTER, [POINTER, POINTER])
        attributes = self.builder.call(find, [value, POINTER(None)])
        self._return_if_null(attributes, ())
        self._decref(attributes)
        return attributes

    def _part(self, spec: Spec, path: Path) -> Callable[[tuple[ir.Value, ...]], ir.Value]:
        """An item of a tuple, as it is after the kernel."""

        def part(unfinished: tuple[ir.Value, ...]) -> ir.Value:
            new = self._updated(spec, path) if changes_within(spec) else None
            return self._incref(self.seen[path]) if new is None else new

        return part


def distinct_check(module: TableModule) -> ir.Function:
    """``bool distinct(row, written, count)``: whether each of the first pointers in a row is in one place of it."""
    known = module.globals.get("distinct")
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(BOOL, [POINTER.as_pointer(), INT64, INT64]), "distinct")
    function.linkage = "internal"
    row, written, count = function.args
    names = ("entry", "outer", "inner", "different", "following", "same", "done")
    entry, outer, inner, different, following, same, done = map(function.append_basic_block, names)
    TerseBuilder(entry).branch(outer)
    builder = TerseBuilder(outer)
    i = builder.phi(INT64)
    first = builder.load(builder.gep(row, [i]))
    after = builder.add(i, INT64(1))
    builder.cbranch(builder.icmp_signed("<", after, count), inner, done)
    builder = TerseBuilder(inner)
    j = builder.phi(INT64)
    is_same = builder.icmp_signed("==", builder.load(builder.gep(row, [j])), first)
    later = builder.add(j, INT64(1))
    builder.cbranch(is_same, same, different)
    builder = TerseBuilder(different)
    builder.cbranch(builder.icmp_signed("<", later, count), inner, following)
    builder = TerseBuilder(following)
    builder.cbranch(builder.icmp_signed("<", after, written), outer, done)
    i.add_incoming(INT64(0), entry)
    i.add_incoming(after, following)
    j.add_incoming(after, outer)
    j.add_incoming(later, different)
    TerseBuilder(same).ret(BOOL(0))
    TerseBuilder(done).ret(BOOL(1))
    return function


def has_identity(spec: Spec) -> bool:
    """Whether it is an array or a container, which may be met in another place; empty tuples are all one."""
    if isinstance(spec, SequenceSpec):
        return spec.type is not tuple or bool(spec.items)
    return isinstance(spec, ArraySpec | DictSpec | ObjectSpec | SlotsSpec)


def shown_within(spec: Spec) -> Iterator[Path]:
    """Places of the arrays that attributes in an argument show after the call."""
    if isinstance(spec, ArraySpec):
        if spec.shows is not None:
            yield spec.shows
    elif not isinstance(spec, FloatSpec | StaticSpec | AnySpec):
        for item in spec.items:
            yield from shown_within(item)


def changes_within(spec: Spec) -> bool:
    """Whether a float that the kernel writes to is in an argument, or an array gives its place to another."""
    if isinstance(spec, ArraySpec):
        return spec.shows is not None
    if isinstance(spec, StaticSpec | AnySpec):
        return False
    return spec.written if isinstance(spec, FloatSpec) else any(map(changes_within, spec.items))


def is_renewed(spec: Spec) -> bool:
    """Whether something else stands in the place of an argument after the kernel, as of all that cannot be changed."""
    if isinstance(spec, FloatSpec | ArraySpec):
        return changes_within(spec)
    if isinstance(spec, SequenceSpec):
        return spec.type is not list and any(map(is_renewed, spec.items))
    return isinstance(spec, ObjectSpec | SlotsSpec) and spec.renewed is not None and any(map(is_renewed, spec.items))
