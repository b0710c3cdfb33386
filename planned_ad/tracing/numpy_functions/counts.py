"""How many numbers along axes are not zero."""

from __future__ import annotations

import numpy as np

from ...python.versions import NUMPY
from ..record.dispatch import implements
from ..values.scalar_tracer import ScalarTracer
from .reductions import reduced
from .support import BOOL, cast, geometry, without_axes


@implements(np.count_nonzero)
def count_nonzero(recorder, a, axis=None, *, keepdims=False):
    value = cast(recorder, cast(recorder, recorder.value_of(a), BOOL), np.int64)
    count = reduced(recorder, "reduce_sum", value, axis, keepdims)
    if NUMPY < (2, 3) and axis is None and not keepdims:
        return ScalarTracer(recorder, count, is_python=True)
    return recorder.result(count, without_axes(geometry(recorder, a), axis, keepdims))
