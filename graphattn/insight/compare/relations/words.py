"""How relations write numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .chance import finite


def number(x: float) -> str:
    return f"{x:.7g}" if finite(x) else {math.inf: "+∞", -math.inf: "−∞"}.get(x, "NaN")


def signed(x: float) -> str:
    return f"{'+' if x > 0 else '−'} {number(abs(x))}"


def span(values: Iterable[float]) -> str:
    """The least and the largest, once where they are written alike."""
    values = list(values)
    return " to ".join(dict.fromkeys((number(min(values)), number(max(values)))))
