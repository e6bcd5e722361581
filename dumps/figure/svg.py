"""A canvas as an SVG element: no scripts, nothing loaded, the same bytes each time."""

from __future__ import annotations

import base64
import html
import zlib

from graphattn.dumps.figure.canvas import Canvas, Hatch, Image, Line, Rect, Shape, Text
from graphattn.dumps.figure.png import png
from graphattn.dumps.theme import FONT, MONO

MIDDLE = 0.35
"""How far below its middle the baseline of a text is, in sizes of the font: half the height of capitals."""


def svg(canvas: Canvas) -> str:
    """The `<svg>` element of a canvas."""
    hatches = list(dict.fromkeys((s.fill, s.line) for s in canvas.shapes if isinstance(s, Hatch)))
    mark = zlib.crc32(repr((canvas.title, canvas.page, canvas.shapes)).encode("utf-8", "replace"))
    ids = {pair: f"h{mark:08x}{number}" for number, pair in enumerate(hatches)}
    size = f'width="{_n(canvas.width)}" height="{_n(canvas.height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}'
        f' viewBox="0 0 {_n(canvas.width)} {_n(canvas.height)}" font-family="{FONT}">',
        f"<title>{_t(canvas.title)}</title>",
        f"<desc>{_t(canvas.words)}</desc>",
    ]
    for (fill, line), ident in ids.items():
        lines.append(
            f'<defs><pattern id="{ident}" width="5" height="5" patternUnits="userSpaceOnUse">'
            f'<path d="M0 0h5v5h-5z" fill="{fill}"/>'
            f'<path d="M-1 1L1 -1M0 5L5 0M4 6L6 4" stroke="{line}"/></pattern></defs>'
        )
    lines.append(f'<rect {size} fill="{canvas.page}"/>')
    lines += (_shape(shape, ids) for shape in canvas.shapes)
    return "\n".join([*lines, "</svg>"])


def _shape(shape: Shape, ids: dict[tuple[str, str], str]) -> str:
    if isinstance(shape, Text):
        style = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        style += ' font-weight="bold"' if shape.bold else ""
        style += f' font-family="{MONO}"' if shape.mono else ""
        at = f'x="{_n(shape.x)}" y="{_n(shape.y + MIDDLE * shape.size)}"'
        return f'<text {at} font-size="{_n(shape.size)}" fill="{shape.colour}"{style}>{_t(shape.text)}</text>'
    if isinstance(shape, Line):
        return f'<path d="M{_n(shape.x)} {_n(shape.y)}L{_n(shape.x2)} {_n(shape.y2)}" stroke="{shape.colour}"/>'
    place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" height="{_n(shape.height)}"'
    inner = f"><title>{_t(shape.tooltip)}</title>" if shape.tooltip else ""
    if isinstance(shape, Image):
        data = base64.b64encode(png(shape.columns, shape.rows, shape.pixels)).decode("ascii")
        how = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
        return f'<image {place} {how} href="data:image/png;base64,{data}"' + (
            f"{inner}</image>" if inner else "/>"
        )
    paint = (
        f'fill="url(#{ids[shape.fill, shape.line]})"' if isinstance(shape, Hatch) else f'fill="{shape.fill}"'
    )
    if isinstance(shape, Rect) and shape.line:
        paint += f' stroke="{shape.line}"'
    return f"<rect {place} {paint}" + (f"{inner}</rect>" if inner else "/>")


def _n(number: float) -> str:
    """A length without more digits than can be seen."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _t(text: str) -> str:
    return html.escape(text, quote=False)
