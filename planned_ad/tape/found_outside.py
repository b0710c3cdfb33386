"""What the runs of one trace have found outside of the function: where to look whether it is still there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Outside:
    """Filled by a trace, and by those inside it; some come later, when a derivative of a custom rule is traced.

    Attributes
    ----------
    frozen : tuple of str
        Names that are taken for constant without a look, with what they lead to.
    roots : list of (object, str)
        Functions that were traced, and classes and other objects that traced code got by the arguments; their names.
    read : dict
        Names that were read of globals and of modules: by the identity of their dict, that dict and the names.
    plain : list of (object, str)
        Functions that ran as they are, for compiled code that called them; their names.
    kept : list of (object, object, str)
        Functions with a cache, a key that traced code asked it for, None where it was empty; their names.
    last_call : set of str
        Names of attributes and variables that only tell what the last call has computed, and for which argument.
    computes_anew : bool
        Whether the program goes as if an argument were never the one of the call before.
    has_history : bool
        Whether it is known that what earlier calls have left makes a difference, so that there are no such names.
    is_again : bool
        Whether the function has been traced and compared before, so that what calls leave is known to make none.
    set_first : dict
        Attributes that the program sets before it reads them, by the identity of the dict that has them, and the name:
        the object, and what to say where it reads one before.
    has_others : bool
        Whether there are other traces of the program, for other ways through it.
    constants : dict
        Arrays whose numbers are in the program, by identity.
    raises : bool
        Whether the program has NumPy's errors and warnings raised, so that it does not run with them ignored.
    version : int
        Another one when something has been added.
    """

    frozen: tuple[str, ...] = ()
    roots: list[tuple[object, str]] = field(default_factory=list)
    read: dict[int, tuple[dict[str, Any], dict[str, None]]] = field(default_factory=dict)
    plain: list[tuple[object, str]] = field(default_factory=list)
    kept: list[tuple[Any, Any, str]] = field(default_factory=list)
    last_call: set[str] = field(default_factory=set)
    computes_anew: bool = False
    has_history: bool = False
    is_again: bool = False
    set_first: dict[tuple[int, str], tuple[Any, str]] = field(default_factory=dict)
    has_others: bool = False
    constants: dict[int, Any] = field(default_factory=dict)
    raises: bool = False
    version: int = 0

    def is_frozen(self, name: str) -> bool:
        frozen = self.frozen
        return bool(frozen) and any(name == known or name.startswith((known + ".", known + "[")) for known in frozen)

    def add(
        self,
        roots: Iterable[tuple[object, str]],
        read: Iterable[tuple[dict[str, Any], Sequence[str]]],
        constants: Mapping[int, Any],
        kept: Iterable[tuple[Any, Any, str]] = (),
    ) -> None:
        """What one run has found."""
        self.version += 1
        self.roots += roots
        self.kept += kept
        for names, keys in read:
            self.read.setdefault(id(names), (names, {}))[1].update(dict.fromkeys(keys))
        self.constants.update(constants)
