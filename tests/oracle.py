"""What compiled plans are tested against: the function itself, the interpreter, and finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import planned_ad
from planned_ad.calls.entries import Entry, entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.compiling import default_options
from planned_ad.plan import Plan, known_or_new
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import array_of, interpret, memory_of, uninitialised
from planned_ad.tape.tape import Tape
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace

from .schedule_interpreter import run_plan
from .tracing_oracle import assert_same as assert_same_result
from .tracing_oracle import perturbed_by_nothing as copied

Shadows = dict[int, np.ndarray]  # contents by buffer of the argument

TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5}
PLANS: dict[Any, Plan] = {}


def compiled(f: Callable[..., Any], *args: Any, **options: Any) -> Plan:
    """A plan, verified: its tapes are well formed. `compile` checks nothing: whoever asks for it does that."""
    options.setdefault("check", False)
    plan = planned_ad.compile(f, args, **options)
    verify(plan._variants[0].trace.tape)
    return plan


def lazily_compiled(f: Callable[..., Any], *args: Any, **options: Any) -> Plan:
    """A plan of which nothing is compiled before it is asked for, not the gradient either; not checked, like those."""
    wanted: Any = default_options() | {"check": False} | options
    return known_or_new(f, args, wanted, None)[0]


def assert_close(actual: Any, expected: Any, what: str = "") -> None:
    """Equal to the rounding of the dtype, relative to the largest number of the array."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, what
    tolerance = TOLERANCE.get(expected.dtype, 0.0)
    finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind == "f" else expected.reshape(-1)[:0]
    scale = float(max(1.0, finite.max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what, equal_nan=True)


def memories_for(tape: Tape, traced: Trace, args: tuple, shadows: Shadows, cotangents: list[Any]) -> dict[int, Any]:
    """Flat memories for all arguments of an entry's tape."""
    leaves = flatten(args)[0]
    memories: dict[int, np.ndarray] = {}
    for leaf, example in zip(traced.leaves, leaves):
        if leaf.buffer is not None:
            memories[leaf.buffer] = memory_of(tape.buffer(leaf.buffer), np.asarray(example))
    waiting = iter(cotangents)
    for id in tape.arguments:
        buffer = tape.buffer(id)
        if buffer.kind == "shadow":
            start = shadows.get(buffer.shadow_of)
            memories[id] = uninitialised(buffer) if start is None else memory_of(buffer, start)
        elif buffer.kind == "cotangent":
            memories[id] = memory_of(buffer, np.asarray(next(waiting), buffer.dtype))
        elif id not in memories:
            memories[id] = uninitialised(buffer)
    return memories


def shadows_in(tape: Tape, memories: dict[int, np.ndarray]) -> Shadows:
    """The shadows' contents, by buffer of the argument."""
    found = {}
    for id in tape.arguments:
        buffer = tape.buffer(id)
        if buffer.kind == "shadow":
            assert buffer.shadow_of is not None
            found[buffer.shadow_of] = array_of(buffer, memories[id]).copy()
    return found


def swept(tape: Tape, accumulate: bool, loss: bool) -> Tape:
    """The reverse tape before any simplification, with room as at first where loops have no bound."""
    from planned_ad.differentiate.keep.caches import NoBound
    from planned_ad.differentiate.keep.rooms import capacities
    from planned_ad.differentiate.reverse import reverse

    try:
        return reverse(tape, accumulate=accumulate, loss=loss)
    except NoBound:
        return reverse(tape, accumulate=accumulate, loss=loss, capacities=capacities(tape, 1))


def interpreted(
    traced: Trace, kind: str, args: tuple, shadows: Shadows | None = None, cotangents: list[Any] | None = None
) -> Shadows:
    """The shadows after the interpreter has run the reverse tape (before any simplification)."""
    tape = verify(swept(traced.tape, accumulate=kind == "pullback", loss=kind != "pullback"))
    memories = memories_for(tape, traced, args, shadows or {}, cotangents or [])
    interpret(tape, memories)
    return shadows_in(tape, memories)


def scheduled(entry: Entry, traced: Trace, args: tuple, block: int | None, shuffle: bool) -> Shadows:
    """The shadows after the memory plan has run on NumPy."""
    memories = memories_for(entry.tape, traced, args, {}, [])
    run_plan(entry.memory, memories, block, shuffle)
    return shadows_in(entry.tape, memories)


def shadow_leaves(traced: Trace, returned: Any) -> Shadows:
    """What a call returned, by buffer of the argument."""
    active = [c for c, leaves in children(traced) if any(leaf.active for leaf in leaves)]
    parts = (returned,) if len(active) == 1 else returned
    found: Shadows = {}
    for part, (_, leaves) in zip(parts, [c for c in children(traced) if any(leaf.active for leaf in c[1])]):
        values = flatten(part)[0]
        assert len(values) == len(leaves)
        found |= {leaf.buffer: np.array(v) for leaf, v in zip(leaves, values) if leaf.active}
    return found


def children(traced: Trace) -> list[tuple[Any, list[Any]]]:
    """Each positional argument's structure, with its leaves."""
    found, start = [], 0
    for child in traced.structure.children:
        found.append((child, list(traced.leaves[start : start + child.leaf_count])))
        start += child.leaf_count
    return found


def assert_shadows(actual: Shadows, expected: Shadows, what: str) -> None:
    assert actual.keys() == expected.keys(), what
    for id in expected:
        assert_close(actual[id], expected[id], f"{what}, buffer {id}")


def slope(f: Callable[..., Any], traced: Trace, args: tuple, directions: Shadows, step: float) -> float:
    """The derivative of the loss along `directions`, by differences at three steps, extrapolated."""

    def moved(distance: float) -> float:
        own = flatten(copied(args))[0]
        for k, leaf in enumerate(traced.leaves):
            if leaf.active:
                if isinstance(own[k], np.ndarray):
                    own[k] += (distance * directions[leaf.buffer]).astype(own[k].dtype)
                else:
                    own[k] = type(own[k])(own[k] + distance * float(directions[leaf.buffer]))
        with np.errstate(all="ignore"):
            return float(f(*flatten(args)[1].unflatten(own)))

    def central(h: float) -> float:
        return (moved(h) - moved(-h)) / (2 * h)

    coarse, middle, fine = central(4 * step), central(2 * step), central(step)
    return (64 * fine - 20 * middle + coarse) / 45


def assert_differences(
    f: Callable[..., Any], traced: Trace, args: tuple, shadows: Shadows, step: float = 1e-3, rtol: float = 1e-7
) -> None:
    """The gradient along random directions against differences of the function itself."""
    rng = np.random.default_rng(11)
    for _ in range(2):
        directions = {
            leaf.buffer: np.asarray(rng.choice([-1.0, 1.0], leaf.shape) * rng.uniform(0.5, 1, leaf.shape))
            for leaf in traced.leaves
            if leaf.active
        }
        actual = sum(float(np.sum(shadows[k] * d)) for k, d in directions.items())
        scale = sum(float(np.sum(np.abs(shadows[k] * d))) for k, d in directions.items())
        expected = slope(f, traced, args, directions, step)
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * max(1.0, scale))


