"""How far long work has come: a line on the terminal after a second, nothing in a pipe.

    trace = run(graph, feeds, progress=True)

A run that takes minutes and is not followed says so when it begins.

Stopping it (Ctrl-C) leaves nothing behind: a run writes no files, and what writes files writes them whole.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .core.errors import GraphError

if TYPE_CHECKING:
    from .core.graph import Graph

PER_SECOND = 2e8
"""About how many operations of arithmetic are done in a second (ten nanoseconds for a multiply-add)."""
LONG = 10
"""From so many seconds on it is said beforehand how long a run takes, where one follows it."""
MINUTES = 120
"""And from so many on where one does not."""
CELLS = 1_000_000
"""A graph of fewer cells is not asked what it costs, which takes a while itself."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """While something runs: after a second, a line on the terminal that says so; nothing elsewhere.

    Yields a function that takes another line for it, and may be called often.
    """
    if not sys.stderr.isatty():
        yield lambda state: None
        return
    from rich.console import Console
    from rich.status import Status

    status = Status(what, console=Console(file=sys.stderr, highlight=False, markup=False, emoji=False))
    timer = threading.Timer(1.0, status.start)
    timer.daemon = True
    timer.start()

    def say(state: str) -> None:
        if timer.finished.is_set():
            status.update(state)

    try:
        yield say
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def counted(total: int, say: Callable[[str], None], beside: str = "") -> Callable[[Any], None]:
    """A listener of a run that tells `say` how many of the steps are done, and what stands beside that."""
    done = 0

    def listen(step: Any) -> None:
        nonlocal done
        done += 1
        say(f"step {done:,} of {total:,}: {step.name}{beside}")

    return listen


def expected(graph: Graph) -> str:
    """What a run of a graph costs, in words; '' where that is little, or not known."""
    flops, seconds, told = _expected(graph)
    return f"   ({flops:.1e} operations: about {told} in all)" if seconds >= LONG else ""


def forewarn(graph: Graph, stacklevel: int) -> None:
    """Warn of a run of a graph that takes minutes."""

    def asked() -> str:
        if sum(spec.size for node in graph.nodes.values() for spec in node.outputs) < CELLS:
            return ""
        flops, seconds, told = _expected(graph)
        return f"about {told} ({flops:.1e} operations)" if seconds >= MINUTES else ""

    if said := graph.kept("forewarned", asked):
        warnings.warn(
            f"this run takes {said}; engine='onnxruntime' is faster, and progress=True shows how far it is",
            stacklevel=stacklevel + 1,
        )


def _expected(graph: Graph) -> tuple[float, float, str]:
    """Operations, seconds and their wording; none where it is not known."""
    from graphattn.passes.cost import cost

    try:
        flops = cost(graph).flops
    except GraphError:
        return 0.0, 0.0, ""
    seconds = flops / PER_SECOND
    return flops, seconds, f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


@contextmanager
def following(graph: Graph) -> Iterator[Callable[[Any], None]]:
    """A listener that shows how far a run of a graph has come; what it costs is said first."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    beside = expected(graph)
    with progress(f"evaluating {len(graph):,} steps{beside}") as say:
        yield counted(len(graph), say, beside)
