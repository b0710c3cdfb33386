"""Text of traced values, for `print` and log lines: what they are, since there are no numbers while tracing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.dispatch import implements


@implements(np.array2string)
@implements(np.array_repr)
@implements(np.array_str)
@implements(np.format_float_positional)
@implements(np.format_float_scientific)
def text(recorder, x: Any, *args: Any, **options: Any) -> str:
    return str(x)
