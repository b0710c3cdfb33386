"""Arguments that are not quite what a plan takes, converted where nothing is lost: `compile(..., convert=True)`.

An array of a type that the plan's holds exactly (integers or float32 where it takes float64), with other strides, or a
nested list of numbers, is copied. An array of another library is read where it lies, through DLPack, if it lies in the
memory of the CPU. What would lose something (digits, a mask, units, a gradient that PyTorch follows) is left as it is,
to be refused as it is by any other plan. So is a shape that differs: nothing is broadcast.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, DtypeError
from ..python.complex_parts import WHOLE, ComplexArray
from ..python.examples import restored
from ..python.structure import Const, Leaf, Repeated, Structure, flatten, kind_of_node, parts_of, updated
from ..trace import ArgumentLeaf, Trace


class Conversion(NamedTuple):
    """What was passed in the place of an array, and whether it was copied (or else read where it lies)."""

    what: str
    is_copy: bool


class Conversions:
    """How often which arguments have been converted."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, Conversion]] = Counter()
        self._lock = threading.Lock()

    def add(self, path: str, conversion: Conversion) -> None:
        with self._lock:
            self._calls[path, conversion] += 1

    def notes(self) -> list[str]:
        with self._lock:
            found = sorted(self._calls.items())
        return [
            f"{path} has been passed {what}, and {'copied' if is_copy else 'read where it lies'}, "
            f"in {calls} call{'s' * (calls != 1)}"
            for (path, (what, is_copy)), calls in found
        ]


UNALIGNED = Conversion("not aligned to its dtype", True)


def converted(trace: Trace, arguments: Sequence[Any], call: str) -> tuple[list[Any], dict[int, Conversion]]:
    """Arguments as the plan of `trace` takes them, and the numbers of the leaves that were converted.

    Objects whose attributes the function sets are left alone: they are to be seen changed.
    """
    children = trace.structure.children
    if any(leaf.rebound is not None for leaf in trace.leaves) or len(children) != len(arguments):
        return list(arguments), {}
    found: list[Any] = []
    done: dict[int, Conversion] = {}
    start = 0
    for given, child in zip(arguments, children):
        given = given.value if type(given) is Const else given
        leaves = trace.leaves[start : start + child.leaf_count]
        values = list(parts_by(given, child))
        if len(values) == len(leaves):  # else it has another structure, and is refused
            results = [converted_leaf(leaf, value, call) for leaf, value in zip(leaves, values)]
            done |= {start + k: what for k, (_, what) in enumerate(results) if what is not None}
            given = updated(given, whole_arrays(child), iter([value for value, _ in results]), lambda kind: False)
        found.append(given)
        start += len(leaves)
    return found, done


def parts_by(given: Any, structure: Structure) -> Iterator[Any]:
    """What stands in the place of each leaf of a structure; fewer where `given` is not nested as it is."""
    if structure.kind is Leaf or structure.kind is ComplexArray:
        yield given
        return
    parts = parts_of(given)
    if structure.kind is Repeated or parts is None or kind_of_node(given) is not structure.kind:
        return
    if tuple(key for key, _ in parts) == structure.keys:
        for (_, part), child in zip(parts, structure.children):
            yield from parts_by(part, child)


def whole_arrays(structure: Structure) -> Structure:
    """A structure in which a complex array is a leaf."""
    if structure.kind is ComplexArray:
        return Structure(kind=Leaf)
    children = tuple(map(whole_arrays, structure.children))
    return Structure(kind=structure.kind, keys=structure.keys, children=children)


def converted_leaf(leaf: ArgumentLeaf, given: Any, call: str) -> tuple[Any, Conversion | None]:
    if leaf.kind == "array":
        assert leaf.dtype is not None
        strides = tuple(stride * leaf.dtype.itemsize for stride in leaf.strides)
        if leaf.is_pairs:
            return converted_array(given, WHOLE[leaf.dtype], leaf.shape[:-1], strides[:-1], leaf.path, call)
        return converted_array(given, leaf.dtype, leaf.shape, strides, leaf.path, call)
    if leaf.kind == "float" and (is_foreign(given) or type(given) is np.ndarray):
        number = as_array(given, leaf.path, call)
        if number is not None and number.shape == () and np.can_cast(number.dtype, np.float64, "safe"):
            return float(number), Conversion(described(given), True)
    return given, None


