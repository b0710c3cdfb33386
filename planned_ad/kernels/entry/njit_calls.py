"""Kernels as functions that the user's own ``@njit`` code calls.

A Numba function of the call's parameters around one intrinsic, which checks what Numba's types say when the caller is
compiled, and shapes, strides, static numbers and overlap at each call; then calls the kernel's C function with the data
pointers. Whatever does not match raises before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed, lower_constant
from numba.core.types.functions import WeakType
from numba.extending import intrinsic, models, register_model, typeof_impl
from numba.np.numpy_support import from_dtype

from ...errors import LayoutError, OverlapError, ShapeError, StaticArgumentError
from ..library.native_callees import CALLEE_FAILED
from ..llvm.types import I32, I64, POINTER
from ..nests.overlaps import overlap_bits
from .callspec import ArgumentResult, ArraySpec, FloatResult, Result, StaticSpec, TupleResult
from .native_calls import BROKEN_GUARD, NativeCall, NativeParameter


@dataclass(frozen=True, slots=True, kw_only=True)
class NjitParameter:
    """A parameter: the leaves that are passed in it.

    Parameters
    ----------
    name : str
    items : tuple of int or StaticSpec
        a number is that of a parameter of the C function.
    is_container : bool
        whether a tuple is passed, nested at will, of these items in order.
    """

    name: str
    items: tuple[int | StaticSpec, ...]
    is_container: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NjitSpec:
    """What a call from compiled code takes, and what it returns.

    Parameters
    ----------
    name : str
        of the call, for messages.
    parameters : tuple of NjitParameter
    leaves, outputs : tuple of NativeParameter
        the parameters of the C function.
    disjoint : tuple of pairs of int
        leaves of memory that must not overlap.
    fixed : tuple of pairs of int
        addresses and numbers of bytes of memory that the kernel reads besides.
    result : Result
    broken : (type, str)
        the exception for arguments that take another branch than any recorded.
    """

    name: str
    parameters: tuple[NjitParameter, ...]
    leaves: tuple[NativeParameter, ...]
    outputs: tuple[NativeParameter, ...]
    disjoint: tuple[tuple[int, int], ...]
    fixed: tuple[tuple[int, int], ...]
    result: Result
    broken: tuple[type[Exception], str]


class NjitCall:
    """A call as a constant of compiled code: its specification, and the C function that runs it."""

    def __init__(self, spec: NjitSpec, native: NativeCall) -> None:
        self.spec, self.native = spec, native


def njit_function(call: NjitCall, doc: str) -> Callable[..., Any]:
    """The Numba function of `call`.

    It is compiled for the types that it is called with. Machine code that calls it keeps `call` alive, and is not
    written to Numba's cache, since it contains the address of memory of this process.
    """
    name, parameters = call.spec.name, ", ".join(parameter.name for parameter in call.spec.parameters)
    passed = f"({parameters},)" if parameters else "()"
    namespace: dict[str, Any] = {"run": run, "call": call}
    source = f"def {name}({parameters}):\n    return run(call, {passed})\n"
    exec(compile(source, "<planned_ad>", "exec"), namespace)
    namespace[name].__doc__ = doc
    return numba.njit(namespace[name])


class NjitCallType(WeakType, types.Dummy):
    """The Numba type of one `NjitCall`."""

    def __init__(self, call: NjitCall) -> None:
        self._store_object(call)  # type: ignore[attr-defined]
        super().__init__(f"planned_ad.{call.spec.name}({id(call)})")

    @property
    def call(self) -> NjitCall:
        return self._get_object()  # type: ignore[attr-defined]


@typeof_impl.register(NjitCall)
def _type_of_call(value: NjitCall, context: object) -> NjitCallType:
    return NjitCallType(value)


register_model(NjitCallType)(models.OpaqueModel)


@lower_constant(NjitCallType)
def _constant_call(context, builder, type, value):
    return context.get_dummy_value()


@intrinsic
def run(typingctx, call, arguments):
    """Check `arguments`, a tuple, and run `call` on them."""
    spec = call.call.spec
    given = tuple(arguments)
    for parameter, type in zip(spec.parameters, given):
        check_types(spec, parameter, type)
    result = result_type(spec, spec.result, given)

    def emit(context, builder, signature, values):
        emitter = NjitEmitter(context, builder, signature.args[0].call)
        for parameter, type, value in zip(spec.parameters, given, unpacked(builder, signature.args[1], values[1])):
            emitter.take(parameter, type, value)
        emitter.check()
        return emitter.run(signature.return_type)

    return result(call, arguments), emit


# Types ----------------------------------------------------------------------------------------------------------------


def is_tuple(type: Any) -> bool:
    return isinstance(type, types.BaseTuple)


def leaf_types(type: Any) -> Iterator[types.Type]:
    """The types of the leaves of nested tuples."""
    if is_tuple(type):
        for item in type:
            yield from leaf_types(item)
    else:
        yield type


def paired(
    parameter: NjitParameter, leaves: Sequence[tuple[types.Type, Any]]
) -> list[tuple[int | StaticSpec, types.Type, Any]] | None:
    """The items of a parameter with what is passed for them; None where these are not as many.

    `None` stands for a static item; where there is none, it stands for nothing.
    """
    items = list(parameter.items)
    found: list[tuple[int | StaticSpec, types.Type, Any]] = []
    for type, value in leaves:
        if len(found) < len(items) and (isinstance(items[len(found)], StaticSpec) or type is not types.none):
            found.append((items[len(found)], type, value))
        elif type is not types.none:
            return None
    return found if len(found) == len(items) else None


def check_types(spec: NjitSpec, parameter: NjitParameter, type: types.Type) -> None:
    """Refuse what can be told from the types alone, when the caller is compiled."""
    pairs = paired(parameter, [(leaf, None) for leaf in leaf_types(type)])
    if parameter.is_container != is_tuple(type) and (parameter.items or type is not types.none):
        what = "a tuple of its items" if parameter.is_container else "one argument, not a tuple"
        raise TypingError(f"{spec.name}: {parameter.name} is passed as {what}; {type} was given")
    if pairs is None:
        raise TypingError(f"{spec.name}: {parameter.name} has {len(parameter.items)} items; {type} was given")
    for item, leaf, _ in pairs:
        if isinstance(item, StaticSpec):
            check_static_type(spec, parameter, item, leaf)
        elif not accepts(spec.leaves[item], leaf):
            path, wanted = spec.leaves[item].path, described(spec.leaves[item])
            raise TypingError(f"{spec.name}: {path} must be {wanted}, not {leaf}")


def check_static_type(spec: NjitSpec, parameter: NjitParameter, item: StaticSpec, type: types.Type) -> None:
    """`None` stands for any static argument; only integers can be compared."""
    if type is types.none:
        return
    same = types.Boolean if isinstance(item.value, bool) else types.Integer if isinstance(item.value, int) else ()
    if not isinstance(type, same):
        raise TypingError(
            f"{spec.name}: {parameter.name} was {item.value!r} when the plan was compiled, and {type} cannot be "
            f"compared with that; pass None, which stands for it"
        )


def accepts(leaf: NativeParameter, type: types.Type) -> bool:
    if leaf.is_number:
        return isinstance(type, types.Integer | types.Float) and not isinstance(type, types.Boolean)
    dtype = from_dtype(leaf.dtype)
    if isinstance(type, types.CPointer):
        return type.dtype == dtype
    if not isinstance(type, types.Array) or type.dtype != dtype or not type.aligned:
        return False
    if isinstance(leaf.spec, ArraySpec):
        return type.ndim == len(leaf.spec.shape) and (type.mutable or not leaf.spec.writeable)
    return type.ndim <= 1 and type.mutable


def described(leaf: NativeParameter) -> str:
    if leaf.is_number:
        return "a number"
    if isinstance(leaf.spec, ArraySpec):
        kind = "writeable " if leaf.spec.writeable else ""
        return f"a {kind}{leaf.dtype} array of shape {leaf.spec.shape}, or a pointer to its first element"
    return f"a writeable {leaf.dtype} array of one element, or a pointer to it"


def result_type(spec: NjitSpec, result: Result, given: Sequence[types.Type]) -> types.Type:
    match result:
        case ArgumentResult():
            return given[result.position]
        case FloatResult():
            return from_dtype(spec.outputs[result.output].dtype)
        case TupleResult():
            return types.Tuple([result_type(spec, item, given) for item in result.items])
    return types.none


# Machine code ---------------------------------------------------------------------------------------------------------


def unpacked(builder: ir.IRBuilder, type: Any, value: ir.Value) -> list[ir.Value]:
    return cgutils.unpack_tuple(builder, value, len(type))


def leaf_values(builder: ir.IRBuilder, type: Any, value: ir.Value) -> Iterator[tuple[types.Type, ir.Value]]:
    """The leaves of nested tuples."""
    if is_tuple(type):
        for item, part in zip(type, unpacked(builder, type, value)):
            yield from leaf_values(builder, item, part)
    else:
        yield type, value


class NjitEmitter:
    """Emits one call into a Numba function."""

    def __init__(self, context: Any, builder: ir.IRBuilder, call: NjitCall) -> None:
        self.context, self.builder, self.spec, self.native = context, builder, call.spec, call.native
        # Callers that are compiled link this library, and so keep the call alive.
        context.active_code_library.planned_ad_call = call
        self.arguments: list[tuple[types.Type, ir.Value]] = []
        self.operands: list[ir.Value] = [POINTER(None)] * len(self.spec.leaves)
        self.ranges: list[tuple[ir.Value, int]] = [(I64(0), 0)] * len(self.spec.leaves)

    def take(self, parameter: NjitParameter, type: types.Type, value: ir.Value) -> None:
        """Check an argument, and find the operands of the C function in it."""
        self.arguments.append((type, value))
        for item, leaf_type, leaf in paired(parameter, list(leaf_values(self.builder, type, value))) or ():
            if isinstance(item, StaticSpec):
                self._check_static(parameter, item, leaf_type, leaf)
            elif self.spec.leaves[item].is_number:
                dtype = from_dtype(self.spec.leaves[item].dtype)
                self.operands[item] = self.context.cast(self.builder, leaf, leaf_type, dtype)
            else:
                self._take_memory(item, leaf_type, leaf)

    def _take_memory(self, item: int, type: types.Type, value: ir.Value) -> None:
        builder, leaf = self.builder, self.spec.leaves[item]
        if isinstance(type, types.Array):
            array = self.context.make_array(type)(self.context, builder, value)
            self._check_layout(leaf, type, array)
            value = array.data
        low, high = leaf.spec.byte_range if isinstance(leaf.spec, ArraySpec) else (0, leaf.dtype.itemsize)
        self.operands[item] = builder.bitcast(value, POINTER)
        self.ranges[item] = (builder.add(builder.ptrtoint(value, I64), I64(low)), high - low)

    def _check_layout(self, leaf: NativeParameter, type: types.Array, array: Any) -> None:
        builder, spec = self.builder, leaf.spec
        if not isinstance(spec, ArraySpec):
            if type.ndim:
                (extent,) = unpacked_integers(builder, array.shape, 1)
                bits = [builder.xor(extent, I64(1))]
                self._refuse(bits, ShapeError, f"{leaf.path} is the place of one number, and must have one element")
            return
        ndim = len(spec.shape)
        extents, strides = (unpacked_integers(builder, part, ndim) for part in (array.shape, array.strides))
        bits = [builder.xor(extent, I64(wanted)) for extent, wanted in zip(extents, spec.shape)]
        self._refuse(bits, ShapeError, f"{leaf.path} must have shape {spec.shape}, as when the plan was compiled")
        bits = [builder.xor(strides[axis], I64(wanted)) for axis, _, wanted in spec.used_strides]
        self._refuse(bits, LayoutError, f"{leaf.path} must have strides {spec.strides}, as when the plan was compiled")

    def _check_static(self, parameter: NjitParameter, item: StaticSpec, type: Any, value: ir.Value) -> None:
        if type is types.none:
            return
        message = f"{parameter.name} was {item.value!r} when the plan was compiled, and has another value now"
        number = int(item.value)  # type: ignore[call-overload]
        builder = self.builder
        kind = types.int64 if type is types.boolean or type.signed else types.uint64
        if not int(kind.minval) <= number <= int(kind.maxval):
            self._refuse([I32(1)], StaticArgumentError, message)
            return
        wide = self.context.cast(builder, value, type, kind)
        self._refuse([builder.xor(wide, I64(number))], StaticArgumentError, message)

    def check(self) -> None:
        """The checks that concern several arguments."""
        bits = overlap_bits(self.builder, self.ranges, self.spec.disjoint)
        self._refuse(bits, OverlapError, "an array that is written to overlaps another argument; pass a copy")
        first = len(self.ranges)
        ranges = [*self.ranges, *((I64(low), nbytes) for low, nbytes in self.spec.fixed)]
        pairs = [
            (number, first + k)
            for number, leaf in enumerate(self.spec.leaves)
            if not leaf.is_number and leaf.spec.is_written
            for k in range(len(self.spec.fixed))
        ]
        bits = overlap_bits(self.builder, ranges, pairs)
        self._refuse(bits, OverlapError, "an array that is written to overlaps one that is read from outside")

    def run(self, result: types.Type) -> ir.Value:
        """Call the C function, and build what it returns."""
        context, builder, spec = self.context, self.builder, self.spec
        slots = [cgutils.alloca_once(builder, output_type(context, output)) for output in spec.outputs]
        operands = [*self.operands, *(builder.bitcast(slot, POINTER) for slot in slots)]
        kind = ir.FunctionType(I32, [parameter.type for parameter in self.native.parameters])
        # As a dynamic address: a function that contains one is never written to Numba's cache.
        address = context.add_dynamic_addr(builder, self.native.address, info=spec.name)
        status = builder.call(builder.bitcast(address, kind.as_pointer()), operands)
        with builder.if_then(builder.icmp_signed("!=", status, I32(0)), likely=False):
            broken = builder.icmp_signed("==", status, I32(BROKEN_GUARD))
            with builder.if_then(broken):
                self._raise(*spec.broken)
            with builder.if_then(builder.icmp_signed("==", status, I32(CALLEE_FAILED))):
                what = "a function that the plan calls raised an exception; called from Python, the plan raises it"
                self._raise(RuntimeError, f"{spec.name}: {what}")
            self._raise(MemoryError, f"{spec.name}: no memory for a workspace")
        value = self._result(spec.result, result, [builder.load(slot) for slot in slots])
        return impl_ret_borrowed(context, builder, result, value)

    def _result(self, result: Result, type: Any, outputs: list[ir.Value]) -> ir.Value:
        match result:
            case ArgumentResult():
                return self.arguments[result.position][1]
            case FloatResult():
                return outputs[result.output]
            case TupleResult():
                items = [self._result(item, kind, outputs) for item, kind in zip(result.items, type)]
                return self.context.make_tuple(self.builder, type, items)
        return self.context.get_dummy_value()

    def _refuse(self, bits: Sequence[ir.Value], error: type[Exception], message: str) -> None:
        """Raise where any of `bits`, integers of one type, is not zero."""
        if not bits:
            return
        builder, union = self.builder, bits[0]
        for other in bits[1:]:
            union = builder.or_(union, other)
        with builder.if_then(builder.icmp_signed("!=", union, union.type(0)), likely=False):
            self._raise(error, f"{self.spec.name}: {message}")

    def _raise(self, error: type[Exception], message: str) -> None:
        self.context.call_conv.return_user_exc(self.builder, error, (message,))


def output_type(context: Any, output: NativeParameter) -> ir.Type:
    return context.get_value_type(from_dtype(output.dtype))


def unpacked_integers(builder: ir.IRBuilder, values: ir.Value, count: int) -> list[ir.Value]:
    return cgutils.unpack_tuple(builder, values, count)
