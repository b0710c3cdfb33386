"""The same programs in JAX, autograd, CasADi, hand-written Numba and `np.copyto`.

Figures are ratios, the peer's time by ours: above 1, planned_ad is faster. Both are measured in turn in one child
process (`python -m benchmarks.peers PROGRAM PEER`) that runs on one processor, so that every library has one thread.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from timeit import Timer

import numpy as np

from .measure import compiled, seconds
from .programs import PROGRAMS, Program

NEEDS = {"jax": "jax", "jax_device": "jax", "autograd": "autograd", "casadi": "casadi", "casadi_buffer": "casadi"}
"""The module that a peer takes; Numba and NumPy are always there."""

ONE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}

KEPT: list = []

# Pairs of program and peer.

ELSEWHERE = [name for name, program in PROGRAMS.items() if program.peers]
CASES = [
    *((name, peer) for name in [*ELSEWHERE, "jacobi_2d"] for peer in ("jax", "jax_device")),
    *((name, "autograd") for name in ELSEWHERE if name != "gmm"),  # autograd 1.9.1 fails on `icf[:, place]`
    *((f"rosenbrock_loop_{n}", peer) for n in (10, 50) for peer in ("casadi", "casadi_buffer")),
    ("sin_exp", "numba"),
    ("square_sum", "copyto"),
]


def present(peer: str) -> bool:
    return peer not in NEEDS or importlib.util.find_spec(NEEDS[peer]) is not None


def ported(program: Program, **modules: object) -> Callable:
    """The program's function with other modules and functions in place of those it names, such as `np`."""
    function = program.function
    names = {**function.__globals__, **{k: m for k, m in modules.items() if k in function.__globals__}}
    return type(function)(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


def active(program: Program) -> tuple[int, ...]:
    count = len(program.arguments(program.small))
    return tuple(k for k in range(count) if k not in program.inactive)


def jax_function(program: Program) -> Callable:
    """The program in JAX; those that write into arrays are rewritten."""
    import jax.numpy
    import jax.scipy.special

    if program.name == "jacobi_2d":
        return jax_jacobi_2d
    return ported(program, np=jax.numpy, erf=jax.scipy.special.erf)


def jax_jacobi_2d(a, b, weights):
    from .physics import STEPS

    def step(old, new):
        mean = 0.2 * (old[1:-1, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1])
        return new.at[1:-1, 1:-1].set(mean)

    for _ in range(STEPS):
        b = step(a, b)
        a = step(b, a)
    return (weights * a).sum()


def jax_gradient(program: Program) -> Callable:
    import jax

    positions = active(program)
    return jax.jit(jax.grad(jax_function(program), argnums=positions if len(positions) > 1 else positions[0]))


def jax_calls(program: Program) -> dict[str, Callable]:
    """From NumPy in to NumPy out, and on JAX's own arrays, waiting for the result."""
    import jax

    gradient = jax_gradient(program)
    arguments = program.arguments(program.size)
    on_device = tuple(jax.device_put(a) for a in arguments)
    one = len(active(program)) == 1
    return {
        "jax": lambda: np.asarray(gradient(*arguments)) if one else [np.asarray(d) for d in gradient(*arguments)],
        "jax_device": lambda: jax.block_until_ready(gradient(*on_device)),
    }


def autograd_gradient(program: Program) -> Callable:
    import autograd
    import autograd.numpy
    import autograd.scipy.special

    function = ported(program, np=autograd.numpy, erf=autograd.scipy.special.erf)
    return autograd.grad(function, active(program))


def casadi_calls(program: Program) -> dict[str, Callable]:
    """CasADi's call of its virtual machine: on NumPy arrays, and on buffers set in advance."""
    import casadi

    (x,) = program.arguments(program.size)
    symbol = casadi.SX.sym("x", len(x))
    loss = program.function([symbol[i] for i in range(len(x))])
    function = casadi.Function("gradient", [symbol], [casadi.gradient(loss, symbol)])
    buffer, evaluate = function.buffer()
    dx = np.zeros_like(x)
    buffer.set_arg(0, memoryview(x))
    buffer.set_res(0, memoryview(dx))
    evaluate()
    np.testing.assert_allclose(dx, program.adjoint(x)[0], rtol=1e-12)
    KEPT.append((function, buffer, x, dx))  # `evaluate` holds addresses of them
    return {"casadi": lambda: function(x), "casadi_buffer": evaluate}


def copyto_calls(program: Program) -> dict[str, Callable]:
    (x,) = program.arguments(program.size)
    dx = np.zeros_like(x)
    return {"copyto": lambda: np.copyto(dx, x)}


def numba_calls(program: Program) -> dict[str, Callable]:
    """The faster of the hand-written loops."""
    from .handwritten import sin_exp_gradients

    (x,) = program.arguments(program.size)
    dx = np.zeros_like(x)
    calls = []
    for gradient in sin_exp_gradients():
        gradient(x, dx)
        np.testing.assert_allclose(dx, program.adjoint(x)[0], rtol=1e-12, atol=1e-15)
        calls.append((gradient, x, dx))
    times = seconds(*calls, repeats=5)
    gradient, *arguments = calls[times.index(min(times))]
    return {"numba": lambda: gradient(*arguments)}


def peer_calls(program: Program, peer: str) -> dict[str, Callable]:
    if peer in ("jax", "jax_device"):
        return jax_calls(program)
    if peer in ("casadi", "casadi_buffer"):
        return casadi_calls(program)
    if peer == "autograd":
        gradient, arguments = autograd_gradient(program), program.arguments(program.size)
        return {"autograd": lambda: gradient(*arguments)}
    return {"numba": numba_calls, "copyto": copyto_calls}[peer](program)


def measured(name: str, *peers: str) -> dict[str, float]:
    """Seconds per call of ours and of the peers, in turn in this process.

    'attribute' stands for ours written as `plan.gradient(...)`, with the method looked up at each call.
    """
    program = PROGRAMS[name]
    ours = compiled(program)
    looked_up = Timer(f"plan.{ours.kind}(*arguments)", globals={"plan": ours.plan, "arguments": ours.arguments})
    others = [looked_up if peer == "attribute" else (peer_calls(program, peer)[peer],) for peer in peers]
    times = seconds((ours.call, *ours.arguments), *others)
    return dict(zip(("planned_ad", *peers), times))


def in_child(
    module: str,
    *words: str,
    package: str = "benchmarks",
    python: str = sys.executable,
    one_processor: bool = True,
    timeout: float | None = None,
) -> dict:
    """What `python -m PACKAGE.MODULE WORDS` prints last; `one_processor`: run on one of them, with one thread.

    Raises `RuntimeError` if it fails, and `subprocess.TimeoutExpired` after `timeout` seconds.
    """
    environment = dict(os.environ, JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")
    child = subprocess.run(
        [python, "-m", f"{package}.{module}", *words],
        env=environment | ONE_THREAD if one_processor else environment,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if child.returncode != 0:
        raise RuntimeError(f"{package}.{module} {' '.join(words)}\n{child.stderr}")
    return json.loads(child.stdout.splitlines()[-1])


def pin() -> None:
    """Keep this process, with all threads that it will start, on one processor."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class Peers:
    """The peer's time by ours."""

    params = tuple(f"{name} {peer}" for name, peer in CASES)
    param_names = ("program and peer",)
    timeout = 600

    def setup(self, case):
        self.name, self.peer = case.split()
        if not present(self.peer):
            raise NotImplementedError(f"{NEEDS[self.peer]} is not installed")

    def track_peer_by_ours(self, case):
        times = in_child("peers", self.name, self.peer)
        return times[self.peer] / times["planned_ad"]

    track_peer_by_ours.unit = "ratio"


if __name__ == "__main__":
    pin()
    print(json.dumps(measured(*sys.argv[1:])))
