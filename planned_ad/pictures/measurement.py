"""`plan.profile(*args)`: where the time of a call goes, measured.

Two more kernels are made of the same steps, with readings of the processor's clock between (`kernels/timed.py`): in one
around each step outside of loops, in the other around the steps inside, which share the time that their loop takes in
the first. Each runs many times on copies of the arguments, and what is told of a step is the mean of the middle half.
The call itself is timed as it is, without clocks, in turns with the others.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..calls.entries import OPTIMIZATION, Entry, emission
from ..calls.kinds import CallKind
from ..calls.replay import Call
from ..calls.variant import PlanOfTraces, Variant
from ..calls.variants import replay
from ..errors import UnsupportedError
from ..kernels.entry.callpath import compiled_call, loaded_call
from ..kernels.timed import PAIR, STOPPED, Clocks, TimedEmitter, has_clock, inner_leaves
from ..python.examples import copied
from .profile import Profile, TimedStep
from .schedule_rows import StepRow, schedule_rows

FEWEST, MOST = 5, 2000  # calls of each kernel
TOGETHER, SHORT = 100, 1e-4  # calls, and seconds, that are timed at once


def measured_profile(
    plan: PlanOfTraces, row: CallKind, arguments: Sequence[Any], keywords: dict[str, Any], seconds: float
) -> Profile:
    """Measure the calls of one kind with these arguments, for some `seconds`."""
    if not has_clock():
        raise UnsupportedError("plan.profile reads the processor's clock, which is known for x86 and ARM only")
    variant = variant_of(plan, row, arguments, keywords)
    entry = variant.entry(row.name)
    rows = schedule_rows(entry.memory)
    has_inside = bool(inner_leaves(entry.memory.steps))

    def placed(timed: Entry) -> Callable[[], Any]:
        return Call(variant.trace, row, copied(arguments), copied(keywords)).place(timed, variant.preserve_args).run

    call = getattr(plan, row.attribute)
    kernels = [
        TimedKernel(timed, functools.partial(placed, timed.entry), writes_arguments(entry))
        for timed in (timed_entry(entry, inside) for inside in (False, True)[: 1 + has_inside])
    ]
    whole = WholeCalls(lambda: functools.partial(call, *copied(arguments), **copied(keywords)), writes_arguments(entry))
    until = time.perf_counter() + seconds
    while len(whole.seconds) < FEWEST or (time.perf_counter() < until and len(whole.seconds) < MOST):
        for measured in kernels:
            measured.once()
        whole.once()
    outer = kernels[0]
    per_call = dict(zip((r.number for r in rows if r.depth == 0), outer.middle_seconds()))
    runs = dict.fromkeys(per_call, 1)
    if has_inside:
        leaves = [r.number for r in rows if r.depth and not r.has_steps]
        runs |= dict(zip(leaves, np.median(kernels[1].runs, axis=0).astype(int).tolist()))
        share_out(rows, per_call, dict(zip(leaves, kernels[1].middle_seconds())), runs)
    return Profile(
        name=variant.trace.name,
        kind=row.name,
        steps=tuple(TimedStep(row=r, seconds=per_call[r.number], runs=runs[r.number]) for r in rows),
        seconds=float(middle(whole.seconds)),
        reading_seconds=float(middle(outer.readings)) * outer.tick,
        calls=len(whole.seconds),
    )


def variant_of(plan: PlanOfTraces, row: CallKind, arguments: Sequence[Any], keywords: dict[str, Any]) -> Variant:
    """The trace that these arguments take; one call is made, on copies."""
    asked: list[Variant] = []

    def entry_of(variant: Variant) -> Entry:
        asked.append(variant)
        return variant.entry(row.name)

    own, named = copied(arguments), copied(keywords)
    replay(plan, lambda traced: Call(traced, row, own, named), entry_of)
    return asked[-1]


@dataclass(frozen=True, slots=True)
class TimedEntry:
    """An entry with a kernel that fills `clocks`."""

    entry: Entry
    clocks: Clocks


def timed_entry(entry: Entry, inside: bool) -> TimedEntry:
    """The same steps with clocks: of the steps outside of loops, or of those inside."""
    steps = entry.memory.steps
    clocks = Clocks.of(len(inner_leaves(steps)) if inside else len(steps))
    emitter_of = functools.partial(TimedEmitter, clocks=clocks, inside=inside)
    on_tape = {} if entry.kept is None else entry.kept.offsets_in(entry.tape)
    emit = emission(entry.memory, entry.buffers, on_tape, emitter_of)
    name = f"{entry.row.name}.timed"
    compiled = compiled_call(name, entry.spec, emit, optimization=OPTIMIZATION, fast_path=False)
    call = loaded_call(compiled, name, "", "(*args)", entry.spec, nothing, fast_path=False, keep=entry.memory)
    return TimedEntry(replace(entry, call=call), clocks)


def nothing(*args: Any, **kwargs: Any) -> None:
    """The slow path of a call that is never made: its kernel is run by itself."""


class TimedKernel:
    """Many calls of a kernel with clocks: of each, the ticks and the runs of its steps."""

    def __init__(self, timed: TimedEntry, prepared: Callable[[], Callable[[], Any]], fresh: bool):
        self.clocks, self.prepared, self.fresh = timed.clocks, prepared, fresh
        self.ticks: list[np.ndarray] = []
        self.runs: list[np.ndarray] = []
        self.readings: list[int] = []
        self.run = prepared()
        self.run()  # memory is touched for the first time
        self.begun = self.now()

    def now(self) -> tuple[float, int]:
        """The time by Python's clock, and by the kernel's at the end of its last call."""
        return time.perf_counter(), int(self.clocks.cells[STOPPED, 0])

    def once(self) -> None:
        self.run = self.prepared() if self.fresh else self.run
        self.clocks.cells[:] = 0
        self.run()
        self.ended = self.now()
        self.ticks.append(self.clocks.ticks)
        self.runs.append(self.clocks.runs)
        self.readings.append(int(self.clocks.cells[PAIR, 0]))

    @property
    def tick(self) -> float:
        """Seconds of a tick: both clocks have gone on between the first call and the last."""
        return (self.ended[0] - self.begun[0]) / max(self.ended[1] - self.begun[1], 1)

    def middle_seconds(self) -> list[float]:
        """Of each step."""
        return (middle(self.ticks) * self.tick).tolist()


def middle(samples: Sequence[Any]) -> Any:
    """The mean of the middle half: as robust as the median, and finer where clocks count in large steps."""
    ordered = np.sort(np.array(samples, float), axis=0)
    quarter = len(ordered) // 4
    return ordered[quarter : len(ordered) - quarter].mean(axis=0)


class WholeCalls:
    """Many calls as users make them; of short ones, some together."""

    def __init__(self, prepared: Callable[[], Callable[[], Any]], fresh: bool):
        self.prepared, self.fresh, self.times = prepared, fresh, 1
        self.seconds: list[float] = []
        self.run = prepared()
        self.run()
        if not fresh:
            self.times = max(1, min(TOGETHER, int(SHORT / self.timed(1))))

    def timed(self, times: int) -> float:
        run = self.run
        begun = time.perf_counter()
        for _ in range(times):
            run()
        return (time.perf_counter() - begun) / times

    def once(self) -> None:
        self.run = self.prepared() if self.fresh else self.run
        self.seconds.append(self.timed(self.times))


def writes_arguments(entry: Entry) -> bool:
    """Whether a call finds other numbers in its arguments than the call before."""
    return any(place.is_written for p in entry.parameters for place in p.places if p.role.value == "argument")


def share_out(
    rows: Sequence[StepRow], per_call: dict[int, float], inside: dict[int, float], runs: dict[int, int]
) -> None:
    """Give the steps in each loop the time that the loop takes, in the proportions that were measured inside."""
    for number, row in enumerate(rows):
        if row.depth or not row.has_steps:
            continue
        within = [r for r in rows[number + 1 :]]
        within = within[: next((k for k, r in enumerate(within) if r.depth == 0), len(within))]
        whole = sum(inside[r.number] for r in within if not r.has_steps)
        scale = per_call[row.number] / whole if whole else 0.0
        for position, r in enumerate(within):
            below = within[position + 1 :]
            below = below[: next((k for k, other in enumerate(below) if other.depth <= r.depth), len(below))]
            leaves = [r] if not r.has_steps else [other for other in below if not other.has_steps]
            per_call[r.number] = scale * sum(inside[leaf.number] for leaf in leaves)
            runs.setdefault(r.number, max((runs[leaf.number] for leaf in leaves), default=0))
