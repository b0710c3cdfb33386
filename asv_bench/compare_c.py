"""Programs of ADBench and others beside C and Enzyme: `python asv_bench/compare_c.py [NAMES] [--repeats 3] [--quick]`.

Each program is in C (`c_programs/`, compiled by `cc -O3 -march=native`, no fast maths), and in plain NumPy in several
natural ways. Value and gradient by planned_ad are timed in turn with the C function, and with an adjoint written by
hand in C where that is short, in a fresh process for each variant, on one processor with one thread; each figure is the
least of `--repeats` processes. `ba` is all rows of the Jacobian. Programs shorter than a call from Python are timed in
a loop of machine code.

by C, by hand: ours by the function, and by its adjoint, in C. by Enzyme: ours by an estimate, the time of the function
in C times the ratio of Enzyme's gradient to its primal, as published measurements have it. compile: seconds up to a
first gradient. bytes: of the workspace. error: of the value from C's, and of the gradient from that of the adjoint by
hand, else of another variant, by the largest number in the same array.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.c_library import COMPILER
from benchmarks.c_measure import error, in_a_child
from benchmarks.c_programs import C_PROGRAMS, ENZYME, CProgram
from compare_loops import geometric_mean, milliseconds, reason
from compare_peers import least, row

TOLERANCE = 1e-8
TITLES = ("ours ms", "C ms", "hand ms", "by C", "by hand", "by Enzyme", "compile s", "bytes", "error")


def line(*cells: object) -> None:
    print(f"{cells[0]:<20}{cells[1]:<17}" + "".join(f"{cell!s:>10}" for cell in cells[2:]), flush=True)


def by_enzyme(name: str, found: dict[str, float]) -> float:
    return found["ours"] / (ENZYME[name] * found["c"])


def cells(name: str, found: dict[str, float]) -> tuple[str, ...]:
    return (
        milliseconds(found, "ours"),
        milliseconds(found, "c"),
        milliseconds(found, "adjoint"),
        f"{found['ours'] / found['c']:.2f}",
        f"{found['ours'] / found['adjoint']:.2f}" if "adjoint" in found else "-",
        f"{by_enzyme(name, found):.2f}",
        f"{found['compile']:.2f}",
        f"{found['workspace']:.0f}",
        f"{max(found['value error'], found.get('gradient error', np.inf)):.0e}",
    )


def variants_of(program: CProgram, options: argparse.Namespace) -> dict[str, dict[str, float] | str]:
    """The figures of each variant, or why there are none."""
    size = program.quick if options.quick else program.size
    found: dict[str, dict[str, float] | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {variant: Path(folder) / f"{k}.npz" for k, variant in enumerate(program.variants)}
        for variant, file in files.items():
            try:
                found[variant] = least(
                    in_a_child(program.name, variant, size, str(file), timeout=options.timeout)
                    for _ in range(options.repeats)
                )
            except (RuntimeError, subprocess.TimeoutExpired) as failure:
                found[variant] = reason(failure)
        if not program.by_hand:
            compare({variant: files[variant] for variant in found}, found)
    return found


def compare(files: dict[str, Path], found: dict[str, dict[str, float] | str]) -> None:
    """The gradient of each variant with that of the one before it."""
    done = {variant: figures for variant, figures in found.items() if isinstance(figures, dict)}
    for one, other in itertools.pairwise([*done, *list(done)[:1]]):
        with np.load(files[one]) as a, np.load(files[other]) as b:
            done[other]["gradient error"] = error([a[name] for name in a.files], [b[name] for name in b.files])


def verdict(results: dict[str, dict[str, float]], missing: list[str]) -> None:
    """`results`: of each program ours by Enzyme's estimate, of each variant; `missing`: variants without a figure."""
    print()
    for label, chosen in ("fastest", min), ("slowest", max):
        mean = geometric_mean(chosen(ratios.values()) for ratios in results.values())
        row(f"geometric mean of ours by Enzyme, the {label} variant of {len(results)} programs", mean, "", True)
    behind = [f"{name} {v} {r:.2f}" for name, ratios in results.items() for v, r in ratios.items() if r > 1]
    row(f"variants without a figure, in no mean: {', '.join(missing)}", len(missing), "0", not missing)
    row(f"variants slower than Enzyme: {', '.join(behind)}", len(behind), "0", not behind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"programs, by default all: {', '.join(C_PROGRAMS)}")
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--quick", action="store_true", help="small sizes, one process each")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds that one process may take")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in C_PROGRAMS]:
        parser.error(f"no such programs: {', '.join(unknown)}")
    if COMPILER is None:
        print("There is no C compiler (cc): nothing to compare with.")
        return
    options.repeats = 1 if options.quick else options.repeats
    os.environ["PLANNED_AD_CACHE_DIR"] = "off"  # each process compiles
    line("program", "variant", *TITLES)
    results: dict[str, dict[str, float]] = {}
    wrong, missing = [], []
    for name in options.names or C_PROGRAMS:
        for variant, found in variants_of(C_PROGRAMS[name], options).items():
            if isinstance(found, str):
                print(f"{name:<20}{variant:<17} not yet: {found}", flush=True)
                missing.append(f"{name} {variant}")
                continue
            line(name, variant, *cells(name, found))
            results.setdefault(name, {})[variant] = by_enzyme(name, found)
            if max(found["value error"], found.get("gradient error", 0.0)) > TOLERANCE:
                wrong.append(f"{name} {variant}")
    if results:
        verdict(results, missing)
    if wrong:
        sys.exit(f"not right: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
