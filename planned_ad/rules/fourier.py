"""Discrete Fourier transforms. Complex numbers are pairs: a last axis of two, the real and the imaginary part.

The transformed axis has `behind` others behind it (that of the pairs aside); the axes before them are a batch. All
three are linear, without a norm but times `scale`:

* `fourier`: `y[k] = sum_j a[j] exp(-2 pi i j k / n)`; with `inverse`, of the opposite sign.
* `real_fourier`: the same of real numbers, for `k <= n / 2`; those that stand for two, all but `k = 0` and `k = n / 2`,
  times `inner`.
* `fourier_real`: `y[j] = Re(sum_k u[k] a[k] exp(2 pi i j k / n))` over `k <= n / 2`, where `u[k]` is likewise 1 at the
  ends and `inner` between them: for `inner=2` the inverse of the one before, times n.

The matrix of `fourier` is symmetric, so that its adjoint, the conjugate transpose, is the transform of the other sign.
As real linear functions the other two are each other's adjoints, with the same `inner` (the imaginary parts at the ends
have no part in either).

References
----------
C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", SIAM 1992.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import fft

from ..python.complex_parts import memory_as_complex, memory_as_pairs
from .algebra import Symbol
from .rows import check_kinds
from .table import Rule, register

Shape = tuple[int, ...]


def with_extent(shape: Shape, behind: int, extent: int) -> Shape:
    """`shape`, of real numbers, with another extent of the transformed axis."""
    axis = len(shape) - 1 - behind
    return (*shape[:axis], extent, *shape[axis + 1 :])


def numbers_of(pairs: np.ndarray) -> np.ndarray:
    """The complex numbers that pairs are."""
    return memory_as_complex(pairs.copy())  # whose strides are those of its shape, where there is one element too


def shape_of_numbers(name: str, operands: Sequence, behind: int, pairs: bool) -> Shape:
    """The shape of the operand, without the axis of the pairs."""
    check_kinds(name, operands, ("f",))
    (a,) = operands
    shape = a.shape[:-1] if pairs else a.shape
    if not 0 <= behind < len(shape) or (pairs and a.shape[-1] != 2) or not shape[len(shape) - 1 - behind]:
        raise ValueError(f"{name} of shape {a.shape}, with {behind} axes behind that of the transform")
    return shape


# Of complex numbers.


def infer_fourier(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[Shape, np.dtype]:
    shape_of_numbers("fourier", operands, parameters["behind"], True)
    return operands[0].shape, operands[0].dtype


def fourier(a: np.ndarray, *, behind: int, inverse: bool, scale: float) -> np.ndarray:
    transform = fft.ifft if inverse else fft.fft
    found = transform(numbers_of(a), axis=-1 - behind, norm="forward" if inverse else "backward")
    return memory_as_pairs(found) * a.dtype.type(scale)


def fourier_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, behind: int, inverse: bool, scale: float) -> Symbol:
    return ct.apply("fourier", behind=behind, inverse=not inverse, scale=scale)


register(
    Rule(
        name="fourier",
        kind="matrix",
        infer=infer_fourier,
        evaluate=fourier,
        adjoints=(fourier_adjoint,),
        needs=("",),
        tangent=lambda tangents, y, a, **parameters: tangents[0].apply("fourier", **parameters),
        cost=100,
        reference="Van Loan (1992), 1.1",
    )
)


# Of real numbers, and back.


def inner_of(n: int) -> slice:
    """The frequencies that stand for two."""
    return slice(1, (n + 1) // 2)


def infer_real_fourier(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[Shape, np.dtype]:
    behind = parameters["behind"]
    shape = shape_of_numbers("real_fourier", operands, behind, False)
    n = shape[len(shape) - 1 - behind]
    return (*with_extent(shape, behind, n // 2 + 1), 2), operands[0].dtype


def real_fourier(a: np.ndarray, *, behind: int, inner: float, scale: float) -> np.ndarray:
    found = fft.rfft(a, axis=-1 - behind)
    np.moveaxis(found, -1 - behind, 0)[inner_of(a.shape[-1 - behind])] *= inner
    return memory_as_pairs(found) * a.dtype.type(scale)


def real_fourier_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, behind: int, inner: float, scale: float) -> Symbol:
    n = a.shape[len(a.shape) - 1 - behind]
    return ct.apply("fourier_real", behind=behind, n=n, inner=inner, scale=scale)


register(
    Rule(
        name="real_fourier",
        kind="matrix",
        infer=infer_real_fourier,
        evaluate=real_fourier,
        adjoints=(real_fourier_adjoint,),
        needs=("",),
        tangent=lambda tangents, y, a, **parameters: tangents[0].apply("real_fourier", **parameters),
        cost=50,
        reference="Van Loan (1992), 4.3",
    )
)


def infer_fourier_real(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[Shape, np.dtype]:
    behind, n = parameters["behind"], parameters["n"]
    shape = shape_of_numbers("fourier_real", operands, behind, True)
    if shape[len(shape) - 1 - behind] != n // 2 + 1:
        raise ValueError(f"fourier_real of shape {operands[0].shape} to {n} numbers")
    return with_extent(shape, behind, n), operands[0].dtype


def fourier_real(a: np.ndarray, *, behind: int, n: int, inner: float, scale: float) -> np.ndarray:
    found = numbers_of(a).copy()
    np.moveaxis(found, -1 - behind, 0)[inner_of(n)] *= inner / 2
    return fft.irfft(found, n, axis=-1 - behind, norm="forward") * a.dtype.type(scale)


def fourier_real_adjoint(
    ct: Symbol, y: Symbol, a: Symbol, *, behind: int, n: int, inner: float, scale: float
) -> Symbol:
    return ct.apply("real_fourier", behind=behind, inner=inner, scale=scale)


register(
    Rule(
        name="fourier_real",
        kind="matrix",
        infer=infer_fourier_real,
        evaluate=fourier_real,
        adjoints=(fourier_real_adjoint,),
        needs=("",),
        tangent=lambda tangents, y, a, **parameters: tangents[0].apply("fourier_real", **parameters),
        cost=50,
        reference="Van Loan (1992), 4.3",
    )
)
