"""A trace as one page to walk through: an HTML file that opens from disk and sends nothing.

    page(trace, reference=None, theme="auto", comparison=None) -> str
    write_page(path, trace, ...) -> Path
    link(trace, tensor, index) -> str             `#t=…&c=…`, which goes behind the file's name

The page shows the block diagram, in which any box opens in place; the tensor of a box as a map of its
numbers; and of each cell the formula, in symbols and in numbers, and the cells that it came from. It
evaluates what a changed number changes. What it knows comes from here as data (`contents.py`): the
numbers, one rule for each tensor, found by asking the ops' `explain` (`rules.py`), and a view for each
scope (`views.py`). Script and style sheet are built from `web/` and lie beside this file. They run under
a policy that allows nothing else: no request, no other script, no style. Without scripts there is the
picture and the text dump.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graphattn.core.errors import GraphError, suggest
from graphattn.core.trace import Trace
from graphattn.core.words import typed
from graphattn.dumps.page.contents import contents
from graphattn.dumps.page.pack import packed, packed_text
from graphattn.dumps.page.still import STILL, still
from graphattn.dumps.page.style import theme_css
from graphattn.dumps.wording import clean
from graphattn.dumps.write import write_text

THEMES = ("auto", "light", "dark")
LARGEST = 10_000_000
"""The most letters that the numbers of a page take."""
MOST = 4_000_000
"""More numbers than these are not even packed."""


Judge = Callable[[], Mapping[str, Any]]


def page(
    trace: Trace, reference: Trace | None = None, theme: str = "auto", comparison: Judge | None = None
) -> str:
    """The page of a trace, as HTML; with `reference`, a run of the same graph that it is held against.

    theme: "auto" follows the reader's system. comparison: gives what `compare` says of the two, as data
    (`Comparison.data()`); without it, differences are shown, and none is marked. Raises a `GraphError` where
    the two runs are not of one graph, or nothing was evaluated.
    """
    _check(trace, reference, theme)
    loader, script, style = _resource("loader.js"), _resource("page.js"), theme_css() + _resource("page.css")
    data = {
        "style": packed_text(style),
        "script": packed_text(script),
        **_data(trace, reference, comparison and comparison()),
    }
    policy = (
        f"default-src 'none'; script-src {_hash(loader)} {_hash(script)};"
        f" style-src {_hash(STILL)} {_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(_title(trace))
    # `<` opens no tag in JSON: it is written as <, which reads back as itself
    block = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    chosen = "" if theme == "auto" else f' data-theme="{theme}"'
    head = (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="graphattn">\n<title>{title}</title>\n<style>{STILL}</style>\n'
    )
    body = (
        f'<div id="page">\n<noscript>\n{still(trace)}</noscript>\n</div>\n'
        f'<script type="application/json" id="data">{block}</script>\n<script>{loader}</script>\n'
    )
    return f'<!DOCTYPE html>\n<html lang="en"{chosen}>\n<head>\n{head}</head>\n<body>\n{body}</body>\n</html>\n'


def _data(trace: Trace, reference: Trace | None, judged: Mapping[str, Any] | None) -> dict[str, Any]:
    """The contents, packed; with tensors left out that the page computes, where it would be too large."""
    whole = contents(trace, reference, MOST, judged)
    data = packed(whole)
    size = sum(len(numbers["bytes"]) for numbers in data["numbers"])
    if size > LARGEST:
        counted = sum(map(len, whole.numbers))
        most = int(counted * LARGEST / size) // len(whole.numbers)
        data = packed(contents(trace, reference, most, judged))
    return data


def write_page(path: str | os.PathLike[str], trace: Trace, *given: Any, **options: Any) -> Path:
    """Write the `page` of a trace into a file, whole or not at all; the path."""
    return write_text(path, page(trace, *given, **options))


def link(trace: Trace, tensor: str, index: Sequence[int] = ()) -> str:
    """What to put behind the name of a page's file so that it opens at a tensor, or at a cell of it."""
    name = trace.graph.tensor_name(trace.graph.resolve(tensor))
    place = f"&c={','.join(map(str, index))}" if index else ""
    return f"#t={quote(name)}{place}"


@dataclass(frozen=True, eq=False)
class Shown:
    """A page as the result of a notebook's cell: in a frame that runs its script and reaches nothing
    outside it."""

    trace: Trace
    theme: str = "auto"
    height: int = 640

    def __post_init__(self) -> None:
        _check(self.trace, None, self.theme)
        height = self.height
        if isinstance(height, bool) or not isinstance(height, int) or not 100 <= height <= 10_000:
            raise GraphError(f"height is {height!r}; expected a number of pixels from 100 to 10000")

    def _repr_html_(self) -> str:
        whole = html.escape(page(self.trace, theme=self.theme), quote=True)
        title = html.escape(_title(self.trace), quote=True)
        return (
            f'<iframe title="{title}" srcdoc="{whole}" sandbox="allow-scripts allow-downloads allow-modals"'
            f' width="100%" height="{self.height}" style="border: 1px solid #9AA5B1"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<the page of {self.trace!r}; a notebook shows it, trace.page(path) writes it>"


def _title(trace: Trace) -> str:
    return clean(trace.graph.title) or trace.graph.name


def _check(trace: Any, reference: Any, theme: Any) -> None:
    if not isinstance(trace, Trace):
        raise GraphError(f"a page shows a trace, got {typed(trace)}")
    if not isinstance(theme, str) or theme not in THEMES:
        raise GraphError(f"unknown theme {theme!r}; expected {', '.join(THEMES)}{suggest(str(theme), THEMES)}")
    if not trace.names:
        raise GraphError("this trace holds no tensor; expected one that was evaluated")
    if reference is not None:
        if not isinstance(reference, Trace):
            raise GraphError(f"a page is held against a trace, got {typed(reference)}")
        if reference.graph.at("primitive") != trace.graph.at("primitive"):
            raise GraphError(
                f"the two traces are of different graphs, {trace.graph.name!r} and {reference.graph.name!r};"
                " expected two runs of one graph"
            )


@cache
def _resource(name: str) -> str:
    return (resources.files("graphattn.dumps.page") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
