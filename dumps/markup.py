"""The HTML-like labels of Graphviz: runs of text, escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable


def styled(text: str, size: float, colour: str, bold: bool = False) -> str:
    """A run of an HTML-like label; nothing where there is no text, since `<B></B>` is an error."""
    if not text:
        return ""
    shown = f"<B>{escaped(text)}</B>" if bold else escaped(text)
    return f'<FONT POINT-SIZE="{size}" COLOR="{colour}">{shown}</FONT>'


def styled_lines(texts: Iterable[str], size: float, colour: str, bold: bool = False) -> str:
    """Several lines of a label, below each other."""
    return "<BR/>".join(styled(text, size, colour, bold) for text in texts)


def escaped(text: str) -> str:
    """Text for a label, in which neither markup nor backslashes (`\\N`, the node's name) mean anything."""
    return html.escape(text, quote=True).replace("\\", "\\\\")
