"""The state of a reverse sweep: the cotangents so far, and the memory that they are added up in."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..analysis.activity import is_floating
from ..analysis.dependence import Overwrites
from ..analysis.singularities import Singularities
from ..errors import UnsupportedError
from ..regions.affine import Ragged
from ..regions.regions import Region, View, compose, is_fixed, is_injective, is_ragged, show
from ..tape.builder import TapeBuilder
from ..tape.tape import Buffer, Load, Loop, Operation, Value
from .keep.rooms import NO_ROOMS, Rooms
from .shadows import local_memory, new_shadow, shadow_region
from .windows import add_windows


@dataclass(frozen=True, slots=True)
class Part:
    """A contribution to a cotangent that concerns only a part of it: what a view or a gather shows."""

    cotangent: Value
    view: View | None = None
    indices: tuple[Value, ...] = ()


@dataclass
class Sweep:
    """The state of one reverse sweep: cotangents so far, shadows, and the tape being written.

    A loop's body, or a side of a branch, has a sweep of its own inside that of the block around it, its `parent`.
    """

    builder: TapeBuilder
    active: frozenset[int]  # ids of values with a derivative
    shadows: dict[int, Buffer] = field(default_factory=dict)
    contributions: dict[int, list[Value | Part]] = field(default_factory=dict)
    overwrites: Overwrites | None = None  # what the primal writes; of the outermost sweep
    parent: Sweep | None = None
    loops: tuple[Loop, ...] = ()  # around what is being transposed
    defined: frozenset[int] = frozenset()  # values of the block that is being transposed; of inner sweeps
    totals: dict[int, tuple[Value, Region]] = field(default_factory=dict)
    counts: dict[int, Value] = field(default_factory=dict)  # by index, how often loops that stop have run
    rooms: Rooms = NO_ROOMS  # of the outermost sweep
    facts: Singularities = field(default_factory=Singularities)  # of the primal, and of what has been written
    indices: Iterator[int] = field(default_factory=itertools.count)  # that no loop of the tape has
    block: Sequence[Operation] = ()  # of the primal, which is being transposed, and where
    position: int = 0

    def contribute(self, value: Value, cotangent: Value | Part) -> None:
        if value.id in self.active:
            self.contributions.setdefault(value.id, []).append(cotangent)

    def total(self, value: Value) -> Region:
        """Where the cotangents of a value from outside of this block are added up: in the block that defines it."""
        assert self.parent is not None
        if self.parent.parent is not None and value.id not in self.parent.defined:
            return self.parent.total(value)
        if value.id not in self.totals:
            self.totals[value.id] = (value, self.memory("cotangent", value.shape, value.dtype))
        return self.totals[value.id][1]

    def shown(self, value: Value) -> Region | None:
        """The shadow of what a value from outside of this block was loaded from, where that is not written to since.

        What is added to its cotangent may be added there at once, until the adjoint of the operation around is over.
        """
        around = self.parent
        while around is not None:
            since = around.block[: around.position + 1]
            k = next((k for k, op in enumerate(since) if any(out.id == value.id for out in op.outputs)), None)
            if k is not None:
                load = since[k]
                if not isinstance(load, Load) or load.region.buffer not in self.shadows:
                    return None
                is_written = any(r.buffer == load.region.buffer for op in since[k:] for r in op.writes)
                return None if is_written else around.shadow(load.region)
            around = around.parent
        return None

    def memory(self, label: str, shape: tuple[int, ...], dtype: np.dtype) -> Region:
        return local_memory(self.builder, label, shape, dtype)

    def shadow(self, region: Region) -> Region:
        """The region of the shadow buffer that belongs to a region of the primal."""
        buffer = self.builder.buffers[region.buffer]
        return shadow_region(self.builder, region, buffer, self.shadows[region.buffer], self.loops)

    def make_shadows(self, buffers: Iterable[int]) -> None:
        """Shadows, zero at first, for those of these buffers that have none."""
        for id in sorted(set(buffers) - set(self.shadows)):
            if is_floating(self.builder.buffers[id].dtype):
                shadow = self.shadows[id] = new_shadow(self.builder, self.builder.buffers[id], "local")
                self.builder.store(shadow.whole, self.zero(shadow.dtype))

    def zero(self, dtype: np.dtype) -> Value:
        return self.builder.constant(0, dtype)

    def collapse(self, value: Value) -> Value | None:
        """The cotangent of `value` as one value; None when it is zero."""
        parts = self.contributions.pop(value.id, None)
        if parts is None:
            return None
        total = self.sum_of_whole(parts)
        if not any(isinstance(part, Part) for part in parts):
            return total
        memory = self.memory("cotangent", value.shape, value.dtype)
        self.builder.store(memory, self.zero(value.dtype) if total is None else total)
        self.add_parts(memory, parts)
        return self.builder.load(memory)

    def sum_of_whole(self, parts: Iterable[Value | Part]) -> Value | None:
        """The sum of the contributions that concern all of a cotangent."""
        total = None
        for part in parts:
            if isinstance(part, Value):
                total = part if total is None else self.builder.apply("add", total, part)
        return total

    def add_parts(self, region: Region, parts: Iterable[Value | Part]) -> None:
        """Add those that do not."""
        for part in parts:
            if isinstance(part, Part):
                self.add_part(region, part)

    def add_part(self, region: Region, part: Part) -> None:
        """Add a contribution to the part of `region` that it concerns."""
        if part.view is None:
            self.builder.scatter(region, part.indices, part.cotangent, accumulate=True)
            return
        view = compose(region.view, part.view)
        if view is not None:
            self.add(Region(region.buffer, view), part.cotangent)
            return
        if not is_fixed(part.view):  # in packed memory every view is affine
            packed = self.memory("cotangent", region.shape, part.cotangent.dtype)
            self.builder.store(packed, self.zero(part.cotangent.dtype))
            self.add_part(packed, part)
            self.add(region, self.builder.load(packed))
            return
        # A view that is not affine here: its elements one by one.
        positions = show(np.arange(region.view.size), part.view).reshape(-1)
        indices = tuple(self.builder.constant(i.astype(np.int64)) for i in np.unravel_index(positions, region.shape))
        flat = self.builder.reshape(part.cotangent, (part.cotangent.size,))
        self.builder.scatter(region, indices, flat, accumulate=True)

    def add(self, region: Region, cotangent: Value) -> None:
        """Add `cotangent` to `region`, which may show an element several times."""
        cotangent, view = sum_repeated(self.builder, cotangent, region.view)
        if is_injective(view):
            self.builder.store(Region(region.buffer, view), cotangent, accumulate=True)
            return
        if is_ragged(view.shape):
            raise UnsupportedError(f"{self.builder.line}: windows that overlap, of an extent that a loop changes")
        add_windows(self.builder, Region(region.buffer, view), cotangent, self.indices)


def sum_repeated(builder: TapeBuilder, cotangent: Value, view: View) -> tuple[Value, View]:
    """Sum over the axes along which `view` repeats its elements; the cotangent and the view that are left."""
    repeated = tuple(
        k for k, (n, s) in enumerate(zip(view.shape, view.strides)) if s == 0 and (n > 1 or isinstance(n, Ragged))
    )
    if not repeated:
        return cotangent, view
    cotangent = builder.apply("reduce_sum", cotangent, axes=repeated)
    kept = [k for k in range(len(view.shape)) if k not in repeated]
    return cotangent, View(view.offset, tuple(view.shape[k] for k in kept), tuple(view.strides[k] for k in kept))
