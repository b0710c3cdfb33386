"""Generators of random numbers that a traced function makes from a seed: each draw is a constant of its own.

They give the same numbers at each call, as the function does. So does the generator of the whole process, once the
function has seeded it, `np.random.seed(0)`; calls of a plan leave that one as it is. What a loop draws differs from
iteration to iteration while nothing that the program holds does: a draw unrolls the loops that are around it and not
around the making of its generator. Generators from outside, and those without a seed, give other numbers at each call,
which a plan cannot.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import TraceError, UnsupportedError
from ...python.shadows import ShadowGlobals
from ..record.recorder import Recorder
from .made_later import later
from .stand_ins import in_place_of

KINDS = (np.random.Generator, np.random.RandomState, random.Random)
SEEDED = (
    np.random.default_rng, np.random.SeedSequence, np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937,
    np.random.Philox, np.random.SFC64,
)  # fmt: skip
OF_PYTHON = frozenset(getattr(random, n) for n in random.__all__ if n[0].islower())
ADVICE = "Draw the numbers outside and pass them as an argument"
SEED = "or make a generator in the function from a fixed seed: numpy.random.default_rng(seed), random.Random(seed)"


def draw_replacements() -> dict[int, Any]:
    """By identity, what traced code sees in place of what draws random numbers."""
    drawing = [getattr(np.random, n) for n in np.random.__all__ if n[0].islower() and n != "default_rng"]
    drawing += [getattr(random, n) for n in random.__all__ if n[0].islower()]
    kinds = later(KINDS, lambda recorder, kind: seeded(kind))
    return kinds | later(SEEDED, _requiring_a_seed) | later(drawing, _of_process)


@dataclass
class OfProcess:
    """What stands for the generator of the whole process, from where the function seeds it with a fixed number."""

    generator: Any
    around: tuple[Any, ...]  # the loops and branches in which that is


def _of_process(recorder: Recorder, function: Any) -> Callable[..., Any]:
    """A function that draws from the generator of the process; refused where the function has not seeded it."""
    name, is_numpys = function.__name__, not isinstance(function, type) and function not in OF_PYTHON
    name = {"ranf": "random_sample", "sample": "random_sample"}.get(name, name) if is_numpys else name

    def drawn(*args, **kwargs):
        known = recorder.seeded.get(is_numpys)
        if name == "seed":
            seed = [recorder.plain(arg) for arg in (*args, *kwargs.values())]
            if len(seed) != 1 or seed[0] is None:
                what = "without a fixed number makes a generator that gives other numbers at each call"
                raise TraceError(f"{recorder.here()}: seed {what}. {ADVICE}, {SEED}.")
            generator = seeded(np.random.RandomState if is_numpys else random.Random)(*seed)
            recorder.seeded[is_numpys] = OfProcess(generator, tuple(recorder.scopes.open))
            return None
        if known is None or tuple(recorder.scopes.open[: len(known.around)]) != known.around:
            what = "gives another result at each call, which a plan cannot"
            raise TraceError(f"{recorder.here()}: {name} {what}. {ADVICE}, {SEED}.")
        return getattr(known.generator, name)(*args, **kwargs)

    return drawn


def _requiring_a_seed(recorder: Recorder, make: Any) -> Callable[..., Any]:
    @functools.wraps(make, ("__name__", "__doc__"), ())
    def made(seed=None, **options):
        if seed is None and make is np.random.default_rng:
            return Outside(
                recorder, "default_rng()", np.random.Generator, " without a seed"
            )  # which may be made and not used
        if seed is None and not options:
            raise TraceError(
                f"{recorder.here()}: {make.__name__}() without a seed gives other numbers at each call, which a plan "
                f"cannot. {ADVICE}, or give it a fixed seed."
            )
        is_traced = recorder.is_scalar(seed) and not seed.is_known
        seed = seed.number_for("a function that needs it") if is_traced else recorder.plain(seed)
        result = make(seed, **options) if seed is not None else make(**options)
        if make is np.random.default_rng and not isinstance(seed, np.random.Generator):
            return seeded(np.random.Generator)(result.bit_generator)
        return result

    return in_place_of(make, made)


def draws_from_outside(recorder: Recorder, obj: object, name: str) -> object | None:
    """For a generator from outside, a stand-in that raises when it is used; None for anything else."""
    return Outside(recorder, name, type(obj)) if isinstance(obj, KINDS) else None


class Outside:
    """What traced code sees in place of a random generator that it finds in its globals, or makes without a seed."""

    def __init__(self, recorder: Recorder, name: str, kind: type, how: str = ""):
        self.recorder, self.name, self.kind, self.how = recorder, name, kind, how

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # for `isinstance`
        return seeded(self.kind)

    def __getattr__(self, attribute: str) -> Any:
        raise TraceError(
            f"{self.recorder.here()}: `{self.name}.{attribute}`{self.how} gives other numbers at each call, "
            f"which a plan cannot. {ADVICE}, {SEED}."
        )


@functools.cache
def seeded(kind: type) -> type:
    """A kind of generator that tells the trace in which it is used of each draw."""
    names = [name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))]
    methods = {name: _noted(getattr(kind, name)) for name in names}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        recorder = current_recorder()
        if not args and not kwargs and recorder is not None:
            raise TraceError(
                f"{recorder.here()}: {kind.__name__}() without a seed gives other numbers at each call, which a plan "
                f"cannot. {ADVICE}, or give it a fixed seed."
            )
        kind.__init__(self, *args, **kwargs)  # type: ignore[misc]
        self.depth = 0 if recorder is None else recorder.scopes.depth

    methods["__init__"] = __init__
    return types.new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(methods))


def _noted(method: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    def draw(self, *args, **kwargs):
        recorder = current_recorder()
        if recorder is None or not hasattr(self, "depth"):
            return method(self, *args, **kwargs)
        recorder.mark()
        unroll_around(recorder, self)
        array = args[0] if args else None
        is_pythons = isinstance(self, random.Random)
        if (
            recorder.is_array(array)
            and method.__name__ in ON_ARRAYS
            and not (is_pythons and method.__name__ == "choice")
        ):
            return ON_ARRAYS[method.__name__](recorder, method, self, array, *args[1:], **kwargs)
        args = tuple(as_count(recorder, a) for a in args)
        kwargs = {key: as_count(recorder, a) for key, a in kwargs.items()}
        if not is_pythons and not all(map(recorder.is_concrete, (*args, *kwargs.values()))):
            return with_traced_parameters(recorder, method, self, args, kwargs)

        def known(a: Any) -> Any:
            return recorder.plain(a) if recorder.is_array(a) and recorder.is_concrete(a) else a

        return recorder.adopt(method(self, *map(known, args), **{key: known(a) for key, a in kwargs.items()}))

    return draw


def unroll_around(recorder: Recorder, generator: Any) -> None:
    scopes = recorder.scopes
    around = [scope for scope in scopes.open[generator.depth :] if scope.site is not None]
    if around:
        raise scopes.unroll(around, "draws random numbers", recorder.builder.line)


def is_seeded(obj: Any) -> bool:
    """Whether it is one of NumPy's generators that the function has made from a seed."""
    return isinstance(obj, np.random.Generator | np.random.RandomState) and hasattr(obj, "depth")


