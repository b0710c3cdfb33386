"""The stages of a plan timed apart, and what a gradient costs next to the function itself."""

from __future__ import annotations

from unittest.mock import patch

from planned_ad.calls import entries
from planned_ad.calls.entries import build_entry, entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.planner import plan_memory
from planned_ad.trace import trace

from .measure import compiled, example, ratio
from .programs import PROGRAMS


def no_slow_path(*arguments):
    raise AssertionError("the benchmark's arguments are those that the plan was made for")


class Stages:
    """From the function to machine code: trace, reverse, plan, compile."""

    params = tuple(PROGRAMS)
    param_names = ("program",)

    def setup(self, name):
        program = PROGRAMS[name]
        self.function = program.function
        self.example = example(program, program.arguments(program.size))
        self.kind = KINDS["pullback" if program.cotangents else "gradient"]
        self.traced = trace(self.function, self.example)
        self.tape = entry_tape(self.traced, self.kind, False)
        self.memory = plan_memory(self.tape)
        self.time_compile(name)  # loads LLVM

    def time_trace(self, name):
        trace(self.function, self.example)

    def time_reverse(self, name):
        """The reverse tape, and its simplification."""
        entry_tape(self.traced, self.kind, False)

    def time_plan(self, name):
        plan_memory(self.tape)

    def time_compile(self, name):
        """Emission and LLVM."""
        with patch.object(entries, "plan_memory", lambda tape: self.memory):
            build_entry(self.traced, self.kind, self.tape, no_slow_path)


class Replay:
    """Calls of the compiled derivative."""

    params = tuple(PROGRAMS)
    param_names = ("program",)

    def setup(self, name):
        ready = compiled(PROGRAMS[name])
        self.call, self.arguments, self.plan = ready.call, ready.arguments, ready.plan
        self.primal = ready.arguments[: len(PROGRAMS[name].arguments(PROGRAMS[name].size))]

    def time_replay(self, name):
        self.call(*self.arguments)

    def track_gradient_by_primal(self, name):
        """Against the function as the plan itself compiles it."""
        self.plan(*self.primal)
        return ratio((self.call, *self.arguments), (self.plan._call, *self.primal))

    def track_gradient_by_numpy(self, name):
        """Against the function as NumPy runs it."""
        return ratio((self.call, *self.arguments), (PROGRAMS[name].function, *self.primal))

    track_gradient_by_primal.unit = track_gradient_by_numpy.unit = "ratio"
