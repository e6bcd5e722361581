"""A canvas as PNG or PDF, by the Graphviz that comes with the pygraphviz wheel.

Graphviz places fonts, mixes scripts and embeds letters in a PDF (Cairo and Pango are inside the wheel), so
that no other library is needed. The canvas becomes a drawing in the background (`_background`, in the
language xdot) and a node without an outline for each text and each image, laid out by `nop2`, which
leaves everything where it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphattn.dumps.figure.canvas import Canvas, Hatch, Image, Line, Rect, Text
from graphattn.dumps.figure.png import png
from graphattn.dumps.layout import dots_per_inch, laid_out
from graphattn.dumps.letters import text_width
from graphattn.dumps.markup import styled
from graphattn.dumps.theme import FONT, MONO

GAP = 5.0
"""Between the lines of a hatching."""


def raster(canvas: Canvas, form: str, timeout: float = 60) -> bytes:
    """The bytes of a .png or .pdf file."""
    dpi = dots_per_inch(canvas.width, canvas.height) if form == "png" else 0
    with tempfile.TemporaryDirectory(prefix="graphattn-") as folder:
        return laid_out(dot(canvas, Path(folder)), form, timeout, dpi, "nop2")


def dot(canvas: Canvas, folder: Path) -> str:
    """The drawing as a graph; images become files in a folder."""
    background: list[str] = []
    nodes: list[str] = []
    bottom = canvas.height
    for number, shape in enumerate(canvas.shapes):
        if isinstance(shape, Text):
            nodes.append(f"t{number} {_text(shape, bottom)}")
        elif isinstance(shape, Image):
            file = folder / f"{number}.png"
            file.write_bytes(png(shape.columns, shape.rows, shape.pixels))
            x, y = shape.x + shape.width / 2, bottom - shape.y - shape.height / 2
            nodes.append(
                f'i{number} [pos="{x:.2f},{y:.2f}" image="{file.as_posix()}" imagescale=both label=""'
                f" width={shape.width / 72:.4f} height={shape.height / 72:.4f}]"
            )
        else:
            background += _drawn(shape, bottom)
    frame = (
        f'frame [pos="{canvas.width / 2:.2f},{bottom / 2:.2f}" label="" style=invis'
        f" width={canvas.width / 72:.4f} height={bottom / 72:.4f}]"
    )
    drawing = '"\n+ "'.join(_pieces(background))
    return "\n".join(
        [
            "digraph {",
            f'graph [pad=0 margin=0 bgcolor="{canvas.page}" _background="{drawing}"]',
            f'node [shape=none margin=0 fixedsize=true fontname="{FONT}"]',
            frame,
            *nodes,
            "}",
        ]
    )


def _pieces(drawn: list[str], most: int = 8000) -> Iterator[str]:
    """What is drawn as strings that are not too long: the reader of DOT has room for 16 kB."""
    piece, length = [], 0
    for text in drawn:
        if length + len(text) > most:
            yield "".join(piece)
            piece, length = [], 0
        piece.append(text)
        length += len(text)
    yield "".join(piece)


def _drawn(shape: Rect | Hatch | Line, bottom: float) -> list[str]:
    """A shape in xdot."""
    if isinstance(shape, Line):
        return [_pen(shape.colour), _path("L", (shape.x, shape.y, shape.x2, shape.y2), bottom)]
    x, y, right, low = shape.x, shape.y, shape.x + shape.width, shape.y + shape.height
    corners = (x, y, right, y, right, low, x, low)
    line = shape.line if isinstance(shape, Rect) and shape.line else shape.fill
    drawn = [_pen(line), f"C {len(shape.fill)} -{shape.fill} ", _path("P", corners, bottom)]
    if isinstance(shape, Hatch):
        drawn.append(_pen(shape.line))
        first = int((x + y) // GAP) + 1
        while (
            total := first * GAP
        ) < right + low:  # the lines x + y = total, as the pattern of the SVG has them
            start, end = max(x, total - low), min(right, total - y)
            if start < end:
                drawn.append(_path("L", (start, total - start, end, total - end), bottom))
            first += 1
    return drawn


def _pen(colour: str) -> str:
    return f"c {len(colour)} -{colour} "


def _path(kind: str, numbers: tuple[float, ...], bottom: float) -> str:
    places = " ".join(f"{x:.2f} {bottom - y:.2f}" for x, y in zip(numbers[::2], numbers[1::2], strict=True))
    return f"{kind} {len(numbers) // 2} {places} "


def _text(shape: Text, bottom: float) -> str:
    """A node that is one text, in a table that holds it to its side."""
    wide = 1.5 * text_width(shape.text, shape.size, shape.bold, shape.mono) + 20
    high = 1.6 * shape.size
    x = shape.x + {"start": wide / 2, "middle": 0.0, "end": -wide / 2}[shape.anchor]
    side = {"start": "LEFT", "middle": "CENTER", "end": "RIGHT"}[shape.anchor]
    run = styled(shape.text, shape.size, shape.colour, shape.bold)
    if shape.mono:
        run = run.replace("<FONT ", f'<FONT FACE="{MONO}" ', 1)
    table = (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR><TD FIXEDSIZE="TRUE"'
        f' WIDTH="{wide:.0f}" HEIGHT="{high:.0f}" ALIGN="{side}">{run}</TD></TR></TABLE>'
    )
    place = f"{x:.2f},{bottom - shape.y:.2f}"
    return f'[pos="{place}" width={wide / 72:.4f} height={high / 72:.4f} label=<{table}>]'
