"""From a function to its first gradient, in a fresh process.

`python -m benchmarks.compiling LIBRARY PROGRAM warm|cold|stored`. Imports are not counted.
'warm': after another function has been compiled; 'stored': after another process has compiled this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

import planned_ad

from .measure import example, zeros_like
from .peers import jax_gradient
from .programs import PROGRAMS, Program

WARM_UP = "square_sum"


def first_gradient_of_ours(program: Program, size: int) -> float:
    arguments = program.arguments(size)
    shadows = [zeros_like(a) for k, a in enumerate(arguments) if k not in program.inactive]
    start = time.perf_counter()
    planned_ad.compile(program.function, example(program, arguments)).gradient(*arguments, *shadows)
    return time.perf_counter() - start


def first_gradient_of_jax(program: Program, size: int) -> float:
    import jax

    arguments = program.arguments(size)
    start = time.perf_counter()
    jax.block_until_ready(jax_gradient(program)(*arguments))
    return time.perf_counter() - start


class Again:
    """Compiling what was compiled before: in this process."""

    params = ("rosenbrock_10", "gmm")
    param_names = ("program",)

    def setup(self, name):
        program = PROGRAMS[name]
        self.function, self.example = program.function, example(program, program.arguments(program.size))
        self.plan = planned_ad.compile(self.function, self.example)

    def time_compile_again(self, name):
        planned_ad.compile(self.function, self.example)


LIBRARIES = {"planned_ad": first_gradient_of_ours, "jax": first_gradient_of_jax}


def main(library: str, name: str, state: str) -> float:
    if library == "jax":
        import jax.numpy
        import jax.scipy.special  # noqa: F401
    if state == "stored":
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.compiling", library, name, "cold"]
            subprocess.run(
                command, env=dict(os.environ, PLANNED_AD_BENCH_CACHE_DIR=folder), check=True, stdout=subprocess.DEVNULL
            )
            planned_ad.cache_dir(folder)
            return LIBRARIES[library](PROGRAMS[name], PROGRAMS[name].size)
    if state == "warm":
        LIBRARIES[library](PROGRAMS[WARM_UP], PROGRAMS[WARM_UP].small)
    return LIBRARIES[library](PROGRAMS[name], PROGRAMS[name].size)


if __name__ == "__main__":
    print(json.dumps({"seconds": main(*sys.argv[1:4])}))
