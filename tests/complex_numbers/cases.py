"""What is done with complex numbers: functions, and arguments for which they are smooth."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

RNG = np.random.default_rng(5)


def complexes(*shape: int, dtype: Any = complex) -> np.ndarray:
    """Numbers around the unit circle, in all quadrants."""
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


Z, W, V = complexes(7), complexes(7), complexes(5)
A, B = complexes(4, 4), complexes(4, 3)
T = complexes(2, 3, 4)
X, M = RNG.normal(size=7), RNG.normal(size=(3, 4))
SPACED = complexes(12)[::2]
TURNED = np.asfortranarray(complexes(3, 4))
C, R = 0.6 - 0.3j, 0.8
PRECISE_TO_SEVEN = complexes(7, dtype=np.complex64)


@dataclass(frozen=True, slots=True)
class Case:
    """A function and its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


CASES: list[Case] = []


def case(name: str, function: Callable[..., Any], *arguments: Any) -> None:
    CASES.append(Case(name, function, arguments))


UNARY = [
    np.negative, np.positive, np.conjugate, np.square, np.reciprocal, np.absolute, np.sign, np.exp, np.exp2, np.expm1,
    np.log, np.log2, np.log10, np.log1p, np.sqrt, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.arcsin,
    np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.angle, np.real, np.imag,
]  # fmt: skip
for _function in UNARY:
    case(_function.__name__, _function, Z)
for _function in (
    "erf", "erfc", "erfi", "erfcx", "dawsn", "wofz", "exp1", "expi", "spence", "loggamma", "gamma", "rgamma", "psi",
    "ndtr", "expm1", "log1p",
):  # fmt: skip
    case(f"special.{_function}", getattr(scipy.special, _function), Z)
for _name in ("jv", "yv", "iv", "kv", "kve", "hankel1", "hankel2", "hankel1e", "hankel2e"):
    _function = getattr(scipy.special, _name)
    case(f"special.{_name}", lambda z, f=_function: f(np.arange(7) / 2, z), Z)
    if _name.startswith("h"):
        case(f"special.{_name} of reals", lambda x, f=_function: f(1, x), np.abs(X) + 0.3)
case("special.wofz of reals", scipy.special.wofz, X)
for _function in (np.exp, np.absolute, np.sqrt, np.reciprocal, np.tanh):
    case(f"{_function.__name__} of pairs of single precision", _function, PRECISE_TO_SEVEN)
    case(f"{_function.__name__} of every second", _function, SPACED)
    case(f"{_function.__name__} of columns", _function, TURNED)
    case(f"{_function.__name__} of a number", _function, C)

# Arithmetic, with real and complex partners.
for _name, _function in {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "power": lambda a, b: a**b,
}.items():  # fmt: skip
    for _what, _pair in {
        "complex": (Z, W), "real left": (np.abs(X), Z), "real right": (Z, X),
        "a number": (Z, C), "from a number": (C, Z),
        "a float": (Z, R), "broadcast": (T, complexes(4)),
    }.items():  # fmt: skip
        case(f"{_name}: {_what}", _function, *_pair)
case("constants", lambda z: (2 * z + 1j) / (z - 3) - 0.5j * z + z / 2j, Z)
case("imaginary times real", lambda x: 1j * x + 2 - (1j * x) * (2j * x), X)
case("exp of an imaginary", lambda x: np.exp(1j * x), X)
case("whole powers", lambda z: z**3 - z**2 + z**-2 + z**0 + z**7, Z)
case("a fractional power", lambda z: z**0.3 + z ** (1 + 2j), Z)
case("imaginary parts of zero", lambda x: np.sqrt(x.astype(complex)) + np.log(x + 0j), X)
case("parts", lambda z: z.real * z.imag + z.conj().imag, Z)
case("where", lambda z, w: np.where(np.abs(z) > 1, z, 2 * w), Z, W)
case("select", lambda z: np.select([z.real > 1, z.imag > 0], [z, z * z], 1j), Z)
case("comparison", lambda z, w: np.where((z == w) | (z != w), z, w), Z, W)
case("in place", lambda z: mutated(z.copy()), Z)
case("written item by item", lambda z: by_items(z), Z)
case("written parts", lambda z: by_parts(z.copy()), Z)
case("a list", lambda z: np.array([z[0], 2.0, 1j, z[1] * z[2]]), Z)
case("nested lists", lambda x: np.array([[1.0, 1j * x], [np.exp(1j * x), 0]]) @ np.array([1.0, 2j]), R)
case("index arrays", lambda z: z[[3, 0, 3]] * z[np.arange(3)], Z)
case("a mask", lambda z: z[np.array([True, False] * 3 + [True])] ** 2, Z)
case("seen as reals", lambda z: z.view(float).reshape(-1, 2) * np.array([1.0, 2.0]), Z)
case("python's complex", lambda x: complex(x, x * x) * complex(x) + complex(1j * x, x), R)
case("cmath", lambda z: cmath.exp(z) * cmath.sqrt(z) + cmath.phase(z) + cmath.rect(abs(z), 0.3), C)
case("methods of a number", lambda z: z.conjugate() * z.real + abs(z) * z.imag, C)


