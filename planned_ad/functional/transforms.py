"""The functional interface: `grad`, `jvp`, `jacobian` and their like take a function and return one.

What they return compiles a plan for each signature (structure, shapes, dtypes, strides, static arguments) at its first
call, and can be called in traced functions, so that derivatives nest. Arguments are never written to: the function runs
on copies, which cost something only where it writes to them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal, overload

from ..python.options import Mode
from ..python.structure import flatten
from ..python.type_variables import Arguments, Item, Result
from .derivatives import (
    Gradient,
    HessianVector,
    Jacobian,
    Linearization,
    Pullback,
    Pushforward,
    ValueAndGradient,
)
from .transformed import Argnums, Transformed, is_active, like, recorder_of

Function = Callable[Arguments, Result]
Following = Callable[[Any], Result]  # of a cotangent, or a tangent


def grad(
    function: Function[Arguments, Any], argnums: Argnums = 0, has_aux: bool = False
) -> Transformed[Arguments, Any]:
    """The gradient of a function that returns one floating scalar.

    Parameters
    ----------
    function : callable
        Of arrays, numbers and nested containers of them.
    argnums : int or sequence of int
        Which arguments to differentiate with respect to, in any order: that of the results. All floating arrays and
        floats in them are active.
    has_aux : bool
        The function returns `(loss, aux)`; `aux` is handed through.

    Returns
    -------
    callable
        `g(*args)` has the structure of the chosen argument (of several: a tuple); with `has_aux`, `(gradient, aux)`.

    Raises
    ------
    planned_ad.errors.NotDifferentiableError
        At the call: the function does not return one floating scalar, or a chosen argument has no floating number.

    Notes
    -----
    The first call of each signature compiles: tens of milliseconds. A later call takes some microseconds more than
    `planned_ad.compile(function, args).gradient(*args, shadows)`, which is for the tightest loops.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    >>> planned_ad.grad(planned_ad.grad(lambda t: t**3))(2.0)
    12.0
    """
    return Gradient(function, argnums, has_aux)


def value_and_grad(
    function: Function[Arguments, Result], argnums: Argnums = 0, has_aux: bool = False
) -> Transformed[Arguments, tuple[Result, Any]]:
    """`(value, gradient)`; arguments as for `grad`. With `has_aux`, `((value, aux), gradient)`.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.value_and_grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    (9.0, array([ 3., 12.]))
    """
    return ValueAndGradient(function, argnums, has_aux)


@overload
def jvp(
    function: Function[..., Result], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Transformed[..., tuple[Result, Result]]: ...
@overload
def jvp(function: Function[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed[..., Any]: ...
def jvp(function: Function[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed[..., Any]:
    """Forward mode: the product of the Jacobian with a vector. Keeps nothing of the primal.

    Returns
    -------
    callable
        `(value, tangent) = g(*args, tangent)`; the tangent of the chosen argument comes last (of several: a tuple).
        With `has_aux`, `(value, tangent, aux)`.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.jvp(lambda t: t**3)(2.0, 1.0)
    (8.0, 12.0)
    """
    return Pushforward(function, argnums, has_aux)


@overload
def vjp(
    function: Function[Arguments, Result], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Transformed[Arguments, tuple[Result, Following[Any]]]: ...
@overload
def vjp(
    function: Function[Arguments, Any], argnums: Argnums = 0, has_aux: bool = False
) -> Transformed[Arguments, Any]: ...
def vjp(function: Function[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed[..., Any]:
    """Reverse mode: the value, and the product of vectors with the Jacobian as a function.

    Returns
    -------
    callable
        `value, pullback = g(*args)`. `pullback(cotangent)`, where the cotangent is like the value, is like the chosen
        argument. With `has_aux`, `(value, pullback, aux)`. The primal runs once, however often the pullback is
        called; outside of traced functions the pullback holds a tape with what it needs of it (see `Plan.split`).

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> value, pullback = planned_ad.vjp(lambda x: x**2)(np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    return Pullback(function, argnums, has_aux)


@overload
def linearize(
    function: Function[Arguments, Result], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Transformed[Arguments, tuple[Result, Following[Result]]]: ...
@overload
def linearize(
    function: Function[Arguments, Any], argnums: Argnums = 0, has_aux: bool = False
) -> Transformed[Arguments, Any]: ...
def linearize(function: Function[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed[..., Any]:
    """The value, and forward mode at these arguments as a function of the tangents.

    Returns
    -------
    callable
        `value, linear = g(*args)`; `linear(tangent)` is the tangent of the value. The primal runs again in each call,
        on copies of the arguments, and with what the function finds outside of it then.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> value, linear = planned_ad.linearize(lambda x: x**2)(np.array([1.0, 2.0]))
    >>> linear(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    return Linearization(function, argnums, has_aux)


def jacobian(
    function: Function[Arguments, Any], argnums: Argnums = 0, has_aux: bool = False, mode: Mode | None = None
) -> Transformed[Arguments, Any]:
    """The derivatives of all elements of the result by all elements of the chosen arguments.

    Parameters
    ----------
    mode : {'forward', 'reverse'}, optional
        One direction for each element of the arguments, or for each element of the result. By default whichever are
        fewer; forward where they are as many.

    Returns
    -------
    callable
        `g(*args)` has the structure of the result, and in the place of each array that of the chosen argument (of
        several: a tuple), with arrays of the shape of the result followed by that of the argument.

    Notes
    -----
    One kernel: the primal once, and a loop over the directions. (Forward mode runs those parts of the primal in each
    direction that do not leave the loop.)

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0]))
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    return Jacobian(function, argnums, has_aux, mode)


def hessian(
    function: Function[Arguments, Any], argnums: Argnums = 0, has_aux: bool = False
) -> Transformed[Arguments, Any]:
    """The second derivatives of a function that returns one floating scalar: forward over reverse.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.hessian(lambda x: x[0] * x[1] ** 2)(np.array([1.0, 2.0]))
    array([[0., 4.],
           [4., 2.]])
    """
    return Jacobian(Gradient(function, argnums, has_aux), argnums, has_aux, "forward")


def hvp(function: Function[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed[..., Any]:
    """The product of the Hessian with a vector, without the Hessian: forward over reverse.

    Returns
    -------
    callable
        `g(*args, vector)`; the vector is like the chosen argument (of several: a tuple), and so is the product.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.hvp(lambda x: x[0] * x[1] ** 2)(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([0., 4.])
    """
    return HessianVector(function, argnums, has_aux)


def stop_gradient(tree: Item) -> Item:
    """`tree`, constant for all derivatives: its floating arrays and numbers. Outside of traced code, `tree` itself.

    Examples
    --------
    >>> import planned_ad
    >>> planned_ad.grad(lambda x: x * planned_ad.stop_gradient(x))(3.0)
    3.0
    """
    recorder = recorder_of((tree,), sys._getframe(1))
    if recorder is None:
        return tree
    recorder.mark()
    leaves, structure = flatten(tree)
    return structure.unflatten(
        like(recorder, leaf, recorder.apply("stop_gradient", recorder.value_of(leaf))) if is_active(leaf) else leaf
        for leaf in leaves
    )
