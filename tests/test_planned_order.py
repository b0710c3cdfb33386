"""What the planner rearranges before it decides what to keep: early uses, and divisions as products."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.early_uses import use_early
from planned_ad.entries import build_entry
from planned_ad.planner import plan_memory
from planned_ad.reciprocals import multiply_by_reciprocals
from planned_ad.tape import Apply, walk
from planned_ad.verify import verify

from .random_tapes import random_tape


def jacobi(a, b):
    for _ in range(40):
        b[1:-1] = 0.25 * (a[:-2] + 2.0 * a[1:-1] + a[2:])
        a[1:-1] = 0.25 * (b[:-2] + 2.0 * b[1:-1] + b[2:])
    return np.sum(a * a)


def planned(function, *arguments):
    plan = planned_ad.compile(function, arguments, unroll=0)
    return plan, plan.explain("gradient")