def mutated(z: np.ndarray) -> np.ndarray:
    z *= 2j
    z[1:3] += z[3:5] * z[0]
    z[0] = z[1] / z[2]
    z -= 1.0
    return z


def sorted_in_place(z: np.ndarray) -> np.ndarray:
    found = z * 2
    found.sort()
    return found


def by_items(z: np.ndarray) -> np.ndarray:
    out = np.zeros(4, complex)
    for k in range(4):
        out[k] = z[k] * np.exp(1j * k * z[0].real)
    out[1] = z[0].real
    return out


def by_parts(z: np.ndarray) -> np.ndarray:
    z.real[2] = z.imag[0] * 3
    z.imag = z.real**2
    return z


# Reductions and scans.
for _function in (np.sum, np.mean, np.prod, np.cumsum, np.cumprod, np.var, np.std, np.max, np.min):
    case(_function.__name__, _function, Z)
    case(f"{_function.__name__} along an axis", lambda t, f=_function: f(t, axis=1), T)
case("sum, keeping axes", lambda t: t.sum(axis=(0, 2), keepdims=True), T)
case("diff", np.diff, Z)
case("trapezoid", lambda z, x: np.trapezoid(z, x), Z, np.cumsum(np.abs(X)))
case("average", lambda z, x: np.average(z, weights=x), Z, np.abs(X))

# Products.
case("dot", np.dot, Z, W)
case("vdot", np.vdot, Z, W)
case("dot with reals", np.dot, M, complexes(4, 2))
case("matmul", lambda a, b: a @ b, A, B)
case("matmul of a vector", lambda a, b: a @ b, A, A[0])
case("inner", np.inner, Z, W)
case("outer", np.outer, Z, V)
case("tensordot", lambda t, b: np.tensordot(t, b, ([2], [0])), T, B)
case("kron", np.kron, complexes(2, 2), B)
case("einsum of three", lambda a, b, z: np.einsum("ij,jk,i->k", a, b, z), A, B, A[0])
case("convolve", np.convolve, Z, V)
case("correlate", lambda z, v: np.correlate(z, v, "full"), Z, V)

# Shapes.
for _name, _function in {
    "reshape": lambda t: t.reshape(4, 6), "transpose": lambda t: t.transpose(2, 0, 1), "ravel": np.ravel,
    "copy of the transposed": lambda t: t.T.reshape(-1), "moveaxis": lambda t: np.moveaxis(t, 0, -1),
    "concatenate": lambda t: np.concatenate([t, 2 * t.real, t[:1]], axis=0), "stack": lambda t: np.stack([t, t * 1j]),
    "flip": lambda t: np.flip(t, 1), "roll": lambda t: np.roll(t, 2, axis=2), "squeeze": lambda t: t[:1].squeeze(0),
    "take": lambda t: np.take(t, [1, 0], axis=1), "pad": lambda t: np.pad(t, ((0, 0), (1, 1), (0, 0))),
    "tile": lambda t: np.tile(t, (2, 1, 1)), "repeat": lambda t: np.repeat(t, 2, axis=0),
    "broadcast_to": lambda t: np.broadcast_to(t[0, 0], (3, 4)), "expand_dims": lambda t: np.expand_dims(t, 1),
    "split": lambda t: np.split(t, 2, axis=2)[1], "diagonal": lambda t: np.diagonal(t[0]), 
    "triu": lambda t: np.triu(t),
    "trace": lambda t: np.trace(t[:, :, 0]), "swapaxes": lambda t: t.swapaxes(0, 2),
    "strided": lambda t: t[:, ::-1, ::2],
    "zeros_like": lambda t: np.zeros_like(t) + t, "full_like": lambda t: np.full_like(t, t[0, 0, 0]),
    "astype": lambda t: t.astype(np.complex64).astype(np.complex128), "flatten in columns": lambda t: t.flatten("F"),
    "meshgrid": lambda t: np.meshgrid(t[0, 0], t[1, :, 0])[0] * np.meshgrid(t[0, 0], t[1, :, 0])[1],
    "block": lambda t: np.block([[t[0], t[1]], [t[1], t[0]]]), "gradient": lambda t: np.gradient(t[0, 0]),
    "atleast_2d": lambda t: np.atleast_2d(t[0, 0]), "rot90": lambda t: np.rot90(t[0]),
}.items():  # fmt: skip
    case(_name, _function, T)
