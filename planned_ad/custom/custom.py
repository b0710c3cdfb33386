"""Functions with derivatives of their own: `custom_rule`, `opaque` and `numba_rule`."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, overload

import numpy as np

from ..differentiate.transposition import pullback_tape, pushforward_tape
from ..errors import TraceError, UnsupportedError
from ..python.made import function_behind
from ..python.source import Line
from ..python.structure import Structure
from ..python.type_variables import Arguments, Decorated, Given
from ..tape.callees import Callee, Derivative, Type, call
from ..tape.tape import Tape
from ..trace import Trace
from ..tracing.loops.list_in_trace import is_traced_list
from ..tracing.record.recorder import Recorder
from ..tracing.record.traced import Traced
from ..tracing.values.scalar_tracer import ScalarTracer
from .operands import Form, Operand, Static, form_of, matched
from .subtrace import Closed, Options, closed_tape, note, options_of

RESULT = "result"
Names = str | Sequence[str] | None  # of parameters, and RESULT


class CustomFunction(Generic[Arguments, Given]):
    """A function with a derivative of its own. Made by `custom_rule`, `opaque` and `numba_rule`.

    Outside of traced code, calling it calls the function. `vjp` and `jvp` give it its derivatives.
    """

    def __init__(self, function: Callable[Arguments, Given], parameters_of: Any = None):
        function = function_behind(function)
        self.function = function
        self.__name__: str = getattr(function, "__name__", type(function).__name__)
        functools.update_wrapper(self, function, updated=())
        parameters_of = function if parameters_of is None else parameters_of
        self.signature = inspect.signature(getattr(parameters_of, "py_func", parameters_of))
        self.__signature__ = self.signature
        self.parameters = tuple(self.signature.parameters)
        self.line = definition(function)
        self._vjp: UserRule | None = None
        self._jvp: UserRule | None = None
        if RESULT in self.parameters:
            raise TypeError(f"{self.__name__}: a parameter cannot be called `{RESULT}`, the name of what it returns")

    def __repr__(self) -> str:
        return f"<planned_ad function {self.__name__} with a derivative of its own>"

    @overload
    def vjp(self, function: Decorated, *, needs: Names = None) -> Decorated: ...
    @overload
    def vjp(self, function: None = None, *, needs: Names = None) -> Callable[[Decorated], Decorated]: ...
    def vjp(self, function: Any = None, *, needs: Names = None) -> Any:
        """Decorator: how a cotangent of the result becomes cotangents of the arguments.

        Parameters
        ----------
        needs : str or sequence of str, optional
            Names of parameters, and `"result"`, whose values it gets, in that order; "x, result" is short for two. The
            plan keeps these for the reverse sweep (or has them again), and nothing else. All parameters by default.

        Notes
        -----
        The decorated `(*needs, cotangent)` gets the cotangent nested as the result is, None in the place of what is not
        floating. It returns a cotangent for each parameter, a tuple; None stands for zero, and for parameters that
        are not floating. A function of one parameter may return its cotangent alone. Unchecked: that it is right
        (see `planned_ad.testing.check_rule`), and linear in the cotangent.
        """
        if function is None:
            return functools.partial(self.vjp, needs=needs)
        self._vjp = UserRule(function, self._needs(needs, "vjp"))
        return function

    @overload
    def jvp(self, function: Decorated, *, needs: Names = None) -> Decorated: ...
    @overload
    def jvp(self, function: None = None, *, needs: Names = None) -> Callable[[Decorated], Decorated]: ...
    def jvp(self, function: Any = None, *, needs: Names = None) -> Any:
        """Decorator: how tangents of the arguments become the tangent of the result.

        The decorated `(*needs, *tangents)` gets one tangent for each parameter (None for what is not floating), and
        returns the tangent of the result, nested as that is; None stands for zero. `needs` as for `vjp`. Of `vjp` and
        `jvp` one is enough, since each follows from the other where it is traced code.
        """
        if function is None:
            return functools.partial(self.jvp, needs=needs)
        self._jvp = UserRule(function, self._needs(needs, "jvp"))
        return function

    def _needs(self, needs: Names, what: str) -> tuple[str, ...]:
        if needs is None:
            return self.parameters
        names = tuple(n.strip() for n in needs.split(",") if n.strip()) if isinstance(needs, str) else tuple(needs)
        for name in names:
            if name not in (*self.parameters, RESULT):
                raise TypeError(
                    f"{self.__name__}.{what}: needs={name!r} is neither a parameter ({', '.join(self.parameters)}) "
                    f"nor {RESULT!r}"
                )
        return names

    @property
    def has_vjp(self) -> bool:
        return self._vjp is not None

    @property
    def has_jvp(self) -> bool:
        return self._jvp is not None

    # Calls.

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Given:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        leaves, form = form_of(dict(bound.arguments))
        for leaf in form.leaves:
            if isinstance(leaf, Static):
                self._check_static(leaf.value)
        tracers = [leaf for leaf in leaves if issubclass(type(leaf), Traced)]
        if not tracers:
            return self._plain(*args, **kwargs)
        recorder = tracers[0].recorder
        if any(tracer.recorder is not recorder for tracer in tracers):
            raise UnsupportedError(f"{recorder.here()}: {self.__name__} gets values of different traces")
        if all(map(recorder.is_concrete, leaves)):
            plain = self._arguments(form.objects([np.asarray(recorder.plain(leaf)) for leaf in leaves]))
            return recorder.adopt(self._plain(*plain.args, **plain.kwargs))
        return self._recorded(recorder, leaves, form)

    def _check_static(self, obj: Any) -> None:
        """Refuse traced values that are no operands, for which the rule would not be used."""
        if not type(obj).__module__.startswith("planned_ad.tracing."):
            return
        if is_traced_list(obj):  # a dict in memory: as Python makes it, from now on
            raise obj.refuse()
        recorder = getattr(obj, "recorder", None)
        where = recorder.here() if isinstance(recorder, Recorder) else "planned_ad"
        raise UnsupportedError(
            f"{where}: {self.__name__} gets an array of an extent that changes from iteration to iteration, or is "
            f"known at run time only; pass arrays of full extent"
        )

    def _plain(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def _arguments(self, by_name: dict[str, Any]) -> inspect.BoundArguments:
        return inspect.BoundArguments(self.signature, by_name)  # type: ignore[arg-type]

    def _recorded(self, recorder: Recorder, leaves: Sequence[Any], form: Form) -> Any:
        recorder.mark()
        callee, result = self._callee(recorder, form)
        values = [recorder.value_of(leaf, kind.dtype) for leaf, kind in zip(leaves, form.operands)]
        found = call(recorder.builder, callee, values)
        kinds = result.operands
        tracers = [
            recorder.array(v) if kind.kind == "array" else ScalarTracer(recorder, v, kind.kind == "number")
            for v, kind in zip(found, kinds)
        ]
        left = iter(tracers)
        leaves = [next(left) if isinstance(leaf, Operand) else leaf.value for leaf in result.leaves]
        return recorder.namespace.shadow(result.structure.unflatten(leaves))

    def _callee(self, recorder: Recorder, form: Form) -> tuple[Callee, Form]:
        """One for each form of arguments in a trace, so that equal calls are equal operations."""
        known: dict[Any, Any] = recorder.__dict__.setdefault("callees", {})
        closed = Closed(self.__name__)
        own = self._closed(closed)
        for leaf in form.leaves:
            if isinstance(leaf, Static):
                closed.look_into(leaf.value)
        contents = tuple(map(id, closed.contents))
        try:
            key: Any = (self, form, contents)
            hash(key)
        except TypeError:  # a static argument that is compared by identity
            leaves = [leaf if isinstance(leaf, Operand) else id(leaf.value) for leaf in form.leaves]
            key = (self, form.structure, tuple(leaves), contents)
        if key not in known or closed.may_change:
            callee, result, traced = own._make_callee(form, options_of(recorder))
            if traced is not None:
                note(recorder, traced)
            known[key] = (callee, result, form, closed)
        return known[key][:2]

    def _closed(self, closed: Closed) -> CustomFunction:
        """This function where its code is, or was defined in, no part of the trace."""
        function = closed.function(self.function)
        rules = [rule and UserRule(closed.function(rule.function), rule.needs) for rule in (self._vjp, self._jvp)]
        if function is self.function and all(
            new is None or new.function is old.function  # type: ignore[union-attr]
            for new, old in zip(rules, (self._vjp, self._jvp))
        ):
            return self
        own = copy.copy(self)
        own.function, (own._vjp, own._jvp) = function, rules
        return own

    # The function and its derivatives as callees.

    def _make_callee(self, form: Form, options: Options) -> tuple[Callee, Form, Trace | None]:
        found: list[Form] = []

        def begin(*arrays):
            bound = self._arguments(form.objects(arrays))
            return bound.args, bound.kwargs

        def finish(recorder, result):
            leaves, of_result = form_of(result)
            found.append(of_result)
            return [_tracer(recorder, leaf, kind) for leaf, kind in zip(leaves, of_result.operands)]

        examples = [operand.example() for operand in form.operands]
        tape, traced = closed_tape(self.function, self.__name__, examples, begin, finish, options)
        operands, results = ([o.type for o in f.operands] for f in (form, found[-1]))
        callee = traced_callee(self.__name__, operands, results, tape, self.line)
        self._add_derivatives(callee, form, found[-1], options)
        return callee, found[-1], traced

    def _add_derivatives(self, callee: Callee, form: Form, result: Form, options: Options) -> None:
        callee.has_rule = self._vjp is not None or self._jvp is not None
        if self._vjp is not None:
            callee.make_pullback = functools.partial(self._pullback, self._vjp, callee, form, result, options)
        if self._jvp is not None:
            callee.make_pushforward = functools.partial(self._pushforward, self._jvp, callee, form, result, options)
        if self._vjp is None and self._jvp is not None:
            callee.make_pullback = functools.partial(self._transpose, callee, "vjp")
        if self._jvp is None and self._vjp is not None:
            callee.make_pushforward = functools.partial(self._transpose, callee, "jvp")

    def _transpose(self, callee: Callee, missing: str) -> Derivative:
        """The pullback from the pushforward, or that from the pullback."""
        other = callee.pushforward if missing == "vjp" else callee.pullback
        assert other is not None
        if other.callee.tape is None:
            raise TraceError(
                f"{self.__name__} ({self.line}) has no {missing}, and its other derivative is not traced code, from "
                f"which it would follow. Write one: @{self.__name__}.{missing}"
            )
        count = len(other.needs)
        linear = list(range(count, len(other.callee.operands)))
        floating = callee.floating_operands if missing == "vjp" else callee.floating_results
        given = callee.floating_results if missing == "vjp" else callee.floating_operands
        tape = pullback_tape(other.callee.tape, linear, linear=True)
        results = tuple(other.callee.operands[k] for k in linear)
        operands = (*other.callee.operands[:count], *other.callee.results)
        assert list(other.targets) == given, "a derivative of this module has every target"
        inner = traced_callee(f"{missing} of {self.__name__}", operands, results, tape, self.line)
        return Derivative(callee=inner, needs=other.needs, targets=tuple(floating))

    def _pullback(self, rule: UserRule, callee: Callee, form: Form, result: Form, options: Options) -> Derivative:
        needs, needed = self._needed(rule, form, result)
        cotangents = [o for o in result.operands if o.is_floating]
        name = f"vjp of {self.__name__}"

        def begin(*arrays):
            return (*needed.objects(arrays[: len(needs)]), result.derivatives(arrays[len(needs) :])), {}

        def finish(recorder, found):
            targets = [o for o in form.operands if o.is_floating]
            where = f"{name} ({definition(rule.function)})"
            parts = self._by_parameter(form, found, where)
            return [_derivative(recorder, part, o, where, label) for (label, part), o in zip(parts, targets)]

        return self._derivative(rule, callee, name, needs, needed, cotangents, form, begin, finish, options)

    def _pushforward(self, rule: UserRule, callee: Callee, form: Form, result: Form, options: Options) -> Derivative:
        needs, needed = self._needed(rule, form, result)
        tangents = [o for o in form.operands if o.is_floating]
        name = f"jvp of {self.__name__}"

        def begin(*arrays):
            by_name = form.derivatives(arrays[len(needs) :])
            return (*needed.objects(arrays[: len(needs)]), *by_name.values()), {}

        def finish(recorder, found):
            targets = [o for o in result.operands if o.is_floating]
            where = f"{name} ({definition(rule.function)})"
            parts = matched(result, found, RESULT, _refusing(where))
            return [_derivative(recorder, part, o, where, label) for (label, part), o in zip(parts, targets)]

        return self._derivative(rule, callee, name, needs, needed, tangents, result, begin, finish, options)

    def _derivative(
        self,
        rule: UserRule,
        callee: Callee,
        name: str,
        needs: list[int],
        needed: Form,
        carried: Sequence[Operand],
        target: Form,
        begin: Callable[..., tuple[tuple, dict]],
        finish: Callable[[Recorder, Any], Sequence[Any]],
        options: Options,
    ) -> Derivative:
        given = [*needed.operands, *carried]
        tape, _ = closed_tape(rule.function, name, [o.example() for o in given], begin, finish, options)
        results = tuple(o.type for o in target.operands if o.is_floating)
        inner = traced_callee(name, tuple(o.type for o in given), results, tape, definition(rule.function))
        targets = tuple(k for k, o in enumerate(target.operands) if o.is_floating)
        return Derivative(callee=inner, needs=tuple(needs), targets=targets)

    def _needed(self, rule: UserRule, form: Form, result: Form) -> tuple[list[int], Form]:
        """The numbers of the operands and results that a derivative reads, and how it gets them: as a tuple."""
        own = {name: (part, numbers) for name, part, numbers in form.parts()}
        first = len(form.operands)
        own[RESULT] = (result, list(range(first, first + len(result.operands))))
        found = [own[name] for name in rule.needs]
        children = tuple(part.structure for part, _ in found)
        structure = Structure(kind=tuple, keys=tuple(range(len(found))), children=children)
        leaves = tuple(leaf for part, _ in found for leaf in part.leaves)
        return [k for _, numbers in found for k in numbers], Form(structure, leaves)

    def _by_parameter(self, form: Form, found: Any, where: str) -> list[tuple[str, Any]]:
        """What a vjp returned for each floating operand, which is called so."""
        parts = list(form.parts())
        if len(parts) == 1 and not (type(found) is tuple and len(found) == 1):
            found = (found,)
        if type(found) not in (tuple, list) or len(found) != len(parts):
            raise TraceError(
                f"{where} returns {_described(found)}, and must return a tuple with a cotangent for each "
                f"parameter ({', '.join(self.parameters)}), None for what has none"
            )
        refuse = _refusing(where)
        return [leaf for (p, part, _), own in zip(parts, found) for leaf in matched(part, own, p, refuse)]


class UserRule:
    """A derivative as the user wrote it, and what it reads."""

    def __init__(self, function: Callable[..., Any], needs: tuple[str, ...]):
        self.function, self.needs = function, needs


def traced_callee(name: str, operands: Sequence[Type], results: Sequence[Type], tape: Tape, line: Line) -> Callee:
    """A callee whose derivatives are those of its tape."""
    callee = Callee(name=name, operands=tuple(operands), results=tuple(results), tape=tape, line=line)
    wanted, floating = callee.floating_operands, callee.floating_results
    targets = tuple(callee.operands[k] for k in wanted), tuple(callee.results[k] for k in floating)
    every = tuple(range(len(callee.operands)))

    def pullback() -> Derivative:
        found = pullback_tape(tape, wanted)
        inner = traced_callee(f"pullback of {name}", (*callee.operands, *targets[1]), targets[0], found, line)
        return Derivative(callee=inner, needs=every, targets=tuple(wanted))

    def pushforward() -> Derivative:
        found = pushforward_tape(tape, wanted)
        inner = traced_callee(f"pushforward of {name}", (*callee.operands, *targets[0]), targets[1], found, line)
        return Derivative(callee=inner, needs=every, targets=tuple(floating))

    callee.make_pullback, callee.make_pushforward = pullback, pushforward
    return callee


def _tracer(recorder: Recorder, leaf: Any, kind: Operand) -> Any:
    value = recorder.value_of(leaf, kind.dtype)
    return ScalarTracer(recorder, value) if kind.shape == () else recorder.array(value)


def _derivative(recorder: Recorder, leaf: Any, kind: Operand, where: str, label: str) -> Any:
    """A cotangent or tangent, as `kind`; a plain number stands for an array full of it."""
    if leaf is None:
        leaf = 0.0
    value = recorder.value_of(leaf, kind.dtype)
    if value.shape != kind.shape:
        if value.shape != () or type(leaf) not in (int, float):
            raise TraceError(
                f"{where} gives a derivative of shape {value.shape} for `{label}`, which has shape {kind.shape}"
            )
        value = recorder.builder.broadcast(value, kind.shape)
    return ScalarTracer(recorder, value) if kind.shape == () else recorder.array(value)


def _refusing(where: str) -> Callable[[str], Exception]:
    return lambda message: TraceError(f"{where}: {message}")


def _described(obj: Any) -> str:
    return f"{len(obj)} of them" if type(obj) in (tuple, list) else "one"


def definition(function: Any) -> Line:
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if code is None:
        return Line(file="", number=0, function=name)
    return Line(file=code.co_filename, number=code.co_firstlineno, function=name)


def custom_rule(function: Callable[Arguments, Given]) -> CustomFunction[Arguments, Given]:
    """Decorator: a Python function that gets a derivative of its own, in place of that of its code.

    The function, and its `vjp` or `jvp`, are traced as other code is; all are differentiated again where a derivative
    of a derivative is asked for. They see their arguments as if they were passed by value, and must not write to them.

    Returns
    -------
    CustomFunction
        To be called as `function`, in traced code or not, with decorators `vjp` and `jvp`.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> @planned_ad.custom_rule
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.vjp(needs="x")
    ... def _(x, cotangent):
    ...     return cotangent * (1 - 1 / (1 + np.exp(x)))
    >>> plan = planned_ad.compile(lambda x: np.sum(log1pexp(x)), np.zeros(2))
    >>> plan.gradient(np.array([0.0, 100.0]))
    array([0.5, 1. ])
    """
    return CustomFunction(function)
