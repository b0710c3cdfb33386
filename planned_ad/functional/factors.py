"""Decompositions of `scipy.linalg` that SciPy itself makes when the plan runs: Schur, Hessenberg, QZ, `L D L^T`.

SciPy's factors are constant for derivatives; some steps from them, each of the length zero, move them as the matrix
does. An orthogonal factor `Q` moves by `Q exp(W)` with a skew `W`. Of `T = Q^H A Q` it is known which numbers are zero,
and `dT = Q^H dA Q + T W - W T`: linear equations for `W` (`turn_equations`). They are solved with SciPy's `T`, so that
each step makes one more order of the derivative right; four are taken.

**Where eigenvalues are equal**, these equations are singular, as Schur's vectors have no derivative there. Vectors of
complex factors may be turned in phase; they follow by the least rotation, which is right for what does not depend on
it.

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008.
G. W. Stewart, J. Sun, "Matrix perturbation theory", 1990 (V.2).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from ..errors import UnsupportedError
from ..tracing.numpy_functions.scipy_linalg import unpivoted_qr
from ..tracing.record.dispatch import implements
from ..tracing.record.recorder import Recorder
from .solvers import by_scipy, calls, held, refuse_options
from .turn_equations import HESSENBERG, PAIR, SCHUR

STEPS = 4  # and as many derivatives are right

PERMISSIONS = ("lwork", "overwrite_a", "overwrite_b", "check_finite")


def matrix(recorder: Recorder, name: str, a: Any) -> Any:
    """One square matrix of floating numbers."""
    array = recorder.call(np.asarray, (a,), {})
    if array.dtype.kind not in "fc":
        array = array.astype(float)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError("expected square matrix")
    if not len(array):
        raise UnsupportedError(f"{recorder.here()}: {name} of a traced matrix without rows")
    return array


def of_stacks(count: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a decomposition of `count` matrices take stacks of them, one after the other."""

    def decorate(implementation: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(implementation)
        def of_each(recorder: Recorder, name: str, *args: Any, **options: Any) -> Any:
            stacks = [recorder.call(np.asarray, (a,), {}) for a in args[:count]]
            batch = np.broadcast_shapes(*(a.shape[:-2] for a in stacks))
            if not batch or 0 in batch or len(stacks) < count:
                return implementation(recorder, name, *args, **options)
            stacks = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in stacks]
            found = [
                implementation(recorder, name, *(a[index] for a in stacks), *args[count:], **options)
                for index in np.ndindex(batch)
            ]

            def together(parts: Sequence[Any]) -> Any:
                stack = np.stack([recorder.array(recorder.value_of(p)) if np.ndim(p) == 0 else p for p in parts])
                return stack.reshape(batch + stack.shape[1:])

            return tuple(map(together, zip(*found))) if isinstance(found[0], tuple) else together(found)

        return of_each

    return decorate


def scipys(recorder: Recorder, name: str, function: Callable[..., Any], given: Any, kinds: list[Any]) -> list[Any]:
    """The matrices that `function` returns, and then its numbers, when the plan runs; constant for derivatives."""

    def solve(*given: Any) -> np.ndarray:
        flat = [np.atleast_1d(part).ravel() for part in function(*given)]
        return np.concatenate([f.view(f.real.dtype) if np.iscomplexobj(f) else f for f in flat])

    sizes = [int(np.prod(shape)) * (2 if is_complex else 1) for shape, is_complex in kinds]
    numbers = by_scipy(recorder, name, solve, given, sum(sizes))
    found, start = [], 0
    for size, (shape, is_complex) in zip(sizes, kinds):
        own = numbers[start : start + size]
        found.append((own[::2] + 1j * own[1::2] if is_complex else own).reshape(shape))
        start += size
    return found


def following(recorder: Recorder, found: Any, moving: Any) -> Any:
    """The numbers that SciPy found, with the derivatives of those that they are equal to."""
    return found + (moving - held(recorder, moving))


def turned_by(factor: Any, lower: Any, step: int) -> Any:
    """`factor exp(W)`, as far as derivatives of the fourth order need it.

    The first step is as long as the matrix is moved, the second as that squared, and so on.
    """
    w, one = lower - np.conj(lower).T, np.eye(len(lower))
    orders = STEPS // step
    if orders == 1:
        return factor + factor @ w
    square = w @ w
    if orders == 2:
        return factor @ (one + w + square / 2)
    return factor @ (one + w + square @ (one / 2 + w / 6 + square / 24))


