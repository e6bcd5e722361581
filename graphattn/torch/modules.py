"""What each module of a program gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .names import Paths
from .program import Program, Step, uses


def results(program: Program, paths: Paths, named: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """For each call of a module that gives one tensor: its scope, and the name of that tensor in the graph.

    A program does not say what its modules return. It is what is computed in them and used outside; where that
    is several values, one that is the module's own, and not what came in and goes through.
    """
    made: dict[str, list[str]] = {}
    users: dict[str, list[set[str]]] = {name: [set()] for name in uses(list(program.outputs.values()))}
    for step in program.steps:
        own = _scopes(step, paths)
        for name in uses(list(step.arguments.values())):
            users.setdefault(name, []).append(own)
        for scope in own:
            made.setdefault(scope, []).extend(filter(None, step.outputs))
    for scope, outputs in made.items():
        used = [output for output in outputs if any(scope not in own for own in users.get(output, ()))]
        found = {named[output] for output in used if output in named}
        if len(found) > 1:
            found = {name for name in found if name.startswith(f"{scope}.")}
        if len(found) == 1:
            yield scope, found.pop()


def _scopes(step: Step, paths: Paths) -> set[str]:
    """The scopes of all modules that a step stands in."""
    return {paths.within(step.modules[: i + 1]) for i in range(len(step.modules))} - {""}
