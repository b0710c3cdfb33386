"""What SciPy's solvers return to traced functions."""

from __future__ import annotations

from typing import Any

from ..errors import UnsupportedError
from ..tracing.record.recorder import Recorder


class WhatIsKnown:
    """What a solver of SciPy tells; of the rest that it would tell nothing is known."""

    def __init__(self, recorder: Recorder, name: str, **known: Any):
        self.__dict__.update(known, _recorder=recorder, _name=name)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError(
            f"{self._recorder.here()}: `{name}` of what {self._name} returns is not known of a traced function"
        )

    def known(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}
