"""What every explanation obeys, as functions that return problems."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

from graphattn.core import nested
from graphattn.dumps.table import width
from graphattn.insight.why.why_json import recompute


def cells(trace: Any, name: str, count: int, seed: str) -> list[tuple[int, ...]]:
    """Some cells of a tensor, the same each time."""
    every = list(nested.indices(trace.spec(name).shape))
    return random.Random(seed).sample(every, min(count, len(every)))


def problems(trace: Any, name: str, index: tuple[int, ...], tolerance: float = 1e-9) -> Iterator[str]:
    """One sentence for each way in which the explanation of a cell is wrong."""
    what = f"{name}{list(index)}"
    found = trace.why(name, *index, depth="all")
    if not same(found.value, nested.at(trace[name], index)):
        yield f"{what} is {nested.at(trace[name], index)!r}, and explained as {found.value!r}"
    text = found.json()
    document = json.loads(text)
    ids = [cell["id"] for cell in document["cells"]]
    if ids != sorted(set(ids)):
        yield f"{what}: a cell stands twice, or out of order"
    keys = [(cell["tensor"], tuple(cell["index"])) for cell in document["cells"]]
    if len(keys) != len(set(keys)):
        twice = next(key for key in keys if keys.count(key) > 1)
        yield f"{what}: {twice} is listed twice"
    for cell in document["cells"]:
        if "expression" not in cell and cell["kind"] not in ("fed", "patched"):
            yield f"{what}: {cell['tensor']}{cell['index']} is {cell['kind']} and has no expression"
        if cell["kind"] == "computed":  # from inputs alone: a wrong value on the way must not help
            cell["value"] = None
    again = recompute(document)
    largest = max((abs(v) for v in map(_number, document["cells"]) if math.isfinite(v)), default=1.0)
    if not near(again, found.value, tolerance, largest, trace.numbers):
        yield f"{what} is {found.value!r}, and recomputes to {again!r}"
    for line in str(found).splitlines():
        if width(line) > 80 and " " in line.strip():
            yield f"{what}: {width(line)} places: {line}"
    for cell in found.lines():
        if any(remark.startswith("recorded so") for remark in cell.remarks):
            yield f"{what}: {cell.head}: {cell.remarks}"


def _number(cell: dict[str, Any]) -> float:
    value = cell["value"]
    try:
        return float(value)
    except (TypeError, ValueError):
        return 1.0


def same(a: Any, b: Any) -> bool:
    return bool(a == b) or (a != a and b != b) or a is b


def near(a: Any, b: Any, tolerance: float, size: float, numbers: Any) -> bool:
    """Whether two numbers agree as far as rounding on the way allows."""
    if isinstance(a, bool) or isinstance(b, bool) or same(a, b):
        return a == b or (a != a and b != b)
    a, b = (float(numbers.near(x)) if not isinstance(x, int) else float(x) for x in (a, b))
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    return abs(a - b) <= tolerance * max(abs(a), abs(b), size, 1e-300)
