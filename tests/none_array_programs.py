"""Programs with variables that hold None or an array, as data decide; each takes a matrix of 12 rows and 3 columns."""

from __future__ import annotations

import numpy as np


def best_row(x):
    best = None
    for row in x:
        if row[0] > 0.5 and (best is None or row.sum() < best.sum()):
            best = row * 2.0
    return 0.0 if best is None else (best**2).sum()


def last_accepted(x):
    best = None
    for row in x:
        if row[0] > 0.5:
            best = np.sin(row)
    if best is not None:
        return best @ x[0]
    return x[1, 1]


def row_itself(x):
    best = None
    for row in x:
        if row[0] > 0.5:
            best = row
    return x[1, 1] if best is None else best @ x[0]


def buffer_that_is_overwritten(x):
    best, work = None, np.zeros(3)
    for row in x:
        work[:] = row * row[1]
        if work[0] > 0.2:
            best = work
    return x[1, 1] if best is None else best @ x[0]


def copy_of_what_is_overwritten(x):
    best, work = None, np.zeros(3)
    for row in x:
        work[:] = row * row[1]
        if work[0] > 0.2:
            best = work.copy()
    return x[1, 1] if best is None else best @ x[0]


def added_to_in_place(x):
    total = None
    for row in x:
        if row[0] > 0.5:
            if total is None:
                total = row.copy()
            else:
                total += row * row[2]
    return x[1, 1] if total is None else total @ x[0]


def written_to_in_place(x):
    kept = None
    for row in x:
        if kept is not None:
            kept[0] = row[2] * kept[1]
        if row[0] > 0.5:
            kept = row**2
    return x[1, 1] if kept is None else kept @ x[0]


def adds_to_another_name(x):
    kept = None
    for row in x:
        if row[0] > 0.5:
            kept = row**2
        same = kept
        if same is not None:
            same *= 0.9
    return x[1, 1] if kept is None else kept @ x[0]


def forgotten(x):
    previous, total = None, 0.0
    for row in x:
        if row[0] < 0.3:
            previous = None
            continue
        if previous is not None:
            total += ((row - previous) ** 2).sum()
        previous = row
    return total


def forgotten_and_made(x):
    previous, total = None, 0.0
    for row in x:
        if row[0] < 0.3:
            previous = None
        elif previous is None:
            previous = np.exp(row)
        else:
            previous = 0.5 * previous + row
            total += previous[1]
    return total


def two_of_them(x):
    low = high = None
    for row in x:
        if row[0] < 0.3:
            low = row * 1.5
        elif row[0] > 0.6:
            high = row * 2.0
    if low is None or high is None:
        return x[0, 0]
    return low @ high


def with_a_number(x):
    best, best_value = None, None
    for row in x:
        value = row.sum()
        if row[1] > 0.2 and (best_value is None or value > best_value):
            best, best_value = row * value, value
    return 0.0 if best is None else best.sum() * best_value


class Store:
    def __init__(self):
        self.kept = None

    def put(self, row):
        if row[0] > 0.5:
            self.kept = row * row[1]

    def get(self, otherwise):
        return otherwise if self.kept is None else self.kept


def attribute(x):
    store, total = Store(), 0.0
    for row in x:
        store.put(row)
        total += store.get(row).sum()
    return total


def item_of_dict(x):
    state, total = {"kept": None}, 0.0
    for row in x:
        if state["kept"] is not None:
            total += state["kept"] @ row
        if row[0] > 0.5:
            state["kept"] = np.cos(row)
    return total


def methods(x):
    kept, total = None, 0.0
    for row in x:
        if kept is not None:
            total += kept.copy().sum() + kept.T[0] + kept.shape[0] * kept.mean() + kept.reshape(3, 1)[1, 0]
        if row[0] > 0.5:
            kept = row * 2.0
    return total


def functions(x):
    kept, total = None, 0.0
    for row in x:
        if kept is not None:
            total += np.sum(kept) + np.dot(kept, row) + np.linalg.norm(kept) + np.stack([kept, row])[0, 1]
            total += np.concatenate([row, kept])[4] + np.maximum(row, kept).sum() + np.array([kept, row]).sum()
        if row[0] > 0.5:
            kept = row * 2.0
    return total


def operators(x):
    kept, total = None, 0.0
    for row in x:
        if kept is not None:
            total += (kept + row).sum() + (2.0 * kept - row).sum() + kept @ row + row @ kept + (-kept).sum()
            total += (kept**2).sum() + (kept > row).sum() * row[0] + abs(kept).sum()
        if row[0] > 0.5:
            kept = row * 2.0
    return total