case("polyval", lambda c, x: np.polyval(c, np.exp(1j * x)), complexes(4), X)
case("interp", lambda x, z: np.interp(x, np.arange(7.0), z), np.array([0.3, 2.2, 5.9]), Z)

# Linear algebra.
case("norm", np.linalg.norm, Z)
case("norms of rows", lambda a: np.linalg.norm(a, axis=1), A)
case("largest size", lambda a: np.linalg.norm(a, np.inf), Z)
case("spectral norm", lambda a: np.linalg.norm(a, 2), A)
case("inv", np.linalg.inv, A)
case("lu_factor", lambda a: scipy.linalg.lu_factor(a)[0], A)
case("pivots", lambda a: a * scipy.linalg.lu_factor(a)[1], A)
case("lu_solve", lambda a, b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b), A, B)
case("lu_solve for a real vector", lambda a, b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b), A, X[:4])
case("solve", np.linalg.solve, A, B)
case("solve for a vector", np.linalg.solve, A, A[1])
case("solve with real numbers", np.linalg.solve, A, M.T)
case("det", np.linalg.det, A)
case("slogdet", lambda a: tuple(np.linalg.slogdet(a)), A)
case("pinv", np.linalg.pinv, B)
case("least squares", lambda b, z: np.linalg.lstsq(b, z, rcond=None)[0], B, A[2])
case("eigenvalues of a Hermitian matrix", np.linalg.eigvalsh, A)
case("singular values", np.linalg.svdvals, B) if hasattr(np.linalg, "svdvals") else None
case("matrix_power", lambda a: np.linalg.matrix_power(a, 3), A)
case("expm", scipy.linalg.expm, A)
case("square root of a matrix", scipy.linalg.sqrtm, A @ A.conj().T + 0.3 * A)
for _name, _numbers in {
    "real numbers": np.array([-0.367, -0.3, -0.05, 0.0, 0.4, 3.0, 1e6]), "negative ones": np.array([-0.4, -2.0, -70.0]),
    "complex ones": 3 * Z, "small ones": 0.3 * Z, "a number": 0.7, "a complex number": C,
}.items():  # fmt: skip
    case(f"Lambert's function of {_name}", scipy.special.lambertw, _numbers)
case("its lower branch", lambda z: scipy.special.lambertw(z, -1), Z)
case("its real lower branch", lambda x: scipy.special.lambertw(x, -1), np.array([-0.36, -0.2, -0.01, -3.0, 2.0]))
case("sort", np.sort, Z)
case("sort along an axis", lambda t: np.sort(t, axis=1), T)
case("sort in place", sorted_in_place, Z)
case("sort_complex", np.sort_complex, Z)
case("sort all", lambda t: np.sort(t, axis=None), T)
case("argsort", lambda z: z[np.argsort(z)[1:3]], Z)
GENERAL = RNG.normal(size=(4, 4))
REAL_VALUES = np.diag([1.0, 2.0, 4.0, 7.0]) + 0.2 * GENERAL
POSITIVE = A @ A.conj().T + np.eye(4)


