"""Rows of a table of objects: each notices its object's change, and nothing beside it."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.kernels.entry import watchtable
from planned_ad.kernels.entry.watchtable import WatchTable

pytestmark = pytest.mark.skipif(not watchtable.supported(), reason="objects are laid out in another way")


def table_of(*rows):
    table = WatchTable()
    table.fill(rows)
    assert table.holds()
    return table


def notices(table, change, undo) -> None:
    change()
    assert not table.holds()
    undo()
    assert table.holds()


def test_cells():
    value, other = object(), object()
    known = value

    def f():
        return known

    def bind(new):
        nonlocal known
        known = new

    table = table_of(watchtable.cell_of(f.__closure__[0], value))
    notices(table, lambda: bind(other), lambda: bind(value))


def test_fields_beside_other_rows():
    def f(x=1.0):
        return x

    code, items, numbers = (lambda x=1.0: x).__code__, {"a": f}, np.zeros(3)
    rows = [
        watchtable.item(items, "a", f),
        watchtable.field_of(f, "__code__"),
        *watchtable.layout_of(numbers),
        watchtable.field_of(f, "__defaults__"),
    ]
    assert [row.is_field for row in rows] == [False, True, False, False, True]
    before, defaults = f.__code__, f.__defaults__
    for chosen in (rows, rows[::-1], rows[1:2] + rows[-1:]):
        table = table_of(*chosen)
        notices(table, lambda: setattr(f, "__code__", code), lambda: setattr(f, "__code__", before))
        notices(table, lambda: setattr(f, "__defaults__", (2.0,)), lambda: setattr(f, "__defaults__", defaults))
    table = table_of(*rows)
    notices(table, lambda: items.update(a=None), lambda: items.update(a=f))
    notices(table, lambda: setattr(numbers, "shape", (3, 1)), lambda: setattr(numbers, "shape", 3))


class Plain:
    kind = 1

    def __init__(self):
        self.a, self.b = object(), object()


def split_items():
    Plain(), Plain()
    return vars(Plain())


@pytest.mark.parametrize("make", [lambda: {"a": object(), "b": object(), 3: object()}, split_items])
@pytest.mark.parametrize("in_order", [False, True])
def test_items_of_dicts(make, in_order):
    items = make()
    value = items["b"]
    table = table_of(watchtable.item(items, "b", value, in_order=in_order))
    notices(table, lambda: items.update(b=object()), lambda: items.update(b=value))
    items.update(a=1)
    assert table.holds()
    if not in_order:  # the table of keys is another one
        items.update({f"n{k}": k for k in range(100)})
        assert table.holds()
        notices(table, lambda: items.pop("b"), lambda: items.update(b=value))
        items.clear()
        assert not table.holds()


def test_the_order_of_a_dict_and_its_length():
    items = {"a": 1.5, "b": 2.5}
    rows = [watchtable.item(items, key, value, in_order=True) for key, value in items.items()]
    table = table_of(*rows, watchtable.length_of(items))
    items["c"] = 1
    assert not table.holds()
    del items["c"]
    assert table.holds()
    items["a"] = items.pop("a")
    assert not table.holds()


def test_a_key_that_is_not_there():
    items = {"a": 1}
    table = table_of(watchtable.item(items, "b", None, False))
    notices(table, lambda: items.update(b=None), lambda: items.pop("b"))


def test_lists_and_sets():
    one, two = object(), object()
    items, members = [one, two], {one, two}
    table = table_of(watchtable.items_of(items))
    notices(table, lambda: items.append(one), items.pop)
    notices(table, items.reverse, items.reverse)
    if watchtable.sets_hold():
        members_table = table_of(*watchtable.members_of(members))
        members.add(3)
        assert not members_table.holds()


def test_arrays():
    array = np.arange(6)
    table = table_of(*watchtable.layout_of(array), watchtable.contents(array.ctypes.data, array.nbytes, array))
    notices(table, lambda: array.__setitem__(3, 7), lambda: array.__setitem__(3, 3))
    array.shape = (2, 3)
    assert not table.holds()


def test_classes_and_functions():
    class Derived(Plain):
        pass

    def f(x, y=1): ...

    code, other = f.__code__, (lambda x, y=1: 3).__code__
    table = table_of(
        watchtable.attribute(Derived, "kind", Plain.kind),
        *(watchtable.field_of(f, name) for name in ("__code__", "__defaults__", "__kwdefaults__")),
    )
    notices(table, lambda: setattr(Derived, "kind", 2), lambda: delattr(Derived, "kind"))
    notices(table, lambda: setattr(Plain, "kind", 2), lambda: setattr(Plain, "kind", 1))
    notices(table, lambda: setattr(f, "__code__", other), lambda: setattr(f, "__code__", code))
    f.__defaults__ = (2,)
    assert not table.holds()


def test_slots_and_attributes_that_hold_the_same_object():
    class Slotted:
        __slots__ = ("first", "second")

    one, other = Slotted(), Plain()
    one.first = one.second = other.a = other.b = None
    rows = [watchtable.slot_of(one, vars(Slotted)[name], None) for name in ("first", "second")]
    table = table_of(*rows, watchtable.item(vars(other), "a", None), watchtable.item(vars(other), "b", None))
    for obj, name in (one, "first"), (one, "second"), (other, "a"), (other, "b"):
        notices(table, lambda: setattr(obj, name, 1), lambda: setattr(obj, name, None))  # noqa: B023
