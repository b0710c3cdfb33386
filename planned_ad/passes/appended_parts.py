"""An array that gets a part more in each iteration is not copied each time: the part is put behind what is there.

>>> import numpy as np
>>> from planned_ad.passes.dead_code import drop_dead
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     path = x[:2]
...     for k in range(30):
...         path = np.append(path, x[k] * x[k + 1])
...     return path
>>> tape = trace(f, (np.zeros(31),)).tape
>>> print(brief(tape).partition("v4 =")[2])
 multiply(v2, v3)
    v5: float64[1] = view(v4, view={+0 [1] by [1]})
    v6: float64[(i0 + 2)] = path#1[0:i0 + 2]
    path#2[...] = v0
    path#2[0:i0 + 2] = v6
    path#2[i0 + 2:i0 + 3] = v5
    v7: float64[(i0 + 3)] = path#2[0:i0 + 3]
    path#1[0:i0 + 3] = v7
v8: float64[32] = path#1[...]
return v8
>>> print(brief(drop_dead(appended_parts(tape))).partition("v4 =")[2])
 multiply(v2, v3)
    v5: float64[1] = view(v4, view={+0 [1] by [1]})
    path#1[i0 + 2:i0 + 3] = v5
v8: float64[32] = path#1[...]
return v8

Requires a verified tape; ensures the same numbers. So NumPy's `append`, `concatenate`, `vstack` and `hstack` take as
long for all iterations as for the last one, where Python copies what there is each time.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..regions.affine import Extent, exact
from ..regions.regions import Region, View
from ..tape.tape import Buffer, Load, Operation, Store, Tape

MOST_PIECES = 16


def appended_parts(tape: Tape) -> Tape:
    """Stores of an array that is what is in that memory already and more behind it are of what is behind alone."""
    operations = with_parts_alone(tape.operations, tape.buffers)
    return tape if operations is tape.operations else replace(tape, operations=operations)


def with_parts_alone(block: tuple[Operation, ...], buffers: Sequence[Buffer]) -> tuple[Operation, ...]:
    found: list[Operation] = []
    accesses = Accesses()
    for op in block:
        parts = None
        if op.blocks:
            inner = [with_parts_alone(each, buffers) for each in op.blocks]
            found.append(op if all(map(operator.is_, inner, op.blocks)) else op.with_blocks(*inner))
        else:
            if isinstance(op, Store) and op.value.id in accesses.loads and buffers[op.region.buffer].kind == "local":
                dtypes = {buffers[r.buffer].dtype for r in (op.region, accesses.loads[op.value.id][1].region)}
                parts = accesses.parts_behind(op) if len(dtypes) == 1 else None
            found += [op] if parts is None else parts
        accesses.note(op)
    return block if len(found) == len(block) and all(map(operator.is_, found, block)) else tuple(found)


@dataclass
class Accesses:
    """What a block has done so far: of each memory, what touches it and when; and the loads, by what they load."""

    of: defaultdict[int, list[tuple[int, Operation]]] = field(default_factory=lambda: defaultdict(list))
    loads: dict[int, tuple[int, Load]] = field(default_factory=dict)
    done: int = 0

    def note(self, op: Operation) -> None:
        for buffer in {region.buffer for region in (*op.reads, *op.writes)}:
            self.of[buffer].append((self.done, op))
        if isinstance(op, Load):
            self.loads[op.out.id] = self.done, op
        self.done += 1

    def parts_behind(self, op: Store) -> list[Operation] | None:
        """What is left to store, where the rest of what is stored lies there; None where that is not known."""
        (loaded_at, joined), memory = self.loads[op.value.id], op.region.buffer
        if op.accumulate or joined.region.buffer == memory or not same_view(joined.region.view, op.region.view):
            return None
        pieces = self.pieces_joined(joined.region, loaded_at)
        first = None if pieces is None else self.loads.get(pieces[0].value.id)
        if pieces is None or first is None or len(pieces) < 2 or {p.value.dtype for p in pieces} != {op.value.dtype}:
            return None
        read_at, there = first
        if there.region.buffer != memory or not same_view(there.region.view, pieces[0].region.view):
            return None
        since = itertools.takewhile(lambda access: access[0] > read_at, reversed(self.of[memory]))
        if any(r.buffer == memory for _, other in since for r in other.writes):
            return None
        return [replace(op, region=Region(memory, piece.region.view), value=piece.value) for piece in pieces[1:]]

    def pieces_joined(self, joined: Region, until: int) -> list[Store] | None:
        """The stores that make a region what it is, one behind the other along an axis; None where they do not."""
        found: list[Store] = []
        for at, op in reversed(self.of[joined.buffer]):
            if at >= until:
                continue
            is_piece = isinstance(op, Store) and not op.accumulate and op.value.shape == op.region.shape
            if not is_piece or len(found) > MOST_PIECES:
                break
            found.insert(0, op)  # type: ignore[arg-type]
        for axis in range(len(joined.view.shape)):
            if lie_behind_one_another(joined.view, [piece.region.view for piece in found], axis):
                return found
        return None


def lie_behind_one_another(whole: View, parts: Sequence[View], axis: int) -> bool:
    """Whether the parts are all of it."""
    done: Extent = 0
    for part in parts:
        if part.strides != whole.strides or part.offset - whole.offset - done * whole.strides[axis] != 0:
            return False
        if any(exact(n) != exact(m) for k, (n, m) in enumerate(zip(part.shape, whole.shape)) if k != axis):
            return False
        done = done + exact(part.shape[axis])
    return bool(parts) and done - exact(whole.shape[axis]) == 0


def same_view(a: View, b: View) -> bool:
    """Whether two memories that are laid out alike show the same places."""
    is_alike = a.strides == b.strides and len(a.shape) == len(b.shape) and a.offset - b.offset == 0
    return is_alike and all(exact(n) == exact(m) for n, m in zip(a.shape, b.shape))
