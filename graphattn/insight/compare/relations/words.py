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
    values = list(values)
    return f"{number(min(values))} to {number(max(values))}"