def without_signs(vectors_of: Callable[..., Any]) -> Callable[..., Any]:
    """Rounding decides about the signs of vectors."""

    def function(a: np.ndarray) -> Any:
        w, v = vectors_of(a)
        return w, v * v[-1:]

    return function


for _name, _function in {
    "eig": without_signs(np.linalg.eig), "eigvals": np.linalg.eigvals, "SciPy's eig": without_signs(scipy.linalg.eig),
    "SciPy's eigvals": scipy.linalg.eigvals,
}.items():  # fmt: skip
    case(_name, _function, A)
    case(f"{_name} of a real matrix", _function, GENERAL)
    case(f"{_name} of a real matrix with real values", _function, REAL_VALUES)
case("eig of several matrices", np.linalg.eig, T[:, :, :3] + np.diag([1.0, 3.0, 6.0]))
case("roots", np.roots, np.array([2.0, -1.0, 3.0, 0.5]))
case(
    "complex128 of numbers",
    lambda x: np.exp(1j * np.complex128(x[0].real)) * np.complex128(x[1]) + np.complex128(2),
    X[:4],
)
case("roots with zeros at the ends", lambda x: np.roots(np.concatenate([[0.0], x, [0.0, 0.0]])), X[:4])
case("roots of complex polynomials", np.roots, A[0])
case("roots that are real", np.roots, np.array([1.0, -6.0, 11.0, -6.0]))
for _name, _function in {
    "eigh": np.linalg.eigh, "eigh by the upper triangle": lambda a: np.linalg.eigh(a, "U"),
    "SciPy's eigh": without_signs(scipy.linalg.eigh),
    "SciPy's eigh, some": lambda a: scipy.linalg.eigh(a, subset_by_index=[1, 2]),
    "SciPy's eigvalsh": scipy.linalg.eigvalsh,
    "svd": np.linalg.svd, "singular values alone": lambda a: np.linalg.svd(a, compute_uv=False),
    "SciPy's svd": scipy.linalg.svd, "SciPy's svdvals": scipy.linalg.svdvals,
    "qr": np.linalg.qr, "R alone": lambda a: np.linalg.qr(a, "r"), "SciPy's qr": scipy.linalg.qr,
}.items():  # fmt: skip
    case(_name, _function, A)
case("eigh of several matrices", np.linalg.eigh, T[:, :, :3])
for _name, _matrix in {"tall": B, "wide": B.T, "several": T}.items():
    case(f"svd of {_name}", lambda a: np.linalg.svd(a, full_matrices=False), _matrix)
    case(f"qr of {_name}", np.linalg.qr, _matrix)
case("spans", lambda b: np.linalg.svd(b)[0][:, 3:] @ np.linalg.svd(b)[0][:, 3:].conj().T, B)
case("complete R", lambda b: np.linalg.qr(b, "complete").R, B)
case("cholesky", np.linalg.cholesky, POSITIVE)
case("upper cholesky", lambda a: np.linalg.cholesky(a, upper=True), POSITIVE)
case("SciPy's cholesky", scipy.linalg.cholesky, POSITIVE)


# Loops.
def iterated(c: complex) -> Any:
    z = 0
    for _ in range(40):
        z = z * z + c
    return z


def evolved(u: np.ndarray, psi: np.ndarray) -> Any:
    for _ in range(20):
        psi = u @ psi
        psi = psi / np.linalg.norm(psi)
    return psi


def recursive(z: np.ndarray) -> Any:
    for k in range(1, 30):
        z[k] = z[k - 1] * 0.7j + z[k]
    return z


def branching(z: np.ndarray) -> Any:
    s = 0j
    for k in range(30):
        if abs(s) > 2:
            s = s * 0.5
        else:
            s = s + z[k]
    return s


def collected(x: float) -> Any:
    out = []
    for k in range(30):
        out.append(np.exp(1j * k * x))  # noqa: PERF401
    return np.array(out)


case("an iteration", iterated, 0.2 + 0.3j)
case("an iteration of arrays", lambda z: iterated(z), 0.2 * Z)
case("time steps", evolved, A, A[0])
case("a recursion in place", lambda z: recursive(z.copy()), complexes(30))
case("a branch", branching, complexes(30))
case("a list that grows", collected, R)
case("a sum of a generator", lambda x: sum(np.exp(1j * k * x) for k in range(30)), R)
