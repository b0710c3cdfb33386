"""Fit a mixture of two Gaussians to the eruptions of Old Faithful, with the gradient of plain NumPy code.

Run it with `make demo`. The likelihood below is ordinary NumPy, with in-place updates through views; planned_ad
differentiates it as it stands, and SciPy's L-BFGS-B minimises it with the compiled value and gradient.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import planned_ad

DATA = Path(__file__).with_name("old_faithful.csv")


def load() -> np.ndarray:
    """The data, of shape (272, 2): duration of an eruption and waiting time to the next one, in minutes."""
    return np.loadtxt(DATA, delimiter=",", skiprows=6)


def unpack(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits (2,), means (2, 2), and for each component `log a, b, log d` of the Cholesky factor [[a, 0], [b, d]]."""
    return theta[:2], theta[2:6].reshape(2, 2), theta[6:].reshape(2, 3)


def negative_log_likelihood(theta: np.ndarray, eruptions: np.ndarray) -> float:
    """Minus the log-likelihood of a mixture of two bivariate Gaussians with full covariances."""
    logits, means, factors = unpack(theta)
    log_weights = logits - np.logaddexp(logits[0], logits[1])
    log_density = np.empty((2, len(eruptions)))
    for k in range(2):
        log_a, b, log_d = factors[k]
        z = eruptions - means[k]  # whitened in place: forward substitution with the Cholesky factor
        z[:, 0] *= np.exp(-log_a)
        z[:, 1] -= b * z[:, 0]
        z[:, 1] *= np.exp(-log_d)
        log_density[k] = log_weights[k] - log_a - log_d - 0.5 * (z[:, 0] ** 2 + z[:, 1] ** 2)
    return len(eruptions) * np.log(2 * np.pi) - np.sum(np.logaddexp(log_density[0], log_density[1]))


def start(eruptions: np.ndarray) -> np.ndarray:
    """Equal weights, means one standard deviation below and above the mean, and the data's spread, uncorrelated."""
    centre, spread = eruptions.mean(axis=0), eruptions.std(axis=0)
    factor = [np.log(spread[0]), 0.0, np.log(spread[1])]
    return np.concatenate([[0.0, 0.0], centre - spread, centre + spread, factor, factor])


def compiled(eruptions: np.ndarray) -> planned_ad.Plan:
    """The plan. `Const`: no derivative with respect to the data."""
    return planned_ad.compile(negative_log_likelihood, (start(eruptions), planned_ad.Const(eruptions)))


def fit(plan: planned_ad.Plan, eruptions: np.ndarray):
    """Minimise by L-BFGS-B."""
    dtheta = np.empty_like(start(eruptions))

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = plan.value_and_gradient(theta, eruptions, dtheta)
        return value, gradient.copy()  # an optimiser keeps the gradients it is given; `dtheta` is overwritten

    return minimize(value_and_gradient, start(eruptions), jac=True, method="L-BFGS-B", options={"ftol": 1e-13})


def central_differences(f: Callable[[np.ndarray], float], theta: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient by 2 n evaluations of `f`."""
    steps = step * np.eye(theta.size)
    return np.array([(f(theta + h) - f(theta - h)) / (2 * step) for h in steps])


def seconds(call: Callable[[], object], at_least: float = 0.05, repeats: int = 5) -> float:
    """The time of a call: the best of `repeats` averages over `at_least` seconds."""
    number, elapsed = 1, 0.0
    best = np.inf
    while repeats:
        begin = time.perf_counter()
        for _ in range(number):
            call()
        elapsed = time.perf_counter() - begin
        if elapsed < at_least:
            number *= 2
        else:
            best, repeats = min(best, elapsed / number), repeats - 1
    return best


def gradient_call() -> Callable[[], object]:
    """One gradient at the starting point, on fixed memory: what `allocations.py` counts the allocations of."""
    eruptions = load()
    theta = start(eruptions)
    return compiled(eruptions).bind(theta, eruptions, np.empty_like(theta))


def report_fit(result, eruptions: np.ndarray) -> None:
    logits, means, factors = unpack(result.x)
    weights = np.exp(logits - np.logaddexp(*logits))
    print(f"The fit: {result.nit} iterations of L-BFGS-B, {result.nfev} evaluations")
    print(f"  log-likelihood {-result.fun:.4f}")
    for k in np.argsort(means[:, 0]):
        log_a, b, log_d = factors[k]
        factor = np.array([[np.exp(log_a), 0.0], [b, np.exp(log_d)]])
        (s00, s01), (_, s11) = factor @ factor.T
        print(
            f"  weight {weights[k]:.4f}   mean ({means[k, 0]:.4f}, {means[k, 1]:.4f})   "
            f"covariance [[{s00:.5f}, {s01:.5f}], [{s01:.5f}, {s11:.5f}]]"
        )


def report_times(plan: planned_ad.Plan, theta: np.ndarray, eruptions: np.ndarray) -> None:
    def likelihood(theta: np.ndarray) -> float:
        return negative_log_likelihood(theta, eruptions)

    dtheta = np.empty_like(theta)
    difference = np.abs(plan.gradient(theta, eruptions, dtheta) - central_differences(likelihood, theta)).max()
    gradient = seconds(lambda: plan.gradient(theta, eruptions, dtheta))
    print("\nThe time of one gradient")
    print(f"  plan.gradient(theta, eruptions, dtheta)   {gradient * 1e6:8.2f} us")
    for name, call in {
        f"central differences, {2 * theta.size} NumPy evaluations": lambda: central_differences(likelihood, theta),
        "the function itself, in NumPy": lambda: likelihood(theta),
        "the function itself, compiled: plan(...)": lambda: plan(theta, eruptions),
    }.items():
        other = seconds(call)
        print(f"  {name:<41} {other * 1e6:8.2f} us   {other / gradient:7.1f} times the gradient")
    print(f"  largest difference from central differences: {difference / np.abs(dtheta).max():.1e} of the gradient")


def main() -> None:
    from allocations import allocations_per_call

    eruptions = load()
    print(f"Old Faithful: {len(eruptions)} eruptions, mean duration {eruptions[:, 0].mean():.4f} min, ", end="")
    print(f"mean waiting time {eruptions[:, 1].mean():.3f} min")
    begin = time.perf_counter()
    plan = compiled(eruptions)
    print(f"Traced, planned and compiled in {time.perf_counter() - begin:.2f} s\n")
    report_fit(fit(plan, eruptions), eruptions)
    report_times(plan, start(eruptions), eruptions)
    print("\nWhat is cached, and why: print(plan.explain())\n")
    print(str(plan.explain()).replace(f"{DATA.parent}/", ""))
    print(f"\nHeap allocations per call of plan.gradient: {allocations_per_call('old_faithful', 'gradient_call')}")


if __name__ == "__main__":
    main()
