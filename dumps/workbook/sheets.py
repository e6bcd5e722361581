"""A workbook's file: contents, sheets, tables, styles (`tables` says where things stand, `formulas` what)."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import xlsxwriter

from graphattn.core import nested
from graphattn.core.axes import describe
from graphattn.core.errors import GraphError
from graphattn.core.trace import Trace
from graphattn.dumps.workbook.formulas import formula, reference, span
from graphattn.dumps.workbook.tables import HIDDEN, Place, Table

CONTENTS = "Contents"
NUMBER = '[<-1E+300]"·";[<0]-0.0000;0.0000'
PICTURE_WIDTH = 720
"""Pixels that the picture of the graph takes at most."""
DRAWN, SECONDS = 120, 10.0
"""A graph of more nodes is not drawn, nor one that takes longer."""


def written(trace: Trace, tables: Sequence[Table]) -> bytes:
    """The bytes of the file."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(
        file, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    )
    book.set_properties({"title": trace.graph.title or trace.graph.name, "created": datetime(2000, 1, 1)})
    book.set_calc_mode("auto")
    styles = Styles(book)
    contents = book.add_worksheet(CONTENTS)
    sheets = {name: book.add_worksheet(name) for name in dict.fromkeys(table.sheet for table in tables)}
    book.define_name("hidden", f"={HIDDEN:.0E}")
    for table in tables:
        _write_table(sheets[table.sheet], table, styles)
    _define_names(book, tables)
    _write_contents(contents, trace, tables, styles)
    for sheet in sheets.values():
        sheet.set_column(0, 0, 18)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
    book.close()
    return file.getvalue()


class Styles:
    """How cells look, by what they are."""

    def __init__(self, book: Any) -> None:
        grey = {"font_color": "#52606D"}
        self.title = book.add_format({"bold": True})
        self.note = book.add_format(grey)
        self.label = book.add_format({**grey, "align": "right"})
        self.link = book.add_format({"font_color": "#0B4F8A", "underline": 1})
        given = {"bg_color": "#FBF5DC", "locked": False}
        number = {"num_format": NUMBER}  # on True and False it would show and save 1 and 0
        self.given = {"float": book.add_format({**number, **given})}
        self.given |= dict.fromkeys(("bool", "int"), book.add_format(given))
        self.computed = {"float": book.add_format(number)}
        self.computed |= dict.fromkeys(("bool", "int"), book.add_format())
        self.helper = book.add_format({"num_format": NUMBER, **grey, "italic": True})
        self.hidden = book.add_format({"bg_color": "#DFE3E8", "font_color": "#52606D"})


# ---------------------------------------------------------------- tables


def _write_table(sheet: Any, table: Table, styles: Styles) -> None:
    spec, tensor = table.spec, table.tensor
    write_labels(sheet, table, styles)
    for block in table.blocks:
        _colour(sheet, table, table.place((*block, 0, 0)[-spec.rank :] if spec.rank else ()), styles)
    for index, row in nested.rows(tensor.value, spec.rank):
        for j, cell in enumerate(row):
            at = (*index, j) if spec.rank else ()
            place = table.place(at)
            if table.operands is None:
                _write_plain(sheet, place, cell, styles.given[spec.kind])
            else:
                _write_formula(
                    sheet, place, formula(table, table.expressions[at]), cell, styles.computed[spec.kind]
                )
    for helper in table.helpers.values():
        _write_formula(sheet, helper.place, formula(table, helper.expression), helper.value, styles.helper)


def write_labels(sheet: Any, table: Table, styles: Styles) -> None:
    """All of a table that is text: its title, and the names of rows, columns and helper cells."""
    spec, (rows, columns) = table.spec, table.matrix
    sheet.write_string(table.top, 0, table.tensor.name, styles.title)
    sheet.write_string(table.top, 1, f"{table.row.written.expression}    {describe(spec)}", styles.note)
    for block in table.blocks:
        corner = table.place((*block, 0, 0)[-spec.rank :] if spec.rank else ())
        if block:
            sheet.write_string(corner.row - 1, 0, "[" + ", ".join(map(str, block)) + "]", styles.label)
        if spec.rank:
            for j in range(columns):
                sheet.write_string(corner.row - 1, corner.column + j, _label(table, -1, j), styles.label)
        if spec.rank > 1:
            for i in range(rows):
                sheet.write_string(corner.row + i, 0, _label(table, -2, i), styles.label)
        for number, name in enumerate(table.beside):
            sheet.write_string(corner.row - 1, corner.column + columns + 1 + number, name, styles.label)
        for number, name in enumerate(table.below):
            sheet.write_string(corner.row + rows + number, 0, name, styles.label)


