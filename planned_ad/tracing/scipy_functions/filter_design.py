"""Design of filters: of plain numbers it runs as it is, though its steps are complex; else its code is traced."""

from __future__ import annotations

import types
from typing import Any

from scipy.signal import _filter_design, _fir_filter_design

from ..numpy_functions.fourier import of_any


def _traced_where_not_known(function: types.FunctionType) -> None:
    @of_any(function)
    def design(recorder: Any, *args: Any, **kwargs: Any) -> Any:
        return recorder.call_python(function, args, kwargs)


for _module in (_filter_design, _fir_filter_design):
    for _name in _module.__all__:
        _function = getattr(_module, _name)
        if type(_function) is types.FunctionType:
            _traced_where_not_known(_function)
