"""`python -m tests.idioms --unroll 0 16 --only name --compiled`: how each idiom fares, and a table by kind."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter

from .. import verdicts
from . import IDIOMS
from .check import SETTINGS, verdict_on


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.idioms", description=__doc__)
    parser.add_argument("--unroll", type=int, nargs="+", default=list(SETTINGS))
    parser.add_argument("--only", nargs="+", default=list(IDIOMS), help="names of programs, or of kinds")
    parser.add_argument("--compiled", action="store_true", help="machine code instead of the interpreter")
    parser.add_argument("--verbose", action="store_true", help="one line for each program, right ones included")
    parser.add_argument("--unchecked", action="store_true", help="no comparison of the trace with the function")
    options = parser.parse_args()
    verdicts.CHECKED = not options.unchecked
    warnings.simplefilter("ignore")
    table: Counter[tuple[int, str]] = Counter()
    bad = 0
    for name, idiom in IDIOMS.items():
        if name not in options.only and idiom.kind not in options.only:
            continue
        for unroll in options.unroll:
            verdict = verdict_on(idiom, unroll, options.compiled)
            table[unroll, verdict.kind] += 1
            bad += verdict.kind not in ("right", "refused")
            if verdict.kind != "right" or options.verbose:
                why = " ".join(verdict.why.split())[:300]
                print(
                    f"{name:40s} {idiom.kind:12s} unroll {unroll:3d} {verdict.kind:8s} {verdict.seconds:5.1f} s {why}"
                )
                sys.stdout.flush()
    for unroll in options.unroll:
        counts = {kind: table[unroll, kind] for kind in ("right", "refused", "wrong", "crashed", "slow")}
        print(f"unroll {unroll:3d}:", *(f"{kind} {count}" for kind, count in counts.items()), sep="  ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
