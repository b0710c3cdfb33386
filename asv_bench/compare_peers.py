"""Time, memory and compile time beside the peers, in one run: `python asv_bench/compare_peers.py`.

Each figure is a ratio of minima over several fresh processes (`--repeats`), in which ours and the peers were measured
in turn. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.allocations import counts
from benchmarks.peers import in_child, present
from benchmarks.programs import PROGRAMS

COMPILED = {
    "vectorised": ("rosenbrock_50", "mlp", "black_scholes"),
    "scalar loop": ("rosenbrock_loop_50", "mlp", "black_scholes"),
}


def least(results: Iterable[dict[str, float]]) -> dict[str, float]:
    """The minimum under each key."""
    found: dict[str, float] = {}
    for result in results:
        for key, value in result.items():
            found[key] = min(value, found.get(key, math.inf))
    return found


def times(repeats: int, *words: str) -> dict[str, float]:
    return least(in_child("peers", *words) for _ in range(repeats))


def row(what: str, figure: float, wanted: str, passed: bool) -> None:
    print(f"{what:<74} {figure:>9.3g}   {wanted:<8} {'ok' if passed else 'MISSED'}", flush=True)


def allocations(calls: int) -> None:
    print(f"\n2. Heap allocations and the change of Python's allocated blocks, over {calls} calls")
    for name, program in PROGRAMS.items():
        for kind in ("pullback",) if program.cotangents else ("gradient", "pullback"):
            found = counts(name, calls, kind)
            row(f"{name}, {kind}: mallocs", found["malloc"], "0", found["malloc"] == 0)
            if found["blocks"]:
                row(f"{name}, {kind}: blocks", found["blocks"], "0", False)


def small_call(repeats: int) -> None:
    print("\n3. Rosenbrock, n = 10: one gradient")
    peers = [p for p in ("jax", "jax_device", "casadi_buffer") if present(p)]
    for name in ("rosenbrock_loop_10", "rosenbrock_10"):
        mine = [p for p in peers if name.startswith("rosenbrock_loop") or p != "casadi_buffer"]
        found = times(repeats, name, "attribute", *mine)
        for ours, label in (("attribute", "plan.gradient(x, dx)"), ("planned_ad", "g = plan.gradient; g(x, dx)")):
            row(f"{name}: {label}, ns", found[ours] * 1e9, "", True)
            for peer in mine:
                wanted = {"jax": 100.0, "casadi_buffer": 4.0}.get(peer)
                figure = found[peer] / found[ours]
                row(f"    {peer} by ours", figure, f">= {wanted:g}" if wanted else "", not wanted or figure >= wanted)


def compiling(repeats: int) -> None:
    print("\n4. From the function to its first gradient, ours by jax.jit(jax.grad(f))")
    if not present("jax"):
        return
    for state in ("warm", "cold"):
        ratios = {}
        for name in dict.fromkeys(name for names in COMPILED.values() for name in names):
            ours, theirs = (
                least(in_child("compiling", library, name, state, one_processor=False) for _ in range(repeats))[
                    "seconds"
                ]
                for library in ("planned_ad", "jax")
            )
            ratios[name] = ours / theirs
            row(f"{state}, {name}: {ours * 1e3:.0f} ms by {theirs * 1e3:.0f} ms", ratios[name], "", True)
        for label, names in COMPILED.items():
            mean = math.exp(sum(math.log(ratios[name]) for name in names) / len(names))
            row(f"{state}, geometric mean with Rosenbrock(50) as a {label}", mean, "<= 1", mean <= 1)


def large(repeats: int) -> None:
    print("\n5. n = 1e6, one thread: ours by the other")
    peers = ["numba", *(["jax", "jax_device"] if present("jax") else [])]
    for name, others, limits in (
        ("sin_exp", peers, {"numba": 1.3, "jax": 1.0, "jax_device": 1.0}),
        ("square_sum", ["copyto", *peers[1:]], {"copyto": 1.3}),
    ):
        found = times(repeats, name, *others)
        for peer in others:
            figure, limit = found["planned_ad"] / found[peer], limits.get(peer)
            label = f"{name} by {peer}: {found['planned_ad'] * 1e3:.3g} ms by {found[peer] * 1e3:.3g} ms"
            row(label, figure, f"<= {limit:g}" if limit else "", not limit or figure <= limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--calls", type=int, default=1000, help="calls over which allocations are counted")
    parser.add_argument("--only", type=int, nargs="*", default=[2, 3, 4, 5], help="criteria")
    options = parser.parse_args()
    if 3 in options.only:
        small_call(options.repeats)
    if 4 in options.only:
        compiling(options.repeats)
    if 5 in options.only:
        large(options.repeats)
    if 2 in options.only:
        allocations(options.calls)


if __name__ == "__main__":
    main()