def converted_array(
    given: Any, dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], path: str, call: str
) -> tuple[Any, Conversion | None]:
    """An array of this dtype and layout in the place of `given`, if it can be one; strides in bytes."""
    array = as_array(given, path, call)
    if array is None:
        return given, None
    what, is_view = described(given), is_foreign(given)
    if array.shape != shape:
        return array, None  # refused, with its shape
    if array.dtype != dtype:
        cast = exact_cast(array, dtype, is_weak=is_made_of(given, PYTHON_NUMBERS))
        if cast is None:
            raise DtypeError(
                f"{call}: {path} has dtype {array.dtype}, and the plan was compiled for {dtype}, which does not hold "
                f"all of its numbers; convert it, {path}.astype(np.{dtype})"
            )
        array, is_view = cast, False
    if not has_layout(array, strides):
        if array is given:
            what = f"with strides {array.strides}"
        array, is_view = restored(array, strides), False
    return array, None if array is given else Conversion(what, not is_view)


def as_array(given: Any, path: str, call: str) -> np.ndarray | None:
    """A plain array of what was given; None where it is nothing that could be one."""
    if type(given) is np.ndarray:
        return given
    if is_foreign(given):
        return read_in_place(given, f"{call}: {path}")
    if not is_made_of(given, NUMBERS):
        return None
    try:
        found = np.asarray(given)
    except ValueError:  # ragged
        return None
    return found if found.dtype.kind in "fiubc" else None


def is_foreign(given: Any) -> bool:
    """Whether it is an array of another library, which it hands out through DLPack."""
    return not isinstance(given, np.ndarray | np.generic) and hasattr(type(given), "__dlpack__")


def read_in_place(given: Any, name: str) -> np.ndarray:
    if hasattr(given, "block_until_ready"):  # JAX computes while the program goes on
        given.block_until_ready()
    if hasattr(given, "is_neg") and given.is_neg():  # of PyTorch, which hands out the numbers before
        raise ArgumentError(f"{name} is a {type_name(given)} whose sign is still to be changed: pass .resolve_neg()")
    try:
        return np.from_dlpack(given)
    except Exception as error:  # of its library: on another device, a type that NumPy lacks, a gradient is followed
        raise ArgumentError(
            f"{name} is a {type_name(given)} that cannot be read as a NumPy array where it lies: {error}"
        ) from None


def exact_cast(array: np.ndarray, dtype: np.dtype, is_weak: bool) -> np.ndarray | None:
    """The same numbers in another type, if it holds them all.

    Python's own numbers (`is_weak`) have no precision of their own, as for NumPy.
    """
    is_safe = np.can_cast(array.dtype, dtype, "safe")
    is_float = array.dtype.kind == "f"
    if not is_safe and (not is_weak or array.dtype.kind not in "fi" or (is_float and dtype.kind not in "fc")):
        return None
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
        if array.dtype.kind in "iu":  # beyond 2**53, not all are floats
            return cast if np.array_equal(cast.real.astype(array.dtype), array) else None
    return cast if is_safe or np.array_equal(np.isfinite(cast), np.isfinite(array)) else None


PYTHON_NUMBERS = (float, int)
NUMBERS = (float, int, bool, complex, np.ndarray)  # and NumPy's own; in lists, nothing that has a mask or units


def is_made_of(given: Any, types: tuple[type, ...]) -> bool:
    """Whether it is a number, or nested lists and tuples of them."""
    if type(given) is list or type(given) is tuple:
        return all(is_made_of(item, types) for item in given)
    return type(given) in types or (types is NUMBERS and isinstance(given, np.generic))


def has_layout(array: np.ndarray, strides: tuple[int, ...]) -> bool:
    return not array.size or all(n < 2 or s == t for n, s, t in zip(array.shape, array.strides, strides))


def described(given: Any) -> str:
    if isinstance(given, np.ndarray | np.generic):
        return f"as {given.dtype}"
    return f"as {type_name(given)}" + (f" of {given.dtype}" if is_foreign(given) and hasattr(given, "dtype") else "")


def type_name(given: Any) -> str:
    module = type(given).__module__.partition(".")[0]
    return type(given).__qualname__ if module == "builtins" else f"{module}.{type(given).__qualname__}"


def read_example(example: Any) -> Any:
    """Example arguments with NumPy arrays in the place of those of other libraries."""
    leaves, structure = flatten(example, lambda node: type(node) is np.ndarray or is_foreign(node))
    if not any(map(is_foreign, leaves)):
        return example
    inactive = structure.inactive_leaves
    read = (read_in_place(leaf, "compile: an argument") if is_foreign(leaf) else leaf for leaf in leaves)
    return structure.unflatten(Const(leaf) if number in inactive else leaf for number, leaf in enumerate(read))
