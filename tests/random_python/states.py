"""Python state that moves on in a loop: what makes it, what moves it, and an expression that reads it.

In the texts `{n}` is a number of its own, `{p}` and `{q}` are small integers, and `{e}` is a traced scalar. A use without
`{e}` is a plain number of moderate size; reading it may move the state too.
"""

# ruff: noqa: E501 (a row of the table is one text)

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """Texts: `outside` of the function, `setup` before the loops, `step` in a loop (or empty), `use` anywhere in it."""

    use: str
    setup: str = ""
    step: str = ""
    outside: str = ""


def local_class(members: str, use: str, step: str = "", made: str = "o{n} = C{n}()") -> State:
    """State of an instance (or of its class) that is made in the function."""
    body = "\n".join(f"    {line}" for line in members.strip("\n").split("\n"))
    return State(use, f"class C{{n}}:\n{body}\n{made}", step)


COUNTER = "def __init__(self):\n    self.k = {q}\n"

STATES: dict[str, State] = {
    "nonlocal": State(
        "f{n}({e})",
        "c{n} = 0\ndef f{n}(v):\n    nonlocal c{n}\n    c{n} += 1\n    return v / (1 + c{n} % {p})",
    ),
    "closure over a list": State("f{n}({e})", "b{n} = [0]\ndef f{n}(v):\n    b{n}[0] += {q}\n    return v * np.cos(b{n}[0])"),
    "traced closure": State(
        "f{n}({e})",
        "m{n} = 0.3\ndef f{n}(v):\n    nonlocal m{n}\n    m{n} = 0.6 * m{n} + 0.3 * np.sin(v)\n    return m{n}",
    ),
    "default argument": State("f{n}({e})", "def f{n}(v, box=[0]):\n    box[0] += 1\n    return v / (1 + box[0] % {p})"),
    "keyword default": State("f{n}({e})", "def f{n}(v, *, box=[1.0]):\n    box[0] *= 0.9\n    return v * box[0]"),
    "dict default": State(
        "f{n}({e})", "def f{n}(v, seen={{}}):\n    seen[len(seen) % {p}] = 1\n    return v * np.sin(len(seen))"
    ),
    "function attribute": State(
        "f{n}({e})", "def f{n}(v):\n    f{n}.k += 1\n    return v / (1 + f{n}.k % {p})\nf{n}.k = 0"
    ),
    "partial": State(
        "f{n}({e})",
        "def g{n}(box, v):\n    box[0] += 1\n    return v * np.cos(box[0])\nf{n} = functools.partial(g{n}, [{q}])",
    ),
    "decorator": State(
        "f{n}({e})",
        "def d{n}(g):\n    def inner(v):\n        inner.k += 1\n        return g(v) / inner.k\n    inner.k = {q}\n    return inner\n"
        "@d{n}\ndef f{n}(v):\n    return np.sin(v)",
    ),
    "cached function": State(
        "f{n}(len(z{n}) % {p})",
        "z{n} = []\n@functools.lru_cache(None)\ndef f{n}(k):\n    z{n}.append(k)\n    return 1.0 / (1 + k + len(z{n}))",
        "z{n}.append(0)",
    ),
    "attribute": local_class(COUNTER, "np.sin(o{n}.k)", "o{n}.k += {p}"),
    "method": local_class(
        COUNTER + "def step(self, v):\n    self.k += 1\n    return v / (1 + self.k % {p})", "o{n}.step({e})"
    ),
    "bound method": local_class(
        COUNTER + "def step(self, v):\n    self.k += 1\n    return v * np.cos(self.k)", "o{n}({e})", made="o{n} = C{n}().step"
    ),
    "class attribute": local_class("k = {q}", "(C{n}.k % {p} * 0.3)", "C{n}.k += 1"),
    "class attribute outside": State("(C{n}.k % {p} * 0.3)", "C{n}.k = {q}", "C{n}.k += 1", "class C{n}:\n    k = 0"),
    "slots": local_class("__slots__ = ('k',)\n" + COUNTER, "(o{n}.k % {p})", "o{n}.k += 1"),
    "property": local_class(
        COUNTER + "@property\ndef gain(self):\n    self.k += 1\n    return 1.0 / self.k", "o{n}.gain", made="o{n} = C{n}()"
    ),
    "call": local_class(COUNTER + "def __call__(self, v):\n    self.k += 1\n    return v * np.exp(-0.1 * self.k)", "o{n}({e})"),
    "getitem": local_class(COUNTER + "def __getitem__(self, j):\n    self.k += 1\n    return (self.k + j) % {p}", "o{n}[{q}]"),
    "truth": local_class(COUNTER + "def __bool__(self):\n    self.k += 1\n    return self.k % {p} == 0", "(0.3 if o{n} else -0.7)"),
    "traced attribute": local_class(
        "def __init__(self):\n    self.m = 0.2\ndef step(self, v):\n    self.m = 0.5 * self.m + 0.4 * np.sin(v)\n    return self.m",
        "o{n}.step({e})",
    ),
    "subclass with super": State(
        "o{n}.step({e})",
        "o{n} = D{n}()",
        "",
        "class B{n}:\n    def __init__(self):\n        self.k = 0\n    def step(self, v):\n        self.k += 1\n        return v / self.k\n"
        "class D{n}(B{n}):\n    def step(self, v):\n        self.j = getattr(self, 'j', 0) + self.k % {p}\n        return super().step(v) * np.cos(self.j)",
    ),
    "module global": State(
        "(G{n} % {p} * 0.2)", "reset{n}()", "step{n}()",
        "G{n} = 0\ndef reset{n}():\n    global G{n}\n    G{n} = {q}\ndef step{n}():\n    global G{n}\n    G{n} += 1",
    ),
    "module attribute": State(
        "np.cos(M{n}.k)", "M{n}.k = 0", "M{n}.k += {p}", "import types\nM{n} = types.SimpleNamespace(k=0)"
    ),
    "context manager": State(
        "len(w{n}) % {p}",
        "w{n} = []\n@contextlib.contextmanager\ndef cm{n}():\n    w{n}.append(1)\n    try:\n        yield\n    finally:\n        w{n}.append(2)",
        "with cm{n}():\n    t = 0.9 * t",
    ),
    "plain float": State("c{n}", "c{n} = 1.0", "c{n} = 0.8 * c{n} + 0.05"),
    "plain integer": State("(c{n} * 0.2)", "c{n} = {q}", "c{n} = ({p} * c{n} + 1) % 7"),
    "toggle": State("(0.5 if c{n} else -0.3)", "c{n} = False", "c{n} = not c{n}"),
    "complicated flag": State("(0.5 if c{n} > 9 else -0.3)", "c{n} = 0", "c{n} += 1"),
    "list item": State("c{n}[{q} % 3]", "c{n} = [0.3, -0.5, 0.9]", "c{n}[1], c{n}[2], c{n}[0] = c{n}"),
    "list as stack": State("c{n}[-1]", "c{n} = [0.01 * j for j in range(200)]", "c{n}.pop()"),
    "list as queue": State("c{n}[0]", "c{n} = [0.1, 0.7, -0.2, 0.4]", "c{n}.append(c{n}.pop(0))"),
    "dict item": State("d{n}['k'] % {p}", "d{n} = {{'k': {q}}}", "d{n}['k'] += 1"),
    "order of a dict": State(
        "d{n}[next(iter(d{n}))]", "d{n} = {{j: 0.2 * j for j in range(5)}}", "j{n} = next(iter(d{n}))\nd{n}[j{n}] = d{n}.pop(j{n})"
    ),
    "dict subclass": State("c{n}['k'] % {p}", "class D{n}(dict): pass\nc{n} = D{n}(k=0)", "c{n}['k'] += 1"),
    "counter": State("c{n}['a'] % {p}", "c{n} = collections.Counter()", "c{n}['a'] += 1"),
    "chain map": State("c{n}['a'] % {p}", "c{n} = collections.ChainMap({{}}, {{'a': {q}}})", "c{n}['a'] = c{n}['a'] + 1"),
    "default dict": State("c{n}[{q}] % {p}", "c{n} = collections.defaultdict(int)", "c{n}[{q}] += 1"),
    "deque": State("c{n}[0]", "c{n} = collections.deque([0.2, -0.4, 0.9, 0.5])", "c{n}.rotate(1)"),
    "traced deque": State("f{n}({e})", "c{n} = collections.deque([0.0] * {p})\ndef f{n}(v):\n    c{n}.append(0.5 * v)\n    return c{n}.popleft()"),
    "set": State("len(c{n}) % {p}", "c{n} = set()", "c{n}.add(len(c{n}) * {q} % 11)"),
    "heap": State("h{n}[0][0] * 0.1", "h{n} = [(1, 0), (2, 1), (4, 2)]", "j{n} = heapq.heappop(h{n})\nheapq.heappush(h{n}, (j{n}[0] + {p}, j{n}[1]))"),
    "string": State("c{n}.count('a') % {p}", "c{n} = ''", "c{n} += 'ab'[len(c{n}) % 2]"),
    "count": State("np.sin(next(c{n}))", "c{n} = itertools.count({q}, {p})"),
    "cycle": State("next(c{n})", "c{n} = itertools.cycle([0.3, -0.5, 0.8])"),
    "bound next": State("np.cos(c{n}())", "c{n} = itertools.count({q}).__next__"),
    "accumulate": State("np.sin(next(c{n}))", "c{n} = itertools.accumulate(range(1000))"),
    "iterator of a list": State("next(c{n}, 0.1)", "c{n} = iter([0.1 * (j * {p} % 7) for j in range(30)])"),
    "iterator in an attribute": local_class("pass", "np.cos(next(o{n}.it))", made="o{n} = C{n}()\no{n}.it = itertools.count()"),
    "generator function": State("next(c{n})", "def g{n}():\n    w = 1.0\n    while True:\n        yield w\n        w *= 0.8\nc{n} = g{n}()"),
    "generator that is sent to": State(
        "c{n}.send({e})", "def g{n}():\n    m = 0.0\n    while True:\n        v = yield m\n        m = 0.5 * m + 0.3 * v\nc{n} = g{n}()\nnext(c{n})"
    ),
    "generator expression": State("next(c{n}, 0.2)", "c{n} = (0.1 * (j % {p}) for j in range(25))"),
    "default_rng": State("r{n}.normal()", "r{n} = np.random.default_rng({p})"),
    "default_rng integers": State("x[r{n}.integers(x.size)]", "r{n} = np.random.default_rng({p})"),
    "random.Random": State("r{n}.uniform(-1, 1)", "r{n} = random.Random({p})"),
    "shuffled list": State("c{n}[0]", "r{n} = random.Random({p})\nc{n} = [0.1 * j for j in range(9)]", "r{n}.shuffle(c{n})"),
    "RandomState": State("r{n}.rand()", "r{n} = np.random.RandomState({p})"),
    "user iterator": State(
        "next(c{n})", "c{n} = I{n}()", "", "class I{n}:\n    k = 0\n    def __iter__(self):\n        return self\n    def __next__(self):\n        self.k += 1\n        return np.sin(self.k)",
    ),
    "plain array": State("a{n}[{q}]", "a{n} = np.array([0.3, 0.9, -0.4, 0.6])", "a{n}[:] = np.roll(a{n}, 1)"),
    "memo": State("m{n}.setdefault(len(m{n}) % {p}, 0.1 + 0.2 * len(m{n}))", "m{n} = {{}}"),
    "functions in turn": State("f{n}[0]({e})", "f{n} = [np.sin, np.cos, np.tanh]", "f{n}.append(f{n}.pop(0))"),
    "function replaced": State("f{n}({e})", "f{n} = np.sin", "f{n} = np.cos if f{n} is np.sin else np.sin"),
}  # fmt: skip
