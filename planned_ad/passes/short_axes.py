"""Axes of two to seven elements, along which much is summed or repeated, are written out: a value for each element.

>>> import numpy as np
>>> from planned_ad.passes.dead_code import drop_dead
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.sqrt(np.sum(np.sin(x) ** 2, axis=1)), (np.zeros((99, 2)),)).tape
>>> print(brief(tape))
v0: float64[99, 2] = x[...]
v1: float64[99, 2] = sin(v0)
v2: float64[99, 2] = multiply(v1, v1)
v3: float64[99] = reduce_sum(v2, axes=(1,))
v4: float64[99] = sqrt(v3)
return v4
>>> print(brief(write_out_short_axes(tape)))
v5: float64[99] = x[:, 0]
v6: float64[99] = x[:, 1]
v7: float64[99] = sin(v5)
v8: float64[99] = sin(v6)
v9: float64[99] = multiply(v7, v7)
v10: float64[99] = multiply(v8, v8)
v3: float64[99] = add(v9, v10)
v4: float64[99] = sqrt(v3)
return v4

Points `[n, 3]`, their distances `[n]` and what is made of both are then one domain, `[n]`, and fuse; vectors of a
machine are filled with the same coordinate of many points. Largest and smallest numbers are written out when the
reverse sweep is there (`write_out_extrema`): elements that attain them share equally, which a chain of two at a time
does not say. Requires a tape; ensures the same numbers (sums along such an axis are added in its order, as NumPy does).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from ..analysis.shared_axes import AxisOf
from ..regions.regions import Region, View, c_strides, contiguous, decompose, elements_shown, is_ragged
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Constant, Load, Operation, Store, Tape, Value, walk
from .products import extents_of

LONGEST = 7  # elements of an axis that is written out: the next fills a vector; of products, `FEW`
LONGEST_WINDOW = 16  # of windows that overlap, along all of their axes: their sums are sums of shifted slices
LEAST = 64  # elements of what is left: shorter arrays fill no vectors
PAYS = 2  # operations on numbers, at least, for each that then lies apart from its neighbours in memory ...
SUM_OF_FEW = 2  # operations that adding a number to a few others costs, which fill no vector
FEW, PAYS_BEYOND = 4, 4  # ... and where these are more than a few, which are not told apart within vectors
MOST_OPERATIONS = 400  # that are written
MOST_CONSTANT = 1 << 16  # elements
SUMS = {"reduce_sum": "add"}  # what is written out, by what joins two of its parts
EXTREMA = {"reduce_max": "maximum", "reduce_min": "minimum"}

Places = tuple[int, ...]  # an index along each axis of a value that is written out


def write_out_short_axes(tape: Tape) -> Tape:
    """Requires a primal tape; ensures the same numbers. The same tape where no such axis is worth it."""
    return with_axes_written_out(tape, SUMS)


def write_out_extrema(tape: Tape) -> Tape:
    """As `write_out_short_axes`, of a tape with its reverse sweep, and largest and smallest numbers as well."""
    return with_axes_written_out(tape, SUMS | EXTREMA)


def with_axes_written_out(tape: Tape, joins: Mapping[str, str]) -> Tape:
    """The axes along which nothing but what `joins` says reduces."""
    chosen = ShortAxes(list(walk(tape.operations)), tape.results, joins).chosen()
    if not chosen:
        return tape
    is_primal = tape.turn == len(tape.operations)
    writer = PartWriter(rebuilt(tape), chosen, joins)
    tape = written_anew(tape, writer.builder, writer.write)
    for value in dict.fromkeys(tape.results):
        writer.join(value)
    builder = writer.builder
    turn = len(builder.operations) if is_primal else tape.turn
    return replace(tape, buffers=tuple(builder.buffers), operations=tuple(builder.operations), turn=turn)


def is_short_axis(value: Value, axis: int, longest: int = LONGEST_WINDOW) -> bool:
    return 2 <= value.shape[axis] <= longest and not is_ragged(value.shape)


def overlapping_axes(view: View) -> list[int]:
    """The axes along which a view goes on inside of a window, where the next window begins one step further.

    None where a window has more elements than are written out: all of its axes stay, or none.
    """
    axes = [(k, n, stride) for k, (n, stride) in enumerate(zip(view.shape, view.strides)) if n > 1 and stride]
    found = [k for k, n, stride in axes if any(m > n and other == stride for j, m, other in axes if j != k)]
    return found if math.prod(view.shape[k] for k in found) <= LONGEST_WINDOW else []


def covers_others(view: View, operand: Value, axis: int) -> bool:
    """Whether a view shows all that there is at one place of an axis."""
    return view.size * int(operand.shape[axis]) == operand.size


class ShortAxes:
    """The short axes of a tape's values, in classes of those that can be written out only together."""

    def __init__(self, operations: Sequence[Operation], results: Sequence[Value], joins: Mapping[str, str]):
        self.operations = operations
        self.joins = joins
        self.parent: dict[AxisOf, AxisOf] = {}
        self.values = {v.id: v for op in operations for v in (*op.outputs, *op.inputs)}
        self.whole: set[AxisOf] = set()  # classes that are needed as they are
        self.products: set[AxisOf] = set()  # classes of products, which have forms of their own
        self.windows: set[AxisOf] = set()  # classes of windows that overlap, and of exponents
        self.made = {v.id: op for op in operations for v in op.outputs}
        self.joined = {value.id: value for value in results}  # that are put together in the end
        for op in operations:
            if not op.blocks:
                self.visit(op)

    def root(self, axis: AxisOf) -> AxisOf:
        while axis in self.parent:
            axis = self.parent[axis]
        return axis

    def unite(self, one: AxisOf, other: AxisOf) -> None:
        a, b = self.root(one), self.root(other)
        if a != b:
            self.parent[b] = a

    def keep(self, value: Value, axes: Iterable[int] | None = None) -> None:
        for axis in range(len(value.shape)) if axes is None else axes:
            self.whole.add((value.id, axis))

    def visit(self, op: Operation) -> None:
        """Note which axes go together, and which have to stay: with an axis whose extent differs, all do."""
        for value in (*op.inputs, *op.outputs):
            if is_ragged(value.shape):
                self.keep(value)
        match op:
            case Load() | Constant():
                if isinstance(op, Constant) and op.data.size > MOST_CONSTANT:
                    self.keep(op.out)
                if isinstance(op, Load):
                    self.windows.update((op.out.id, axis) for axis in overlapping_axes(op.region.view))
            case Store():
                if op.value.shape and op.value.shape != op.region.shape:
                    self.keep(op.value)
            case Apply():
                self.visit_apply(op)
            case _:
                for value in (*op.inputs, *op.outputs):
                    self.keep(value)

    def visit_apply(self, op: Apply) -> None:
        kind, out = RULES[op.primitive].kind, op.out
        if kind == "elementwise":
            for operand in op.operands:
                if operand.shape:
                    self.along(operand, range(len(out.shape)), out)
            if op.primitive == "power":
                self.windows.update((out.id, axis) for axis in self.axes_of_constant(op.operands[1]))
        elif kind == "view":
            self.visit_view(op)
        elif kind == "reduce":
            (operand,), summed = op.operands, op.params["axes"]
            if op.primitive not in self.joins or operand.dtype != out.dtype or out.dtype.kind not in "fi":
                self.keep(operand, summed)
            self.along(operand, [k for k in range(len(operand.shape)) if k not in summed], out)
        elif kind == "gather":
            source, *indices = op.operands
            count, common = len(indices), len(indices[0].shape)
            for value in indices:
                self.keep(value)
            self.keep(source, range(count))
            self.keep(out, range(common))
            for k in range(count, len(source.shape)):
                self.unite((source.id, k), (out.id, k - count + common))
        elif kind == "contract":
            first: dict[object, AxisOf] = {}
            for value, labels in labelled(op):
                for k, label in enumerate(labels):
                    self.unite(first.setdefault(label, (value.id, k)), (value.id, k))
            self.products.update(first.values())
        else:
            for value in (*op.operands, out):
                self.keep(value)

    def axes_of_constant(self, value: Value) -> list[int]:
        """The axes along which known numbers are repeated to make a value: powers by each are products."""
        op = self.made.get(value.id)
        if (
            not isinstance(op, Apply)
            or op.primitive != "view"
            or not isinstance(self.made.get(op.operands[0].id), Constant)
        ):
            return []
        strides = op.params["view"].strides
        return [axis for axis, stride in enumerate(strides) if stride] if 0 in strides else []

    def along(self, operand: Value, axes: Sequence[int], out: Value) -> None:
        """These axes of an operand are the axes of the result."""
        for new, axis in enumerate(axes):
            self.unite((operand.id, axis), (out.id, new))

    def visit_view(self, op: Apply) -> None:
        """What moves along a short axis is short itself, and written out with it."""
        (operand,), out = op.operands, op.out
        self.windows.update((out.id, axis) for axis in overlapping_axes(op.params["view"]))
        moves = decompose(op.params["view"], operand.shape)
        if moves is None:
            self.keep(operand)
            self.keep(out)
            return
        for axis in range(len(operand.shape)):
            if not any(step[axis] for step in moves.steps) and covers_others(op.params["view"], operand, axis):
                self.windows.add((operand.id, axis))  # one of the parts that what is written out would have
            for new, step in enumerate(moves.steps):
                if step[axis] and out.shape[new] > 1 and is_short_axis(operand, axis):
                    if is_short_axis(out, new):
                        self.unite((operand.id, axis), (out.id, new))
                    else:
                        self.keep(operand, (axis,))

    # What is worth it.

    def chosen(self) -> dict[int, tuple[int, ...]]:
        """Of each value the axes that are written out."""
        whole, windows, products = (set(map(self.root, found)) for found in (self.whole, self.windows, self.products))

        def is_chosen(value: Value, axis: int) -> bool:
            root = self.root((value.id, axis))
            longest = LONGEST_WINDOW if root in windows else FEW if root in products else LONGEST
            return root not in whole and is_short_axis(value, axis, longest)

        axes = {id: tuple(k for k in range(len(v.shape)) if is_chosen(v, k)) for id, v in self.values.items()}
        axes = {id: found for id, found in axes.items() if found}
        groups = self.groups(axes)
        paying = {root for root, members in groups.items() if self.pays(axes, members)}
        return {id: found for id, found in axes.items() if self.group[id] in paying}

    def groups(self, axes: dict[int, tuple[int, ...]]) -> dict[int, list[Operation]]:
        """Operations on values with such axes, in groups that share values."""
        parent: dict[int, int] = {id: id for id in axes}

        def root(id: int) -> int:
            while parent[id] != id:
                parent[id] = parent[parent[id]]
                id = parent[id]
            return id

        touching = [(op, [v.id for v in (*op.outputs, *op.inputs) if v.id in axes]) for op in self.operations]
        touching = [(op, ids) for op, ids in touching if ids and not op.blocks]
        for _, ids in touching:
            for id in ids:
                parent[root(id)] = root(ids[0])
        self.group = {id: root(id) for id in axes}
        found: dict[int, list[Operation]] = defaultdict(list)
        for op, ids in touching:
            found[self.group[ids[0]]].append(op)
        return found

    def pays(self, axes: dict[int, tuple[int, ...]], operations: Sequence[Operation]) -> bool:
        """Whether sums or repetitions along such axes make other domains, and more is computed than moved."""
        values = {v.id for op in operations for v in (*op.outputs, *op.inputs)} & axes.keys()
        count = Counter(moved=sum(v.size for id, v in self.joined.items() if id in values))
        mixes = False
        for op in operations:
            value = op.value if isinstance(op, Store) else op.outputs[0]
            if isinstance(op, Load | Store):
                count["moved"] += elements_moved(op.region.view)
                if isinstance(op, Load) and value.id in axes:
                    mixes |= any(not op.region.view.strides[axis] for axis in axes[value.id])
                if isinstance(op, Store) and value.id in axes and op.accumulate:
                    count["moved"] += elements_shown(op.region.view)
                continue
            if not isinstance(op, Apply):
                continue
            kind = RULES[op.primitive].kind
            largest = max((*op.operands, value), key=lambda v: v.size)
            terms = math.prod(extents_of(op).values()) if kind == "contract" else largest.size
            if kind in ("elementwise", "contract"):
                count["work"] += int(terms * max(RULES[op.primitive].cost, 1))
            if kind in ("reduce", "contract"):
                summed = [v for v in op.operands if v.id in axes and len(v.shape) > len(value.shape)]
                if kind == "reduce":
                    summed = [v for v in summed if not set(op.params["axes"]).isdisjoint(axes[v.id])]
                mixes |= value.size >= LEAST and bool(summed)
                is_of_few = kind == "reduce" and any(v.shape[k] <= FEW for v in summed for k in axes[v.id])
                count["work"] += largest.size * (SUM_OF_FEW if is_of_few else 1)
            if kind == "view" and value.id in axes:
                repeats = any(not op.params["view"].strides[axis] for axis in axes[value.id])
                mixes |= repeats and op.operands[0].size * 2 <= value.size and op.operands[0].size > LONGEST
            if kind == "view" and op.operands[0].id in axes:
                mixes |= value.size >= LEAST and 2 * value.size <= op.operands[0].size
            short = short_labels(axes, op)
            if short:
                mixes |= value.size >= LEAST and not has_rows_and_columns(op, short.keys())
            each = short.values() if kind == "contract" else (largest.shape[k] for k in axes.get(largest.id, ()))
            count["written"] += math.prod(each)
            if largest.id in axes:
                left = largest.size // math.prod(largest.shape[k] for k in axes[largest.id])
                count["left"] = max(count["left"], left)
        fits = count["written"] <= MOST_OPERATIONS and count["left"] >= LEAST
        is_beyond = any(FEW < self.values[id].shape[k] <= LONGEST for id in values for k in axes[id])
        pays = PAYS_BEYOND if is_beyond else PAYS
        return mixes and fits and count["work"] >= pays * count["moved"]


