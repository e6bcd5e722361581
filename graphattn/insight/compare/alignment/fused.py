"""Several tensors of the reference side by side in one of yours: q, k, v in any order, whole or by head."""

from __future__ import annotations

from collections.abc import Iterator

from ..recording import Recorded, Rows
from .alike import alike
from .matching import Matching

HEAD_LIMIT = 64


def fused_by_value(matching: Matching, yours: Recorded) -> bool:
    """Match the parts of a matrix, or of a row of biases, with tensors that hold the same; whether it could."""
    for how, lines in _forms(yours):
        parts = _parts(matching, yours.name, lines)
        if parts is not None:
            order = " | ".join(reference.name for reference, _ in parts)
            for reference, part in parts:
                matching.add(reference.name, reference, part, f"value, as {order} {how}", yours.name)
            return True
    return False


def _forms(yours: Recorded) -> Iterator[tuple[str, Rows]]:
    """The lines that may be cut into parts: columns, or rows; then those of q, k, v gathered from the heads."""
    shape = yours.squeezed
    if len(shape) == 1:
        yield "side by side", [[x] for x in yours.flat]
        return
    if len(shape) != 2:
        return
    rows, columns = yours.rows, list(map(list, zip(*yours.rows)))
    for lines in (columns, rows):
        yield "side by side", lines
    for lines in (columns, rows):
        if len(lines) % 3 == 0:
            for heads in range(2, min(HEAD_LIMIT, len(lines) // 3) + 1):
                size, rest = divmod(len(lines), 3 * heads)
                if not rest:
                    yield f"head by head, for {heads} heads", [
                        line for part in range(3) for head in range(heads)
                        for line in lines[(3 * head + part) * size :][:size]
                    ]  # fmt: skip


def _parts(matching: Matching, name: str, lines: Rows) -> list[tuple[Recorded, Recorded]] | None:
    """The tensors of the reference whose lines follow each other, and the lines of each."""
    parts: list[tuple[Recorded, Recorded]] = []
    place = 0
    while place < len(lines):
        for reference in _candidates(matching, name, lines, place):
            part = _beginning(matching, reference, lines, place)
            if part is not None and all(reference is not other for other, _ in parts):
                parts.append((reference, part))
                place += len(part.flat) // len(lines[0])
                break
        else:
            return None
    return parts if len(parts) > 1 else None


def _candidates(matching: Matching, name: str, lines: Rows, place: int) -> Iterator[Recorded]:
    """The tensors that may begin with a line of the tensor of that name."""
    for size in matching.first_cells.sizes:
        if size % len(lines[0]) == 0 and size <= (len(lines) - place) * len(lines[0]):
            for reference in matching.first_cells.like(lines[place][0], size):
                if reference.name not in matching.used_reference and matching.may_be(name, reference.name):
                    yield reference


def _beginning(matching: Matching, reference: Recorded, lines: Rows, place: int) -> Recorded | None:
    """The lines from a place on as a tensor of the reference, if they are one."""
    width, shape = len(lines[0]), reference.squeezed
    count, rest = divmod(reference.size, width)
    if rest or not 0 < count <= len(lines) - place or count == len(lines):
        return None
    cut = lines[place : place + count]
    readings: list[Rows] = []
    if shape == (count, width):
        readings.append(cut)
    if shape == (width, count):
        readings.append(list(map(list, zip(*cut))))
    if shape == (count,) and width == 1:
        readings.append([[x for x, *_ in cut]])
    parts = (Recorded(reference.name, reference.shape, rows) for rows in readings)
    return next((part for part in parts if alike(reference, part, matching.near)), None)
