"""What code writes outside and does not read: counters of calls, histories, last values. Nothing depends on them.

>>> from planned_ad.python.used_names import UsedNames
>>> def f(model, log, x):
...     model.calls += 1
...     log["heights"].append(x)
...     return model.scale * x
>>> names = UsedNames(frozenset({f.__code__}))
>>> is_only_written(names, 3, "model.calls"), is_only_written(names, [1.0], "log['heights']")
(True, True)
>>> is_only_written(names, 3, "model.scale")
False

An objective that counts its evaluations would otherwise be another function after each.
"""

from __future__ import annotations

import collections
import re

from ...python.used_names import APPENDED_TO, COUNTED, UsedNames

USES = {int: COUNTED, float: COUNTED, list: APPENDED_TO, collections.deque: APPENDED_TO}
LAST_NAME = re.compile(r"(\w+)(?P<key>'\])?$")


def is_only_written(names: UsedNames, value: object, path: str) -> bool:
    """Whether code reads what it finds at `path` only to count, or to put something at its end."""
    use, found = USES.get(type(value)), LAST_NAME.search(path)
    return found is not None and names.is_only(use, found[1], is_key=found["key"] is not None)


def last_name(path: str) -> str:
    return path.rpartition(".")[2]
