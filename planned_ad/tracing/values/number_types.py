"""Numbers that are not always of one type: what branches, or the iterations of a loop, leave in one place.

`k = 1 if c else 1.0` in a loop is one number in memory, in the type that holds both. What the program computes with it
is right as long as Python and NumPy make the same of all types that it may have; a number that comes of it may have
several types in turn. What tells the types apart (`isinstance`, an operator that depends on them) unrolls the loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..record.conversions import NoNumbers
from ..record.promotion import BOOL, INT, WEAK, dtype_of, resolved
from ..record.recorder import Recorder
from ..record.traced import Traced
from .python_errors import RAISING, is_caught, is_whole_exponent, require_real_power

NumberType = tuple[np.dtype, bool]  # a dtype, and whether the number is one of Python
Types = frozenset[NumberType]
ALWAYS_ONE: Types = frozenset()
PYTHON = (float, int, bool)
FLOAT = np.dtype(np.float64)
OF_TRUTHS = (np.add, np.subtract, np.multiply, np.negative, np.invert)  # by which Python's truths are integers
TYPED = frozenset(  # what may be another number for an integer than for a float that is equal to it
    (np.floor_divide, np.remainder, np.fmod, np.divmod, np.power, np.invert, np.left_shift, np.right_shift)
    + (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
)


def number_class(dtype: np.dtype, is_python: bool) -> type:
    if not is_python:
        return dtype.type
    return bool if dtype.kind == "b" else int if dtype.kind in "iu" else float


def can_be_one(types: Types) -> bool:
    """Whether numbers of these types can take turns in one place: an integer that overflows must do so in all."""
    own = {dtype for dtype, is_python in types if not is_python}
    if BOOL in own and any(dtype.kind != "b" for dtype, _ in types):
        return False  # np.True_ + np.True_ is a truth
    integers = {dtype for dtype, _ in types if dtype.kind in "iu"}
    return len(integers) <= 1 and len({dtype for dtype in own if dtype.kind == "f"}) <= 1


def is_lost_in(number: Any, dtype: np.dtype) -> bool:
    """Whether a float of Python's is another number, by more than rounding, in memory of fewer bits."""
    if type(number) is not float or dtype.kind != "f" or dtype.itemsize >= FLOAT.itemsize or not np.isfinite(number):
        return False
    with np.errstate(all="ignore"):
        found = float(dtype.type(number))
    is_large_integer = number.is_integer() and abs(number) > 2.0 ** (np.finfo(dtype).nmant + 1)
    return not np.isfinite(found) or (found == 0 and number != 0) or (is_large_integer and found != number)


def told_apart(recorder: Recorder, types: Iterable[NumberType]) -> BaseException:
    """What to raise where the program does what depends on which of these types a number has."""
    decisions = recorder.scopes.decisions
    if recorder.chosen and not decisions.chosen and not recorder.scopes.depth:  # it may be which number `max` gives
        decisions.chosen = True
        return recorder.scopes.restart()
    names, scopes = " or ".join(sorted({number_class(*each).__name__ for each in types})), recorder.scopes
    if not any(scope.site is not None for scope in [*scopes.open, *scopes.over]):
        return UnsupportedError(
            f"{recorder.here()}: what this does depends on whether a number is {names}: that is data"
        )
    reason = f"does what depends on whether a number is {names}, which differs from one iteration or branch to another"
    return scopes.unroll_innermost(reason, recorder.builder.line)


def is_of(recorder: Recorder, types: Types, is_kind: Callable[[type], bool]) -> bool:
    """Whether a class is one that is asked for, where that is the same for all types."""
    answers = {is_kind(number_class(*each)) for each in types}
    if len(answers) > 1:
        raise told_apart(recorder, types)
    return answers.pop()


