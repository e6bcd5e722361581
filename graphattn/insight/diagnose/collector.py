"""Python's collector of cycles, held back while a search runs.

A search makes tens of thousands of variants, and none of them refers to itself. The collector looks for some
that do after every 700, which takes a fifth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 400_000
"""So many more containers than before are looked through."""


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Cycles are collected seldom inside; afterwards as before."""
    before = gc.get_threshold()
    if before[0]:  # else it is off
        gc.set_threshold(max(SELDOM, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
