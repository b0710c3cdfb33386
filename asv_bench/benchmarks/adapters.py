"""What a gradient costs from PyTorch, JAX and nutpie, each beside what they take without a plan, in the same run.

`python -m benchmarks.adapters` prints all that are installed; what is timed takes turns, since machines are shared.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import planned_ad
from planned_ad import interop

X = np.linspace(0.5, 1.5, 10)
Calls = dict[str, Callable[[], Any]]


def rosenbrock(x: Any) -> Any:
    """Of arrays and of tensors."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def plan_calls() -> Calls:
    plan, dx = planned_ad.compile(rosenbrock, X), np.empty(10)
    return {"plan.value_and_gradient(x, dx)": lambda: plan.value_and_gradient(X, dx)}


def torch_calls() -> Calls:
    import torch

    x, zeros = torch.tensor(X, requires_grad=True), torch.zeros(10, dtype=torch.float64)

    class Empty(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.new_empty(())

        @staticmethod
        def backward(ctx: Any, cotangent: torch.Tensor) -> torch.Tensor:
            return zeros

    def backward(f: Callable[..., Any]) -> Callable[[], Any]:
        def run() -> None:
            x.grad = None
            f(x).backward()

        return run

    return {
        "torch: x.sum().backward()": backward(torch.sum),
        "torch: an autograd.Function that does nothing": backward(Empty.apply),
        "torch: torch_function(plan)": backward(interop.torch_function(planned_ad.compile(rosenbrock, X))),
        "torch: its own operations": backward(rosenbrock),
    }


def jax_calls() -> Calls:
    import jax

    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.asarray(X)
    functions = {
        "jax: a jitted function that does nothing": lambda x: (x[0], x),
        "jax: jax_function(plan)": jax.value_and_grad(interop.jax_function(planned_ad.compile(rosenbrock, X))),
        "jax: its own operations": jax.value_and_grad(rosenbrock),
    }

    def ready(f: Callable[..., Any]) -> Callable[[], Any]:
        compiled = jax.jit(f)
        return lambda: jax.block_until_ready(compiled(x))

    return {name: ready(f) for name, f in functions.items()}


def least(calls: Calls, rounds: int = 300, number: int = 20) -> dict[str, float]:
    """Microseconds of each, the least of many rounds."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            for _ in range(number):
                call()
            found[name] = min(found[name], 1e6 * (time.perf_counter() - start) / number)
    return found


def regression() -> tuple[Callable[..., Any], tuple]:
    random = np.random.default_rng(0)
    a = random.normal(size=(1000, 5))
    y = a @ (np.arange(5) / 3 - 0.5) + 0.7 * random.normal(size=1000)

    def density(b: Any, s: Any, exp: Callable[..., Any] = np.exp) -> Any:
        r = (y - a @ b) / exp(s)
        return -0.5 * (r * r).sum() - 1000 * s - 0.5 * (b * b).sum() - 0.5 * s * s

    return density, (np.zeros(5), 0.0)


def nutpie_steps(rounds: int = 3) -> dict[str, float]:
    """Microseconds of a leapfrog step of nutpie, for one density: by a plan, and by PyTensor's own Numba code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nutpie
        import pymc
        import pytensor.tensor as pt

        density, example = regression()
        own = interop.pytensor_function(planned_ad.compile(lambda b, s: density(b, s), example))
        models, found = {}, {}
        for name, f in (("pytensor_function(plan)", own), ("its own Numba", lambda b, s: density(b, s, pt.exp))):
            with pymc.Model() as model:
                pymc.Potential("l", f(pymc.Flat("b", shape=5), pymc.Flat("s")))
            models[f"nutpie: {name}"] = nutpie.compile_pymc_model(model)
        for _ in range(rounds):
            for name, model in models.items():
                start = time.perf_counter()
                settings = {"chains": 1, "cores": 1, "seed": 1, "progress_bar": False, "save_warmup": True}
                trace = nutpie.sample(model, draws=3000, tune=1000, **settings)
                taken = time.perf_counter() - start
                steps = int(trace.sample_stats.n_steps.sum()) + int(trace.warmup_sample_stats.n_steps.sum())
                found[name] = min(found.get(name, np.inf), 1e6 * taken / steps)
    return found


class Adapters:
    """Of PyTorch and JAX: a gradient by a plan, in times of one that does nothing."""

    timeout = 300

    def track_torch(self) -> float:
        return self.ratio("torch", torch_calls)

    def track_jax(self) -> float:
        return self.ratio("jax", jax_calls)

    def ratio(self, package: str, calls: Callable[[], Calls]) -> float:
        if find_spec(package) is None:
            return float("nan")
        found = least(calls())
        plan, nothing = (next(t for n, t in found.items() if word in n) for word in ("(plan)", "nothing"))
        return plan / nothing


def main() -> None:
    calls = plan_calls()
    for package, made in (("torch", torch_calls), ("jax", jax_calls)):
        calls |= made() if find_spec(package) else {}
    found = least(calls)
    found |= nutpie_steps() if find_spec("nutpie") else {}
    for name, taken in found.items():
        print(f"{name:48} {taken:8.2f} us")


if __name__ == "__main__":
    main()
