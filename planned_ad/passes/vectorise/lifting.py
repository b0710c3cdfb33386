"""Write all iterations of a loop at once: its operations over arrays that have an axis more, one place an iteration.

>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x, y, a):
...     for i in range(4):
...         y[i] = a * x[2 * i]
>>> tape = trace(f, (np.zeros(8), np.zeros(4), 2.0), unroll=1).tape
>>> print(brief(tape))
v0 = a[...]
for i0 in range(0, 4, 1):
    v1 = x[2*i0]
    v2 = multiply(v0, v1)
    y[i0] = v2
>>> print(brief(vectorise(tape)))
v0 = a[...]
v3: float64[4] = x[0:7:2]
v4: float64[4] = multiply(v0, v3)
y[...] = v4

Requires a loop of which `independence` says that its iterations may run in any order; ensures the same numbers, up to
the order of sums. Values that are alike in all iterations stay as they are, and are repeated along that axis where they
meet others.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...analysis.enclosing import certainly_runs, indices_of, stays_inside
from ...analysis.independence import EXTREMA, Carry, NotIndependent, Sharing, moves
from ...regions.affine import Affine, Ragged, coefficient, exact, substitute
from ...regions.bounds import Iterations
from ...regions.regions import Region, View, c_strides, contiguous, is_injective, is_ragged
from ...rules.table import RULES
from ...tape.builder import TapeBuilder
from ...tape.tape import Apply, IndexValue, Load, Loop, Operation, Scatter, Store, Value
from ..invariants import is_total
from ..short_axes import LONGEST_WINDOW, overlapping_axes
from .loop_products import Factor, multiplied_only, outer_products, varying_values
from .streaming import joins_rows, streams, upwards

MOST_INDICES = 1 << 22  # numbers of an index that are worth a constant array, which nothing reads
SHORT = 64  # elements of an array that by itself keeps vectors too little busy
MOST_ELEMENTS = 1 << 20  # of the array that short ones of all iterations make
MOST_NEAR = 1 << 15  # of the array that longer ones make: what a processor keeps near
MOST_MULTIPLIED = 1 << 23  # of the array that those make which all iterations multiply by the same matrix
LEAST_MATRIX = 256  # elements of that
MOST_IN_WINDOW = 32  # numbers that are summed up in windows that overlap
MOST_SHOWN = 512  # elements that an iteration shows of them: with more it fills vectors, and stays near, by itself
SOLVES = ("lu_solve", "triangular_solve", "band_solve")  # of a matrix and right sides that are its columns
LINE = 8  # numbers next to each other that memory moves together


class Lifting:
    """The writing of one loop's iterations as array operations.

    `builder` receives them; `around` are the iterations that the loop itself runs in. `shapes`: those of the regions of
    each buffer that the program looks at. Large arrays are refused, unless they may be `of_any_size`.
    """

    def __init__(
        self,
        builder: TapeBuilder,
        loop: Loop,
        sharing: Sharing,
        around: Iterations,
        widest: int,
        shapes: frozenset[tuple[int, tuple[int, ...]]],
        of_any_size: bool = False,
    ):
        self.builder = builder
        self.loop = loop = upwards(loop, sharing)
        self.sharing = sharing
        self.around = around
        self.widest = widest
        self.of_any_size = of_any_size or goes_across(loop)
        self.count = loop.trips
        self.single: dict[int, Value] = {}  # values of the body that are alike in all iterations
        self.lifted: dict[int, Value] = {}  # values with the axis in front
        self.made = {v.id: op for op in loop.body for v in op.outputs}
        self.uses = Counter(v.id for op in loop.body for v in op.inputs)
        self.links = frozenset(id for carry in sharing.carries.values() for id in carry.links)
        self.varying = varying_values(loop)
        self.outer = outer_products(loop, sharing, self.varying, self.uses)
        factors = [f for factors in self.outer.values() for f in factors]
        self.shown = {f.value.id: f.shown for f in factors if f.shown is not None}  # factors without what repeats
        self.in_products = self.outer.keys() | self.shown.keys()
        self.multiplied = multiplied_only(loop, self.varying, self.in_products)
        self.multiplies = any(multiplies_alike(op, self.varying) for op in loop.body) or any(
            all(f.axes for f in factors) and self.made[id].outputs[0].size >= LEAST_MATRIX
            for id, factors in self.outer.items()
        )
        self.streams = streams(loop, sharing)
        self.joins = self.streams and joins_rows(loop, shapes, self.varying - self.links)

    def write(self) -> None:
        """Write the loop; raises `NotIndependent` where an operation has no such form."""
        for position, op in enumerate(self.loop.body):
            self.builder.line = op.line
            self.check_extents(op, any(v.id in self.links for v in op.outputs) or position in self.sharing.carries)
            if any(v.id in self.links or v.id in self.outer for v in op.outputs):
                continue
            if position in self.sharing.carries:
                self.carry(self.sharing.carries[position])
            elif isinstance(op, Store):
                self.store(op, position in self.sharing.last)
            elif isinstance(op, Scatter):
                self.scatter(op)
            elif any(v.id in self.shown for v in op.outputs):
                self.factor(op)
            elif self.joins and self.sums_row(op):
                continue  # by what sums it up
            elif all(v.id not in self.lifted for v in op.inputs) and self.loop.index not in indices_of(op):
                self.once(op)
            else:
                self.define(op)

    def sums_row(self, op: Operation) -> bool:
        """Whether this is the sum of a row, of which there is another one in each iteration."""
        return isinstance(op, Apply) and op.primitive == "reduce_sum" and op.operands[0].id in self.lifted

    def check_extents(self, op: Operation, is_carried: bool) -> None:
        """Refuses what differs between iterations, or takes more memory than it saves time.

        Where all iterations multiply by the same matrix, together they are one product, which reads it once; what
        passes over memory once takes none, nor does a sum, or what a product reads where it lies. What looks at memory
        across its lines, each iteration beside the one before, goes along them.
        """
        in_place = is_carried or any(v.id in self.multiplied or v.id in self.in_products for v in op.outputs)
        is_alike = not any(v.id in self.varying for v in (*op.inputs, *op.outputs))
        for shape in (*(v.shape for v in op.outputs), *(r.shape for r in (*op.reads, *op.writes))):
            if any(coefficient(exact(n), self.loop.index) for n in shape):
                raise NotIndependent("an extent differs between iterations")
            size = math.prod(shape)
            if self.of_any_size or self.streams or in_place or (is_alike and op.outputs):
                continue
            if self.multiplies and (is_alike or size * int(self.count) <= MOST_MULTIPLIED):
                continue
            most = MOST_ELEMENTS if size <= SHORT else MOST_NEAR
            if size > self.widest or (size > 1 and size * int(self.count) > most):
                raise NotIndependent("its arrays are large enough as they are")

    # Values.

    def here(self, value: Value) -> Value:
        """A value that is alike in all iterations: of the body, or from outside."""
        return self.single.get(value.id, value)

    def over_iterations(self, value: Value, shape: tuple[int, ...]) -> Value:
        """A value of the body, of the given shape or a scalar, with the axis of iterations in front."""
        whole = (self.count, *shape)
        own = c_strides(value.shape) if value.shape else (0,) * len(shape)
        if value.id not in self.lifted:
            repeated = self.builder.view(self.here(value), View(0, whole, (0, *own)))
            return self.builder.reshape(repeated, (int(self.count) * value.size,)) if self.joins else repeated
        lifted = self.lifted[value.id]
        if value.shape == shape:
            return lifted
        return self.builder.view(lifted, View(0, whole, (1, *own)))

    def sums_up(self, value: Value, axes: frozenset[int]) -> bool:
        """Whether all that is done with a value in the end is to sum it up along these axes."""
        users = [op for op in self.loop.body for v in op.inputs if v.id == value.id]
        return all(isinstance(op, Apply) and self.sums_in(op, value, axes) for op in users)

    def sums_in(self, op: Apply, value: Value, axes: frozenset[int]) -> bool:
        if RULES[op.primitive].kind == "elementwise":
            return value.shape == op.out.shape and self.sums_up(op.out, axes)
        if op.primitive == "contract":
            own = op.params["a_labels" if op.operands[0].id == value.id else "b_labels"]
            return not any(own[k] in op.params["out_labels"] for k in axes)
        return op.primitive == "reduce_sum" and axes <= set(op.params["axes"])

    def moved(self, view: View, stride: int = 0) -> View:
        """`view` in all iterations, an axis in front; `stride` is how far its memory moves from one to the next."""
        step = coefficient(view.offset, self.loop.index) * self.loop.step
        first = substitute(view.offset, self.loop.index, self.loop.start)
        return View(first, (self.count, *view.shape), (step + stride, *view.strides))

    def over_indices(self, view: View, stride: int = 0, shown: Value | None = None) -> View:
        """`view` in all iterations; `stride` is how far its memory itself moves from one to the next.

        Windows that overlap are refused, since their adjoint would be one of single elements; unless what is `shown` is
        summed up along short axes in the end: `passes.short_axes` writes that out.
        """
        whole = self.moved(view, stride)
        if self.joins:
            whole = View(whole.offset, (int(self.count) * view.size,), view.strides)
        moving = [(n, s) for n, s in zip(whole.shape, whole.strides) if s]
        if not is_injective(View(0, tuple(n for n, _ in moving), tuple(s for _, s in moving))):
            axes = frozenset(k - 1 for k in overlapping_axes(whole) if k)
            lengths = [int(view.shape[k]) for k in axes]
            is_short = (
                max(lengths, default=LONGEST_WINDOW + 1) <= LONGEST_WINDOW and math.prod(lengths) <= MOST_IN_WINDOW
            )
            is_short = is_short and not is_ragged(whole.shape)
            if shown is None or not is_short or shown.size > MOST_SHOWN or not self.sums_up(shown, axes):
                raise NotIndependent("windows that overlap")
        return whole

    def once(self, op: Operation) -> None:
        """What is alike in all iterations; it must have a meaning even where there is none."""
        (out,) = op.outputs
        if not certainly_runs(self.loop):
            if isinstance(op, Apply) and not is_total(op, self.around):
                raise NotIndependent(f"{op.primitive} may fail where there is no iteration")
            for region in op.reads:
                self.check_inside(region)
        if isinstance(op, Apply):
            op = replace(op, operands=tuple(map(self.here, op.operands)))
        new = self.single[out.id] = self.builder.new_value(out.shape, out.dtype)
        self.builder.emit(replace(op, out=new))  # type: ignore[call-arg]

    def check_inside(self, region: Region) -> None:
        if not stays_inside(self.builder.buffers[region.buffer], region.view, self.around):
            raise NotIndependent("its memory is not there where there is no iteration")

    def define(self, op: Operation) -> None:
        (out,) = op.outputs
        match op:
            case Load():
                value = self.builder.load(Region(op.region.buffer, self.over_indices(op.region.view, 0, op.out)))
            case IndexValue():
                value = self.indices(op.expression)
            case Apply():
                value = self.applied(op)
            case _:
                raise NotIndependent(f"{type(op).__name__} has no array form")
        shape = (int(self.count) * out.size,) if self.joins else (self.count, *out.shape)
        assert value.shape == shape and value.dtype == out.dtype
        self.lifted[out.id] = value

    def indices(self, expression: Affine) -> Value:
        """The numbers of an expression of the index."""
        if int(self.count) > MOST_INDICES:
            raise NotIndependent("too many numbers of its index")
        move = coefficient(expression, self.loop.index) * self.loop.step
        rest = substitute(expression, self.loop.index, self.loop.start)
        numbers = np.arange(int(self.count), dtype=np.int64) * move
        found = self.builder.constant(numbers + rest if isinstance(rest, int) else numbers)
        if isinstance(self.count, Ragged):
            found = self.builder.view(found, View(0, (self.count,), (1,)))
        return found if isinstance(rest, int) else self.builder.apply("add", found, self.builder.index_value(rest))

    def applied(self, op: Apply) -> Value:
        kind, params = RULES[op.primitive].kind, op.params
        if kind == "elementwise":
            return self.builder.apply(op.primitive, *(self.beside(v, op.out.shape) for v in op.operands), **params)
        if kind == "view":
            (operand,) = op.operands
            lifted = self.lifted.get(operand.id)
            view = self.over_indices(params["view"], 0 if lifted is None else operand.size, op.out)
            return self.builder.view(self.fitting(lifted or self.here(operand), view), view)
        if kind == "reduce":
            params["axes"] = tuple(axis + 1 for axis in params["axes"])
            return self.builder.apply(op.primitive, self.lifted[op.operands[0].id], **params)
        if kind == "scan" and not isinstance(self.count, Ragged):
            params["axis"] += 1
            operands = (self.over_iterations(v, v.shape) for v in op.operands)
            return self.builder.apply(op.primitive, *operands, **params)
        if kind == "contract":
            return self.contracted(op)
        if kind == "matrix" and not isinstance(self.count, Ragged):
            if op.primitive in SOLVES and op.operands[0].id not in self.lifted and len(op.out.shape) == 2:
                return self.solved_together(op)
            operands = (self.over_iterations(v, v.shape) for v in op.operands)
            return self.builder.apply(op.primitive, *operands, **params)
        if kind == "gather":
            if op.operands[0].id in self.lifted and isinstance(self.count, Ragged):
                raise NotIndependent("elements of what differs between iterations, of which there is no fixed number")
            if op.operands[0].id in self.lifted:
                return self.gathered(op)
            indices = (self.over_iterations(v, v.shape) for v in op.operands[1:])
            return self.builder.apply(op.primitive, self.here(op.operands[0]), *indices, **params)
        raise NotIndependent(f"{op.primitive} has no array form here")

    def solved_together(self, op: Apply) -> Value:
        """Systems with the same matrix: the right sides of all iterations are columns of one."""
        (rows, columns), right = op.out.shape, self.lifted[op.operands[1].id]
        beside = self.builder.reshape(self.permuted(right, (1, 0, 2)), (rows, self.count * columns))
        found = self.builder.apply(op.primitive, self.here(op.operands[0]), beside, **op.params)
        return self.permuted(self.builder.reshape(found, (rows, self.count, columns)), (1, 0, 2))

    def gathered(self, op: Apply) -> Value:
        """Elements of what differs between iterations, by indices that are alike in all of them, or are not."""
        source, indices = self.lifted[op.operands[0].id], op.operands[1:]
        own = indices[0].shape
        if not any(v.id in self.lifted for v in indices):  # the axis of iterations behind those that are indexed
            order = (*range(1, len(indices) + 1), 0, *range(len(indices) + 1, len(source.shape)))
            found = self.builder.apply("gather", self.permuted(source, order), *map(self.here, indices))
            rest = range(len(own) + 1, len(found.shape))
            return self.permuted(found, (len(own), *range(len(own)), *rest))
        count = int(self.count)
        iterations = self.builder.constant(np.arange(count))
        iterations = self.builder.view(iterations, View(0, (count, *own), (1, *(0 for _ in own))))
        return self.builder.apply("gather", source, iterations, *(self.over_iterations(v, v.shape) for v in indices))

    def permuted(self, value: Value, order: tuple[int, ...]) -> Value:
        if order == tuple(range(len(value.shape))):
            return value
        strides = c_strides(value.shape)
        view = View(0, tuple(value.shape[axis] for axis in order), tuple(strides[axis] for axis in order))
        return self.builder.view(value, view)

    def fitting(self, value: Value, view: View) -> Value:
        """`value`; refused where an axis could hold more iterations than there are, and more than `value` has."""
        low, high = view.bounds()
        if isinstance(low, int) and isinstance(high, int) and view.size and not 0 <= low <= high < value.size:
            raise NotIndependent("its elements are told apart by the exact number of iterations only")
        return value

    def beside(self, value: Value, shape: tuple[int, ...]) -> Value:
        """An operand of an elementwise operation whose result has `shape` in each iteration; scalars stay scalars."""
        if value.id not in self.lifted and value.shape == ():
            return self.here(value)
        return self.over_iterations(value, shape)

    def contracted(self, op: Apply) -> Value:
        """A product for each iteration: a label that the result keeps."""
        params = op.params
        label = 1 + max((*params["a_labels"], *params["b_labels"]), default=0)
        operands = []
        for name, value in zip(("a_labels", "b_labels"), op.operands):
            if value.id in self.lifted:
                params[name] = (label, *params[name])
            operands.append(self.lifted.get(value.id) or self.here(value))
        params["out_labels"] = (label, *params["out_labels"])
        return self.builder.apply("contract", *operands, **params)

    # Effects.

    def store(self, op: Store, is_last: bool) -> None:
        if moves(op.region, self.loop.index) and op.accumulate:
            self.add(op)
        elif moves(op.region, self.loop.index):
            region = Region(op.region.buffer, self.over_indices(op.region.view))
            if not is_injective(region.view):
                raise NotIndependent("stores that overlap")
            scalar = op.value.id not in self.lifted and op.value.shape == ()
            value = self.here(op.value) if scalar else self.over_iterations(op.value, op.region.shape)
            self.builder.store(region, value)
        elif op.accumulate:
            self.store_once(op, self.total(op.value, "add"), accumulate=True)
        elif is_last:
            self.store_once(op, self.last(op.value), accumulate=False)
        else:
            raise NotIndependent("the last iteration decides, and there may be none")

    def add(self, op: Store) -> None:
        """What iterations add to memory that moves: where windows overlap, element by element of these."""
        whole = self.moved(op.region.view)
        axes = [k for k in overlapping_axes(whole) if k]
        lengths = [int(whole.shape[k]) for k in axes]
        is_long = max(lengths, default=0) > LONGEST_WINDOW or math.prod(lengths) > MOST_IN_WINDOW
        if is_long or self.joins or is_ragged([whole.shape[k] for k in axes]):
            raise NotIndependent("long windows that overlap")
        scalar = op.value.id not in self.lifted and op.value.shape == ()
        value = self.here(op.value) if scalar else self.over_iterations(op.value, op.region.shape)
        kept = [k for k in range(len(whole.shape)) if k not in axes]
        for at in itertools.product(*map(range, lengths)):
            target, source = (
                at_one_place(view, kept, dict(zip(axes, at))) for view in (whole, contiguous(whole.shape))
            )
            if not is_injective(target):
                raise NotIndependent("sums that overlap")
            part = value if scalar or not axes else self.builder.view(value, source)
            self.builder.store(Region(op.region.buffer, target), part, accumulate=True)

    def store_once(self, op: Store, value: Value, accumulate: bool) -> None:
        if not certainly_runs(self.loop):
            self.check_inside(op.region)
        self.builder.store(op.region, value, accumulate)

    def last(self, value: Value) -> Value:
        """`value` in the last iteration."""
        lifted = self.lifted.get(value.id)
        if lifted is None:
            return self.here(value)
        return self.builder.view(lifted, View((int(self.count) - 1) * value.size, value.shape, c_strides(value.shape)))

    def total(self, value: Value, operation: str) -> Value:
        """The sum, or the extremum, of `value` over all iterations."""
        if operation != "add":
            lifted = self.lifted.get(value.id)
            if lifted is None:
                return self.here(value)
            return self.builder.apply(EXTREMA[operation], lifted, axes=(0,))
        if value.id in self.outer:
            return self.total_of_products(*self.outer[value.id])
        made = self.made.get(value.id)
        if isinstance(made, Apply) and made.primitive == "reduce_sum" and self.uses[value.id] == 1:
            (operand,) = made.operands
            if operand.id in self.lifted:
                axes = (0,) if self.joins else (0, *(axis + 1 for axis in made.params["axes"]))
                return self.builder.apply("reduce_sum", self.lifted[operand.id], axes=axes)
        if value.id not in self.lifted and not isinstance(self.count, Ragged):
            number = self.builder.constant(np.asarray(int(self.count)).astype(value.dtype))
            return self.builder.apply("multiply", self.here(value), number)
        return self.builder.apply("reduce_sum", self.over_iterations(value, value.shape), axes=(0,))

    def total_of_products(self, a: Factor, b: Factor) -> Value:
        """The sum over all iterations of outer products: one product."""
        labels = [tuple(1 + axis for axis in f.axes) for f in (a, b)]
        return self.builder.apply(
            "contract",
            *(self.lifted[f.value.id] for f in (a, b)),
            a_labels=(0, *labels[0]),
            b_labels=(0, *labels[1]),
            out_labels=tuple(sorted((*labels[0], *labels[1]))),
        )

    def factor(self, op: Operation) -> None:
        """A factor that repeats itself, in all iterations: what it shows, once."""
        (out,) = op.outputs
        shown = self.shown[out.id]
        if isinstance(op, Load):
            self.lifted[out.id] = self.builder.load(Region(op.region.buffer, self.over_indices(shown)))
        else:
            (operand,) = op.inputs
            lifted = self.lifted.get(operand.id)
            view = self.over_indices(shown, 0 if lifted is None else operand.size)
            self.lifted[out.id] = self.builder.view(self.fitting(lifted or self.here(operand), view), view)

    def carry(self, carry: Carry) -> None:
        """The memory, updated once."""
        if not certainly_runs(self.loop):
            self.check_inside(carry.store.region)
        value = self.builder.load(carry.load.region)
        for term in carry.terms:
            operation = "subtract" if term.sign < 0 else carry.operation
            value = self.builder.apply(operation, value, self.total(term.value, carry.operation))
        self.builder.store(carry.store.region, value)

    def scatter(self, op: Scatter) -> None:
        """In order of iterations: the last of equal indices wins, here as there."""
        if moves(op.region, self.loop.index) or is_ragged(op.region.shape):
            raise NotIndependent("computed indices into memory that differs between iterations")
        rest = op.region.shape[len(op.indices) :]
        indices = tuple(self.over_iterations(v, v.shape) for v in op.indices)
        value = self.over_iterations(op.value, (*op.indices[0].shape, *rest))
        self.builder.scatter(op.region, indices, value, op.accumulate)


def at_one_place(view: View, kept: Sequence[int], at: Mapping[int, int]) -> View:
    """A view at one place of some of its axes."""
    offset = view.offset + sum(k * view.strides[axis] for axis, k in at.items())
    return View(offset, tuple(view.shape[k] for k in kept), tuple(view.strides[k] for k in kept))


def goes_across(loop: Loop) -> bool:
    """Whether iterations look at columns, one beside the other, and at no rows of their own."""
    regions = [r for op in loop.body for r in (*op.reads, *op.writes) if r.shape and moves(r, loop.index)]
    beside = [abs(coefficient(r.view.offset, loop.index) * loop.step) == 1 for r in regions]
    return bool(regions) and all(beside) and all(min(map(abs, r.view.strides)) >= LINE for r in regions)


def multiplies_alike(op: Operation, varying: frozenset[int]) -> bool:
    """Whether `op` is a product by a matrix that is alike in all iterations, or a solution with one."""
    if not isinstance(op, Apply) or op.primitive not in ("contract", *SOLVES) or not op.out.shape:
        return False
    alike = [v for v in op.operands if v.id not in varying]
    return len(alike) == 1 and alike[0].size >= LEAST_MATRIX
