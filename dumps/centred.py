"""Texts in the middle of their boxes, whatever font a browser has.

Graphviz writes each run of a label from the left, at a place that it measured with its own fonts; with
others, a line ends too far left or right. `centred` joins the runs of a line and hangs them in the
middle of the smallest shape around them. What is not in the middle (labels of frames) stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from graphattn.dumps.letters import text_width

Extent = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_RUN = re.compile(
    r'<text xml:space="preserve" text-anchor="start" x="([\d.-]+)" y="([\d.-]+)"([^>]*)>(.*)</text>'
)
_SHAPE = re.compile(r'<(?:path|polygon) [^>]*?(?:d|points)="([^"]*)"')
_PAIR = re.compile(r"(-?[\d.]+),(-?[\d.]+)")
_SIZE = re.compile(r'font-size="([\d.]+)"')
_TAG = re.compile(r"&[#\w]+;")


def centred(svg: str) -> str:
    """An SVG of Graphviz with the texts of its nodes in the middle."""
    found: list[str] = []
    shapes: list[Extent] | None = None  # of the node that is being read
    lines = svg.split("\n")
    for text, group in groupby(lines, key=lambda line: _RUN.fullmatch(line) is not None):
        if text and shapes is not None:
            found += _middle(list(group), shapes)
            continue
        for line in group:
            if line.startswith("<g "):
                inside = 'class="node' in line or (shapes is not None and 'id="a_' in line)
                shapes = (shapes or []) if inside and 'class="node' not in line else [] if inside else None
            match = _SHAPE.match(line) if shapes is not None else None
            if match and shapes is not None:
                shapes.append(_extent(match.group(1)))
            found.append(line)
    return "\n".join(found)


def _extent(path: str) -> Extent:
    corners = [(float(x), float(y)) for x, y in _PAIR.findall(path)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def _middle(runs: list[str], shapes: list[Extent]) -> Iterable[str]:
    """Runs of text, those of one line in one shape joined."""
    matches = [match for run in runs if (match := _RUN.fullmatch(run))]
    for (_, around), group in groupby(matches, key=lambda m: (m.group(2), _around(m, shapes))):
        line = list(group)
        width = sum(text_width(_TAG.sub("x", m.group(4)), _size(m), "bold" in m.group(3)) for m in line)
        start = float(line[0].group(1))
        middle = (around[0] + around[2]) / 2 if around else 0.0
        if around is None or abs(start + width / 2 - middle) > 0.3 * width + 4:
            yield from (m.group(0) for m in line)
            continue
        place = f'x="{middle:.2f}" y="{line[0].group(2)}"'
        if len(line) == 1:
            yield f'<text xml:space="preserve" text-anchor="middle" {place}{line[0].group(3)}>' + (
                f"{line[0].group(4)}</text>"
            )
        else:
            spans = "".join(f"<tspan{m.group(3)}>{m.group(4)}</tspan>" for m in line)
            yield f'<text xml:space="preserve" text-anchor="middle" {place}>{spans}</text>'


def _size(match: re.Match[str]) -> float:
    found = _SIZE.search(match.group(3))
    return float(found.group(1)) if found else 9.0


def _around(match: re.Match[str], shapes: list[Extent]) -> Extent | None:
    """The smallest shape that a text begins in."""
    x, y = float(match.group(1)), float(match.group(2)) - 0.3 * _size(match)
    holding = [s for s in shapes if s[0] <= x <= s[2] and s[1] <= y <= s[3]]
    return min(holding, key=lambda s: (s[2] - s[0]) * (s[3] - s[1]), default=None)
