"""Programs with loops and branches, as users write them, with which the package is tested.

`PROGRAMS` has them all by name; each is described by a `tests.loop_family.program.Program`.
"""

from __future__ import annotations

from .loop_family.bodies import BODIES
from .loop_family.branches import BRANCHES
from .loop_family.constructs import CONSTRUCTS
from .loop_family.counted_whiles import COUNTED_WHILES
from .loop_family.dynamic_programmes import DYNAMIC_PROGRAMMES
from .loop_family.irregular import IRREGULAR
from .loop_family.linear_algebra import LINEAR_ALGEBRA
from .loop_family.lists import LISTS
from .loop_family.program import Draw, Program
from .loop_family.sequences import SEQUENCES
from .loop_family.stencils import STENCILS
from .loop_family.time_steps import TIME_STEPS

__all__ = ["PROGRAMS", "Draw", "Program", "with_tag"]

PROGRAMS: dict[str, Program] = {}
COLLECTIONS = (
    STENCILS,
    LINEAR_ALGEBRA,
    SEQUENCES,
    TIME_STEPS,
    DYNAMIC_PROGRAMMES,
    CONSTRUCTS,
    COUNTED_WHILES,
    LISTS,
    BODIES,
    BRANCHES,
    IRREGULAR,
)
for collection in COLLECTIONS:
    assert not PROGRAMS.keys() & collection.keys()
    PROGRAMS.update(collection)


def with_tag(tag: str) -> list[str]:
    """The names of the programs that have `tag`."""
    return [name for name, program in PROGRAMS.items() if tag in program.tags]