@contextlib.contextmanager
def drawing_elsewhere(recorder: Recorder, generator: Any) -> Iterator[None]:
    """The generator is drawn from by a library's code that runs as it is: its numbers are no arrays of the trace."""
    unroll_around(recorder, generator)
    depth = vars(generator).pop("depth")
    try:
        yield
    finally:
        generator.depth = depth


def current_recorder() -> Recorder | None:
    """The recorder of the traced code that is running."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if type(frame.f_globals) is ShadowGlobals:
            return frame.f_globals.namespace.recorder
        frame = frame.f_back
    return None


# Draws from an array that is traced: what is drawn are its indices.


def shuffle(recorder: Recorder, method: Any, generator: Any, array: Any, axis: int = 0) -> None:
    order = np.arange(array.shape[axis])
    method(generator, order)
    array[...] = recorder.call(np.take, (array, order), {"axis": axis})


def permutation(recorder: Recorder, method: Any, generator: Any, array: Any, axis: int = 0) -> Any:
    return recorder.call(np.take, (array, method(generator, array.shape[axis])), {"axis": axis})


def choice(recorder: Recorder, method: Any, generator: Any, array: Any, *args: Any, **options: Any) -> Any:
    axis = options.pop("axis", 0)
    if not recorder.is_concrete(list(options.values())):
        raise UnsupportedError(f"{recorder.here()}: .choice of a random generator with traced probabilities")
    drawn = method(generator, array.shape[axis], *recorder.plain(args), **recorder.plain(options))
    return recorder.call(np.take, (array, drawn), {"axis": axis})


ON_ARRAYS: dict[str, Callable[..., Any]] = {"shuffle": shuffle, "permutation": permutation, "choice": choice}


# Draws whose parameters are traced: of numbers without these, what NumPy makes of them.


def as_count(recorder: Recorder, item: Any) -> Any:
    """A traced integer as the number that the plan relies on: how many are drawn."""
    if recorder.is_scalar(item) and not item.is_known and item.dtype.kind in "iu":
        return item.number_for("a random generator")
    return item


def with_traced_parameters(recorder: Recorder, method: Any, generator: Any, args: Any, kwargs: Any) -> Any:
    name = method.__name__
    mean = args[0] if args else kwargs.get("mean")
    if name == "multivariate_normal" and recorder.is_concrete(
        [*args[1:], *(v for v in kwargs.values() if v is not mean)]
    ):
        mean = recorder.call(np.asarray, (mean,), {})
        rest, options = recorder.plain(args[1:]), {k: recorder.plain(v) for k, v in kwargs.items() if k != "mean"}
        return mean + getattr(generator, name)(np.zeros(mean.shape), *rest, **options)
    given = FORMULAS.get(name)
    if given is None:
        raise UnsupportedError(
            f"{recorder.here()}: .{name} of a random generator with a traced parameter is not supported: what it draws "
            f"is not a formula of it. Of those that are, there are {', '.join(FORMULAS)}"
        )
    defaults, standard, formula = given
    names = (*defaults, "size")
    own = {**defaults, "size": None, **dict(zip(names, args)), **kwargs}
    if len(args) > len(names) or len(own) > len(names):
        raise TypeError(f"{name}() takes {len(names)} arguments: {', '.join(names)}")
    size = recorder.plain(own.pop("size"))
    parameters = [recorder.call(np.asarray, (v,), {}) if type(v) in (list, tuple) else v for v in own.values()]
    shapes = [np.shape(v) for v in parameters]
    if size is None and any(shapes):
        size = np.broadcast_shapes(*shapes)
    drawn = getattr(generator, standard)(*([0.0, 1.0] if standard == name else []), size=size)
    return formula(drawn, *parameters)


def at_location(drawn: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * drawn


FORMULAS: dict[str, tuple[dict[str, float | None], str, Callable[..., Any]]] = {
    "normal": ({"loc": 0.0, "scale": 1.0}, "normal", at_location),
    "laplace": ({"loc": 0.0, "scale": 1.0}, "laplace", at_location),
    "logistic": ({"loc": 0.0, "scale": 1.0}, "logistic", at_location),
    "gumbel": ({"loc": 0.0, "scale": 1.0}, "gumbel", at_location),
    "lognormal": ({"mean": 0.0, "sigma": 1.0}, "standard_normal", lambda z, mean, sigma: np.exp(mean + sigma * z)),
    "uniform": ({"low": 0.0, "high": 1.0}, "random", lambda u, low, high: low + (high - low) * u),
    "exponential": ({"scale": 1.0}, "standard_exponential", lambda e, scale: scale * e),
    "rayleigh": ({"scale": 1.0}, "standard_exponential", lambda e, scale: scale * np.sqrt(2.0 * e)),
    "weibull": ({"a": None}, "standard_exponential", lambda e, a: e ** (1.0 / a)),
    "pareto": ({"a": None}, "standard_exponential", lambda e, a: np.expm1(e / a)),
    "power": ({"a": None}, "standard_exponential", lambda e, a: (-np.expm1(-e)) ** (1.0 / a)),
}
"""By the name of a method: its parameters, the method that draws without them, and the draw by both."""
