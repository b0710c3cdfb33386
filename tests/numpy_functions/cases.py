"""Uses of NumPy's functions with example arguments: run through the trace here, differentiated elsewhere.

Floating arguments are float64 and C-ordered; the tests derive the other dtypes and layouts from them.
Values are away from ties and edges, so that each function is differentiable there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from planned_ad.python.versions import NUMPY


@dataclass(frozen=True)
class Case:
    """`function(*arguments)` returns an array, a scalar, or a tuple or list of them.

    `writes`: the function changes its arguments. `rounds`: its derivative is zero, or too coarse to be
    compared with differences in float64.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    writes: bool = False
    rounds: bool = False


CASES: list[Case] = []


def case(function: Callable[..., Any], *arguments: np.ndarray, name: str = "", **flags: bool) -> None:
    """Add a case; without a name it has the one of the NumPy function that its group is about."""
    same = sum(c.name.rpartition("-")[0] == (name or group) for c in CASES)
    CASES.append(Case(f"{name or group}-{same}", function, arguments, **flags))


group = ""
generator = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return np.asarray(generator.normal(size=shape))


def positive(*shape: int) -> np.ndarray:
    return np.asarray(generator.uniform(0.5, 2.0, size=shape))


def ints(*shape: int) -> np.ndarray:
    return np.asarray(generator.integers(-4, 9, size=shape))


def bools(*shape: int) -> np.ndarray:
    return np.asarray(generator.random(size=shape) < 0.5)


# Reductions

