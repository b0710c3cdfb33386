"""Functions whose code is not traced: opaque Python functions, and Numba functions with hand-written adjoints."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from ..errors import NotDifferentiableError, TraceError
from ..python.callbacks import NumbaCallback, PythonCallback, Type
from ..python.structure import flatten
from ..python.type_variables import Arguments, Given
from ..tape.callees import Callee, Derivative, Native
from . import differences
from .custom import CustomFunction, Names, UserRule, definition
from .operands import Form, Operand, Static, form_of
from .subtrace import Options

DIFFERENCES = "differences"


class NativeFunction(CustomFunction[Arguments, Given]):
    """A function that is called as it is. `result` says what it returns, of which only the form is looked at."""

    def __init__(self, function: Any, result: Callable[..., Any], parameters_of: Any = None):
        super().__init__(function, parameters_of)
        self.result = result

    def _make_callee(self, form: Form, options: Options) -> tuple[Callee, Form, None]:
        bound = self._arguments(form.objects([o.example() for o in form.operands]))
        _, result = form_of(self.result(*bound.args, **bound.kwargs))
        if not result.operands:
            raise TraceError(f"{self.__name__} ({self.line}): result= gives neither an array nor a float")
        callee = Callee(
            name=self.__name__,
            operands=tuple(o.type for o in form.operands),
            results=tuple(o.type for o in result.operands),
            native=self._native(form, result),
            line=self.line,
        )
        check_one_dtype(callee)
        self._add_derivatives(callee, form, result, options)
        return callee, result, None

    def _native(self, form: Form, result: Form) -> Native:
        raise NotImplementedError

    def _native_pullback(
        self, rule: UserRule, callee: Callee, needs: list[int], given: Sequence[Operand], form: Form, native: Native
    ) -> Derivative:
        """A pullback that is not traced."""

        def refuse() -> Derivative:
            raise NotDifferentiableError(
                f"the vjp of {self.__name__} ({definition(rule.function)}) is not traced code, so that it cannot "
                f"be differentiated itself. Write @{self.__name__}.vjp as traced code (which may call other opaque "
                f"functions)"
            )

        inner = Callee(
            name=f"vjp of {self.__name__}",
            operands=tuple(o.type for o in given),
            results=tuple(o.type for o in of_one_dtype([o for o in form.operands if o.is_floating])),
            native=native,
            line=callee.line,
            make_pullback=refuse,
            make_pushforward=refuse,
            has_rule=True,
        )
        return Derivative(callee=inner, needs=tuple(needs), targets=tuple(callee.floating_operands))


def of_one_dtype(operands: Sequence[Operand]) -> list[Operand]:
    """As they are packed: in the widest dtype."""
    dtype = np.result_type(*(o.dtype for o in operands))
    return [replace(o, dtype=dtype) for o in operands]


def check_one_dtype(callee: Callee) -> None:
    if len(callee.groups) > 1:
        dtypes = ", ".join(dict.fromkeys(str(dtype) for _, dtype in callee.results))
        raise TraceError(
            f"{callee} ({callee.line}) gives arrays of several dtypes ({dtypes}); convert them to one, since they "
            f"come back in one piece of memory"
        )


class OpaqueFunction(NativeFunction[Arguments, Given]):
    """Made by `opaque`."""

    def __init__(self, function: Callable[..., Any], result: Callable[..., Any], derivative: str | None = None):
        super().__init__(function, result)
        if derivative not in (None, DIFFERENCES):
            raise ValueError(f"{self.__name__}: derivative={derivative!r} is neither None nor {DIFFERENCES!r}")
        self._derivative_by = derivative
        self._vjp_is_opaque = False

    def _add_derivatives(self, callee: Callee, form: Form, result: Form, options: Options) -> None:
        super()._add_derivatives(callee, form, result, options)
        if self._derivative_by and not callee.has_rule:
            run = callee.native.run  # type: ignore[union-attr]
            callee.has_rule = True
            callee.make_pullback = lambda: differences.pullback(callee, lambda *arrays: run(arrays))
            callee.make_pushforward = lambda: differences.pushforward(callee, lambda *arrays: run(arrays))

    def vjp(
        self,
        function: Callable[..., Any] | None = None,
        *,
        needs: Names = None,
        opaque: bool = False,
    ) -> Any:
        """As `CustomFunction.vjp`; with `opaque=True` the decorated function is not traced either, but called."""
        if function is None:
            return functools.partial(self.vjp, needs=needs, opaque=opaque)
        self._vjp_is_opaque = opaque
        return super().vjp(function, needs=needs)

    def _native(self, form: Form, result: Form) -> Native:
        def run(*arrays: np.ndarray) -> list[np.ndarray]:
            bound = self._arguments(form.objects(arrays))
            found = self.function(*bound.args, **bound.kwargs)
            leaves, structure = flatten(found)
            if structure != result.structure:
                raise TypeError(f"{self.__name__} returns {structure}, and declares {result.structure}")
            pairs = [(leaf, kind) for leaf, kind in zip(leaves, result.leaves) if isinstance(kind, Operand)]
            return [as_declared(leaf, kind, self.__name__, "its result") for leaf, kind in pairs]

        return PythonCallback(run, [o.type for o in form.operands], [o.type for o in result.operands])

    def _pullback(self, rule: UserRule, callee: Callee, form: Form, result: Form, options: Options) -> Derivative:
        if not self._vjp_is_opaque:
            return super()._pullback(rule, callee, form, result, options)
        needs, needed = self._needed(rule, form, result)
        given = [*needed.operands, *(o for o in result.operands if o.is_floating)]
        targets = [o for o in form.operands if o.is_floating]
        where = f"vjp of {self.__name__} ({definition(rule.function)})"

        def run(*arrays: np.ndarray) -> list[np.ndarray]:
            cotangent = result.derivatives(arrays[len(needs) :])
            found = rule.function(*needed.objects(arrays[: len(needs)]), cotangent)
            parts = self._by_parameter(form, found, where)
            return [
                as_declared(0.0 if part is None else part, o, where, label) for (label, part), o in zip(parts, targets)
            ]

        native = PythonCallback(run, [o.type for o in given], [o.type for o in of_one_dtype(targets)])
        return self._native_pullback(rule, callee, needs, given, form, native)


def as_declared(leaf: Any, kind: Operand, where: str, label: str) -> np.ndarray:
    array = np.asarray(leaf, kind.dtype)
    if array.shape != kind.shape:
        if array.shape != () or type(leaf) not in (int, float):
            raise ValueError(f"{where} gives an array of shape {array.shape} for `{label}`, of shape {kind.shape}")
        array = np.full(kind.shape, array)
    return array


class NumbaFunction(NativeFunction[..., Any]):
    """Made by `numba_rule`."""

    def __init__(self, function: Any, result: Callable[..., Any], adjoint: Any, needs: Names = None):
        super().__init__(function, result, parameters_of=result)
        if adjoint is not None:
            self._vjp = UserRule(adjoint, self._needs(needs, "adjoint"))
        self._vjp_is_compiled = adjoint is not None
        self._callbacks: dict[Any, NumbaCallback] = {}

    def vjp(self, function: Callable[..., Any] | None = None, *, needs: Names = None) -> Any:
        """As `CustomFunction.vjp`, in place of `adjoint`: traced code, which may be differentiated again."""
        self._vjp_is_compiled = False
        return super().vjp(function, needs=needs)

    def _plain(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        leaves, form = form_of(dict(bound.arguments))
        _, result = form_of(self.result(*bound.args, **bound.kwargs))
        found = self._native(form, result).run([np.asarray(leaf) for leaf in leaves])
        return result.objects(found)

    def _native(self, form: Form, result: Form) -> Native:
        return self._compiled(self.function, form, [o.type for o in form.operands], result.operands)

    def _compiled(
        self, function: Any, form: Form, operands: Sequence[Type], results: Sequence[Operand], zeroed: bool = False
    ) -> NumbaCallback:
        """`function` of the leaves of `form`, of further operands, and of its results; compiled once."""
        if any(child.children for child in form.structure.children):
            raise TraceError(f"{function.__name__}: arguments of Numba functions are arrays and numbers, no containers")
        fixed = {k: leaf.value for k, leaf in enumerate(form.leaves) if isinstance(leaf, Static)}
        key = (id(function), form, tuple(operands), tuple(results), zeroed)
        if key not in self._callbacks:
            self._callbacks[key] = NumbaCallback(function, operands, [o.type for o in results], fixed, zeroed)
        return self._callbacks[key]

    def _pullback(self, rule: UserRule, callee: Callee, form: Form, result: Form, options: Options) -> Derivative:
        if not self._vjp_is_compiled:
            return super()._pullback(rule, callee, form, result, options)
        needs, needed = self._needed(rule, form, result)
        given = [*needed.operands, *(o for o in result.operands if o.is_floating)]
        targets = of_one_dtype([o for o in form.operands if o.is_floating])
        native = self._compiled(rule.function, needed, [o.type for o in given], targets, zeroed=True)
        return self._native_pullback(rule, callee, needs, given, form, native)


@overload
def opaque(
    function: Callable[Arguments, Given],
    *,
    result: Callable[..., Any],
    derivative: Literal["differences"] | None = None,
) -> OpaqueFunction[Arguments, Given]: ...
@overload
def opaque(
    function: None = None, *, result: Callable[..., Any], derivative: Literal["differences"] | None = None
) -> Callable[[Callable[Arguments, Given]], OpaqueFunction[Arguments, Given]]: ...
def opaque(function: Any = None, *, result: Callable[..., Any], derivative: Any = None) -> Any:
    """Decorator: a Python function that is not traced: plans call back into Python for it.

    Such a call costs microseconds, takes the GIL and allocates; `explain().fallbacks` names it. What the function
    raises, the call of the plan raises. It must depend on its arguments only, and not write to them.

    Parameters
    ----------
    result : callable
        `result(*arguments)` is, for arguments of some shapes, an array (or number, or a tuple of them) of the shape and
        dtype of what the function returns. It is called on zeros when the function is traced.
    derivative : "differences", optional
        Takes central differences for the derivative where there is neither `vjp` nor `jvp`: a stopgap, of ten digits
        at best, which calls the function twice for each element of its arguments, and which `explain().fallbacks`
        names. Such derivatives are of first order only.

    Returns
    -------
    OpaqueFunction
        To be called as `function`. It gets its derivative by `vjp`, which is traced code, or with `vjp(opaque=True)`
        called as well.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> @planned_ad.opaque(result=lambda a, b: b)
    ... def solve(a, b):
    ...     return np.linalg.solve(a, b)
    >>> @solve.vjp(needs="a, result")
    ... def _(a, x, cotangent):
    ...     db = solve(a.T, cotangent)
    ...     return -np.outer(db, x), db
    >>> plan = planned_ad.compile(lambda a, b: np.sum(solve(a, b)), (np.eye(2), np.ones(2)))
    >>> plan.gradient(2 * np.eye(2), np.ones(2))
    (array([[-0.25, -0.25],
           [-0.25, -0.25]]), array([0.5, 0.5]))
    """
    if function is None:
        return functools.partial(opaque, result=result, derivative=derivative)
    return OpaqueFunction(function, result, derivative)


def numba_rule(function: Any = None, *, result: Callable[..., Any], adjoint: Any = None, needs: Names = None) -> Any:
    """Decorator: a Numba-jitted function that plans call as it is compiled, with an adjoint written by hand.

    Nothing is allocated for the call. (Other Numba functions need no decorator: their Python source is traced.)

    Parameters
    ----------
    result : callable
        As for `opaque`. Its parameters are those of the decorated function, which has one more for each result, to be
        filled: an array, whose one element is `out[()]` for a number.
    adjoint : Numba-jitted function, optional
        `adjoint(*needs, *cotangents, *shadows)` adds to the shadows, one for each floating parameter, which are zero
        when it is called. There is a cotangent for each result. Without it, a `vjp` of traced code may be given.
    needs : str or sequence of str, optional
        What the adjoint reads: names of parameters, and `"result"`. All parameters by default.

    Examples
    --------
    >>> import numba, numpy as np, planned_ad
    >>> @numba.njit
    ... def cube_adjoint(x, cotangent, dx):
    ...     for i in range(x.size):
    ...         dx[i] += 3 * x[i] ** 2 * cotangent[i]
    >>> @planned_ad.numba_rule(result=lambda x: x, adjoint=cube_adjoint)
    ... @numba.njit
    ... def cube(x, out):
    ...     for i in range(x.size):
    ...         out[i] = x[i] ** 3
    >>> cube(np.array([2.0]))
    array([8.])
    >>> plan = planned_ad.compile(lambda x: np.sum(cube(x)), np.zeros(2))
    >>> plan.gradient(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if function is None:
        return functools.partial(numba_rule, result=result, adjoint=adjoint, needs=needs)
    return NumbaFunction(function, result, adjoint, needs)
