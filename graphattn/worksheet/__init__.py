"""worksheet(graph): numbers to fill in by hand, their solution, and a spreadsheet that checks itself.

    sheet = worksheet(graph, blank=["weights", "out"], seed=7, labels={"token": ["the", "cat", "sat"]})
    sheet.html, sheet.solution          a page to print, one A4 side where that is possible
    sheet.markdown, sheet.solution_markdown
    sheet.xlsx                          bytes (the extra `workbook`)
    sheet.save("sheets")                all of them, named after the seed
    sheet.trace                         the run that it shows

Of any graph whose cells say how they are computed. Inputs that are not given in `feeds` are drawn so that
hands can do the numbers (`nice`): whole, or fractions with small denominators, with 2 for e (`by_hand`); where
only later tensors are blank, what these read is drawn itself. Where a graph has no such numbers, the sheet has
decimals and says so (`sheet.nice` is False).

One seed makes one sheet; `Exercises(graph, …)` makes many of the same graph, at the same difficulty.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from graphattn.dumps.graph_json import graph_data
from graphattn.dumps.workbook.tables import Table, tables
from graphattn.dumps.worksheet.layout import pages
from graphattn.dumps.worksheet.markdown import markdown
from graphattn.dumps.worksheet.page import page
from graphattn.dumps.worksheet.sheet import Sheet
from graphattn.dumps.write import need_free, write_bytes, write_text

from ..builtin import random_feeds
from ..core import nested
from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.run import run
from ..core.trace import Trace
from .by_hand import BY_HAND
from .contents import contents, example
from .exercise import drawn_from, exercise_of, need_few
from .limits import CELLS, FORMAT, VERSION
from .nice import Drawn, Needs, needs_of, nice_feeds

DECIMALS = "No small numbers were found for this graph, so it has decimals. Round each square to 4 digits."


class Exercises:
    """Worksheets of one graph: `Exercises(graph, …).sheet(seed)`; arguments as for `worksheet`."""

    def __init__(
        self, graph: Graph, blank: Iterable[str] | None = None, feeds: Mapping[str, Any] | None = None,
        labels: Mapping[str, Sequence[str]] | None = None, level: str = "op", title: str = "",
    ) -> None:  # fmt: skip
        if not isinstance(graph, Graph):
            raise GraphError(f"a worksheet is of a graph, got a {type(graph).__name__}")
        self.graph = graph.at(level)
        self.labels = dict(labels or {})
        self.given = dict(feeds or {})
        self.title = title or graph.title or graph.name
        if blank is None:
            need_few(self.graph)
        trace = self._run({**random_feeds(self.graph, 0), **self.given})
        found = tables(trace, CELLS)
        self.exercise = exercise_of(trace, found, [blank] if isinstance(blank, str) else blank)
        blanks = [table.tensor.name for table in found if table.tensor.name in self.exercise.computed]
        sources = found if self.given else drawn_from(found, self.exercise)
        self._needs: Needs = needs_of(self.graph, sources, blanks, self.given)

    def _run(self, feeds: Mapping[str, Any], **options: Any) -> Trace:
        return run(self.graph, feeds, level="op", labels=self.labels, allow_nonfinite=True, **options)

    def sheet(self, seed: int = 0, command: str = "") -> Worksheet:
        """The sheet of a seed; `command` is what its footer says that it was made with."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise GraphError(f"seed is {seed!r}; expected an int")
        drawn = nice_feeds(self._needs, seed)
        trace = self._run(drawn.feeds, patch=drawn.patch, **({"numbers": BY_HAND} if drawn.nice else {}))
        return Worksheet(self, seed, drawn, trace, command)


