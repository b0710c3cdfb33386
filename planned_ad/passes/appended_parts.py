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

import operator
from collections.abc import Sequence
from dataclasses import replace

from ..regions.affine import Extent, exact
from ..regions.regions import Region, View
from ..tape.tape import Buffer, Load, Operation, Store, Tape


def appended_parts(tape: Tape) -> Tape:
    """Stores of an array that is what is in that memory already and more behind it are of what is behind alone."""
    operations = with_parts_alone(tape.operations, tape.buffers)
    return tape if operations is tape.operations else replace(tape, operations=operations)


def with_parts_alone(block: tuple[Operation, ...], buffers: Sequence[Buffer]) -> tuple[Operation, ...]:
    found: list[Operation] = []
    loads: dict[int, tuple[int, Load]] = {}  # of this block, by what they load, and where they are
    for k, op in enumerate(block):
        if op.blocks:
            inner = [with_parts_alone(each, buffers) for each in op.blocks]
            found.append(op if all(map(operator.is_, inner, op.blocks)) else op.with_blocks(*inner))
            continue
        if isinstance(op, Load):
            loads[op.out.id] = k, op
        parts = None
        if isinstance(op, Store) and op.value.id in loads and buffers[op.region.buffer].kind == "local":
            dtypes = {buffers[r.buffer].dtype for r in (op.region, loads[op.value.id][1].region)}
            parts = parts_behind(block[:k], op, loads) if len(dtypes) == 1 else None
        found += [op] if parts is None else parts
    return block if len(found) == len(block) and all(map(operator.is_, found, block)) else tuple(found)


def parts_behind(before: Sequence[Operation], op: Store, loads: dict[int, tuple[int, Load]]) -> list[Operation] | None:
    """What is left to store, where the rest of what is stored lies there; None where that is not known."""
    (loaded_at, joined), memory = loads[op.value.id], op.region.buffer
    if op.accumulate or joined.region.buffer == memory or not same_view(joined.region.view, op.region.view):
        return None
    pieces = pieces_joined(before[:loaded_at], joined.region)
    first = None if pieces is None else loads.get(pieces[0].value.id)
    if pieces is None or first is None or len(pieces) < 2 or {p.value.dtype for p in pieces} != {op.value.dtype}:
        return None
    read_at, there = first
    if there.region.buffer != memory or not same_view(there.region.view, pieces[0].region.view):
        return None
    if any(r.buffer == memory for other in before[read_at:] for r in other.writes):
        return None
    return [replace(op, region=Region(memory, piece.region.view), value=piece.value) for piece in pieces[1:]]


def pieces_joined(before: Sequence[Operation], joined: Region) -> list[Store] | None:
    """The stores that make a region what it is, one behind the other along an axis; None where they do not."""
    found: list[Store] = []
    for op in reversed(before):
        if not any(r.buffer == joined.buffer for r in (*op.writes, *op.reads)):
            continue
        if not isinstance(op, Store) or op.accumulate or op.value.shape != op.region.shape:
            break
        found.insert(0, op)
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
