"""Callees: functions of values that are one operation of a tape, `call`, with derivatives of their own.

Results of one dtype come back as one value, packed one after the other, so that an operation has one result; the
memory in between disappears where a callee is written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from ..errors import NotDifferentiableError
from ..python.source import UNKNOWN, Line
from ..regions.regions import Region, View, contiguous
from .builder import TapeBuilder
from .interpret import interpret, memory_of
from .tape import Apply, Tape, Value

Type = tuple[tuple[int, ...], np.dtype]  # shape and dtype


class Native(Protocol):
    """Code that is no tape: a callback into Python, or a compiled function.

    `address` is that of `int32 function(void** operands, void* results)`: contiguous operands, the results packed one
    after the other; not 0 where it fails, and then an error is pending (see `planned_ad.python.callbacks`).
    """

    in_python: bool  # whether it runs Python, and so allocates

    @property
    def address(self) -> int: ...

    def run(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivative:
    """A callee that computes a derivative of another.

    Its operands are those among the operands and results (numbered after the operands) of the other in `needs`, then,
    of a pullback, a cotangent for each floating result; of a pushforward, a tangent for each floating operand. Its
    results concern, of a pullback, the operands `targets`; of a pushforward, the results `targets`.
    """

    callee: Callee
    needs: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(eq=False, kw_only=True)
class Callee:
    """A function of `operands` to `results`; equal to itself only.

    tape : closed, its arguments are the operands, its results the results. None of a native one.
    make_pullback, make_pushforward : its derivatives, made when they are asked for; None where there is none.
    has_rule : whether these are other than the derivatives of its tape.
    """

    name: str
    operands: tuple[Type, ...]
    results: tuple[Type, ...]
    tape: Tape | None = None
    native: Native | None = None
    line: Line = UNKNOWN
    make_pullback: Callable[[], Derivative] | None = None
    make_pushforward: Callable[[], Derivative] | None = None
    has_rule: bool = False
    groups: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        dtypes = dict.fromkeys(dtype for _, dtype in self.results)
        self.groups = [[k for k, (_, d) in enumerate(self.results) if d == dtype] for dtype in dtypes]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def pullback(self) -> Derivative | None:
        return None if self.make_pullback is None else self.make_pullback()

    @cached_property
    def pushforward(self) -> Derivative | None:
        return None if self.make_pushforward is None else self.make_pushforward()

    @property
    def floating_results(self) -> list[int]:
        return [k for k, (_, dtype) in enumerate(self.results) if dtype.kind == "f"]

    @property
    def floating_operands(self) -> list[int]:
        return [k for k, (_, dtype) in enumerate(self.operands) if dtype.kind == "f"]

    # Groups of results.

    def group_type(self, group: int) -> Type:
        members = self.groups[group]
        if len(members) == 1:
            return self.results[members[0]]
        return (sum(size_of(self.results[k]) for k in members),), self.results[members[0]][1]

    def places(self, group: int) -> list[View]:
        """Where the results of a group lie in what is packed."""
        found, offset = [], 0
        for k in self.groups[group]:
            found.append(contiguous(self.results[k][0], offset))
            offset += size_of(self.results[k])
        return found

    # Its meaning.

    def run(self, *operands: np.ndarray) -> list[np.ndarray]:
        if self.native is not None:
            return self.native.run(operands)
        tape = self.tape
        assert tape is not None
        return interpret(tape, {id: memory_of(tape.buffers[id], a) for id, a in zip(tape.arguments, operands)})

    def evaluate(self, group: int, *operands: np.ndarray) -> np.ndarray:
        results = self.run(*operands)
        members = self.groups[group]
        if len(members) == 1:
            return results[members[0]]
        return np.concatenate([results[k].reshape(-1) for k in members])


def size_of(kind: Type) -> int:
    return int(np.prod(kind[0], dtype=int))


def call(builder: TapeBuilder, callee: Callee, operands: Sequence[Value]) -> list[Value]:
    """Record a call; its results."""
    results: dict[int, Value] = {}
    for group, members in enumerate(callee.groups):
        out = builder.apply("call", *operands, callee=callee, group=group)
        results.update(zip(members, unpacked(builder, callee, group, out)))
    return [results[k] for k in range(len(callee.results))]


def unpacked(builder: TapeBuilder, callee: Callee, group: int, packed: Value) -> list[Value]:
    """The values of a group, from the one value that a call gives (or from its cotangent)."""
    if len(callee.groups[group]) == 1:
        return [packed]
    return [builder.view(packed, place) for place in callee.places(group)]


def packed(builder: TapeBuilder, callee: Callee, group: int, values: Sequence[Value]) -> Value:
    """The values of a group as one."""
    if len(values) == 1:
        return values[0]
    shape, dtype = callee.group_type(group)
    buffer = builder.new_buffer("local", "results", dtype, contiguous(shape))
    for place, value in zip(callee.places(group), values):
        builder.store(Region(buffer.id, place), value)
    return builder.load(buffer.whole)


def has_rule(callee: Callee) -> bool:
    """Whether it has a derivative of its own, so that its tape is not differentiated."""
    return callee.has_rule


def is_call(op: object) -> bool:
    return isinstance(op, Apply) and op.primitive == "call"


def cotangents_of_call(builder: TapeBuilder, op: Apply, cotangent: Value) -> list[tuple[Value, Value]]:
    """The operands of a call that have one, and their cotangents, from that of its result."""
    callee, group = op.params["callee"], op.params["group"]
    derivative = callee.pullback
    if derivative is None:
        raise not_differentiable(op)
    given = dict(zip(callee.groups[group], unpacked(builder, callee, group, cotangent)))
    cotangents = [given.get(k) or zeros(builder, callee.results[k]) for k in callee.floating_results]
    found = call(builder, derivative.callee, [*needed(builder, op, derivative), *cotangents])
    pairs = ((op.operands[k], part) for k, part in zip(derivative.targets, found))
    return [(operand, builder.cast(part, operand.dtype)) for operand, part in pairs]


def tangent_of_call(builder: TapeBuilder, op: Apply, tangents: Sequence[Value | None]) -> Value:
    """The tangent of a call's result, from those of its operands (None for zero)."""
    callee, group = op.params["callee"], op.params["group"]
    derivative = callee.pushforward
    if derivative is None:
        raise not_differentiable(op)
    full = []
    for k in callee.floating_operands:
        tangent = tangents[k]
        kind = callee.operands[k]
        full.append(zeros(builder, kind) if tangent is None else builder.broadcast(tangent, kind[0]))
    found = call(builder, derivative.callee, [*needed(builder, op, derivative), *full])
    by_result = dict(zip(derivative.targets, found))
    parts = [by_result.get(k) or zeros(builder, callee.results[k]) for k in callee.groups[group]]
    return packed(builder, callee, group, parts)


def not_differentiable(op: Apply) -> NotDifferentiableError:
    callee = op.params["callee"]
    return NotDifferentiableError(
        f"{op.line}: `{op.line.text}` needs a derivative of {callee} ({callee.line}), which has none: its code is not "
        f"traced. Give it one with @{callee}.vjp (and @{callee}.jvp for forward mode)"
    )


def needed(builder: TapeBuilder, op: Apply, derivative: Derivative) -> list[Value]:
    """The operands and results of a call that a derivative reads."""
    callee, group = op.params["callee"], op.params["group"]
    known = dict(enumerate(op.operands))
    first = len(op.operands)
    known.update({first + k: v for k, v in zip(callee.groups[group], unpacked(builder, callee, group, op.out))})
    if any(k not in known for k in derivative.needs):
        known.update({first + k: v for k, v in enumerate(call(builder, callee, op.operands))})
    return [known[k] for k in derivative.needs]


def zeros(builder: TapeBuilder, kind: Type) -> Value:
    shape, dtype = kind
    return builder.view(builder.constant(0, dtype), View(0, shape, (0,) * len(shape)))
