"""Variables that are None or a number, as data decide, and errors that nobody handles.

Each text stands by itself in a body; see `replaced`.
"""

# ruff: noqa: E501 (a row of the table is one text)

SETUP = """class Seen:
    last = None
    def __init__(self):
        self.most = None
def filled(v, other=None):
    if other is None:
        return 0.5 * v
    return v - 0.1 * other
last, most, place, held = None, None, None, Seen()
"""

TEXTS = (
    "last = {scalar} if {test} else None",
    "if last is None or {scalar} < last:\n    last = {scalar}\nt = 0.9 * t + 0.01 * last",
    "if {test}:\n    if most is None or c > most:\n        most, place = c, {m}\nt = 0.9 * t + (0.0 if most is None else 0.01 * most)",
    "if place is None:\n    place = 0 if {test} else None\nelif {test}:\n    place = (place + 1) % 3\nt = 0.9 * t + 0.01 * (0.3 if place is None else {array}[place])",
    "t = 0.9 * t + 0.01 * filled(t, last)",
    "if last is not None and {test}:\n    t = 0.9 * t + 0.01 * last\n    last = None",
    "t = 0.9 * t + 0.01 * (last or 0.4)",
    "t = 0.9 * t + 0.01 * (1.0 if isinstance(most, float) else 2.0)",
    "last, most = most, last",
    "held.last, held.most = held.most, (c if {test} else None)\nt = 0.9 * t + 0.01 * (0.2 if held.last is None else held.last)",
    "was = last is None\nlast = c if {test} else last\nt = 0.9 * t + (0.01 if was else 0.02)",
    "best = None\nfor m in range({m} + 2):\n    if {test} and (best is None or p[m % 3] < best):\n        best = p[m % 3]\nt = 0.9 * t + 0.01 * (0.7 if best is None else best)",
    "pair = (last, c) if {test} else (c, None)\nt = 0.9 * t + 0.01 * (0.2 if pair[1] is None else pair[1])",
    "memo['none'] = None if {test} else c\nt = 0.9 * t + 0.01 * (0.2 if memo.get('none') is None else memo['none'])",
    "if {scalar} > 1e9:\n    raise OverflowError('too large')",
    "assert {scalar} < 1e9, t",
    "t = 0.9 * t + 0.01 * (0.3 if None in (last, most) else last * most)",
    "match last:\n    case None:\n        t = 0.9 * t\n    case _:\n        t = 0.9 * t + 0.01 * last",
)  # fmt: skip
