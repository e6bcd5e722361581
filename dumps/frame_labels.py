"""Where the labels of frames stand, so that no arrow runs through them, and which labels of arrows are covered.

The label of a frame takes the same room at the left, in the middle and at the right, so a layout tells which of
the three is free.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import combinations

from graphattn.dumps.letters import text_width

SVG = "{http://www.w3.org/2000/svg}"

BARE = "bare"
"""Behind the side: the label stands there without its note, which would not have room."""

MIDDLE = "middle"
"""The label of a far arrow does not stand at its head, where there is no room for it, but in its middle."""

WIDER = 40
"""A frame is made wider by at most so much at each side, so that its label has room beside an arrow."""


def struck_labels(svg: str) -> dict[str, str]:
    """For each frame (by its id in DOT) through whose label an arrow runs, the side where none does:
    l, r, c, where need be with ` bare` behind it (`BARE`); and where none is free, by how much the frame has to
    be wider for a label of one word a line."""
    root = ElementTree.fromstring(svg)
    points: list[tuple[float, float]] = []
    for group in root.iter(f"{SVG}g"):
        if group.get("class") == "edge":
            for path in group.iter(f"{SVG}path"):
                points += _along(path.get("d", ""))
    found = {}
    for group in root.iter(f"{SVG}g"):
        texts = list(group.iter(f"{SVG}text")) if group.get("class") == "cluster" else []
        shape = next(group.iter(f"{SVG}path"), None) if texts else None
        if shape is None:
            continue
        start = min(float(t.get("x", "0")) for t in texts)
        end = max(float(t.get("x", "0")) + _width(t) for t in texts)
        low = max(float(t.get("y", "0")) for t in texts)
        top = low - max(map(_size, texts))
        near = [x for x, y in points if top <= y <= low + 2]
        if _free(near, start, end):
            continue
        left, right = _ends(shape.get("d", ""))
        title = max((_width(t) for t in texts if _bold(t)), default=end - start)
        free = [
            f"{side}{bare}"
            for wide, bare in ((end - start, ""), (title, f" {BARE}"))
            for side, x in {"l": left + 8, "r": right - 8 - wide, "c": (left + right - wide) / 2}.items()
            if _free(near, x, x + wide)
        ]
        longest = max((_widest_word(t) for t in texts if _bold(t)), default=title)
        lacks = max(math.ceil(longest + 12 - max(min(near) - left, right - max(near))), 0)
        side = "l" if min(near) - left > right - max(near) - 1 else "r"
        wider = f"{side} {BARE} {lacks}" if lacks <= WIDER else f"l {BARE}"
        found[group.findtext(f"{SVG}title") or ""] = free[0] if free else wider
    return found


def covered_labels(svg: str) -> set[str]:
    """The arrows (by the ends of their ids, `e7`) whose label stands on that of another."""
    places = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if group.get("class") == "edge":
            ident = group.get("id", "").rpartition("-")[2]
            places += [(ident, *_place(text)) for text in group.iter(f"{SVG}text")]
    return {
        ident
        for a, b in combinations(places, 2)
        if a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4]
        for ident in (a[0], b[0])
    }


def _place(text: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of a text without the blanks around it."""
    told = (text.text or "").strip(" \u00a0")
    before = (text.text or "").partition(told)[0]
    size, x, y = _size(text), float(text.get("x", "0")), float(text.get("y", "0"))
    left = x + text_width(before, size)
    if text.get("text-anchor") == "middle":
        left = x - text_width(told, size) / 2
    return left, left + text_width(told, size), y - 0.75 * size, y + 0.2 * size


def _free(crossings: list[float], start: float, end: float) -> bool:
    return not any(start - 2 <= x <= end + 2 for x in crossings)


def _width(text: ElementTree.Element) -> float:
    return text_width(text.text or "", _size(text), _bold(text))


def _widest_word(text: ElementTree.Element) -> float:
    return max(text_width(word, _size(text), _bold(text)) for word in (text.text or " ").split() or [""])


def _bold(text: ElementTree.Element) -> bool:
    return text.get("font-weight") == "bold"


def _size(text: ElementTree.Element) -> float:
    return float(text.get("font-size", "9"))


def _ends(path: str) -> tuple[float, float]:
    """How far to the left and right a path goes."""
    xs = [float(x) for x in re.findall(r"(-?[\d.]+),", path)]
    return min(xs), max(xs)


def _along(path: str) -> Iterator[tuple[float, float]]:
    """Points along the cubic curves of an SVG path, close enough to meet any text."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    corners = list(zip(numbers[::2], numbers[1::2]))
    for start in range(0, len(corners) - 3, 3):
        a, b, c, d = corners[start : start + 4]
        steps = 2 + int(sum(abs(q[0] - p[0]) + abs(q[1] - p[1]) for p, q in ((a, b), (b, c), (c, d))) / 4)
        for step in range(min(steps, 400) + 1):
            t = step / min(steps, 400)
            u = 1 - t
            weights = (u**3, 3 * u * u * t, 3 * u * t * t, t**3)
            corner = list(zip(weights, (a, b, c, d)))
            yield sum(w * p[0] for w, p in corner), sum(w * p[1] for w, p in corner)
