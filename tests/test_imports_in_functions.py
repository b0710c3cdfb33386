"""Functions that import what they need when they run: their calls are the same as those of modules loaded before."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import planned_ad

def by_statistics(x):
    import statistics
    return statistics.mean([x[0], x[1]]) * statistics.stdev([x[0], x[1] * 2, 3.0])

def by_root(x):
    from scipy.optimize import brentq
    return brentq(lambda t: t**3 - x[0] * t - x[1], 0, 5, xtol=1e-14)

def by_steps(x):
    from scipy.integrate import solve_ivp
    found = solve_ivp(lambda t, y: [x[0] * y[0] - x[1] * y[0] * y[1], y[0] * y[1] - y[1]], (0, 1), [1, 0.5], rtol=1e-9)
    return found.y[0, -1]

def by_density(x):
    from scipy.stats import gaussian_kde
    return gaussian_kde(np.array([x[0], x[1], 3.0, 4.0]))(np.array([2.0]))[0]

wanted = {"statistics", "scipy.optimize", "scipy.integrate", "scipy.stats"}
print("loaded before:", sorted(wanted & set(sys.modules)))
x, step = np.array([1.3, 0.7]), 1e-6
for f in (by_statistics, by_root, by_steps, by_density):
    plan = planned_ad.compile(f, x)
    for other in (x, x + 0.2, x - 0.1):
        value, gradient = plan.value_and_gradient(other, np.zeros(2))
        slopes = [(f(other + step * e) - f(other - step * e)) / (2 * step) for e in np.eye(2)]
        np.testing.assert_allclose(value, f(other), rtol=1e-9)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-8)
    print(f.__name__, [reason for reason in plan.explain().fallbacks if "unrolled" in reason])
"""


def test_what_stands_for_functions_of_modules_that_are_loaded_later() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    before = lines[0].removeprefix("loaded before:")
    assert "scipy.integrate" not in before and "scipy.stats" not in before, "else this tests nothing"
    assert lines[1:] == [f"{name} []" for name in ("by_statistics", "by_root", "by_steps", "by_density")]
