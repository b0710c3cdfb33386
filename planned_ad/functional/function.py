"""`function`: a function that keeps a plan for each signature of its arguments, with the gradient beside the value."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, overload

from ..calls.conversions import read_example
from ..calls.entries import check_loss
from ..calls.kinds import ARGUMENT, SHADOW
from ..compiling import compile
from ..errors import ArgumentError
from ..plan import Plan
from ..python.options import shown, takes_function, whole_number
from ..python.shadows import ShadowGlobals
from ..python.structure import Const
from ..python.type_variables import Arguments, Result
from .by_signature import BySignature
from .row_sums import RowArguments, gradient_sum, parts, rows_of, unmarked
from .sum_check import FoundSum, check_few_rows, check_value
from .sum_terms import check_same_terms, check_terms
from .transformed import recorder_of

LARGEST = 4096
FULL_PARTS = 4  # of the largest size, on which it is tried whether a function is a sum


class Function(Generic[Arguments, Result]):
    """A function with its derivatives, for arguments of any signature. Made by `planned_ad.function`.

    Attributes
    ----------
    function : callable
        The function that it was made from.
    sums_over : tuple of str
        Arguments whose rows it sums over.
    """

    def __init__(
        self,
        function: Callable[Arguments, Result],
        sums_over: Sequence[str] = (),
        largest: int = LARGEST,
        options: dict[str, Any] | None = None,
    ):
        functools.update_wrapper(self, function)  # whose own attributes, as those of a derivative, come first
        self.function, self.sums_over, self._options = function, tuple(sums_over), options or {}
        self._largest = 4 ** ((largest.bit_length() - 1) // 2)
        self._plans = BySignature[Plan]()
        self._found_sums: weakref.WeakKeyDictionary[Plan, FoundSum] = weakref.WeakKeyDictionary()
        if sums_over:
            self._parameters = inspect.signature(getattr(function, "py_func", function))
            unknown = [name for name in self.sums_over if name not in self._parameters.parameters]
            if unknown:
                raise ArgumentError(f"function: sums_over names arguments of {self._name}, and {unknown[0]!r} is none")

    def __get__(self, obj: Any, owner: type | None = None) -> Function[..., Result]:
        """Of a method: that of an object, which is no argument."""
        if obj is None:
            return self
        return Function(types.MethodType(self.function, obj), self.sums_over, self._largest, self._options)

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        frame = sys._getframe(1)
        plan = self._known(args, kwargs, frame)
        if plan is not None:
            return plan._call(*args)
        recorder = recorder_of((*args, *kwargs.values()), frame)
        if recorder is not None:
            return recorder.namespace.function(self.function)(*args, **kwargs)
        return self._run("_call", args, kwargs)

    def gradient(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """The gradient by all active arguments; `out` is overwritten and returned: a shadow, or a tuple of several."""
        frame = sys._getframe(1)
        plan = self._known(args, kwargs, frame)
        if plan is not None:
            return plan.gradient(*args, *after(out))
        self._refuse_in_traces(args, kwargs, frame)
        if self.sums_over:
            return self._run("value_and_gradient", args, kwargs, out)[1]
        return self._run("gradient", args, kwargs, out)

    def value_and_gradient(self, *args: Any, out: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        """`(value, gradient)`; arguments as for `gradient`."""
        frame = sys._getframe(1)
        plan = self._known(args, kwargs, frame)
        if plan is not None:
            return plan.value_and_gradient(*args, *after(out))
        self._refuse_in_traces(args, kwargs, frame)
        return self._run("value_and_gradient", args, kwargs, out)

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The plan for arguments like these; compiled at the first time."""
        args, kwargs = self._read(args, kwargs)
        return self._plans.of(self._compiled, args, kwargs)

    def joined(self, parameters: Sequence[Any], rows: Sequence[Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call, by position and by keyword: those without rows in order, and those with rows."""
        kinds = self._parameters.parameters
        names = [name for name in kinds if name not in self.sums_over]
        if len(parameters) > len(names):
            raise ArgumentError(f"{self._name} takes {', '.join(names)} besides rows; {len(parameters)} were given")
        given = dict(zip(names, parameters)) | dict(zip(self.sums_over, rows))
        by_position = [name for name in given if kinds[name].kind is inspect.Parameter.POSITIONAL_ONLY]
        args = tuple(given[name] for name in kinds if name in by_position)
        return args, {name: value for name, value in given.items() if name not in by_position}

    def __repr__(self) -> str:
        return f"<planned_ad.function({self._name}): plans of {len(self._plans)} signatures>"

    def __reduce__(self) -> tuple:
        return Function, (self.function, self.sums_over, self._largest, self._options)

    def _compiled(self, args: tuple, kwargs: dict[str, Any]) -> Plan:
        if self.sums_over:
            args, kwargs = self._rows(args, kwargs).with_rows(lambda leaf: leaf, Const)
        plan = compile(self.function, args, kwargs, **{"calls": ()} | self._options)
        if self.sums_over:
            check_loss(plan._variants[0].trace)
            if self._options.get("check", True):
                plan._ask("sums_over", functools.partial(check_terms, self._name, self.sums_over))
            entry = plan._variants[0].entry("value_and_gradient")
            written = [place.path for p in entry.of(ARGUMENT) for place in p.places if place.is_written]
            if written:
                raise ArgumentError(f"{self._name} writes to {written[0]}: then it is no sum over rows")
        return plan

    def _read(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        return (read_example(args), read_example(kwargs)) if self._options.get("convert") else (args, kwargs)

    def _rows(self, args: tuple, kwargs: dict[str, Any]) -> RowArguments:
        return rows_of(self._name, self._parameters, self.sums_over, args, kwargs)

    def _known(self, args: tuple, kwargs: dict[str, Any], frame: types.FrameType) -> Plan | None:
        """The plan of a call outside of traces whose arguments are plain, where there is one."""
        if kwargs or self.sums_over or type(frame.f_globals) is ShadowGlobals:
            return None
        return self._plans.known(args)

    def _refuse_in_traces(self, args: tuple, kwargs: dict[str, Any], frame: types.FrameType) -> None:
        recorder = recorder_of((*args, *kwargs.values()), frame)
        if recorder is not None:
            raise ArgumentError(
                f"{recorder.here()}: the gradient of {self._name} in a function that is being traced; use "
                f"planned_ad.grad({self._name}) there"
            )

    def _run(self, call: str, args: tuple, kwargs: dict[str, Any], out: Any = None) -> Any:
        args, kwargs = self._read(args, kwargs)
        if self.sums_over:
            return self._summed(call, self._rows(args, kwargs), out)
        plan = self._plans.of(self._compiled, args, kwargs)
        args, kwargs = tuple(map(unmarked, args)), {key: unmarked(a) for key, a in kwargs.items()}
        return getattr(plan, call)(*args, *after(out), **kwargs)

    def _summed(self, call: str, rows: RowArguments, out: Any) -> Any:
        """The sum of what a call on each part of the rows gives."""
        cuts = list(parts(rows.count, self._largest))
        first_of = {b - a: (a, b) for a, b in reversed(cuts)}  # of each size
        plans = {size: self._plans.of(self._compiled, *rows.part(*cut)) for size, cut in first_of.items()}
        bare = rows.unmarked
        calls = [(plans[b - a], a, b) for a, b in cuts]
        is_checked = self._options.get("check", True)
        if is_checked:
            self._check(calls, rows)
        given = given_to(calls, bare)
        found = total_value(given) if call == "_call" else total_gradient(given, after(out))
        if is_checked:  # again if this has gone another way
            self._check(calls, rows)
        return found

    def _check(self, calls: list[tuple[Plan, int, int]], rows: RowArguments) -> None:
        """Try whether it is a sum, unless that was tried before for so many rows, on the ways that calls have gone."""
        most, bare = FULL_PARTS * self._largest, rows.unmarked
        plan, size = calls[0][0], min(rows.count, most + 1).bit_length()
        found = self._found_sums.get(plan)
        if found is None or not found.holds(plan):
            found = FoundSum()
        if size not in found.sizes:
            tried = calls if rows.count <= most else calls[:FULL_PARTS]
            check_value(bare, self.function, tried[-1][2], total_value(given_to(tried, bare)))
            check_few_rows(bare, self.function)
            self._compare_terms(calls, rows)
            self._found_sums[plan] = found.also(plan, size)

    def _compare_terms(self, calls: list[tuple[Plan, int, int]], rows: RowArguments) -> None:
        """Refuse what is the same in the traces for two numbers of rows, of which there are some."""
        by_size = {b - a: plan for plan, a, b in calls}
        if len(by_size) == 1 and rows.count > 1:
            fewer = max(calls[0][2] // 4, 1)
            by_size[fewer] = self._plans.of(self._compiled, *rows.part(0, fewer))
        first, *others = ([variant.trace for variant in plan._variants] for plan in by_size.values())
        for other in others:
            check_same_terms(self._name, self.sums_over, first, other)


def after(out: Any) -> tuple:
    """What is passed after the arguments."""
    return out if isinstance(out, tuple) else () if out is None else (out,)


Calls = Iterable[tuple[Plan, tuple, dict[str, Any]]]  # plans with their arguments


def given_to(plans: Iterable[tuple[Plan, int, int]], rows: RowArguments) -> Calls:
    """Plans with the arguments that have these rows."""
    return ((plan, *rows.part(start, stop)) for plan, start, stop in plans)


def total_value(calls: Calls) -> Any:
    return functools.reduce(operator.add, (plan._call(*args, **kwargs) for plan, args, kwargs in calls))


def total_gradient(calls: Calls, shadows: tuple) -> tuple[Any, Any]:
    """Value and gradient in sum; the gradient in the shadows, if they are passed."""
    total, scratch = None, ()
    for plan, args, kwargs in calls:
        value, gradient = plan.value_and_gradient(*args, *(shadows if total is None else scratch), **kwargs)
        if total is None:
            total = value, gradient
        else:
            total = total[0] + value, gradient_sum(total[1], gradient)
            scratch = passed_again(plan, gradient)
    assert total is not None
    return total


def passed_again(plan: Plan, gradient: Any) -> tuple:
    """A gradient that a call has returned, as the shadows of a call."""
    shadows = plan._variants[0].entry("value_and_gradient").of(SHADOW)
    several = gradient if len(shadows) > 1 else (gradient,)
    return tuple(found for found, parameter in zip(several, shadows) if parameter.is_passed)


@overload
def function(
    f: Callable[Arguments, Result], *, sums_over: str | Sequence[str] = (), largest: int = LARGEST, **options: Any
) -> Function[Arguments, Result]: ...
@overload
def function(
    f: None = None, *, sums_over: str | Sequence[str] = (), largest: int = LARGEST, **options: Any
) -> Callable[[Callable[Arguments, Result]], Function[Arguments, Result]]: ...
def function(
    f: Callable[Arguments, Result] | None = None,
    *,
    sums_over: str | Sequence[str] = (),
    largest: int = LARGEST,
    **options: Any,
) -> Any:
    """A function with its gradient, that compiles a plan for each signature of its arguments.

    Parameters
    ----------
    f : callable
        As for `planned_ad.compile`. Without it, a decorator.
    sums_over : str or sequence of str
        Names of arguments (arrays, or containers of arrays of one length) over whose rows `f` sums: what it returns for
        all rows is what it returns for some plus what it returns for the others. Any number of rows then takes few
        plans, each for so many rows as a power of four; there is no derivative by these arguments.
    largest : int
        With `sums_over`, the most rows that a plan is for (rounded down to a power of four).
    **options
        Of `planned_ad.compile`.

    Returns
    -------
    Function
        `g(*args)`, `g.gradient(*args, out=)`, `g.value_and_gradient(*args, out=)`, and `g.plan(*args)`, which has all
        the other calls.

    Raises
    ------
    planned_ad.errors.ArgumentError
        At the call: `f` is no sum over rows. That is tried, with numbers: at the first call of a signature on five rows
        and near the arguments, and on all rows (at most four times `largest`); again for twice as many, and when what
        it finds outside has changed. A function that counts its rows, and does something else for more than that, is
        not found out; `check=False` tries nothing.

    Notes
    -----
    The first call of each signature compiles; 256 signatures are kept. A later call takes some microseconds more than
    that of the plan. With `sums_over` the sum is taken in another order than in `f`: results agree to rounding. Each
    part takes about ten microseconds, for which `largest` rows should be worth it.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> @planned_ad.function(sums_over=["x", "y"])
    ... def loss(slope, x, y):
    ...     return np.sum((slope * x - y) ** 2)
    >>> x, y = np.arange(7.0), np.ones(7)
    >>> loss.value_and_gradient(1.0, x, y)
    (56.0, 140.0)
    >>> loss.value_and_gradient(1.0, x[:5], y[:5])
    (15.0, 40.0)
    """
    if f is None:
        return functools.partial(function, sums_over=sums_over, largest=largest, **options)
    takes_function("planned_ad.function", f)
    unknown = next((name for name in options if name not in inspect.signature(compile).parameters), None)
    if unknown is not None:
        raise ArgumentError(f"planned_ad.function: {unknown!r} is no option of planned_ad.compile")
    names = (sums_over,) if isinstance(sums_over, str) else tuple(sums_over)
    if not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"planned_ad.function: sums_over names arguments, {shown(sums_over)} does not")
    return Function(f, names, whole_number("largest", largest, 1), options)
