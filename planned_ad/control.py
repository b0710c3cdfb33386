"""Loops and branches as functions, for those who prefer to say it so; the order of arguments is JAX's.

They are ordinary Python: what they do in a traced function is what the `for`, `while` and `if` in them do there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .python.type_variables import Carry, Given, Operands


def fori_loop(lower: int, upper: int, body_fun: Callable[[int, Carry], Carry], init_val: Carry) -> Carry:
    """`for i in range(lower, upper): val = body_fun(i, val)`, beginning with `init_val`.

    Parameters
    ----------
    lower, upper : int
        Bounds of the index; the body does not run where `upper <= lower`.
    body_fun : callable
        `body_fun(i, val)` gives the next `val`, of the same structure, shapes and dtypes.
    init_val
        A number, an array, or nested tuples, lists and dicts of them.

    Returns
    -------
    The last `val`.

    Examples
    --------
    >>> import planned_ad
    >>> planned_ad.fori_loop(0, 4, lambda i, s: s + i, 10.0)
    16.0
    """
    val = init_val
    for i in range(lower, upper):
        val = body_fun(i, val)
    return val


def in_one_iteration(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)`, in a loop of one iteration: recorded so, tests of data are branches in it."""
    for _ in range(1):
        result = function(*args, **kwargs)
    return result


def while_loop(
    cond_fun: Callable[[Carry], Any],
    body_fun: Callable[[Carry], Carry],
    init_val: Carry,
    max_steps: int | None = None,
) -> Carry:
    """`while cond_fun(val): val = body_fun(val)`, beginning with `init_val`.

    Parameters
    ----------
    cond_fun, body_fun : callable
        `cond_fun(val)` is a truth, `body_fun(val)` the next `val`, of the same structure, shapes and dtypes.
    init_val
        A number, an array, or nested tuples, lists and dicts of them.
    max_steps : int, optional
        For how many iterations a plan has memory at first, in place of that of `planned_ad.compile`. A call that
        needs more grows it, as said there. Without effect in code that is not traced.

    Returns
    -------
    The first `val` for which `cond_fun` does not hold.

    Examples
    --------
    >>> import planned_ad
    >>> planned_ad.while_loop(lambda s: s < 100.0, lambda s: 2 * s, 3.0)
    192.0
    """
    val = init_val
    while cond_fun(val):
        val = body_fun(val)
    return val


def scan(
    f: Callable[[Carry, Any], tuple[Carry, Any]], init: Carry, xs: Any = None, length: int | None = None
) -> tuple[Carry, Any]:
    """Run `carry, y = f(carry, x)` for each `x` of `xs`; the last carry, and all `y` stacked.

    Parameters
    ----------
    f : callable
        `f(carry, x)` gives the next carry and an output: a number, an array, a tuple of them, or None.
    init
        The first carry.
    xs : array or tuple of arrays, optional
        Each `x` is an item of its first axis (of each array's, for a tuple). Without it `x` is None.
    length : int, optional
        How often, where there are no `xs`.

    Returns
    -------
    carry, ys
        `ys` has a new first axis of that length; None where `f` puts out None.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.scan(lambda s, x: (s + x, s * x), 1.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(7.0), array([ 1.,  4., 12.]))
    """
    count = length if xs is None else len(xs[0] if isinstance(xs, tuple) else xs)
    carry, ys = init, None
    for i in range(count):  # type: ignore[arg-type]  # without `xs` there is a length
        x = None if xs is None else tuple(part[i] for part in xs) if isinstance(xs, tuple) else xs[i]
        carry, y = f(carry, x)
        if i == 0:
            ys = _memory_for(y, count)
        _put(ys, i, y)
    return carry, ys


def _memory_for(y, count):
    """Uninitialised memory for `count` outputs like `y`."""
    if y is None:
        return None
    if isinstance(y, tuple):
        return tuple(_memory_for(part, count) for part in y)
    return np.empty((count, *np.shape(y)), np.result_type(y))


def _put(ys, i, y):
    if isinstance(y, tuple):
        for memory, part in zip(ys, y):
            memory[i] = part
    elif y is not None:
        ys[i] = y


def cond(
    pred: Any,
    true_fun: Callable[[*Operands], Given],
    false_fun: Callable[[*Operands], Given],
    *operands: *Operands,
) -> Given:
    """`true_fun(*operands)` where `pred` holds, else `false_fun(*operands)`.

    Examples
    --------
    >>> import planned_ad
    >>> planned_ad.cond(2.0 > 1.0, lambda x: 2 * x, lambda x: -x, 5.0)
    10.0
    """
    if pred:
        return true_fun(*operands)
    return false_fun(*operands)


def switch(index: int, branches: Sequence[Callable[[*Operands], Given]], *operands: *Operands) -> Given:
    """`branches[index](*operands)`; an index out of range is taken as the nearest one within.

    Examples
    --------
    >>> import planned_ad
    >>> planned_ad.switch(1, [lambda x: x, lambda x: x * x], 5.0)
    25.0
    """
    for k in range(len(branches) - 1):
        if index <= k:
            return branches[k](*operands)
    return branches[-1](*operands)


