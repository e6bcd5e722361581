"""How cost grows: time as n²d + nd², memory as what is kept."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from contenders import case, graph_of, traced
from timing import interleaved, once

from graphattn import run

TIMED = (
    *((n, 64, 4) for n in (16, 32, 64, 128, 256)),
    *((64, d, d // 16) for d in (16, 32, 128, 256)),
)
"""n grows, then d, with heads of 16 features each."""
KEPT: tuple[tuple[str, list[str] | None], ...] = (
    ("everything", None),
    ("outputs of heads", ["*.out"]),
    ("the result", ["y"]),
    ("nothing", []),
)


class Cost(NamedTuple):
    """One size: CPU seconds of a traced run, and seconds for each multiply-add of its products."""

    size: str
    seconds: float
    each: float


def times(seconds: float) -> list[Cost]:
    """Traced runs of growing n and growing d, interleaved."""
    cases = {one.size: one for one in (case(*size) for size in TIMED)}
    taken = interleaved({size: traced(one) for size, one in cases.items()}, seconds, rounds=(3, 21))
    return [
        Cost(size, median(taken[size]), median(taken[size]) / one.multiply_adds) for size, one in cases.items()
    ]


class Memory(NamedTuple):
    """What a run kept, and how many bytes it held at its peak and at its end."""

    size: str
    kept: str
    peak: int
    left: int


def memory(*size: int) -> Iterator[Memory]:
    """Traced runs of one block with different `keep`, under tracemalloc."""
    one = case(*size)
    graph, feeds = graph_of(one), {"x": one.x}
    run(graph, feeds, targets=["x"])  # what is made on first use is not counted
    graph.at("op")
    for kept, keep in KEPT:
        gc.collect()
        tracemalloc.start()
        trace = run(graph, feeds, keep=keep)
        left, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        del trace
        yield Memory(one.size, kept, peak, left)


def large(*size: int) -> float:
    """CPU seconds of one traced run of a large block, everything recorded."""
    return once(traced(case(*size)))
