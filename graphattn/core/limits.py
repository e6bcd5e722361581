"""How many cells one tensor may have: what is asked for is bounded before anything is computed.

A list of 10⁸ floats takes 3 GB. `GRAPHATTN_MAX_CELLS=1000000000` in the environment raises the limit, and
with it all others that are `raised`: how much of a file is read, how large built-in graphs may be.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import prod

from .axes import Spec, describe
from .errors import GraphError

VARIABLE = "GRAPHATTN_MAX_CELLS"
MOST_CELLS = 10**8
MOST_BYTES = 256 * 1024 * 1024
"""The most bytes of one file that are read."""
MOST_READ = 2**25
"""The most numbers that one file of tensors may hold (a Python list takes 32 bytes for each)."""
ANOTHER = f"{VARIABLE} in the environment sets another limit"


def most_cells() -> int:
    """The limit that holds now."""
    text = os.environ.get(VARIABLE, "").strip().replace("_", "")
    if not text:
        return MOST_CELLS
    if not text.isdecimal() or len(text) > 18 or not int(text):
        raise GraphError(f"{VARIABLE} is {text[:40]!r}; expected a number of cells, of 1 or more")
    return int(text)


def raised(limit: int) -> int:
    """A limit of something else, as many times as large as the one that holds now is the usual one."""
    return limit * max(MOST_CELLS, most_cells()) // MOST_CELLS


def most_bytes() -> int:
    """The most bytes of a dump that are read back, and therefore written."""
    return raised(MOST_BYTES)


def most_read() -> int:
    """The most numbers of one file of tensors that are read, and therefore written."""
    return raised(MOST_READ)


def need_read(what: str, cells: int) -> None:
    """Raise a `GraphError` for more numbers than one file of tensors may hold; `what` begins the sentence."""
    if cells > most_read():
        raise GraphError(f"{what} {cells:,} cells or more; expected at most {most_read():,} ({ANOTHER})")


def need_bytes(what: str, count: int, instead: str = ", .npz,") -> None:
    """Raise a `GraphError` for a dump that is too large to be read back; `what` begins the sentence, `instead`
    is a smaller form."""
    if count > most_bytes():
        raise GraphError(
            f"{what} would take {count:,} bytes, and {most_bytes():,} are read back; expected fewer tensors"
            f" (only=…){instead} or another limit ({VARIABLE} in the environment)"
        )


def need_cells(what: str, specs: Iterable[Spec], limit: int) -> None:
    """Raise a `GraphError` for a tensor of more cells than the limit; `what` begins the sentence."""
    for spec in specs:
        if prod(spec.shape) > limit:
            raise GraphError(
                f"{what} has {prod(spec.shape):,} cells ({describe(spec)}); expected at most {limit:,}"
                f" ({ANOTHER})"
            )
