"""Loops beside adjoints by hand and JAX: `python asv_bench/compare_loops.py [--quick]`.

Each ratio is of minima over several fresh processes (`--repeats`) on one processor, in which all were measured in turn.
What planned_ad cannot do, or does not finish within `--timeout` seconds, shows as "not yet" with the reason.

by hand: an expert's reversal of the program's own statements. insight: one that knows mathematics which the program
does not state. jax: the fastest of several ways to write the program. `--check`: the adjoints by hand, ours and JAX's
against finite differences, at small sizes.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.allocations import counts
from benchmarks.loop_measure import KIND, measured
from benchmarks.loop_programs import COMPARED, LOOPS
from benchmarks.loops import TRIPS, trip_ratio
from benchmarks.peers import present
from compare_peers import least, row

QUICK = {
    "jacobi_2d": 40,
    "gauss_seidel": 40,
    "thomas": 200,
    "cholesky": 40,
    "lstm": 32,
    "n_body": 40,
    "iterated_map": 1000,
    "reaction": 200,
}


def reason(error: Exception) -> str:
    """One line for what a child said last."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not finished after {error.timeout:.0f} s"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:110] if lines else type(error).__name__


def attempt(figure: str, name: str, size: int, *more: str, options: argparse.Namespace) -> dict[str, float] | str:
    """The least figures over several children, or why there are none."""
    try:
        return least(measured(figure, name, size, *more, timeout=options.timeout) for _ in range(options.repeats))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return reason(error)


def size_of(name: str, options: argparse.Namespace) -> int:
    return QUICK[name] if options.quick else LOOPS[name].size


def milliseconds(found: dict[str, float], key: str) -> str:
    return f"{found[key] * 1e3:.3g}" if key in found else "-"


def by(found: dict[str, float], one: str, other: str) -> str:
    return f"{found[one] / found[other]:.2f}" if one in found and other in found else "-"


TITLES = (
    "program",
    "size",
    "ours ms",
    "hand ms",
    "by hand",
    "by insight",
    "jax/hand",
    "jax/ours",
    "cold ms",
    "warm ms",
)


def line(*cells: object) -> None:
    print(f"{cells[0]:<14}" + "".join(f"{cell!s:>11}" for cell in cells[1:]), flush=True)


def times_of(name: str, options: argparse.Namespace) -> tuple[dict[str, float], str]:
    """All times of a program; where ours has none, those of the others, and why."""
    others = ("handwritten", "insight", *(("jax",) if present("jax") else ()))
    found = attempt("gradient", name, size_of(name, options), "planned_ad", *others, options=options)
    if isinstance(found, dict):
        return found, ""
    rest = attempt("gradient", name, size_of(name, options), *others, options=options)
    return (rest, found) if isinstance(rest, dict) else ({}, f"{found}; {rest}")


def gradients(options: argparse.Namespace) -> None:
    print("\n3. Value and gradient, one thread; 'by' is ours by theirs. cold and warm: trace + plan + compile, ours")
    line(*TITLES)
    times: dict[str, dict[str, float]] = {}
    for name in COMPARED:
        found, why = times_of(name, options)
        times[name] = found | ({} if why else compile_times(name, options))
        line(name, size_of(name, options), *cells(times[name]))
        if why:
            print(f"    not yet: {why}", flush=True)
    verdict(times)


def compile_times(name: str, options: argparse.Namespace) -> dict[str, float]:
    attempts = {s: attempt("compile", name, size_of(name, options), s, options=options) for s in ("cold", "warm")}
    return {state: found["seconds"] for state, found in attempts.items() if isinstance(found, dict)}


def cells(found: dict[str, float]) -> tuple[str, ...]:
    return (
        milliseconds(found, "planned_ad"),
        milliseconds(found, "handwritten"),
        by(found, "planned_ad", "handwritten"),
        by(found, "planned_ad", "insight"),
        by(found, "jax", "handwritten"),
        by(found, "jax", "planned_ad"),
        milliseconds(found, "cold"),
        milliseconds(found, "warm"),
    )


def geometric_mean(figures: Iterable[float]) -> float:
    logarithms = [math.log(figure) for figure in figures]
    return math.exp(sum(logarithms) / len(logarithms))


