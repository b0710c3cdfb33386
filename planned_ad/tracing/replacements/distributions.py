"""What traced code sees in place of the distributions of `scipy.stats`, also of frozen ones such as `norm(0, 1)`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import TraceError, UnsupportedError
from ..numpy_functions.distributions import Method
from ..record.dispatch import FUNCTIONS
from ..record.recorder import Recorder
from .distribution_code import Formulas, by_scipys_code
from .draws import ADVICE, drawing_elsewhere, is_seeded, seeded

Wrap = Callable[[Recorder, Any], Any]  # a function as traced code sees it


def distribution(recorder: Recorder, obj: object, name: str, wrap: Wrap) -> object | None:
    """A stand-in for a distribution of SciPy that has rules, or for a frozen one; None for anything else."""
    stats: Any = sys.modules.get("scipy.stats")
    if stats is None or not str(type(obj).__module__).startswith("scipy.stats."):
        return None
    if isinstance(obj, stats.rv_continuous | stats.rv_discrete):
        return StandInDistribution(recorder, obj, wrap) if is_known(stats, obj) else None
    dist = getattr(obj, "dist", None)
    if hasattr(obj, "kwds") and dist is not None and is_known(stats, dist):
        return FrozenStandIn(recorder, obj, name, StandInDistribution(recorder, dist, wrap))
    return None


def is_known(stats: Any, dist: Any) -> bool:
    """Whether it is the distribution of that name, or the copy of it that a frozen one holds."""
    real: Any = getattr(stats, dist.name, None)
    return type(real) is type(dist) and (real.a, real.b) == (dist.a, dist.b)


class StandInDistribution:
    """A distribution whose methods are recorded."""

    def __init__(self, recorder: Recorder, real: Any, wrap: Wrap):
        self._recorder, self._real, self._wrap = recorder, real, wrap

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # for `isinstance`
        return type(self._real)

    def __call__(self, *args: Any, **kwargs: Any) -> FrozenStandIn:
        self._real._parse_args(*args, **kwargs)  # raises where they do not fit
        return FrozenStandIn(self._recorder, None, "", self, args, kwargs)

    freeze = __call__

    def __getattr__(self, name: str) -> Any:
        method = Method(self._real.name, name)
        if method in FUNCTIONS:
            return self._wrap(self._recorder, method)
        if name == "rvs":
            return self._draw
        if name.startswith("_"):
            return getattr(Formulas(self._recorder, self._real), name)
        found = getattr(self._real, name)
        by_code = by_scipys_code(self._recorder, self._real, name)
        if by_code is not None:
            return by_code
        return self._wrap(self._recorder, found) if callable(found) else found

    def _draw(self, *args: Any, random_state: Any = None, **kwargs: Any) -> Any:
        """Constants of the plan; where parameters of a continuous distribution are traced, SciPy's formula of them."""
        if isinstance(random_state, int | np.integer):
            random_state = seeded(np.random.RandomState)(random_state)
        if not is_seeded(random_state):
            raise TraceError(
                f"{self._recorder.here()}: {self._real.name}.rvs gives other numbers at each call, which a plan "
                f"cannot. {ADVICE}, or give it a fixed seed, or a generator made from one, as random_state."
            )
        self._recorder.mark()
        if self._recorder.is_concrete([*args, *kwargs.values()]):
            args, kwargs = self._recorder.plain(args), self._recorder.plain(kwargs)
            with drawing_elsewhere(self._recorder, random_state):
                return self._recorder.adopt(self._real.rvs(*args, random_state=random_state, **kwargs))
        if hasattr(self._real, "pmf"):
            raise UnsupportedError(
                f"{self._recorder.here()}: {self._real.name}.rvs with a traced parameter is not supported: the "
                f"integers that it draws have no derivative. {ADVICE}"
            )
        return Formulas(self._recorder, self._real).rvs(*args, random_state=random_state, **kwargs)


class FrozenStandIn:
    """A distribution with its parameters."""

    def __init__(
        self,
        recorder: Recorder,
        real: Any,
        name: str,
        dist: StandInDistribution,
        args: tuple[Any, ...] = (),
        kwds: dict[str, Any] | None = None,
    ):
        self._recorder, self._real, self._name, self.dist = recorder, real, name, dist
        self._given = (args, kwds or {})

    @property
    def args(self) -> tuple[Any, ...]:
        return self._seen("args")[0]  # type: ignore[no-any-return]

    @property
    def kwds(self) -> dict[str, Any]:
        return self._seen("kwds")[1]  # type: ignore[no-any-return]

    def _seen(self, attribute: str) -> tuple[Any, ...]:
        """The parameters; of one that was frozen outside, as traced code sees them."""
        if self._real is not None:
            shadow = self._recorder.namespace.shadow
            self._given = tuple(shadow(getattr(self._real, n), f"{self._name}.{n}") for n in ("args", "kwds"))
        return self._given

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.dist, name)
        if not callable(found):
            return found
        args, kwds = self._seen(name)
        if name in ("rvs", "entropy", "mean", "var", "std", "median", "stats", "support"):
            return lambda *own, **options: found(*args, *own, **kwds, **options)
        return lambda x, *own, **options: found(x, *args, *own, **kwds, **options)