def is_complex_output(a: Any, output: str) -> bool:
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    return output[0] == "c" or a.dtype.kind == "c"


class ConjugateBlocks:
    """Where, right below the diagonal, LAPACK has a pair of conjugate eigenvalues."""

    def __init__(self, t: Any):
        n = len(t)
        within = np.diagonal(t, -1) != 0
        self.here = np.diag(within * 1.0, -1) != 0
        self.kept = np.tri(n).T + np.diag(within * 1.0, -1)
        self.below = np.tri(n, k=-1)

    def zeros_of(self, t: Any, in_block: Any) -> Any:
        """What is to be zero below the diagonal, and in the place of a block what is to be zero of that."""
        return np.where(self.here, np.diag(in_block, -1), t * self.below)


@calls("scipy.linalg", "schur")
@of_stacks(1)
def schur(recorder: Recorder, name: str, a: Any, output: str = "real", **options: Any) -> Any:
    options = {k: v for k, v in options.items() if v is not None}
    refuse_options(recorder, name, options, (*PERMISSIONS, "sort"))
    a = matrix(recorder, name, a)
    n, is_complex = len(a), is_complex_output(a, output)
    is_sorted = "sort" in options
    equations = SCHUR[is_complex]

    def solve(a: np.ndarray) -> tuple[Any, ...]:
        t, z, *count = scipy.linalg.schur(a, output, **options)
        equations.check(name, t)
        return t, z, *count

    if n == 1:
        if is_sorted:
            raise UnsupportedError(f"{recorder.here()}: schur of one number with sort= is not supported; leave it out")
        return (a + 0j if is_complex else a), np.eye(1)
    kinds = [((n, n), is_complex)] * 2 + [((), False)] * is_sorted
    t, z, *count = scipys(recorder, name, solve, (a,), kinds)
    blocks, moved = None if is_complex else ConjugateBlocks(t), z
    for step in range(1, STEPS + 1):
        own = np.conj(moved).T @ a @ moved
        diagonal = np.diagonal(own)
        zeros = np.tril(own, -1) if blocks is None else blocks.zeros_of(own, diagonal[:-1] - diagonal[1:])
        moved = turned_by(moved, equations(t, -zeros), step)
    own = np.conj(moved).T @ a @ moved
    own = np.triu(own) if blocks is None else own * blocks.kept
    z, t = following(recorder, z, moved), following(recorder, t, own)
    return (t, z, recorder.integer(count[0])) if is_sorted else (t, z)


@calls("scipy.linalg", "hessenberg")
@of_stacks(1)
def hessenberg(recorder: Recorder, name: str, a: Any, calc_q: bool = False, **options: Any) -> Any:
    """The first column of `Q` stays what it is, and LAPACK's numbers below the diagonal stay real."""
    refuse_options(recorder, name, options, PERMISSIONS)
    a = matrix(recorder, name, a)
    n, is_complex = len(a), a.dtype.kind == "c"
    if n <= 2:
        return (a, np.eye(n)) if calc_q else a
    equations = HESSENBERG[is_complex]

    def solve(a: np.ndarray) -> tuple[Any, ...]:
        h, q = scipy.linalg.hessenberg(a, True)
        equations.check(name, h)
        return h, q

    h, q = scipys(recorder, name, solve, (a,), [((n, n), is_complex)] * 2)
    moved = q
    for step in range(1, STEPS + 1):
        moved = turned_by(moved, equations(h, -np.tril(np.conj(moved).T @ a @ moved, -2)), step)
    own = np.triu(np.conj(moved).T @ a @ moved, -1)
    if is_complex:
        below = np.diagonal(own, -1)
        turns = below / (np.abs(below) * np.sign(held(recorder, np.real(below))))
        turns = np.concatenate([np.ones(1), np.cumprod(turns)])
        own, moved = np.conj(turns)[:, None] * own * turns, moved * turns
    found = following(recorder, h, own)
    return (found, following(recorder, q, moved)) if calc_q else found


