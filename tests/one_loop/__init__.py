"""Programs of ordinary Python that are one loop, recorded once for all inputs: `PROGRAMS`, by name."""

from . import lengths, pivots, states
from .program import PROGRAMS

__all__ = ["PROGRAMS", "lengths", "pivots", "states"]
