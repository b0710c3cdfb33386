"""The sparse Hessian of a chained Rosenbrock function, with 10,000 and 100,000 variables, and what SciPy makes of it.

`python -m benchmarks.sparse` prints all figures, of the first call (which traces, colours and compiles) and of others.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import minimize

import planned_ad

from .measure import seconds

SIZES = (10_000, 100_000)


def chained(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def chained_loop(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return total


PROGRAMS = {f.__name__: f for f in (chained, chained_loop)}


def start(size: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.8, 1.0, size)


def first_call(name: str, size: int) -> tuple[float, object, object]:
    """Its seconds, the derivative and the matrix."""
    hessian, x = planned_ad.sparse_hessian(PROGRAMS[name]), start(size)
    begin = time.perf_counter()
    found = hessian(x)
    return time.perf_counter() - begin, hessian.plan(x), found


def call_seconds(name: str, size: int) -> float:
    _, hessian, found = first_call(name, size)
    x = start(size)
    return seconds((lambda: hessian(x, out=found),), repeats=7)[0]


class SparseHessian:
    """Linear time: a factor of ten or less for ten times as many variables."""

    params = tuple(PROGRAMS)
    param_names = ("program",)
    timeout = 300

    def setup(self, name):
        first_call(name, 100)  # loads LLVM
        first_call(name, SIZES[1])  # compiles what colours

    def track_first_call(self, name):
        small, large = (first_call(name, size)[0] for size in SIZES)
        return large / small

    def track_later_calls(self, name):
        small, large = (call_seconds(name, size) for size in SIZES)
        return large / small

    def track_colours(self, name):
        return first_call(name, SIZES[0])[1].colours

    track_first_call.unit = track_later_calls.unit = "ratio"
    track_colours.unit = "colours"


def minimised(size: int, method: str) -> tuple[float, object]:
    """Seconds of SciPy's minimiser, all in, and what it returns."""
    x, hessian = np.full(size, 0.9), planned_ad.sparse_hessian(chained)
    value, gradient = planned_ad.compile(chained, x), planned_ad.grad(chained)
    known: dict = {}

    def product(x, p):
        if known.get("at") is None or not np.array_equal(known["at"], x):
            known["at"], known["matrix"] = x.copy(), hessian(x, out=known.get("matrix"))
        return known["matrix"] @ p

    krylov = {"hessp": product}
    constrained = {"hess": hessian, "options": {"sparse_jacobian": True}}
    begin = time.perf_counter()
    options = constrained if method == "trust-constr" else krylov
    found = minimize(lambda x: value(x), x, jac=gradient, method=method, **options)
    return time.perf_counter() - begin, found


def main() -> None:
    first_call("chained", SIZES[1])
    for name in PROGRAMS:
        first, later = {}, {}
        for size in SIZES:
            first[size], hessian, found = first_call(name, size)
            later[size] = call_seconds(name, size)
            print(f"{name:22} n = {size:7}: {hessian.colours} colours, first call {first[size]:.2f} s, ", end="")
            print(f"others {later[size] * 1e6:.0f} us")
        ratios = (times[SIZES[1]] / times[SIZES[0]] for times in (first, later))
        print("{:22} ratios: {:.1f}, {:.1f}".format("", *ratios))
    for method in ("trust-krylov", "trust-constr"):
        for size in SIZES:
            spent, found = minimised(size, method)
            error = np.max(abs(found.x - 1))
            print(f"{method:22} n = {size:7}: {spent:.1f} s, {found.nit} iterations, error {error:.1e}")


if __name__ == "__main__":
    main()
