"""How long the text of a trace takes, in runs of the graph that it shows; all in one process.

    python benchmarks/trace_text.py

And of a chain of 5,000 steps on 2 × 2, microseconds a node to build it, to write it exactly and to read it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from timing import build

from graphattn import Graph, run
from graphattn.builtin import specimen
from graphattn.dumps.trace_text import read_trace, trace_text

NODES = 5000


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """CPU seconds, the shortest of a few attempts."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    print(build())
    for n, d, heads in ((64, 64, 4), (192, 64, 8)):
        case = specimen("block", n=n, d=d, heads=heads, causal=True)
        trace = run(case.graph, case.feeds)
        one = seconds(lambda case=case: run(case.graph, case.feeds))
        settled = seconds(lambda case=case: run(case.graph, case.feeds).warnings)
        text = seconds(lambda trace=trace: str(trace))
        exact = trace_text(trace, "exact")
        written = seconds(lambda trace=trace: trace_text(trace, "exact"))
        read = seconds(lambda exact=exact: read_trace(exact))
        print(
            f"block n={n} d={d} h={heads}: run {one:.2f} s; masks and warnings {settled / one - 1:.2f} runs;"
            f" str(trace) {text / one:.2f}; exact written {written / one:.2f}, read {read / one:.2f}"
        )
    case = specimen("block", n=512, d=64, heads=8, causal=True)
    one = seconds(lambda: run(case.graph, case.feeds), 1)
    trace = run(case.graph, case.feeds)
    settled, text = (seconds(work, 1) / one for work in (lambda: trace.warnings, lambda: str(trace)))
    print(
        f"block n=512 d=64 h=8: run {one:.2f} s; masks and warnings {settled:.2f} runs; str(trace) {text:.2f}"
    )
    trace = run(chain(), {"x": [[1.0, 2.0], [3.0, 0.5]]})
    exact = trace_text(trace, "exact")
    each = {
        "build": seconds(chain),
        "write": seconds(lambda: trace_text(trace, "exact")),
        "read": seconds(lambda: read_trace(exact)),
    }
    told = ", ".join(f"{what} {1e6 * one / NODES:.0f} µs" for what, one in each.items())
    print(f"a chain of {NODES:,}: {told} a node")


def chain() -> Graph:
    """Steps one after the other."""
    graph = Graph("chain")
    x = graph.input("x", (2, 2))
    for i in range(NODES):
        x = graph.add(x, x) if i % 2 else graph.scale(x, divide=2)
    graph.output(y=x)
    return graph


if __name__ == "__main__":
    main()