def types_of_result(
    recorder: Recorder, ufunc: np.ufunc, operands: tuple[Any, ...], facts: list[Any], dtype: np.dtype, is_operator: bool
) -> Types:
    """The types that `ufunc(*operands)` may have, which is computed in `dtype`.

    The loop is unrolled where that is not the number that NumPy or Python would make of one of them.
    """
    several = [types_in(obj) for obj in operands]
    every = [each for types in several for each in types]
    is_of_python = [type(obj) in PYTHON or (recorder.is_scalar(obj) and obj.is_python) for obj in operands]
    found = set()
    for chosen in itertools.product(*(types or (None,) for types in several)):
        given = tuple([kind if one is None else arithmetic_kind(*one) for one, (kind, _, _) in zip(chosen, facts)])
        pythons = [own if one is None else one[1] for one, own in zip(chosen, is_of_python)]
        is_python = is_operator and all(pythons)
        adds = is_python and ufunc in OF_TRUTHS and all(kind is BOOL for kind in given)
        found.add((INT if adds else resolved(ufunc, given, None)[-1], is_python))
    dtypes = {kind for kind, _ in found}
    is_same = dtype in dtypes and can_be_one(frozenset(found)) and (BOOL not in dtypes or len(dtypes) == 1)
    kinds = {kind.kind for kind, _ in every}
    is_same_power = (
        ufunc is np.power and not several[1] and (type(operands[1]) is float or is_positive_int(operands[1]))
    )
    mixes = ufunc in TYPED and "f" in kinds and len(kinds) > 1 and not is_same_power
    if not is_same or mixes or (ufunc is np.invert and "b" in kinds):
        raise told_apart(recorder, every)
    if is_operator and ufunc is np.power and len({is_python for _, is_python in every}) > 1:
        if recorder.chosen and not recorder.scopes.decisions.chosen and not is_whole_exponent(operands[1]):
            raise told_apart(recorder, every)
        require_real_power(recorder, *operands)
    may_raise = is_operator and ufunc in RAISING and len({is_python for _, is_python in every}) > 1  # where Python's
    if may_raise and (is_caught(ZeroDivisionError) or is_caught(OverflowError)):
        raise told_apart(recorder, every)
    return frozenset(found) if len(found) > 1 else ALWAYS_ONE


def is_positive_int(number: Any) -> bool:
    return type(number) is int and number > 0


def types_of(number: Any) -> Types:
    """The types that a scalar may have, or the one that it has."""
    if issubclass(type(number), Traced):
        number = number.traced()
        return number.types or frozenset([(number.dtype, number.is_python)])
    return frozenset([(dtype_of(number), not isinstance(number, np.generic))])


def types_in(obj: Any) -> Types:
    """The types that an operand may have, where they are several."""
    kind = type(obj)
    return obj.types if issubclass(kind, Traced) and hasattr(kind, "types") else ALWAYS_ONE  # type: ignore[no-any-return]


def pass_types_on(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, found: Any) -> None:
    """Of which types `found` may be: those that the function itself gives for ones of each type in their place."""
    several = frozenset[NumberType]().union(*map(types_in, leaves_of([*args, *kwargs.values()])))
    has_types = hasattr(type(found), "types")
    if not several or not issubclass(type(found), Traced | NoNumbers) or (has_types and found.types):
        return
    dtypes = set()
    for dtype, _ in several:
        try:
            with np.errstate(all="ignore"):
                made = function(*ones_for(args, dtype), **ones_for(dict(kwargs), dtype))
        except Exception:  # of ones that it does not take: its result is no copy of them
            return
        dtypes.add(made.dtype if hasattr(made, "dtype") else np.dtype(type(made)))
    if len(dtypes) > 1 and has_types:
        found.types = frozenset((dtype, False) for dtype in dtypes)
    elif len(dtypes) > 1 and isinstance(found, NoNumbers):
        raise found._refused("makes, of a number that may be of one type or of another,")


def leaves_of(item: Any) -> Iterator[Any]:
    """The arrays and numbers in lists and tuples."""
    for part in item if type(item) in (list, tuple) else ():
        yield from leaves_of(part)
    if type(item) not in (list, tuple):
        yield item


def ones_for(item: Any, dtype: np.dtype) -> Any:
    """The same with ones for what is traced: of this dtype where it may have it."""
    if type(item) in (list, tuple):
        return type(item)(ones_for(part, dtype) for part in item)
    if type(item) is dict:
        return {key: ones_for(part, dtype) for key, part in item.items()}
    if not issubclass(type(item), Traced):
        return item
    return np.ones(item.shape, dtype if types_in(item) else item.dtype)[()]


def arithmetic_kind(dtype: np.dtype, is_python: bool) -> Any:
    """How a number of this type counts in arithmetic; see `promotion.operand`."""
    return WEAK.get(dtype.kind, BOOL) if is_python else dtype
