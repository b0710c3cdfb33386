"""NPBench's kernels beside JAX: `python asv_bench/compare_npbench.py [NAMES] [--sizes S,M] [--repeats 3]`.

Value and gradient of a weighted sum of the results, by all floating arrays: of the kernel in plain NumPy (`npbench/`),
by planned_ad, and of an expert's port to JAX (`npbench/ports/`). Each figure is the least of several fresh processes
that take turns, all on one processor with one thread, in time of that processor. `jax by ours` is JAX's time by ours:
above 1, planned_ad is faster; `compile`, up to a first gradient, is ours by JAX's. Values and gradients have to agree.

Where JAX is in another environment: `--jax-python /path/to/its/python`. Where there is none, its columns are empty.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.peers import in_child, pin
from compare_loops import geometric_mean, reason
from compare_peers import least
from npbench.table import KERNELS

TOLERANCE = 1e-8  # of a gradient, by the largest number in it


def has_jax(python: str) -> bool:
    return subprocess.run([python, "-c", "import jax"], capture_output=True).returncode == 0


def error(ours: Path, theirs: Path) -> float:
    """The largest difference of the value and of the gradients, each by the largest number in it."""
    with np.load(ours) as a, np.load(theirs) as b:
        if a.files != b.files:
            return np.inf
        return max(difference(a[name], b[name]) for name in a.files)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape or not np.all(np.isfinite(a)):
        return np.inf
    largest = np.max(np.abs(b), initial=0.0)
    return float(np.max(np.abs(a - b), initial=0.0) / (largest or 1.0))


def measured(name: str, size: str, sides: dict[str, str], options: argparse.Namespace) -> dict[str, dict | str]:
    """Of each side its figures, or why there are none; under "error", how far they are from each other."""
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    found: dict[str, dict | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {side: Path(folder) / f"{side}.npz" for side in sides}
        for turn in range(options.repeats):
            for side, python in sides.items():
                if side in found:
                    continue
                words = (side, name, size, *([str(files[side])] if turn == 0 else []))
                try:
                    run = in_child("child", *words, package="npbench", python=python, timeout=options.timeout)
                    runs[side].append(run)
                except (RuntimeError, subprocess.TimeoutExpired) as failure:
                    found[side] = reason(failure)
        found |= {side: least(run) for side, run in runs.items() if side not in found}
        if all(file.exists() for file in files.values()) and len(files) == 2:
            found["error"] = {"error": error(files["ours"], files["jax"])}
    return found


TITLES = ("kernel", "size", "ours ms", "jax ms", "jax by ours", "ours s", "jax s", "compile", "error")


def line(*cells: object) -> None:
    print(f"{cells[0]:<16}{cells[1]:>4}" + "".join(f"{cell!s:>12}" for cell in cells[2:]), flush=True)


def figure(found: dict[str, dict | str], side: str, key: str, scale: float = 1.0) -> str:
    figures = found.get(side)
    return f"{figures[key] * scale:.3g}" if isinstance(figures, dict) else "-"


def ratio(found: dict[str, dict | str], one: str, other: str, key: str) -> float | None:
    a, b = found.get(one), found.get(other)
    return a[key] / b[key] if isinstance(a, dict) and isinstance(b, dict) else None


def cells(found: dict[str, dict | str]) -> tuple[str, ...]:
    run, compiling = ratio(found, "jax", "ours", "seconds"), ratio(found, "ours", "jax", "compile")
    return (
        figure(found, "ours", "seconds", 1e3),
        figure(found, "jax", "seconds", 1e3),
        "-" if run is None else f"{run:.2f}",
        figure(found, "ours", "compile"),
        figure(found, "jax", "compile"),
        "-" if compiling is None else f"{compiling:.2f}",
        figure(found, "error", "error"),
    )


def verdict(results: dict[tuple[str, str], dict[str, dict | str]], sizes: list[str]) -> None:
    for label, wanted in [*((size, (size,)) for size in sizes), ("all", tuple(sizes))]:
        chosen = {key: found for key, found in results.items() if key[1] in wanted}
        runs = {key: ratio(found, "jax", "ours", "seconds") for key, found in chosen.items()}
        compiling = [ratio(found, "ours", "jax", "compile") for found in chosen.values()]
        if known := [r for r in runs.values() if r is not None]:
            print(
                f"\n{label}: geometric means of {len(known)}: JAX by ours {geometric_mean(known):.2f}; "
                f"compiling, ours by JAX {geometric_mean(c for c in compiling if c is not None):.2f}"
            )
            if behind := [f"{name} {r:.2f}" for (name, _), r in runs.items() if r is not None and r < 1]:
                print(f"{label}: behind JAX: {', '.join(behind)}")


def wrong(found: dict[str, dict | str]) -> bool:
    error = found.get("error")
    return isinstance(found["ours"], str) or (isinstance(error, dict) and not error["error"] < TOLERANCE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"kernels, by default all: {', '.join(KERNELS)}")
    parser.add_argument("--sizes", default="S,M", help="of tiny, S and M, with commas")
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds that one process may take")
    parser.add_argument("--jax-python", default=sys.executable, help="the interpreter that has JAX")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in KERNELS]:
        parser.error(f"no such kernels: {', '.join(unknown)}")
    os.environ["PLANNED_AD_CACHE_DIR"] = "off"  # each process compiles
    pin()
    sides = {"ours": sys.executable} | ({"jax": options.jax_python} if has_jax(options.jax_python) else {})
    line(*TITLES)
    results = {}
    sizes = options.sizes.split(",")
    for name in options.names or KERNELS:
        for size in sizes:
            found = results[name, size] = measured(name, size, sides, options)
            line(name, size, *cells(found))
            for side in sides:
                if isinstance(found[side], str):
                    print(f"    {side}: {found[side]}", flush=True)
    verdict(results, sizes)
    if bad := [f"{name} {size}" for (name, size), found in results.items() if wrong(found)]:
        sys.exit(f"not right: {', '.join(bad)}")


if __name__ == "__main__":
    main()
