"""Cases of `np.linalg` and `scipy.linalg`: matrices whose eigenvalues and singular values are well apart."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .cases import CASES, Case

generator = np.random.default_rng(5)


def matrix(*shape: int) -> np.ndarray:
    """Well conditioned, with singular values apart."""
    *batch, m, n = shape
    k = min(m, n)
    u = np.linalg.qr(generator.normal(size=(*batch, m, k)))[0]
    v = np.linalg.qr(generator.normal(size=(*batch, n, k)))[0]
    return (u * np.linspace(1.0, 2.2, k)) @ np.swapaxes(v, -1, -2)


def symmetric(*shape: int) -> np.ndarray:
    """Positive definite, with eigenvalues apart."""
    q = np.linalg.qr(generator.normal(size=shape))[0]
    return (q * np.linspace(1.0, 2.5, shape[-1])) @ np.swapaxes(q, -1, -2)


def vector(*shape: int) -> np.ndarray:
    return generator.normal(size=shape)


def group(name: str, *programs: tuple) -> None:
    for k, (function, *arguments) in enumerate(programs):
        arrays = tuple(a for a in arguments if isinstance(a, np.ndarray))
        program = function if function.__name__ == "<lambda>" else lambda *a, f=function: f(*a)
        CASES.append(Case(f"linalg.{name}-{k}", program, arrays, rounds=len(arrays) < len(arguments)))


A, B, TALL, WIDE, SPD = matrix(4, 4), matrix(2, 4, 4), matrix(5, 3), matrix(3, 5), symmetric(4, 4)
SPDS, X, XS = symmetric(2, 4, 4), vector(4), vector(4, 2)

group(
    "solve",
    (np.linalg.solve, A, X),
    (np.linalg.solve, A, XS),
    (np.linalg.solve, B, XS),
    (np.linalg.solve, A, vector(3, 4, 2)),
    (np.linalg.solve, B, X),
    (lambda a, b: np.linalg.solve(a[:1, :1], b), A, vector(1)),
    (lambda a: np.linalg.solve(a, np.arange(4)), A),
    (lambda a: np.linalg.solve(np.arange(9).reshape(3, 3) % 4, a), XS[:3]),
    (lambda a: np.linalg.solve(a[:0, :0], a[:0, 0]), A, "rounds"),
    (lambda a: np.linalg.tensorsolve(a.reshape(2, 2, 2, 2), a[:2, :2]), A),
    (lambda a: np.linalg.tensorsolve(a.reshape(2, 2, 2, 2), a[:2, :2], axes=(0, 1)), A),
)
group(
    "inv",
    (np.linalg.inv, A),
    (np.linalg.inv, B),
    (lambda a: np.linalg.inv(a.T @ a), TALL),
    (lambda a: np.linalg.tensorinv(a.reshape(2, 2, 2, 2)), A),
    (lambda a: np.linalg.matrix_power(a, -3), A),
)
group(
    "det",
    *((np.linalg.det, matrix(n, n)) for n in (1, 2, 3, 4, 6)),
    (np.linalg.det, B),
    (lambda a: np.linalg.det(a[:, :, 2:, 2:]), matrix(2, 1, 4, 4)),
    (lambda a: np.linalg.det(np.outer(a, a)), vector(3)),
    (lambda a: np.linalg.det(a[:0, :0]), A, "rounds"),
)
group(
    "slogdet",
    (np.linalg.slogdet, A),
    (np.linalg.slogdet, B),
    (lambda a: np.linalg.slogdet(a).logabsdet, matrix(7, 7)),
    (lambda a: np.linalg.slogdet(np.outer(a, a))[0], vector(1), "rounds"),
)
group(
    "cholesky",
    (np.linalg.cholesky, SPD),
    (np.linalg.cholesky, SPDS),
    (lambda a: np.linalg.cholesky(a, upper=True), SPD),
    (lambda a: sl.cholesky(a), SPD),
    (lambda a: sl.cholesky(a, lower=True), SPDS),
    (lambda a, b: sl.cho_solve(sl.cho_factor(a), b), SPD, XS),
    (lambda a, b: sl.cho_solve(sl.cho_factor(a, lower=True), b), SPD, X),
    (lambda a: sl.cho_factor(a)[0], SPD),
)


def without_signs(w, v):
    """Eigenvalues and, of the eigenvectors, what does not depend on their signs."""
    return w, v[:1] * v


group(
    "eigh",
    (np.linalg.eigh, SPD),
    (np.linalg.eigh, SPDS),
    (lambda a: np.linalg.eigh(a, "U").eigenvectors, SPD),
    (lambda a: np.linalg.eigvalsh(a), SPD),
    (lambda a: np.linalg.eigvalsh(a, UPLO="u"), A + A.T),
    (lambda a: without_signs(*sl.eigh(a)), SPD),  # this driver's eigenvectors turn round when the last bits change
    (lambda a: sl.eigh(a, lower=False, driver="evd"), SPD),
    (lambda a, b: sl.eigh(a, b), A + A.T, SPD),
    *((lambda a, b, k=k: sl.eigh(a, b, type=k, lower=k == 2), A + A.T, SPD) for k in (1, 2, 3)),
    (lambda a: sl.eigvalsh(a, subset_by_index=[1, 2]), SPD),
)
group(
    "svd",
    *((np.linalg.svd, a) for a in (A, B)),
    *((lambda a: np.linalg.svd(a, full_matrices=False), a) for a in (TALL, WIDE)),
    (lambda a: np.linalg.svd(a)[1], TALL),
    (lambda a: np.linalg.svd(a, compute_uv=False), WIDE),
    (np.linalg.svdvals, B),
    (lambda a: sl.svd(a, full_matrices=False), TALL),
    (sl.svdvals, TALL),
    (lambda a: sl.polar(a), TALL),
    (lambda a: sl.polar(a, side="left"), A),
)
# Vectors that complete a basis: NumPy's own are one choice among many, so that what does not depend on it is compared.
group(
    "completed",
    (lambda a: [u[:, 3:] @ u[:, 3:].T for u in np.linalg.svd(a)[:1]], TALL),
    (lambda a: [v[3:].T @ v[3:] for v in np.linalg.svd(a)[2:]], WIDE),
    (lambda a: [q[:, 3:] @ q[:, 3:].T for q in np.linalg.qr(a, "complete")[:1]], TALL),
)
group(
    "qr",
    *((np.linalg.qr, a) for a in (A, B, TALL, WIDE)),
    (lambda a: np.linalg.qr(a, "r"), TALL),
    (lambda a: np.linalg.qr(a, "complete").R, TALL),
    (lambda a: sl.qr(a, mode="economic"), TALL),
    (lambda a: sl.qr(a, mode="r"), TALL),
)
group(
    "pinv",
    *((np.linalg.pinv, a) for a in (A, TALL, WIDE, matrix(2, 3, 2))),
    (lambda a: np.linalg.pinv(a, rcond=1e-6), TALL),
    (lambda a: np.linalg.pinv(a @ a.T, rtol=1e-6), matrix(4, 2)),
    (lambda a: sl.pinv(a), TALL),
)
group(
    "lstsq",
    (np.linalg.lstsq, TALL, vector(5)),
    (np.linalg.lstsq, TALL, vector(5, 2)),
    (np.linalg.lstsq, WIDE, vector(3)),
    (lambda a, b: np.linalg.lstsq(np.stack([a, 2 * a, a], 1), b, rcond=1e-5)[:3], X, vector(4)),
    (lambda a, b: sl.lstsq(a, b)[:2], TALL, vector(5)),
)
group(
    "cond",
    *((lambda a, p=p: np.linalg.cond(a, p), A) for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")),
    (np.linalg.cond, B),
    (np.linalg.cond, TALL),
)
group(
    "norm",
    *((lambda a, p=p: np.linalg.norm(a, p), A) for p in (2, -2, "nuc", 1, -1, np.inf, -np.inf, "fro")),
    (lambda a: np.linalg.norm(a, 2, axis=(0, 2)), matrix(3, 2, 4).copy()),
    (lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1), keepdims=True), B),
    (lambda a: np.linalg.matrix_norm(a, ord=2), B),
    (lambda a: sl.norm(a, 2) + sl.norm(a[0], 1), A),
)
group(
    "rank",
    (lambda a: np.linalg.matrix_rank(a), A, "rounds"),
    (lambda a: np.linalg.matrix_rank(a @ a.T, rtol=1e-6), matrix(4, 2), "rounds"),
    (lambda a: np.linalg.matrix_rank(a, tol=1.5), B, "rounds"),
)
group(
    "scipy solve",
    *((lambda a, b, k=k: sl.solve(a, b, assume_a=k), SPD, XS) for k in (None, "gen", "pos", "sym", "lower triangular")),
    (lambda a, b: sl.solve(a, b, transposed=True), A, X),
    (lambda a, b: sl.solve(a, b, assume_a="pos", lower=True), SPD, X),
    (lambda a, b: sl.solve(a, b, assume_a="diagonal"), SPD, X),
    (lambda a: sl.inv(a), A),
)
group(
    "triangular",
    (lambda a, b: sl.solve_triangular(a, b), A, X),
    (lambda a, b: sl.solve_triangular(a, b, trans="T", lower=True), A, XS),
    (lambda a, b: sl.solve_triangular(a, b, trans=1, unit_diagonal=True), A, XS),
)
group(
    "lu",
    (sl.lu, A),
    (lambda a: sl.lu(a, permute_l=True), A),
    (lambda a: sl.lu(a, p_indices=True), A),
    (sl.lu_factor, A),
    (lambda a, b: sl.lu_solve(sl.lu_factor(a), b), A, X),
    (lambda a, b: sl.lu_solve(sl.lu_factor(a), b, trans=1), A, XS),
)
BAND = vector(4, 6) + np.array([0.0, 0, 4, 0])[:, None]
HALF = vector(3, 6) + np.array([0.0, 0, 6])[:, None]
group(
    "bands",
    (lambda ab, b: sl.solve_banded((1, 2), ab, b), BAND, vector(6)),
    (lambda ab, b: sl.solve_banded((1, 2), ab, b), BAND, vector(6, 2)),
    (lambda ab, b: sl.solve_banded((1, 1), ab, b), BAND[1:], vector(6)),
    (lambda ab, b: sl.solve_banded((1, 1), ab[:, :2], b), BAND[1:], vector(2)),
    (lambda ab, b: sl.solve_banded((1, 1), ab, b), BAND[1:] - [[0], [9], [0]], vector(6, 2)),
    (lambda ab, b: sl.solveh_banded(ab, b), HALF, vector(6)),
    (lambda ab, b: sl.solveh_banded(ab, b, lower=True), HALF[::-1].copy(), vector(6)),
)
WEAK = np.array([[0.0, 0.3, 0.5, -0.4], [0.2, 0.4, -0.3, 0.6], [3.0, 4.0, 5.0, 6.0]])
group(
    "symmetric bands",
    (sl.cholesky_banded, WEAK),
    (lambda ab: sl.cholesky_banded(ab, lower=True), WEAK[::-1].copy()),
    (lambda ab, b: sl.cho_solve_banded((sl.cholesky_banded(ab), False), b), WEAK, vector(4)),
    (lambda ab, b: sl.cho_solve_banded((sl.cholesky_banded(ab, lower=True), True), b), WEAK[::-1].copy(), vector(4, 2)),
    (sl.eigvals_banded, WEAK),
    (lambda ab: sl.eig_banded(ab, lower=True, eigvals_only=True), WEAK[::-1].copy()),
    (lambda a: sl.bandwidth(np.tril(a, 1)), A, "rounds"),
)
group(
    "subspaces",
    (sl.orth, TALL),
    (lambda a: [q @ q.T for q in (sl.orth(np.concatenate([a, 2 * a], 1)),)], matrix(4, 2)),
    (lambda a: [q @ q.T for q in (sl.null_space(a),)], WIDE),
    (sl.subspace_angles, TALL, matrix(5, 2)),
)
group("sign", (sl.signm, A + 3 * np.eye(4)), (sl.signm, A @ np.diag([3.0, 2, -2, -3]) @ np.linalg.inv(A)))
group(
    "equations",
    (sl.solve_sylvester, A, symmetric(2, 2), XS),
    (sl.solve_continuous_lyapunov, SPD, A),
)
group("expm", (sl.expm, A), (sl.expm, 20 * A - 40 * np.eye(4)), (lambda a: sl.expm(0 * a), A))
group(
    "made of vectors",
    (sl.toeplitz, X),
    (sl.toeplitz, X, vector(3)),
    (sl.hankel, X),
    (lambda c: sl.hankel(c, c[::-1] * 2), X),
    (sl.circulant, X),
    (sl.companion, X),
    (lambda a, b: sl.block_diag(a, b, 2.0), A, X),
)
