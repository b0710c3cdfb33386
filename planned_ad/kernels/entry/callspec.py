"""What a compiled call expects of its arguments, what it makes where some are missing, and what it returns.

The specifications are data; `callpath` turns them into machine code.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .watchtable import WatchTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ArraySpec:
    """Exactly an ``ndarray`` (no subclass) of this layout: one leaf, the address of its first element.

    Parameters
    ----------
    dtype : numpy.dtype
        a Boolean, integer, floating or complex type, of native byte order.
    shape : tuple of int
    strides : tuple of int
        in bytes. Strides along axes of extent 1, and all strides of an empty array, are never used and not compared.
    writeable : bool
        whether the kernel writes to it.
    is_copied : bool
        whether it does so in an array of the call's own, a copy of this one.
    shows : tuple of int, optional
        the place, in the arguments, of the array that stands here after the call, as an attribute of an object.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    writeable: bool = False
    is_copied: bool = False
    shows: tuple[int, ...] | None = None
    used_strides: tuple[tuple[int, int, int], ...] = field(init=False, compare=False, repr=False)
    """``(axis, extent, stride)`` where a stride decides which byte is meant."""
    byte_range: tuple[int, int] = field(init=False, compare=False, repr=False)
    """First and one past the last byte, relative to the first element; equal where there is none."""

    def __post_init__(self) -> None:
        if self.dtype.kind not in "biufc" or not self.dtype.isnative:
            raise ValueError(f"a kernel cannot take an array of dtype {self.dtype}: only native numbers")
        if len(self.shape) != len(self.strides):
            raise ValueError(f"shape {self.shape} and strides {self.strides} differ in length")
        axes = enumerate(zip(self.shape, self.strides))
        used = () if 0 in self.shape else tuple((axis, n, stride) for axis, (n, stride) in axes if n > 1)
        reaches = [(extent - 1) * stride for _, extent, stride in used]
        low, high = sum(min(0, reach) for reach in reaches), sum(max(0, reach) for reach in reaches)
        object.__setattr__(self, "used_strides", used)
        object.__setattr__(self, "byte_range", (0, 0) if 0 in self.shape else (low, high + self.dtype.itemsize))

    @property
    def is_written(self) -> bool:
        return self.writeable

    @property
    def is_dense(self) -> bool:
        """Whether its elements fill the memory between the first and the last."""
        low, high = self.byte_range
        return low == 0 and high == self.dtype.itemsize * int(np.prod(self.shape))

    @property
    def is_c_ordered(self) -> bool:
        """Whether its elements follow one another, the last axis fastest."""
        dense = [self.dtype.itemsize * int(np.prod(self.shape[axis + 1 :])) for axis in range(len(self.shape))]
        return all(stride == dense[axis] for axis, _, stride in self.used_strides)

    @classmethod
    def of(cls, array: np.ndarray, writeable: bool = False) -> "ArraySpec":
        """The specification that `array` itself meets."""
        return cls(dtype=array.dtype, shape=array.shape, strides=array.strides, writeable=writeable)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatSpec:
    """Exactly a ``float`` or ``numpy.float64``: one leaf, the address of a copy of its value.

    Parameters
    ----------
    written : bool
        an item of a list, a dict or an object, which gets what the kernel leaves in the copy as a new number.
    kind : type
        of that number: ``float`` or ``numpy.float64``.
    """

    written: bool = False
    kind: type = float

    @property
    def is_written(self) -> bool:
        return self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexSpec:
    """Exactly a ``complex`` or ``numpy.complex128``: two leaves, the addresses of copies of its parts."""

    items: tuple["Spec", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSpec:
    """This very object, or an ``int`` equal to this ``int``; no leaf. Its contents are not looked into."""

    value: object

    @property
    def is_int64(self) -> bool:
        return type(self.value) is int and -(2**63) <= self.value < 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceSpec:
    """Exactly a ``list``, a ``tuple`` or a given namedtuple class, of these items."""

    type: type
    items: tuple["Spec", ...]

    def __post_init__(self) -> None:
        if self.type is not list and not issubclass(self.type, tuple):
            raise ValueError(f"a sequence argument is a list, a tuple or a namedtuple, not {self.type.__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DictSpec:
    """Exactly a ``dict`` with these keys in this order; what is there for each."""

    keys: tuple[Hashable, ...]
    items: tuple["Spec", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSpec:
    """Exactly an instance of a class without ``__slots__``; its attributes, all of them, in this order.

    Parameters
    ----------
    type : type
    keys : tuple of str
        its attributes.
    items : tuple of Spec
        what is in them.
    renewed : callable or None
        makes a new one of a tuple of what is in it, where a float has changed; None where that one is put into it.
    """

    type: type
    keys: tuple[Hashable, ...]
    items: tuple["Spec", ...]
    renewed: Callable[[tuple], Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotsSpec:
    """Exactly an instance of a class with ``__slots__``; what is in some of them.

    Parameters
    ----------
    type : type
    names : tuple of str
        slots.
    items : tuple of Spec
        what is in them.
    renewed : callable or None
        as of an `ObjectSpec`.
    """

    type: type
    names: tuple[str, ...]
    items: tuple["Spec", ...]
    renewed: Callable[[tuple], Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AnySpec:
    """An array, a number, a text, whichever, or something of this type; no leaf."""

    also: type | None = None


ANY_TYPES = (np.ndarray, float, int, bool, str, np.float64)
Spec = ArraySpec | FloatSpec | ComplexSpec | StaticSpec | SequenceSpec | DictSpec | ObjectSpec | SlotsSpec | AnySpec


@dataclass(frozen=True, slots=True)
class ArgumentResult:
    """Return the argument at this position; where a float in a tuple has changed, a new tuple."""

    position: int


@dataclass(frozen=True, slots=True)
class PartResult:
    """What is at this place of the arguments: the position of one, of an item in it, ..."""

    path: tuple[int, ...]
    is_float: bool


@dataclass(frozen=True, slots=True)
class FloatResult:
    """Return a new ``float`` with the value of this output slot."""

    output: int


@dataclass(frozen=True, slots=True)
class ComplexResult:
    """Return a new ``complex`` with the values of two output slots."""

    items: tuple["Result", ...]


@dataclass(frozen=True, slots=True)
class ConstantResult:
    """Return this very object."""

    value: object


@dataclass(frozen=True, slots=True)
class NewArray:
    """Return a new array that meets a specification, which is dense; of zeros, or of whatever is in its memory."""

    spec: ArraySpec
    is_zero: bool


@dataclass(frozen=True, slots=True)
class TupleResult:
    """Return a new tuple."""

    items: tuple["Result", ...]


@dataclass(frozen=True, slots=True)
class ListResult:
    """Return a new list."""

    items: tuple["Result", ...]


@dataclass(frozen=True, slots=True)
class DictResult:
    """Return a new dict."""

    keys: tuple[Hashable, ...]
    items: tuple["Result", ...]


@dataclass(frozen=True, slots=True)
class ConvertedResult:
    """Return what a function makes of something."""

    item: "Result"
    function: Callable[[Any], Any] = field(compare=False)


Result = (
    ArgumentResult
    | PartResult
    | FloatResult
    | ComplexResult
    | ConstantResult
    | NewArray
    | TupleResult
    | ListResult
    | DictResult
    | ConvertedResult
) | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """The ways to pass the arguments besides all of them by position.

    Parameters
    ----------
    names : tuple of str
        by which arguments may be passed, in their order, after those by position; empty for one that may not.
    made : tuple of pairs of int and Result
        what stands for arguments that are missing, or None.
    together : tuple of int
        arguments that are passed all, or none.
    most : int
        how many may be passed by position unless all are.
    """

    names: tuple[str, ...]
    made: tuple[tuple[int, Result], ...] = ()
    together: tuple[int, ...] = ()
    most: int = 1 << 30


class Watch(Protocol):
    """Objects outside of a call that have to be the same ones as when its kernel was made."""

    def is_same(self) -> bool: ...

    @property
    def table(self) -> WatchTable | None: ...

    @property
    def watched(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSpec:
    """All that a compiled call is compiled for.

    Leaves are numbered depth-first over the arguments, arrays and floats only, and then come the outputs.

    Parameters
    ----------
    arguments : tuple of Spec
        the positional arguments.
    told_apart : int
        of how many arguments, the first ones, arrays and containers must not be one object in two places.
    disjoint : tuple of pairs of int
        which arrays must not overlap, numbered depth-first among the arrays.
    fixed : tuple of pairs of int
        memory that the kernel reads besides, as addresses of lowest bytes and numbers of bytes; no array that is
        written to may overlap it.
    result : Result
        what a call returns.
    outputs : int
        how many 8-byte slots the kernel writes scalars to.
    workspace_nbytes : int
        how much memory the kernel works in, 64-byte aligned and uninitialised.
    sparse : bool
        whether a call may touch little of it, here and there.
    release_gil : bool
        let other Python threads run during the kernel.
    is_long : bool
        the kernel takes microseconds, beside which a few nanoseconds for checks are nothing.
    watch : Watch, optional
        what else has to be as it was.
    forms : Forms, optional
        other ways to pass the arguments.
    """

    arguments: tuple[Spec, ...]
    told_apart: int = 0
    disjoint: tuple[tuple[int, int], ...] = ()
    fixed: tuple[tuple[int, int], ...] = ()
    result: Result = None
    outputs: int = 0
    workspace_nbytes: int = 0
    sparse: bool = False
    release_gil: bool = False
    is_long: bool = False
    watch: "Watch | None" = field(default=None, compare=False)
    forms: Forms | None = None
    leaves: tuple[ArraySpec | FloatSpec, ...] = field(init=False, compare=False, repr=False)
    arrays: tuple[ArraySpec, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaves", tuple(_leaves(self.arguments)))
        object.__setattr__(self, "arrays", tuple(leaf for leaf in self.leaves if isinstance(leaf, ArraySpec)))
        if any(first == second for first, second in self.disjoint):
            raise ValueError(f"an array cannot be disjoint from itself: {self.disjoint}")

    @property
    def apart(self) -> tuple[tuple[int, int], ...]:
        """`disjoint`, with fixed memory numbered after the arrays."""
        written = [number for number, spec in enumerate(self.arrays) if spec.writeable]
        first = len(self.arrays)
        return (*self.disjoint, *((number, first + k) for number in written for k in range(len(self.fixed))))

    def unaliased(self) -> tuple[bool, ...]:
        """Of each array, whether what is written through its pointer or another is seen through that one only."""
        written = sum(spec.writeable for spec in self.arrays)
        apart: list[set[int]] = [set() for _ in self.arrays]
        for first, second in self.disjoint:
            apart[first].add(second)
            apart[second].add(first)
        return tuple(
            len(others) == len(self.arrays) - 1
            if spec.writeable
            else sum(self.arrays[other].writeable for other in others) == written
            for spec, others in zip(self.arrays, apart)
        )


def _leaves(specs: Sequence[Spec]) -> Iterator[ArraySpec | FloatSpec]:
    for spec in specs:
        if isinstance(spec, ArraySpec | FloatSpec):
            yield spec
        elif not isinstance(spec, StaticSpec | AnySpec):
            yield from _leaves(spec.items)
