"""The verdict on one idiom: a refusal that is the only right answer counts as right, and only that error."""

from __future__ import annotations

from ..verdicts import Verdict, examine
from .program import Idiom

SETTINGS = (0, 1, 16, 300)  # of `unroll`
SEEDS = (0, 1, 2)  # of the example, and of the data of later calls


def verdict_on(idiom: Idiom, unroll: int, compiled: bool, seeds: tuple[int, ...] = SEEDS) -> Verdict:
    """How the plan of `idiom` fares at `unroll`."""
    verdict = examine(idiom.function, [idiom.make_arguments(seed) for seed in seeds], unroll=unroll, compiled=compiled)
    if idiom.refused is None or verdict.kind in ("crashed", "slow"):
        return verdict
    if verdict.error is not None and issubclass(verdict.error, idiom.refused):
        return Verdict("right", verdict.why, verdict.error, verdict.seconds)
    return Verdict("wrong", f"not refused with {idiom.refused.__name__}: {verdict}", verdict.error, verdict.seconds)
