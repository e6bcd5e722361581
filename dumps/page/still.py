"""What a page shows without scripts: what it is, the picture, and the text dump."""

from __future__ import annotations

import html
import re
from collections import Counter
from functools import partial

from graphattn.core.errors import GraphError
from graphattn.core.trace import Trace
from graphattn.dumps.diagram import diagram
from graphattn.dumps.dot import drawing
from graphattn.dumps.layout import laid_out
from graphattn.dumps.trace_text import trace_text
from graphattn.dumps.wording import clean

ABOUT = (
    "A run of a graph, by graphattn. With scripts, boxes open in place and each number says how it came about;"
    " nothing is fetched or sent. Without, here are its picture and text."
)
STILL = (
    ":root{color-scheme:light dark;background:light-dark(#fff,#11161c)}[data-theme=light]{color-scheme:light}"
    "[data-theme=dark]{color-scheme:dark}.still{padding:12px 16px;font-family:Helvetica,Arial,sans-serif}"
    ".still svg{max-width:100%;height:auto}.still text{white-space:pre}"
    ".still pre{overflow-x:auto;font-size:13px}"
)
"""The style of what is shown without scripts."""
TEXT_LIMIT = 8
"""Rows and columns of a tensor in the dump."""
TEXT_SIZE = 11_000
"""The most letters of the dump."""
SAID_ONCE = ("font-size", "fill", "stroke-width")
"""Attributes that elements take over from those around them."""
MOST_BOXES = 60
MOST_CELLS = 300_000
"""Of a larger run, no text is made."""


def still(trace: Trace) -> str:
    """A section of plain HTML."""
    title = html.escape(clean(trace.graph.title) or trace.graph.name)
    return (
        f'<div class="still">\n<h1>{title}</h1>\n<p>{ABOUT}</p>\n{_picture(trace)}\n'
        f"<pre>{html.escape(_text(trace))}</pre>\n</div>\n"
    )


def _picture(trace: Trace) -> str:
    """The block diagram at the coarsest level, without what a style sheet says; '' where it is not drawn."""
    try:
        picture = diagram(trace.graph.fused())
        if len(picture.boxes) > MOST_BOXES:
            return ""
        drawn = drawing(picture, legend=False)
        return slim(laid_out(drawn.source, "svg", timeout=5).decode("utf-8"))
    except GraphError:
        return ""


def slim(drawn: str) -> str:
    """The picture without titles, links, fonts of each text, and digits that no one sees."""
    text = drawn[drawn.index("<svg") :].replace("\n", " ")
    text = re.sub(r"<title>.*?</title>|</?a\b[^>]*>|<!--.*?-->", "", text)
    text = re.sub(r' (?:font-family|style|xml:space|xmlns:xlink|xlink:\w+|id|class)="[^"]*"', "", text)
    text = text.replace(' text-anchor="start"', "")
    text = re.sub(r"\d{2,}\.\d+", lambda m: f"{float(m[0]):.0f}", text)
    text = re.sub(r"\.0+\b", "", text)
    text = text.replace("&#45;", "-").replace("&#160;", "\u00a0")
    while (shorter := re.sub(r"<g>((?:(?!</?g\b).)*)</g>|(?<=>)\s+(?=<)", r"\1", text)) != text:
        text = shorter
    common = [
        ' font-family="Helvetica,Arial,sans-serif"',
        *filter(None, map(partial(_commonest, text), SAID_ONCE)),
    ]
    for said in common:
        text = text.replace(said, "")
    return text.replace("<svg", f"<svg{''.join(common)}", 1)


def _commonest(drawn: str, attribute: str) -> str:
    """What most elements with an attribute say of it, to be said once for all."""
    counted = Counter(re.findall(rf' {attribute}="[^"]*"', drawn)).most_common(1)
    return counted[0][0] if counted else ""


def _text(trace: Trace) -> str:
    if sum(spec.size for step in trace.steps for spec in step.specs) > MOST_CELLS:
        return "The run is too large for its text to be here; `graphattn trace` prints it."
    text = trace_text(trace, decimals=2, limit=TEXT_LIMIT, parameters=False)
    text = re.sub(r"(?m)^ {7}", "", text)  # the margin, and what aligns the sizes of tensors
    text = re.sub(r" {4,}(?=\w+ \d+ × |\d+ × \d|\d+ outputs)", "   ", text)
    if len(text) <= TEXT_SIZE:
        return text
    cut = text[:TEXT_SIZE].rpartition("\n\n")[0]
    return f"{cut}\n\n… the rest is left out here; `graphattn trace` prints all of it"
