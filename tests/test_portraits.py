"""What a trace has found outside, as this process and others compare it: no other program is taken for the same."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from planned_ad.calls.outside.portraits import NotPortable
from planned_ad.calls.outside.watch import Watch
from planned_ad.trace import trace

X = np.array([0.5, 1.0, 2.0])
NAMES = ("edited", "helper_of_edited")


@pytest.fixture(autouse=True)
def no_modules() -> Iterator[None]:
    yield
    for name in NAMES:
        sys.modules.pop(name, None)


def load(source: str, name: str = "edited") -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = f"/somewhere/{name}.py"
    sys.modules[name] = module
    exec(compile("import numpy as np\n" + source, module.__file__, "exec"), vars(module))
    return module


def watch_of(source: str, helper: str = "") -> tuple[types.ModuleType, Watch]:
    load(helper, "helper_of_edited")
    module = load(source)
    return module, Watch(trace(module.f, (X,)).outside)


def digest(*sources: str) -> str:
    """Of what another process would compare."""
    return watch_of(*sources)[1].portrait().digest


# A program, what of it is edited, and to what; what the same change would be in a process that runs, or none.
LOSS = "def f(x):\n    return np.sum(x**{})\n"
EDITED: dict[str, tuple[str, str, str, str]] = {
    "order of fields": (
        "import collections\nP = collections.namedtuple('P', 'a b')\np = P(2, 3)\n" + LOSS.format("p.a"),
        "'a b'", "'b a'", "P.a = P.b",
    ),
    "default of a field": (
        "import typing\nclass P(typing.NamedTuple):\n    a: int = 2\n" + LOSS.format("P().a"),
        "= 2", "= 3", "P.__new__.__defaults__ = (3,)",
    ),
    "attribute of a tuple": (
        "class P(tuple):\n    k = 2\np = P((1,))\n" + LOSS.format("p.k"), "k = 2", "k = 3", "P.k = 3",
    ),
    "an integer": ("class I(int):\n    pass\ni = I(3)\n" + LOSS.format("i"), "I(3)", "I(4)", "i = I(4)"),
    "a text": (
        "class S(str):\n    pass\ns = S('a')\n" + LOSS.format("(2 if s == 'a' else 3)"),
        "S('a')", "S('b')", "s = S('b')",
    ),
    "a fraction": (
        "import fractions\nclass F(fractions.Fraction):\n    pass\nz = F(3, 2)\n" + LOSS.format("float(z)"),
        "F(3, 2)", "F(5, 2)", "z = F(5, 2)",
    ),
    "a queue": (
        "import collections\nclass D(collections.deque):\n    pass\nd = D([2])\n" + LOSS.format("d[0]"),
        "[2]", "[3]", "d[0] = 3",
    ),
    "bases": (
        "class A:\n    pass\nclass B:\n    pass\nclass C(A):\n    pass\nc = C()\n"
        + LOSS.format("(2 if isinstance(c, A) else 3)"),
        "C(A)", "C(B)", "C.__bases__ = (B,)",
    ),
    "a pattern's attributes": (
        "class D:\n    __match_args__ = ('a',)\n    a = 2\n    b = 3\nd = D()\n"
        "def f(x):\n    match d:\n        case D(2):\n            return np.sum(x**2)\n    return np.sum(x)\n",
        "('a',)", "('b',)", "D.__match_args__ = ('b',)",
    ),
    "a name with underscores": ("__k = 2\n" + LOSS.format("__k"), "__k = 2", "__k = 3", "__k = 3"),
    "an attribute with underscores": (
        "class M:\n    __k__ = 2\n" + LOSS.format("M.__k__"), "__k__ = 2", "__k__ = 3", "M.__k__ = 3",
    ),
    "a default of a variable": (
        "import contextvars\nV = contextvars.ContextVar('V', default=2)\n" + LOSS.format("V.get()"),
        "default=2", "default=3", "V.set(3)",
    ),
}  # fmt: skip


ONLY_HERE = ("attribute of a tuple", "a queue")  # others cannot compare these: the function is traced again


@pytest.mark.parametrize("what", [what for what in EDITED if what not in ONLY_HERE])
def test_an_edited_program_is_another_one_for_the_next_process(what: str) -> None:
    program, old, new, _ = EDITED[what]
    assert digest(program) == digest(program)
    assert digest(program) != digest(program.replace(old, new))


@pytest.mark.parametrize("program, change", [(p, change) for p, _, _, change in EDITED.values()], ids=EDITED)
def test_a_change_is_noticed_by_the_next_call(program: str, change: str) -> None:
    module, watch = watch_of(program)
    assert watch.holds()
    exec(change, vars(module))
    assert not watch.is_same() and not watch.holds()


@pytest.mark.parametrize("change", ["f.__code__ = g.__code__", "f.__defaults__ = (3,)"])
def test_a_function_that_is_edited_in_place(change: str) -> None:
    """As `%autoreload` does it."""
    module, watch = watch_of("def f(x, n=2):\n    return np.sum(x**n)\ndef g(x, n=2):\n    return np.sum(x)\n")
    exec(change, vars(module))
    assert not watch.holds()


def test_what_a_module_makes_when_it_is_asked_for() -> None:
    program = "import helper_of_edited\ndef f(x):\n    return np.sum(x**helper_of_edited.k)\n"
    helper = "table = {'k': 2}\ndef __getattr__(name):\n    return table[name]\n"
    assert digest(program, helper) == digest(program, helper)
    assert digest(program, helper) != digest(program, helper.replace("2", "3"))
    for change in ("table['k'] = 3", "k = 3"):
        _, watch = watch_of(program, helper)
        assert watch.holds()
        exec(change, vars(sys.modules["helper_of_edited"]))
        assert not watch.holds()


SUM = (
    "def f(x):\n    total = 0.0\n    for name in {}:\n"
    "        total = total * 2 + len(name) * np.sum(x)\n    return total\n"
)


@pytest.mark.parametrize("names", ["{'a', 'bc'}", "set(('a', 'bc'))", "{name for name in ('a', 'bc')}"])
def test_the_order_of_a_set_is_another_one_in_each_process(names: str) -> None:
    with pytest.raises(NotPortable, match="makes sets"):
        digest(SUM.replace("{}", names))


def test_to_look_for_something_in_a_set_is_not_to_go_through_it() -> None:
    assert digest("def f(x):\n    return np.sum(x) if len(x) in {1, 3} else np.sum(2 * x)\n")


def test_a_number_out_of_sight_is_another_object_in_each_process() -> None:
    program = "import decimal\nclass D(decimal.Decimal):\n    pass\nd = D('1.5')\n" + LOSS.format("float(d)")
    module, watch = watch_of(program)
    with pytest.raises(NotPortable):
        watch.portrait()
    names: dict[str, Any] = vars(module)
    names["d"] = names["D"]("2.5")
    assert not watch.holds()
