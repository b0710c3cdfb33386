"""One side of the comparison, in a process of its own: `python -m npbench.child ours|jax KERNEL SIZE [FILE]`.

Prints seconds of one value and gradient, and of compiling up to a first gradient; writes the value and the gradients to
FILE, if there is one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import table
from .kernel import Kernel, total

SECONDS, BATCH = 0.3, 1e-3  # that all calls together should take, and those that are timed together
LEAST = 5  # batches


def ours(kernel: Kernel, size: str) -> tuple[Callable, Callable]:
    """What compiles up to the first gradient, and what calls for value and gradient."""
    import planned_ad

    arrays, parameters = kernel.inputs(size)
    weights, loss = kernel.weights(size), kernel.loss(parameters)
    shadows = tuple(np.zeros_like(a) for a in arrays if a.dtype.kind == "f")
    plan: Any = None

    def first() -> None:
        nonlocal plan
        plan = planned_ad.compile(loss, (planned_ad.Const(weights), *arrays))
        plan.gradient(weights, *arrays, *shadows)

    def again() -> tuple:
        return plan.value_and_gradient(weights, *arrays, *shadows)

    return first, again


def jax_port(kernel: Kernel, size: str) -> tuple[Callable, Callable]:
    """The same in JAX, whose arrays are where it wants them."""
    import jax

    arrays, parameters = kernel.inputs(size)
    told = kernel.told(*arrays, **parameters) if kernel.told else {}
    port = table.port(kernel.function.__name__)
    weights = jax.device_put(kernel.weights(size))
    active = tuple(k + 1 for k, a in enumerate(arrays) if a.dtype.kind == "f")
    on_device = jax.device_put(arrays)

    def loss(weights, *arrays):
        return total(weights, port(*arrays, **parameters, **told))

    def first() -> None:
        jax.block_until_ready(jax.jit(jax.grad(loss, argnums=active))(weights, *on_device))

    call = jax.jit(jax.value_and_grad(loss, argnums=active))
    return first, lambda: jax.block_until_ready(call(weights, *on_device))


SIDES = {"ours": ours, "jax": jax_port}


def taken(call: Callable, count: int = 1) -> float:
    """Seconds of one of the calls: of the processor, as the machine may be shared."""
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


def measured(side: str, name: str, size: str, file: str = "") -> dict[str, float]:
    """Compiled after another kernel has been: imports do not count."""
    warm_up, _ = SIDES[side](table.KERNELS["compute"], "tiny")
    warm_up()
    first, again = SIDES[side](table.KERNELS[name], size)
    compiling = taken(first)
    again()  # which compiles it
    best = taken(again)
    count = max(1, int(BATCH / best))
    repeats = max(LEAST, int(SECONDS / (count * best)))
    best = min(best, *(taken(again, count) for _ in range(repeats)))
    if file:
        value, gradients = flat(again())
        np.savez(file, np.asarray(value), *gradients)
    return {"seconds": best, "compile": compiling}


def flat(found: tuple) -> tuple[Any, list[np.ndarray]]:
    """The value and the gradients; our call returns `(value, dx, dy, ...)` or `(value, (dx, dy, ...))`."""
    value, *gradients = found
    if len(gradients) == 1 and isinstance(gradients[0], (tuple, list)):
        gradients = list(gradients[0])
    return value, [np.asarray(g) for g in gradients]


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
