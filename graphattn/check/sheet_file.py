"""A spreadsheet that somebody sent: bounded before it is opened, then read, never calculated.

It may be anything. What is large (unpacked, too), holds macros, links to other files or XML entities, or was
not written by `graphattn worksheet` is refused in one sentence.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import GraphError

if TYPE_CHECKING:
    from graphattn.dumps.workbook.tables import Place

BYTES, UNPACKED, PARTS = 4_000_000, 40_000_000, 100
"""The most that a file holds: packed, unpacked, in so many parts."""
ROWS = 400
"""The most cells that an exercise is kept in."""


class Book:
    """A spreadsheet, opened with care."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.data = _bounded(file)
        self.exercise = "".join(
            str(row[0]) for row in self._rows("exercise", ROWS, 1, True) if row and row[0] is not None
        )
        if not self.exercise:
            raise GraphError(f"{file}: expected a spreadsheet that `graphattn worksheet` wrote")

    def squares(self, sheet: str, places: Sequence[Place]) -> dict[Place, Any]:
        """What the squares hold: a number, a text, None where they are empty."""
        rows = max((place.row for place in places), default=0) + 1
        columns = max((place.column for place in places), default=0) + 1
        values = list(self._rows(sheet, rows, columns, True))
        written = list(self._rows(sheet, rows, columns, False))

        def held(table: list[Any], place: Place) -> Any:
            row = table[place.row] if place.row < len(table) else ()
            return row[place.column] if place.column < len(row) else None

        return {
            place: held(values, place) if held(values, place) is not None else held(written, place)
            for place in places
        }

    def _rows(self, sheet: str, rows: int, columns: int, values: bool) -> Iterator[tuple[Any, ...]]:
        try:
            import openpyxl
        except ImportError:
            raise GraphError(
                "worksheets are read by openpyxl; expected `pip install 'graphattn[workbook]'`"
            ) from None
        try:
            book = openpyxl.load_workbook(io.BytesIO(self.data), read_only=True, data_only=values)
            if sheet not in book.sheetnames:
                raise GraphError(
                    f"{self.file} has no sheet {sheet!r}; expected what `graphattn worksheet` wrote"
                )
            yield from book[sheet].iter_rows(max_row=rows, max_col=columns, values_only=True)
        except GraphError:
            raise
        except Exception as error:  # whatever a broken file makes openpyxl raise
            raise GraphError(
                f"{self.file} is a broken spreadsheet ({type(error).__name__}); expected one saved whole"
            ) from None


def _bounded(file: str) -> bytes:
    """The bytes of a file that is small, unpacked too, and has no macros and no entities in it."""
    try:
        if os.path.getsize(file) > BYTES:
            raise GraphError(f"{file} is larger than {BYTES:,} bytes; expected a worksheet")
        with open(file, "rb") as opened:
            data = opened.read(BYTES + 1)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            if len(parts) > PARTS or sum(part.file_size for part in parts) > UNPACKED:
                raise GraphError(
                    f"{file} unpacks to more than a worksheet holds; expected one that was filled in"
                )
            for part in parts:
                if "vba" in part.filename.lower() or "externallink" in part.filename.lower():
                    raise GraphError(
                        f"{file} holds macros or links to other files; expected a plain spreadsheet"
                    )
                if b"<!DOCTYPE" in archive.read(part).replace(b"\0", b"").upper():
                    raise GraphError(f"{file} has an XML part with a DOCTYPE; expected a plain spreadsheet")
    except OSError as error:
        raise GraphError(f"{file!r} was not read: {error.strerror or error}; expected a spreadsheet") from None
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        RuntimeError,
        NotImplementedError,
        EOFError,
        ValueError,
    ) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"{file} is no .xlsx file; expected a spreadsheet that was filled in") from None
    except Exception as error:  # zlib's errors
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"{file} is a broken .xlsx file; expected one that was saved whole") from None
    return data
