"""The forms in which a trace is written: one line each, by name and by the ending of a file.

A form is one file of this package, with a function that takes a trace (and the keywords that `takes`
lists) and returns text or bytes; that of a folder takes the path first and writes it. The command
line has an option for each (`--json`, `--csv FOLDER`), and `-o` and `Trace.save` choose by the ending.
A writer is imported when it is needed.

>>> form_of("run.json").name, form_of("run/").name, form_of("run.TXT").name
('json', 'csv', 'text')
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphattn.core.errors import GraphError, suggest
from graphattn.core.words import typed
from graphattn.dumps.write import write_bytes, write_text

if TYPE_CHECKING:
    from graphattn.core.graph import Graph
    from graphattn.core.trace import Trace

FOLDER = "/"
"""The ending of a path that names a folder."""


@dataclass(frozen=True, slots=True)
class Form:
    """A way of writing a trace."""

    name: str
    writer: str
    """Module and function, as `trace_json:trace_json`."""
    help: str
    endings: tuple[str, ...] = ()
    """The endings of the files that it is written into; "/" for a folder."""
    exact: bool = False
    """Whether it is for programs: every digit, and UTF-8 whatever the locale."""
    takes: tuple[str, ...] = ()
    """The keywords of the writer, besides its own switches."""
    switches: Mapping[str, str] = field(default_factory=dict)
    """Keywords of the writer that this form alone has, off by default; what each does."""
    checker: str = ""
    """Module and function that refuses a graph of which nothing could be written, before it runs."""

    @property
    def folder(self) -> bool:
        return FOLDER in self.endings

    @property
    def write(self) -> Callable[..., Any]:
        """The function that writes it."""
        return _found(self.writer)

    def check(self, graph: Graph) -> None:
        """Refuse, by a `GraphError`, a graph whose runs cannot be written in this form."""
        if self.checker:
            _found(self.checker)(graph)


def _found(path: str) -> Callable[..., Any]:
    module, _, function = path.partition(":")
    return getattr(import_module(f"graphattn.dumps.{module}"), function)


FORMS = (
    Form(
        "text", "trace_text:trace_text", "text", (".txt",),
        takes=("precision", "decimals", "limit", "only", "width", "parameters"),
    ),
    Form("json", "trace_json:trace_json", "JSON, which reads back bit for bit", (".json",), exact=True),
    Form(
        "markdown", "markdown:trace_markdown", "Markdown", (".md", ".markdown"),
        takes=("decimals", "limit", "only"),
    ),
    Form(
        "csv", "csv_folder:write_csv_folder", "a CSV file for each tensor, which reads back bit for bit",
        (FOLDER,), exact=True, switches={"labels": "labels in the first row and column of each file"},
    ),
    Form("npz", "trace_npz:trace_npz", "arrays for numpy, which read back bit for bit", (".npz",), exact=True),
    Form("safetensors", "tensor_bytes:trace_safetensors", "the tensors for PyTorch", (".safetensors",), True),
    Form("latex", "latex:trace_latex", "LaTeX tables", (".tex",), takes=("decimals", "limit", "only")),
    Form("stats", "stats:stats_text", "a line of statistics for each tensor", takes=("only", "width")),
    Form(
        "workbook", "workbook:workbook", "a spreadsheet of live formulas", (".xlsx",), exact=True,
        checker="workbook:check",
    ),
)  # fmt: skip


def form_of(path: str | os.PathLike[str]) -> Form | None:
    """The form that the ending of a path stands for, or None."""
    name = os.fspath(path)
    if name.endswith(("/", os.sep)):
        ending = FOLDER
    else:
        ending = Path(name).suffix.lower()
    return next((form for form in FORMS if ending in form.endings), None)


def unknown_ending(path: str | os.PathLike[str]) -> GraphError:
    """What to say of a path whose ending stands for no form."""
    known = [ending for form in FORMS for ending in form.endings if ending != FOLDER]
    return GraphError(
        f"{os.fspath(path)!r} has no known ending; expected {', '.join(known)}, or a folder: 'name/'"
    )


def save(trace: Trace, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write a trace into a file, or into a folder where the path ends in "/"; the path.

    The ending chooses the form. Text is exact, so that it reads back, unless `precision="pretty"` is
    given. `options` are those of the form's writer. Raises a `GraphError` for an unknown ending or
    option, and where nothing can be written; nothing is left half-written.
    """
    try:
        form = form_of(path)
    except TypeError:
        raise GraphError(f"path is {typed(path)}; expected a file name") from None
    if form is None:
        raise unknown_ending(path)
    known = (*form.takes, *form.switches)
    for name in options:
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "expected none"
            raise GraphError(f"{form.name} has no option {name!r}; {expected}{suggest(name, known)}")
    if form.folder:
        return form.write(path, trace, **options)
    if "precision" in form.takes:
        options = {"precision": "exact", **options}
    written = form.write(trace, **options)
    return write_bytes(path, written) if isinstance(written, bytes) else write_text(path, written)