@calls("scipy.linalg", "qz")
@of_stacks(2)
def qz(recorder: Recorder, name: str, A: Any, B: Any, output: str = "real", **options: Any) -> Any:
    """`Q^H A Z` and `Q^H B Z` are triangular; the second is diagonal where the first has a block."""
    options = {k: v for k, v in options.items() if v is not None}
    refuse_options(recorder, name, options, PERMISSIONS)
    a, b = matrix(recorder, name, A), matrix(recorder, name, B)
    n, is_complex = len(a), is_complex_output(a, output) or b.dtype.kind == "c"
    equations = PAIR[is_complex]

    def solve(a: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
        s, t, q, z = scipy.linalg.qz(a, b, output, **options)
        equations.check(name, np.stack([s, t]))
        return s, t, q, z

    s, t, q, z = scipys(recorder, name, solve, (a, b), [((n, n), is_complex)] * 4)
    if n == 1:
        return following(recorder, s, q * a * z), following(recorder, t, q * b * z), q, z
    blocks, left, right = None if is_complex else ConjugateBlocks(s), q, z
    forms = np.stack([s, t])
    for step in range(1, STEPS + 1):
        first, second = (np.conj(left).T @ m @ right for m in (a, b))
        zeros = np.tril(first, -1) if blocks is None else blocks.zeros_of(first, np.diagonal(second, 1))
        turns = equations(forms, -np.stack([zeros, np.tril(second, -1)]))
        right, left = turned_by(right, turns[0], step), turned_by(left, turns[1], step)
    own, other = (np.conj(left).T @ m @ right for m in (a, b))
    kept = np.tri(n).T if blocks is None else blocks.kept
    s, t = following(recorder, s, own * kept), following(recorder, t, np.triu(other))
    return s, t, following(recorder, q, left), following(recorder, z, right)


@calls("scipy.linalg", "ldl")
@of_stacks(1)
def ldl(recorder: Recorder, name: str, A: Any, lower: bool = True, hermitian: bool = True, **options: Any) -> Any:
    """Where `M = L^-1 A L^-H` is not diagonal in blocks, `L` moves by `M D^-1` (rows in the order of the pivots)."""
    refuse_options(recorder, name, options, PERMISSIONS)
    a = matrix(recorder, name, A)
    n, is_complex = len(a), a.dtype.kind == "c"
    turned = np.conj if is_complex and hermitian else (lambda x: x)
    kinds = [((n, n), is_complex)] * 2 + [((n,), False)]
    factor, d, order = scipys(recorder, name, lambda a: scipy.linalg.ldl(a, bool(lower), bool(hermitian)), (a,), kinds)
    order = order.astype(np.int64)
    strict = np.tri(n, k=-1) if lower else np.tri(n, k=-1).T
    strict = np.where(d == 0, strict, 0.0)
    known = np.tril(a) if lower else np.triu(a)
    whole = known + turned((np.tril(a, -1) if lower else np.triu(a, 1)).T)
    own, moved = whole[order[:, None], order], factor[order]
    for _ in range(STEPS):
        middle = turned(np.linalg.solve(moved, turned(np.linalg.solve(moved, own)).T)).T
        moved = moved @ (np.eye(n) + (middle * strict) @ np.linalg.inv(middle * (d != 0)))
    middle = turned(np.linalg.solve(moved, turned(np.linalg.solve(moved, own)).T)).T
    back = np.argsort(order)
    return following(recorder, factor, moved[back]), following(recorder, d, middle * (d != 0)), order


# QR whose columns SciPy orders.


@implements(scipy.linalg.qr)
def qr(recorder, a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if not pivoting:
        return unpivoted_qr(recorder, a, mode)
    a = recorder.call(np.asarray, (a,), {})
    if a.ndim != 2:
        raise UnsupportedError(f"{recorder.here()}: scipy.linalg.qr with pivots of stacked matrices; call it for each")

    def solve(a: np.ndarray) -> tuple[np.ndarray]:
        return (scipy.linalg.qr(a, mode="r", pivoting=True)[1],)

    (order,) = scipys(recorder, "qr", solve, (a,), [((a.shape[1],), False)])
    order = order.astype(np.int64)
    return (*unpivoted_qr(recorder, a[:, order], mode), order.astype(np.int32))


@implements(scipy.linalg.qr_multiply)
def qr_multiply(recorder, a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False, overwrite_c=False):
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but not '{mode}'")
    if overwrite_c or conjugate:
        raise UnsupportedError(
            f"{recorder.here()}: scipy.linalg.qr_multiply with conjugate or overwrite_c is not supported; leave it out"
        )
    q, *others = qr(recorder, a, mode="economic", pivoting=pivoting)
    return (q @ c if mode == "left" else c @ q, *others)
