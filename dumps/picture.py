"""A graph's structure as a picture: SVG, PNG, PDF or DOT.

    svg(graph, level="op", theme="light", timeout=30) -> str
    render(graph, path, level="op", theme="light", timeout=30) -> Path     .svg, .png, .pdf or .dot

Every picture is checked: each text of each node must be in the SVG (also where a PNG is asked
for), because Graphviz draws a node blank without a word where it does not like its label. A graph
that is too large, or that Graphviz does not lay out in time, is drawn in fewer boxes, and a
warning says so.
"""

from __future__ import annotations

import html
import os
import re
import sys
import time
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.op import LEVELS, check_level
from graphattn.core.trace import Trace
from graphattn.core.words import listed, typed
from graphattn.dumps.alike import Fold, alike, everything, fold_of, kept, outer_scopes
from graphattn.dumps.centred import centred
from graphattn.dumps.diagram import Diagram, diagram
from graphattn.dumps.diagram.values import CELLS
from graphattn.dumps.dot import SIBLINGS, Drawing, drawing
from graphattn.dumps.frame_labels import MIDDLE, covered_labels, struck_labels
from graphattn.dumps.layout import DPI, TooHard, dots_per_inch, laid_out, laid_out_as
from graphattn.dumps.theme import theme as known_theme
from graphattn.dumps.write import ending_of, write_bytes, write_text

LIMIT = 2000
"""More nodes than these are not laid out; the graph is folded."""

SUFFIXES = (".svg", ".png", ".pdf", ".dot")


class Folded(UserWarning):
    """The picture shows less than was asked for."""


def svg(
    graph: Graph, level: str = "op", theme: str = "light", timeout: float = 30, trace: Trace | None = None
) -> str:
    """The picture as an SVG element: no scripts, nothing loaded from elsewhere, safe to put into a page.

    Raises a `GraphError` for an unknown level or theme, or where it cannot be drawn.
    """
    return _drawn(graph, level, theme, timeout, trace=trace)[1]


