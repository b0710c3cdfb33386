"""Lists whose length is data: filled on one side of a branch, popped, cut, emptied, handed over.

Each text stands by itself in a body; see `replaced`.
"""

# ruff: noqa: E501 (a row of the table is one text)

SETUP = """class Bag:
    def __init__(self):
        self.items = []
    def put(self, v, w):
        if v > w:
            self.items.append(v * w)
def positive(values, least=0.1931):
    found = []
    for v in values:
        if v > least:
            found.append(v)
    return found
some, stack, few, bag = [], [0.5], [], Bag()
"""

TEXTS = (
    "if {test}:\n    some.append({scalar})",
    "if {test}:\n    some.append({scalar})\n    if {test}:\n        some.append(c)\nelse:\n    few.append(t)",
    "if {test} and len(some) < 9:\n    some.extend([c, {scalar}])",
    "t = 0.9 * t + 0.01 * len(some)",
    "if some:\n    t = 0.9 * t + 0.01 * some[-1] * some[0]",
    "if len(some) > {m}:\n    t = 0.9 * t + 0.01 * some[{m}]\n    some[-1] = 0.5 * t",
    "if len(some) > {m} + 2:\n    c = 0.5 * c + 0.1 * some.pop()",
    "if len(some) > 4:\n    some.clear()",
    "if len(few) > 3:\n    t = 0.9 * t + 0.01 * few.pop(0)",
    "while stack and stack[-1] > {scalar}:\n    stack.pop()\nstack.append({scalar})\nt = 0.9 * t + 0.01 * len(stack)",
    "while len(stack) > 1 and stack[-1] + stack[-2] > 0.9137:\n    stack.pop()\nif {test}:\n    stack.append(0.5 * c)",
    "t = 0.9 * t + 0.01 * sum(some)",
    "t = 0.9 * t + 0.01 * np.sum(some) / (1 + len(some))",
    "t = 0.9 * t + 0.01 * sum([v * v for v in {array} if v > 0.3171])",
    "near = [v for v in {array} if v > {scalar}]\nif near:\n    t = 0.9 * t + 0.01 * max(near) * near[-1] + 0.01 * np.mean(near)",
    "t = 0.9 * t + 0.01 * sum(positive({array}))",
    "z = positive({array}, {scalar})\nfor m, v in enumerate(z):\n    t = 0.95 * t + 0.01 * m * v\nt = t + 0.01 * sum(a * b for a, b in zip(z, z[1:]))",
    "bag.put(t, c)\nt = 0.9 * t + 0.01 * sum(bag.items) / (1 + len(bag.items))",
    "pairs = [(m, v) for m, v in enumerate({array}) if v > 0.2719]\nfor m, v in pairs:\n    t = 0.95 * t + 0.01 * m * v",
    "ks = [m for m in range(3) if p[m] > q[m]]\nfor m in ks:\n    t = 0.9 * t + 0.01 * p[m]\nif 1 in ks:\n    p[1] = 0.5 * t",
    "rest = positive({array})\nrest.append(c)\nt = 0.9 * t + 0.01 * rest[-1] + 0.01 * sum(rest[:2]) + 0.01 * sum(rest[-2:])",
    "kept = [p]\nif {test}:\n    kept.append(q)\nt = 0.9 * t + 0.01 * kept[-1][0] + 0.01 * len(kept)",
    "kept = []\nfor m in range(3):\n    if p[m] > 0.2137:\n        kept.append(0.5 * q)\np[0] = 0.3 * c\nt = 0.9 * t + 0.01 * sum(np.sum(row) for row in kept)",
    "other = some\nif {test}:\n    other.append(0.3)\nt = 0.9 * t + (0.01 if other is some else 0.02)",
    "work = positive({array})\nwhile work:\n    v = work.pop()\n    t = 0.9 * t + 0.01 * v\n    if v > 0.7713 and len(work) < 5:\n        work.append(0.5 * v)",
    "try:\n    t = 0.9 * t + 0.01 * some[{m}]\nexcept IndexError:\n    t = 0.8 * t",
    "some = []",
    "some = some[-2:]",
    "several = [list(positive(v)) for v in (p, q)]\nt = 0.9 * t + 0.01 * len(several[0]) + 0.01 * sum(several[1])",
    "up = positive(p) + [c]\nt = 0.9 * t + 0.01 * up[0] * up[-1]",
    "flags = [v > 0.2139 for v in {array} if v < 0.9]\nt = t * (0.9 if any(flags) else 0.8) + 0.01 * sum(flags)",
    "few.sort()\nif few:\n    t = 0.9 * t + 0.01 * few[0] * few[len(few) // 2]",
    "order = sorted(range(3), key=lambda m: p[m] * q[m])\nt = 0.9 * t + 0.01 * p[order[0]] * q[order[2]]",
    "z = sorted({array}, reverse={test})\nt = 0.9 * t + 0.01 * z[0] * z[1]",
    "t = 0.9 * t + 0.01 * np.median(positive({array}) + [c])",
    "t = 0.9 * t + 0.01 * len(sorted(positive(p))) + (0.01 if some == [] else 0.02)",
)  # fmt: skip
