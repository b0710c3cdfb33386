"""What tracing is tested against: the function itself."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import GuardBroken, array_of, interpret, memory_of
from planned_ad.trace import Trace, trace


def replay(traced: Trace, *args: Any, **kwargs: Any) -> tuple[Any, list[np.ndarray]]:
    """Run the tape on arguments: what it returns, and the arguments' contents afterwards."""
    leaves = flatten(args)[0] + flatten(kwargs)[0]
    memories = {
        leaf.buffer: memory_of(traced.tape.buffer(leaf.buffer), np.asarray(example))
        for leaf, example in zip(traced.leaves, leaves)
        if leaf.buffer is not None
    }
    results = interpret(traced.tape, memories)
    parts: list[Any] = []
    for (how, what), kind in zip(traced.result_leaves, traced.result_kinds):
        value = results[what] if how == "value" else what  # type: ignore[index,call-overload]
        parts.append(value.item() if kind == "float" else value[()] if kind == "scalar" else value)
    after = [
        array_of(traced.tape.buffer(leaf.buffer), memories[leaf.buffer]).copy()
        for leaf in traced.leaves
        if leaf.buffer is not None
    ]
    return traced.result_structure.unflatten(parts), after


def assert_same(actual: Any, expected: Any) -> None:
    """Equal structure, types, shapes, dtypes and (to rounding) numbers."""
    (actual, structure), (expected, wanted) = flatten(actual), flatten(expected)
    assert structure == wanted, (structure, wanted)
    for a, e in zip(actual, expected):
        if isinstance(e, np.ndarray | np.generic | float):
            assert isinstance(a, np.ndarray) == isinstance(e, np.ndarray), (type(a), type(e))
            assert isinstance(a, np.generic) == isinstance(e, np.generic), (type(a), type(e))
            assert np.asarray(a).dtype == np.asarray(e).dtype, (np.asarray(a).dtype, np.asarray(e).dtype)
            assert np.shape(a) == np.shape(e), (np.shape(a), np.shape(e))
            tolerance = 1e-5 if np.asarray(e).dtype == np.float32 else 1e-12
            np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            assert a == e and type(a) is type(e), (a, e)


def perturbed(tree: Any, rng: np.random.Generator) -> Any:
    """Arguments like `tree`, with other floating numbers of the same signs."""
    leaves, structure = flatten(tree)
    changed = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
            new = copy.deepcopy(leaf)
            new *= (1 + 0.1 * rng.random(leaf.shape)).astype(leaf.dtype)
            changed.append(_laid_out_like(leaf, new))
        elif isinstance(leaf, float | np.floating):
            changed.append(type(leaf)(leaf * 1.05))
        else:
            changed.append(copy.deepcopy(leaf))
    return structure.unflatten(changed)


def _laid_out_like(example: np.ndarray, contents: np.ndarray) -> np.ndarray:
    """`contents` with the strides of `example`."""
    if not example.size:
        return contents
    low, high = np.lib.array_utils.byte_bounds(example)
    memory = np.zeros((high - low) // example.itemsize, example.dtype)
    start = (example.__array_interface__["data"][0] - low) // example.itemsize
    view = np.lib.stride_tricks.as_strided(memory[start:], example.shape, example.strides)
    view[...] = contents
    return view


def check(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Trace:
    """Assert that the tape of `f` does what `f` does, on the example and on other numbers."""
    before = [np.array(leaf, copy=True) for leaf in flatten(args)[0] if isinstance(leaf, np.ndarray)]
    traced = trace(f, args, kwargs)
    for leaf, contents in zip((a for a in flatten(args)[0] if isinstance(a, np.ndarray)), before):
        np.testing.assert_array_equal(leaf, contents, "tracing wrote to an example argument")
    rng = np.random.default_rng(0)
    for scale in (False, True):
        own_args = perturbed(args, rng) if scale else perturbed_by_nothing(args)
        own_kwargs = perturbed(kwargs, rng) if scale else perturbed_by_nothing(kwargs)
        try:
            result, after = replay(traced, *own_args, **own_kwargs)
        except GuardBroken:
            assert scale, "a guard fails for the example itself"
            continue
        with np.errstate(all="ignore"):
            expected = f(*own_args, **own_kwargs)
        assert_same(result, expected)
        mutated = [leaf for leaf in flatten(own_args)[0] + flatten(own_kwargs)[0] if _has_buffer(leaf)]
        assert len(mutated) == len(after)
        for a, e in zip(after, mutated):
            assert_same(a, np.asarray(e))
    return traced


def _has_buffer(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | float | np.floating)


def perturbed_by_nothing(tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return structure.unflatten(
        _laid_out_like(leaf, leaf) if isinstance(leaf, np.ndarray) else copy.deepcopy(leaf) for leaf in leaves
    )
