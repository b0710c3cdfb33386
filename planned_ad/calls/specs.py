"""Parameters as machine code takes them: what it checks, what it makes where it is missing, and what it returns."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BoundsError
from ..kernels.entry.callspec import (
    ANY_TYPES,
    AnySpec,
    ArgumentResult,
    ArraySpec,
    CallSpec,
    ComplexResult,
    ComplexSpec,
    ConstantResult,
    ConvertedResult,
    DictResult,
    DictSpec,
    FloatResult,
    FloatSpec,
    Forms,
    ListResult,
    NewArray,
    ObjectSpec,
    PartResult,
    Result,
    SequenceSpec,
    SlotsSpec,
    Spec,
    StaticSpec,
    TupleResult,
)
from ..python.complex_parts import WHOLE, ComplexArray, whole_of_parts
from ..python.structure import Leaf, Repeated, Structure, is_mutable, is_object_class, set_attribute, slots_of
from ..trace import Trace
from .kinds import ARGUMENT, COTANGENT, RESULT, SHADOW, TAPE, CallKind
from .parameters import Parameter, Place, strides_of
from .split_tape import KeptLayout


def call_spec(trace: Trace, row: CallKind, parameters: Sequence[Parameter], kept: KeptLayout | None) -> CallSpec:
    """What the machine code of a call checks, makes and returns; not yet in which memory it works."""
    passed = [p for p in parameters if p.is_passed]
    specs = tuple(parameter_spec(trace, row, p, kept) for p in passed)
    if any(
        place.buffer.dtype != np.float64 for p in parameters if not p.is_passed for place in p.places if place.buffer
    ):
        specs = (SequenceSpec(type=Never, items=specs[:1]), *specs[1:])  # numbers come back as doubles
    missing = [(k, made(trace, row, p, spec, specs)) for k, (p, spec) in enumerate(zip(passed, specs))]
    signature = trace.signature
    by_name = {name for name in (*signature.by_name, *signature.keywords)}
    forms = Forms(
        names=tuple(p.name if p.role is not ARGUMENT or p.name in by_name else "" for p in passed),
        made=tuple((k, result) for k, result in missing if result is not None),
        together=tuple(k for k, p in enumerate(passed) if p.role is SHADOW and not row.is_sweep),
        most=len(trace.names) - len(signature.keywords) if signature.keywords else len(passed),
    )
    spec = CallSpec(
        arguments=specs,
        result=result_of(trace, row, parameters),
        outputs=sum(len(p.places) for p in parameters if not p.is_passed),
        forms=forms,
    )
    own = [spec for p, spec in zip(passed, specs) if p.role is ARGUMENT]
    pairs = disjoint_pairs(spec.arrays)
    if trace.apart.memory:
        count = len(CallSpec(arguments=tuple(own)).arrays)
        pairs = tuple(dict.fromkeys([*pairs, *itertools.combinations(range(count), 2)]))
    return replace(spec, disjoint=pairs, told_apart=len(own) if trace.apart.objects else 0)


class Never(tuple):
    """The type of no object: where the fast path is to leave an argument to the slow path, its leaves stand in one."""


class LeftToSlowPath(Exception):
    """Raised within `parameter_spec` where machine code does not take a parameter."""


def parameter_spec(trace: Trace, row: CallKind, parameter: Parameter, kept: KeptLayout | None) -> Spec:
    """What the machine code of a call checks of one parameter."""
    if parameter.role is TAPE:
        assert kept is not None
        return kept.spec(writeable=row.writes_tape)
    try:
        if parameter.role is not RESULT and not are_put_back(trace, row):
            raise LeftToSlowPath
        return nested_spec(parameter.structure, iter(parameter.places), row, parameter, False)
    except LeftToSlowPath:
        leaves = (leaf_spec(place) for place in parameter.places if place.buffer is not None)
        return SequenceSpec(type=Never, items=tuple(leaves))


def are_put_back(trace: Trace, row: CallKind) -> bool:
    """Whether machine code gives attributes of the arguments their new values, if they get any."""
    kinds = {leaf.rebound for leaf in trace.leaves} - {None}
    if row.is_sweep or (row.is_in_out and np.ndarray in kinds):  # shadows are those of the final state
        return not kinds
    return kinds <= {float, np.float64, np.ndarray}


def nested_spec(
    structure: Structure, places: Iterator[Place], row: CallKind, parameter: Parameter, is_fixed: bool
) -> Spec:
    """The specification of a container and what is in it; `is_fixed`: in a container that cannot be changed."""
    kind: Any = structure.kind
    if kind is Leaf:
        place = next(places)
        if place.kind == "static":
            return StaticSpec(value=place.value)
        if place.buffer is None:
            kind_of_value = type(place.value)
            return AnySpec(None if place.value is None or kind_of_value in ANY_TYPES else kind_of_value)
        found = leaf_spec(place)
        if isinstance(found, FloatSpec):
            if place.buffer.dtype != np.float64 or (found.written and is_fixed and row.is_sweep):
                raise LeftToSlowPath
            return found
        if place.is_copied and not found.is_dense:
            raise LeftToSlowPath
        if place.shows is None:
            return found
        return replace(found, shows=[*places_of_leaves(parameter.structure, (parameter.number,))][place.shows])
    if kind is type(None):
        return StaticSpec(value=None)
    if kind is ComplexArray:
        pairs = nested_spec(structure.children[0], places, row, parameter, is_fixed)
        return whole_spec(pairs) if isinstance(pairs, ArraySpec) else pairs
    if kind is complex:
        parts = [nested_spec(child, places, row, parameter, is_fixed) for child in structure.children]
        if not all(isinstance(part, FloatSpec) and not part.written for part in parts):
            raise LeftToSlowPath
        return ComplexSpec(items=tuple(parts))
    is_object = is_object_class(kind)
    is_fixed, is_argument = not is_mutable(kind), parameter.role is ARGUMENT
    items = tuple(nested_spec(child, places, row, parameter, is_fixed) for child in structure.children)
    if is_argument and not is_object and any(isinstance(i, FloatSpec | ArraySpec) and is_put_back(i) for i in items):
        raise LeftToSlowPath  # the object around it gets another container
    if kind is list or issubclass(kind, tuple):
        return SequenceSpec(type=kind, items=items)
    if kind is dict:
        return DictSpec(keys=structure.keys, items=items)
    slots = slots_of(kind) if is_object else ()
    renewed = container_maker(kind, structure.keys) if is_object and is_fixed and not is_argument else None
    if is_object and not slots and kind.__dictoffset__:
        return ObjectSpec(type=kind, keys=structure.keys, items=items, renewed=renewed)
    if is_object and set(slots) == set(structure.keys) and not kind.__dictoffset__:
        return SlotsSpec(type=kind, names=structure.keys, items=items, renewed=renewed)
    raise LeftToSlowPath


def is_put_back(leaf: ArraySpec | FloatSpec) -> bool:
    """Whether another number or array stands in the place of an argument's after the call."""
    return leaf.written if isinstance(leaf, FloatSpec) else leaf.shows is not None


