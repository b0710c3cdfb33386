"""`python -m planned_ad explain model.py:loss` for a first look; `python -m planned_ad cache`: what is kept on disk."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import operator
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from . import caching
from .caching.listing import as_table
from .compiling import compile
from .errors import PlannedADError
from .pictures.markup import FONT

STANDARD: dict[type, Any] = {float: 1.0, complex: 1.0 + 1.0j}  # by annotation, of parameters without another example
EXPLAIN = """\
The file is run, as an import would. Each argument of the function gets an example: from --args; else from the dict
`example` of the module, by the name of the function (a tuple of all arguments) or of the parameter; else the default
value; else, where the annotation is float or complex, a number. Nothing but shapes, dtypes and branches depends on it.
"""


class NotFound(Exception):
    """What was asked for is not there; the message says what to write."""


def main(arguments: list[str] | None = None) -> None:
    asked = parser().parse_args(arguments)
    try:
        asked.run(asked)
    except (NotFound, PlannedADError) as error:
        notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
        raise SystemExit(f"{type(error).__name__}: {error}{notes}") from None


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m planned_ad", description="Derivatives of NumPy code.")
    commands = found.add_subparsers(dest="command", required=True)
    look = commands.add_parser(
        "explain", help="what the derivative of a function keeps, and why", description=EXPLAIN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    look.add_argument("function", metavar="FILE.py:FUNCTION", help="or package.module:function")
    look.add_argument("--args", metavar="CODE", help='as in a call: --args "np.zeros(50), k=0.1"')
    look.add_argument("--kind", help="of the call: gradient, pullback, hvp, ...")
    look.add_argument("--listing", action="store_true", help="the schedule too, as pseudo-Python")
    look.add_argument("--profile", action="store_true", help="and where the time of a call goes, measured")
    look.add_argument("--html", type=Path, metavar="FILE", help="write the page that notebooks show")
    look.set_defaults(run=explain_function)
    cache = commands.add_parser("cache", help="compiled plans that later processes find again")
    cache.add_argument("what", nargs="?", choices=("list", "size", "clear"), default="list")
    cache.set_defaults(run=show_cache)
    return found


def show_cache(asked: argparse.Namespace) -> None:
    if asked.what == "clear":
        print(f"{caching.clear()} files removed")
    else:
        print(f"{caching.total_size() / 1e6:.1f} MB" if asked.what == "size" else as_table())


def explain_function(asked: argparse.Namespace) -> None:
    """Compile a function for examples of its arguments, and print what its plan says of itself."""
    function, module = function_at(asked.function)
    args, kwargs = example_for(function, module, asked.args)
    plan = compile(function, args, kwargs)
    print(plan.explain(asked.kind))
    if asked.listing:
        print(f"\n{plan.listing(asked.kind)}", end="")
    if asked.profile:
        print(f"\n{plan.profile(*args, kind=asked.kind, **kwargs)}")
    if asked.html is not None:
        head = f"<!doctype html><meta charset=utf-8><title>{escape(repr(plan))}</title>"
        asked.html.write_text(f"{head}<body style='font-family:{FONT};margin:2em'>{plan._repr_html_()}", "utf-8")
        print(f"\nwritten: {asked.html}")


def function_at(place: str) -> tuple[Callable[..., Any], Any]:
    """The function at `file.py:name` or `module:name`, and its module."""
    where, _, name = place.rpartition(":")
    if not where:
        raise NotFound(f"{place}: a file and a function in it are expected, as in model.py:loss")
    try:
        module = module_of_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name != where:
            raise
        raise NotFound(f"there is no module {where}; a file is named with its suffix, {where}.py") from None
    try:
        return operator.attrgetter(name)(module), module
    except AttributeError:
        functions = [n for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__]
        raise NotFound(f"{where} has no {name}; its functions: {', '.join(functions) or 'none'}") from None


def module_of_file(file: Path) -> Any:
    """A file as a module that can be imported from what is beside it."""
    if not file.exists():
        raise NotFound(f"there is no file {file}")
    sys.path.insert(0, str(file.parent.resolve()))
    spec = importlib.util.spec_from_file_location(file.stem, file.resolve())
    assert spec is not None and spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def example_for(function: Callable[..., Any], module: Any, code: str | None) -> tuple[tuple, dict[str, Any]]:
    """Arguments by position and by keyword."""
    if code is not None:
        names = {"np": np, "numpy": np} | vars(module)
        try:
            return eval(f"(lambda *args, **kwargs: (args, kwargs))({code})", names)
        except Exception as error:
            raise NotFound(f'--args "{code}": {type(error).__name__}: {error}') from None
    examples = getattr(module, "example", {})
    examples = examples if isinstance(examples, dict) else {}
    whole = examples.get(function.__name__)
    if whole is not None:
        return (whole if type(whole) is tuple else (whole,)), {}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    missing = []
    hints = get_type_hints(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        value = examples.get(parameter.name, parameter.default)
        value = STANDARD.get(hints.get(parameter.name, object), value) if value is parameter.empty else value
        if value is parameter.empty:
            missing.append(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    if missing:
        written = ", ".join(f"{name}=np.zeros(10)" for name in missing)
        raise NotFound(
            f'{function.__name__}: there is no example of {", ".join(missing)}. Say --args "{written}" (as in a call), '
            f'or write in the module: example = {{"{missing[0]}": np.zeros(10)}}'
        )
    return tuple(args), kwargs


if __name__ == "__main__":
    main()
