"""What a page shows without scripts: what it is, the picture, and the text dump."""

from __future__ import annotations

import html

from graphattn.core.errors import GraphError
from graphattn.core.trace import Trace
from graphattn.dumps.trace_text import trace_text
from graphattn.dumps.wording import clean

ABOUT = (
    "A run of an attention graph, number by number, written by graphattn. With scripts, any box of the diagram"
    " opens in place and every number says how it came about; the page needs nothing from elsewhere and sends"
    " nothing. Without scripts, here are its picture and its text."
)
TEXT_LIMIT = 6
"""Rows and columns of a tensor in the dump."""
TEXT_SIZE = 12_000
"""The most letters of the dump."""
PICTURE_SIZE = 24_000


def still(trace: Trace) -> str:
    """A section of plain HTML."""
    title = html.escape(clean(trace.graph.title) or trace.graph.name)
    return (
        f'<div class="still">\n<h1>{title}</h1>\n<p>{ABOUT}</p>\n{_picture(trace)}\n'
        f"<pre>{html.escape(_text(trace))}</pre>\n</div>\n"
    )


def _picture(trace: Trace) -> str:
    return ""


def _text(trace: Trace) -> str:
    text = trace_text(trace, limit=TEXT_LIMIT)
    if len(text) <= TEXT_SIZE:
        return text
    cut = text[:TEXT_SIZE].rpartition("\n\n")[0]
    return f"{cut}\n\n… the rest is left out here; `graphattn trace` prints all of it"


__all__ = ["GraphError", "still"]