def places_of_leaves(structure: Structure, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Where in the arguments the leaves of one are; the memory of a complex array is where that array is."""
    if structure.kind in (Leaf, ComplexArray):
        yield path
    else:
        for k, child in enumerate(structure.children):
            yield from places_of_leaves(child, (*path, k))


def leaf_spec(place: Place) -> ArraySpec | FloatSpec:
    """What the fast path checks of one leaf."""
    assert place.buffer is not None
    if place.kind == "float":
        kind = place.value if place.is_written and isinstance(place.value, type) else float
        return FloatSpec(written=place.is_written, kind=kind)
    buffer, is_copied = place.buffer, place.is_copied
    return ArraySpec(
        dtype=buffer.dtype, shape=buffer.shape, strides=strides_of(buffer),
        writeable=place.is_written and not is_copied, is_copied=is_copied,
    )  # fmt: skip


def whole_spec(pairs: ArraySpec) -> ArraySpec:
    """Of a complex array, by that of its pairs."""
    return replace(pairs, dtype=WHOLE[pairs.dtype], shape=pairs.shape[:-1], strides=pairs.strides[:-1])


# What is made where it is missing.


def made(trace: Trace, row: CallKind, parameter: Parameter, spec: Spec, specs: Sequence[Spec]) -> Result | None:
    """What stands for a parameter that is not passed; None where there is nothing, or the slow path makes it.

    What is inactive in an argument is in its shadow too, as it is.
    """
    role = parameter.role
    if role is COTANGENT and parameter.places:
        value = parameter.places[0].value
        return None if value is None else ConstantResult(value)
    if role in (ARGUMENT, TAPE) or is_never(spec):
        return None
    is_zero = row.is_in_out and role is not RESULT
    parts: Iterator[Result] = iter(())
    if any(place.buffer is None for place in parameter.places):
        if not row.takes_arguments or is_never(specs[parameter.number]):
            return None
        parts = argument_parts(parameter.structure, specs[parameter.number], (parameter.number,))
    items: list[Result] = []
    for place, part in itertools.zip_longest(parameter.places, parts):
        if place.buffer is None:
            if part is None:
                return None
            items.append(part)
            continue
        leaf = leaf_spec(place)
        items.append(NewArray(leaf, is_zero) if isinstance(leaf, ArraySpec) else ConstantResult(0.0))
    return container(parameter.structure, items)


def is_never(spec: Spec) -> bool:
    return isinstance(spec, SequenceSpec) and spec.type is Never


def argument_parts(structure: Structure, spec: Spec, path: tuple[int, ...]) -> Iterator[Result]:
    """Each leaf of an argument, as it was passed; None of the parts of a complex number, which are no objects."""
    if isinstance(spec, StaticSpec):
        yield from [ConstantResult(spec.value)] * structure.leaf_count
    elif isinstance(spec, ComplexSpec):
        yield from [None] * structure.leaf_count
    elif isinstance(spec, ArraySpec | FloatSpec | AnySpec):
        yield PartResult(path, isinstance(spec, FloatSpec))
    else:
        for k, (child, item) in enumerate(zip(structure.children, spec.items)):
            yield from argument_parts(child, item, (*path, k))


def container(structure: Structure, leaves: Iterable[Result]) -> Result:
    """Leaves put together."""
    leaves = tuple(leaves)
    if Repeated in kinds_in(structure) or types.MethodType in kinds_in(structure):
        return ConvertedResult(TupleResult(leaves), structure.unflatten)
    return native_container(structure, iter(leaves))


def native_container(structure: Structure, leaves: Iterator[Result]) -> Result:
    kind = structure.kind
    if kind is Leaf:
        return next(leaves)
    if kind is type(None):
        return None
    items = tuple(native_container(child, leaves) for child in structure.children)
    if kind is ComplexArray:
        return NewArray(whole_spec(items[0].spec), items[0].is_zero) if isinstance(items[0], NewArray) else items[0]
    if kind is complex:
        if all(isinstance(item, FloatResult) for item in items):
            return ComplexResult(items)
        return ConvertedResult(TupleResult(items), functools.partial(whole_of_parts, complex))
    if issubclass(kind, dict):
        made = DictResult(structure.keys, items)
        return made if kind is dict else ConvertedResult(made, kind)
    if kind is list:
        return ListResult(items)
    plain = TupleResult(items)
    return plain if kind is tuple else ConvertedResult(plain, container_maker(kind, structure.keys))


def container_maker(kind: Any, names: Sequence[str]) -> Callable[[tuple], Any]:
    """What makes a namedtuple, or an object, of a tuple of its parts."""
    if issubclass(kind, tuple):
        return functools.partial(tuple.__new__, kind)

    new = kind if kind is types.SimpleNamespace else functools.partial(object.__new__, kind)
    if slots_of(kind):

        def make(values: tuple) -> Any:
            made = new()
            for name, value in zip(names, values):
                set_attribute(made, name, value)
            return made

    else:

        def make(values: tuple) -> Any:
            made = new()
            object.__getattribute__(made, "__dict__").update(zip(names, values))
            return made

    return make


def kinds_in(structure: Structure) -> Iterator[type]:
    yield structure.kind
    for child in structure.children:
        yield from kinds_in(child)


# What is returned.


def result_of(trace: Trace, row: CallKind, parameters: Sequence[Parameter]) -> Result:
    """What a call returns, of the parameters of an entry."""
    position, output = 0, 0
    items: dict[int, Result] = {}
    for parameter in parameters:
        if parameter.is_passed:
            items[id(parameter)] = ArgumentResult(position)
            position += 1
        else:
            slots = tuple(FloatResult(output + k) for k in range(len(parameter.places)))
            items[id(parameter)] = slots[0] if len(slots) == 1 else ComplexResult(slots)
            output += len(slots)
    found: list[Result] = []
    for role in row.returns:
        mine = [p for p in parameters if p.role is role]
        if role is RESULT:
            found += returned(trace, row, [items[id(p)] for p in mine])
        elif row.is_sweep:
            numbers = range(len(trace.names))
            found.append(
                TupleResult(tuple(TupleResult(tuple(items[id(p)] for p in mine if p.number == n)) for n in numbers))
            )
        else:
            several = [items[id(p)] for p in mine]
            found.append(several[0] if len(several) == 1 else TupleResult(tuple(several)) if several else None)
    return found[0] if len(found) == 1 else TupleResult(tuple(found))


def returned(trace: Trace, row: CallKind, values: Sequence[Result]) -> list[Result]:
    """What the function returns; before it, of a sweep forward, its tangents."""
    if row.of_loss:
        return list(values)
    count = len(trace.tape.results)
    primal = function_result(trace, values[:count])
    if not row.is_sweep:
        return [primal]
    tangents: list[Result] = []
    for copy in range(row.width if not row.is_reverse else 0):
        rest = iter(values[count + copy :: row.width])
        whole = [next(rest) if v.dtype.kind == "f" else values[k] for k, v in enumerate(trace.tape.results)]
        tangents.append(function_result(trace, whole))
    return [TupleResult(tuple(tangents)), primal]


def function_result(trace: Trace, values: Sequence[Result]) -> Result:
    """What the function returns, from its traced results."""
    leaves: list[Result] = []
    for (kind, what), result_kind in zip(trace.result_leaves, trace.result_kinds):
        if kind == "static":
            leaves.append(ConstantResult(what))
            continue
        assert isinstance(what, int)
        value, dtype = values[what], trace.tape.results[what].dtype
        if result_kind == "array" and trace.tape.results[what].shape == () and dtype != np.float64:
            value = ConvertedResult(value, functools.partial(np.ndarray.astype, dtype=dtype))
        elif result_kind != "array" and dtype != np.float64:  # numbers come as doubles
            number = dtype.type if result_kind == "scalar" else type(dtype.type().item())
            is_long = dtype.kind in "iu" and dtype.itemsize == 8
            value = ConvertedResult(value, functools.partial(exact_integer, number) if is_long else number)
        leaves.append(value)
    return container(trace.result_structure, leaves)


def exact_integer(kind: type, number: float) -> Any:
    """An integer that came as a double, which has all of 53 bits."""
    if abs(number) >= 2**53:
        raise BoundsError("a result is an integer of more than 53 bits: return it in an array")
    return kind(number)


# What must not overlap.


def disjoint_pairs(arrays: Sequence[ArraySpec]) -> tuple[tuple[int, int], ...]:
    """Pairs of arrays, one of them written to, which a call must not pass overlapping."""
    return tuple(
        (i, j)
        for i in range(len(arrays))
        for j in range(i + 1, len(arrays))
        if np.prod(arrays[i].shape) and np.prod(arrays[j].shape) and (arrays[i].writeable or arrays[j].writeable)
    )