def _label(table: Table, axis: int, i: int) -> str:
    labels = table.tensor.labels[axis]
    return labels[i] if labels else str(i)


def _number(cell: Any) -> Any:
    return HIDDEN if cell == -math.inf else cell


def _write_plain(sheet: Any, place: Place, cell: Any, style: Any) -> None:
    if isinstance(cell, bool):
        sheet.write_boolean(place.row, place.column, cell, style)
    else:
        sheet.write_number(place.row, place.column, _number(cell), style)


def _write_formula(sheet: Any, place: Place, text: str, value: Any, style: Any) -> None:
    cached = str(value).upper() if isinstance(value, bool) else _number(value)
    if sheet.write_formula(place.row, place.column, f"={text}", style, cached):
        raise GraphError(f"the formula of a cell has {len(text):,} letters; expected at most 8,192")


def _colour(sheet: Any, table: Table, corner: Place, styles: Styles) -> None:
    """Hidden cells grey; numbers on a scale: 0 to 1 for shares, else symmetric about 0."""
    rows, columns = table.matrix
    if table.spec.kind != "float" or table.spec.size < 2:
        return
    area = (corner.row, corner.column, corner.row + rows - 1, corner.column + columns - 1)
    sheet.conditional_format(
        *area, {"type": "cell", "criteria": "<", "value": -1e300, "format": styles.hidden, "stop_if_true": True}
    )
    if table.row.op.range == (0.0, 1.0):
        scale: dict[str, Any] = {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": "#B998C9"}
        scale |= {"min_type": "num", "max_type": "num", "min_value": 0, "max_value": 1}
    else:
        finite = [abs(cell) for cell in nested.flat(table.tensor.value) if cell != -math.inf]
        top = max(finite, default=0.0) or 1.0
        scale = {
            "type": "3_color_scale",
            "min_color": "#9FC3E6",
            "mid_color": "#FFFFFF",
            "max_color": "#F0B98D",
        }
        scale |= {"min_type": "num", "mid_type": "num", "max_type": "num"}
        scale |= {"min_value": -top, "mid_value": 0, "max_value": top}
    sheet.conditional_format(*area, scale)


# ---------------------------------------------------------------- contents


def _define_names(book: Any, tables: Sequence[Table]) -> None:
    """A name for each tensor, to go to it: names of spreadsheets have no dots and know no case."""
    taken = {"hidden"}
    for table in tables:
        name = re.sub(r"\W", "_", table.tensor.name)
        if re.fullmatch(r"[A-Za-z]{1,3}\d+|[RrCc]\d*([RrCc]\d*)?", name):
            name += "_"
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        if table.spec.size:
            book.define_name(name, f"={_whole(table)}")


def _whole(table: Table) -> str:
    """The range of a tensor's cells, as absolute references."""
    last = tuple(size - 1 for size in table.spec.shape)
    text = span(table.place(tuple(0 for _ in last)), table.place(last), "")
    sheet, _, cells = text.rpartition("!")
    return f"{sheet}!" + re.sub(r"([A-Z]+)(\d+)", r"$\1$\2", cells)


def _write_contents(sheet: Any, trace: Trace, tables: Sequence[Table], styles: Styles) -> None:
    sheet.write_string(0, 0, trace.graph.title or trace.graph.name, styles.title)
    sheet.write_string(
        1, 0, "Cells on yellow may be changed: everything below them is computed anew.", styles.note
    )
    sheet.write_row(3, 0, ("tensor", "sheet", "how", "shape"), styles.title)
    for row, table in enumerate(tables, 4):
        to = reference(Place(table.sheet, table.top, 0), "")
        sheet.write_url(row, 0, f"internal:{to}", styles.link, table.tensor.name)
        sheet.write_string(row, 1, table.sheet)
        sheet.write_string(row, 2, table.row.written.expression, styles.note)
        sheet.write_string(row, 3, describe(table.spec), styles.note)
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 1, 18)
    sheet.set_column(2, 2, 44)
    sheet.set_column(3, 3, 24)
    picture = _picture(trace)
    if picture:
        wide = int.from_bytes(picture[16:20], "big")
        size = min(1.0, PICTURE_WIDTH / wide)
        sheet.insert_image(
            3, 5, "graph.png",
            {"image_data": io.BytesIO(picture), "x_scale": size, "y_scale": size, "description": PICTURED},
        )  # fmt: skip


PICTURED = "The graph: a box for each operation, arrows for what flows between them"


def _picture(trace: Trace) -> bytes:
    """The graph as a PNG; nothing where it is large, or Graphviz does not draw it."""
    from graphattn.dumps.picture import Folded, png

    if len(trace.graph.nodes) > DRAWN:
        return b""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Folded)
        try:
            return png(trace.graph, timeout=SECONDS)
        except GraphError:
            return b""
