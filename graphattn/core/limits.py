"""How many cells one tensor may have: what is asked for is bounded before anything is computed.

A list of 10⁸ floats takes 3 GB. `GRAPHATTN_MAX_CELLS=1000000000` in the environment raises the limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import prod

from .axes import Spec, describe
from .errors import GraphError

VARIABLE = "GRAPHATTN_MAX_CELLS"
MOST_CELLS = 10**8


def most_cells() -> int:
    """The limit that holds now."""
    text = os.environ.get(VARIABLE, "").strip().replace("_", "")
    if not text:
        return MOST_CELLS
    if not text.isdecimal() or len(text) > 18 or not int(text):
        raise GraphError(f"{VARIABLE} is {text[:40]!r}; expected a number of cells, of 1 or more")
    return int(text)


def need_cells(what: str, specs: Iterable[Spec], limit: int) -> None:
    """Raise a `GraphError` for a tensor of more cells than the limit; `what` begins the sentence."""
    for spec in specs:
        if prod(spec.shape) > limit:
            raise GraphError(
                f"{what} has {prod(spec.shape):,} cells ({describe(spec)}); expected at most {limit:,}"
                f" ({VARIABLE} in the environment sets another limit)"
            )
