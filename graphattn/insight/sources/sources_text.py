"""Sources as text: the parts of a cell, largest first, and what they add up to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core import words
from ..why.index import show_place

if TYPE_CHECKING:
    from . import Source, Sources

WARNING = (
    "A part says what was added here, with norms and weights as recorded. It is not what would be missing"
    " without its source: --ablate takes the largest away, one at a time, and runs again."
)
WIDTH = 100


def sources_text(found: Sources, limit: int, width: int | None = None) -> str:
    """See `Sources.text`."""
    against = f" − {found.against}" if found.against else ""
    lines = [f"{found.cell}{against} = {found.value:.6f}"]
    if found.note:
        lines.append(f"  {found.note}")
    if found.sides:
        for which, (side, what) in enumerate(zip(found.sides, ("query", "key"), strict=True)):
            lines += ["", f"by what wrote {side} (the {what}'s side)"]
            lines += _table(found, found.side(which), limit, width)
        pairs = sorted(found.parts.items(), key=lambda item: -abs(item[1]))
        lines += ["", f"pairs ({len(pairs):,})"]
        rows = [
            [" × ".join(spoken(source, found.tokens) for source in key), f"{part:12.6f}"]
            for key, part in pairs[:limit]
        ]
        lines += _rows(rows, width)
    else:
        lines += ["", "by what wrote it", *_table(found, found.side(), limit, width)]
    if found.effects is not None:
        rows = [
            [name, f"{lost:12.6f}"] for name, lost in sorted(found.effects.items(), key=lambda e: -abs(e[1]))
        ]
        lines += ["", "what the cell loses when a source is set to zero and the rest runs again"]
        lines += _rows(rows, width)
    size = math.fsum(map(abs, found.parts.values()))
    lines.append("")
    for said in (f"the parts add up to within {abs(found.residue):.1e}, of {size:.4g} in all sizes", WARNING):
        lines += words.wrapped(said, width or WIDTH)
    return "\n".join(lines) + "\n"


def _table(found: Sources, parts: dict[Source, float], limit: int, width: int | None) -> list[str]:
    shown = list(parts.items())[:limit]
    rows = [[spoken(source, found.tokens), f"{part:12.6f}", share(part, found.value)] for source, part in shown]
    rest = list(parts.values())[limit:]
    if rest:
        rows.append([f"{len(rest)} more", f"{math.fsum(rest):12.6f}", share(math.fsum(rest), found.value)])
    return _rows(rows, width)


def _rows(rows: list[list[str]], width: int | None) -> list[str]:
    return [f"  {line}" for line in words.aligned(rows, limit=width and width - 2)]


def share(part: float, whole: float) -> str:
    """A part in per cent of the whole."""
    return f"{part / whole:6.1%}" if whole else ""


def spoken(source: Source, tokens: Sequence[str] = ()) -> str:
    """`layer0.attention.head1`, `token_embedding of z₅`, `… through layer0.attention.head1`."""
    token = "" if source.token is None else f" of {show_place(source.token, tokens or None)}"
    return source.name + token + "".join(f" through {carrier}" for carrier in source.via)
