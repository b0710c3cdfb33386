"""Random expressions over the names that a place in a program knows."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from .states import State

UNARY = ("np.sin({})", "np.cos({})", "np.tanh({})", "0.5 * {} ** 2", "-{}", "math.exp(-{} ** 2)", "abs({} - 0.37)")
BINARY = (
    "({} + {})",
    "({} - {})",
    "{} * {}",
    "np.maximum({}, {} - 0.113)",
    "min({}, {} + 0.217)",
    "{} / (1.3 + {} ** 2)",
)
TESTS = ("{} > 0.2113", "{} < 0.5127", "-0.4131 < {} < 0.6173", "{} > 0.913 or {} < -0.3171", "not {} > 0.1119")
PLAIN_TESTS = (
    "{} % 3 == 1",
    "{} == 4",
    "{} > 5",
    "{} in (2, 7, 13)",
    "3 <= {} < 17",
    "{} == 20",
    "{} % 2",
    "{} % 7 == 6",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be read at a place: names of traced scalars, of plain numbers and integers, and expressions of state.

    `arrays` are names of arrays and views with their lengths, `lists` of lists of traced numbers that are not empty.
    """

    scalars: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    arrays: tuple[tuple[str, int], ...] = ()
    lists: tuple[str, ...] = ()
    tables: tuple[tuple[str, tuple[int, ...]], ...] = ()  # lists of numbers that are written to, or of such lists
    uses: tuple[str, ...] = ()  # of states
    steps: tuple[str, ...] = ()  # statements that move the states
    depth: int = 0  # of loops

    def knows(self, **names: tuple) -> Scope:
        """The scope with these added."""
        return replace(self, **{key: getattr(self, key) + added for key, added in names.items()})


@dataclass(slots=True)
class Writer:
    """Draws names, numbers and expressions; notes of what kinds the program is."""

    rng: random.Random
    kinds: set[str] = field(default_factory=set)
    numbered: int = 0
    level: int = 0  # of compound statements that are being written
    computes: bool = False  # how often loops run
    replaces: bool = False  # what loops find: see `replaced`
    shares: bool = False  # iterators, and places for numbers of several classes: see `shared`
    misses: bool = False  # variables that may be None: see `missing`
    lengthens: bool = False  # lists whose length is data: see `lengths`
    favourites: tuple[str, ...] = ()  # statements that the program has many of

    def number(self) -> int:
        """One that no other name has."""
        self.numbered += 1
        return self.numbered

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def fill(self, state: State) -> State:
        """`state` with its own number and small integers; `{e}` stays."""
        values = {"n": self.number(), "p": self.rng.randint(2, 5), "q": self.rng.randint(1, 3), "e": "{e}"}
        return State(*(text.format(**values) for text in (state.use, state.setup, state.step, state.outside)))

    def index(self, scope: Scope, length: int) -> str:
        """An index into an axis of that length."""
        if scope.integers and self.chance(0.8):
            i = self.rng.choice(scope.integers)
            return self.rng.choice((f"{i} % {length}", f"({i} + 1) % {length}", f"-1 - {i} % {length}"))
        return str(self.rng.randrange(length))

    def item(self, scope: Scope, name: str, lengths: tuple[int, ...]) -> str:
        """A number in a table."""
        return name + "".join(f"[{self.index(scope, length)}]" for length in lengths)

    def plain(self, scope: Scope) -> str:
        """A plain number."""
        found = [use for use in scope.uses if "{e}" not in use]
        choices = [*scope.plain, *scope.plain, *found, *found, *found, *(f"np.cos({i})" for i in scope.integers), "0.3"]
        return self.rng.choice(choices)

    def leaf(self, scope: Scope) -> str:
        """A traced scalar."""
        choices = list(scope.scalars) * 2
        for name, length in scope.arrays:
            choices.append(f"{name}[{self.index(scope, length)}]")
            choices.append(f"np.sum({name}) / {length}.0")
        choices += [self.item(scope, *table) for table in scope.tables for _ in range(2)]
        choices += [f"{name}[-1]" for name in scope.lists] + [f"{name}[len({name}) // 2]" for name in scope.lists]
        return self.rng.choice(choices)

    def scalar(self, scope: Scope, depth: int = 2) -> str:
        """An expression for a traced scalar."""
        if depth == 0 or self.chance(0.2):
            return self.leaf(scope)
        calls = [use for use in scope.uses if "{e}" in use]
        kind = self.rng.random()
        if calls and kind < 0.45:
            return self.rng.choice(calls).format(e=self.scalar(scope, depth - 1))
        if kind < 0.6:
            return f"{self.plain(scope)} * {self.scalar(scope, depth - 1)}"
        if kind < 0.8:
            text = self.rng.choice(UNARY)
            return text.format(f"({self.scalar(scope, depth - 1)})")
        return self.rng.choice(BINARY).format(self.scalar(scope, depth - 1), f"({self.scalar(scope, depth - 1)})")

    def test(self, scope: Scope) -> str:
        """A test of a traced scalar."""
        value = f"({self.scalar(scope, 1)})"
        return self.rng.choice(TESTS).format(value, value)

    def plain_test(self, scope: Scope) -> str:
        """A test of what is known while tracing."""
        numbers = [use for use in scope.uses if "{e}" not in use and "[" not in use]
        if scope.integers and (not numbers or self.chance(0.7)):
            return self.rng.choice(PLAIN_TESTS).format(self.rng.choice(scope.integers))
        return f"{self.rng.choice(numbers)} > 0.3" if numbers else "True"

    def list_of_numbers(self, length: int) -> str:
        """Plain numbers, sometimes fewer or more than `length`, in a list, a tuple or a comprehension."""
        count = length + self.rng.choice((0, 0, 0, -2, 3))
        if self.chance(0.5):
            return f"[0.1 * (j * {self.rng.randint(2, 9)} % 11) for j in range({max(count, 1)})]"
        numbers = [f"{self.rng.randint(-9, 9) / 10}" for _ in range(max(count, 1))]
        return "(" + ", ".join(numbers) + ",)"