def verdict(times: dict[str, dict[str, float]]) -> None:
    """A program without a figure of ours fails; one without a peer's (JAX is not installed) does not."""
    done = {name: found for name, found in times.items() if "planned_ad" in found}
    missing = [name for name in times if name not in done]
    behind = [name for name, found in done.items() if found.get("jax", math.inf) <= found["planned_ad"]]
    slow = [name for name, found in done.items() if max(found.get(s, math.inf) for s in ("cold", "warm")) > 1.5]
    print()
    if done:
        mean = geometric_mean(f["planned_ad"] / f["handwritten"] for f in done.values())
        row(f"geometric mean of ours by hand, {len(done)} of {len(times)} programs", mean, "<= 1.5", mean <= 1.5)
        best = (min(f["handwritten"], f.get("insight", math.inf)) for f in done.values())
        mean = geometric_mean(f["planned_ad"] / b for f, b in zip(done.values(), best))
        row("    by the faster of hand and insight (of interest only)", mean, "", True)
    for label, names in (
        ("without a figure", missing),
        ("on which JAX is not behind", behind),
        ("that compile in more than 1.5 s", slow),
    ):
        row(f"programs {label}: {', '.join(names)}", len(names), "0", not names)


def trip_counts(options: argparse.Namespace) -> None:
    print("\n2. Trace + plan + compile as trip counts grow")
    for name, (small, large) in TRIPS.items():
        label = f"{name}, {large} by {small}"
        try:
            few, many = trip_ratio(name, options.repeats, options.timeout)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{label}: not yet: {reason(error)}")
            continue
        row(f"{label}: {many * 1e3:.0f} ms by {few * 1e3:.0f} ms", many / few, "<= 1.3", many / few <= 1.3)
        sizes = [attempt("memory", name, size, options=options) for size in (small, large)]
        found = [s["instructions"] for s in sizes if isinstance(s, dict)]
        if len(found) == 2:
            less, more = found
            row(f"{label}: {more:.0f} by {less:.0f} instructions", more / less, "<= 1.1", more / less <= 1.1)


EXPECTED_CACHE = {
    "jacobi_2d": lambda n: 0,
    "gauss_seidel": lambda n: 0,
    "cholesky": lambda n: 0,
    "iterated_map": lambda n: 8 * n,
}


def memory(options: argparse.Namespace) -> None:
    print("\n1, 4. Cached bytes, and heap allocations over 100 calls")
    for name in COMPARED:
        size = size_of(name, options)
        found = attempt("memory", name, size, options=options)
        if isinstance(found, str):
            print(f"{name}: not yet: {found}")
            continue
        wanted = EXPECTED_CACHE[name](size) if name in EXPECTED_CACHE else None
        expected = "" if wanted is None else f"<= {wanted}"
        row(f"{name}, {size}: cached bytes", found["cached"], expected, wanted is None or found["cached"] <= wanted)
        try:
            mallocs = counts(name, 100, KIND, size=size, table=("loop_programs", "LOOPS"))["malloc"]
        except AssertionError as error:
            print(f"{name}: not yet: {reason(error)}")
            continue
        row(f"{name}: mallocs", mallocs, "0", mallocs == 0)


def checkpointing(options: argparse.Namespace) -> None:
    print("\n5. memory_limit at a tenth of the cache")
    size = size_of("reaction", options)
    found = attempt("checkpointing", "reaction", size, options=options)
    if isinstance(found, str):
        print(f"reaction, {size} steps: not yet: {found}")
        return
    row(f"reaction, {size} steps: time by time without limit", found["slowdown"], "< 3.5", found["slowdown"] < 3.5)
    within = found["workspace"] <= found["limit"]
    row(f"workspace of {found['workspace']:.0f} by limit", found["workspace"] / found["limit"], "<= 1", within)


def checks() -> bool:
    """Whether all derivatives are right."""
    from benchmarks.loop_checks import TOLERANCE, derivatives, error

    print("\nAgainst finite differences, at small sizes")
    right = True
    for who, name, calculate in derivatives(present("jax")):
        try:
            found = error(LOOPS[name], calculate())
        except Exception as failure:
            print(f"{who}, {name}: not yet: {reason(failure)}")
            right = False
            continue
        row(f"{who}, {name}", found, f"< {TOLERANCE:g}", found < TOLERANCE)
        right = right and found < TOLERANCE
    return right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one process each")
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds that one process may take")
    parser.add_argument("--check", action="store_true", help="check the derivatives, and nothing else")
    parser.add_argument("--only", type=int, nargs="*", default=[2, 3, 4, 5], help="criteria")
    options = parser.parse_args()
    if options.quick:
        options.repeats = 1
    if options.check:
        os.environ.update(JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")
        sys.exit(0 if checks() else 1)
    print(f"Load average {os.getloadavg()[0]:.1f}: above 1, JAX's figures are too large, since its threads wait")
    for number, figure in ((3, gradients), (2, trip_counts), (4, memory), (5, checkpointing)):
        if number in options.only:
            figure(options)


if __name__ == "__main__":
    main()
