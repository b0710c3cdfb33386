"""A loop that is being recorded, as its parts know it: its branches, copies, and what its iterations hand on."""

from __future__ import annotations

import types
from typing import Any, Protocol

from ...tape.tape import Operation, Value
from ..record.blocks import Block
from ..record.decisions import Site
from ..record.recorder import Recorder
from ..record.scopes import Scope


class WaysOut(Protocol):
    """The ways in which a loop is left early."""

    ways: Any

    def begin(self, loop: Any) -> None: ...

    def close(self, *arguments: Any) -> Any: ...

    def steps(self, body: Any, line: Any) -> Any: ...


class RecordedLoop(Protocol):
    """What `LoopTrace` is to the files that it is made of."""

    recorder: Recorder
    frame: types.FrameType
    generators: dict[types.FrameType, Any]
    site: Site
    trips: int
    count: Value | None
    before: list[Operation]
    carries: dict[Any, Any]
    exits: WaysOut | None
    counts_iterations: bool
    passes: int
    depth: int
    index: int
    apart: Block
    scope: Scope
    origin: Any
    unset: set[Any]
    line: Any  # of its statement
    copies: Any
    joiner: Any
    branches: Any
    growth: Any

    @property
    def whole_trips(self) -> int: ...

    @property
    def is_left(self) -> bool: ...

    @property
    def certainly_runs(self) -> bool: ...

    def unrolled(self, reason: str, *arguments: Any, **options: Any) -> Any: ...

    def peeled(self, *arguments: Any, **options: Any) -> Any: ...

    def prepare(self, *arguments: Any, **options: Any) -> Any: ...
