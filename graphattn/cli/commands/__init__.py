"""The commands: one file each, found by its name.

`NAME.py` in this folder is `graphattn NAME`. It has two names that the command line reads:

    GROUP = "Explain its numbers"     where `graphattn --help` lists it: one of `cli.GROUPS`
    command = click.command(...)(…)   with a `short_help` of one line for that list

`graphattn --help` imports every file here, so what takes time to load (networkx, drawing, reading
weights) is imported inside the command.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


@cache
def names() -> tuple[str, ...]:
    """The names of all commands, in alphabetical order."""
    return tuple(sorted(module.name.replace("_", "-") for module in iter_modules(__path__)))


def module(name: str) -> ModuleType:
    """The file of a command."""
    return import_module(f".{name.replace('-', '_')}", __name__)
