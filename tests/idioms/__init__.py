"""Short programs as users who optimise, sample, control, simulate and fit write them: right at every `unroll`, or refused.

`IDIOMS` has them all by name; each is described by a `tests.idioms.program.Idiom`.
"""

from __future__ import annotations

from .arguments import ARGUMENTS
from .containers import CONTAINERS
from .derivatives import DERIVATIVES
from .draws import DRAWS
from .exits import EXITS
from .functions import FUNCTIONS
from .generators import GENERATORS
from .indices import INDICES
from .iterators import ITERATORS
from .late import LATE
from .objects import OBJECTS
from .program import Idiom
from .reported import REPORTED
from .reported_state import REPORTED_STATE
from .solvers import SOLVERS
from .text import TEXT
from .tools import TOOLS
from .views import VIEWS

__all__ = ["IDIOMS"]

KINDS = (
    OBJECTS,
    FUNCTIONS,
    CONTAINERS,
    ITERATORS,
    TOOLS,
    GENERATORS,
    DRAWS,
    VIEWS,
    EXITS,
    LATE,
    TEXT,
    DERIVATIVES,
    SOLVERS,
    REPORTED,
    REPORTED_STATE,
    INDICES,
    ARGUMENTS,
)
IDIOMS: dict[str, Idiom] = {}
for kind in KINDS:
    assert not IDIOMS.keys() & kind.keys(), IDIOMS.keys() & kind.keys()
    IDIOMS.update(kind)
