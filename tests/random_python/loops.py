"""What loops are over: the line that opens one, and the names that its body finds.

In the texts `{n}` is a number of its own, `{size}` a number of iterations, `{list}` plain numbers in a list (of another
length, now and then). The names bound are `i{n}` and `j{n}` (plain integers), `w{n}` (plain numbers), and `v{n}` and
`u{n}` (traced scalars).
"""

# ruff: noqa: E501 (a row of the table is one text)

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Header:
    """Texts: `line` opens the loop, `setup` goes before it, `first` begins its body."""

    line: str
    setup: str = ""
    first: str = ""

    @property
    def is_sized(self) -> bool:
        """Whether it goes on for as long as it is told."""
        return "{size}" in self.line + self.setup + self.first or (
            "{list}" in self.line and not ("chain" in self.line or "zip_longest" in self.line)
        )

    def names(self, n: int, letters: str) -> list[str]:
        """Which of the names are bound."""
        text = self.line.split(" in ")[0] if self.line.startswith("for") else self.line + self.setup
        return [f"{letter}{n}" for letter in letters if f"{letter}{{n}}" in text]


HEADERS: dict[str, Header] = {
    "range": Header("for i{n} in range({size}):"),
    "range in a variable": Header("for i{n} in r{n}:", "r{n} = range({size}, 0, -1)"),
    "array": Header("for v{n} in x:"),
    "enumerate": Header("for i{n}, v{n} in enumerate(x):"),
    "enumerate from one": Header("for i{n}, v{n} in enumerate(x, 1):"),
    "zip of arrays": Header("for v{n}, u{n} in zip(x, y):"),
    "zip with a list": Header("for v{n}, w{n} in zip(x, {list}):"),
    "list zipped first": Header("for w{n}, v{n} in zip({list}, x):"),
    "zip with a range": Header("for v{n}, i{n} in zip(x, range(2, 900, 3)):"),
    "enumerate of a zip": Header("for i{n}, (v{n}, w{n}) in enumerate(zip(x, {list})):"),
    "zip with a generator": Header("for v{n}, w{n} in zip(x, (0.3 / (j + 1) for j in range(50))):"),
    "zip with dict values": Header("for v{n}, w{n} in zip(x, d{n}.values()):", "d{n} = dict(enumerate({list}))"),
    "zip with a string": Header("for v{n}, c{n} in zip(x, 'abca' * 12):", "", "w{n} = ord(c{n}) - 97"),
    "zip of one iterator": Header("for v{n}, u{n} in zip(k{n}, k{n}):", "k{n} = iter(x)"),
    "pairwise": Header("for v{n}, u{n} in itertools.pairwise(x):"),
    "islice": Header("for v{n} in itertools.islice(x, 1, None, 2):"),
    "islice of an iterator": Header("for v{n} in itertools.islice(k{n}, 4):", "k{n} = iter(x)\nt = t + next(k{n})"),
    "chain": Header("for v{n} in itertools.chain(x, y):"),
    "chain with a list": Header("for v{n} in itertools.chain({list}, x):"),
    "compress": Header("for v{n} in itertools.compress(x, [1, 0, 1] * 20):"),
    "zip with a cycle": Header("for v{n}, w{n} in zip(x, itertools.cycle((0.5, -0.2, 0.1))):"),
    "zip with a count": Header("for i{n}, v{n} in zip(itertools.count(3, 2), x):"),
    "accumulate": Header("for v{n} in itertools.accumulate(x, lambda a, b: 0.5 * a + b):"),
    "zip_longest": Header("for v{n}, w{n} in itertools.zip_longest(x, {list}, fillvalue=0.4):"),
    "starmap": Header("for v{n} in itertools.starmap(operator.mul, zip(x, {list})):"),
    "tee": Header("for v{n}, u{n} in zip(k{n}, l{n}):", "k{n}, l{n} = itertools.tee(x)\nnext(l{n})"),
    "map": Header("for v{n} in map(np.sin, x):"),
    "map with a list": Header("for v{n} in map(operator.mul, x, {list}):"),
    "filter of plain": Header("for i{n} in filter(lambda j: j % 3, range({size})):"),
    "reversed": Header("for v{n} in reversed(x):"),
    "reversed list": Header("for w{n}, v{n} in zip(reversed({list}), x):"),
    "sorted order": Header("for i{n} in sorted(range({size}), key=lambda j: j * 7 % {size}):"),
    "list of integers": Header("for i{n} in [j * 5 % 13 for j in range({size})]:"),
    "dict items": Header("for i{n}, w{n} in d{n}.items():", "d{n} = dict(enumerate({list}))"),
    "plain list": Header("for w{n} in {list}:"),
    "rows": Header("for v{n}, u{n} in x.reshape(-1, 2):"),
    "ndindex": Header("for (i{n},) in np.ndindex({size}):"),
    "ndenumerate": Header("for (i{n},), v{n} in np.ndenumerate(x):"),
    "product": Header("for i{n}, w{n} in itertools.product(range({size}), (0.5, -0.1)):"),
    "permutation": Header("for i{n} in np.random.default_rng({n}).permutation({size}):"),
    "iterator in a variable": Header("for v{n} in k{n}:", "k{n} = iter(x)\nt = t + next(k{n})", "u{n} = next(k{n}, 0.4)"),
    "generator of items": Header("for v{n} in g{n}(x):", "def g{n}(a):\n    m = 0.0\n    for b in a:\n        m = 0.5 * m + b\n        yield m"),
    "generator of plain": Header("for i{n}, w{n} in g{n}():", "def g{n}():\n    w = 1.0\n    for j in range({size}):\n        yield j, w\n        w *= 0.9"),
    "user iterable": Header(
        "for i{n} in K{n}({size}):",
        "class K{n}:\n    def __init__(self, m):\n        self.m = m\n    def __iter__(self):\n        return self\n"
        "    def __next__(self):\n        if self.m == 0:\n            raise StopIteration\n        self.m -= 1\n        return self.m",
    ),
    "counted while": Header("while i{n} < {size}:", "i{n} = 0", "i{n} += 1"),
    "while down": Header("while i{n} > 0:", "i{n} = {size}", "i{n} -= 1"),
    "while True": Header("while True:", "i{n} = 0", "i{n} += 1\nif i{n} > {size}:\n    break"),
    "while on data": Header("while z{n} > 0.05 and i{n} < {size}:", "z{n} = np.cos(t) ** 2\ni{n} = 0", "z{n} = 0.8 * z{n}\ni{n} += 1"),
    "queue": Header("while q{n}:", "q{n} = [0]", "i{n} = q{n}.pop(0)\nif i{n} < {size} - 2:\n    q{n}.append(i{n} + 1 + i{n} % 2)"),
    "sentinel": Header("for i{n} in iter(lambda: next(k{n}, None), None):", "k{n} = iter(range({size}))"),
}  # fmt: skip

# As long as the program computes, from data.
COMPUTED: dict[str, Header] = {
    "computed range": Header("for i{n} in range(int(1.2 + 2.7 * abs(t))):"),
    "computed times": Header("for _ in range(int(3.3 * np.cos(c) ** 2)):"),
    "computed start": Header("for i{n} in range(m{n} % 3, 9, 2):", "m{n} = int(5.1 * np.sin(t))"),
    "computed down": Header("for i{n} in range(m{n}, 0, -1):", "m{n} = min(int(4.3 * abs(c)), 7)"),
}
