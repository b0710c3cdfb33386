"""From a function to its first gradient, in a fresh process.

`python -m benchmarks.compiling LIBRARY PROGRAM warm|cold`. Imports are not counted.
'warm': after another function has been compiled.
"""

from __future__ import annotations

import json
import sys
import time

from .measure import example, zeros_like
from .peers import jax_gradient
from .programs import PROGRAMS, Program

WARM_UP = "square_sum"


def first_gradient_of_ours(program: Program, size: int) -> float:
    import planned_ad

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


LIBRARIES = {"planned_ad": first_gradient_of_ours, "jax": first_gradient_of_jax}


def main(library: str, name: str, state: str) -> float:
    if library == "jax":
        import jax.numpy
        import jax.scipy.special  # noqa: F401
    if state == "warm":
        LIBRARIES[library](PROGRAMS[WARM_UP], PROGRAMS[WARM_UP].small)
    return LIBRARIES[library](PROGRAMS[name], PROGRAMS[name].size)


if __name__ == "__main__":
    print(json.dumps({"seconds": main(*sys.argv[1:4])}))
