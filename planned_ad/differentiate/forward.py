"""Forward mode: a tape that computes tangents beside the primal, operation by operation.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda x: np.sin(x[0] * x[1]), (np.zeros(2),)).tape
>>> print(brief(tape))
v0 = x[0]
v1 = x[1]
v2 = multiply(v0, v1)
v3 = sin(v2)
return v3
>>> print(brief(forward(tape)))
v0 = x[0]
v4 = dx#1[0]
v1 = x[1]
v5 = dx#1[1]
v2 = multiply(v0, v1)
v6 = multiply(v4, v1)
v7 = multiply(v5, v0)
v8 = add(v6, v7)
v3 = sin(v2)
v9 = cos(v2)
v10 = multiply(v8, v9)
result#2[...] = v3
result#3[...] = v10

Requires a tape, a primal or one that was differentiated before; ensures its effects, and the tangents of its results.

The result is again a tape. Nothing is kept: the tangent of a value is computed right after the value, that of memory
lives in a shadow of the same layout, and loops and branches carry both (Griewank & Walther, Evaluating Derivatives,
2nd ed., 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..analysis.activity import activity, is_floating
from ..analysis.singularities import Singularities, singularities, strengthened
from ..errors import UnsupportedError
from ..passes.boundary import store_results
from ..passes.inline import write_out_calls
from ..passes.products import in_numbers
from ..regions.regions import Region
from ..rules.algebra import Symbol
from ..rules.table import RULES, Rule
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.callees import has_rule, tangent_of_call
from ..tape.tape import Apply, Buffer, Load, Loop, Operation, Scatter, Store, Tape, Value
from .moving_views import flattens, refuse_flattening
from .shadows import new_shadow, shadow_region


@dataclass
class Tangents:
    """The state of forward mode: tangents of values by id (none for what has no derivative), shadows of buffers."""

    builder: TapeBuilder
    active: frozenset[int]  # ids of values with a derivative
    shadows: dict[int, Buffer] = field(default_factory=dict)
    tangents: dict[int, Value] = field(default_factory=dict)
    loops: tuple[Loop, ...] = ()  # around
    facts: Singularities = field(default_factory=Singularities)  # of the primal, and of what has been written

    def shadow(self, region: Region) -> Region:
        """The region of the shadow that belongs to a region of the primal."""
        buffer = self.builder.buffers[region.buffer]
        return shadow_region(self.builder, region, buffer, self.shadows[region.buffer], self.loops)

    def tangent(self, value: Value) -> Value:
        """The tangent of `value`; a zero where it has none."""
        found = self.tangents.get(value.id)
        return self.builder.constant(0, value.dtype) if found is None else found


def forward(tape: Tape, *, keep_results: bool = True) -> Tape:
    """The primal with its tangents.

    Requires a primal tape, or one that was differentiated. Arguments of the result: those of `tape`, then a tangent
    (kind 'tangent') for each active argument, then (`keep_results`) the results, then the tangents of the floating
    results (kind 'result'). The tangents of arguments are in-out: of their initial state on entry, of their final
    state on exit. Shadows and results among the arguments have tangents too, which are only written to.
    """
    tape = write_out_calls(tape, keep=has_rule)
    values, buffers = activity(tape)
    builder = rebuilt(tape)
    state = Tangents(builder, values, facts=singularities(tape.operations, tape.buffers))
    arguments = list(tape.arguments)
    written = {id for id in tape.arguments if tape.buffers[id].kind in ("shadow", "result")}
    for id in sorted(buffers | written):
        if is_floating(tape.buffers[id].dtype):
            kind = "tangent" if id in tape.arguments else "local"
            shadow = state.shadows[id] = new_shadow(builder, tape.buffers[id], kind)
            if kind == "tangent":
                arguments.append(shadow.id)
    push(state, tape.operations)
    returned = store_results(builder, tape.results) if keep_results else []
    returned += store_results(builder, [full_tangent(state, r) for r in tape.results if is_floating(r.dtype)])
    return Tape(
        buffers=tuple(builder.buffers),
        arguments=(*arguments, *returned),
        operations=tuple(builder.operations),
        turn=len(builder.operations),
        active=tape.active,
    )


def full_tangent(state: Tangents, value: Value) -> Value:
    """The tangent of `value` in its shape."""
    return state.builder.broadcast(state.tangent(value), value.shape)


def push(state: Tangents, operations: Sequence[Operation]) -> None:
    """Write `operations`, each followed by what it does to tangents."""
    for op in operations:
        state.builder.line = op.line
        if op.blocks:
            state.builder.emit(with_tangents(state, op))
            continue
        state.builder.emit(op)
        if isinstance(op, Apply):
            if op.out.id in state.active:
                push_apply(state, op)
        elif isinstance(op, Load):
            if op.region.buffer in state.shadows:
                state.tangents[op.out.id] = state.builder.load(state.shadow(op.region))
        elif isinstance(op, Store):
            push_store(state, op)
        elif isinstance(op, Scatter):
            push_scatter(state, op)


def with_tangents(state: Tangents, op: Operation) -> Operation:
    """A loop or branch with tangents in its blocks."""
    around = state.loops
    if isinstance(op, Loop):
        state.loops = (*around, op)
    blocks = [state.builder.recorded(lambda block=block: push(state, block)) for block in op.blocks]  # type: ignore[misc]
    state.loops = around
    return op.with_blocks(*blocks)


def push_apply(state: Tangents, op: Apply) -> None:
    builder, rule = state.builder, RULES[op.primitive]
    tangents = [state.tangents.get(v.id) for v in op.operands]
    if op.primitive == "call":
        if all(tangent is None for tangent in tangents):
            return
        state.tangents[op.out.id] = tangent_of_call(builder, op, tangents)
        return
    symbols = [Symbol(builder, v) for v in op.operands]
    before = len(builder.operations)
    for tangent, adjoint in zip(tangents, rule.adjoints):
        if tangent is not None and adjoint is None and rule.refused:
            raise UnsupportedError(f"{op.line}: {op.primitive} has no derivative here: {rule.refused}")
    pairs = [None if t is None else Symbol(builder, t) for t in tangents]
    total = tangent_of(rule, pairs, Symbol(builder, op.out), symbols, op.params)
    if not flattens(op):
        refuse_flattening(op, builder.operations[before:])
    given = [t.id for t in tangents if t is not None]
    unbounded = state.facts.is_steep(op) or any(v.id in state.facts.steep for v in op.operands)
    if unbounded and rule.kind == "contract":
        in_numbers(builder, before)
    builder.operations[before:] = strengthened(builder.operations[before:], given, state.facts, unbounded)
    if total is not None:
        state.tangents[op.out.id] = builder.broadcast(total.value, op.out.shape)


def tangent_of(
    rule: Rule, tangents: Sequence[Symbol | None], y: Symbol, operands: Sequence[Symbol], parameters: dict
) -> Symbol | None:
    """The tangent of `y = primitive(*operands)`; None where it is zero."""
    if all(tangent is None for tangent in tangents):  # as of a sum of signs
        return None
    if rule.tangent is not None:
        return rule.tangent(tangents, y, *operands, **parameters)
    first = tangents[0]
    if rule.kind in ("view", "gather"):
        return None if first is None else first.apply(rule.name, *operands[1:], **parameters)
    if rule.kind == "reduce":
        (adjoint,) = rule.adjoints
        if first is None or adjoint is None:
            return None
        one = y.constant(1).broadcast(y.shape)
        return (first * adjoint(one, y, *operands, **parameters)).apply("reduce_sum", **parameters)  # type: ignore[operator]
    # The Jacobian is diagonal (elementwise), so that the adjoint is the tangent.
    assert rule.kind == "elementwise", rule.name
    total: Symbol | None = None
    for tangent, adjoint in zip(tangents, rule.adjoints):
        if tangent is not None and adjoint is not None:
            part = adjoint(tangent, y, *operands, **parameters)
            assert isinstance(part, Symbol)
            total = part if total is None else total + part
    return total


def push_store(state: Tangents, op: Store) -> None:
    if op.region.buffer not in state.shadows:
        return
    if op.accumulate and op.value.id not in state.tangents:
        return
    state.builder.store(state.shadow(op.region), state.tangent(op.value), accumulate=op.accumulate)


def push_scatter(state: Tangents, op: Scatter) -> None:
    if op.region.buffer not in state.shadows:
        return
    if op.accumulate and op.value.id not in state.tangents:
        return
    tangent = full_tangent(state, op.value)
    state.builder.scatter(state.shadow(op.region), op.indices, tangent, accumulate=op.accumulate)