def elements_moved(view: View) -> int:
    """Elements that a view shows, those of windows that overlap counted once."""
    return elements_shown(view) // math.prod(view.shape[axis] for axis in overlapping_axes(view))


def labelled(op: Apply) -> Iterator[tuple[Value, tuple[int, ...]]]:
    """The operands and the result of a product, with their labels."""
    labels = op.params
    yield from zip((*op.operands, op.out), (labels["a_labels"], labels["b_labels"], labels["out_labels"]))


def short_labels(axes: dict[int, tuple[int, ...]], op: Apply) -> dict[int, int]:
    """The labels of a product that are written out, with their extents; none of what is no product."""
    if RULES[op.primitive].kind != "contract":
        return {}
    return {labels[k]: v.shape[k] for v, labels in labelled(op) for k in axes.get(v.id, ())}


def has_rows_and_columns(op: Apply, short: Set[int]) -> bool:
    """Whether a product is one of matrices when the labels in `short` are written out."""
    (_, a), (_, b), (_, out) = ((v, set(labels)) for v, labels in labelled(op))
    return bool((a & out) - b - short) and bool((b & out) - a - short)


@dataclass
class PartWriter:
    """Writes the operations of a tape, those on values with `axes` once for each place along these."""

    builder: TapeBuilder
    axes: dict[int, tuple[int, ...]]
    joins: Mapping[str, str]
    parts: dict[int, dict[Places, Value]] = field(default_factory=dict)

    def write(self, op: Operation) -> None:
        self.builder.line = op.line
        if op.blocks:
            self.builder.emit(self.builder.with_written_blocks(op, self.write))
        elif not any(v.id in self.axes for v in (*op.outputs, *op.inputs)):
            self.builder.emit(op)
        elif isinstance(op, Store):
            for place in self.places(op.value):
                region = Region(op.region.buffer, part_of_view(op.region.view, self.axes[op.value.id], place))
                self.builder.emit(replace(op, region=region, value=self.parts[op.value.id][place]))
        else:
            (out,) = op.outputs
            for place in self.places(out):
                self.write_part(op, out, place)

    def join(self, value: Value) -> None:
        """The value as a whole, from its parts, which are stored side by side."""
        if value.id not in self.axes:
            return
        whole = self.builder.new_buffer("local", "joined", value.dtype, contiguous(value.shape)).whole
        for place, part in self.parts[value.id].items():
            view = part_of_view(whole.view, self.axes[value.id], place)
            self.builder.store(Region(whole.buffer, view), part)
        self.builder.emit(Load(out=value, region=whole, line=self.builder.line))

    def places(self, value: Value) -> Iterator[Places]:
        return itertools.product(*(range(value.shape[k]) for k in self.axes.get(value.id, ())))

    def part(self, value: Value, at: dict[int, int]) -> Value:
        """The part of a value at an index of some of its axes, by their numbers."""
        if value.id not in self.axes:
            return value
        return self.parts[value.id][tuple(at[k] for k in self.axes[value.id])]

    def left(self, value: Value) -> list[int]:
        """The axes of a value that stay."""
        return [k for k in range(len(value.shape)) if k not in self.axes.get(value.id, ())]

    def new_part(self, value: Value, place: Places) -> Value:
        """What a part is called: a value that stays whole keeps its name."""
        if value.id not in self.axes:
            return value
        part = self.builder.new_value(tuple(value.shape[k] for k in self.left(value)), value.dtype)
        self.parts.setdefault(value.id, {})[place] = part
        return part

    def write_part(self, op: Operation, out: Value, place: Places) -> None:
        at = dict(zip(self.axes.get(out.id, ()), place))
        match op:
            case Constant():
                key = tuple(at.get(k, slice(None)) for k in range(len(out.shape)))
                data = op.data[key].copy()
                data.setflags(write=False)
                self.builder.emit(replace(op, out=self.new_part(out, place), data=data))
            case Load():
                view = part_of_view(op.region.view, self.axes[out.id], place)
                self.builder.emit(replace(op, out=self.new_part(out, place), region=Region(op.region.buffer, view)))
            case Apply():
                self.write_apply(op, place, at)
            case _:
                raise TypeError(f"{type(op).__name__} has no parts")

    def write_apply(self, op: Apply, place: Places, at: dict[int, int]) -> None:
        kind = RULES[op.primitive].kind
        if kind == "view":
            (operand,), (where, view) = op.operands, self.seen(op, at)
            self.emit(op, place, (self.part(operand, where),), view=view)
        elif kind == "reduce":
            self.write_sum(op, place, at)
        elif kind == "contract":
            self.write_product(op, place, at)
        elif kind == "gather":
            source, *indices = op.operands
            moved = len(indices[0].shape) - len(indices)
            self.emit(op, place, (self.part(source, {k - moved: n for k, n in at.items()}), *indices))
        else:
            self.emit(op, place, [self.part(v, at) for v in op.operands])

    def emit(self, op: Apply, place: Places, operands: Sequence[Value], **parameters: object) -> None:
        own = tuple((name, parameters.get(name, old)) for name, old in op.parameters)
        self.builder.emit(replace(op, out=self.new_part(op.out, place), operands=tuple(operands), parameters=own))

    def seen(self, op: Apply, at: dict[int, int]) -> tuple[dict[int, int], View]:
        """Which part of its operand a part of a view shows, and how."""
        (operand,), view = op.operands, op.params["view"]
        moves = decompose(view, operand.shape)
        assert moves is not None
        first = [s + sum(moves.steps[k][axis] * n for k, n in at.items()) for axis, s in enumerate(moves.start)]
        own, left = self.left(operand), self.left(op.out)
        strides = dict(zip(own, c_strides(tuple(operand.shape[k] for k in own))))
        steps = tuple(sum(moves.steps[k][axis] * strides[axis] for axis in own) for k in left)
        offset = sum(first[axis] * strides[axis] for axis in own)
        return dict(enumerate(first)), View(offset, tuple(view.shape[k] for k in left), steps)

    def write_sum(self, op: Apply, place: Places, at: dict[int, int]) -> None:
        """A sum or another reduction: along axes that are written out, of the parts in turn."""
        (operand,), summed = op.operands, op.params["axes"]
        here, left = self.axes.get(operand.id, ()), self.left(operand)
        stay = [k for k in range(len(operand.shape)) if k not in summed]
        kept = {k: at[new] for new, k in enumerate(stay) if new in at}
        terms = [
            self.part(operand, kept | dict(zip((k for k in here if k in summed), chosen)))
            for chosen in itertools.product(*(range(operand.shape[k]) for k in here if k in summed))
        ]
        axes = tuple(left.index(k) for k in summed if k in left)
        is_done = not axes and len(terms) > 1
        total = self.total(
            terms, self.new_part(op.out, place) if is_done else None, self.joins.get(op.primitive, "add")
        )
        if not is_done:
            self.emit(op, place, (total,), axes=axes)

    def total(self, terms: Sequence[Value], out: Value | None, join: str = "add") -> Value:
        """The sum of some values, in their order, under the name `out`."""
        total = terms[0]
        for number, term in enumerate(terms[1:], 2):
            named = out is not None and number == len(terms)
            result = out if named and out is not None else self.builder.new_value(term.shape, term.dtype)
            operands = (total, term)
            self.builder.emit(Apply(out=result, primitive=join, operands=operands, line=self.builder.line))
            total = result
        return total

    def write_product(self, op: Apply, place: Places, at: dict[int, int]) -> None:
        """A product: the sum, over the labels of axes that are written out, of products of parts."""
        (a, a_labels), (b, b_labels), (out, out_labels) = labelled(op)
        known = {out_labels[k]: n for k, n in at.items()}
        summed = {a_labels[k]: a.shape[k] for k in self.axes.get(a.id, ()) if a_labels[k] not in known}
        labels = {
            name: tuple(label for label in op.params[name] if label not in known and label not in summed)
            for name in ("a_labels", "b_labels", "out_labels")
        }
        chosen = [known | dict(zip(summed, numbers)) for numbers in itertools.product(*map(range, summed.values()))]
        pairs = [
            tuple(
                self.part(v, {k: where[names[k]] for k in self.axes.get(v.id, ())})
                for v, names in ((a, a_labels), (b, b_labels))
            )
            for where in chosen
        ]
        if len(pairs) == 1:
            self.emit(op, place, pairs[0], **labels)
            return
        terms = [self.builder.apply("contract", *pair, **labels) for pair in pairs]
        self.total(terms, self.new_part(out, place))


def part_of_view(view: View, axes: Sequence[int], place: Places) -> View:
    """What a view shows at an index along some of its axes."""
    offset = view.offset
    for axis, number in zip(axes, place):
        offset += number * view.strides[axis]
    left = [k for k in range(len(view.shape)) if k not in axes]
    return View(offset, tuple(view.shape[k] for k in left), tuple(view.strides[k] for k in left))
