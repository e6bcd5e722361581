"""`python benchmarks/gradients.py`: what forward and backward cost beside forward alone.

The causal pre-LN block of `block.py`, its input and its four projections fed, every number recorded:
a run of the graph, and a run of `gradient(graph, of="y")`, which has the gradients of all five. The
least possible is 3 times: for each product of the forward part two in the backward part, of as many
multiply-adds. A learner's naive loops, forward alone, are there for scale. The size of what is added
is told as nodes. Ratios are medians over interleaved rounds, of CPU time of this thread.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from statistics import median
from typing import Any

from contenders import EPS, Case, case, naive
from timing import build, interleaved, ratio, told

from graphattn import Graph, run
from graphattn.passes.check_gradients import check_gradients
from graphattn.passes.gradient import gradient

SIZES = ((4, 8, 2), (8, 64, 4), (64, 64, 4))
FORWARD, BOTH, LOOPS = "forward", "forward and backward", "naive loops, forward"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    seconds = 1.0 if parser.parse_args().quick else 10.0
    print(f"{build()}   CPU time of one thread   medians of per-round ratios")
    agree()
    for size in SIZES:
        compare(case(*size), seconds)


def block(one: Case) -> tuple[Graph, dict[str, Any]]:
    """The block with everything fed that has a gradient."""
    graph = Graph("block")
    x = graph.input("x", (one.n, one.d), ("token", "feature"))
    weights = {name: graph.parameter(name, (one.d, one.d)) for name in one.weights}
    graph.output(y=graph.block(x, heads=one.h, causal=True, eps=EPS, name="block", **weights))
    return graph, {"x": one.x, **one.weights}


def agree() -> None:
    """Stop unless the gradients are those that differences give."""
    report = check_gradients(*block(case(*SIZES[0])), "y", numbers="float")
    if not report.ok:
        raise SystemExit(str(report))


def compare(one: Case, seconds: float) -> None:
    """The time of a call of each, and the ratios."""
    graph, feeds = block(one)
    derived, cotangent = gradient(graph, of="y"), {"d_y": one.x}
    calls: dict[str, Callable[[], Any]] = {
        FORWARD: lambda: run(graph, feeds),
        BOTH: lambda: run(derived, {**feeds, **cotangent}),
        LOOPS: naive(one),
    }
    gc.collect()
    gc.freeze()
    taken = interleaved(calls, seconds)
    print(f"\n(n, d, h) = {one.size}   {len(graph.at('op'))} nodes forward, {len(derived)} with backward")
    for name in calls:
        print(f"{name:36}{told(median(taken[name])):>18}")
    for name in (FORWARD, LOOPS):
        print(f"{f'{BOTH} / {name}':48}{ratio(taken[BOTH], taken[name]):6.2f}", flush=True)


if __name__ == "__main__":
    main()
