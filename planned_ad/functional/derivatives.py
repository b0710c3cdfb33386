"""The derivatives that a function can be transformed into, as they are written to the tape of a traced function."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..python.complex_parts import is_complex_kind
from ..python.options import Mode, one_of
from ..python.structure import Structure
from ..regions.affine import Extent
from ..regions.regions import Region, View, c_strides, contiguous
from ..tape.tape import Value
from ..tracing.record.recorder import Recorder
from ..tracing.record.storage import Storage
from ..tracing.values.array_tracer import ArrayTracer
from .pullbacks import Runs
from .segments import Derivative, basis, each
from .transformed import Argnums, Call, Transformed, like


class Gradient(Transformed):
    """The gradient of a function that returns one floating scalar."""

    name = "grad"
    with_value = False

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        call = Call(self, recorder, args, kwargs)
        loss = call.scalar()
        pullback = call.segment.pullback([loss], later=False)
        found = call.gradients(pullback(recorder.builder.constant(1, loss.dtype)))
        if not self.with_value:
            return (found, call.aux) if self.has_aux else found
        return ((call.result, call.aux) if self.has_aux else call.result), found


class ValueAndGradient(Gradient):
    """The value, and the gradient."""

    name = "value_and_grad"
    with_value = True


class Pushforward(Transformed):
    """The value, and its tangent for given tangents of the arguments."""

    name = "jvp"
    extra = "tangent"

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        *own, tangents = args
        call = Call(self, recorder, tuple(own), kwargs, (tangents,))
        found = call.segment.push(call.tangents, call.results)
        tangent = call.tree.like(iter(found))
        return (call.result, tangent, call.aux) if self.has_aux else (call.result, tangent)


class Tangent(Pushforward):
    """The tangent alone."""

    name = "linear"

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        return super().traced(recorder, args, kwargs)[1]


class Linearization(Transformed):
    """The value, and a function from tangents of the arguments to tangents of the value."""

    name = "linearize"

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        call = Call(self, recorder, args, kwargs)
        write = call.segment.pushforward(call.results, later=True)
        if write is None:
            raise writes_outside(call)

        def linear(tangents: Any) -> Any:
            recorder.mark()
            return call.tree.like(iter(write(*call.tangents_of(tangents))))

        return (call.result, linear, call.aux) if self.has_aux else (call.result, linear)

    def outside(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        return outside(self, Tangent, args, kwargs)


class Pullback(Transformed):
    """The value, and a function from cotangents of the value to cotangents of the arguments."""

    name = "vjp"

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        call = Call(self, recorder, args, kwargs)
        write = call.segment.pullback(call.results, later=True)

        def pullback(cotangent: Any) -> Any:
            recorder.mark()
            given = call.tree.values_of(cotangent, "the cotangent")
            return call.gradients(write(*given))

        return (call.result, pullback, call.aux) if self.has_aux else (call.result, pullback)

    def outside(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if self.linear is None:
            primal = Primal(self.function, self.argnums, self.has_aux)
            primal.__name__ = self.__name__
            self.linear = Runs(primal)
        result, pullback = self.linear.run(args, kwargs)
        return (result[0], pullback, result[1]) if self.has_aux else (result, pullback)


class Primal(Transformed):
    """What the function returns, for copies of the arguments."""

    name = "value"

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        call = Call(self, recorder, args, kwargs)
        return (call.result, call.aux) if self.has_aux else call.result


def outside(transformed: Transformed, derivative: type[Transformed], args: tuple, kwargs: dict[str, Any]) -> tuple:
    """The value, and the derivative as a function, at copies of the arguments; computed again in each of its calls."""
    if transformed.linear is None:
        options = (transformed.function, transformed.argnums, transformed.has_aux)
        transformed.linear = (Primal(*options), derivative(*options))
    primal, linear = transformed.linear
    args, kwargs = copy.deepcopy((args, kwargs))
    value = primal(*args, **kwargs)

    def at_these(direction: Any) -> Any:
        return linear(*args, direction, **kwargs)

    return (value[0], at_these, value[1]) if transformed.has_aux else (value, at_these)


class Jacobian(Transformed):
    """The derivatives of all results by all arguments."""

    name = "jacobian"

    def __init__(
        self, function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, mode: Mode | None = None
    ):
        one_of("mode", mode, (None, "forward", "reverse"))
        super().__init__(function, argnums, has_aux)
        self.mode = mode

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        call = Call(self, recorder, args, kwargs)
        refuse_complex(self, recorder, call.tree.structure)
        rows = [[JacobianBlock(recorder, result, value) for value in call.independents] for result in call.results]
        columns = sum(v.size for v in call.independents)
        mode = self.mode or ("forward" if columns <= sum(r.size for r in call.results) else "reverse")
        write = call.segment.pushforward(call.results, later=False) if mode == "forward" else None
        if write is not None:
            self._columns(recorder, call, write, rows)
        elif self.mode == "forward":
            raise writes_outside(call)
        else:
            self._rows(recorder, call, call.segment.pullback(call.results, later=True), rows)
        leaves = zip(call.tree.active, rows)
        found = call.tree.put(call.per_argument(block.matrix(leaf) for block in row) for leaf, row in leaves)
        return (found, call.aux) if self.has_aux else found

    def _rows(self, recorder: Recorder, call: Call, write: Derivative, rows: list[list[JacobianBlock]]) -> None:
        for k, result in enumerate(call.results):

            def row(index: Extent, k: int = k) -> None:
                for block, cotangent in zip(rows[k], write(*seeds(recorder, call.results, k, index))):
                    block.store_row(index, cotangent)

            each(recorder, result.size, write.size, row)

    def _columns(self, recorder: Recorder, call: Call, write: Derivative, rows: list[list[JacobianBlock]]) -> None:
        for k, value in enumerate(call.independents):

            def column(index: Extent, k: int = k) -> None:
                for row, tangent in zip(rows, write(*seeds(recorder, call.independents, k, index))):
                    row[k].store_column(index, tangent)

            each(recorder, value.size, write.size, column)


class JacobianBlock:
    """The derivative of one result by one independent: memory of the shapes of both."""

    def __init__(self, recorder: Recorder, result: Value, value: Value):
        self.recorder, self.result, self.value = recorder, result, value
        shape = (*result.shape, *value.shape)
        self.buffer = recorder.builder.new_buffer("local", "jacobian", result.dtype, contiguous(shape))

    def store_row(self, index: Extent, cotangent: Value) -> None:
        shape = self.value.shape
        view = View(index * self.value.size, shape, c_strides(shape))
        self._store(view, cotangent)

    def store_column(self, index: Extent, tangent: Value) -> None:
        shape = self.result.shape
        view = View(index, shape, tuple(s * self.value.size for s in c_strides(shape)))
        self._store(view, tangent)

    def _store(self, view: View, value: Value) -> None:
        builder = self.recorder.builder
        builder.store(Region(self.buffer.id, view), builder.cast(value, self.result.dtype))

    def matrix(self, leaf: Any) -> Any:
        """It as an array; a number where both are."""
        recorder, buffer = self.recorder, self.buffer
        if buffer.shape == ():
            return like(recorder, leaf, recorder.builder.load(buffer.whole))
        base = np.empty(buffer.shape, buffer.dtype)
        storage = Storage(base, buffer.line, buffer=buffer, depth=recorder.scopes.depth)
        storage.born(recorder)
        return ArrayTracer(recorder, storage, base)


def seeds(recorder: Recorder, values: Sequence[Value], chosen: int, index: Extent) -> list[Value]:
    """A direction: one at an element of one of the values, zero in all the others."""
    builder = recorder.builder
    return [
        basis(recorder, v, index) if k == chosen else builder.broadcast(builder.constant(0, v.dtype), v.shape)
        for k, v in enumerate(values)
    ]


def refuse_complex(derivative: Transformed, recorder: Recorder, structure: Structure) -> None:
    """Refuse a derivative of real results for complex ones."""
    if has_complex(structure):
        raise UnsupportedError(
            f"{recorder.here()}: {derivative.__name__} is of real results, and this function returns {structure}: a "
            f"complex one has two derivatives for each part of an argument. Return its real and imaginary part, "
            f"(z.real, z.imag), or use planned_ad.jvp, vjp or hvp"
        )


def has_complex(structure: Structure) -> bool:
    """Whether there is a complex number or array in it."""
    return is_complex_kind(structure.kind) or any(map(has_complex, structure.children))


def writes_outside(call: Call) -> UnsupportedError:
    return UnsupportedError(
        f"{call.recorder.here()}: the function of {call.name} writes to memory from outside of it, so that it cannot "
        f"run once for each direction; pass that memory as an argument"
    )


class HessianVector(Transformed):
    """The product of the Hessian with a vector: the tangent of the gradient."""

    name = "hvp"
    extra = "vector"

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        inner = Gradient(self.function, self.argnums, self.has_aux)
        found = Pushforward(inner, self.argnums, self.has_aux).traced(recorder, args, kwargs)
        return (found[1], found[2]) if self.has_aux else found[1]
