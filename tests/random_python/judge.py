"""The verdict on a random program, and the smallest part of it with the same verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..tracing_oracle import perturbed_by_nothing as copied
from ..verdicts import Verdict, examine, limited, value_of
from .generate import arguments, random_program
from .tree import Program

SETTINGS = (0, 16, 1, 0, 16, 300)  # of `unroll`; at the last hardly any loop stays a loop
SEEDS = (0, 1, 2)  # of the example, and of the data of later calls
MOST_SECONDS = 10
MOST_SECONDS_ALONE = 0.6  # of the function itself, which its differences run many times
LARGEST = 1e4  # of a value whose digits can be compared


@dataclass(frozen=True, slots=True)
class Case:
    """One program, how it was examined, and what came out."""

    seed: int
    unroll: int
    program: Program
    verdict: Verdict


def is_valid(program: Program) -> bool:
    """Whether the program runs, ends soon, gives the same numbers again, and moderate ones."""
    start = time.process_time()
    try:
        f = program.function()
        with np.errstate(all="ignore"), limited(MOST_SECONDS):
            for seed in SEEDS:
                first, second = (float(value_of(f, copied(arguments(program, seed)))) for _ in range(2))
                if first != second or not abs(first) < LARGEST:
                    return False
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return False
    return time.process_time() - start < MOST_SECONDS_ALONE


def judged(program: Program, unroll: int, compiled: bool) -> Verdict:
    """How the plan of the program fares; invalid, where there is nothing to compare with."""
    if not is_valid(program):
        return Verdict("invalid")
    sets = [arguments(program, seed) for seed in SEEDS]
    return examine(program.function(), sets, unroll=unroll, compiled=compiled, seconds=MOST_SECONDS)


def case(seed: int, compiled: bool = False, unroll: int | None = None) -> Case:
    """The program of that seed, at a setting that goes with the seed unless given."""
    program = random_program(seed)
    setting = SETTINGS[seed % len(SETTINGS)] if unroll is None else unroll
    return Case(seed, setting, program, judged(program, setting, compiled))


def cause(verdict: Verdict) -> str:
    """What a smaller program must share with the larger one."""
    what = verdict.why.split(" ")[0] if verdict.kind == "wrong" else verdict.why.split(":")[0]
    return f"{verdict.kind} {what}"


def shrunk(found: Case, compiled: bool = False, seconds: float = 60.0) -> Program:
    """The program with statements left out as long as its verdict stays."""
    smallest, wanted, end = found.program, cause(found.verdict), time.perf_counter() + seconds
    improved = True
    while improved:
        improved = False
        for program in smallest.smaller():
            if time.perf_counter() > end:
                return smallest
            if cause(judged(program, found.unroll, compiled)) == wanted:
                smallest, improved = program, True
                break
    return smallest