for _name, f in (("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min)):
    group = _name
    case(lambda x, f=f: f(x), floats(5))
    case(lambda x, f=f: f(x), floats(3, 4))
    case(lambda x, f=f: f(x), floats())
    case(lambda x, f=f: f(x, axis=0), floats(3, 4))
    case(lambda x, f=f: f(x, axis=-1, keepdims=True), floats(3, 4))
    case(lambda x, f=f: f(x, (0, 2)), floats(2, 3, 4))
    case(lambda x, f=f: f(x, axis=(-1, 0), keepdims=True), floats(2, 3, 4))
    case(lambda x, f=f: f(x, axis=()), floats(2, 3))
    case(lambda x, f=f: f(x, axis=None, keepdims=True), floats(2, 3))
    case(lambda x, f=f: f(x, axis=1), ints(3, 4), rounds=True)
    case(lambda x, f=f: f([x[0], 2.0, x[1] * x[2]]), floats(3))
    case(lambda x, f=f: f(x.T[1:], axis=0), floats(3, 4))
group = "sum"
case(lambda x: np.sum(x), bools(6), rounds=True)
case(lambda x: np.sum(x), ints(6).astype(np.int32), rounds=True)
case(lambda x: np.sum(x, dtype=np.float32), floats(4), rounds=True)
case(lambda x: np.sum(x, dtype=np.float64), ints(4), rounds=True)
case(lambda x: np.sum(x, axis=0, initial=2.0), floats(3, 2))
case(lambda x: np.sum(x, axis=0), floats(0, 3))
case(lambda x: np.add.reduce(x), floats(3, 4))
case(lambda x: np.add.reduce(x, axis=None), floats(3, 4))
case(lambda x: x.sum(), floats(3, 4))
case(lambda x: x.sum(axis=1, keepdims=True), floats(3, 4))
group = "max"
case(lambda x: np.amax(x, 1), floats(3, 4))
case(lambda x: np.maximum.reduce(x), floats(3, 4))
case(lambda x: np.max(x, initial=0.3), floats(4))
case(lambda x: np.max(x), bools(5), rounds=True)
case(lambda x: x.max(axis=-1), floats(3, 4))
group = "min"
case(lambda x: np.amin(x, 1), floats(3, 4))
case(lambda x: np.minimum.reduce(x, axis=1), floats(3, 4))
case(lambda x: x.min(), floats(3, 4))
group = "mean"
case(lambda x: np.mean(x), bools(5), rounds=True)
case(lambda x: np.mean(x, axis=0, dtype=np.float64), floats(3, 2))
case(lambda x: x.mean(axis=0), floats(3, 4))
group = "prod"
case(lambda x: np.prod(x), floats(5))
case(lambda x: np.prod(x, axis=1), floats(3, 4))
case(lambda x: np.prod(x, axis=(0, 2), keepdims=True), floats(2, 3, 2))
case(lambda x: np.prod(x), ints(4), rounds=True)
case(lambda x: np.multiply.reduce(x), floats(3, 2))
case(lambda x: x.prod(axis=0), floats(3, 2))
for _name, f in (("var", np.var), ("std", np.std)):
    group = _name
    case(lambda x, f=f: f(x), floats(5))
    case(lambda x, f=f: f(x, axis=0, ddof=1), floats(4, 3))
    case(lambda x, f=f: f(x, axis=1, keepdims=True), floats(3, 4))
    case(lambda x, f=f: f(x, axis=(0, 1)), floats(2, 3, 4))
    case(lambda x, f=f: f(x, correction=1), floats(5))
    case(lambda x, f=f: f(x), ints(5), rounds=True)
    case(lambda x, f=f: f(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), floats(4, 2))
case(lambda x: x.std(), floats(5), name="std")
case(lambda x: x.var(axis=0, ddof=1), floats(5, 2), name="var")
group = "ptp"
case(lambda x: np.ptp(x), floats(5))
case(lambda x: np.ptp(x, axis=0), floats(4, 3))
group = "any"
case(lambda x: np.any(x > 0), floats(4), rounds=True)
case(lambda x: np.any(x > 0, axis=0), floats(3, 4), rounds=True)
case(lambda x: np.any(x), ints(4), rounds=True)
case(lambda x: np.logical_or.reduce(x > 0, axis=1), floats(3, 2), rounds=True)
group = "all"
case(lambda x: np.all(x > 0), floats(4), rounds=True)
case(lambda x: np.all(x > -1, axis=1, keepdims=True), floats(3, 4), rounds=True)
case(lambda x: (x > 0).all(), floats(4), rounds=True)
group = "count_nonzero"
case(lambda x: np.count_nonzero(x > 0), floats(5), rounds=True)
case(lambda x: np.count_nonzero(x, axis=0), ints(3, 4), rounds=True)
group = "cumsum"
case(lambda x: np.cumsum(x), floats(5))
case(lambda x: np.cumsum(x), floats(3, 4))
case(lambda x: np.cumsum(x, axis=0), floats(3, 4))
case(lambda x: np.cumsum(x, axis=-1), floats(2, 3, 2))
case(lambda x: np.cumsum(x), bools(5), rounds=True)
case(lambda x: x.cumsum(axis=1), floats(2, 3))
case(lambda x: np.add.accumulate(x), floats(4))
group = "cumprod"
case(lambda x: np.cumprod(x), floats(5))
case(lambda x: np.cumprod(x, axis=1), floats(3, 4))
case(lambda x: np.cumprod(x), ints(5), rounds=True)
group = "average"
case(lambda x: np.average(x), floats(5))
case(lambda x: np.average(x, axis=0), floats(3, 4))
case(lambda x, w: np.average(x, weights=w), floats(5), positive(5))
case(lambda x, w: np.average(x, axis=1, weights=w), floats(3, 4), positive(4))
case(lambda x, w: np.average(x, axis=1, weights=w, keepdims=True), floats(3, 4), positive(4))
case(lambda x: np.average(x, axis=0, weights=[1.0, 2.0, 3.0], returned=True), floats(3, 4))
case(lambda x: np.average(x, weights=[1, 2, 3]), ints(3), rounds=True)
group = "nansum"
case(lambda x: np.nansum(np.where(x > 0, x, np.nan)), floats(6))
case(lambda x: np.nanmean(np.where(x > 0.7, x, np.nan), axis=0), positive(6, 2))
case(lambda x: np.nanprod(np.where(x > 0, x, np.nan), axis=1), floats(3, 4))
group = "norm"
case(lambda x: np.linalg.norm(x), floats(5))
case(lambda x: np.linalg.norm(x), floats(3, 4))
case(lambda x: np.linalg.norm(x), ints(5), rounds=True)
case(lambda x: np.linalg.norm(x, axis=1), floats(3, 4))
case(lambda x: np.linalg.norm(x, axis=0, keepdims=True), floats(3, 4))
case(lambda x: np.linalg.norm(x, 1), floats(5))
case(lambda x: np.linalg.norm(x, np.inf), floats(5))
case(lambda x: np.linalg.norm(x, -np.inf, axis=0), floats(3, 4))
case(lambda x: np.linalg.norm(x, 3), positive(5))
case(lambda x: np.linalg.norm(x, 0), floats(5), rounds=True)
case(lambda x: np.linalg.norm(x, "fro"), floats(3, 4))
case(lambda x: np.linalg.norm(x, "fro", axis=(1, 2)), floats(2, 3, 4))
case(lambda x: np.linalg.norm(x, 1), floats(3, 4))
case(lambda x: np.linalg.norm(x, np.inf, axis=(0, 2)), floats(2, 3, 4))
case(lambda x: np.linalg.norm(x, -1, keepdims=True), floats(3, 4))
case(lambda x: np.linalg.norm(x, 2, axis=1), floats(3, 4))
case(lambda x: np.linalg.vector_norm(x, axis=(0, 1)), floats(3, 4, 2))
case(lambda x: np.linalg.matrix_norm(x), floats(2, 3, 4))
group = "logsumexp"
case(lambda x: scipy.special.logsumexp(x), floats(5))
case(lambda x: scipy.special.logsumexp(x, axis=1), floats(3, 4))
case(lambda x: scipy.special.logsumexp(x, axis=0, keepdims=True), floats(3, 4))
case(lambda x: scipy.special.logsumexp(x + 1000.0, axis=(0, 1)), floats(3, 4))
case(lambda x, b: scipy.special.logsumexp(x, b=b), floats(4), positive(4))
case(lambda x, b: scipy.special.logsumexp(x, axis=1, b=b), floats(3, 4), positive(4))
case(lambda x: scipy.special.logsumexp(np.array([x[0], -np.inf, x[1]])), floats(2))
case(lambda x: scipy.special.logsumexp(x, b=[1.0, 0.0, 2.0]), floats(3))
case(lambda x: scipy.special.logsumexp([x[0], x[1]]), floats(2))
case(lambda x: scipy.special.logsumexp(x), ints(4), rounds=True)
group = "softmax"
case(lambda x: scipy.special.softmax(x), floats(5))
case(lambda x: scipy.special.softmax(x, axis=1), floats(3, 4))
case(lambda x: scipy.special.softmax(x * 1000.0, axis=0), floats(3, 4))
case(lambda x: scipy.special.log_softmax(x), floats(5))
case(lambda x: scipy.special.log_softmax(x, axis=-1), floats(3, 4))

# Products

group = "dot"
case(lambda a, b: np.dot(a, b), floats(4), floats(4))
case(lambda a, b: np.dot(a, b), floats(3, 4), floats(4))
case(lambda a, b: np.dot(a, b), floats(3), floats(3, 4))
case(lambda a, b: np.dot(a, b), floats(3, 4), floats(4, 2))
case(lambda a, b: np.dot(a, b), floats(2, 3, 4), floats(5, 4, 2))
case(lambda a, b: np.dot(a, b), floats(), floats(3, 4))
case(lambda a, b: np.dot(a, b), floats(3, 4), floats())
case(lambda a: np.dot(a, 2.0), floats(3))
case(lambda a: np.dot(a[0], a[1]), floats(3))
case(lambda a, b: a.dot(b), floats(3, 4), floats(4))
case(lambda a: np.dot(a, a), floats(4))
case(lambda a: np.dot(a.T, a), floats(3, 4))
case(lambda a, b: np.dot(a, b), ints(3, 4), ints(4), rounds=True)
case(lambda a, b: np.dot(a, b), bools(3, 4), bools(4, 2), rounds=True)
case(lambda a, b: np.dot(a, b), floats(3, 4), ints(4))
case(lambda a: np.dot(np.arange(12.0).reshape(3, 4), a), floats(4))
case(lambda a, b: np.dot(a, b), floats(3, 1), floats(1, 2))
case(lambda a, b: np.dot(a, b), floats(3, 0), floats(0, 2))
group = "matmul"
case(lambda a, b: a @ b, floats(4), floats(4))
case(lambda a, b: a @ b, floats(3, 4), floats(4))
case(lambda a, b: a @ b, floats(3), floats(3, 4))
case(lambda a, b: np.matmul(a, b), floats(3, 4), floats(4, 2))
case(lambda a, b: a @ b, floats(2, 3, 4), floats(4, 2))
case(lambda a, b: a @ b, floats(2, 3, 4), floats(2, 4, 2))
case(lambda a, b: a @ b, floats(2, 1, 3, 4), floats(5, 4, 2))
case(lambda a, b: a @ b, floats(1, 3, 4), floats(5, 4, 2))
case(lambda a, b: a @ b, floats(2, 3, 4), floats(4))
case(lambda a, b: a @ b, floats(4), floats(2, 4, 3))
case(lambda a: a @ np.eye(3)[:, :2], floats(2, 3))
case(lambda a: np.eye(3) @ a, floats(3))
case(lambda a, b: a @ b, ints(3, 4), ints(4, 2), rounds=True)
case(lambda a, b: np.linalg.matmul(a, b), floats(3, 4), floats(4, 2))
case(lambda a: np.linalg.matrix_power(a, 3), floats(3, 3))
case(lambda a: np.linalg.matrix_power(a, 0), floats(3, 3), rounds=True)
case(lambda a, b, c: np.linalg.multi_dot([a, b, c]), floats(2, 3), floats(3, 4), floats(4))
case(lambda a, b, c: np.linalg.multi_dot([a, b, c]), floats(3), floats(3, 4), floats(4, 2))
group = "inner"
case(lambda a, b: np.inner(a, b), floats(4), floats(4))
case(lambda a, b: np.inner(a, b), floats(3, 4), floats(2, 4))
case(lambda a, b: np.inner(a, b), floats(2, 3, 4), floats(4))
case(lambda a: np.inner(a, 3.0), floats(4))
case(lambda a, b: np.vdot(a, b), floats(2, 3), floats(3, 2))
case(lambda a, b: np.vdot(a, b), floats(4), floats(4))
case(lambda a, b: np.vecdot(a, b), floats(3, 4), floats(4))
case(lambda a, b: np.linalg.vecdot(a, b, axis=0), floats(4, 3), floats(4, 1))
group = "outer"
case(lambda a, b: np.outer(a, b), floats(3), floats(4))
case(lambda a, b: np.outer(a, b), floats(2, 2), floats(3))
case(lambda a: np.outer(a, a), floats(3))
case(lambda a: np.outer(a, 2.0), floats(3))
case(lambda a, b: np.linalg.outer(a, b), floats(3), floats(4))
case(lambda a, b: np.multiply.outer(a, b), floats(3), floats(2, 2))
group = "tensordot"
case(lambda a, b: np.tensordot(a, b), floats(2, 3, 4), floats(3, 4, 2))
case(lambda a, b: np.tensordot(a, b, 1), floats(2, 3), floats(3, 4))
case(lambda a, b: np.tensordot(a, b, 0), floats(2, 3), floats(2))
case(lambda a, b: np.tensordot(a, b, ([0, 1], [1, 0])), floats(3, 4, 2), floats(4, 3, 2))
case(lambda a, b: np.tensordot(a, b, (-1, 0)), floats(3, 4), floats(4, 2))
case(lambda a, b: np.tensordot(a, b, 2), floats(3, 4), floats(3, 4))
group = "einsum"
case(lambda a, b: np.einsum("ij,jk->ik", a, b), floats(3, 4), floats(4, 2))
case(lambda a, b: np.einsum("ij,jk", a, b), floats(3, 4), floats(4, 2))
case(lambda a, b: np.einsum("i,i", a, b), floats(4), floats(4))
case(lambda a, b: np.einsum("i,i->", a, b), floats(4), floats(4))
case(lambda a, b: np.einsum("i,i->i", a, b), floats(4), floats(4))
case(lambda a, b: np.einsum("i,j->ji", a, b), floats(4), floats(3))
case(lambda a: np.einsum("ii", a), floats(4, 4))
case(lambda a: np.einsum("ii->i", a), floats(4, 4))
case(lambda a: np.einsum("ij->ji", a), floats(3, 4))
case(lambda a: np.einsum("ij->j", a), floats(3, 4))
case(lambda a: np.einsum("ijk->", a), floats(2, 3, 4))
case(lambda a: np.einsum("iij->j", a), floats(3, 3, 2))
case(lambda a: np.einsum("...ij->...ji", a), floats(2, 3, 4))
case(lambda a: np.einsum("ba", a), floats(3, 4))
case(lambda a, b: np.einsum("bij,bjk->bik", a, b), floats(2, 3, 4), floats(2, 4, 2))
case(lambda a, b: np.einsum("...ij,...jk->...ik", a, b), floats(2, 3, 4), floats(4, 2))
case(lambda a, b: np.einsum("...ij,...j", a, b), floats(2, 3, 4), floats(1, 4))
case(lambda a, b: np.einsum("ii,ij->j", a, b), floats(3, 3), floats(3, 2))
case(lambda a, b: np.einsum("ij,k->k", a, b), floats(3, 4), floats(2))
case(lambda a, b: np.einsum("ij,ij->", a, b), floats(3, 4), floats(3, 4))
case(lambda a, b: np.einsum("ij,ij->i", a, b), floats(3, 4), floats(3, 4))
case(lambda a, b: np.einsum("ij,kj->ik", a, b), floats(3, 1), floats(2, 4))
case(lambda a, b: np.einsum("i,->i", a, b), floats(3), floats())
case(lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]), floats(3, 4), floats(4, 2))
case(lambda a, b: np.einsum(a, [0, 1], b, [1, 2]), floats(3, 4), floats(4, 2))
case(lambda a, b: np.einsum(a, [..., 0], b, [..., 0], [...]), floats(3, 4), floats(3, 4))
case(lambda a, b, c: np.einsum("ij,jk,kl->il", a, b, c), floats(2, 3), floats(3, 4), floats(4, 2))
case(lambda a, b, c: np.einsum("i,ij,j->", a, b, c), floats(3), floats(3, 4), floats(4))
case(lambda a, b, c: np.einsum("ni,ij,nj->n", a, b, c, optimize=True), floats(5, 3), floats(3, 3), floats(5, 3))
case(lambda a, b, c: np.einsum("a,a,a->a", a, b, c), floats(3), floats(3), floats(3))
case(lambda a, b, c, d: np.einsum("ij,jk,kl,li->", a, b, c, d), floats(2, 3), floats(3, 4), floats(4, 3), floats(3, 2))
case(lambda a, b: np.einsum("ij,j->i", a, b), ints(3, 4), ints(4), rounds=True)
case(lambda a: np.einsum("ij,ik->jk", a, a), floats(5, 3))
group = "kron"
case(lambda a, b: np.kron(a, b), floats(2), floats(3))
case(lambda a, b: np.kron(a, b), floats(2, 3), floats(3, 2))
case(lambda a, b: np.kron(a, b), floats(2, 3), floats(4))
case(lambda a: np.kron(np.eye(2), a), floats(2, 2))
group = "trace"
case(lambda a: np.trace(a), floats(4, 4))
case(lambda a: np.trace(a, 1), floats(3, 4))
case(lambda a: np.trace(a, -1, 1, 2), floats(2, 3, 4))
case(lambda a: a.trace(), floats(3, 4))
case(lambda a: np.linalg.trace(a), floats(2, 3, 3))
group = "diagonal"
case(lambda a: np.diagonal(a), floats(4, 4))
case(lambda a: np.diagonal(a, 1), floats(3, 4))
case(lambda a: np.diagonal(a, -2, axis1=2, axis2=0), floats(3, 2, 4))
case(lambda a: np.linalg.diagonal(a), floats(2, 3, 3))
case(lambda a: a.diagonal(), floats(3, 4))
group = "diag"
case(lambda a: np.diag(a), floats(4))
case(lambda a: np.diag(a, 2), floats(3))
case(lambda a: np.diag(a, -1), floats(3))
case(lambda a: np.diag(a, 1), floats(3, 4))
case(lambda a: np.diagflat(a), floats(2, 2))
group = "tril"
case(lambda a: np.tril(a), floats(4, 4))
case(lambda a: np.tril(a, -1), floats(2, 3, 4))
case(lambda a: np.tril(a), floats(3))
case(lambda a: np.triu(a), floats(4, 3))
case(lambda a: np.triu(a, 1), floats(4, 4))
case(lambda a: np.triu(a), ints(3, 3), rounds=True)
group = "cross"
case(lambda a, b: np.cross(a, b), floats(3), floats(3))
case(lambda a, b: np.cross(a, b), floats(4, 3), floats(3))
case(lambda a, b: np.cross(a, b, axis=0), floats(3, 4), floats(3, 4))
case(lambda a: np.vander(a, 3), floats(4))
case(lambda a: np.vander(a, increasing=True), floats(3))
group = "cov"
case(lambda a: np.cov(a), floats(3, 6))
case(lambda a: np.cov(a, rowvar=False, bias=True), floats(6, 3))
case(lambda a: np.cov(a), floats(6))
case(lambda a, b: np.cov(a, b, ddof=0), floats(5), floats(5))
case(lambda a: np.corrcoef(a), floats(3, 6))

