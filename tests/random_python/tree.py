"""A program as a tree of statements: its text, its function, and the programs that lack a part of it."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

IMPORTS = """\
import collections, contextlib, functools, heapq, itertools, math, operator, random
import numpy as np
import planned_ad
"""
NUMBER = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """Statements that stay together."""

    text: str

    def rendered(self, indent: str) -> str:
        return "".join(f"{indent}{line}\n" for line in self.text.strip("\n").split("\n"))


@dataclass(frozen=True, slots=True)
class Block:
    """A compound statement: the lines that open its parts, such as `if ...:` and `else:`, and what is in each.

    `unwrapped` says whether the first part may stand alone, in the place of the statement.
    """

    parts: tuple[tuple[str, tuple[Node, ...]], ...]
    unwrapped: bool = True

    def rendered(self, indent: str) -> str:
        text = ""
        for head, body in self.parts:
            text += f"{indent}{head}\n" + ("".join(n.rendered(indent + "    ") for n in body) or f"{indent}    pass\n")
        return text


Node = Lines | Block


@dataclass(frozen=True, slots=True)
class Program:
    """A random program.

    Attributes
    ----------
    outside : tuple of nodes
        Statements of the module.
    body : tuple of nodes
        Of `program(x, y, s)`.
    kinds : frozenset of str
        What it is made of.
    sizes : tuple of int
        Lengths of `x` and `y`.
    """

    outside: tuple[Node, ...]
    body: tuple[Node, ...]
    kinds: frozenset[str]
    sizes: tuple[int, int]

    @property
    def source(self) -> str:
        """The text of the module."""
        program = Block((("def program(x, y, s):", self.body),))
        return IMPORTS + "".join(node.rendered("") for node in (*self.outside, program))

    def function(self) -> Callable[..., Any]:
        """Compile the text, so that its lines are found by error messages and by the tracer."""
        global NUMBER
        NUMBER += 1
        name = f"<random Python {NUMBER}>"
        source = self.source
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        namespace: dict[str, Any] = {"__name__": "random_python_program"}
        exec(compile(source, name, "exec"), namespace)
        return namespace["program"]

    def smaller(self) -> Iterator[Program]:
        """The program without one of its statements, or with one in a simpler form; large parts first."""
        for outside in less(self.outside):
            yield replace(self, outside=outside)
        for body in less(self.body[:-1]):
            yield replace(self, body=(*body, self.body[-1]))


def less(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Each way to leave something out of `nodes`."""
    for k in range(len(nodes)):
        yield nodes[:k] + nodes[k + 1 :]
    for k, node in enumerate(nodes):
        if isinstance(node, Block):
            for instead in simpler(node):
                yield nodes[:k] + instead + nodes[k + 1 :]


def simpler(block: Block) -> Iterator[tuple[Node, ...]]:
    """What may stand in the place of `block`."""
    if block.unwrapped:
        for _, body in block.parts:
            yield body
    for k, (head, body) in enumerate(block.parts):
        for part in less(body):
            yield (replace(block, parts=(*block.parts[:k], (head, part), *block.parts[k + 1 :])),)
