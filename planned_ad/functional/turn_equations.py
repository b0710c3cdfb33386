"""How orthogonal factors turn when a triangular form is to stay one: linear equations, solved column after column.

`Q exp(W)` in the place of `Q`, with a skew `W`, changes the form `T = Q^H A Q` by `T W - W T` (of a pair of forms,
`S Z - Y S` and `T Z - Y T`). Where the form has zeros, this is to be a given number `R`. Below the diagonal it depends
on numbers of `W` below the diagonal alone, and a block of columns on those to its left: an equation of Sylvester's for
each, with LAPACK's `trsyl` and `tgsyl` where blocks have two columns; `n^3` operations in all. Adjoint equations are
solved from the right to the left. `W` and `R` are matrices with these numbers in place. For a block of two columns,
which has no zero, something else is asked: its number of `W` and of `R` has the place below the diagonal.

References
----------
R. H. Bartels, G. W. Stewart, "Solution of the matrix equation AX + XB = C", 1972.
B. Kagstrom, P. Poromaa, "LAPACK-style algorithms and software for solving the generalized Sylvester equation", 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ..custom.native_rules import OpaqueFunction, opaque

MOST_CONDITION = 1e13

Solve = Callable[[np.ndarray, np.ndarray, bool], np.ndarray]


def diagonal_blocks(form: np.ndarray) -> list[slice]:
    """The columns of each diagonal block: one, or two with a pair of conjugate eigenvalues."""
    n, within = len(form), np.append(np.diagonal(form, -1) != 0, False)
    starts = [i for i in range(n) if not i or not within[i - 1]]
    return [slice(i, i + 1 + int(within[i])) for i in starts]


def conjugate_transposed(a: np.ndarray) -> np.ndarray:
    return np.conj(a).T


def triangular_sylvester(a: np.ndarray, b: np.ndarray, right: np.ndarray, adjoint: bool) -> np.ndarray:
    """`A X - X B = right`, or `A^H X - X B^H = right`."""
    if not right.size:
        return right
    is_complex, turned = np.iscomplexobj(right), ("C" if adjoint else "N")
    x, scale, _ = (lapack.ztrsyl if is_complex else lapack.dtrsyl)(a, b, right, turned, turned, -1)
    return x / scale


def of_schur(t: np.ndarray, right: np.ndarray, is_adjoint: bool) -> np.ndarray:
    """Of a block `[[a, b], [c, a]]` the diagonal is to stay equal."""
    n, found = len(t), np.zeros_like(right)
    for own in reversed(diagonal_blocks(t)) if is_adjoint else diagonal_blocks(t):
        i, left, below = own.start, slice(0, own.start), slice(own.stop, n)
        slope = 2 * (t[i, i + 1] + t[i + 1, i]) if own.stop - i == 2 else None
        r = right[below, own]
        if is_adjoint:
            if slope is not None:
                found[i, i] = right[i + 1, i] / slope
                found[i + 1, i + 1] = -found[i, i]
            r = (
                r
                - conjugate_transposed(t[own, below]) @ found[own, own]
                + found[below, below] @ conjugate_transposed(t[own, below])
            )
            found[below, own] = triangular_sylvester(t[below, below], t[own, own], r, True)
        else:
            found[below, own] = triangular_sylvester(
                t[below, below], t[own, own], r + found[below, left] @ t[left, own], False
            )
            if slope is not None:
                x = t[own, below] @ found[below, own] - found[own, left] @ t[left, own]
                found[i + 1, i] = (right[i + 1, i] - x[0, 0] + x[1, 1]) / slope
    if is_adjoint:
        for own in diagonal_blocks(t):
            if own.stop - own.start == 2:
                found[own.start + 1, own.start] = found[own.start, own.start]
    return np.tril(found, -1)


def of_hessenberg(h: np.ndarray, right: np.ndarray, is_adjoint: bool) -> np.ndarray:
    """The first column of `W` is zero, and each column of the equations gives the next."""
    n, found = len(h), np.zeros_like(right)
    if is_adjoint:
        for j in range(n - 2, 0, -1):
            below = slice(j + 1, n)
            sums = conjugate_transposed(h[:, below]) @ found[:, j] - found[below, j:] @ np.conj(h[j, j:])
            found[below, j - 1] = (sums - right[below, j]) / np.conj(h[j, j - 1])
    else:
        for j in range(n - 2):
            below = slice(j + 2, n)
            sums = h[below] @ found[:, j] - found[below, : j + 1] @ h[: j + 1, j]
            found[below, j + 1] = (sums - right[below, j]) / h[j + 1, j]
    return found


def pair_sylvester(
    a: np.ndarray, b: np.ndarray, d: np.ndarray, e: np.ndarray, c: np.ndarray, f: np.ndarray, is_adjoint: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`A X - Y B = C` and `D X - Y E = F`; or `A^H X + D^H Y = C` and `X B^H + Y E^H = -F`."""
    if not c.size:
        return c, f
    if not np.iscomplexobj(c):
        x, y, scale, *_ = lapack.dtgsyl(a, b, c, d, e, f, trans="T" if is_adjoint else "N")
        return x / scale, y / scale
    (b,), (e,), c, f = b[0], e[0], c[:, 0], f[:, 0]  # (triangular: a column has one eigenvalue, `b / e`)
    if is_adjoint:  # `Y = (-F - X B^H) / E^H` in the first, or `X` likewise
        m = np.conj(e) * conjugate_transposed(a) - np.conj(b) * conjugate_transposed(d)
        z = scipy.linalg.solve_triangular(
            m, np.conj(e) * c + conjugate_transposed(d) @ f, lower=True, check_finite=False
        )
        w = scipy.linalg.solve_triangular(
            m, -np.conj(b) * c - conjugate_transposed(a) @ f, lower=True, check_finite=False
        )
        return z[:, None], w[:, None]
    x = scipy.linalg.solve_triangular(e * a - b * d, e * c - b * f, check_finite=False)
    y = (a @ x - c) / b if abs(b) > abs(e) else (d @ x - f) / e
    return x[:, None], y[:, None]


