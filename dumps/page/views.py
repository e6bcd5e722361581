"""What the page's diagram shows of each scope: the boxes in it, and the arrows between them.

A page opens any set of scopes, each in its own place. So every scope has one view, with what it holds
closed; the page puts views into each other. Boxes, arrows, titles and colours are those of the still
picture (`dumps/diagram`), asked once for each depth: at depth 1 the outermost scopes are open, and so
on. A composite is a scope; so is a group that is no composite, or no longer one.

    views(graph) -> {"": the whole, "head0": what is in head0, …}

A view as JSON: `boxes`; `arrows` between them; `in`, the arrows that come from outside, to a box;
`out`, those that leave, from a box. An arrow has the tensor that it carries, by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphattn.core.graph import Graph, Node, Ref
from graphattn.core.op import LEVELS
from graphattn.core.words import counted
from graphattn.dumps.alike import Fold, ancestors, members, title_of
from graphattn.dumps.diagram import Arrow, Box, Diagram, diagram
from graphattn.dumps.page.measure import box_size, head_width
from graphattn.dumps.wording import clean

ROOT = ""
BACKWARD = re.compile(r"backward\d*")
"""The scopes of derivatives, as the gradient pass calls them: they stand beside what is derived."""


@dataclass(frozen=True)
class Stage:
    """The picture with all scopes open that have fewer than `depth` others around them."""

    graph: Graph
    depth: int
    picture: Diagram
    folds: dict[str, str]
    """The scope that a fold stands for, by the box's name."""
    names: dict[Ref, str]
    """What tensors are called."""


def tensor_names(graph: Graph) -> dict[Ref, str]:
    """What each tensor is called: as the shortest name of a composite whose result it is, or its own."""
    names: dict[Ref, str] = {}
    for name, ref in graph.aliases.items():
        if ref not in names or len(name) < len(names[ref]):
            names[ref] = name
    for node in graph.nodes.values():
        for port in range(len(node.ports)):
            names.setdefault(Ref(node.name, port), node.tensor_name(port))
    return names


def stages(graph: Graph) -> Iterator[Stage]:
    """From the closed graph to the one with everything open."""
    every = graph.at(LEVELS[-1]).scopes
    deep = {name: sum(1 for _ in ancestors(graph.at(LEVELS[-1]), name)) - 1 for name in every}
    for depth in range(max(deep.values(), default=-1) + 2):
        shown = graph
        for level in LEVELS:  # coarse ones first, as a zoom does: titles name what they find
            names = {
                n for n, s in every.items() if deep[n] < depth and s.op is not None and s.op.level == level
            }
            shown = shown.opened(names)
        folds = list(_folds(shown, depth))
        order = {name: place for place, name in enumerate(shown.nodes)}
        first = {min(fold.members, key=order.__getitem__): fold.like or "" for fold in folds}
        yield Stage(shown, depth, diagram(shown, folds), first, tensor_names(shown))


def _opens(node: Node) -> bool:
    return node.op.coarser(LEVELS[-1])


def _depth(graph: Graph, scope: str | None) -> int:
    return sum(1 for _ in ancestors(graph, scope))


def _folds(graph: Graph, depth: int) -> Iterator[Fold]:
    """The scopes at a depth that no composite stands for, each as one box."""
    inside = members(graph)
    for scope in graph.scopes.values():
        if _depth(graph, scope.parent) == depth and inside[scope.name]:
            count = len(inside[scope.name])
            told = counted(count, "operation")
            nodes = frozenset(inside[scope.name])
            yield Fold(clean(title_of(scope)), told, nodes, scope.parent, like=scope.name)


def views(graph: Graph) -> dict[str, dict[str, Any]]:
    """The view of every scope, by its name; that of the whole is under ''."""
    found: dict[str, dict[str, Any]] = {}
    for stage in stages(graph):
        scopes = [ROOT] if not stage.depth else list(stage.graph.scopes)
        for name in scopes:
            if name not in found and (not name or _depth(stage.graph, name) == stage.depth):
                found[name] = _view(stage, name or None)
    return found


def _view(stage: Stage, scope: str | None) -> dict[str, Any]:
    boxes = [box for box in stage.picture.boxes.values() if box.frame == scope]
    place = {box.id: i for i, box in enumerate(boxes)}
    aside = _aside(stage) if scope is None else set()
    between: list[dict[str, Any]] = []
    into: list[dict[str, Any]] = []
    leaving: list[dict[str, Any]] = []
    for arrow in stage.picture.arrows:
        told = _arrow(stage, arrow)
        if arrow.tail in place and arrow.head in place:
            between.append({"from": place[arrow.tail], "to": place[arrow.head], **told})
        elif arrow.head in place:
            into.append({"to": place[arrow.head], **told})
        elif arrow.tail in place:
            out = {"from": place[arrow.tail], **told}
            if all((o["from"], o["tensor"]) != (out["from"], out["tensor"]) for o in leaving):
                leaving.append(out)
    told = [_box(stage, box) | ({"column": True} if box.id in aside else {}) for box in boxes]
    return {"boxes": told, "arrows": between, "in": into, "out": leaving}


def _aside(stage: Stage) -> set[str]:
    """The boxes that stand beside the others: derivatives; decoders that read an encoder's result, with all
    that leads to them alone and all that comes of them."""
    picture = stage.picture
    found = {box.id for box in picture.boxes.values() if BACKWARD.fullmatch(_scope(stage, box) or "")}
    decoders = {arrow.head for arrow in picture.arrows if arrow.upward}
    while decoders - found:
        found |= decoders
        decoders = {arrow.head for arrow in picture.arrows if arrow.tail in found}
        leading = {arrow.tail for arrow in picture.arrows} - found
        for arrow in picture.arrows:
            if arrow.head not in found or arrow.upward:
                leading.discard(arrow.tail)
        decoders |= leading
    return found


def _arrow(stage: Stage, arrow: Arrow) -> dict[str, Any]:
    told: dict[str, Any] = {"tensor": stage.names[arrow.refs[0]]}
    for key, value in (("port", arrow.port), ("label", arrow.label), ("role", arrow.role)):
        if value:
            told[key] = value
    if arrow.kind != "plain":
        told["kind"] = arrow.kind
    return told


def _scope(stage: Stage, box: Box) -> str | None:
    """What opens in the place of a box."""
    if box.kind == "fold":
        return stage.folds[box.name]
    opens = box.name in stage.graph.nodes and _opens(stage.graph.nodes[box.name])
    return box.name if opens and box.family != "output" else None


def _box(stage: Stage, box: Box) -> dict[str, Any]:
    scope = _scope(stage, box)
    width, height = box_size(box, opens=scope is not None)
    told: dict[str, Any] = {"kind": box.kind, "name": box.name, "width": width, "height": height}
    if scope is not None:
        told |= {"scope": scope, "head": head_width(box)}
    pairs = (
        ("family", box.family), ("glyph", box.glyph), ("title", list(box.title)),
        ("inside", list(box.inside)), ("note", list(box.note)), ("role", box.role),
        ("cells", [list(cell) for cell in box.cells]),
    )  # fmt: skip
    told.update((key, value) for key, value in pairs if value)
    return told
