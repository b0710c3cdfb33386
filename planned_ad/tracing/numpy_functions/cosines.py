"""Cosine and sine transforms, types 1 to 4, by Fourier transforms of about their length.

References
----------
J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Trans. Acoust. Speech Signal Process. 28, 1980.
C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", SIAM 1992 (4.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.recorder import Recorder
from .fourier import half_of_reals, listed, of_pairs, reals_of_half, scipys

DELTA = {("dct", 1): -1, ("dst", 1): 1}  # of the extent, in the length of the period
HALF = np.sqrt(0.5)


class Lines:
    """Arrays seen along one axis."""

    def __init__(self, recorder: Recorder, x: Any, axis: int):
        self.recorder, self.axis, self.n = recorder, axis, x.shape[axis]
        self.dtype, self.ndim, self.shape = x.dtype, x.ndim, x.shape

    def part(self, x: Any, start: int | None = None, stop: int | None = None, step: int = 1) -> Any:
        return x[(*[slice(None)] * self.axis, slice(start, stop, step))]

    def joined(self, *parts: Any) -> Any:
        return np.concatenate([part for part in parts if part.shape[self.axis]], axis=self.axis)

    def zeros(self, n: int) -> Any:
        return np.zeros((*self.shape[: self.axis], n, *self.shape[self.axis + 1 :]), self.dtype)

    def factors(self, numbers: np.ndarray) -> Any:
        """Numbers along the axis."""
        return numbers.astype(self.dtype).reshape([-1 if k == self.axis else 1 for k in range(self.ndim)])

    def half(self, x: Any) -> tuple[Any, Any]:
        """Real and imaginary part of half of the transform of reals."""
        found = self.recorder.array(half_of_reals(self.recorder, self.recorder.value_of(x), self.axis, 1.0))
        return found[..., 0], found[..., 1]

    def whole(self, re: Any, im: Any) -> tuple[Any, Any]:
        """Of the transform of complex numbers."""
        value = self.recorder.value_of(np.stack([re, im], axis=-1))
        found = self.recorder.array(of_pairs(self.recorder, value, [self.axis], True, 1.0))
        return found[..., 0], found[..., 1]

    def reals(self, re: Any, im: Any, n: int) -> Any:
        """The reals with this half of the transform, times `n`."""
        value = self.recorder.value_of(np.stack([re, im], axis=-1))
        return self.recorder.array(reals_of_half(self.recorder, value, self.axis, n, 1.0))


def turns(lines: Lines, numbers: Any, scale: float = 1.0) -> tuple[Any, Any]:
    """Cosine and sine of `pi numbers`, along the axis."""
    angles = np.pi * np.asarray(numbers)
    return lines.factors(scale * np.cos(angles)), lines.factors(scale * np.sin(angles))


def first_cosine(lines: Lines, x: Any, scale: float) -> Any:
    """`y[k] = x[0] + (-1)^k x[n - 1] + 2 sum_j x[j] cos(pi j k / (n - 1))`: of the even extension."""
    return lines.half(lines.joined(x, lines.part(x, -2, 0, -1)))[0] * scale


def second_cosine(lines: Lines, x: Any, scale: float) -> Any:
    """`y[k] = 2 sum_j x[j] cos(pi k (2 j + 1) / 2 n)`: of the even ones, then the odd ones backwards (Makhoul)."""
    n = lines.n
    re, im = lines.half(
        lines.joined(lines.part(x, None, None, 2), lines.part(lines.part(x, 1, None, 2), None, None, -1))
    )
    cosine, sine = turns(lines, np.arange(n // 2 + 1) / (2 * n), 2 * scale)
    return lines.joined(re * cosine + im * sine, lines.part(re * sine - im * cosine, (n - 1) // 2, 0, -1))


def third_cosine(lines: Lines, x: Any, scale: float) -> Any:
    """`y[j] = x[0] + 2 sum_k x[k] cos(pi k (2 j + 1) / 2 n)`: the second backwards."""
    n = lines.n
    cosine, sine = turns(lines, np.arange(n // 2 + 1) / (2 * n), scale)
    a = lines.part(x, None, n // 2 + 1)
    b = lines.joined(lines.zeros(1), lines.part(x, None, n - n // 2 - 1, -1))
    found = lines.reals(a * cosine + b * sine, a * sine - b * cosine, n)
    y = lines.recorder.empty(lines.shape, lines.dtype)
    lines.part(y, None, None, 2)[...] = lines.part(found, None, (n + 1) // 2)
    if n > 1:
        lines.part(y, 1, None, 2)[...] = lines.part(found, None, (n - 1) // 2, -1)
    return y


def fourth_cosine(lines: Lines, x: Any, scale: float) -> Any:
    """`y[k] = 2 sum_j x[j] cos(pi (2 j + 1) (2 k + 1) / 4 n)`: for even n, of half as many complex numbers."""
    n = lines.n
    if n % 2:
        cosine, sine = turns(lines, np.arange(n) / (2 * n))
        re, im = (lines.joined(x * k, lines.zeros(n)) for k in (cosine, -sine))
        re, im = (lines.part(part, None, n) for part in lines.whole(re, im))
        cosine, sine = turns(lines, (2 * np.arange(n) + 1) / (4 * n), 2 * scale)
        return re * cosine + im * sine
    a, b = lines.part(x, None, None, 2), lines.part(x, None, None, -2)
    cosine, sine = turns(lines, (4 * np.arange(n // 2) + 1) / (4 * n))
    re, im = lines.whole(a * cosine + b * sine, b * cosine - a * sine)
    cosine, sine = turns(lines, np.arange(n // 2) / n, 2 * scale)
    y = lines.recorder.empty(lines.shape, lines.dtype)
    lines.part(y, None, None, 2)[...] = re * cosine + im * sine
    lines.part(y, None, None, -2)[...] = re * sine - im * cosine
    return y


def alternating(lines: Lines) -> Any:
    return lines.factors(1.0 - 2.0 * (np.arange(lines.n) % 2))


def first_sine(lines: Lines, x: Any, scale: float) -> Any:
    """`y[k] = 2 sum_j x[j] sin(pi (j + 1) (k + 1) / (n + 1))`: of the odd extension."""
    zero = lines.zeros(1)
    _, im = lines.half(lines.joined(zero, x, zero, -lines.part(x, None, None, -1)))
    return lines.part(im, 1, lines.n + 1) * -scale


def second_sine(lines: Lines, x: Any, scale: float) -> Any:
    return lines.part(second_cosine(lines, x * alternating(lines), scale), None, None, -1)


def third_sine(lines: Lines, x: Any, scale: float) -> Any:
    return third_cosine(lines, lines.part(x, None, None, -1), scale) * alternating(lines)


def fourth_sine(lines: Lines, x: Any, scale: float) -> Any:
    return fourth_cosine(lines, lines.part(x, None, None, -1), scale) * alternating(lines)


TRANSFORMS = {
    "dct": (first_cosine, second_cosine, third_cosine, fourth_cosine),
    "dst": (first_sine, second_sine, third_sine, fourth_sine),
}
# Where the rows of a transform and its columns have other lengths than the others, what makes it orthogonal.
ENDS: dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]] = {
    ("dct", 1): ((0, -1), (0, -1)), ("dct", 2): ((), (0,)), ("dct", 3): ((0,), ()),
    ("dst", 2): ((), (-1,)), ("dst", 3): ((-1,), ()),
}  # fmt: skip


def ends_scaled(lines: Lines, x: Any, places: tuple[int, ...], by: float) -> Any:
    if not places:
        return x
    numbers = np.ones(lines.n)
    for place in places:
        numbers[place] *= by
    return x * lines.factors(numbers)


def real_to_real(recorder: Recorder, name: str, a: Any, type: int, axes: Any, inorm: int, out: Any, ortho: Any) -> Any:
    """The transform along each of the axes; `inorm` as in `fourier`."""
    if type not in (1, 2, 3, 4):
        raise ValueError(f"invalid {name.upper()} type" if name == "dct" else "invalid DST type")
    before, after = ENDS.get((name, type), ((), ()))
    ortho = inorm == 1 if ortho is None else ortho
    for axis in listed(axes, a.ndim):
        lines = Lines(recorder, a, axis)
        period = 2 * (lines.n + DELTA.get((name, type), 0))
        if period < 1:
            raise ValueError("zero-length FFT requested")
        scale = (1.0, period**-0.5, 1 / period)[inorm]
        if ortho:
            a = ends_scaled(lines, a, before, 1 / HALF)
        a = TRANSFORMS[name][type - 1](lines, a, scale)
        if ortho:
            a = ends_scaled(lines, a, after, HALF)
    if out is None:
        return a
    out[...] = a
    return out


@implements(scipys.dct)
def dct(recorder, a, type, axes=None, inorm=0, out=None, nthreads=1, ortho=None):
    return real_to_real(recorder, "dct", a, type, axes, inorm, out, ortho)


@implements(scipys.dst)
def dst(recorder, a, type, axes=None, inorm=0, out=None, nthreads=1, ortho=None):
    return real_to_real(recorder, "dst", a, type, axes, inorm, out, ortho)