# Shapes

group = "reshape"
case(lambda x: np.reshape(x, (4, 3)), floats(3, 4))
case(lambda x: np.reshape(x, -1), floats(3, 4))
case(lambda x: x.reshape(2, -1), floats(3, 4))
case(lambda x: np.reshape(x, (4, 3), order="F"), floats(3, 4))
case(lambda x: np.reshape(x.T, 12), floats(3, 4))
case(lambda x: np.ravel(x), floats(3, 4))
case(lambda x: np.ravel(x.T), floats(3, 4))
case(lambda x: np.ravel(x, "F"), floats(3, 4))
case(lambda x: x.flatten(), floats(3, 4))
group = "transpose"
case(lambda x: np.transpose(x), floats(3, 4))
case(lambda x: np.transpose(x, (1, 2, 0)), floats(2, 3, 4))
case(lambda x: x.T, floats(2, 3, 4))
case(lambda x: np.swapaxes(x, 0, -1), floats(2, 3, 4))
case(lambda x: np.moveaxis(x, 0, -1), floats(2, 3, 4))
case(lambda x: np.moveaxis(x, [0, 1], [-1, 0]), floats(2, 3, 4))
case(lambda x: np.rollaxis(x, 2), floats(2, 3, 4))
case(lambda x: np.rollaxis(x, 0, 3), floats(2, 3, 4))
case(lambda x: np.matrix_transpose(x), floats(2, 3, 4))
case(lambda x: np.permute_dims(x, (1, 0)), floats(3, 4))
group = "squeeze"
case(lambda x: np.squeeze(x), floats(1, 3, 1))
case(lambda x: np.squeeze(x, 0), floats(1, 3, 1))
case(lambda x: np.squeeze(x), floats(1, 1))
case(lambda x: np.squeeze(x, (0, -1)), floats(1, 3, 1))
case(lambda x: np.expand_dims(x, 0), floats(3, 4))
case(lambda x: np.expand_dims(x, (0, -1)), floats(3, 4))
group = "broadcast"
case(lambda x: np.broadcast_to(x, (2, 3)), floats(3))
case(lambda x: np.broadcast_to(x, (2, 3, 4)), floats(3, 1))
case(lambda x, y: np.broadcast_arrays(x, y), floats(3, 1), floats(4))
case(lambda x: np.atleast_1d(x), floats())
case(lambda x: np.atleast_2d(x), floats(3))
case(lambda x: np.atleast_3d(x), floats(3, 4))
case(lambda x, y: np.atleast_3d(x, y), floats(3), floats())
group = "flip"
case(lambda x: np.flip(x), floats(3, 4))
case(lambda x: np.flip(x, 0), floats(3, 4))
case(lambda x: np.flip(x, (0, -1)), floats(2, 3, 4))
case(lambda x: np.fliplr(x), floats(3, 4))
case(lambda x: np.flipud(x), floats(3, 4))
case(lambda x: np.rot90(x), floats(3, 4))
case(lambda x: np.rot90(x, 2), floats(3, 4))
case(lambda x: np.rot90(x, -1, (0, 2)), floats(2, 3, 4))
group = "size"
case(lambda x: x * np.size(x) * np.ndim(x) * np.shape(x)[0] * np.size(x, 1), floats(3, 4))
case(lambda x: np.real(x) * 2.0, floats(3))
case(lambda x: np.imag(x) + x, floats(3))
case(lambda x: np.conj(x), floats(3))
case(lambda x: np.copy(x), floats(3, 4))