def items(x):
    kept, total = None, 0.0
    for i, row in enumerate(x):
        if kept is not None:
            total += kept[0] + kept[i % 3] * kept[-1] + kept[1:].sum() + len(kept)
            for v in kept:
                total += v * v
        if row[0] > 0.5:
            kept = row * 2.0
    return total


def used_before_asked(x):
    kept, total = None, 0.0
    for i, row in enumerate(x):
        if i == 0 or row[0] > 0.5:
            kept = row * 2.0
        total += kept.sum()
    return total


def step(row, previous=None):
    return row * 0.5 if previous is None else 0.5 * previous + row


def argument(x):
    kept = None
    for row in x:
        if row[0] > 0.3:
            kept = step(row, kept)
    return x[1, 1] if kept is None else kept.prod()


def asked_for_its_class(x):
    kept, total = None, 0.0
    for row in x:
        if isinstance(kept, np.ndarray):
            total += kept[0]
        if row[0] > 0.5:
            kept = row * 2.0
    return total


def nested(x):
    total = 0.0
    for row in x:
        kept = None
        for column in x.T:
            if column[2] > row[0]:
                kept = column * row[1]
        if kept is not None:
            total += kept.sum()
    return total


def exchanged(x):
    one, other = None, None
    for row in x:
        if row[0] > 0.5:
            one = row * 1.5
        one, other = other, one
    total = 0.0
    if one is not None:
        total += one[0]
    if other is not None:
        total += other[1]
    return total


def while_searching(x):
    found, i = None, 0
    while found is None and i < len(x):
        if x[i, 0] > 0.6:
            found = x[i] ** 2
        i += 1
    return x[0, 0] if found is None else found.sum()


def until_accepted(x):
    y, kept = x[0].copy(), None
    for row in x:
        trial = y + 0.1 * row
        if trial[0] < y[0] + 0.05:
            kept = trial - y
            y = trial
    return y.sum() if kept is None else y @ kept


def conditional_expression(x):
    kept, total = None, 0.0
    for row in x:
        total += (row if kept is None else kept)[1]
        kept = row * 3.0 if row[0] > 0.5 else kept
    return total


def thrown_away(x):
    kept, total = np.ones(3), 0.0
    for row in x:
        if kept is not None:
            total += kept @ row
        kept = None if row[0] > 0.5 else row * 2.0
    return total


def matrix(x):
    kept = None
    for row in x:
        if row[0] > 0.5:
            kept = np.outer(row, row) if kept is None else kept @ np.outer(row, row)
    return x[1, 1] if kept is None else np.trace(kept)


def tried(x):
    kept, total = None, 0.0
    for row in x:
        try:
            total += (kept + row)[0]
        except TypeError:
            total += row[1]
        if row[0] > 0.5:
            kept = row * 2.0
    return total


def view_of_it(x):
    kept, total = None, 0.0
    for row in x:
        if row[0] > 0.5:
            kept = row * 2.0
        if kept is not None:
            part = kept[1:]
            part += row[0]
            total += kept[1] * row[2]
    return total


def listed(x):
    kept, found = None, []
    for row in x:
        if row[0] > 0.5:
            kept = row * 2.0
        if kept is not None:
            found.append(kept)
    return sum(part @ x[0] for part in found)


def shown(x):
    kept, total = None, 0.0
    for row in x:
        f"{kept}"
        if row[0] > 0.5:
            kept = row * 2.0
            total += kept.sum()
    return total


def compared(x):
    kept, total = None, 0.0
    for row in x:
        if kept is not None and kept is not row and (kept == kept).all():
            total += row[0]
        if row[0] > 0.5:
            kept = row
    return total


def inner_loop(x):
    total = 0.0
    for row in x:
        kept = np.zeros(12)
        for column in x.T:
            if column[2] > row[0]:
                kept = column * row[1]
        if kept[0] > 0.2:
            total += kept.sum()
    return total


LOOPS = (
    best_row, last_accepted, row_itself, copy_of_what_is_overwritten, forgotten, forgotten_and_made, two_of_them,
    with_a_number, attribute, item_of_dict, methods, functions, operators, items, used_before_asked, argument,
    asked_for_its_class, nested, exchanged, until_accepted, conditional_expression, thrown_away, matrix, tried, listed,
    shown, inner_loop,
)  # fmt: skip
PROGRAMS = (
    *LOOPS, buffer_that_is_overwritten, added_to_in_place, written_to_in_place, adds_to_another_name, while_searching,
    view_of_it, compared,
)  # fmt: skip
