"""Loops side by side: ours, an adjoint by hand, JAX; what compiling costs as trip counts grow; memory.

All are measured in child processes (`loop_measure`). A benchmark whose program planned_ad refuses or cannot finish in
time has no figure.
"""

from __future__ import annotations

from .allocations import counts
from .loop_measure import KIND, measured
from .loop_programs import COMPARED, LOOPS
from .peers import present

LIMIT = 120.0  # seconds that one child may take

TRIPS = {"iterated_map": (100, 10**6), "gauss_seidel": (100, 2000)}
"""Sizes at which compiling has to cost the same."""


def trip_ratio(name: str, repeats: int = 3, timeout: float | None = LIMIT) -> tuple[float, float]:
    """Least seconds of trace, plan and compile at the small and at the large size, measured in turn."""
    best = [float("inf")] * 2
    for _ in range(repeats):
        for k, size in enumerate(TRIPS[name]):
            best[k] = min(best[k], measured("compile", name, size, "warm", timeout=timeout)["seconds"])
    return best[0], best[1]


class LoopGradients:
    """Value and gradient on one thread."""

    params = COMPARED
    param_names = ("program",)
    timeout = 2 * LIMIT

    def track_ours_by_handwritten(self, name):
        times = measured("gradient", name, LOOPS[name].size, "planned_ad", "handwritten", timeout=LIMIT)
        return times["planned_ad"] / times["handwritten"]

    def track_jax_by_ours(self, name):
        if not present("jax"):
            raise NotImplementedError("jax is not installed")
        times = measured("gradient", name, LOOPS[name].size, "planned_ad", "jax", timeout=LIMIT)
        return times["jax"] / times["planned_ad"]

    def track_jax_by_handwritten(self, name):
        if not present("jax"):
            raise NotImplementedError("jax is not installed")
        times = measured("gradient", name, LOOPS[name].size, "handwritten", "jax", timeout=LIMIT)
        return times["jax"] / times["handwritten"]

    track_ours_by_handwritten.unit = track_jax_by_ours.unit = track_jax_by_handwritten.unit = "ratio"


class LoopCompiling:
    """Trace, plan and compile, in a process that has compiled nothing before."""

    params = tuple(LOOPS)
    param_names = ("program",)
    timeout = 2 * LIMIT

    def track_cold(self, name):
        return measured("compile", name, LOOPS[name].size, "cold", timeout=LIMIT)["seconds"]

    track_cold.unit = "seconds"


class TripCounts:
    """Compiling at a large trip count by compiling at a small one."""

    params = tuple(TRIPS)
    param_names = ("program",)
    timeout = 8 * LIMIT

    def track_large_by_small(self, name):
        small, large = trip_ratio(name)
        return large / small

    track_large_by_small.unit = "ratio"


class LoopMemory:
    """The planner's figures, code size, and what a call allocates."""

    params = tuple(LOOPS)
    param_names = ("program",)
    timeout = 2 * LIMIT

    def track_cached(self, name):
        return measured("memory", name, LOOPS[name].size, timeout=LIMIT)["cached"]

    def track_workspace(self, name):
        return measured("memory", name, LOOPS[name].size, timeout=LIMIT)["workspace"]

    def track_instructions(self, name):
        return measured("memory", name, LOOPS[name].size, timeout=LIMIT)["instructions"]

    def track_mallocs(self, name):
        return counts(name, 100, KIND, table=("loop_programs", "LOOPS"))["malloc"] / 100

    track_cached.unit = track_workspace.unit = "bytes"
    track_instructions.unit = "instructions"
    track_mallocs.unit = "mallocs per call"


class Checkpointing:
    """A nonlinear loop of 10,000 steps with a tenth of the memory that its cache would take."""

    timeout = 2 * LIMIT

    def track_slowdown(self):
        return measured("checkpointing", "reaction", LOOPS["reaction"].size, timeout=LIMIT)["slowdown"]

    def track_workspace_by_limit(self):
        found = measured("checkpointing", "reaction", LOOPS["reaction"].size, timeout=LIMIT)
        return found["workspace"] / found["limit"]

    track_slowdown.unit = track_workspace_by_limit.unit = "ratio"