# Joining

group = "concatenate"
case(lambda a, b: np.concatenate([a, b]), floats(3), floats(2))
case(lambda a, b: np.concatenate((a, b), axis=1), floats(3, 2), floats(3, 4))
case(lambda a, b: np.concatenate((a, b), axis=None), floats(3, 2), floats(3))
case(lambda a: np.concatenate([a, [1.0, 2.0]]), floats(3))
case(lambda a: np.concatenate([a[1:], a[:1]]), floats(4))
case(lambda a, b: np.concatenate([a, b]), floats(3), ints(2))
case(lambda a, b: np.concatenate([a, b], dtype=np.float32), floats(3), floats(2), rounds=True)
case(lambda a, b: np.concat([a, b], axis=-1), floats(2, 3), floats(2, 1))
group = "stack"
case(lambda a, b: np.stack([a, b]), floats(3), floats(3))
case(lambda a, b: np.stack([a, b], axis=-1), floats(3, 2), floats(3, 2))
case(lambda a: np.stack([a[0], a[1], a[0]]), floats(3))
case(lambda a, b: np.vstack([a, b]), floats(3), floats(3))
case(lambda a, b: np.vstack([a, b]), floats(2, 3), floats(3))
case(lambda a, b: np.hstack([a, b]), floats(3), floats(2))
case(lambda a, b: np.hstack([a, b]), floats(2, 3), floats(2, 1))
case(lambda a, b: np.dstack([a, b]), floats(2, 3), floats(2, 3))
case(lambda a, b: np.dstack([a, b]), floats(3), floats(3))
case(lambda a, b: np.column_stack([a, b]), floats(3), floats(3, 2))
case(lambda a: np.hstack([a[0], a[1]]), floats(3))
group = "append"
case(lambda a: np.append(a, 3.0), floats(3))
case(lambda a, b: np.append(a, b, axis=0), floats(2, 3), floats(1, 3))
case(lambda a, b: np.append(a, b), floats(2, 3), floats(2))
group = "block"
case(lambda a, b: np.block([[a, b], [b.T, np.zeros((2, 2))]]), floats(3, 3), floats(3, 2))
case(lambda a, b: np.block([a, b]), floats(3), floats(2))
case(lambda a: np.block([[a[0], a[1]], [a[2], a[3]]]), floats(4))
group = "split"
case(lambda a: np.split(a, 3), floats(6))
case(lambda a: np.split(a, [2, 3], axis=1), floats(2, 5))
case(lambda a: np.array_split(a, 3), floats(7))
case(lambda a: np.hsplit(a, 2), floats(2, 4))
case(lambda a: np.vsplit(a, 2), floats(4, 2))
case(lambda a: np.dsplit(a, 2), floats(2, 2, 4))
case(lambda a: np.unstack(a, axis=1), floats(2, 3))
group = "repeat"
case(lambda a: np.repeat(a, 3), floats(4))
case(lambda a: np.repeat(a, 2), floats(2, 3))
case(lambda a: np.repeat(a, 2, axis=1), floats(2, 3))
case(lambda a: np.repeat(a, 2, axis=0), floats(2, 3))
case(lambda a: np.repeat(a, [1, 0, 2], axis=1), floats(2, 3))
case(lambda a: a.repeat(2), floats(3))
case(lambda a: np.repeat(a[0], 4), floats(2))
group = "tile"
case(lambda a: np.tile(a, 3), floats(4))
case(lambda a: np.tile(a, (2, 2)), floats(3))
case(lambda a: np.tile(a, (2, 1, 3)), floats(2, 3))
case(lambda a: np.tile(a, 2), floats(2, 3))
case(lambda a: np.tile(a, 2), floats())
group = "roll"
case(lambda a: np.roll(a, 1), floats(5))
case(lambda a: np.roll(a, -7), floats(5))
case(lambda a: np.roll(a, 2), floats(3, 4))
case(lambda a: np.roll(a, 1, axis=0), floats(3, 4))
case(lambda a: np.roll(a, (1, -1), axis=(0, 1)), floats(3, 4))
case(lambda a: np.roll(a, (1, 1), axis=0), floats(3, 4))
case(lambda a: np.roll(a, 0), floats(3))
group = "pad"
case(lambda a: np.pad(a, 2), floats(4))
case(lambda a: np.pad(a, (1, 2), constant_values=3.0), floats(4))
case(lambda a: np.pad(a, ((1, 0), (0, 2)), constant_values=((1.0, 2.0), (3.0, 4.0))), floats(2, 3))
case(lambda a: np.pad(a, 1, mode="edge"), floats(2, 3))
case(lambda a: np.pad(a, 2, mode="reflect"), floats(4))
case(lambda a: np.pad(a, 2, mode="symmetric"), floats(3, 2))
case(lambda a: np.pad(a, (3, 1), mode="wrap"), floats(4))
if NUMPY >= (2, 4):
    case(lambda a: np.pad(a, {0: (1, 0)}), floats(2, 3))
