"""Iterators that several ask for items, and numbers of which iterations leave several classes.

Each text stands by itself in a body; see `replaced`.
"""

# ruff: noqa: E501 (a row of the table is one text)

SETUP = """def is_whole(k):
    return isinstance(k, int)
def is_true(k):
    return k is True
kind, hot = 1, False
"""

TEXTS = (
    "z = {iterator}\nt = 0.8 * t + 0.001 * sum(a * b * b for a, b in zip(z, z))",
    "z = {iterator}\nfor a, b in zip(z, {array}):\n    t = 0.9 * t + 0.01 * a * b\nt = t + 0.01 * sum(z)",
    "z = {iterator}\nfor a, b in zip({array}, z):\n    t = 0.9 * t + 0.01 * a * b\n    if {test}:\n        break\nt = t + 0.01 * next(z, 0.5)",
    "z = {iterator}\nfor m, a in enumerate(z):\n    t = 0.9 * t + 0.01 * m * a * next(z, 0.3)",
    "z = {iterator}\nnext(z, None)\nt = 0.9 * t + 0.01 * sum(a * a for a in itertools.islice(z, {m})) + 0.01 * next(z, 0.2)",
    "z = {iterator}\nfor a, b in itertools.pairwise(z):\n    t = 0.9 * t + 0.01 * a * b\nt = t + 0.01 * len(list(z))",
    "z = {iterator}\nt = 0.9 * t + 0.01 * sum(map(lambda a, b: a - b * b, z, z))",
    "z = zip({array}, {array})\nfor m, (a, b) in enumerate(z):\n    t = 0.9 * t + 0.01 * a * b\n    if m == {m}:\n        break\nfor a, b in z:\n    t = 0.9 * t + 0.02 * a",
    "z = {array}.flat\nfor a in z:\n    t = 0.9 * t + 0.01 * a\n    if {test}:\n        break\nt = t + 0.01 * next(z, 0.4)",
    "kind = {m} if {test} else {m}.0\nt = t * (0.9 if is_whole(kind) else 0.8) + 0.01 * kind",
    "t = t * (0.9 if isinstance(kind, float) else 0.8) + 0.01 * kind\nkind = 0.5 * kind if {test} else 1",
    "kind = True if {test} else 1\nt = t * (0.9 if is_true(kind) else 0.8) + 0.01 * (kind + kind)",
    "t = t * (0.9 if hot is True else 0.8)\nhot = float(t) > 0.3171",
    "kind = np.int8({m}) if {plain} else np.int64({m})\nt = 0.9 * t + 0.001 * float(kind * np.int8(100))",
    "kind = max({m}, c) if {test} else np.float64(c)\nt = 0.9 * t + 0.01 * kind * (2.0 if is_whole(kind) else 1.0)",
    "kind = (c > 0.3171) if {test} else 1\nt = 0.9 * t + 0.01 * (kind + kind)",
)  # fmt: skip
ITERATORS = (
    "enumerate({array})\nz = (v for _, v in z)", "reversed({array})", "iter({array})", "{array}.flat",
    "map(lambda v: 0.5 * v, {array})", "map(np.sin, {array})", "itertools.islice({array}, 1, None)",
    "(v for v in {array})", "map(sum, zip({array}, {array}))", "itertools.starmap(max, zip({array}, {array}))",
)  # fmt: skip
