"""`python -m tests.random_python --count 1000 --seed 0`: verdicts by kind, and each wrong program, shrunk."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter, defaultdict

from .. import verdicts
from .judge import case, shrunk

VERDICTS = ("right", "refused", "wrong", "crashed", "slow", "invalid")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_python", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--unroll", type=int, help="one setting for all, instead of each in turn")
    parser.add_argument("--compiled", action="store_true", help="machine code instead of the interpreter")
    parser.add_argument("--shrink", type=float, default=20.0, help="seconds for each wrong program; 0 leaves them")
    parser.add_argument("--show", type=int, default=20, help="at most so many sources")
    parser.add_argument("--unchecked", action="store_true", help="no comparison of the trace with the function")
    options = parser.parse_args()
    verdicts.CHECKED = not options.unchecked
    warnings.simplefilter("ignore")
    total: Counter[str] = Counter()
    by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
    refusals: Counter[str] = Counter()
    start, shown = time.perf_counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        found = case(seed, options.compiled, options.unroll)
        verdict = found.verdict.kind
        total[verdict] += 1
        for kind in found.program.kinds:
            by_kind[kind][verdict] += 1
        if verdict == "refused":
            refusals[" ".join(found.verdict.why.split("`")[-1].split())[:110]] += 1
        if verdict in ("wrong", "crashed", "slow"):
            print(f"seed {seed}, unroll={found.unroll}: {' '.join(str(found.verdict).split())[:300]}")
            if shown < options.show and options.shrink:
                print(shrunk(found, options.compiled, options.shrink).source)
                shown += 1
            sys.stdout.flush()
    print(f"{'':32s}", *(f"{v:>8s}" for v in VERDICTS))
    for kind, counts in sorted(by_kind.items(), key=lambda item: -item[1]["wrong"] / sum(item[1].values())):
        print(f"{kind:32s}", *(f"{counts[v]:8d}" for v in VERDICTS))
    print(f"{'all':32s}", *(f"{total[v]:8d}" for v in VERDICTS), f"  {time.perf_counter() - start:.0f} s")
    for why, count in refusals.most_common(12):
        print(f"refused {count:4d}  {why}")
    return total["wrong"] + total["crashed"] + total["slow"] > 0


if __name__ == "__main__":
    sys.exit(main())
