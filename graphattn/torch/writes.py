"""Steps that write to what they are given: `x += y` is `aten.add_`.

A graph has no memory: such a step is built as the operator that writes nothing, and who uses the value later
uses what it became. That is the same where nothing else that is used later shares its memory.
"""

from __future__ import annotations

from ..core.errors import GraphError
from .program import Program, Step, uses


def plain(step: Step) -> str:
    """The operator that gives the same and writes nothing."""
    if not step.writes:
        return step.op
    space, packet, overload = step.op.split(".")
    return f"{space}.{packet.rstrip('_')}.{overload}"


class Writes:
    """Who shares memory in a program, and who is used when."""

    def __init__(self, program: Program) -> None:
        self._group: dict[str, set[str]] = {}
        self._last: dict[str, int] = {}
        self._made: dict[str, int] = {}
        for place, step in enumerate(program.steps):
            self._made.update(dict.fromkeys(filter(None, step.outputs), place))
            for name in uses(list(step.arguments.values())):
                self._last[name] = place
            if step.shares and step.first:
                self._join(step.first, *filter(None, step.outputs))
        for name in uses(list(program.outputs.values())):
            self._last[name] = len(program.steps)

    def _join(self, *names: str) -> None:
        group = set(names).union(*(self._group.get(name, ()) for name in names))
        for name in group:
            self._group[name] = group

    def check(self, place: int, step: Step) -> None:
        """Refuse a step that writes to memory of which something else is used later."""
        others = self._group.get(step.first, set()) - {step.first, *step.outputs}
        before = (name for name in others if self._made.get(name, -1) < place)
        used = sorted(name for name in before if self._last.get(name, -1) > place)
        if used:
            raise GraphError(
                f"{step.told} writes to memory that {used[0]} shares, which is used later; expected a program"
                " that computes anew"
            )
