"""What bodies of loops replace, set, delete or run over while it changes; and how far items are looked at.

Each text stands by itself in a body; `{test}` is a test of a traced scalar, `{plain}` one of what is known, `{array}`
an array, `{m}` a small integer.
"""

# ruff: noqa: E501 (a row of the table is one text)

SETUP = """class Rule:
    rate = 0.3
    def step(v):
        return 0.3 * v
class Thing:
    pass
thing, marks, order = Thing(), [], {"a": 0.2, "b": 0.5}
def seen(v):
    marks.append(0.5)
    return v > 0.3171
def faculty(v, w=0.4):
    return w * v
"""

TEXTS = (
    "any(seen(v) for v in {array})\nt = 0.8 * t + 0.001 * len(marks)",
    "if not all(seen(v) for v in {array}):\n    c = 0.9 * c\nt = t + 0.001 * len(marks)",
    "z = iter({array})\nany(v > 0.3171 for v in z)\nt = 0.9 * t + 0.01 * sum(z)",
    "if {test}:\n    thing.hot = 0.3\nt = 0.9 * t + 0.01 * getattr(thing, 'hot', 0.1)",
    "if {test} and hasattr(thing, 'hot'):\n    del thing.hot\nt = 0.9 * t + 0.01 * getattr(thing, 'hot', 0.2)",
    "if {plain}:\n    thing.cold = t\nif hasattr(thing, 'cold'):\n    c = 0.5 * c + 0.1 * thing.cold\n    del thing.cold",
    "if {test}:\n    Rule.step = lambda v: 0.2 * np.sin(v)\nt = 0.8 * t + 0.1 * Rule.step(t)",
    "if {plain}:\n    Rule.step = np.tanh\nt = 0.8 * t + 0.1 * Rule.step(t)",
    "if {plain}:\n    Rule.rate = 0.7\nt = 0.8 * t + 0.1 * Rule.rate * c",
    "if {test}:\n    faculty.__defaults__ = (0.1,)\nt = 0.9 * t + 0.1 * faculty(t)",
    "if {test}:\n    order['a'] = order.pop('a')\nt = 0.9 * t + 0.01 * next(iter(order.values()))",
    "pairs = [[v, 0.5 * v] for v in {array}]\nt = 0.9 * t + 0.001 * sum(a[0] for a in pairs for b in pairs if a is not b)",
    "pairs = [(v, c) for v in {array}]\nfor pair in pairs:\n    if pair is pairs[{m}]:\n        t = 0.9 * t + 0.1 * pair[0]",
    "work = [c]\nfor m, w0 in enumerate(work):\n    t = t + 0.01 * w0\n    if m < {m}:\n        work.append(0.5 * w0)",
    "work = [0.5]\nfor v, w0 in zip({array}, work):\n    t = t + 0.01 * w0 * v\n    work.append(0.3)",
    "work = [v for v in {array}]\nfor w0 in work:\n    if w0 > 0.3171 and len(work) < 9:\n        work.append(0.3 * w0)\nt = 0.9 * t + 0.01 * sum(work)",
    "t = t + 0.01 * sum(v for v in {array} if v >= c)",
)  # fmt: skip
