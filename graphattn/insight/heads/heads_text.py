"""Heads as text: a table with a row for each, and thumbnails of their maps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any

from ...core import words
from .patterns import PATTERNS

if TYPE_CHECKING:
    from . import Heads

SHADES = " ░▒▓█"
WIDTH = 100
SIDE = 24
"""The most rows and columns of a thumbnail; a larger map shows the largest weight of each part."""


def heads_text(heads: Heads, by: str | None, limit: int | None, thumbnails: int, width: int | None) -> str:
    """See `Heads.text`."""
    ranked = heads.ranked(by)
    shown = ranked[:limit]
    short = shortened([head.name for head in ranked])
    columns = list(PATTERNS)
    rows = [["", "does", *columns]]
    rows += [[short[head.name], head.does, *(_number(head.scores[name]) for name in columns)] for head in shown]
    if ranked:
        rows.append(["even", "", *(_number(ranked[0].even[name]) for name in columns)])
    of = " ".join(heads.tokens[:40]) if heads.tokens else words.counted(heads.texts, "text")
    lines = [f"{words.counted(len(heads), 'head')}   {of}", ""]
    lines += words.aligned(rows, limit=width)
    if len(shown) < len(ranked):
        lines.append(f"and {len(ranked) - len(shown)} more")
    if any(head.scores[name] is None for head in shown for name in columns):
        lines.append("– = no row of this text, or none that a mask lets, could show it")
    pictures = [head for head in shown[:thumbnails] if head.weights is not None]
    if pictures:
        lines += [
            "",
            *_beside([[short[h.name], h.does, *thumbnail(h.weights)] for h in pictures], width or WIDTH),
        ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def shortened(names: Sequence[str]) -> dict[str, str]:
    """Names without the parts that all of them share: layer0.head2 for layer0.attention.head2."""
    parts = [name.split(".") for name in names]
    shared = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    short = {n: ".".join(p for p in n.split(".") if p not in shared) or n for n in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in names}


def thumbnail(weights: Any) -> list[str]:
    """A map as lines of shaded cells, two characters wide: queries down, keys to the right."""
    n = len(weights)
    side = min(n, SIDE)
    edges = [i * n // side for i in range(side + 1)]
    spans = [range(start, stop) for start, stop in pairwise(edges)]
    peaks = [[max(weights[i][j] for i in rows for j in columns) for columns in spans] for rows in spans]
    return ["".join(2 * SHADES[min(int(p * 5), 4)] if p == p else "??" for p in row) + "▏" for row in peaks]


def _beside(blocks: list[list[str]], width: int) -> list[str]:
    """Blocks of lines beside each other, as many as fit."""
    lines: list[str] = []
    while blocks:
        row, used = [], 0
        while blocks and (not row or used + max(map(len, blocks[0])) <= width):
            row.append(blocks.pop(0))
            used += max(map(len, row[-1])) + 3
        wide = [max(map(len, block)) for block in row]
        for texts in zip_longest(*row, fillvalue=""):
            lines.append("   ".join(text.ljust(w) for text, w in zip(texts, wide, strict=True)))
        lines.append("")
    return lines[:-1]


def _number(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"