class Worksheet:
    """One sheet (see the module's docstring)."""

    def __init__(self, exercises: Exercises, seed: int, drawn: Drawn, trace: Trace, command: str) -> None:
        self.exercises, self.seed, self.drawn, self.trace = exercises, seed, drawn, trace
        self.command = command

    @cached_property
    def tables(self) -> list[Table]:
        """What is asked for and what that reads, in their places on the spreadsheet."""
        return tables(self.trace, CELLS, self.exercises.exercise)

    @cached_property
    def contents(self) -> Sheet:
        """What stands on the page."""
        notes = [] if self.nice else [DECIMALS]
        footer = "   ".join(filter(None, (f"graphattn worksheet, seed {self.seed}", self.command)))
        return contents(self.trace, self.tables, self.exercises.title, footer, notes)

    @property
    def nice(self) -> bool:
        """Whether its numbers are whole or simple fractions."""
        return self.drawn.nice

    @property
    def html(self) -> str:
        return page(self.contents)

    @property
    def solution(self) -> str:
        """The page with the squares filled in."""
        return page(self.contents, solution=True)

    @property
    def markdown(self) -> str:
        return markdown(self.contents)

    @property
    def solution_markdown(self) -> str:
        return markdown(self.contents, solution=True)

    @property
    def sides(self) -> int:
        """How many sides of A4 the page takes."""
        return len(pages(self.contents))

    @cached_property
    def xlsx(self) -> bytes:
        """The spreadsheet that checks itself."""
        try:
            from graphattn.dumps.worksheet.self_check import self_check
        except ImportError:
            raise GraphError(
                "spreadsheets are written by XlsxWriter; expected `pip install 'graphattn[workbook]'`"
            ) from None
        return self_check(
            self.tables,
            example(self.tables),
            self.contents.title,
            json.dumps(self.data()),
            self.nice,
        )

    def data(self) -> dict[str, Any]:
        """The exercise as JSON holds it: `graphattn check` reads it back from the spreadsheet."""
        graph = self.trace.graph
        return {
            "format": FORMAT, "version": VERSION, "title": self.contents.title, "seed": self.seed,
            "by_hand": self.nice, "blank": sorted(self.exercises.exercise.computed),
            "labels": {axis: list(names) for axis, names in self.trace.labels.items()},
            "feeds": {name: nested.lists(value) for name, value in self.drawn.feeds.items()},
            "patch": dict(self.drawn.patch), "graph": graph_data(graph),
        }  # fmt: skip

    def files(self) -> dict[str, str | bytes]:
        """Every form of it, by file name."""
        name = f"worksheet-{self.seed}"
        return {
            f"{name}.html": self.html,
            f"{name}-solution.html": self.solution,
            f"{name}.md": self.markdown,
            f"{name}-solution.md": self.solution_markdown,
            f"{name}.xlsx": self.xlsx,
        }

    def save(self, folder: str | os.PathLike[str], force: bool = False) -> list[Path]:
        """Write every form into a folder, which is made if it is not there; the paths. Raises a `GraphError`
        where it cannot, and where a file is there already with another content, unless `force` is given."""
        files = self.files()
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except (OSError, TypeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise GraphError(f"{folder!r} was not made: {reason}; expected the path of a folder") from None
        if not force:
            need_free(folder, {name: _bytes(content).__eq__ for name, content in files.items()})
        return [
            write_bytes(Path(folder) / name, content) if isinstance(content, bytes)
            else write_text(Path(folder) / name, content)
            for name, content in files.items()
        ]  # fmt: skip


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8")


def worksheet(
    graph: Graph, blank: Iterable[str] | None = None, seed: int = 0, *,
    feeds: Mapping[str, Any] | None = None, labels: Mapping[str, Sequence[str]] | None = None,
    level: str = "op", title: str = "",
) -> Worksheet:  # fmt: skip
    """A worksheet of a graph.

    blank: names or patterns of the tensors to fill in; all that are computed, if None. What these read is
    given. seed: of the numbers. feeds: inputs that are not drawn. labels: texts by axis name. level: how far
    to zoom in. Raises a `GraphError` for an unknown tensor, and where too many squares would be blank.
    """
    return Exercises(graph, blank, feeds, labels, level, title).sheet(seed)
