"""What a call of the derivative allocates (nothing), keeps, and how much code it is."""

from __future__ import annotations

import sys
from pathlib import Path

from .measure import compiled
from .programs import PROGRAMS

ROOT = Path(__file__).parents[2]

SNIPPET = """
import sys
sys.path.insert(0, {folder!r})
from benchmarks.measure import compiled
from benchmarks.{module} import {table}
_ready = compiled({table}[{name!r}], {size!r}, {kind!r})
_call, _arguments = _ready.call, _ready.arguments
def call():
    _call(*_arguments)
"""


def counts(
    name: str,
    calls: int = 1000,
    kind: str | None = None,
    *,
    size: int | None = None,
    table: tuple[str, str] = ("programs", "PROGRAMS"),
) -> dict[str, int]:
    """Heap allocations and the change of Python's allocated blocks over `calls` calls, in a child process.

    `table`: the module of this package that has the program, and its dictionary there.
    """
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from tests.malloc import count_in_subprocess

    module, dictionary = table
    snippet = SNIPPET.format(
        folder=str(ROOT / "asv_bench"), name=name, size=size, kind=kind, module=module, table=dictionary
    )
    return count_in_subprocess(snippet, calls)


def instructions(asm: str) -> int:
    """Machine instructions in a listing: neither labels, nor directives, nor comments."""
    lines = (line.strip() for line in asm.splitlines())
    return sum(1 for line in lines if line and line[0] not in ".#" and not line.endswith(":"))


class Allocations:
    """Counted by an interposed shim: Linux with a C compiler."""

    params = tuple(PROGRAMS)
    param_names = ("program",)
    timeout = 300

    def setup(self, name):
        self.calls = 1000 if PROGRAMS[name].size < 10**6 else 100

    def track_mallocs(self, name):
        return counts(name, self.calls)["malloc"] / self.calls

    def track_blocks(self, name):
        return counts(name, self.calls)["blocks"]

    track_mallocs.unit = "mallocs per call"
    track_blocks.unit = "blocks of sys.getallocatedblocks()"


class Memory:
    """The planner's figures."""

    params = tuple(PROGRAMS)
    param_names = ("program",)

    def setup(self, name):
        ready = compiled(PROGRAMS[name])
        self.explanation = ready.plan.explain(ready.kind)
        self.asm = ready.plan.asm(ready.kind)

    def track_workspace(self, name):
        return self.explanation.workspace_bytes

    def track_workspace_lower_bound(self, name):
        return self.explanation.lower_bound_bytes

    def track_cached(self, name):
        return self.explanation.cached_bytes

    def track_instructions(self, name):
        return instructions(self.asm)

    track_workspace.unit = track_workspace_lower_bound.unit = track_cached.unit = "bytes"
    track_instructions.unit = "instructions"