case(lambda a: np.pad(a[1:], 1, constant_values=a[0]), floats(4))
group = "insert"
case(lambda a: np.insert(a, 1, 5.0), floats(4))
case(lambda a: np.insert(a, 1, [5.0, 6.0]), floats(4))
case(lambda a: np.insert(a, [3, 1], [5.0, 6.0]), floats(4))
case(lambda a, b: np.insert(a, 1, b, axis=1), floats(3, 2), floats(3))
case(lambda a: np.insert(a, [0, 0, 2], a[:3]), floats(4))
case(lambda a: np.insert(a, slice(0, 4, 2), 1.5), floats(4))
case(lambda a: np.delete(a, 1), floats(4))
case(lambda a: np.delete(a, [0, 2], axis=1), floats(2, 4))
case(lambda a: np.delete(a, slice(1, 3), axis=0), floats(4, 2))

# Choice and indexing

group = "where"
case(lambda x: np.where(x > 0, x, 0.1 * x), floats(5))
case(lambda x: np.where(x > 0, x, 0.0), floats(5))
case(lambda x, y, z: np.where(x > 0, y[:, None], z), floats(4), floats(3), floats(3, 4))
case(lambda x: np.where(x > 0, 1, 2), floats(4), rounds=True)
case(lambda x: np.where([True, False, True], x, 2), floats(3))
case(lambda x: np.where(x[0] > 0, x[1], x[2]), floats(3))
case(lambda x, c: np.where(c, x, -x), floats(4), bools(4))
case(lambda x, c: np.where(c, x, -x), floats(4), ints(4))
group = "select"
case(lambda x: np.select([x > 1, x > 0], [x**2, x], -1.0), floats(6))
case(lambda x: np.select([x > 0, x > 1], [x, 2 * x]), floats(6))
case(lambda x, c: np.select([c], [x], default=1.5), floats(2, 4), bools(4))
group = "clip"
case(lambda x: np.clip(x, -0.5, 0.5), floats(6))
case(lambda x: np.clip(x, None, 0.5), floats(6))
case(lambda x: np.clip(x, -0.5, 0.5, casting="no", dtype=x.dtype), floats(6))
case(lambda x: np.clip(x, -0.5, None, out=x[::-1].copy(), where=x > -0.7), floats(6))
case(lambda x: np.clip(x, 0, None), floats(6))
case(lambda x: x.clip(-0.5, 0.5), floats(6))
case(lambda x: np.clip(x, min=-0.3), floats(6))
case(lambda x, y: np.clip(x, y, y + 1.0), floats(3, 4), floats(4))
case(lambda x: np.clip(x, 0, 3), ints(5), rounds=True)
case(lambda x: np.clip(x, 0, 2.5), ints(5), rounds=True)
case(lambda x: np.clip(x[0], 0, 1), floats(2))
group = "take"
case(lambda x: np.take(x, [2, 0, 2]), floats(4))
case(lambda x: np.take(x, 1), floats(4))
case(lambda x: np.take(x, [1, -1], axis=1), floats(3, 4))
case(lambda x: np.take(x, [[0, 1], [2, 3]], axis=0), floats(4, 2))
case(lambda x: np.take(x, [5, -7], mode="wrap"), floats(4))
case(lambda x: np.take(x, [5, -7], mode="clip"), floats(4))
case(lambda x: np.take(x, [4, 1]), floats(2, 3))
case(lambda x: x.take([1, 2]), floats(4))
case(lambda x, i: np.take(x, i, axis=0), floats(10, 2), np.array([3, 1, 3]))
case(lambda x, i: np.take(x, i, mode="wrap"), floats(4), np.array([5, -7]))
case(lambda x: np.compress([True, False, True], x, axis=0), floats(3, 2))
case(lambda x: np.extract(np.array([True, False, True]), x), floats(3))
case(lambda x: np.take_along_axis(x, np.array([[0], [2]]), axis=1), floats(2, 3))
case(lambda x, i: np.take_along_axis(x, i, axis=0), floats(3, 2), np.array([[2, 0]]))
case(lambda x: np.take_along_axis(x, np.array([3, 1]), axis=None), floats(2, 2))
group = "put"


