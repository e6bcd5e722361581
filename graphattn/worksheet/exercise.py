"""What is left blank on a worksheet, and what has to be given with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from graphattn.dumps.rows import selected
from graphattn.dumps.workbook.tables import Exercise, Table

from ..core import nested
from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.trace import Trace
from .contents import seen

SHEET, TOP = "Worksheet", 5
SQUARES = 1_500
"""The most squares that a worksheet asks for."""


def exercise_of(trace: Trace, found: Sequence[Table], blank: Iterable[str] | None) -> Exercise:
    """The tensors to fill in: those that match the names or patterns (None: all that are computed), and what
    only moves their numbers on the way to another; and the tensors that these read.

    Raises a `GraphError` for a name that is unknown or not computed, for too many squares, and for none.
    """
    computed = [t for t in found if t.operands is not None and t.spec.kind == "float"]
    if blank is None:
        names = {t.tensor.name for t in computed if not t.row.op.moves}
    else:
        names = set()
        for pattern in [blank] if isinstance(blank, str) else blank:
            matched = selected(trace, [pattern]) & {t.tensor.name for t in computed}
            if pattern not in matched:
                matched = {t.tensor.name for t in computed if t.tensor.name in matched and not t.row.op.moves}
            if not matched:
                raise GraphError(f"{pattern} is not computed; expected a tensor that is, to be filled in")
            names |= matched
    if not names:
        raise GraphError("nothing is computed in this graph; expected a tensor to fill in")
    names |= _moved(computed, names)
    asked = [t for t in computed if t.tensor.name in names]
    _need_few(sum(t.spec.size for t in asked))
    if not any(map(seen, asked)):
        raise GraphError("what is computed has no cell that can be seen; expected a square to fill in")
    given = {o.tensor.name for t in asked for o in t.operands or () if o is not None}
    return Exercise(frozenset(given - names), frozenset(names), SHEET, TOP)


def need_few(graph: Graph) -> None:
    """Refuse, before anything is computed, a graph with more squares than a worksheet asks for."""
    computed = [node for node in graph.nodes.values() if node.operands and not node.op.moves]
    _need_few(sum(spec.size for node in computed for spec in node.outputs if spec.kind == "float"))


def _need_few(squares: int) -> None:
    if squares > SQUARES:
        raise GraphError(
            f"{squares:,} squares would be blank; expected at most {SQUARES:,} (--blank names the tensors)"
        )


def _moved(computed: Sequence[Table], blank: set[str]) -> set[str]:
    """What holds blank numbers in other places and is read by what is blank: it would give them away."""
    told: set[str] = set()
    for table in computed:
        operands = {o.tensor.name for o in table.operands or () if o is not None}
        if table.row.op.moves and operands & (blank | told):
            told.add(table.tensor.name)
    needed: set[str] = set()
    for table in reversed(computed):
        name = table.tensor.name
        if name in blank or (name in told and name in needed):
            needed |= {o.tensor.name for o in table.operands or () if o is not None}
    return told & needed


def drawn_from(found: Sequence[Table], exercise: Exercise) -> list[Table]:
    """The tables that the exercise's numbers come from. What is given is drawn itself instead of being
    computed, unless it only moves numbers, holds shares, or has hidden cells: then what it reads is."""
    needed: set[str] = set(exercise.computed)
    kept: list[Table] = []
    for table in reversed(found):
        if table.tensor.name not in needed:
            continue
        free = table.tensor.name not in exercise.computed and _free(table)
        kept.append(replace(table, operands=None) if free else table)
        if not free:
            needed |= {o.tensor.name for o in table.operands or () if o is not None}
    return kept[::-1]


def _free(table: Table) -> bool:
    hidden = table.tensor.mask is not None and True in set(nested.flat(table.tensor.mask))
    return table.spec.kind == "float" and not (table.row.op.moves or table.tensor.share or hidden)