def check_gradient(
    f: Callable[..., Any], *args: Any, step: float = 1e-3, differences: bool = True, every_call: bool = True
) -> Plan:
    """Every call of the plan of `f` against `f` itself, the interpreter, the schedule on NumPy, and differences.

    `step` is that of the differences (None where `f` is too rough for them).
    """
    original = copied(args)
    plan = compiled(f, *args)
    traced = plan._variants[0].trace
    expected = interpreted(traced, "gradient", args)
    entry = plan._variants[0].entry("gradient")
    verify(entry.tape)
    for block, shuffle in ((None, False), (2, True)):
        assert_shadows(scheduled(entry, traced, args, block, shuffle), expected, f"schedule, blocks of {block}")
    after = copied(args)
    with np.errstate(all="ignore"):
        f(*after)
    for _ in range(2):
        own = copied(args)
        assert_shadows(shadow_leaves(traced, plan.gradient(*own)), expected, "gradient")
        assert_same_arguments(own, after)
    if differences:
        assert_differences(f, traced, args, expected, step)
    if every_call:
        check_every_call(plan, f, args)
    assert_same_arguments(args, original)
    return plan


def check_every_call(plan: Plan, f: Callable[..., Any], args: tuple) -> None:
    """The value, it and the gradient, the pullback, and the gradient that leaves the arguments as they are."""
    traced = plan._variants[0].trace
    expected = interpreted(traced, "gradient", args)
    after = copied(args)
    with np.errstate(all="ignore"):
        value = f(*after)
    own = copied(args)
    result = plan(*own)
    # The fast path returns Python's float where `f` returns a scalar of NumPy's subclass of it.
    assert_same_result(np.float64(result) if type(value) is np.float64 and type(result) is float else result, value)
    assert_same_arguments(own, after)
    own = copied(args)
    own_value, shadows = plan.value_and_gradient(*own)
    assert_close(type(value)(own_value), value, "value")
    assert_shadows(shadow_leaves(traced, shadows), expected, "value_and_gradient")
    check_pullback(plan, args)
    preserving = planned_ad.compile(f, copied(args), preserve_args=True)
    own = copied(args)
    assert_shadows(shadow_leaves(traced, preserving.gradient(*own)), expected, "gradient with preserve_args")
    assert_same_arguments(own, args)


