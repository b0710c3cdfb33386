"""A traced scalar: behaves as a NumPy scalar, or as a Python float where the program has one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ... import control
from ...python.attributes_held import with_attributes
from ...python.comprehensions import is_at_item
from ...python.frames import as_written, user_frame
from ...python.shadows import is_user_frame
from ...tape.tape import Value
from ..record.conversions import A_LIST, refuse_number
from ..record.promotion import BOOL, INT, WEAK
from ..record.recorder import Recorder
from ..record.traced import TRACERS
from .elementwise import operate
from .identity import truth_or_stand_in
from .indexing import is_truth
from .number_types import ALWAYS_ONE, Types, number_class, told_apart
from .operators import Operators, by_functions, clipped
from .python_errors import require_fits, require_integer

MOST_DIGITS = 22  # of a power of ten that is a float


class ScalarMethods(Operators):
    """What a traced number has whether it is real or complex, as NumPy's scalars have it. Immutable."""

    __slots__ = ()
    array_class = None  # a number is none
    dtype: np.dtype
    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1
    strides: tuple[int, ...] = ()

    @property
    def T(self) -> Self:
        return self

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize

    def copy(self, order: str = "C") -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict) -> Self:
        return self


class ScalarTracer(ScalarMethods):
    """A number that is known only when the plan runs. Immutable.

    Attributes
    ----------
    is_python : bool
        Whether the program holds a Python float here, whose dtype gives way to its partner's (NEP 50).
    types : frozenset
        The types that it may have, where branches or iterations leave several; see `number_types`.
    """

    __slots__ = ("dtype", "is_python", "recorder", "types", "value")

    def __init__(self, recorder: Recorder, value: Value, is_python: bool = False, types: Types = ALWAYS_ONE):
        self.recorder = recorder
        self.value = value
        self.dtype = value.dtype
        self.is_python = is_python
        self.types = types
        if types:
            recorder.gives_several = True

    device = "cpu"  # as NumPy says

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """So that `isinstance(s, float)` holds where it does of the scalar this stands for."""
        frame = sys._getframe(1)
        if self.types and is_user_frame(frame):
            raise told_apart(self.recorder, self.types)
        return as_written(number_class(self.dtype, self.is_python), frame)

    def read(self) -> Value:
        return self.value

    def read_as(self, dtype: np.dtype) -> Value:
        if self.is_python and self.dtype == INT and dtype.kind in "iu":
            require_fits(self, dtype)
        return super().read_as(dtype)

    def whole_number(self, real: Any, imag: Any) -> Any:
        """A complex number, of whose parts it is one."""
        return TRACERS.complex_number(self.recorder, real, imag)

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        return WEAK.get(self.dtype.kind, BOOL) if self.is_python else self.dtype, (), False

    def sources(self) -> Iterator[Value | int]:
        yield self.value

    @property
    def real(self) -> ScalarTracer:
        return self

    @property
    def imag(self) -> Any:
        return self.dtype.type(0)

    def item(self) -> Any:
        """As a Python number."""
        kind = {"f": np.float64, "b": bool}.get(self.dtype.kind, np.int64)
        found = ScalarTracer(self.recorder, self.recorder.value_of(self, kind), is_python=True)
        return truth_or_stand_in(self.recorder, found) if kind is bool else found

    tolist = item

    def conj(self) -> ScalarTracer:
        return self

    conjugate = conj

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        self.recorder.mark()
        if np.dtype(dtype).kind == "c":
            return TRACERS.complex_of(self).astype(dtype)[()]
        return ScalarTracer(self.recorder, self.recorder.value_of(self, dtype))

    def is_integer(self) -> Any:
        """A truth of Python's."""
        if self.dtype.kind != "f":
            return True
        return np.logical_and(np.equal(self, np.floor(self)), np.isfinite(self)).item()

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        return self.recorder.array(self.value).reshape(*shape, **kwargs)

    def ravel(self, order: str = "C") -> Any:
        return self.reshape(-1)

    flatten = ravel

    def __getitem__(self, key: Any) -> Any:
        if self.is_python:
            raise TypeError("'float' object is not subscriptable")
        parts = key if type(key) is tuple else (key,)
        if not parts:
            return self
        if all(part is None or part is Ellipsis or is_truth(self.recorder, part) for part in parts):
            return self.recorder.array(self.value)[key]
        raise IndexError("invalid index to scalar variable.")

    def __iter__(self) -> Any:
        raise TypeError(f"'{'float' if self.is_python else self.dtype}' object is not iterable")

    def __bool__(self) -> bool:
        self.recorder.mark()
        if self.recorder.scopes.depth:
            self.recorder.scopes.see_what_asks(sys._getframe(1))
        return self.recorder.flow.test(self.recorder.builder.cast(self.value, np.dtype(bool)))

    def __trunc__(self) -> int:
        return self.__int__()

    __floor__ = __ceil__ = __trunc__

    def __index__(self) -> int:
        if len({kind.kind for kind, _ in self.types}) > 1:
            raise told_apart(self.recorder, self.types)
        if self.dtype.kind == "b" and self.is_python:
            return int(bool(self))
        if self.dtype.kind not in "iu":
            raise TypeError(f"'{self.dtype}' object cannot be interpreted as an integer")
        self.recorder.mark()
        if self.recorder.scopes.depth:
            frame = user_frame(sys._getframe(1))
            self.recorder.lay_down_lists()
            self.recorder.scopes.see_what_reads(frame)
            self.recorder.follow_lists(with_attributes(frame.f_locals.values()) if frame is not None else ())
            is_item = frame is not None and is_at_item(frame)
            raise refuse_number(self.recorder, A_LIST if is_item else "range(), a slice bound or a count", self)
        return int(self.recorder.outcome(self.value, "count"))

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            require_integer(self.recorder, self)
            return self.recorder.integer(np.rint(self))
        if len({is_python for _, is_python in self.types}) > 1:  # which round to digits each in a way of its own
            raise told_apart(self.recorder, self.types)
        if self.is_python and self.dtype == np.float64 and type(digits) is int and 0 <= digits <= MOST_DIGITS:
            return self.rounded(digits)
        result = self.recorder.call(np.round, (self, digits), {})
        return result.item() if self.is_python else result

    def rounded(self, digits: int) -> ScalarTracer:
        """As Python rounds a float: by its decimal digits, all of them."""
        scale = 10.0**digits
        found = self.recorder.apply("rint_product", self.value, self.recorder.value_of(scale))
        found = self.recorder.apply("divide", found, self.recorder.value_of(scale))
        has_digits = self.recorder.value_of(abs(self) < 2.0**53 / scale)
        return ScalarTracer(self.recorder, self.recorder.apply("where", has_digits, found, self.value), is_python=True)

    def __mul__(self, other: Any) -> Any:
        if type(other) in (list, tuple, str) and self.dtype.kind in "iu":
            return self.of_items(other)
        return operate(self.recorder, np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        if type(other) in (list, tuple, str) and self.dtype.kind in "iu":
            return self.of_items(other)
        return operate(self.recorder, np.multiply, other, self)

    def of_items(self, items: Any) -> Any:
        """Items as often as this says: in loops, a list whose length is data."""
        if type(items) is list and items and self.recorder.scopes.depth:
            return self.recorder.namespace.function(control._times)(items, self)
        return items * self.__index__()

    def __getattr__(self, name: str) -> Any:
        """What else the number has, `k.bit_length` say: of an integer that the tape holds for only."""
        kind = self.__class__
        if name == "__array_namespace__" and not self.is_python and is_user_frame(sys._getframe(1)):
            return lambda *, api_version=None: self.recorder.namespace.shadow(np, "numpy")
        if name.startswith("__") or not hasattr(kind, name):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        return getattr(kind(self.number_for(".bit_length() and its like")), name)


by_functions(
    ScalarTracer,
    "sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "cumsum", "cumprod", "round", "squeeze",
    "repeat", "take", "dot", "transpose",
)  # fmt: skip
ScalarTracer.clip = clipped  # type: ignore[attr-defined]
TRACERS.scalar = ScalarTracer