def of_pair(forms: np.ndarray, right: np.ndarray, is_adjoint: bool) -> np.ndarray:
    """The second form of a pair is to stay diagonal in blocks, where the first has anything.

    The number of the first form's equations at the place of a block is that of the second form above the diagonal.
    """
    (s, t), (r, q) = forms, right
    n, (x, y) = len(s), np.zeros_like(right)
    blocks = diagonal_blocks(s)
    for own in reversed(blocks) if is_adjoint else blocks:
        i, left, below = own.start, slice(0, own.start), slice(own.stop, n)
        pencil = (s[below, below], s[own, own], t[below, below], t[own, own])
        is_pair = own.stop - i == 2
        if is_adjoint:
            if is_pair:
                y[i, i + 1], y[i + 1, i] = in_block(t, i, r[i + 1, i], q[i + 1, i], True)
            sums = x[below, below] @ conjugate_transposed(s[own, below]) + y[below, below] @ conjugate_transposed(
                t[own, below]
            )
            c, f = r[below, own] - conjugate_transposed(t[own, below]) @ y[own, own], q[below, own] + sums
            x[below, own], y[below, own] = pair_sylvester(*pencil, c, f, True)
        else:
            c, f = (m[below, own] + y[below, left] @ form[left, own] for m, form in ((r, s), (q, t)))
            x[below, own], y[below, own] = pair_sylvester(*pencil, c, f, False)
            if is_pair:
                other = t[own, below] @ x[below, own] - y[own, left] @ t[left, own]
                upper, lower = r[i + 1, i] - other[0, 1], q[i + 1, i] - other[1, 0]
                x[i + 1, i], y[i + 1, i] = in_block(t, i, upper, lower, False)
    if is_adjoint:
        for own in blocks:
            if own.stop - own.start == 2:
                x[own.start + 1, own.start] = y[own.start, own.start + 1]
    return np.tril(np.stack([x, y]), -1)


def in_block(t: np.ndarray, i: int, upper: float, lower: float, is_adjoint: bool) -> np.ndarray:
    first, second = t[i, i], t[i + 1, i + 1]
    slopes = np.array([[-first, second], [second, -first]])
    return np.linalg.solve(slopes.T if is_adjoint else slopes, [upper, lower])


# As functions of traced code: the forms are constant, and each solve is the other's derivative.


def in_two_parts(a: np.ndarray, is_complex: bool) -> np.ndarray:
    return np.stack([a.real, a.imag]) if is_complex else a


class Equations:
    """Equations of one kind, in plans: of numbers that are real, or of real and imaginary parts."""

    def __init__(self, name: str, solve: Solve, is_complex: bool):
        self.name, self.solve, self.is_complex = name, solve, is_complex
        self.plain, self.adjoint = self._function(False), self._function(True)
        for one, other in ((self.plain, self.adjoint), (self.adjoint, self.plain)):
            self._add_derivative(one, other)

    def _function(self, is_adjoint: bool) -> OpaqueFunction:
        def equations(form: Any, right: Any) -> Any:
            if self.is_complex:
                form, right = form[0] + 1j * form[1], right[0] + 1j * right[1]
            return in_two_parts(self.solve(form, right, is_adjoint), self.is_complex)

        equations.__name__ = equations.__qualname__ = self.name
        return opaque(equations, result=lambda form, right: right)

    def _add_derivative(self, one: Any, other: Any) -> None:
        @one.vjp(needs="form")
        def derivative(form, cotangent):
            return None, other(form, cotangent)

    def __call__(self, form: Any, right: Any) -> Any:
        """In traced code."""
        if not self.is_complex:
            return self.plain(form, right)
        parts = self.plain(np.stack([np.real(form), np.imag(form)]), np.stack([np.real(right), np.imag(right)]))
        return parts[0] + 1j * parts[1]

    def check(self, name: str, form: np.ndarray) -> None:
        """Raise where rounding cannot tell the equations from singular ones: a few steps of the power method."""
        n = form.shape[-1]
        probe = np.tril(np.cos(np.arange(form.size) ** 2.0).reshape(form.shape), -1).astype(form.dtype)
        with np.errstate(all="ignore"):
            try:
                for is_adjoint in (False, True, False):
                    probe = probe / np.linalg.norm(probe)
                    probe = self.solve(form, probe, is_adjoint)
                condition = float(np.linalg.norm(form) * np.linalg.norm(probe))
            except np.linalg.LinAlgError:
                condition = np.inf
        if n > 1 and not condition < MOST_CONDITION:
            raise np.linalg.LinAlgError(
                f"scipy.linalg.{name}: eigenvalues are equal up to rounding, or a vector is zero, and its factors have "
                "no derivative there"
            )


def of_both_kinds(name: str, solve: Solve) -> dict[bool, Equations]:
    return {is_complex: Equations(name, solve, is_complex) for is_complex in (False, True)}


SCHUR = of_both_kinds("the equations of Schur's form", of_schur)
HESSENBERG = of_both_kinds("the equations of Hessenberg's form", of_hessenberg)
PAIR = of_both_kinds("the equations of a pair of forms", of_pair)