def put(x, v):
    np.put(x, [4, 0, -1], v)
    return x * 2


def put_wrap(x, v):
    np.put(x.T, [7, 2], v, mode="wrap")
    return x * 2


def put_along(x, v):
    np.put_along_axis(x, np.array([[0], [2]]), v, axis=1)
    return x * 2


def fill_diagonal(x, v):
    np.fill_diagonal(x, v)
    return x * 2


def putmask(x, v):
    np.putmask(x, x > 0, v)
    return x * 2


case(put, floats(2, 3), floats(2), writes=True)
case(put_wrap, floats(2, 3), floats(2), writes=True)
case(put_along, floats(2, 3), floats(2, 1), writes=True)
case(fill_diagonal, floats(3, 4), floats(3), writes=True)
case(fill_diagonal, floats(3, 3), floats(), writes=True)
case(putmask, floats(2, 3), floats(2, 3), writes=True)

# Along an axis

group = "diff"
case(lambda x: np.diff(x), floats(5))
case(lambda x: np.diff(x, n=2), floats(3, 5))
case(lambda x: np.diff(x, axis=0), floats(3, 4))
case(lambda x: np.diff(x, prepend=0.0, append=[1.0, 2.0]), floats(4))
case(lambda x: np.diff(x, axis=0, prepend=1.0), floats(3, 4))
case(lambda x: np.diff(x > 0), floats(5), rounds=True)
case(lambda x: np.diff(x), ints(5), rounds=True)
case(lambda x: np.ediff1d(x), floats(2, 3))
case(lambda x: np.ediff1d(x, to_begin=0.0, to_end=[1.0, 2.0]), floats(4))
group = "gradient"
case(lambda x: np.gradient(x), floats(5))
case(lambda x: np.gradient(x, 0.5), floats(5))
case(lambda x: np.gradient(x, 0.5, edge_order=2), floats(5))
case(lambda x: np.gradient(x), floats(4, 5))
case(lambda x: np.gradient(x, axis=1), floats(4, 5))
case(lambda x: np.gradient(x, 0.5, 2.0), floats(4, 5))
case(lambda x: np.gradient(x, np.array([0.0, 1.0, 2.5, 3.0])), floats(4))
case(lambda x, t: np.gradient(x, np.cumsum(t), edge_order=2), floats(5), positive(5))
case(lambda x: np.gradient(x), ints(5), rounds=True)
case(lambda x, h: np.gradient(x, h[0]), floats(5), positive(1))
group = "trapezoid"
case(lambda x: np.trapezoid(x), floats(5))
case(lambda x: np.trapezoid(x, dx=0.5), floats(3, 5))
case(lambda x, t: np.trapezoid(x, np.cumsum(t)), floats(5), positive(5))
case(lambda x, t: np.trapezoid(x, t, axis=0), floats(5, 2), floats(5))
case(lambda x, t: np.trapezoid(x, t), floats(2, 5), floats(2, 5))
group = "convolve"
case(lambda a, v: np.convolve(a, v), floats(6), floats(3))
case(lambda a, v: np.convolve(a, v, "same"), floats(6), floats(4))
case(lambda a, v: np.convolve(a, v, "valid"), floats(6), floats(3))
case(lambda a, v: np.convolve(a, v, "same"), floats(3), floats(6))
case(lambda a: np.convolve(a, [1.0, -2.0, 1.0], "valid"), floats(6))
case(lambda a, v: np.convolve(a, v), floats(70), floats(50))
case(lambda a, v: np.convolve(a, v, "same"), floats(60), floats(51))
case(lambda a, v: np.convolve(a, v), ints(5), ints(3), rounds=True)
case(lambda a, v: np.correlate(a, v), floats(6), floats(3))
case(lambda a, v: np.correlate(a, v, "full"), floats(6), floats(3))
case(lambda a, v: np.correlate(a, v, "same"), floats(6), floats(4))
case(lambda a, v: np.correlate(a, v, "same"), floats(3), floats(6))
case(lambda a, v: np.correlate(a, v, "valid"), floats(3), floats(6))
case(lambda a, v: np.correlate(a, v, "full"), floats(3), floats(5))
case(lambda a: np.lib.stride_tricks.sliding_window_view(a, 3), floats(6))
SIX = np.sin(np.arange(6.0) + 1)
case(lambda a: np.lib.stride_tricks.as_strided(a, (4, 3), a.strides * 2) ** 2, SIX)
case(
    lambda a: np.lib.stride_tricks.as_strided(a[1:, ::2], (2, 2), a.strides) ** 2, np.sin(np.arange(12.0)).reshape(3, 4)
)
case(lambda a: np.isin(a, a[:2]) * a, SIX)
case(lambda a: np.setdiff1d(a, a[:2]), SIX)
case(lambda a: np.emath.sqrt(a) + np.emath.log(a), SIX**2 + 0.1)
case(lambda a: a.__array__() * 2, SIX)
case(lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2)).sum(axis=(-1, -2)), floats(3, 4))
group = "polyval"
case(lambda p, x: np.polyval(p, x), floats(4), floats(3))
case(lambda x: np.polyval([1.0, -2.0, 3.0], x), floats(3))
case(lambda p: np.polyval(p, 2.0), floats(3))
case(lambda p, x: np.polyval(p, x[0]), floats(3), floats(2))
group = "linspace"
case(lambda x: np.linspace(x[0], x[1], 5), floats(2))
case(lambda x: np.linspace(0.0, x, 4), floats(3))
case(lambda x: np.linspace(x, 2.0, 4, endpoint=False, axis=-1), floats(3))
case(lambda x: np.linspace(x[0], x[1], 3, retstep=True), floats(2))
case(lambda x: np.linspace(x[0], x[1], 1), floats(2))
case(lambda x: np.linspace(x[0], x[1], 4, dtype=int), floats(2) * 5, rounds=True)
case(lambda x: np.logspace(x[0], x[1], 4), floats(2))
group = "meshgrid"
case(lambda x, y: np.meshgrid(x, y), floats(3), floats(2))
case(lambda x, y: np.meshgrid(x, y, indexing="ij"), floats(3), floats(2))
case(lambda x, y: np.meshgrid(x, y, sparse=True), floats(3), floats(2))
case(lambda x: np.meshgrid(x, [1.0, 2.0], x, copy=False), floats(3))

