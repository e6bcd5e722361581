"""Which maps a figure has, and where each of them stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from graphattn.core.errors import GraphError
from graphattn.core.trace import Trace
from graphattn.dumps import wording
from graphattn.dumps.figure.canvas import Canvas, Hatch, Line, Rect, Text
from graphattn.dumps.figure.panel import Panel
from graphattn.dumps.heat import HeatMap, Scale, heat_maps, short, spread_scale
from graphattn.dumps.letters import fitted, text_width
from graphattn.dumps.rows import StepRow, TensorRow, facts, step_rows
from graphattn.dumps.theme import Theme

WIDTH = 1120.0
"""Where a row of maps breaks."""

PAD, GAP = 16.0, 22.0

FULL = 8
"""Where more maps than these have one scale, maps are thumbnails."""

MAPS = 1024
"""The most maps of a figure."""

CELLS = 10_000
"""With more cells than these, large maps are images."""

THUMBNAIL_CELLS = 2_500
"""And thumbnails with more than these."""

BAR = 160.0
"""The length of the bar that shows a scale."""


@dataclass(frozen=True)
class Entry:
    """A map, what it is called, and in which row and column of a grid it belongs."""

    map: HeatMap
    kind: str
    """Tensors whose names differ in numbers alone are of one kind."""
    line: str
    """Maps of one line stand side by side."""
    row: str
    column: str
    note: str

    @property
    def name(self) -> str:
        """Row and column as one."""
        return " ".join(part for part in (self.row, self.column) if part)


def page(trace: Trace, tensors: str | Iterable[str], theme: Theme) -> Canvas:
    """The page with all maps."""
    found = _recorded(trace, tensors)
    title, entries = _entries(trace, found)
    if len(entries) > MAPS:
        raise GraphError(
            f"there are {len(entries):,} maps to draw; expected at most {MAPS:,}: name fewer tensors"
        )
    small = max(Counter(entry.kind for entry in entries).values()) > FULL
    canvas = Canvas(title, theme.page)
    many = sum(entry.map.cells for entry in entries) > (THUMBNAIL_CELLS if small else CELLS)
    panels = [[_panel(entry, theme, small, many) for entry in line] for line in _rows(entries)]
    rows = [row[0].row if small and row[0].column else "" for row in _rows(entries)]
    y = PAD
    if small or len(entries) > 1 or title != entries[0].name:
        canvas.add(Text(PAD, y + 8, fitted(title, 13, WIDTH, bold=True), 13, theme.ink, bold=True))
        notes = dict.fromkeys(panel.caption for line in panels for panel in line)
        told = next(iter(notes)) if len(notes) == 1 else ""
        if small and told:
            canvas.add(Text(PAD, y + 24, fitted(told, 9, WIDTH), 9, theme.muted))
            y += 16
        y += 30
    margin = max((min(text_width(name, 9), 120.0) + 8 for name in rows if name), default=0.0)
    right, gap = 0.0, 10.0 if small else GAP
    for name, row in zip(rows, panels, strict=True):
        for line in _lines(row, WIDTH - margin):
            x = PAD + margin
            high = max(panel.height for panel in line)
            if name:
                middle = y + line[0].head + line[0].grid[1] / 2
                canvas.add(Text(PAD + margin - 8, middle, fitted(name, 9, 120), 9, theme.ink, "end"))
            for panel in line:
                panel.draw(canvas, x, y)
                x += panel.width + gap
                right = max(right, x - gap)
            y += high + (8 if small else GAP)
    right = max(right, _legend(canvas, entries, theme, y))
    title_width = text_width(title, 13, bold=True) if canvas.shapes else 0.0
    canvas.width = max(right, PAD + min(title_width, WIDTH)) + PAD
    canvas.height = y + 30 + PAD
    canvas.words = _words(trace, entries)
    return canvas


def _panel(entry: Entry, theme: Theme, small: bool, many: bool) -> Panel:
    if small:
        return Panel(entry.map, entry.column, entry.note, theme, small, many)
    return Panel(entry.map, entry.name, entry.note, theme, small, many)


# ---------------------------------------------------------------- what is shown


def _recorded(trace: Trace, tensors: str | Iterable[str]) -> list[tuple[StepRow, TensorRow]]:
    """The tensors that were asked for, in order of evaluation."""
    wanted = [tensors] if isinstance(tensors, str) else list(tensors)
    if not wanted:
        raise GraphError("there is nothing to draw; expected the name of a tensor, or a pattern")
    found = []
    for row in step_rows(trace, wanted):
        for tensor in row.tensors:
            if tensor.value is not None and tensor.spec.size:
                found.append((row, tensor))
    if not found:
        for name in wanted:
            trace[name]  # raises where it was not kept
        raise GraphError(f"{' and '.join(map(repr, wanted))} has no cells to draw; expected a tensor that has")
    return found


def _entries(trace: Trace, found: list[tuple[StepRow, TensorRow]]) -> tuple[str, list[Entry]]:
    """The title, and an entry for each slice of each tensor. Tensors of one kind (whose names differ in
    numbers alone) have one scale; those that are alone of their kind follow each other on a line."""
    kinds: dict[object, list[tuple[StepRow, TensorRow]]] = {}
    for row, tensor in found:
        kind = (re.sub(r"\d+", "*", tensor.name), tensor.spec.shape, tensor.share)
        kinds.setdefault(kind, []).append((row, tensor))
    entries = []
    template = ""
    alone = 0
    for kind, group in kinds.items():
        template, keys = _template([tensor.name for _, tensor in group])
        if len(kinds) > 1:
            keys = [("", tensor.name) for _, tensor in group]
        scale = spread_scale([tensor for _, tensor in group], trace.numbers)
        single = len(group) == 1 and group[0][1].spec.rank < 3
        alone += not single
        for (row, tensor), (above, name) in zip(group, keys, strict=True):
            whole = " ".join(part for part in (above, name) if part)
            for shown in heat_maps(tensor, trace.numbers, scale):
                places = [_place(tensor, axis, i) for axis, i in enumerate(shown.index)]
                if places and len(found) == 1:
                    above, name = " ".join(places[:-1]), places[-1]
                elif places:
                    above, name = whole, " ".join(places)
                line = above if len(kinds) == 1 else f"alone {alone}" if single else f"{kind}{above}"
                note = _note(row, tensor, scale, trace)
                entries.append(Entry(shown, str(kind), line, wording.clean(above), wording.clean(name), note))
    if len(kinds) > 1:
        title = trace.graph.title or trace.graph.name
    else:
        title = template if len(found) > 1 and template else found[0][1].name
    return wording.clean(title), entries


def _note(row: StepRow, tensor: TensorRow, scale: Scale, trace: Trace) -> str:
    """`n×d = 4×8 · ±3.32`."""
    parts = [wording.axes_text(tensor.spec), scale.text]
    if tensor.spec.kind == "float":
        sums = facts(tensor, trace.numbers).sums
        parts += [f"{sums} sum to 1"] if sums else []
    parts += ["patched"] if tensor.patched else []
    return " · ".join(parts)


def _place(tensor: TensorRow, axis: int, i: int) -> str:
    labels = tensor.labels[axis]
    return (
        labels[i] if labels else f"{tensor.spec.axes[axis] or ''}[{i}]" if tensor.spec.axes[axis] else f"[{i}]"
    )


def _template(names: list[str]) -> tuple[str, list[tuple[str, str]]]:
    """What names have in common where they differ in at most two numbers, `layer*.head*.weights`, and
    for each the parts that differ: ("layer0", "head1"). The template is empty where they have not."""
    plain = [("", name) for name in names]
    pieces = [re.split(r"(\d+)", name) for name in names]
    if len(names) < 2 or len({(len(p), *p[::2]) for p in pieces}) != 1:
        return "", plain
    differing = [at for at in range(1, len(pieces[0]), 2) if len({p[at] for p in pieces}) > 1]
    if not 0 < len(differing) <= 2:
        return "", plain
    template = "".join("*" if at in differing else piece for at, piece in enumerate(pieces[0]))
    keys = []
    for name, piece in zip(names, pieces, strict=True):
        parts = []
        for at in differing:
            start = len("".join(piece[:at]))
            first = name.rfind(".", 0, start) + 1
            last = name.find(".", start)
            parts.append(name[first : last if last >= 0 else None])
        keys.append(("", parts[0]) if len(parts) == 1 else (parts[0], parts[1]))
    return template, keys


# ---------------------------------------------------------------- where it stands


def _rows(entries: list[Entry]) -> list[list[Entry]]:
    """The entries by their lines."""
    rows: dict[str, list[Entry]] = {}
    for entry in entries:
        rows.setdefault(entry.line, []).append(entry)
    return list(rows.values())


def _lines(panels: list[Panel], width: float) -> list[list[Panel]]:
    """Panels in lines that are not too wide."""
    lines: list[list[Panel]] = [[]]
    across = 0.0
    for panel in panels:
        if lines[-1] and across + panel.width > width:
            lines.append([])
            across = 0.0
        lines[-1].append(panel)
        across += panel.width + GAP
    return lines


def _legend(canvas: Canvas, entries: list[Entry], theme: Theme, y: float) -> float:
    """The scales, and what hatching means; how far to the right it goes."""
    scales = list(dict.fromkeys(entry.map.scale for entry in entries if entry.map.scale.bound))
    kinds = list(dict.fromkeys(scale.kind for scale in scales))
    x, middle = PAD, y + 10
    for kind in kinds:
        own = [scale for scale in scales if scale.kind == kind]
        bound = own[0].end if len(own) == 1 else "max"
        most = bound if own[0].bound == 1 else f"≥ {bound}"
        ends = ("0", most) if kind == "share" else (f"−{bound}", f"+{bound}")
        canvas.add(Text(x, middle, ends[0], 8.5, theme.muted))
        x += text_width(ends[0], 8.5) + 4
        steps = 40
        for step in range(steps):
            level = step / (steps - 1) if kind == "share" else 2 * step / (steps - 1) - 1
            canvas.add(Rect(x + step * BAR / steps, middle - 6, BAR / steps, 12, theme.heat.fill(kind, level)))
        box = [(x, middle - 6), (x + BAR, middle - 6), (x + BAR, middle + 6), (x, middle + 6), (x, middle - 6)]
        canvas.add(*(Line(*a, *b, theme.heat.grid) for a, b in pairwise(box)))
        x += BAR + 4
        canvas.add(Text(x, middle, ends[1], 8.5, theme.muted))
        x += text_width(ends[1], 8.5) + GAP
        if len(own) > 1:
            told = "max of each map, printed above it"
            canvas.add(Text(x - GAP + 4, middle, f"({told})", 8.5, theme.muted))
            x += text_width(told, 8.5) + GAP
    if any(entry.map.hidden is not None and any(map(any, entry.map.hidden)) for entry in entries):
        canvas.add(Hatch(x, middle - 6, 22, 12, theme.heat.masked.fill, theme.heat.masked.line))
        canvas.add(Text(x + 27, middle, "masked", 8.5, theme.muted))
        x += 27 + text_width("masked", 8.5) + GAP
    return x


def _words(trace: Trace, entries: list[Entry]) -> str:
    """The figure in a sentence or two, for those who do not see it."""
    told = []
    for tensor in {id(entry.map.tensor): entry.map.tensor for entry in entries}.values():
        found = facts(tensor, trace.numbers)
        ends = [("smallest", found.smallest), ("largest", found.largest)]
        numbers = ", ".join(f"{what} {short(float(end[1]))}" for what, end in ends if end is not None)
        hidden = f", {found.hidden} cells masked" if found.hidden else ""
        told.append(f"{tensor.name}: {wording.axes_text(tensor.spec)}, {numbers}{hidden}.")
    more = f" And {len(told) - 20} more." if len(told) > 20 else ""
    return wording.clean(" ".join(told[:20])) + more
