"""Lists of a fixed length, and dicts of certain keys, that the program has by reference; see `records`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..values.loop_index import LoopIndex, expression_of
from .dict_views import DictView
from .references import RecordInRow


class ContainerRecord(RecordInRow):
    """A list or dict."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.record_memory.keys)

    def __bool__(self) -> bool:
        return not self.is_none()

    def __getattr__(self, name: str) -> Any:
        kind = self.record_memory.record_kind
        if name.startswith("__") or not hasattr(kind, name):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        raise self.record_memory.refuse()


def _refusing(name: str) -> None:
    """What a row cannot do, or Python would do in another way: `r += [v]` makes the list itself longer."""

    def method(self: ContainerRecord, *args: Any) -> Any:
        raise self.record_memory.refuse()

    method.__name__ = name
    setattr(ContainerRecord, name, method)


for _name in ("add", "mul", "or"):
    _refusing(f"__i{_name}__")
for _name in (
    "mul",
    "rmul",
    "or",
    "ror",
    "delitem",
    "reversed",
    "lt",
    "le",
    "gt",
    "ge",
    "copy",
    "deepcopy",
    "reduce_ex",
):
    _refusing(f"__{_name}__")


class ListRecord(ContainerRecord):
    """A list of a fixed length."""

    __slots__ = ()

    def _place(self, key: Any) -> Any:
        """An index, from the front where it is known."""
        length = len(self)
        if type(key) is int or (type(key) is LoopIndex and isinstance(expression_of(key), int)):
            place = int(key)
            if not -length <= place < length:
                raise IndexError("list index out of range")
            return place % length
        return key

    def __getitem__(self, key: Any) -> Any:
        records = self.record_memory
        if type(key) is slice:
            return list(self)[key]
        place = self._place(key)
        records.recorder.mark()
        if type(place) is int:
            return records.get(self.record_place, place)
        run = records.run_of(place)
        return records.number_at(run, self.record_place, place, run.number)

    def __setitem__(self, key: Any, value: Any) -> None:
        records = self.record_memory
        if type(key) is slice:
            raise records.refuse()
        place = self._place(key)
        if type(place) is int:
            records.put(self.record_place, place, value)
            return
        run, form = records.run_of(place), self.record_memory.form_of(value)
        if form is None:
            raise records.refuse()
        places = range(run.start, run.start + len(run.forms))
        records._fit(records.form.of([form if k in places else item for k, item in enumerate(records.form.items)]))
        records.put_number_at(run, self.record_place, place, value)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))  # each when it is asked for: what is before may have changed it

    def __contains__(self, value: Any) -> bool:
        return value in list(self)

    def __eq__(self, other: Any) -> Any:
        return list(self) == (list(other) if isinstance(other, ListRecord) else other)

    def __add__(self, other: Any) -> Any:
        return list(self) + (list(other) if isinstance(other, ListRecord) else other)

    def copy(self) -> Any:
        return list(self)

    def traced(self) -> Any:
        return self.recorder.call(np.array, (list(self),), {})

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.traced().__array__(dtype, copy)


class DictRecord(ContainerRecord):
    """A dict of certain keys."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not str:
            raise self.record_memory.refuse()
        if key not in self.record_memory.keys:
            raise KeyError(key)
        return self.record_memory.get(self.record_place, self.record_memory.keys.index(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is not str or key not in self.record_memory.keys:
            raise self.record_memory.refuse()
        self.record_memory.put(self.record_place, self.record_memory.keys.index(key), value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.record_memory.keys)

    def __contains__(self, key: Any) -> bool:
        if type(key) is not str:
            raise self.record_memory.refuse()
        return key in self.record_memory.keys

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self:
            return self[key]
        return default

    def keys(self) -> Any:
        return dict.fromkeys(self.record_memory.keys).keys()

    def values(self) -> Any:
        return DictView(self.record_memory.keys, self.__getitem__, with_keys=False)

    def items(self) -> Any:
        return DictView(self.record_memory.keys, self.__getitem__, with_keys=True)

    def copy(self) -> Any:
        return {key: self[key] for key in self.record_memory.keys}

    def __eq__(self, other: Any) -> Any:
        return self.copy() == (other.copy() if isinstance(other, DictRecord) else other)

    def update(self, *others: Any, **values: Any) -> None:
        for key, value in dict(*others, **values).items():
            self[key] = value