# Elementwise, and comparisons

group = "round"
case(lambda x: np.round(x), 3 * floats(5), rounds=True)
case(lambda x: np.round(x, 2), floats(5), rounds=True)
case(lambda x: np.round(x, -1), 30 * floats(5), rounds=True)
case(lambda x: x.round(1), floats(5), rounds=True)
case(lambda x: np.round(x), ints(4), rounds=True)
case(lambda x: np.fix(x), 3 * floats(5), rounds=True)
group = "nan_to_num"
case(lambda x: np.nan_to_num(x / np.array([1.0, 2.0, 3.0])), floats(3))
case(lambda x: np.nan_to_num(np.where(x > 0, x, np.nan), nan=2.0), floats(5))
case(lambda x: np.nan_to_num(np.where(x > 0, x, np.inf)), floats(5), rounds=True)
case(lambda x: np.nan_to_num(np.where(x > 0, x, np.inf), posinf=7.0), floats(5))
case(lambda x: np.nan_to_num(np.where(x > 0, x, -np.inf), neginf=-3.0), floats(5))
case(lambda x: np.nan_to_num(x), ints(3), rounds=True)
case(lambda x: np.sinc(x), floats(4))
group = "isclose"
case(lambda x: np.isclose(x, x + 1e-9), floats(4), rounds=True)
case(lambda x: np.isclose(x, 0.5, atol=0.4), floats(4), rounds=True)
case(lambda x: x * 2 if np.allclose(x, x + 1e-9) else x, floats(4))
case(lambda x: x * 2 if np.array_equal(x, x[::-1]) else x * 3, floats(4))
case(lambda x: x * 2 if np.array_equiv(x, x) else x * 3, floats(4))
case(lambda x: np.isposinf(x) | np.isneginf(x), floats(4), rounds=True)


