"""Derivatives by the time of the function: `python asv_bench/compare_derivatives.py [PROGRAM ...]`.

Each ratio is of minima over several fresh processes (`--repeats`) on one processor, in which all were measured in turn.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks import batch
from benchmarks.derivatives import ALL
from benchmarks.peers import in_child
from compare_peers import least, row

LIMITS = {"gradient": 2.5, "hvp": 3.0}


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def derivatives(names: list[str], repeats: int) -> None:
    print("3. Time by that of the function itself, compiled")
    ratios: dict[str, list[float]] = {what: [] for what in LIMITS}
    for name in names:
        found = least(in_child("derivatives", name) for _ in range(repeats))
        row(f"{name}: the function, us", found["function"] * 1e6, "", True)
        for what in LIMITS:
            ratios[what].append(found[what] / found["function"])
            row(f"    {what}", ratios[what][-1], "", True)
    for what, limit in LIMITS.items():
        row(f"{what}, geometric mean", mean(ratios[what]), f"<= {limit:g}", mean(ratios[what]) <= limit)


def batches(names: list[str], repeats: int) -> None:
    print(f"\n3. A reverse sweep with {batch.WIDTH} shadows of each argument, by one with one")
    ratios = []
    for name in names:
        found = least(in_child("batch", name) for _ in range(repeats))
        ratios.append(found["several"] / found["one"])
        row(name, ratios[-1], "", True)
    row("geometric mean", mean(ratios), "<= 4", mean(ratios) <= 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="of the first part; by default all, and the second part")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    derivatives(options.programs or list(ALL), options.repeats)
    if not options.programs:
        batches(list(batch.ALL), options.repeats)


if __name__ == "__main__":
    main()