def _rows(call, count):
    """`call(k)` for each `k` below `count`, stacked: an array, or a tuple of them where it gives tuples."""
    rows = [call(k) for k in range(count)]
    if isinstance(rows[0], tuple):
        return tuple(np.array([row[k] for row in rows]) for k in range(len(rows[0])))
    return np.array(rows)


def _joined_in_order(join, joined, items):
    """`join(... join(join(joined, items[0]), items[1]) ...)`."""
    for item in items:
        joined = join(joined, item)
    return joined


def _at_each(ufunc, elements, places, *operands):
    """`ufunc.at(elements, places, *operands)`, of rows."""
    for k, place in enumerate(places):
        elements[place] = ufunc(elements[place], *(operand[k] for operand in operands))


def _added(items, values):
    """What `items.extend(values)` does, one by one."""
    for value in values:
        items.append(value)


def is_listing(code):
    """Whether it is that of what makes a list of an array: items are known by their number then, however few."""
    return code.co_filename == __file__ and code.co_qualname.startswith(_listed.__name__)


def _listed(array):
    """`array.tolist()`, of one axis."""
    return [number.item() for number in array]


def _listed_rows(matrix):
    """`matrix.tolist()`."""
    return [[number.item() for number in row] for row in matrix]


def _times(items, count):
    """`items * count`."""
    return [item for _ in range(count) for item in items]


def _count(items, value):
    """`items.count(value)`."""
    return sum(1 for item in items if item == value)


def _keys(items, key):
    """By what `items` are sorted."""
    return [key(item) for item in items]


def _positions(count, keys, reverse):
    """Of `count` items by `keys`, in order."""
    return sorted(range(count), key=lambda k: keys[k], reverse=reverse)


def _at(items, positions):
    """The items at some positions."""
    return [items[k] for k in positions]


def _elements(items):
    """`list(items)`."""
    return [item for item in items]


def _enumerated(items, start):
    """`enumerate(items, start)`."""
    k = start - 1
    for item in items:
        k += 1
        yield k, item


def _zipped(items, count, joined):
    """`zip` of a generator's `items` and of arrays behind it, the shortest of which has so many."""
    for k, item in enumerate(items):
        if k == count:
            return
        yield joined(k, item)


def _mapped(function, items):
    """`map(function, items)`."""
    for item in items:
        yield function(item)


def _accumulated(join, items, _):
    """`itertools.accumulate(items, join)`, of an iterator."""
    try:
        joined = next(items)
    except StopIteration:
        return
    yield joined
    for item in items:
        joined = join(joined, item)
        yield joined


def _accumulated_from(join, items, joined):
    """`itertools.accumulate(items, join, initial=joined)`."""
    yield joined
    for item in items:
        joined = join(joined, item)
        yield joined


def _partial_joins(join, lines):
    """What `_joined_in_order` has after each line, stacked."""
    rows = np.empty(lines.shape, lines.dtype)
    joined = rows[0] = lines[0]
    for k in range(1, lines.shape[0]):
        joined = join(joined, lines[k])
        rows[k] = joined
    return rows


def _runge_kutta(slope, y, t, steps):
    """The solution of `y' = slope(y, t)` at the times `t`: Dormand's and Prince's method of order 5, fixed steps."""
    found = np.empty((t.shape[0], y.shape[0]))
    found[0] = y
    for i in range(t.shape[0] - 1):
        h = (t[i + 1] - t[i]) / steps
        for j in range(steps):
            s = t[i] + j * h
            a = slope(y, s)
            b = slope(y + h * (a / 5), s + h / 5)
            c = slope(y + h * (3 * a + 9 * b) / 40, s + 3 * h / 10)
            d = slope(y + h * (44 / 45 * a - 56 / 15 * b + 32 / 9 * c), s + 4 * h / 5)
            e = slope(y + h * (19372 * a - 76080 * b + 64448 * c - 1908 * d) / 6561, s + 8 * h / 9)
            e6 = 9017 / 3168 * a - 355 / 33 * b + 46732 / 5247 * c + 49 / 176 * d - 5103 / 18656 * e
            f = slope(y + h * e6, s + h)
            y = y + h * (35 / 384 * a + 500 / 1113 * c + 125 / 192 * d - 2187 / 6784 * e + 11 / 84 * f)
        found[i + 1] = y
    return found


def _bisect_left(items: Any, value: Any, low: Any, high: Any) -> Any:
    """`bisect.bisect_left`, as a loop."""
    while low < high:
        middle = (low + high) // 2
        if items[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def _bisect_right(items: Any, value: Any, low: Any, high: Any) -> Any:
    """`bisect.bisect_right`, as a loop."""
    while low < high:
        middle = (low + high) // 2
        if value < items[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def _either(test: Any, one: Any, other: Any) -> Any:
    return one if test else other


def _counted(counts, values):
    """What `counts.update(values)` does, of a `Counter`."""
    for value in values:
        counts[value] += 1


def _updated(items, others):
    """What `items.update(others)` does, of a dict and another one."""
    for key, value in others.items():
        items[key] = value


def _most_common(counts, number=None):
    """`counts.most_common(number)`."""
    found = sorted(counts.items(), key=lambda item: item[1], reverse=True)
    return found if number is None else found[:number]


def _total(counts):
    """`counts.total()`."""
    return sum(counts.values())
