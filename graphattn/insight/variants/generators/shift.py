"""Rows stand elsewhere: all later or earlier, or one in the place of all, as positions of the batch are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ....core.axes import Spec
from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, of_parameters

CLASSES = 64
"""The most classes of which each is tried as the target that comes in."""
MOST = 8
"""The most rows of which one is tried in the place of all."""


def shift(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("rows", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    if len(node.ports) != 1 or node.op.drawn == "inside":
        return
    if node.op.moves and node.operands and not of_parameters(intended, node):
        return
    spec = node.outputs[0]
    if spec.kind != "float":
        return
    moved = node.op.moves and not intended.is_inside(node)  # rows of a learned table
    if not node.op.fed and (moved or not node.operands):
        yield from _backwards(spec)
    if not node.operands:
        yield from _targets(intended, node, spec)
    if spec.rank < 2 or spec.shape[-2] < 2:
        return
    for step in (1, -1, 2, -2):
        if abs(step) < spec.shape[-2]:
            told = f"{abs(step)} {'later' if step > 0 else 'earlier'}"
            words = f"with the rows of {{the}} {told}, the {'first' if step > 0 else 'last'} repeated"
            yield Option(step, words, 1.75, lambda d, n, s=step: _rows(d, n, spec.shape, s))
    for row in range(min(spec.shape[-2], MOST)):
        words = f"with row {row} of {{the}} in the place of all"
        yield Option(("all", row), words, 1.8, lambda d, n, r=row: _all(d, n, spec.shape, r))


def _targets(intended: Intended, node: Node, spec: Spec) -> Iterator[Option]:
    """Rows with a single 1, what is to be predicted, are those of the token before or after. What comes in may
    be any."""
    rows = intended.values[Ref(node.name)]
    if spec.rank != 2 or not 1 < spec.shape[-1] <= CLASSES or spec.shape[0] < 2:
        return
    if any(sum(row) != 1 or max(row) != 1 or min(row) != 0 for row in rows):
        return
    for step, told in ((1, "before"), (-1, "after")):
        for place in range(spec.shape[-1]):
            words = f"with {{the}} those of the token {told} each, and {place} where there is none"
            apply = partial(_next, width=spec.shape[-1], step=step, place=place)
            yield Option(("targets", step, place), words, 1.3, apply)


def _next(draft: Draft, node: Node, width: int, step: int, place: int) -> None:
    at = ":-1" if step > 0 else "1:"
    kept = draft.add("slice", [Ref(node.name)], {"at": at}, near=node, name="kept")
    row = tuple(float(j == place) for j in range(width))
    coming = draft.add("constant", [], {"value": (row,)}, near=node, name="coming")
    rows = [coming, kept] if step > 0 else [kept, coming]
    made = draft.add("concat", rows, {"axis": 0}, near=node, name="shifted")
    draft.redirect(Ref(node.name), made, apart_from=(kept.node, made.node))


def _backwards(spec: Spec) -> Iterator[Option]:
    """A table from its other end, or rolled by a row."""
    if spec.rank > 1 and spec.shape[-2] > 2:
        for step, told in ((1, "the last row of {the} first"), (-1, "the first row of {the} last")):
            words = f"with {told}, the others one {'later' if step > 0 else 'earlier'}"
            yield Option(("rolled", step), words, 1.75, partial(_rolled, step=step))
    for told, at, axis in (("columns", "..., ::-1", 1), ("rows", "..., ::-1, :", 2)):
        if spec.rank >= axis and spec.shape[-axis] > 1:
            words = f"with the {told} of {{the}} in reverse order"
            yield Option(told, words, 1.75, lambda d, n, a=at: _reversed(d, n, a))


def _rows(draft: Draft, node: Node, shape: tuple[int, ...], step: int) -> None:
    before = set(draft.nodes)
    made = moved(draft, node, Ref(node.name), shape, -2, step, edge=True)
    draft.redirect(Ref(node.name), made, apart_from=tuple(set(draft.nodes) - before))


def _reversed(draft: Draft, node: Node, at: str) -> None:
    back = draft.add("slice", [Ref(node.name)], {"at": at}, near=node, name="reversed")
    draft.redirect(Ref(node.name), back, apart_from=(back.node,))


def _rolled(draft: Draft, node: Node, step: int) -> None:
    parts = [
        draft.add("slice", [Ref(node.name)], {"at": at}, near=node, name="part")
        for at in (f"..., -{step}:, :" if step > 0 else f"..., {-step}:, :", f"..., :{-step}, :")
    ]
    made = draft.add("concat", parts, {"axis": -2}, near=node, name="rolled")
    draft.redirect(Ref(node.name), made, apart_from=(*(part.node for part in parts), made.node))


def _all(draft: Draft, node: Node, shape: tuple[int, ...], row: int) -> None:
    sizes = (row, 1, shape[-2] - 1 - row)
    cut = draft.add("split", [Ref(node.name)], {"parts": sizes, "axis": -2}, near=node, name="cut")
    whole = draft.add("broadcast", [Ref(cut.node, 1)], {"shape": shape}, near=node, name="one_row")
    draft.redirect(Ref(node.name), whole, apart_from=(cut.node, whole.node))


def moved(draft: Draft, node: Node, ref: Ref, shape: tuple[int, ...], axis: int, step: int, edge: bool) -> Ref:
    """A tensor moved along an axis; what comes in is what stood at the edge, or else False (0)."""
    size, away, later = shape[axis], abs(step), step > 0
    if size <= away:
        return ref
    cuts = (size - away, away) if later else (away, size - away)
    cut = draft.add("split", [ref], {"parts": cuts, "axis": axis}, near=node, name="cut")
    kept = Ref(cut.node, 0 if later else 1)
    if edge:
        parts = (1, size - 1) if later else (size - 1, 1)
        ends = draft.add("split", [ref], {"parts": parts, "axis": axis}, near=node, name="edge")
        end = [Ref(ends.node, 0 if later else 1)] * away
        return draft.add(
            "concat", [*end, kept] if later else [kept, *end], {"axis": axis}, near=node, name="shifted"
        )
    room = {"before": away * later, "after": away * (not later), "axis": axis, "value": False}
    return draft.add("pad", [kept], room, near=node, name="shifted")
