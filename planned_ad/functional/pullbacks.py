"""`vjp` outside of traced code: the value, and a pullback that reads the tape of a split plan."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..calls.parameters import results_together
from ..calls.split_calls import Forward, Reverse
from ..calls.split_tape import TapeMemory
from ..compiling import default_options
from ..errors import ArgumentError
from ..plan import Plan
from ..python.structure import Const, Structure, flatten
from .by_signature import BySignature
from .transformed import Transformed, is_active, positions


class Runs:
    """Runs of a function whose chosen arguments are active: a split plan for each signature.

    `primal` is the function, on copies of its arguments.
    """

    def __init__(self, primal: Transformed):
        self.primal = primal
        self.halves = BySignature[tuple[Forward, Reverse]]()

    def run(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, TapePullback]:
        """What the function returns, and its pullback."""
        chosen = positions(self.primal, len(args))
        forward, reverse = self.halves.of(self._compiled, args, kwargs)
        tape = forward.tape()
        result = forward(*args, tape, **kwargs)
        return result, TapePullback(self.primal, reverse, tape, {number: args[number] for number in chosen}, result)

    def _compiled(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Forward, Reverse]:
        chosen = positions(self.primal, len(args))
        example = tuple(arg if number in chosen else Const(arg) for number, arg in enumerate(args))
        constant = {name: Const(arg) for name, arg in kwargs.items()}
        return Plan(self.primal, example, default_options(), constant).split()


class TapePullback:
    """From cotangents of a value to cotangents of the arguments, by the tape of the run that gave the value.

    It holds the tape: its memory lives as long as this does. The primal is not run again. `arguments` are the chosen
    ones by their numbers, in the order in which their cotangents are asked for.
    """

    def __init__(self, primal: Transformed, reverse: Reverse, tape: TapeMemory, arguments: dict[int, Any], result: Any):
        self.reverse, self.tape = reverse, tape
        self.single = isinstance(primal.argnums, int)
        self.name = f"the pullback of {getattr(primal.function, '__name__', 'a function')}"
        self.arguments = {number: parted(argument) for number, argument in arguments.items()}
        leaves, self.structure = flatten(result[0] if primal.has_aux else result)
        self.shapes = [np.shape(leaf) for leaf in leaves]

    def __call__(self, cotangent: Any) -> Any:
        layout = self.tape._filled
        assert layout is not None
        shadows = self.reverse(self.tape, *[None] * layout.shadows, *self.cotangents(cotangent))
        several = shadows if len(self.arguments) > 1 else (shadows,)
        shadow_of = dict(zip(sorted(self.arguments), several))
        found = [like(*argument, shadow_of[number]) for number, argument in self.arguments.items()]
        return found[0] if self.single else tuple(found)

    def cotangents(self, cotangent: Any) -> list[Any]:
        """One for each floating number or array that the traced function returns; zeros for what is handed through."""
        given, structure = flatten(cotangent)
        if structure != self.structure:
            raise ArgumentError(f"{self.name}: the cotangent is {structure}, and must be {self.structure}")
        layout = self.tape._filled
        assert layout is not None
        results = layout.trace.tape.results
        totals = {k: np.zeros(value.shape, value.dtype) for k, value in enumerate(results) if value.dtype.kind == "f"}
        leaves = zip(given, self.shapes, layout.trace.result_leaves)
        for number, (leaf, shape, (_, place)) in enumerate(leaves):
            if place in totals and layout.trace.result_kinds[number] != "static":
                if np.shape(leaf) != shape:
                    raise ArgumentError(f"{self.name}: the cotangent has shape {np.shape(leaf)}, and must have {shape}")
                if np.asarray(leaf).dtype.kind not in "biuf":
                    raise ArgumentError(f"{self.name}: the cotangent is of numbers, not {type(leaf).__name__}")
                totals[place] += np.asarray(leaf, totals[place].dtype)  # type: ignore[index]
        parts = [total if total.shape else float(total) for total in totals.values()]
        return results_together(layout.trace, parts)


def parted(argument: Any) -> tuple[Structure, list[Any]]:
    """Of an argument its structure and leaves: of an active one only the type, of others a copy."""
    leaves, structure = flatten(argument)
    return structure, [type(leaf) if is_active(leaf) else copy.deepcopy(leaf) for leaf in leaves]


def like(structure: Structure, leaves: Sequence[Any], shadow: Any) -> Any:
    """A shadow nested as its argument, with numbers of the same types, and with what is inactive in its place."""
    return structure.unflatten(
        found if leaf is np.ndarray else leaf(found) if isinstance(leaf, type) else leaf
        for leaf, found in zip(leaves, flatten(shadow)[0])
    )
