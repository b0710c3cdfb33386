"""Sparse derivatives: a Jacobian or Hessian from few products with vectors, as a `scipy.sparse` array.

The pattern comes from the traced operations (see `sparsity`), the directions of the products from a colouring of it
(see `colouring`). One plan computes all products and puts their elements in the order of the entries.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ...calls.entries import check_loss
from ...compiling import default_options
from ...errors import ArgumentError, BranchError, UnsupportedError
from ...plan import DERIVATIVES, Plan
from ...python.options import Mode, one_of
from ...regions.affine import Affine, Extent
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.captured import known_in
from ...tape.tape import Buffer, Tape, Value
from ...tracing.record.recorder import Recorder
from ..by_signature import BySignature
from ..derivatives import Gradient, has_complex, writes_outside
from ..plan_derivatives import transformed_of
from ..segments import each
from ..transformed import Argnums, Call, Transformed, recorder_of
from .colouring import canonical, distance_1, source_of_entries, source_of_symmetric_entries, star
from .sparsity import pattern


@dataclass(frozen=True, slots=True)
class Compression:
    """A pattern, and how its entries follow from products with vectors.

    mode : 'forward' (a product for each colour of columns) or 'reverse' (of rows).
    colours : of each column (row).
    source : of each entry, by rows, where it is among the products, one line after the other.
    """

    pattern: Any
    mode: Mode
    colours: np.ndarray
    source: np.ndarray

    @property
    def count(self) -> int:
        return int(self.colours.max(initial=-1)) + 1


def compression(found: Any, mode: Mode | None) -> Compression:
    """Of a Jacobian with this pattern: in the direction with fewer colours.

    A row with `k` entries takes `k` colours of columns: where that is more than the colours of the rows, the columns
    are not coloured.
    """
    by_columns = canonical(found.T)
    least: dict[Mode, int] = {
        "forward": np.diff(found.indptr).max(initial=0),
        "reverse": np.diff(by_columns.indptr).max(initial=0),
    }
    best: Compression | None = None
    for direction in sorted(least, key=least.__getitem__) if mode is None else [mode]:
        if best is None or best.count > least[direction]:
            of_rows = direction == "reverse"
            colours = distance_1(by_columns if of_rows else found)
            if best is None or colours.max(initial=-1) + 1 < best.count:
                best = Compression(found, direction, colours, source_of_entries(found, colours, of_rows=of_rows))
    assert best is not None
    return best


def symmetric_compression(found: Any) -> Compression:
    """Of a Hessian, by forward mode over its gradient. A distance-1 colouring, which gives each entry, may be less."""
    found = canonical(found + found.T)
    colours = star(found)
    if np.diff(found.indptr).max(initial=0) <= colours.max(initial=-1):
        colours = min(colours, distance_1(found), key=np.max)
    return Compression(found, "forward", colours, source_of_symmetric_entries(found, colours))


class Compressed(Transformed):
    """The entries of a sparse Jacobian as one array; a function for one signature.

    The pattern is that of the branches that the first call takes. It holds in all others as well, or they are refused.
    """

    name = "sparse_jacobian"
    is_pure = False  # the pattern is found by tracing

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: Argnums = 0,
        has_aux: bool = False,
        colouring: str = "distance-1",
        mode: Mode | None = None,
    ):
        assert not has_aux
        super().__init__(function, argnums)
        self.colouring, self.mode = colouring, mode
        self.found: Compression | None = None
        self.is_fixed = False

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        call = Call(self, recorder, args, kwargs)
        if any(has_complex(tree.structure) for tree in (*call.arguments, call.tree)):
            raise UnsupportedError(
                f"{recorder.here()}: {self.__name__} is of real arguments and results, and of complex ones there would "
                f"be two columns or rows for each; pass and return real and imaginary parts"
            )
        found = self.compression(call)
        write = call.segment.pushforward(call.results, later=False) if found.mode == "forward" else None
        if write is None and found.mode == "forward":
            raise writes_outside(call)
        inputs, outputs = call.independents, call.results
        if write is None:
            write = call.segment.pullback(call.results, later=True)
            inputs, outputs = outputs, inputs
        builder = recorder.builder
        dtype = np.result_type(*(v.dtype for v in call.results)) if call.results else np.dtype(float)
        length = sum(v.size for v in outputs)
        lines = builder.new_buffer("local", "compressed", dtype, contiguous((found.count, length)))

        def product(colour: Extent) -> None:
            start = 0
            for value, out in zip(outputs, write(*seeds(recorder, inputs, found.colours, colour))):
                view = View(colour * length + start, value.shape, c_strides(value.shape))
                builder.store(Region(lines.id, view), builder.cast(out, dtype))
                start += value.size

        each(recorder, found.count, write.size, product)
        return recorder.array(recovered(recorder, lines, found.source))

    def compression(self, call: Call) -> Compression:
        """The one of the plan; made in its first trace."""
        recorder, segment = call.recorder, call.segment
        builder, own = segment.prepared()
        tape = Tape(
            buffers=tuple(builder.buffers),
            arguments=(),
            operations=(*recorder.builder.operations[: segment.start], *own),
            results=tuple(call.results),
        )
        found = pattern(tape, call.independents)
        recorder.constants.update(known_in(tape.buffers))
        if not self.is_fixed or self.found is None:
            self.found = symmetric_compression(found) if self.colouring == "star" else compression(found, self.mode)
        elif (found > self.found.pattern).nnz:
            raise BranchError(
                f"{recorder.here()}: {self.__name__} takes another branch than in its first call, with entries that "
                f"are not in its pattern; use np.where in place of the branch, or a new sparse derivative"
            )
        return self.found


class CompressedHessian(Compressed):
    """The entries of a sparse Hessian as one array; of the gradient as a function."""

    name = "sparse_hessian"


def seeds(recorder: Recorder, values: list[Value], colours: np.ndarray, colour: Extent) -> list[Value]:
    """A direction: one at all elements of a colour."""
    builder, found, start = recorder.builder, [], 0
    for value in values:
        own = colours[start : start + value.size].reshape(value.shape)
        start += value.size
        if isinstance(colour, Affine):
            chosen = builder.apply("equal", builder.constant(own), builder.index_value(colour))
        else:
            chosen = builder.constant(own == colour)
        found.append(builder.cast(chosen, value.dtype))
    return found


def recovered(recorder: Recorder, lines: Buffer, source: np.ndarray) -> Value:
    """The entries of the pattern, from the products."""
    builder = recorder.builder
    if not len(source):
        return builder.constant(np.zeros(0, lines.dtype))
    flat = Region(lines.id, contiguous((lines.view.size,)))
    return builder.apply("gather", builder.load(flat), builder.constant(source))


class SparseCall:
    """A compiled sparse derivative for arguments of one signature.

    Attributes
    ----------
    pattern : csr_array of bool
        Where the derivative may differ from zero.
    colours : int
        How many products with vectors a call takes.
    mode : {'forward', 'reverse'}
    plan : Plan
        What computes the entries, `plan.explain()` says how.
    """

    def __init__(self, compressed: Any, plan: Plan):
        compressed.is_fixed = True
        self.plan, self.name = plan, compressed.__name__
        self.pattern, self.colours = compressed.found.pattern, compressed.found.count
        self.mode = compressed.found.mode
        self._dtype = plan._variants[0].trace.tape.results[0].dtype

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            data = np.empty(self.pattern.nnz, self._dtype)
            indices, pointers = self.pattern.indices.copy(), self.pattern.indptr.copy()
            out = scipy.sparse.csr_array((data, indices, pointers), shape=self.pattern.shape)
        else:
            self._check(out)
        self.plan(*args, out=out.data, **kwargs) if kwargs else self.plan(*args, out.data)
        return out

    def _check(self, out: Any) -> None:
        own = self.pattern
        if not (
            scipy.sparse.issparse(out)
            and out.format == "csr"
            and out.shape == own.shape
            and out.data.dtype == self._dtype
            and np.array_equal(out.indptr, own.indptr)
            and np.array_equal(out.indices, own.indices)
        ):
            raise ArgumentError(
                f"{self.name}: out is not a scipy.sparse CSR matrix of {own.shape} and {self._dtype} with the pattern "
                f"of this derivative; pass one that an earlier call has returned"
            )


class SparseDerivative:
    """A sparse derivative as a function: compiles a `SparseCall` for each signature."""

    def __init__(self, make: Callable[[], Compressed]):
        self._make = make
        made = make()
        self.__name__ = self.__qualname__ = made.__name__
        self.__wrapped__, self.__signature__ = made.function, made.__signature__
        self._calls = BySignature[SparseCall]()

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        recorder = recorder_of((*args, *kwargs.values()), sys._getframe(1))
        if recorder is not None:
            raise UnsupportedError(
                f"{recorder.here()}: a sparse derivative in traced code: scipy.sparse arrays cannot be traced. Call it "
                f"outside, or use planned_ad.jacobian, hessian or hvp"
            )
        return self.plan(*args, **kwargs)(*args, out=out, **kwargs)

    def plan(self, *args: Any, **kwargs: Any) -> SparseCall:
        """The compiled derivative for arguments like these."""
        return self._calls.of(self._compiled, args, kwargs)

    def _compiled(self, args: tuple, kwargs: dict[str, Any]) -> SparseCall:
        made = self._make()
        return SparseCall(made, Plan(made, args, default_options(), kwargs))

    def __repr__(self) -> str:
        return f"<planned_ad.{self.__name__}>"


def sparse_jacobian(function: Callable[..., Any], argnums: Argnums = 0, mode: Mode | None = None) -> SparseDerivative:
    """The Jacobian of a function as a `scipy.sparse` array with a fixed pattern.

    Parameters
    ----------
    function : callable
        Of arrays, numbers and nested containers of them.
    argnums : int or sequence of int
        Which arguments to differentiate with respect to.
    mode : {'forward', 'reverse'}, optional
        One direction for each colour of columns, or of rows. By default whichever are fewer.

    Returns
    -------
    callable
        `j(*args)` is a `csr_array` with a row for each element of the results, and a column for each element of the
        chosen arguments (each in row-major order, one after the other). `j(*args, out=matrix)` overwrites a matrix that
        an earlier call has returned, and allocates nothing of its size. `j.plan(*args)` has the pattern and the number
        of colours.

    Raises
    ------
    planned_ad.errors.BranchError
        A later call takes another branch, with entries that are not in the pattern.
    planned_ad.errors.UnsupportedError
        The derivative is not sparse: sets of what values depend on have more than 2**27 elements together.

    Notes
    -----
    The pattern is structural: entries outside of it are zero for all finite arguments of the signature. A run-time
    index counts as any index, so that its rows or columns are full. The first call of each signature traces, colours
    and compiles, in time linear in the operations (of loops that stay loops, in all iterations) and in the entries.

    References
    ----------
    Gebremedhin, Manne & Pothen, What color is your Jacobian?, SIAM Review 47 (2005).

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> j = planned_ad.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> j(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    >>> j.plan(np.array([1.0, 2.0, 3.0])).colours
    2
    """
    one_of("mode", mode, (None, "forward", "reverse"))
    return SparseDerivative(functools.partial(Compressed, function, argnums, mode=mode))


def sparse_hessian(function: Callable[..., Any], argnums: Argnums = 0, colouring: str = "star") -> SparseDerivative:
    """The Hessian of a function that returns one floating scalar, as a `scipy.sparse` array with a fixed pattern.

    Parameters
    ----------
    colouring : {'star', 'distance-1'}
        Which entries share a product with a vector. 'star' takes the Hessian to be symmetric, which custom rules and
        points without second derivative may break; 'distance-1' does not, and needs more products.

    Returns
    -------
    callable
        As of `sparse_jacobian`, square: forward mode over the gradient. `scipy.optimize.minimize` takes it as `hess`
        where a method takes sparse ones ('trust-constr'); for others, `hessp=lambda x, p: h(x) @ p`.

    References
    ----------
    Gebremedhin, Pothen, Tarafdar & Walther, Efficient computation of sparse Hessians using coloring and automatic
    differentiation, INFORMS J. Comput. 21 (2009).

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> h = planned_ad.sparse_hessian(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2))
    >>> h(np.array([1.0, 2.0, 3.0])).toarray()
    array([[ 4., -4.,  0.],
           [-4., 38., -8.],
           [ 0., -8.,  2.]])
    """
    one_of("colouring", colouring, ("star", "distance-1"))
    gradient = Gradient(function, argnums)
    return SparseDerivative(functools.partial(CompressedHessian, gradient, argnums, False, colouring, "forward"))


def jacobian_of_plan(plan: Plan, mode: Mode | None = None) -> SparseCall:
    """`plan.jacobian(sparse=True)`: by all active arguments."""
    compressed, _, _ = transformed_of(plan, Compressed, "distance-1", mode)
    return SparseCall(compressed, plan._plan_of(compressed, ()))


def hessian_of_plan(plan: Plan, colouring: str = "star") -> SparseCall:
    """`plan.hessian(sparse=True)`."""
    check_loss(plan._variants[0].trace)
    gradient, _, _ = transformed_of(plan, Gradient)
    compressed = CompressedHessian(gradient, gradient.argnums, False, colouring, "forward")
    compressed.inactive = gradient.inactive
    return SparseCall(compressed, plan._plan_of(compressed, ()))


DERIVATIVES.update(sparse_jacobian=jacobian_of_plan, sparse_hessian=hessian_of_plan)
