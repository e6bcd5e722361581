"""Tensors out of plain text: `name = [values]`, as a debugging print writes them, or `name: [values]`.

    scores = [[0.5, -1.25], [nan, -inf]]
    attention weights: tensor([[0.7500, 0.2500]], dtype=torch.float16)
    ggml_debug:   kq-0 = (f32)  MUL_MAT(k{8, 4}, q{8, 4}}) = {4, 4, 1, 1}
        [
         [ 0.0018, 0.0071 ],
        ]

A tensor begins with a name and `=`, at the start of a line or after a prefix like `debug:`; where its first
cell has a decimal point, a colon, the end of the line, or a blank before `tensor(` will do for the `=`. Its
brackets may span lines, with commas or blanks between the cells, and a type may follow. Whatever stands between
the tensors is passed over, and so is what follows a colon and is no tensor, or one that comes again. A row that
was printed with `...` is refused: what is left out cannot be compared.
"""

from __future__ import annotations

import re
from typing import Any

from ...core import nested
from ...core.errors import GraphError

START = re.compile(
    r"^[ \t]*(?:(?:\w+:[ \t]+)?(?P<name>[^\W\d][^\s=]*(?:[ ]\([^=()\n]*\))?)[ \t]*="
    r"(?:[^\n\[=]*=)?[ \t]*(?:\w+\()?(?:\{[^}\n]*\})?\s*(?=\[)"
    r"|(?P<label>[^\W\d][^\n=:\[\]()]{0,80}?)(?:[ \t]*:\s*(?:\w+\()?|[ \t]*\n[ \t]*(?:\w+\()?|[ \t]+\w+\()"
    r"(?=\[[\[\s]*[-+]?(?:\d+\.\d*|\.\d+|nan|inf)(?:e[-+]?\d+)?[\s,\]]))",
    re.MULTILINE,
)
DTYPE = re.compile(r"\s*(?:,\s*\w+=[^,()]*)*?,\s*dtype=(?:\w+\.)*(\w+)")
TOKEN = re.compile(r"\s*(?:,|([\[\]])|([^\s,\[\]]+))")
NAME_LIMIT = 200


def read_plain_text(text: str, what: str) -> dict[str, Any]:
    """Nested lists by name. A `GraphError` names the tensor and the line of what is wrong."""
    return {name: value for name, (value, _, _) in read_cells(text, what).items()}


def read_cells(text: str, what: str) -> dict[str, tuple[list[Any], list[str], str]]:
    """By name: nested lists of numbers, the cells' texts, and the type that is said of them."""
    tensors: dict[str, tuple[list[Any], list[str], str]] = {}
    place = 0
    while True:
        start = START.search(text, place)
        if start is None:
            break
        group = "name" if start["name"] else "label"
        said = group == "name" or text[: start.end()].endswith("(")  # else it may be a line of a log
        name = " ".join(start[group].split())[:NAME_LIMIT]
        where = f"{what} line {text.count(chr(10), 0, start.start(group)) + 1}: {name}"
        if name in tensors and said:
            raise GraphError(f"{where} comes twice; expected each name once")
        try:
            value, texts, place = _brackets(text, start.end(), where)
        except GraphError:
            if said:
                raise
            place = start.end()
            continue
        if name in tensors:
            continue
        dtype = DTYPE.match(text, place)
        tensors[name] = value, texts, dtype[1] if dtype else ""
    if not tensors:
        begins = nested.shown(text[:30]) if text.strip() else "nothing"
        raise GraphError(f"{what} holds {begins}; expected lines like `name = [[0.5, 1.0], [2.0, 3.0]]`")
    return tensors


def _brackets(text: str, place: int, where: str) -> tuple[list[Any], list[str], int]:
    """The nested lists that begin at a place, the texts of their cells, and where they end."""
    stack: list[list[Any]] = []
    texts: list[str] = []
    while True:
        token = TOKEN.match(text, place)
        if token is None:
            raise GraphError(f"{where} ends before its last bracket is closed; expected the whole tensor")
        place = token.end()
        bracket, cell = token.groups()
        if bracket == "[":
            if len(stack) >= nested.RANK_LIMIT:
                raise GraphError(f"{where} is nested deeper than {nested.RANK_LIMIT} lists")
            inner: list[Any] = []
            if stack:
                stack[-1].append(inner)
            stack.append(inner)
        elif bracket == "]":
            done = stack.pop()
            if not stack:
                return done, texts, place
        elif cell is not None:
            stack[-1].append(_number(cell, where))
            texts.append(cell)


def _number(cell: str, where: str) -> float:
    if cell.startswith(("...", "…")):
        raise GraphError(f"{where} leaves cells out ({cell[:3]}); expected every cell to be printed")
    try:
        return float(cell)
    except ValueError:
        raise GraphError(f"{where} holds {nested.shown(cell)}; expected numbers") from None
