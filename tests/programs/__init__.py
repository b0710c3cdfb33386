"""Whole programs as people write them, with arguments: `PROGRAMS`."""

from . import arrays, numerics
from .registry import PROGRAMS, floats, positive

__all__ = ["PROGRAMS", "arrays", "floats", "numerics", "positive"]
