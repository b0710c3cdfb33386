"""Check the arguments of a call that the fast path did not take, and say precisely what is wrong.

Everything here runs before a kernel writes anything.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import (
    ArgumentError,
    DtypeError,
    LayoutError,
    OverlapError,
    ReadOnlyError,
    ShapeError,
    StaticArgumentError,
)
from ..python.complex_parts import WHOLE, memory_as_complex
from ..python.structure import flatten_arguments
from ..tape.tape import Buffer
from ..trace import ArgumentLeaf, Trace
from ..tracing.replacements.argument_identity import not_apart
from ..tracing.replacements.rebinding import shared_owner
from ..tracing.values.array_tracer import ArrayTracer


def check_arguments(trace: Trace, arguments: Sequence[Any], call: str) -> list[Any]:
    """The leaves of the primal's arguments, as the plan for `trace` takes them."""
    leaves, structure = flatten_arguments(widened(arguments, trace))
    if structure != trace.structure:
        raise ArgumentError(
            f"{call}: the arguments are {structure}, and the plan was compiled for {trace.structure}; "
            f"pass what it was compiled for, compile a plan for this structure, or one with convert=True, which takes "
            f"lists for arrays"
        )
    met = not_apart(trace.structure, trace.names, arguments, trace.apart) if trace.apart.any else None
    if met is not None:
        raise OverlapError(
            f"{call}: {trace.name} asks whether {met[0]} and {met[1]} are one object, or share memory, and was "
            f"compiled for arguments that do not; pass a copy of one"
        )
    rebound = {number for number, leaf in enumerate(trace.leaves) if leaf.rebound is not None}
    shared = shared_owner(arguments, rebound, [leaf.path for leaf in trace.leaves]) if rebound else ""
    if shared:
        raise OverlapError(
            f"{call}: {trace.name} sets {shared}, of an object that two arguments lead to; pass a copy of it"
        )
    return [check_leaf(leaf, value, call) for leaf, value in zip(trace.leaves, leaves)]


def widened(arguments: Sequence[Any], trace: Trace) -> list[Any]:
    """Arguments with a complex number where the plan takes one and a real one is passed."""
    children = trace.structure.children
    if len(children) != len(arguments):
        return list(arguments)
    return [
        complex(value) if child.kind is complex and isinstance(value, float | int | np.floating) else value
        for value, child in zip(arguments, children)
    ]


def check_leaf(leaf: ArgumentLeaf, value: Any, call: str) -> Any:
    if leaf.kind == "static":
        if not same_static(leaf.value, value):
            raise StaticArgumentError(
                f"{call}: {leaf.path} is {value!r}, and the plan was compiled for {leaf.value!r}. "
                f"Values that are not floating or arrays are part of the plan: compile one for this value"
            )
        return value
    if leaf.kind == "float":
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise ArgumentError(f"{call}: {leaf.path} must be a float, not {type(value).__name__}")
        return float(value)
    assert leaf.dtype is not None
    strides = tuple(s * leaf.dtype.itemsize for s in leaf.strides)
    return check_array(value, leaf.dtype, leaf.shape, strides, leaf.path, call, leaf.is_pairs)


def same_static(old: Any, new: Any) -> bool:
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    try:
        if isinstance(old, np.ndarray):
            return old.dtype == new.dtype and np.array_equal(old, new)
        return bool(old == new)
    except Exception:  # an object whose comparison fails is another object
        return False


def check_array(
    value: Any,
    dtype: np.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    path: str,
    call: str,
    is_pairs: bool = False,
) -> np.ndarray:
    """`value` as a plain array of exactly this dtype, shape and layout; strides in bytes.

    `is_pairs`: it is the memory of a complex array, which messages speak of.
    """
    if is_pairs and type(value) is np.ndarray and value.dtype in WHOLE:
        whole = memory_as_complex(value)
        check_array(whole, WHOLE[dtype], shape[:-1], strides[:-1], path, call)
        return value
    if not isinstance(value, np.ndarray):
        kind = f"{'numpy.' if isinstance(value, np.generic) else ''}{type(value).__name__}"
        raise ArgumentError(
            f"{call}: {path} must be an array of shape {shape} and dtype {dtype}, not a {kind}; "
            f"use np.asarray({path}, dtype=np.{dtype}) once, outside of your loop"
        )
    if type(value) is ArrayTracer:
        raise ArgumentError(
            f"{value.recorder.here()}: {call}: a plan cannot be called inside a function that is being traced; "
            f"call the function itself there, or planned_ad.grad and its like of it"
        )
    if type(value) is not np.ndarray:  # a mask, units, or matrix products would be lost
        raise ArgumentError(f"{call}: {path} is a {type(value).__name__}; pass a plain array, np.asarray({path})")
    if value.shape != shape:
        raise ShapeError(
            f"{call}: {path} has shape {value.shape}, and the plan was compiled for {shape}; "
            f"compile a plan for this shape"
        )
    if value.dtype != dtype:
        raise DtypeError(
            f"{call}: {path} has dtype {value.dtype}, and the plan was compiled for {dtype}; "
            f"convert it, {path}.astype(np.{dtype}), or compile a plan "
            f"{f'for {value.dtype}' if value.dtype.kind == dtype.kind else 'with convert=True, which does so'}"
        )
    used = [(n, s, t) for n, s, t in zip(shape, value.strides, strides) if n > 1]
    if value.size and any(s != t for _, s, t in used):
        raise LayoutError(
            f"{call}: {path} has strides {value.strides}, and the plan was compiled for {strides}; "
            f"pass a copy in that layout (np.ascontiguousarray or np.asfortranarray), or compile a plan for this layout"
        )
    return value


def check_shadow(buffer: Buffer, value: Any, path: str, call: str, is_pairs: bool = False) -> np.ndarray:
    """A shadow: as its buffer says, and writeable."""
    itemsize = buffer.dtype.itemsize
    strides = tuple(s * itemsize for s in buffer.view.strides)
    array = check_array(value, buffer.dtype, buffer.shape, strides, path, call, is_pairs)
    if not array.flags.writeable:
        raise ReadOnlyError(f"{call}: {path} is read-only, and the call writes the derivative to it")
    return array


def check_overlaps(named: Sequence[tuple[str, np.ndarray, bool]], call: str) -> None:
    """Refuse memory that is written to and shared: `named` holds (path, array, is written to)."""
    for number, (path, array, written) in enumerate(named):
        if written and not array.flags.writeable:
            raise ReadOnlyError(f"{call}: {path} is read-only, and the call writes to it")
        for other_path, other, other_written in named[:number]:
            if (written or other_written) and np.shares_memory(array, other):
                raise OverlapError(
                    f"{call}: {path} shares memory with {other_path}, and the call writes to one of them; pass a copy"
                )
