"""Reading without the garbage collector, which would go through all that was read so far again and again.

Nothing that a reader makes is garbage before it is done, and half of its time went into the search.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Let the collector rest, if it is on; as a decorator, while the function runs."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
