"""A traced complex array: memory of pairs of reals, seen as complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ...errors import UnsupportedError
from ...python.complex_parts import PART, WHOLE, ComplexArray, memory_as_pairs
from ...regions.affine import Affine, Extent
from ...regions.regions import Region, View
from ...tape.tape import Buffer, Value
from ..record.dispatch import HANDLERS
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..record.traced import TRACERS
from ..values.array_methods import ArrayMethods
from ..values.array_tracer import ArrayTracer
from ..values.elementwise import elementwise
from ..values.operators import by_functions, chosen_by, in_place
from .complex_scalar import ComplexScalar

Parts = tuple[Value | None, Value | None]


class ComplexTracer(ArrayMethods):
    """An array of complex numbers that are known only when the plan runs.

    `geometry` is a complex array that lies in the memory of `storage.base`, which is one of reals: all views are
    NumPy's own.
    """

    __slots__ = ("_pairs",)

    def __init__(self, recorder: Recorder, storage: Storage, geometry: np.ndarray):
        super().__init__(recorder, storage, geometry)
        self._pairs: ArrayTracer | None = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    # As reals.

    kind_of_parts = ComplexArray

    def complex_parts(self) -> list[tuple[str, Any]]:
        return [("pairs", self.pairs)]

    @property
    def pairs(self) -> ArrayTracer:
        """The same memory as a real array with a last axis of length 2."""
        if self._pairs is None:
            self._pairs = ArrayTracer(self.recorder, self.storage, memory_as_pairs(self.geometry))
        return self._pairs

    @property
    def layout(self) -> View:
        return self.pairs.layout

    def parts(self) -> Parts:
        """What its real and imaginary parts hold now; None where that is 0.0 everywhere."""
        zeros = self.storage.zero_parts if isinstance(self.storage, PlanesStorage) else [False, False]
        real, imag = (None if zero else part.read() for zero, part in zip(zeros, (self.real, self.imag)))
        return real, imag

    def read(self) -> NoReturn:
        raise UnsupportedError(
            f"{self.recorder.here()}: a complex array stands where a real one is expected, or there is no rule for "
            f"complex arrays here; take its real and imaginary parts, z.real and z.imag"
        )

    def write(self, value: Value) -> NoReturn:
        self.read()

    @property
    def real(self) -> ArrayTracer:
        return ArrayTracer(self.recorder, self.storage, self.geometry.real)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ArrayTracer:
        return ArrayTracer(self.recorder, self.storage, self.geometry.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    # Views.

    @property
    def flat(self) -> ComplexTracer:
        return self.reshape(-1, copy=False)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        wanted = None if dtype is None or dtype is np.ndarray else np.dtype(dtype)
        if wanted is None or wanted == self.dtype:
            return self._seen(self.geometry.view())
        if wanted != PART[self.dtype]:
            raise UnsupportedError(f"{self.recorder.here()}: .view({dtype}) of a traced complex array; use .astype")
        return ArrayTracer(self.recorder, self.storage, self.geometry.view(wanted))

    def _copied(self, shape: Any, order: Any) -> ComplexTracer:
        return self.of_planes(*(part.reshape(shape, order=order, copy=True) for part in (self.real, self.imag)))

    def of_planes(self, real: Any, imag: Any) -> ComplexTracer:
        """A fresh array of these parts, laid out in memory as they are."""
        return complex_array(self.recorder, real.read(), imag.read(), real.geometry)

    # Copies.

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        recorder, dtype = self.recorder, np.dtype(dtype)
        if not copy and dtype == self.dtype and (order in "KA" or self.geometry.flags[order]):
            return self
        recorder.mark()
        if self.is_known or dtype.kind != "c":
            np.empty(0, self.dtype).astype(dtype, casting=casting)  # NumPy's error, or its warning
        if self.is_known:
            return recorder.adopt(self.plain().astype(dtype, order))
        if dtype.kind != "c":
            found: Any = self != 0 if dtype.kind == "b" else self.real
            return found.astype(dtype, order)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )
        real, imag = (None if v is None else recorder.builder.cast(v, PART[dtype]) for v in self.parts())
        return complex_array(recorder, real, imag, np.empty_like(self.geometry, dtype, order))

    # Items.

    def __getitem__(self, key: Any) -> Any:
        return HANDLERS[ComplexTracer].get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        HANDLERS[ComplexTracer].put(self, key, value)

    def item(self, *args: Any) -> Any:
        return self.recorder_pair(self.real.item(*args), self.imag.item(*args))

    def recorder_pair(self, real: Any, imag: Any) -> ComplexScalar:
        return ComplexScalar(self.recorder, real, imag, is_python=True)

    def __bool__(self) -> bool:
        return bool(self != 0)


class PlanesStorage(Storage):
    """Memory of pairs that arithmetic has computed: values of its real and imaginary parts, until it is written to.

    What reads one of the parts reads its value, or the number 0 where there is none; what reads pairs gets memory.
    """

    __slots__ = ("planes",)

    def __init__(self, recorder: Recorder, base: np.ndarray, values: Parts):
        line, depth = recorder.builder.line, recorder.scopes.depth
        super().__init__(memory_as_pairs(base), line, depth=depth)
        self.is_concrete = False
        self.planes = [
            None if v is None else Storage(np.empty_like(base, PART[base.dtype]), line, value=v, depth=depth)
            for v in values
        ]

    @property
    def zero_parts(self) -> list[bool]:
        """Which of the parts are 0.0 everywhere."""
        return [self.buffer is None and plane is None for plane in self.planes]

    @property
    def held_values(self) -> tuple[Value | None, ...]:
        return tuple(None if plane is None else plane.value for plane in self.planes)

    def settle(self, recorder: Any) -> None:
        if self.buffer is None:
            self.writable_buffer(recorder)

    def sources(self) -> Iterator[Value | int]:
        if self.buffer is not None:
            yield self.buffer.id
        else:
            for plane in self.planes:
                yield from () if plane is None else plane.sources()

    def _read(self, recorder: Any, view: View, geometry: np.ndarray) -> Value:
        if self.buffer is None:
            half = half_of(view)
            if half is not None:
                plane = self.planes[half[0]]
                zero = recorder.constant(0.0, self.base.dtype)
                return recorder.builder.broadcast(zero, view.shape) if plane is None else self._part(recorder, *half)
            self.writable_buffer(recorder)
        return super()._read(recorder, view, geometry)

    def _part(self, recorder: Any, which: int, view: View) -> Value:
        plane = self.planes[which]
        assert plane is not None
        return plane._read(recorder, view, plane.base)

    def _fill(self, recorder: Any, buffer: Buffer) -> None:
        for which, plane in enumerate(self.planes):
            value = recorder.constant(0.0, self.base.dtype) if plane is None else plane.value
            recorder.builder.store(Region(buffer.id, self.view_of(self.base[..., which])), value)


def half_of(view: View) -> tuple[int, View] | None:
    """Which of the parts a view of pairs shows, and where that lies in the part's own memory; None if it shows both."""
    if view.size == 0:
        return 0, View(0, view.shape, tuple(0 for _ in view.shape))
    strides = tuple(0 if n == 1 else s for n, s in zip(view.shape, view.strides))
    offset: Extent = view.offset
    if any(s % 2 for s in strides) or (isinstance(offset, Affine) and any(c % 2 for _, c in offset.terms)):
        return None
    which = (offset.constant if isinstance(offset, Affine) else offset) % 2
    if isinstance(offset, Affine):
        start: Extent = Affine((offset.constant - which) // 2, tuple((i, c // 2) for i, c in offset.terms))
    else:
        start = (offset - which) // 2
    return which, View(start, view.shape, tuple(s // 2 for s in strides))


def complex_array(recorder: Recorder, real: Value | None, imag: Value | None, like: np.ndarray) -> ComplexTracer:
    """A fresh array of these parts, of the shape of `like` and laid out as it is; None stands for 0.0 everywhere."""
    part = next(v.dtype for v in (real, imag) if v is not None)
    base = np.empty_like(like, WHOLE[part], subok=False)
    storage = PlanesStorage(recorder, base, (real, imag))
    storage.born(recorder)
    return ComplexTracer(recorder, storage, base)


in_place(ComplexTracer, lambda array, ufunc, other: elementwise(array.recorder, ufunc, (array, other), out=array))
by_functions(
    ComplexTracer,
    "sum", "prod", "mean", "var", "std", "any", "all", "cumsum", "cumprod", "round", "repeat", "take", "dot", "trace",
    "choose", "nonzero", "conj", "conjugate", "max", "min",
)  # fmt: skip
ComplexTracer.compress = chosen_by  # type: ignore[attr-defined]
TRACERS.complex_array = ComplexTracer
