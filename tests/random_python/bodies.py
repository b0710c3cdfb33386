"""Random statements, in loops and outside, as trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .lengths import TEXTS as LENGTHS
from .loops import COMPUTED, HEADERS
from .missing import TEXTS as MISSING
from .replaced import TEXTS
from .shared import ITERATORS
from .shared import TEXTS as SHARED
from .tree import Block, Lines, Node
from .writer import Scope, Writer

Body = tuple[Node, ...]
MOST_DEPTH = 2  # of loops in loops
MOST_LEVELS = 3  # of compound statements in one another
COMPOUND = ("branch", "plain branch", "try", "match", "loop")
FAVOUR = 8  # how much likelier a favourite statement is
SHORT = [name for name, header in HEADERS.items() if header.is_sized]


def statements(w: Writer, scope: Scope, count: int) -> Body:
    """So many random statements."""
    found: list[Node] = []
    names = [name for name in STATEMENTS if w.level < MOST_LEVELS or name not in COMPOUND]
    weights = [STATEMENTS[name][1] * (FAVOUR if name in w.favourites else 1) for name in names]
    w.level += 1
    while len(found) < count:
        name = w.rng.choices(names, weights)[0]
        node = STATEMENTS[name][0](w, scope)
        if node is not None:
            w.kinds.add(f"statement: {name}")
            found.append(node)
    w.level -= 1
    return tuple(found)


def accumulate(w: Writer, scope: Scope) -> Node:
    return Lines(f"t = {w.rng.choice((0.5, 0.7, 0.9))} * t + {w.rng.choice((0.1, 0.3))} * ({w.scalar(scope, 3)})")


def read(w: Writer, scope: Scope, use: str) -> Node:
    """A state goes into what is computed, as it is."""
    value = w.leaf(scope)
    return Lines(f"t = 0.8 * t + 0.2 * {use.format(e=value) if '{e}' in use else f'({use}) * {value}'}")


def other_scalar(w: Writer, scope: Scope) -> Node:
    return Lines(w.rng.choice((f"c = np.tanh({w.scalar(scope)})", "t, c = 0.5 * c, t", "c = 0.5 * c + 0.3 * t")))


def write_table(w: Writer, scope: Scope) -> Node:
    """An item of a list of numbers, or of a list of such lists; or the lists themselves change hands."""
    name, lengths = w.rng.choice(scope.tables)
    item, other = w.item(scope, name, lengths), w.item(scope, name, lengths)
    value = f"0.9 * np.tanh({w.scalar(scope)})"
    texts = [
        f"{item} = {value}",
        f"{item} = 0.5 * {other} + {value}",
        f"{item} += {value}",
        f"{item}, {other} = {other}, {item}",
        f"{item} = {w.plain(scope)}",
    ]
    if len(lengths) == 1:
        texts += ["tab, tub = tub, tab", "tub = tab[:]", "tab = tub"]
        texts += [f"for m, w0 in enumerate({name}):\n    t += 0.01 * w0 * m", f"t += 0.01 * sum({name})"]
        texts += [f"if {w.test(scope)}:\n    {item} = {value}"]
    else:
        row = w.index(scope, lengths[0])
        texts += [
            f"row = {name}[{row}]\nrow[{w.index(scope, lengths[1])}] = {value}",
            f"t += 0.01 * max({name}[{row}])",
        ]
        texts += [f"{name}[{row}] = {name}[0][:]", f"for row in {name}:\n    row[1] = 0.5 * row[0] + 0.01 * t"]
    w.kinds.add("table")
    return Lines(w.rng.choice(texts))


def write_item(w: Writer, scope: Scope) -> Node:
    if scope.tables and w.chance(0.6):
        return write_table(w, scope)
    name, length = w.rng.choice(scope.arrays)
    operator = w.rng.choice(("=", "+=", "*="))
    value = w.scalar(scope)
    value = f"0.9 * np.cos({value})" if operator == "*=" else f"0.2 * np.tanh({value})"
    return Lines(f"{name}[{w.index(scope, length)}] {operator} {value}")


def write_slice(w: Writer, scope: Scope) -> Node:
    name, length = w.rng.choice(scope.arrays)
    if length < 2:
        return Lines(f"{name} *= 0.9")
    texts = (
        "{0}[1:] = 0.5 * {0}[:-1] + 0.1 * t",
        "{0} *= 0.9",
        "{0}[:-1] += 0.1 * np.sin({0}[1:])",
        "{0}[::-1] = 0.8 * {0}",
        "{0}[:] = 0.7 * {0} + 0.1 * c",
    )
    return Lines(w.rng.choice(texts).format(name))


def bind_view(w: Writer, scope: Scope) -> Node:
    """The names `p` and `q` show three items of an array each."""
    name, length = w.rng.choice([a for a in scope.arrays if a[1] > 3])
    start = w.rng.randrange(length - 2)
    other = w.rng.choice(("p", "q", f"{name}[{start}:{start + 3}]"))
    texts = (
        Lines(f"p = {name}[{start}:{start + 3}] if {w.test(scope)} else {other}"),
        Lines("p, q = q, p"),
        Lines(f"p = max(p, q, key=lambda r: r[{w.rng.randrange(3)}])"),
        Lines(f"p = chosen(p, {other}, {w.rng.randrange(3)})"),
        Block(((f"if {w.test(scope)}:", (Lines(f"q = {other}"),)),)),
        Block(((f"if {w.plain_test(scope)}:", (Lines(f"q = {other}"),)),)),
    )
    return w.rng.choice(texts)


def append(w: Writer, scope: Scope) -> Node:
    return Lines(w.rng.choice((f"history.append({w.scalar(scope)})", "history.append(t)", "history[-1] = 0.5 * t")))


def append_array(w: Writer, scope: Scope) -> Node:
    name, _ = w.rng.choice(scope.arrays)
    return Lines(f"rows.append({w.rng.choice((name, f'{name}.copy()', 'p', '0.5 * q'))})")


def branch(w: Writer, scope: Scope) -> Node:
    parts = [(f"if {w.test(scope)}:", statements(w, scope, w.rng.randint(1, 2)))]
    if w.chance(0.4):
        parts.append(("else:", statements(w, scope, 1)))
    return Block(tuple(parts))


def plain_branch(w: Writer, scope: Scope) -> Node | None:
    test = w.plain_test(scope)
    if test == "True":
        return None
    parts = [(f"if {test}:", statements(w, scope, w.rng.randint(1, 2)))]
    if w.chance(0.5):
        parts.append(("else:", statements(w, scope, 1)))
    return Block(tuple(parts))


def leave(w: Writer, scope: Scope) -> Node | None:
    """An early exit, from a loop or from the function."""
    if not scope.depth:
        return None
    test = w.test(scope) if w.chance(0.5) else w.plain_test(scope)
    how = w.rng.choices(("break", "continue", "return 0.5 * t"), (3, 3, 1))[0]
    w.kinds.add(f"exit: {how.split()[0]}")
    return Block(((f"if {test}:", (Lines(how),)),), unwrapped=False)


def attempt(w: Writer, scope: Scope) -> Node:
    """`try` with `finally`, or with errors, from here or from a helper, behind what is known or behind data."""
    if w.chance(0.3):
        return Block((("try:", statements(w, scope, 2)), ("finally:", statements(w, scope, 1))))
    test = w.test(scope) if w.chance(0.6) else w.plain_test(scope)
    raised: Node = Block(((f"if {test}:", (Lines("raise KeyError(0.25)"),)),), unwrapped=False)
    if w.chance(0.4):
        raised = Lines(f"t = t + 0.3 * {w.rng.choice(('bounded', 'bounded_in_turn'))}({w.scalar(scope)})")
    tried = [raised, *statements(w, scope, 1)]
    if w.chance(0.3):
        tried.reverse()
    handled = (*statements(w, scope, 1), *((Lines("t = t + error.args[0]"),) if w.chance(0.3) else ()))
    parts = [("try:", tuple(tried)), ("except KeyError as error:", handled)]
    if w.chance(0.2):
        parts.append(("else:", statements(w, scope, 1)))
    if w.chance(0.2):
        parts.append(("finally:", statements(w, scope, 1)))
    w.kinds.add("handled error")
    return Block(tuple(parts))


def match(w: Writer, scope: Scope) -> Node | None:
    if not scope.integers:
        return None
    i = w.rng.choice(scope.integers)
    cases = tuple(Block(((f"case {c}:", statements(w, scope, 1)),), False) for c in ("(0, _)", "(1, False)", "_"))
    return Block(((f"match ({i} % 3, {i} > 9):", cases),), unwrapped=False)


def nested_gradient(w: Writer, scope: Scope) -> Node:
    """A derivative of a smooth function; its branch is on what it is not differentiated by.

    What is differentiated changes no state: how often it is called is no part of what a derivative is.
    """
    number = w.plain(scope) if w.chance(0.5) else w.leaf(scope)
    constant = w.rng.choice((0.3, -0.7, 0.15))
    calls = (
        f"planned_ad.grad(inner)({w.leaf(scope)}, {number})",
        f"np.sum(planned_ad.grad(touched)(0.9 * p, {number}))",
        f"planned_ad.jvp(touched)(0.9 * q, {number}, 1.0 * p)[1]",
        f"np.sum(planned_ad.vectorize(planned_ad.grad(lambda a: touched(a, {constant})))(np.stack([p, q]))[1])",
    )
    return Lines(f"t = 0.8 * t + 0.1 * np.tanh({w.rng.choice(calls)})")


def other(w: Writer, scope: Scope) -> Node:
    """What is rarer."""
    i = w.rng.choice(scope.integers) if scope.integers else "3"
    return Lines(
        w.rng.choice(
            (
                f"t = t + 0.1 * c if (c := 0.9 * {w.leaf(scope)}) > 0.3137 else t",
                f"memo.setdefault({i} % 5, t)\nt = 0.9 * t + 0.1 * memo[{i} % 5]",
                f"late = lambda v: v * {w.plain(scope)}\nt = 0.5 * t + 0.1 * late({w.scalar(scope, 1)})",
                f"t = 0.8 * t + 0.1 * helper({w.scalar(scope, 1)}, {w.plain(scope)})",
                f"t = 0.9 * t + 0.1 * sum(v * b for v, b in zip(p, (0.5, {w.plain(scope)}, -0.2)))",
                "first, *rest = p\nt = 0.9 * t + 0.1 * first * rest[-1]",
                f"t = 0.9 * t + 0.1 * functools.reduce(lambda a, b: 0.5 * a + b, {w.rng.choice(scope.arrays)[0]})",
                "t = 0.9 * t + 0.1 * np.tanh(sum([v * b for b, v in enumerate(q)]))",
            )
        )
    )


def replace_something(w: Writer, scope: Scope) -> Node:
    w.kinds.add("replaced")
    values = {"test": w.test(scope), "plain": w.plain_test(scope), "array": w.rng.choice(scope.arrays)[0]}
    return Lines(w.rng.choice(TEXTS).format(**values, m=w.rng.randrange(1, 3)))


def share_something(w: Writer, scope: Scope) -> Node:
    """A text of `shared`."""
    w.kinds.add("shared")

    def array() -> str:
        return w.rng.choice(scope.arrays)[0]

    iterator = w.rng.choice(ITERATORS).format(array=array())
    values = {"test": w.test(scope), "plain": w.plain_test(scope), "array": array(), "iterator": iterator}
    return Lines(w.rng.choice(SHARED).format(**values, m=w.rng.randrange(1, 3)))


def miss_something(w: Writer, scope: Scope) -> Node:
    """A text of `missing`."""
    w.kinds.add("missing")
    values = {"test": w.test(scope), "scalar": w.scalar(scope), "array": w.rng.choice(scope.arrays)[0]}
    return Lines(w.rng.choice(MISSING).format(**values, m=w.rng.randrange(1, 3)))


def lengthen_something(w: Writer, scope: Scope) -> Node:
    """A text of `lengths`."""
    w.kinds.add("lengths")
    values = {"test": w.test(scope), "scalar": w.scalar(scope), "array": w.rng.choice(scope.arrays)[0]}
    return Lines(w.rng.choice(LENGTHS).format(**values, m=w.rng.randrange(1, 3)))


def loop(w: Writer, scope: Scope, size: int = 0) -> Node | None:
    """A loop of a random header, over `size` items where the header does not say; in a loop, a short one."""
    if scope.depth >= MOST_DEPTH:
        return None
    names, found = SHORT if scope.depth else list(HEADERS), HEADERS
    if w.computes and w.chance(0.5):
        names, found = list(COMPUTED), COMPUTED
    name = w.rng.choice(names)
    header, n = found[name], w.number()
    w.kinds.add(f"loop: {name}")
    size = w.rng.choice((2, 3, 5)) if scope.depth else size or w.rng.choice((3, 20, 26))
    values = {"n": n, "size": size, "list": w.list_of_numbers(size)}
    inside = scope.knows(
        scalars=tuple(header.names(n, "uv")), plain=tuple(header.names(n, "w")), integers=tuple(header.names(n, "ij"))
    )
    body: list[Node] = [Lines(header.first.format(**values))] if header.first else []
    body += statements(w, replace(inside, depth=scope.depth + 1), w.rng.choice((1, 1, 2, 3 - scope.depth)))
    body += [read(w, inside, use) for use in scope.uses if w.chance(0.5)]
    body += [Lines(step) for step in scope.steps if w.chance(0.9)]
    if w.replaces and w.chance(0.7):
        body.insert(w.rng.randint(0, len(body)), replace_something(w, inside))
    if w.shares and w.chance(0.7):
        body.insert(w.rng.randint(0, len(body)), share_something(w, inside))
    for _ in range(w.rng.choice((1, 2, 3)) if w.misses else 0):
        body.insert(w.rng.randint(0, len(body)), miss_something(w, inside))
    for _ in range(w.rng.choice((1, 1, 2)) if w.lengthens else 0):
        body.insert(w.rng.randint(0, len(body)), lengthen_something(w, inside))
    parts = [(header.line.format(**values), tuple(body))]
    if w.chance(0.1) and header.line != "while True:":
        parts.append(("else:", statements(w, scope, 1)))
    before = (Lines(header.setup.format(**values)),) if header.setup else ()
    whole = Block(tuple(parts), unwrapped=False)
    return Block((("if True:", (*before, whole)),)) if before else whole


Statement = Callable[[Writer, Scope], Node | None]
STATEMENTS: dict[str, tuple[Statement, int]] = {
    "accumulate": (accumulate, 8),
    "scalar": (other_scalar, 2),
    "write item": (write_item, 3),
    "write slice": (write_slice, 2),
    "view": (bind_view, 3),
    "append": (append, 2),
    "append array": (append_array, 1),
    "branch": (branch, 2),
    "plain branch": (plain_branch, 2),
    "exit": (leave, 1),
    "try": (attempt, 1),
    "match": (match, 1),
    "nested gradient": (nested_gradient, 1),
    "other": (other, 3),
    "loop": (loop, 1),
}