def check_pullback(plan: Plan, args: tuple) -> None:
    """The pullback from non-zero shadows, where every active argument is an array."""
    traced = plan._variants[0].trace
    rng = np.random.default_rng(12)
    active = [(k, c, leaves) for k, (c, leaves) in enumerate(children(traced)) if any(leaf.active for leaf in leaves)]
    if any(leaf.kind != "array" or not leaf.active for _, _, leaves in active for leaf in leaves):
        return
    values = [v for v in traced.tape.results if v.dtype.kind == "f"]
    cotangents = [rng.normal(size=v.shape) if v.shape else float(rng.normal()) for v in values]
    cotangents = [c.astype(v.dtype) if v.shape else c for c, v in zip(cotangents, values)]
    start = {leaf.buffer: rng.normal(size=leaf.shape).astype(leaf.dtype) for _, _, ls in active for leaf in ls}
    expected = interpreted(traced, "pullback", args, start, cotangents)
    tape = plan._variants[0].entry("pullback").tape
    shadow_of = {tape.buffer(i).shadow_of: tape.buffer(i) for i in tape.arguments if tape.buffer(i).kind == "shadow"}
    for _ in range(2):
        shadows = []
        for _, child, leaves in active:
            arrays = [
                array_of(b, memory_of(b, start[leaf.buffer])) for leaf in leaves for b in [shadow_of[leaf.buffer]]
            ]
            shadows.append(child.unflatten(arrays))
        returned = plan.pullback(*copied(args), *shadows, *cotangents)
        assert_shadows(shadow_leaves(traced, returned), expected, "pullback")
        assert_shadows(shadow_leaves(traced, shadows[0] if len(shadows) == 1 else shadows), expected, "in place")


def assert_same_arguments(actual: Any, expected: Any) -> None:
    for a, e in zip(flatten(actual)[0], flatten(expected)[0]):
        if isinstance(e, np.ndarray):
            assert_close(a, e, "an argument afterwards")
        else:
            assert a is e or a == e


def loss_tape(plan: Plan, kind: str = "gradient") -> Tape:
    """The tape of an entry, made anew."""
    return entry_tape(plan._variants[0].trace, KINDS[kind], False)