def render(
    graph: Graph,
    path: str | os.PathLike[str],
    level: str = "op",
    theme: str = "light",
    timeout: float = 30,
    trace: Trace | None = None,
) -> Path:
    """Draw a graph into a file, as its suffix says; the path. The file is written whole or not at all.

    trace: a run of the graph, at any level; its numbers are drawn in the boxes.
    """
    suffix = suffix_of(path)
    if suffix == ".dot":
        _check(graph, level, theme, timeout)
        zoomed = graph.at(level)
        return write_text(path, drawing(diagram(zoomed, _folds(zoomed, level), trace), theme).source)
    drawn, text, data = _drawn(graph, level, theme, timeout, suffix[1:], trace)
    if suffix == ".svg":
        return write_text(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')
    return write_bytes(path, data or laid_out(drawn.source, suffix[1:], timeout, _dpi(text)))


def png(graph: Graph, level: str = "op", theme: str = "light", timeout: float = 30) -> bytes:
    """The picture as the bytes of a small PNG, of a dot for each point."""
    return laid_out(_drawn(graph, level, theme, timeout)[0].source, "png", timeout, 72)


def suffix_of(path: Any) -> str:
    """.svg, .png, .pdf or .dot, or a `GraphError` that lists them."""
    return ending_of(path, SUFFIXES, "a picture")


def _check(graph: Any, level: Any, theme: Any, timeout: Any) -> None:
    if not isinstance(graph, Graph):
        raise GraphError(f"a picture shows a graph, got {typed(graph)}")
    check_level(level)
    known_theme(theme)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise GraphError(f"timeout is {timeout!r}; expected a number of seconds above 0")


def _drawn(
    graph: Graph, level: str, theme: str, timeout: float, form: str = "svg", trace: Trace | None = None
) -> tuple[Drawing, str, bytes]:
    """The first of the ways to draw a graph that Graphviz manages: as SVG, and from the same layout in
    another format (empty where a PNG would be too large)."""
    _check(graph, level, theme, timeout)
    reason = ""
    failure: TooHard | None = None
    fewest = sys.maxsize
    for words, shown, folds in _attempts(graph, level):
        count = _count(shown, folds)
        picture = diagram(shown, folds, trace) if count <= LIMIT else None
        count = count if picture is None else len(picture.boxes)
        if count >= fewest:
            continue
        fewest = count
        if picture is None or count > LIMIT:
            reason = reason or f"it has {count:,} nodes, more than {LIMIT:,}"
            continue
        drawn = drawing(picture, theme)
        started = time.monotonic()
        try:
            raw, data = _laid_out(drawn, timeout, form)
        except TooHard as error:
            after = time.monotonic() - started
            reason, failure = reason or f"{error} ({count:,} nodes, {after:.0f} s)", error
            continue
        if reason:
            warnings.warn(f"graph {graph.name!r} is drawn {words}, because {reason}", Folded, stacklevel=4)
        if picture.dropped:
            warnings.warn(
                f"{picture.dropped} boxes go without their numbers, because a picture has at most {CELLS:,}",
                Folded,
                stacklevel=4,
            )
        struck = _misplaced(picture, raw)
        if struck:
            drawn, raw, data = _labels_aside(picture, theme, timeout, form, struck, (drawn, raw, data))
        return drawn, finished(raw, drawn, picture), data
    raise failure or GraphError(f"the picture of graph {graph.name!r} was not drawn: {reason}")


def _laid_out(drawn: Drawing, timeout: float, form: str) -> tuple[str, bytes]:
    """The SVG, and the bytes of another format, from one layout."""
    if form == "svg":
        return laid_out(drawn.source, "svg", timeout).decode("utf-8"), b""
    svg, data = laid_out_as(["svg", form], drawn.source, timeout, DPI if form == "png" else 0)
    return svg.decode("utf-8"), data


def _attempts(graph: Graph, level: str) -> Iterator[tuple[str, Graph, list[Fold]]]:
    """Ever coarser ways to show a graph: the words for each, the graph and what is folded in it."""
    shown = graph.at(level)
    yield "in full", shown, _folds(shown, level)
    for coarser in reversed(LEVELS[: LEVELS.index(level)]):
        if graph.at(coarser) != shown:
            shown = graph.at(coarser)
            yield f"at level {coarser!r}", shown, _folds(shown, coarser)
    yield "with each outermost scope as one box", shown, outer_scopes(shown)
    yield "as one box for all that it computes", shown, everything(shown)


def _folds(graph: Graph, level: str) -> list[Fold]:
    """What is one box where a level is drawn in full."""
    folds = alike(graph, SIBLINGS)
    return folds + kept(graph, level, folds)


def _count(graph: Graph, folds: list[Fold]) -> int:
    """The least number of boxes that a picture would have."""
    folded = fold_of(folds)
    return len(folds) + sum(node.op.drawn is None and node.name not in folded for node in graph.nodes.values())


def _misplaced(picture: Diagram, svg: str) -> dict[str, str]:
    """Where the labels had better stand that are struck, or on which others stand."""
    far = {f"e{number}" for number, arrow in enumerate(picture.arrows) if arrow.far}
    return struck_labels(svg) | dict.fromkeys(sorted(far & covered_labels(svg)), MIDDLE)


def _labels_aside(
    picture: Diagram, theme: str, timeout: float, form: str, struck: Mapping[str, str],
    first: tuple[Drawing, str, bytes],
) -> tuple[Drawing, str, bytes]:  # fmt: skip
    """The picture with the labels that arrows run through at another side of their frames, and those that
    stand on others in the middle of their arrows."""
    try:
        again = drawing(picture, theme, sides=struck)
        other, data = _laid_out(again, timeout, form)
    except TooHard:
        return first
    return (again, other, data) if len(_misplaced(picture, other)) < len(struck) else first


# ------------------------------------------------------------ the SVG


def finished(raw: str, drawn: Drawing, picture: Diagram) -> str:
    """The `<svg>` element of what Graphviz laid out. Raises a `GraphError` where a node lacks a text."""
    text = centred(_tidy(raw, drawn, picture))
    _verify(text, drawn, picture)
    return text


def _tidy(raw: str, drawn: Drawing, picture: Diagram) -> str:
    """The `<svg>` element alone, with what each node and arrow is as its title."""
    text = raw[raw.index("<svg") :].strip()
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    name = picture.title or picture.name
    text = text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(name)}" ', 1)
    titles = {
        **drawn.tooltips,
        **{frame.id: frame.tooltip for frame in picture.frames.values()},
        html.escape(picture.name): name,
    }

    def told(match: re.Match[str]) -> str:
        title = titles.get(match.group(1))
        return f"<title>{html.escape(title, quote=False)}</title>\n" if title else ""

    return re.sub(r"<title>([^<]*)</title>\n", told, text)


def _verify(text: str, drawn: Drawing, picture: Diagram) -> None:
    """Raise unless each text of each node is in the SVG, in the group of that node."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise GraphError(f"the picture of graph {picture.name!r} is not well-formed: {error}") from None
    shown = {
        group.get("id", "").rpartition("-")[2]: _plain(
            "".join("".join(t.itertext()) for t in group.iter(_TEXT))
        )
        for group in root.iter(_GROUP)
        if group.get("class", "").startswith("node")
    }
    missing = [
        f"{drawn.names[ident]!r} lacks {piece!r}"
        for ident, pieces in drawn.texts.items()
        for piece in pieces
        if _plain(piece) not in shown.get(ident, "")
    ]
    if missing:
        raise GraphError(
            f"the picture of graph {picture.name!r} is incomplete: node {listed(missing, 3, '; node ')}"
        )


_GROUP = "{http://www.w3.org/2000/svg}g"
_TEXT = "{http://www.w3.org/2000/svg}text"


def _plain(text: str) -> str:
    """A text without its white space, which Graphviz breaks and pads as it likes."""
    return re.sub(r"\s+", "", text)


def _dpi(text: str) -> int:
    """Sharp, but no larger than a PNG may be. The SVG was laid out for `DPI`, so that it is larger than
    its points by as much."""
    found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', text)
    width, height = (float(side) for side in found.groups()) if found else (1.0, 1.0)
    return dots_per_inch(width * 72 / DPI, height * 72 / DPI)