# Where the result goes


def sum_out(x):
    out = np.zeros(4)
    same = np.sum(x, axis=0, out=out)
    out += 1.0
    return same


def dot_out(a, b):
    out = np.empty((3, 2), a.dtype)
    np.dot(a, b, out=out)
    return out


def concatenate_out(a, b):
    out = np.zeros(5)
    np.concatenate([a, b], out=out)
    return out


def view_writes(x):
    np.flip(x)[0] = x[0] * x[1]
    np.einsum("i->i", x)[1] = 3.0
    np.reshape(x, (2, 2))[0] *= 2.0
    return x.sum()


def diagonal_writes(x):
    np.einsum("ii->i", x)[:] = x[0] ** 2
    return x


def split_writes(x):
    first, second = np.split(x, 2)
    first += second
    return x


group = "out"
case(sum_out, floats(3, 4))
case(lambda x: np.sum(x, axis=0, out=np.zeros(2, int)), 3.0 * floats(3, 2), rounds=True)
case(lambda x: np.cumsum(x, out=np.zeros(4, int)), 3.0 * floats(4), rounds=True)
case(lambda x: np.sum(x, axis=0, out=np.zeros(2)), ints(3, 2).astype(np.int8), rounds=True)
case(lambda x: np.max(x, axis=0, out=np.zeros(2, int)), 3.0 * floats(3, 2), rounds=True)
case(lambda x: np.std(x, axis=0, out=np.zeros(2, x.dtype)), floats(3, 2))
case(dot_out, floats(3, 4), floats(4, 2))
case(concatenate_out, floats(3), floats(2))
group = "views"
case(view_writes, floats(4), writes=True)
case(diagonal_writes, floats(3, 3), writes=True)
case(split_writes, floats(4), writes=True)

from . import linear_algebra  # noqa: E402, F401 (adds its own)

group = "frexp"
EDGES = np.array([0.0, 1, 2, 0.25, -7, 1e-310, 1e30, -1e-30, np.inf, -np.inf, np.nan, 2.0**52, 5e-324])
case(lambda x: np.frexp(x)[0] + np.frexp(x)[1], floats(3, 4))
case(lambda x: np.frexp(x), EDGES, rounds=True)
case(lambda x: x + np.spacing(x), floats(5))
case(lambda x: np.spacing(x), EDGES, rounds=True)
